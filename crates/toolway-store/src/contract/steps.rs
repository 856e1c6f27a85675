//! What does the contract require of a step as a whole?

use std::collections::BTreeSet;
use std::time::Duration;

use super::operations::{
    LONG_TTL, absent, append, enter, exists, free, get, has_room, leave, name, put, put_version, read,
    read_by, renew, renew_log, set_reader,
};
use super::trial::{Trial, answers, cases, odd_names};
use crate::step::{Answer, Condition, LogPage, Operation, Outcome, Step, StoredValue, Version};

cases! { "steps":
    an_empty_step_is_done,
    each_operation_has_one_answer,
    operations_are_done_in_order,
    conditions_are_about_the_time_before_the_step,
    a_step_is_refused_by_its_first_condition_that_does_not_hold,
    a_refused_step_does_nothing,
    a_step_that_is_behind_does_nothing,
    a_step_that_meets_an_end_does_nothing,
    conditions_come_before_appends,
    the_first_append_that_is_not_accepted_counts,
    a_step_may_have_many_operations,
    a_repeated_step_changes_nothing,
    values_maps_and_logs_have_separate_names,
    groups_are_separate,
    the_name_of_a_group_is_any_text,
    all_handles_have_the_same_data,
    all_handles_have_the_same_secret,
}

/// Operations that change everything that `prepare` has made.
fn changes() -> Vec<Operation> {
    vec![
        put("put", "new", LONG_TTL),
        put("created", "new", LONG_TTL),
        renew("renewed", Duration::ZERO),
        Operation::Delete(name("deleted")),
        enter("map", "new", "new", LONG_TTL),
        leave("left", "old", None),
        Operation::Clear(name("cleared")),
        append("log", &["two"]).into(),
        append("created", &["one"]).numbered(1).into(),
        set_reader("read", "new"),
        renew_log("renewed", Duration::ZERO),
        Operation::DeleteLog(name("deleted")),
    ]
}

async fn prepare(trial: &Trial<'_>) {
    for key in ["put", "renewed", "deleted"] {
        trial.put(key, "old", LONG_TTL).await;
    }
    for map in ["map", "left", "cleared"] {
        trial.enter(map, "old", "old", LONG_TTL).await;
    }
    for log in ["log", "read", "renewed", "deleted"] {
        trial.say(log, &["one"]).await;
    }
    trial.append(append("ended", &["one"]).ending()).await;
    trial.op(set_reader("read", "old")).await;
}

/// Returns everything that `changes` changes.
async fn everything(trial: &Trial<'_>) -> Vec<Answer> {
    let mut step = Step::new();
    for key in ["put", "created", "renewed", "deleted"] {
        step = step.then(get(key));
    }
    for map in ["map", "left", "cleared"] {
        step = step.then(Operation::Entries(name(map)));
    }
    for log in ["log", "created", "read", "renewed", "deleted", "ended"] {
        step = step.then(read(log));
    }
    let mut answers = trial.done(&step).await;
    for answer in &mut answers {
        if let Answer::Entries(entries) = answer {
            entries.sort();
        }
    }
    answers
}

fn step_of(operations: Vec<Operation>) -> Step {
    Step { conditions: Vec::new(), operations }
}

async fn an_empty_step_is_done(trial: &Trial<'_>) {
    assert_eq!(trial.run(&Step::new()).await, Outcome::Done(Vec::new()));
}

async fn each_operation_has_one_answer(trial: &Trial<'_>) {
    let version = Version(7);
    let step = step_of(vec![
        get("key"),
        put_version("key", "value", version, LONG_TTL),
        Operation::Get { key: name("key"), known: Some(version) },
        Operation::Entries(name("map")),
        enter("map", "key", "value", LONG_TTL),
        Operation::Entries(name("map")),
        read("log"),
        append("log", &["one", "two"]).into(),
        set_reader("log", "reader"),
        read("log"),
        Operation::Publish { channel: trial.channel("channel").into(), message: "message".into() },
    ]);
    let page = LogPage {
        entries: vec![(1, "one".into()), (2, "two".into())],
        last: 2,
        is_ended: false,
        reader: Some("reader".into()),
    };
    let expected = [
        Answer::Value(None),
        Answer::Nothing,
        Answer::Value(Some(StoredValue { version, bytes: None })),
        Answer::Entries(Vec::new()),
        Answer::Nothing,
        Answer::Entries(vec![("key".to_owned(), "value".into())]),
        Answer::Page(None),
        Answer::Appended { last: 2, reader: None },
        Answer::Nothing,
        Answer::Page(Some(page)),
        Answer::Nothing,
    ];
    assert_eq!(trial.done(&step).await, expected);
}

