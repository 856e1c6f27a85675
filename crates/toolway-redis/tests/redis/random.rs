//! Do random steps have the same outcomes as in memory?

use std::time::Duration;

use bytes::Bytes;
use toolway_store::{
    Answer, Append, Condition, Keep, LogEntry, MemoryStore, Name, Operation, Outcome, Room, Step, Store,
    Version,
};

use crate::server::{Server, is_missing};
use crate::steps::{MINUTE, connect};

#[tokio::test]
async fn random_steps_have_the_outcomes_that_they_have_in_memory() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let (store, memory) = (connect(server.url()).await, MemoryStore::new());
    let mut kinds = [0_u32; 4];
    for seed in 0..SEEDS {
        let mut dice = Dice(seed);
        let group = format!("seed {seed}");
        for number in 0..STEPS {
            let step = dice.step();
            let expected = sorted(memory.run(&group, &step).await.unwrap());
            let found = sorted(store.run(&group, &step).await.unwrap());
            assert_eq!(found, expected, "seed {seed}, step {number}: {step:?}");
            kinds[match expected {
                Outcome::Done(_) => 0,
                Outcome::Refused { .. } => 1,
                Outcome::Behind { .. } => 2,
                Outcome::Ended { .. } => 3,
            }] += 1;
        }
    }
    assert!(kinds.iter().all(|count| *count > 100), "the steps must have all kinds of outcomes: {kinds:?}");
}

#[tokio::test]
async fn a_long_log_with_few_entries_left_is_read_as_in_memory() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let (store, memory) = (connect(server.url()).await, MemoryStore::new());
    let entry = |number: u32| LogEntry {
        bytes: number.to_string().into(),
        keep: if number.is_multiple_of(900) { Keep::Always } else { Keep::WhileThereIsRoom },
    };
    let both = async |step: Step| {
        let expected = memory.run("group", &step).await.unwrap();
        assert_eq!(store.run("group", &step).await.unwrap(), expected);
    };
    for batch in 0..5 {
        // More than the script writes at once.
        let entries = (batch * 700 + 1..=(batch + 1) * 700).map(entry).collect();
        let room = Room { entries: 300, bytes: 1 << 20 };
        let (log, writer) = ("log".into(), "writer".into());
        both(Step::new().then(Append { log, writer, first: None, entries, ends: false, room, ttl: MINUTE }))
            .await;
    }
    for after in [0, 1, 899, 900, 1800, 3199, 3200, 3201, 3499, 3500, 3501, u64::MAX] {
        for entries in [0, 1, 3, 100, 1000] {
            let limit = Room { entries, bytes: 500 };
            both(Step::new().then(Operation::Read { log: "log".into(), after, limit })).await;
        }
    }
}

#[tokio::test]
async fn entries_of_a_map_that_have_expired_are_removed() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let store = connect(server.url()).await;
    let enter = async |key: String, ttl| {
        let enter = Operation::Enter { map: "map".into(), key: key.into(), value: "value".into(), ttl };
        store.run("group", &Step::new().then(enter)).await.unwrap();
    };
    enter("stays".to_owned(), MINUTE).await;
    for number in 0..400 {
        enter(number.to_string(), Duration::from_millis(1)).await;
    }
    let count: u32 = server.query(&["HLEN", "tw1:{group}m/map"]).await;
    assert!(count <= 256, "{count} entries are left");
    let entries = Step::new().then(Operation::Entries("map".into()));
    crate::server::eventually("only one entry lives", async || {
        let only = vec![("stays".to_owned(), "value".into())];
        store.run("group", &entries).await.unwrap() == Outcome::Done(vec![Answer::Entries(only)])
    })
    .await;
    // A map that is full of expired entries has room.
    let room = Condition::HasRoom { map: "map".into(), key: "new".into(), limit: 2 };
    assert_eq!(store.run("group", &Step::new().when(room)).await.unwrap(), Outcome::Done(Vec::new()));
    let count: u32 = server.query(&["HLEN", "tw1:{group}m/map"]).await;
    assert_eq!(count, 1);
}

/// Sorts the entries of maps, which come in any order.
fn sorted(mut outcome: Outcome) -> Outcome {
    if let Outcome::Done(answers) = &mut outcome {
        for answer in answers {
            if let Answer::Entries(entries) = answer {
                entries.sort();
            }
        }
    }
    outcome
}

