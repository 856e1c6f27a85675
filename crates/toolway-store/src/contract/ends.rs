//! What does the contract require of the end of a log?

use super::operations::{LONG_TTL, SHORT_TTL, append, name, read_by, renew_log, set_reader};
use super::trial::{Trial, cases};
use crate::step::{Append, Operation, Outcome, Step};

cases! { "ends":
    an_append_can_end_a_log,
    an_end_needs_no_entries,
    an_ended_log_accepts_nothing_from_another_writer,
    an_ended_log_accepts_no_further_entries_from_its_writer,
    the_writer_may_repeat_entries_of_an_ended_log,
    the_writer_may_repeat_a_numbered_end,
    the_writer_may_repeat_an_end_that_the_store_numbered,
    a_refused_append_does_not_renew_an_ended_log,
    a_repeated_end_renews_the_log,
    skipped_entries_may_end_a_log,
    an_ended_log_can_be_read_renewed_and_deleted,
    a_deleted_log_has_no_end,
}

/// Returns the outcome of an append.
async fn outcome(trial: &Trial<'_>, append: Append) -> Outcome {
    trial.run(&Step::new().then(append)).await
}

async fn an_append_can_end_a_log(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    assert!(!trial.log("log").await.is_ended);
    assert_eq!(trial.append(append("log", &["two"]).ending()).await, 2);
    let log = trial.log("log").await;
    assert_eq!((log.last, log.is_ended), (2, true));
    assert_eq!(trial.numbers("log").await, [1, 2]);
    assert_eq!(trial.append(append("new", &["one", "two"]).numbered(1).ending()).await, 2);
    assert!(trial.log("new").await.is_ended);
}

async fn an_end_needs_no_entries(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    assert_eq!(trial.append(append("log", &[]).ending()).await, 1);
    assert_eq!(trial.append(append("new", &[]).ending()).await, 0);
    assert_eq!(trial.append(append("numbered", &[]).numbered(1).ending()).await, 0);
    trial.say("longer", &["one", "two", "three"]).await;
    assert_eq!(trial.append(append("longer", &[]).numbered(2).ending()).await, 3);
    assert_eq!(trial.numbers("longer").await, [1, 2, 3], "the entries from the number on stay");
    for log in ["log", "new", "numbered", "longer"] {
        assert!(trial.log(log).await.is_ended, "{log}");
        assert!(matches!(outcome(trial, append(log, &["entry"])).await, Outcome::Ended { .. }), "{log}");
    }
}

async fn an_ended_log_accepts_nothing_from_another_writer(trial: &Trial<'_>) {
    trial.append(append("log", &["one"]).by("other").numbered(1)).await;
    trial.append(append("log", &["two"]).ending()).await;
    let before = trial.log("log").await;
    let other = |entries| append("log", entries).by("other");
    for (number, append) in [
        other(&["three"]),
        other(&["three"]).numbered(3),
        other(&["one"]).numbered(1),
        other(&["three"]).ending(),
        other(&["two"]).numbered(2).ending(),
        other(&[]).ending(),
        other(&[]),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(outcome(trial, append).await, ENDED_AT_2, "append {number}");
    }
    assert_eq!(trial.log("log").await, before);
}

async fn an_ended_log_accepts_no_further_entries_from_its_writer(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two"]).ending()).await;
    let before = trial.log("log").await;
    for (number, append) in [
        append("log", &["three"]),
        append("log", &["three"]).numbered(3),
        append("log", &["two", "three"]).numbered(2),
        append("log", &["three"]).numbered(3).ending(),
        append("log", &["one", "two", "three"]).numbered(1).ending(),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(outcome(trial, append).await, ENDED_AT_2, "append {number}");
    }
    assert_eq!(trial.log("log").await, before);
}

async fn the_writer_may_repeat_entries_of_an_ended_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two"]).ending()).await;
    let before = trial.log("log").await;
    for (first, entries) in [(1, &["one"][..]), (2, &["two"]), (1, &["one", "two"]), (3, &[])] {
        assert_eq!(trial.append(append("log", entries).numbered(first)).await, 2);
    }
    assert_eq!(trial.append(append("log", &[])).await, 2);
    assert_eq!(trial.log("log").await, before, "the log must stay ended");
}

