//! What is lost in the conversion from a tool's schema to a provider's schema?

use std::fmt;

use super::node::Node;

/// A part of a tool's schema that is missing in the provider's schema.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Loss {
    /// The name of the tool; empty if a schema was converted alone.
    pub tool: String,
    /// The position in the tool's schema, as a JSON pointer. For a part of a definition it is the position in the
    /// definition, not in the schema that refers to the definition.
    pub pointer: String,
    /// The keyword or feature that is lost.
    pub what: String,
    /// The reason for the loss.
    pub why: String,
    /// The effect of the loss on calls.
    pub effect: Effect,
}

/// The effect of a loss on calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Effect {
    /// No effect: only an annotation is lost.
    AnnotationOnly,
    /// The model may send values that the tool will refuse.
    Wider,
    /// The model cannot send some values that the tool would accept, or does not know that it can send them.
    Narrower,
}

impl Loss {
    /// Creates a remark about a whole tool.
    pub fn of_tool(tool: &str, what: &str, why: String) -> Self {
        Self { tool: tool.to_owned(), ..Self::at("", what, Effect::AnnotationOnly, why) }
    }

    fn at(pointer: &str, what: &str, effect: Effect, why: String) -> Self {
        Self { tool: String::new(), pointer: pointer.to_owned(), what: what.to_owned(), why, effect }
    }
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

/// Collects losses. A definition that is used several times has the same losses each time; they are reported once.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// The number of negations (`not` and similar keywords) around the added loss. Inside them, a wider part makes
    /// the whole narrower.
    pub(crate) negations: usize,
}

impl Losses {
    pub(crate) fn add(&mut self, pointer: &str, what: &str, effect: Effect, why: impl Into<String>) {
        let why = why.into();
        let effects: &[_] = match effect {
            Effect::AnnotationOnly => &[Effect::AnnotationOnly],
            _ if self.negations > 0 => &[Effect::Wider, Effect::Narrower],
            Effect::Wider => &[Effect::Wider],
            Effect::Narrower => &[Effect::Narrower],
        };
        self.list.extend(effects.iter().map(|effect| Loss::at(pointer, what, *effect, why.clone())));
    }

    /// Reports a property that has a different name in the provider's schema.
    pub(crate) fn rename(&mut self, property: &Node, key: &str) {
        let why = format!(
            "this name is not allowed; the property is renamed to `{key}`, and its name is restored in calls"
        );
        self.add(&property.at, "name", Effect::AnnotationOnly, why);
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// Returns all losses, sorted by position and without duplicates, limited to what a person would read.
    pub(crate) fn into_list(mut self) -> Vec<Loss> {
        let order = |loss: &Loss| (loss.pointer.clone(), loss.what.clone(), loss.effect, loss.why.clone());
        self.list.sort_by_key(order);
        self.list.dedup();
        if self.list.len() > MAX_LOSSES {
            let more = self.list.len() - MAX_LOSSES;
            self.list.truncate(MAX_LOSSES);
            for effect in [Effect::Wider, Effect::Narrower] {
                let why = format!("{more} more losses are not listed");
                self.list.push(Loss::at("", "more", effect, why));
            }
        }
        self.list
    }
}

/// The maximum number of reported losses of one schema.
const MAX_LOSSES: usize = 200;
