//! Random small configurations, each with a second version that comes from the first by a few edits. Every name ends in
//! `_K`, which is replaced by a number, so that several configurations can stand in one folder.

use crate::dice::Dice;

/// An argument (`head` alone) or a block (`head { body }`).
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    head: String,
    body: Option<Vec<Statement>>,
}

impl Statement {
    fn argument(text: impl Into<String>) -> Statement {
        Statement { head: text.into(), body: None }
    }

    fn block(head: impl Into<String>, body: Vec<Statement>) -> Statement {
        Statement { head: head.into(), body: Some(body) }
    }

    fn render(&self, indent: &str, text: &mut String) {
        let Some(body) = &self.body else {
            *text += &format!("{indent}{}\n", self.head);
            return;
        };
        *text += &format!("{indent}{} {{\n", self.head);
        body.iter().for_each(|s| s.render(&format!("{indent}  "), text));
        *text += &format!("{indent}}}\n");
    }

    /// What is one statement smaller.
    fn reductions(&self) -> Vec<Statement> {
        let body = self.body.as_deref().unwrap_or_default();
        let mut found = Vec::new();
        for i in 0..body.len() {
            let mut smaller = body.to_vec();
            smaller.remove(i);
            found.push(Statement::block(self.head.clone(), smaller));
            for inner in body[i].reductions() {
                let mut smaller = body.to_vec();
                smaller[i] = inner;
                found.push(Statement::block(self.head.clone(), smaller));
            }
        }
        found
    }
}

/// The files that a statement can be in.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Root,
    Child,
    Values,
}

/// A statement of a file, before and after the edits.
#[derive(Clone, Debug, PartialEq)]
struct Item {
    place: Place,
    versions: [Option<Statement>; 2],
}

/// A configuration in two versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    items: Vec<Item>,
}

/// Which of the two versions.
pub const VERSIONS: [usize; 2] = [0, 1];

impl Configuration {
    /// The files of a version, with the number that its names end in.
    pub fn files(&self, version: usize, number: usize) -> Vec<(String, String)> {
        let of_place = |place: Place, name: String| {
            let mut text = String::new();
            let items = self.items.iter().filter(|i| i.place == place);
            items.filter_map(|i| i.versions[version].as_ref()).for_each(|s| s.render("", &mut text));
            (name, text.replace("_K", &format!("_{number}")))
        };
        vec![
            of_place(Place::Root, format!("c_{number}.tf")),
            of_place(Place::Child, format!("child_{number}/c_{number}.tf")),
            of_place(Place::Values, format!("c_{number}.auto.tfvars")),
        ]
    }

    /// Both versions as one text.
    pub fn story(&self) -> String {
        let mut text = String::new();
        for version in VERSIONS {
            for (name, content) in self.files(version, 0) {
                if !content.is_empty() {
                    text += &format!("-- {name}, version {} --\n{content}", version + 1);
                }
            }
        }
        text
    }

    /// Every configuration that is one step smaller.
    pub fn reductions(&self) -> Vec<Configuration> {
        let mut found = Vec::new();
        let mut replace = |i: usize, versions: [Option<Statement>; 2]| {
            let mut smaller = self.clone();
            smaller.items[i].versions = versions;
            smaller.items.retain(|i| i.versions != [None, None]);
            found.push(smaller);
        };
        for (i, item) in self.items.iter().enumerate() {
            let [first, second] = &item.versions;
            replace(i, [None, None]);
            if first != second {
                replace(i, [first.clone(), first.clone()]);
            }
            match (first, second) {
                (Some(f), Some(s)) if f == s => {
                    f.reductions().into_iter().for_each(|r| replace(i, [Some(r.clone()), Some(r)]))
                }
                (Some(f), Some(s)) => {
                    f.reductions().into_iter().for_each(|r| replace(i, [Some(r), second.clone()]));
                    s.reductions().into_iter().for_each(|r| replace(i, [first.clone(), Some(r)]));
                }
                _ => {}
            }
        }
        found
    }
}

/// What an expression is, roughly.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Kind {
    Number,
    Text,
    Bool,
    List,
    Map,
    Any,
}

const KINDS: [Kind; 6] = [Kind::Number, Kind::Text, Kind::Bool, Kind::List, Kind::Map, Kind::Any];

