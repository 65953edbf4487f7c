//! Expressions.

use super::scan::{T, Token};
use super::{Broken, MAX_OPERATORS, MAX_SPLATS, Parsed, Parser};
use crate::diag::Range;
use crate::lang::syntax::{
    BinaryOp, Call, Expr, ExprKind, For, ObjectItem, Step, StepKind, Target, Traversal, UnaryOp,
};
use gpuform_schema::{Number, Str, Type, Value};

const UNCLOSED: &str = "The file ends before it is closed. Brackets that do not match further down may be the cause.";

/// The operator that a token stands for and how tightly it binds.
fn binary_operator(kind: T) -> Option<(BinaryOp, u8)> {
    Some(match kind {
        T::Or => (BinaryOp::Or, 1),
        T::And => (BinaryOp::And, 2),
        T::EqualEqual => (BinaryOp::Eq, 3),
        T::NotEqual => (BinaryOp::NotEq, 3),
        T::Less => (BinaryOp::Less, 4),
        T::LessEqual => (BinaryOp::LessEq, 4),
        T::Greater => (BinaryOp::Greater, 4),
        T::GreaterEqual => (BinaryOp::GreaterEq, 4),
        T::Plus => (BinaryOp::Add, 5),
        T::Minus => (BinaryOp::Sub, 5),
        T::Star => (BinaryOp::Mul, 6),
        T::Slash => (BinaryOp::Div, 6),
        T::Percent => (BinaryOp::Rem, 6),
        _ => return None,
    })
}

/// Stands for an expression that could not be understood: any later check lets it pass.
pub(super) fn unknown(range: Range) -> Expr {
    Expr { range, kind: ExprKind::Literal(Value::unknown(Type::Dynamic)) }
}

/// An expression that is being extended by steps.
struct Stepping {
    source: Expr,
    steps: Vec<Step>,
}

impl Stepping {
    fn finish(self) -> Expr {
        let Stepping { source, steps } = self;
        let Some(last) = steps.last() else { return source };
        let range = source.range.to(last.range);
        let kind = match source.kind {
            ExprKind::Traversal(mut t) if t.steps.is_empty() => {
                t.steps = steps.into();
                ExprKind::Traversal(t)
            }
            kind => ExprKind::Relative(Box::new(Expr { range: source.range, kind }), steps.into()),
        };
        Expr { range, kind }
    }
}

impl Parser<'_, '_> {
    /// An expression; in place of a broken one an unknown value.
    pub(super) fn expression(&mut self) -> Expr {
        let start = self.peek();
        self.try_expression().unwrap_or_else(|Broken| unknown(self.range(start)))
    }

    /// An expression up to the loosest operator, the conditional.
    pub(super) fn try_expression(&mut self) -> Parsed<Expr> {
        self.nested(|p| {
            // `a ? b : c ? d : …` is a chain, in which each arm is one level deeper in the tree, but not in the text.
            let mut arms = Vec::new();
            let last = loop {
                let condition = p.binary(1, &mut 0)?;
                let question = p.peek();
                if question.kind != T::Question {
                    break condition;
                }
                p.read();
                let then = p.try_expression()?;
                let colon = p.peek();
                if colon.kind != T::Colon {
                    let at = p.range(colon);
                    // What follows is judged on its own.
                    p.diags.error(
                        "Missing false expression in conditional",
                        "A conditional has the form CONDITION ? VALUE : OTHER_VALUE; the colon was expected here.",
                        at,
                    );
                    break condition;
                }
                p.read();
                arms.push((condition, then));
                if arms.len() > MAX_OPERATORS as usize {
                    return p.too_many_operators(question);
                }
            };
            Ok(arms.into_iter().rev().fold(last, |otherwise, (condition, then)| {
                let range = condition.range.to(otherwise.range);
                Expr { range, kind: ExprKind::Conditional(Box::new([condition, then, otherwise])) }
            }))
        })
    }

