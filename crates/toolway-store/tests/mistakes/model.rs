//! How does a plain store work, and where can one go wrong?
//!
//! The model is a store as one would write it first: three maps behind a lock. At each place where a mistake is easy it
//! asks whether it should make it.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use tokio::time::Instant;
use toolway_store::{
    Answer, BoxFuture, Condition, MemoryStore, Operation, Outcome, Result, Secret, Step, Store, StoreError,
    StoreFailure, StoredValue, Subscription, Version,
};

use crate::faults::{Faults, HOUR, Id};
use crate::list::Mistake::{self, *};
use crate::log::Log;
use crate::subscriptions;

/// A handle to a store with at most one mistake.
#[derive(Clone)]
pub(crate) struct Model {
    faults: Faults,
    state: Arc<Mutex<State>>,
    /// Delivers the messages.
    channels: MemoryStore,
    secret: [u8; 32],
}

#[derive(Default)]
struct State {
    values: HashMap<Id, Value>,
    maps: HashMap<Id, BTreeMap<String, Entry>>,
    logs: HashMap<Id, Log>,
}

struct Value {
    version: Version,
    bytes: Bytes,
    until: Instant,
}

struct Entry {
    bytes: Bytes,
    until: Instant,
}

impl Model {
    pub(crate) fn new(mistake: Option<Mistake>) -> Self {
        let channels = MemoryStore::new();
        let secret = *channels.secret().as_bytes();
        Self { faults: Faults(mistake), state: Arc::default(), channels, secret }
    }

    /// Returns another handle to the same store.
    pub(crate) fn handle(&self) -> Self {
        let mut handle = self.clone();
        if self.faults.has(HandlesHaveTheirOwnData) {
            handle.state = Arc::default();
        }
        if self.faults.has(HandlesHaveTheirOwnChannels) {
            handle.channels = MemoryStore::new();
        }
        if self.faults.has(HandlesHaveTheirOwnSecret) {
            handle.secret = *MemoryStore::new().secret().as_bytes();
        }
        if self.faults.has(SecretIsEmpty) {
            handle.secret = [0; 32];
        }
        handle
    }
}

impl Store for Model {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        Box::pin(async move {
            if self.faults.has(EndlessIsAnError) && format!("{step:?}").contains("18446744073709551615") {
                return Err(StoreError::new(StoreFailure::Broken, "the time to live is too long"));
            }
            if self.faults.has(EmptyStepIsAnError) && step.operations.is_empty() && step.conditions.is_empty()
            {
                return Err(StoreError::new(StoreFailure::Broken, "there is nothing to do"));
            }
            if self.faults.has(VisitsFail) {
                return Err(StoreError::new(StoreFailure::NotDone, "not now"));
            }
            let mut step = step.clone();
            if self.faults.has(StepsAreCut) {
                step.operations.truncate(100);
            }
            if self.faults.has(PublishesFirst) || self.faults.has(PublishesWhateverHappens) {
                self.publish_all(&step).await?;
            }
            let outcome = {
                let mut state = self.state.lock().unwrap();
                if let Some(outcome) = self.check(&mut state, group, &step) {
                    return Ok(outcome);
                }
                if self.faults.has(ChecksAndWorksInTwoVisits) || self.faults.has(WorksInSeveralVisits) {
                    None
                } else {
                    let operations = step.operations.iter();
                    Some(operations.map(|operation| self.execute(&mut state, group, operation)).collect())
                }
            };
            let answers: Vec<_> = match outcome {
                Some(answers) => answers,
                None if self.faults.has(WorksInSeveralVisits) => {
                    let mut answers = Vec::new();
                    for operation in &step.operations {
                        answers.push(self.execute(&mut self.state.lock().unwrap(), group, operation));
                        tokio::task::yield_now().await;
                    }
                    answers
                }
                None => {
                    tokio::task::yield_now().await;
                    let mut state = self.state.lock().unwrap();
                    let operations = step.operations.iter();
                    operations.map(|operation| self.execute(&mut state, group, operation)).collect()
                }
            };
            if !self.faults.has(PublishesFirst) && !self.faults.has(PublishesWhateverHappens) {
                self.publish_all(&step).await?;
            }
            if self.faults.has(AnswersOnlyWhatIsAsked) {
                return Ok(Outcome::Done(
                    answers.into_iter().filter(|answer| *answer != Answer::Nothing).collect(),
                ));
            }
            Ok(Outcome::Done(answers))
        })
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        subscriptions::publish(self.faults, &self.channels, channel, message)
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        subscriptions::subscribe(self.faults, &self.channels, channel)
    }

    fn secret(&self) -> Secret {
        if self.faults.has(SecretChanges) { MemoryStore::new().secret() } else { Secret::new(self.secret) }
    }
}

