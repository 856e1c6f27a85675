//! Where does an unexpected error go? To the log and to the server's `on_error` hook. The peer gets only a reference.
//!
//! Every failure of a handler ends here: [`Server::tool_failure`] for tools, [`Server::request_failure`] for everything
//! else.

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
use crate::ground::operator::print_without_subscriber;
use crate::ground::panic::{Panic, catch_panic_async};
use crate::ground::poll_once::poll_once;
use crate::ground::random::random_hex;
use crate::server::Server;
use crate::server::call::question_log::QuestionContext;
use crate::server::call::scope::{Arrival, Scope};
use crate::server::failure::errors::{ErrorPolicy, Failure, Subject};
use crate::server::handler::function::ErasedHandler;
use crate::server::handler::parameter::{Missing, Parameter};

/// An error that was not meant for the peer, as a parameter of the [`on_error`](crate::server::ServerBuilder::on_error)
/// handler.
#[derive(Clone)]
pub struct ErrorReport {
    error: Arc<dyn StdError + Send + Sync>,
    reference: Arc<str>,
    scope: ErrorScope,
}

impl ErrorReport {
    /// Returns the error.
    pub fn error(&self) -> &(dyn StdError + Send + Sync + 'static) {
        &*self.error
    }

    /// Returns the reference that the peer got instead of the error, and that the log contains.
    pub fn reference(&self) -> &str {
        &self.reference
    }

    /// Returns where the error occurred.
    pub fn scope(&self) -> &ErrorScope {
        &self.scope
    }

    /// Returns whether the error was a panic.
    pub fn is_panic(&self) -> bool {
        self.error.is::<Panic>()
    }
}

/// Leaves out the arguments.
impl fmt::Debug for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("ErrorReport");
        shown.field("error", &self.error).field("reference", &self.reference).finish_non_exhaustive()
    }
}

/// Writes the error, and each cause after a colon.
impl fmt::Display for ErrorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Chain(&*self.error).fmt(f)
    }
}

impl Parameter for ErrorReport {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// Where an error occurred.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorScope {
    /// In the handler of a tool.
    #[non_exhaustive]
    Tool {
        /// The name of the tool.
        name: String,
        /// The arguments of the call.
        arguments: Option<RawJson>,
    },
    /// In any other handler.
    #[non_exhaustive]
    Request {
        /// The method, such as `resources/read`.
        method: String,
        /// The name of the prompt, the URI, or the argument that the request was about.
        name: Option<String>,
    },
}

/// The handler of `on_error`.
pub(crate) type ErrorHook = ErasedHandler<ErrorReport, ()>;

impl Server {
    /// Returns the result of a tool that failed. `arguments` come from
    /// [`arguments_for_report`](Self::arguments_for_report).
    pub(crate) async fn tool_failure(
        &self,
        scope: &Scope,
        subject: Subject<'_>,
        arguments: Option<RawJson>,
        failure: Failure,
    ) -> Result<CallToolResult, Failure> {
        // If the handler has asked a question that is still open, the question takes precedence over the failure, which
        // usually comes from `ask`.
        if scope.question_log().has_open_questions() {
            return Err(Failure::Unanswered);
        }
        match failure {
            Failure::Visible(text) => Ok(CallToolResult::error(text)),
            Failure::NotFound => Ok(CallToolResult::error("no such resource")),
            failure @ (Failure::Rpc(_)
            | Failure::MissingCapabilities(..)
            | Failure::NoSuchResource(_)
            | Failure::Unanswered) => Err(failure),
            Failure::Hidden(cause) => {
                let place = ErrorScope::Tool { name: subject.name.to_owned(), arguments };
                // Boxed, here and below, so that rare cases do not enlarge the futures of calls.
                let text = Box::pin(self.report(scope, subject, place, cause)).await;
                match self.inner.errors {
                    ErrorPolicy::Rpc => Err(RpcError::internal(text).into()),
                    ErrorPolicy::Hidden | ErrorPolicy::Verbose => Ok(CallToolResult::error(text)),
                }
            }
        }
    }

