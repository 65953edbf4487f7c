//! The journal as a file of frames: how records are laid out on disk, and how much of a file can be trusted.
//!
//! A frame is a mark, the length of the payload, a checksum, the number of the frame, the count of frames that were
//! durable when it was written, and the payload. The count tells a torn end (frames that nobody was told are durable,
//! cut off by a crash) from damage in the middle (a frame that was durable cannot be read any more).

/// Starts each frame, so that frames can be found after damage.
const MARK: [u8; 4] = [0xa7, b'g', b'p', b'j'];
const HEADER: usize = 28;

/// Appends a frame.
pub fn push_frame(out: &mut Vec<u8>, number: u64, durable: u64, payload: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&MARK);
    out.extend_from_slice(&(payload.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(&durable.to_le_bytes());
    out.extend_from_slice(payload);
    if let Some(frame) = out.get_mut(start..) {
        let crc = checksum(frame).to_le_bytes();
        if let Some(slot) = frame.get_mut(8..12) {
            slot.copy_from_slice(&crc);
        }
    }
}

/// Over the whole frame but the mark and the checksum itself.
fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(frame.get(4..8).unwrap_or_default());
    hasher.update(frame.get(12..).unwrap_or_default());
    hasher.finalize()
}

struct Frame<'a> {
    number: u64,
    durable: u64,
    payload: &'a [u8],
}

/// How many bytes a checksum has to be made of to know whether a frame begins here.
fn claimed(bytes: &[u8]) -> usize {
    let length = bytes.get(4..8).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes) as usize;
    Some(length).filter(|n| n.saturating_add(HEADER) <= bytes.len()).unwrap_or(0)
}

/// The frame at the beginning of `bytes`, if there is a whole and sound one.
fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let long = |at: usize| bytes.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    if !bytes.starts_with(&MARK) {
        return None;
    }
    let length = word(4)? as usize;
    let whole = bytes.get(..HEADER.checked_add(length)?)?;
    (checksum(whole) == word(8)?).then_some(())?;
    Some(Frame { number: long(12)?, durable: long(20)?, payload: whole.get(HEADER..)? })
}

/// What can be read of a journal file.
#[derive(Debug)]
pub struct Log<'a> {
    /// The payloads in order.
    pub payloads: Vec<&'a [u8]>,
    /// How many bytes they take up.
    pub sound: usize,
    /// The rest was cut off while it was being written.
    pub torn: bool,
}

/// A frame that was durable once cannot be read any more.
#[derive(PartialEq, Eq, Debug)]
pub struct Damage {
    /// Offset of the first bad byte's frame.
    pub at: usize,
    /// How many sound frames come before it.
    pub before: usize,
}

/// Reads the frames of a journal.
///
/// # Errors
/// Damage that is not a torn end.
pub fn scan(bytes: &[u8]) -> Result<Log<'_>, Damage> {
    let mut payloads = Vec::new();
    let mut at = 0;
    while let Some(f) = bytes.get(at..).and_then(frame) {
        if f.number != payloads.len() as u64 {
            return Err(Damage { at, before: payloads.len() });
        }
        payloads.push(f.payload);
        at += HEADER + f.payload.len();
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let next = payloads.len() as u64;
    // Frames that claim to hold each other would be checked again and again: sound ones never do.
    let mut checked = 0;
    for later in (1..rest.len()).filter_map(|i| rest.get(i..)).filter(|r| r.starts_with(&MARK)) {
        checked += claimed(later);
        if checked > 4 * bytes.len() || frame(later).is_some_and(|f| f.durable > next) {
            return Err(Damage { at, before: payloads.len() });
        }
    }
    Ok(Log { payloads, sound: at, torn: !rest.is_empty() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A journal whose frames were made durable in groups; gives also the end of each frame and of each group.
    fn journal(groups: &[Vec<Vec<u8>>]) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for group in groups {
            let durable = ends.len() as u64;
            for payload in group {
                push_frame(&mut bytes, ends.len() as u64, durable, payload);
                ends.push(bytes.len());
            }
        }
        (bytes, ends)
    }

    fn groups() -> impl Strategy<Value = Vec<Vec<Vec<u8>>>> {
        let payload = proptest::collection::vec(any::<u8>(), 0..40);
        proptest::collection::vec(proptest::collection::vec(payload, 1..5), 1..6)
    }

    #[test]
    fn frames_that_claim_to_hold_each_other_take_no_time() {
        let mut bytes = Vec::new();
        for left in (0..200_000_u32).rev() {
            bytes.extend(MARK);
            bytes.extend((left * 28).to_le_bytes());
            bytes.extend([0; 20]);
        }
        assert_eq!(scan(&bytes).unwrap_err(), Damage { at: 0, before: 0 });
    }

    proptest! {
        #[test]
        fn a_cut_keeps_every_whole_frame(groups in groups()) {
            let (bytes, ends) = journal(&groups);
            let all: Vec<&Vec<u8>> = groups.iter().flatten().collect();
            for cut in 0..=bytes.len() {
                let log = scan(&bytes[..cut]).expect("a cut is not damage");
                let whole = ends.iter().filter(|e| **e <= cut).count();
                prop_assert_eq!(log.payloads.len(), whole);
                prop_assert!(log.payloads.iter().zip(&all).all(|(a, b)| *a == b.as_slice()));
                prop_assert_eq!(log.torn, cut != log.sound);
            }
        }

        #[test]
        fn a_flipped_bit_never_goes_unseen(groups in groups(), bit in any::<proptest::sample::Index>()) {
            let (mut bytes, ends) = journal(&groups);
            let bit = bit.index(bytes.len() * 8);
            bytes[bit / 8] ^= 1 << (bit % 8);
            let broken = ends.iter().filter(|e| **e <= bit / 8).count();
            let before_last_group = ends.len() - groups.last().map_or(0, Vec::len);
            match scan(&bytes) {
                Err(damage) => prop_assert_eq!(damage.before, broken),
                // Nothing in the file can tell that the last group was durable: it counts as torn.
                Ok(log) => {
                    prop_assert!(log.torn && log.payloads.len() == broken);
                    prop_assert!(broken >= before_last_group);
                }
            }
        }

        #[test]
        fn a_group_may_reach_the_disk_in_any_order(groups in groups(), hole in any::<proptest::sample::Index>()) {
            let (mut bytes, ends) = journal(&groups);
            let group_start = ends.len() - groups.last().map_or(0, Vec::len);
            let start = if group_start == 0 { 0 } else { ends[group_start - 1] };
            let hole = start + hole.index(bytes.len() - start);
            let end = bytes.len().min(hole + 16);
            bytes[hole..end].fill(0);
            let log = scan(&bytes).expect("the last group was not durable");
            prop_assert!(log.payloads.len() >= group_start);
        }
    }
}
