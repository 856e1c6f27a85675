//! How does the crate `jsonschema` check the keywords that our own engine does not know?
//!
//! The crate is used only for schemas that contain such keywords, and its errors are translated into the wording of our
//! own engine. It never fetches anything: a `$ref` to another document is an error when the server is built.

use jsonschema::Validator;
use jsonschema::error::{TypeKind, ValidationError, ValidationErrorKind};
use jsonschema::paths::LocationSegment;
use serde_json::Value;

use super::full_pattern;
use super::walk::TOO_MUCH_WORK;
use crate::terms::format::{FORMATS, Format};
use crate::terms::types::Types;
use crate::texts::problem::{
    CHARACTERS, ITEMS, MEMBERS, Path, Problem, not_one_of, preview, preview_with_type, wrong_count,
};

/// A validator for a schema that our own engine cannot check.
#[derive(Debug)]
pub(crate) struct Engine(Validator);

impl Engine {
    /// Compiles a schema. The list of keywords that our own engine does not know is ignored.
    pub(crate) fn compile(schema: &Value, _: &[String]) -> Result<Self, Vec<String>> {
        let mut options = jsonschema::options()
            .offline()
            .should_validate_formats(true)
            .with_pattern_options(full_pattern::options())
            .with_keyword("pattern", full_pattern::compile);
        // Both engines must check formats in the same way.
        for format in FORMATS {
            options = options.with_format(format.name, format.check);
        }
        // Here the schema itself is the validated "instance", so the instance path is the position in the schema.
        options.build(schema).map(Self).map_err(|error| {
            vec![format!("the schema cannot be used: {error}, at `#{}`", error.instance_path())]
        })
    }

    pub(crate) fn check(&self, value: &Value, most: usize) -> Vec<Problem> {
        let problems = full_pattern::with_budget(|| self.problems(value, most));
        problems.unwrap_or_else(|| vec![Problem::at(&Path::Root, TOO_MUCH_WORK)])
    }

