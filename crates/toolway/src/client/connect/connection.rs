//! How does one request go over one connection: in time, and told if it is given up?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout, timeout_at};
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Cancelled, LogLevel, Progress};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request, RpcError};

use crate::client::calls::forward::{OnBehalf, Passed};
use crate::client::notifications::listeners::{Ears, Hook};
use crate::client::wire::transport::{Inbox, Outgoing, Transport, exchange};
use crate::client::{Dress, ServerFacts};
use crate::error::{Error, ErrorKind, Result};

/// How long the server may take to hear that a request is taken back.
const TAKING_BACK: Duration = Duration::from_secs(5);

/// A conversation that was opened.
pub(crate) struct Connection {
    pub(crate) transport: Box<dyn Transport>,
    pub(crate) era: Dress,
    pub(crate) server: ServerFacts,
    pub(crate) inbox: Inbox,
    pub(crate) size: Sizes,
    /// The server has forgotten it.
    pub(crate) lost: AtomicBool,
    /// The number of calls that were given up and that the server has not been told of yet.
    taking_back: watch::Sender<usize>,
}

/// How long messages may be that are sent over one connection.
pub(crate) struct Sizes {
    max_message: usize,
    /// The least that the server has said to take. It is forgotten with the connection: the next server behind it may take more.
    reported: AtomicUsize,
}

impl Sizes {
    fn new(max_message: usize) -> Self {
        Self { max_message, reported: AtomicUsize::new(usize::MAX) }
    }

    /// Refuses a message that is known to be too long before anything of it is sent.
    pub(crate) fn check(&self, outgoing: &Outgoing) -> Result<()> {
        let size = outgoing.frame.len();
        let reported = self.reported.load(Ordering::Relaxed);
        let max = self.max_message;
        if size <= max.min(reported) {
            return Ok(());
        }
        let what = if outgoing.id.is_some() { "request" } else { "notification" };
        let text = if size > reported {
            format!(
                "the {what} is {size} bytes long, and the server takes at most {reported}: send less, or raise `max_message` on the server"
            )
        } else {
            format!(
                "the {what} is {size} bytes long, and the client sends at most {max}: send less, or raise `max_message` on the client"
            )
        };
        Err(Error::new(ErrorKind::TooLarge, text))
    }

    /// Learns from an error how much the server takes. A limit that the message kept was not the reason.
    fn learn(&self, size: usize, error: &Error) {
        let refused = error.rpc().filter(|error| error.code == Code::INVALID_REQUEST);
        if let Some(max) = refused.and_then(RpcError::max_message).filter(|max| *max < size) {
            self.reported.fetch_min(max, Ordering::Relaxed);
        }
    }
}

/// What goes for one request and all its rounds.
#[derive(Clone)]
pub(crate) struct Terms {
    /// How long nothing may be heard of it.
    pub(crate) timeout: Option<Duration>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) meta: Option<toolway_protocol::capability::Settings>,
    pub(crate) progress: Progressing,
    pub(crate) ears: Arc<Ears>,
    /// For whom it is made, if not for the application itself.
    pub(crate) behalf: Option<OnBehalf>,
}

/// How far a request has come that the server has questions about. What was asked and answered stays so when the connection is
/// lost: from the beginning, the server would do again what it has done.
#[derive(Default)]
pub(crate) struct Course {
    /// The request as it is to be sent next.
    pub(crate) again: Option<Request>,
    pub(crate) round: u32,
    /// How often the server had nothing to ask and no result either.
    pub(crate) waits: u32,
}

impl Course {
    /// Whether the server has worked on the request.
    fn has_begun(&self) -> bool {
        self.again.is_some()
    }
}

/// Whether the server is asked to tell of progress, and who hears of it.
#[derive(Clone)]
pub(crate) enum Progressing {
    Unwanted,
    Wanted(Option<Hook<Progress>>),
}