/// Makes configurations.
pub struct Configurations {
    dice: Dice,
    items: Vec<Item>,
    /// What later statements may refer to.
    known: Vec<(String, Kind)>,
    /// Addresses that `depends_on` and the like may name.
    objects: Vec<String>,
    child_outputs: Vec<(String, Kind)>,
}

impl Configurations {
    pub fn make(dice: Dice) -> Configuration {
        let mut this = Configurations {
            dice,
            items: Vec::new(),
            known: Vec::new(),
            objects: Vec::new(),
            child_outputs: Vec::new(),
        };
        (0..this.dice.below(4)).for_each(|i| this.variable(i));
        let child = this.dice.chance(45);
        if child {
            this.child();
        }
        if this.dice.chance(15) {
            this.remote_state();
        }
        for i in 0..2 + this.dice.below(4) {
            match this.dice.below(10) {
                0..=1 => this.local(i),
                2..=3 if child => this.module(i),
                _ => this.resource(i),
            }
        }
        (0..1 + this.dice.below(3)).for_each(|i| this.output(i));
        if this.dice.chance(25) {
            this.check();
        }
        (0..1 + this.dice.below(2)).for_each(|_| this.edit());
        Configuration { items: this.items }
    }

    fn add(&mut self, place: Place, statement: Statement) {
        self.items.push(Item { place, versions: [Some(statement.clone()), Some(statement)] });
    }

    fn literal(&mut self, kind: Kind) -> String {
        let choices: &[&str] = match kind {
            Kind::Number => &["1", "2", "2.5", "0", "-3", "1e3", "100"],
            Kind::Text => &["\"a\"", "\"b\"", "\"\"", "\"é\\n\"", "\"x y\"", "\"10\"", "\"true\"", "\"a $${b}\""],
            Kind::Bool => &["true", "false"],
            Kind::List => &["[\"a\", \"b\"]", "[]", "[\"b\"]", "[\"a\", \"b\", \"c\"]", "[\"x\", 1]"],
            Kind::Map => {
                &["{ a = \"x\" }", "{}", "{ a = \"x\", b = \"y\" }", "{ b = \"z\" }", "{ a = 1, \"k k\" = true }"]
            }
            Kind::Any => &[
                "null",
                "{ a = [1, { b = null }] }",
                "[true, \"x\", { y = 2 }]",
                "\"text\"",
                "7",
                "sensitive(\"s\")",
                "{ open = 1, closed = sensitive(2) }",
                "toset([\"q\"])",
            ],
        };
        (*self.dice.pick(choices)).to_owned()
    }

    fn reference(&mut self, kind: Kind) -> Option<String> {
        let suits: Vec<&String> =
            self.known.iter().filter(|(_, k)| *k == kind || kind == Kind::Any).map(|(n, _)| n).collect();
        (!suits.is_empty()).then(|| (*self.dice.pick(&suits)).clone())
    }

    /// An expression of a kind, most likely.
    fn value(&mut self, kind: Kind) -> String {
        if self.dice.chance(2) {
            return (*self.dice.pick(&[
                "var.missing_K",
                "local.none_K",
                "1 + \"x\"",
                "null",
                "terraform_data.nope_K.id",
                "upper()",
                "each.value",
                "count.index",
            ]))
            .to_owned();
        }
        let Some(known) = self.reference(kind).filter(|_| self.dice.chance(60)) else { return self.literal(kind) };
        if self.dice.chance(60) {
            return known;
        }
        let other = self.reference(Kind::Any).unwrap_or_else(|| "1".to_owned());
        match kind {
            Kind::Number => self
                .dice
                .pick(&[format!("{known} + 1"), format!("length([{other}])"), format!("try({other}, {known})")])
                .clone(),
            Kind::Text => {
                let forms = [
                    format!("\"<${{{known}}}>\""),
                    format!("upper({known})"),
                    format!("\"x-${{try(tostring({other}), \"none\")}}\""),
                    format!("coalesce({known}, \"z\")"),
                ];
                self.dice.pick(&forms).clone()
            }
            Kind::Bool => self
                .dice
                .pick(&[
                    format!("!{known}"),
                    format!("{known} && true"),
                    format!("{other} != null"),
                    format!("can({other}.a)"),
                ])
                .clone(),
            Kind::List => self
                .dice
                .pick(&[
                    format!("concat({known}, [\"z\"])"),
                    format!("[for v in {known} : v]"),
                    format!("[{other}]"),
                    format!("reverse({known})"),
                ])
                .clone(),
            Kind::Map => self
                .dice
                .pick(&[
                    format!("merge({known}, {{ z = \"1\" }})"),
                    format!("{{ for k, v in {known} : \"${{k}}!\" => v }}"),
                    format!("{{ a = {other} }}"),
                ])
                .clone(),
            Kind::Any => {
                let condition = self.reference(Kind::Bool).unwrap_or_else(|| "true".to_owned());
                let forms = [
                    format!("[{known}, {other}]"),
                    format!("{{ a = {known}, b = 1 }}"),
                    format!("jsonencode({known})"),
                    format!("{condition} ? {known} : null"),
                    format!("nonsensitive({known})"),
                ];
                self.dice.pick(&forms).clone()
            }
        }
    }

