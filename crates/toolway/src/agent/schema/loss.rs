//! What is lost on the way from a tool's schema to the one that a provider takes?

use std::fmt;

/// Something that a tool's schema says and a provider's does not.
///
/// ```
/// use serde_json::json;
/// use toolway::agent::{Effect, Provider, schema};
///
/// let converted = schema::convert(
///     Provider::Gemini,
///     &json!({"type": "object", "properties": {"even": {"type": "integer", "multipleOf": 2}}}),
/// );
/// let loss = &converted.losses[0];
/// assert_eq!((&*loss.pointer, &*loss.what, loss.effect), ("/properties/even", "multipleOf", Effect::Wider));
/// // The model is told all the same.
/// let schema = converted.schema.unwrap();
/// assert_eq!(schema["properties"]["even"]["description"], "A multiple of 2.");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The tool; empty where a schema was converted alone.
    pub tool: String,
    /// The place in the tool's schema, as a JSON pointer. It is the place where a definition stands, not where it is used.
    pub pointer: String,
    /// The keyword or the thing that is lost.
    pub what: String,
    /// Why it is.
    pub why: String,
    /// What that means for calls.
    pub effect: Effect,
}

/// What a loss means for calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effect {
    /// Nothing: a remark is gone that no value depends on.
    Remark,
    /// The model may send what the tool will refuse.
    Wider,
    /// The model cannot send, or is not told of, something that the tool would take.
    Narrower,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, pointer, what, why, .. } = self;
        if !tool.is_empty() {
            write!(f, "the tool `{tool}`: ")?;
        }
        write!(f, "`{what}` at `#{pointer}` is lost: {why}")
    }
}

/// Collects losses. Definitions that are used often lose the same things each time; that is told once.
#[derive(Debug, Default)]
pub(super) struct Losses {
    list: Vec<Loss>,
    /// Inside `not` and its like, what is wider makes the whole narrower.
    turned: usize,
}

impl Losses {
    pub(super) fn add(&mut self, pointer: &str, what: &str, effect: Effect, why: impl Into<String>) {
        let why = why.into();
        let effects: &[_] = match effect {
            Effect::Remark => &[Effect::Remark],
            _ if self.turned > 0 => &[Effect::Wider, Effect::Narrower],
            Effect::Wider => &[Effect::Wider],
            Effect::Narrower => &[Effect::Narrower],
        };
        for effect in effects {
            let (pointer, what, why) = (pointer.to_owned(), what.to_owned(), why.clone());
            self.list.push(Loss { tool: String::new(), pointer, what, why, effect: *effect });
        }
    }

    /// What is added from now on is inside `not` or its like.
    pub(super) fn turn(&mut self) {
        self.turned += 1;
    }

    /// And from now on no more.
    pub(super) fn turn_back(&mut self) {
        self.turned -= 1;
    }

    /// Whether it is inside `not` or its like.
    pub(super) fn is_turned(&self) -> bool {
        self.turned > 0
    }

    pub(super) fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// All, by place, each once, and not more than anybody would read.
    pub(super) fn into_list(mut self) -> Vec<Loss> {
        let order = |loss: &Loss| (loss.pointer.clone(), loss.what.clone(), loss.effect, loss.why.clone());
        self.list.sort_by_key(order);
        self.list.dedup();
        if self.list.len() > MAX_LOSSES {
            let more = self.list.len() - MAX_LOSSES;
            self.list.truncate(MAX_LOSSES);
            for effect in [Effect::Wider, Effect::Narrower] {
                let why = format!("there are {more} more losses than are told one by one");
                self.list.push(Loss {
                    tool: String::new(),
                    pointer: String::new(),
                    what: "more".to_owned(),
                    why,
                    effect,
                });
            }
        }
        self.list
    }
}

/// How many losses of one schema are told.
const MAX_LOSSES: usize = 200;
