//! Patterns of file names for `fileset`. Within a name `*`, `?`, `[…]`, `{…,…}` and `\` work as in a shell; the name
//! `**` alone stands for any number of folders. Links are followed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// How many folders a pattern may lead through.
const MAX_FOLDERS: usize = 100_000;

/// The files under `base` that a pattern fits, relative to `base`; a folder that cannot be read has none.
pub(super) fn files(base: &Path, pattern: &str) -> Result<Vec<String>, String> {
    let mut parts: Vec<Part> = Vec::new();
    let mut names: Vec<&str> = Vec::new();
    for name in pattern.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|n| *n != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    for name in names {
        parts.push(if name == "**" { Part::Folders } else { Part::Name(parse(name)) });
    }
    let mut search = Search { found: HashSet::new(), folders: 0, malformed: false };
    search.walk(base, "", &parts);
    if search.malformed {
        return Err(format!("{pattern:?} is not valid"));
    }
    if search.folders > MAX_FOLDERS {
        return Err(format!("leads through more than {MAX_FOLDERS} folders; links that lead back may be the cause"));
    }
    Ok(search.found.into_iter().collect())
}

enum Part {
    /// `**`
    Folders,
    Name(Vec<Piece>),
}

/// A piece of the pattern of a name.
enum Piece {
    Char(char),
    /// `?`
    Any,
    /// `*`
    Many,
    /// Ranges of characters, and whether they are those that do not fit.
    Class(Vec<(char, char)>, bool),
    OneOf(Vec<Vec<Piece>>),
    /// Where the pattern stops making sense. As in Terraform that counts only if a name fits up to here, and goes on.
    Malformed,
}

fn parse(name: &str) -> Vec<Piece> {
    let chars: Vec<char> = name.chars().collect();
    let mut at = 0;
    pieces(&chars, &mut at, 0).unwrap_or_else(|| {
        // The longest beginning that makes sense.
        let beginnings = (0..chars.len()).rev();
        let valid = beginnings.filter_map(|end| pieces(chars.get(..end)?, &mut 0, 0));
        let mut valid = valid.into_iter().next().unwrap_or_default();
        valid.push(Piece::Malformed);
        valid
    })
}

/// Reads pieces up to the end, or inside braces up to the next comma or closing brace.
fn pieces(chars: &[char], at: &mut usize, depth: usize) -> Option<Vec<Piece>> {
    const MAX_DEPTH: usize = 32;
    let mut out = Vec::new();
    while let Some(&c) = chars.get(*at) {
        if depth > 0 && matches!(c, ',' | '}') {
            break;
        }
        *at += 1;
        out.push(match c {
            '*' => Piece::Many,
            '?' => Piece::Any,
            '\\' => {
                *at += 1;
                Piece::Char(*chars.get(*at - 1)?)
            }
            '[' => class(chars, at)?,
            '{' if depth < MAX_DEPTH => {
                let mut options = Vec::new();
                loop {
                    options.push(pieces(chars, at, depth + 1)?);
                    *at += 1;
                    match chars.get(*at - 1)? {
                        '}' => break,
                        _ => continue,
                    }
                }
                Piece::OneOf(options)
            }
            '{' => return None,
            c => Piece::Char(c),
        });
    }
    Some(out)
}

fn class(chars: &[char], at: &mut usize) -> Option<Piece> {
    let negated = chars.get(*at) == Some(&'^');
    *at += usize::from(negated);
    let mut ranges = Vec::new();
    let one = |at: &mut usize| {
        let c = *chars.get(*at)?;
        *at += 1;
        match c {
            '\\' => {
                *at += 1;
                chars.get(*at - 1).copied()
            }
            '-' | ']' => None,
            c => Some(c),
        }
    };
    while chars.get(*at) != Some(&']') || ranges.is_empty() {
        let low = one(at)?;
        let mut high = low;
        if chars.get(*at) == Some(&'-') {
            *at += 1;
            high = one(at)?;
        }
        ranges.push((low, high));
    }
    *at += 1;
    Some(Piece::Class(ranges, negated))
}

