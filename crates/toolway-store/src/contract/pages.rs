//! What does the contract require of reading a log, and of its reader?

use std::ops::Range;

use bytes::Bytes;

use super::operations::{
    AMPLE_ROOM, LONG_TTL, SHORT_TTL, append, droppable, kept, name, read_by, renew_log, set_reader,
};
use super::trial::{Trial, cases, odd_bytes};
use crate::step::{Answer, Append, Operation, Outcome, Room, Step};

cases! { "pages":
    a_log_that_was_never_written_does_not_exist,
    a_page_has_at_most_so_many_entries,
    a_page_has_at_most_so_many_bytes,
    the_first_entry_is_returned_even_if_it_is_larger,
    pages_continue_where_entries_were_dropped,
    a_page_says_where_the_log_stands,
    a_log_has_the_reader_that_was_set_last,
    a_reader_belongs_to_its_log,
    an_append_returns_the_reader,
    read_by_requires_this_reader_or_none,
    a_deleted_log_has_no_reader,
    setting_the_reader_does_not_renew_the_log,
    a_reader_is_any_bytes,
}

async fn numbers(trial: &Trial<'_>, log: &str, after: u64, limit: Room) -> Vec<u64> {
    let page = trial.page(log, after, limit).await.expect("the log must exist");
    page.entries.into_iter().map(|(number, _)| number).collect()
}

async fn a_log_that_was_never_written_does_not_exist(trial: &Trial<'_>) {
    assert_eq!(trial.page("log", 0, AMPLE_ROOM).await, None);
    let delete = Operation::DeleteLog(name("log"));
    for operation in [set_reader("log", "reader"), renew_log("log", LONG_TTL), delete] {
        trial.op(operation).await;
        assert_eq!(trial.page("log", 0, AMPLE_ROOM).await, None, "only `Append` creates a log");
    }
    trial.say("log", &["one"]).await;
    assert_eq!(trial.log("log").await.reader, None, "the reader was set before the log existed");
}

