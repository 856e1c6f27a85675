//! Which hooks run when a request, a pipe or a session is over?
//!
//! A transport often learns of an end because a future or a body is dropped, and `drop` cannot wait. So hooks run in
//! tasks of the server, each for a limited time. A transport that shuts down gracefully waits for the hooks.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use tokio::runtime::Handle;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::principal::Principal;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::call::state::{States, UnavailableValues};
use crate::server::handler::function::ErasedHandler;
use crate::server::handler::parameter::{Missing, Parameter};
use crate::server::observe::report::run_hook;

/// How many hooks may run at the same time. Further hooks are not run.
const MAX_RUNNING: usize = 16_384;

/// The end of a request or a pipe, as a parameter of the [`on_disconnect`](crate::server::ServerBuilder::on_disconnect)
/// handler.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{DisconnectEvent, Principal};
///
/// async fn log(over: DisconnectEvent, caller: Principal) {
///     let what = over.http_method().unwrap_or("a pipe");
///     eprintln!("{what} of {caller}: {:?}, {}", over.duration(), if over.is_complete() { "done" } else { "broken off" });
/// }
/// ```
#[derive(Debug, Clone)]
pub struct DisconnectEvent {
    method: Option<Method>,
    is_complete: bool,
    duration: Duration,
}

impl DisconnectEvent {
    pub(crate) fn new(method: Option<&Method>) -> Self {
        Self { method: method.cloned(), is_complete: false, duration: Duration::ZERO }
    }

    /// Returns whether everything was done: the whole reply was handed over to the connection, or the pipe was closed
    /// after every request was answered. Data that was handed over may still be lost on the network.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Returns the method of the HTTP request, such as `POST`, `GET` or `DELETE`. Returns `None` on a pipe.
    pub fn http_method(&self) -> Option<&str> {
        self.method.as_ref().map(Method::as_str)
    }

    /// Returns whether a pipe has ended, and not an HTTP request.
    pub fn is_pipe(&self) -> bool {
        self.method.is_none()
    }

    /// Returns the time since the peer was admitted.
    pub fn duration(&self) -> Duration {
        self.duration
    }
}

/// The end of a session, as a parameter of the [`on_terminate`](crate::server::ServerBuilder::on_terminate) handler.
///
/// ```
/// use toolway::server::{TerminationEvent, TerminationReason};
///
/// async fn log(over: TerminationEvent) {
///     let whose = over.principal().map_or("an unknown caller", |principal| principal.as_str());
///     if over.reason() == TerminationReason::Expired {
///         eprintln!("the session {} of {whose} was silent for too long", over.session_id());
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct TerminationEvent {
    session_id: String,
    principal: Option<Principal>,
    reason: TerminationReason,
}

impl TerminationEvent {
    pub(crate) fn new(session_id: String, principal: Option<Principal>, reason: TerminationReason) -> Self {
        Self { session_id, principal, reason }
    }

    /// Returns a text that identifies this session. For Streamable HTTP it is the session id of the client. For a pipe,
    /// and for the two-URL transport of 2024-11-05, it is a random text that the client does not know.
    pub fn session_id(&self) -> &str {
        &self.session_id
    }

    /// Returns the principal that owned the session.
    pub fn principal(&self) -> Option<&Principal> {
        self.principal.as_ref()
    }

    /// Returns why the session has ended.
    pub fn reason(&self) -> TerminationReason {
        self.reason
    }
}

/// Why a session has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TerminationReason {
    /// The client ended the session.
    Deleted,
    /// The session was idle for too long, or another server that shares the store ended it.
    Expired,
    /// The pipe of the session has closed.
    Disconnected,
    /// The server shuts down. If servers share a store, another server may continue the session.
    Stopped,
}

impl Parameter for DisconnectEvent {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

impl Parameter for TerminationEvent {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// The hooks that run when a request, a pipe or a session is over.
#[derive(Debug, Default)]
pub(crate) struct EndHooks {
    pub(crate) disconnect: Vec<ErasedHandler<DisconnectEvent, ()>>,
    pub(crate) terminate: Vec<ErasedHandler<TerminationEvent, ()>>,
}

impl EndHooks {
    pub(crate) fn check(&self, states: &States, mistakes: &mut Vec<String>) {
        let what = |name: &str| format!("the handler of `{name}`");
        self.disconnect.iter().for_each(|hook| {
            hook.check(&what("on_disconnect"), states, UnavailableValues::default(), mistakes);
        });
        self.terminate.iter().for_each(|hook| {
            hook.check(&what("on_terminate"), states, UnavailableValues::default(), mistakes);
        });
    }

