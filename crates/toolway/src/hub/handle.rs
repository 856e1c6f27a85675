//! What is a hub?

use std::fmt;
use std::sync::Arc;

use tokio::sync::oneshot;

use super::member::Member;
use super::shared::HubGuard;
use super::snapshot::HubSnapshot;
use super::status::ServerStatus;
use crate::client::{Client, IntoTarget};
use crate::ground::error::Result;

/// A client of many servers that is used like a client of one server. Cloning it is cheap; all clones are the same hub.
///
/// Dropping the last clone closes all connections and stops the programs that were started for them.
/// [`close_all`](Hub::close_all) also closes all connections, and waits until they are closed.
///
/// ```
/// # use toolway::prelude::*;
/// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let hub = Hub::new();
/// hub.connect("calc", &server).await?;
/// let sum = hub.call("calc__add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(sum.text()?, "5");
/// hub.close_all().await;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Hub(pub(super) Arc<HubGuard>);

impl Hub {
    /// Connects to a server. Its tools get the names `name__tool`.
    ///
    /// After the first connection, the hub keeps the server connected; see the [module](super).
    ///
    /// # Errors
    ///
    /// Returns an error if the name is already taken, the server cannot be reached, or the server is removed before it
    /// is connected. After an error the hub is unchanged. [`add`](Hub::add) keeps an unreachable server and retries.
    ///
    /// # Cancellation
    ///
    /// Dropping the future leaves the hub unchanged.
    pub async fn connect(&self, name: &str, target: impl IntoTarget) -> Result<&Self> {
        let member = self.0.0.start(name, target.into_target()?)?;
        let mut unless_done = RemoveOnDrop(Some((self, &member)));
        self.0.0.wait_for_first_attempts(std::slice::from_ref(&member)).await;
        if let Some(error) = member.failure() {
            return Err(error);
        }
        unless_done.0 = None;
        Ok(self)
    }

    /// Adds a server without waiting for it. If it cannot be reached, the hub keeps retrying.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is already taken.
    pub fn add(&self, name: &str, target: impl IntoTarget) -> Result<&Self> {
        self.0.0.start(name, target.into_target()?)?;
        Ok(self)
    }

    /// Removes a server and all its elements, and closes the connection. A name that does not exist is not an error.
    ///
    /// Calls in progress fail as unavailable.
    pub async fn disconnect(&self, name: &str) {
        let Some(member) = self.snapshot().member(name).cloned() else { return };
        let client = self.0.0.remove(&member);
        close(client).await;
    }

    /// Returns the client of a server. The hub shares it: if the client is closed, the hub connects again.
    ///
    /// # Errors
    ///
    /// Returns an error if the server does not exist or was never connected.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").build()?;
    /// # let hub = Hub::new();
    /// # hub.connect("calc", &server).await?;
    /// hub.client("calc")?.ping().await?;
    /// let error = hub.client("calk").unwrap_err();
    /// assert_eq!(error.to_string(), "no such server: `calk`, did you mean `calc`? (there are `calc`)");
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn client(&self, name: &str) -> Result<Client> {
        let snapshot = self.snapshot();
        snapshot.member(name).ok_or_else(|| snapshot.no_such_server(name))?.client()
    }

    /// Returns the status of all servers, in the order in which they were added.
    pub fn status(&self) -> Vec<ServerStatus> {
        // Holds the lock, so that every server reported as ready is already in the lists.
        let next = self.0.0.working_copy.lock();
        next.members.iter().map(|member| member.status()).collect()
    }

    /// Reads all lists again, and tries unavailable servers at once. Returns when every server was read or has failed.
    pub async fn refresh(&self) {
        let mut done = Vec::new();
        for member in &*self.snapshot().members {
            let (sender, receiver) = oneshot::channel();
            // A server without a running task has nothing to read.
            if member.refresh_requests.send(sender).await.is_ok() {
                done.push(receiver);
            }
        }
        for done in done {
            let _ = done.await;
        }
    }

    /// Removes all servers, closes their connections and waits until they are closed. The hub can be used again.
    pub async fn close_all(&self) {
        let members = self.snapshot().members.clone();
        let closing: Vec<_> = members.iter().map(|member| self.0.0.remove(member)).collect();
        let mut closing: tokio::task::JoinSet<()> = closing.into_iter().map(close).collect();
        while closing.join_next().await.is_some() {}
    }

    /// Returns the current elements of all servers.
    pub(crate) fn snapshot(&self) -> Arc<HubSnapshot> {
        self.0.0.snapshot.borrow().clone()
    }
}

async fn close(client: Option<Client>) {
    if let Some(client) = client
        && let Err(error) = client.close().await
    {
        tracing::debug!(%error, "closing the connection to a server failed");
    }
}

/// Removes a server again if its `connect` is dropped or fails.
struct RemoveOnDrop<'h>(Option<(&'h Hub, &'h Arc<Member>)>);

impl Drop for RemoveOnDrop<'_> {
    fn drop(&mut self) {
        if let Some((hub, member)) = self.0 {
            hub.0.0.remove(member);
        }
    }
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status();
        f.debug_map()
            .entries(status.iter().map(|status| (&status.name, format!("{}", status.state))))
            .finish()
    }
}
