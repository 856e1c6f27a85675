//! Which steps does a session take in the store?
//!
//! Everything of a session is one group, so that each step is one visit.

use std::sync::{Arc, OnceLock};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::super::log::event_log::KeptEvents;
use super::claim_entry::{CLAIMS, ClaimEntry};
use super::message::News;
use super::node::Node;
use super::place::SessionPlace;
use super::unsettled_claim::UnsettledClaim;
use crate::ground::mutex::Mutex;
use crate::store::{
    Answer, Condition, Groups, Name, Operation, Outcome, Result, Step, Store, StoreFailure, StoredValue,
    Version, random_version,
};

/// A session in the store.
pub(in crate::server) struct SharedSession {
    pub(in crate::server) node: Arc<Node>,
    pub(super) id: String,
    pub(in crate::server) group: String,
    pub(super) limits: SharedLimits,
    state: Mutex<RecordState>,
    /// Empty if the session is not counted.
    place: OnceLock<SessionPlace>,
}

/// How long the data of a session is stored.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct SharedLimits {
    pub(in crate::server) session_idle: Duration,
    pub(in crate::server) kept: KeptEvents,
}

/// The record of the session as this server knows it.
struct RecordState {
    version: Option<Version>,
    /// When the record was last renewed.
    renewed_at: Option<Instant>,
}

/// The outcome of an attempt to enter a session.
pub(in crate::server) enum Entered {
    /// The session is open. Its record, if this server does not know it.
    In(Option<StoredRecord>),
    /// There is no such session.
    Gone,
    /// The request has a claim of another server, or an earlier one of this server.
    Claimed(Bytes),
}

/// The record of a session, as it was read.
pub(in crate::server) struct StoredRecord {
    pub(in crate::server) text: Bytes,
    /// How often the store may have lost data before.
    pub(in crate::server) losses: u64,
}

impl SharedSession {
    pub(in crate::server) fn new(node: Arc<Node>, id: String, group: String, limits: SharedLimits) -> Self {
        let state = Mutex::new(RecordState { version: None, renewed_at: None });
        Self { node, id, group, limits, state, place: OnceLock::new() }
    }

    /// Counts the session among those of its peer. Returns whether there is room for it.
    pub(in crate::server) async fn take_place(&self, peer: &str, limit: usize) -> Result<bool> {
        let place = self.place(peer);
        let has_room = place.take(limit).await?;
        if has_room {
            let _ = self.place.set(place);
        }
        Ok(has_room)
    }

    /// Keeps the place that the session has among those of its peer.
    pub(in crate::server) fn keep_place(&self, peer: &str) {
        let _ = self.place.set(self.place(peer));
    }

    fn place(&self, peer: &str) -> SessionPlace {
        let (node, session, group) = (self.node.clone(), self.id.clone(), peer.to_owned());
        SessionPlace { node, session, group, ttl: self.limits.session_idle }
    }

    pub(super) async fn run(&self, step: &Step) -> Result<Outcome> {
        self.node.run(&self.group, step).await
    }

    /// Stores the record of a new session.
    pub(in crate::server) async fn create(&self, record: Bytes) -> Result<()> {
        let version = random_version();
        self.run(&Step::new().then(self.put_record(record, version))).await?;
        *self.state.lock() = RecordState { version: Some(version), renewed_at: Some(Instant::now()) };
        Ok(())
    }

    /// Looks up the record, and renews it if a third of its life is over. Claims a request, if one is given.
    pub(in crate::server) async fn enter(&self, claim: Option<&ClaimEntry>) -> Result<Entered> {
        self.look_up(claim, false).await.map(|(entered, _)| entered)
    }

    /// Looks up the record, and the node whose stream gets the notifications.
    pub(in crate::server) async fn enter_and_find_teller(&self) -> Result<(Entered, Option<String>)> {
        let (entered, teller) = self.look_up(None, true).await?;
        Ok((entered, teller.map(|teller| node_of_teller(&teller))))
    }

