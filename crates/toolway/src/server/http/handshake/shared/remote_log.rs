//! How is a stream read that another server writes, or wrote?
//!
//! The reader enters itself in the stored log. The writer tells its server when there is more to read; without a message,
//! the log is looked at after a while. If the server that wrote the log has died, the reader ends the log: the request is
//! lost.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::sync::Notify;
use tokio::time::Instant;
use toolway_protocol::jsonrpc::write_error;
use toolway_protocol::{Id, RpcError};

use super::super::log::event::EventKind;
use super::super::log::event_log::{ReadOutcome, ReadableEvent};
use super::claim_entry::ClaimEntry;
use super::message::{News, NodeMessage};
use super::session::SharedSession;
use crate::ground::mutex::Mutex;
use crate::ground::random::random_hex;
use crate::server::observe::store_meter::StoreEvent;
use crate::store::{
    Answer, Append, Condition, Keep, LogEntry, LogPage, Operation, Outcome, Result, Room, Step,
};

/// The first event of the stream of a request.
#[derive(Serialize, Deserialize)]
pub(in crate::server) struct StreamStart {
    /// The server that writes the stream.
    node: String,
    /// The answer if that server dies.
    lost: Box<RawValue>,
    /// The claims of the requests.
    #[serde(default)]
    claims: Vec<(String, String)>,
}

impl StreamStart {
    /// Writes the start of a stream that ends with the answers to these requests.
    pub(in crate::server) fn write(
        node: &str,
        requests: &[Id],
        is_batch: bool,
        claims: &[ClaimEntry],
    ) -> Bytes {
        let error = lost_request();
        let mut frame = Vec::new();
        for id in requests {
            match frame.is_empty() {
                true if is_batch => frame.push(b'['),
                true => {}
                false => frame.push(b','),
            }
            write_error(&mut frame, Some(id), &error);
        }
        if is_batch {
            frame.push(b']');
        }
        let lost = String::from_utf8(frame).ok().and_then(|frame| RawValue::from_string(frame).ok());
        let claims = claims.iter().map(ClaimEntry::to_texts).collect();
        let start = lost.map(|lost| Self { node: node.to_owned(), lost, claims });
        serde_json::to_vec(&start).unwrap_or_default().into()
    }
}

/// Creates the error for a request whose server has died. Its effect is unknown.
pub(in crate::server) fn lost_request() -> RpcError {
    RpcError::internal("the server that ran this request stopped before it had a result")
        .with_data(json!({"reason": "lost"}))
}

/// A stream in the store that a client wants to resume after an event.
pub(in crate::server) enum StoredStream {
    /// The session has ended.
    SessionEnded,
    /// The store does not have the stream, or the stream never had this event.
    Unknown,
    /// The store has lost the event. The server that writes the stream will write it again.
    Behind,
    /// The client has everything.
    AtEnd,
    /// The stream of a request, which goes on.
    Request(RemoteLog),
    /// A notification stream. It has ended, and another one takes its place.
    Notifications(StoredNotifications),
}

/// The rest of a notification stream.
pub(in crate::server) struct StoredNotifications {
    pub(in crate::server) events: Vec<ReadableEvent>,
    /// `true` if the stream was continued before. Notifications may have gone to a stream whose id the client never got.
    pub(in crate::server) was_continued: bool,
}

/// A stored log that is read.
pub(in crate::server) struct RemoteLog {
    session: Arc<SharedSession>,
    stream: String,
    /// The name of this reader.
    reader: Bytes,
    /// The server that writes the log, and the answer if that server dies.
    start: StreamStart,
    /// The number of the last event when this reader took over.
    pub(in crate::server) last_at_takeover: u64,
    /// The events that were read when the log was found.
    found: Mutex<Option<FoundEvents>>,
}

/// The first events that a reader reads.
struct FoundEvents {
    events: Vec<ReadableEvent>,
    /// `true` if the log had no more events, and will have some.
    has_all: bool,
}

