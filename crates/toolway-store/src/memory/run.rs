//! How is a step done? All conditions and appends are checked first, so that a step does everything or nothing.

use bytes::Bytes;
use tokio::time::Instant;

use super::expiring::Expiring;
use super::log::{Log, Rejection};
use super::maps::Maps;
use crate::step::{Answer, Append, Condition, Operation, Outcome, Step, StoredValue, Version};

/// The data of a store.
#[derive(Default)]
pub(super) struct Data {
    pub(super) values: Expiring<Value>,
    pub(super) maps: Maps,
    pub(super) logs: Expiring<Log>,
}

/// A value with its version.
pub(super) struct Value {
    version: Version,
    bytes: Bytes,
}

impl Data {
    /// Does a step. `publish` sends a message to the subscribers of a channel.
    pub(super) fn run(&mut self, group: &str, step: &Step, publish: impl Fn(&str, &Bytes)) -> Outcome {
        // One instant for the whole step: nothing expires between a check and an operation.
        let now = Instant::now();
        for (position, condition) in step.conditions.iter().enumerate() {
            if let Err(holder) = self.check_condition(group, condition, now) {
                return Outcome::Refused { condition: position, holder };
            }
        }
        for (position, operation) in step.operations.iter().enumerate() {
            if let Operation::Append(append) = operation
                && let Err((rejection, last)) = self.check_append(group, append, now)
            {
                return match rejection {
                    Rejection::Behind => Outcome::Behind { operation: position, last },
                    Rejection::Ended => Outcome::Ended { operation: position, last },
                };
            }
        }
        let answers =
            step.operations.iter().map(|operation| self.execute(group, operation, now, &publish)).collect();
        Outcome::Done(answers)
    }

    /// Fails with the entry that is there instead, if the condition is about one.
    fn check_condition(&self, group: &str, condition: &Condition, now: Instant) -> Result<(), Option<Bytes>> {
        let holds = match condition {
            Condition::Exists(key) => self.values.get((group, key), now).is_some(),
            Condition::Absent(key) => self.values.get((group, key), now).is_none(),
            Condition::HasVersion(key, version) => {
                self.values.get((group, key), now).is_some_and(|value| value.version == *version)
            }
            Condition::Free { map, key, value } => match self.maps.get((group, map), key, now) {
                Some(holder) if holder != value => return Err(Some(holder.clone())),
                _ => true,
            },
            Condition::HasRoom { map, key, limit } => {
                self.maps.get((group, map), key, now).is_some()
                    || self.maps.has_fewer((group, map), *limit, now)
            }
            Condition::ReadBy { log, reader } => self
                .logs
                .get((group, log), now)
                .is_some_and(|log| log.reader().is_none_or(|current| current == reader)),
        };
        if holds { Ok(()) } else { Err(None) }
    }

    /// Fails with the last number of the log.
    fn check_append(&self, group: &str, append: &Append, now: Instant) -> Result<(), (Rejection, u64)> {
        let result = match self.logs.get((group, &append.log), now) {
            Some(log) => log.count_present(append).map_err(|rejection| (rejection, log.last())),
            None => Log::default().count_present(append).map_err(|rejection| (rejection, 0)),
        };
        result.map(drop)
    }

    fn execute(
        &mut self,
        group: &str,
        operation: &Operation,
        now: Instant,
        publish: impl Fn(&str, &Bytes),
    ) -> Answer {
        self.values.remove_expired(now);
        self.maps.remove_expired(now);
        self.logs.remove_expired(now);
        match operation {
            Operation::Get { key, known } => {
                let value = self.values.get((group, key), now);
                return Answer::Value(value.map(|value| StoredValue {
                    version: value.version,
                    bytes: (*known != Some(value.version)).then(|| value.bytes.clone()),
                }));
            }
            Operation::Renew { key, ttl } => {
                self.values.renew((group, key), now, *ttl);
            }
            Operation::Put { key, value, version, ttl } => {
                let value = Value { version: *version, bytes: value.clone() };
                self.values.put((group, key), value, now, *ttl);
            }
            Operation::Delete(key) => self.values.remove((group, key)),
            Operation::Enter { map, key, value, ttl } => {
                self.maps.enter((group, map), key, value.clone(), now, *ttl);
            }
            Operation::Leave { map, key, value } => {
                let found = self.maps.get((group, map), key, now);
                if found.is_some_and(|found| value.as_ref().is_none_or(|value| value == found)) {
                    self.maps.leave((group, map), key);
                }
            }
            Operation::Entries(map) => {
                let entries = self.maps.entries((group, map), now);
                return Answer::Entries(
                    entries.map(|(key, value)| (key.to_owned(), value.clone())).collect(),
                );
            }
            Operation::Clear(map) => self.maps.clear((group, map)),
            Operation::Append(append) => return self.append((group, &append.log), append, now),
            Operation::Read { log, after, limit } => {
                return Answer::Page(self.logs.get((group, log), now).map(|log| log.read(*after, *limit)));
            }
            Operation::SetReader { log, reader } => {
                if let Some(log) = self.logs.get_mut((group, log), now) {
                    log.set_reader(reader.clone());
                }
            }
            Operation::RenewLog { log, ttl } => {
                self.logs.renew((group, log), now, *ttl);
            }
            Operation::DeleteLog(log) => self.logs.remove((group, log)),
            Operation::Publish { channel, message } => publish(channel, message),
        }
        Answer::Nothing
    }

    fn append(&mut self, name: (&str, &str), append: &Append, now: Instant) -> Answer {
        if let Some(log) = self.logs.renew(name, now, append.ttl) {
            return log.append(append);
        }
        let mut log = Log::default();
        let answer = log.append(append);
        self.logs.put(name, log, now, append.ttl);
        answer
    }
}