async fn operations_are_done_in_order(trial: &Trial<'_>) {
    prepare(trial).await;
    let before = everything(trial).await;
    let keys = ["put", "created", "renewed", "deleted"];
    let (maps, logs) = (["map", "left", "cleared"], ["log", "created", "read", "renewed", "deleted"]);
    let reads = || {
        let maps = maps.into_iter().map(|map| Operation::Entries(name(map)));
        keys.into_iter().map(get).chain(maps).chain(logs.into_iter().map(read))
    };
    let step = step_of(reads().chain(changes()).chain(reads()).collect());
    let mut answers = trial.done(&step).await;
    for answer in &mut answers {
        if let Answer::Entries(entries) = answer {
            entries.sort();
        }
    }
    let count = reads().count();
    assert_eq!(answers[..count], before[..count], "reads before the changes");
    let after = everything(trial).await;
    assert_eq!(answers[count + changes().len()..], after[..count], "reads after the changes");
    assert!(before.iter().zip(&after).take(count).all(|(before, after)| before != after), "{after:?}");
}

async fn conditions_are_about_the_time_before_the_step(trial: &Trial<'_>) {
    let step = Step::new()
        .when(absent("key"))
        .when(free("map", "key", "else"))
        .when(has_room("map", "key", 1))
        .then(put("key", "value", LONG_TTL))
        .then(enter("map", "key", "value", LONG_TTL));
    answers(&step, trial.run(&step).await);
    assert_eq!(trial.run(&step).await, Outcome::Refused { condition: 0, holder: None });
    let removing = Step::new().when(exists("key")).then(Operation::Delete(name("key"))).then(leave(
        "map",
        "key",
        Some("value"),
    ));
    answers(&removing, trial.run(&removing).await);
    assert_eq!((trial.get("key").await, trial.entries("map").await), (None, Vec::new()));
}

async fn a_step_is_refused_by_its_first_condition_that_does_not_hold(trial: &Trial<'_>) {
    trial.put("key", "value", LONG_TTL).await;
    trial.enter("map", "key", "holder", LONG_TTL).await;
    trial.say("log", &["one"]).await;
    let holding = [
        exists("key"),
        absent("no key"),
        free("map", "key", "holder"),
        has_room("map", "new", 2),
        read_by("log", "me"),
    ];
    let failing = [
        (exists("no key"), None),
        (absent("key"), None),
        (Condition::HasVersion(name("key"), Version(0)), None),
        (free("map", "key", "me"), Some("holder".into())),
        (has_room("map", "new", 1), None),
        (read_by("no log", "me"), None),
    ];
    for (failing, holder) in failing {
        for position in 0..=holding.len() {
            let mut conditions = holding.to_vec();
            conditions.insert(position, failing.clone());
            conditions.push(free("map", "key", "another"));
            let step = Step { conditions, operations: vec![get("key")] };
            let expected = Outcome::Refused { condition: position, holder: holder.clone() };
            assert_eq!(trial.run(&step).await, expected, "{failing:?}");
        }
    }
    let step = Step { conditions: holding.to_vec(), operations: Vec::new() };
    assert_eq!(trial.run(&step).await, Outcome::Done(Vec::new()));
}

async fn a_refused_step_does_nothing(trial: &Trial<'_>) {
    prepare(trial).await;
    let before = everything(trial).await;
    for failing in [
        absent("put"),
        exists("never"),
        Condition::HasVersion(name("put"), Version(0)),
        free("map", "old", "new"),
        has_room("map", "new", 1),
        read_by("read", "new"),
    ] {
        let step = Step { conditions: vec![failing], operations: changes() };
        assert!(
            matches!(trial.run(&step).await, Outcome::Refused { condition: 0, .. }),
            "{:?}",
            step.conditions
        );
        assert_eq!(everything(trial).await, before, "{:?}", step.conditions);
    }
}

async fn a_step_that_is_behind_does_nothing(trial: &Trial<'_>) {
    prepare(trial).await;
    let before = everything(trial).await;
    let behind = Operation::from(append("behind", &["entry"]).numbered(2));
    for position in [0, 1, changes().len()] {
        let mut operations = changes();
        operations.insert(position, behind.clone());
        let expected = Outcome::Behind { operation: position, last: 0 };
        assert_eq!(trial.run(&step_of(operations)).await, expected);
        assert_eq!(everything(trial).await, before, "position {position}");
    }
}

async fn a_step_that_meets_an_end_does_nothing(trial: &Trial<'_>) {
    prepare(trial).await;
    let before = everything(trial).await;
    let late = Operation::from(append("ended", &["entry"]).by("other"));
    for position in [0, 1, changes().len()] {
        let mut operations = changes();
        operations.insert(position, late.clone());
        let expected = Outcome::Ended { operation: position, last: 1 };
        assert_eq!(trial.run(&step_of(operations)).await, expected);
        assert_eq!(everything(trial).await, before, "position {position}");
    }
}

