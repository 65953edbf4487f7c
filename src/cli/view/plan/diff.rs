//! The difference between two values as lines of text: what is added, removed, changed, and a little of what stays
//! for orientation. Sensitive parts are never shown.

use crate::cli::view::visible::{self, padded};
use crate::lang::parse::is_identifier;
use crate::lang::render::quoted;
use gpuform_schema::schema::{Attribute, AttributeType, Block, NestedBlock, Nesting};
use gpuform_schema::{Marks, Path, Step, Str, Type, Value};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What happens to one line or container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mark {
    Keep,
    Add,
    Remove,
    Change,
}

impl Mark {
    fn symbol(self) -> &'static str {
        match self {
            Mark::Keep => " ",
            Mark::Add => "+",
            Mark::Remove => "-",
            Mark::Change => "~",
        }
    }
}

/// Colours of a line, if any.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    pub fn code(self, code: &'static str) -> &'static str {
        if self.0 { code } else { "" }
    }

    fn symbol(self, m: Mark) -> String {
        let color = match m {
            Mark::Add => "\x1b[32m",
            Mark::Remove => "\x1b[31m",
            Mark::Change => "\x1b[33m",
            Mark::Keep => return m.symbol().to_owned(),
        };
        format!("{}{}{}", self.code(color), m.symbol(), self.code("\x1b[0m"))
    }
}

/// Writes differences.
pub struct Writer<'a> {
    pub out: String,
    pub paint: Paint,
    /// Paths that force a replacement.
    pub forces: &'a [Path],
    /// The whole object goes: values are shown with `-> null`.
    pub deleting: bool,
    /// What stays is shown as well, as for objects that are imported.
    pub whole: bool,
}

/// Attributes that are shown even where they do not change.
const LANDMARKS: [&str; 3] = ["id", "name", "tags"];

fn sensitive(v: &Value) -> bool {
    v.marks().contains(Marks::SENSITIVE)
}

fn plain(v: &Value) -> &Value {
    v.unmark().0
}

