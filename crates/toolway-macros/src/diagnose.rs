//! Why does a type probably not implement `Parameter`? Only rustc knows whether the type implements the trait. If it
//! does not, the name of the type suggests the reason.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::visit_mut::{self, VisitMut};
use syn::{PathArguments, Type, TypePath};

use crate::input::{Parameter, type_argument};

/// Returns statements that only require every type to implement `Parameter`. The statements are identical at the start
/// of every generated function, so that rustc reports a missing implementation once, at the type.
pub(crate) fn assert_parameters<'p>(parameters: impl IntoIterator<Item = &'p Parameter>) -> TokenStream {
    let asked = parameters.into_iter().map(|parameter| {
        let ty = as_parameter(parameter);
        quote_spanned! { parameter.type_span()=> #ty::IS_ARGUMENT }
    });
    quote! { #(let _: bool = #asked;)* }
}

/// Returns the type of a parameter as `<Type as Parameter>`, through the trait with the most helpful error message.
pub(crate) fn as_parameter(parameter: &Parameter) -> TokenStream {
    let ty = &parameter.stored_type;
    let interface = diagnostic_trait(parameter)
        .map_or_else(|| quote! { Parameter }, |suspicion| quote! { diagnose::#suspicion });
    quote_spanned! { parameter.type_span()=> <#ty as ::toolway::__private::#interface> }
}

fn diagnostic_trait(parameter: &Parameter) -> Option<TokenStream> {
    let ty = &parameter.declared_type;
    if let Some(held) = type_argument(ty, &["State", "Extension"]) {
        let held = parameter.rewriter.rewrite(held);
        return Some(quote! { Shared<#held> });
    }
    if type_argument(ty, &["Option"]).is_some_and(|inner| is_named(inner, "Principal")) {
        return Some(quote! { Caller });
    }
    let mut finder = FindForeign(None);
    finder.visit_type_mut(&mut ty.clone());
    finder.0.map(|name| format_ident!("{name}").into_token_stream())
}

fn is_named(ty: &Type, name: &str) -> bool {
    matches!(ty, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

/// Finds the first type from a crate that `schemars` supports with a feature, and the trait that has the error message
/// for this type.
struct FindForeign(Option<&'static str>);

impl VisitMut for FindForeign {
    fn visit_type_path_mut(&mut self, path: &mut TypePath) {
        if self.0.is_none() {
            self.0 = foreign_crate_trait(path);
        }
        visit_mut::visit_type_path_mut(self, path);
    }
}

fn foreign_crate_trait(path: &TypePath) -> Option<&'static str> {
    let mut segments = path.path.segments.iter();
    let last = segments.next_back()?;
    // `chrono::DateTime<Utc>` has a time zone parameter, `jiff::civil::DateTime` does not.
    if last.ident == "DateTime" && !matches!(last.arguments, PathArguments::None) {
        return Some("Chrono");
    }
    let is_of_crate = |name: &str| segments.clone().any(|segment| segment.ident == name);
    let found = CRATES.iter().find(|(_, crate_name, types)| {
        is_of_crate(crate_name) || types.iter().any(|name| last.ident == name)
    })?;
    Some(found.0)
}

/// For each trait, the crate that its error message is about, and names of types that are unlikely in other crates.
const CRATES: [(&str, &str, &[&str]); 8] = [
    ("Chrono", "chrono", &["NaiveDate", "NaiveTime", "NaiveDateTime", "TimeDelta"]),
    ("Jiff", "jiff", &["Timestamp", "Zoned", "SignedDuration"]),
    ("Uuid", "uuid", &["Uuid"]),
    ("Url", "url", &["Url"]),
    ("Decimal", "rust_decimal", &["Decimal"]),
    ("BigDecimal", "bigdecimal", &["BigDecimal"]),
    ("Semver", "semver", &["Version"]),
    ("Indexmap", "indexmap", &["IndexMap", "IndexSet"]),
];