async fn the_writer_may_repeat_a_numbered_end(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    for end in [append("log", &["two"]).numbered(2).ending(), append("log", &[]).numbered(3).ending()] {
        let step = Step::new().then(end);
        assert!(step.is_repeatable());
        for _ in 0..3 {
            trial.done(&step).await;
            assert_eq!(trial.numbers("log").await, [1, 2]);
            assert!(trial.log("log").await.is_ended);
        }
    }
}

async fn the_writer_may_repeat_an_end_that_the_store_numbered(trial: &Trial<'_>) {
    trial.say("log", &["one"]).await;
    let step = Step::new().then(append("log", &["two"]).ending());
    assert!(step.is_repeatable());
    let first = trial.done(&step).await;
    for _ in 0..3 {
        assert_eq!(trial.done(&step).await, first);
        assert_eq!(trial.numbers("log").await, [1, 2], "the entries must be there once");
    }
}

async fn a_refused_append_does_not_renew_an_ended_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two"]).ending().lasting(SHORT_TTL)).await;
    assert_eq!(outcome(trial, append("log", &["end"]).by("other").ending()).await, ENDED_AT_2);
    assert_eq!(outcome(trial, append("log", &["three"]).numbered(3)).await, ENDED_AT_2);
    trial.wait().await;
    assert!(!trial.has_log("log").await);
}

async fn a_repeated_end_renews_the_log(trial: &Trial<'_>) {
    for log in ["numbered", "not numbered"] {
        let end = append(log, &["one"]).ending();
        let end = if log == "numbered" { end.numbered(1) } else { end };
        trial.append(end.clone().lasting(SHORT_TTL)).await;
        trial.append(end).await;
    }
    trial.wait().await;
    assert!(trial.has_log("numbered").await && trial.has_log("not numbered").await);
}

async fn skipped_entries_may_end_a_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one", "two"]).numbered(1)).await;
    assert_eq!(trial.append(append("log", &["two"]).numbered(2).by("closer").ending()).await, 2);
    assert!(trial.log("log").await.is_ended);
    assert_eq!(outcome(trial, append("log", &[])).await, ENDED_AT_2, "the writer of the end is another one");
    assert_eq!(trial.append(append("log", &[]).by("closer")).await, 2);
}

async fn an_ended_log_can_be_read_renewed_and_deleted(trial: &Trial<'_>) {
    for log in ["renewed", "shortened", "deleted"] {
        let ttl = if log == "renewed" { SHORT_TTL } else { LONG_TTL };
        trial.append(append(log, &["one"]).ending().lasting(ttl)).await;
        trial.op(set_reader(log, "reader")).await;
        assert_eq!(trial.log(log).await.reader.as_deref(), Some(&b"reader"[..]));
        assert!(trial.holds(read_by(log, "reader")).await);
    }
    trial.op(renew_log("renewed", LONG_TTL)).await;
    trial.op(renew_log("shortened", SHORT_TTL)).await;
    trial.op(Operation::DeleteLog(name("deleted"))).await;
    assert!(!trial.has_log("deleted").await);
    trial.wait().await;
    assert!(trial.log("renewed").await.is_ended);
    assert!(!trial.has_log("shortened").await);
}

async fn a_deleted_log_has_no_end(trial: &Trial<'_>) {
    trial.append(append("deleted", &["one"]).ending()).await;
    trial.op(Operation::DeleteLog(name("deleted"))).await;
    trial.append(append("expired", &["one"]).ending().lasting(SHORT_TTL)).await;
    trial.wait().await;
    for log in ["deleted", "expired"] {
        assert_eq!(trial.append(append(log, &["again"]).by("other")).await, 1);
        assert!(!trial.log(log).await.is_ended, "{log}");
    }
}

/// The outcome of an append to a log that has ended after two entries.
const ENDED_AT_2: Outcome = Outcome::Ended { operation: 0, last: 2 };