impl Writer<'_> {
    fn line(&mut self, indent: usize, mark: Mark, text: &str) {
        let symbol = self.paint.symbol(mark);
        self.out.push_str(&" ".repeat(indent));
        self.out.push_str(&symbol);
        self.out.push(' ');
        self.out.push_str(text);
        self.out.push('\n');
    }

    fn hidden(&mut self, indent: usize, n: usize, what: &str) {
        if n > 0 {
            let s = if n == 1 { "" } else { "s" };
            let (dim, reset) = (self.paint.code("\x1b[90m"), self.paint.code("\x1b[0m"));
            self.out.push_str(&" ".repeat(indent + 2));
            self.out.push_str(&format!("{dim}# ({n} unchanged {what}{s} hidden){reset}\n"));
        }
    }

    fn forces(&self, path: &Path) -> bool {
        self.forces.iter().any(|p| p == path)
    }

    fn suffix(&self, path: &Path) -> String {
        if self.forces(path) {
            format!(" {}# forces replacement{}", self.paint.code("\x1b[31m"), self.paint.code("\x1b[0m"))
        } else {
            String::new()
        }
    }

    // ---- objects by schema

    /// The content of a block between its braces.
    pub fn block(&mut self, block: &Block, before: &Value, after: &Value, indent: usize, path: &Path) {
        let null = Value::null();
        let part = |v: &Value, name: &str| plain(v).get(name).cloned().unwrap_or_else(|| null.clone());
        let mut shown: Vec<(&Str, &Attribute, Value, Value, Mark)> = Vec::new();
        let (mut hidden, mut width) = (0, 0);
        for (name, a) in &block.attributes {
            let (b, n) = (part(before, name), part(after, name));
            // What is only written comes and goes with its object.
            let mark = if a.write_only { presence(before, after) } else { mark_of(&b, &n) };
            if mark == Mark::Keep && b.is_null() && !a.write_only {
                continue;
            }
            // Those that are hidden count as well.
            width = width.max(name.chars().count());
            if mark == Mark::Keep && !self.whole && !LANDMARKS.contains(&&**name) {
                hidden += 1;
                continue;
            }
            shown.push((name, a, b, n, mark));
        }
        for (name, a, b, n, mark) in &shown {
            let label = format!("{} = ", padded(name, width));
            let path = path.attr((*name).clone());
            if a.write_only {
                let tail = if *mark == Mark::Remove { " -> null" } else { "" };
                self.line(indent, *mark, &format!("{label}(write-only attribute){tail}"));
                continue;
            }
            let deleting = std::mem::replace(&mut self.deleting, true);
            self.attribute(&label, a, b, n, *mark, indent, &path);
            self.deleting = deleting;
        }
        self.hidden(indent, hidden, "attribute");
        let mut hidden_blocks = 0;
        for (name, nested) in &block.blocks {
            let (b, n) = (part(before, name), part(after, name));
            hidden_blocks += self.blocks(name, nested, &b, &n, indent, &path.attr(name.clone()));
        }
        if hidden_blocks > 0 {
            self.out.push('\n');
            self.hidden(indent, hidden_blocks, "block");
        }
    }

    /// The content of a block as it is, nothing left out.
    pub fn state(&mut self, block: &Block, value: &Value, indent: usize) {
        let value = plain(value);
        let attributes = block.attributes.iter().filter_map(|(name, a)| {
            let v = value.get(name)?;
            Some((name, if a.ty == AttributeType::Value(Type::Dynamic) { untyped(v) } else { v.clone() }))
        });
        let write_only = |name: &Str| block.attributes.get(name).is_some_and(|a| a.write_only);
        self.listed(attributes, &write_only, indent);
        for (name, nested) in &block.blocks {
            let Some(v) = value.get(name).filter(|v| !v.is_null()) else { continue };
            if sensitive(v) {
                self.out.push('\n');
                self.line(indent, Mark::Keep, &format!("{name} {{"));
                self.close(indent + 4, "# At least one attribute in this block is (or was) sensitive,");
                self.close(indent + 4, "# so its contents will not be displayed.");
                self.close(indent, "}");
                continue;
            }
            for (i, (key, _, v)) in pairs(nested.nesting, &Value::null(), v).into_iter().enumerate() {
                let Some(v) = v.filter(|v| !v.is_null()) else { continue };
                let label = key.map(|k| format!(" {}", quoted(&k))).unwrap_or_default();
                if i == 0 {
                    self.out.push('\n');
                }
                self.line(indent, Mark::Keep, &format!("{name}{label} {{"));
                self.state(&nested.block, &v, indent + 4);
                self.close(indent, "}");
            }
        }
    }

    /// Attributes as they are, one below the other; null ones are left out, except for those that are only written.
    pub fn listed<'v>(
        &mut self,
        attributes: impl Iterator<Item = (&'v Str, Value)>,
        write_only: &dyn Fn(&Str) -> bool,
        indent: usize,
    ) {
        let shown: Vec<(&Str, Value)> = attributes.filter(|(n, v)| !v.is_null() || write_only(n)).collect();
        let width = shown.iter().map(|(n, _)| n.chars().count()).max().unwrap_or(0);
        for (name, v) in shown {
            if write_only(name) {
                self.line(indent, Mark::Keep, &format!("{name:<width$} = (write-only attribute)"));
                continue;
            }
            self.value(&format!("{name:<width$} = "), &v, &v, Mark::Keep, indent, &Path::root(), "");
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn attribute(
        &mut self,
        label: &str,
        a: &Attribute,
        before: &Value,
        after: &Value,
        mark: Mark,
        indent: usize,
        path: &Path,
    ) {
        let nested = match &a.ty {
            AttributeType::Nested(n) if !a.sensitive => n,
            AttributeType::Value(Type::Dynamic) => {
                // As Terraform does, a replacement is explained by an attribute of dynamic type only where its value
                // is not shown.
                let shown = !sensitive(before) && !sensitive(after) && after.is_known();
                let path = if shown { &Path::root() } else { path };
                return self.value(label, &untyped(before), &untyped(after), mark, indent, path, "");
            }
            _ => return self.value(label, before, after, mark, indent, path, ""),
        };
        let object = Block { attributes: nested.attributes.clone(), ..Block::default() };
        let simple = sensitive(before) || sensitive(after) || !after.is_known() || before.is_null() && after.is_null();
        if simple {
            return self.value(label, before, after, mark, indent, path, "");
        }
        let suffix = self.suffix(path);
        let tail = if self.deleting && mark == Mark::Remove { " -> null" } else { "" };
        if nested.nesting == Nesting::Single {
            self.line(indent, mark, &format!("{label}{{{suffix}"));
            self.block(&object, before, after, indent + 4, path);
            self.close(indent, &format!("}}{tail}"));
            return;
        }
        let brackets = if nested.nesting == Nesting::Map { ("{", "}") } else { ("[", "]") };
        if before.element_count().unwrap_or(0) == 0 && after.element_count().unwrap_or(0) == 0 {
            self.line(indent, mark, &format!("{label}{}{}{tail}{suffix}", brackets.0, brackets.1));
            return;
        }
        self.line(indent, mark, &format!("{label}{}{suffix}", brackets.0));
        let mut hidden = 0;
        for (i, (key, b, n)) in pairs(nested.nesting, before, after).into_iter().enumerate() {
            let path = &part_path(nested.nesting, path, i, key.as_ref());
            let (b, n) = (b.unwrap_or_else(Value::null), n.unwrap_or_else(Value::null));
            let mark = mark_of(&b, &n);
            if mark == Mark::Keep && !self.whole {
                hidden += 1;
                continue;
            }
            let head = key.as_ref().map(|k| format!("{} = ", quoted(k))).unwrap_or_default();
            self.line(indent + 4, mark, &format!("{head}{{"));
            self.block(&object, &b, &n, indent + 8, path);
            self.close(indent + 4, "},");
        }
        self.hidden(indent + 4, hidden, "element");
        self.close(indent, &format!("{}{tail}", brackets.1));
    }

    /// Nested blocks of one type; gives the number of those that stay as they are and are not shown.
    fn blocks(
        &mut self,
        name: &str,
        b: &NestedBlock,
        before: &Value,
        after: &Value,
        indent: usize,
        path: &Path,
    ) -> usize {
        if sensitive(before) || sensitive(after) {
            if before != after || before.is_null() {
                let mark = mark_of(before, after);
                self.out.push('\n');
                self.line(indent, mark, &format!("{name} {{"));
                self.close(indent + 4, "# At least one attribute in this block is (or was) sensitive,");
                self.close(indent + 4, "# so its contents will not be displayed.");
                self.close(indent, "}");
                return 0;
            }
            return 1;
        }
        if !after.is_known() {
            self.out.push('\n');
            self.line(indent, if before.is_null() { Mark::Add } else { Mark::Change }, &format!("{name} {{"));
            self.line(indent + 4, Mark::Add, "(known after apply)");
            self.close(indent, "}");
            return 0;
        }
        let (mut hidden, mut apart) = (0, false);
        for (i, (key, x, y)) in pairs(b.nesting, before, after).into_iter().enumerate() {
            let (x, y) = (x.unwrap_or_else(Value::null), y.unwrap_or_else(Value::null));
            let mark = mark_of(&x, &y);
            if mark == Mark::Keep && (x.is_null() || !self.whole) {
                hidden += usize::from(!x.is_null());
                continue;
            }
            if !std::mem::replace(&mut apart, true) {
                self.out.push('\n');
            }
            let path = &part_path(b.nesting, path, i, key.as_ref());
            let label = key.map(|k| format!(" {}", quoted(&k))).unwrap_or_default();
            let suffix = self.suffix(path);
            self.line(indent, mark, &format!("{name}{label} {{{suffix}"));
            self.block(&b.block, &x, &y, indent + 4, path);
            self.close(indent, "}");
        }
        hidden
    }

    fn close(&mut self, indent: usize, text: &str) {
        if !text.is_empty() {
            self.out.push_str(&" ".repeat(indent + 2));
            self.out.push_str(text);
        }
        self.out.push('\n');
    }

    // ---- values

    /// A value after its label; `end` is what follows it (a comma in lists).
    #[allow(clippy::too_many_arguments)]
    pub fn value(
        &mut self,
        label: &str,
        before: &Value,
        after: &Value,
        mark: Mark,
        indent: usize,
        path: &Path,
        end: &str,
    ) {
        let suffix = self.suffix(path);
        if sensitive(before) || sensitive(after) {
            let tail = if self.deleting && mark == Mark::Remove { " -> null" } else { "" };
            if sensitive(before) != sensitive(after) && mark == Mark::Change {
                let margin = " ".repeat(indent);
                let (first, second) = if sensitive(after) {
                    ("will be marked as sensitive and will not", "display in UI output after applying this change.")
                } else {
                    ("will no longer be marked as sensitive", "after applying this change.")
                };
                let same = if plain(before) == plain(after) { " The value is unchanged." } else { "" };
                self.out
                    .push_str(&format!("{margin}# Warning: this attribute value {first}\n{margin}# {second}{same}\n"));
            }
            self.line(indent, mark, &format!("{label}(sensitive value){tail}{end}{suffix}"));
            return;
        }
        let (b, a) = (plain(before), plain(after));
        match mark {
            Mark::Keep => self.whole(label, a, Mark::Keep, indent, end, ""),
            Mark::Add => self.whole(label, a, Mark::Add, indent, end, &suffix),
            Mark::Remove => {
                let tail = if self.deleting { " -> null" } else { "" };
                self.whole(label, b, Mark::Remove, indent, &format!("{tail}{end}"), &suffix);
            }
            Mark::Change => self.changed(label, b, a, indent, path, end, &suffix),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn changed(&mut self, label: &str, b: &Value, a: &Value, indent: usize, path: &Path, end: &str, suffix: &str) {
        if !a.is_known() {
            let end = format!(" -> (known after apply){end}{suffix}");
            return self.whole_as(label, b, Mark::Change, Mark::Remove, indent, &end, "");
        }
        match (b, a) {
            (Value::Object(_) | Value::Map(_), Value::Object(_) | Value::Map(_)) => {
                self.line(indent, Mark::Change, &format!("{label}{{{suffix}"));
                self.entries(b, a, indent + 4, path);
                self.close(indent, &format!("}}{end}"));
            }
            (Value::Set(_), Value::Set(_)) => {
                self.line(indent, Mark::Change, &format!("{label}[{suffix}"));
                self.set(b, a, indent + 4, path);
                self.close(indent, &format!("]{end}"));
            }
            (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) => {
                self.line(indent, Mark::Change, &format!("{label}[{suffix}"));
                self.list(b, a, indent + 4, path);
                self.close(indent, &format!("]{end}"));
            }
            (Value::String(x), Value::String(y)) => self.changed_text(label, x, y, indent, end, suffix),
            _ => self.other_kind(label, b, a, indent, end, suffix),
        }
    }

    /// A value of another kind takes the place of one: both are shown in full.
    fn other_kind(&mut self, label: &str, b: &Value, a: &Value, indent: usize, end: &str, suffix: &str) {
        // What forces a replacement is told on the first line.
        let (first, second) = if one_line(b) { ("", suffix) } else { (suffix, "") };
        let before = std::mem::take(&mut self.out);
        self.whole_as("", a, Mark::Keep, Mark::Add, indent, end, second);
        let after = std::mem::replace(&mut self.out, before);
        let after = after.get(indent + 2..).unwrap_or_default().trim_end_matches('\n');
        self.whole_as(label, b, Mark::Change, Mark::Remove, indent, &format!(" -> {after}"), first);
    }

    fn changed_text(&mut self, label: &str, x: &Str, y: &Str, indent: usize, end: &str, suffix: &str) {
        let (b, a) = (json(x), json(y));
        if b.is_some() != a.is_some() {
            let (b, a) = (Value::String(x.clone()), Value::String(y.clone()));
            return self.other_kind(label, &b, &a, indent, end, suffix);
        }
        if let (Some(b), Some(a)) = (b, a) {
            let note = if b == a { " # whitespace changes" } else { "" };
            self.line(indent, Mark::Change, &format!("{label}jsonencode({suffix}{note}"));
            let mark = if b == a { Mark::Keep } else { mark_of(&b, &a) };
            if mark == Mark::Keep {
                self.whole("", &a, Mark::Keep, indent + 4, "", "");
            } else {
                self.value("", &b, &a, mark, indent + 4, &Path(vec![Step::Index(u64::MAX)]), "");
            }
            self.close(indent, &format!("){end}"));
            return;
        }
        if x.contains('\n') || y.contains('\n') {
            self.line(indent, Mark::Change, &format!("{label}<<-EOT{suffix}"));
            let (old, new): (Vec<&str>, Vec<&str>) = (x.lines().collect(), y.lines().collect());
            for (mark, line) in edits(&old, &new) {
                self.line(indent + 4, mark, &visible::text(line));
            }
            self.close(indent, &format!("EOT{end}"));
            return;
        }
        self.line(indent, Mark::Change, &format!("{label}{} -> {}{end}{suffix}", quoted(x), quoted(y)));
    }

    /// The entries of two maps or objects.
    fn entries(&mut self, before: &Value, after: &Value, indent: usize, path: &Path) {
        let is_map = matches!(after, Value::Map(_)) || matches!(before, Value::Map(_));
        let names: BTreeSet<Str> =
            [before, after].iter().flat_map(|v| v.entries().into_iter().flatten().map(|(k, _)| k.clone())).collect();
        let mut shown = Vec::new();
        let (mut hidden, mut width) = (0, 0);
        for name in names {
            width = width.max(key_text(&name, is_map).chars().count());
            let (b, a) = (before.get(&name).cloned(), after.get(&name).cloned());
            let mark = match (&b, &a) {
                (None, Some(_)) => Mark::Add,
                (Some(_), None) => Mark::Remove,
                (Some(b), Some(a)) if b == a => Mark::Keep,
                _ => Mark::Change,
            };
            if mark == Mark::Keep && (is_map || !LANDMARKS.contains(&&*name)) {
                hidden += 1;
                continue;
            }
            shown.push((key_text(&name, is_map), name, b, a, mark));
        }
        let deleting = std::mem::replace(&mut self.deleting, false);
        for (key, name, b, a, mark) in shown {
            let path = path.child(if is_map { Step::Key(name) } else { Step::Attr(name) });
            let (b, a) = (b.unwrap_or_else(Value::null), a.unwrap_or_else(Value::null));
            self.value(&format!("{} = ", padded(&key, width)), &b, &a, mark, indent, &path, "");
        }
        self.deleting = deleting;
        self.hidden(indent, hidden, if is_map { "element" } else { "attribute" });
    }

    fn set(&mut self, before: &Value, after: &Value, indent: usize, path: &Path) {
        let (b, a) = (before.items().unwrap_or_default(), after.items().unwrap_or_default());
        let (before, after): (HashSet<&Value>, HashSet<&Value>) = (b.iter().collect(), a.iter().collect());
        let mut items: Vec<(Mark, &Value)> = Vec::new();
        items.extend(b.iter().filter(|i| !after.contains(i)).map(|i| (Mark::Remove, i)));
        items.extend(a.iter().filter(|i| !before.contains(i)).map(|i| (Mark::Add, i)));
        let kept = a.iter().filter(|i| before.contains(i)).count();
        for (mark, item) in items {
            let null = Value::null();
            let (x, y) = if mark == Mark::Add { (&null, item) } else { (item, &null) };
            self.element(x, y, mark, indent, path);
        }
        self.hidden(indent, kept, "element");
    }

    fn element(&mut self, b: &Value, a: &Value, mark: Mark, indent: usize, path: &Path) {
        let deleting = std::mem::replace(&mut self.deleting, false);
        self.value("", b, a, mark, indent, path, ",");
        self.deleting = deleting;
    }

    fn list(&mut self, before: &Value, after: &Value, indent: usize, path: &Path) {
        let (b, a) = (before.items().unwrap_or_default(), after.items().unwrap_or_default());
        let items = align(b, a);
        let mut hidden = 0;
        for (i, (mark, x, y)) in items.iter().enumerate() {
            let near = |n: Option<usize>| n.and_then(|n| items.get(n)).is_some_and(|(m, ..)| *m != Mark::Keep);
            if *mark == Mark::Keep && !near(i.checked_sub(1)) && !near(Some(i + 1)) {
                hidden += 1;
                continue;
            }
            self.hidden(indent, std::mem::take(&mut hidden), "element");
            self.element(x, y, *mark, indent, &path.index(i));
        }
        self.hidden(indent, hidden, "element");
    }

    /// A value with all its parts under one mark.
    fn whole(&mut self, label: &str, v: &Value, mark: Mark, indent: usize, end: &str, suffix: &str) {
        self.whole_as(label, v, mark, mark, indent, end, suffix);
    }

    #[allow(clippy::too_many_arguments)]
    fn whole_as(&mut self, label: &str, v: &Value, mark: Mark, inner: Mark, indent: usize, end: &str, suffix: &str) {
        if sensitive(v) {
            self.line(indent, mark, &format!("{label}(sensitive value){end}{suffix}"));
            return;
        }
        let v = plain(v);
        match v {
            Value::Object(_) | Value::Map(_) if v.element_count().unwrap_or(0) > 0 => {
                self.line(indent, mark, &format!("{label}{{{suffix}"));
                self.children(v, inner, indent + 4);
                self.close(indent, &format!("}}{end}"));
            }
            Value::List(_) | Value::Set(_) | Value::Tuple(_) if v.element_count().unwrap_or(0) > 0 => {
                self.line(indent, mark, &format!("{label}[{suffix}"));
                self.children(v, inner, indent + 4);
                self.close(indent, &format!("]{end}"));
            }
            Value::String(s) => {
                if let Some(v) = json(s) {
                    self.line(indent, mark, &format!("{label}jsonencode({suffix}"));
                    // The parts carry the mark; the outermost bracket of the text does not.
                    self.json_whole(&v, inner, indent + 4);
                    self.close(indent, &format!("){end}"));
                } else if s.contains('\n') {
                    self.line(indent, mark, &format!("{label}<<-EOT{suffix}"));
                    for line in s.lines() {
                        self.close(indent + 4, &visible::text(line));
                    }
                    self.close(indent, &format!("EOT{end}"));
                } else {
                    self.line(indent, mark, &format!("{label}{}{end}{suffix}", quoted(s)));
                }
            }
            v => self.line(indent, mark, &format!("{label}{}{end}{suffix}", scalar(v))),
        }
    }

    /// The parts of a container, all under one mark.
    fn children(&mut self, v: &Value, mark: Mark, indent: usize) {
        let is_map = matches!(v, Value::Map(_));
        let Some(entries) = v.entries() else {
            v.items().unwrap_or_default().iter().for_each(|v| self.whole("", v, mark, indent, ",", ""));
            return;
        };
        let entries: Vec<(String, &Value)> = entries.map(|(k, v)| (key_text(k, is_map), v)).collect();
        let width = entries.iter().map(|(k, _)| k.chars().count()).max().unwrap_or(0);
        for (k, v) in entries {
            self.whole(&format!("{} = ", padded(&k, width)), v, mark, indent, "", "");
        }
    }

    fn json_whole(&mut self, v: &Value, mark: Mark, indent: usize) {
        let (open, close) = if v.entries().is_some() { ("{", "}") } else { ("[", "]") };
        self.line(indent, Mark::Keep, open);
        if let Some(entries) = v.entries() {
            let entries: Vec<(String, Value)> = entries.map(|(k, v)| (key_text(k, false), v.clone())).collect();
            let width = entries.iter().map(|(k, _)| k.chars().count()).max().unwrap_or(0);
            for (k, v) in &entries {
                self.whole(&format!("{} = ", padded(k, width)), v, mark, indent + 4, "", "");
            }
        } else {
            for v in v.items().unwrap_or_default() {
                self.whole("", v, mark, indent + 4, ",", "");
            }
        }
        self.close(indent, close);
    }
}

/// A value as JSON has it, which is how values of dynamic type are compared: no maps and sets, only objects and
/// tuples.
pub fn untyped(v: &Value) -> Value {
    match v {
        Value::Marked(m) => untyped(&m.value).with_marks(m.marks),
        Value::Map(_) | Value::Object(_) => {
            Value::object(v.entries().into_iter().flatten().map(|(k, v)| (k.clone(), untyped(v))))
        }
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => {
            Value::tuple(v.items().unwrap_or_default().iter().map(untyped).collect())
        }
        v => v.clone(),
    }
}

/// How a value changes as a whole.
pub fn mark_of(before: &Value, after: &Value) -> Mark {
    match (before.is_null(), after.is_null()) {
        _ if before == after => Mark::Keep,
        (true, true) => Mark::Keep,
        (true, false) => Mark::Add,
        (false, true) => Mark::Remove,
        (false, false) => Mark::Change,
    }
}

/// Whether an object comes, goes or stays.
fn presence(before: &Value, after: &Value) -> Mark {
    match (plain(before).is_null(), plain(after).is_null()) {
        (true, false) => Mark::Add,
        (false, true) => Mark::Remove,
        _ => Mark::Keep,
    }
}

fn container(v: &Value) -> bool {
    matches!(v, Value::Object(_) | Value::Map(_) | Value::List(_) | Value::Set(_) | Value::Tuple(_))
}

/// Whether a value is shown on one line.
fn one_line(v: &Value) -> bool {
    match v {
        Value::String(s) => !s.contains('\n') && json(s).is_none(),
        v => !container(v) || v.element_count().unwrap_or(0) == 0,
    }
}

/// The text of a value that takes one line.
fn scalar(v: &Value) -> String {
    match v {
        Value::Null(_) => "null".into(),
        Value::Unknown(_) => "(known after apply)".into(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(s) => quoted(s),
        Value::Object(_) | Value::Map(_) => "{}".into(),
        Value::List(_) | Value::Set(_) | Value::Tuple(_) => "[]".into(),
        Value::Marked(_) => "(sensitive value)".into(),
    }
}

fn key_text(key: &str, is_map: bool) -> String {
    if is_map || !is_identifier(key) { quoted(key) } else { key.to_owned() }
}

/// A text that is a JSON object or array, from its first character on.
fn json(s: &str) -> Option<Value> {
    if !s.starts_with(['{', '[']) {
        return None;
    }
    let v = gpuform_schema::json::decode_untyped(s).ok()?;
    (v.element_count().unwrap_or(0) > 0).then_some(v)
}

/// The path of one of several blocks or objects; those of a set have none of their own.
fn part_path(nesting: Nesting, path: &Path, position: usize, key: Option<&Str>) -> Path {
    match (nesting, key) {
        (Nesting::List, _) => path.index(position),
        (_, Some(key)) => path.key(key.clone()),
        _ => path.clone(),
    }
}

type Pair = (Option<Str>, Option<Value>, Option<Value>);

/// The blocks or objects of two values side by side: by position, key, or (in sets) identity.
fn pairs(nesting: Nesting, before: &Value, after: &Value) -> Vec<Pair> {
    let (before, after) = (plain(before), plain(after));
    match nesting {
        Nesting::Single | Nesting::Group => vec![(None, Some(before.clone()), Some(after.clone()))],
        Nesting::Map => {
            let mut all: BTreeMap<Str, (Option<Value>, Option<Value>)> = BTreeMap::new();
            for (k, v) in before.entries().into_iter().flatten() {
                all.entry(k.clone()).or_default().0 = Some(v.clone());
            }
            for (k, v) in after.entries().into_iter().flatten() {
                all.entry(k.clone()).or_default().1 = Some(v.clone());
            }
            all.into_iter().map(|(k, (b, a))| (Some(k), b, a)).collect()
        }
        Nesting::List => {
            let (b, a) = (before.items().unwrap_or_default(), after.items().unwrap_or_default());
            (0..b.len().max(a.len())).map(|i| (None, b.get(i).cloned(), a.get(i).cloned())).collect()
        }
        Nesting::Set => {
            let (b, a) = (before.items().unwrap_or_default(), after.items().unwrap_or_default());
            let (before, after): (HashSet<&Value>, HashSet<&Value>) = (b.iter().collect(), a.iter().collect());
            let gone = b.iter().filter(|x| !after.contains(x)).map(|x| (None, Some(x.clone()), None));
            let new = a.iter().filter(|x| !before.contains(x)).map(|x| (None, None, Some(x.clone())));
            let kept = a.iter().filter(|x| before.contains(x)).map(|x| (None, Some(x.clone()), Some(x.clone())));
            gone.chain(new).chain(kept).collect()
        }
    }
}

/// Elements of two lists side by side: by position where there are as many, otherwise along what they have in common.
fn align(b: &[Value], a: &[Value]) -> Vec<(Mark, Value, Value)> {
    if b.len() == a.len() {
        return b
            .iter()
            .zip(a)
            .map(|(x, y)| (if x == y { Mark::Keep } else { Mark::Change }, x.clone(), y.clone()))
            .collect();
    }
    let null = || Value::Null(Type::Dynamic);
    edits(b, a)
        .into_iter()
        .map(|(mark, v)| match mark {
            Mark::Add => (mark, null(), v),
            Mark::Remove => (mark, v, null()),
            _ => (Mark::Keep, v.clone(), v),
        })
        .collect()
}

/// The shortest way from one sequence to the other. Long ones, whose comparison would take too long, are compared
/// only beyond what they begin and end with in common.
fn edits<T: PartialEq + Clone>(old: &[T], new: &[T]) -> Vec<(Mark, T)> {
    const MOST: usize = 4_000_000;
    let start = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - start;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    let (o, n) = (&old[start..old.len() - tail], &new[start..new.len() - tail]);
    let mut out: Vec<(Mark, T)> = old[..start].iter().map(|t| (Mark::Keep, t.clone())).collect();
    if o.len().saturating_mul(n.len()) > MOST {
        out.extend(o.iter().map(|t| (Mark::Remove, t.clone())));
        out.extend(n.iter().map(|t| (Mark::Add, t.clone())));
    } else {
        common_subsequence(o, n, &mut out);
    }
    out.extend(old[old.len() - tail..].iter().map(|t| (Mark::Keep, t.clone())));
    out
}

fn common_subsequence<T: PartialEq + Clone>(o: &[T], n: &[T], out: &mut Vec<(Mark, T)>) {
    let columns = n.len() + 1;
    let mut longest = vec![0u32; (o.len() + 1) * columns];
    for i in (0..o.len()).rev() {
        for j in (0..n.len()).rev() {
            longest[i * columns + j] = if o[i] == n[j] {
                longest[(i + 1) * columns + j + 1] + 1
            } else {
                longest[(i + 1) * columns + j].max(longest[i * columns + j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < o.len() || j < n.len() {
        if i < o.len() && j < n.len() && o[i] == n[j] {
            out.push((Mark::Keep, o[i].clone()));
            i += 1;
            j += 1;
        } else if j == n.len() || (i < o.len() && longest[(i + 1) * columns + j] >= longest[i * columns + j + 1]) {
            out.push((Mark::Remove, o[i].clone()));
            i += 1;
        } else {
            out.push((Mark::Add, n[j].clone()));
            j += 1;
        }
    }
}
