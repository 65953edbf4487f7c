//! "Did you mean": the nearest of the known names to one that is not known.

/// The candidate that differs from `given` by at most two edits (insertion, removal, replacement of one character);
/// the nearest, and of equally near ones the first.
pub fn nearest<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    const FAR: usize = 3;
    let given: Vec<char> = given.chars().collect();
    let mut row = Vec::new();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let distance = distance(&given, candidate, &mut row);
        if distance < best.map_or(FAR, |(d, _)| d) && distance < candidate.chars().count().max(given.len()) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, c)| c)
}

/// ` Did you mean "NAME"?` to append to a sentence, or nothing.
pub fn did_you_mean<'a>(given: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest(given, candidates).map_or_else(String::new, |c| format!(" Did you mean \"{c}\"?"))
}

/// Levenshtein distance; `row` is scratch space.
fn distance(given: &[char], candidate: &str, row: &mut Vec<usize>) -> usize {
    row.clear();
    row.extend(0..=given.len());
    for (i, c) in candidate.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (cell, g) in row.iter_mut().skip(1).zip(given) {
            let above = *cell;
            let replaced = diagonal + usize::from(c != *g);
            left = replaced.min(above + 1).min(left + 1);
            diagonal = above;
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_name_within_two_edits_is_suggested() {
        let names = ["instance_type", "ami", "tags", "tag"];
        assert_eq!(nearest("instance_typ", names), Some("instance_type"));
        assert_eq!(nearest("tagz", names), Some("tags"));
        assert_eq!(nearest("amis", names), Some("ami"));
        assert_eq!(nearest("instance", names), None);
        assert_eq!(nearest("x", ["y"]), None, "nothing in common");
    }
}