    fn kind(&mut self) -> Kind {
        *self.dice.pick(&KINDS)
    }

    fn condition(&mut self) -> String {
        match self.reference(Kind::Any).filter(|_| self.dice.chance(60)) {
            Some(known) => {
                let forms = [
                    format!("{known} != null"),
                    format!("{known} == {known}"),
                    format!("can(tostring({known}))"),
                    format!("length(jsonencode({known})) > 4"),
                ];
                self.dice.pick(&forms).clone()
            }
            None => self.value(Kind::Bool),
        }
    }

    fn condition_block(&mut self, head: &str) -> Statement {
        let condition = self.condition();
        let message = if self.dice.chance(70) { "\"Not as it should be.\"".to_owned() } else { self.value(Kind::Text) };
        Statement::block(
            head,
            vec![
                Statement::argument(format!("condition     = {condition}")),
                Statement::argument(format!("error_message = {message}")),
            ],
        )
    }

    fn variable(&mut self, i: usize) {
        let kind = self.kind();
        let types: &[&str] = match kind {
            Kind::Number => &["number", "any"],
            Kind::Text => &["string", "any"],
            Kind::Bool => &["bool", "any"],
            Kind::List => &["list(string)", "set(string)", "any", "list(any)"],
            Kind::Map => &[
                "map(string)",
                "map(any)",
                "object({ a = optional(string, \"d\"), b = optional(list(number)) })",
                "any",
            ],
            Kind::Any => &["any"],
        };
        let name = format!("v{i}_K");
        let of = *self.dice.pick(types);
        let mut body = vec![Statement::argument(format!("type = {of}"))];
        if self.dice.chance(10) {
            body.clear();
        }
        let given = self.dice.chance(50);
        if !given || self.dice.chance(60) {
            let default =
                if self.dice.chance(10) { "null".to_owned() } else { self.literal(kind).replace("sensitive", "") };
            body.push(Statement::argument(format!("default = {default}")));
        }
        if self.dice.chance(12) {
            body.push(Statement::argument("nullable = false"));
        }
        if self.dice.chance(15) {
            body.push(Statement::argument("sensitive = true"));
        }
        if self.dice.chance(25) {
            let condition = *self.dice.pick(&[
                "var.v_K != null",
                "length(jsonencode(var.v_K)) < 30",
                "var.v_K == var.v_K",
                "can(var.v_K.a)",
                "true",
            ]);
            let condition = condition.replace("v_K", &name);
            body.push(Statement::block(
                "validation",
                vec![
                    Statement::argument(format!("condition     = {condition}")),
                    Statement::argument("error_message = \"Not valid.\""),
                ],
            ));
        }
        self.add(Place::Root, Statement::block(format!("variable \"{name}\""), body));
        if given {
            let value = if self.dice.chance(8) { self.kind() } else { kind };
            let value = self.literal(value).replace("sensitive", "").replace("toset", "");
            self.add(Place::Values, Statement::argument(format!("{name} = {value}")));
        }
        let kind = if of.starts_with("set") || of.starts_with("object") { Kind::Any } else { kind };
        self.known.push((format!("var.{name}"), kind));
    }

    fn local(&mut self, i: usize) {
        let kind = self.kind();
        let value = self.value(kind);
        self.add(Place::Root, Statement::block("locals", vec![Statement::argument(format!("l{i}_K = {value}"))]));
        self.known.push((format!("local.l{i}_K"), kind));
    }

