//! How does a step become the keys and arguments of the script? `step.lua` reads them in this order.

use std::borrow::Cow;
use std::time::Duration;

use toolway_store::{Append, Condition, Keep, Operation, Step, Version};

use crate::keys::Kind;

/// The keys and arguments of one call of the script.
pub(crate) struct Call<'s> {
    keys: Vec<String>,
    arguments: Vec<Cow<'s, [u8]>>,
    /// The position of the operation that runs first. Its answer is the first one.
    pub(crate) moved: usize,
}

impl<'s> Call<'s> {
    /// Encodes a step. `group` is what the keys of the group begin with. With a guard the script makes sure that its
    /// server is a primary even if the step changes nothing; in a Redis Cluster the servers do this by themselves.
    pub(crate) fn new(group: &str, step: &'s Step, has_guard: bool) -> Self {
        let mut call = Encoder { group, keys: Vec::new(), arguments: Vec::new() };
        if has_guard {
            call.keys.push([group, "guard"].concat());
        }
        call.flag(has_guard);
        call.number(step.conditions.len());
        for condition in &step.conditions {
            call.condition(condition);
        }
        let appends =
            step.operations.iter().enumerate().filter_map(|(position, operation)| match operation {
                Operation::Append(append) => Some((position, append)),
                _ => None,
            });
        call.number(appends.clone().count());
        for (position, append) in appends {
            call.number(position);
            call.head(append);
            call.number(append.entries.len());
            call.flag(append.ends);
        }
        call.number(step.operations.len());
        let moved = first_to_run(&step.operations);
        let others = step.operations.iter().enumerate().filter(|(position, _)| *position != moved);
        for operation in step.operations.get(moved).into_iter().chain(others.map(|(_, other)| other)) {
            call.operation(operation);
        }
        Self { keys: call.keys, arguments: call.arguments, moved }
    }

    /// Returns the command that runs the script: `EVALSHA` with its hash, or `EVAL` with its text.
    pub(crate) fn command(&self, name: &str, script: &str) -> redis::Cmd {
        let size = self.arguments.iter().map(|argument| argument.len()).sum::<usize>();
        let mut command =
            redis::Cmd::with_capacity(3 + self.keys.len() + self.arguments.len(), size + script.len() + 256);
        command.arg(name).arg(script).arg(self.keys.len()).arg(&self.keys);
        for argument in &self.arguments {
            command.arg(&**argument);
        }
        command
    }
}

/// Returns the position of the first operation that needs memory, if it may run before the others, or 0.
///
/// A server whose memory is full refuses a script at its first write, but lets it finish once it has written something,
/// such as a new time to live. So the operation that must be refused comes first. Nothing else can tell the difference:
/// a name is changed once in a step, and the operation stays behind those that read the same name.
fn first_to_run(operations: &[Operation]) -> usize {
    let Some(position) = operations.iter().position(|operation| {
        matches!(operation, Operation::Put { .. } | Operation::Enter { .. } | Operation::Append(_))
    }) else {
        return 0;
    };
    let name = name_of(&operations[position]);
    if operations[..position].iter().any(|other| name_of(other) == name) { 0 } else { position }
}

/// Returns the kind and name that an operation is about; messages have none.
fn name_of(operation: &Operation) -> Option<(u8, &str)> {
    match operation {
        Operation::Get { key, .. }
        | Operation::Renew { key, .. }
        | Operation::Put { key, .. }
        | Operation::Delete(key) => Some((b'v', key)),
        Operation::Enter { map, .. }
        | Operation::Leave { map, .. }
        | Operation::Entries(map)
        | Operation::Clear(map) => Some((b'm', map)),
        Operation::Append(Append { log, .. })
        | Operation::Read { log, .. }
        | Operation::SetReader { log, .. }
        | Operation::RenewLog { log, .. }
        | Operation::DeleteLog(log) => Some((b'l', log)),
        Operation::Publish { .. } => None,
    }
}

struct Encoder<'g, 's> {
    group: &'g str,
    keys: Vec<String>,
    arguments: Vec<Cow<'s, [u8]>>,
}

