//! What does a hub share with the tasks that follow its servers?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch as channel;

use super::breaker::AttemptLimit;
use super::config::Variables;
use super::lists::Lists;
use super::member::Member;
use super::names::rules::NameRules;
use super::snapshot::HubSnapshot;
use crate::client::{Client, ClientBuilder};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// The default time that the start waits for slow servers.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Removes all servers when the last clone of the hub is dropped. The tasks that follow servers hold only [`Shared`],
/// so they do not keep the hub alive.
pub(super) struct HubGuard(pub(super) Arc<Shared>);

/// The state that a hub shares with the tasks that follow its servers.
pub(super) struct Shared {
    pub(super) settings: Settings,
    /// The working copy from which the next snapshot is published.
    pub(super) working_copy: Mutex<HubSnapshot>,
    pub(super) snapshot: channel::Sender<Arc<HubSnapshot>>,
}

impl Shared {
    pub(super) fn new(settings: Settings, first: HubSnapshot) -> Self {
        let snapshot = channel::Sender::new(Arc::new(first.clone()));
        Self { settings, working_copy: Mutex::new(first), snapshot }
    }

    fn publish(&self, next: &HubSnapshot) {
        self.snapshot.send_replace(Arc::new(next.clone()));
    }

    /// Adds a server, if its name is free. The new server may replace a disabled server of the same name.
    pub(super) fn insert(&self, member: &Arc<Member>) -> Result<()> {
        let name = &*member.name;
        if name.is_empty() {
            return Err(Error::new(
                ErrorKind::Misuse,
                "a server of a hub needs a name, but its name is empty",
            ));
        }
        let mut next = self.working_copy.lock();
        if let Some(old) = next.member(name).cloned() {
            if !old.is_disabled() {
                let message =
                    format!("there is a server `{name}` already: disconnect it, or take another name");
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            next.remove(&old);
        }
        next.insert(member);
        self.publish(&next);
        Ok(())
    }

    /// Removes a server, and returns its client to be closed.
    pub(super) fn remove(&self, member: &Arc<Member>) -> Option<Client> {
        let mut next = self.working_copy.lock();
        // Done before the change is published, so that callers waiting for the server stop waiting.
        let client = member.detach();
        if next.contains(member) {
            next.remove(member);
            self.publish(&next);
        }
        client
    }

    /// Sets the client of a server. If it replaces another client, subscribers are notified.
    pub(super) fn set_connected(&self, member: &Arc<Member>, client: &Client) {
        let mut next = self.working_copy.lock();
        if next.contains(member) && member.set_client(client.clone()) {
            next.versions.servers += 1;
            self.publish(&next);
        }
    }

    /// Marks a server as ready, with these lists.
    pub(super) fn set_ready(&self, member: &Arc<Member>, lists: Lists) {
        let mut next = self.working_copy.lock();
        if next.contains(member) {
            next.set_ready(member, lists);
            self.publish(&next);
        }
    }

    /// Marks a server as unavailable.
    pub(super) fn set_unavailable(&self, member: &Arc<Member>, error: Error) {
        let mut next = self.working_copy.lock();
        if next.contains(member) {
            member.set_unavailable(error);
            next.versions.servers += 1;
            self.publish(&next);
        }
    }

    /// Waits until the first attempt to connect is over for all of these servers.
    pub(super) async fn wait_for_first_attempts(&self, members: &[Arc<Member>]) {
        let mut snapshots = self.snapshot.subscribe();
        // This cannot fail: `self` owns the sender.
        let _ =
            snapshots.wait_for(|_| members.iter().all(|member| member.has_finished_first_attempt())).await;
        // A member is settled shortly before the snapshot with its lists is published. The task that publishes it holds
        // this lock.
        drop(self.working_copy.lock());
    }
}

impl Drop for HubGuard {
    fn drop(&mut self) {
        let members = std::mem::take(&mut self.0.working_copy.lock().members);
        for member in &*members {
            member.close_in_background();
        }
    }
}

/// The settings of a hub.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) client: ClientBuilder,
    pub(super) client_hook: Option<Arc<ClientHook>>,
    pub(super) names: NameRules,
    pub(super) start_timeout: Duration,
    pub(super) attempts: AttemptLimit,
    pub(super) variables: Variables,
    pub(super) max_message: Option<usize>,
    /// The maximum number of items and of bytes in a list.
    pub(super) max_list: (Option<usize>, Option<usize>),
}

/// Changes the builder for the client of one server.
type ClientHook = dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync;

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: Client::builder(),
            client_hook: None,
            names: NameRules::default(),
            start_timeout: START_TIMEOUT,
            attempts: AttemptLimit::default(),
            variables: Variables::default(),
            max_message: None,
            max_list: (None, None),
        }
    }
}

impl Settings {
    pub(super) fn client_builder_for(&self, name: &str) -> ClientBuilder {
        let mut client = self.client.clone();
        if let Some(bytes) = self.max_message {
            client = client.max_message(bytes);
        }
        let (items, bytes) = self.max_list;
        client = client.max_list(items, bytes);
        match &self.client_hook {
            Some(each) => each(name, client),
            None => client,
        }
    }
}
