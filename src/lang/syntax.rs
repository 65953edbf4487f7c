//! Syntax trees: what native syntax and JSON syntax both become. Parsing (`parse`, `json_syntax`) produces them,
//! name resolution (`resolve`) fills in what each traversal refers to, evaluation (`eval`) and decoding against a
//! provider schema (`decode`) read them. Every node keeps its source range.

use crate::addr::{Mode, Resource};
use crate::diag::{Diagnostics, Range};
use gpuform_schema::{Str, Value};

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    pub range: Range,
    pub kind: ExprKind,
}

#[derive(Clone, Debug)]
pub enum ExprKind {
    Literal(Value),
    /// `"…${…}…"` and heredocs. A template of a single interpolation keeps the type of that value.
    Template(Box<[TemplatePart]>),
    /// A name with the steps that follow it: a reference to a declared object, or to a local variable of a `for`
    /// expression or `dynamic` block.
    Traversal(Box<Traversal>),
    /// A string of JSON syntax with template sequences. Until name resolution it is the text as it is written, which
    /// is what counts where only constants can stand; name resolution puts the template in its place.
    JsonTemplate(Box<JsonTemplate>),
    /// `(EXPR).a[0]`, `f().a`: steps from something that is not a name.
    Relative(Box<Expr>, Box<[Step]>),
    /// `EXPR.*.rest` (attribute-only splat) and `EXPR[*].rest` (full splat).
    Splat {
        source: Box<Expr>,
        full: bool,
        rest: Box<[Step]>,
        range: Range,
    },
    Call(Box<Call>),
    Conditional(Box<[Expr; 3]>),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<[Expr; 2]>),
    Tuple(Box<[Expr]>),
    Object(Box<[ObjectItem]>),
    For(Box<For>),
    Paren(Box<Expr>),
}

#[derive(Clone, Debug)]
pub struct JsonTemplate {
    pub text: Str,
    /// The errors are reported by name resolution.
    pub template: Result<Expr, Diagnostics>,
}

#[derive(Clone, Debug)]
pub enum TemplatePart {
    Text(Str),
    Interpolation(Expr),
    If { condition: Expr, then: Box<[TemplatePart]>, otherwise: Box<[TemplatePart]>, range: Range },
    For { key: Option<Str>, value: Str, collection: Expr, body: Box<[TemplatePart]>, range: Range },
}

#[derive(Clone, Debug)]
pub struct Traversal {
    pub root: Str,
    pub root_range: Range,
    pub steps: Box<[Step]>,
    /// What the name means; set by name resolution.
    pub target: Target,
    /// How many of `steps` belong to the target's name (`var.x` has one, `data.t.n` two); the rest select parts of
    /// its value.
    pub consumed: u8,
}

#[derive(Clone, Debug)]
pub struct Step {
    pub range: Range,
    pub kind: StepKind,
}

#[derive(Clone, Debug)]
pub enum StepKind {
    Attr(Str),
    /// `.0`
    LegacyIndex(u64),
    Index(Box<Expr>),
    /// Only in the `rest` of a full splat: another splat, applied to each element. A full one takes all steps after
    /// it, an attribute-only one the attributes and legacy indexes that follow.
    Splat {
        full: bool,
    },
}

/// Position of a declared object in its module's tables (`config::Module`).
pub type Slot = u32;

/// What a name refers to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// Not resolved (yet, or because it is not declared: an error was reported).
    Unresolved,
    /// Local variable of an enclosing `for`, `dynamic` or template loop.
    Scoped,
    Variable(Slot),
    Local(Slot),
    /// A resource, data source or ephemeral resource of the same module.
    Resource(Slot),
    ModuleCall(Slot),
    /// `provider::NAME::FUNC` calls depend on this local provider name.
    Provider(Str),
    CountIndex,
    EachKey,
    EachValue,
    /// `self` in provisioners, connections and postconditions.
    SelfObject,
    PathModule,
    PathRoot,
    PathCwd,
    TerraformWorkspace,
    TerraformApplying,
    /// `run.NAME` in test files.
    Run(Str),
    /// `output.NAME` in test files.
    Output(Str),
}

/// A resource reference by name, for places that take one statically (`depends_on`, `replace_triggered_by`).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ResourceRef {
    pub mode: Mode,
    pub resource: Resource,
}

#[derive(Clone, Debug)]
pub struct Call {
    /// The full name, e.g. `upper`, `core::upper`, `provider::aws::arn_parse`.
    pub name: Str,
    pub name_range: Range,
    pub args: Box<[Expr]>,
    /// The last argument is expanded (`…`).
    pub expand_final: bool,
}

impl Call {
    /// Whether it is OpenTofu's `convert`, whose second argument is a type.
    pub fn is_convert(&self) -> bool {
        matches!(&*self.name, "convert" | "core::convert")
    }

    /// The arguments that are values.
    pub fn values(&self) -> &[Expr] {
        match &*self.args {
            [value, _] if self.is_convert() => std::slice::from_ref(value),
            all => all,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnaryOp {
    Neg,
    Not,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BinaryOp {
    Add,
    Sub,
    Mul,
    Div,
    Rem,
    Eq,
    NotEq,
    Less,
    LessEq,
    Greater,
    GreaterEq,
    And,
    Or,
}

#[derive(Clone, Debug)]
pub struct ObjectItem {
    /// A bare identifier key is a literal string; `(EXPR)` keys are evaluated.
    pub key: Expr,
    pub value: Expr,
}

#[derive(Clone, Debug)]
pub struct For {
    pub key_var: Option<Str>,
    pub value_var: Str,
    pub collection: Expr,
    /// Present in the object form `{ for … : key => value }`.
    pub key: Option<Expr>,
    pub value: Expr,
    pub condition: Option<Expr>,
    /// `...` after the value: group by key.
    pub grouping: bool,
}

/// The content of a block or file. JSON bodies are interpreted by what is asked of them, so both forms are read
/// through the methods of `body` (`content`, `just_attributes`).
#[derive(Clone, Debug)]
pub enum Body {
    Native(NativeBody),
    Json(crate::lang::json_syntax::JsonBody),
    /// A body and one from an override file: its arguments replace those of the first, its blocks all blocks of the
    /// same type.
    Merged(Box<[Body; 2]>),
}

#[derive(Clone, Debug)]
pub struct NativeBody {
    /// In source order; duplicates were reported and dropped.
    pub attributes: Vec<Attribute>,
    pub blocks: Vec<Block>,
    pub range: Range,
    /// The closing brace (or end of file): where to point when something is missing.
    pub end_range: Range,
}

#[derive(Clone, Debug)]
pub struct Attribute {
    pub name: Str,
    pub name_range: Range,
    /// Name, equals sign and expression.
    pub range: Range,
    pub expr: Expr,
}

#[derive(Clone, Debug)]
pub struct Block {
    pub ty: Str,
    pub ty_range: Range,
    pub labels: Vec<Label>,
    /// From the block type to the opening brace, exclusive.
    pub header_range: Range,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub struct Label {
    pub text: Str,
    pub range: Range,
}
