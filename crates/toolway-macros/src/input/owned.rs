//! Which owned type corresponds to a type that borrows? Arguments are created for the call, so nothing exists to
//! borrow from.

use quote::ToTokens;
use syn::visit_mut::{self, VisitMut};
use syn::{
    GenericArgument, Lifetime, PathSegment, Type, TypeFnPtr, TypeReference, TypeTraitObject, parse_quote,
};

use super::types::{type_argument, ungrouped};

/// Returns the type that an author must write instead of a type that borrows, or `None` if the type does not borrow. A
/// reference to the whole value is allowed.
pub(crate) fn owned_replacement(ty: &Type) -> Option<String> {
    let mut owned = ungrouped(ty).clone();
    // The server owns the values that it provides.
    if type_argument(&owned, &["State", "Extension"]).is_some() {
        return None;
    }
    let mut own = ReferenceReplacer { is_value: is_value(&owned), found: None };
    match &mut owned {
        Type::Reference(TypeReference { elem, .. }) => own.visit_type_mut(elem),
        other => own.visit_type_mut(other),
    }
    own.found.map(|found| match found {
        BorrowKind::Reference => format!("write `{}`", type_text(&owned)),
        BorrowKind::Lifetime(name) => {
            format!("write `{name}` without a lifetime, with owned fields such as `String`")
        }
    })
}

/// Returns whether the type contains values that are read from a call. Such values cannot be references.
fn is_value(ty: &Type) -> bool {
    const HOLDERS: [&str; 6] = ["Option", "Vec", "VecDeque", "HashSet", "BTreeSet", "Box"];
    matches!(ty, Type::Tuple(_) | Type::Array(_)) || type_argument(ty, &HOLDERS).is_some()
}

/// Replaces references by owned types.
struct ReferenceReplacer {
    is_value: bool,
    found: Option<BorrowKind>,
}

enum BorrowKind {
    Reference,
    Lifetime(String),
}

impl VisitMut for ReferenceReplacer {
    fn visit_type_mut(&mut self, ty: &mut Type) {
        if let Type::Reference(reference) = &*ty
            && (self.is_value || !reference.lifetime.as_ref().is_some_and(is_static))
        {
            self.found.get_or_insert(BorrowKind::Reference);
            let target = ungrouped(&reference.elem).clone();
            *ty = match &target {
                Type::Slice(slice) => {
                    let element = &slice.elem;
                    parse_quote! { Vec<#element> }
                }
                Type::Path(path) if path.path.is_ident("str") => parse_quote! { String },
                Type::Path(path) if path.path.is_ident("Path") => parse_quote! { PathBuf },
                _ => target,
            };
            return self.visit_type_mut(ty);
        }
        visit_mut::visit_type_mut(self, ty);
    }

    fn visit_path_segment_mut(&mut self, segment: &mut PathSegment) {
        // A `Cow` is read into its owned form, whatever its lifetime. A type with a named lifetime is accepted too,
        // because its author chose the lifetime deliberately.
        if let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments
            && segment.ident != "Cow"
            && arguments.args.iter().any(
                |argument| matches!(argument, GenericArgument::Lifetime(lifetime) if lifetime.ident == "_"),
            )
        {
            self.found.get_or_insert(BorrowKind::Lifetime(segment.ident.to_string()));
        }
        // The arguments of `Fn(&str)` belong to the function type.
        if !matches!(segment.arguments, syn::PathArguments::Parenthesized(_)) && segment.ident != "Cow" {
            visit_mut::visit_path_segment_mut(self, segment);
        }
    }

    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {}

    fn visit_type_trait_object_mut(&mut self, _: &mut TypeTraitObject) {}
}

fn is_static(lifetime: &Lifetime) -> bool {
    lifetime.ident == "static"
}

/// Returns the text of a type with the usual spaces.
fn type_text(ty: &Type) -> String {
    let spaced = ty.to_token_stream().to_string();
    [(" < ", "<"), (" >", ">"), (" ,", ","), ("& ", "&"), (" :: ", "::"), ("> ", ">")]
        .iter()
        .fold(spaced, |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_borrows_is_told_how_to_own() {
        let write = |text: &str| Some(format!("write `{text}`"));
        let lifetime = |name: &str| {
            Some(format!("write `{name}` without a lifetime, with owned fields such as `String`"))
        };
        let cases: [(Type, Option<String>); 15] = [
            (parse_quote! { Option<&str> }, write("Option<String>")),
            (parse_quote! { &[&'a str] }, write("&[String]")),
            (parse_quote! { Vec<(&str, &[u8])> }, write("Vec<(String, Vec<u8>)>")),
            (parse_quote! { Option<&std::path::Path> }, write("Option<std::path::Path>")),
            (parse_quote! { Option<&Path> }, write("Option<PathBuf>")),
            (parse_quote! { Option<&'static str> }, write("Option<String>")),
            (parse_quote! { Option<&Note> }, write("Option<Note>")),
            (parse_quote! { P<'_> }, lifetime("P")),
            (parse_quote! { Option<P<'_>> }, lifetime("P")),
            (parse_quote! { &str }, None),
            (parse_quote! { Cow<'_, str> }, None),
            (parse_quote! { P<'a> }, None),
            (parse_quote! { State<&'static str> }, None),
            (parse_quote! { Mine<Box<dyn Fn(&str) -> &str>> }, None),
            (parse_quote! { Mine<&'static str> }, None),
        ];
        for (ty, expected) in cases {
            assert_eq!(owned_replacement(&ty), expected, "{}", type_text(&ty));
        }
    }
}
