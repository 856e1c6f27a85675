//! Which tools is the server known to have?

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;
use tokio::time::Instant;
use toolway_protocol::RawJson;
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::types::Tool;

use crate::client::connect::list_limit::ExceededLimit;
use crate::ground::mutex::Mutex;

/// The tools of a server at the time they were listed. Cheap to clone.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// # let client = Client::connect(&server).await?;
/// let tools = client.tools().await?;
/// assert_eq!(tools.len(), 1);
/// assert!(tools.get("add").is_some());
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Default)]
pub struct Tools(pub(crate) Arc<[Tool]>);

impl Tools {
    /// The tool with this name.
    pub fn get(&self, name: &str) -> Option<&Tool> {
        self.0.iter().find(|tool| tool.name == name)
    }
}

impl Deref for Tools {
    type Target = [Tool];

    fn deref(&self) -> &[Tool] {
        &self.0
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: AsRef<[Tool]>> PartialEq<T> for Tools {
    fn eq(&self, other: &T) -> bool {
        *self.0 == *other.as_ref()
    }
}

impl IntoIterator for Tools {
    type Item = Tool;
    type IntoIter = std::vec::IntoIter<Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter().cloned().collect::<Vec<_>>().into_iter()
    }
}

impl<'t> IntoIterator for &'t Tools {
    type Item = &'t Tool;
    type IntoIter = std::slice::Iter<'t, Tool>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// The tool list that was fetched last.
#[derive(Default)]
pub(crate) struct ToolCache {
    cached: Mutex<Option<CachedTools>>,
    /// Held while the list is fetched: concurrent calls wait and use the same list.
    pub(crate) fetch_lock: tokio::sync::Mutex<()>,
}

pub(crate) struct CachedTools {
    pub(crate) listed: ListedTools,
    pub(crate) facts: HashMap<String, ToolFacts>,
    /// The value of [`tools_version`](crate::client::notifications::listeners::Notifications::tools_version) when the
    /// list was fetched. If the value is different now, the list may be out of date.
    pub(crate) tools_version: u64,
    /// The time when the list expires, if the server stated one.
    pub(crate) expires_at: Option<Instant>,
}

/// The tools that a server listed. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ListedTools {
    pub(crate) tools: Tools,
    /// The limit of the client at which the list was cut off, if it was.
    pub(crate) exceeded: Option<ExceededLimit>,
}

/// The facts about a tool that a call of the tool needs.
pub(crate) struct ToolFacts {
    pub(crate) headers: ParamHeaders,
    pub(crate) is_safe_to_repeat: bool,
}

impl ToolCache {
    pub(crate) fn fresh(&self, changes: u64) -> Option<ListedTools> {
        let cached = self.cached.lock();
        let cached = cached.as_ref()?;
        let is_fresh =
            cached.tools_version == changes && cached.expires_at.is_none_or(|until| Instant::now() < until);
        is_fresh.then(|| cached.listed.clone())
    }

    pub(crate) fn put(&self, cached: CachedTools) {
        *self.cached.lock() = Some(cached);
    }

    /// The time when the cached list expires, if the server stated one.
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.cached.lock().as_ref().and_then(|listed| listed.expires_at)
    }

    /// Returns whether a tool declares itself read-only or idempotent, so that it is safe to call it twice.
    pub(crate) fn is_safe_to_repeat(&self, name: &str) -> bool {
        let listed = self.cached.lock();
        listed.as_ref().and_then(|listed| listed.facts.get(name)).is_some_and(|facts| facts.is_safe_to_repeat)
    }

    /// Adds a header for each argument that the tool requires in a header.
    pub(crate) fn add_argument_headers(
        &self,
        name: &str,
        arguments: Option<&RawJson>,
        headers: &mut Vec<(String, String)>,
    ) {
        let listed = self.cached.lock();
        let Some(facts) = listed.as_ref().and_then(|listed| listed.facts.get(name)) else { return };
        if facts.headers.is_empty() {
            return;
        }
        let Some(Ok(arguments)) = arguments.map(RawJson::decode::<Value>) else { return };
        headers.extend(facts.headers.values(&arguments).map(|(name, value)| (name, value.into_owned())));
    }
}
