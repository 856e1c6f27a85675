//! How is a long list read? `ListParams` by page, up to a limit.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolway_protocol::request::ListParams;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway_protocol::{RawJson, Request};

use crate::client::calls::exchange::Exchange;
use crate::client::connect::shared::ClientState;
use crate::client::wire::transport::malformed_reply;
use crate::ground::error::{Error, ErrorKind, Result};

/// The maximum number of cursors that are followed in one list. The limit protects the client from a list that never
/// ends.
const MAX_PAGES: usize = 1000;

/// A list of the server that is fetched page by page, as it is read. Read it as a stream of items, or in whole pages
/// with [`next_page`](Pages::next_page).
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
/// If a server sends a cursor twice, or more than a thousand cursors, the list ends with an error.
#[must_use = "no page is read until one is requested"]
pub struct Pages<T> {
    shared: Arc<ClientState>,
    list: ListKind<T>,
    state: PagesState,
    seen_cursors: HashSet<String>,
    /// How long the pages read so far are valid: the shortest validity of all of them. `None` if no page was read.
    pub(crate) ttl: Option<Duration>,
    /// The remaining items of the current page.
    items: std::vec::IntoIter<T>,
    in_flight: Option<Exchange<RawJson>>,
}

enum PagesState {
    /// There is another page, at this cursor. `None` is the cursor of the first page.
    More(Option<String>),
    Ended,
}

/// A kind of list: how to request and decode it.
pub(crate) struct ListKind<T> {
    request: fn(ListParams) -> Request,
    /// The name of the member that contains the items, such as `tools`.
    name: &'static str,
    read: fn(&RawJson) -> Result<ListPage<T>, serde_json::Error>,
}

/// One page.
pub(crate) struct ListPage<T> {
    items: Vec<T>,
    next: Option<String>,
    keep: Duration,
}

macro_rules! lists {
    ($($name:ident -> $item:ty, $request:ident, $member:literal;)*) => {
        $(impl Pages<$item> {
            pub(crate) fn $name(shared: Arc<ClientState>) -> Self {
                #[derive(Deserialize)]
                #[serde(rename_all = "camelCase")]
                struct Raw {
                    #[serde(rename = $member)]
                    items: Vec<$item>,
                    next_cursor: Option<String>,
                    ttl_ms: Option<serde_json::Value>,
                }
                Self::new(shared, ListKind {
                    request: Request::$request,
                    name: $member,
                    read: |text| {
                        let raw: Raw = decode_object(text)?;
                        Ok(ListPage { items: raw.items, next: raw.next_cursor, keep: read_ttl(raw.ttl_ms.as_ref()) })
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

/// The maximum time that a list is valid, even if the server states a longer time.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);

/// Returns how long a page is valid, from its `ttlMs`. A missing or invalid value counts as zero.
fn read_ttl(ttl: Option<&serde_json::Value>) -> Duration {
    let millis = ttl.and_then(serde_json::Value::as_f64).filter(|millis| *millis > 0.0).unwrap_or_default();
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(MAX_TTL).min(MAX_TTL)
}

/// Decodes an object. Rejects arrays first, because derived decoders also accept an array in place of an object and the
/// protocol does not.
fn decode_object<R: DeserializeOwned>(text: &RawJson) -> Result<R, serde_json::Error> {
    if !text.is_object() {
        return Err(serde::de::Error::custom("expected an object"));
    }
    text.decode()
}

impl<T> Pages<T> {
    fn new(shared: Arc<ClientState>, list: ListKind<T>) -> Self {
        Self {
            shared,
            list,
            state: PagesState::More(None),
            seen_cursors: HashSet::new(),
            ttl: None,
            items: Vec::new().into_iter(),
            in_flight: None,
        }
    }

    /// Fetches the next page. Returns `None` after the last page or an error. Items of an earlier page that the stream
    /// has not returned yet are not part of the next page.
    pub async fn next_page(&mut self) -> Option<Result<Vec<T>>> {
        std::future::poll_fn(|cx| self.poll_page(cx)).await
    }

    /// Fetches all remaining pages and returns their items. Items of an earlier page that the stream has not returned
    /// yet are not included.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await {
            all.extend(page?);
        }
        Ok(all)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>>>> {
        let PagesState::More(cursor) = &self.state else { return Poll::Ready(None) };
        let asking = self.in_flight.get_or_insert_with(|| {
            let mut page = ListParams::new();
            page.cursor.clone_from(cursor);
            Exchange::raw(self.shared.clone(), (self.list.request)(page))
        });
        let outcome = std::task::ready!(Pin::new(asking).poll(cx));
        self.in_flight = None;
        let page = outcome.and_then(|text| self.read_page(&text));
        if page.is_err() {
            self.state = PagesState::Ended;
        }
        Poll::Ready(Some(page))
    }

    fn read_page(&mut self, text: &RawJson) -> Result<Vec<T>> {
        let listed = (self.list.read)(text).map_err(|error| {
            let method = (self.list.request)(ListParams::new()).method();
            malformed_reply(&method).caused_by(error)
        })?;
        self.ttl = Some(self.ttl.map_or(listed.keep, |keep| keep.min(listed.keep)));
        self.state = match listed.next {
            None => PagesState::Ended,
            Some(cursor) => {
                if self.seen_cursors.len() == MAX_PAGES || !self.seen_cursors.insert(cursor.clone()) {
                    let message = format!("the server's list of {} does not end", self.list.name);
                    return Err(Error::new(ErrorKind::PeerMisbehaved, message));
                }
                PagesState::More(Some(cursor))
            }
        };
        Ok(listed.items)
    }
}

/// Streams the items one by one.
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
            (json!(1e300), MAX_TTL),
            (json!(u64::MAX), MAX_TTL),
            (json!(-1), Duration::ZERO),
            (json!(null), Duration::ZERO),
            (json!("a while"), Duration::ZERO),
        ] {
            assert_eq!(read_ttl(Some(&said)), meant, "{said}");
        }
        assert_eq!(read_ttl(None), Duration::ZERO);
    }
}
