//! Bodies: arguments and blocks.

use super::scan::{T, Token};
use super::{Broken, MAX_ERRORS, Parsed, Parser};
use crate::diag::Range;
use crate::hash::HashMap;
use crate::lang::syntax::{Attribute, Block, Body, Label, NativeBody};

enum Item {
    Attribute(Attribute),
    Block(Block),
}

/// A body as it grows.
#[derive(Default)]
struct Items<'a> {
    attributes: Vec<Attribute>,
    blocks: Vec<Block>,
    /// Where each argument was set first. Made once there are enough to make looking through them slow.
    seen: HashMap<&'a str, Range>,
}

impl<'a> Parser<'a, '_> {
    pub(super) fn file(&mut self) -> NativeBody {
        let start = Range::new(self.file, self.base, self.base);
        let mut body = self.body(T::End, start);
        body.range = Range::new(self.file, self.base, self.base + self.text.len());
        body
    }

    /// Arguments and blocks up to the closing token, which is read. `opening` is where the body begins.
    fn body(&mut self, end: T, opening: Range) -> NativeBody {
        let depth = self.newlines.len();
        self.newlines.push(true);
        let mut items = Items::default();
        let end_range = loop {
            let next = self.peek();
            match next.kind {
                T::Newline => {
                    self.read();
                }
                kind if kind == end => {
                    self.read();
                    break self.range(next);
                }
                T::Ident => {
                    let item = self.item();
                    self.add(&mut items, next, item);
                }
                _ => {
                    let at = self.range(next);
                    match next.kind {
                        T::OQuote => {
                            self.error("Invalid argument name", "Names of arguments are written without quotes.", at);
                        }
                        T::End => self.error(
                            "Unclosed configuration block",
                            "The file ends before the closing brace of this block. Braces that do not match further \
                             down may be the cause.",
                            opening,
                        ),
                        _ => self.error(
                            "Argument or block definition required",
                            "The name of an argument or block was expected here.",
                            at,
                        ),
                    }
                    self.recover(end);
                    break self.range(self.previous);
                }
            }
        };
        self.newlines.truncate(depth);
        NativeBody { attributes: items.attributes, blocks: items.blocks, range: opening.to(end_range), end_range }
    }

    fn add(&mut self, items: &mut Items<'a>, name: Token, item: Parsed<Item>) {
        match item {
            Ok(Item::Block(block)) => items.blocks.push(block),
            Ok(Item::Attribute(attribute)) => match items.seen.insert(self.text(name), attribute.name_range) {
                None => items.attributes.push(attribute),
                Some(first) => {
                    items.seen.insert(self.text(name), first);
                    if self.diags.len() > MAX_ERRORS {
                        return;
                    }
                    let line = self.line(first);
                    self.diags.error(
                        "Attribute redefined",
                        format!("The argument \"{}\" was set before, on line {line}.", attribute.name),
                        attribute.name_range,
                    );
                }
            },
            Err(Broken) => {}
        }
    }

    /// The line on which a range begins, from 1.
    fn line(&self, range: Range) -> usize {
        let before = self.text.get(..(range.start as usize).saturating_sub(self.base)).unwrap_or_default();
        before.bytes().filter(|b| *b == b'\n').count() + 1
    }

    fn item(&mut self) -> Parsed<Item> {
        let name = self.read();
        match self.peek().kind {
            T::Equal => Ok(Item::Attribute(self.attribute(name, false))),
            T::OQuote | T::OBrace | T::Ident => self.block(name),
            _ => {
                self.recover_after_item();
                let at = self.range(name);
                self.certain_error(
                    "Argument or block definition required",
                    "A name alone says nothing. To set an argument, write an equals sign and a value after it.",
                    at,
                );
                Err(Broken)
            }
        }
    }

    /// `= EXPR` after the name of an argument.
    fn attribute(&mut self, name: Token, single_line: bool) -> Attribute {
        self.read();
        let start = self.peek();
        let depth = self.newlines.len();
        let expr = self.try_expression();
        self.newlines.truncate(depth);
        let last = self.previous;
        match expr {
            Err(Broken) => self.recover_after_item(),
            Ok(_) if single_line => {}
            Ok(_) => {
                let next = self.peek();
                match next.kind {
                    T::Newline | T::End => {
                        self.read();
                    }
                    T::Comma => {
                        let at = self.range(next);
                        self.error(
                            "Unexpected comma after argument",
                            "Arguments are separated by line ends, not by commas.",
                            at,
                        );
                        self.recover_after_item();
                    }
                    _ => {
                        let at = self.range(next);
                        self.error(
                            "Missing newline after argument",
                            "The value is complete before this; each argument stands on a line of its own.",
                            at,
                        );
                        self.recover_after_item();
                    }
                }
            }
        }
        let name_range = self.range(name);
        let expr = expr.unwrap_or_else(|Broken| super::expr::unknown(self.range(start)));
        Attribute { name: self.text(name).into(), name_range, range: name_range.to(self.range(last)), expr }
    }

    /// Labels and body after the type of a block.
    fn block(&mut self, name: Token) -> Parsed<Item> {
        let ty_range = self.range(name);
        let mut labels: Vec<Label> = Vec::new();
        let open = loop {
            let next = self.peek();
            match next.kind {
                T::OBrace => break self.read(),
                T::OQuote => labels.push(self.plain_string()),
                T::Ident => {
                    self.read();
                    labels.push(Label { text: self.text(next).into(), range: self.range(next) });
                }
                _ => {
                    let at = self.range(next);
                    match next.kind {
                        T::Equal => self.certain_error(
                            "Invalid block definition",
                            "An equals sign sets an argument; a block has none between its labels and its brace.",
                            at,
                        ),
                        T::Newline => self.certain_error(
                            "Invalid block definition",
                            "The opening brace of a block stands on the line of its type and labels.",
                            at,
                        ),
                        _ => self.error(
                            "Invalid block definition",
                            "A label in quotes or the opening brace of the block was expected here.",
                            at,
                        ),
                    }
                    self.recover_after_item();
                    let header_range = labels.last().map_or(ty_range, |l| ty_range.to(l.range));
                    let body = NativeBody {
                        attributes: Vec::new(),
                        blocks: Vec::new(),
                        range: header_range,
                        end_range: header_range,
                    };
                    return Ok(Item::Block(self.make_block(name, labels, header_range, body)));
                }
            }
        };
        let header_range = labels.last().map_or(ty_range, |l| ty_range.to(l.range));
        let opening = self.range(open);
        let body = self.nested(|p| {
            Ok(match p.peek().kind {
                T::Newline | T::End | T::CBrace => p.body(T::CBrace, opening),
                _ => p.single_line_body(opening),
            })
        });
        let body = match body {
            Ok(body) => body,
            Err(Broken) => {
                self.recover(T::CBrace);
                return Err(Broken);
            }
        };
        let next = self.peek();
        if matches!(next.kind, T::Newline | T::End) {
            self.read();
        } else {
            let at = self.range(next);
            self.error(
                "Missing newline after block definition",
                "Nothing but a comment can follow a block on the line of its closing brace.",
                at,
            );
            self.recover_after_item();
        }
        Ok(Item::Block(self.make_block(name, labels, header_range, body)))
    }

    fn make_block(&self, name: Token, labels: Vec<Label>, header_range: Range, body: NativeBody) -> Block {
        Block { ty: self.text(name).into(), ty_range: self.range(name), labels, header_range, body: Body::Native(body) }
    }

    /// The body of `BLOCK { NAME = EXPR }` on one line.
    fn single_line_body(&mut self, opening: Range) -> NativeBody {
        let mut body = NativeBody { attributes: Vec::new(), blocks: Vec::new(), range: opening, end_range: opening };
        let name = self.read();
        let at = self.range(name);
        let next = self.peek();
        match (name.kind, next.kind) {
            (T::Ident, T::Equal) => body.attributes.push(self.attribute(name, true)),
            (T::Ident, T::OQuote | T::OBrace | T::Ident) => {
                let at = at.to(self.range(next));
                self.certain_error(
                    "Argument definition required",
                    "A block on one line can hold only one argument. Put a nested block on a line of its own.",
                    at,
                );
                self.recover_after_item();
                self.recover(T::CBrace);
                return body;
            }
            (kind, _) => {
                let summary = "Argument or block definition required";
                let detail = "The name of an argument with an equals sign and a value was expected here.";
                if kind == T::Ident {
                    self.certain_error(summary, detail, at);
                } else {
                    self.error(summary, detail, at);
                }
                self.recover_after_item();
                self.recover(T::CBrace);
                return body;
            }
        }
        let close = self.read();
        body.end_range = self.range(close);
        body.range = opening.to(body.end_range);
        if close.kind != T::CBrace {
            let summary = "Invalid single-argument block definition";
            let unclosed =
                "A block that has an argument on the line of its opening brace must be closed on that line too.";
            let at = self.range(close);
            match close.kind {
                T::Comma => {
                    let detail =
                        "A block on one line can hold only one argument. Write each argument on a line of its own.";
                    self.certain_error(summary, detail, at);
                }
                T::Newline => self.certain_error(summary, unclosed, at),
                _ => self.error(summary, unclosed, at),
            }
            self.recover(T::CBrace);
        }
        body
    }
}
