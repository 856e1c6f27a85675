//! Do the variables of a URI match the parameters of its function? They are matched by name.

use proc_macro2::Span;
use syn::{Field, ItemStruct, Type, TypeGroup, TypeReference};

use super::uri::{ExpressionKind, Uri, Variable};
use crate::attribute::Mistakes;
use crate::attribute::closest::closest;
use crate::check::Assertions;
use crate::input::{Element, Options, Parameter};

/// Checks the variables against the parameters of a function.
pub(crate) fn check_parameters(
    element: &Element,
    uri: &Uri,
    assertions: &mut Assertions,
    mistakes: &mut Mistakes,
) {
    let parameters = &element.function.parameters;
    let place = uri_span(&element.definition.options);
    for variable in &uri.variables {
        match parameters.iter().find(|parameter| parameter.name == variable.name) {
            Some(parameter) => check_variable(variable, parameter, place, assertions, mistakes),
            None => {
                let names = parameters.iter().map(|parameter| parameter.name.as_str());
                mistakes.report(place, missing(variable, "parameter", names));
            }
        }
    }
    for parameter in parameters.iter().filter(|parameter| parameter.has_name()) {
        let name = &parameter.name;
        if uri.variables.iter().any(|variable| variable.name == *name) {
            continue;
        }
        if let Some(arg) = &parameter.arg {
            let message =
                format!("`{name}` is not a variable of the URI, so `#[arg(…)]` does not apply to it");
            mistakes.report(arg.span, message);
            continue;
        }
        let message =
            format!("`{name}` is an argument, but the URI has no variable `{{{name}}}` to read it from");
        assertions.assert_argument(parameter.span, parameter, false, &message);
    }
}

/// Checks the variables against the fields of a struct. With `serde` attributes, only `serde` knows the names, so
/// nothing is checked.
pub(crate) fn check_fields(item: &ItemStruct, uri: &Uri, options: &Options, mistakes: &mut Mistakes) {
    let has_serde =
        |attributes: &[syn::Attribute]| attributes.iter().any(|attribute| attribute.path().is_ident("serde"));
    let is_plain = |field: &Field| !has_serde(&field.attrs);
    let name =
        |field: &Field| field.ident.as_ref().map(syn::ext::IdentExt::unraw).map(|ident| ident.to_string());
    if has_serde(&item.attrs) || !item.fields.iter().all(is_plain) {
        return;
    }
    let names: Vec<String> = item.fields.iter().filter_map(name).collect();
    for variable in uri.variables.iter().filter(|variable| !names.contains(&variable.name)) {
        let message = missing(variable, "field", names.iter().map(String::as_str));
        mistakes.report(uri_span(options), message);
    }
    for field in &item.fields {
        let Some(name) = name(field) else { continue };
        if uri.variables.iter().all(|variable| variable.name != name) {
            let message = format!("the URI has no variable `{{{name}}}` to read this field from");
            mistakes.add(syn::Error::new_spanned(&field.ident, message));
        }
    }
}

fn uri_span(options: &Options) -> Span {
    options.uri.as_ref().map_or_else(Span::call_site, syn::LitStr::span)
}

fn missing<'n>(variable: &Variable, what: &str, names: impl Iterator<Item = &'n str>) -> String {
    let name = &variable.name;
    match closest(name, names) {
        Some(meant) => format!("the variable `{name}` has no {what}: did you mean `{meant}`?"),
        None => format!("the variable `{name}` has no {what}: add one with this name"),
    }
}

fn check_variable(
    variable: &Variable,
    parameter: &Parameter,
    place: Span,
    assertions: &mut Assertions,
    mistakes: &mut Mistakes,
) {
    let Variable { name, kind: stands, is_list } = variable;
    let (span, ty) = (parameter.span, &parameter.stored_type);
    if *stands == ExpressionKind::Simple && !is_list && (name == "path" || is_path(&parameter.declared_type))
    {
        let message = format!("`{{{name}}}` matches one segment; write `{{+{name}}}` to match slashes");
        mistakes.report(place, message);
    }
    assertions.assert_argument(
        span,
        parameter,
        true,
        &format!("`{name}` is a variable of the URI, but its type cannot be read from one"),
    );
    match (stands, parameter.default()) {
        (ExpressionKind::Query, Some(_)) => {}
        (ExpressionKind::Query, None) => {
            let message = format!(
                "`{name}` may be missing in the URI: take an `Option`, or write `#[arg(default = …)]`"
            );
            assertions.assert_option(span, ty, true, &message);
        }
        (ExpressionKind::Simple | ExpressionKind::Other, Some(_)) => {
            let message =
                format!("`{name}` is in every URI of this template; its default would never be used");
            mistakes.report(parameter.arg.as_ref().map_or(span, |arg| arg.span), message);
        }
        (ExpressionKind::Simple | ExpressionKind::Other, None) => {
            let message =
                format!("`{name}` is in every URI of this template; take the value without `Option`");
            assertions.assert_option(span, ty, false, &message);
        }
    }
}

/// Returns whether a type is a path, by its name. An alias is not recognized, nor is a path that is stored as text.
fn is_path(ty: &Type) -> bool {
    match ty {
        Type::Group(TypeGroup { elem, .. }) | Type::Reference(TypeReference { elem, .. }) => is_path(elem),
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| last.ident == "Path" || last.ident == "PathBuf")
        }
        _ => false,
    }
}
