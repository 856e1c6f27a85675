//! What does a hub share with the tasks that look after its servers?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch as channel;

use super::breaker::Attempts;
use super::config::Variables;
use super::lists::Lists;
use super::member::Member;
use super::names::rules::NameRules;
use super::snapshot::{Merged, Snapshot};
use crate::client::{Client, ClientBuilder};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// How long starting waits for servers that are slow, unless the builder says otherwise.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Ends everything with the last clone. The tasks do not hold it.
pub(super) struct Owner(pub(super) Arc<Shared>);

/// What a hub shares with the tasks that look after its servers.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) merged: Mutex<Merged>,
    pub(super) snapshot: channel::Sender<Arc<Snapshot>>,
}

impl Shared {
    pub(super) fn new(settings: Settings, merged: Merged) -> Self {
        let snapshot = channel::Sender::new(merged.snapshot());
        Self { settings, merged: Mutex::new(merged), snapshot }
    }

    /// Adds a server, if its name is free. One that is only listed as disabled makes room.
    pub(super) fn insert(&self, member: &Arc<Member>) -> Result<()> {
        let name = &*member.name;
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Misuse, "a server of a hub needs a name: it has an empty one"));
        }
        let mut merged = self.merged.lock();
        if let Some(old) = merged.members.iter().find(|old| old.name == member.name).cloned() {
            if !old.is_disabled() {
                let message =
                    format!("there is a server `{name}` already: disconnect it, or take another name");
                return Err(Error::new(ErrorKind::Misuse, message));
            }
            merged.remove(&old);
        }
        self.snapshot.send_replace(merged.insert(member.clone()));
        Ok(())
    }

    /// Takes a server out, and gives back its client to be closed.
    pub(super) fn remove(&self, member: &Arc<Member>) -> Option<Client> {
        let mut merged = self.merged.lock();
        // Before the change is told: those who wait for the server wait for nothing more.
        let client = member.leave();
        if merged.has(member) {
            self.snapshot.send_replace(merged.remove(member));
        }
        client
    }

    /// A server has a client. Those who have the one before have to know that it changed.
    pub(super) fn connected(&self, member: &Arc<Member>, client: &Client) {
        let mut merged = self.merged.lock();
        if merged.has(member) && member.set_client(client.clone()) {
            self.snapshot.send_replace(merged.state_changed());
        }
    }

    /// A server is there, and has this.
    pub(super) fn ready(&self, member: &Arc<Member>, lists: Lists) {
        let mut merged = self.merged.lock();
        if merged.has(member) {
            self.snapshot.send_replace(merged.ready(member, lists));
        }
    }

    /// A server is not there.
    pub(super) fn unavailable(&self, member: &Arc<Member>, error: Error) {
        let mut merged = self.merged.lock();
        if merged.has(member) {
            member.set_unavailable(error);
            self.snapshot.send_replace(merged.state_changed());
        }
    }

    /// Waits until something is known of all of them.
    pub(super) async fn settled(&self, members: &[Arc<Member>]) {
        let mut snapshots = self.snapshot.subscribe();
        // The sender is this very hub's.
        let _ = snapshots.wait_for(|_| members.iter().all(|member| member.is_settled())).await;
        // A member is settled a moment before the snapshot is there that has what it offers. The task that makes it holds this.
        drop(self.merged.lock());
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let members = std::mem::take(&mut self.0.merged.lock().members);
        for member in members {
            member.drop_out();
        }
    }
}

/// What was said about a hub.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) client: ClientBuilder,
    pub(super) each: Option<Arc<Each>>,
    pub(super) names: NameRules,
    pub(super) start_timeout: Duration,
    pub(super) attempts: Attempts,
    pub(super) variables: Variables,
    pub(super) max_message: Option<usize>,
}

/// Says more about the client of one server.
type Each = dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync;

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: Client::builder(),
            each: None,
            names: NameRules::default(),
            start_timeout: START_TIMEOUT,
            attempts: Attempts::default(),
            variables: Variables::default(),
            max_message: None,
        }
    }
}

impl Settings {
    pub(super) fn client_of(&self, name: &str) -> ClientBuilder {
        let client = match self.max_message {
            Some(bytes) => self.client.clone().max_message(bytes),
            None => self.client.clone(),
        };
        match &self.each {
            Some(each) => each(name, client),
            None => client,
        }
    }
}
