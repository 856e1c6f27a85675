//! What does the contract require of the room of a log?

use super::operations::{AMPLE_ROOM, append, droppable, kept};
use super::trial::{Trial, cases};
use crate::step::{Append, LogEntry, Room};

cases! { "rooms":
    too_many_entries_drop_the_oldest,
    too_many_bytes_drop_the_oldest,
    entries_of_one_append_drop_each_other,
    entries_that_are_kept_are_never_dropped,
    entries_that_are_kept_take_no_room,
    the_newest_entry_of_an_append_stays_however_large,
    the_room_is_that_of_the_last_append,
    skipped_entries_drop_nothing,
    an_append_without_entries_drops_nothing,
    numbers_continue_after_dropped_entries,
    dropped_entries_are_not_missing,
}

async fn say(trial: &Trial<'_>, log: &str, text: &str, room: Room) -> u64 {
    trial.append(append(log, &[text]).within(room)).await
}

async fn add(trial: &Trial<'_>, log: &str, entries: Vec<LogEntry>, room: Room) -> u64 {
    trial.append(Append { entries, ..append(log, &[]).within(room) }).await
}

async fn too_many_entries_drop_the_oldest(trial: &Trial<'_>) {
    let room = Room { entries: 3, ..AMPLE_ROOM };
    for number in 1..=7_u64 {
        say(trial, "log", &number.to_string(), room).await;
        let expected: Vec<_> = (number.saturating_sub(2).max(1)..=number).collect();
        assert_eq!(trial.numbers("log").await, expected, "after {number} appends, with room for 3");
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
    for (text, expected) in rows {
        say(trial, "log", text, room).await;
        assert_eq!(trial.numbers("log").await, expected, "after {text:?}, with room for 10 bytes");
    }
}

async fn entries_of_one_append_drop_each_other(trial: &Trial<'_>) {
    let room = Room { entries: 2, ..AMPLE_ROOM };
    assert_eq!(trial.append(append("log", &["1", "2", "3", "4", "5"]).within(room)).await, 5);
    assert_eq!(trial.numbers("log").await, [4, 5]);
    assert_eq!(trial.append(append("log", &["5", "6", "7"]).numbered(5).within(room)).await, 7);
    assert_eq!(trial.numbers("log").await, [6, 7]);
    let bytes = Room { bytes: 5, ..AMPLE_ROOM };
    add(trial, "bytes", vec![droppable("123"), kept("4567"), droppable("89"), droppable("0")], bytes).await;
    assert_eq!(trial.numbers("bytes").await, [2, 3, 4]);
}

async fn entries_that_are_kept_are_never_dropped(trial: &Trial<'_>) {
    let room = Room { entries: 2, bytes: 1000 };
    for number in 1..=12_u64 {
        let text = number.to_string();
        add(trial, "log", vec![if number % 4 == 1 { kept(text) } else { droppable(text) }], room).await;
    }
    assert_eq!(trial.numbers("log").await, [1, 5, 9, 11, 12]);
    // Without any room, only the entries that are kept are left.
    add(trial, "log", vec![kept("13")], NO_ROOM).await;
    assert_eq!(trial.numbers("log").await, [1, 5, 9, 13]);
    assert_eq!(trial.texts("log").await[1], (5, "5".to_owned()));
}

async fn entries_that_are_kept_take_no_room(trial: &Trial<'_>) {
    let room = Room { entries: 2, bytes: 10 };
    trial.append(append("log", &["12345", "12345"]).within(room)).await;
    for _ in 0..3 {
        add(trial, "log", vec![kept("larger than the room")], room).await;
    }
    assert_eq!(trial.numbers("log").await, [1, 2, 3, 4, 5]);
}

async fn the_newest_entry_of_an_append_stays_however_large(trial: &Trial<'_>) {
    for (log, room) in [
        ("bytes", Room { bytes: 4, ..AMPLE_ROOM }),
        ("entries", Room { entries: 0, ..AMPLE_ROOM }),
        ("nothing", NO_ROOM),
    ] {
        say(trial, log, "12345", room).await;
        assert_eq!(trial.numbers(log).await, [1], "room: {room:?}");
        trial.append(append(log, &["also large", "larger than the room"]).within(room)).await;
        assert_eq!(trial.texts(log).await, [(3, "larger than the room".to_owned())], "room: {room:?}");
        // The large entry is now the oldest.
        say(trial, log, "4", room).await;
        assert_eq!(trial.numbers(log).await, [4], "room: {room:?}");
    }
}

async fn the_room_is_that_of_the_last_append(trial: &Trial<'_>) {
    for _ in 0..5 {
        say(trial, "log", "entry", AMPLE_ROOM).await;
    }
    say(trial, "log", "entry", Room { entries: 2, ..AMPLE_ROOM }).await;
    assert_eq!(trial.numbers("log").await, [5, 6]);
    say(trial, "log", "entry", Room { entries: usize::MAX, bytes: usize::MAX }).await;
    assert_eq!(trial.numbers("log").await, [5, 6, 7]);
    add(trial, "log", vec![kept("entry")], Room { bytes: 9, ..AMPLE_ROOM }).await;
    assert_eq!(trial.numbers("log").await, [7, 8]);
}

async fn skipped_entries_drop_nothing(trial: &Trial<'_>) {
    trial.append(append("log", &["1", "2", "3"]).numbered(1)).await;
    trial.append(append("log", &["2", "3"]).numbered(2).within(NO_ROOM)).await;
    assert_eq!(trial.numbers("log").await, [1, 2, 3]);
    trial.append(append("log", &["3"]).numbered(3).within(NO_ROOM).ending()).await;
    assert_eq!(trial.numbers("log").await, [1, 2, 3]);
}

async fn an_append_without_entries_drops_nothing(trial: &Trial<'_>) {
    trial.say("log", &["1", "2", "3"]).await;
    trial.append(append("log", &[]).within(NO_ROOM)).await;
    trial.append(append("log", &[]).within(NO_ROOM).ending()).await;
    assert_eq!(trial.numbers("log").await, [1, 2, 3]);
}

async fn numbers_continue_after_dropped_entries(trial: &Trial<'_>) {
    for number in 1..=20_u64 {
        assert_eq!(say(trial, "log", "entry", NO_ROOM).await, number);
        assert_eq!(trial.log("log").await.last, number);
    }
    assert_eq!(add(trial, "log", vec![kept("entry")], NO_ROOM).await, 21);
    assert_eq!(trial.numbers("log").await, [21]);
    assert_eq!(trial.log("log").await.last, 21);
}

async fn dropped_entries_are_not_missing(trial: &Trial<'_>) {
    let one = Room { entries: 1, ..AMPLE_ROOM };
    trial.append(append("log", &["1", "2", "3"]).numbered(1).within(one)).await;
    assert_eq!(
        trial.append(append("log", &["1", "2"]).numbered(1)).await,
        3,
        "dropped entries must be skipped"
    );
    assert_eq!(trial.numbers("log").await, [3], "a dropped entry must not be written again");
    assert_eq!(trial.append(append("log", &["4"]).numbered(4)).await, 4);
    assert_eq!(trial.numbers("log").await, [3, 4]);
}

/// No room for droppable entries.
const NO_ROOM: Room = Room { entries: 0, bytes: 0 };
