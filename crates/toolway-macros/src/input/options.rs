//! What is in `#[tool(…)]`, `#[resource(…)]` or `#[prompt(…)]`?

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::{Lit, LitInt, LitStr};

use super::Kind;
use crate::attribute::{AttributeKeys, Mistakes, ScopeRewriter, Setting, parse_settings, values};

/// The options in the parentheses.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<TokenStream>,
    /// Expressions that create icons.
    pub(crate) icons: Vec<TokenStream>,
    /// An expression that creates JSON. The three schemas are such expressions too.
    pub(crate) meta: Option<TokenStream>,
    /// The position of the option, if it is set.
    pub(crate) blocking: Option<Span>,
    /// `true` if the state that a client sends back with its answers is accepted only once.
    pub(crate) single_use: bool,
    /// An expression that creates the maximum duration of a call.
    pub(crate) deadline: Option<TokenStream>,
    /// The hints of a tool, by the names of the functions that set them.
    pub(crate) hints: Vec<(Ident, bool)>,
    pub(crate) schema: Option<TokenStream>,
    pub(crate) input_schema: Option<TokenStream>,
    pub(crate) output_schema: Option<TokenStream>,
    pub(crate) uri: Option<LitStr>,
    pub(crate) mime: Option<LitStr>,
    pub(crate) size: Option<LitInt>,
    /// An expression that creates annotations.
    pub(crate) annotations: Option<TokenStream>,
    /// The scopes that a caller needs.
    pub(crate) scopes: Vec<LitStr>,
}

impl Options {
    /// Reads the options; mistakes are added to `mistakes`.
    pub(crate) fn read(
        kind: Kind,
        tokens: TokenStream,
        outside: &ScopeRewriter,
        mistakes: &mut Mistakes,
    ) -> Self {
        let mut options = Self::default();
        for setting in parse_settings(outside.rewrite(tokens), keys(kind), mistakes) {
            let set = options.set(&setting, mistakes);
            mistakes.ok_or_report(set);
        }
        options
    }

    fn set(&mut self, setting: &Setting, mistakes: &mut Mistakes) -> syn::Result<()> {
        match setting.key.to_string().as_str() {
            "name" => {
                let name = setting.text()?;
                if name.value().is_empty() {
                    return Err(syn::Error::new(name.span(), "a name must not be empty"));
                }
                self.name = Some(name);
            }
            "title" => self.title = Some(setting.text()?),
            "description" => {
                let value = setting.value()?;
                self.description = Some(quote! { #value });
            }
            "icon" => self.icons.extend(values::icon(setting.value()?, mistakes)),
            "icons" => self.icons.extend(values::icons(setting, mistakes)?),
            "meta" => self.meta = Some(values::json(setting)?),
            "blocking" => self.blocking = setting.flag()?.then_some(setting.key.span()),
            "single_use" => self.single_use = setting.flag()?,
            "deadline" => {
                let value = setting.value()?;
                self.deadline = Some(quote! { #value });
            }
            "schema" => self.schema = Some(values::json(setting)?),
            "input_schema" => self.input_schema = Some(values::json(setting)?),
            "output_schema" => self.output_schema = Some(values::json(setting)?),
            "uri" => self.uri = Some(setting.text()?),
            "mime" => self.mime = Some(setting.text()?),
            "size" => match setting.literal() {
                Some(Lit::Int(size)) => self.size = Some(size.clone()),
                _ => return Err(setting.error("write `size = 1024`, in bytes")),
            },
            "scopes" => self.scopes = values::scopes(setting)?,
            "annotations" => self.annotations = Some(values::annotations(setting, mistakes)?),
            hint => {
                let set = Ident::new(&format!("with_{hint}_hint"), setting.key.span());
                self.hints.push((set, setting.flag()?));
            }
        }
        Ok(())
    }
}

fn keys(kind: Kind) -> &'static AttributeKeys<'static> {
    match kind {
        Kind::Tool => &TOOL,
        Kind::Resource => &RESOURCE,
        Kind::Prompt => &PROMPT,
    }
}

const TOOL: AttributeKeys<'static> = AttributeKeys {
    owner: "`#[tool]`",
    noun: "option",
    known: &[
        "name",
        "title",
        "description",
        "read_only",
        "destructive",
        "idempotent",
        "open_world",
        "blocking",
        "single_use",
        "deadline",
        "scopes",
        "icon",
        "icons",
        "meta",
        "schema",
        "input_schema",
        "output_schema",
    ],
    hint: |_| None,
    positional: None,
};

const RESOURCE: AttributeKeys<'static> = AttributeKeys {
    positional: Some("uri"),
    ..AttributeKeys::new(
        "`#[resource]`",
        "option",
        &[
            "uri",
            "name",
            "title",
            "description",
            "mime",
            "size",
            "annotations",
            "scopes",
            "blocking",
            "icon",
            "icons",
            "meta",
        ],
    )
};

const PROMPT: AttributeKeys<'static> = AttributeKeys::new(
    "`#[prompt]`",
    "option",
    &["name", "title", "description", "scopes", "blocking", "icon", "icons", "meta"],
);
