//! From Rust signatures to parameters: which Rust types stand for which parameter and result types, and the macro that
//! registers the functions of a family. Used by the files of the families only.

use super::{Function, FunctionContext, FunctionError, Implementation, Parameter};
use gpuform_schema::number::Number;
use gpuform_schema::types::Type;
use gpuform_schema::value::{Str, Value};
use std::marker::PhantomData;
use std::ops::Deref;

/// Declares functions: each is a plain Rust function whose doc comment is its documentation, whose parameter types say
/// what is converted and checked before it runs, and whose result type says what it returns. Parameters may have doc
/// comments too. Defines `functions()`, which gives them all.
macro_rules! functions {
    ($(
        $(#[doc = $doc:literal])*
        fn $name:ident($( $(#[doc = $pdoc:literal])* $param:ident: $ty:ty ),* $(,)?) -> $ret:ty $body:block
    )*) => {
        $(
            $(#[doc = $doc])*
            #[allow(non_snake_case)]
            fn $name($($param: $ty),*) -> $ret $body
        )*

        /// The functions of this family.
        pub(super) fn functions() -> Vec<$crate::lang::functions::Function> {
            use $crate::lang::functions::signature::{Arguments, Output, Signature};
            vec![$({
                #[allow(unused_mut)]
                let mut signature = Signature::new::<$ret>(stringify!($name), &[$($doc),*]);
                $(signature.parameter::<$ty>(stringify!($param), &[$($pdoc),*]);)*
                signature.function(|args, ctx| {
                    #[allow(unused_mut, unused_variables)]
                    let mut args = Arguments::new(args, ctx);
                    $(let $param = args.next::<$ty>(stringify!($param))?;)*
                    Output::into_value($name($($param),*))
                })
            }),*]
        }
    };
}
pub(super) use functions;

/// Collects the parts of a [`Function`].
pub(super) struct Signature {
    name: &'static str,
    description: String,
    parameters: Vec<Parameter>,
    variadic: Option<Parameter>,
    returns: Type,
}

impl Signature {
    pub fn new<R: Output>(name: &'static str, doc: &[&str]) -> Signature {
        Signature {
            name: name.trim_start_matches("r#"),
            description: paragraph(doc),
            parameters: Vec::new(),
            variadic: None,
            returns: R::ty(),
        }
    }

    pub fn parameter<'a, A: Argument<'a>>(&mut self, name: &'static str, doc: &[&str]) {
        let make = |ty| Parameter {
            name,
            description: paragraph(doc),
            ty,
            nullable: A::NULLABLE,
            takes_unknown: A::TAKES_UNKNOWN,
            takes_marks: A::TAKES_MARKS,
        };
        match A::place() {
            Place::Positional(ty) => self.parameters.push(make(ty)),
            Place::Variadic(ty) => self.variadic = Some(make(ty)),
            Place::Context => {}
        }
    }

    pub fn function(self, run: fn(Vec<Value>, &FunctionContext) -> Result<Value, FunctionError>) -> Function {
        self.build(Implementation::Plain(run))
    }

    /// A function that the evaluator implements.
    pub fn special(self) -> Function {
        self.build(Implementation::Evaluator)
    }

    fn build(self, implementation: Implementation) -> Function {
        let Signature { name, description, parameters, variadic, returns } = self;
        Function { name, description, parameters, variadic, returns, implementation }
    }
}

/// The lines of a doc comment as one text.
fn paragraph(doc: &[&str]) -> String {
    doc.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// What an argument of a Rust function stands for.
pub(super) enum Place {
    Positional(Type),
    /// All further arguments, each of this type.
    Variadic(Type),
    /// Not an argument of the call: the context.
    Context,
}

/// A Rust type that can be the parameter of a function.
pub(super) trait Argument<'a>: Sized {
    const NULLABLE: bool = false;
    const TAKES_UNKNOWN: bool = false;
    const TAKES_MARKS: bool = false;

    fn place() -> Place;

    /// From arguments that are converted to the parameter's type already.
    fn take(args: &mut Arguments<'a>, name: &str) -> Result<Self, FunctionError>;
}

/// The arguments of a call, handed out one after another.
pub(super) struct Arguments<'a> {
    rest: std::vec::IntoIter<Value>,
    ctx: &'a FunctionContext<'a>,
}

impl<'a> Arguments<'a> {
    pub fn new(args: Vec<Value>, ctx: &'a FunctionContext<'a>) -> Arguments<'a> {
        Arguments { rest: args.into_iter(), ctx }
    }

    pub fn next<A: Argument<'a>>(&mut self, name: &str) -> Result<A, FunctionError> {
        A::take(self, name)
    }

    fn value(&mut self, name: &str) -> Result<Value, FunctionError> {
        self.rest.next().ok_or_else(|| FunctionError::call(format!("{name:?} is missing")))
    }
}

impl<'a> Argument<'a> for &'a FunctionContext<'a> {
    fn place() -> Place {
        Place::Context
    }
    fn take(args: &mut Arguments<'a>, _: &str) -> Result<Self, FunctionError> {
        Ok(args.ctx)
    }
}

/// A Rust type that one value can be read as.
pub(super) trait Read: Sized {
    fn ty() -> Type;
    fn read(value: Value, name: &str) -> Result<Self, FunctionError>;
}

impl<'a, T: Read> Argument<'a> for T {
    fn place() -> Place {
        Place::Positional(T::ty())
    }
    fn take(args: &mut Arguments<'a>, name: &str) -> Result<Self, FunctionError> {
        let value = args.value(name)?;
        T::read(value, name)
    }
}

fn wrong_type<T>(name: &str) -> Result<T, FunctionError> {
    Err(FunctionError::call(format!("{name:?} is not of the expected type")))
}

/// A string.
impl Read for Str {
    fn ty() -> Type {
        Type::String
    }
    fn read(value: Value, name: &str) -> Result<Self, FunctionError> {
        if let Value::String(s) = value { Ok(s) } else { wrong_type(name) }
    }
}

/// Any number.
impl Read for Number {
    fn ty() -> Type {
        Type::Number
    }
    fn read(value: Value, name: &str) -> Result<Self, FunctionError> {
        if let Value::Number(n) = value { Ok(n) } else { wrong_type(name) }
    }
}

/// A whole number of machine size.
impl Read for i64 {
    fn ty() -> Type {
        Type::Number
    }
    fn read(value: Value, name: &str) -> Result<Self, FunctionError> {
        value.as_i64().ok_or_else(|| {
            FunctionError::call(format!("{name:?} must be a whole number between {} and {}", i64::MIN, i64::MAX))
        })
    }
}

/// A value of any type, known itself, not null, and without marks.
impl Read for Value {
    fn ty() -> Type {
        Type::Dynamic
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(value)
    }
}

/// An element type of a list, set or map, where it is not a Rust value.
pub(super) trait Element {
    fn ty() -> Type;
}

macro_rules! element {
    ($($rust:ty => $ty:expr),*) => {$(
        impl Element for $rust {
            fn ty() -> Type {
                $ty
            }
        }
    )*};
}
element!(Str => Type::String, Number => Type::Number, bool => Type::Bool, Value => Type::Dynamic);

/// A list whose elements are of type `T`, or null or unknown.
pub(super) struct ListOf<T> {
    items: Value,
    of: PhantomData<T>,
}

impl<T: Element> Element for ListOf<T> {
    fn ty() -> Type {
        Type::list(T::ty())
    }
}

impl<T: Element> Read for ListOf<T> {
    fn ty() -> Type {
        <Self as Element>::ty()
    }
    fn read(items: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(ListOf { items, of: PhantomData })
    }
}

impl<T> Deref for ListOf<T> {
    type Target = [Value];
    fn deref(&self) -> &[Value] {
        self.items.items().unwrap_or_default()
    }
}

impl<T> ListOf<T> {
    /// The list as a value.
    pub fn value(&self) -> &Value {
        &self.items
    }
}

/// All further arguments.
pub(super) struct Rest<T>(pub Vec<T>);

impl<'a, T: Read> Argument<'a> for Rest<T> {
    fn place() -> Place {
        Place::Variadic(T::ty())
    }
    fn take(args: &mut Arguments<'a>, name: &str) -> Result<Self, FunctionError> {
        args.rest.by_ref().map(|v| T::read(v, name)).collect::<Result<_, _>>().map(Rest)
    }
}

/// A Rust type that a function can return.
pub(super) trait Output {
    fn ty() -> Type;
    fn into_value(self) -> Result<Value, FunctionError>;
}

macro_rules! output {
    ($($rust:ty => $ty:expr),*) => {$(
        impl Output for $rust {
            fn ty() -> Type {
                $ty
            }
            fn into_value(self) -> Result<Value, FunctionError> {
                Ok(self.into())
            }
        }
    )*};
}
output!(String => Type::String, Number => Type::Number, bool => Type::Bool, Value => Type::Dynamic);

impl<T: Output> Output for Result<T, FunctionError> {
    fn ty() -> Type {
        T::ty()
    }
    fn into_value(self) -> Result<Value, FunctionError> {
        self.and_then(T::into_value)
    }
}
