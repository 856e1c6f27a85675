//! What does the contract require of steps that run at the same time, and of futures that are dropped?

use bytes::Bytes;
use tokio::task::JoinSet;

use super::operations::{
    LONG_TTL, absent, append, enter, free, get, has_room, name, new_version, put, put_version, read,
};
use super::trial::{Trial, answers, cases, drop_after};
use crate::step::{Answer, Condition, Operation, Outcome, Step};

cases! { "races":
    of_many_first_puts_one_wins,
    of_many_claims_one_wins_and_the_others_learn_which,
    a_map_with_a_limit_is_filled_exactly,
    versions_count_without_losing_any,
    of_many_ends_one_wins,
    readers_see_all_of_a_step_or_nothing,
    a_dropped_step_is_done_wholly_or_not_at_all,
    a_dropped_append_can_be_repeated,
}

/// Runs steps at the same time, half of them by each handle.
async fn race(trial: &Trial<'_>, steps: impl IntoIterator<Item = Step>) -> Vec<Outcome> {
    let mut tasks = JoinSet::new();
    for (number, step) in steps.into_iter().enumerate() {
        let (store, group) = (trial.store(), trial.group.clone());
        tasks.spawn(async move { (number, store.run(&group, &step).await.expect("`run` must succeed")) });
    }
    let mut outcomes = tasks.join_all().await;
    outcomes.sort_by_key(|(number, _)| *number);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Returns the positions of the steps that were done.
fn winners(outcomes: &[Outcome]) -> Vec<usize> {
    (0..outcomes.len()).filter(|number| matches!(outcomes[*number], Outcome::Done(_))).collect()
}

async fn of_many_first_puts_one_wins(trial: &Trial<'_>) {
    for round in 0..5 {
        let key = round.to_string();
        let steps = (0..50)
            .map(|number| Step::new().when(absent(&key)).then(put(&key, number.to_string(), LONG_TTL)));
        let outcomes = race(trial, steps).await;
        let winners = winners(&outcomes);
        assert_eq!(
            winners.len(),
            1,
            "of 50 steps that expect no value one must be done, but these were: {winners:?}"
        );
        assert_eq!(trial.get(&key).await, Some(winners[0].to_string().into()));
    }
}

async fn of_many_claims_one_wins_and_the_others_learn_which(trial: &Trial<'_>) {
    for round in 0..5 {
        let key = round.to_string();
        let claim = |number: usize| {
            let value = Bytes::from(number.to_string());
            Step::new().when(free("map", &key, value.clone())).then(enter("map", &key, value, LONG_TTL))
        };
        let outcomes = race(trial, (0..50).map(claim)).await;
        let winners = winners(&outcomes);
        assert_eq!(winners.len(), 1, "of 50 claims one must be done, but these were: {winners:?}");
        let lost = Outcome::Refused { condition: 0, holder: Some(winners[0].to_string().into()) };
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == lost).count(), 49, "{outcomes:?}");
        // The winner may repeat its claim, because it may not know that it has won.
        assert_eq!(trial.run(&claim(winners[0])).await, Outcome::Done(vec![Answer::Nothing]));
    }
}

async fn a_map_with_a_limit_is_filled_exactly(trial: &Trial<'_>) {
    let steps = (0..50).map(|number| {
        let key = number.to_string();
        Step::new().when(has_room("map", &key, 7)).then(enter("map", &key, "value", LONG_TTL))
    });
    let outcomes = race(trial, steps).await;
    let mut expected: Vec<_> = winners(&outcomes).into_iter().map(|number| number.to_string()).collect();
    expected.sort();
    assert_eq!((trial.keys("map").await, expected.len()), (expected, 7));
}