    async fn look_up(
        &self,
        claim: Option<&ClaimEntry>,
        finds_teller: bool,
    ) -> Result<(Entered, Option<StoredValue>)> {
        let now = Instant::now();
        let known = self.state.lock().version;
        let losses = self.node.losses();
        let mut step = Step::new().when(Self::is_open());
        if let Some(claim) = claim {
            step = step.when(claim.is_free());
        }
        let renews = self.renew_if_due(now, &mut step);
        if let Some(claim) = claim {
            step = step.then(claim.enter(self.limits.kept.time));
        }
        if finds_teller {
            step = step.then(Operation::Get { key: TELLER, known: None });
        }
        step = step.then(Operation::Get { key: RECORD, known });
        let unsettled = claim.map(|claim| UnsettledClaim::new(self.node.clone(), self.group.clone(), claim));
        let outcome = self.run(&step).await;
        if !matches!(&outcome, Err(error) if error.failure() == StoreFailure::Unknown) {
            unsettled.into_iter().for_each(UnsettledClaim::settle);
        }
        match outcome? {
            Outcome::Done(answers) => {
                let mut answers = answers.into_iter();
                let stored = answers.next_back().and_then(into_value);
                let teller = answers.next_back().filter(|_| finds_teller).and_then(into_value);
                if renews {
                    self.mark_renewed(now);
                }
                let mut state = self.state.lock();
                let record = stored.and_then(|stored| {
                    // Another request may have saved the record in the meantime. A record that was read during a fail-over
                    // is read again.
                    if state.version == known && self.node.losses() == losses {
                        state.version = Some(stored.version);
                    }
                    stored.bytes.map(|text| StoredRecord { text, losses })
                });
                Ok((Entered::In(record), teller))
            }
            Outcome::Refused { condition: 1, holder } => {
                Ok((Entered::Claimed(holder.unwrap_or_default()), None))
            }
            _ => Ok((Entered::Gone, None)),
        }
    }

    /// Renews the claims of requests that run.
    pub(in crate::server) async fn renew_claims(&self, claims: &[ClaimEntry]) -> Result<()> {
        let mut step = Step::new().when(Self::is_open());
        for claim in claims {
            step = step.then(claim.enter(self.limits.kept.time));
        }
        self.run(&step).await.map(drop)
    }

    /// Renews the record and the remembered values, if a third of their life is over. Returns whether it is.
    pub(super) fn renew_if_due(&self, now: Instant, step: &mut Step) -> bool {
        let renewed_at = self.state.lock().renewed_at;
        let idle = self.limits.session_idle;
        let is_due = renewed_at.is_none_or(|renewed| now.duration_since(renewed) >= idle / 3);
        if is_due {
            step.operations.push(Operation::Renew { key: RECORD, ttl: idle });
            step.operations.push(Operation::Renew { key: MEMORY.into(), ttl: idle.saturating_add(idle / 3) });
        }
        is_due
    }

    /// Records that the record was renewed.
    pub(super) fn mark_renewed(&self, now: Instant) {
        let mut state = self.state.lock();
        state.renewed_at = state.renewed_at.max(Some(now));
        drop(state);
        if let Some(place) = self.place.get() {
            place.renew();
        }
    }

    /// Writes the record, unless it has changed since this server read it.
    pub(in crate::server) async fn save(&self, record: Bytes) -> Result<bool> {
        let (before, after) = (self.state.lock().version, random_version());
        let Some(before) = before else { return Ok(false) };
        let (tell, number) = self.node.telling_all(&self.id, News::Record);
        let step = Step::new()
            .when(Condition::HasVersion(RECORD, before))
            .then(self.put_record(record, after))
            .then(tell);
        let is_done = matches!(self.run(&step).await?, Outcome::Done(_));
        if is_done {
            number.mark_sent();
            self.state.lock().version = Some(after);
        }
        Ok(is_done)
    }

    /// Writes the record as it is, so that it is confirmed. Returns `false` if another server has changed it.
    pub(in crate::server) async fn save_again(&self, record: Bytes) -> Result<bool> {
        let version = self.state.lock().version;
        let Some(version) = version else { return Ok(false) };
        let step =
            Step::new().when(Condition::HasVersion(RECORD, version)).then(self.put_record(record, version));
        Ok(matches!(self.run(&step).await?, Outcome::Done(_)))
    }

    /// Forgets the version of the record, so that the next look returns it.
    pub(in crate::server) fn forget_version(&self) {
        self.state.lock().version = None;
    }

    fn put_record(&self, value: Bytes, version: Version) -> Operation {
        Operation::Put { key: RECORD, value, version, ttl: self.limits.session_idle }
    }

    /// The condition that the session is open.
    pub(super) fn is_open() -> Condition {
        Condition::Exists(RECORD)
    }

    /// Ends the session for all servers. Its logs expire, and no server reads them without the record.
    pub(in crate::server) async fn end(&self) -> Result<()> {
        let (tell, number) = self.node.telling_all(&self.id, News::Ended);
        let step = Step::new()
            .then(Operation::Delete(RECORD))
            .then(Operation::Delete(MEMORY.into()))
            .then(Operation::Delete(TELLER))
            .then(Operation::Clear(CLAIMS))
            .then(Operation::Clear(CANCELLED))
            .then(tell);
        self.run(&step).await?;
        number.mark_sent();
        if let Some(place) = self.place.get() {
            place.release();
        }
        Ok(())
    }

