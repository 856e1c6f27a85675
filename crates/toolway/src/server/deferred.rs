//! How does a handler answer after it has returned?
//!
//! It returns a [`Deferred`] and leaves the [`Responder`] to somebody else. To the server a deferred answer is a failure
//! with a face of its own ([`Later`]): where an outcome is looked at, that one is waited for, and no other handler pays for it.
//! The call goes on meanwhile: it can be cancelled, it is told of progress, and it holds its place among those that run.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use toolway_protocol::RawJson;
use toolway_protocol::types::{CallToolResult, GetPromptResult, ReadResourceResult};

use super::failure::{BoxError, Face, PromptError, ResourceError, ToolError};
use super::handler::Running;
use super::method::IntoReply;
use super::respond::{About, IntoPrompt, IntoResource, IntoToolResult};
use crate::panic::{Panic, catch};

/// An answer that comes later, from anywhere: what a handler returns that has handed its [`Responder`] to another task, a
/// queue or a thread.
///
/// Tools, prompts, resources and [methods](super::ServerBuilder::method) may return one, with whatever else they may return
/// inside. An `async fn` that waits is simpler where it will do.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Deferred, Responder};
/// use toolway::testing::connect;
///
/// type Job = (u32, Responder<u32>);
/// type Queue = tokio::sync::mpsc::UnboundedSender<Job>;
///
/// /// Double a number, when its turn comes.
/// #[tool]
/// fn double(number: u32, queue: State<Queue>) -> Deferred<u32> {
///     let (responder, deferred) = Deferred::new();
///     // A queue that is gone drops the responder, and the call fails.
///     let _ = queue.send((number, responder));
///     deferred
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let (queue, mut waiting) = tokio::sync::mpsc::unbounded_channel::<Job>();
/// tokio::spawn(async move {
///     while let Some((number, responder)) = waiting.recv().await {
///         if responder.is_wanted() {
///             let _ = responder.respond(2 * number);
///         }
///     }
/// });
/// let server = Server::new("queue", "1.0.0").state::<Queue>(queue).tools(tools![double]).build()?;
/// let result = connect(&server).await.call("double", serde_json::json!({"number": 21})).await?;
/// assert_eq!(result.first_text(), Some("42"));
/// # Ok(())
/// # }
/// ```
#[must_use = "it is what the handler returns"]
pub struct Deferred<T>(oneshot::Receiver<Result<T, BoxError>>);

/// Whoever has it answers a call that its handler has left open. Dropping it fails the call, and the log says why.
///
/// ```
/// use toolway::server::Deferred;
///
/// let (responder, deferred) = Deferred::<String>::new();
/// assert!(responder.is_wanted());
/// drop(deferred); // as the server does when the caller has gone
/// assert_eq!(responder.respond("done".to_owned()), Err("done".to_owned()));
/// ```
#[must_use = "dropping it fails the call"]
pub struct Responder<T>(oneshot::Sender<Result<T, BoxError>>);

impl<T> Deferred<T> {
    /// The two ends: one to keep, one to return.
    pub fn new() -> (Responder<T>, Self) {
        let (sender, receiver) = oneshot::channel();
        (Responder(sender), Self(receiver))
    }

    async fn wait(self) -> Result<T, BoxError> {
        self.0.await.unwrap_or_else(|_| Err("the handler gave up its answer".into()))
    }
}

impl<T> Responder<T> {
    /// Answers the call.
    ///
    /// # Errors
    ///
    /// The value, if nobody wants it any more: the caller has gone, or has cancelled the call.
    pub fn respond(self, value: T) -> Result<(), T> {
        self.0.send(Ok(value)).map_err(|unsent| match unsent {
            Ok(value) => value,
            Err(_) => unreachable!("what comes back is what was sent"),
        })
    }

    /// Fails the call, as if the handler had returned the error: a [`ToolError`] made by `new` is for the peer to read, and
    /// so are those of prompts and resources; of any other error it gets a reference. Whether somebody wanted to know.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Deferred;
    ///
    /// /// Wait for a turn.
    /// #[tool]
    /// fn wait() -> Deferred<String> {
    ///     let (responder, deferred) = Deferred::new();
    ///     std::thread::spawn(move || responder.fail(ToolError::new("the queue is closed today")));
    ///     deferred
    /// }
    /// ```
    pub fn fail(self, error: impl Into<BoxError>) -> bool {
        self.0.send(Err(error.into())).is_ok()
    }

    /// Whether somebody waits for the answer.
    pub fn is_wanted(&self) -> bool {
        !self.0.is_closed()
    }

