//! What does the contract require of logs?

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::trial::{AMPLE_ROOM, LONG_TTL, ODD_NAMES, SHORT_TTL, Trial, cases, drop_after};
use crate::store::backend::{Keep, LogEntry, Room};

cases! { "logs":
    a_log_that_was_never_written_is_not_there,
    entries_are_numbered_from_one,
    many_appends_at_once_leave_no_gap,
    reading_gives_pages,
    too_many_entries_drop_the_oldest,
    too_many_bytes_drop_the_oldest,
    what_must_stay_is_never_dropped,
    what_must_stay_takes_no_room,
    the_newest_entry_stays_however_large,
    the_room_is_that_of_the_last_append,
    numbers_go_on_after_what_was_dropped,
    a_log_lives_as_long_as_its_last_append_says,
    an_expired_log_was_never_there,
    reading_a_log_does_not_renew_it,
    a_log_can_be_prolonged,
    a_forgotten_log_begins_again,
    an_entry_is_any_bytes,
    the_name_of_a_log_is_any_text,
    a_key_a_log_and_a_channel_of_one_name_are_three_things,
    a_log_may_live_for_no_time_or_for_ever,
    a_dropped_append_leaves_no_gap,
}

use Keep::{Always, WhileThereIsRoom};

/// Returns the entries of a log as numbers and texts.
async fn texts(trial: &Trial<'_>, log: &str) -> Vec<(u64, String)> {
    let entries = trial.read(log).await;
    entries
        .into_iter()
        .map(|(number, bytes)| (number, String::from_utf8_lossy(&bytes).into_owned()))
        .collect()
}

async fn numbers(trial: &Trial<'_>, log: &str) -> Vec<u64> {
    trial.read(log).await.into_iter().map(|(number, _)| number).collect()
}

async fn append_for(trial: &Trial<'_>, log: &str, ttl: Duration) -> u64 {
    let entry = LogEntry { bytes: "entry".into(), keep: WhileThereIsRoom };
    trial.store.append(&trial.name(log), entry, AMPLE_ROOM, ttl).await.expect("`append` must succeed")
}

async fn a_log_that_was_never_written_is_not_there(trial: &Trial<'_>) {
    assert_eq!(trial.read("log").await, []);
    assert_eq!(trial.last("log").await, None);
    assert!(!trial.delete_log("log").await);
}

async fn entries_are_numbered_from_one(trial: &Trial<'_>) {
    for (number, keep) in [(1, Always), (2, WhileThereIsRoom), (3, WhileThereIsRoom), (4, Always)] {
        assert_eq!(trial.append("log", format!("entry {number}"), keep, AMPLE_ROOM).await, number);
        assert_eq!(trial.last("log").await, Some(number));
    }
    assert_eq!(
        trial.append("other", "else", Always, AMPLE_ROOM).await,
        1,
        "each log must have its own numbers"
    );
    let expected: Vec<_> = (1..=4).map(|number| (number, format!("entry {number}"))).collect();
    assert_eq!(texts(trial, "log").await, expected);
}

async fn many_appends_at_once_leave_no_gap(trial: &Trial<'_>) {
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let (store, log) = (trial.store.clone(), trial.name("log"));
        tasks.spawn(async move {
            let mut written = Vec::new();
            for turn in 0..5 {
                let bytes = Bytes::from(format!("{task} {turn}"));
                let keep = if turn % 2 == 0 { Always } else { WhileThereIsRoom };
                let entry = LogEntry { bytes: bytes.clone(), keep };
                written.push((
                    store.append(&log, entry, AMPLE_ROOM, LONG_TTL).await.expect("`append` must succeed"),
                    bytes,
                ));
                tokio::task::yield_now().await;
            }
            assert!(written.is_sorted(), "the numbers of one task must increase: {written:?}");
            written
        });
    }
    let mut written: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
    written.sort();
    let numbers: Vec<_> = written.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=100).collect::<Vec<_>>());
    assert_eq!(trial.read("log").await, written, "an entry must have the number that its `append` returned");
}

