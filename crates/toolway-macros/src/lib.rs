//! The macros of the crate `toolway`; use them from there.
//!
//! | file | question |
//! |---|---|
//! | `attribute/` | What is in an attribute? |
//! | `input/` | What did the author write? |
//! | `diagnose.rs` | Why does a type probably not implement `Parameter`? |
//! | `check.rs` | What is wrong with a signature? All mistakes are reported at once, each at its position. |
//! | `element/` | Which code is generated for a marked function, struct or `impl` block? |
//! | `form/` | Which code is generated for a form? |
//! | `named.rs` | Which entry belongs to a name in a list? |
//! | `package.rs` | Which package is being compiled? |
//!
//! A module uses only modules above it in the table; `named.rs` and `package.rs` use none of the others.
//!
//! All generated code refers to `::toolway::__private`. The names that the macros invent begin with two underscores.

mod attribute;
mod check;
mod diagnose;
mod element;
mod form;
mod input;
mod named;
mod package;

use proc_macro::TokenStream;

use element::item;
use input::Kind;

#[cfg_attr(not(doctest), doc = include_str!("../docs/tool.md"))]
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Tool, options.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/resource.md"))]
#[proc_macro_attribute]
pub fn resource(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Resource, options.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/prompt.md"))]
#[proc_macro_attribute]
pub fn prompt(options: TokenStream, item: TokenStream) -> TokenStream {
    item::expand(Kind::Prompt, options.into(), item.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/service.md"))]
#[proc_macro_attribute]
pub fn service(options: TokenStream, item: TokenStream) -> TokenStream {
    element::service::expand(&options.into(), item.into()).into()
}

/// Expands to the entry of one name in a list, for `tools![…]` and the related macros.
#[doc(hidden)]
#[proc_macro]
pub fn named(input: TokenStream) -> TokenStream {
    named::expand(input.into()).into()
}

#[cfg_attr(not(doctest), doc = include_str!("../docs/form.md"))]
#[proc_macro_derive(Form, attributes(form))]
pub fn form(item: TokenStream) -> TokenStream {
    form::expand(item.into()).into()
}
