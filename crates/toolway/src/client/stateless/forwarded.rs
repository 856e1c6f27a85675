//! What does a forwarded request return? The result, or the questions for the caller.

use toolway_protocol::{Method, RawJson};

use crate::client::answer::forwarded::CallerQuestions;
use crate::client::stateless::link::StatelessLink;
use crate::client::stateless::rounds::{answer_one, read_input_required};
use crate::client::wire::forward_link::ForwardLink;
use crate::client::wire::request_options::ServerReply;
use crate::ground::error::Result;

impl ForwardLink for StatelessLink {
    fn complete_forwarded<'l>(
        &'l self,
        method: &'l Method,
        result: RawJson,
    ) -> Result<ServerReply<'l, CallerQuestions>> {
        let Some(required) = read_input_required(&result, method)? else {
            return Ok(ServerReply::Complete(result));
        };
        Ok(ServerReply::InputRequired(Box::pin(async move {
            let asked = required.input_requests.unwrap_or_default().0;
            let (ours, open): (Vec<_>, Vec<_>) =
                asked.into_iter().partition(|(_, question)| self.answers.can_answer(question));
            let mut given = Vec::new();
            for (key, question) in ours {
                let during = (method.clone(), None);
                let (key, answer) = answer_one(self.answers.clone(), during, key, question).await?;
                given.push((key, RawJson::encoded(&answer, self.version)));
            }
            Ok(CallerQuestions {
                for_caller: open,
                own_answers: given,
                request_state: required.request_state,
            })
        })))
    }
}