impl Connection {
    pub(crate) fn new(transport: Box<dyn Transport>, era: Dress, server: ServerFacts, inbox: Inbox) -> Self {
        let size = Sizes::new(inbox.max_message());
        let (lost, taking_back) = (AtomicBool::new(false), watch::Sender::new(0));
        Self { transport, era, server, inbox, size, lost, taking_back }
    }

    /// Waits until the server has been told of all calls that were given up, but not for long. Some servers let a call run on when its
    /// connection or its session ends.
    pub(crate) async fn taken_back(&self) {
        let mut left = self.taking_back.subscribe();
        // The sender is ours: it is not gone.
        let _ = timeout(TAKING_BACK, left.wait_for(|left| *left == 0)).await;
    }

    pub(crate) fn version(&self) -> ProtocolVersion {
        match &self.era {
            Dress::Handshake(link) => link.version(),
            Dress::Stateless(link) => link.version(),
        }
    }

    /// Whether anything can be asked over it.
    pub(crate) fn is_usable(&self) -> bool {
        !self.lost.load(Ordering::Acquire) && self.transport.is_connected()
    }

    pub(crate) fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing {
        match &self.era {
            Dress::Handshake(link) => link.notification(method, params),
            Dress::Stateless(link) => link.notification(method, params),
        }
    }

    /// Says how much of the log later requests want; `false` where the server must be told.
    pub(crate) fn set_log_level(&self, level: LogLevel) -> bool {
        match &self.era {
            Dress::Handshake(_) => false,
            Dress::Stateless(link) => {
                link.set_log_level(level);
                true
            }
        }
    }

    /// Asks whether the server is there.
    pub(crate) async fn ping(self: &Arc<Self>, id: Id, terms: &Terms) -> Result<()> {
        let outgoing = match &self.era {
            Dress::Handshake(link) => link.bare(id, Method::Ping),
            Dress::Stateless(link) => link.bare(id, Method::Discover),
        };
        self.send(outgoing, terms).await.map(drop)
    }

    /// Sends a request and gives back the result as it came, after as many rounds as it takes. Where another connection had come
    /// to, it goes on.
    pub(crate) async fn ask(
        self: &Arc<Self>,
        next_id: &(dyn Fn() -> Id + Send + Sync),
        request: &Request,
        terms: &Terms,
        course: &mut Course,
    ) -> Result<RawJson> {
        match &self.era {
            Dress::Handshake(_) if course.has_begun() => Err(Error::new(
                ErrorKind::PeerIncompatible,
                "the server does not speak the revision any more in which it has asked; call again",
            )),
            Dress::Handshake(link) => {
                let outgoing = link.request(next_id(), request, terms.wants_progress(), terms.meta.as_ref());
                self.send(outgoing, terms).await
            }
            Dress::Stateless(link) => link.ask(self, next_id, request, terms, course).await,
        }
    }

    /// What came of a request that was made for somebody else.
    #[allow(dead_code, reason = "only whoever joins a server with clients asks")]
    pub(crate) async fn passed(&self, method: &Method, result: RawJson) -> Result<Passed> {
        match &self.era {
            Dress::Handshake(_) => Ok(Passed::Complete(result)),
            Dress::Stateless(link) => link.passed(self, method, result).await,
        }
    }