impl Model {
    async fn publish_all(&self, step: &Step) -> Result<()> {
        let mut messages: Vec<_> = step.operations.iter().collect();
        if self.faults.has(PublishesBackwards) {
            messages.reverse();
        }
        for operation in messages {
            if let Operation::Publish { channel, message } = operation
                && !self.faults.has(StepsDoNotPublish)
            {
                self.publish(channel, message.clone()).await?;
                if self.faults.has(PublishesFirst) {
                    for _ in 0..20 {
                        tokio::task::yield_now().await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns why a step cannot be done.
    fn check(&self, state: &mut State, group: &str, step: &Step) -> Option<Outcome> {
        let mut conditions: Vec<_> = step.conditions.iter().enumerate().collect();
        if self.faults.has(LastConditionIsReported) {
            conditions.reverse();
        }
        let appends = |state: &State| {
            step.operations.iter().enumerate().find_map(|(position, operation)| match operation {
                Operation::Append(append) => {
                    let new = Log::default();
                    self.log(state, group, &append.log).unwrap_or(&new).check(self.faults, position, append)
                }
                _ => None,
            })
        };
        if self.faults.has(AppendsAreCheckedFirst)
            && let Some(outcome) = appends(state)
        {
            return Some(outcome);
        }
        for (position, condition) in conditions {
            let holder = match (condition, self.holds(state, group, condition)) {
                (_, true) => continue,
                (Condition::Free { map, key, .. }, false) if !self.faults.has(HolderIsNotReported) => {
                    self.entry(state, group, map, key).map(|entry| entry.bytes.clone())
                }
                _ => None,
            };
            let condition = if self.faults.has(PositionIsNotReported) { 0 } else { position };
            return Some(Outcome::Refused { condition, holder });
        }
        if self.faults.has(AppendsAreNotCheckedFirst) {
            for (position, operation) in step.operations.iter().enumerate() {
                if let (Operation::Append(_), Some(outcome)) = (operation, appends(state)) {
                    return Some(outcome);
                }
                if position + 1 < step.operations.len() {
                    self.execute(state, group, operation);
                }
            }
        }
        appends(state)
    }

    fn holds(&self, state: &mut State, group: &str, condition: &Condition) -> bool {
        match condition {
            Condition::Exists(key) => {
                if self.faults.has(ExistsRenews)
                    && let Some(value) = state.values.get_mut(&self.faults.id(group, key))
                {
                    value.until = value.until.max(Instant::now() + HOUR);
                }
                self.faults.has(ExistsAlwaysHolds) || self.value(state, group, key).is_some()
            }
            Condition::Absent(key) => {
                self.faults.has(AbsentAlwaysHolds)
                    || self
                        .value(state, group, key)
                        .is_none_or(|value| self.faults.has(EmptyIsAbsent) && value.bytes.is_empty())
            }
            Condition::HasVersion(key, version) => match self.value(state, group, key) {
                Some(value) => {
                    self.faults.has(AnyVersionIsRight) || value.version == self.faults.version(*version)
                }
                None => self.faults.has(NoValueHasVersionZero) && version.0 == 0,
            },
            Condition::Free { map, key, value } => match self.entry(state, group, map, key) {
                Some(entry) => {
                    self.faults.has(FreeAlwaysHolds)
                        || (entry.bytes == *value && !self.faults.has(FreeRequiresNoEntry))
                }
                None => true,
            },
            Condition::HasRoom { map, key, limit } => {
                let now = Instant::now();
                let entries =
                    state.maps.get(&self.faults.id(group, map)).into_iter().flat_map(BTreeMap::values);
                let count =
                    entries.filter(|entry| entry.until > now || self.faults.has(ExpiredEntriesCount)).count();
                let has_entry =
                    self.entry(state, group, map, key).is_some() && !self.faults.has(HasRoomIgnoresTheKey);
                has_entry || count < *limit || (self.faults.has(LimitIsIncluded) && count == *limit)
            }
            Condition::ReadBy { log, reader } => match self.log(state, group, log).map(|log| &log.reader) {
                Some(Some(current)) => current == reader || self.faults.has(AnyReaderIsRight),
                Some(None) => !self.faults.has(ReadByRequiresAReader),
                None => self.faults.has(ReadByNeedsNoLog),
            },
        }
    }

    fn value<'d>(&self, state: &'d State, group: &str, key: &str) -> Option<&'d Value> {
        state.values.get(&self.faults.id(group, key)).filter(|value| value.until > Instant::now())
    }

    fn entry<'d>(&self, state: &'d State, group: &str, map: &str, key: &str) -> Option<&'d Entry> {
        let entry = state.maps.get(&self.faults.id(group, map))?.get(&self.faults.text(key));
        entry.filter(|entry| entry.until > Instant::now())
    }

    fn log<'d>(&self, state: &'d State, group: &str, log: &str) -> Option<&'d Log> {
        state.logs.get(&self.faults.id(group, log)).filter(|log| log.until > Some(Instant::now()))
    }

    fn execute(&self, state: &mut State, group: &str, operation: &Operation) -> Answer {
        match operation {
            Operation::Get { key, known } => {
                if self.faults.has(GetRenews) && self.value(state, group, key).is_some() {
                    state.values.get_mut(&self.faults.id(group, key)).unwrap().until = Instant::now() + HOUR;
                }
                let value = self.value(state, group, key);
                let known = known
                    .map(|known| self.faults.version(known))
                    .filter(|_| !self.faults.has(KnownIsIgnored));
                return Answer::Value(
                    value.filter(|value| !(self.faults.has(EmptyIsNothing) && value.bytes.is_empty())).map(
                        |value| StoredValue {
                            version: value.version,
                            bytes: match known {
                                Some(_) if self.faults.has(AnyKnownLeavesOutTheBytes) => None,
                                known => (known != Some(value.version)).then(|| value.bytes.clone()),
                            },
                        },
                    ),
                );
            }
            Operation::Renew { key, ttl } => {
                let is_there = self.value(state, group, key).is_some() || self.faults.has(RenewRestores);
                if let Some(value) = state
                    .values
                    .get_mut(&self.faults.id(group, key))
                    .filter(|_| is_there && !self.faults.has(RenewDoesNothing))
                {
                    let until = self.faults.until(*ttl);
                    value.until =
                        if self.faults.has(RenewNeverShortens) { until.max(value.until) } else { until };
                }
            }
            Operation::Put { key, value, version, ttl } => {
                let id = self.faults.id(group, key);
                let mut until = self.faults.until(*ttl);
                if let Some(old) = self.value(state, group, key) {
                    if self.faults.has(PutKeepsTheTtl) {
                        until = old.until;
                    }
                    if self.faults.has(PutNeverReplaces) {
                        return Answer::Nothing;
                    }
                }
                state.values.insert(
                    id,
                    Value { version: self.faults.version(*version), bytes: self.faults.bytes(value), until },
                );
            }
            Operation::Delete(key) => {
                let id = self.faults.id(group, key);
                if !self.faults.has(DeleteDoesNothing) {
                    state.values.remove(&id);
                }
                if self.faults.has(KindsShareNames) {
                    state.logs.remove(&id);
                }
            }
            Operation::Enter { map, key, value, ttl } => {
                let (until, now) = (self.faults.until(*ttl), Instant::now());
                let entries = state.maps.entry(self.faults.id(group, map)).or_default();
                if self.faults.has(MapsExpireAsAWhole) {
                    for entry in entries.values_mut() {
                        entry.until = until;
                    }
                }
                let key = self.faults.text(key);
                let old = entries.get(&key).filter(|entry| entry.until > now).map(|entry| entry.until);
                let until = old.filter(|_| self.faults.has(EnterKeepsTheTtl)).unwrap_or(until);
                entries.insert(key, Entry { bytes: self.faults.bytes(value), until });
            }
            Operation::Leave { map, key, value } => {
                if self.faults.has(LeaveClears) {
                    state.maps.remove(&self.faults.id(group, map));
                }
                let found = self.entry(state, group, map, key);
                let is_meant = match value {
                    Some(value) => {
                        found.is_some_and(|entry| entry.bytes == *value)
                            || self.faults.has(LeaveIgnoresTheValue)
                    }
                    None => !self.faults.has(LeaveNeedsAValue),
                };
                if is_meant && let Some(entries) = state.maps.get_mut(&self.faults.id(group, map)) {
                    entries.remove(&self.faults.text(key));
                }
            }
            Operation::Entries(map) => {
                let now = Instant::now();
                let entries = state.maps.get_mut(&self.faults.id(group, map)).into_iter().flatten();
                let mut found: Vec<_> = entries
                    .filter(|(_, entry)| entry.until > now)
                    .map(|(key, entry)| {
                        if self.faults.has(EntriesRenews) {
                            entry.until = entry.until.max(now + HOUR);
                        }
                        (key.clone(), entry.bytes.clone())
                    })
                    .collect();
                if self.faults.has(EntriesAreCut) {
                    found.truncate(100);
                }
                return Answer::Entries(found);
            }
            Operation::Clear(map) => {
                if self.faults.has(ClearRemovesOne) {
                    state.maps.get_mut(&self.faults.id(group, map)).and_then(BTreeMap::pop_first);
                } else {
                    state.maps.remove(&self.faults.id(group, map));
                }
            }
            Operation::Append(append) => {
                let is_there = self.log(state, group, &append.log).is_some();
                let log = state.logs.entry(self.faults.id(group, &append.log)).or_default();
                // These mistakes leave something behind.
                let kept = [DeleteLogKeepsTheEnd, DeleteLogKeepsTheReader, ExpiredLogsKeepTheirNumbers];
                if !is_there && !kept.iter().any(|mistake| self.faults.has(*mistake)) {
                    *log = Log::default();
                }
                return log.append(self.faults, append, is_there);
            }
            Operation::Read { log, after, limit } => {
                if self.faults.has(ReadRenews) && self.log(state, group, log).is_some() {
                    state.logs.get_mut(&self.faults.id(group, log)).unwrap().until =
                        Some(Instant::now() + HOUR);
                }
                return Answer::Page(
                    self.log(state, group, log).map(|log| log.page(self.faults, *after, *limit)),
                );
            }
            Operation::SetReader { log, reader } => {
                let is_there = self.log(state, group, log).is_some();
                let id = self.faults.id(group, log);
                if !is_there && self.faults.has(SetReaderCreates) {
                    state
                        .logs
                        .insert(id.clone(), Log { until: Some(Instant::now() + HOUR), ..Log::default() });
                }
                if let Some(log) =
                    state.logs.get_mut(&id).filter(|_| is_there || self.faults.has(SetReaderCreates))
                {
                    if self.faults.has(SetReaderRenews) {
                        log.until = Some(Instant::now() + HOUR);
                    }
                    if log.reader.is_none() || !self.faults.has(ReaderIsNeverReplaced) {
                        log.reader = Some(self.faults.bytes(reader))
                            .filter(|reader| !(self.faults.has(EmptyIsNothing) && reader.is_empty()));
                    }
                }
            }
            Operation::RenewLog { log, ttl } => {
                let is_there = self.log(state, group, log).is_some() || self.faults.has(RenewRestores);
                if let Some(log) = state
                    .logs
                    .get_mut(&self.faults.id(group, log))
                    .filter(|_| is_there && !self.faults.has(RenewLogDoesNothing))
                {
                    log.until = Some(self.faults.until(*ttl));
                }
            }
            Operation::DeleteLog(log) => match state.logs.get_mut(&self.faults.id(group, log)) {
                Some(log) if self.faults.has(DeleteLogKeepsTheNumbers) => log.entries.clear(),
                Some(log) if self.faults.has(DeleteLogKeepsTheEnd) => {
                    *log = Log { ended_by: log.ended_by.take(), ..Log::default() };
                }
                Some(log) if self.faults.has(DeleteLogKeepsTheReader) => {
                    *log = Log { reader: log.reader.take(), ..Log::default() };
                }
                _ => _ = state.logs.remove(&self.faults.id(group, log)),
            },
            Operation::Publish { .. } => {}
        }
        Answer::Nothing
    }
}
