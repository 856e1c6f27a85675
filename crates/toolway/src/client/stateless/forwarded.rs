//! What does a forwarded request return? The result, or the questions for the caller.

use toolway_protocol::{Method, RawJson};

use crate::client::answer::forwarded::Questions;
use crate::client::stateless::link::StatelessLink;
use crate::client::stateless::rounds::{answer_one, read};
use crate::client::wire::forward_link::ForwardLink;
use crate::client::wire::terms::Reply;
use crate::ground::error::Result;

impl ForwardLink for StatelessLink {
    fn forwarded<'l>(&'l self, method: &'l Method, result: RawJson) -> Result<Reply<'l, Questions>> {
        let Some(required) = read(&result, method)? else { return Ok(Reply::Complete(result)) };
        Ok(Reply::Asks(Box::pin(async move {
            let asked = required.input_requests.unwrap_or_default().0;
            let (ours, open): (Vec<_>, Vec<_>) =
                asked.into_iter().partition(|(_, question)| self.answers.has(question));
            let mut given = Vec::new();
            for (key, question) in ours {
                let (key, answer) = answer_one(self.answers.clone(), method.clone(), key, question).await?;
                given.push((key, RawJson::encoded(&answer, self.version)));
            }
            Ok(Questions { open, given, state: required.request_state })
        })))
    }
}
