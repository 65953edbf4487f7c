//! Generated texts that remember how they were put together, so that a smaller text of the same kind can be made from each.

use std::fmt;

/// A text with smaller ones in it: `text[0] parts[0] text[1] parts[1] … text[n]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    text: Vec<String>,
    parts: Vec<Tree>,
    /// Whether each of the parts can be left out.
    list: bool,
    /// Whether this is an expression, which another expression can replace.
    expression: bool,
}

impl Tree {
    /// An expression without parts.
    pub fn word(text: impl Into<String>) -> Tree {
        Tree { text: vec![text.into()], parts: Vec::new(), list: false, expression: true }
    }

    /// Something that is not an expression, like a piece of a string.
    pub fn piece(text: impl Into<String>) -> Tree {
        Tree { expression: false, ..Tree::word(text) }
    }

    /// An expression made from others. Each `@` in the pattern stands for the next part.
    pub fn form<const N: usize>(pattern: &str, parts: [Tree; N]) -> Tree {
        let text: Vec<String> = pattern.split('@').map(str::to_owned).collect();
        assert_eq!(text.len(), N + 1, "{pattern}");
        Tree { text, parts: parts.into(), list: false, expression: true }
    }

    /// As [`Tree::form`], for what is not an expression.
    pub fn piece_with<const N: usize>(pattern: &str, parts: [Tree; N]) -> Tree {
        Tree { expression: false, ..Tree::form(pattern, parts) }
    }

    /// An expression of parts that can be left out.
    pub fn list(open: &str, separator: &str, close: &str, parts: Vec<Tree>) -> Tree {
        let mut text = vec![separator.to_owned(); parts.len() + 1];
        text[parts.len()] = close.to_owned();
        text[0] = if parts.is_empty() { open.to_owned() + close } else { open.to_owned() };
        Tree { text, parts, list: true, expression: true }
    }

    /// As [`Tree::list`], for what is not an expression.
    pub fn piece_list(parts: Vec<Tree>) -> Tree {
        Tree { expression: false, ..Tree::list("", "", "", parts) }
    }

    /// Every text that is one step smaller, the smallest first.
    pub fn reductions(&self) -> Vec<Tree> {
        let length = self.to_string().len();
        let mut found: Vec<(String, Tree)> = self.steps().into_iter().map(|t| (t.to_string(), t)).collect();
        found.retain(|(text, _)| text.len() < length);
        found.sort_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
        found.dedup_by(|a, b| a.0 == b.0);
        found.into_iter().map(|(_, tree)| tree).collect()
    }

    fn steps(&self) -> Vec<Tree> {
        let mut steps = Vec::new();
        if self.expression {
            self.descendants(&mut steps);
            steps.extend(["null", "1", "\"a\"", "true", "[]", "{}"].map(Tree::word));
        }
        if self.list {
            steps.extend((0..self.parts.len()).map(|i| self.without(i)));
        }
        for (i, part) in self.parts.iter().enumerate() {
            for step in part.steps() {
                let mut smaller = self.clone();
                smaller.parts[i] = step;
                steps.push(smaller);
            }
        }
        steps
    }

    /// The nearest expressions inside.
    fn descendants(&self, found: &mut Vec<Tree>) {
        for part in &self.parts {
            match part.expression {
                true => found.push(part.clone()),
                false => part.descendants(found),
            }
        }
    }

    fn without(&self, i: usize) -> Tree {
        let mut smaller = self.clone();
        smaller.parts.remove(i);
        if smaller.parts.is_empty() {
            smaller.text = vec![smaller.text.concat()];
        } else {
            smaller.text.remove(i.max(1));
        }
        smaller
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, text) in self.text.iter().enumerate() {
            f.write_str(text)?;
            if let Some(part) = self.parts.get(i) {
                part.fmt(f)?;
            }
        }
        Ok(())
    }
}
