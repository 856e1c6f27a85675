//! How is a long list read? Page after page, and not for ever.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolway_protocol::request::Page;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway_protocol::{RawJson, Request};

use crate::client::calls::exchange::Exchange;
use crate::client::connect::shared::Shared;
use crate::client::wire::transport::malformed_reply;
use crate::ground::error::{Error, ErrorKind, Result};

/// How many pages of a list are read. A server whose pages never end is not followed for ever.
const MAX_PAGES: usize = 1000;

/// A list of the server, read as far as it is wanted: a stream of its items, or of whole pages.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # #[tool] fn sub(a: f64, b: f64) -> f64 { a - b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").page_size(1).tools(tools![add, sub]).build()?;
/// # let client = Client::connect(&server).await?;
/// let mut tools = client.list_tools();
/// while let Some(page) = tools.next_page().await {
///     for tool in page? {
///         println!("{}", tool.name);
///     }
/// }
/// assert_eq!(client.list_tools().all().await?.len(), 2);
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
///
/// A server that gives a page twice, or more than a thousand, is told off: the list ends with an error.
#[must_use = "nothing is read until it is asked for"]
pub struct Pages<T> {
    shared: Arc<Shared>,
    list: List<T>,
    state: State,
    seen: HashSet<String>,
    /// How long what was read so far may be believed: as long as each of its pages. Nothing, if nothing was read.
    pub(crate) keep: Option<Duration>,
    /// What stands on the page that is being read out.
    items: std::vec::IntoIter<T>,
    asking: Option<Exchange<RawJson>>,
}

enum State {
    /// The next page is the one after this cursor, or the first.
    More(Option<String>),
    Over,
}

/// One kind of list.
pub(crate) struct List<T> {
    request: fn(Page) -> Request,
    /// What the items are called.
    name: &'static str,
    read: fn(&RawJson) -> Result<Listed<T>, serde_json::Error>,
}

/// One page.
pub(crate) struct Listed<T> {
    items: Vec<T>,
    next: Option<String>,
    keep: Duration,
}

macro_rules! lists {
    ($($name:ident -> $item:ty, $request:ident, $member:literal;)*) => {
        $(impl Pages<$item> {
            pub(crate) fn $name(shared: Arc<Shared>) -> Self {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Raw {
                    #[serde(rename = $member)]
                    items: Vec<$item>,
                    next_cursor: Option<String>,
                    ttl_ms: Option<serde_json::Value>,
                }
                Self::new(shared, List {
                    request: Request::$request,
                    name: $member,
                    read: |text| {
                        let raw: Raw = object(text)?;
                        Ok(Listed { items: raw.items, next: raw.next_cursor, keep: kept(raw.ttl_ms.as_ref()) })
                    },
                })
            }
        })*
    };
}
lists! {
    of_tools -> Tool, ListTools, "tools";
    of_resources -> Resource, ListResources, "resources";
    of_templates -> ResourceTemplate, ListResourceTemplates, "resourceTemplates";
    of_prompts -> Prompt, ListPrompts, "prompts";
}

/// The longest time that a list is believed, whatever the server says.
const MAX_KEEP: Duration = Duration::from_secs(24 * 3600);

/// How long a list is believed. What is no such time is none.
fn kept(ttl: Option<&serde_json::Value>) -> Duration {
    let millis = ttl.and_then(serde_json::Value::as_f64).filter(|millis| *millis > 0.0).unwrap_or_default();
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(MAX_KEEP).min(MAX_KEEP)
}

/// Derived decoders also take an array for an object; the protocol does not.
fn object<R: DeserializeOwned>(text: &RawJson) -> Result<R, serde_json::Error> {
    if !text.is_object() {
        return Err(serde::de::Error::custom("expected an object"));
    }
    text.decode()
}

impl<T> Pages<T> {
    fn new(shared: Arc<Shared>, list: List<T>) -> Self {
        Self {
            shared,
            list,
            state: State::More(None),
            seen: HashSet::new(),
            keep: None,
            items: Vec::new().into_iter(),
            asking: None,
        }
    }

    /// The next page; nothing after the last one, and after an error.
    pub async fn next_page(&mut self) -> Option<Result<Vec<T>>> {
        std::future::poll_fn(|cx| self.poll_page(cx)).await
    }

    /// The rest of the list.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await {
            all.extend(page?);
        }
        Ok(all)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>>>> {
        let State::More(cursor) = &self.state else { return Poll::Ready(None) };
        let asking = self.asking.get_or_insert_with(|| {
            let mut page = Page::new();
            page.cursor.clone_from(cursor);
            Exchange::of_text(self.shared.clone(), (self.list.request)(page))
        });
        let outcome = std::task::ready!(Pin::new(asking).poll(cx));
        self.asking = None;
        let page = outcome.and_then(|text| self.turn(&text));
        if page.is_err() {
            self.state = State::Over;
        }
        Poll::Ready(Some(page))
    }

    fn turn(&mut self, text: &RawJson) -> Result<Vec<T>> {
        let listed = (self.list.read)(text).map_err(|error| {
            let method = (self.list.request)(Page::new()).method();
            malformed_reply(&method).caused_by(error)
        })?;
        self.keep = Some(self.keep.map_or(listed.keep, |keep| keep.min(listed.keep)));
        self.state = match listed.next {
            None => State::Over,
            Some(cursor) => {
                if self.seen.len() == MAX_PAGES || !self.seen.insert(cursor.clone()) {
                    let message = format!("the server's list of {} does not end", self.list.name);
                    return Err(Error::new(ErrorKind::PeerMisbehaved, message));
                }
                State::More(Some(cursor))
            }
        };
        Ok(listed.items)
    }
}

/// Item by item.
impl<T: Unpin> Stream for Pages<T> {
    type Item = Result<T>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(item) = self.items.next() {
                return Poll::Ready(Some(Ok(item)));
            }
            match std::task::ready!(self.poll_page(cx)) {
                Some(Ok(items)) => self.items = items.into_iter(),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
    }
}

impl<T> fmt::Debug for Pages<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("of", &self.list.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_time_is_none() {
        for (said, meant) in [
            (json!(60_000), Duration::from_secs(60)),
            (json!(1500.0), Duration::from_millis(1500)),
            (json!(1e300), MAX_KEEP),
            (json!(u64::MAX), MAX_KEEP),
            (json!(-1), Duration::ZERO),
            (json!(null), Duration::ZERO),
            (json!("a while"), Duration::ZERO),
        ] {
            assert_eq!(kept(Some(&said)), meant, "{said}");
        }
        assert_eq!(kept(None), Duration::ZERO);
    }
}
