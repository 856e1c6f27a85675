//! Without the feature `full-schema`, a schema with keywords that our own engine does not know is refused.

use std::convert::Infallible;

use serde_json::Value;

use crate::texts::problem::Problem;

/// The full engine, which is not available in this build.
#[derive(Debug)]
pub(crate) struct Engine(Infallible);

impl Engine {
    /// Returns the unsupported keywords as errors.
    pub(crate) fn compile(_: &Value, beyond: &[String]) -> Result<Self, Vec<String>> {
        Err(beyond.to_vec())
    }

    pub(crate) fn check(&self, _: &Value, _: usize) -> Vec<Problem> {
        match self.0 {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Checker;

    #[test]
    fn keywords_that_few_use_are_refused_by_name() {
        for (schema, expected) in [
            (json!({"if": {}}), "`if` at `#` is not checked: enable the feature `full-schema` of toolway"),
            (
                json!({"properties": {"a": {"contains": {}}}}),
                "`contains` at `#/properties/a` is not checked: enable the feature `full-schema` of toolway",
            ),
            (
                json!({"$ref": "https://example.com/x"}),
                "`$ref` to `https://example.com/x` at `#` is not checked: enable the feature `full-schema` of toolway",
            ),
        ] {
            assert_eq!(Checker::compile(&schema).unwrap_err(), [expected]);
        }
        let pattern = Checker::compile(&json!({"pattern": "(?=a)"})).unwrap_err();
        assert!(pattern[0].starts_with("`pattern` at `#` does not compile: `(?=a)`: "), "{pattern:?}");
        assert!(Checker::compile(&json!({"contentSchema": {}, "$anchor": "a", "x-if": 1})).is_ok());
    }
}
