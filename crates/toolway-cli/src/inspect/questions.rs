//! What happens when a server asks the user? The question is shown on the page, as a form, and the call waits; its clock
//! stands still meanwhile.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};
use tokio::sync::oneshot;
use toolway::client::{Answer, AnswerError, ClientBuilder, Elicitation};
use toolway::types::{Content, CreateMessage, CreateMessageResult, FormSchema, Role};
use toolway::{ProtocolVersion, RawJson};

use super::call_request::KeptAnswer;
use super::calls::{Call, Calls};
use super::event_log::EventLog;
use super::fields::{form_fields, read_form};
use super::object::{SetMember, object};
use super::request_members::RequestMembers;
use super::web::Refusal;

/// How many questions may be open. A server that asks more is declined.
const MAX_OPEN: usize = 100;

pub(super) struct Questions {
    events: Arc<EventLog>,
    calls: Arc<Calls>,
    next: AtomicU64,
    open: Mutex<Vec<OpenQuestion>>,
}

struct OpenQuestion {
    id: u64,
    view: Value,
    asked: QuestionContent,
    reply: oneshot::Sender<QuestionReply>,
}

#[derive(Clone)]
enum QuestionContent {
    Form(FormSchema),
    Url,
    Sampling,
}

/// The decision of the user.
#[derive(Debug)]
enum QuestionReply {
    Accept(Map<String, Value>),
    Decline,
    Cancel,
}

/// An answer from the page.
pub(super) struct AnswerRequest {
    question: u64,
    action: String,
    fields: Option<Vec<(String, String)>>,
    content: Option<String>,
}

impl AnswerRequest {
    pub(super) fn read(mut members: RequestMembers) -> Result<Self, Refusal> {
        Ok(Self {
            question: members.number("question")?,
            action: members.text("action")?,
            fields: members.pairs("fields")?,
            content: members.optional_text("content")?,
        })
    }
}