    fn remote_state(&mut self) {
        let body = vec![
            Statement::argument("backend = \"local\""),
            Statement::argument("config  = { path = \"other.tfstate\" }"),
        ];
        self.add(Place::Root, Statement::block("data \"terraform_remote_state\" \"r_K\"", body));
        let address = "data.terraform_remote_state.r_K";
        self.known.push((format!("{address}.outputs.word"), Kind::Text));
        self.known.push((format!("{address}.outputs.list"), Kind::List));
        self.known.push((format!("{address}.outputs"), Kind::Any));
        self.objects.push(address.to_owned());
    }

    /// `count` or `for_each`, or neither; with the values that the body may then use.
    fn repetition(&mut self) -> (Option<String>, Vec<(String, Kind)>) {
        match self.dice.below(10) {
            0 | 1 => {
                let count = if self.dice.chance(75) {
                    self.dice.pick(&["2", "1", "0", "3", "true ? 1 : 0"]).to_string()
                } else {
                    self.value(Kind::Number)
                };
                (Some(format!("count = {count}")), vec![("count.index".to_owned(), Kind::Number)])
            }
            2 | 3 => {
                let over = match self.dice.below(4) {
                    0 => format!("toset({})", self.value(Kind::List)),
                    1 => self.value(Kind::Map),
                    2 => "toset([\"p\", \"q\"])".to_owned(),
                    _ => "{ p = \"1\", q = \"2\" }".to_owned(),
                };
                (
                    Some(format!("for_each = {over}")),
                    vec![("each.key".to_owned(), Kind::Text), ("each.value".to_owned(), Kind::Any)],
                )
            }
            _ => (None, Vec::new()),
        }
    }

    fn resource(&mut self, i: usize) {
        let address = format!("terraform_data.r{i}_K");
        let (repetition, inner) = self.repetition();
        let mut body: Vec<Statement> = repetition.iter().map(Statement::argument).collect();
        let outer = self.known.len();
        self.known.extend(inner);
        let kind = self.kind();
        if self.dice.chance(88) {
            let value = self.value(kind);
            body.push(Statement::argument(format!("input = {value}")));
        }
        if self.dice.chance(22) {
            let kind = self.kind();
            let value = self.value(kind);
            body.push(Statement::argument(format!("triggers_replace = {value}")));
        }
        if self.dice.chance(12) && !self.objects.is_empty() {
            let on = self.dice.pick(&self.objects).clone();
            body.push(Statement::argument(format!("depends_on = [{on}]")));
        }
        if self.dice.chance(40) {
            let lifecycle = self.lifecycle();
            body.push(lifecycle);
        }
        if self.dice.chance(4) {
            body.push(Statement::argument("inputs = 1"));
        }
        self.known.truncate(outer);
        self.add(Place::Root, Statement::block(format!("resource \"terraform_data\" \"r{i}_K\""), body));
        match repetition.as_deref() {
            None => {
                self.known.push((format!("{address}.output"), kind));
                self.known.push((format!("{address}.input"), kind));
                self.known.push((format!("{address}.id"), Kind::Text));
                self.known.push((address.clone(), Kind::Any));
            }
            Some(r) if r.starts_with("count") => {
                self.known.push((format!("{address}[*].output"), Kind::Any));
                self.known.push((format!("{address}[0].output"), kind));
                self.known.push((format!("length({address})"), Kind::Number));
                self.known.push((format!("{address}[*].id"), Kind::List));
            }
            Some(_) => {
                self.known.push((format!("{{ for k, v in {address} : k => v.output }}"), Kind::Map));
                self.known.push((format!("{address}[\"p\"].input"), kind));
                self.known.push((format!("keys({address})"), Kind::List));
                self.known.push((format!("values({address})[*].id"), Kind::List));
            }
        }
        self.objects.push(address);
    }

