//! What does the contract require of appending to a log?

use bytes::Bytes;
use tokio::task::JoinSet;

use super::operations::{LONG_TTL, SHORT_TTL, append, droppable, kept, name};
use super::trial::{Trial, answers, cases, odd_bytes, odd_names};
use crate::step::{Answer, Append, Operation, Outcome, Room, Step};

cases! { "appends":
    the_store_numbers_entries_from_one,
    many_appends_at_once_leave_no_gap,
    a_writer_can_number_its_entries,
    entries_that_are_there_are_skipped,
    an_append_that_is_repeated_changes_nothing,
    skipped_entries_renew_the_log,
    an_append_is_behind_if_entries_before_it_are_missing,
    an_append_that_is_behind_does_not_renew_the_log,
    a_writer_heals_a_log_that_is_behind,
    writers_may_take_turns,
    an_append_without_entries_creates_or_renews_the_log,
    a_deleted_log_begins_again,
    an_entry_is_any_bytes,
    the_name_of_a_log_is_any_text,
    a_writer_is_any_bytes,
}

async fn the_store_numbers_entries_from_one(trial: &Trial<'_>) {
    assert_eq!(trial.say("log", &["one"]).await, 1);
    assert_eq!(trial.say("log", &["two", "three"]).await, 3);
    assert_eq!(trial.append(Append { entries: vec![kept("four")], ..append("log", &[]) }).await, 4);
    assert_eq!(trial.say("other", &["else"]).await, 1, "each log must have its own numbers");
    let expected = [(1, "one"), (2, "two"), (3, "three"), (4, "four")];
    assert_eq!(trial.texts("log").await, expected.map(|(number, text)| (number, text.to_owned())));
    assert_eq!(trial.log("log").await.last, 4);
}

