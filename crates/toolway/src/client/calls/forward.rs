//! How is a request made for somebody else? What the server tells and asks because of it goes to them.
//!
//! Which request a question or a log message belongs to, a server says only by the stream it comes on. Where everything comes on
//! one, such as a pipe, it can be told if one request alone is under way, and, in an era in which servers also speak when none
//! is, if all requests of the connection so far were of one caller. Otherwise nobody is asked and nobody is told: what is meant
//! for one must not reach another.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::types::{InputRequest, LogLevel, LogMessage, Progress};
use toolway_protocol::{Id, Method, RawJson, Request, RpcError};

use crate::client::connect::connection::{Progressing, Terms};
use crate::client::notifications::listeners::Hook;
use crate::client::{Client, Dress};
use crate::error::Result;

/// Somebody for whom a request is made.
pub(crate) trait Behalf: Send + Sync {
    /// The request is so far done.
    fn progress(&self, progress: &Progress);

    /// The server says this about the request.
    fn log(&self, message: &LogMessage);

    /// The server asks this because of the request. The answer is a result as text; nobody answers if the sender is dropped.
    fn ask(&self, question: InputRequest) -> oneshot::Receiver<Result<RawJson, RpcError>>;
}

/// A request's somebody, and what they are like.
#[derive(Clone)]
pub(crate) struct OnBehalf {
    pub(crate) of: Arc<dyn Behalf>,
    /// Equal for two requests only if they are made for the same one.
    pub(crate) caller: Arc<str>,
    /// What they can be asked.
    pub(crate) can: ClientCapabilities,
    /// What they want to hear of the log.
    pub(crate) log_level: Option<LogLevel>,
    /// What they have to say in `_meta`.
    pub(crate) meta: Option<Settings>,
}

/// What came of a request for somebody else.
pub(crate) enum Passed {
    /// The result, as it came.
    Complete(RawJson),
    /// The server has to know more, and the request is to be made again with the answers.
    Asks(Questions),
}

/// What a server has to know before it answers.
pub(crate) struct Questions {
    /// What is to be asked, by key.
    pub(crate) open: Vec<(String, InputRequest)>,
    /// What the application has answered itself.
    pub(crate) given: Vec<(String, RawJson)>,
    /// What is to be sent back as it is.
    pub(crate) state: Option<String>,
}

impl Client {
    /// Makes a request for somebody else, once: questions of the server are theirs, but for those that this client's
    /// application answers itself. Dropping the future tells the server that nobody waits for it any more.
    pub(crate) async fn pass(&self, request: &Request, on_behalf: OnBehalf) -> Result<Passed> {
        let shared = &self.shared;
        if let Some(level) = on_behalf.log_level {
            self.hear_log(level).await;
        }
        let heard = on_behalf.of.clone();
        let hook: Hook<Progress> = Arc::new(move |progress: &Progress| heard.progress(progress));
        let terms = Terms {
            timeout: shared.way.timeout(),
            headers: Vec::new(),
            meta: on_behalf.meta.clone(),
            progress: Progressing::Wanted(Some(hook)),
            ears: shared.ears.clone(),
            behalf: Some(on_behalf),
        };
        let result = shared.ask(request, terms, None).await?;
        shared.current().passed(&request.method(), result).await
    }

    /// Whether two share a connection.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Whether the server is asked to tell of each resource by itself, and remembers it.
    pub(crate) fn is_subscribed_to(&self) -> bool {
        matches!(self.shared.current().era, Dress::Handshake(_))
    }

    /// Has the server say as much of the log as this needs. One that does not want to is left alone.
    async fn hear_log(&self, level: LogLevel) {
        let connection = self.shared.current();
        let is_told = self.shared.wishes().log_level.is_some_and(|known| known <= level);
        if is_told || !connection.is_usable() || connection.server.capabilities.logging.is_none() {
            return;
        }
        if let Dress::Handshake(_) = &connection.era
            && let Err(error) = self.set_log_level(level).await
        {
            tracing::debug!(%error, "the server does not say more of its log");
        }
    }

    /// From now on the server is told that it may ask whoever requests are made for. One of the handshake era was told
    /// otherwise when the conversation was opened: it is opened again, if that can be done.
    pub(crate) fn pass_questions(&self) {
        self.shared.pass_questions();
    }
}

/// The requests under way on one connection that a server may ask about.
#[derive(Default)]
pub(crate) struct Carried(Mutex<Requests>);

#[derive(Default)]
struct Requests {
    /// Those of the application itself are nobody else's.
    running: HashMap<Id, Option<OnBehalf>>,
    /// Whose requests the connection has carried so far.
    callers: Callers,
}

#[derive(Default)]
enum Callers {
    #[default]
    Nobody,
    /// One, or the application itself.
    One(Option<Arc<str>>),
    Several,
}

/// When a server may say something about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaking {
    /// While it is under way.
    WhenAsked,
    /// Whenever it likes.
    Anytime,
}

/// Whose something is that a server says or asks.
pub(crate) enum Whose {
    Theirs(Arc<dyn Behalf>),
    /// The application's own.
    Ours,
    /// It cannot be told.
    Unknown,
}

impl Carried {
    fn lock(&self) -> MutexGuard<'_, Requests> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request until the guard is dropped.
    pub(crate) fn note(&self, id: &Id, method: &Method, behalf: Option<&OnBehalf>) -> Option<Under<'_>> {
        if !may_ask(method) {
            return None;
        }
        let mut requests = self.lock();
        let caller = behalf.map(|behalf| behalf.caller.clone());
        requests.callers = match std::mem::take(&mut requests.callers) {
            Callers::Nobody => Callers::One(caller),
            Callers::One(known) if known == caller => Callers::One(known),
            _ => Callers::Several,
        };
        requests.running.insert(id.clone(), behalf.cloned());
        Some(Under { carried: self, id: id.clone() })
    }

    /// Whose it is what the server says, on the stream of this request or on one that is everybody's.
    pub(crate) fn whose(&self, during: Option<&Id>, speaking: Speaking) -> Whose {
        let requests = self.lock();
        let request = match during {
            Some(id) => match requests.running.get(id) {
                Some(request) => request,
                None => return Whose::Ours,
            },
            None => {
                let mut running = requests.running.values();
                let is_alone = matches!(requests.callers, Callers::Nobody | Callers::One(_));
                match (running.next(), running.next()) {
                    (None, _) if is_alone => return Whose::Ours,
                    (Some(request), None) if is_alone || speaking == Speaking::WhenAsked => request,
                    _ => return Whose::Unknown,
                }
            }
        };
        match request {
            Some(behalf) => Whose::Theirs(behalf.of.clone()),
            None => Whose::Ours,
        }
    }
}

/// Whether a server may have questions about such a request. Those that list and subscribe have nothing to be asked about.
fn may_ask(method: &Method) -> bool {
    matches!(method, Method::CallTool | Method::GetPrompt | Method::ReadResource | Method::Other(_))
}

/// A request under way.
pub(crate) struct Under<'c> {
    carried: &'c Carried,
    id: Id,
}

impl Drop for Under<'_> {
    fn drop(&mut self) {
        self.carried.lock().running.remove(&self.id);
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Carried").field("running", &self.lock().running.len()).finish()
    }
}