async fn versions_count_without_losing_any(trial: &Trial<'_>) {
    trial.put("key", "0", LONG_TTL).await;
    let mut tasks = JoinSet::new();
    for _ in 0..5 {
        let (store, group) = (trial.store(), trial.group.clone());
        tasks.spawn(async move {
            let mut done = 0;
            while done < 10 {
                let step = Step::new().then(get("key"));
                let found = store.run(&group, &step).await.expect("`run` must succeed");
                let Some(Answer::Value(Some(value))) = answers(&step, found).pop() else {
                    panic!("the value must exist")
                };
                let bytes = value.bytes.expect("the bytes must be returned");
                let count: u32 =
                    std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok()).expect("a number");
                let step = Step::new()
                    .when(Condition::HasVersion(name("key"), value.version))
                    .then(put_version("key", (count + 1).to_string(), new_version(), LONG_TTL));
                if matches!(store.run(&group, &step).await.expect("`run` must succeed"), Outcome::Done(_)) {
                    done += 1;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"50"[..]));
}

async fn of_many_ends_one_wins(trial: &Trial<'_>) {
    const WRITERS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    for round in 0..5 {
        let log = round.to_string();
        let steps = WRITERS.map(|writer| Step::new().then(append(&log, &[writer]).by(writer).ending()));
        let outcomes = race(trial, steps).await;
        let winners = winners(&outcomes);
        assert_eq!(winners.len(), 1, "of 10 ends one must be done, but these were: {winners:?}");
        assert_eq!(trial.texts(&log).await, [(1, WRITERS[winners[0]].to_owned())]);
    }
}

async fn readers_see_all_of_a_step_or_nothing(trial: &Trial<'_>) {
    let writes = (1..=30_u64).map(|number| {
        let text = number.to_string();
        Step::new()
            .then(put("one", text.clone(), LONG_TTL))
            .then(enter("map", "key", text.clone(), LONG_TTL))
            .then(append("log", &[&text]))
            .then(put("two", text, LONG_TTL))
    });
    let look =
        Step::new().then(get("one")).then(get("two")).then(Operation::Entries(name("map"))).then(read("log"));
    let outcomes = race(trial, writes.flat_map(|write| [write, look.clone()])).await;
    for outcome in outcomes.into_iter().skip(1).step_by(2) {
        let found = answers(&look, outcome);
        let bytes = |answer: &Answer| match answer {
            Answer::Value(value) => value.as_ref().and_then(|value| value.bytes.clone()),
            Answer::Entries(entries) => entries.first().map(|(_, bytes)| bytes.clone()),
            Answer::Page(page) => {
                page.as_ref().and_then(|page| page.entries.last()).map(|(_, bytes)| bytes.clone())
            }
            _ => unreachable!("the kind of the answer was checked"),
        };
        let seen: Vec<_> = found.iter().map(bytes).collect();
        assert!(seen.iter().all(|bytes| *bytes == seen[0]), "a step was seen in part: {seen:?}");
    }
    assert_eq!(trial.log("log").await.last, 30);
}

async fn a_dropped_step_is_done_wholly_or_not_at_all(trial: &Trial<'_>) {
    for polls in 0..8 {
        let text = format!("{polls} polls");
        let step = Step::new()
            .then(put("one", text.clone(), LONG_TTL))
            .then(enter("map", "key", text.clone(), LONG_TTL))
            .then(put("two", text.clone(), LONG_TTL));
        let store = trial.store();
        drop_after(polls, store.run(&trial.group, &step)).await;
        // A step that was sent may still be done later, so one visit looks at everything.
        let look = Step::new().then(get("one")).then(Operation::Entries(name("map"))).then(get("two"));
        let found = trial.done(&look).await;
        let Answer::Entries(entries) = &found[1] else { unreachable!("the kind of the answer was checked") };
        let bytes = |answer: &Answer| match answer {
            Answer::Value(value) => value.as_ref().and_then(|value| value.bytes.clone()),
            _ => entries.first().map(|(_, bytes)| bytes.clone()),
        };
        let seen: Vec<_> = found.iter().map(bytes).collect();
        assert!(seen.iter().all(|bytes| *bytes == seen[0]), "a step was done in part: {seen:?}");
    }
}

async fn a_dropped_append_can_be_repeated(trial: &Trial<'_>) {
    let mut expected = Vec::new();
    for polls in 0..8_u64 {
        let texts = [format!("{polls} a"), format!("{polls} b")];
        let first = 2 * polls + 1;
        expected.extend([(first, texts[0].clone()), (first + 1, texts[1].clone())]);
        let step = Step::new().then(append("log", &[&texts[0], &texts[1]]).numbered(first));
        let store = trial.store();
        drop_after(usize::try_from(polls).unwrap_or(usize::MAX), store.run(&trial.group, &step)).await;
        trial.done(&step).await;
        assert_eq!(trial.texts("log").await, expected, "{polls} polls");
    }
}
