//! Compression for `base64gzip`, bit for bit as Terraform's: compressed user data is compared with what was applied,
//! and a difference would replace instances. So the choices that a compressor is free to make are those of Go's
//! standard library at its default level; decompression and everything else uses the `flate2` crate.

/// The shortest repetition that is looked for.
const MIN_MATCH: usize = 4;
const MAX_MATCH: usize = 258;
const WINDOW: usize = 1 << 15;
/// A repetition of this length is taken even if the next position might have a longer one.
const LAZY: usize = 16;
/// A repetition of this length ends the search.
const NICE: usize = 128;
/// How many earlier positions are tried.
const CHAIN: usize = 128;
/// Repetitions of the least length count only this close by.
const NEAR: usize = 4096;
const BLOCK_TOKENS: usize = 1 << 14;
const HASH_BITS: u32 = 17;

const END_OF_BLOCK: usize = 256;
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
/// The order in which the lengths of the codes for code lengths are written.
const LENGTH_ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// The data in DEFLATE format, ended by an empty block that is not the last one, so that it can be continued.
pub(super) fn compress(data: &[u8]) -> Vec<u8> {
    let mut out = Bits::default();
    let mut blocks = Blocks { data, start: 0, tokens: Vec::new(), out: &mut out };
    let mut finder = Finder::new(data);
    let mut index = 0;
    // What the position before had: a repetition, or at least a byte that is not written yet.
    let mut previous = Match { length: MIN_MATCH - 1, distance: 0 };
    let mut pending = false;
    while index < data.len() {
        let left = data.len() - index;
        let head = finder.insert(index);
        let mut current = Match { length: MIN_MATCH - 1, distance: 0 };
        if left > previous.length && previous.length < LAZY {
            current = finder.longest(index, head).unwrap_or(current);
        }
        if previous.length >= MIN_MATCH && current.length <= previous.length {
            let end = index + previous.length - 1;
            for inside in index + 1..end {
                finder.insert(inside);
            }
            index = end.max(index + 1);
            blocks.add(Token::Repeat(previous), index);
            pending = false;
            previous = Match { length: MIN_MATCH - 1, distance: 0 };
        } else {
            if pending && let Some(b) = data.get(index - 1) {
                blocks.add(Token::Byte(*b), index);
            }
            index += 1;
            pending = true;
            previous = current;
        }
    }
    if pending && let Some(b) = data.last() {
        blocks.tokens.push(Token::Byte(*b));
    }
    blocks.end(data.len());
    out.put(0, 3);
    out.align();
    out.bytes.extend([0, 0, 0xff, 0xff]);
    out.bytes
}

#[derive(Clone, Copy)]
struct Match {
    length: usize,
    distance: usize,
}

#[derive(Clone, Copy)]
enum Token {
    Byte(u8),
    Repeat(Match),
}

/// Finds earlier occurrences of the bytes at a position.
struct Finder<'a> {
    data: &'a [u8],
    /// For each hash of four bytes, one more than the last position with it; 0 for none.
    heads: Vec<u32>,
    /// For each position of the window, what was the head before it.
    before: Vec<u32>,
}

