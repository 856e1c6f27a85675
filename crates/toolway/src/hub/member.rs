//! What is known of one server of a hub, and how is it asked?

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

/// One server of a hub. The lists that people have taken from the hub refer to it, and find it empty once it was disconnected.
pub(crate) struct Member {
    pub(crate) name: Arc<str>,
    pub(super) target: String,
    pub(super) breaker: Arc<Breaker>,
    /// Somebody could not reach it.
    pub(super) look: Notify,
    /// Somebody could, although it was thought to be unavailable.
    pub(super) reached: Notify,
    pub(super) orders: mpsc::Sender<Refresh>,
    task: OnceLock<AbortHandle>,
    /// Its client was brought along, and is not closed with the hub.
    is_brought: bool,
    state: Mutex<State>,
}

/// Tells that everything was read again, as far as it could be.
pub(super) type Refresh = oneshot::Sender<()>;

struct State {
    phase: Phase,
    client: Option<Client>,
    lists: Lists,
    /// Its lists were read once.
    is_known: bool,
}

/// How it is.
pub(super) enum Phase {
    Connecting,
    Ready,
    Unavailable { error: Error, since: Instant, hope: Hope },
    Disabled,
}

/// Whether somebody goes on trying.
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

    /// Says which task looks after it, which ends with it.
    pub(super) fn kept_by(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Whether something is known of it: that it is there, or that it is not.
    pub(super) fn is_settled(&self) -> bool {
        !matches!(self.state.lock().phase, Phase::Connecting)
    }

    pub(super) fn is_disabled(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Disabled)
    }

    /// Whether its lists were read once.
    pub(super) fn is_known(&self) -> bool {
        self.state.lock().is_known
    }

    fn is_unavailable(&self) -> bool {
        matches!(self.state.lock().phase, Phase::Unavailable { .. })
    }

    /// Why it cannot be reached.
    pub(super) fn failure(&self) -> Option<Error> {
        match &self.state.lock().phase {
            Phase::Unavailable { error, .. } => Some(error.repeated()),
            _ => None,
        }
    }

    pub(super) fn lists(&self) -> Lists {
        self.state.lock().lists.clone()
    }

    /// Takes a client, and says whether it is in the place of another.
    pub(super) fn set_client(&self, client: Client) -> bool {
        self.state.lock().client.replace(client).is_some()
    }

    /// Takes what it has, and says whether it was known to be there.
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

    /// The client, if the server was ever reached and is still of the hub.
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

    /// Asks the server something. One that was tried too often is left alone.
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

    /// Ends what looks after it, and takes its client away: nobody gets it from here any more.
    pub(super) fn leave(&self) -> Option<Client> {
        if let Some(task) = self.task.get() {
            task.abort();
        }
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::Connecting) {
            let error = self.absent("was disconnected before it was reached");
            state.phase = Phase::Unavailable { error, since: Instant::now(), hope: Hope::None };
        }
        state.client.take()
    }

    /// The same, for somebody who cannot wait until the server knows.
    pub(super) fn drop_out(&self) {
        let Some(client) = self.leave().filter(|_| !self.is_brought) else { return };
        // Others may have the client, and it ends for them too.
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

/// Whether an error says something about whether the server is there.
fn tells_of_absence(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.http_status().is_some()
}
