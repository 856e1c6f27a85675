//! Which settings does a client have?

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::{
    CreateMessage, CreateMessageResult, Implementation, LogMessage, Progress, Root,
};

use crate::client::answer::answers::{Answer, AnswerError, Elicitation, answer_handler};
use crate::client::connect::client::Client;
use crate::client::connect::config::Config;
use crate::client::connect::list_limit::ListLimit;
use crate::client::connect::shared::ClientState;
use crate::client::handshake::era_cache::EraCache;
use crate::client::pipe::streams;
use crate::client::record::Recorder;
use crate::client::wire::target::{IntoTarget, Target};
use crate::ground::error::{Error, ErrorKind, Result};
use crate::transport::frame::message_limit;

/// The settings of a client. Made by [`Client::builder`].
#[derive(Clone, Default)]
pub struct ClientBuilder {
    pub(super) config: Config,
}

impl ClientBuilder {
    /// Sets the name and version that the client reports.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.config.info = Implementation::new(name, version);
        self
    }

    /// Uses this protocol revision instead of negotiating one. A server of the handshake era may still answer with an
    /// older revision.
    pub fn protocol(mut self, version: ProtocolVersion) -> Self {
        self.config.pinned = Some(version);
        self
    }

    /// Adds a header to every request, on transports that have headers (HTTP). The header is sent to this server only:
    /// the client does not follow redirects to another origin.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.headers.push((name.into(), value.into()));
        self
    }

    /// Sends this bearer token with every request, on transports that have headers (HTTP).
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// Sets how long the server may be silent about a request before the request times out; by default one minute. Each
    /// progress notification restarts the time. `None` waits until the [`deadline`](Self::deadline).
    /// [`Exchange::timeout`](crate::client::Exchange::timeout) sets the timeout of one request.
    pub fn timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.config.timeout = limit.into();
        self
    }

    /// Sets how long a request may take in total before it fails and is cancelled; by default one hour. Progress does
    /// not restart this time. Time in which the client answers questions of the server does not count. `None` sets no
    /// limit. [`Exchange::deadline`](crate::client::Exchange::deadline) sets the deadline of one request.
    ///
    /// ```
    /// use std::time::Duration;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().deadline(Duration::from_secs(10 * 60));
    /// ```
    pub fn deadline(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.config.deadline = limit.into();
        self
    }

    /// Sets how long it may take to connect to a server; by default 30 seconds. A command such as `npx` may have to
    /// download the server first.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.config.connect_timeout = limit;
        self
    }

    /// Sets how long a server on a pipe may take to answer the first request, `server/discover`; by default five
    /// seconds. Servers of the handshake era do not know this request and may ignore it, so after this time the client
    /// sends `initialize`.
    pub fn probe_timeout(mut self, limit: Duration) -> Self {
        self.config.probe_timeout = limit;
        self
    }

    /// Sets how often a request is sent again if the server cannot be reached or has ended the session; by default six
    /// times. Between attempts the client waits for a random time of at most five seconds, or longer if the server asks
    /// for it. The first connection is opened again only if the server asks for it (`Retry-After`). `0` disables retries.
    pub fn retries(mut self, retries: u32) -> Self {
        self.config.retries = retries;
        self
    }

    /// Sets the maximum length, in bytes, of a message that is sent or accepted, on every transport; by default 16 MiB.
    /// If a request or its reply is longer, the call fails with an error for which
    /// [`Error::is_too_large`](crate::Error::is_too_large) is `true`. The longer request is not sent.
    ///
    /// Servers have limits too, and some servers state their limit when they refuse a request (`data.maxMessage` of the
    /// error). After that, longer requests on this connection fail at once, without being sent.
    /// [`Command::max_message`](crate::client::Command::max_message) and `Http::max_message` set the limit for one
    /// server.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().max_message(64 << 20);
    /// ```
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.config.max_message = message_limit(bytes);
        self
    }

    /// Sets the maximum length of a list of the server: of its tools, its resources, its resource templates, and its
    /// prompts, each with all its pages; by default 10,000 items and 32 MiB. `None` leaves a limit as it is. If a list is longer, calls that return the
    /// whole list, such as [`Client::tools`], fail with an error for which
    /// [`Error::is_too_large`](crate::Error::is_too_large) is `true`. A stream such as [`Client::list_tools`] returns the
    /// first items before this error.
    ///
    /// The bytes are those of the JSON text. Values that take much more memory than text, such as the members of
    /// `_meta`, count in addition to their text.
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
    /// # #[tool] fn sub(a: f64, b: f64) -> f64 { a - b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let server = Server::new("calculator", "1.0.0").tools(tools![add, sub]).build()?;
    /// let client = Client::builder().max_list(1, None).connect(&server).await?;
    /// assert!(client.tools().await.unwrap_err().is_too_large());
    /// assert_eq!(client.list_tools().next_page().await.unwrap()?.len(), 1);
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn max_list(mut self, items: impl Into<Option<usize>>, bytes: impl Into<Option<usize>>) -> Self {
        let ListLimit { items: old_items, bytes: old_bytes } = self.config.max_list;
        let (items, bytes) = (items.into().unwrap_or(old_items), bytes.into().unwrap_or(old_bytes));
        self.config.max_list = ListLimit { items, bytes };
        self
    }

    /// Uses this cache of server eras, which several clients can share.
    pub fn era_cache(mut self, eras: &EraCache) -> Self {
        self.config.era_cache = eras.clone();
        self
    }

    /// Calls a function with each log message of the server. The function must return quickly: the connection waits for
    /// it.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_log(|message| eprintln!("[{:?}] {}", message.level, message.data.as_str()));
    /// ```
    pub fn on_log(mut self, hook: impl Fn(&LogMessage) + Send + Sync + 'static) -> Self {
        self.config.hooks.log = Some(Arc::new(hook));
        self
    }

    /// Calls a function with each progress notification. The function must return quickly: the connection waits for it.
    pub fn on_progress(mut self, hook: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.config.hooks.progress = Some(Arc::new(hook));
        self
    }

    /// Sets the function that answers when a server asks the user to fill in a form.
    ///
    /// With this function set, the client declares to the server that it may ask. The function is called for each
    /// question, and several of its futures may run at once. A future may take as long as a person needs: other
    /// requests of the client continue in the meantime. The future is dropped if the server cancels the question. If
    /// the function panics, the question is not answered: in the handshake era the server gets an error, and in the
    /// stateless era the call that the question is about fails.
    ///
    /// ```
    /// use toolway::client::{Answer, Elicitation};
    /// use toolway::prelude::*;
    ///
    /// async fn ask(question: Elicitation) -> Answer {
    ///     println!("{}", question.message());
    ///     for (name, field) in &question.form().expect("only forms come here").properties.0 {
    ///         println!("{name}: {}", field.description.as_deref().unwrap_or_default());
    ///     }
    ///     Answer::decline()
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let (near, far) = tokio::io::duplex(1 << 16);
    /// # let (reader, writer) = tokio::io::split(far);
    /// # tokio::spawn(async move { Server::new("app", "1.0.0").serve_io(reader, writer).await });
    /// # let (reader, writer) = tokio::io::split(near);
    /// let client = Client::builder().on_elicit(ask).connect_io(reader, writer).await?;
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub fn on_elicit<F: Future<Output = Answer> + Send + 'static>(
        mut self,
        answer: impl Fn(Elicitation) -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.form = Some(answer_handler(answer));
        self
    }

    /// Sets the function that answers when a server asks the user to open a web page. Servers use web pages for data
    /// that must not pass through the client, such as a password or a payment.
    ///
    /// Show the user the whole [URL](Elicitation::url). If the user agrees, open the page and answer
    /// [`Answer::consent`]. This answer does not mean that the user has done anything on the page.
    ///
    /// ```
    /// use toolway::client::Answer;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_elicit_url(|question| async move {
    ///     println!("{}\nopen {}?", question.message(), question.url().unwrap_or_default());
    ///     Answer::consent()
    /// });
    /// ```
    pub fn on_elicit_url<F: Future<Output = Answer> + Send + 'static>(
        mut self,
        answer: impl Fn(Elicitation) -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.url = Some(answer_handler(answer));
        self
    }

    /// Sets the function that answers when a server asks the client's model (sampling, which the newest revision
    /// deprecates). Show the user the question before the model gets it, and the answer before the server gets it. If
    /// the user refuses, return [`AnswerError::refused`].
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::types::{Content, CreateMessageResult, Role};
    ///
    /// let builder = Client::builder().on_sample(|ask| async move {
    ///     let answer = format!("at most {} tokens about {} messages", ask.max_tokens, ask.messages.len());
    ///     Ok(CreateMessageResult::new(Role::Assistant, Content::text(answer), "echo"))
    /// });
    /// ```
    pub fn on_sample<F: Future<Output = Result<CreateMessageResult, AnswerError>> + Send + 'static>(
        mut self,
        answer: impl Fn(CreateMessage) -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.model = Some(answer_handler(answer));
        self
    }

    /// Declares that the server may include tools in its questions to the model. Without this declaration, questions
    /// with tools are refused.
    ///
    /// ```
    /// use toolway::client::AnswerError;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_sample(|ask| async move {
    ///     assert!(ask.tools.is_some());
    ///     Err(AnswerError::refused())
    /// });
    /// let builder = builder.sample_with_tools();
    /// ```
    pub fn sample_with_tools(mut self) -> Self {
        self.config.answers.allows_tools = true;
        self
    }

    /// Sets the folders to work in, for servers that ask for them (roots, which the newest revision deprecates).
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::types::Root;
    ///
    /// let builder = Client::builder().roots([Root::new("file:///home/ada/project").with_name("project")]);
    /// ```
    pub fn roots(self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots: Vec<_> = roots.into_iter().collect();
        self.on_list_roots(move || std::future::ready(Ok(roots.clone())))
    }

    /// Sets a function that determines the folders when a server asks for them.
    ///
    /// ```
    /// use toolway::client::AnswerError;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_list_roots(|| async { Err(AnswerError::refused()) });
    /// ```
    pub fn on_list_roots<F: Future<Output = Result<Vec<Root>, AnswerError>> + Send + 'static>(
        mut self,
        answer: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.roots = Some(answer_handler(move |()| answer()));
        self
    }

    /// Lets the server ask the callers of forwarded requests. Requests are forwarded if another server mounts this
    /// client ([`ServerBuilder::mount`](crate::server::ServerBuilder::mount)). Questions that the application answers
    /// itself (`on_elicit`, `on_elicit_url`, `on_sample`, `on_list_roots`) are not passed on.
    ///
    /// A mount enables this automatically, but in the handshake era the client has to reconnect for it. Calling this
    /// method avoids the reconnect. A client that was made from a transport cannot reconnect, so it needs this method.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().forward_questions();
    /// ```
    pub fn forward_questions(mut self) -> Self {
        self.config.answers.forwards_questions = true;
        self
    }

    /// Records everything that the client and the server say to each other in a file, a *cassette*. Secrets are
    /// removed. See [`Recorder`], which also says what happens if the file cannot be written. An existing file is
    /// replaced.
    ///
    /// ```no_run
    /// use toolway::prelude::*;
    ///
    /// # async fn example() -> toolway::Result<()> {
    /// let client = Client::builder().record("session.jsonl").connect("my-server").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn record(self, path: impl AsRef<Path>) -> Self {
        self.recorder(&Recorder::to_file(path))
    }

    /// Records everything that the client and the server say to each other. Several clients may have one recorder. A
    /// transport of the application cannot be recorded: connecting to it fails.
    ///
    /// ```
    /// use toolway::client::record::Recorder;
    /// use toolway::prelude::*;
    ///
    /// let recorder = Recorder::new();
    /// let builder = Client::builder().recorder(&recorder);
    /// ```
    pub fn recorder(mut self, recorder: &Recorder) -> Self {
        self.config.recorder = Some(recorder.clone());
        self
    }

    /// Connects to a server: a command line, a URL, a server in this process, or a transport.
    ///
    /// # Errors
    ///
    /// "failed to connect to …", with the cause.
    pub async fn connect(self, target: impl IntoTarget) -> Result<Client> {
        let target = self.map_target(target.into_target()?)?;
        ClientState::open(target, self.config).await.map(Client::new)
    }

    /// Adds the settings of the client that belong to the server, such as how to sign in.
    pub(crate) fn map_target(&self, target: Target) -> Result<Target> {
        let target = match &self.config.map_target {
            Some(map) => map(target)?,
            None => target,
        };
        let Some(recorder) = self.prepared_recorder() else { return Ok(target) };
        target.connector().recorded(recorder).ok_or_else(|| {
            let name = target.connector().name();
            let text = format!(
                "{name} cannot be recorded: give the client a command, a URL, a server or two streams"
            );
            Error::new(ErrorKind::Misuse, text)
        })
    }

    /// Returns the recorder, after hiding the secrets of the client's own settings from it.
    fn prepared_recorder(&self) -> Option<&Recorder> {
        let recorder = self.config.recorder.as_ref()?;
        for (name, value) in &self.config.headers {
            recorder.hide_header(name, value);
        }
        Some(recorder)
    }

    /// Connects over a pair of streams, such as the stdout and stdin of a server process. Each line is one message.
    pub async fn connect_io(
        self,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Client> {
        let transport = streams::start(reader, writer, self.prepared_recorder().cloned());
        ClientState::open(transport.into_target()?, self.config).await.map(Client::new)
    }
}

impl Client {
    /// A builder with the default settings.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// Connects to a server: a command line, a URL, a server in this process, or a transport.
    ///
    /// ```no_run
    /// # use toolway::prelude::*;
    /// # async fn example() -> toolway::Result<()> {
    /// let client = Client::connect("npx -y @modelcontextprotocol/server-filesystem /data").await?;
    /// let text = client.call("read_file", serde_json::json!({"path": "/data/a.txt"})).await?.text()?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// "failed to connect to …", with the cause.
    pub async fn connect(target: impl IntoTarget) -> Result<Self> {
        Self::builder().connect(target).await
    }

    /// Connects over a pair of streams. See [`ClientBuilder::connect_io`].
    pub async fn connect_io(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self> {
        Self::builder().connect_io(reader, writer).await
    }
}

/// Leaves out header values, because they may be secret.
impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<_> = self.config.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("ClientBuilder")
            .field("info", &self.config.info)
            .field("answers", &self.config.answers)
            .field("pinned", &self.config.pinned)
            .field("headers", &headers)
            .field("timeout", &self.config.timeout)
            .finish_non_exhaustive()
    }
}
