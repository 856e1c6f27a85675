//! Which events has a stream, and how far has its client read them?
//!
//! Every message of a stream is first appended to its log; a reply only reads the log. So a broken connection loses
//! nothing that the log still holds: the client reconnects, names the last event that it received, and continues from
//! there. The log is in the memory of the server that writes it. If servers share a store, `shared/log_writer.rs` copies
//! it there, and readers get only what the store has confirmed.

use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use toolway_protocol::Id;
use toolway_protocol::jsonrpc::write_error;

use super::event::{Event, EventKind};
use super::kept_streams::{KeptStreams, ResumableStream};
use super::log_state::{LogPlace, LogState, WriterState};
use crate::ground::budget::{Account, Exhausted, Resource};
use crate::ground::mutex::Mutex;
use crate::server::failure::errors::busy;
use crate::server::http::endpoint::permit::ReplyClaim;
use crate::store::Room;

/// How much of a log is kept, and how long after its last use.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct KeptEvents {
    /// The space for events that may be dropped.
    pub(in crate::server) room: Room,
    pub(in crate::server) time: Duration,
}

/// The log of one stream.
pub(in crate::server) struct EventLog {
    /// The id of the stream, which is the first part of its event ids.
    pub(in crate::server) stream: String,
    /// `true` for a notification stream, `false` for the stream of a request.
    pub(in crate::server) is_for_notifications: bool,
    /// The space for events that may be dropped.
    pub(in crate::server) room: Room,
    kept_for: Duration,
    /// `true` if events have to be confirmed by a store before they are read.
    is_shared: bool,
    /// The account of the peer that the log is kept for.
    account: Arc<Account>,
    /// The streams that are forgotten to make room for this one.
    kept_streams: Weak<KeptStreams<Arc<Self>>>,
    state: Mutex<LogState>,
    /// Changes when there may be something to do for a reader or the writer.
    changed: watch::Sender<()>,
    reader_moved: Notify,
    claims: Mutex<Vec<Box<dyn ReplyClaim>>>,
}

