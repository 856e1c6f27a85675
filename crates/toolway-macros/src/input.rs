//! What did the author write? Options, doc comments and parameters, as plain values.

use proc_macro2::{Span, TokenStream};
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, LitBool, LitStr, Meta, Pat, PatType, Token, Type,
};

/// What stands in the parentheses of `#[tool(…)]`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    /// Hints by the name of their field.
    pub(crate) hints: Vec<(Ident, bool)>,
}

const HINTS: [(&str, &str); 4] = [
    ("read_only", "read_only_hint"),
    ("destructive", "destructive_hint"),
    ("idempotent", "idempotent_hint"),
    ("open_world", "open_world_hint"),
];

impl Options {
    /// Reads the options; what is wrong with them goes to `mistakes`.
    pub(crate) fn read(tokens: TokenStream, mistakes: &mut Vec<syn::Error>) -> Self {
        let mut options = Self::default();
        match Punctuated::<Option_, Token![,]>::parse_terminated.parse2(tokens) {
            Ok(list) => {
                for option in list {
                    if let Err(mistake) = options.set(option) {
                        mistakes.push(mistake);
                    }
                }
            }
            Err(mistake) => mistakes.push(mistake),
        }
        options
    }

    fn set(&mut self, option: Option_) -> syn::Result<()> {
        let Option_ { key, value } = option;
        let name = key.to_string();
        if let Some((_, field)) = HINTS.iter().find(|(hint, _)| *hint == name) {
            let is_true = match value {
                None => true,
                Some(Lit::Bool(LitBool { value, .. })) => value,
                Some(other) => {
                    return Err(syn::Error::new(other.span(), format!("`{name}` is `true` or `false`")));
                }
            };
            let field = Ident::new(field, key.span());
            if self.hints.iter().any(|(known, _)| *known == field) {
                return Err(syn::Error::new(key.span(), format!("`{name}` comes twice")));
            }
            self.hints.push((field, is_true));
            return Ok(());
        }
        let slot = match name.as_str() {
            "name" => &mut self.name,
            "title" => &mut self.title,
            "description" => &mut self.description,
            _ => {
                let known = "name, title, description, read_only, destructive, idempotent, open_world";
                return Err(syn::Error::new(
                    key.span(),
                    format!("unknown option `{name}`, known are: {known}"),
                ));
            }
        };
        match value {
            Some(Lit::Str(text)) if slot.is_none() => *slot = Some(text),
            Some(Lit::Str(_)) => return Err(syn::Error::new(key.span(), format!("`{name}` comes twice"))),
            _ => return Err(syn::Error::new(key.span(), format!("write `{name} = \"…\"`"))),
        }
        Ok(())
    }
}

/// `key` or `key = literal`.
struct Option_ {
    key: Ident,
    value: Option<Lit>,
}

impl Parse for Option_ {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() { Some(input.parse()?) } else { None };
        Ok(Self { key, value })
    }
}

/// One parameter of the function.
pub(crate) struct Parameter {
    pub(crate) name: Ident,
    pub(crate) ty: Type,
    pub(crate) description: String,
}

impl Parameter {
    /// Where to show that something about the type is wrong.
    pub(crate) fn span(&self) -> Span {
        self.ty.span()
    }
}

/// Takes the parameters out of a signature, and their doc comments with them: rustc allows none there, but sees
/// the function only after the macro did.
pub(crate) fn parameters(function: &mut ItemFn, mistakes: &mut Vec<syn::Error>) -> Vec<Parameter> {
    let mut parameters = Vec::new();
    for input in &mut function.sig.inputs {
        let span = input.span();
        let FnArg::Typed(PatType { attrs, pat, ty, .. }) = input else {
            mistakes.push(syn::Error::new(span, "a tool is a free function; it has no `self`"));
            continue;
        };
        let description = doc(attrs);
        attrs.retain(|attribute| !attribute.path().is_ident("doc"));
        match &**pat {
            Pat::Ident(pattern) if pattern.subpat.is_none() => {
                parameters.push(Parameter { name: pattern.ident.clone(), ty: (**ty).clone(), description });
            }
            pattern => {
                let message =
                    "a parameter of a tool needs a name: write `name: Type` and take it apart inside";
                mistakes.push(syn::Error::new(pattern.span(), message));
            }
        }
    }
    parameters
}

/// The text of a doc comment, as Markdown paragraphs.
pub(crate) fn doc(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
        .filter_map(|attribute| match &attribute.meta {
            Meta::NameValue(meta) => match &meta.value {
                Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Some(text.value()),
                _ => None,
            },
            _ => None,
        })
        .flat_map(|text| {
            text.split('\n').map(|line| line.strip_prefix(' ').unwrap_or(line).to_owned()).collect::<Vec<_>>()
        })
        .collect();
    lines.join("\n").trim().to_owned()
}
