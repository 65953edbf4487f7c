//! Random expressions: mostly of the type that their place asks for, so that most of them have a value, and sometimes not.
//! What they refer to is declared in [`SURROUNDINGS`].

use crate::dice::Dice;
use crate::functions::{Call, calls};
use crate::pools::{LINES, PIECES, pool};
use crate::tree::Tree;

/// What a value is generated to be.
#[derive(Clone, PartialEq, Debug)]
pub enum Type {
    Number,
    Text,
    Bool,
    List(Box<Type>),
    Set(Box<Type>),
    Map(Box<Type>),
    Tuple(Vec<Type>),
    Object(Vec<(&'static str, Type)>),
}

/// The configuration beside the expressions. What begins with `later` is known only after the apply.
pub const SURROUNDINGS: &str = r#"
terraform {
  required_providers {
    terraform = {
      source = "terraform.io/builtin/terraform"
    }
  }
}
variable "count_of" {
  default = 3
}
variable "words" {
  type    = list(string)
  default = ["b", "a", "é", "a"]
}
variable "tags" {
  type    = map(string)
  default = { env = "dev", tier = 2 }
}
variable "settings" {
  type = object({ name = string, size = optional(number, 4), extra = optional(map(any)) })
  default = { name = "n" }
}
variable "nothing" {
  type    = string
  default = null
}
variable "hidden" {
  type      = string
  default   = "hidden"
  sensitive = true
}
locals {
  word        = "hello wörld"
  number      = 7
  flag        = true
  none        = null
  words       = tolist(["x", "y", "hello"])
  numbers     = tolist([3, 1.5, -2])
  names       = toset(["p", "q", "hello"])
  levels      = tomap({ low = 1, high = 10 })
  pair        = ["a", 2]
  record      = { name = "r", n = 1, nested = { deep = [true] }, list = [{ k = "v" }, { k = "w" }] }
  objects     = [{ id = "a", n = 1 }, { id = "b", n = 2 }]
  secret      = sensitive("s3cret")
  secrets     = { open = "o", closed = sensitive(5) }
  secret_list = sensitive(tolist(["t", "u"]))
  template    = "<$${who}>%%{ for i in items }[$${i}]%%{ endfor }"
  later       = terraform_data.later.output
  later_word  = tostring(terraform_data.later.output.word)
  later_number = tonumber(terraform_data.later.output.number)
  later_words = split(",", local.later_word)
  later_flag  = local.later_word == "x"
  later_map   = { a = local.later_word, b = "known" }
  later_set   = toset([local.later_word, "known"])
  later_tail  = "prefix-${local.later_word}"
}
resource "terraform_data" "later" {
  input = { word = "w,x", number = 4, list = [1, 2], map = { k = "v" } }
}
"#;

/// Files that expressions may read.
pub const FILES: &[(&str, &[u8])] = &[
    ("files/text.txt", b"Hello, file!\nline two\n"),
    ("files/empty.txt", b""),
    ("files/crlf.txt", b"a\r\nb\r\n"),
    ("files/latin1.txt", b"caf\xe9\n"),
    ("files/hello.tftpl", b"Hello ${who}!\n%{ if length(items) > 1 ~}\n  many\n%{ else ~}\n  few\n%{ endif ~}\nend\n"),
    ("files/loop.tftpl", b"%{ for k, v in items ~}\n${k}=${v}\n%{ endfor ~}\n"),
    ("files/plain.tftpl", b"${items}"),
    ("files/sub/inner.txt", b"inner"),
    ("files/.hidden", b"h"),
];

/// Makes expressions.
pub struct Expressions {
    dice: Dice,
    calls: Vec<Call>,
    /// Variables of `for` around the place, and what they are.
    bound: Vec<(String, Type)>,
}

impl Expressions {
    pub fn new(dice: Dice) -> Expressions {
        Expressions { dice, calls: calls(), bound: Vec::new() }
    }

    /// An expression of a random type.
    pub fn any(&mut self) -> Tree {
        let depth = 1 + self.dice.below(3);
        let of = self.random_type(2);
        self.expression(&of, depth)
    }

    fn random_type(&mut self, depth: usize) -> Type {
        let kind = if depth == 0 { self.dice.below(4) } else { self.dice.below(10) };
        let mut inner = || Box::new(self.random_type(depth.saturating_sub(1)));
        match kind {
            0 => Type::Number,
            1 | 2 => Type::Text,
            3 => Type::Bool,
            4 | 5 => Type::List(inner()),
            6 => Type::Set(inner()),
            7 => Type::Map(inner()),
            8 => Type::Tuple((0..self.dice.below(4)).map(|_| self.random_type(depth - 1)).collect()),
            _ => {
                let names = ["a", "b", "name"];
                let count = self.dice.below(4);
                Type::Object(names[..count].iter().map(|n| (*n, self.random_type(depth - 1))).collect())
            }
        }
    }

    /// An expression that most likely has a value of a type, or one that converts to it.
    fn expression(&mut self, of: &Type, depth: usize) -> Tree {
        if self.dice.chance(3) {
            let other = self.random_type(1);
            return self.expression(&other, depth.saturating_sub(1));
        }
        if self.dice.chance(2) {
            return Tree::word(*self.dice.pick(pool("wild")));
        }
        if depth == 0 {
            return if self.dice.chance(40) {
                self.reference(of).unwrap_or_else(|| self.literal(of, 0))
            } else {
                self.literal(of, 0)
            };
        }
        match self.dice.below(20) {
            0 => self.conditional(of, depth - 1),
            1 => Tree::form("(@)", [self.expression(of, depth - 1)]),
            2 | 3 => self.selection(of, depth - 1),
            4..=9 => self.call(of, depth - 1).unwrap_or_else(|| self.particular(of, depth)),
            10 => self.guard(of, depth - 1),
            11 | 12 => self.reference(of).unwrap_or_else(|| self.particular(of, depth)),
            _ => self.particular(of, depth),
        }
    }

    /// What only this type has.
    fn particular(&mut self, of: &Type, depth: usize) -> Tree {
        match of {
            Type::Number => self.arithmetic(depth - 1),
            Type::Bool => self.logic(depth - 1),
            Type::Text => self.text(depth - 1),
            Type::List(inner) | Type::Set(inner) if self.dice.chance(45) => self.comprehension(inner, depth - 1),
            Type::List(inner) if self.dice.chance(30) => self.splat(inner, depth - 1),
            Type::Map(inner) if self.dice.chance(45) => self.map_comprehension(inner, depth - 1),
            _ => self.literal(of, depth - 1),
        }
    }

    fn literal(&mut self, of: &Type, depth: usize) -> Tree {
        match of {
            Type::Number => Tree::word(*self.dice.pick(pool("number"))),
            Type::Bool => Tree::word(*self.dice.pick(pool("bool"))),
            Type::Text => self.text(depth),
            Type::List(inner) => self.sequence("tolist([", "])", inner, depth),
            Type::Set(inner) => self.sequence("toset([", "])", inner, depth),
            Type::Map(inner) => {
                let parts = (0..self.dice.below(4)).map(|_| self.item(inner, depth)).collect();
                self.braces("tomap({ ", " })", parts)
            }
            Type::Tuple(types) => {
                let parts = types.iter().map(|t| self.expression(t, depth.saturating_sub(1))).collect();
                Tree::list("[", ", ", "]", parts)
            }
            Type::Object(fields) => {
                let field = |(name, of): &(&str, Type)| {
                    let value = self.expression(of, depth.saturating_sub(1));
                    Tree::piece_with(&format!("{name} = @"), [value])
                };
                let parts = fields.iter().map(field).collect();
                self.braces("{ ", " }", parts)
            }
        }
    }

    fn braces(&mut self, open: &str, close: &str, parts: Vec<Tree>) -> Tree {
        let separator = if self.dice.chance(85) { ", " } else { "\n" };
        Tree::list(open, separator, close, parts)
    }

    fn item(&mut self, of: &Type, depth: usize) -> Tree {
        let key = *self.dice.pick(pool("key"));
        let sign = if self.dice.chance(85) { "=" } else { ":" };
        let value = self.expression(of, depth.saturating_sub(1));
        Tree::piece_with(&format!("{key} {sign} @"), [value])
    }

    /// Members that should be of one type, sometimes without the conversion that makes them so.
    fn sequence(&mut self, open: &str, close: &str, inner: &Type, depth: usize) -> Tree {
        let parts = (0..self.dice.below(4)).map(|_| self.expression(inner, depth.saturating_sub(1))).collect();
        if self.dice.chance(40) { Tree::list("[", ", ", "]", parts) } else { Tree::list(open, ", ", close, parts) }
    }

    fn reference(&mut self, of: &Type) -> Option<Tree> {
        let suits: Vec<String> = self.bound.iter().filter(|(_, t)| t == of).map(|(n, _)| n.clone()).collect();
        if !suits.is_empty() && self.dice.chance(75) {
            return Some(Tree::word(self.dice.pick(&suits).clone()));
        }
        let names: &[&str] = match of {
            Type::Number => &[
                "local.number",
                "var.count_of",
                "local.record.n",
                "local.levels[\"low\"]",
                "local.later_number",
                "local.secrets.closed",
                "var.settings.size",
            ],
            Type::Text => &[
                "local.word",
                "var.words[0]",
                "var.tags.env",
                "var.settings.name",
                "var.hidden",
                "local.secret",
                "local.later_word",
                "local.later_tail",
                "var.nothing",
                "local.words[2]",
                "local.record.list[1].k",
                "local.later_map.a",
                "local.later.word",
            ],
            Type::Bool => &["local.flag", "local.record.nested.deep[0]", "local.later_flag"],
            Type::List(inner) if **inner == Type::Number => &["local.numbers", "local.later.list"],
            Type::List(_) => &[
                "local.words",
                "var.words",
                "local.later_words",
                "local.secret_list",
                "local.objects[*].id",
                "local.record.list.*.k",
                "local.pair",
            ],
            Type::Set(_) => &["local.names", "local.later_set", "toset(var.words)"],
            Type::Map(inner) if **inner == Type::Number => &["local.levels"],
            Type::Map(_) => &["var.tags", "local.later_map", "local.levels", "local.later.map", "var.settings.extra"],
            Type::Tuple(_) => &["local.pair", "local.objects", "local.record.list"],
            Type::Object(_) => {
                &["local.record", "local.secrets", "var.settings", "local.later_map", "local.objects[0]", "local.later"]
            }
        };
        Some(Tree::word(*self.dice.pick(names)))
    }

    fn conditional(&mut self, of: &Type, depth: usize) -> Tree {
        let condition = self.expression(&Type::Bool, depth);
        let yes = self.expression(of, depth);
        let other = if self.dice.chance(12) { self.random_type(1) } else { of.clone() };
        let no = if self.dice.chance(10) { Tree::word("null") } else { self.expression(&other, depth) };
        let parts = if self.dice.chance(50) { [condition, yes, no] } else { [condition, no, yes] };
        Tree::form(if self.dice.chance(40) { "@ ? @ : @" } else { "(@ ? @ : @)" }, parts)
    }

    /// A part of something made for the purpose.
    fn selection(&mut self, of: &Type, depth: usize) -> Tree {
        let value = self.expression(of, depth);
        let other = self.random_type(1);
        let other = self.expression(&other, depth);
        let number = Tree::word(*self.dice.pick(&["0", "1", "1", "2", "-1", "\"1\"", "local.later_number - 3", "0.5"]));
        match self.dice.below(9) {
            0 => Tree::form("[@, @][@]", [other, value, number]),
            1 => Tree::form("{ a = @ }.a", [value]),
            2 => Tree::form("{ a = @, b = @ }[\"a\"]", [value, other]),
            3 => Tree::form("[@].0", [value]),
            4 => Tree::form("tolist([@])[@]", [value, Tree::word("0")]),
            5 => Tree::form("{ \"x y\" = @, (local.word) = @ }[local.word]", [other, value]),
            6 => Tree::form("tomap({ k = @ }).k", [value]),
            7 => Tree::form("[{ a = { b = @ } }][0].a.b", [value]),
            _ => Tree::form("one([@])", [value]),
        }
    }

    fn guard(&mut self, of: &Type, depth: usize) -> Tree {
        let value = self.expression(of, depth);
        match self.dice.below(6) {
            0 => Tree::form("sensitive(@)", [value]),
            1 => Tree::form("nonsensitive(sensitive(@))", [value]),
            2 => Tree::form("try(local.record.nope, @)", [value]),
            3 => Tree::form("try(@, null)", [value]),
            4 => Tree::form("coalesce(null, @)", [value]),
            _ => Tree::form("jsondecode(jsonencode(@))", [value]),
        }
    }

    /// A call of a function with such a result.
    fn call(&mut self, of: &Type, depth: usize) -> Option<Tree> {
        let suits = |call: &&Call| match call.result {
            "n" => *of == Type::Number,
            "s" => *of == Type::Text,
            "b" => *of == Type::Bool,
            "[s]" | "[n]" => matches!(of, Type::List(_)),
            "<s>" => matches!(of, Type::Set(_)),
            "{s}" | "{n}" => matches!(of, Type::Map(_)),
            _ => !matches!(of, Type::Number | Type::Text | Type::Bool),
        };
        let calls: Vec<Call> = self.calls.iter().filter(suits).cloned().collect();
        let call = if calls.is_empty() { return None } else { self.dice.pick(&calls).clone() };
        let mut parts = Vec::new();
        for argument in &call.arguments {
            let (kind, times) = match (argument.strip_suffix('*'), argument.strip_suffix('?')) {
                (Some(kind), _) => (kind, self.dice.below(4)),
                (_, Some(kind)) => (kind, self.dice.below(2)),
                _ => (*argument, 1),
            };
            parts.extend((0..times).map(|_| self.argument(kind, depth)));
        }
        match self.dice.below(100) {
            0 => drop(parts.pop()),
            1 => parts.push(Tree::word("1")),
            2 if !parts.is_empty() => *parts.last_mut()? = Tree::word("null"),
            3..=5 if !parts.is_empty() => {
                let spread = Tree::list("[", ", ", "]...", parts);
                return Some(Tree::form(&format!("{}(@)", call.name), [spread]));
            }
            _ => {}
        }
        Some(Tree::list(&format!("{}(", call.name), ", ", ")", parts))
    }

    fn argument(&mut self, kind: &str, depth: usize) -> Tree {
        let boxed = |t: Type| Box::new(t);
        let of = match kind {
            "n" => Type::Number,
            "s" => Type::Text,
            "b" => Type::Bool,
            "a" => self.random_type(2),
            "l" => match self.dice.below(3) {
                0 => Type::List(boxed(self.random_type(1))),
                1 => Type::Set(boxed(self.random_type(1))),
                _ => Type::Tuple((0..self.dice.below(4)).map(|_| self.random_type(1)).collect()),
            },
            "o" if self.dice.chance(50) => Type::Map(boxed(self.random_type(1))),
            "o" => Type::Object(vec![("a", self.random_type(1)), ("b", self.random_type(1))]),
            "[n]" => Type::List(boxed(Type::Number)),
            "[b]" => Type::List(boxed(Type::Bool)),
            "[s]" => Type::List(boxed(Type::Text)),
            "[[s]]" => Type::List(boxed(Type::List(boxed(Type::Text)))),
            "<s>" => Type::Set(boxed(Type::Text)),
            "{s}" => Type::Map(boxed(Type::Text)),
            "{n}" => Type::Map(boxed(Type::Number)),
            "{[s]}" => Type::Map(boxed(Type::List(boxed(Type::Text)))),
            name => return Tree::word(*self.dice.pick(pool(&name.to_lowercase()))),
        };
        self.expression(&of, depth)
    }

    fn arithmetic(&mut self, depth: usize) -> Tree {
        let left = self.expression(&Type::Number, depth);
        if self.dice.chance(12) {
            return Tree::form("-@", [left]);
        }
        let right = self.expression(&Type::Number, depth);
        let sign = *self.dice.pick(&["+", "-", "*", "/", "%"]);
        let bare = self.dice.chance(40);
        Tree::form(&if bare { format!("@ {sign} @") } else { format!("(@ {sign} @)") }, [left, right])
    }

    fn logic(&mut self, depth: usize) -> Tree {
        let (sign, of) = match self.dice.below(10) {
            0 => return Tree::form("!@", [self.expression(&Type::Bool, depth)]),
            1 => ("&&", Type::Bool),
            2 => ("||", Type::Bool),
            3..=5 => (*self.dice.pick(&["<", ">", "<=", ">="]), Type::Number),
            _ => (*self.dice.pick(&["==", "!="]), self.random_type(2)),
        };
        let left = self.expression(&of, depth);
        let right = if self.dice.chance(8) { Tree::word("null") } else { self.expression(&of, depth) };
        let bare = self.dice.chance(40);
        Tree::form(&if bare { format!("@ {sign} @") } else { format!("(@ {sign} @)") }, [left, right])
    }

    fn text(&mut self, depth: usize) -> Tree {
        if depth > 0 && self.dice.chance(12) {
            return self.heredoc(depth);
        }
        let parts = (0..self.dice.below(4)).map(|_| self.piece(depth)).collect();
        Tree::list("\"", "", "\"", parts)
    }

    /// A piece of a quoted template.
    fn piece(&mut self, depth: usize) -> Tree {
        if depth == 0 || self.dice.chance(55) {
            return Tree::piece(*self.dice.pick(PIECES));
        }
        self.sequence_in_template(depth - 1)
    }

    fn sequence_in_template(&mut self, depth: usize) -> Tree {
        match self.dice.below(10) {
            0 => {
                let condition = self.expression(&Type::Bool, depth);
                let (yes, no) = (self.pieces(depth), self.pieces(depth));
                let forms = [
                    "%{ if @ }@%{ else }@%{ endif }",
                    "%{ if @ ~}@%{~ else ~} @ %{ endif ~}",
                    "%{if @}@ %{~else}@%{endif}",
                ];
                Tree::piece_with(self.dice.pick::<&str>(&forms), [condition, yes, no])
            }
            1 => {
                let condition = self.expression(&Type::Bool, depth);
                Tree::piece_with("%{ if @ } @ %{~ endif ~}", [condition, self.pieces(depth)])
            }
            2 | 3 => {
                let of = Type::List(Box::new(Type::Text));
                let over = self.expression(&of, depth);
                let name = format!("v{}", self.bound.len());
                self.bound.push((name.clone(), Type::Text));
                let body = self.pieces(depth);
                self.bound.pop();
                let form = *self.dice.pick(&[
                    "%{ for NAME in @ }@%{ endfor }",
                    "%{ for k, NAME in @ ~} ${k}@,%{ endfor ~}",
                    "%{for NAME in @~}\\n@ %{~endfor}",
                ]);
                Tree::piece_with(&form.replace("NAME", &name), [over, body])
            }
            _ => {
                let of = self.dice.pick(&[Type::Text, Type::Text, Type::Number, Type::Bool]).clone();
                let value = self.expression(&of, depth);
                Tree::piece_with(
                    self.dice.pick::<&str>(&["${@}", "${@}", "${ @ }", "${~ @ ~}", " ${~ @}", "${@ ~} "]),
                    [value],
                )
            }
        }
    }

    fn pieces(&mut self, depth: usize) -> Tree {
        Tree::piece_list((0..self.dice.below(3)).map(|_| self.piece(depth)).collect())
    }

    fn heredoc(&mut self, depth: usize) -> Tree {
        let line = |this: &mut Self| {
            if this.dice.chance(70) {
                return Tree::piece(format!("{}\n", this.dice.pick(LINES)));
            }
            let before = *this.dice.pick(&["", "  ", "    x "]);
            let inner = this.sequence_in_template(depth - 1);
            Tree::piece_with(&format!("{before}@\n"), [inner])
        };
        let lines = (0..self.dice.below(4)).map(|_| line(self)).collect();
        let (open, close) = *self.dice.pick(&[
            ("<<EOT\n", "EOT\n"),
            ("<<-EOT\n", "EOT\n"),
            ("<<-EOT\n", "    EOT\n"),
            ("<<EOT\n", "  EOT\n"),
        ]);
        Tree::form("(@)", [Tree::list(open, "", close, lines)])
    }

    fn source(&mut self, of: &Type, depth: usize) -> Tree {
        let of = Box::new(of.clone());
        let sequence = match self.dice.below(3) {
            0 => Type::List(of),
            1 => Type::Set(of),
            _ => Type::Map(of),
        };
        self.expression(&sequence, depth)
    }

    fn comprehension(&mut self, of: &Type, depth: usize) -> Tree {
        let over = if self.dice.chance(60) { of.clone() } else { self.random_type(1) };
        let source = self.source(&over, depth);
        let (key, value) = (format!("k{}", self.bound.len()), format!("v{}", self.bound.len()));
        self.bound.push((value.clone(), over));
        let result = self.expression(of, depth);
        let condition = self.dice.chance(30).then(|| self.expression(&Type::Bool, depth));
        self.bound.pop();
        let names = if self.dice.chance(30) { format!("{key}, {value}") } else { value };
        match condition {
            Some(condition) => Tree::form(&format!("[for {names} in @ : @ if @]"), [source, result, condition]),
            None => Tree::form(&format!("[for {names} in @ : @]"), [source, result]),
        }
    }

    fn map_comprehension(&mut self, of: &Type, depth: usize) -> Tree {
        let source = self.source(of, depth);
        let (key, value) = (format!("k{}", self.bound.len()), format!("v{}", self.bound.len()));
        self.bound.push((value.clone(), of.clone()));
        self.bound.push((key.clone(), Type::Text));
        let name = match self.dice.below(4) {
            0 => self.expression(&Type::Text, depth),
            1 => Tree::word(value.clone()),
            _ => Tree::word(key.clone()),
        };
        let result = self.expression(of, depth);
        let condition = if self.dice.chance(25) { self.expression(&Type::Bool, depth) } else { Tree::word("true") };
        self.bound.truncate(self.bound.len() - 2);
        let group = if self.dice.chance(30) { "..." } else { "" };
        Tree::form(&format!("{{ for {key}, {value} in @ : @ => @{group} if @ }}"), [source, name, result, condition])
    }

    fn splat(&mut self, of: &Type, depth: usize) -> Tree {
        let value = self.expression(of, depth);
        let other = self.expression(of, depth);
        match self.dice.below(7) {
            0 => Tree::form("[{ a = @ }, { a = @ }][*].a", [value, other]),
            1 => Tree::form("[{ a = @ }, { a = @ }].*.a", [value, other]),
            2 => Tree::form("@[*]", [value]),
            3 => Tree::form("tolist([@])[*]", [value]),
            4 => Tree::form("[{ a = [@, @] }][*].a[0]", [value, other]),
            5 => Tree::form("[{ a = [@, @] }].*.a[0]", [value, other]),
            _ => Tree::form("{ a = @ }[*].a", [value]),
        }
    }
}