    /// One request, one reply. A request that is given up is taken back.
    pub(crate) async fn send(self: &Arc<Self>, mut outgoing: Outgoing, terms: &Terms) -> Result<RawJson> {
        if !terms.headers.is_empty() {
            outgoing.headers.extend_from_slice(&terms.headers);
        }
        let Some(id) = outgoing.id.clone() else {
            return Err(Error::new(ErrorKind::Misuse, "a notification has no reply to wait for"));
        };
        let hearing = match &terms.progress {
            Progressing::Wanted(hook) => Some(terms.ears.hear(id.clone(), hook.clone())),
            Progressing::Unwanted => None,
        };
        self.size.check(&outgoing)?;
        let size = outgoing.frame.len();
        let method = outgoing.method.clone();
        let _carried = self.inbox.asked().carried().note(&id, &method, terms.behalf.as_ref());
        let mut given_up = GivenUp(
            (!self.transport.cancels_by_dropping(self.version()))
                .then(|| (self.clone(), id.clone(), method.clone())),
        );
        let outcome = {
            let work = exchange(&*self.transport, outgoing);
            let Some(limit) = terms.timeout else {
                return given_up.unless_dropped(work.await, self, size);
            };
            let mut work = std::pin::pin!(work);
            let sent = Instant::now();
            let mut since = sent;
            loop {
                // Some times are longer than clocks go.
                let Some(until) = since.checked_add(limit) else { break Some(work.await) };
                match timeout_at(until, &mut work).await {
                    Ok(outcome) => break Some(outcome),
                    // A person may be thinking about a question of the server.
                    Err(_) if self.inbox.asked().is_asked_about(&id, sent) => since = Instant::now(),
                    Err(_) => match &hearing {
                        Some(hearing) if hearing.last() > since => since = hearing.last(),
                        _ => break None,
                    },
                }
            }
        };
        match outcome {
            Some(outcome) => given_up.unless_dropped(outcome, self, size),
            None => Err(timed_out(&method, terms.timeout.unwrap_or_default())),
        }
    }
}

impl Terms {
    /// For a request that nobody but the client itself wants.
    pub(crate) fn of_our_own(ears: Arc<Ears>, timeout: Option<Duration>) -> Self {
        Self { timeout, headers: Vec::new(), meta: None, progress: Progressing::Unwanted, ears, behalf: None }
    }

    pub(crate) fn wants_progress(&self) -> bool {
        matches!(self.progress, Progressing::Wanted(_))
    }
}

/// A request that is under way. Dropping it tells the server that nobody waits for it.
struct GivenUp(Option<(Arc<Connection>, Id, Method)>);

impl GivenUp {
    /// The request has its answer, or never will.
    fn unless_dropped(
        &mut self,
        outcome: Result<RawJson>,
        connection: &Connection,
        size: usize,
    ) -> Result<RawJson> {
        self.0 = None;
        if let Err(error) = &outcome {
            connection.size.learn(size, error);
            if error.is_session_ended() {
                connection.lost.store(true, Ordering::Release);
            }
        }
        outcome
    }
}

impl Drop for GivenUp {
    fn drop(&mut self) {
        let Some((connection, id, method)) = self.0.take() else { return };
        // Without a runtime there is nobody who could say it.
        let Ok(runtime) = Handle::try_current() else { return };
        if !connection.is_usable() {
            return;
        }
        tracing::debug!(method = method.name(), "a request is given up");
        let connection = TakingBack::begin(connection);
        runtime.spawn(async move {
            let TakingBack(connection) = &connection;
            let cancelled = Cancelled::new().with_request_id(id).with_reason("the caller gave it up");
            let params = RawJson::encoded(&cancelled, connection.version());
            let outgoing = connection.notification(Method::Cancelled, Some(&params));
            match timeout(TAKING_BACK, connection.transport.carry(outgoing)).await {
                Ok(Ok(_)) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a request could not be taken back"),
                Err(_) => tracing::debug!("the server does not hear that a request is taken back"),
            }
        });
    }
}

/// A request that is being taken back. However that ends, it is not waited for any longer.
struct TakingBack(Arc<Connection>);

impl TakingBack {
    fn begin(connection: Arc<Connection>) -> Self {
        connection.taking_back.send_modify(|left| *left += 1);
        Self(connection)
    }
}

impl Drop for TakingBack {
    fn drop(&mut self) {
        self.0.taking_back.send_modify(|left| *left -= 1);
    }
}

pub(crate) fn timed_out(method: &Method, limit: Duration) -> Error {
    let message = format!("the server did not answer {} within {limit:?}", method.name());
    Error::new(ErrorKind::Timeout, message).broken_off()
}