/// Returns the node that a reader belongs to.
pub(super) fn reader_node(reader: &[u8]) -> &str {
    let node = reader.split(|byte| *byte == b':').next().unwrap_or_default();
    std::str::from_utf8(node).unwrap_or_default()
}

/// Makes this server the reader of a log that it writes itself, so that a reader elsewhere stops.
pub(in crate::server) async fn take_over_own_log(session: &SharedSession, stream: &str) -> Result<()> {
    let set = Operation::SetReader { log: stream.to_owned().into(), reader: reader_name(session) };
    session.run(&Step::new().then(set)).await.map(drop)
}

fn reader_name(session: &SharedSession) -> Bytes {
    format!("{}:{}", session.node.id, random_hex::<4>()).into()
}

/// Looks for a stream in the store, and becomes its reader. The signal for its events must be registered before.
pub(in crate::server) async fn find(
    session: &Arc<SharedSession>,
    stream: &str,
    after: u64,
) -> Result<StoredStream> {
    let log = || stream.to_owned().into();
    let reader = reader_name(session);
    let first = Room { entries: 1, bytes: 0 };
    let step = Step::new()
        .when(SharedSession::is_open())
        .then(Operation::SetReader { log: log(), reader: reader.clone() })
        .then(Operation::Read { log: log(), after: 0, limit: first })
        .then(Operation::Read { log: log(), after: after.saturating_sub(1), limit: PAGE });
    let Outcome::Done(answers) = session.run(&step).await? else { return Ok(StoredStream::SessionEnded) };
    let mut pages = answers.into_iter().filter_map(into_page);
    let (Some(start), Some(seen)) = (pages.next(), pages.next()) else {
        let is_behind = session.node.may_store_be_behind();
        return Ok(if is_behind { StoredStream::Behind } else { StoredStream::Unknown });
    };
    let Some((1, start)) = start.entries.first() else { return Ok(StoredStream::Unknown) };
    let start = EventKind::read(start);
    if after == 0 {
        return Ok(StoredStream::Unknown);
    }
    match start {
        Some((EventKind::RequestStart, text)) => {
            let Ok(start) = serde_json::from_slice::<StreamStart>(&text) else {
                return Ok(StoredStream::Unknown);
            };
            if after > seen.last {
                let is_written = !seen.is_ended && session.node.is_alive(&start.node).await?;
                return Ok(if is_written { StoredStream::Behind } else { StoredStream::Unknown });
            }
            let (session, stream, last_at_takeover) = (session.clone(), stream.to_owned(), seen.last);
            let found = Mutex::default();
            let log = RemoteLog { session, stream, reader, start, last_at_takeover, found };
            if !seen.is_ended || after < seen.last {
                log.keep_found(seen, after);
                return Ok(StoredStream::Request(log));
            }
            // The client has the answer, although its reader may have ended before it noticed.
            if let Some((EventKind::End, text)) =
                seen.entries.first().and_then(|(_, end)| EventKind::read(end))
            {
                log.release_claims(&text);
            }
            Ok(StoredStream::AtEnd)
        }
        // The server that writes the stream may write again what the store has lost.
        Some((EventKind::NotificationsStart, _))
            if after > seen.last && !seen.is_ended && session.node.may_store_be_behind() =>
        {
            Ok(StoredStream::Behind)
        }
        Some((EventKind::NotificationsStart, node)) if after <= seen.last => {
            end_notifications(session, stream, &String::from_utf8_lossy(&node), after).await
        }
        _ => Ok(StoredStream::Unknown),
    }
}

