//! Who hears of an error that nobody expected? The log, and the server's own hook; the peer gets a reference.
//!
//! Every failure of a handler ends here: [`Server::tool_failed`] for tools, [`Server::failed`] for everything else.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::Handle;
use toolway_protocol::types::CallToolResult;
use toolway_protocol::{RawJson, RpcError};

use crate::ground::error::Chain;
use crate::ground::future::BoxFuture;
use crate::ground::mistakes::BoxError;
use crate::ground::operator::tell_without_log;
use crate::ground::panic::{Panic, catch};
use crate::ground::poll_once::poll_once;
use crate::ground::random::random;
use crate::server::Server;
use crate::server::call::question_log::Asking;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::failure::errors::{ErrorPolicy, Failure, Subject};
use crate::server::handler::function::Erased;
use crate::server::handler::parameter::{Missing, Parameter};

/// An error that was not meant for the peer, as a parameter of the handler of [`on_error`](crate::server::ServerBuilder::on_error).
#[derive(Clone)]
pub struct ErrorReport {
    error: Arc<dyn StdError + Send + Sync>,
    reference: Arc<str>,
    scope: ErrorScope,
}

impl ErrorReport {
    /// What went wrong.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// What the peer was told instead, and what stands in the log.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Where it went wrong.
    pub fn scope(&self) -> &ErrorScope {
        &self.scope
    }

    /// Whether it was a panic.
    pub fn is_panic(&self) -> bool {
        self.error.is::<Panic>()
    }
}

/// Without the arguments.
impl fmt::Debug for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ErrorReport");
        shown.field("error", &self.error).field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// The error, each cause after a colon.
impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Chain(&*self.error).fmt(f)
    }
}

impl Parameter for ErrorReport {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.subject::<Self>().cloned().ok_or(Missing)
    }
}

/// Where an error came up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorScope {
    /// In a tool.
    #[non_exhaustive]
    Tool {
        /// Its name.
        name: String,
        /// What it was called with.
        arguments: Option<RawJson>,
    },
    /// In anything else.
    #[non_exhaustive]
    Request {
        /// The method: `resources/read`.
        method: String,
        /// The prompt, the URI or the argument that it was about.
        name: Option<String>,
    },
}

/// The handler of `on_error`.
pub(crate) type Reporter = Erased<ErrorReport, ()>;

impl Server {
    /// What the caller of a tool gets when it failed. `arguments` are what [`kept`](Self::kept) has kept.
    pub(crate) async fn tool_failed(
        &self,
        scope: &Scope,
        subject: Subject<'_>,
        arguments: Option<RawJson>,
        failure: Failure,
    ) -> Result<CallToolResult, Failure> {
        // A question that waits for its answer counts more than whatever the handler made of that.
        if scope.asked().is_open() {
            return Err(Failure::Unanswered);
        }
        match failure {
            Failure::Visible(text) => Ok(CallToolResult::error(text)),
            Failure::NotFound => Ok(CallToolResult::error("no such resource")),
            failure @ (Failure::Rpc(_)
            | Failure::Lacks(..)
            | Failure::NoSuchResource(_)
            | Failure::Unanswered) => Err(failure),
            Failure::Hidden(cause) => {
                let place = ErrorScope::Tool { name: subject.name.to_owned(), arguments };
                // Boxed, here and below: what seldom happens shall not make the futures of calls larger.
                let text = Box::pin(self.report(scope, subject, place, cause)).await;
                match self.inner.errors {
                    ErrorPolicy::Rpc => Err(RpcError::internal(text).into()),
                    ErrorPolicy::Hidden | ErrorPolicy::Verbose => Ok(CallToolResult::error(text)),
                }
            }
        }
    }