    /// Ends when nobody waits for the answer any more.
    ///
    /// ```
    /// use toolway::server::Responder;
    ///
    /// async fn work(mut responder: Responder<String>, result: impl Future<Output = String>) {
    ///     tokio::select! {
    ///         () = responder.cancelled() => {}
    ///         result = result => drop(responder.respond(result)),
    ///     }
    /// }
    /// ```
    pub async fn cancelled(&mut self) {
        self.0.closed().await;
    }
}

impl<T> fmt::Debug for Deferred<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer that comes later")
    }
}

impl<T> fmt::Debug for Responder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Responder").field("is_wanted", &self.is_wanted()).finish()
    }
}

impl<T: IntoToolResult + Send + 'static> IntoToolResult for Deferred<T> {
    fn into_tool_result(self) -> Result<CallToolResult, ToolError> {
        let work = async { self.wait().await.map_err(ToolError::hidden)?.into_tool_result() };
        Err(ToolError(Face::Later(Later::tool(work))))
    }

    fn output_schema() -> Option<RawJson> {
        T::output_schema()
    }
}

impl<T: IntoPrompt + Send + 'static> IntoPrompt for Deferred<T> {
    fn into_prompt(self) -> Result<GetPromptResult, PromptError> {
        let work = async { self.wait().await.map_err(PromptError::hidden)?.into_prompt() };
        Err(PromptError(Face::Later(Later::prompt(work))))
    }
}

impl<T: IntoResource + Send> IntoResource for Deferred<T> {
    async fn into_resource(self, about: About) -> Result<ReadResourceResult, ResourceError> {
        self.wait().await.map_err(ResourceError::hidden)?.into_resource(about).await
    }
}

impl<T: IntoReply + Send + 'static> IntoReply for Deferred<T> {
    fn into_reply(self) -> Result<RawJson, BoxError> {
        let work = async { self.wait().await?.into_reply() };
        Err(ToolError(Face::Later(Later::reply(work))).into())
    }
}

/// What is to be waited for, in the place of an error. Behind a lock that nobody ever waits for: errors can be shared between
/// threads, and futures cannot.
pub(super) struct Later(Mutex<Kind>);

enum Kind {
    Tool(Running<Result<CallToolResult, ToolError>>),
    Prompt(Running<Result<GetPromptResult, PromptError>>),
    Reply(Running<Result<RawJson, BoxError>>),
}

macro_rules! kinds {
    ($($name:ident, $kind:ident, $out:ty;)*) => {
        impl Later {
            $(fn $name(work: impl Future<Output = $out> + Send + 'static) -> Self {
                Self(Mutex::new(Kind::$kind(Box::pin(work))))
            })*
        }
    };
}
kinds! {
    tool, Tool, Result<CallToolResult, ToolError>;
    prompt, Prompt, Result<GetPromptResult, PromptError>;
    reply, Reply, Result<RawJson, BoxError>;
}

impl Later {
    fn into_kind(self) -> Kind {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left where nobody waits: the answer of a prompt that a tool was given, for example.
    pub(super) fn astray(self) -> Face {
        Face::Hidden(self.to_string().into())
    }
}

impl fmt::Display for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer was deferred where none can be waited for")
    }
}

impl fmt::Debug for Later {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Later")
    }
}

/// How a call of a tool has ended, after what is deferred.
pub(super) async fn tool(
    mut outcome: Result<Result<CallToolResult, ToolError>, Panic>,
) -> Result<Result<CallToolResult, ToolError>, Panic> {
    // What comes later may be deferred again.
    while let Ok(Err(ToolError(Face::Later(later)))) = outcome {
        outcome = match later.into_kind() {
            Kind::Tool(work) => catch(|| work).await,
            other => return Ok(Err(ToolError(other.astray()))),
        };
    }
    outcome
}

/// How a prompt was filled in, after what is deferred.
pub(super) async fn prompt(
    mut outcome: Result<Result<GetPromptResult, PromptError>, Panic>,
) -> Result<Result<GetPromptResult, PromptError>, Panic> {
    while let Ok(Err(PromptError(Face::Later(later)))) = outcome {
        outcome = match later.into_kind() {
            Kind::Prompt(work) => catch(|| work).await,
            other => return Ok(Err(PromptError(other.astray()))),
        };
    }
    outcome
}

/// How a method has ended, after what is deferred.
pub(super) async fn reply(
    mut outcome: Result<Result<RawJson, BoxError>, Panic>,
) -> Result<Result<RawJson, ToolError>, Panic> {
    loop {
        outcome = match outcome?.map_err(ToolError::hidden) {
            Err(ToolError(Face::Later(later))) => match later.into_kind() {
                Kind::Reply(work) => catch(|| work).await,
                other => return Ok(Err(ToolError(other.astray()))),
            },
            settled => return Ok(settled),
        };
    }
}

impl Kind {
    fn astray(self) -> Face {
        Later(Mutex::new(self)).astray()
    }
}
