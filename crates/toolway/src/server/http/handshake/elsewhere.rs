//! What if an answer reaches another server than the one that asked?
//!
//! Servers that share a store act as one server to a client. A server that asks a question stores a key for it. The
//! server that receives the answer stores it under this key and notifies the server that asked. So only an open
//! question can be answered, and only once.

use std::time::Duration;

use bytes::Bytes;
use toolway_protocol::jsonrpc::{Incoming, parse, write_bare_result, write_error};
use toolway_protocol::{Id, Message, RawJson, RpcError};

use super::live::Live;
use crate::ground::error::Result;
use crate::server::handshake::questions::PREFIX;
use crate::store::Subscription;

/// The longest id of a question, in bytes.
const LONGEST_ID: usize = 40;

/// The questions of one request, whose answers may reach another server.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Receives a message when another server has stored an answer. Opened with the first question.
    told: Option<Box<dyn Subscription>>,
    /// `true` if a notification arrived and the answers were not read yet.
    is_told: bool,
    asked: Vec<Id>,
}

impl Elsewhere {
    /// Stores the key of a question that is about to be sent. Does nothing if no other server may serve the session.
    pub(super) async fn expect(&mut self, live: &Live, question: &[u8]) -> Result<()> {
        if !live.is_shared() {
            return Ok(());
        }
        let question = parse(&Bytes::copy_from_slice(question), live.json_limits());
        let Ok(Incoming::One(Message::Request { id, .. })) = question else { return Ok(()) };
        if self.told.is_none() {
            self.told = Some(live.store().subscribe(&channel(live)).await?);
        }
        live.store().put(&key(live, &id), Bytes::new(), live.question_timeout()).await?;
        self.asked.push(id);
        Ok(())
    }

    /// Waits for answers that other servers received, and hands them to the session. Never completes. Cancel safe: no
    /// answer is lost when the future is dropped.
    pub(super) async fn take(&mut self, live: &Live) {
        let Some(told) = &mut self.told else { return std::future::pending().await };
        loop {
            if !self.is_told {
                // A message and a gap in the subscription have the same effect: the answers are read from the store.
                told.next().await;
                self.is_told = true;
            }
            for id in &self.asked {
                match live.store().get(&key(live, id)).await {
                    Ok(Some(frame)) if !frame.is_empty() => settle(live, &frame),
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "an answer that another server received could not be read");
                    }
                }
            }
            self.is_told = false;
        }
    }

    /// Removes the questions from the store.
    pub(super) async fn forget(self, live: &Live) {
        for id in &self.asked {
            // A key that could not be deleted expires.
            let _ = live.store().delete(&key(live, id)).await;
        }
    }
}

/// Passes an answer to the server that asked the question. Does nothing if no such question is open.
pub(super) async fn pass_on(live: &Live, id: Option<&Id>, outcome: &Result<RawJson, RpcError>) -> Result<()> {
    let Some(id) = id.filter(|id| live.is_shared() && is_question(id)) else { return Ok(()) };
    let mut frame = Vec::new();
    match outcome {
        Ok(result) => write_bare_result(&mut frame, id, result),
        Err(error) => write_error(&mut frame, Some(id), error),
    }
    let left: Duration = live.question_timeout();
    if live.store().swap(&key(live, id), Some(Bytes::new()), frame.into(), left).await? {
        live.store().publish(&channel(live), Bytes::new()).await?;
    }
    Ok(())
}

/// Returns whether a server could have used this id for a question.
fn is_question(id: &Id) -> bool {
    matches!(id, Id::String(id) if id.starts_with(PREFIX) && id.len() <= LONGEST_ID)
}

fn settle(live: &Live, frame: &Bytes) {
    if let Ok(Incoming::One(Message::Response { id, outcome })) = parse(frame, live.json_limits()) {
        let _ = live.session.settle(id.as_ref(), outcome);
    }
}

fn key(live: &Live, id: &Id) -> String {
    format!("question/{}/{id}", live.id)
}

fn channel(live: &Live) -> String {
    format!("answers/{}", live.id)
}
