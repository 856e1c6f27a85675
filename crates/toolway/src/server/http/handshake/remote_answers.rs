//! What if an answer reaches another server than the one that asked?
//!
//! Servers that share a store act as one server to a client. A server that asks a question stores a key for it. The
//! server that receives the answer stores it under this key and notifies the server that asked. So only an open
//! question can be answered, and only once.

use std::time::Duration;

use bytes::Bytes;
use toolway_protocol::jsonrpc::{ParsedFrame, parse, write_error, write_raw_result};
use toolway_protocol::{Id, Message, RawJson, RpcError};

use super::live_session::LiveSession;
use crate::ground::error::Result;
use crate::server::handshake::questions::QUESTION_ID_PREFIX;
use crate::store::Subscription;

/// The longest id of a question, in bytes.
const MAX_QUESTION_ID: usize = 40;

/// The questions of one request, whose answers may reach another server.
#[derive(Default)]
pub(super) struct RemoteAnswers {
    /// Receives a message when another server has stored an answer. Opened with the first question.
    subscription: Option<Box<dyn Subscription>>,
    /// `true` if a notification arrived and the answers were not read yet.
    is_notified: bool,
    question_ids: Vec<Id>,
}

impl RemoteAnswers {
    /// Stores the key of a question that is about to be sent. Does nothing if no other server may serve the session.
    pub(super) async fn register_question(&mut self, live: &LiveSession, question: &[u8]) -> Result<()> {
        if !live.is_shared() {
            return Ok(());
        }
        let question = parse(&Bytes::copy_from_slice(question), live.json_limits());
        let Ok(ParsedFrame::One(Message::Request { id, .. })) = question else { return Ok(()) };
        if self.subscription.is_none() {
            self.subscription = Some(live.store().subscribe(&channel(live)).await?);
        }
        live.store().put(&key(live, &id), Bytes::new(), live.question_timeout()).await?;
        self.question_ids.push(id);
        Ok(())
    }

    /// Waits for answers that other servers received, and hands them to the session. Never completes. Cancel safe: no
    /// answer is lost when the future is dropped.
    pub(super) async fn receive(&mut self, live: &LiveSession) {
        let Some(told) = &mut self.subscription else { return std::future::pending().await };
        loop {
            if !self.is_notified {
                // A message and a gap in the subscription have the same effect: the answers are read from the store.
                told.next().await;
                self.is_notified = true;
            }
            for id in &self.question_ids {
                match live.store().get(&key(live, id)).await {
                    Ok(Some(frame)) if !frame.is_empty() => deliver_frame(live, &frame),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "an answer that another server received could not be read");
                    }
                }
            }
            self.is_notified = false;
        }
    }

    /// Removes the questions from the store.
    pub(super) async fn forget(self, live: &LiveSession) {
        for id in &self.question_ids {
            // A key that could not be deleted expires.
            let _ = live.store().delete(&key(live, id)).await;
        }
    }
}

/// Passes an answer to the server that asked the question. Does nothing if no such question is open.
pub(super) async fn forward_answer(
    live: &LiveSession,
    id: Option<&Id>,
    outcome: &Result<RawJson, RpcError>,
) -> Result<()> {
    let Some(id) = id.filter(|id| live.is_shared() && is_question_id(id)) else { return Ok(()) };
    let mut frame = Vec::new();
    match outcome {
        Ok(result) => write_raw_result(&mut frame, id, result),
        Err(error) => write_error(&mut frame, Some(id), error),
    }
    let left: Duration = live.question_timeout();
    if live.store().compare_and_swap(&key(live, id), Some(Bytes::new()), frame.into(), left).await? {
        live.store().publish(&channel(live), Bytes::new()).await?;
    }
    Ok(())
}

/// Returns whether a server could have used this id for a question.
fn is_question_id(id: &Id) -> bool {
    matches!(id, Id::String(id) if id.starts_with(QUESTION_ID_PREFIX) && id.len() <= MAX_QUESTION_ID)
}

fn deliver_frame(live: &LiveSession, frame: &Bytes) {
    if let Ok(ParsedFrame::One(Message::Response { id, outcome })) = parse(frame, live.json_limits()) {
        let _ = live.session.deliver_answer(id.as_ref(), outcome);
    }
}

fn key(live: &LiveSession, id: &Id) -> String {
    format!("question/{}/{id}", live.id)
}

fn channel(live: &LiveSession) -> String {
    format!("answers/{}", live.id)
}