    fn too_many_operators<R>(&mut self, token: Token) -> Parsed<R> {
        let at = self.range(token);
        let detail = format!("An expression may chain at most {MAX_OPERATORS} operators; split it into local values.");
        self.error("Too many operators", detail, at);
        Err(Broken)
    }

    /// Operators that bind at least as tightly as `level`, those of one level from the left.
    fn binary(&mut self, level: u8, chained: &mut u32) -> Parsed<Expr> {
        let mut left = self.term_with_steps()?;
        while let Some((op, binds)) = binary_operator(self.peek().kind).filter(|(_, binds)| *binds >= level) {
            let token = self.read();
            *chained += 1;
            if *chained > MAX_OPERATORS {
                return self.too_many_operators(token);
            }
            let right = self.binary(binds + 1, chained)?;
            let range = left.range.to(right.range);
            left = Expr { range, kind: ExprKind::Binary(op, Box::new([left, right])) };
        }
        Ok(left)
    }

    fn term_with_steps(&mut self) -> Parsed<Expr> {
        let term = self.term()?;
        self.steps(term)
    }

    fn term(&mut self) -> Parsed<Expr> {
        let start = self.peek();
        match start.kind {
            T::OParen => self.parenthesis(),
            T::Number => {
                self.read();
                self.number(start)
            }
            T::Ident => {
                self.read();
                if matches!(self.peek().kind, T::OParen | T::ColonColon) {
                    return self.call(start);
                }
                let range = self.range(start);
                let kind = match self.text(start) {
                    "true" => ExprKind::Literal(Value::TRUE),
                    "false" => ExprKind::Literal(Value::FALSE),
                    "null" => ExprKind::Literal(Value::null()),
                    name => ExprKind::Traversal(Box::new(Traversal {
                        root: name.into(),
                        root_range: range,
                        steps: Box::default(),
                        target: Target::Unresolved,
                        consumed: 0,
                    })),
                };
                Ok(Expr { range, kind })
            }
            T::OQuote | T::OHeredoc => self.template(),
            T::Minus => self.unary(UnaryOp::Neg),
            T::Bang => self.unary(UnaryOp::Not),
            T::OBrack => self.tuple(),
            T::OBrace => self.object(),
            T::End => {
                let at = self.range(start);
                self.error("Missing expression", "A value was expected before the end of the text.", at);
                Err(Broken)
            }
            _ => {
                let at = self.range(start);
                self.error(
                    "Invalid expression",
                    "A value was expected here: a literal, a reference, a function call, or something in brackets.",
                    at,
                );
                Err(Broken)
            }
        }
    }

    fn unary(&mut self, op: UnaryOp) -> Parsed<Expr> {
        let symbol = self.read();
        let operand = self.nested(Self::term_with_steps)?;
        let range = self.range(symbol).to(operand.range);
        Ok(Expr { range, kind: ExprKind::Unary(op, Box::new(operand)) })
    }

    fn number(&mut self, token: Token) -> Parsed<Expr> {
        let range = self.range(token);
        match Number::parse(self.text(token)) {
            Some(n) => Ok(Expr { range, kind: ExprKind::Literal(Value::Number(n)) }),
            None => {
                self.certain_error(
                    "Invalid number literal",
                    format!("\"{}\" is not a number.", self.text(token)),
                    range,
                );
                Ok(unknown(range))
            }
        }
    }

    fn parenthesis(&mut self) -> Parsed<Expr> {
        let open = self.read();
        self.with_newlines(false, |p| {
            let inner = match p.try_expression() {
                Ok(inner) => inner,
                Err(Broken) => {
                    p.recover(T::CParen);
                    return Err(Broken);
                }
            };
            let close = p.peek();
            if close.kind != T::CParen {
                let at = p.range(close);
                p.error("Unbalanced parentheses", "A closing parenthesis was expected here.", at);
                return Err(Broken);
            }
            p.read();
            Ok(Expr { range: p.range(open).to(p.range(close)), kind: ExprKind::Paren(Box::new(inner)) })
        })
    }