/// Whether the whole of a name fits. The positions that pieces read so far may end at are kept as a set, so the cost is
/// linear in the lengths of pattern and name.
fn fits(pattern: &[Piece], name: &[char]) -> bool {
    ends(pattern, name).last().copied().unwrap_or(false)
}

/// Whether a name fits up to where the pattern is malformed, and goes on.
fn reaches_malformed(pattern: &[Piece], name: &[char]) -> bool {
    match pattern.split_last() {
        Some((Piece::Malformed, valid)) if !valid.iter().any(|p| matches!(p, Piece::Many)) => {
            ends(valid, name).split_last().is_some_and(|(_, before)| before.contains(&true))
        }
        _ => false,
    }
}

/// The positions in a name at which the pattern may end.
fn ends(pattern: &[Piece], name: &[char]) -> Vec<bool> {
    fn advance(pattern: &[Piece], name: &[char], from: &[bool]) -> Vec<bool> {
        let mut now = from.to_vec();
        for piece in pattern {
            now = match piece {
                Piece::Many => {
                    let mut reached = false;
                    now.iter()
                        .map(|here| {
                            reached |= *here;
                            reached
                        })
                        .collect()
                }
                Piece::OneOf(options) => {
                    let mut any = vec![false; now.len()];
                    for option in options {
                        let ends = advance(option, name, &now);
                        any.iter_mut().zip(ends).for_each(|(a, e)| *a |= e);
                    }
                    any
                }
                single => {
                    let step = now.iter().zip(name).map(|(here, c)| *here && fits_char(single, *c));
                    std::iter::once(false).chain(step).collect()
                }
            };
        }
        now
    }
    let mut start = vec![false; name.len() + 1];
    if let Some(first) = start.first_mut() {
        *first = true;
    }
    advance(pattern, name, &start)
}

fn fits_char(piece: &Piece, c: char) -> bool {
    match piece {
        Piece::Char(p) => *p == c,
        Piece::Malformed => false,
        Piece::Class(ranges, negated) => ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *negated,
        _ => true,
    }
}

struct Search {
    found: HashSet<String>,
    /// How many folders were looked in. Links that lead back are followed, as Terraform does, until the system finds
    /// that there are too many in a name; several of them make more names than can be looked at.
    folders: usize,
    /// Whether a name led to where the pattern makes no sense.
    malformed: bool,
}

impl Search {
    /// Looks in `dir`, which is `prefix` relative to the base.
    fn walk(&mut self, dir: &Path, prefix: &str, parts: &[Part]) {
        let Some((part, rest)) = parts.split_first() else { return };
        match part {
            Part::Name(pieces) => match literal(pieces) {
                Some(name) => self.visit(&dir.join(&name), &join(prefix, &name), rest),
                None => {
                    for name in entries(dir) {
                        let chars: Vec<char> = name.chars().collect();
                        self.malformed |= reaches_malformed(pieces, &chars);
                        if fits(pieces, &chars) {
                            self.visit(&dir.join(&name), &join(prefix, &name), rest);
                        }
                    }
                }
            },
            Part::Folders => {
                self.folders += 1;
                if self.folders > MAX_FOLDERS {
                    return;
                }
                self.walk(dir, prefix, rest);
                for name in entries(dir) {
                    let (path, relative) = (dir.join(&name), join(prefix, &name));
                    if path.is_dir() {
                        self.walk(&path, &relative, parts);
                    } else if rest.is_empty() {
                        self.visit(&path, &relative, rest);
                    }
                }
            }
        }
    }

    /// What a part fits: a file at the end of the pattern, else a folder to look in.
    fn visit(&mut self, path: &Path, relative: &str, rest: &[Part]) {
        if !rest.is_empty() {
            self.walk(path, relative, rest);
        } else if path.is_file() {
            self.found.insert(relative.to_owned());
        }
    }
}

/// The one name that a pattern without special characters fits.
fn literal(pieces: &[Piece]) -> Option<String> {
    pieces.iter().map(|p| if let Piece::Char(c) = p { Some(*c) } else { None }).collect()
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") }
}

/// The names in a folder.
fn entries(dir: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect()
}
