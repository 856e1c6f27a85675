//! How do the events of a stream get into the store?
//!
//! A task copies the log of a stream. This server numbers the events, so a step can be repeated, and the store tells if
//! it has lost some: then they are written again. Readers get an event only after the store has confirmed it. While the
//! store is away, events wait in the log. An answer is given even if it cannot be stored: after a while the rest of the
//! stream goes to the reader of this server without event ids, and is stored later.
//!
//! A fail-over may lose what the store has confirmed, also the end of a notification stream that its client continues at
//! another server. So each log is looked after for a while when it is complete, or has ended there.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::log::event::Event;
use super::super::log::event_log::EventLog;
use super::claim_entry::ClaimEntry;
use super::gaps::GapWatch;
use super::message::{News, NodeMessage};
use super::remote_log::{LOOK_INTERVAL, reader_node};
use super::session::{SharedSession, TELLER};
use crate::ground::mutex::Mutex;
use crate::server::changes::listeners::Listener;
use crate::server::observe::store_meter::StoreEvent;
use crate::store::{
    Answer, Append, Condition, Keep, LogEntry, Operation, Outcome, Result, Step, StoreFailure, Version,
    random_version,
};

/// The copy of a log in the store.
pub(in crate::server) struct EventStore {
    session: Arc<SharedSession>,
    log: Arc<EventLog>,
    /// Cancelled when the session has ended.
    ended: CancellationToken,
    /// The changes that the client is told.
    listener: Arc<Listener>,
    /// The questions of the session that are not answered.
    questions: Arc<Mutex<BTreeSet<String>>>,
    /// How long a question stays open.
    question_ttl: Duration,
    /// The claims of the requests that write the log.
    claims: Vec<ClaimEntry>,
    /// The number of the last event that the store has, as far as it is known.
    stored: u64,
    /// When the log and its session have to be renewed.
    due: Instant,
    /// The version of the entry that lets this stream have the notifications; `None` for the stream of a request.
    teller: Option<Version>,
    /// When to find out whether the stream that gets the notifications instead of this one still does.
    look_at: Option<Instant>,
    /// `true` if the store may have events that it did not confirm.
    is_uncertain: bool,
    /// Changes when the store may have lost events that it had confirmed.
    gaps: GapWatch,
}

/// How the copying goes on after a step.
enum Progress {
    Continue,
    /// The client continues the notification stream at another server, which has ended it.
    ContinuedElsewhere,
    /// The session has ended, another server has ended the stream of a request, or the store has failed for too long.
    Over,
}

/// The time for which the store fails.
struct Outage {
    /// `None` if the last step was done.
    since: Option<Instant>,
    pause: Duration,
}

impl Outage {
    const NONE: Self = Self { since: None, pause: MIN_PAUSE };
}

impl EventStore {
    pub(in crate::server) fn new(
        session: Arc<SharedSession>,
        log: Arc<EventLog>,
        ended: CancellationToken,
        listener: Arc<Listener>,
        questions: Arc<Mutex<BTreeSet<String>>>,
        question_ttl: Duration,
        claims: Vec<ClaimEntry>,
    ) -> Self {
        let teller = log.is_for_notifications.then(random_version);
        let due = Instant::now() + session.limits.kept.time / 3;
        let gaps = session.node.gaps();
        Self {
            session,
            log,
            ended,
            listener,
            questions,
            question_ttl,
            claims,
            stored: 0,
            due,
            teller,
            look_at: None,
            is_uncertain: false,
            gaps,
        }
    }

    /// Copies the log until its end, and looks after it for a while.
    pub(in crate::server) async fn run(mut self) {
        let (session, ended, teller) = (self.session.clone(), self.ended.clone(), self.teller);
        tokio::select! {
            biased;
            () = ended.cancelled() => {
                // Without it, another stream takes over when this server is known to be dead.
                _ = delete_teller(&session, teller).await;
            }
            () = self.work() => {}
        }
        if self.log.is_closed() {
            self.log.forget();
        }
    }

    async fn work(&mut self) {
        let progress = self.copy().await;
        // Notifications that did not get into the store are lost, so the next stream sends everything.
        let (confirmed, last) = self.log.confirmed_and_last();
        if self.log.is_for_notifications && confirmed < last {
            self.listener.add_everything();
        }
        self.look_at = None;
        let (session, teller) = (self.session.clone(), self.teller.take());
        let linger = async {
            if !matches!(progress, Progress::Over) {
                self.linger().await;
            }
        };
        tokio::join!(stop_telling(&session, teller), linger);
    }

    /// Copies events until the log is complete, or is over for this server.
    async fn copy(&mut self) -> Progress {
        let mut changed = self.log.changes();
        let mut outage = Outage::NONE;
        loop {
            changed.borrow_and_update();
            let is_complete = self.is_complete(&outage);
            if is_complete && self.log.is_written() {
                return Progress::Continue;
            }
            if is_complete && Instant::now() < self.due {
                tokio::select! {
                    biased;
                    changed = changed.changed() => {
                        if changed.is_err() {
                            return Progress::Over;
                        }
                        continue;
                    }
                    () = tokio::time::sleep_until(self.due) => continue,
                    // The store may have lost events of a log to which nothing is added: an empty step finds out.
                    () = self.gaps.next() => {}
                    () = wait_until(self.look_at) => {}
                }
            }
            match self.attempt(&mut outage).await {
                Progress::Continue => {}
                over => return over,
            }
        }
    }

