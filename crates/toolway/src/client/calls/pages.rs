//! How is a long list read? Page by page, up to a limit.

use std::collections::HashSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use toolway_protocol::request::ListParams;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};
use toolway_protocol::{RawJson, Request};

use crate::client::calls::exchange::Exchange;
use crate::client::calls::list_page::{self, ListPage};
use crate::client::connect::list_limit::{ExceededLimit, ListBudget};
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
/// If a server sends a cursor twice, or more than a thousand cursors, the list ends with an error. So it does after the
/// items that [`ClientBuilder::max_list`](crate::client::ClientBuilder::max_list) allows, with an error for which
/// [`Error::is_too_large`] is `true`.
#[must_use = "no page is read until one is requested"]
pub struct Pages<T> {
    shared: Arc<ClientState>,
    list: ListKind<T>,
    state: PagesState,
    seen_cursors: HashSet<String>,
    budget: ListBudget,
    /// How long the pages read so far are valid: the shortest validity of all of them. `None` if no page was read.
    pub(crate) ttl: Option<Duration>,
    /// The remaining items of the current page.
    items: std::vec::IntoIter<T>,
    in_flight: Option<Exchange<RawJson>>,
}

enum PagesState {
    /// There is another page, at this cursor. `None` is the cursor of the first page.
    More(Option<String>),
    /// The limit was reached within the last page. The error comes after its items.
    CutOff(ExceededLimit),
    Ended,
}

/// A kind of list: how to request and decode it.
struct ListKind<T> {
    request: fn(ListParams) -> Request,
    /// The name of the member that contains the items, such as `tools`.
    name: &'static str,
    read: fn(&RawJson, &mut ListBudget) -> Result<ListPage<T>, serde_json::Error>,
}

macro_rules! lists {
    ($($name:ident -> $item:ty, $request:ident, $member:literal;)*) => {
        $(impl Pages<$item> {
            pub(crate) fn $name(shared: Arc<ClientState>) -> Self {
                Self::new(shared, ListKind {
                    request: Request::$request,
                    name: $member,
                    read: |text, budget| list_page::decode(text, $member, budget),
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

impl<T> Pages<T> {
    fn new(shared: Arc<ClientState>, list: ListKind<T>) -> Self {
        let budget = ListBudget::new(shared.reconnector.max_list());
        Self {
            shared,
            list,
            state: PagesState::More(None),
            seen_cursors: HashSet::new(),
            budget,
            ttl: None,
            items: Vec::new().into_iter(),
            in_flight: None,
        }
    }

    /// The limit of the client at which the list was cut off, if it was.
    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        self.budget.exceeded()
    }

    /// Fetches the next page. If the stream has returned a part of the current page, returns the rest of that page
    /// first. Returns `None` after the last page or an error.
    pub async fn next_page(&mut self) -> Option<Result<Vec<T>>> {
        if !self.items.as_slice().is_empty() {
            return Some(Ok(std::mem::take(&mut self.items).collect()));
        }
        std::future::poll_fn(|cx| self.poll_page(cx)).await
    }

    /// Fetches all remaining pages and returns all items that the stream has not returned yet.
    pub async fn all(mut self) -> Result<Vec<T>> {
        let mut all = Vec::new();
        while let Some(page) = self.next_page().await {
            all.extend(page?);
        }
        Ok(all)
    }

    fn poll_page(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Vec<T>>>> {
        let cursor = match &self.state {
            PagesState::More(cursor) => cursor,
            PagesState::CutOff(limit) => {
                let error = limit.error(self.list.name);
                self.state = PagesState::Ended;
                return Poll::Ready(Some(Err(error)));
            }
            PagesState::Ended => return Poll::Ready(None),
        };
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
        if let Err(limit) = self.budget.take_page(text.as_bytes().len()) {
            return Err(limit.error(self.list.name));
        }
        let listed = (self.list.read)(text, &mut self.budget).map_err(|error| {
            let method = (self.list.request)(ListParams::new()).method();
            malformed_reply(&method).caused_by(error)
        })?;
        self.ttl = Some(self.ttl.map_or(listed.ttl, |keep| keep.min(listed.ttl)));
        self.state = match (self.budget.exceeded(), listed.next_cursor) {
            (Some(limit), _) => PagesState::CutOff(limit),
            (None, None) => PagesState::Ended,
            (None, Some(cursor)) => {
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