/// Ends a notification stream, so that the node that writes it stops, and returns its events after a number.
async fn end_notifications(
    session: &SharedSession,
    stream: &str,
    node: &str,
    after: u64,
) -> Result<StoredStream> {
    let read = |after| Operation::Read { log: stream.to_owned().into(), after, limit: PAGE };
    // A fail-over may have lost events since the stream was found. Then it must stay open, so that its writer can write
    // them again.
    let end = Append { first: Some(after + 1), ..end_of(session, stream, Vec::new()) };
    let continued = NodeMessage::write(&session.id, News::Continued { stream: stream.to_owned() });
    let step = Step::new()
        .when(SharedSession::is_open())
        .then(read(after))
        .then(end)
        .then(session.node.telling(node, continued));
    let (mut page, was_continued) = match session.run(&step).await? {
        Outcome::Done(answers) => {
            let page = answers.into_iter().find_map(into_page);
            let was_continued = page.as_ref().is_some_and(|page| page.is_ended);
            (page, was_continued)
        }
        Outcome::Behind { .. } => return Ok(StoredStream::Behind),
        Outcome::Ended { .. } => (read_ended(session, read(after)).await?, true),
        Outcome::Refused { .. } => return Ok(StoredStream::SessionEnded),
    };
    let (mut last, mut events) = (after, Vec::new());
    loop {
        // The stream has ended, so it has as many events as before, unless the store has lost some of them.
        let Some(read_now) = page.filter(|page| page.last >= last) else { return Ok(StoredStream::Behind) };
        let is_all = read_now.entries.last().is_none_or(|(number, _)| *number >= read_now.last);
        last = read_now.entries.last().map_or(last, |(number, _)| *number);
        events.extend(read_now.entries.into_iter().filter_map(into_event));
        if is_all {
            return Ok(StoredStream::Notifications(StoredNotifications { events, was_continued }));
        }
        page = read_ended(session, read(last)).await?;
    }
}

/// Reads a page of a log that has ended. Returns `None` if the store has lost the end.
async fn read_ended(session: &SharedSession, read: Operation) -> Result<Option<LogPage>> {
    let Outcome::Done(answers) = session.run(&Step::new().then(read)).await? else { return Ok(None) };
    Ok(answers.into_iter().find_map(into_page).filter(|page| page.is_ended))
}

/// Returns the append that ends a log of another server.
fn end_of(session: &SharedSession, stream: &str, entries: Vec<LogEntry>) -> Append {
    Append {
        log: stream.to_owned().into(),
        writer: session.node.id.clone().into(),
        first: None,
        entries,
        ends: true,
        room: session.limits.kept.room,
        ttl: session.limits.kept.time,
    }
}

impl RemoteLog {
    pub(in crate::server) fn stream(&self) -> &str {
        &self.stream
    }

    /// Releases the claims of the requests, because the client has got the answer. A request that was lost keeps its claim:
    /// its effect is unknown, so a copy is refused. So does one that was cancelled, whose answer is empty.
    pub(in crate::server) fn release_claims(&self, answer: &[u8]) {
        let has_answer = !answer.is_empty() && answer != self.start.lost.get().as_bytes();
        if self.start.claims.is_empty() || !has_answer {
            return;
        }
        let claims = self.start.claims.iter().map(ClaimEntry::from_texts);
        let step = claims.fold(Step::new(), |step, claim| step.then(claim.leave()));
        let session = self.session.clone();
        tokio::spawn(async move {
            // A claim that could not be released expires.
            if let Err(error) = session.run(&step).await {
                tracing::debug!(%error, "a claim could not be released");
            }
        });
    }

    /// Keeps what was read when the log was found.
    fn keep_found(&self, page: LogPage, after: u64) {
        let last = page.entries.last().map_or(after, |(number, _)| *number);
        let has_all = last >= page.last && !page.is_ended;
        let events = page.entries.into_iter().filter(|(number, _)| *number > after).filter_map(into_event);
        *self.found.lock() = Some(FoundEvents { events: events.collect(), has_all });
    }

