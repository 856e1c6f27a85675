//! How does a reply read a stream, and how does a client resume it?

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolway_protocol::era::handshake::has_priming_events;

use super::super::endpoint::body::{BodyWriter, KEEP_ALIVE_INTERVAL};
use super::limits::SessionLimits;
use super::live_session::LiveSession;
use super::log::event::EventKind;
use super::log::event_log::{EventLog, ReadOutcome, ReadableEvent, ReaderGuard, WriterGuard};
use super::notification_feed::NotificationFeed;
use super::shared::remote_log::{LOOK_INTERVAL, RemoteLog};
use crate::ground::jitter::random_fraction;
use crate::server::call::stream_rights::{StreamRights, next_verdict};
use crate::store;
use crate::transport::sse;

/// Reads the log of a stream and writes it as a reply.
pub(super) struct StreamReader {
    live: Arc<LiveSession>,
    source: EventSource,
    last_read: u64,
    /// The number of the last event when this reader took over. Release events up to this number were meant for earlier
    /// readers.
    last_at_takeover: u64,
    /// Events of the stream that this one replaces, and the id of that stream.
    earlier: (String, Vec<ReadableEvent>),
    /// `true` if the revision starts streams with a primer: an event without data, which gives the client an event id.
    has_primer: bool,
    feed: Option<NotificationFeed>,
    /// The rights of the caller that opened a notification stream.
    rights: Option<StreamRights>,
    closing: Arc<CancellationToken>,
    is_over: bool,
    /// When the client gets a keep-alive.
    due: Instant,
}

/// The log that a reader reads.
enum EventSource {
    /// A log of this server.
    Local {
        log: Arc<EventLog>,
        reader: u64,
        changed: watch::Receiver<()>,
        _attached: ReaderGuard,
        /// The reader of a notification stream writes it, too.
        _writing: Option<WriterGuard>,
    },
    /// A log of another server.
    Remote { log: RemoteLog, signal: Arc<Notify> },
}

impl StreamReader {
    /// Creates a reader that starts at the beginning of a stream.
    pub(super) fn new(
        live: &Arc<LiveSession>,
        log: &Arc<EventLog>,
        feed: Option<NotificationFeed>,
        closing: Arc<CancellationToken>,
    ) -> Self {
        let reader = log.begin_reading();
        Self::of_log(live, log, reader, feed, closing)
    }

    /// Creates a reader that continues after an event, and replaces the current reader.
    pub(super) fn resume(
        live: &Arc<LiveSession>,
        log: &Arc<EventLog>,
        after: u64,
        feed: Option<NotificationFeed>,
        closing: Arc<CancellationToken>,
    ) -> Self {
        let (reader, last_at_takeover) = log.take_over(after);
        let reader = Self::of_log(live, log, reader, feed, closing);
        Self { last_read: after, last_at_takeover, ..reader }
    }

    fn of_log(
        live: &Arc<LiveSession>,
        log: &Arc<EventLog>,
        reader: u64,
        feed: Option<NotificationFeed>,
        closing: Arc<CancellationToken>,
    ) -> Self {
        let source = EventSource::Local {
            log: log.clone(),
            reader,
            changed: log.changes(),
            _attached: log.attach(),
            _writing: feed.is_some().then(|| log.start_writing()),
        };
        Self::with_source(live, source, feed, closing)
    }

    /// Creates a reader of a stream that another server writes. `signal` tells it that there is more to read.
    pub(super) fn remote(
        live: &Arc<LiveSession>,
        log: RemoteLog,
        signal: Arc<Notify>,
        after: u64,
        closing: Arc<CancellationToken>,
    ) -> Self {
        let last_at_takeover = log.last_at_takeover;
        let reader = Self::with_source(live, EventSource::Remote { log, signal }, None, closing);
        Self { last_read: after, last_at_takeover, ..reader }
    }

