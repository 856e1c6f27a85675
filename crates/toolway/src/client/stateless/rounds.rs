//! How is a request answered that the server has questions about? It is sent again, with the answers, as often as it takes.

use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use tokio::task::JoinSet;
use tokio::time::sleep;
use toolway_protocol::request::Rounds;
use toolway_protocol::types::{InputRequest, InputRequired, InputResponse, Keyed};
use toolway_protocol::{Id, Method, RawJson, Request};

use super::Link;
use crate::client::answer::{Answers, Place, Unable, check};
use crate::client::asked::MAX_ASKED;
use crate::client::behalf::{Passed, Questions};
use crate::client::connection::{Connection, Course, Terms};
use crate::error::{Error, ErrorKind, Result};

/// How often one request is sent again. A server that never has enough is not followed for ever.
const MAX_ROUNDS: u32 = 10;

/// What is waited before a request is sent again to a server that asked nothing; twice as long each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest such wait.
const MAX_WAIT: Duration = Duration::from_secs(5);

impl Link {
    /// Sends a request until its result is complete, and gives that back as it came. Dropping the future ends the questions, too.
    pub(in crate::client) async fn ask(
        &self,
        connection: &Arc<Connection>,
        next_id: &(dyn Fn() -> Id + Send + Sync),
        request: &Request,
        terms: &Terms,
        course: &mut Course,
    ) -> Result<RawJson> {
        let link = self;
        let wishes = link.wishes(terms, connection.inbox.asked().answers());
        let method = request.method();
        loop {
            let request = course.again.as_ref().unwrap_or(request);
            let outgoing = link.request(next_id(), request, &wishes, terms.meta.as_ref());
            let result = connection.send(outgoing, terms).await?;
            if let Request::Other(..) = request {
                return Ok(result);
            }
            // Whoever it was made for is to be asked, and makes it again.
            if terms.behalf.is_some() {
                return Ok(result);
            }
            let Some(required) = read(&result, &method)? else { return Ok(result) };
            if course.round == MAX_ROUNDS {
                return Err(misbehaved(&method, &format!("still requires input after {MAX_ROUNDS} rounds")));
            }
            course.round += 1;
            let questions = required.input_requests.unwrap_or_default().0;
            let mut rounds = Rounds::default();
            rounds.request_state = required.request_state;
            if questions.is_empty() {
                // The server is busy, and keeps its work in what we send back.
                sleep(MAX_WAIT.min(FIRST_WAIT.saturating_mul(1 << course.waits.min(16)))).await;
                course.waits += 1;
            } else {
                let answers = connection.inbox.asked().answers();
                rounds.input_responses = Some(answer(answers, link, &method, questions).await?);
            }
            course.again = Some(with_rounds(request.clone(), rounds));
        }
    }

    /// What came of a request that was made for somebody else: a result, or what they have to be asked. Questions that the
    /// application answers itself are answered here.
    #[allow(dead_code, reason = "only whoever joins a server with clients asks")]
    pub(in crate::client) async fn passed(
        &self,
        connection: &Connection,
        method: &Method,
        result: RawJson,
    ) -> Result<Passed> {
        let Some(required) = read(&result, method)? else { return Ok(Passed::Complete(result)) };
        let mut questions = Questions { open: Vec::new(), given: Vec::new(), state: required.request_state };
        let answers = connection.inbox.asked().answers();
        let (ours, theirs): (Vec<_>, Vec<_>) = required
            .input_requests
            .unwrap_or_default()
            .0
            .into_iter()
            .partition(|(_, question)| answers.has(question));
        questions.open = theirs;
        for (key, question) in ours {
            let (kind, place) =
                (question.method(), Place { key: Some(key.clone()), during: Some(method.clone()) });
            let answer = answers.clone().answer(question, place).await;
            let answer = answer.map_err(|unable| failed(&key, kind, unable))?;
            questions.given.push((key, RawJson::encoded(&answer, self.version)));
        }
        Ok(Passed::Asks(questions))
    }
}

