//! What is known about one server of a hub, and how are requests made to it?

use std::sync::{Arc, OnceLock};

use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use super::breaker::Breaker;
use super::lists::Lists;
use super::status::{ServerState, ServerStatus};
use crate::client::{Client, Exchange};
use crate::ground::error::{Chain, Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// One server of a hub. Tool lists that were taken from the hub refer to their members. A member that was disconnected
/// has no client, so calls of its tools fail.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(super) target: String,
    pub(super) breaker: Arc<Breaker>,
    /// Notified when a call could not reach the server.
    pub(super) look: Notify,
    /// Notified when a call reached the server although it was considered unavailable.
    pub(super) reached: Notify,
    pub(super) orders: mpsc::Sender<Refresh>,
    task: OnceLock<AbortHandle>,
    /// `true` if the application supplied the client. Such a client is not closed with the hub.
    is_brought: bool,
    state: Mutex<State>,
}

/// Tells the caller of a refresh that all lists were read again, as far as possible.
pub(super) type Refresh = oneshot::Sender<()>;

struct State {
    phase: Phase,
    client: Option<Client>,
    lists: Lists,
    /// `true` after the lists were read once.
    is_known: bool,
}

/// The phase of a server.
pub(super) enum Phase {
    Connecting,
    Ready,
    Unavailable { error: Error, since: Instant, hope: Hope },
    Disabled,
}

/// The expectation that the server becomes available: `Some` if a task keeps retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hope {
    Some,
    None,
}

impl Member {
    pub(super) fn new(
        name: &str,
        target: String,
        breaker: Arc<Breaker>,
        phase: Phase,
        lists: Lists,
        client: Option<Client>,
    ) -> (Arc<Self>, mpsc::Receiver<Refresh>) {
        let (orders, ordered) = mpsc::channel(1);
        let member = Self {
            name: name.into(),
            target,
            breaker,
            look: Notify::new(),
            reached: Notify::new(),
            orders,
            task: OnceLock::new(),
            is_brought: client.is_some(),
            state: Mutex::new(State { phase, client, lists, is_known: false }),
        };
        (Arc::new(member), ordered)
    }

    /// Sets the task that follows the server. The task is aborted when the server leaves the hub.
    pub(super) fn kept_by(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Returns whether the first attempt to connect is over, successful or not.
    pub(super) fn is_settled(&self) -> bool {
        !matches!(self.state.lock().phase, Phase::Connecting)
    }

    pub(super) fn is_disabled(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Disabled)
    }

    /// Returns whether the lists were read once.
    pub(super) fn is_known(&self) -> bool {
        self.state.lock().is_known
    }

    fn is_unavailable(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Unavailable { .. })
    }

    /// Returns the reason why the server is unavailable.
    pub(super) fn failure(&self) -> Option<Error> {
        match &self.state.lock().phase {
            Phase::Unavailable { error, .. } => Some(error.repeated()),
            _ => None,
        }
    }

    pub(super) fn lists(&self) -> Lists {
        self.state.lock().lists.clone()
    }

    /// Sets the client. Returns whether it replaced another client.
    pub(super) fn set_client(&self, client: Client) -> bool {
        self.state.lock().client.replace(client).is_some()
    }

    /// Sets the lists and the phase `Ready`. Returns whether the status is unchanged: the server was ready before, with
    /// the same problems.
    pub(super) fn set_ready(&self, lists: Lists) -> bool {
        let mut state = self.state.lock();
        let was_ready = matches!(state.phase, Phase::Ready) && state.lists.problems() == lists.problems();
        state.phase = Phase::Ready;
        state.lists = lists;
        state.is_known = true;
        was_ready
    }

    pub(super) fn set_unavailable(&self, error: Error) {
        let mut state = self.state.lock();
        let since = match &state.phase {
            Phase::Unavailable { since, .. } => *since,
            _ => Instant::now(),
        };
        state.phase = Phase::Unavailable { error, since, hope: Hope::Some };
    }

    /// Returns the client, if the server was connected once and still belongs to the hub.
    pub(crate) fn client(&self) -> Result<Client> {
        let state = self.state.lock();
        match (&state.client, &state.phase) {
            (Some(client), _) => Ok(client.clone()),
            (None, Phase::Unavailable { error, .. }) => {
                Err(error.repeated().context(format!("the server `{}` is unavailable", self.name)))
            }
            (None, Phase::Disabled) => {
                let message = format!("the server `{}` is disabled by its configuration", self.name);
                Err(Error::new(ErrorKind::Misuse, message))
            }
            (None, Phase::Connecting) => Err(self.absent("is not connected yet")),
            (None, Phase::Ready) => Err(self.absent("is not connected any more")),
        }
    }

    fn absent(&self, how: &str) -> Error {
        Error::new(ErrorKind::Transport, format!("the server `{}` {how}", self.name)).unsent()
    }

    /// Makes a request to the server. Fails at once if there were too many attempts to connect.
    pub(super) async fn ask<T: Send + 'static>(
        &self,
        request: impl FnOnce(&Client) -> Exchange<T>,
    ) -> Result<T> {
        let client = self.client()?;
        if self.is_unavailable() {
            let unavailable = format!("the server `{}` is unavailable", self.name);
            self.breaker.check().map_err(|error| error.context(unavailable))?;
        }
        let outcome = request(&client).await;
        match &outcome {
            Err(error) if tells_of_absence(error) => self.look.notify_one(),
            Ok(_) if self.is_unavailable() => self.reached.notify_one(),
            _ => {}
        }
        outcome
    }

    /// Aborts the task that follows the server, and takes the client out.
    pub(super) fn leave(&self) -> Option<Client> {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Connecting) {
            let error = self.absent("was disconnected before its first connection was opened");
            state.phase = Phase::Unavailable { error, since: Instant::now(), hope: Hope::None };
        }
        state.client.take()
    }

    /// Leaves the hub, and closes the client in the background.
    pub(super) fn drop_out(&self) {
        let Some(client) = self.leave().filter(|_| !self.is_brought) else { return };
        // The application may hold clones of the client; they are closed too.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                let _ = client.close().await;
            });
        }
    }

    pub(super) fn status(&self) -> ServerStatus {
        let state = self.state.lock();
        let shown = match (&state.phase, &state.client) {
            (Phase::Disabled, _) => ServerState::Disabled,
            (Phase::Unavailable { error, since, hope }, _) => ServerState::Unavailable {
                error: Chain(error).to_string(),
                since: since.into_std(),
                next_try: (*hope == Hope::Some).then(|| self.breaker.next().into_std()),
            },
            (Phase::Ready, Some(client)) => ServerState::Ready {
                tools: state.lists.tools.items.len(),
                prompts: state.lists.prompts.items.len(),
                resources: state.lists.resources.items.len(),
                templates: state.lists.templates.items.len(),
                version: client.protocol_version(),
                server: client.server_info(),
                problems: state.lists.problems(),
            },
            (Phase::Connecting | Phase::Ready, _) => ServerState::Connecting,
        };
        ServerStatus { name: self.name.to_string(), target: self.target.clone(), state: shown }
    }
}

/// Returns whether the error suggests that the server is unreachable.
fn tells_of_absence(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.http_status().is_some()
}
