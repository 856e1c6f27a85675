//! Which tools has the server, as far as we know?

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;
use toolway_protocol::RawJson;
use toolway_protocol::http::param::ParamHeaders;
use toolway_protocol::types::Tool;

use crate::client::calls::pages::Pages;
use crate::client::connect::connection::Connection;
use crate::client::{Dress, Shared};
use crate::error::Result;

/// The tools of a server, as they were when they were listed. Cheap to clone.
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
pub struct Tools(Arc<[Tool]>);

impl Tools {
    /// The tool of this name.
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

/// What was listed last.
#[derive(Default)]
pub(crate) struct Known {
    listed: Mutex<Option<Listed>>,
    /// One list at a time: who asks meanwhile gets the same.
    turn: tokio::sync::Mutex<()>,
}

struct Listed {
    tools: Tools,
    facts: HashMap<String, Facts>,
    /// How often the server had said that its tools are others.
    changes: u64,
    /// When the list stops being true by itself.
    until: Option<Instant>,
}

/// What a call must know of its tool.
struct Facts {
    headers: ParamHeaders,
    safe: bool,
}

impl Known {
    fn lock(&self) -> MutexGuard<'_, Option<Listed>> {
        self.listed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fresh(&self, changes: u64) -> Option<Tools> {
        let listed = self.lock();
        let listed = listed.as_ref()?;
        let is_fresh = listed.changes == changes && listed.until.is_none_or(|until| Instant::now() < until);
        is_fresh.then(|| listed.tools.clone())
    }

    /// When the list that is known stops being true by itself, if the server said so.
    pub(crate) fn until(&self) -> Option<Instant> {
        self.lock().as_ref().and_then(|listed| listed.until)
    }

    /// Whether a tool says of itself that it does no harm to call it twice.
    pub(crate) fn is_safe(&self, name: &str) -> bool {
        let listed = self.lock();
        listed.as_ref().and_then(|listed| listed.facts.get(name)).is_some_and(|facts| facts.safe)
    }

    /// Adds the arguments that travel in headers.
    pub(crate) fn mirror(
        &self,
        name: &str,
        arguments: Option<&RawJson>,
        headers: &mut Vec<(String, String)>,
    ) {
        let listed = self.lock();
        let Some(facts) = listed.as_ref().and_then(|listed| listed.facts.get(name)) else { return };
        if facts.headers.is_empty() {
            return;
        }
        let Some(Ok(arguments)) = arguments.map(RawJson::decode::<Value>) else { return };
        headers.extend(facts.headers.values(&arguments).map(|(name, value)| (name, value.into_owned())));
    }
}

impl Connection {
    /// Whether arguments of tools travel in headers too.
    pub(crate) fn mirrors_arguments(&self) -> bool {
        self.transport.has_headers() && matches!(self.era, Dress::Stateless(_))
    }
}

impl Shared {
    /// The tools, listed if what is known of them may be wrong.
    pub(crate) async fn tools(self: &Arc<Self>) -> Result<Tools> {
        if let Some(tools) = self.tools.fresh(self.ears.tools_changes()) {
            return Ok(tools);
        }
        let _turn = self.tools.turn.lock().await;
        let changes = self.ears.tools_changes();
        if let Some(tools) = self.tools.fresh(changes) {
            return Ok(tools);
        }
        let mut pages = Pages::of_tools(self.clone());
        let mut tools = Vec::new();
        // A list is as fresh as its oldest page.
        let mut keep: Option<Duration> = None;
        let asked = Instant::now();
        while let Some(page) = pages.next_page().await {
            tools.extend(page?);
            keep = Some(keep.map_or(pages.keep(), |keep| keep.min(pages.keep())));
        }
        let connection = self.current();
        let mut facts = HashMap::new();
        tools.retain(|tool| match ParamHeaders::of_schema(&tool.input_schema) {
            Ok(headers) => {
                facts.insert(tool.name.clone(), Facts { headers, safe: is_safe(tool) });
                true
            }
            Err(_) if !connection.mirrors_arguments() => true,
            Err(error) => {
                tracing::warn!(tool = tool.name, %error, "a tool is left out: its arguments cannot be sent as it wants");
                false
            }
        });
        let tools = Tools(tools.into());
        // Where nothing is said about how long a list is true, it is so until the server says otherwise.
        let until = match &connection.era {
            Dress::Stateless(_) => Some(asked + keep.unwrap_or_default()),
            Dress::Handshake(_) => None,
        };
        *self.tools.lock() = Some(Listed { tools: tools.clone(), facts, changes, until });
        Ok(tools)
    }
}

fn is_safe(tool: &Tool) -> bool {
    tool.annotations.as_ref().is_some_and(|hints| hints.is_read_only() || hints.is_idempotent())
}