impl<'a> Finder<'a> {
    fn new(data: &'a [u8]) -> Finder<'a> {
        Finder { data, heads: vec![0; 1 << HASH_BITS], before: vec![0; WINDOW] }
    }

    /// Records a position; returns the head that it follows.
    fn insert(&mut self, index: usize) -> u32 {
        let Some(four) = self.data.get(index..).and_then(|d| d.first_chunk::<4>()) else { return 0 };
        let hash = (u32::from_be_bytes(*four).wrapping_mul(0x1e35_a7bd) >> (32 - HASH_BITS)) as usize;
        let (Some(head), Some(before)) = (self.heads.get_mut(hash), self.before.get_mut(index % WINDOW)) else {
            return 0;
        };
        *before = *head;
        *head = index as u32 + 1;
        *before
    }

    fn longest(&self, index: usize, head: u32) -> Option<Match> {
        let ahead = self.data.get(index..)?;
        let ahead = ahead.get(..MAX_MATCH).unwrap_or(ahead);
        let oldest = index.saturating_sub(WINDOW);
        let mut found = None;
        let mut length = MIN_MATCH - 1;
        let mut candidate = head;
        for _ in 0..CHAIN {
            let Some(at) = (candidate as usize).checked_sub(1).filter(|at| *at >= oldest) else { break };
            let there = self.data.get(at..)?;
            if there.get(length) == ahead.get(length) {
                let same = there.iter().zip(ahead).take_while(|(a, b)| a == b).count();
                if same > length && (same > MIN_MATCH || index - at <= NEAR) {
                    length = same;
                    found = Some(Match { length, distance: index - at });
                    if same >= NICE.min(ahead.len()) {
                        break;
                    }
                }
            }
            if index - at == WINDOW {
                break;
            }
            candidate = self.before.get(at % WINDOW).copied().unwrap_or(0);
        }
        found
    }
}

/// Collects tokens and writes them block by block.
struct Blocks<'a> {
    data: &'a [u8],
    /// Where the data of the current block starts.
    start: usize,
    tokens: Vec<Token>,
    out: &'a mut Bits,
}

impl Blocks<'_> {
    /// Adds a token; the data up to `end` is covered then.
    fn add(&mut self, token: Token, end: usize) {
        self.tokens.push(token);
        if self.tokens.len() == BLOCK_TOKENS {
            self.end(end);
        }
    }

    fn end(&mut self, end: usize) {
        if self.tokens.is_empty() {
            return;
        }
        let data = self.data.get(self.start..end).unwrap_or_default();
        write_block(&self.tokens, data, self.out);
        self.tokens.clear();
        self.start = end;
    }
}

/// Writes a block in the smallest of the three forms.
fn write_block(tokens: &[Token], data: &[u8], out: &mut Bits) {
    let mut literal_counts = vec![0u64; LITERALS];
    let mut distance_counts = vec![0u64; DISTANCES];
    let bump = |counts: &mut Vec<u64>, i: usize| {
        if let Some(n) = counts.get_mut(i) {
            *n += 1;
        }
    };
    let mut extra = 0;
    for token in tokens {
        match token {
            Token::Byte(b) => bump(&mut literal_counts, usize::from(*b)),
            Token::Repeat(m) => {
                let (length, distance) = (length_symbol(m.length), distance_symbol(m.distance));
                bump(&mut literal_counts, length.symbol);
                bump(&mut distance_counts, distance.symbol);
                extra += u64::from(length.extra_bits + distance.extra_bits);
            }
        }
    }
    bump(&mut literal_counts, END_OF_BLOCK);
    if distance_counts.iter().all(|n| *n == 0) {
        // A block with its own codes has at least one for distances.
        bump(&mut distance_counts, 0);
    }
    let used = |counts: &[u64]| counts.iter().rposition(|n| *n > 0).map_or(0, |i| i + 1);
    let (literals, distances) = (used(&literal_counts), used(&distance_counts));
    let (own_literals, own_distances) = (Code::optimal(&literal_counts, 15), Code::optimal(&distance_counts, 15));
    let (fixed_literals, fixed_distances) = (Code::fixed_literals(), Code::of_lengths(vec![5; DISTANCES]));

    let lengths: Vec<u8> = own_literals
        .lengths
        .iter()
        .take(literals)
        .chain(own_distances.lengths.iter().take(distances))
        .copied()
        .collect();
    let runs = run_lengths(&lengths);
    let mut run_counts = vec![0u64; LENGTH_ORDER.len()];
    runs.iter().for_each(|r| bump(&mut run_counts, r.symbol));
    let run_code = Code::optimal(&run_counts, 7);
    let present = |i: &usize| run_counts.get(*i).is_some_and(|n| *n > 0);
    let run_lengths_written = LENGTH_ORDER.iter().rposition(present).map_or(4, |i| (i + 1).max(4));

    let fixed_size = 3 + fixed_literals.size(&literal_counts) + fixed_distances.size(&distance_counts) + extra;
    let run_extra: u64 = runs.iter().map(|r| u64::from(r.extra_bits)).sum();
    let header = 3 + 5 + 5 + 4 + 3 * run_lengths_written as u64 + run_code.size(&run_counts) + run_extra;
    let own_size = header + own_literals.size(&literal_counts) + own_distances.size(&distance_counts) + extra;
    let stored_size = (data.len() <= 0xffff).then_some((data.len() as u64 + 5) * 8);

    if stored_size.is_some_and(|stored| stored < fixed_size.min(own_size)) {
        out.put(0, 3);
        out.align();
        let length = data.len() as u16;
        out.bytes.extend(length.to_le_bytes());
        out.bytes.extend((!length).to_le_bytes());
        out.bytes.extend(data);
        return;
    }
    if own_size < fixed_size {
        out.put(0b100, 3);
        out.put(literals as u64 - 257, 5);
        out.put(distances as u64 - 1, 5);
        out.put(run_lengths_written as u64 - 4, 4);
        for i in LENGTH_ORDER.iter().take(run_lengths_written) {
            out.put(run_code.lengths.get(*i).copied().unwrap_or(0).into(), 3);
        }
        for run in &runs {
            run_code.write(run, out);
        }
        write_tokens(tokens, &own_literals, &own_distances, out);
    } else {
        out.put(0b010, 3);
        write_tokens(tokens, &fixed_literals, &fixed_distances, out);
    }
}