impl EventLog {
    pub(in crate::server) fn new(
        stream: String,
        is_for_notifications: bool,
        is_shared: bool,
        kept: KeptEvents,
        account: Arc<Account>,
        kept_streams: &Arc<KeptStreams<Arc<Self>>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            stream,
            is_for_notifications,
            room: kept.room,
            kept_for: kept.time,
            is_shared,
            account,
            kept_streams: Arc::downgrade(kept_streams),
            state: Mutex::new(LogState::new()),
            changed: watch::Sender::new(()),
            reader_moved: Notify::new(),
            claims: Mutex::default(),
        })
    }

    /// Returns a guard for the writer. Dropping the guard tells readers that no event will follow.
    pub(in crate::server) fn start_writing(self: &Arc<Self>) -> WriterGuard {
        self.state.lock().writer = WriterState::Writing;
        WriterGuard(self.clone())
    }

    /// Appends the first event, so that the stream can be resumed before its first message.
    pub(in crate::server) fn open(&self, start: impl Into<Bytes>) {
        let kind =
            if self.is_for_notifications { EventKind::NotificationsStart } else { EventKind::RequestStart };
        self.push(kind, start.into(), None);
    }

    pub(in crate::server) fn is_open(&self) -> bool {
        self.state.lock().last > 0
    }

    /// Appends a message. If a reader in this process is too far behind, waits for it for a limited time.
    pub(in crate::server) async fn append_message(&self, frame: Bytes) {
        self.append(EventKind::Message, frame, None).await;
    }

    /// Appends a question.
    pub(in crate::server) async fn append_question(&self, frame: Bytes, id: Option<String>) {
        self.append(EventKind::Question, frame, id).await;
    }

    /// Asks the client to disconnect, and to reconnect after `retry`.
    pub(in crate::server) async fn release(&self, retry: Duration) {
        self.append(EventKind::Release, retry.as_millis().to_string().into(), None).await;
    }

    async fn append(&self, kind: EventKind, text: Bytes, question: Option<String>) {
        self.wait_for_reader(1, text.len()).await;
        self.wait_for_store(text.len()).await;
        // A message that finds no room is dropped, like one that makes room for a later one. A question is not: the
        // request waits for its answer.
        if self.make_room(text.len()) || kind == EventKind::Question {
            self.push(kind, text, question);
        }
    }

    /// Appends a notification, which does not wait. Returns `false` if the log was forgotten, or the stream is continued at
    /// another server.
    pub(in crate::server) fn append_notification(&self, frame: Bytes) -> bool {
        self.make_room(frame.len());
        self.push(EventKind::Message, frame, None)
    }

    /// Appends the answer, which may be empty, and ends the stream. An answer that finds no room is replaced by an error
    /// for the request `id`.
    pub(in crate::server) async fn end(&self, answer: Vec<u8>, id: Option<&Id>) {
        // A single message may exceed the room of the log, and is then dropped when another event follows. So this
        // method first waits until the reader has read every message.
        self.wait_for_reader(0, 0).await;
        if self.make_room(answer.len()) {
            self.push(EventKind::End, answer.into(), None);
            return;
        }
        let mut error = Vec::new();
        write_error(&mut error, id, &busy("too many answers are kept for clients that may reconnect"));
        self.push(EventKind::End, error.into(), None);
    }

    /// Returns `false` if the log was forgotten or closed.
    fn push(&self, kind: EventKind, text: Bytes, question: Option<String>) -> bool {
        let mut state = self.state.lock();
        if !state.is_here() || state.is_ended {
            return state.is_here();
        }
        state.push(kind, text, question);
        if !self.is_shared {
            state.confirmed = state.last;
        }
        state.drop_excess(self.room);
        drop(state);
        self.changed.send_replace(());
        true
    }

    /// Charges the memory of one more event to the peer. Forgets the oldest finished streams if that makes room: streams
    /// of the peer if its share is used up, streams of any peer if the total is used up. Returns whether there is room.
    fn make_room(&self, size: usize) -> bool {
        loop {
            let Err(exhausted) = self.charge(size) else { return true };
            let oldest = self.kept_streams.upgrade().and_then(|kept| {
                let account = (exhausted == Exhausted::Share).then_some(&self.account);
                kept.take_oldest_finished(account)
            });
            match oldest {
                Some(oldest) => oldest.forget(),
                None => return false,
            }
        }
    }

    fn charge(&self, more: usize) -> Result<(), Exhausted> {
        let mut state = self.state.lock();
        let size = state.size() + more;
        match &mut state.charge {
            Some(charge) => charge.resize_item(size)?,
            charge @ None => *charge = Some(self.account.charge(Resource::Kept, size)?),
        }
        Ok(())
    }

    /// Deletes the log.
    pub(in crate::server) fn forget(&self) {
        let mut state = self.state.lock();
        state.place = LogPlace::Nowhere;
        state.charge = None;
        state.events.clear();
        drop(state);
        self.changed.send_replace(());
        self.reader_moved.notify_one();
    }

    pub(in crate::server) fn is_forgotten(&self) -> bool {
        self.state.lock().is_forgotten()
    }

    /// Ends the stream here, because its client continues it at another server. The events are kept: the store may lose them
    /// before that server has them.
    pub(in crate::server) fn close(&self) {
        let mut state = self.state.lock();
        if state.is_here() {
            state.place = LogPlace::Elsewhere;
        }
        drop(state);
        self.changed.send_replace(());
        self.reader_moved.notify_one();
    }

    pub(in crate::server) fn is_closed(&self) -> bool {
        self.state.lock().place == LogPlace::Elsewhere
    }

    /// Returns whether the log has expired: it is not in use, and was last used too long ago.
    pub(in crate::server) fn has_expired(&self, now: Instant) -> bool {
        let state = self.state.lock();
        state.is_finished() && state.last_used.checked_add(self.kept_for).is_some_and(|end| end <= now)
    }

    /// Returns whether the stream is being read, or was read before and may be resumed.
    pub(in crate::server) fn is_wanted(&self) -> bool {
        let reader = &self.state.lock().reader;
        reader.attached > 0 || reader.was_attached
    }

    pub(in crate::server) fn has_reader(&self) -> bool {
        self.state.lock().reader.attached > 0
    }

    /// Waits until `entries` more events of `size` bytes fit beside the unread messages, until no reader is left, or until
    /// the reader stalls.
    async fn wait_for_reader(&self, entries: usize, size: usize) {
        let is_far = || self.state.lock().is_reader_behind(entries, size, self.room);
        while is_far() {
            let moved = self.reader_moved.notified();
            if is_far() && tokio::time::timeout(STALL_TIMEOUT, moved).await.is_err() {
                self.state.lock().reader.is_stalled = true;
            }
        }
    }

    /// Waits until the events that the store has not confirmed leave room for one more.
    async fn wait_for_store(&self, size: usize) {
        let mut changed = self.changed.subscribe();
        while self.is_shared && self.state.lock().is_store_behind(size, self.room) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Waits until the store has everything, or cannot be reached.
    pub(in crate::server) async fn wait_until_confirmed(&self) {
        let mut changed = self.changed.subscribe();
        while self.state.lock().is_waiting_for_store() {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Keeps the claims of the requests until the client has read the answer.
    pub(in crate::server) fn hold_claims(&self, claims: Vec<Box<dyn ReplyClaim>>) {
        *self.claims.lock() = claims;
    }

    /// Releases the claims of the requests, because the client has read the answer.
    pub(in crate::server) fn release_claims(&self) {
        let claims = std::mem::take(&mut *self.claims.lock());
        for mut claim in claims {
            claim.mark_sent();
        }
    }

    /// Returns a receiver that is notified when there may be something to read, to confirm, or nothing any more.
    pub(in crate::server) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

/// The events that a reader may send now.
pub(in crate::server) enum ReadOutcome {
    Events(Vec<ReadableEvent>),
    /// There is nothing yet.
    Empty,
    /// There will be nothing more for this reader.
    Over,
}

/// An event for a reader.
pub(in crate::server) struct ReadableEvent {
    pub(in crate::server) number: u64,
    pub(in crate::server) kind: EventKind,
    pub(in crate::server) text: Bytes,
    /// `false` if the client cannot resume after this event.
    pub(in crate::server) is_confirmed: bool,
}

/// How the stream can be resumed after an event.
pub(in crate::server) enum ResumePoint {
    /// The stream goes on.
    GoesOn,
    /// The client has everything.
    AtEnd,
    /// The stream never had this event.
    Unknown,
}

/// The side of the reader.
impl EventLog {
    /// Returns how the stream can be resumed after an event.
    pub(in crate::server) fn resume_point(&self, after: u64) -> ResumePoint {
        let state = self.state.lock();
        // A client that read an event at another server may be back before the store has confirmed the event here.
        if state.is_forgotten() || after == 0 || after > state.last {
            ResumePoint::Unknown
        } else if state.is_ended && after == state.last {
            ResumePoint::AtEnd
        } else {
            ResumePoint::GoesOn
        }
    }

    /// Registers a reader. The writer waits for it from now on.
    pub(in crate::server) fn attach(self: &Arc<Self>) -> ReaderGuard {
        self.state.lock().reader.attached += 1;
        ReaderGuard(self.clone())
    }

    /// Registers the first reader. Returns its number.
    pub(in crate::server) fn begin_reading(&self) -> u64 {
        let mut state = self.state.lock();
        state.reader.was_attached = true;
        state.reader.number
    }

    /// Replaces the reader. Returns the number of the new one, and the number of the last event so far.
    pub(in crate::server) fn take_over(&self, after: u64) -> (u64, u64) {
        let mut state = self.state.lock();
        state.reader.number += 1;
        state.reader.was_attached = true;
        let taken = (state.reader.number, state.last);
        drop(state);
        self.record_read(after);
        self.changed.send_replace(());
        taken
    }

    /// Returns the number of the reader.
    pub(in crate::server) fn reader(&self) -> u64 {
        self.state.lock().reader.number
    }

    /// Ends this reader, because the client reads the stream at another server.
    pub(in crate::server) fn replace_reader(&self, reader: u64) {
        let mut state = self.state.lock();
        state.reader.number += u64::from(state.reader.number == reader);
        drop(state);
        self.changed.send_replace(());
        self.reader_moved.notify_one();
    }

    /// Returns the events after a number.
    pub(in crate::server) fn read(&self, reader: u64, after: u64) -> ReadOutcome {
        let state = self.state.lock();
        if !state.is_here() || reader != state.reader.number {
            return ReadOutcome::Over;
        }
        let end = if state.is_unconfirmed_end { state.last } else { state.confirmed };
        let first = state.events.partition_point(|event| event.number <= after);
        let events = state.events.range(first..).take_while(|event| event.number <= end);
        let events: Vec<_> = events
            .take(MAX_READ_EVENTS)
            .map(|event| ReadableEvent {
                number: event.number,
                kind: event.kind,
                text: event.text.clone(),
                is_confirmed: event.number <= state.confirmed,
            })
            .collect();
        let has_all = after >= state.last && end >= state.last;
        if !events.is_empty() {
            ReadOutcome::Events(events)
        } else if has_all && (state.is_ended || state.writer == WriterState::Done) {
            ReadOutcome::Over
        } else {
            ReadOutcome::Empty
        }
    }

    pub(in crate::server) fn record_read(&self, number: u64) {
        let mut state = self.state.lock();
        state.reader.last_read = number;
        state.reader.is_stalled = false;
        drop(state);
        self.reader_moved.notify_one();
    }
}

/// Events for the store.
pub(in crate::server) struct UnconfirmedEvents {
    /// The number of the first event.
    pub(in crate::server) first: u64,
    /// `None` for an event that was dropped meanwhile.
    pub(in crate::server) events: Vec<Option<Event>>,
    /// `true` if the last of the events ends the log.
    pub(in crate::server) ends: bool,
}

impl UnconfirmedEvents {
    /// Leaves out the events after a number.
    pub(in crate::server) fn keep_until(&mut self, last: u64) {
        let count = usize::try_from((last + 1).saturating_sub(self.first)).unwrap_or(usize::MAX);
        if count < self.events.len() {
            self.events.truncate(count);
            self.ends = false;
        }
    }
}

/// The side of the copy in the store.
impl EventLog {
    /// Returns the events after `after`, at most so many bytes.
    pub(in crate::server) fn events_after(&self, after: u64, max_bytes: usize) -> UnconfirmedEvents {
        let state = self.state.lock();
        let mut found = UnconfirmedEvents { first: after + 1, events: Vec::new(), ends: false };
        let mut next = state.events.partition_point(|event| event.number <= after);
        let mut bytes = 0;
        for number in after + 1..=state.last {
            let event = state.events.get(next).filter(|event| event.number == number);
            bytes += event.map_or(0, |event| event.text.len());
            if !found.events.is_empty() && bytes > max_bytes {
                return found;
            }
            next += usize::from(event.is_some());
            found.events.push(event.cloned());
        }
        // The writer of a request may have failed before it wrote an end.
        found.ends = state.is_ended || (state.writer == WriterState::Done && !self.is_for_notifications);
        found
    }

    /// Returns the number of the last confirmed event, and of the last event.
    pub(in crate::server) fn confirmed_and_last(&self) -> (u64, u64) {
        let state = self.state.lock();
        (state.confirmed, state.last)
    }

    /// Returns the number of the last event that belongs into the store.
    pub(in crate::server) fn last_to_store(&self) -> u64 {
        let state = self.state.lock();
        if state.place == LogPlace::Elsewhere { state.confirmed } else { state.last }
    }

    /// Returns whether no event will follow.
    pub(in crate::server) fn is_written(&self) -> bool {
        let state = self.state.lock();
        state.is_ended || !state.is_here() || state.writer == WriterState::Done
    }

    /// Records that the store has all events up to a number.
    pub(in crate::server) fn confirm(&self, number: u64) {
        let mut state = self.state.lock();
        state.confirmed = state.confirmed.max(number.min(state.last));
        state.drop_excess(self.room);
        drop(state);
        self.changed.send_replace(());
    }

    /// Takes back the events that the store has not confirmed.
    pub(in crate::server) fn retract_unconfirmed(&self) {
        let mut state = self.state.lock();
        let confirmed = state.confirmed;
        while state.events.back().is_some_and(|event| event.number > confirmed) {
            state.pop();
        }
        state.last = confirmed;
    }

    /// Lets the reader have the rest without event ids, because the store cannot be reached.
    pub(in crate::server) fn give_up_confirmation(&self) {
        self.state.lock().is_unconfirmed_end = true;
        self.changed.send_replace(());
    }
}

/// The writer of a log. Dropping it tells readers that no event will follow.
pub(in crate::server) struct WriterGuard(Arc<EventLog>);

impl Drop for WriterGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.writer = WriterState::Done;
        state.last_used = Instant::now();
        drop(state);
        self.0.changed.send_replace(());
    }
}

/// A registered reader. Dropping it unregisters the reader.
pub(in crate::server) struct ReaderGuard(Arc<EventLog>);

impl Drop for ReaderGuard {
    fn drop(&mut self) {
        let mut state = self.0.state.lock();
        state.reader.attached -= 1;
        state.last_used = Instant::now();
        drop(state);
        self.0.reader_moved.notify_one();
    }
}

impl ResumableStream for Arc<EventLog> {
    fn account(&self) -> &Arc<Account> {
        &self.account
    }

    fn is_finished(&self) -> bool {
        self.state.lock().is_finished()
    }

    fn kept_for(&self) -> Duration {
        self.kept_for
    }

    fn forget(&self) {
        EventLog::forget(self);
    }
}

/// How many events a reader takes in one step.
const MAX_READ_EVENTS: usize = 64;
/// How long the writer waits for a reader before the reader counts as stalled.
const STALL_TIMEOUT: Duration = Duration::from_secs(1);
