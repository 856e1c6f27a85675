//! What is inside a type?

use syn::{GenericArgument, PathArguments, Type};

/// Returns the only argument of a type with one of these names: `T` of `State<T>`.
pub(crate) fn type_argument<'t>(ty: &'t Type, names: &[&str]) -> Option<&'t Type> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(value)] if names.iter().any(|name| last.ident == name) => Some(value),
        _ => None,
    }
}

/// Removes the invisible groups that `macro_rules!` puts around a type.
pub(crate) fn ungrouped(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}
