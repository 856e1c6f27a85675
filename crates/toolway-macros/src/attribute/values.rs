//! How are JSON, icons, annotations and scopes written in an attribute, and which expressions create them?

use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Expr, ExprCall, ExprMacro, Lit, LitStr, Macro, Token};

use super::{AttributeKeys, Mistakes, Setting, SettingValue, literal, parse_settings, without_groups};

/// Turns `key = {…}`, `key = json!{…}` or `key = any_expression` into an expression that creates JSON.
pub(crate) fn json(setting: &Setting) -> syn::Result<TokenStream> {
    match &setting.raw_value {
        SettingValue::Braces(object) => Ok(quote! { ::toolway::__private::json!(#object) }),
        SettingValue::Value(value) => {
            let mut value = value.clone();
            JsonMacroReplacer.visit_expr_mut(&mut value);
            Ok(match without_groups(&value) {
                Expr::Macro(made) if is_json(made) => made.to_token_stream(),
                // A value of any type is converted to JSON; a JSON value stays unchanged.
                _ => quote! { ::toolway::__private::json!(#value) },
            })
        }
        SettingValue::None | SettingValue::List(_) => {
            Err(setting.error(format!("write `{} = {{…}}`", setting.key)))
        }
    }
}

fn is_json(made: &ExprMacro) -> bool {
    made.mac.path.segments.last().is_some_and(|name| name.ident == "json")
}

/// Replaces `json!` without a path by our own macro, so that an attribute needs no import.
struct JsonMacroReplacer;

impl VisitMut for JsonMacroReplacer {
    fn visit_macro_mut(&mut self, call: &mut Macro) {
        if call.path.is_ident("json") {
            call.path = syn::parse_quote_spanned! { call.path.span()=> ::toolway::__private::json };
        }
        visit_mut::visit_macro_mut(self, call);
    }
}

/// Turns `icons = ["url", icon(src = "url", …)]` into expressions that create icons.
pub(crate) fn icons(setting: &Setting, mistakes: &mut Mistakes) -> syn::Result<Vec<TokenStream>> {
    match without_groups(setting.value()?) {
        Expr::Array(list) => Ok(list.elems.iter().filter_map(|value| icon(value, mistakes)).collect()),
        _ => Err(setting.error("write `icons = [\"url\", icon(src = \"url\", mime = \"image/png\")]`")),
    }
}

/// Turns `"url"` or `icon(src = "url", mime = "…", sizes = ["…"], theme = "dark")` into an expression that creates an
/// icon.
pub(crate) fn icon(value: &Expr, mistakes: &mut Mistakes) -> Option<TokenStream> {
    let icon = match without_groups(value) {
        Expr::Call(call) if is_icon(call) => icon_from_call(call, mistakes),
        Expr::Lit(literal) if matches!(literal.lit, Lit::Str(_)) => {
            Ok(quote! { ::toolway::__private::Icon::new(#literal) })
        }
        other => Err(syn::Error::new(
            other.span(),
            "write an icon as its URL, or as `icon(src = \"…\", mime = \"…\", sizes = [\"48x48\"], theme = \"dark\")`",
        )),
    };
    mistakes.ok_or_report(icon)
}

fn is_icon(call: &ExprCall) -> bool {
    matches!(&*call.func, Expr::Path(path) if path.path.is_ident("icon"))
}

fn icon_from_call(call: &ExprCall, mistakes: &mut Mistakes) -> syn::Result<TokenStream> {
    let mut source = None;
    let mut rest = TokenStream::new();
    for setting in parse_settings(call.args.to_token_stream(), &ICON, mistakes) {
        if setting.key == "src" {
            source = Some(setting.text()?);
            continue;
        }
        rest.extend(mistakes.ok_or_report(icon_setter(&setting)));
    }
    let source = source.ok_or_else(|| syn::Error::new(call.func.span(), "an icon needs `src = \"…\"`"))?;
    Ok(quote! { ::toolway::__private::Icon::new(#source) #rest })
}

fn icon_setter(setting: &Setting) -> syn::Result<TokenStream> {
    Ok(match setting.key.to_string().as_str() {
        "mime" => {
            let mime = setting.text()?;
            quote! { .with_mime_type(#mime) }
        }
        "sizes" => {
            let sizes = texts(setting)?;
            quote! { .with_sizes(::std::vec![#(::std::string::String::from(#sizes)),*]) }
        }
        _ => {
            let theme = setting.text()?;
            let theme = match theme.value().as_str() {
                "light" => quote! { Light },
                "dark" => quote! { Dark },
                _ => return Err(syn::Error::new(theme.span(), "`theme` must be \"light\" or \"dark\"")),
            };
            quote! { .with_theme(::toolway::__private::Theme::#theme) }
        }
    })
}

fn texts(setting: &Setting) -> syn::Result<Vec<Expr>> {
    let is_text = |value: &Expr| matches!(literal(value), Some(Lit::Str(_)));
    match without_groups(setting.value()?) {
        Expr::Array(list) if list.elems.iter().all(is_text) => Ok(list.elems.iter().cloned().collect()),
        other => Err(syn::Error::new(other.span(), format!("`{}` must be a list of strings", setting.key))),
    }
}

/// Reads `scopes("notes:read", "notes:write")`.
pub(crate) fn scopes(setting: &Setting) -> syn::Result<Vec<LitStr>> {
    let example = "write `scopes(\"notes:write\")`, with one or more scopes";
    let SettingValue::List(list) = &setting.raw_value else { return Err(setting.error(example)) };
    let scopes = Punctuated::<LitStr, Token![,]>::parse_terminated.parse2(list.clone())?;
    if scopes.is_empty() {
        return Err(setting.error(example));
    }
    let is_letter = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\' && byte != b',';
    for scope in &scopes {
        let text = scope.value();
        if text.is_empty() || !text.bytes().all(is_letter) {
            let message = "a scope has no spaces, commas, quotes or backslashes: write several as `scopes(\"a\", \"b\")`";
            return Err(syn::Error::new(scope.span(), message));
        }
    }
    Ok(scopes.into_iter().collect())
}

/// Turns `annotations(audience = [user], priority = 0.9, last_modified = "…")` into an expression that creates
/// annotations.
pub(crate) fn annotations(setting: &Setting, mistakes: &mut Mistakes) -> syn::Result<TokenStream> {
    let SettingValue::List(list) = &setting.raw_value else {
        return Err(setting.error("write `annotations(audience = [user, assistant], priority = 0.9)`"));
    };
    let mut annotations = quote! { ::toolway::__private::Annotations::new() };
    for setting in parse_settings(list.clone(), &ANNOTATIONS, mistakes) {
        annotations.extend(mistakes.ok_or_report(annotation(&setting)));
    }
    Ok(annotations)
}

fn annotation(setting: &Setting) -> syn::Result<TokenStream> {
    Ok(match setting.key.to_string().as_str() {
        "audience" => {
            let roles = roles(setting)?;
            quote! { .with_audience(::std::vec![#(::toolway::__private::Role::#roles),*]) }
        }
        "priority" => {
            let priority = priority(setting)?;
            quote! { .with_priority(#priority) }
        }
        _ => {
            let when = setting.text()?;
            quote! { .with_last_modified(#when) }
        }
    })
}

/// Reads `[user, assistant]`, or a single role without brackets.
fn roles(setting: &Setting) -> syn::Result<Vec<Ident>> {
    let one = |value: &Expr| {
        let name = match (without_groups(value), literal(value)) {
            (Expr::Path(path), _) => path.path.get_ident().map(ToString::to_string),
            (_, Some(Lit::Str(text))) => Some(text.value()),
            _ => None,
        };
        match name.as_deref() {
            Some("user") => Ok(Ident::new("User", value.span())),
            Some("assistant") => Ok(Ident::new("Assistant", value.span())),
            _ => Err(syn::Error::new(value.span(), "`audience` must be `user`, `assistant` or both")),
        }
    };
    match without_groups(setting.value()?) {
        Expr::Array(list) => list.elems.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

fn priority(setting: &Setting) -> syn::Result<f64> {
    let priority = match setting.literal() {
        Some(Lit::Float(number)) => number.base10_parse::<f64>()?,
        Some(Lit::Int(number)) => number.base10_parse::<f64>()?,
        _ => f64::NAN,
    };
    if (0.0..=1.0).contains(&priority) {
        return Ok(priority);
    }
    Err(syn::Error::new(setting.span(), "`priority` must be a number from 0 to 1"))
}

/// Returns an expression that creates an `Option`.
pub(crate) fn option_expr(value: Option<impl ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote! { ::core::option::Option::Some(#value) },
        None => quote! { ::core::option::Option::None },
    }
}

const ICON: AttributeKeys<'static> = AttributeKeys {
    positional: Some("src"),
    ..AttributeKeys::new("`icon`", "key", &["src", "mime", "sizes", "theme"])
};

const ANNOTATIONS: AttributeKeys<'static> =
    AttributeKeys::new("`annotations`", "key", &["audience", "priority", "last_modified"]);