    /// Returns the failure of a request that is not a tool call.
    pub(crate) async fn request_failure(
        &self,
        scope: &Scope,
        subject: Subject<'_>,
        failure: Failure,
    ) -> Failure {
        if scope.question_log().has_open_questions() {
            return Failure::Unanswered;
        }
        match failure {
            Failure::Visible(text) => RpcError::internal(text).into(),
            failure @ (Failure::Rpc(_)
            | Failure::MissingCapabilities(..)
            | Failure::NoSuchResource(_)
            | Failure::Unanswered) => failure,
            // The protocol's error code is only for the requested resource. Here the handler itself needed another
            // resource.
            Failure::NotFound => RpcError::internal("no such resource").into(),
            Failure::Hidden(cause) => {
                let Subject { method, name, .. } = subject;
                let name = (name != method).then(|| name.to_owned());
                let place = ErrorScope::Request { method: method.to_owned(), name };
                RpcError::internal(Box::pin(self.report(scope, subject, place, cause)).await).into()
            }
        }
    }

    /// Returns the arguments, if there is an `on_error` hook that may need them.
    pub(crate) fn arguments_for_report(&self, arguments: Option<&RawJson>) -> Option<RawJson> {
        self.inner.error_hook.as_ref().and(arguments).cloned()
    }

    /// Sends the cause to the log and to the hook, under a reference. Returns the text for the peer.
    async fn report(&self, call: &Scope, subject: Subject<'_>, scope: ErrorScope, cause: BoxError) -> String {
        call.arrival().telemetry.mark_unexpected();
        let reference = random_hex::<8>();
        let Subject { kind, name, .. } = subject.truncated();
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
        // The caller gives the reference to the operator, who must be able to find it even without a `tracing`
        // subscriber.
        print_without_subscriber(format_args!(
            "the {kind} `{name}` failed, reference {reference}: {told}{remedy}"
        ));
        let text = self.inner.errors.client_text(subject, &told, &reference);
        if let Some(reporter) = &self.inner.error_hook {
            let report = ErrorReport { error: cause.into(), reference: reference.into(), scope };
            // A new scope, because a hook must not ask: its question would replace the failure.
            let arrival = Arrival { questions: QuestionContext::default(), ..call.arrival().clone() };
            let scope = Scope::begin(self.clone(), Box::new(arrival));
            run_hook("on_error", || reporter.call(report, &scope)).await;
        }
        text
    }
}

/// Returns a hint for the developer, as the end of a sentence: how a handler gives the caller a text instead of the
/// reference.
fn remedy(errors: ErrorPolicy, kind: &str, is_panic: bool) -> &'static str {
    match kind {
        _ if is_panic || errors == ErrorPolicy::Verbose => "",
        "tool" | "method" => "; for a text that the caller reads, return `ToolError::new(text)`",
        "resource" | "list" => "; for a text that the caller reads, return `ResourceError::new(text)`",
        "prompt" => "; for a text that the caller reads, return `PromptError::new(text)`",
        _ => "",
    }
}

/// Runs a hook for a limited time. Its errors and panics go to the log. `start` is called under the same protection,
/// because it calls application code too.
pub(crate) async fn run_hook(
    hook: &'static str,
    start: impl FnOnce() -> BoxFuture<'static, Result<(), BoxError>>,
) {
    let cause: BoxError = match catch_panic_async(|| Box::pin(with_hook_timeout(start()))).await {
        Ok(Ok(())) => return,
        Ok(Err(error)) => error,
        Err(panic) => panic.into(),
    };
    tracing::error!(target: "toolway", hook, error = %Chain(&*cause), "a hook failed");
}

/// Waits for a hook for a limited time. Most hooks finish in the first poll, and need no timer. Outside of a tokio
/// runtime no timer exists, so the hook runs without a limit.
async fn with_hook_timeout(mut running: BoxFuture<'static, Result<(), BoxError>>) -> Result<(), BoxError> {
    if let Poll::Ready(done) = poll_once(running.as_mut()).await {
        return done;
    }
    if Handle::try_current().is_err() {
        return running.await;
    }
    tokio::time::timeout(HOOK_TIMEOUT, running).await?
}

/// How long a hook may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);