    fn lifecycle(&mut self) -> Statement {
        let mut body = Vec::new();
        if self.dice.chance(35) {
            body.push(Statement::argument("create_before_destroy = true"));
        }
        if self.dice.chance(20) {
            body.push(Statement::argument(format!(
                "ignore_changes = {}",
                self.dice.pick(&["[input]", "all", "[triggers_replace]", "[input.a]", "[input[\"a\"]]"])
            )));
        }
        if self.dice.chance(20) && !self.objects.is_empty() {
            let by = self.dice.pick(&self.objects).clone();
            let part = *self.dice.pick(&["", ".input", ".output", ".id"]);
            body.push(Statement::argument(format!("replace_triggered_by = [{by}{part}]")));
        }
        if self.dice.chance(4) {
            body.push(Statement::argument("prevent_destroy = true"));
        }
        if self.dice.chance(30) {
            let block = self.condition_block("precondition");
            body.push(block);
        }
        if self.dice.chance(20) {
            let own = *self.dice.pick(&[
                "self.input != 4",
                "self.output == self.input",
                "self.id != \"\"",
                "self.triggers_replace == null",
            ]);
            let block = vec![
                Statement::argument(format!("condition     = {own}")),
                Statement::argument("error_message = \"Afterwards: ${jsonencode(self.input)}\""),
            ];
            body.push(Statement::block("postcondition", block));
        }
        Statement::block("lifecycle", body)
    }

    fn child(&mut self) {
        let outer = (std::mem::take(&mut self.known), std::mem::take(&mut self.objects));
        for (name, of, kind) in [("p_K", "string", Kind::Text), ("q_K", "any", Kind::Any)] {
            let mut body = vec![Statement::argument(format!("type = {of}"))];
            if name == "q_K" || self.dice.chance(40) {
                body.push(Statement::argument(format!("default = {}", self.dice.pick(&["null", "\"d\"", "5"]))));
            }
            if self.dice.chance(20) {
                let block = vec![
                    Statement::argument(format!("condition     = var.{name} != \"b\"")),
                    Statement::argument("error_message = \"Not b.\"".to_owned()),
                ];
                body.push(Statement::block("validation", block));
            }
            if self.dice.chance(15) {
                body.push(Statement::argument(*self.dice.pick(&["nullable = false", "sensitive = true"])));
            }
            self.add(Place::Child, Statement::block(format!("variable \"{name}\""), body));
            self.known.push((format!("var.{name}"), kind));
        }
        let first = self.items.len();
        (0..1 + self.dice.below(2)).for_each(|i| self.resource(i + 10));
        for i in 0..1 + self.dice.below(2) {
            let kind = self.kind();
            let value = self.value(kind);
            self.add(
                Place::Child,
                Statement::block(format!("output \"c{i}_K\""), vec![Statement::argument(format!("value = {value}"))]),
            );
            self.child_outputs.push((format!("c{i}_K"), kind));
        }
        self.items[first..].iter_mut().for_each(|i| i.place = Place::Child);
        (self.known, self.objects) = outer;
    }

    fn module(&mut self, i: usize) {
        let address = format!("module.m{i}_K");
        let (repetition, inner) = self.repetition();
        let mut body = vec![Statement::argument("source = \"./child_K\"")];
        body.extend(repetition.iter().map(Statement::argument));
        let outer = self.known.len();
        self.known.extend(inner);
        if self.dice.chance(92) {
            let value = self.value(Kind::Text);
            body.push(Statement::argument(format!("p_K = {value}")));
        }
        if self.dice.chance(60) {
            let kind = self.kind();
            let value = self.value(kind);
            body.push(Statement::argument(format!("q_K = {value}")));
        }
        if self.dice.chance(10) && !self.objects.is_empty() {
            let on = self.dice.pick(&self.objects).clone();
            body.push(Statement::argument(format!("depends_on = [{on}]")));
        }
        self.known.truncate(outer);
        self.add(Place::Root, Statement::block(format!("module \"m{i}_K\""), body));
        for (name, kind) in self.child_outputs.clone() {
            let reference = match repetition.as_deref() {
                None => (format!("{address}.{name}"), kind),
                Some(r) if r.starts_with("count") => (format!("{address}[*].{name}"), Kind::Any),
                Some(_) => (format!("{{ for k, v in {address} : k => v.{name} }}"), Kind::Map),
            };
            self.known.push(reference);
        }
        self.objects.push(address);
    }

    fn output(&mut self, i: usize) {
        let value = self.value(Kind::Any);
        let mut body = vec![Statement::argument(format!("value = {value}"))];
        if self.dice.chance(40) {
            body.push(Statement::argument("sensitive = true"));
        }
        if self.dice.chance(15) {
            let block = self.condition_block("precondition");
            body.push(block);
        }
        if self.dice.chance(10) && !self.objects.is_empty() {
            let on = self.dice.pick(&self.objects).clone();
            body.push(Statement::argument(format!("depends_on = [{on}]")));
        }
        self.add(Place::Root, Statement::block(format!("output \"o{i}_K\""), body));
    }