async fn conditions_come_before_appends(trial: &Trial<'_>) {
    trial.append(append("ended", &["one"]).ending()).await;
    for append in [append("behind", &["entry"]).numbered(9), append("ended", &["entry"])] {
        let step = Step::new().when(absent("key")).when(exists("key")).then(append);
        assert_eq!(trial.run(&step).await, Outcome::Refused { condition: 1, holder: None });
    }
}

async fn the_first_append_that_is_not_accepted_counts(trial: &Trial<'_>) {
    trial.append(append("ended", &["one", "two"]).ending()).await;
    trial.say("behind", &["one"]).await;
    let (fine, behind) = (append("fine", &["entry"]), append("behind", &["entry"]).numbered(3));
    let ended = append("ended", &["entry"]);
    let step = Step::new().then(fine.clone()).then(behind.clone()).then(get("key")).then(ended.clone());
    assert_eq!(trial.run(&step).await, Outcome::Behind { operation: 1, last: 1 });
    let step = Step::new().then(fine).then(ended).then(get("key")).then(behind);
    assert_eq!(trial.run(&step).await, Outcome::Ended { operation: 1, last: 2 });
    assert!(!trial.has_log("fine").await);
}

async fn a_step_may_have_many_operations(trial: &Trial<'_>) {
    let keys: Vec<_> = (0..200).map(|number| number.to_string()).collect();
    let step = Step {
        conditions: keys.iter().map(|key| absent(key)).collect(),
        operations: keys
            .iter()
            .flat_map(|key| [put(key, key.clone(), LONG_TTL), append(key, &[key]).into()])
            .collect(),
    };
    trial.done(&step).await;
    let step = step_of(keys.iter().map(|key| get(key)).chain(keys.iter().map(|key| read(key))).collect());
    for (number, answer) in trial.done(&step).await.into_iter().enumerate() {
        let text = (number % keys.len()).to_string();
        match answer {
            Answer::Value(value) => assert_eq!(value.and_then(|value| value.bytes), Some(text.into())),
            Answer::Page(page) => assert_eq!(page.map(|page| page.entries), Some(vec![(1, text.into())])),
            _ => unreachable!("the kind of the answer was checked"),
        }
    }
    assert_eq!(
        trial.run(&Step::new().when(absent("x")).when(absent("199"))).await,
        Outcome::Refused { condition: 1, holder: None }
    );
}

async fn a_repeated_step_changes_nothing(trial: &Trial<'_>) {
    prepare(trial).await;
    let mut operations = changes();
    let is_numbered =
        |operation: &Operation| !matches!(operation, Operation::Append(append) if append.first.is_none());
    operations.retain(is_numbered);
    operations.push(append("log", &["two", "three"]).numbered(2).into());
    operations.push(append("ended", &["one"]).ending().into());
    let step = Step {
        conditions: vec![free("map", "new", "new"), has_room("map", "new", 2), exists("put")],
        operations,
    };
    assert!(step.is_repeatable());
    let first = trial.done(&step).await;
    let after = everything(trial).await;
    for _ in 0..3 {
        assert_eq!(trial.done(&step).await, first);
        assert_eq!(everything(trial).await, after);
    }
}

async fn values_maps_and_logs_have_separate_names(trial: &Trial<'_>) {
    trial.put("name", "value", LONG_TTL).await;
    assert_eq!((trial.entries("name").await, trial.has_log("name").await), (Vec::new(), false));
    trial.enter("name", "name", "entry", LONG_TTL).await;
    assert!(!trial.has_log("name").await);
    trial.say("name", &["text"]).await;
    assert_eq!(trial.get("name").await.as_deref(), Some(&b"value"[..]));
    assert_eq!(trial.entries("name").await, [("name".to_owned(), "entry".into())]);
    trial.op(Operation::Delete(name("name"))).await;
    assert_eq!((trial.keys("name").await.len(), trial.has_log("name").await), (1, true));
    trial.put("name", "value", LONG_TTL).await;
    trial.op(Operation::Clear(name("name"))).await;
    assert_eq!((trial.get("name").await.is_some(), trial.has_log("name").await), (true, true));
    trial.enter("name", "name", "entry", LONG_TTL).await;
    trial.op(Operation::DeleteLog(name("name"))).await;
    assert_eq!((trial.get("name").await.is_some(), trial.keys("name").await.len()), (true, 1));
    // Names that a store might build from a map and a key, or from a log and a number.
    for other in ["name:name", "name/name", "name\0name", "name:1", "name.last"] {
        trial.put(other, "else", LONG_TTL).await;
    }
    assert_eq!(trial.entries("name").await, [("name".to_owned(), "entry".into())]);
}

