//! The derive macro of `gpuform-provider-sdk`: turns a documented struct into the schema of a block and the conversion
//! from and to protocol values. Only parsing and code generation live here; all behaviour is in the SDK crate.
//! Called by the compiler for provider authors, never directly.

mod expand;
mod parse;

use proc_macro::TokenStream;

/// Describes a block (of a resource, data source, provider or nested block) by a struct.
///
/// The struct's doc comment is the block's description, a field's doc comment that of the attribute. See the module
/// `model` of the SDK for all field attributes: `#[attr(…)]`, `#[block(…)]` and `#[timeouts(…)]`.
#[proc_macro_derive(Model, attributes(attr, block, timeouts))]
pub fn derive_model(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    parse::model(&input).map(|m| expand::model(&m)).unwrap_or_else(syn::Error::into_compile_error).into()
}
