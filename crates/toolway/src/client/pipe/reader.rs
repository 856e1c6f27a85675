//! How are the server's messages read and handled?

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::io::AsyncRead;
use tokio::task::JoinSet;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{OversizedMessage, ParsedFrame, Rejection, parse};
use toolway_protocol::{Id, Message, RpcError};

use crate::client::pipe::state::PipeState;
use crate::client::record::{Content, Direction};
use crate::client::wire::inbox::{AnswerFrame, MAX_PENDING_ANSWERS};
use crate::client::wire::outgoing::error_frame;
use crate::client::wire::transport::reply_too_long_error;
use crate::ground::error::{Error, ErrorKind};
use crate::transport::frame::{self, Lines};

/// The reason why reading ended.
#[derive(Debug)]
pub(crate) enum ReadEnd {
    /// The server closed its output.
    Closed,
    /// Reading failed.
    Failed(io::Error),
    /// A line is longer than the limit, and has no end or is not a message. It is not known which request the line
    /// answers, so all calls fail.
    TooLong,
    /// The pipe was ended by [`PipeState::end`].
    PipeEnded,
}

/// A line that is longer than the limit multiplied by this factor counts as a line without an end.
const MAX_LINE_FACTOR: u64 = 4;

/// Reads and handles messages until the server's output ends, or the pipe is ended.
pub(crate) async fn read(reader: &mut (impl AsyncRead + Unpin), pipe: &PipeState) -> ReadEnd {
    let mut lines = Lines::new(pipe.max_message());
    let mut reading = MessageHandler { pipe, answer_tasks: JoinSet::new() };
    let mut open = true;
    while open {
        let filled =
            {
                let mut filling = pin!(lines.fill(reader));
                poll_fn(|cx| {
                    if pipe.poll_ended(cx) { Poll::Ready(None) } else { filling.as_mut().poll(cx).map(Some) }
                })
                .await
            };
        match filled {
            Some(Ok(more)) => open = more,
            Some(Err(error)) => return ReadEnd::Failed(error),
            None => return ReadEnd::PipeEnded,
        }
        // The limit may have changed: a server may send before the client has set its limit.
        let max_line = pipe.max_message();
        lines.set_max_line(max_line);
        while let Some(text) = lines.next_line() {
            match text {
                frame::Line::Text(text) => {
                    if let Some(recorder) = &pipe.recorder {
                        recorder.record_in(&text);
                    }
                    reading.handle_line(&text);
                }
                frame::Line::TooLong(OversizedMessage::Unknown) => return ReadEnd::TooLong,
                frame::Line::TooLong(skimmed) => {
                    if let Some(recorder) = &pipe.recorder {
                        let note = format!("a line of more than {max_line} bytes is left out");
                        recorder.record(Direction::In, None, Content::Note(note));
                    }
                    reading.handle_too_long(skimmed, max_line);
                }
            }
        }
        if lines.skipped() > max_line as u64 * MAX_LINE_FACTOR {
            return ReadEnd::TooLong;
        }
    }
    ReadEnd::Closed
}

struct MessageHandler<'l> {
    pipe: &'l PipeState,
    /// The tasks that answer requests of the server. They are aborted when reading ends.
    answer_tasks: JoinSet<()>,
}

impl MessageHandler<'_> {
    fn handle_line(&mut self, text: &Bytes) {
        match parse(text, Limits::default()) {
            Ok(ParsedFrame::One(message)) => self.handle_message(message),
            // Revision 2025-03-26 requires clients to accept batches. With other revisions, accepting batches does no
            // harm.
            Ok(ParsedFrame::Batch(messages)) => {
                if messages.iter().any(Result::is_err) {
                    self.pipe.output.note_stray_line(text);
                }
                for message in messages.into_iter().flatten() {
                    self.handle_message(message);
                }
            }
            Err(rejected) => match malformed_reply_id(text) {
                Some(id) => self.pipe.complete(&id, Err(malformed_error(&rejected))),
                // A line that is not a message is recorded and skipped.
                None => self.pipe.output.note_stray_line(text),
            },
        }
    }

    /// Handles a message that is longer than the limit. A reply fails the call that waits for it, a request of the
    /// server is answered with an error, and a notification is ignored.
    fn handle_too_long(&self, skimmed: OversizedMessage, max: usize) {
        self.pipe.output.note_message();
        match skimmed {
            OversizedMessage::Reply(id) => self.pipe.complete(&id, Err(reply_too_long_error(max))),
            OversizedMessage::Request(id) => {
                self.pipe.outbox.queue_or_drop(&error_frame(&id, &RpcError::too_large(max)));
            }
            OversizedMessage::Notification | OversizedMessage::Unknown => tracing::warn!(
                max_message = max,
                "a notification of the server is longer than the client's `max_message`, and was ignored"
            ),
        }
    }

    fn handle_message(&mut self, message: Message) {
        self.pipe.output.note_message();
        if let Message::Response { id, outcome } = &message {
            match (id.clone(), outcome) {
                (Some(id), _) => self.pipe.complete(&id, Ok(message)),
                (None, Err(error)) => {
                    self.pipe.output.note_stray_error(error);
                    self.pipe.fail_long_requests(error);
                }
                (None, Ok(_)) => {}
            }
            return;
        }
        let Some(inbox) = self.pipe.inbox.get() else { return };
        inbox.deliver(&message);
        match inbox.answer(&message) {
            Some(AnswerFrame::Now(frame)) => self.pipe.outbox.queue_or_drop(&frame),
            Some(AnswerFrame::Later(frame)) => self.spawn_answer(frame),
            None => {}
        }
    }

    fn spawn_answer(&mut self, frame: impl Future<Output = Option<Bytes>> + Send + 'static) {
        while self.answer_tasks.try_join_next().is_some() {}
        // Fewer than `MAX_PENDING_ANSWERS` requests of the server are answered at once. So at this number, some tasks
        // hold finished answers that the server does not read.
        if self.answer_tasks.len() >= MAX_PENDING_ANSWERS {
            return;
        }
        let outbox = self.pipe.outbox.clone();
        self.answer_tasks.spawn(async move {
            if let Some(frame) = frame.await {
                outbox.queue_when_room(&frame).await;
            }
        });
    }
}

/// Returns the id of a malformed reply, so that the call can fail at once instead of timing out. Returns `None` if the
/// text is not JSON, has no id, or is a request.
fn malformed_reply_id(text: &[u8]) -> Option<Id> {
    #[derive(Deserialize)]
    struct Reply {
        id: Id,
        method: Option<IgnoredAny>,
    }
    let reply: Reply = serde_json::from_slice(text).ok()?;
    reply.method.is_none().then_some(reply.id)
}

fn malformed_error(rejected: &Rejection) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, "the server's reply is malformed").caused_by(rejected.error.clone())
}
