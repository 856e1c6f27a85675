//! What is told of a call that is over?

use std::borrow::Cow;
use std::time::Duration;

use crate::server::build::builder::ServerBuilder;
use crate::server::call::scope::Scope;
use crate::server::handler::function::{Erased, Handler, hook};
use crate::server::handler::parameter::{Missing, Parameter};

/// What became of a call, as a parameter of the handler of [`on_request_end`](ServerBuilder::on_request_end).
///
/// Everything in it may be the label of a metric: there are only as many values as the server has names. Nothing that a peer
/// makes up gets here.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestStats {
    /// The method: one of the protocol, or one that the server was given. Any other one is `unknown`.
    pub method: Cow<'static, str>,
    /// The tool that was called, if there is one of this name.
    pub tool: Option<String>,
    /// The prompt that was filled in or completed, if there is one of this name.
    pub prompt: Option<String>,
    /// The resource that was read or completed, if one is registered: its URI, or the template of its family as it was
    /// registered, without the values of this call.
    pub uri: Option<String>,
    /// What was wrong; nothing, if the call went well.
    ///
    /// | code | meaning |
    /// |---|---|
    /// | `tool_not_found`, `prompt_not_found`, `resource_not_found`, `method_not_found` | there is no such thing |
    /// | `invalid_params` | the peer sent what cannot be taken, such as an unknown argument of a prompt |
    /// | `invalid_request` | an error of this code, such as a refusal of a layer |
    /// | `tool_error` | the tool said that it failed, in words for the model: arguments that do not fit the schema among them |
    /// | `internal_error` | an error that was not meant for the peer, a panic, or an error of this code |
    /// | `cancelled` | nobody waited for the answer any more |
    /// | `error` | an error of any other code |
    pub error: Option<&'static str>,
    /// How long it took, layers and all.
    pub duration: Duration,
    /// How often the handler ran: more than once, if it asked the user. 0, if no handler was reached.
    pub rounds: u32,
}

impl Parameter for RequestStats {
    fn absent(scope: &Scope) -> Result<Self, Missing> {
        scope.stats().cloned().ok_or(Missing)
    }
}

/// The handler of `on_request_end`.
pub(crate) type Counter = Erased<RequestStats, ()>;

impl ServerBuilder {
    /// Hears of every call that is over, once: those that went well, those that failed, and those that nobody waited for any
    /// more. What a call is, [`layer`](Self::layer) says; beside these, a request is counted that names no method of this server
    /// or cannot be read. A call that ends in a question to the user is not over.
    ///
    /// The handler takes [`RequestStats`] and whatever else handlers take, those of the call. The answer does not wait for
    /// it beyond its first `.await`; it may take five seconds.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use toolway::prelude::*;
    /// use toolway::server::RequestStats;
    /// use toolway::testing::connect;
    ///
    /// type Counts = Mutex<HashMap<String, u32>>;
    ///
    /// async fn count(stats: RequestStats, counts: State<Counts>) {
    ///     let tool = stats.tool.as_deref().unwrap_or("-");
    ///     let label = format!("{} {tool} {}", stats.method, stats.error.unwrap_or("ok"));
    ///     *counts.lock().unwrap().entry(label).or_default() += 1;
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0")
    ///     .state(Counts::default())
    ///     .tool(ToolEntry::from_fn("hello", || async { "hello" }))
    ///     .on_request_end(count)
    ///     .build()?;
    /// let client = connect(&server).await;
    /// client.call("hello", serde_json::json!({})).await?;
    /// client.call("made-up-name", serde_json::json!({})).await.unwrap_err();
    /// let counts = server.state::<Counts>().unwrap();
    /// assert_eq!(counts.lock().unwrap()["tools/call hello ok"], 1);
    /// assert_eq!(counts.lock().unwrap()["tools/call - tool_not_found"], 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_request_end<P: 'static, H: Handler<P, Output = ()>>(mut self, handler: H) -> Self {
        self.check_hook("on_request_end", &handler);
        if self.counter.replace(hook(handler, Scope::counting)).is_some() {
            self.mistakes.push("`on_request_end` is called twice: a server has one".to_owned());
        }
        self
    }
}