    /// The steps after a term: `.name`, `.0`, `[…]`, `.*` and `[*]`.
    fn steps(&mut self, term: Expr) -> Parsed<Expr> {
        let start = term.range;
        let mut e = Stepping { source: term, steps: Vec::new() };
        let mut splats = 0;
        loop {
            match self.peek().kind {
                T::Dot => {
                    let dot = self.read();
                    if self.next_is(T::Star) {
                        self.count_splat(&mut splats, dot)?;
                        let splat = self.attribute_splat(e.finish(), start, dot)?;
                        e = Stepping { source: splat, steps: Vec::new() };
                    } else {
                        let step = self.dotted_step(dot)?;
                        e.steps.push(step);
                    }
                }
                T::OBrack => {
                    let open = self.read();
                    if self.next_is(T::Star) {
                        self.count_splat(&mut splats, open)?;
                        let marker = self.splat_marker(open)?;
                        let rest = self.splat_rest(&mut splats)?;
                        let end = rest.last().map_or(marker, |s| s.range);
                        let source = Expr {
                            range: start.to(end),
                            kind: ExprKind::Splat {
                                source: Box::new(e.finish()),
                                full: true,
                                rest: rest.into(),
                                range: marker,
                            },
                        };
                        e = Stepping { source, steps: Vec::new() };
                    } else {
                        let step = self.index(open)?;
                        e.steps.push(step);
                    }
                }
                _ => return Ok(e.finish()),
            }
        }
    }

    /// Counts the splats after one term: each makes the result one level deeper.
    fn count_splat(&mut self, splats: &mut u32, at: Token) -> Parsed<()> {
        *splats += 1;
        if *splats <= MAX_SPLATS {
            return Ok(());
        }
        let at = self.range(at);
        let detail = format!("At most {MAX_SPLATS} splat operators can follow each other.");
        self.error("Nesting too deep", detail, at);
        Err(Broken)
    }

    /// `.name` or `.0`, the dot being read.
    fn dotted_step(&mut self, dot: Token) -> Parsed<Step> {
        let token = self.peek();
        let range = self.range(dot).to(self.range(token));
        match token.kind {
            T::Ident => {
                self.read();
                Ok(Step { range, kind: StepKind::Attr(self.text(token).into()) })
            }
            T::Number => {
                self.read();
                let text = self.text(token);
                if text.contains('.') {
                    let indexes = text.replace('.', "][");
                    let detail = format!("Only one index can be written with a dot; use brackets: [{indexes}].");
                    self.diags.error("Invalid legacy index syntax", detail, self.range(token));
                }
                let index = Number::parse(text).and_then(|n| n.as_u64()).unwrap_or(0);
                Ok(Step { range, kind: StepKind::LegacyIndex(index) })
            }
            _ => {
                let at = self.range(token);
                self.certain_error("Invalid attribute name", "A dot is followed by the name of an attribute.", at);
                Err(Broken)
            }
        }
    }

    /// `.*` with the attributes after it.
    fn attribute_splat(&mut self, source: Expr, start: Range, dot: Token) -> Parsed<Expr> {
        let star = self.read();
        let marker = self.range(dot).to(self.range(star));
        let mut rest = Vec::new();
        while self.next_is(T::Dot) {
            let dot = self.read();
            if self.next_is(T::Star) {
                let at = self.peek();
                let at = self.range(at);
                self.error(
                    "Nested splat expression not allowed",
                    "After \".*\" only attributes can follow. Use the full splat operator [*], or a for expression.",
                    at,
                );
                return Err(Broken);
            }
            rest.push(self.dotted_step(dot)?);
        }
        let end = rest.last().map_or(marker, |s| s.range);
        let kind = ExprKind::Splat { source: Box::new(source), full: false, rest: rest.into(), range: marker };
        Ok(Expr { range: start.to(end), kind })
    }

