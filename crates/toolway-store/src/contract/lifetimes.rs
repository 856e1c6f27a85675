//! What does the contract require of how long a log exists?

use std::time::Duration;

use super::operations::{LONG_TTL, SHORT_TTL, append, read, read_by, renew_log};
use super::trial::{Trial, cases};
use crate::step::{Answer, Outcome, Step};

cases! { "lifetimes":
    an_append_replaces_the_time_to_live_of_the_whole_log,
    an_expired_log_never_existed,
    reading_and_conditions_do_not_renew_a_log,
    renew_log_replaces_the_time_to_live,
    a_log_may_expire_at_once_or_never,
}

async fn an_append_replaces_the_time_to_live_of_the_whole_log(trial: &Trial<'_>) {
    for (log, first, second) in [("longer", SHORT_TTL, LONG_TTL), ("shorter", LONG_TTL, SHORT_TTL)] {
        trial.append(append(log, &["one"]).lasting(first)).await;
        trial.append(append(log, &["two"]).lasting(second)).await;
    }
    trial.wait().await;
    assert_eq!(trial.numbers("longer").await, [1, 2], "all entries must live as long as the log");
    assert_eq!(trial.say("longer", &["three"]).await, 3);
    assert!(!trial.has_log("shorter").await);
}

async fn an_expired_log_never_existed(trial: &Trial<'_>) {
    for log in ["read", "append", "numbered"] {
        trial.append(append(log, &["one", "two"]).lasting(SHORT_TTL)).await;
    }
    assert_eq!(trial.log("read").await.last, 2, "a log must exist until it expires");
    trial.wait().await;
    assert!(!trial.has_log("read").await);
    assert!(!trial.holds(read_by("read", "reader")).await);
    let behind = trial.run(&Step::new().then(append("numbered", &["three"]).numbered(3))).await;
    assert_eq!(behind, Outcome::Behind { operation: 0, last: 0 });
    assert_eq!(trial.say("append", &["again"]).await, 1, "an append to an expired log must begin a new log");
    assert_eq!(trial.texts("append").await, [(1, "again".to_owned())]);
}

async fn reading_and_conditions_do_not_renew_a_log(trial: &Trial<'_>) {
    trial.append(append("log", &["one"]).lasting(SHORT_TTL)).await;
    // The log may already be gone on a slow machine; only the last check counts.
    trial
        .wait_around(async || {
            trial.has_log("log").await;
            trial.holds(read_by("log", "reader")).await;
        })
        .await;
    assert!(!trial.has_log("log").await);
}

async fn renew_log_replaces_the_time_to_live(trial: &Trial<'_>) {
    trial.append(append("longer", &["one"]).lasting(SHORT_TTL)).await;
    trial.append(append("shorter", &["one"]).lasting(LONG_TTL)).await;
    trial.append(append("gone", &["one"]).lasting(SHORT_TTL)).await;
    trial.op(renew_log("longer", LONG_TTL)).await;
    trial.op(renew_log("shorter", SHORT_TTL)).await;
    trial.wait().await;
    assert_eq!(trial.numbers("longer").await, [1]);
    assert!(!trial.has_log("shorter").await);
    trial.op(renew_log("gone", LONG_TTL)).await;
    assert!(!trial.has_log("gone").await, "`RenewLog` must not restore an expired log");
}

async fn a_log_may_expire_at_once_or_never(trial: &Trial<'_>) {
    trial.say("gone", &["one"]).await;
    assert_eq!(trial.append(append("gone", &["two"]).lasting(Duration::ZERO)).await, 2);
    assert!(!trial.has_log("gone").await, "a log with a lifetime of zero must be gone at once");
    trial.say("renewed", &["one"]).await;
    let both = Step::new().then(renew_log("renewed", Duration::ZERO)).then(read("renewed"));
    assert_eq!(trial.done(&both).await[1], Answer::Page(None));
    trial.append(append("endless", &["one"]).lasting(Duration::MAX)).await;
    trial.append(append("renewed for ever", &["one"]).lasting(SHORT_TTL)).await;
    trial.op(renew_log("renewed for ever", Duration::MAX)).await;
    trial.wait().await;
    assert!(trial.has_log("endless").await, "a log with the longest lifetime must not expire");
    assert!(trial.has_log("renewed for ever").await);
}
