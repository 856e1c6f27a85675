//! What can be said about a client before it connects?

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::{
    CreateMessage, CreateMessageResult, Implementation, LogMessage, Progress, Root,
};

use crate::client::answer::answers::{Answer, Elicitation, Unanswered, answerer};
use crate::client::connect::client::Client;
use crate::client::connect::config::Config;
use crate::client::connect::shared::Shared;
use crate::client::handshake::era_cache::EraCache;
use crate::client::pipe::streams;
use crate::client::wire::target::IntoTarget;
use crate::ground::error::Result;
use crate::transport::frame::message_limit;

/// A client that is being described. Made by [`Client::builder`].
#[derive(Clone, Default)]
pub struct ClientBuilder {
    config: Config,
}

impl ClientBuilder {
    /// Who the client says it is.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.config.info = Implementation::new(name, version);
        self
    }

    /// Speaks this revision instead of finding out. A server of the handshake era may still answer with an
    /// older one.
    pub fn protocol(mut self, version: ProtocolVersion) -> Self {
        self.config.pinned = Some(version);
        self
    }

    /// Adds a header to every request, where requests have headers (HTTP). It goes to the server alone: redirects to other places
    /// are not followed.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.config.headers.push((name.into(), value.into()));
        self
    }

    /// Sends every request with this token.
    pub fn bearer(self, token: impl AsRef<str>) -> Self {
        self.header("authorization", format!("Bearer {}", token.as_ref()))
    }

    /// How long nothing may be heard of a request before it is given up: one minute, unless said otherwise. Progress begins the
    /// time anew. `None` waits for ever. [`Exchange::timeout`](crate::client::Exchange::timeout) says it for one request.
    pub fn timeout(mut self, limit: impl Into<Option<Duration>>) -> Self {
        self.config.timeout = limit.into();
        self
    }

    /// How long a server may take until it is connected: 30 seconds, unless said otherwise. `npx` may have to load it first.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.config.connect_timeout = limit;
        self
    }

    /// How long a server on a pipe may be silent to a question that older ones do not know, before it is spoken to as one of
    /// them: five seconds, unless said otherwise.
    pub fn probe_timeout(mut self, limit: Duration) -> Self {
        self.config.probe_timeout = limit;
        self
    }

    /// How often a request is sent again when the server was not there, or had forgotten us: six times, unless said otherwise. The
    /// waits in between are random and grow to five seconds. `0` never tries again.
    pub fn retries(mut self, retries: u32) -> Self {
        self.config.retries = retries;
        self
    }

    /// The longest message that is sent and accepted, in bytes, on every transport: 16 MiB, unless said otherwise. A longer
    /// request is not sent, and a call whose reply is longer fails: [`Error::is_too_large`](crate::Error::is_too_large).
    ///
    /// A server has a limit of its own, and some tell it when they refuse a request (`data.maxMessage` of the error). Then the
    /// client sends nothing longer over this connection, and fails at once.
    /// [`Command::max_message`](crate::client::Command::max_message) and `Http::max_message` say it for one server.
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

    /// Uses what others have found out about servers, and tells them.
    pub fn era_cache(mut self, eras: &EraCache) -> Self {
        self.config.eras = eras.clone();
        self
    }

    /// Is told of every log message. It must not take long: the connection waits for it.
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

    /// Is told of the progress of every request. It must not take long: the connection waits for it.
    pub fn on_progress(mut self, hook: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.config.hooks.progress = Some(Arc::new(hook));
        self
    }

    /// Answers for the user when a server has a form to fill in.
    ///
    /// The server is told that it may ask. The function is called for each question, several may run at once, and it may take as
    /// long as a person takes: other calls go on meanwhile. A server that takes its question back ends it. If it panics, the
    /// server gets an error as its answer, and nothing else happens.
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
        self.config.answers.form = Some(answerer(answer));
        self
    }

    /// Answers for the user when a server wants a web page to be opened: for what must not pass through the client, a password
    /// or a payment.
    ///
    /// Show the whole [URL](Elicitation::url), open it only when the user has agreed, and answer [`Answer::consent`] then: that is
    /// not to say that anything was done there.
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
        self.config.answers.url = Some(answerer(answer));
        self
    }

    /// Answers for the model when a server asks it (sampling, which the newest revision calls deprecated). A user should see
    /// both the question and the answer before they go on; whoever does not want that says [`Unanswered::refused`].
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
    pub fn on_sample<F: Future<Output = Result<CreateMessageResult, Unanswered>> + Send + 'static>(
        mut self,
        answer: impl Fn(CreateMessage) -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.model = Some(answerer(answer));
        self
    }

    /// Says that the model may be given tools by the server. Without it, such questions are refused.
    ///
    /// ```
    /// use toolway::client::Unanswered;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_sample(|ask| async move {
    ///     assert!(ask.tools.is_some());
    ///     Err(Unanswered::refused())
    /// });
    /// let builder = builder.sample_with_tools();
    /// ```
    pub fn sample_with_tools(mut self) -> Self {
        self.config.answers.tools = true;
        self
    }

    /// Tells a server that asks which folders to work in (roots, which the newest revision calls deprecated).
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

    /// The same for folders that are found out when a server asks.
    ///
    /// ```
    /// use toolway::client::Unanswered;
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().on_list_roots(|| async { Err(Unanswered::refused()) });
    /// ```
    pub fn on_list_roots<F: Future<Output = Result<Vec<Root>, Unanswered>> + Send + 'static>(
        mut self,
        answer: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self {
        self.config.answers.roots = Some(answerer(move |()| answer()));
        self
    }

    /// Lets a server ask those for whom calls are made, where this client is mounted by a server
    /// ([`ServerBuilder::mount`](crate::server::ServerBuilder::mount)). What the functions above answer is not passed on.
    ///
    /// A mount says so by itself, and connects to a server with a handshake once more for it. With this there is no need to, and a
    /// client that was made from a transport, which cannot be opened again, passes questions on as well.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let builder = Client::builder().pass_questions();
    /// ```
    pub fn pass_questions(mut self) -> Self {
        self.config.answers.passes = true;
        self
    }

    /// Connects to a server: a command line, a URL, a server in this process, or a transport.
    ///
    /// # Errors
    ///
    /// "failed to connect to …", with what lies underneath.
    pub async fn connect(self, target: impl IntoTarget) -> Result<Client> {
        let target = target.into_target()?;
        Shared::open(target, self.config).await.map(Client::new)
    }

    /// Connects over a pair of streams, one message a line: the stdin and stdout of a server process, for
    /// example.
    pub async fn connect_io(
        self,
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Client> {
        self.connect(streams::start(reader, writer)).await
    }
}

impl Client {
    /// Begins a client; see the builder for everything that can be said about one.
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
    /// "failed to connect to …", with what lies underneath.
    pub async fn connect(target: impl IntoTarget) -> Result<Self> {
        Self::builder().connect(target).await
    }

    /// Connects over a pair of streams: see [`ClientBuilder::connect_io`].
    pub async fn connect_io(
        reader: impl AsyncRead + Unpin + Send + 'static,
        writer: impl AsyncWrite + Unpin + Send + 'static,
    ) -> Result<Self> {
        Self::builder().connect_io(reader, writer).await
    }
}

/// Without what may be secret.
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