    /// Looks after a log that is complete, or is continued elsewhere: writes again what the store loses within a while.
    async fn linger(&mut self) {
        let is_for_notifications = self.log.is_for_notifications;
        let permit = is_for_notifications.then(|| LINGERING.try_acquire());
        if self.log.is_forgotten() || matches!(permit, Some(Err(_))) {
            return;
        }
        let end = Instant::now() + LINGER;
        loop {
            let is_last = tokio::time::timeout_at(end, self.gaps.next()).await.is_err();
            // The end of a request is looked at once more in any case.
            if is_last && is_for_notifications {
                return;
            }
            if matches!(self.heal().await, Progress::Over) || is_last {
                return;
            }
        }
    }

    /// Finds out if the store has lost events, and writes them again.
    async fn heal(&mut self) -> Progress {
        let mut outage = Outage::NONE;
        loop {
            match self.attempt(&mut outage).await {
                Progress::Continue if self.is_complete(&outage) => return Progress::Continue,
                Progress::Continue => {}
                over => return over,
            }
        }
    }

    fn is_complete(&self, outage: &Outage) -> bool {
        self.stored >= self.log.last_to_store() && outage.since.is_none()
    }

    /// Takes one step towards a complete copy, or waits for the store.
    async fn attempt(&mut self, outage: &mut Outage) -> Progress {
        if self.log.is_forgotten() {
            return Progress::Over;
        }
        let error = match self.append().await {
            Ok(progress) => {
                match progress {
                    Progress::Continue => {}
                    Progress::ContinuedElsewhere => self.log.close(),
                    Progress::Over => self.log.forget(),
                }
                *outage = Outage::NONE;
                return progress;
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "the events of a stream could not be stored");
        let since = *outage.since.get_or_insert_with(Instant::now);
        let is_written = self.log.is_written();
        let is_late = is_written && since.elapsed() >= MAX_ANSWER_DELAY;
        if is_late || error.failure() == StoreFailure::Broken {
            self.log.give_up_confirmation();
        }
        if since.elapsed() >= MAX_FAILURE_TIME && is_written {
            return Progress::Over;
        }
        tokio::time::sleep(outage.pause).await;
        outage.pause = (outage.pause * 2).min(MAX_PAUSE);
        Progress::Continue
    }

    /// Writes what the store does not have, or renews the log.
    async fn append(&mut self) -> Result<Progress> {
        let now = Instant::now();
        if self.look_at.is_some_and(|time| now >= time)
            && let Progress::Over = self.take_over_telling().await?
        {
            return Ok(Progress::Over);
        }
        let mut batch = self.log.events_after(self.stored, MAX_STEP_BYTES);
        let (confirmed, _) = self.log.confirmed_and_last();
        // What the store has lost is written again, whichever stream gets the notifications now.
        let is_repeat = self.stored < confirmed || self.log.is_closed();
        if is_repeat {
            batch.keep_until(confirmed);
        }
        let mut step = Step::new().when(SharedSession::is_open());
        let teller = self.teller.filter(|_| !is_repeat);
        if let Some(version) = teller.filter(|_| self.stored > 0 && !batch.events.is_empty()) {
            step = step.when(Condition::HasVersion(TELLER, version));
        }
        let dropped = || LogEntry { bytes: Bytes::new(), keep: Keep::WhileThereIsRoom };
        let entries: Vec<_> =
            batch.events.iter().map(|event| event.as_ref().map_or_else(dropped, Event::entry)).collect();
        let last = self.stored + entries.len() as u64;
        step = step.then(Append {
            log: self.log.stream.clone().into(),
            writer: self.session.node.id.clone().into(),
            first: Some(batch.first),
            entries,
            ends: batch.ends,
            room: self.log.room,
            ttl: self.ttl(),
        });
        for event in batch.events.iter().flatten() {
            // A question that the store has lost with its event is made known again.
            if let Some(question) = &event.question
                && (event.number > confirmed || self.questions.lock().contains(question))
            {
                step = step.then(SharedSession::open_question(question, self.question_ttl));
            }
        }
        if let Some(version) = teller {
            step = step.then(match self.stored {
                0 => self.session.become_teller(version),
                _ => Operation::Renew { key: TELLER, ttl: self.session.limits.session_idle },
            });
        }
        // A request that has ended releases its claim, and must not get it again.
        if (batch.first == 1 || now >= self.due) && !self.log.is_written() {
            for claim in &self.claims {
                step = step.then(claim.enter(self.session.limits.kept.time));
            }
        }
        let renews = self.session.renew_if_due(now, &mut step);
        let local_reader = self.log.reader();
        let outcome = self.session.run(&step).await;
        self.is_uncertain |= matches!(&outcome, Err(error) if error.failure() == StoreFailure::Unknown);
        match outcome? {
            Outcome::Done(answers) => {
                self.stored = last;
                self.is_uncertain = false;
                self.due = now + self.ttl() / 3;
                if renews {
                    self.session.mark_renewed(now);
                }
                if let Some(Answer::Appended { reader: Some(reader), .. }) = answers.into_iter().next() {
                    self.tell_reader(&reader, local_reader).await;
                }
                self.log.confirm(last);
                Ok(Progress::Continue)
            }
            Outcome::Behind { last, .. } => {
                tracing::warn!(last, "the store has lost events of a stream: they are written again");
                self.session.node.meter.record(StoreEvent::HealedStream);
                self.stored = last;
                Ok(Progress::Continue)
            }
            Outcome::Refused { condition: 1, .. } => self.take_over_telling().await,
            Outcome::Refused { .. } => Ok(Progress::Over),
            Outcome::Ended { .. } => {
                if !self.log.is_for_notifications || !self.log.is_written() {
                    tracing::warn!("another server has ended a stream of this server");
                    self.session.node.meter.record(StoreEvent::FencedStream);
                }
                let is_for_notifications = self.log.is_for_notifications;
                Ok(if is_for_notifications { Progress::ContinuedElsewhere } else { Progress::Over })
            }
        }
    }

    /// Returns how long the store keeps the log from now on.
    fn ttl(&self) -> Duration {
        let limits = &self.session.limits;
        if self.log.is_for_notifications && !self.log.is_written() {
            limits.session_idle.max(limits.kept.time)
        } else {
            limits.kept.time
        }
    }

    /// If the client reads the stream at another server, ends the reader here, unless it came later, and tells that server
    /// to read on.
    async fn tell_reader(&self, reader: &[u8], local_reader: u64) {
        let node = reader_node(reader);
        if node != self.session.node.id {
            self.log.replace_reader(local_reader);
            let news = News::Events { stream: self.log.stream.clone() };
            self.session.node.tell(node, NodeMessage::write(&self.session.id, news)).await;
        }
    }

    /// Another stream of the session gets the notifications, or did so before it ended. In the second case, this stream
    /// gets them. It also does if the other one is at this server, which gives them only to its newest stream: if two are
    /// opened at the same moment, the older one may have entered itself later.
    async fn take_over_telling(&mut self) -> Result<Progress> {
        let Some(version) = self.teller else { return Ok(Progress::Continue) };
        let here = &self.session.node;
        let condition = match self.session.teller().await? {
            Some((_, node)) if node != here.id && here.is_alive(&node).await? => {
                // The other stream sends what this one would have sent.
                if self.is_uncertain {
                    return Ok(Progress::Over);
                }
                self.log.retract_unconfirmed();
                self.stored = self.stored.min(self.log.confirmed_and_last().1);
                self.look_at = Some(Instant::now() + LOOK_INTERVAL);
                return Ok(Progress::Continue);
            }
            Some((seen, _)) => Condition::HasVersion(TELLER, seen),
            None => Condition::Absent(TELLER),
        };
        let step = Step::new().when(condition).then(self.session.become_teller(version));
        if let Outcome::Done(_) = self.session.run(&step).await?
            && self.look_at.take().is_some()
        {
            // The other stream may have ended before it sent them.
            self.listener.add_everything();
        }
        Ok(Progress::Continue)
    }
}

/// Lets another stream have the notifications.
async fn delete_teller(session: &SharedSession, teller: Option<Version>) -> Result<()> {
    let Some(version) = teller else { return Ok(()) };
    let step = Step::new().when(Condition::HasVersion(TELLER, version)).then(Operation::Delete(TELLER));
    session.run(&step).await.map(drop)
}

/// Lets another stream have the notifications, also if the store is away for a while.
async fn stop_telling(session: &SharedSession, teller: Option<Version>) {
    let mut pause = MIN_PAUSE;
    // As long as the entry names a server that lives, other streams leave the notifications to it.
    let end = Instant::now() + session.limits.session_idle;
    while let Err(error) = delete_teller(session, teller).await {
        tracing::debug!(%error, "a stream could not be closed in the store");
        if Instant::now() >= end {
            return;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl Drop for EventStore {
    fn drop(&mut self) {
        // Nothing more is confirmed, so nothing waits for it.
        self.log.give_up_confirmation();
    }
}

/// How many bytes of events are stored in one step.
const MAX_STEP_BYTES: usize = 1 << 20;
/// How long to wait before a failed step is repeated.
const MIN_PAUSE: Duration = Duration::from_millis(50);
const MAX_PAUSE: Duration = Duration::from_secs(1);
/// How long an answer waits for the store.
const MAX_ANSWER_DELAY: Duration = Duration::from_secs(2);
/// How long a finished log is looked after.
const LINGER: Duration = Duration::from_secs(30);
/// The number of notification streams without a reader that are looked after at one time.
const MAX_LINGERING: usize = 4096;
static LINGERING: Semaphore = Semaphore::const_new(MAX_LINGERING);
/// How long a finished log is offered to a store that fails.
const MAX_FAILURE_TIME: Duration = Duration::from_secs(5 * 60);
