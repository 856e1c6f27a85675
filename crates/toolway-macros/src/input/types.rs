//! What stands inside of a type?

use syn::{GenericArgument, PathArguments, Type};

/// The only argument of a type that goes by one of these names: `T` of `State<T>`.
pub(crate) fn inside<'t>(ty: &'t Type, names: &[&str]) -> Option<&'t Type> {
    let Type::Path(path) = ungrouped(ty) else { return None };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.iter().collect::<Vec<_>>()[..] {
        [GenericArgument::Type(value)] if names.iter().any(|name| last.ident == name) => Some(value),
        _ => None,
    }
}

/// `macro_rules!` puts invisible parentheses around a type that it was given.
pub(crate) fn ungrouped(mut ty: &Type) -> &Type {
    while let Type::Group(group) = ty {
        ty = &group.elem;
    }
    ty
}
