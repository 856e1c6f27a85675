//! Does reading a value into its type enforce all that the type's schema says?
//!
//! For the types below it does, and then nobody has to check the value a second time. It cannot be told for a type
//! that an author made: `#[schemars(with = …)]`, `extend`, `range`, `required` and a hand-written `JsonSchema` say
//! things of which `serde` knows nothing, and a schema does not show where its keywords come from. When in doubt the
//! answer is no: a check too many costs microseconds, one too few lets a wrong value in.

/// Whether `serde` enforces every keyword of the schema that `schemars` writes for the type.
pub(super) fn is_enforced<T>() -> bool {
    // Types of callers may borrow, so they have no `TypeId`. Should a compiler write a name in another way, the value is
    // checked, no more.
    std::any::type_name::<T>()
        .split(['<', '>', '(', ')', ',', ' '])
        .filter(|word| !word.is_empty())
        .all(|word| ENFORCED.contains(&word))
}

/// Types that nobody can put a `#[schemars(…)]` on, and of whose schemas `serde` enforces every word. A set is none: it
/// takes the same item twice.
const ENFORCED: [&str; 25] = [
    "bool",
    "char",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "str",
    "alloc::string::String",
    "alloc::boxed::Box",
    "alloc::vec::Vec",
    "alloc::collections::btree::map::BTreeMap",
    "core::option::Option",
    "serde_json::value::Value",
    "std::collections::hash::map::HashMap",
    "std::hash::random::RandomState",
];

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet, HashMap};
    use std::num::NonZero;

    use serde_json::Value;

    use super::*;

    #[test]
    fn only_types_that_nobody_can_add_rules_to_enforce_their_schema() {
        struct Own;
        for (name, expected, found) in [
            ("text", true, is_enforced::<String>()),
            ("an integer", true, is_enforced::<u32>()),
            ("a float", true, is_enforced::<f64>()),
            ("a list", true, is_enforced::<Option<Vec<bool>>>()),
            ("a tuple", true, is_enforced::<(u8, i16, Vec<f32>)>()),
            ("a map", true, is_enforced::<HashMap<u64, BTreeMap<String, Box<str>>>>()),
            ("anything", true, is_enforced::<Value>()),
            ("a set", false, is_enforced::<BTreeSet<u8>>()),
            ("an array", false, is_enforced::<[u8; 2]>()),
            ("not zero", false, is_enforced::<NonZero<u8>>()),
            ("a type of the author", false, is_enforced::<Own>()),
            ("one inside", false, is_enforced::<Vec<Option<Own>>>()),
        ] {
            assert_eq!(found, expected, "{name}");
        }
    }
}
