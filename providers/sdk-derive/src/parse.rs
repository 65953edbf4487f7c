//! Reads the struct and its field attributes into a plain description, rejecting combinations that make no sense.

use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Expr, ExprLit, Fields, Ident, Lit, LitInt, LitStr, Type};

pub struct Model {
    pub ident: Ident,
    pub doc: String,
    /// Sorted by name, as the attributes of an object value are.
    pub fields: Vec<Field>,
}

pub struct Field {
    pub ident: Ident,
    pub name: String,
    pub doc: String,
    pub ty: Type,
    pub kind: Kind,
}

pub enum Kind {
    Attribute(Box<Attribute>),
    Block(Block),
    Timeouts(Timeouts),
}

#[derive(Default)]
pub struct Attribute {
    pub required: bool,
    pub optional: bool,
    pub computed: bool,
    pub force_new: bool,
    pub sensitive: bool,
    pub write_only: bool,
    pub nested: bool,
    pub deprecated: Option<LitStr>,
    pub default: Option<Expr>,
    pub suppress: Option<Expr>,
    pub validators: Vec<Expr>,
    pub recompute_on: Vec<LitStr>,
    pub conflicts_with: Vec<LitStr>,
    pub required_with: Vec<LitStr>,
    pub exactly_one_of: Vec<LitStr>,
    pub at_least_one_of: Vec<LitStr>,
}

#[derive(Default)]
pub struct Block {
    pub nesting: Option<LitStr>,
    pub min: Option<LitInt>,
    pub max: Option<LitInt>,
    pub computed: bool,
    pub force_new: bool,
    pub deprecated: Option<LitStr>,
    pub conflicts_with: Vec<LitStr>,
    pub exactly_one_of: Vec<LitStr>,
    pub at_least_one_of: Vec<LitStr>,
}

/// Seconds per operation that may be configured.
#[derive(Default)]
pub struct Timeouts {
    pub create: Option<u64>,
    pub read: Option<u64>,
    pub update: Option<u64>,
    pub delete: Option<u64>,
}

pub fn model(input: &DeriveInput) -> syn::Result<Model> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new(input.span(), "Model describes a struct with named fields"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(syn::Error::new(input.span(), "Model describes a struct with named fields"));
    };
    if !input.generics.params.is_empty() {
        return Err(syn::Error::new(input.generics.span(), "a Model has no generic parameters"));
    }
    let mut fields = named.named.iter().map(field).collect::<syn::Result<Vec<_>>>()?;
    fields.sort_by(|a, b| a.name.cmp(&b.name));
    if let Some(twice) = fields.windows(2).find(|pair| pair[0].name == pair[1].name) {
        return Err(syn::Error::new(twice[1].ident.span(), format!("the name {:?} is used twice", twice[1].name)));
    }
    Ok(Model { ident: input.ident.clone(), doc: doc(&input.attrs), fields })
}

fn field(field: &syn::Field) -> syn::Result<Field> {
    let Some(ident) = field.ident.clone() else {
        return Err(syn::Error::new(field.span(), "a named field is needed"));
    };
    let mut name = ident.unraw().to_string();
    let mut kind = None;
    for attribute in &field.attrs {
        let parsed = if attribute.path().is_ident("attr") {
            Kind::Attribute(Box::new(parse_attribute(attribute, &mut name)?))
        } else if attribute.path().is_ident("block") {
            Kind::Block(parse_block(attribute, &mut name, &field.ty)?)
        } else if attribute.path().is_ident("timeouts") {
            Kind::Timeouts(parse_timeouts(attribute)?)
        } else {
            continue;
        };
        if kind.replace(parsed).is_some() {
            return Err(syn::Error::new(attribute.span(), "one of #[attr], #[block] and #[timeouts] is enough"));
        }
    }
    let Some(kind) = kind else {
        return Err(syn::Error::new(field.span(), "the field needs #[attr(…)], #[block(…)] or #[timeouts(…)]"));
    };
    Ok(Field { ident, name, doc: doc(&field.attrs), ty: field.ty.clone(), kind })
}

fn parse_attribute(attribute: &syn::Attribute, name: &mut String) -> syn::Result<Attribute> {
    let mut out = Attribute::default();
    attribute.parse_nested_meta(|meta| {
        let Some(key) = meta.path.get_ident() else { return Err(meta.error("unknown setting")) };
        match key.to_string().as_str() {
            "required" => out.required = true,
            "optional" => out.optional = true,
            "computed" => out.computed = true,
            "force_new" => out.force_new = true,
            "sensitive" => out.sensitive = true,
            "write_only" => out.write_only = true,
            "nested" => out.nested = true,
            "name" => *name = meta.value()?.parse::<LitStr>()?.value(),
            "deprecated" => out.deprecated = Some(meta.value()?.parse()?),
            "default" => out.default = Some(meta.value()?.parse()?),
            "suppress" => out.suppress = Some(meta.value()?.parse()?),
            "validate" => out.validators.extend(expressions(meta.value()?.parse()?)),
            "recompute_on" => out.recompute_on = strings(&meta.value()?.parse()?)?,
            "conflicts_with" => out.conflicts_with = strings(&meta.value()?.parse()?)?,
            "required_with" => out.required_with = strings(&meta.value()?.parse()?)?,
            "exactly_one_of" => out.exactly_one_of = strings(&meta.value()?.parse()?)?,
            "at_least_one_of" => out.at_least_one_of = strings(&meta.value()?.parse()?)?,
            _ => return Err(meta.error("unknown setting of #[attr]")),
        }
        Ok(())
    })?;
    let refuse = |why: &str| Err(syn::Error::new(attribute.span(), why));
    if !out.required && !out.optional && !out.computed {
        return refuse("say required, optional, computed or both of the latter");
    }
    if out.required && (out.optional || out.computed) {
        return refuse("required excludes optional and computed");
    }
    if out.default.is_some() && !out.optional {
        return refuse("a default goes with optional");
    }
    if out.write_only && (out.computed || out.default.is_some()) {
        return refuse("a write-only attribute has no value of its own: neither computed nor default");
    }
    if !out.recompute_on.is_empty() && !out.computed {
        return refuse("recompute_on goes with computed");
    }
    Ok(out)
}

