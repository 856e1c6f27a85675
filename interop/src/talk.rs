//! How does the client answer questions, and which messages has it received?

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{Mutex as Turn, mpsc};
use toolway::Client;
use toolway::client::{Answer, AnswerError, ClientBuilder, Elicitation};
use toolway::types::{Content, CreateMessage, CreateMessageResult, LogMessage, Role, Root};

use crate::check::{Checked, PATIENCE, not_here};
use crate::era::Era;
use crate::server::Server;

/// A client with its user and its model.
#[derive(Debug)]
pub(crate) struct Talk {
    pub(crate) client: Client,
    pub(crate) era: Era,
    user: Arc<Mutex<User>>,
    model: Arc<Mutex<Vec<CreateMessage>>>,
    log: Turn<mpsc::UnboundedReceiver<LogMessage>>,
}

/// A client with long timeouts, for a busy machine on which servers start slowly.
pub(crate) fn patient() -> ClientBuilder {
    Client::builder()
        .info("toolway-interop", "1.0.0")
        .timeout(PATIENCE)
        .connect_timeout(PATIENCE)
        .probe_timeout(PATIENCE)
        .retries(20)
}

/// The questions that the user was asked, and the answers to give.
#[derive(Debug, Default)]
struct User {
    asked: Vec<Elicitation>,
    answers: VecDeque<Answer>,
}

impl Talk {
    pub(crate) async fn open(server: &Server, era: Era) -> Checked<Self> {
        let (user, model) = (Arc::new(Mutex::new(User::default())), Arc::new(Mutex::default()));
        let (tell, log) = mpsc::unbounded_channel();
        let (form, page, asked) = (user.clone(), user.clone(), model.clone());
        let builder = patient()
            .on_elicit(move |question| std::future::ready(lock(&form).answer(question)))
            .on_elicit_url(move |question| std::future::ready(lock(&page).answer(question)))
            .on_sample(move |ask| std::future::ready(Ok::<_, AnswerError>(answer_as_model(&asked, ask))))
            .roots(ROOTS.map(|(uri, name)| Root::new(uri).with_name(name)))
            .on_log(move |message| {
                // Sending fails after the talk is dropped, which is fine.
                let _ = tell.send(message.clone());
            });
        let client = era.dress(builder).connect(server.target()?).await?;
        Ok(Self { client, era, user, model, log: Turn::new(log) })
    }

    /// Returns `Ok` if the revision has the feature; otherwise reports since when it exists.
    pub(crate) fn since(&self, revision: &str, what: &str) -> Checked {
        if self.era.revision() < revision {
            return not_here(&format!("{what} came with {revision}"));
        }
        Ok(())
    }

    /// Calls a tool and returns its text; an error if the tool failed.
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> Checked<String> {
        Ok(self.client.call(tool, arguments).await?.text()?)
    }

    /// Queues the user's answer to the next question.
    pub(crate) fn will_answer(&self, answer: Answer) {
        lock(&self.user).answers.push_back(answer);
    }

    /// Takes the questions to the user since the last call of this method.
    pub(crate) fn asked(&self) -> Vec<Elicitation> {
        std::mem::take(&mut lock(&self.user).asked)
    }

    /// Takes the questions to the model since the last call of this method.
    pub(crate) fn asked_model(&self) -> Vec<CreateMessage> {
        std::mem::take(&mut lock(&self.model))
    }

    /// Waits for a log message that `meant` accepts, and skips the others.
    pub(crate) async fn logged(&self, meant: impl Fn(&LogMessage) -> bool) -> Checked<LogMessage> {
        let mut log = self.log.lock().await;
        while let Some(message) = log.recv().await {
            if meant(&message) {
                return Ok(message);
            }
        }
        Err("the client is gone".into())
    }
}

impl User {
    fn answer(&mut self, question: Elicitation) -> Answer {
        self.asked.push(question);
        self.answers.pop_front().unwrap_or_else(Answer::cancel)
    }
}

fn answer_as_model(asked: &Mutex<Vec<CreateMessage>>, ask: CreateMessage) -> CreateMessageResult {
    lock(asked).push(ask);
    CreateMessageResult::new(Role::Assistant, Content::text(MODEL_SAYS), "interop-model")
        .with_stop_reason("endTurn")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The model's answer to every question.
pub(crate) const MODEL_SAYS: &str = "forty-two, said the model";
/// The roots that the client offers.
pub(crate) const ROOTS: [(&str, &str); 2] =
    [("file:///srv/one", "one"), ("file:///srv/two%20words", "two words")];
