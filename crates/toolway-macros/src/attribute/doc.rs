//! What is the text of a doc comment?

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Lit, Meta};

use super::literal;

/// Returns the text of a doc comment as an expression, in Markdown paragraphs, or `None` without a doc comment. Other
/// attributes may be in between.
pub(crate) fn text(attributes: &[Attribute]) -> Option<TokenStream> {
    let mut pieces = Vec::new();
    let mut said: Vec<String> = Vec::new();
    for attribute in attributes {
        let Meta::NameValue(meta) = &attribute.meta else { continue };
        if !meta.path.is_ident("doc") {
            continue;
        }
        if let Some(Lit::Str(text)) = literal(&meta.value) {
            said.extend(lines(&text.value()));
            continue;
        }
        // For `include_str!` and similar macros, only rustc knows the text.
        if !said.is_empty() {
            let before = std::mem::take(&mut said).join("\n");
            pieces.push(quote! { #before });
        }
        pieces.push(meta.value.to_token_stream());
    }
    let rest = said.join("\n");
    let Some((first, others)) = pieces.split_first() else {
        let text = rest.trim();
        return (!text.is_empty()).then(|| quote! { #text });
    };
    let rest = (!rest.is_empty()).then(|| quote! { "\n", #rest });
    Some(quote! { ::core::concat!(#first, #("\n", #others,)* #rest) })
}

/// Splits a doc comment into lines. `///` is one line with a space in front; `/** … */` has many, perhaps each with a
/// star.
fn lines(text: &str) -> Vec<String> {
    let has_stars = text.contains('\n')
        && text.lines().skip(1).all(|line| line.trim().is_empty() || line.trim_start().starts_with('*'));
    let line = |line: &str| {
        let line = if has_stars { line.trim_start().strip_prefix('*').unwrap_or(line) } else { line };
        line.strip_prefix(' ').unwrap_or(line).trim_end().to_owned()
    };
    text.split('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tokens: proc_macro2::TokenStream) -> String {
        let function: syn::ItemFn = syn::parse2(tokens).expect("a function");
        text(&function.attrs).map(|text| text.to_string()).unwrap_or_default()
    }

    #[test]
    fn other_attributes_and_blank_lines_do_not_break_a_doc_comment() {
        let text = of(quote::quote! {
            /// One.
            #[allow(dead_code)]
            ///
            /// Two,
            #[doc = " three."]
            #[doc(hidden)]
            fn f() {}
        });
        assert_eq!(text, r#""One.\n\nTwo,\nthree.""#);
    }

    #[test]
    fn the_stars_of_a_block_comment_are_no_text() {
        let text = of(quote::quote! {
            /** One.
             *
             * Two.
             */
            fn f() {}
        });
        assert_eq!(text, r#""One.\n\nTwo.""#);
    }
}
