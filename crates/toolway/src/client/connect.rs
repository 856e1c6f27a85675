//! How is a conversation opened, and in which era?
//!
//! Unless a revision is pinned, the server is probed: `server/discover` first, and `initialize` if the answer
//! shows a server that does not know it.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use toolway_protocol::era::negotiate::{Verdict, choose, judge_error, judge_status};
use toolway_protocol::types::{CreateMessage, CreateMessageResult, Implementation, Root};
use toolway_protocol::{Era, Id, Method, ProtocolVersion};

use super::answer::{Answer, Answers, Elicitation, Unanswered};
use super::transport::{Inbox, Transport, exchange};
use super::{Client, Dress, ServerFacts, Shared, handshake, stateless};
use crate::error::{Error, ErrorKind, Result};

/// A client that is being described. Made by [`Client::builder`].
#[derive(Debug, Clone)]
pub struct ClientBuilder {
    info: Implementation,
    answers: Answers,
    pinned: Option<ProtocolVersion>,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            info: Implementation::new("toolway", env!("CARGO_PKG_VERSION")),
            answers: Answers::default(),
            pinned: None,
        }
    }
}

impl ClientBuilder {
    /// Who the client says it is.
    pub fn info(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.info = Implementation::new(name, version);
        self
    }

    /// Speaks this revision instead of finding out. A server of the handshake era may still answer with an
    /// older one.
    pub fn protocol(mut self, version: ProtocolVersion) -> Self {
        self.pinned = Some(version);
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
        self.answers.set_form(answer);
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
        self.answers.set_url(answer);
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
        self.answers.set_model(answer);
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
        self.answers.allow_tools();
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
        self.answers.set_roots(answer);
        self
    }

    /// Connects through a transport.
    pub async fn connect(self, transport: impl Transport) -> Result<Client> {
        let transport: Box<dyn Transport> = Box::new(transport);
        let inbox = Inbox::new(self.answers.clone());
        transport.deliver_to(inbox.clone());
        let mut opening = Opening { builder: &self, transport: &*transport, inbox: &inbox, next_id: 0 };
        let (era, server) = match self.pinned.map(|version| (version, version.era())) {
            Some((version, Era::Handshake)) => opening.handshake(version).await?,
            Some((version, Era::Stateless)) => opening.discover(version, Fallback::Refused).await?,
            None => opening.discover(ProtocolVersion::LATEST, Fallback::Allowed).await?,
        };
        let next_id = AtomicI64::new(opening.next_id);
        Ok(Client { shared: Arc::new(Shared { transport, era, server, inbox, next_id }) })
    }
}

/// Whether a server of the other era is welcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fallback {
    Allowed,
    Refused,
}

struct Opening<'o> {
    builder: &'o ClientBuilder,
    transport: &'o dyn Transport,
    inbox: &'o Inbox,
    next_id: i64,
}

impl Opening<'_> {
    fn id(&mut self) -> Id {
        self.next_id += 1;
        Id::Number(self.next_id - 1)
    }

    async fn handshake(&mut self, version: ProtocolVersion) -> Result<(Dress, ServerFacts)> {
        let id = self.id();
        let info = self.builder.info.clone();
        let (link, facts) = handshake::open(self.transport, self.inbox.asked(), version, info, id).await?;
        Ok((Dress::Handshake(link), facts))
    }

    async fn discover(
        &mut self,
        mut version: ProtocolVersion,
        fallback: Fallback,
    ) -> Result<(Dress, ServerFacts)> {
        // One correction is allowed: a server that refuses the revision it proposed itself is not argued with.
        for attempt in 0..2 {
            let ClientBuilder { info, answers, .. } = self.builder;
            let link = stateless::Link::new(version, answers.capabilities(), info.clone());
            let outcome = exchange(self.transport, link.bare(self.id(), Method::Discover)).await;
            let (verdict, refusal) = match outcome {
                Ok(result) => {
                    let discovered = stateless::discovered(&result)?;
                    match choose(&discovered.supported_versions) {
                        Verdict::Stateless(chosen) => {
                            let link = stateless::Link::new(chosen, answers.capabilities(), info.clone());
                            return Ok((Dress::Stateless(link), stateless::facts(discovered)));
                        }
                        verdict => (verdict, None),
                    }
                }
                Err(error) => match verdict(&error) {
                    Some(verdict) => (verdict, Some(error)),
                    None => return Err(error),
                },
            };
            match verdict {
                Verdict::Stateless(proposed) if attempt == 0 => version = proposed,
                Verdict::Handshake if fallback == Fallback::Allowed => {
                    return self.handshake(ProtocolVersion::LATEST_HANDSHAKE).await;
                }
                _ => return Err(refusal.unwrap_or_else(incompatible)),
            }
        }
        Err(incompatible())
    }
}

/// What a failed probe says about the server; nothing, when the fault may lie elsewhere.
fn verdict(error: &Error) -> Option<Verdict> {
    error.rpc().map(judge_error).or_else(|| error.http_status().and_then(judge_status))
}

fn incompatible() -> Error {
    Error::new(ErrorKind::PeerIncompatible, "the server speaks no protocol version that this client does")
}