    /// `[*]`, the opening bracket being read.
    fn splat_marker(&mut self, open: Token) -> Parsed<Range> {
        self.read();
        let close = self.read();
        if close.kind != T::CBrack {
            self.missing_bracket(
                "Missing close bracket on splat index",
                "The star of a splat operator is followed directly by the closing bracket: [*].",
            );
            return Err(Broken);
        }
        Ok(self.range(open).to(self.range(close)))
    }

    /// What follows `[*]`, which applies to each element; another splat in it too.
    fn splat_rest(&mut self, splats: &mut u32) -> Parsed<Vec<Step>> {
        let mut rest = Vec::new();
        loop {
            match self.peek().kind {
                T::Dot => {
                    let dot = self.read();
                    if self.next_is(T::Star) {
                        self.count_splat(splats, dot)?;
                        let star = self.read();
                        let range = self.range(dot).to(self.range(star));
                        rest.push(Step { range, kind: StepKind::Splat { full: false } });
                    } else {
                        rest.push(self.dotted_step(dot)?);
                    }
                }
                T::OBrack => {
                    let open = self.read();
                    if self.next_is(T::Star) {
                        self.count_splat(splats, open)?;
                        let range = self.splat_marker(open)?;
                        rest.push(Step { range, kind: StepKind::Splat { full: true } });
                    } else {
                        rest.push(self.index(open)?);
                    }
                }
                _ => return Ok(rest),
            }
        }
    }

    /// Reports what stands before a closing bracket, at the bracket.
    fn missing_bracket(&mut self, summary: &str, detail: &str) {
        let recovering = self.recovering;
        let close = self.recover(T::CBrack);
        if !recovering {
            self.diags.error(summary, detail, self.range(close));
        }
    }

    /// `[EXPR]`, the opening bracket being read.
    fn index(&mut self, open: Token) -> Parsed<Step> {
        self.with_newlines(false, |p| {
            let key = match p.try_expression() {
                Ok(key) => key,
                Err(Broken) => {
                    p.recover(T::CBrack);
                    return Err(Broken);
                }
            };
            let close = p.read();
            if close.kind != T::CBrack {
                p.missing_bracket("Missing close bracket on index", "The index is complete before this.");
                return Err(Broken);
            }
            Ok(Step { range: p.range(open).to(p.range(close)), kind: StepKind::Index(Box::new(key)) })
        })
    }

    /// A function call whose name was begun.
    fn call(&mut self, first: Token) -> Parsed<Expr> {
        let mut name = self.text(first).to_owned();
        let mut name_range = self.range(first);
        while self.next_is(T::ColonColon) {
            self.read();
            let part = self.read();
            if part.kind != T::Ident {
                let at = self.range(part);
                self.certain_error(
                    "Missing function name",
                    "The symbol \"::\" is followed by the name of a function.",
                    at,
                );
                return Err(Broken);
            }
            name.push_str("::");
            name.push_str(self.text(part));
            name_range = name_range.to(self.range(part));
        }
        let open = self.read();
        if open.kind != T::OParen {
            let at = self.range(open);
            self.error("Missing open parenthesis", "A function name is followed by its arguments in parentheses.", at);
            return Err(Broken);
        }
        self.with_newlines(false, |p| {
            let mut args = Vec::new();
            let mut expand_final = false;
            let close = loop {
                if p.next_is(T::CParen) {
                    break p.read();
                }
                match p.try_expression() {
                    Ok(arg) => args.push(arg),
                    Err(Broken) => {
                        p.recover(T::CParen);
                        return Err(Broken);
                    }
                }
                let separator = p.read();
                match separator.kind {
                    T::CParen => break separator,
                    T::Comma => {}
                    T::Ellipsis if p.next_is(T::CParen) => {
                        expand_final = true;
                        break p.read();
                    }
                    T::Ellipsis => {
                        let at = p.range(separator);
                        p.error(
                            "Missing closing parenthesis",
                            "An argument expanded with \"...\" is the last one; a closing parenthesis must follow.",
                            at,
                        );
                        p.recover(T::CParen);
                        return Err(Broken);
                    }
                    T::End => {
                        p.error("Unterminated function call", UNCLOSED, name_range.to(p.range(open)));
                        return Err(Broken);
                    }
                    _ => {
                        let at = p.range(separator);
                        p.error("Missing argument separator", "Arguments are separated by commas.", at);
                        p.recover(T::CParen);
                        return Err(Broken);
                    }
                }
            };
            let call = Call { name: name.into(), name_range, args: args.into(), expand_final };
            Ok(Expr { range: name_range.to(p.range(close)), kind: ExprKind::Call(Box::new(call)) })
        })
    }