async fn a_page_has_at_most_so_many_entries(trial: &Trial<'_>) {
    for number in 1..=10_u64 {
        let text = number.to_string();
        let entry = if number % 3 == 0 { kept(text) } else { droppable(text) };
        trial.append(Append { entries: vec![entry], ..append("log", &[]) }).await;
    }
    let rows: [(u64, usize, Range<u64>); 9] = [
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
    for (after, entries, expected) in rows {
        let limit = Room { entries, bytes: usize::MAX };
        let page = trial.page("log", after, limit).await.expect("the log must exist");
        let expected: Vec<_> = expected.map(|number| (number, Bytes::from(number.to_string()))).collect();
        assert_eq!(page.entries, expected, "after {after}, at most {entries}");
        assert_eq!(page.last, 10, "`last` must be the last entry of the log, not of the page");
    }
}

async fn a_page_has_at_most_so_many_bytes(trial: &Trial<'_>) {
    trial.say("log", &["1", "22", "", "4444", "5"]).await;
    let rows: [(u64, usize, &[u64]); 9] = [
        (0, 1, &[1]),
        (0, 2, &[1]),
        (0, 3, &[1, 2, 3]),
        (0, 6, &[1, 2, 3]),
        (0, 7, &[1, 2, 3, 4]),
        (0, 8, &[1, 2, 3, 4, 5]),
        (1, 5, &[2, 3]),
        (3, 4, &[4]),
        (0, usize::MAX, &[1, 2, 3, 4, 5]),
    ];
    for (after, bytes, expected) in rows {
        let limit = Room { bytes, ..AMPLE_ROOM };
        assert_eq!(
            numbers(trial, "log", after, limit).await,
            expected,
            "after {after}, at most {bytes} bytes"
        );
    }
    let both = Room { entries: 2, bytes: 8 };
    assert_eq!(numbers(trial, "log", 0, both).await, [1, 2]);
}

async fn the_first_entry_is_returned_even_if_it_is_larger(trial: &Trial<'_>) {
    trial.say("log", &["large", "larger", "1"]).await;
    trial.append(Append { entries: vec![kept("also large")], ..append("log", &[]) }).await;
    for (after, bytes) in [(0, 4), (0, 0), (1, 5), (2, 0), (3, 1)] {
        let limit = Room { bytes, ..AMPLE_ROOM };
        assert_eq!(numbers(trial, "log", after, limit).await, [after + 1], "at most {bytes} bytes");
    }
}

async fn pages_continue_where_entries_were_dropped(trial: &Trial<'_>) {
    let entries = (1..=10).map(|number| match number % 3 {
        0 => kept(number.to_string()),
        _ => droppable(number.to_string()),
    });
    let room = Room { entries: 2, ..AMPLE_ROOM };
    trial.append(Append { entries: entries.collect(), ..append("log", &[]).within(room) }).await;
    assert_eq!(trial.numbers("log").await, [3, 6, 8, 9, 10]);
    assert_eq!(numbers(trial, "log", 0, Room { entries: 2, ..AMPLE_ROOM }).await, [3, 6]);
    assert_eq!(numbers(trial, "log", 4, Room { entries: 3, ..AMPLE_ROOM }).await, [6, 8, 9]);
    assert_eq!(numbers(trial, "log", 6, Room { bytes: 2, ..AMPLE_ROOM }).await, [8, 9]);
    assert_eq!(
        numbers(trial, "log", 1, Room { bytes: 0, ..AMPLE_ROOM }).await,
        [3],
        "the first one that is there"
    );
}

async fn a_page_says_where_the_log_stands(trial: &Trial<'_>) {
    trial.say("log", &["one", "two"]).await;
    trial.op(set_reader("log", "reader")).await;
    for is_ended in [false, true] {
        for (after, entries) in [(0, 1), (0, 0), (2, 10), (5, 10)] {
            let page =
                trial.page("log", after, Room { entries, bytes: 100 }).await.expect("the log must exist");
            assert_eq!((page.last, page.is_ended, page.reader), (2, is_ended, Some("reader".into())));
        }
        trial.append(append("log", &[]).ending()).await;
    }
}

async fn a_log_has_the_reader_that_was_set_last(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    assert_eq!(trial.log("log").await.reader, None);
    for reader in ["first", "second"] {
        trial.op(set_reader("log", reader)).await;
        assert_eq!(trial.log("log").await.reader, Some(reader.into()));
        trial.say("log", &["more"]).await;
        assert_eq!(
            trial.log("log").await.reader,
            Some(reader.into()),
            "an append must not change the reader"
        );
    }
    assert_eq!(trial.numbers("log").await, [1, 2, 3], "setting the reader must not change the entries");
}

async fn a_reader_belongs_to_its_log(trial: &Trial<'_>) {
    trial.say("a", &["one"]).await;
    trial.say("b", &["one"]).await;
    trial.op(set_reader("a", "reader")).await;
    assert_eq!(trial.log("b").await.reader, None);
    assert!(trial.holds(read_by("b", "other")).await);
}

async fn an_append_returns_the_reader(trial: &Trial<'_>) {
    let reader = async |append: Append| match trial.op(append).await {
        Answer::Appended { reader, .. } => reader,
        _ => unreachable!("the kind of the answer was checked"),
    };
    assert_eq!(reader(append("log", &["one"]).numbered(1)).await, None);
    trial.op(set_reader("log", "reader")).await;
    for append in [
        append("log", &["two"]),
        append("log", &["two"]).numbered(2),
        append("log", &[]),
        append("log", &["three"]).numbered(3).ending(),
        append("log", &["three"]).numbered(3).ending(),
        append("log", &["three"]).ending(),
    ] {
        assert_eq!(reader(append).await, Some("reader".into()));
    }
}

async fn read_by_requires_this_reader_or_none(trial: &Trial<'_>) {
    assert!(!trial.holds(read_by("log", "reader")).await, "a log that does not exist must be refused");
    trial.say("log", &["one"]).await;
    assert!(trial.holds(read_by("log", "reader")).await, "a log without a reader");
    trial.op(set_reader("log", "reader")).await;
    assert!(trial.holds(read_by("log", "reader")).await);
    for other in ["", "reade", "reader ", "Reader"] {
        assert!(!trial.holds(read_by("log", other)).await, "{other:?} is not the reader");
    }
    let step = Step::new().when(read_by("log", "other"));
    assert_eq!(trial.run(&step).await, Outcome::Refused { condition: 0, holder: None });
    trial.op(set_reader("log", "other")).await;
    assert!(trial.holds(read_by("log", "other")).await);
    assert!(!trial.holds(read_by("log", "reader")).await, "a reader that was replaced");
}

async fn a_deleted_log_has_no_reader(trial: &Trial<'_>) {
    trial.say("deleted", &["one"]).await;
    trial.append(append("expired", &["one"]).lasting(SHORT_TTL)).await;
    for log in ["deleted", "expired"] {
        trial.op(set_reader(log, "reader")).await;
    }
    trial.op(Operation::DeleteLog(name("deleted"))).await;
    trial.wait().await;
    for log in ["deleted", "expired"] {
        assert!(!trial.holds(read_by(log, "reader")).await, "{log}");
        trial.say(log, &["again"]).await;
        assert_eq!(trial.log(log).await.reader, None, "{log}");
    }
}

async fn setting_the_reader_does_not_renew_the_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one"]).lasting(SHORT_TTL)).await;
    // The log may already be gone on a slow machine; only the last check counts.
    trial.wait_around(async || drop(trial.op(set_reader("log", "reader")).await)).await;
    assert!(!trial.has_log("log").await);
}

async fn a_reader_is_any_bytes(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    for reader in odd_bytes() {
        trial.op(Operation::SetReader { log: name("log"), reader: reader.clone() }).await;
        assert!(trial.log("log").await.reader.as_ref() == Some(&reader), "an empty reader is also a reader");
        assert!(trial.holds(read_by("log", reader)).await);
        assert!(!trial.holds(read_by("log", "other")).await);
    }
}
