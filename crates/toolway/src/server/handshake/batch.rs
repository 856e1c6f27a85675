//! How are the answers to a batch collected, and when are they sent?
//!
//! Each message of a batch is served as if it had arrived alone. Only its answer waits for the answers to the other
//! messages, because all answers are sent as one array.

use std::collections::HashMap;

use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader, Rejection, write_error};
use toolway_protocol::{Message, Method, RpcError};

use crate::server::failure::errors::busy;

/// How many bytes of answers may wait for the rest of their batches before further requests in batches are refused.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The answers to one batch, in the order of its messages.
#[derive(Debug)]
pub(crate) struct BatchAnswers {
    answers: Vec<Option<Vec<u8>>>,
    /// How many answers are missing.
    missing: usize,
}

impl BatchAnswers {
    /// Creates an empty collection. It expects an answer to each request, and to each rejected message that needs an
    /// error reply.
    pub(crate) fn new(messages: &[Result<Message, Rejection>]) -> Self {
        let is_owed = |message: &&Result<Message, Rejection>| match message {
            Ok(message) => matches!(message, Message::Request { .. }),
            Err(rejected) => rejected.needs_reply(),
        };
        Self { answers: vec![None; messages.len()], missing: messages.iter().filter(is_owed).count() }
    }

    /// Takes the answer to the message at `index`. Must be called once for each expected answer, with `None` for a
    /// cancelled request.
    pub(crate) fn set_answer(&mut self, index: usize, answer: Option<Vec<u8>>) {
        self.answers[index] = answer;
        self.missing -= 1;
    }

    /// Returns whether all answers are present.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing == 0
    }

    /// Returns the array of answers. Returns `None` without an answer: JSON-RPC 2.0 (section 6) does not allow an empty
    /// array. If the array would be longer than `max` bytes, the longest answers are replaced with errors.
    pub(crate) fn take_frame(&mut self, max: usize) -> Option<Vec<u8>> {
        while self.size() + self.answers.len() + 1 > max && self.fail_longest(max) {}
        let mut frame = Vec::with_capacity(self.size() + self.answers.len() + 1);
        for answer in self.answers.drain(..).flatten() {
            frame.push(if frame.is_empty() { b'[' } else { b',' });
            frame.extend_from_slice(&answer);
        }
        if frame.is_empty() {
            return None;
        }
        frame.push(b']');
        Some(frame)
    }

    /// Replaces the longest answer with an error. Returns `false` if no answer becomes shorter.
    fn fail_longest(&mut self, max: usize) -> bool {
        let Some(longest) = self.answers.iter_mut().flatten().max_by_key(|answer| answer.len()) else {
            return false;
        };
        let mut skimmer = OversizedMessageReader::default();
        skimmer.push(longest);
        let OversizedMessage::Reply(id) = skimmer.finish() else { return false };
        let text = format!(
            "the answers to this batch are longer than {max} bytes together: ask in several messages, or raise `max_message` on the server"
        );
        let mut failed = Vec::new();
        write_error(&mut failed, Some(&id), &RpcError::internal(text).with_max_message(max));
        let is_shorter = failed.len() < longest.len();
        if is_shorter {
            *longest = failed;
        }
        is_shorter
    }

    fn size(&self) -> usize {
        self.answers.iter().flatten().map(Vec::len).sum()
    }
}

/// The incomplete batches of one pipe.
#[derive(Debug)]
pub(crate) struct Batches {
    open: HashMap<u64, BatchAnswers>,
    next_batch: u64,
    /// How many bytes of answers wait for the rest of their batch.
    held_bytes: usize,
    max_message: usize,
}

/// The position of an answer in its batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BatchSlot {
    batch: u64,
    index: usize,
}

impl Batches {
    /// Creates an empty set. A frame of answers has at most `max_message` bytes.
    pub(crate) fn new(max_message: usize) -> Self {
        Self { open: HashMap::new(), next_batch: 0, held_bytes: 0, max_message }
    }

    /// Opens a batch, and returns each of its messages with the place of the answer.
    ///
    /// A request that never ends keeps the answers of its batch here. While too many bytes are kept, all requests in
    /// new batches are refused, except pings.
    pub(crate) fn open(
        &mut self,
        messages: Vec<Result<Message, Rejection>>,
    ) -> impl Iterator<Item = (Result<Message, Rejection>, BatchSlot)> + use<> {
        let batch = self.next_batch;
        self.next_batch += 1;
        let gathered = BatchAnswers::new(&messages);
        if !gathered.is_complete() {
            self.open.insert(batch, gathered);
        }
        let is_full = self.held_bytes >= MAX_HELD_BYTES;
        messages.into_iter().enumerate().map(move |(index, message)| {
            let message = match message {
                Ok(Message::Request { id, method, .. }) if is_full && method != Method::Ping => {
                    let error = busy("too many answers wait for the rest of their batch");
                    Err(Rejection { id: Some(id), error })
                }
                message => message,
            };
            (message, BatchSlot { batch, index })
        })
    }

    /// Takes an answer. If it was the last missing answer of its batch, returns the frame to send, or `None` if the
    /// batch has no answers.
    pub(crate) fn set_answer(&mut self, place: BatchSlot, answer: Option<Vec<u8>>) -> Option<Vec<u8>> {
        let gathered = self.open.get_mut(&place.batch)?;
        self.held_bytes += answer.as_ref().map_or(0, Vec::len);
        gathered.set_answer(place.index, answer);
        if !gathered.is_complete() {
            return None;
        }
        let mut gathered = self.open.remove(&place.batch)?;
        self.held_bytes -= gathered.size();
        gathered.take_frame(self.max_message)
    }
}