impl<'s> Encoder<'_, 's> {
    fn condition(&mut self, condition: &'s Condition) {
        match condition {
            Condition::Exists(key) => self.code("E", Kind::Value, key),
            Condition::Absent(key) => self.code("A", Kind::Value, key),
            Condition::HasVersion(key, version) => {
                self.code("V", Kind::Value, key);
                self.version(*version);
            }
            Condition::Free { map, key, value } => {
                self.code("F", Kind::Map, map);
                self.bytes(key.as_bytes());
                self.bytes(value);
            }
            Condition::HasRoom { map, key, limit } => {
                self.code("M", Kind::Map, map);
                self.bytes(key.as_bytes());
                self.number(*limit);
            }
            Condition::ReadBy { log, reader } => {
                self.code("R", Kind::Log, log);
                self.bytes(reader);
            }
        }
    }

    fn operation(&mut self, operation: &'s Operation) {
        match operation {
            Operation::Get { key, known } => {
                self.code("G", Kind::Value, key);
                match known {
                    Some(version) => self.version(*version),
                    None => self.bytes(b""),
                }
            }
            Operation::Renew { key, ttl } => {
                self.code("K", Kind::Value, key);
                self.ttl(*ttl);
            }
            Operation::Put { key, value, version, ttl } => {
                self.code("P", Kind::Value, key);
                self.own([&version.0.to_be_bytes()[..], value].concat());
                self.ttl(*ttl);
            }
            Operation::Delete(key) => self.code("D", Kind::Value, key),
            Operation::Enter { map, key, value, ttl } => {
                self.code("I", Kind::Map, map);
                self.bytes(key.as_bytes());
                self.bytes(value);
                self.ttl(*ttl);
            }
            Operation::Leave { map, key, value } => {
                self.code("O", Kind::Map, map);
                self.bytes(key.as_bytes());
                self.flag(value.is_none());
                self.bytes(value.as_deref().unwrap_or_default());
            }
            Operation::Entries(map) => self.code("L", Kind::Map, map),
            Operation::Clear(map) => self.code("D", Kind::Map, map),
            Operation::Append(append) => {
                self.bytes(b"A");
                self.head(append);
                self.flag(append.ends);
                self.number(append.room.entries);
                self.number(append.room.bytes);
                self.ttl(append.ttl);
                self.number(append.entries.len());
                for entry in &append.entries {
                    let keep: &[u8] = match entry.keep {
                        Keep::Always => b"k",
                        Keep::WhileThereIsRoom => b"d",
                    };
                    self.own([keep, &entry.bytes].concat());
                }
            }
            Operation::Read { log, after, limit } => {
                self.code("R", Kind::Log, log);
                self.number(after);
                self.number(limit.entries);
                self.number(limit.bytes);
            }
            Operation::SetReader { log, reader } => {
                self.code("S", Kind::Log, log);
                self.bytes(reader);
            }
            Operation::RenewLog { log, ttl } => {
                self.code("K", Kind::Log, log);
                self.ttl(*ttl);
            }
            Operation::DeleteLog(log) => self.code("D", Kind::Log, log),
            Operation::Publish { channel, message } => {
                self.bytes(b"T");
                self.own(self.channel(channel));
                self.bytes(message);
            }
        }
    }

    /// Adds what the check of an append and the append itself begin with.
    fn head(&mut self, append: &'s Append) {
        self.keys.push(Kind::Log.key(self.group, &append.log));
        self.bytes(&append.writer);
        match append.first {
            Some(first) => self.number(first),
            None => self.bytes(b""),
        }
    }

    fn code(&mut self, code: &'static str, kind: Kind, name: &str) {
        self.keys.push(kind.key(self.group, name));
        self.bytes(code.as_bytes());
    }

    /// Returns the name of a channel with the prefix of the keys. The prefix has no brace, so the group begins at the
    /// first one.
    fn channel(&self, channel: &str) -> Vec<u8> {
        let prefix = self.group.split_once('{').map_or("", |(prefix, _)| prefix);
        [prefix, channel].concat().into_bytes()
    }

    fn bytes(&mut self, bytes: &'s [u8]) {
        self.arguments.push(Cow::Borrowed(bytes));
    }

    fn own(&mut self, bytes: Vec<u8>) {
        self.arguments.push(Cow::Owned(bytes));
    }

    fn flag(&mut self, flag: bool) {
        self.bytes(if flag { b"1" } else { b"0" });
    }

    fn number(&mut self, number: impl ToString) {
        self.own(number.to_string().into_bytes());
    }

    fn version(&mut self, version: Version) {
        self.own(version.0.to_be_bytes().to_vec());
    }

    /// Adds a time to live in milliseconds, rounded up.
    fn ttl(&mut self, ttl: Duration) {
        self.number(ttl.as_nanos().div_ceil(1_000_000).min(MAX_TTL_MILLISECONDS));
    }
}

/// One hundred years. The script calculates with numbers that are exact up to 2^53.
const MAX_TTL_MILLISECONDS: u128 = 100 * 365 * 24 * 3600 * 1000;