fn write_tokens(tokens: &[Token], literals: &Code, distances: &Code, out: &mut Bits) {
    for token in tokens {
        match token {
            Token::Byte(b) => literals.write(&Symbol::plain(usize::from(*b)), out),
            Token::Repeat(m) => {
                literals.write(&length_symbol(m.length), out);
                distances.write(&distance_symbol(m.distance), out);
            }
        }
    }
    literals.write(&Symbol::plain(END_OF_BLOCK), out);
}

/// A symbol with the bits that follow its code.
struct Symbol {
    symbol: usize,
    extra: u64,
    extra_bits: u32,
}

impl Symbol {
    fn plain(symbol: usize) -> Symbol {
        Symbol { symbol, extra: 0, extra_bits: 0 }
    }
}

fn length_symbol(length: usize) -> Symbol {
    if length >= MAX_MATCH {
        return Symbol::plain(285);
    }
    let n = length.saturating_sub(3);
    if n < 8 {
        return Symbol::plain(257 + n);
    }
    // Four symbols for each power of two.
    let extra_bits = n.ilog2() - 2;
    let symbol = 257 + 4 * (extra_bits as usize + 1) + ((n >> extra_bits) & 3);
    Symbol { symbol, extra: (n & ((1 << extra_bits) - 1)) as u64, extra_bits }
}

fn distance_symbol(distance: usize) -> Symbol {
    let n = distance.saturating_sub(1);
    if n < 4 {
        return Symbol::plain(n);
    }
    let extra_bits = n.ilog2() - 1;
    let symbol = 2 * (extra_bits as usize + 1) + ((n >> extra_bits) & 1);
    Symbol { symbol, extra: (n & ((1 << extra_bits) - 1)) as u64, extra_bits }
}

/// Code lengths with repetitions put together: 16 repeats the one before 3 to 6 times, 17 and 18 are runs of zeros.
fn run_lengths(lengths: &[u8]) -> Vec<Symbol> {
    let mut runs = Vec::new();
    for run in lengths.chunk_by(|a, b| a == b) {
        let length = usize::from(run.first().copied().unwrap_or(0));
        let mut left = run.len();
        if length == 0 {
            while left >= 11 {
                let n = left.min(138);
                runs.push(Symbol { symbol: 18, extra: n as u64 - 11, extra_bits: 7 });
                left -= n;
            }
            if left >= 3 {
                runs.push(Symbol { symbol: 17, extra: left as u64 - 3, extra_bits: 3 });
                left = 0;
            }
        } else {
            runs.push(Symbol::plain(length));
            left -= 1;
            while left >= 3 {
                let n = left.min(6);
                runs.push(Symbol { symbol: 16, extra: n as u64 - 3, extra_bits: 2 });
                left -= n;
            }
        }
        runs.extend((0..left).map(|_| Symbol::plain(length)));
    }
    runs
}

