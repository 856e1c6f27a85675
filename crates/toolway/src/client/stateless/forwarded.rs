//! What came of a request that was made for another caller?

use toolway_protocol::{Method, RawJson};

use crate::client::answer::answers::Place;
use crate::client::answer::forwarded::{Passed, Questions};
use crate::client::stateless::link::StatelessLink;
use crate::client::stateless::rounds::{failed, read};
use crate::ground::error::Result;

impl StatelessLink {
    /// What came of a request that was made for another caller: a result, or what the caller has to be asked. Questions that the
    /// application answers itself are answered here.
    pub(crate) async fn passed(&self, method: &Method, result: RawJson) -> Result<Passed> {
        let Some(required) = read(&result, method)? else { return Ok(Passed::Complete(result)) };
        let mut questions = Questions { open: Vec::new(), given: Vec::new(), state: required.request_state };
        let (ours, theirs): (Vec<_>, Vec<_>) = required
            .input_requests
            .unwrap_or_default()
            .0
            .into_iter()
            .partition(|(_, question)| self.answers.has(question));
        questions.open = theirs;
        for (key, question) in ours {
            let (kind, place) =
                (question.method(), Place { key: Some(key.clone()), during: Some(method.clone()) });
            let answer = self.answers.clone().answer(question, place).await;
            let answer = answer.map_err(|unable| failed(&key, kind, unable))?;
            questions.given.push((key, RawJson::encoded(&answer, self.version)));
        }
        Ok(Passed::Asks(questions))
    }
}