fn parse_block(attribute: &syn::Attribute, name: &mut String, ty: &Type) -> syn::Result<Block> {
    let mut out = Block::default();
    if matches!(attribute.meta, syn::Meta::Path(_)) {
        return Ok(out);
    }
    attribute.parse_nested_meta(|meta| {
        let Some(key) = meta.path.get_ident() else { return Err(meta.error("unknown setting")) };
        match key.to_string().as_str() {
            "computed" => out.computed = true,
            "force_new" => out.force_new = true,
            "min" => out.min = Some(meta.value()?.parse()?),
            "max" => out.max = Some(meta.value()?.parse()?),
            "name" => *name = meta.value()?.parse::<LitStr>()?.value(),
            "deprecated" => out.deprecated = Some(meta.value()?.parse()?),
            "conflicts_with" => out.conflicts_with = strings(&meta.value()?.parse()?)?,
            "exactly_one_of" => out.exactly_one_of = strings(&meta.value()?.parse()?)?,
            "at_least_one_of" => out.at_least_one_of = strings(&meta.value()?.parse()?)?,
            "nesting" => {
                let nesting: LitStr = meta.value()?.parse()?;
                if !matches!(nesting.value().as_str(), "list" | "set" | "single") {
                    return Err(syn::Error::new(nesting.span(), "nesting is \"list\", \"set\" or \"single\""));
                }
                if nesting.value() == "single" && !is_option(ty) {
                    return Err(syn::Error::new(nesting.span(), "a single block is an Option"));
                }
                out.nesting = Some(nesting);
            }
            _ => return Err(meta.error("unknown setting of #[block]")),
        }
        Ok(())
    })?;
    Ok(out)
}

fn parse_timeouts(attribute: &syn::Attribute) -> syn::Result<Timeouts> {
    let mut out = Timeouts::default();
    attribute.parse_nested_meta(|meta| {
        let slot = match meta.path.get_ident().map(Ident::to_string).as_deref() {
            Some("create") => &mut out.create,
            Some("read") => &mut out.read,
            Some("update") => &mut out.update,
            Some("delete") => &mut out.delete,
            _ => return Err(meta.error("timeouts are for create, read, update and delete")),
        };
        let text: LitStr = meta.value()?.parse()?;
        let Some(seconds) = seconds(&text.value()) else {
            return Err(syn::Error::new(text.span(), "a duration such as \"90s\", \"20m\" or \"1h30m\" is needed"));
        };
        *slot = Some(seconds);
        Ok(())
    })?;
    Ok(out)
}

/// The seconds of a duration of hours, minutes and seconds: `1h30m`.
fn seconds(text: &str) -> Option<u64> {
    let (mut total, mut number) = (0u64, String::new());
    for c in text.chars() {
        let unit = match c {
            'h' => 3600,
            'm' => 60,
            's' => 1,
            digit => {
                number.push(digit);
                continue;
            }
        };
        total = total.checked_add(number.parse::<u64>().ok()?.checked_mul(unit)?)?;
        number.clear();
    }
    (number.is_empty() && total > 0).then_some(total)
}

fn is_option(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|s| s.ident == "Option"))
}

/// The elements of an array expression, or the expression itself.
fn expressions(expr: Expr) -> Vec<Expr> {
    match expr {
        Expr::Array(array) => array.elems.into_iter().collect(),
        single => vec![single],
    }
}

fn strings(expr: &Expr) -> syn::Result<Vec<LitStr>> {
    let literal = |e: &Expr| match e {
        Expr::Lit(ExprLit { lit: Lit::Str(s), .. }) => Ok(s.clone()),
        other => Err(syn::Error::new(other.span(), "a string literal is needed")),
    };
    match expr {
        Expr::Array(array) => array.elems.iter().map(literal).collect(),
        single => Ok(vec![literal(single)?]),
    }
}

/// The doc comment as flowing text: lines of a paragraph are joined, paragraphs kept apart.
fn doc(attributes: &[syn::Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        let syn::Meta::NameValue(pair) = &attribute.meta else { continue };
        let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value else { continue };
        let line = line.value();
        let line = line.trim();
        match (line.is_empty(), text.is_empty() || text.ends_with('\n')) {
            (true, false) => text.push('\n'),
            (true, true) => {}
            (false, at_start) => {
                if !at_start {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text.trim().to_owned()
}