impl Questions {
    pub(super) fn new(events: Arc<EventLog>, calls: Arc<Calls>) -> Self {
        Self { events, calls, next: AtomicU64::new(1), open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Vec<OpenQuestion>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the questions that wait for an answer.
    pub(super) fn views(&self) -> Vec<Value> {
        self.open().iter().map(|question| question.view.clone()).collect()
    }

    /// Lets the page answer the questions of a server.
    pub(super) fn register(
        self: &Arc<Self>,
        builder: ClientBuilder,
        server: usize,
        both: Option<u64>,
    ) -> ClientBuilder {
        let from = Asker { questions: self.clone(), server, both };
        let (form, page, model) = (from.clone(), from.clone(), from);
        builder
            .on_elicit(move |question| form.clone().elicit(question))
            .on_elicit_url(move |question| page.clone().elicit(question))
            .on_sample(move |question| model.clone().sample(question))
            .roots([])
    }

    /// Takes the answer of the page. The question stays open if the answer does not fit. Returns what is sent to the server, as the text of a JSON object.
    pub(super) fn answer(&self, request: AnswerRequest) -> Result<Option<String>, Refusal> {
        let mut open = self.open();
        let at = open
            .iter()
            .position(|question| question.id == request.question)
            .ok_or_else(|| Refusal::not_found("this question is not open any more"))?;
        let reply = match request.action.as_str() {
            "decline" => QuestionReply::Decline,
            "cancel" => QuestionReply::Cancel,
            "accept" => QuestionReply::Accept(accepted(&open[at].asked, &request)?),
            _ => return Err(Refusal::usage("`action` is one of accept, decline, cancel")),
        };
        let content = match &reply {
            QuestionReply::Accept(fields) => serde_json::to_string(fields).ok(),
            QuestionReply::Decline | QuestionReply::Cancel => None,
        };
        // The call may have ended in this moment; then nothing waits for the answer.
        let _ = open.remove(at).reply.send(reply);
        Ok(content)
    }
}

/// The connection on which questions come: that of a server, or one made for the comparison `both`.
#[derive(Clone)]
struct Asker {
    questions: Arc<Questions>,
    server: usize,
    both: Option<u64>,
}

impl Asker {
    async fn elicit(self, question: Elicitation) -> Answer {
        let params = RawJson::encoded(question.params(), ProtocolVersion::LATEST);
        let (kind, asked, fields) = match (question.form(), question.url()) {
            (Some(form), _) => ("form", QuestionContent::Form(form.clone()), form_fields(form)),
            (None, _) => ("url", QuestionContent::Url, Vec::new()),
        };
        let view = object! {
            "kind": kind, "message": question.message(), "fields": fields, "url": question.url(), "params": params.as_str(),
        };
        match self.ask(asked, question.message(), view).await {
            QuestionReply::Accept(_) if kind == "url" => Answer::consent(),
            QuestionReply::Accept(fields) => Answer::accept(fields),
            QuestionReply::Decline => Answer::decline(),
            QuestionReply::Cancel => Answer::cancel(),
        }
    }

    async fn sample(self, question: CreateMessage) -> Result<CreateMessageResult, AnswerError> {
        let params = RawJson::encoded(&question, ProtocolVersion::LATEST);
        let message = question
            .messages
            .iter()
            .flat_map(|message| message.content.as_slice())
            .filter_map(Content::as_text)
            .collect::<Vec<_>>()
            .join("\n");
        let view = object! {
            "kind": "sampling", "message": message, "fields": Value::Array(Vec::new()), "url": Value::Null, "params": params.as_str(),
        };
        match self.ask(QuestionContent::Sampling, &message, view).await {
            QuestionReply::Accept(fields) => {
                let text =
                    |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
                Ok(CreateMessageResult::new(Role::Assistant, Content::text(text("text")), text("model")))
            }
            QuestionReply::Decline | QuestionReply::Cancel => Err(AnswerError::refused()),
        }
    }

    /// Shows a question and waits for the answer. If the future is dropped, the question is withdrawn.
    async fn ask(&self, asked: QuestionContent, message: &str, mut view: Value) -> QuestionReply {
        let Self { questions, server, both } = self;
        let calls = questions.calls.of_question(*server, *both);
        // If several calls may have asked, the question is one of the session: a guess could mislead the user.
        let call = if let [call] = &*calls { Some(call) } else { None };
        let round = call.map_or(1, |call| call.begin_round());
        if let Some(kept) = call.and_then(|call| call.kept_answer(message)) {
            match reply_of_kept(&kept, &asked) {
                Some(reply) => return reply,
                None => questions.events.add(object! {
                    "type": "note", "server": server,
                    "text": "the kept answer does not fit the question, so the question is shown",
                }),
            }
        }
        let id = questions.next.fetch_add(1, Ordering::Relaxed);
        view.set("id", &id);
        view.set("server", &server);
        view.set("call", &call.map(|call| call.id()));
        view["calls"] = calls.iter().map(|call| call.id()).collect();
        view.set("revision", &calls.first().and_then(|call| call.revision()));
        view.set("round", &round);
        view.set("since_ms", &questions.events.now_ms());
        let (reply, answer) = oneshot::channel();
        {
            let mut open = questions.open();
            if open.len() >= MAX_OPEN {
                return QuestionReply::Decline;
            }
            open.push(OpenQuestion { id, view: view.clone(), asked, reply });
        }
        questions.events.add(object! {"type": "question", "server": server, "question": view});
        let mut guard = QuestionGuard { questions: questions.clone(), server: *server, id, how: "withdrawn" };
        let clocks: Vec<_> = match call {
            Some(call) => vec![call.ask()],
            None => calls.iter().map(Call::may_ask).collect(),
        };
        let answered = answer.await.unwrap_or(QuestionReply::Cancel);
        drop(clocks);
        guard.how = match &answered {
            QuestionReply::Accept(_) => "accept",
            QuestionReply::Decline => "decline",
            QuestionReply::Cancel => "cancel",
        };
        answered
    }
}

fn accepted(asked: &QuestionContent, request: &AnswerRequest) -> Result<Map<String, Value>, Refusal> {
    match (asked, &request.fields, &request.content) {
        (QuestionContent::Form(form), Some(fields), _) => {
            read_form(form, fields).map_err(|problems| Refusal::usage(problems.join("\n")))
        }
        (QuestionContent::Form(_) | QuestionContent::Sampling, _, Some(content)) => {
            serde_json::from_str(content)
                .map_err(|error| Refusal::usage(format!("`content` is not a JSON object: {error}")))
        }
        (QuestionContent::Url, _, _) | (QuestionContent::Form(_), None, None) => Ok(Map::new()),
        (QuestionContent::Sampling, _, None) => {
            Err(Refusal::usage("`content` must have the members `model` and `text`"))
        }
    }
}

fn reply_of_kept(kept: &KeptAnswer, asked: &QuestionContent) -> Option<QuestionReply> {
    match kept.action.as_str() {
        "decline" => Some(QuestionReply::Decline),
        "cancel" => Some(QuestionReply::Cancel),
        _ => {
            let request = AnswerRequest {
                question: 0,
                action: "accept".to_owned(),
                fields: kept.fields.clone(),
                content: kept.content.clone(),
            };
            accepted(asked, &request).ok().map(QuestionReply::Accept)
        }
    }
}

/// Tells the page that a question is over, however it ended.
struct QuestionGuard {
    questions: Arc<Questions>,
    server: usize,
    id: u64,
    how: &'static str,
}

impl Drop for QuestionGuard {
    fn drop(&mut self) {
        self.questions.open().retain(|question| question.id != self.id);
        self.questions
            .events
            .add(object! {"type": "answered", "server": self.server, "question": self.id, "how": self.how});
    }
}