    fn problems(&self, value: &Value, most: usize) -> Vec<Problem> {
        let mut problems = Vec::new();
        for error in self.0.iter_errors(value) {
            for problem in problems_of(&error) {
                if problems.len() == most {
                    return problems;
                }
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
        problems
    }
}

fn problems_of(error: &ValidationError<'_>) -> Vec<Problem> {
    problems_below(&mut error.instance_path().iter(), &Path::Root, error)
}

/// Follows the remaining `steps`, and returns the problems of the value at the end of the path.
fn problems_below(
    steps: &mut dyn Iterator<Item = LocationSegment<'_>>,
    path: &Path<'_>,
    error: &ValidationError<'_>,
) -> Vec<Problem> {
    match steps.next() {
        None => problems_at(error, path),
        Some(LocationSegment::Property(name)) => problems_below(steps, &path.member(&name), error),
        Some(LocationSegment::Index(index)) => problems_below(steps, &path.item(index), error),
    }
}

fn problems_at(error: &ValidationError<'_>, path: &Path<'_>) -> Vec<Problem> {
    use ValidationErrorKind as Kind;
    let value = error.instance();
    let count = |bound: &str, limit: u64, unit: [&str; 2]| {
        let count = match &**value {
            Value::String(text) => text.chars().count(),
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        wrong_count(bound, limit, unit, count)
    };
    let expected = |what: String| format!("expected {what}, got {}", preview(value));
    let complaint = match error.kind() {
        Kind::Required { property } => {
            return vec![Problem::missing(&path.member(property.as_str().unwrap_or_default()))];
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            // The error does not say which names are known.
            let names: Vec<_> = unexpected.iter().map(|name| format!("`{name}`")).collect();
            format!("{} is unknown here", names.join(", "))
        }
        Kind::Type { kind } => {
            let types = match kind {
                TypeKind::Single(name) => describe_type(name.as_str()),
                TypeKind::Multiple(names) => {
                    names.iter().map(|name| describe_type(name.as_str())).collect::<Vec<_>>().join(" or ")
                }
            };
            format!("expected {types}, got {}", preview_with_type(value))
        }
        Kind::Enum { options } => match &**options {
            Value::Array(options) => not_one_of(&options.iter().collect::<Vec<_>>(), value),
            other => not_one_of(&[other], value),
        },
        Kind::Constant { expected_value } => not_one_of(&[expected_value], value),
        Kind::Minimum { limit } => expected(format!("at least {limit}")),
        Kind::Maximum { limit } => expected(format!("at most {limit}")),
        Kind::ExclusiveMinimum { limit } => expected(format!("more than {limit}")),
        Kind::ExclusiveMaximum { limit } => expected(format!("less than {limit}")),
        Kind::MultipleOf { multiple_of } => expected(format!("a multiple of {multiple_of}")),
        Kind::MinLength { limit } => count("at least", *limit, CHARACTERS),
        Kind::MaxLength { limit } => count("at most", *limit, CHARACTERS),
        Kind::MinItems { limit } => count("at least", *limit, ITEMS),
        Kind::MaxItems { limit } => count("at most", *limit, ITEMS),
        Kind::MinProperties { limit } => count("at least", *limit, MEMBERS),
        Kind::MaxProperties { limit } => count("at most", *limit, MEMBERS),
        // Only our own keyword reports such errors.
        Kind::Custom { message, .. } => message.clone(),
        Kind::Format { format } => expected(
            Format::from_name(format)
                .map_or_else(|| format!("text of the format `{format}`"), |format| format.noun.to_owned()),
        ),
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => return closest_branch_problems(context),
        Kind::UniqueItems => expected("unique items".to_owned()),
        Kind::Contains => expected("an item that matches `contains`".to_owned()),
        Kind::FalseSchema => format!("nothing is allowed here, got {}", preview_with_type(value)),
        Kind::PropertyNames { error } => format!("a name is not allowed: {}", preview(error.instance())),
        // The error's own text would contain the whole value.
        kind => format!("`{}` does not allow {}", kind.keyword(), preview(value)),
    };
    vec![Problem::at(path, &complaint)]
}

fn describe_type(name: &str) -> String {
    Types::from_name(name).map(Types::describe).unwrap_or_default()
}

/// Returns the problems of the branch with the fewest errors.
fn closest_branch_problems(branches: &[Vec<ValidationError<'static>>]) -> Vec<Problem> {
    let least = branches.iter().min_by_key(|errors| errors.len());
    least.into_iter().flatten().flat_map(problems_of).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::Checker;
    use crate::Problem;

    /// Adds a keyword that our own engine does not know to each schema, so that this engine is used.
    fn problems_text(schema: Value, value: &Value) -> String {
        let whole =
            json!({"type": "object", "properties": {"a": schema}, "propertyNames": {"maxLength": 99}});
        Problem::join(&Checker::compile(&whole).unwrap().check(value))
    }

    #[test]
    fn problems_are_told_in_the_same_words() {
        for (schema, value, expected) in [
            (json!({"type": "number"}), json!("x"), r#"argument `a`: expected a number, got the string "x""#),
            (
                json!({"type": ["string", "array"]}),
                json!(1),
                "argument `a`: expected a string or an array, got the number 1",
            ),
            (json!({"minimum": 18}), json!(7), "argument `a`: expected at least 18, got 7"),
            (
                json!({"enum": ["free", "pro"]}),
                json!("pr"),
                r#"argument `a`: expected one of "free", "pro", got "pr", did you mean "pro"?"#,
            ),
            (json!({"const": 1}), json!(2), "argument `a`: expected 1, got 2"),
            (json!({"minLength": 1}), json!(""), "argument `a`: expected at least 1 character, got none"),
            (json!({"format": "email"}), json!("x"), r#"argument `a`: expected an email address, got "x""#),
            (
                json!({"pattern": "^(?!b)"}),
                json!("bob"),
                r#"argument `a`: expected text that matches `^(?!b)`, got "bob""#,
            ),
            (json!({"items": {"required": ["name"]}}), json!([{}]), "argument `a[0].name` is missing"),
            (
                json!({"additionalProperties": false, "properties": {"color": {}}}),
                json!({"colour": 1}),
                "argument `a`: `colour` is unknown here",
            ),
            (json!({"unevaluatedProperties": false}), json!({"x": 1}), "argument `a`: `x` is unknown here"),
            (
                json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
                json!(1),
                "argument `a`: expected a string, got the number 1",
            ),
            (
                json!({"if": {"minimum": 5}, "then": {"multipleOf": 5}}),
                json!(7),
                "argument `a`: expected a multiple of 5, got 7",
            ),
            (
                json!({"contains": {"const": 1}}),
                json!([2]),
                "argument `a`: expected an item that matches `contains`, got [2]",
            ),
            (json!({"type": "string"}), json!(null), ""),
        ] {
            assert_eq!(problems_text(schema.clone(), &json!({"a": value})), expected, "{schema} and {value}");
        }
    }

    /// Without a budget, the texts of this test take minutes.
    #[test]
    fn patterns_are_matched_within_the_budget() {
        let too_long = "the arguments: checking it takes too long: send fewer or shorter values";
        let many = |text: &str| json!(vec![text; 20_000]);
        let slow = "a".repeat(40) + "!";
        for (schema, value, expected) in [
            (json!({"pattern": "a{1,500}b", "if": {}}), json!("a".repeat(1 << 24)), too_long),
            (json!({"items": {"pattern": "(?=(a+)+$)", "if": {}}}), many(&slow), too_long),
            (json!({"items": {"not": {"pattern": "(?=(a+)+$)"}, "if": {}}}), many(&slow), too_long),
            (json!({"items": {"pattern": "(?=a)"}}), many("abc"), ""),
            (
                json!({"pattern": "a{1,500}b", "maxLength": 3, "if": {}}),
                json!("a".repeat(1 << 24)),
                "argument `a`: expected at most 3 characters, got 16777216",
            ),
        ] {
            assert_eq!(problems_text(schema.clone(), &json!({"a": value})), expected, "{schema}");
        }
        assert!(Checker::compile(&json!({"pattern": r"^\p{L}{1,100}$"})).is_ok());
        assert!(Checker::compile(&json!({"pattern": r"^\p{L}{1,50000}$"})).is_err());
    }

    #[test]
    fn doubled_references_end() {
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let mut definitions: serde_json::Map<_, _> = (0..60)
                .map(|level| {
                    let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
                    (format!("d{level}"), json!({keyword: [next, next]}))
                })
                .collect();
            definitions.insert("d60".to_owned(), json!({"if": {"minimum": 5}, "then": {"multipleOf": 5}}));
            let schema = json!({"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": definitions});
            let errors = Checker::compile(&schema).unwrap_err();
            assert!(errors[0].starts_with("its references lead to the same schemas too often"), "{errors:?}");
        }
    }

    #[test]
    fn nothing_is_fetched() {
        for reference in ["https://127.0.0.1:1/schema.json", "file:///etc/passwd", "other.json"] {
            let errors = Checker::compile(&json!({"$ref": reference})).unwrap_err();
            assert_eq!(errors.len(), 1, "{errors:?}");
        }
        let anchored = json!({"properties": {"a": {"$ref": "#name"}}, "$defs": {"x": {"$anchor": "name", "type": "string"}}});
        let checker = Checker::compile(&anchored).unwrap();
        assert_eq!(checker.check(&json!({"a": 1})).len(), 1);
    }

    #[test]
    fn values_are_turned_as_far_as_our_own_engine_reads() {
        let schema = json!({"properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "dependentRequired": {"a": ["c"]}});
        let checker = Checker::compile(&schema).unwrap();
        let mut value = json!({"a": "5", "b": null, "c": 1});
        assert!(checker.coerce(&mut value));
        assert_eq!(value, json!({"a": 5, "c": 1}));
        assert_eq!(checker.check(&value), []);
    }
}