async fn reading_gives_pages(trial: &Trial<'_>) {
    for number in 1..=10_u64 {
        let keep = if number % 3 == 0 { Always } else { WhileThereIsRoom };
        trial.append("log", number.to_string(), keep, AMPLE_ROOM).await;
    }
    let rows: [(u64, usize, std::ops::Range<u64>); 9] = [
        (0, 3, 1..4),
        (3, 3, 4..7),
        (9, 3, 10..11),
        (10, 3, 0..0),
        (11, 3, 0..0),
        (u64::MAX, usize::MAX, 0..0),
        (0, 0, 0..0),
        (0, 10, 1..11),
        (4, usize::MAX, 5..11),
    ];
    for (after, max, expected) in rows {
        let page = trial.page("log", after, max).await;
        let expected: Vec<_> = expected.map(|number| (number, Bytes::from(number.to_string()))).collect();
        assert_eq!(page, expected, "after {after}, at most {max}");
    }
    // Pages follow the existing numbers, also where some are missing.
    let few = Room { entries: 2, ..AMPLE_ROOM };
    trial.append("log", "11", WhileThereIsRoom, few).await;
    let page = trial.page("log", 4, 3).await;
    assert_eq!(page.into_iter().map(|(number, _)| number).collect::<Vec<_>>(), [6, 9, 10]);
}

async fn too_many_entries_drop_the_oldest(trial: &Trial<'_>) {
    let room = Room { entries: 3, ..AMPLE_ROOM };
    for number in 1..=7_u64 {
        trial.append("log", number.to_string(), WhileThereIsRoom, room).await;
        let expected: Vec<_> = (number.saturating_sub(2).max(1)..=number).collect();
        assert_eq!(numbers(trial, "log").await, expected, "after {number} appends, with room for 3");
    }
}

async fn too_many_bytes_drop_the_oldest(trial: &Trial<'_>) {
    let room = Room { bytes: 10, ..AMPLE_ROOM };
    let rows: [(&str, &[u64]); 7] = [
        ("1234", &[1]),
        ("567890", &[1, 2]),
        ("", &[1, 2, 3]),
        ("1", &[2, 3, 4]),
        ("1234", &[3, 4, 5]),
        ("1234567", &[6]),
        ("123", &[6, 7]),
    ];
    for (bytes, expected) in rows {
        trial.append("log", bytes, WhileThereIsRoom, room).await;
        assert_eq!(numbers(trial, "log").await, expected, "after {bytes:?}, with room for 10 bytes");
    }
}

async fn what_must_stay_is_never_dropped(trial: &Trial<'_>) {
    let room = Room { entries: 2, bytes: 1000 };
    for number in 1..=12_u64 {
        let keep = if number % 4 == 1 { Always } else { WhileThereIsRoom };
        trial.append("log", number.to_string(), keep, room).await;
    }
    assert_eq!(numbers(trial, "log").await, [1, 5, 9, 11, 12]);
    // Without any room, only the entries that must stay are left.
    trial.append("log", "13", Always, Room { entries: 0, bytes: 0 }).await;
    assert_eq!(numbers(trial, "log").await, [1, 5, 9, 13]);
    assert_eq!(texts(trial, "log").await[1], (5, "5".to_owned()));
}

async fn what_must_stay_takes_no_room(trial: &Trial<'_>) {
    let room = Room { entries: 2, bytes: 10 };
    trial.append("log", "12345", WhileThereIsRoom, room).await;
    trial.append("log", "12345", WhileThereIsRoom, room).await;
    for _ in 0..3 {
        trial.append("log", "larger than the room", Always, room).await;
    }
    assert_eq!(numbers(trial, "log").await, [1, 2, 3, 4, 5]);
}

async fn the_newest_entry_stays_however_large(trial: &Trial<'_>) {
    for (name, room) in [
        ("bytes", Room { bytes: 4, ..AMPLE_ROOM }),
        ("entries", Room { entries: 0, ..AMPLE_ROOM }),
        ("nothing", NO_ROOM),
    ] {
        trial.append(name, "1", WhileThereIsRoom, room).await;
        assert_eq!(numbers(trial, name).await, [1], "room: {room:?}");
        trial.append(name, "larger than the room", WhileThereIsRoom, room).await;
        assert_eq!(texts(trial, name).await, [(2, "larger than the room".to_owned())], "room: {room:?}");
        // The large entry is now the oldest.
        trial.append(name, "3", WhileThereIsRoom, room).await;
        assert_eq!(numbers(trial, name).await, [3], "room: {room:?}");
    }
}