async fn many_appends_at_once_leave_no_gap(trial: &Trial<'_>) {
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let (store, group) = (trial.store(), trial.group.clone());
        tasks.spawn(async move {
            let mut written = Vec::new();
            for turn in 0..5 {
                let bytes = Bytes::from(format!("{task} {turn}"));
                let entry = if turn % 2 == 0 { kept(bytes.clone()) } else { droppable(bytes.clone()) };
                let step = Step::new().then(Append { entries: vec![entry], ..append("log", &[]) });
                let outcome = store.run(&group, &step).await.expect("`run` must succeed");
                let [Answer::Appended { last, .. }] = answers(&step, outcome)[..] else { unreachable!() };
                written.push((last, bytes));
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
    assert_eq!(
        trial.log("log").await.entries,
        written,
        "an entry must have the number that was returned for it"
    );
}

async fn a_writer_can_number_its_entries(trial: &Trial<'_>) {
    assert_eq!(trial.append(append("log", &["one", "two"]).numbered(1)).await, 2);
    assert_eq!(trial.append(append("log", &["three"]).numbered(3)).await, 3);
    assert_eq!(trial.say("log", &["four"]).await, 4);
    assert_eq!(trial.append(append("log", &["five"]).numbered(5)).await, 5);
    let texts: Vec<_> = trial.texts("log").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two", "three", "four", "five"]);
}

async fn entries_that_are_there_are_skipped(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two", "three"]).numbered(1)).await;
    // The texts differ only to show which entries were written: a number always means the same bytes.
    assert_eq!(trial.append(append("log", &["2", "3", "four", "five"]).numbered(2)).await, 5);
    assert_eq!(
        trial.append(append("log", &["1", "2"]).numbered(1)).await,
        5,
        "the log is longer than the append"
    );
    let texts: Vec<_> = trial.texts("log").await.into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two", "three", "four", "five"]);
}

async fn an_append_that_is_repeated_changes_nothing(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    let step = Step::new().then(append("log", &["two", "three"]).numbered(2));
    assert!(step.is_repeatable());
    let first = trial.done(&step).await;
    let log = trial.log("log").await;
    for _ in 0..3 {
        assert_eq!(trial.done(&step).await, first);
        assert_eq!(trial.log("log").await, log);
    }
}

async fn skipped_entries_renew_the_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one"]).numbered(1).lasting(SHORT_TTL)).await;
    trial.append(append("log", &["one"]).numbered(1).lasting(LONG_TTL)).await;
    trial.append(append("shorter", &["one"]).numbered(1).lasting(LONG_TTL)).await;
    trial.append(append("shorter", &["one"]).numbered(1).lasting(SHORT_TTL)).await;
    trial.wait().await;
    assert_eq!(trial.numbers("log").await, [1]);
    assert!(!trial.has_log("shorter").await);
}

async fn an_append_is_behind_if_entries_before_it_are_missing(trial: &Trial<'_>) {
    let run = async |append: Append| trial.run(&Step::new().then(append)).await;
    for first in [2, 3, 1 << 53, u64::MAX] {
        let outcome = run(append("log", &["entry"]).numbered(first)).await;
        assert_eq!(
            outcome,
            Outcome::Behind { operation: 0, last: 0 },
            "{first} in a log that does not exist"
        );
    }
    assert!(!trial.has_log("log").await, "an append that is behind must not create the log");
    trial.say("log", &["one", "two"]).await;
    for first in [4, 5, u64::MAX] {
        let outcome = run(append("log", &["entry"]).numbered(first)).await;
        assert_eq!(outcome, Outcome::Behind { operation: 0, last: 2 }, "{first} in a log of two entries");
        let outcome = run(append("log", &[]).numbered(first)).await;
        assert_eq!(outcome, Outcome::Behind { operation: 0, last: 2 }, "{first} without entries");
        let outcome = run(append("log", &["entry"]).numbered(first).ending()).await;
        assert_eq!(outcome, Outcome::Behind { operation: 0, last: 2 }, "{first} with an end");
    }
    let log = trial.log("log").await;
    assert_eq!((log.last, log.entries.len(), log.is_ended), (2, 2, false));
}

async fn an_append_that_is_behind_does_not_renew_the_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one"]).lasting(SHORT_TTL)).await;
    trial.run(&Step::new().then(append("log", &["three"]).numbered(3))).await;
    trial.wait().await;
    assert!(!trial.has_log("log").await);
}

async fn a_writer_heals_a_log_that_is_behind(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two", "three"]).numbered(1)).await;
    // The store has lost the log, and another writer was not here.
    trial.op(Operation::DeleteLog(name("log"))).await;
    let behind = trial.run(&Step::new().then(append("log", &["four"]).numbered(4))).await;
    assert_eq!(behind, Outcome::Behind { operation: 0, last: 0 });
    assert_eq!(trial.append(append("log", &["one", "two", "three", "four"]).numbered(1)).await, 4);
    assert_eq!(trial.append(append("log", &["five"]).numbered(5)).await, 5);
    assert_eq!(trial.numbers("log").await, [1, 2, 3, 4, 5]);
}

async fn writers_may_take_turns(trial: &Trial<'_>) {
    assert_eq!(trial.append(append("log", &["one"]).by("a").numbered(1)).await, 1);
    assert_eq!(trial.append(append("log", &["two"]).by("b").numbered(2)).await, 2);
    assert_eq!(trial.append(append("log", &["three"]).by("c")).await, 3);
    assert_eq!(trial.append(append("log", &["four"]).by("a").numbered(4)).await, 4);
    assert_eq!(trial.numbers("log").await, [1, 2, 3, 4]);
}

async fn an_append_without_entries_creates_or_renews_the_log(trial: &Trial<'_>) {
    assert_eq!(trial.append(append("new", &[])).await, 0);
    let log = trial.log("new").await;
    assert_eq!((log.last, log.entries, log.is_ended, log.reader), (0, Vec::new(), false, None));
    assert_eq!(trial.append(append("new", &["one"]).numbered(1)).await, 1);
    trial.append(append("log", &["one"]).lasting(SHORT_TTL)).await;
    assert_eq!(trial.append(append("log", &[]).lasting(LONG_TTL)).await, 1);
    trial.wait().await;
    assert_eq!(trial.numbers("log").await, [1]);
}

async fn a_deleted_log_begins_again(trial: &Trial<'_>) {
    for _ in 0..3 {
        trial.say("log", &["old"]).await;
        trial.append(Append { entries: vec![kept("old")], ..append("log", &[]) }).await;
        trial.say("other", &["else"]).await;
    }
    trial.op(Operation::DeleteLog(name("log"))).await;
    assert!(!trial.has_log("log").await);
    trial.op(Operation::DeleteLog(name("log"))).await;
    // Entries of the deleted log take no room in the new one.
    let room = Room { entries: 2, bytes: 6 };
    assert_eq!(trial.append(append("log", &["new"]).within(room)).await, 1);
    assert_eq!(trial.append(append("log", &["new"]).within(room)).await, 2);
    assert_eq!(trial.texts("log").await, [(1, "new".to_owned()), (2, "new".to_owned())]);
    assert_eq!(trial.log("other").await.last, 3);
}

async fn an_entry_is_any_bytes(trial: &Trial<'_>) {
    let mut entries = Vec::new();
    for (number, bytes) in odd_bytes().into_iter().enumerate() {
        entries.push(if number % 2 == 0 { kept(bytes) } else { droppable(bytes) });
    }
    trial.append(Append { entries: entries.clone(), ..append("together", &[]) }).await;
    for entry in &entries {
        trial.append(Append { entries: vec![entry.clone()], ..append("alone", &[]) }).await;
    }
    for log in ["together", "alone"] {
        let read: Vec<_> = trial.log(log).await.entries.into_iter().map(|(_, bytes)| bytes).collect();
        assert!(read == odd_bytes(), "`Read` must return the bytes that were appended {log}");
    }
}

async fn the_name_of_a_log_is_any_text(trial: &Trial<'_>) {
    for log in odd_names() {
        assert_eq!(trial.say(&log, &[&log]).await, 1, "{log:?} must differ from the logs before it");
    }
    for log in odd_names() {
        assert_eq!(trial.texts(&log).await, [(1, log.clone())]);
        trial.op(Operation::DeleteLog(name(&log))).await;
        assert!(!trial.has_log(&log).await, "{log:?}");
    }
}

async fn a_writer_is_any_bytes(trial: &Trial<'_>) {
    let writers = odd_bytes();
    for (number, writer) in writers.iter().enumerate() {
        let end = |writer: &Bytes| Append {
            writer: writer.clone(),
            ..append(&number.to_string(), &["end"]).ending()
        };
        trial.append(end(writer)).await;
        for other in &writers {
            let outcome = trial.run(&Step::new().then(end(other))).await;
            assert_eq!(
                matches!(outcome, Outcome::Done(_)),
                other == writer,
                "only the writer that ended a log may repeat that"
            );
        }
    }
}