async fn groups_are_separate(trial: &Trial<'_>) {
    // The name of a group and the name in it have a border.
    let pairs = [
        ("a", "bc"),
        ("ab", "c"),
        ("abc", ""),
        ("", "abc"),
        ("a", "b:c"),
        ("a:b", "c"),
        ("a", "b/c"),
        ("a/b", "c"),
        ("a", "b}c"),
        ("a}b", "c"),
    ];
    for (group, key) in pairs {
        let step = Step::new()
            .when(absent(key))
            .when(free(key, "key", "new"))
            .then(put(key, format!("{group} {key}"), LONG_TTL))
            .then(enter(key, "key", format!("{group} {key}"), LONG_TTL))
            .then(append(key, &[key]).numbered(1));
        let outcome = trial.run_in(group, &step).await;
        assert!(matches!(outcome, Outcome::Done(_)), "{key:?} of {group:?} must not exist: {outcome:?}");
    }
    for (group, key) in pairs {
        let step = Step::new().then(get(key)).then(Operation::Entries(name(key))).then(read(key));
        let found = answers(&step, trial.run_in(group, &step).await);
        let text = format!("{group} {key}");
        assert!(
            matches!(&found[0], Answer::Value(Some(value)) if value.bytes.as_deref() == Some(text.as_bytes()))
        );
        assert_eq!(found[1], Answer::Entries(vec![("key".to_owned(), text.into())]));
        assert!(
            matches!(&found[2], Answer::Page(Some(page)) if page.entries == [(1, key.to_owned().into())])
        );
        let delete = Step::new()
            .then(Operation::Delete(name(key)))
            .then(Operation::Clear(name(key)))
            .then(Operation::DeleteLog(name(key)));
        answers(&delete, trial.run_in(group, &delete).await);
    }
}

async fn the_name_of_a_group_is_any_text(trial: &Trial<'_>) {
    for group in odd_names() {
        let step = Step::new().when(absent("key")).then(put("key", group.clone(), LONG_TTL));
        let outcome = trial.run_in(&group, &step).await;
        assert!(matches!(outcome, Outcome::Done(_)), "{group:?} must differ from the groups before it");
    }
    for group in odd_names() {
        let found =
            answers(&step_of(vec![get("key")]), trial.run_in(&group, &step_of(vec![get("key")])).await);
        assert!(
            matches!(&found[0], Answer::Value(Some(value)) if value.bytes.as_deref() == Some(group.as_bytes())),
            "{group:?}"
        );
    }
    // The empty name is the only one that is not made new by its beginning; here the key does that.
    let step = Step::new()
        .when(absent(&trial.group))
        .then(put(&trial.group, "value", LONG_TTL))
        .then(get(&trial.group));
    let outcome = trial.store().run("", &step).await.expect("`run` must succeed");
    assert!(matches!(&answers(&step, outcome)[1], Answer::Value(Some(_))), "the empty name of a group");
}

async fn all_handles_have_the_same_data(trial: &Trial<'_>) {
    for (number, writer) in trial.handles().iter().enumerate() {
        let key = number.to_string();
        let step = Step::new()
            .then(put(&key, "value", LONG_TTL))
            .then(enter(&key, "key", "value", LONG_TTL))
            .then(append(&key, &["entry"]));
        writer.run(&trial.group, &step).await.expect("`run` must succeed");
        for reader in trial.handles() {
            let step = Step::new().when(exists(&key)).when(read_by(&key, "reader"));
            let outcome = reader.run(&trial.group, &step).await.expect("`run` must succeed");
            assert_eq!(outcome, Outcome::Done(Vec::new()), "the handles of a store must share their data");
            let step = Step::new().when(free(&key, "key", "else"));
            let outcome = reader.run(&trial.group, &step).await.expect("`run` must succeed");
            assert_eq!(outcome, Outcome::Refused { condition: 0, holder: Some("value".into()) });
        }
    }
}

async fn all_handles_have_the_same_secret(trial: &Trial<'_>) {
    let [one, other] = trial.handles();
    let secret = one.secret();
    assert_eq!(secret, other.secret(), "the handles of a store must have the same secret");
    assert_eq!(secret, one.secret(), "the secret must not change");
    let distinct: BTreeSet<_> = secret.as_bytes().iter().collect();
    // 32 random bytes have fewer than 8 distinct ones about once in 10^30 stores.
    assert!(distinct.len() >= 8, "the secret must be random");
}
