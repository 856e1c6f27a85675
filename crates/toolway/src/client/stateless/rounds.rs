//! What happens when the server asks questions about a request? The client answers them and sends the request again,
//! with the answers. Each time that a request is sent is called a *round*; the number of rounds is limited.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use toolway_protocol::request::Rounds;
use toolway_protocol::types::{InputRequest, InputRequired, InputResponse, OrderedMap};
use toolway_protocol::{Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::answers::{AnswerHandlers, MAX_QUESTIONS, QuestionError, check_question};
use crate::client::answer::origin::QuestionOrigin;
use crate::client::wire::request_options::{RequestRounds, ServerReply};
use crate::ground::error::{Error, ErrorKind, Result};

/// The maximum number of times that one request is sent again. The limit protects the client from a server that keeps
/// asking.
const MAX_ROUNDS: u32 = 10;

/// The first wait before a request is sent again if the server required another round without a question. The wait
/// doubles each time.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait before a request is sent again.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Handles the result of a request. If the server asks questions, the returned future answers them and prepares the
/// next round; otherwise the result is returned unchanged.
pub(super) fn complete<'l>(
    version: ProtocolVersion,
    answers: &'l AnswerHandlers,
    course: &'l mut RequestRounds<'_>,
    result: RawJson,
) -> Result<ServerReply<'l, ()>> {
    if let Request::Other(..) = course.request() {
        return Ok(ServerReply::Complete(result));
    }
    let method = course.request().method();
    let Some(required) = read_input_required(&result, &method)? else {
        return Ok(ServerReply::Complete(result));
    };
    if course.round == MAX_ROUNDS {
        return Err(misbehaved_error(&method, &format!("still requires input after {MAX_ROUNDS} rounds")));
    }
    course.round += 1;
    Ok(ServerReply::InputRequired(Box::pin(async move {
        let questions = required.input_requests.unwrap_or_default().0;
        let mut rounds = Rounds::default();
        rounds.request_state = required.request_state;
        if questions.is_empty() {
            // The server has not finished its work. It keeps the state of the work in the request state, which the
            // client sends back.
            sleep(MAX_WAIT.min(FIRST_WAIT.saturating_mul(1 << course.empty_rounds.min(16)))).await;
            course.empty_rounds += 1;
        } else {
            rounds.input_responses =
                Some(answer_all(version, answers, (&method, course.tag), questions).await?);
        }
        let mut request = course.request().clone();
        // `read` accepts questions only for methods whose requests have `rounds`.
        if let Some(own) = request.rounds_mut() {
            *own = rounds;
        }
        course.set_next_round(request);
        Ok(())
    })))
}

/// Returns the input that the server still requires, or `None` if the result is complete. A result without `resultType`
/// is complete.
pub(super) fn read_input_required(result: &RawJson, method: &Method) -> Result<Option<InputRequired>> {
    let kind = result.tag("resultType").map_err(|error| {
        Error::new(ErrorKind::PeerMisbehaved, "the server's result is not an object").caused_by(error)
    })?;
    match kind.as_deref() {
        None | Some("complete") => Ok(None),
        Some("input_required") if method.may_ask() => {
            let required: InputRequired = result.decode().map_err(|error| {
                misbehaved_error(method, "contains questions that cannot be read").caused_by(error)
            })?;
            let questions = required.input_requests.as_ref().map_or(0, |questions| questions.0.len());
            if questions == 0 && required.request_state.is_none() {
                return Err(misbehaved_error(
                    method,
                    "requires input but contains neither questions nor a request state",
                ));
            }
            if questions > MAX_QUESTIONS {
                return Err(misbehaved_error(method, "asks too many questions at once"));
            }
            Ok(Some(required))
        }
        Some(kind) => Err(Error::new(
            ErrorKind::PeerMisbehaved,
            format!("the server's result is of an unknown type, {kind:?}"),
        )),
    }
}

/// Answers all questions concurrently. Fails as soon as one of them cannot be answered.
async fn answer_all(
    version: ProtocolVersion,
    answers: &AnswerHandlers,
    (method, tag): (&Method, Option<u64>),
    questions: Vec<(String, InputRequest)>,
) -> Result<RawJson> {
    let declared = answers.capabilities();
    for (key, question) in &questions {
        check_question(question, &declared)
            .map_err(|unable| unanswered_error(key, question.method(), unable))?;
    }
    let mut asking = JoinSet::new();
    for (place, (key, question)) in questions.into_iter().enumerate() {
        let answered = answer_one(answers.clone(), (method.clone(), tag), key, question);
        asking.spawn(async move { Ok::<_, Error>((place, answered.await?)) });
    }
    let mut given = Vec::new();
    while let Some(answered) = asking.join_next().await {
        // Panics of the application are caught inside the task, so this error means that the runtime shuts down.
        let answered = answered.map_err(|error| {
            Error::new(ErrorKind::Cancelled, "the questions of the server were cancelled").caused_by(error)
        })?;
        given.push(answered?);
    }
    given.sort_by_key(|(place, _)| *place);
    let given: OrderedMap<_> = given.into_iter().map(|(_, answered)| answered).collect::<Vec<_>>().into();
    Ok(RawJson::encoded(&given, version))
}

/// Answers one question that the server asks about a request.
pub(super) async fn answer_one(
    answers: AnswerHandlers,
    (during, request_tag): (Method, Option<u64>),
    key: String,
    question: InputRequest,
) -> Result<(String, InputResponse)> {
    let kind = question.method();
    let origin = QuestionOrigin { key: Some(key.clone()), request_method: Some(during), request_tag };
    match answers.answer(question, origin).await {
        Ok(answer) => Ok((key, answer)),
        Err(unable) => Err(unanswered_error(&key, kind, unable)),
    }
}

/// The error of a call that ends because a question was not answered.
fn unanswered_error(key: &str, kind: Method, unable: QuestionError) -> Error {
    let kind = kind.name();
    match unable {
        QuestionError::Undeclared => Error::new(
            ErrorKind::PeerMisbehaved,
            format!(
                "the server asks {kind} ({key:?}), but this client did not declare the capability for it"
            ),
        ),
        QuestionError::Invalid(reason) => {
            Error::new(ErrorKind::PeerMisbehaved, format!("the server asks {kind} ({key:?}), but {reason}"))
        }
        QuestionError::Refused => {
            Error::new(ErrorKind::Cancelled, format!("the user refused to answer {kind} ({key:?})"))
        }
        QuestionError::Failed(cause) => {
            Error::new(ErrorKind::Application, format!("the question {kind} ({key:?}) was not answered"))
                .caused_by(cause)
        }
    }
}

fn misbehaved_error(method: &Method, what: &str) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, format!("the server's reply to {} {what}", method.name()))
}
