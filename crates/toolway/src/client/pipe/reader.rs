//! How are the server's messages read and handled?

use std::io;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::AsyncRead;
use tokio::task::JoinSet;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Incoming, Rejected, Skimmed, parse};
use toolway_protocol::{Id, Message, RpcError};

use crate::client::pipe::state::PipeState;
use crate::client::wire::inbox::{Answering, MAX_ANSWERING};
use crate::client::wire::outgoing::error_frame;
use crate::client::wire::transport::too_long_a_reply;
use crate::ground::error::{Error, ErrorKind};
use crate::transport::frame::{self, Lines};

/// The reason why reading ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The server closed its output.
    Closed,
    /// Reading failed.
    Broke(io::Error),
    /// A line is longer than the limit, and has no end or is not a message. It is not known which request the line
    /// answers, so all calls fail.
    TooLong,
    /// The pipe was ended by [`PipeState::end`].
    Over,
}

/// A line that is longer than the limit multiplied by this factor counts as a line without an end.
const ENDLESS: u64 = 4;

/// Reads and handles messages until the server's output ends, or the pipe is ended.
pub(crate) async fn read(reader: &mut (impl AsyncRead + Unpin), pipe: &PipeState) -> Ended {
    let mut lines = Lines::new(pipe.max_message());
    let mut reading = Reading { pipe, answering: JoinSet::new() };
    let mut open = true;
    while open {
        let more = tokio::select! {
            biased;
            () = pipe.ended() => return Ended::Over,
            more = lines.fill(reader) => more,
        };
        match more {
            Ok(more) => open = more,
            Err(error) => return Ended::Broke(error),
        }
        // The limit may have changed: a server may send before the client has set its limit.
        let max_line = pipe.max_message();
        lines.set_max_line(max_line);
        while let Some(text) = lines.next_line() {
            match text {
                frame::Line::Text(text) => reading.take_line(&text),
                frame::Line::TooLong(Skimmed::Unknown) => return Ended::TooLong,
                frame::Line::TooLong(skimmed) => reading.refuse(skimmed, max_line),
            }
        }
        if lines.skipped() > max_line as u64 * ENDLESS {
            return Ended::TooLong;
        }
    }
    Ended::Closed
}

struct Reading<'l> {
    pipe: &'l PipeState,
    /// The tasks that answer requests of the server. They are aborted when reading ends.
    answering: JoinSet<()>,
}

impl Reading<'_> {
    fn take_line(&mut self, text: &Bytes) {
        match parse(text, Limits::default()) {
            Ok(Incoming::One(message)) => self.take(message),
            // Revision 2025-03-26 requires clients to accept batches. With other revisions, accepting batches does no
            // harm.
            Ok(Incoming::Batch(messages)) => {
                if messages.iter().any(Result::is_err) {
                    self.pipe.received.note_junk(text);
                }
                for message in messages.into_iter().flatten() {
                    self.take(message);
                }
            }
            Err(rejected) => match replied_to(text) {
                Some(id) => self.pipe.settle(&id, Err(malformed(&rejected))),
                // A line that is not a message is recorded and skipped.
                None => self.pipe.received.note_junk(text),
            },
        }
    }

    /// Handles a message that is longer than the limit. A reply fails the call that waits for it, a request of the
    /// server is answered with an error, and a notification is ignored.
    fn refuse(&self, skimmed: Skimmed, max: usize) {
        self.pipe.received.note_message();
        match skimmed {
            Skimmed::Reply(id) => self.pipe.settle(&id, Err(too_long_a_reply(max))),
            Skimmed::Request(id) => {
                self.pipe.outbox.owe(&error_frame(&id, &RpcError::too_large(max)));
            }
            Skimmed::Notification | Skimmed::Unknown => tracing::warn!(
                max_message = max,
                "a notification of the server is longer than the client's `max_message`, and was ignored"
            ),
        }
    }

    fn take(&mut self, message: Message) {
        self.pipe.received.note_message();
        if let Message::Response { id, outcome } = &message {
            match (id.clone(), outcome) {
                (Some(id), _) => self.pipe.settle(&id, Ok(message)),
                (None, Err(error)) => {
                    self.pipe.received.note_stray(error);
                    self.pipe.refuse_long(error);
                }
                (None, Ok(_)) => {}
            }
            return;
        }
        let Some(inbox) = self.pipe.inbox.get() else { return };
        inbox.take(&message);
        match inbox.answer(&message) {
            Some(Answering::Now(frame)) => self.pipe.outbox.owe(&frame),
            Some(Answering::Later(frame)) => self.answer_later(frame),
            None => {}
        }
    }

    fn answer_later(&mut self, frame: impl Future<Output = Option<Bytes>> + Send + 'static) {
        while self.answering.try_join_next().is_some() {}
        // Fewer than `MAX_ANSWERING` requests of the server are answered at once. So at this number, some tasks hold
        // finished answers that the server does not read.
        if self.answering.len() >= MAX_ANSWERING {
            return;
        }
        let outbox = self.pipe.outbox.clone();
        self.answering.spawn(async move {
            if let Some(frame) = frame.await {
                outbox.answer(&frame).await;
            }
        });
    }
}

/// Returns the id of a malformed reply, so that the call can fail at once instead of timing out. Returns `None` if the
/// text is not JSON, has no id, or is a request.
fn replied_to(text: &[u8]) -> Option<Id> {
    #[derive(Deserialize)]
    struct Reply {
        id: Id,
        method: Option<IgnoredAny>,
    }
    let reply: Reply = serde_json::from_slice(text).ok()?;
    reply.method.is_none().then_some(reply.id)
}

fn malformed(rejected: &Rejected) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, "the server's reply is malformed").caused_by(rejected.error.clone())
}