    fn with_source(
        live: &Arc<LiveSession>,
        source: EventSource,
        mut feed: Option<NotificationFeed>,
        closing: Arc<CancellationToken>,
    ) -> Self {
        Self {
            due: Instant::now() + keep_alive_interval(live.limits()),
            has_primer: has_priming_events(live.session.version()),
            live: live.clone(),
            source,
            last_read: 0,
            last_at_takeover: 0,
            earlier: (String::new(), Vec::new()),
            rights: feed.as_mut().and_then(|feed| feed.rights.take()),
            feed,
            closing,
            is_over: false,
        }
    }

    /// Sends events of an earlier stream first.
    pub(super) fn after_events_of(mut self, stream: &str, events: Vec<ReadableEvent>) -> Self {
        self.earlier = (stream.to_owned(), events);
        self
    }

    /// Marks the stream as finished, so that nothing is read.
    pub(super) fn at_end(mut self) -> Self {
        self.is_over = true;
        self
    }

    /// Writes the stream until its end, or until another reader replaces this one.
    pub(super) async fn write_to(mut self, pen: BodyWriter) {
        let (stream, events) = std::mem::take(&mut self.earlier);
        let mut out = Vec::new();
        for event in &events {
            self.write(&mut out, &stream, event);
        }
        if !out.is_empty() && pen.write(out).await.is_err() {
            return;
        }
        let mut is_last_look = false;
        while !self.is_over {
            let events = match self.source.read(self.last_read).await {
                Ok(ReadOutcome::Events(events)) => events,
                Ok(ReadOutcome::Over) => return,
                Ok(ReadOutcome::Empty) if is_last_look => {
                    if self.closing.is_cancelled() {
                        // The client does not have to see this: it then waits for the time that it knows.
                        let _ = pen.write(self.goodbye()).await;
                    }
                    return;
                }
                Ok(ReadOutcome::Empty) => {
                    match self.wait().await {
                        WaitOutcome::ReadLog => {}
                        WaitOutcome::KeepAlive => {
                            self.live.touch();
                            self.due = Instant::now() + keep_alive_interval(self.live.limits());
                            pen.write_keep_alive().await;
                        }
                        // The answer may have been written just before the end, so the log is read once more.
                        WaitOutcome::End => is_last_look = true,
                    }
                    continue;
                }
                Err(error) => {
                    // The stream stays open: the store may be back soon.
                    tracing::warn!(%error, "the events of a stream could not be read");
                    pen.write_keep_alive().await;
                    tokio::select! {
                        () = self.live.ended.cancelled() => return,
                        () = tokio::time::sleep(RETRY_DELAY) => continue,
                    }
                }
            };
            let mut out = Vec::new();
            let stream = self.source.stream().to_owned();
            for event in &events {
                self.last_read = event.number;
                self.is_over = self.write(&mut out, &stream, event);
                if self.is_over {
                    break;
                }
            }
            // A client that leaves too much unread is disconnected. It can resume the stream.
            if !out.is_empty() && pen.write(out).await.is_err() {
                return;
            }
            self.source.record_read(self.last_read);
            // A request that was cancelled has no answer, and keeps its claim.
            if let Some(end) =
                events.last().filter(|last| last.kind == EventKind::End && !last.text.is_empty())
            {
                match &self.source {
                    EventSource::Local { log, .. } => log.release_claims(),
                    EventSource::Remote { log, .. } => log.release_claims(&end.text),
                }
            }
        }
    }

    /// Returns the end of a stream of a server that shuts down: when the client should reconnect. The time is drawn, so
    /// that the clients of this server do not reach the next one all at once.
    fn goodbye(&self) -> Vec<u8> {
        let retry = self.live.limits().retry;
        let extra = Duration::try_from_secs_f64(2.0 * retry.as_secs_f64() * random_fraction());
        let time = retry.saturating_add(extra.unwrap_or_default());
        format!("retry: {}\n\n", time.as_millis()).into_bytes()
    }

