//! Does decoding a value into its type enforce everything in the type's schema?
//!
//! It does for the types in `ENFORCED`, so their values need no second check. For a type of the application this is
//! unknown: `#[schemars(with = …)]`, `extend`, `range`, `required` and a hand-written `JsonSchema` add rules that
//! `serde` does not enforce, and a schema does not show where its keywords come from. When in doubt the answer is no:
//! an unnecessary check costs microseconds, a missing one accepts a wrong value.

/// Returns whether `serde` enforces every keyword of the schema that `schemars` writes for the type.
pub(super) fn is_enforced<T>() -> bool {
    // Types of callers may borrow, so they have no `TypeId`. If a compiler version formats type names differently, the
    // value is checked, which is harmless.
    std::any::type_name::<T>()
        .split(['<', '>', '(', ')', ',', ' '])
        .filter(|word| !word.is_empty())
        .all(|word| ENFORCED.contains(&word))
}

/// Types that cannot have a `#[schemars(…)]` attribute, and whose schemas `serde` enforces completely. Sets are not
/// among them: decoding accepts the same item twice.
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