/// Pseudo-random numbers, the same for each seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn size(&mut self, sides: u64) -> usize {
        usize::try_from(self.roll(sides)).unwrap()
    }

    fn step(&mut self) -> Step {
        let mut step = Step::new();
        for _ in 0..[0, 0, 0, 1, 1, 2][self.size(6)] {
            step = step.when(self.condition());
        }
        let mut changed = Vec::new();
        for _ in 0..=self.size(4) {
            let operation = self.operation();
            // A name is changed at most once in a step.
            if let Some(name) = changed_name(&operation) {
                if changed.contains(&name) {
                    continue;
                }
                changed.push(name);
            }
            step = step.then(operation);
        }
        step
    }

    fn condition(&mut self) -> Condition {
        match self.roll(6) {
            0 => Condition::Exists(self.name()),
            1 => Condition::Absent(self.name()),
            2 => Condition::HasVersion(self.name(), self.version()),
            3 => Condition::Free { map: self.name(), key: self.name(), value: self.bytes() },
            4 => Condition::HasRoom { map: self.name(), key: self.name(), limit: self.size(4) },
            _ => Condition::ReadBy { log: self.name(), reader: self.bytes() },
        }
    }

    fn operation(&mut self) -> Operation {
        match self.roll(18) {
            0 => Operation::Get { key: self.name(), known: None },
            1 => Operation::Get { key: self.name(), known: Some(self.version()) },
            2 => Operation::Renew { key: self.name(), ttl: self.ttl() },
            3 | 4 => Operation::Put {
                key: self.name(),
                value: self.bytes(),
                version: self.version(),
                ttl: self.ttl(),
            },
            5 => Operation::Delete(self.name()),
            6 | 7 => {
                Operation::Enter { map: self.name(), key: self.name(), value: self.bytes(), ttl: self.ttl() }
            }
            8 => Operation::Leave { map: self.name(), key: self.name(), value: None },
            9 => Operation::Leave { map: self.name(), key: self.name(), value: Some(self.bytes()) },
            10 => Operation::Entries(self.name()),
            11 if self.roll(3) == 0 => Operation::Clear(self.name()),
            12 => Operation::SetReader { log: self.name(), reader: self.bytes() },
            13 => Operation::RenewLog { log: self.name(), ttl: self.ttl() },
            14 if self.roll(4) == 0 => Operation::DeleteLog(self.name()),
            15 => Operation::Read { log: self.name(), after: self.roll(6), limit: self.room() },
            _ => self.append().into(),
        }
    }

    fn append(&mut self) -> Append {
        let first = if self.roll(3) == 0 { None } else { Some(self.roll(6)) };
        let count = self.roll(5);
        let entries = (0..count).map(|_| LogEntry {
            bytes: self.bytes(),
            keep: if self.roll(3) == 0 { Keep::Always } else { Keep::WhileThereIsRoom },
        });
        let entries = entries.collect();
        Append {
            log: self.name(),
            writer: self.bytes(),
            first,
            entries,
            ends: self.roll(12) == 0,
            room: self.room(),
            ttl: self.ttl(),
        }
    }

    fn name(&mut self) -> Name {
        ["a", "b", "c:{d}"][self.size(3)].into()
    }

    fn version(&mut self) -> Version {
        Version(self.roll(3) << 56 | self.roll(2))
    }

    fn bytes(&mut self) -> Bytes {
        ["", "x", "1:2", "longer"][self.size(4)].into()
    }

    fn room(&mut self) -> Room {
        Room { entries: self.size(5), bytes: self.size(20) }
    }

    /// Long, or over at once, because the clocks of the two stores differ.
    fn ttl(&mut self) -> Duration {
        if self.roll(12) == 0 { Duration::ZERO } else { MINUTE * 10 }
    }
}

/// Returns the kind and name that an operation changes.
fn changed_name(operation: &Operation) -> Option<(char, Name)> {
    Some(match operation {
        Operation::Renew { key, .. } | Operation::Put { key, .. } | Operation::Delete(key) => {
            ('v', key.clone())
        }
        Operation::Enter { map, .. } | Operation::Leave { map, .. } | Operation::Clear(map) => {
            ('m', map.clone())
        }
        Operation::SetReader { log, .. }
        | Operation::RenewLog { log, .. }
        | Operation::DeleteLog(log)
        | Operation::Append(Append { log, .. }) => ('l', log.clone()),
        _ => return None,
    })
}

const SEEDS: u64 = 200;
const STEPS: u32 = 60;
