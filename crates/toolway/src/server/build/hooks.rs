//! Hooks: what of the author's runs when a caller comes or goes, a call ends, or a handler fails?

use crate::server::admission::admit::{IntoAdmission, admission};
use crate::server::build::builder::ServerBuilder;
use crate::server::handler::function::{Handler, hook};

impl ServerBuilder {
    /// Hears of every error that was not meant for the peer: what came through `?`, panics, results that their own schema does
    /// not allow. Not of [`ToolError::new`](crate::server::ToolError::new) and its kin, which are answers.
    ///
    /// The handler takes [`ErrorReport`](crate::server::ErrorReport) and whatever else handlers take, those of the call that failed. The answer waits for it,
    /// for five seconds at most; if it panics, that is written to the log. Without one there is the log only, which has
    /// every error anyway.
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
        if self.reporter.replace(hook(handler)).is_some() {
            self.mistakes.push("`on_error` is called twice: a server has one".to_owned());
        }
        self
    }

    /// Hears of every call that is over, once: those that went well, those that failed, and those that nobody waited for any
    /// more. What a call is, [`layer`](Self::layer) says; beside these, a request is counted that names no method of this server
    /// or cannot be read. A call that ends in a question to the user is not over.
    ///
    /// The handler takes [`RequestStats`](crate::server::RequestStats) and whatever else handlers take, those of the call. The answer does not wait for
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
        if self.counter.replace(hook(handler)).is_some() {
            self.mistakes.push("`on_request_end` is called twice: a server has one".to_owned());
        }
        self
    }

    /// Does something whenever a peer has gone: over HTTP once for each request that was let in, when its reply was written
    /// to its end or its client went away before that; on a pipe once, when the pipe has ended. The handler takes
    /// [`Disconnected`](crate::server::Disconnected) and what handlers take of a request: [`State<T>`](crate::server::State), [`Headers`](crate::server::Headers),
    /// [`Extension<T>`](crate::server::Extension), [`Principal`](crate::server::Principal).
    ///
    /// It runs when the request is over and delays nobody. One that panics is told in the log, one that takes longer than
    /// five seconds is stopped. Of several, each runs, in the order in which they were added.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    /// use toolway::prelude::*;
    /// use toolway::server::Disconnected;
    ///
    /// async fn count(over: Disconnected, lost: State<AtomicU32>) {
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
        self.endings.disconnect.push(hook(handler));
        self
    }

    /// Does something whenever a session has ended for good: it was deleted, was silent for too long, its pipe ended, or
    /// the server stops. Once for each session, on each server that has served it. Requests that stand alone have no
    /// session, and nothing happens for them. The handler takes [`Terminated`](crate::server::Terminated) and [`State<T>`](crate::server::State), and
    /// [`Principal`](crate::server::Principal) where every session has one; a session that has expired has no request that the rest
    /// could come from.
    ///
    /// It runs as hooks of [`on_disconnect`](Self::on_disconnect) do. What is
    /// [remembered](crate::server::Ctx::memory) in a session is forgotten by itself.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Mutex;
    /// use toolway::prelude::*;
    /// use toolway::server::Terminated;
    ///
    /// type Carts = Mutex<HashMap<String, Vec<String>>>;
    ///
    /// async fn tidy_up(over: Terminated, carts: State<Carts>) {
    ///     carts.lock().unwrap().remove(over.session_id());
    /// }
    ///
    /// let server = Server::new("shop", "1.0.0").state(Carts::default()).on_terminate(tidy_up).build()?;
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn on_terminate<P: 'static, H: Handler<P, Output = ()>>(mut self, handler: H) -> Self {
        self.check_hook("on_terminate", &handler);
        self.endings.terminate.push(hook(handler));
        self
    }

    pub(crate) fn check_hook<P, H: Handler<P>>(&mut self, name: &str, handler: &H) {
        if handler.takes_arguments() {
            self.mistakes.push(format!("the handler of `{name}` takes an argument, but nothing was sent"));
        }
    }

    /// Decides who may come in, and as whom. The handler takes [`Connecting`](crate::server::Connecting) and whatever else handlers take, and returns
    /// [`Admit`](crate::server::Admit) or `Result<Admit, Refuse>`.
    ///
    /// It runs once for each pipe, and over HTTP for every request: no caller is trusted for what came before. When it panics
    /// or cannot be run, the peer is refused and the log says why. Without it everybody is admitted, as nobody.
    ///
    /// A server has one; one that was given to a [merged](Self::merge) server is not taken over, and
    /// [`build`](Self::build) says so where that would leave the door open.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// struct Users(Vec<(&'static str, &'static str)>);
    /// struct Plan(&'static str);
    ///
    /// async fn authenticate(connecting: Connecting, users: State<Users>) -> Result<Admit, Refuse> {
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
            self.mistakes
                .push("the handler of `on_connect` takes an argument, but nothing was sent yet".to_owned());
        }
        if self.admission.replace(admission(handler)).is_some() {
            self.mistakes.push("`on_connect` is called twice: a server has one".to_owned());
        }
        self
    }
}