    /// Deletes the record once more, so that its end is confirmed.
    pub(in crate::server) async fn confirm_end(&self) -> Result<()> {
        self.run(&Step::new().then(Operation::Delete(RECORD))).await.map(drop)
    }

    /// Returns whether the session is open.
    pub(in crate::server) async fn exists(&self) -> Result<bool> {
        Ok(matches!(self.run(&Step::new().when(Self::is_open())).await?, Outcome::Done(_)))
    }

    /// Returns the ids of the claimed requests that were cancelled.
    pub(in crate::server) async fn cancelled(&self) -> Result<Vec<String>> {
        match self.run(&Step::new().then(Operation::Entries(CANCELLED))).await? {
            Outcome::Done(mut answers) => match answers.pop() {
                Some(Answer::Entries(entries)) => Ok(entries.into_iter().map(|(id, _)| id).collect()),
                _ => Ok(Vec::new()),
            },
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the operation that makes a question known, so that any server can take its answer.
    pub(super) fn open_question(question: &str, ttl: Duration) -> Operation {
        Operation::Put { key: question_key(question), value: Bytes::new(), version: OPEN_QUESTION, ttl }
    }

    /// Returns the answer to a question of this server, if there is one.
    pub(in crate::server) async fn stored_answer(&self, question: &str) -> Result<Option<Bytes>> {
        let get = Operation::Get { key: question_key(question), known: Some(OPEN_QUESTION) };
        match self.run(&Step::new().then(get)).await? {
            Outcome::Done(mut answers) => {
                Ok(answers.pop().and_then(into_value).and_then(|stored| stored.bytes))
            }
            _ => Ok(None),
        }
    }

    /// Returns the node whose stream gets the notifications of the session, and the version of this entry.
    pub(super) async fn teller(&self) -> Result<Option<(Version, String)>> {
        let get = Operation::Get { key: TELLER, known: None };
        let Outcome::Done(mut answers) = self.run(&Step::new().then(get)).await? else { return Ok(None) };
        Ok(answers.pop().and_then(into_value).map(|stored| {
            let node = node_of_teller(&stored);
            (stored.version, node)
        }))
    }

    /// Returns the operation that makes a stream of this node the one that gets the notifications.
    pub(super) fn become_teller(&self, version: Version) -> Operation {
        let value = self.node.id.clone().into();
        Operation::Put { key: TELLER, value, version, ttl: self.limits.session_idle }
    }
}

/// Stores the record of a session that no service serves any more, in the memory of a server that shares no store.
pub(in crate::server) fn leave_record(store: &Arc<dyn Store>, group: String, value: Bytes, ttl: Duration) {
    let put = Operation::Put { key: RECORD, value, version: random_version(), ttl };
    let step = Step::new().then(put);
    let mut leaving = store.run(&group, &step);
    // A store in memory is done at once.
    let _ = leaving.as_mut().poll(&mut Context::from_waker(Waker::noop()));
}

/// Takes a record that was left in the memory of this server.
pub(in crate::server) async fn take_record(store: &dyn Store, group: &str) -> Result<Option<Bytes>> {
    let get = Operation::Get { key: RECORD, known: None };
    let Outcome::Done(mut answers) = store.run(group, &Step::new().then(get)).await? else { return Ok(None) };
    let Some(bytes) = answers.pop().and_then(into_value).and_then(|stored| stored.bytes) else {
        return Ok(None);
    };
    store.run(group, &Step::new().then(Operation::Delete(RECORD))).await?;
    Ok(Some(bytes))
}

/// Returns the group of a session. A caller cannot find the session of another owner, because the owner is part of the
/// name. A session without an owner differs from one whose owner has an empty name.
pub(in crate::server) fn session_group(groups: &Groups, id: &str, owner: Option<&str>) -> String {
    match owner {
        Some(owner) => format!("s/{id}/{}", groups.hash("session", &[owner])),
        None => format!("s/{id}"),
    }
}

pub(super) fn question_key(question: &str) -> Name {
    format!("q/{question}").into()
}

fn node_of_teller(stored: &StoredValue) -> String {
    String::from_utf8_lossy(stored.bytes.as_deref().unwrap_or_default()).into_owned()
}

fn into_value(answer: Answer) -> Option<StoredValue> {
    match answer {
        Answer::Value(value) => value,
        _ => None,
    }
}

/// The record of the session.
const RECORD: Name = Name::Borrowed("record");
/// The values that handlers remember for the client.
pub(in crate::server) const MEMORY: &str = "memory";
/// The requests that were cancelled.
pub(super) const CANCELLED: Name = Name::Borrowed("cancelled");
/// The node whose stream gets the notifications.
pub(super) const TELLER: Name = Name::Borrowed("teller");
pub(super) const OPEN_QUESTION: Version = Version(0);
pub(super) const ANSWERED_QUESTION: Version = Version(1);
