//! How long may answers be cached? The server sets this for each kind of answer, and a handler can override it.

use std::sync::Arc;

use toolway_protocol::Reply;
use toolway_protocol::types::CacheHints;

/// A kind of answer that carries cache hints, in revisions with caching.
///
/// ```
/// use std::time::Duration;
/// use toolway::prelude::*;
/// use toolway::server::Cacheable;
/// use toolway::types::CacheScope;
///
/// // The tool list is the same for all callers and rarely changes.
/// let server =
///     Server::new("app", "1.0.0").cache(Cacheable::Tools, Duration::from_secs(3600), CacheScope::Public).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cacheable {
    /// The server's description of itself.
    Discovery,
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The list of resource templates.
    Templates,
    /// The contents of a resource.
    Contents,
}

/// The cache hints for each kind. By default nothing is cached.
///
/// An `Arc`, because each method of the builder has code that drops the builder, and this is a small part of it so.
#[derive(Debug, Clone, Default)]
pub(crate) struct CachePolicy(Arc<[CacheHints; 6]>);

impl CachePolicy {
    pub(crate) fn set(&mut self, kind: Cacheable, hints: CacheHints) {
        Arc::make_mut(&mut self.0)[kind as usize] = hints;
    }

    pub(crate) fn get(&self, kind: Cacheable) -> &CacheHints {
        &self.0[kind as usize]
    }

    /// Returns the hints for an answer. For kinds of answers that are never cached, the hints are not sent.
    pub(crate) fn hints_for(&self, reply: &Reply) -> &CacheHints {
        self.get(Cacheable::of(reply).unwrap_or(Cacheable::Contents))
    }
}

impl Cacheable {
    /// Returns the kind of an answer; `None` for kinds that are never cached.
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
            | Reply::Empty => None,
        }
    }
}