async fn the_room_is_that_of_the_last_append(trial: &Trial<'_>) {
    for _ in 0..5 {
        trial.append("log", "entry", WhileThereIsRoom, AMPLE_ROOM).await;
    }
    trial.append("log", "entry", WhileThereIsRoom, Room { entries: 2, ..AMPLE_ROOM }).await;
    assert_eq!(numbers(trial, "log").await, [5, 6]);
    trial.append("log", "entry", WhileThereIsRoom, AMPLE_ROOM).await;
    assert_eq!(numbers(trial, "log").await, [5, 6, 7]);
    trial.append("log", "entry", Always, Room { bytes: 9, ..AMPLE_ROOM }).await;
    assert_eq!(numbers(trial, "log").await, [7, 8]);
}

async fn numbers_go_on_after_what_was_dropped(trial: &Trial<'_>) {
    for number in 1..=20_u64 {
        assert_eq!(trial.append("log", "entry", WhileThereIsRoom, NO_ROOM).await, number);
        assert_eq!(trial.last("log").await, Some(number));
    }
    assert_eq!(trial.append("log", "entry", Always, NO_ROOM).await, 21);
    assert_eq!(numbers(trial, "log").await, [21]);
    assert_eq!(trial.last("log").await, Some(21));
}

async fn a_log_lives_as_long_as_its_last_append_says(trial: &Trial<'_>) {
    append_for(trial, "longer", SHORT_TTL).await;
    append_for(trial, "longer", LONG_TTL).await;
    append_for(trial, "shorter", LONG_TTL).await;
    append_for(trial, "shorter", SHORT_TTL).await;
    trial.wait().await;
    assert_eq!(
        numbers(trial, "longer").await,
        [1, 2],
        "`append` must extend the lifetime of the whole log, not only of the last entry"
    );
    assert_eq!(append_for(trial, "longer", LONG_TTL).await, 3);
    assert_eq!(trial.last("shorter").await, None);
    assert_eq!(trial.read("shorter").await, []);
}

async fn an_expired_log_was_never_there(trial: &Trial<'_>) {
    for log in ["read", "append", "forget"] {
        append_for(trial, log, SHORT_TTL).await;
        append_for(trial, log, SHORT_TTL).await;
    }
    assert_eq!(trial.last("read").await, Some(2), "a log must exist until it expires");
    trial.wait().await;
    assert_eq!(trial.read("read").await, []);
    assert_eq!(trial.last("read").await, None);
    assert_eq!(
        append_for(trial, "append", LONG_TTL).await,
        1,
        "`append` to an expired log must begin a new log"
    );
    assert_eq!(numbers(trial, "append").await, [1]);
    assert!(!trial.delete_log("forget").await);
}

async fn reading_a_log_does_not_renew_it(trial: &Trial<'_>) {
    append_for(trial, "log", SHORT_TTL).await;
    (trial.wait)(SHORT_TTL / 2).await;
    // The log may already be gone on a slow machine; only the last check counts.
    trial.read("log").await;
    trial.last("log").await;
    (trial.wait)(SHORT_TTL * 3 / 4).await;
    assert_eq!(trial.last("log").await, None);
}

async fn a_log_can_be_prolonged(trial: &Trial<'_>) {
    append_for(trial, "longer", SHORT_TTL).await;
    append_for(trial, "shorter", LONG_TTL).await;
    append_for(trial, "gone", SHORT_TTL).await;
    let prolong = async |log: &str, ttl| {
        trial.store.renew_log(&trial.name(log), ttl).await.expect("`prolong` must succeed")
    };
    assert!(prolong("longer", LONG_TTL).await);
    assert!(prolong("shorter", SHORT_TTL).await);
    assert!(!prolong("never", LONG_TTL).await);
    trial.wait().await;
    assert_eq!(numbers(trial, "longer").await, [1]);
    assert!(numbers(trial, "shorter").await.is_empty());
    assert!(!prolong("gone", LONG_TTL).await, "`prolong` must not restore an expired log");
    assert_eq!(trial.last("never").await, None, "`prolong` must not create a log");
}

