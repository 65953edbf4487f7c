//! Writing JSON member by member into a string: commas, quotes and the layout for people. No values are built in
//! between, so that documents of many thousand objects cost no more than their text.

use gpuform_schema::json::write_string;
use std::fmt::{Display, Write as _};

/// The object that is being written.
pub struct Members<'a> {
    out: &'a mut String,
    first: bool,
}

/// Appends an object whose members `f` writes.
pub fn object(out: &mut String, f: impl FnOnce(&mut Members<'_>)) {
    out.push('{');
    f(&mut Members { out, first: true });
    out.push('}');
}

/// Appends an array; `f` writes each element.
pub fn array<T>(out: &mut String, items: impl IntoIterator<Item = T>, mut f: impl FnMut(T, &mut String)) {
    out.push('[');
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        f(item, out);
    }
    out.push(']');
}

/// Appends a string as JSON.
pub fn string(out: &mut String, s: impl AsRef<str>) {
    write_string(s.as_ref(), out);
}

/// Appends what something prints as a JSON string.
pub fn display(out: &mut String, d: impl Display) {
    write_string(&d.to_string(), out);
}

impl Members<'_> {
    /// Writes the name of a member; what follows in the string is its value.
    pub fn key(&mut self, name: &str) -> &mut String {
        if !self.first {
            self.out.push(',');
        }
        self.first = false;
        write_string(name, self.out);
        self.out.push(':');
        self.out
    }

    pub fn string(&mut self, name: &str, value: impl AsRef<str>) {
        string(self.key(name), value);
    }

    pub fn display(&mut self, name: &str, value: impl Display) {
        display(self.key(name), value);
    }

    pub fn bool(&mut self, name: &str, value: bool) {
        self.key(name).push_str(if value { "true" } else { "false" });
    }

    pub fn null(&mut self, name: &str) {
        self.key(name).push_str("null");
    }

    pub fn number(&mut self, name: &str, value: impl Display) {
        // Writing to a string does not fail.
        let _ = write!(self.key(name), "{value}");
    }

    pub fn object(&mut self, name: &str, f: impl FnOnce(&mut Members<'_>)) {
        object(self.key(name), f);
    }

    pub fn array<T>(&mut self, name: &str, items: impl IntoIterator<Item = T>, f: impl FnMut(T, &mut String)) {
        array(self.key(name), items, f);
    }

    /// A list of strings, left out when there are none.
    pub fn strings<T: Display>(&mut self, name: &str, items: impl IntoIterator<Item = T>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.array(name, items, |s, out| display(out, s));
        }
    }
}

/// JSON text without white space in the layout for people, indented by two spaces.
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let mut in_string = false;
    let mut chars = json.chars().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    while let Some(c) = chars.next() {
        match c {
            '"' => in_string = !in_string,
            '\\' if in_string => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            _ if in_string => {}
            '{' | '[' => {
                out.push(c);
                let close = if c == '{' { '}' } else { ']' };
                if chars.next_if_eq(&close).is_some() {
                    out.push(close);
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
                continue;
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
                continue;
            }
            ':' => {
                out.push_str(": ");
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_for_people_leaves_strings_and_empty_containers_alone() {
        let text = r#"{"a":{"b":[],"c":{}},"d":["x,{\"y","\\"]}"#;
        let expected =
            "{\n  \"a\": {\n    \"b\": [],\n    \"c\": {}\n  },\n  \"d\": [\n    \"x,{\\\"y\",\n    \"\\\\\"\n  ]\n}";
        assert_eq!(indented(text), expected);
    }
}
