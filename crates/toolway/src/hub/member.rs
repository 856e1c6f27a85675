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
use crate::ground::boxed_task::boxed_task;
use crate::ground::error::{Chain, Error, ErrorKind, Result};
use crate::ground::mutex::Mutex;

/// One server of a hub. Tool lists that were taken from the hub refer to their members. A member that was disconnected
/// has no client, so calls of its tools fail.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(super) target: String,
    pub(super) breaker: Arc<Breaker>,
    /// Notified when a call could not reach the server.
    pub(super) call_failed: Notify,
    /// Notified when a call reached the server although it was considered unavailable.
    pub(super) call_succeeded: Notify,
    pub(super) refresh_requests: mpsc::Sender<RefreshRequest>,
    task: OnceLock<AbortHandle>,
    /// `true` if the application supplied the client. Such a client is not closed with the hub.
    is_external: bool,
    state: Mutex<MemberState>,
}

/// Tells the caller of a refresh that all lists were read again, as far as possible.
pub(super) type RefreshRequest = oneshot::Sender<()>;

struct MemberState {
    phase: Phase,
    client: Option<Client>,
    lists: Lists,
    /// `true` after the lists were read once.
    has_read_lists: bool,
}

/// The phase of a server.
pub(super) enum Phase {
    Connecting,
    Ready,
    Unavailable { error: Error, since: Instant, retry_mode: RetryMode },
    Disabled,
}

/// The expectation that the server becomes available: `Some` if a task keeps retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RetryMode {
    Automatic,
    Never,
}

impl Member {
    pub(super) fn new(
        name: &str,
        target: String,
        breaker: Arc<Breaker>,
        phase: Phase,
        lists: Lists,
        client: Option<Client>,
    ) -> (Arc<Self>, mpsc::Receiver<RefreshRequest>) {
        let (orders, ordered) = mpsc::channel(1);
        let member = Self {
            name: name.into(),
            target,
            breaker,
            call_failed: Notify::new(),
            call_succeeded: Notify::new(),
            refresh_requests: orders,
            task: OnceLock::new(),
            is_external: client.is_some(),
            state: Mutex::new(MemberState { phase, client, lists, has_read_lists: false }),
        };
        (Arc::new(member), ordered)
    }

    /// Sets the task that follows the server. The task is aborted when the server leaves the hub.
    pub(super) fn set_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Returns whether the first attempt to connect is over, successful or not.
    pub(super) fn has_finished_first_attempt(&self) -> bool {
        !matches!(self.state.lock().phase, Phase::Connecting)
    }

    pub(super) fn is_disabled(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Disabled)
    }

    /// Returns whether the lists were read once.
    pub(super) fn has_read_lists(&self) -> bool {
        self.state.lock().has_read_lists
    }

    fn is_unavailable(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Unavailable { .. })
    }

    /// Returns the reason why the server is unavailable.
    pub(super) fn failure(&self) -> Option<Error> {
        match &self.state.lock().phase {
            Phase::Unavailable { error, .. } => Some(error.clone_flattened()),
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
        state.has_read_lists = true;
        was_ready
    }

    pub(super) fn set_unavailable(&self, error: Error) {
        let mut state = self.state.lock();
        let since = match &state.phase {
            Phase::Unavailable { since, .. } => *since,
            _ => Instant::now(),
        };
        state.phase = Phase::Unavailable { error, since, retry_mode: RetryMode::Automatic };
    }

    /// Returns the client, if the server was connected once and still belongs to the hub.
    pub(crate) fn client(&self) -> Result<Client> {
        let state = self.state.lock();
        match (&state.client, &state.phase) {
            (Some(client), _) => Ok(client.clone()),
            (None, Phase::Unavailable { error, .. }) => {
                Err(error.clone_flattened().context(format!("the server `{}` is unavailable", self.name)))
            }
            (None, Phase::Disabled) => {
                let message = format!("the server `{}` is disabled by its configuration", self.name);
                Err(Error::new(ErrorKind::Misuse, message))
            }
            (None, Phase::Connecting) => Err(self.not_connected("is not connected yet")),
            (None, Phase::Ready) => Err(self.not_connected("is not connected any more")),
        }
    }

    fn not_connected(&self, how: &str) -> Error {
        Error::new(ErrorKind::Transport, format!("the server `{}` {how}", self.name)).unsent()
    }

    /// Makes a request to the server. Fails at once if there were too many attempts to connect.
    pub(super) async fn request<T: Send + 'static>(
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
            Err(error) if suggests_unreachable(error) => self.call_failed.notify_one(),
            Ok(_) if self.is_unavailable() => self.call_succeeded.notify_one(),
            _ => {}
        }
        outcome
    }

    /// Aborts the task that follows the server, and takes the client out.
    pub(super) fn detach(&self) -> Option<Client> {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Connecting) {
            let error = self.not_connected("was disconnected before its first connection was opened");
            state.phase = Phase::Unavailable { error, since: Instant::now(), retry_mode: RetryMode::Never };
        }
        state.client.take()
    }

    /// Leaves the hub, and closes the client in the background.
    pub(super) fn close_in_background(&self) {
        let Some(client) = self.detach().filter(|_| !self.is_external) else { return };
        // The application may hold clones of the client; they are closed too.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(boxed_task(async move {
                let _ = client.close().await;
            }));
        }
    }

    pub(super) fn status(&self) -> ServerStatus {
        let state = self.state.lock();
        let shown = match (&state.phase, &state.client) {
            (Phase::Disabled, _) => ServerState::Disabled,
            (Phase::Unavailable { error, since, retry_mode: hope }, _) => ServerState::Unavailable {
                error: Chain(error).to_string(),
                since: since.into_std(),
                next_try: (*hope == RetryMode::Automatic).then(|| self.breaker.next_attempt().into_std()),
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
fn suggests_unreachable(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.http_status().is_some()
}
