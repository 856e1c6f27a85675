//! How does the full engine match a `pattern`, without more work than a value may cause?
//!
//! The crate `jsonschema` would apply every pattern to texts of any length. This keyword replaces its own, and pays for
//! each match from the budget of the value that is being checked.

use std::cell::RefCell;

use jsonschema::paths::Location;
use jsonschema::{Keyword, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value, json};

use crate::terms::number;
use crate::terms::pattern::CompiledPattern;
use crate::terms::work::Budget;
use crate::texts::problem::preview;

thread_local! {
    /// The budget of the value that this thread checks. Keywords cannot get it in any other way.
    static BUDGET: RefCell<Budget> = RefCell::new(Budget::new());
}

/// Runs a check with a new budget. Returns its result, or `None` if the budget was not enough.
pub(super) fn with_budget<T>(check: impl FnOnce() -> T) -> Option<T> {
    BUDGET.replace(Budget::new());
    let result = check();
    // Once a match was not paid for, nothing can be.
    spend(1).then_some(result)
}

fn spend(work: u64) -> bool {
    BUDGET.with_borrow(|budget| budget.spend(work))
}

/// The keyword `pattern`.
struct Pattern {
    source: String,
    max_length: Option<u64>,
    matcher: Matcher,
}

enum Matcher {
    Ours(CompiledPattern),
    /// A pattern with syntax that our engine does not know.
    Full(Validator),
}

/// Returns the options for patterns that our engine does not know.
pub(super) fn options() -> PatternOptions<jsonschema::FancyRegex> {
    PatternOptions::fancy_regex().size_limit(MAX_PROGRAM).backtrack_limit(MAX_BACKTRACKS)
}

/// Compiles the keyword.
pub(super) fn compile<'s>(
    parent: &'s Map<String, Value>,
    value: &'s Value,
    _: Location,
) -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'s>> {
    let source = value.as_str().unwrap_or_default().to_owned();
    let matcher = match CompiledPattern::compile(&source) {
        Ok(compiled) => Matcher::Ours(compiled),
        Err(_) => {
            let schema = json!({"pattern": source});
            let full = jsonschema::options().offline().with_pattern_options(options()).build(&schema);
            Matcher::Full(full.map_err(|error| ValidationError::custom(error.to_string()))?)
        }
    };
    let max_length = parent.get("maxLength").and_then(number::as_count);
    Ok(Box::new(Pattern { source, max_length, matcher }))
}

impl<'i> Keyword<'i> for Pattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        let text = format!("expected text that matches `{}`, got {}", self.source, preview(instance));
        Err(ValidationError::custom(text))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Value::String(text) = instance else { return true };
        let length = text.chars().count() as u64;
        // A text that is too long need not match: `maxLength` reports it.
        if self.max_length.is_some_and(|max| length > max) {
            return true;
        }
        match &self.matcher {
            Matcher::Ours(compiled) => spend(compiled.work(length)) && compiled.is_match(text),
            Matcher::Full(full) => spend(backtracking_work(length)) && full.is_valid(instance),
        }
    }
}

/// Returns the work of matching a pattern that may backtrack: each character can double it, up to the limit.
fn backtracking_work(length: u64) -> u64 {
    (1 << length.min(17)).min(MAX_BACKTRACKS as u64) + 64 * length
}

/// The maximum size of a compiled pattern. Classes such as `\p{L}` are large: one takes about 30 KiB.
const MAX_PROGRAM: usize = 10 << 20;

/// The maximum number of attempts to match a pattern with look-around or back-references.
const MAX_BACKTRACKS: usize = 100_000;
