//! How does a server list resources that are not registered? A handler returns them, page by page, after the registered
//! ones.

use std::sync::Arc;

use toolway_protocol::request::ListParams;
use toolway_protocol::types::{Listing, Resource};
use toolway_protocol::{Reply, RpcError};

use crate::ground::mistakes::BoxError;
use crate::server::Server;
use crate::server::call::scope::Scope;
use crate::server::failure::errors::Failure;
use crate::server::handler::function::{ErasedHandler, Handler};
use crate::server::handler::parameter::{Missing, Parameter};

/// The position in a list of resources, as a parameter of the handler that lists them. It is `None` for the first page,
/// and then the [`next`](ResourcePage::next) that the handler returned with the previous page.
///
/// Clients get the position signed: they cannot forge or change it, but they can read it, and every caller may use it.
/// Do not put secrets into it, such as the name of a resource that some callers may not see. For each page, check again
/// what the caller may see.
///
/// See [`ServerBuilder::list_resources`](crate::server::ServerBuilder::list_resources) for an example.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cursor(pub Option<String>);

impl Parameter for Cursor {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// A page of resources, from a handler that lists them.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Cursor, ResourcePage};
/// use toolway::types::Resource;
///
/// struct Rows(Vec<String>);
///
/// async fn list(Cursor(after): Cursor, rows: State<Rows>) -> ResourcePage {
///     // The last name that was listed is a better cursor than a number: rows may be added and removed.
///     let mut rest = rows.0.iter().filter(|name| after.as_ref().is_none_or(|after| *name > after)).peekable();
///     let page: Vec<&String> = rest.by_ref().take(100).collect();
///     let next = rest.peek().and(page.last()).map(|last| (*last).clone());
///     ResourcePage {
///         resources: page.into_iter().map(|name| Resource::new(format!("rows://{name}"), name)).collect(),
///         next,
///     }
/// }
///
/// let rows = Rows(vec!["a".into(), "b".into()]);
/// let server = Server::new("rows", "1.0.0").state(rows).list_resources(list).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResourcePage {
    /// The resources.
    pub resources: Vec<Resource>,
    /// The position of the next page; `None` if this is the last one.
    pub next: Option<String>,
}

/// A type that a handler of [`list_resources`](crate::server::ServerBuilder::list_resources) may return: a
/// [`ResourcePage`], a list if there is only one page, or a `Result` of these.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::types::Resource;
///
/// async fn list() -> Result<Vec<Resource>, std::io::Error> {
///     Ok(vec![Resource::new("motd://today", "today")])
/// }
///
/// let server = Server::new("motd", "1.0.0").list_resources(list).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub trait IntoResourcePage {
    /// Converts the value to a page.
    fn into_page(self) -> Result<ResourcePage, BoxError>;
}

impl IntoResourcePage for ResourcePage {
    fn into_page(self) -> Result<ResourcePage, BoxError> {
        Ok(self)
    }
}

impl IntoResourcePage for Vec<Resource> {
    fn into_page(self) -> Result<ResourcePage, BoxError> {
        Ok(ResourcePage { resources: self, next: None })
    }
}

impl<T: IntoResourcePage, E: Into<BoxError>> IntoResourcePage for Result<T, E> {
    fn into_page(self) -> Result<ResourcePage, BoxError> {
        self.map_err(Into::into)?.into_page()
    }
}

/// A handler that lists resources.
pub(crate) type ListHandler = ErasedHandler<Cursor, ResourcePage>;

pub(crate) fn list_handler<P: 'static, H: Handler<P>>(handler: H) -> ListHandler
where
    H::Output: IntoResourcePage,
{
    ErasedHandler::with_scope_input(handler, |output| output?.into_page())
}

const RESOURCE_LIST: &str = "resources";

impl Server {
    /// Lists resources: the registered ones first, then those of each handler. The last registered page also contains
    /// the first page of the first handler.
    pub(crate) async fn list_resources(&self, page: &ListParams, scope: &Scope) -> Result<Reply, Failure> {
        let snapshot = self.inner.registry.load_full();
        let place = match &page.cursor {
            None => ListPosition::Registered(0),
            Some(cursor) => {
                let text = self.inner.cursor_key.verify(RESOURCE_LIST, cursor)?;
                ListPosition::parse(&text)
                    .ok_or_else(|| RpcError::invalid_params("`params.cursor` was issued by another server"))?
            }
        };
        let allowed = scope.visibility();
        if let (ListPosition::Registered(at), Some(allowed)) = (&place, allowed) {
            let is_seen = |resource: &Resource| {
                snapshot.resource_at(&resource.uri).is_some_and(|entry| allowed.allows_entry(entry))
            };
            let (seen, has_more) = snapshot.resource_pages.visible_page(*at, is_seen);
            let next = has_more.then(|| self.inner.cursor_key.sign(RESOURCE_LIST, &(at + 1).to_string()));
            if next.is_some() || self.inner.list_handlers.is_empty() {
                return Ok(Reply::Resources(Arc::new(Listing::new(seen, next))));
            }
            return self.list_from_handler(0, Cursor(None), seen, scope).await;
        }
        match place {
            ListPosition::Registered(at)
                if self.inner.list_handlers.is_empty() || !snapshot.resource_pages.is_last(at) =>
            {
                let page = snapshot.resource_pages.at(at).cloned();
                Ok(Reply::Resources(page.unwrap_or_else(|| Arc::new(Listing::new(Vec::new(), None)))))
            }
            ListPosition::Registered(at) => {
                let registered = snapshot.resource_pages.at(at).map(|page| page.items().to_vec());
                self.list_from_handler(0, Cursor(None), registered.unwrap_or_default(), scope).await
            }
            ListPosition::Handler(which, cursor) => {
                self.list_from_handler(which, cursor, Vec::new(), scope).await
            }
        }
    }

    async fn list_from_handler(
        &self,
        which: usize,
        cursor: Cursor,
        mut resources: Vec<Resource>,
        scope: &Scope,
    ) -> Result<Reply, Failure> {
        let Some(lister) = self.inner.list_handlers.get(which) else {
            return Ok(Reply::Resources(Arc::new(Listing::new(resources, None))));
        };
        let allowed = scope.visibility();
        let page = lister.call_catching_panics(cursor, scope).await?;
        let snapshot = self.inner.registry.load();
        let is_seen = |resource: &Resource| {
            allowed.is_none_or(|allowed| allowed.allows_listed(&snapshot, &resource.uri))
        };
        resources.extend(page.resources.into_iter().filter(is_seen));
        let next = match page.next {
            Some(next) => Some(format!("{which}:{next}")),
            None => (which + 1 < self.inner.list_handlers.len()).then(|| format!("{}", which + 1)),
        };
        let next = next.map(|next| self.inner.cursor_key.sign(RESOURCE_LIST, &format!("h{next}")));
        Ok(Reply::Resources(Arc::new(Listing::new(resources, next))))
    }
}

/// A position in the list of resources, as a cursor holds it: `3` is a page of the registered ones, `h0` the start of
/// the first handler's list, `h0:x` the position `x` of that handler.
enum ListPosition {
    Registered(usize),
    Handler(usize, Cursor),
}

impl ListPosition {
    fn parse(text: &str) -> Option<Self> {
        let Some(text) = text.strip_prefix('h') else { return text.parse().ok().map(Self::Registered) };
        let (which, cursor) = match text.split_once(':') {
            Some((which, cursor)) => (which, Some(cursor.to_owned())),
            None => (text, None),
        };
        Some(Self::Handler(which.parse().ok()?, Cursor(cursor)))
    }
}
