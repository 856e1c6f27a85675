//! Hooks: which of the author's functions run when a caller connects or disconnects, a call ends, or a handler fails?

use crate::server::admission::admit::{IntoAdmission, connect_hook};
use crate::server::build::builder::ServerBuilder;
use crate::server::handler::function::{Handler, erase_hook};

impl ServerBuilder {
    /// Sets a hook that runs for every error that was not written for the client: errors that were converted by `?`,
    /// panics, and results that do not match the output schema of their tool. Errors made with
    /// [`ToolError::new`](crate::server::ToolError::new) and similar functions are answers, and are not reported.
    ///
    /// The handler takes [`ErrorReport`](crate::server::ErrorReport) and any other parameter of a handler, from the
    /// call that failed. The answer waits for the hook, for at most five seconds. A panic in the hook is logged. Every
    /// error is logged too, with or without this hook.
    ///
    /// ```
    /// use std::sync::Mutex;
    /// use toolway::prelude::*;
    /// use toolway::server::{ErrorReport, ErrorScope};
    /// use toolway::testing::connect;
    ///
    /// /// Read the message of the day.
    /// #[tool]
    /// fn motd() -> Result<String, ToolError> {
    ///     Ok(std::fs::read_to_string("/no/such/file")?)
    /// }
    ///
    /// async fn remember(report: ErrorReport, seen: State<Mutex<Vec<String>>>) {
    ///     assert!(matches!(report.scope(), ErrorScope::Tool { name, .. } if name == "motd"));
    ///     seen.lock().unwrap().push(report.reference().to_owned());
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0")
    ///     .state(Mutex::new(Vec::<String>::new()))
    ///     .tools(tools![motd])
    ///     .on_error(remember)
    ///     .build()?;
    /// let result = connect(&server).await.call("motd", serde_json::json!({})).await?;
    /// let seen = server.state::<Mutex<Vec<String>>>().unwrap();
    /// assert!(result.first_text().unwrap().contains(&seen.lock().unwrap()[0]));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_error<P: 'static, H: Handler<P, Output = ()>>(mut self, handler: H) -> Self {
        self.check_hook("on_error", &handler);
        if self.error_hook.replace(erase_hook(handler)).is_some() {
            self.mistakes.push("`on_error` is called twice: a server can have only one".to_owned());
        }
        self
    }

    /// Sets a hook that runs once for every call that ends: successful, failed or cancelled. [`layer`](Self::layer)
    /// defines what a call is; requests that cannot be read or that name an unknown method count too. A call that is
    /// answered with a question to the user has not ended yet.
    ///
    /// The handler takes [`RequestStats`](crate::server::RequestStats) and any other parameter of a handler, from the
    /// call. The answer waits only until the hook's first `.await`; the hook may run for five seconds.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use toolway::prelude::*;
    /// use toolway::server::{RequestStats, ToolEntry};
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
        if self.request_end_hook.replace(erase_hook(handler)).is_some() {
            self.mistakes.push("`on_request_end` is called twice: a server can have only one".to_owned());
        }
        self
    }

    /// Adds a hook that runs when a client disconnects: over HTTP once for each admitted request, when its reply was
    /// written completely or its client disconnected before that; on a pipe once, when the pipe has ended. The handler
    /// takes [`DisconnectEvent`](crate::server::DisconnectEvent) and parameters from the request:
    /// [`State<T>`](crate::server::State), [`Headers`](crate::server::Headers),
    /// [`Extension<T>`](crate::server::Extension), [`Principal`](crate::server::Principal).
    ///
    /// The hook runs after the request and does not delay anything. A panic in the hook is logged; after five seconds
    /// the hook is stopped. If several hooks are added, all run, in the order in which they were added.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use toolway::prelude::*;
    /// use toolway::server::DisconnectEvent;
    ///
    /// async fn count(over: DisconnectEvent, lost: State<AtomicU32>) {
    ///     if !over.is_complete() {
    ///         lost.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// }
    ///
    /// let server = Server::new("app", "1.0.0").state(AtomicU32::new(0)).on_disconnect(count).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn on_disconnect<P: 'static, H: Handler<P, Output = ()>>(mut self, handler: H) -> Self {
        self.check_hook("on_disconnect", &handler);
        self.end_hooks.disconnect.push(erase_hook(handler));
        self
    }

    /// Adds a hook that runs when a session has ended permanently: it was deleted, it timed out, its pipe ended, or the
    /// server shuts down. The hook runs once for each session, on each server that has served the session. It does not
    /// run for stateless requests, which have no session. The handler takes
    /// [`TerminationEvent`](crate::server::TerminationEvent) and [`State<T>`](crate::server::State), and
    /// [`Principal`](crate::server::Principal) if every session has one. Other parameters are not available, because a
    /// session that has expired has no request.
    ///
    /// For delays, panics, the time limit and the order, the same applies as for
    /// [`on_disconnect`](Self::on_disconnect). The [memory](crate::server::Ctx::memory) of a session is deleted
    /// automatically.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use toolway::prelude::*;
    /// use toolway::server::TerminationEvent;
    ///
    /// type Carts = Mutex<HashMap<String, Vec<String>>>;
    ///
    /// async fn tidy_up(over: TerminationEvent, carts: State<Carts>) {
    ///     carts.lock().unwrap().remove(over.session_id());
    /// }
    ///
    /// let server = Server::new("shop", "1.0.0").state(Carts::default()).on_terminate(tidy_up).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn on_terminate<P: 'static, H: Handler<P, Output = ()>>(mut self, handler: H) -> Self {
        self.check_hook("on_terminate", &handler);
        self.end_hooks.terminate.push(erase_hook(handler));
        self
    }

    pub(crate) fn check_hook<P, H: Handler<P>>(&mut self, name: &str, handler: &H) {
        if handler.takes_arguments() {
            self.mistakes.push(format!("the handler of `{name}` takes an argument, but a hook gets none"));
        }
    }

    /// Sets the hook that admits or refuses clients and sets their principal. The handler takes
    /// [`ConnectRequest`](crate::server::ConnectRequest) and any other parameter of a handler, and returns
    /// [`Admit`](crate::server::Admit) or `Result<Admit, Refuse>`.
    ///
    /// The hook runs once for each pipe, and over HTTP for every request: an earlier admission does not count. If the
    /// hook panics or cannot be run, the client is refused and the reason is logged. Without this hook every client is
    /// admitted, and has no principal unless the application attached one to the request.
    ///
    /// A server has one such hook. The hook of a [merged](Self::merge) server is not taken over; [`build`](Self::build)
    /// reports this if the server would then have none.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Admit, ConnectRequest, Extension, Principal, Refuse};
    /// use toolway::testing::connect;
    ///
    /// struct Users(Vec<(&'static str, &'static str)>);
    /// struct Plan(&'static str);
    ///
    /// async fn authenticate(connecting: ConnectRequest, users: State<Users>) -> Result<Admit, Refuse> {
    ///     if connecting.is_pipe() {
    ///         return Ok(Admit::as_principal("the owner of this process").with(Plan("unlimited")));
    ///     }
    ///     let metadata = "https://app.example/.well-known/oauth-protected-resource/mcp";
    ///     let token = connecting.bearer().ok_or_else(|| Refuse::unauthorized(metadata))?;
    ///     let known = users.0.iter().find(|(known, _)| *known == token);
    ///     match known.ok_or_else(|| Refuse::unauthorized(metadata))? {
    ///         (_, "mallory") => Err(Refuse::forbidden("please upgrade your plan")),
    ///         (_, name) => Ok(Admit::as_principal(*name).with(Plan("small"))),
    ///     }
    /// }
    ///
    /// /// Say who calls.
    /// #[tool]
    /// fn whoami(caller: Principal, plan: Extension<Plan>) -> String {
    ///     format!("{caller}, whose plan is {}", plan.0)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let server = Server::new("app", "1.0.0")
    ///     .state(Users(vec![("secret", "ann"), ("other secret", "mallory")]))
    ///     .tools(tools![whoami])
    ///     .on_connect(authenticate)
    ///     .build()?;
    /// let result = connect(&server).await.call("whoami", serde_json::json!({})).await?;
    /// assert_eq!(result.first_text(), Some("the owner of this process, whose plan is unlimited"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn on_connect<P: 'static, H: Handler<P>>(mut self, handler: H) -> Self
    where
        H::Output: IntoAdmission,
    {
        if handler.takes_arguments() {
            self.mistakes.push(
                "the handler of `on_connect` takes an argument, but the client has sent none yet".to_owned(),
            );
        }
        if self.admission.replace(connect_hook(handler)).is_some() {
            self.mistakes.push("`on_connect` is called twice: a server can have only one".to_owned());
        }
        self
    }
}