    /// What the caller of anything else gets.
    pub(crate) async fn failed(&self, scope: &Scope, subject: Subject<'_>, failure: Failure) -> Failure {
        if scope.asked().is_open() {
            return Failure::Unanswered;
        }
        match failure {
            Failure::Visible(text) => RpcError::internal(text).into(),
            failure @ (Failure::Rpc(_)
            | Failure::Lacks(..)
            | Failure::NoSuchResource(_)
            | Failure::Unanswered) => failure,
            // The protocol's code is for the resource that was asked for; this one somebody else wanted on the way.
            Failure::NotFound => RpcError::internal("no such resource").into(),
            Failure::Hidden(cause) => {
                let Subject { method, name, .. } = subject;
                let name = (name != method).then(|| name.to_owned());
                let place = ErrorScope::Request { method: method.to_owned(), name };
                RpcError::internal(Box::pin(self.report(scope, subject, place, cause)).await).into()
            }
        }
    }

    /// What was sent, if a report may want it.
    pub(crate) fn kept(&self, arguments: Option<&RawJson>) -> Option<RawJson> {
        self.inner.reporter.as_ref().and(arguments).cloned()
    }

    /// The cause goes to the log and to the hook under a reference. What comes back is for the peer.
    async fn report(&self, call: &Scope, subject: Subject<'_>, scope: ErrorScope, cause: BoxError) -> String {
        call.arrival().noted.unexpected();
        let reference = random::<8>();
        let Subject { kind, name, .. } = subject.cut();
        let told = Chain(&*cause).to_string();
        let remedy = remedy(self.inner.errors, kind, (*cause).is::<Panic>());
        tracing::error!(
            name: "toolway.call.exception",
            target: "toolway",
            kind,
            name,
            reference,
            error = %told,
            "a handler failed{remedy}"
        );
        // The caller was sent to the operator: the reference must be found somewhere.
        tell_without_log(format_args!("the {kind} `{name}` failed, reference {reference}: {told}{remedy}"));
        let text = self.inner.errors.say(subject, &told, &reference);
        if let Some(reporter) = &self.inner.reporter {
            let report = ErrorReport { error: cause.into(), reference: reference.into(), scope };
            // A scope of its own, because a hook must not ask: its question would take the place of the failure.
            let arrival = Arrival { asking: Asking::default(), ..call.arrival().clone() };
            let scope = Scope::begin(self.clone(), Box::new(arrival));
            within_time("on_error", || reporter.call(report, &scope)).await;
        }
        text
    }
}

/// The way to tell a caller more than the reference, for the end of a sentence.
fn remedy(errors: ErrorPolicy, kind: &str, is_panic: bool) -> &'static str {
    match kind {
        _ if is_panic || errors == ErrorPolicy::Verbose => "",
        "tool" | "method" => "; for a text that the caller reads, return `ToolError::new(text)`",
        "resource" | "list" => "; for a text that the caller reads, return `ResourceError::new(text)`",
        "prompt" => "; for a text that the caller reads, return `PromptError::new(text)`",
        _ => "",
    }
}

/// Runs a hook: neither its errors nor its slowness are anybody else's. Starting it runs code of the application too.
pub(crate) async fn within_time(
    hook: &'static str,
    start: impl FnOnce() -> BoxFuture<'static, Result<(), BoxError>>,
) {
    let cause: BoxError = match catch(|| Box::pin(in_time(start()))).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(panic) => panic.into(),
    };
    tracing::error!(target: "toolway", hook, error = %Chain(&*cause), "a hook failed");
}

/// Most hooks are done at once, and need no clock; a host without a runtime has none.
async fn in_time(mut running: BoxFuture<'static, Result<(), BoxError>>) -> Result<(), BoxError> {
    if let Poll::Ready(done) = poll_once(running.as_mut()).await {
        return done;
    }
    if Handle::try_current().is_err() {
        return running.await;
    }
    tokio::time::timeout(MAX_HOOK, running).await?
}

/// How long a hook may take.
const MAX_HOOK: Duration = Duration::from_secs(5);