async fn a_forgotten_log_begins_again(trial: &Trial<'_>) {
    for _ in 0..3 {
        trial.append("log", "old", WhileThereIsRoom, AMPLE_ROOM).await;
        trial.append("log", "old", Always, AMPLE_ROOM).await;
        trial.append("other", "else", WhileThereIsRoom, AMPLE_ROOM).await;
    }
    assert!(trial.delete_log("log").await);
    assert_eq!((trial.read("log").await, trial.last("log").await), (Vec::new(), None));
    assert!(!trial.delete_log("log").await, "a second `forget` must find no log");
    // Entries of the deleted log take no room in the new one.
    let room = Room { entries: 2, bytes: 6 };
    assert_eq!(trial.append("log", "new", WhileThereIsRoom, room).await, 1);
    assert_eq!(trial.append("log", "new", WhileThereIsRoom, room).await, 2);
    assert_eq!(texts(trial, "log").await, [(1, "new".to_owned()), (2, "new".to_owned())]);
    assert_eq!(trial.last("other").await, Some(3));
}

async fn an_entry_is_any_bytes(trial: &Trial<'_>) {
    let large = Bytes::from(vec![0xff; 1 << 20]);
    let entries = [Bytes::new(), (0..=255).rev().collect::<Vec<u8>>().into(), "\r\n\0".into(), large];
    for (entry, keep) in entries.iter().zip([Always, WhileThereIsRoom].into_iter().cycle()) {
        trial.append("log", entry.clone(), keep, AMPLE_ROOM).await;
    }
    let read: Vec<_> = trial.read("log").await.into_iter().map(|(_, bytes)| bytes).collect();
    assert!(read == entries, "`read` must return the bytes that were appended");
}

async fn the_name_of_a_log_is_any_text(trial: &Trial<'_>) {
    let mut logs: Vec<_> = ODD_NAMES.map(str::to_owned).into();
    logs.push("long ".repeat(1000));
    for log in &logs {
        assert_eq!(
            trial.append(log, log.clone(), Always, AMPLE_ROOM).await,
            1,
            "{log:?} must differ from the logs before it"
        );
    }
    for log in &logs {
        assert_eq!(trial.read(log).await, [(1, Bytes::from(log.clone()))]);
        assert!(trial.delete_log(log).await, "{log:?} must exist");
    }
}

async fn a_key_a_log_and_a_channel_of_one_name_are_three_things(trial: &Trial<'_>) {
    trial.put("name", "value", LONG_TTL).await;
    assert_eq!(trial.last("name").await, None);
    trial.append("name", "entry", Always, AMPLE_ROOM).await;
    let mut subscription = trial.subscribe("name").await;
    assert_eq!(trial.get("name").await.as_deref(), Some(&b"value"[..]));
    assert!(trial.delete("name").await);
    assert_eq!(trial.last("name").await, Some(1), "deleting the value must not delete the log");
    trial.put("name", "value", LONG_TTL).await;
    assert!(trial.delete_log("name").await);
    assert!(trial.get("name").await.is_some(), "forgetting the log must not delete the value");
    trial.publish("name", "message").await;
    assert_eq!(
        subscription.next().await.as_deref(),
        Some(&b"message"[..]),
        "a channel must carry only published messages"
    );
}

async fn a_log_may_live_for_no_time_or_for_ever(trial: &Trial<'_>) {
    append_for(trial, "gone", LONG_TTL).await;
    assert_eq!(
        append_for(trial, "gone", Duration::ZERO).await,
        2,
        "`append` must count the entries before it"
    );
    assert_eq!(trial.last("gone").await, None, "a log with a lifetime of zero must be gone at once");
    append_for(trial, "kept", Duration::MAX).await;
    assert_eq!(append_for(trial, "kept", Duration::MAX).await, 2);
    trial.wait().await;
    assert_eq!(trial.last("kept").await, Some(2), "a log with the longest lifetime must not expire");
}

async fn a_dropped_append_leaves_no_gap(trial: &Trial<'_>) {
    for polls in 0..8 {
        let entry = LogEntry { bytes: "dropped".into(), keep: WhileThereIsRoom };
        drop_after(polls, trial.store.append(&trial.name("log"), entry, AMPLE_ROOM, LONG_TTL)).await;
        let number = trial.append("log", format!("after {polls}"), Always, AMPLE_ROOM).await;
        let entries = texts(trial, "log").await;
        let numbers: Vec<_> = entries.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "{polls} polls");
        assert!(
            entries.contains(&(number, format!("after {polls}"))),
            "{polls} polls: {number}, {entries:?}"
        );
    }
}

/// No room for droppable entries.
const NO_ROOM: Room = Room { entries: 0, bytes: 0 };