    fn check(&mut self) {
        let asserts = (0..1 + self.dice.below(2)).map(|_| self.condition_block("assert")).collect();
        self.add(Place::Root, Statement::block("check \"k_K\"", asserts));
    }

    /// Changes the second version.
    fn edit(&mut self) {
        let resources: Vec<usize> = (0..self.items.len()).filter(|i| self.name_of(*i).is_some()).collect();
        let at = if resources.is_empty() { 0 } else { *self.dice.pick(&resources) };
        match self.dice.below(10) {
            0..=3 => self.change_argument(),
            4 => {
                let i = self.dice.below(self.items.len());
                self.items[i].versions[1] = None;
            }
            5 | 6 => self.rename(at),
            7 => self.remove(at),
            8 => self.repeat(at),
            _ => {
                let before = self.items.len();
                self.resource(20);
                self.items[before..].iter_mut().for_each(|i| i.versions[0] = None);
            }
        }
    }

    /// The name of a resource in the root module.
    fn name_of(&self, i: usize) -> Option<String> {
        let item = self.items.get(i).filter(|i| i.place == Place::Root)?;
        let name = item.versions[1].as_ref()?.head.strip_prefix("resource \"terraform_data\" \"")?;
        Some(name.trim_end_matches('"').to_owned())
    }

    fn change_argument(&mut self) {
        let i = self.dice.below(self.items.len());
        let kind = self.kind();
        let fresh = self.literal(kind);
        let Some(statement) = &mut self.items[i].versions[1] else { return };
        let change = |s: &mut Statement| {
            let name = s.head.split(" = ").next().unwrap_or_default().to_owned();
            if !["type ", "source", "ignore_changes", "depends_on", "count", "for_each"]
                .iter()
                .any(|n| name.starts_with(n.trim()))
            {
                s.head = format!("{name} = {fresh}");
            }
        };
        match &mut statement.body {
            None => change(statement),
            Some(body) => {
                let count = body.len();
                let arguments: Vec<&mut Statement> = body.iter_mut().filter(|s| s.body.is_none()).collect();
                let which = self.dice.below(count);
                arguments.into_iter().nth(which).into_iter().for_each(change);
            }
        }
    }

    fn rename(&mut self, i: usize) {
        let Some(name) = self.name_of(i) else { return };
        let new = name.replace("_K", "x_K");
        for item in &mut self.items {
            if let Some(statement) = &mut item.versions[1] {
                replace(statement, &name, &new);
            }
        }
        if self.dice.chance(75) {
            let body = vec![
                Statement::argument(format!("from = terraform_data.{name}")),
                Statement::argument(format!("to   = terraform_data.{new}")),
            ];
            self.items.push(Item { place: Place::Root, versions: [None, Some(Statement::block("moved", body))] });
        }
    }

    fn remove(&mut self, i: usize) {
        let Some(name) = self.name_of(i) else { return };
        self.items[i].versions[1] = None;
        if self.dice.chance(70) {
            let destroy = *self.dice.pick(&["destroy = false", "destroy = true"]);
            let body = vec![
                Statement::argument(format!("from = terraform_data.{name}")),
                Statement::block("lifecycle", vec![Statement::argument(destroy)]),
            ];
            self.items.push(Item { place: Place::Root, versions: [None, Some(Statement::block("removed", body))] });
        }
    }

    /// Gives a resource another number of instances.
    fn repeat(&mut self, i: usize) {
        let (repetition, _) = self.repetition();
        let Some(body) = self.items.get_mut(i).and_then(|i| i.versions[1].as_mut()?.body.as_mut()) else { return };
        body.retain(|s| !s.head.starts_with("count = ") && !s.head.starts_with("for_each = "));
        if let Some(repetition) = repetition {
            body.insert(0, Statement::argument(repetition));
        }
    }
}

fn replace(statement: &mut Statement, from: &str, to: &str) {
    statement.head = statement.head.replace(from, to);
    statement.body.iter_mut().flatten().for_each(|s| replace(s, from, to));
}