/// What is still required; nothing if the result is complete. A server that does not say means complete.
fn read(result: &RawJson, method: &Method) -> Result<Option<InputRequired>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Kind {
        result_type: Option<String>,
    }
    let kind: Kind = result.decode().map_err(|error| {
        Error::new(ErrorKind::PeerMisbehaved, "the server's result is not an object").caused_by(error)
    })?;
    match kind.result_type.as_deref() {
        None | Some("complete") => Ok(None),
        Some("input_required") if method.may_ask() => {
            let required: InputRequired = result
                .decode()
                .map_err(|error| misbehaved(method, "asks what no client can answer").caused_by(error))?;
            let questions = required.input_requests.as_ref().map_or(0, |questions| questions.0.len());
            if questions == 0 && required.request_state.is_none() {
                return Err(misbehaved(method, "requires input and says not which"));
            }
            if questions > MAX_ASKED {
                return Err(misbehaved(method, "asks too much at once"));
            }
            Ok(Some(required))
        }
        Some(kind) => Err(Error::new(
            ErrorKind::PeerMisbehaved,
            format!("the server's result is of an unknown type, {kind:?}"),
        )),
    }
}

/// Has all questions answered, at once. The first that cannot be is the end of all.
async fn answer(
    answers: &Answers,
    link: &Link,
    method: &Method,
    questions: Vec<(String, InputRequest)>,
) -> Result<RawJson> {
    for (key, question) in &questions {
        check(question, &link.envelope.capabilities)
            .map_err(|unable| failed(key, question.method(), unable))?;
    }
    let mut asking = JoinSet::new();
    for (place, (key, question)) in questions.into_iter().enumerate() {
        let answers = answers.clone();
        let during = Some(method.clone());
        asking.spawn(async move {
            let kind = question.method();
            let answer = answers.answer(question, Place { key: Some(key.clone()), during }).await;
            match answer {
                Ok(answer) => Ok((place, key, answer)),
                Err(unable) => Err(failed(&key, kind, unable)),
            }
        });
    }
    let mut given: Vec<(usize, String, InputResponse)> = Vec::new();
    while let Some(answered) = asking.join_next().await {
        // Panics of the application were caught inside; what is left is a runtime that shuts down.
        let answered = answered.map_err(|error| {
            Error::new(ErrorKind::Cancelled, "the questions of the server were given up").caused_by(error)
        })?;
        given.push(answered?);
    }
    given.sort_by_key(|(place, ..)| *place);
    let given: Keyed<_> = given.into_iter().map(|(_, key, answer)| (key, answer)).collect::<Vec<_>>().into();
    Ok(RawJson::encoded(&given, link.version))
}

/// Why a call ends with a question that has no answer.
fn failed(key: &str, kind: Method, unable: Unable) -> Error {
    let kind = kind.name();
    match unable {
        Unable::Undeclared => Error::new(
            ErrorKind::PeerMisbehaved,
            format!("the server asks {kind} ({key:?}), and this client did not say that it may"),
        ),
        Unable::Wrong(reason) => {
            Error::new(ErrorKind::PeerMisbehaved, format!("the server asks {kind} ({key:?}), but {reason}"))
        }
        Unable::Refused => {
            Error::new(ErrorKind::Cancelled, format!("the user refused to answer {kind} ({key:?})"))
        }
        Unable::Failed(cause) => {
            Error::new(ErrorKind::Application, format!("the question {kind} ({key:?}) was not answered"))
                .caused_by(cause)
        }
    }
}

fn misbehaved(method: &Method, what: &str) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, format!("the server's reply to {} {what}", method.name()))
}

/// The same request in its next round.
fn with_rounds(mut request: Request, rounds: Rounds) -> Request {
    // No other request may be answered by questions.
    if let Some(own) = request.rounds_mut() {
        *own = rounds;
    }
    request
}