    fn tuple(&mut self) -> Parsed<Expr> {
        let open = self.read();
        self.with_newlines(false, |p| {
            if p.next_is_word("for") {
                return p.for_expression(open, T::CBrack);
            }
            let mut items = Vec::new();
            let close = loop {
                if p.next_is(T::CBrack) {
                    break p.read();
                }
                match p.try_expression() {
                    Ok(item) => items.push(item),
                    Err(Broken) => {
                        p.recover(T::CBrack);
                        return Err(Broken);
                    }
                }
                let next = p.peek();
                match next.kind {
                    T::CBrack => break p.read(),
                    T::Comma => {
                        p.read();
                    }
                    T::End => {
                        let at = p.range(open);
                        p.error("Unterminated tuple constructor expression", UNCLOSED, at);
                        return Err(Broken);
                    }
                    _ => {
                        let at = p.range(next);
                        p.error("Missing item separator", "Items of a list are separated by commas.", at);
                        p.recover(T::CBrack);
                        return Err(Broken);
                    }
                }
            };
            Ok(Expr { range: p.range(open).to(p.range(close)), kind: ExprKind::Tuple(items.into()) })
        })
    }

    fn object(&mut self) -> Parsed<Expr> {
        let open = self.read();
        if self.with_newlines(false, |p| p.next_is_word("for")) {
            return self.with_newlines(false, |p| p.for_expression(open, T::CBrace));
        }
        self.with_newlines(true, |p| {
            let mut items = Vec::new();
            let close = loop {
                match p.peek().kind {
                    T::Newline => {
                        p.read();
                        continue;
                    }
                    T::CBrace => break p.read(),
                    _ => {}
                }
                let item = p.object_item(open);
                match item {
                    Ok(item) => items.push(item),
                    Err(Broken) => {
                        p.recover(T::CBrace);
                        return Err(Broken);
                    }
                }
                let next = p.peek();
                match next.kind {
                    T::CBrace => break p.read(),
                    T::Comma | T::Newline => {
                        p.read();
                    }
                    T::End => {
                        let at = p.range(open);
                        p.error("Unterminated object constructor expression", UNCLOSED, at);
                        return Err(Broken);
                    }
                    _ => {
                        let at = p.range(next);
                        p.error(
                            "Missing attribute separator",
                            "Attributes of an object are separated by line ends or commas.",
                            at,
                        );
                        p.recover(T::CBrace);
                        return Err(Broken);
                    }
                }
            };
            Ok(Expr { range: p.range(open).to(p.range(close)), kind: ExprKind::Object(items.into()) })
        })
    }

    fn object_item(&mut self, open: Token) -> Parsed<ObjectItem> {
        let start = self.peek();
        let mut key = self.try_expression()?;
        // A name on its own is the key, not a reference.
        let name = match &key.kind {
            ExprKind::Traversal(t) if t.steps.is_empty() => Some(t.root.clone()),
            ExprKind::Literal(Value::Bool(_) | Value::Null(_)) if start.kind == T::Ident => {
                Some(self.text(start).into())
            }
            _ => None,
        };
        if let Some(name) = name {
            key.kind = ExprKind::Literal(Value::string(&name));
        }
        let next = self.peek();
        if !matches!(next.kind, T::Equal | T::Colon) {
            let at = self.range(next);
            match next.kind {
                T::Newline | T::Comma => {
                    self.error("Missing attribute value", "An equals sign and a value must follow the name.", at);
                }
                T::End => {
                    let at = self.range(open);
                    self.error("Unterminated object constructor expression", UNCLOSED, at);
                }
                T::Ident => self.error(
                    "Missing key/value separator",
                    "An equals sign was expected here. A key with spaces or dots in it is written in quotes.",
                    at,
                ),
                _ => self.error("Missing key/value separator", "An equals sign was expected here.", at),
            }
            return Err(Broken);
        }
        self.read();
        let value = self.try_expression()?;
        Ok(ObjectItem { key, value })
    }

