//! Schemas of providers and signatures of functions as JSON (`providers schema -json`, `metadata functions -json`).

use super::FORMAT;
use super::write::{Members, object};
use crate::addr::Provider;
use crate::lang::functions::{self, Function, Parameter};
use gpuform_schema::Str;
use gpuform_schema::json::write_type;
use gpuform_schema::schema::{
    Attribute, AttributeType, Block, Description, FunctionParameter, FunctionSignature, Nesting, ProviderSchema, Schema,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The schemas of providers.
pub fn provider_schemas(providers: &BTreeMap<Provider, Arc<ProviderSchema>>) -> String {
    let mut out = String::new();
    object(&mut out, |m| {
        m.string("format_version", FORMAT);
        if providers.is_empty() {
            return;
        }
        write_providers(m, providers);
    });
    out
}

/// Writes the member with the schemas of providers.
pub fn write_providers(m: &mut Members<'_>, providers: &BTreeMap<Provider, Arc<ProviderSchema>>) {
    m.object("provider_schemas", |m| {
        for (provider, schema) in providers {
            m.object(&provider.to_string(), |m| {
                if provider.is_builtin() {
                    // It has no configuration at all.
                    m.object("provider", |m| m.number("version", 0));
                } else {
                    m.object("provider", |m| self::schema(m, &schema.provider));
                }
                offers(m, schema);
            });
        }
    });
}

fn offers(m: &mut Members<'_>, p: &ProviderSchema) {
    for (name, schemas) in [
        ("resource_schemas", &p.resources),
        ("data_source_schemas", &p.data_sources),
        ("ephemeral_resource_schemas", &p.ephemeral_resources),
    ] {
        if !schemas.is_empty() {
            m.object(name, |m| schemas.iter().for_each(|(n, s)| m.object(n, |m| schema(m, s))));
        }
    }
    if !p.functions.is_empty() {
        m.object("functions", |m| p.functions.iter().for_each(|(n, f)| m.object(n, |m| signature(m, f))));
    }
}

fn schema(m: &mut Members<'_>, s: &Schema) {
    m.number("version", s.version);
    m.object("block", |m| block(m, &s.block));
}

fn block(m: &mut Members<'_>, b: &Block) {
    attributes(m, &b.attributes);
    if !b.blocks.is_empty() {
        m.object("block_types", |m| {
            for (name, nested) in &b.blocks {
                m.object(name, |m| {
                    m.string("nesting_mode", nesting(nested.nesting));
                    m.object("block", |m| block(m, &nested.block));
                    if nested.min_items > 0 {
                        m.number("min_items", nested.min_items);
                    }
                    if nested.max_items > 0 {
                        m.number("max_items", nested.max_items);
                    }
                });
            }
        });
    }
    description(m, &b.description);
    if b.deprecated {
        m.bool("deprecated", true);
    }
}

fn attributes(m: &mut Members<'_>, all: &BTreeMap<Str, Attribute>) {
    if !all.is_empty() {
        m.object("attributes", |m| all.iter().for_each(|(name, a)| m.object(name, |m| attribute(m, a))));
    }
}

fn attribute(m: &mut Members<'_>, a: &Attribute) {
    match &a.ty {
        AttributeType::Value(ty) => write_type(ty, m.key("type")),
        AttributeType::Nested(n) => m.object("nested_type", |m| {
            attributes(m, &n.attributes);
            m.string("nesting_mode", nesting(n.nesting));
        }),
    }
    description(m, &a.description);
    for (name, set) in [
        ("deprecated", a.deprecated),
        ("required", a.required),
        ("optional", a.optional),
        ("computed", a.computed),
        ("sensitive", a.sensitive),
        ("write_only", a.write_only),
    ] {
        if set {
            m.bool(name, true);
        }
    }
}

fn nesting(n: Nesting) -> &'static str {
    match n {
        Nesting::Single => "single",
        Nesting::Group => "group",
        Nesting::List => "list",
        Nesting::Set => "set",
        Nesting::Map => "map",
    }
}

fn description(m: &mut Members<'_>, d: &Description) {
    if !d.text.is_empty() {
        m.string("description", &d.text);
    }
    m.string("description_kind", if d.markdown { "markdown" } else { "plain" });
}

fn signature(m: &mut Members<'_>, f: &FunctionSignature) {
    let parameter = |m: &mut Members<'_>, p: &FunctionParameter| {
        m.string("name", &p.name);
        if !p.description.text.is_empty() {
            m.string("description", &p.description.text);
        }
        if p.allow_null {
            m.bool("is_nullable", true);
        }
        write_type(&p.ty, m.key("type"));
    };
    if !f.description.text.is_empty() {
        m.string("description", &f.description.text);
    }
    if !f.summary.is_empty() {
        m.string("summary", &f.summary);
    }
    if !f.deprecation_message.is_empty() {
        m.string("deprecation_message", &f.deprecation_message);
    }
    write_type(&f.return_type, m.key("return_type"));
    if !f.parameters.is_empty() {
        m.array("parameters", &f.parameters, |p, out| object(out, |m| parameter(m, p)));
    }
    if let Some(p) = &f.variadic {
        m.object("variadic_parameter", |m| parameter(m, p));
    }
}

/// The built-in functions, each under its name and under `core::NAME`.
pub fn functions() -> String {
    let mut all: BTreeMap<String, &Function> = BTreeMap::new();
    for f in functions::all() {
        all.insert(f.name.to_owned(), f);
        all.insert(format!("core::{}", f.name), f);
    }
    let mut out = String::new();
    object(&mut out, |m| {
        m.string("format_version", FORMAT);
        m.object("function_signatures", |m| {
            all.iter().for_each(|(name, f)| m.object(name, |m| builtin(m, f)));
        });
    });
    out
}

/// Writes the signature of a built-in function.
pub fn builtin(m: &mut Members<'_>, f: &Function) {
    let parameter = |m: &mut Members<'_>, p: &Parameter| {
        m.string("name", p.name);
        if !p.description.is_empty() {
            m.string("description", &p.description);
        }
        if p.nullable {
            m.bool("is_nullable", true);
        }
        write_type(&p.ty, m.key("type"));
    };
    if !f.description.is_empty() {
        m.string("description", &f.description);
    }
    write_type(&f.returns, m.key("return_type"));
    if !f.parameters.is_empty() {
        m.array("parameters", &f.parameters, |p, out| object(out, |m| parameter(m, p)));
    }
    if let Some(p) = &f.variadic {
        m.object("variadic_parameter", |m| parameter(m, p));
    }
}
