//! How does the server ask the client a question while a call runs?
//!
//! A question is sent on the stream of its call, as a request of the server. The answer may arrive on any connection of
//! the session, and is matched to its question by id. When the server stops waiting, it cancels the question.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::oneshot;
use toolway_protocol::capability::ClientCapabilities;
use toolway_protocol::era::questions::write_question;
use toolway_protocol::types::{Cancelled, Elicit, InputRequest};
use toolway_protocol::{Id, Notification, ProtocolVersion, RawJson, RpcError};

use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::ground::random::random_hex;
use crate::server::call::question_log::{Answers, Asker};
use crate::server::failure::ask::{AskError, AskErrorKind};

/// The prefix of every question id.
pub(in crate::server) const QUESTION_ID_PREFIX: &str = "ask-";

/// How many questions of one session may wait for their answers.
const MAX_PENDING: usize = 64;

/// The questions of one session that wait for their answers.
#[derive(Debug, Default)]
pub(in crate::server) struct SessionQuestions {
    pending: Arc<PendingAnswers>,
    /// The random part of the question ids, so that no other server uses the same ids in this session.
    pub(in crate::server) prefix: OnceLock<String>,
    next: AtomicU64,
}

type Outcome = Result<RawJson, RpcError>;

#[derive(Debug, Default)]
struct PendingAnswers(Mutex<Waiters>);

#[derive(Debug, Default)]
struct Waiters {
    by_id: HashMap<Id, oneshot::Sender<Outcome>>,
    /// `true` once no more answers can arrive.
    is_over: bool,
}

impl PendingAnswers {
    fn register(&self, id: &Id) -> Result<oneshot::Receiver<Outcome>, AskError> {
        let mut waiters = self.0.lock();
        if waiters.is_over {
            return Err(ended_error());
        }
        if waiters.by_id.len() >= MAX_PENDING {
            return Err(AskError::new(
                AskErrorKind::Busy,
                "too many questions to this client wait for answers",
            ));
        }
        let (sender, answer) = oneshot::channel();
        waiters.by_id.insert(id.clone(), sender);
        Ok(answer)
    }
}

impl SessionQuestions {
    /// Hands an answer to the call that waits for it. If no call waits, returns the answer as the error.
    pub(super) fn deliver_answer(&self, id: &Id, outcome: Outcome) -> Result<(), Outcome> {
        match self.pending.0.lock().by_id.remove(id) {
            Some(waiting) => waiting.send(outcome),
            None => Err(outcome),
        }
    }

    /// Ends all questions, because no more answers can arrive.
    pub(super) fn end(&self) {
        let mut pending = self.pending.0.lock();
        pending.is_over = true;
        pending.by_id.clear();
    }

    fn next_id(&self) -> Id {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        Id::String(
            format!("{QUESTION_ID_PREFIX}{}-{number}", self.prefix.get_or_init(random_hex::<4>)).into(),
        )
    }
}

impl Asker for SessionQuestions {
    fn ask<'a>(
        &'a self,
        version: ProtocolVersion,
        outbound: &'a Outbound,
        questions: Vec<(String, InputRequest)>,
        within: Duration,
    ) -> BoxFuture<'a, Answers> {
        let mut waiting: Vec<_> = questions
            .into_iter()
            .map(|(key, question)| (key, self.ask_one(version, outbound.clone(), question, within)))
            .collect();
        let mut answers = Answers::new();
        Box::pin(async move {
            poll_fn(|cx| {
                waiting.retain_mut(|(key, asking)| match asking.as_mut().poll(cx) {
                    Poll::Ready(answer) => {
                        answers.insert(std::mem::take(key), answer);
                        false
                    }
                    Poll::Pending => true,
                });
                if waiting.is_empty() { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            answers
        })
    }
}

impl SessionQuestions {
    fn ask_one(
        &self,
        version: ProtocolVersion,
        outbound: Outbound,
        mut question: InputRequest,
        within: Duration,
    ) -> BoxFuture<'static, Result<RawJson, AskError>> {
        let id = self.next_id();
        if let (InputRequest::Elicit(Elicit::Url(url)), Id::String(id)) = (&mut question, &id) {
            url.elicitation_id = Some(id.to_string());
        }
        let answer = match self.pending.register(&id) {
            Ok(answer) => answer,
            Err(error) => return Box::pin(std::future::ready(Err(error))),
        };
        let mut waiting =
            OpenQuestion { pending: self.pending.clone(), id, version, outbound, is_sent: false };
        Box::pin(async move {
            let mut frame = Vec::with_capacity(256);
            write_question(&mut frame, version, &waiting.id, &question);
            if !waiting.outbound.is_open() {
                let text =
                    "the client cannot be asked: it does not accept a stream as the reply to this request";
                return Err(AskError::unsupported(ClientCapabilities::default(), text));
            }
            let max = waiting.outbound.max_message();
            if frame.len() > max {
                let text = format!(
                    "the question is {} bytes long, and the server sends at most {max}: ask in fewer words, or raise `max_message` on the server",
                    frame.len()
                );
                return Err(AskError::new(AskErrorKind::TooLarge, text));
            }
            // The timeout includes the time that the client takes to read the question.
            let asking = async {
                waiting.set_sent(true);
                waiting.outbound.ask(frame).await;
                answer.await
            };
            let outcome = match tokio::time::timeout(within, asking).await {
                Ok(Ok(outcome)) => outcome,
                Ok(Err(_)) => return Err(ended_error()),
                Err(_) => {
                    let text = format!("no answer came within {within:?}");
                    return Err(AskError::new(AskErrorKind::TimedOut, text));
                }
            };
            waiting.set_sent(false);
            outcome.map_err(|error| {
                let text = format!("the client answered with an error: {}", truncate(&error.message));
                AskError::new(AskErrorKind::Refused, text)
            })
        })
    }
}

fn ended_error() -> AskError {
    AskError::new(AskErrorKind::Ended, "the session ended before the client answered")
}

/// How many characters of the client's error message are repeated in the error.
const MAX_ERROR_CHARS: usize = 200;

fn truncate(text: &str) -> &str {
    text.char_indices().nth(MAX_ERROR_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// A question that waits for its answer. Dropping it without an answer sends a cancellation to the client.
struct OpenQuestion {
    pending: Arc<PendingAnswers>,
    id: Id,
    version: ProtocolVersion,
    outbound: Outbound,
    is_sent: bool,
}

impl OpenQuestion {
    /// Sets whether dropping this value sends a cancellation to the client.
    fn set_sent(&mut self, is_sent: bool) {
        self.is_sent = is_sent;
    }
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        self.pending.0.lock().by_id.remove(&self.id);
        if self.is_sent {
            let mut cancelled = Cancelled::new();
            cancelled.request_id = Some(self.id.clone());
            self.outbound.try_send_notification(self.version, &Notification::Cancelled(cancelled));
        }
    }
}
