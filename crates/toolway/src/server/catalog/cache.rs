//! How long may answers be kept? What the server says for each kind of answer, unless one says otherwise.

use toolway_protocol::Reply;
use toolway_protocol::types::CacheHints;

/// A kind of answer that carries cache hints, in the revisions that know of caching.
///
/// ```
/// use std::time::Duration;
/// use toolway::prelude::*;
/// use toolway::server::Cacheable;
/// use toolway::types::CacheScope;
///
/// // The list of tools is the same for everybody and seldom another one.
/// let server =
///     Server::new("app", "1.0.0").cache(Cacheable::Tools, Duration::from_secs(3600), CacheScope::Public).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cacheable {
    /// What the server says about itself.
    Discovery,
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The list of resource templates.
    Templates,
    /// What is in a resource.
    Contents,
}

/// The hints for each kind. Without any, nobody keeps anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct CachePolicy([CacheHints; 6]);

impl CachePolicy {
    pub(crate) fn set(&mut self, kind: Cacheable, hints: CacheHints) {
        self.0[kind as usize] = hints;
    }

    pub(crate) fn get(&self, kind: Cacheable) -> &CacheHints {
        &self.0[kind as usize]
    }

    /// The hints for an answer; those that are never kept do not show them.
    pub(crate) fn of(&self, reply: &Reply) -> &CacheHints {
        self.get(Cacheable::of(reply).unwrap_or(Cacheable::Contents))
    }
}

impl Cacheable {
    /// The kind of an answer; `None` for those that are never kept.
    pub(crate) fn of(reply: &Reply) -> Option<Self> {
        match reply {
            Reply::Tools(_) => Some(Self::Tools),
            Reply::Prompts(_) => Some(Self::Prompts),
            Reply::Resources(_) => Some(Self::Resources),
            Reply::ResourceTemplates(_) => Some(Self::Templates),
            Reply::ResourceRead(_) => Some(Self::Contents),
            Reply::ToolCalled(_)
            | Reply::PromptFilled(_)
            | Reply::Completed(_)
            | Reply::Custom(_)
            | Reply::Done => None,
        }
    }
}
