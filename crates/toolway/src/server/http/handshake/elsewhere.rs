//! What if an answer comes to another server than the one that asked?
//!
//! Servers that share a store are one server to a client. So a question leaves its key in the store, whichever server gets the
//! answer puts it there, and tells the one that asked to look. Only what was asked can be answered, and once.

use std::time::Duration;

use bytes::Bytes;
use toolway_protocol::jsonrpc::{Incoming, parse, write_bare_result, write_error};
use toolway_protocol::{Id, Message, RawJson, RpcError};

use super::live::Live;
use crate::ground::error::Result;
use crate::server::handshake::questions::PREFIX;
use crate::store::Subscription;

/// The longest id of a question.
const LONGEST_ID: usize = 40;

/// The questions of one request that may be answered elsewhere.
#[derive(Default)]
pub(super) struct Elsewhere {
    /// Opened when the first one is asked.
    told: Option<Box<dyn Subscription>>,
    /// Whether something was told and not looked at yet.
    is_told: bool,
    asked: Vec<Id>,
}

impl Elsewhere {
    /// A question is about to be asked.
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

    /// Takes answers that came elsewhere, whenever there are any. Never ends, and loses nothing when it is dropped.
    pub(super) async fn take(&mut self, live: &Live) {
        let Some(told) = &mut self.told else { return std::future::pending().await };
        loop {
            if !self.is_told {
                // Whether something was said or missed: looking tells.
                told.next().await;
                self.is_told = true;
            }
            for id in &self.asked {
                match live.store().get(&key(live, id)).await {
                    Ok(Some(frame)) if !frame.is_empty() => settle(live, &frame),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "an answer that came elsewhere could not be read"),
                }
            }
            self.is_told = false;
        }
    }

    /// Nothing is asked any more.
    pub(super) async fn forget(self, live: &Live) {
        for id in &self.asked {
            // What is not deleted expires.
            let _ = live.store().delete(&key(live, id)).await;
        }
    }
}

/// Hands an answer to the server that asked, if there is one that did.
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

/// Whether a server like this one may have asked under an id.
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
