//! From Rust signatures to parameters: which Rust types stand for which parameter and result types, and the macro that
//! registers the functions of a family. Used by the files of the families only.

use super::{Function, FunctionContext, FunctionError, Implementation, Parameter, whole};
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
        #[allow(non_snake_case)]
        pub(super) fn functions() -> Vec<$crate::lang::functions::Function> {
            use $crate::lang::functions::signature::{Arguments, Output, Signature};
            vec![$({
                #[allow(unused_mut)]
                let mut signature = Signature::new::<$ret>(stringify!($name), &[$($doc),*]);
                $(signature.parameter::<$ty>(stringify!($param), &[$($pdoc),*]);)*
                signature.function(|args, ctx| {
                    #[allow(unused_mut, unused_variables)]
                    let (function, mut args) = ($name, Arguments::new(args, ctx));
                    $(let $param = args.next::<$ty>(stringify!($param))?;)*
                    Output::into_value(function($($param),*))
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
            needs_type: A::NEEDS_TYPE,
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
    const NEEDS_TYPE: bool = false;

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
    const NULLABLE: bool = false;
    const TAKES_UNKNOWN: bool = false;
    const TAKES_MARKS: bool = false;
    const NEEDS_TYPE: bool = false;

    fn ty() -> Type;
    fn read(value: Value, name: &str) -> Result<Self, FunctionError>;
}

impl<'a, T: Read> Argument<'a> for T {
    const NULLABLE: bool = T::NULLABLE;
    const TAKES_UNKNOWN: bool = T::TAKES_UNKNOWN;
    const TAKES_MARKS: bool = T::TAKES_MARKS;
    const NEEDS_TYPE: bool = T::NEEDS_TYPE;

    fn place() -> Place {
        Place::Positional(T::ty())
    }
    fn take(args: &mut Arguments<'a>, name: &str) -> Result<Self, FunctionError> {
        let value = args.value(name)?;
        T::read(value, name)
    }
}

/// All further arguments.
pub(super) struct Rest<T>(pub Vec<T>);

impl<'a, T: Read> Argument<'a> for Rest<T> {
    const NULLABLE: bool = T::NULLABLE;
    const TAKES_UNKNOWN: bool = T::TAKES_UNKNOWN;
    const TAKES_MARKS: bool = T::TAKES_MARKS;
    const NEEDS_TYPE: bool = T::NEEDS_TYPE;

    fn place() -> Place {
        Place::Variadic(T::ty())
    }
    fn take(args: &mut Arguments<'a>, name: &str) -> Result<Self, FunctionError> {
        args.rest.by_ref().map(|v| T::read(v, name)).collect::<Result<_, _>>().map(Rest)
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
        whole(name, &Number::read(value, name)?).map_err(FunctionError::call)
    }
}

/// A value of any type that is known itself (its parts may not be), not null, and without marks.
impl Read for Value {
    fn ty() -> Type {
        Type::Dynamic
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(value)
    }
}

/// A value that may be null; known itself and without marks.
pub(super) struct Nullable(pub Value);

impl Read for Nullable {
    const NULLABLE: bool = true;

    fn ty() -> Type {
        Type::Dynamic
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(Nullable(value))
    }
}

/// A value converted to the type of `T`, not null, but it may be unknown and carries its marks.
pub(super) struct Open<T = Value> {
    pub value: Value,
    of: PhantomData<T>,
}

impl<T: Kind> Read for Open<T> {
    const TAKES_UNKNOWN: bool = true;
    const TAKES_MARKS: bool = true;

    fn ty() -> Type {
        T::ty()
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(Open { value, of: PhantomData })
    }
}

/// As [`Open`], but of a known type: while the type of the argument is not known, neither is the result, and no further
/// argument is looked at.
pub(super) struct OfType {
    pub value: Value,
}

impl Read for OfType {
    const TAKES_UNKNOWN: bool = true;
    const TAKES_MARKS: bool = true;
    const NEEDS_TYPE: bool = true;

    fn ty() -> Type {
        Type::Dynamic
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(OfType { value })
    }
}

/// A value converted to the type of `T`, not null and without marks, but it may be unknown.
pub(super) struct Unsettled<T> {
    pub value: Value,
    of: PhantomData<T>,
}

impl<T: Kind> Read for Unsettled<T> {
    const TAKES_UNKNOWN: bool = true;

    fn ty() -> Type {
        T::ty()
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(Unsettled { value, of: PhantomData })
    }
}

/// A value exactly as it was given: it may be null, unknown and marked.
pub(super) struct Raw(pub Value);

impl Read for Raw {
    const NULLABLE: bool = true;
    const TAKES_UNKNOWN: bool = true;
    const TAKES_MARKS: bool = true;

    fn ty() -> Type {
        Type::Dynamic
    }
    fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
        Ok(Raw(value))
    }
}

/// A Rust type that stands for a type of values.
pub(super) trait Kind {
    fn ty() -> Type;
}

macro_rules! kinds {
    ($($rust:ty => $ty:expr),*) => {$(
        impl Kind for $rust {
            fn ty() -> Type {
                $ty
            }
        }
    )*};
}
kinds!(Str => Type::String, Number => Type::Number, bool => Type::Bool, Value => Type::Dynamic);

/// Declares a collection parameter: its elements are of type `T`, or null or unknown. Dereferences to the elements.
macro_rules! collections {
    ($($(#[$doc:meta])* $name:ident => $make:path;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name<T> {
            pub value: Value,
            of: PhantomData<T>,
        }

        impl<T: Kind> Kind for $name<T> {
            fn ty() -> Type {
                $make(T::ty())
            }
        }

        impl<T: Kind> Read for $name<T> {
            fn ty() -> Type {
                <Self as Kind>::ty()
            }
            fn read(value: Value, _: &str) -> Result<Self, FunctionError> {
                Ok($name { value, of: PhantomData })
            }
        }

        impl<T> Deref for $name<T> {
            type Target = [Value];
            fn deref(&self) -> &[Value] {
                self.value.items().unwrap_or_default()
            }
        }
    )*};
}
collections! {
    /// A list.
    ListOf => Type::list;
    /// A set.
    SetOf => Type::set;
    /// A map; only `value` is of use.
    MapOf => Type::map;
}

/// A Rust type that a function can return.
pub(super) trait Output {
    fn ty() -> Type;
    fn into_value(self) -> Result<Value, FunctionError>;
}

macro_rules! outputs {
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
outputs!(String => Type::String, Number => Type::Number, bool => Type::Bool, Value => Type::Dynamic);

impl<T: Output> Output for Vec<T> {
    fn ty() -> Type {
        Type::list(T::ty())
    }
    fn into_value(self) -> Result<Value, FunctionError> {
        Ok(Value::list(T::ty(), self.into_iter().map(T::into_value).collect::<Result<_, _>>()?))
    }
}

/// A value that is of the type of `T`, or unknown of it.
pub(super) struct Typed<T> {
    value: Value,
    of: PhantomData<T>,
}

impl<T: Kind> Typed<T> {
    pub fn new(value: Value) -> Typed<T> {
        Typed { value, of: PhantomData }
    }

    /// An unknown value that will not be null.
    pub fn unknown() -> Typed<T> {
        Typed::new(Value::unknown_not_null(T::ty()))
    }
}

impl<T: Kind> Output for Typed<T> {
    fn ty() -> Type {
        T::ty()
    }
    fn into_value(self) -> Result<Value, FunctionError> {
        Ok(self.value)
    }
}

impl<T: Output> Output for Result<T, FunctionError> {
    fn ty() -> Type {
        T::ty()
    }
    fn into_value(self) -> Result<Value, FunctionError> {
        self.and_then(T::into_value)
    }
}
