//! What came of a request that was made for another caller?

use toolway_protocol::{Method, ProtocolVersion, RawJson};

use crate::client::answer::answers::{Answers, Place};
use crate::client::answer::forwarded::Questions;
use crate::client::stateless::rounds::{failed, read};
use crate::client::wire::era_link::Reply;
use crate::ground::error::Result;

/// What came of a request that was made for another caller: a result, or what the caller has to be asked. Questions that the
/// application answers itself are answered here.
pub(super) fn forwarded<'l>(
    answers: &'l Answers,
    version: ProtocolVersion,
    method: &'l Method,
    result: RawJson,
) -> Result<Reply<'l, Questions>> {
    let Some(required) = read(&result, method)? else { return Ok(Reply::Complete(result)) };
    Ok(Reply::Asks(Box::pin(async move {
        let asked = required.input_requests.unwrap_or_default().0;
        let (ours, open): (Vec<_>, Vec<_>) =
            asked.into_iter().partition(|(_, question)| answers.has(question));
        let mut given = Vec::new();
        for (key, question) in ours {
            let (kind, place) =
                (question.method(), Place { key: Some(key.clone()), during: Some(method.clone()) });
            let answer = answers.clone().answer(question, place).await;
            let answer = answer.map_err(|unable| failed(&key, kind, unable))?;
            given.push((key, RawJson::encoded(&answer, version)));
        }
        Ok(Questions { open, given, state: required.request_state })
    })))
}
