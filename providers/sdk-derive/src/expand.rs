//! Generates the `Model` implementation from the parsed description.

use crate::parse::{Attribute, Block, Field, Kind, Model, Timeouts};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

pub fn model(model: &Model) -> TokenStream {
    let (ident, doc) = (&model.ident, &model.doc);
    let described = model.fields.iter().map(describe);
    let decoded = model.fields.iter().map(decode);
    let encoded = model.fields.iter().map(encode);
    quote! {
        #[automatically_derived]
        impl ::gpuform_provider_sdk::model::Model for #ident {
            fn object() -> &'static ::gpuform_provider_sdk::model::Object {
                static OBJECT: ::std::sync::LazyLock<::gpuform_provider_sdk::model::Object> =
                    ::std::sync::LazyLock::new(|| {
                        #[allow(unused_imports)]
                        use ::gpuform_provider_sdk::validate::*;
                        ::gpuform_provider_sdk::model::Object::new(#doc, [#(#described),*])
                    });
                &OBJECT
            }

            fn decode(
                value: &::gpuform_provider_sdk::Value,
            ) -> ::std::result::Result<Self, ::gpuform_provider_sdk::codec::Undecodable> {
                let fields = ::gpuform_provider_sdk::codec::Fields::of(value)?;
                ::std::result::Result::Ok(Self { #(#decoded),* })
            }

            fn encode(&self) -> ::gpuform_provider_sdk::Value {
                <Self as ::gpuform_provider_sdk::model::Model>::object().value(::std::vec![#(#encoded),*])
            }
        }

        #[automatically_derived]
        impl ::gpuform_provider_sdk::codec::AttrValue for #ident {
            fn ty() -> ::gpuform_provider_sdk::Type {
                <Self as ::gpuform_provider_sdk::model::Model>::object().ty()
            }

            fn decode(
                value: &::gpuform_provider_sdk::Value,
            ) -> ::std::result::Result<Self, ::gpuform_provider_sdk::codec::Undecodable> {
                <Self as ::gpuform_provider_sdk::model::Model>::decode(value)
            }

            fn encode(&self) -> ::gpuform_provider_sdk::Value {
                <Self as ::gpuform_provider_sdk::model::Model>::encode(self)
            }

            fn inner() -> ::std::option::Option<::gpuform_provider_sdk::model::NestedObject> {
                ::gpuform_provider_sdk::model::NestedObject::single(
                    <Self as ::gpuform_provider_sdk::model::Model>::object(),
                )
            }
        }
    }
}

fn decode(field: &Field) -> TokenStream {
    let (ident, name, ty) = (&field.ident, &field.name, &field.ty);
    match &field.kind {
        Kind::Attribute(_) => quote_spanned! { ty.span() => #ident: fields.attribute::<#ty>(#name)? },
        Kind::Block(_) => quote_spanned! { ty.span() => #ident: fields.blocks::<#ty>(#name)? },
        Kind::Timeouts(_) => quote_spanned! { ty.span() => #ident: fields.timeouts(#name)? },
    }
}

fn encode(field: &Field) -> TokenStream {
    let (ident, ty) = (&field.ident, &field.ty);
    match &field.kind {
        Kind::Attribute(_) => quote_spanned! { ty.span() =>
            <#ty as ::gpuform_provider_sdk::codec::AttrValue>::encode(&self.#ident)
        },
        Kind::Block(b) => {
            let nesting = nesting(b);
            quote_spanned! { ty.span() =>
                <#ty as ::gpuform_provider_sdk::codec::BlockValue>::encode(&self.#ident, #nesting)
            }
        }
        Kind::Timeouts(t) => {
            let operations = t.operations();
            quote! { self.#ident.encode(&[#(#operations),*]) }
        }
    }
}

fn nesting(block: &Block) -> TokenStream {
    match block.nesting.as_ref().map(syn::LitStr::value).as_deref() {
        Some("set") => quote! { ::gpuform_provider_sdk::model::Nesting::Set },
        Some("single") => quote! { ::gpuform_provider_sdk::model::Nesting::Single },
        _ => quote! { ::gpuform_provider_sdk::model::Nesting::List },
    }
}

fn describe(field: &Field) -> TokenStream {
    match &field.kind {
        Kind::Attribute(a) => describe_attribute(field, a),
        Kind::Block(b) => describe_block(field, b),
        Kind::Timeouts(t) => describe_timeouts(field, t),
    }
}

fn describe_attribute(field: &Field, a: &Attribute) -> TokenStream {
    let (name, doc, ty) = (&field.name, &field.doc, &field.ty);
    let Attribute { required, optional, force_new, sensitive, write_only, nested, .. } = a;
    let computed = a.computed || a.default.is_some();
    let deprecated = option(a.deprecated.as_ref().map(|m| quote! { #m }));
    let default = option(a.default.as_ref().map(|d| {
        quote_spanned! { d.span() => <#ty as ::gpuform_provider_sdk::codec::Attribute>::default_value(#d) }
    }));
    let suppress = option(a.suppress.as_ref().map(|s| quote! { #s }));
    let (validators, recompute_on) = (&a.validators, &a.recompute_on);
    let (conflicts_with, required_with) = (&a.conflicts_with, &a.required_with);
    let (exactly_one_of, at_least_one_of) = (&a.exactly_one_of, &a.at_least_one_of);
    quote! {
        ::gpuform_provider_sdk::model::Field {
            name: #name,
            description: #doc,
            deprecated: #deprecated,
            force_new: #force_new,
            conflicts_with: &[#(#conflicts_with),*],
            required_with: &[#(#required_with),*],
            exactly_one_of: &[#(#exactly_one_of),*],
            at_least_one_of: &[#(#at_least_one_of),*],
            kind: ::gpuform_provider_sdk::model::Kind::Attribute(::gpuform_provider_sdk::model::Attribute {
                ty: <#ty as ::gpuform_provider_sdk::codec::AttrValue>::ty(),
                inner: <#ty as ::gpuform_provider_sdk::codec::AttrValue>::inner(),
                nested: #nested,
                required: #required,
                optional: #optional,
                computed: #computed,
                sensitive: #sensitive,
                write_only: #write_only,
                default: #default,
                suppress: #suppress,
                validators: ::std::vec![#(#validators),*],
                recompute_on: &[#(#recompute_on),*],
            }),
        }
    }
}

fn describe_block(field: &Field, b: &Block) -> TokenStream {
    let (name, doc, ty) = (&field.name, &field.doc, &field.ty);
    let nesting = nesting(b);
    let Block { computed, force_new, .. } = b;
    let deprecated = option(b.deprecated.as_ref().map(|m| quote! { #m }));
    let min = b.min.as_ref().map_or(quote! { 0 }, |m| quote! { #m });
    let max = b.max.as_ref().map_or(
        quote_spanned! { ty.span() => <#ty as ::gpuform_provider_sdk::codec::BlockValue>::MAX },
        |m| quote! { #m },
    );
    let (conflicts_with, exactly_one_of, at_least_one_of) = (&b.conflicts_with, &b.exactly_one_of, &b.at_least_one_of);
    quote! {
        ::gpuform_provider_sdk::model::Field {
            name: #name,
            description: #doc,
            deprecated: #deprecated,
            force_new: #force_new,
            conflicts_with: &[#(#conflicts_with),*],
            required_with: &[],
            exactly_one_of: &[#(#exactly_one_of),*],
            at_least_one_of: &[#(#at_least_one_of),*],
            kind: ::gpuform_provider_sdk::model::Kind::Block(::gpuform_provider_sdk::model::NestedBlock {
                nesting: #nesting,
                object: <<#ty as ::gpuform_provider_sdk::codec::BlockValue>::Item
                    as ::gpuform_provider_sdk::model::Model>::object(),
                min: #min,
                max: #max,
                computed: #computed,
                timeouts: ::std::option::Option::None,
            }),
        }
    }
}

fn describe_timeouts(field: &Field, t: &Timeouts) -> TokenStream {
    let (name, doc) = (&field.name, &field.doc);
    let seconds = [&t.create, &t.read, &t.update, &t.delete].map(|s| option(s.map(|s| quote! { #s })));
    quote! { ::gpuform_provider_sdk::timeouts::field(#name, #doc, [#(#seconds),*]) }
}

impl Timeouts {
    fn operations(&self) -> Vec<&'static str> {
        [("create", self.create), ("delete", self.delete), ("read", self.read), ("update", self.update)]
            .into_iter()
            .filter_map(|(name, seconds)| seconds.map(|_| name))
            .collect()
    }
}

fn option(value: Option<TokenStream>) -> TokenStream {
    value.map_or(quote! { ::std::option::Option::None }, |v| quote! { ::std::option::Option::Some(#v) })
}