/// A prefix code: for each symbol its length (0 if it has no code) and bits.
struct Code {
    lengths: Vec<u8>,
    /// In the order in which they are written.
    bits: Vec<u64>,
}

impl Code {
    fn fixed_literals() -> Code {
        let length = |i: usize| match i {
            0..144 => 8,
            144..256 => 9,
            256..280 => 7,
            _ => 8,
        };
        Code::of_lengths((0..288).map(length).collect())
    }

    /// The code with given lengths: short codes first, among equals in the order of the symbols.
    fn of_lengths(lengths: Vec<u8>) -> Code {
        let mut bits = vec![0; lengths.len()];
        let mut next = 0u64;
        for length in 1..=15u8 {
            next <<= 1;
            for (l, b) in lengths.iter().zip(&mut bits) {
                if *l == length {
                    *b = next.reverse_bits() >> (64 - u32::from(length));
                    next += 1;
                }
            }
        }
        Code { lengths, bits }
    }

    /// The best code for symbols that occur so often, of at most so many bits each.
    fn optimal(counts: &[u64], most_bits: usize) -> Code {
        let mut symbols: Vec<(u64, usize)> =
            counts.iter().enumerate().filter(|(_, n)| **n > 0).map(|(i, n)| (*n, i)).collect();
        let mut lengths = vec![0; counts.len()];
        if symbols.len() <= 2 {
            for (_, i) in symbols {
                lengths.get_mut(i).into_iter().for_each(|l| *l = 1);
            }
            return Code::of_lengths(lengths);
        }
        symbols.sort_unstable();
        // Package-merge: each level has the symbols and the pairs of the level below, by weight, pairs first among
        // equals. A symbol gets one bit for each level on which it is among the chosen items.
        let levels = most_bits.min(symbols.len() - 1);
        let mut below: Vec<(u64, bool)> = Vec::new();
        let mut all: Vec<Vec<bool>> = Vec::with_capacity(levels);
        for _ in 0..levels {
            let mut pairs = below.chunks_exact(2).map(|p| p.iter().map(|item| item.0).sum::<u64>()).peekable();
            let mut items = Vec::with_capacity(2 * symbols.len());
            for (weight, _) in &symbols {
                while let Some(pair) = pairs.next_if(|pair| pair <= weight) {
                    items.push((pair, false));
                }
                items.push((*weight, true));
            }
            items.extend(pairs.map(|pair| (pair, false)));
            all.push(items.iter().map(|item| item.1).collect());
            below = items;
        }
        let mut chosen = 2 * symbols.len() - 2;
        for level in all.iter().rev() {
            let taken = level.get(..chosen).unwrap_or(level);
            let leaves = taken.iter().filter(|leaf| **leaf).count();
            for (_, i) in symbols.iter().take(leaves) {
                lengths.get_mut(*i).into_iter().for_each(|l| *l += 1);
            }
            chosen = 2 * (taken.len() - leaves);
        }
        Code::of_lengths(lengths)
    }

    /// How many bits the codes of all symbols take.
    fn size(&self, counts: &[u64]) -> u64 {
        counts.iter().zip(&self.lengths).map(|(n, l)| n * u64::from(*l)).sum()
    }

    fn write(&self, symbol: &Symbol, out: &mut Bits) {
        if let (Some(bits), Some(length)) = (self.bits.get(symbol.symbol), self.lengths.get(symbol.symbol)) {
            out.put(*bits, u32::from(*length));
        }
        out.put(symbol.extra, symbol.extra_bits);
    }
}

/// Bits, the lowest of each byte first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    rest: u64,
    count: u32,
}

impl Bits {
    fn put(&mut self, bits: u64, count: u32) {
        self.rest |= bits << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.rest as u8);
            self.rest >>= 8;
            self.count -= 8;
        }
    }

    /// Fills up the last byte.
    fn align(&mut self) {
        if self.count > 0 {
            self.put(0, 8 - self.count);
        }
    }
}