    /// Adds the hooks of a merged server.
    pub(crate) fn extend(&mut self, mut others: Self, states: &Arc<States>) {
        others.disconnect.iter_mut().for_each(|hook| hook.bind_states(states));
        others.terminate.iter_mut().for_each(|hook| hook.bind_states(states));
        self.disconnect.extend(others.disconnect);
        self.terminate.extend(others.terminate);
    }
}

/// The tasks in which hooks run, each for a limited time.
#[derive(Debug)]
pub(crate) struct HookTasks {
    tasks: Mutex<JoinSet<()>>,
    /// How many hooks run.
    pub(crate) running: watch::Sender<usize>,
}

impl Default for HookTasks {
    fn default() -> Self {
        Self { tasks: Mutex::default(), running: watch::Sender::new(0) }
    }
}

/// Counts one running hook until this guard is dropped.
struct RunningHookGuard(watch::Sender<usize>);

impl Drop for RunningHookGuard {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running -= 1);
    }
}

impl HookTasks {
    fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else {
            tracing::warn!(
                "a call, a connection or a session ended outside of a tokio runtime, so its hooks were not run"
            );
            return;
        };
        if *self.running.borrow() >= MAX_RUNNING {
            tracing::error!("a hook was not run: {MAX_RUNNING} hooks are running, which is the maximum");
            return;
        }
        self.running.send_modify(|running| *running += 1);
        let counted = RunningHookGuard(self.running.clone());
        let mut tasks = self.tasks.lock();
        while tasks.try_join_next().is_some() {}
        let work = async move {
            work.await;
            drop(counted);
        };
        tasks.spawn_on(work, &runtime);
    }
}

impl Server {
    pub(crate) fn has_disconnect_hooks(&self) -> bool {
        !self.inner.end_hooks.disconnect.is_empty()
    }

    pub(crate) fn has_terminate_hooks(&self) -> bool {
        !self.inner.end_hooks.terminate.is_empty()
    }

    /// Spawns work that continues after the future that started it has ended.
    pub(crate) fn spawn_background(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.inner.hook_tasks.spawn(work);
    }

    pub(crate) async fn run_hooks<T: Clone>(
        &self,
        name: &'static str,
        hooks: &[ErasedHandler<T, ()>],
        over: &T,
        arrival: &Arrival,
    ) {
        for hook in hooks {
            let scope = Scope::begin(self.clone(), Box::new(arrival.clone()));
            run_hook(name, || hook.call(over.clone(), &scope)).await;
        }
    }
}

/// A guard that runs hooks when it is dropped: for the end of a request or a pipe, and for the end of a session.
#[derive(Debug)]
pub(crate) struct DisconnectGuard {
    server: Server,
    arrival: Box<Arrival>,
    since: Instant,
    /// `None` if only the end of a session is reported.
    disconnected: Option<DisconnectEvent>,
    terminated: Option<TerminationEvent>,
}

impl DisconnectGuard {
    /// Creates the guard for a pipe.
    pub(crate) fn for_pipe(server: &Server, arrival: Box<Arrival>) -> Self {
        Self::new(server, arrival, Some(DisconnectEvent::new(None)))
    }

    /// Creates the guard for a request or a pipe. If `disconnected` is `None`, only the end of a session is reported.
    pub(crate) fn new(server: &Server, arrival: Box<Arrival>, disconnected: Option<DisconnectEvent>) -> Self {
        Self { server: server.clone(), arrival, since: Instant::now(), disconnected, terminated: None }
    }

    /// Marks the request or pipe as complete: see [`DisconnectEvent::is_complete`].
    pub(crate) fn mark_complete(&mut self) {
        if let Some(disconnected) = &mut self.disconnected {
            disconnected.is_complete = true;
        }
    }

    /// Marks that a session ends as well.
    pub(crate) fn mark_terminated(&mut self) {
        if self.server.has_terminate_hooks() {
            let principal = self.arrival.principal.clone();
            self.terminated =
                Some(TerminationEvent::new(random_hex::<16>(), principal, TerminationReason::Disconnected));
        }
    }

    /// Runs the hooks, and waits until they are done.
    pub(crate) async fn finish(mut self) {
        if let Some(heard) = self.start_hooks() {
            let _ = heard.await;
        }
    }

    /// Starts the hooks, at most once. The receiver completes when they are done.
    fn start_hooks(&mut self) -> Option<oneshot::Receiver<()>> {
        let disconnected = self.disconnected.take().filter(|_| self.server.has_disconnect_hooks());
        let disconnected = disconnected.map(|it| DisconnectEvent { duration: self.since.elapsed(), ..it });
        let terminated = self.terminated.take();
        if disconnected.is_none() && terminated.is_none() {
            return None;
        }
        let (server, arrival) = (self.server.clone(), std::mem::take(&mut self.arrival));
        let (done, heard) = oneshot::channel();
        self.server.inner.hook_tasks.spawn(async move {
            let hooks = &server.inner.end_hooks;
            if let Some(disconnected) = disconnected {
                server.run_hooks("on_disconnect", &hooks.disconnect, &disconnected, &arrival).await;
            }
            if let Some(terminated) = terminated {
                server.run_hooks("on_terminate", &hooks.terminate, &terminated, &arrival).await;
            }
            let _ = done.send(());
        });
        Some(heard)
    }
}

impl Drop for DisconnectGuard {
    fn drop(&mut self) {
        self.start_hooks();
    }
}
