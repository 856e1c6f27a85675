//! What is lost on the way from a tool's schema to the one that a provider takes?

use std::fmt;

use super::node::Node;

/// Something that a tool's schema says and a provider's does not.
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

impl Loss {
    /// A remark about a tool as a whole.
    pub fn of_tool(tool: &str, what: &str, why: String) -> Self {
        Self { tool: tool.to_owned(), ..Self::at("", what, Effect::Remark, why) }
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

/// Collects losses. Definitions that are used often lose the same things each time; that is told once.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    list: Vec<Loss>,
    /// How many `not` and their like stand around what is added: inside, what is wider makes the whole narrower.
    pub(crate) turned: usize,
}

impl Losses {
    pub(crate) fn add(&mut self, pointer: &str, what: &str, effect: Effect, why: impl Into<String>) {
        let why = why.into();
        let effects: &[_] = match effect {
            Effect::Remark => &[Effect::Remark],
            _ if self.turned > 0 => &[Effect::Wider, Effect::Narrower],
            Effect::Wider => &[Effect::Wider],
            Effect::Narrower => &[Effect::Narrower],
        };
        self.list.extend(effects.iter().map(|effect| Loss::at(pointer, what, *effect, why.clone())));
    }

    /// Tells of a property that has another name for a provider.
    pub(crate) fn rename(&mut self, property: &Node, key: &str) {
        let why = format!(
            "properties of that name are not allowed; it is called `{key}`, and turned back in calls"
        );
        self.add(&property.at, "name", Effect::Remark, why);
    }

    pub(crate) fn append(&mut self, other: Self) {
        self.list.extend(other.list);
    }

    /// All, by place, each once, and not more than a person would read.
    pub(crate) fn into_list(mut self) -> Vec<Loss> {
        let order = |loss: &Loss| (loss.pointer.clone(), loss.what.clone(), loss.effect, loss.why.clone());
        self.list.sort_by_key(order);
        self.list.dedup();
        if self.list.len() > MAX_LOSSES {
            let more = self.list.len() - MAX_LOSSES;
            self.list.truncate(MAX_LOSSES);
            for effect in [Effect::Wider, Effect::Narrower] {
                let why = format!("there are {more} more losses than are told one by one");
                self.list.push(Loss::at("", "more", effect, why));
            }
        }
        self.list
    }
}

/// How many losses of one schema are told.
const MAX_LOSSES: usize = 200;