    /// Returns the events after a number. If the server that writes the log has died, ends the log.
    pub(in crate::server) async fn read(&self, after: u64) -> Result<ReadOutcome> {
        let found = self.found.lock().take();
        if let Some(FoundEvents { events, has_all }) = found {
            if !events.is_empty() {
                *self.found.lock() = has_all.then(|| FoundEvents { events: Vec::new(), has_all });
                return Ok(ReadOutcome::Events(events));
            }
            // A later event has woken this reader, or will wake it.
            if has_all && self.session.node.is_alive(&self.start.node).await? {
                return Ok(ReadOutcome::Empty);
            }
        }
        let mut is_ended_here = false;
        loop {
            let log = || self.stream.clone().into();
            let now = Instant::now();
            let mut step = Step::new()
                .when(SharedSession::is_open())
                .when(Condition::ReadBy { log: log(), reader: self.reader.clone() });
            // The session lives as long as a client reads its streams.
            let renews = self.session.renew_if_due(now, &mut step);
            step = step.then(Operation::Read { log: log(), after, limit: PAGE });
            let Outcome::Done(mut answers) = self.session.run(&step).await? else {
                return Ok(ReadOutcome::Over);
            };
            if renews {
                self.session.mark_renewed(now);
            }
            let Some(page) = answers.pop().and_then(into_page) else { return Ok(ReadOutcome::Over) };
            let events: Vec<_> = page.entries.into_iter().filter_map(into_event).collect();
            if !events.is_empty() {
                return Ok(ReadOutcome::Events(events));
            }
            if page.is_ended {
                return Ok(ReadOutcome::Over);
            }
            if is_ended_here || self.session.node.is_alive(&self.start.node).await? {
                return Ok(ReadOutcome::Empty);
            }
            tracing::warn!("a server has stopped while it ran a request: the request is reported as lost");
            self.session.node.meter.record(StoreEvent::LostRequest);
            let mut bytes = vec![EventKind::End as u8];
            bytes.extend_from_slice(self.start.lost.get().as_bytes());
            let entry = LogEntry { bytes: bytes.into(), keep: Keep::Always };
            let end = end_of(&self.session, &self.stream, vec![entry]);
            self.session.run(&Step::new().when(SharedSession::is_open()).then(end)).await?;
            is_ended_here = true;
        }
    }
}

/// The readers of this server that wait for events of other servers.
#[derive(Default)]
pub(in crate::server) struct RemoteReaders(Mutex<HashMap<String, Weak<Notify>>>);

impl RemoteReaders {
    /// Returns the signal for the events of a stream.
    pub(in crate::server) fn register(&self, stream: &str) -> Arc<Notify> {
        let signal = Arc::new(Notify::new());
        let mut readers = self.0.lock();
        readers.retain(|_, reader| reader.strong_count() > 0);
        readers.insert(stream.to_owned(), Arc::downgrade(&signal));
        signal
    }

    pub(in crate::server) fn is_empty(&self) -> bool {
        self.0.lock().values().all(|reader| reader.strong_count() == 0)
    }

    pub(in crate::server) fn wake(&self, stream: &str) {
        if let Some(reader) = self.0.lock().get(stream).and_then(Weak::upgrade) {
            reader.notify_one();
        }
    }

    pub(in crate::server) fn wake_all(&self) {
        for reader in self.0.lock().values().filter_map(Weak::upgrade) {
            reader.notify_one();
        }
    }
}

fn into_event((number, entry): (u64, Bytes)) -> Option<ReadableEvent> {
    let (kind, text) = EventKind::read(&entry)?;
    Some(ReadableEvent { number, kind, text, is_confirmed: true })
}

fn into_page(answer: Answer) -> Option<LogPage> {
    match answer {
        Answer::Page(page) => page,
        _ => None,
    }
}

/// How many events are read in one step.
const PAGE: Room = Room { entries: 64, bytes: 256 << 10 };
/// How long a reader waits before it looks at the log without a message.
pub(in crate::server) const LOOK_INTERVAL: Duration = Duration::from_secs(15);