    /// Writes one event. Returns whether it is the last event that this reader writes.
    fn write(&self, out: &mut Vec<u8>, stream: &str, event: &ReadableEvent) -> bool {
        let id = format!("{stream}.{}", event.number);
        let id = event.is_confirmed.then_some(id.as_str());
        match (event.kind, id) {
            (EventKind::RequestStart | EventKind::NotificationsStart, Some(id)) if self.has_primer => {
                let retry = self.live.limits().retry.as_millis();
                sse::write_primer(out, id, u64::try_from(retry).unwrap_or(u64::MAX));
            }
            (EventKind::Message | EventKind::Question | EventKind::End, _) => {
                if !event.text.is_empty() {
                    sse::write_message(out, id, &event.text);
                }
                return event.kind == EventKind::End;
            }
            (EventKind::Release, _) if event.number > self.last_at_takeover => {
                out.extend_from_slice(b"retry: ");
                out.extend_from_slice(&event.text);
                out.extend_from_slice(b"\n\n");
                return true;
            }
            (EventKind::RequestStart | EventKind::NotificationsStart | EventKind::Release, _) => {}
        }
        false
    }

    /// Waits until there may be something to read.
    async fn wait(&mut self) -> WaitOutcome {
        let Self { live, source, feed, rights, closing, due, .. } = self;
        // Another server continues these: it gets the notifications then, or reads the same events from the store.
        let can_move = feed.is_some() || matches!(source, EventSource::Remote { .. });
        tokio::select! {
            biased;
            () = live.ended.cancelled() => return WaitOutcome::End,
            () = closing.cancelled(), if can_move => return WaitOutcome::End,
            verdict = next_verdict(rights.as_mut()) => match (verdict, feed) {
                (Ok(view), Some(feed)) => feed.filter.set_view(view),
                (Ok(_), None) => {}
                (Err(_), _) => return WaitOutcome::End,
            },
            () = source.changed() => {}
            () = wait_for_notifications(feed.as_mut()) => {
                if let (Some(feed), EventSource::Local { log, .. }) = (feed, source) {
                    let mut news = feed.listener.unsent_for(|news| feed.filter.allows(news));
                    while let Some(next) = news.first() {
                        let mut frame = Vec::new();
                        next.write(&mut frame, feed.version);
                        // If the log was removed in the meantime, the next stream sends the message.
                        if !log.append_notification(frame.into()) {
                            return WaitOutcome::End;
                        }
                        news.mark_sent();
                    }
                }
            }
            () = tokio::time::sleep_until(*due) => return WaitOutcome::KeepAlive,
        }
        WaitOutcome::ReadLog
    }
}

impl EventSource {
    fn stream(&self) -> &str {
        match self {
            Self::Local { log, .. } => &log.stream,
            Self::Remote { log, .. } => log.stream(),
        }
    }

    async fn read(&self, after: u64) -> store::Result<ReadOutcome> {
        match self {
            Self::Local { log, reader, .. } => Ok(log.read(*reader, after)),
            Self::Remote { log, .. } => log.read(after).await,
        }
    }

    fn record_read(&self, number: u64) {
        if let Self::Local { log, .. } = self {
            log.record_read(number);
        }
    }

    /// Waits until there may be more to read.
    async fn changed(&mut self) {
        match self {
            Self::Local { changed, .. } => {
                if changed.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            }
            Self::Remote { signal, .. } => {
                // A message that is lost costs this time.
                let _ = tokio::time::timeout(LOOK_INTERVAL, signal.notified()).await;
            }
        }
    }
}

/// Returns the interval in which a reader sends keep-alives to its client, and keeps the session alive.
fn keep_alive_interval(limits: &SessionLimits) -> Duration {
    KEEP_ALIVE_INTERVAL.min(limits.session_idle / 3).min(limits.kept_for / 3).max(MIN_KEEP_ALIVE_INTERVAL)
}

/// The next step of a reader after a wait.
enum WaitOutcome {
    ReadLog,
    KeepAlive,
    End,
}

async fn wait_for_notifications(feed: Option<&mut NotificationFeed>) {
    match feed {
        Some(feed) => feed.wait().await,
        None => std::future::pending().await,
    }
}

/// The shortest interval between two keep-alives.
const MIN_KEEP_ALIVE_INTERVAL: Duration = Duration::from_millis(10);
/// How long to wait after the store has failed.
const RETRY_DELAY: Duration = Duration::from_secs(1);