    /// `for` after the opening bracket, up to the closing one.
    fn for_expression(&mut self, open: Token, end: T) -> Parsed<Expr> {
        let r = self.for_inner(open, end);
        if r.is_err() && self.previous.kind != end {
            self.recover(end);
        }
        r
    }

    fn for_error<R>(&mut self, detail: &str, at: Range) -> Parsed<R> {
        self.error("Invalid 'for' expression", detail, at);
        Err(Broken)
    }

    fn for_inner(&mut self, open: Token, end: T) -> Parsed<Expr> {
        self.read();
        let (key_var, value_var) = match self.for_variables() {
            Ok(names) => names,
            Err((detail, at)) => return self.for_error(detail, at),
        };
        let collection = self.try_expression()?;
        let colon = self.peek();
        if colon.kind != T::Colon {
            let at = self.range(colon);
            return self.for_error("A colon was expected after the collection.", at);
        }
        self.read();
        let mut key = None;
        let mut value = self.try_expression()?;
        if self.next_is(T::FatArrow) {
            self.read();
            key = Some(std::mem::replace(&mut value, self.try_expression()?));
        }
        let ellipsis = if self.next_is(T::Ellipsis) { Some(self.read()) } else { None };
        let condition = if self.next_is_word("if") {
            self.read();
            Some(self.try_expression()?)
        } else {
            None
        };
        let close = self.peek();
        let complete = close.kind == end;
        if complete {
            self.read();
        } else {
            let at = self.range(close);
            self.error("Invalid 'for' expression", "The closing bracket of the expression was expected here.", at);
            self.recover(end);
        }
        let range = self.range(open).to(self.range(close));
        let misfit = match (&key, end, ellipsis) {
            (None, T::CBrace, _) => Some(("An object needs a key for each value: for … : KEY => VALUE.", value.range)),
            (Some(key), T::CBrack, _) => Some(("A list has no keys; use braces to make an object.", key.range)),
            (None, _, Some(e)) => Some(("Only values of an object can be grouped with \"...\".", self.range(e))),
            _ => None,
        };
        if let Some((detail, at)) = misfit {
            self.certain_error("Invalid 'for' expression", detail, at);
            return Err(Broken);
        }
        if !complete {
            return Err(Broken);
        }
        let kind = ExprKind::For(Box::new(For {
            key_var,
            value_var,
            collection,
            key,
            value,
            condition,
            grouping: ellipsis.is_some(),
        }));
        Ok(Expr { range, kind })
    }

    /// `VALUE in` or `KEY, VALUE in`.
    pub(super) fn for_variables(&mut self) -> Result<(Option<Str>, Str), (&'static str, Range)> {
        let first = self.peek();
        if first.kind != T::Ident {
            return Err(("The name of a variable was expected after \"for\".", self.range(first)));
        }
        self.read();
        let mut names = (None, Str::from(self.text(first)));
        if self.next_is(T::Comma) {
            self.read();
            let second = self.peek();
            if second.kind != T::Ident {
                return Err(("The name of a variable for the value was expected after the comma.", self.range(second)));
            }
            self.read();
            names = (Some(names.1), self.text(second).into());
        }
        if !self.next_is_word("in") {
            let at = self.peek();
            return Err(("The word \"in\" was expected after the variables.", self.range(at)));
        }
        self.read();
        Ok(names)
    }
}
