//! How do cancellations and answers reach the server that runs the call?
//!
//! They are stored, so that a lost message does not lose them. A fail-over may lose what was stored, too: for a while this
//! server remembers what it has delivered, and delivers it again.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::value::RawValue;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use toolway_protocol::Id;

use super::claim_entry::{CLAIMS, ClaimEntry};
use super::gaps::GapWatch;
use super::message::{News, NodeMessage};
use super::node::HEALING_TIME;
use super::session::{ANSWERED_QUESTION, CANCELLED, OPEN_QUESTION, SharedSession, question_key};
use crate::store::{Condition, Name, Operation, Outcome, Result, Step};

/// Something that a client has sent to this server, and that is for another one.
pub(in crate::server) enum Delivery {
    /// The cancellation of a request.
    Cancellation(Id),
    /// The answer to a question. It is ignored if the question is not open.
    Answer { question: String, node: String, frame: Bytes, ttl: Duration },
}

impl Delivery {
    /// Stores this, and tells the server that it is for.
    pub(in crate::server) async fn deliver(self, session: &Arc<SharedSession>) -> Result<()> {
        let gaps = session.node.gaps();
        let deadline = Instant::now() + HEALING_TIME;
        let mut pause = FIRST_PAUSE;
        let mut is_stored = self.attempt(session).await?;
        // A fail-over may have lost the question. The server that asked it makes it known again.
        while !is_stored
            && session.node.may_store_be_behind()
            && Instant::now() < deadline
            && self.is_awaited(session).await?
        {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MAX_PAUSE);
            is_stored = self.attempt(session).await?;
        }
        // It may also have lost the claim of a request, a moment ago.
        let is_due = !is_stored && session.node.may_store_be_behind();
        if let Ok(permit) = REMEMBERED.try_acquire_many(self.size()) {
            let session = session.clone();
            tokio::spawn(async move {
                self.repeat(&session, gaps, is_due).await;
                drop(permit);
            });
        }
        Ok(())
    }

    /// Delivers this again when the store may have lost it, and now if it `is_due`.
    async fn repeat(self, session: &SharedSession, mut gaps: GapWatch, mut is_due: bool) {
        let end = Instant::now() + REMEMBERED_FOR;
        while std::mem::take(&mut is_due) || tokio::time::timeout_at(end, gaps.next()).await.is_ok() {
            for pause in PAUSES_AFTER_GAP {
                // The other server may first have to write the claim or the question again.
                tokio::time::sleep(pause).await;
                match self.attempt(session).await {
                    Ok(true) => break,
                    Ok(false) => {}
                    Err(error) => tracing::debug!(%error, "something could not be delivered again"),
                }
            }
        }
    }

    /// Returns whether it was stored.
    async fn attempt(&self, session: &SharedSession) -> Result<bool> {
        match self {
            Self::Cancellation(id) => cancel(session, id).await,
            Self::Answer { question, node, frame, ttl } => answer(session, question, node, frame, *ttl).await,
        }
    }

    /// Returns whether the other server may still be waiting for this, although the store does not know of it.
    async fn is_awaited(&self, session: &SharedSession) -> Result<bool> {
        let Self::Answer { question, node, .. } = self else { return Ok(false) };
        let is_answered = Step::new().when(Condition::HasVersion(question_key(question), ANSWERED_QUESTION));
        Ok(!matches!(session.run(&is_answered).await?, Outcome::Done(_))
            && session.node.is_alive(node).await?)
    }

    /// Returns its size in KiB, rounded up.
    fn size(&self) -> u32 {
        let bytes = match self {
            Self::Cancellation(_) => 0,
            Self::Answer { frame, .. } => frame.len(),
        };
        u32::try_from(bytes >> 10).unwrap_or(u32::MAX).saturating_add(1)
    }
}

async fn cancel(session: &SharedSession, id: &Id) -> Result<bool> {
    let request = id.to_string();
    let key = Name::from(request.clone());
    let message = NodeMessage::write(&session.id, News::Cancel { request });
    // The entry of a claim is never empty, so the outcome tells whether there is one.
    let probe = Condition::Free { map: CLAIMS, key: key.clone(), value: Bytes::new() };
    let Outcome::Refused { holder: Some(holder), .. } = session.run(&Step::new().when(probe)).await? else {
        // A request without a claim may run anywhere.
        session.node.tell_all(message).await;
        return Ok(false);
    };
    let tell = session.node.telling(ClaimEntry::node(&holder), message);
    let enter = Operation::Enter { map: CANCELLED, key, value: holder, ttl: session.limits.kept.time };
    let step = Step::new().when(SharedSession::is_open()).then(enter).then(tell);
    Ok(matches!(session.run(&step).await?, Outcome::Done(_)))
}

async fn answer(
    session: &SharedSession,
    question: &str,
    node: &str,
    frame: &Bytes,
    ttl: Duration,
) -> Result<bool> {
    let short = (frame.len() <= MAX_FRAME_IN_MESSAGE).then(|| serde_json::from_slice::<Box<RawValue>>(frame));
    let news = News::Answer { question: question.to_owned(), frame: short.and_then(std::result::Result::ok) };
    let key = question_key(question);
    let step = Step::new()
        .when(Condition::HasVersion(key.clone(), OPEN_QUESTION))
        .then(Operation::Put { key, value: frame.clone(), version: ANSWERED_QUESTION, ttl })
        .then(session.node.telling(node, NodeMessage::write(&session.id, news)));
    Ok(matches!(session.run(&step).await?, Outcome::Done(_)))
}

/// The size of everything that is remembered at one time, in KiB.
const MAX_REMEMBERED: usize = 16 << 10;
static REMEMBERED: Semaphore = Semaphore::const_new(MAX_REMEMBERED);
/// How long a delivery is remembered.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);
/// The pauses before the attempts to deliver something again.
const PAUSES_AFTER_GAP: [Duration; 3] = [Duration::ZERO, Duration::from_secs(1), Duration::from_secs(2)];
/// The longest answer that travels with its message, in bytes.
const MAX_FRAME_IN_MESSAGE: usize = 16 << 10;
/// How long to wait before an answer to a question that the store does not know is delivered again.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_millis(500);
