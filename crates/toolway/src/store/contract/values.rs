//! What does the contract require of values?

use std::time::Duration;

use bytes::Bytes;
use tokio::task::JoinSet;

use super::trial::{LONG_TTL, ODD_NAMES, SHORT_TTL, Trial, cases, drop_after};

cases! { "values":
    a_key_that_was_never_put_has_no_value,
    put_keeps_a_value_and_replaces_it,
    put_replaces_how_long_a_value_lives,
    an_expired_value_was_never_there,
    getting_a_value_does_not_renew_it,
    renew_gives_the_value_and_a_longer_life,
    renew_may_shorten_a_life,
    a_swap_that_expects_nothing_wants_nothing_there,
    a_swap_that_expects_a_value_wants_that_value,
    a_swap_takes_what_has_expired_for_nothing,
    a_swap_gives_a_new_life_only_when_it_succeeds,
    of_many_swaps_at_once_one_wins,
    swaps_count_without_losing_any,
    a_deleted_value_is_gone,
    a_value_is_any_bytes,
    an_empty_value_is_a_value,
    a_value_may_be_a_mebibyte,
    a_key_is_any_text,
    a_life_may_be_nothing_or_for_ever,
    a_dropped_call_changes_a_value_wholly_or_not_at_all,
}

async fn a_key_that_was_never_put_has_no_value(trial: &Trial<'_>) {
    assert_eq!(trial.get("key").await, None);
    assert_eq!(trial.renew("key", LONG_TTL).await, None);
    assert!(!trial.delete("key").await);
    assert_eq!(trial.get("key").await, None, "`renew` and `delete` must not create a value");
}

async fn put_keeps_a_value_and_replaces_it(trial: &Trial<'_>) {
    trial.put("key", "one", LONG_TTL).await;
    trial.put("other", "else", LONG_TTL).await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"one"[..]));
    trial.put("key", "two", LONG_TTL).await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"two"[..]));
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"two"[..]), "`get` must not remove the value");
    assert_eq!(trial.get("other").await.as_deref(), Some(&b"else"[..]));
}

async fn put_replaces_how_long_a_value_lives(trial: &Trial<'_>) {
    trial.put("longer", "value", SHORT_TTL).await;
    trial.put("longer", "value", LONG_TTL).await;
    trial.put("shorter", "value", LONG_TTL).await;
    trial.put("shorter", "value", SHORT_TTL).await;
    trial.wait().await;
    assert!(trial.get("longer").await.is_some(), "the last `put` must extend the lifetime");
    assert_eq!(trial.get("shorter").await, None, "the last `put` must shorten the lifetime");
}

async fn an_expired_value_was_never_there(trial: &Trial<'_>) {
    for key in ["get", "renew", "delete"] {
        trial.put(key, "value", SHORT_TTL).await;
    }
    assert!(trial.get("get").await.is_some(), "a value must exist until it expires");
    trial.wait().await;
    assert_eq!(trial.get("get").await, None);
    assert_eq!(trial.renew("renew", LONG_TTL).await, None);
    assert_eq!(trial.get("renew").await, None, "`renew` must not restore an expired value");
    assert!(!trial.delete("delete").await);
}

async fn getting_a_value_does_not_renew_it(trial: &Trial<'_>) {
    trial.put("key", "value", SHORT_TTL).await;
    (trial.wait)(SHORT_TTL / 2).await;
    // The value may already be gone on a slow machine; only the last check counts.
    trial.get("key").await;
    (trial.wait)(SHORT_TTL * 3 / 4).await;
    assert_eq!(trial.get("key").await, None);
}

async fn renew_gives_the_value_and_a_longer_life(trial: &Trial<'_>) {
    trial.put("key", "value", SHORT_TTL).await;
    let renewed = trial.renew("key", LONG_TTL).await;
    assert_eq!(renewed.as_deref(), Some(&b"value"[..]));
    trial.wait().await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"value"[..]));
}

async fn renew_may_shorten_a_life(trial: &Trial<'_>) {
    trial.put("key", "value", LONG_TTL).await;
    assert!(trial.renew("key", SHORT_TTL).await.is_some());
    trial.wait().await;
    assert_eq!(trial.get("key").await, None);
}

async fn a_swap_that_expects_nothing_wants_nothing_there(trial: &Trial<'_>) {
    assert!(trial.compare_and_swap("key", None, "one").await);
    assert!(!trial.compare_and_swap("key", None, "two").await);
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"one"[..]));
}

async fn a_swap_that_expects_a_value_wants_that_value(trial: &Trial<'_>) {
    assert!(
        !trial.compare_and_swap("key", Some("one"), "two").await,
        "`swap` must fail: the key has no value"
    );
    assert_eq!(trial.get("key").await, None);
    trial.put("key", "one", LONG_TTL).await;
    for wrong in ["", "on", "onee", "ONE"] {
        assert!(
            !trial.compare_and_swap("key", Some(wrong), "two").await,
            "`swap` must fail: the value is not {wrong:?}"
        );
    }
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"one"[..]));
    assert!(trial.compare_and_swap("key", Some("one"), "two").await);
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"two"[..]));
    assert!(
        trial.compare_and_swap("key", Some("two"), "two").await,
        "`swap` must accept the same value again"
    );
}

async fn a_swap_takes_what_has_expired_for_nothing(trial: &Trial<'_>) {
    for key in ["value", "nothing"] {
        trial.put(key, "old", SHORT_TTL).await;
    }
    trial.wait().await;
    assert!(!trial.compare_and_swap("value", Some("old"), "new").await);
    assert_eq!(trial.get("value").await, None);
    assert!(trial.compare_and_swap("nothing", None, "new").await);
    assert_eq!(trial.get("nothing").await.as_deref(), Some(&b"new"[..]));
}

async fn a_swap_gives_a_new_life_only_when_it_succeeds(trial: &Trial<'_>) {
    trial.put("succeeds", "old", SHORT_TTL).await;
    assert!(trial.compare_and_swap("succeeds", Some("old"), "new").await);
    trial.put("fails", "old", SHORT_TTL).await;
    assert!(!trial.compare_and_swap("fails", Some("else"), "new").await);
    trial.put("shortens", "old", LONG_TTL).await;
    assert!(trial.compare_and_swap_for("shortens", Some("old".into()), "new".into(), SHORT_TTL).await);
    trial.wait().await;
    assert_eq!(trial.get("succeeds").await.as_deref(), Some(&b"new"[..]));
    assert_eq!(trial.get("fails").await, None, "a `swap` that fails must not renew the value");
    assert_eq!(trial.get("shortens").await, None, "a `swap` that succeeds must replace the lifetime");
}

async fn of_many_swaps_at_once_one_wins(trial: &Trial<'_>) {
    for expected in [None, Some("start")] {
        if let Some(start) = expected {
            trial.put("key", start, LONG_TTL).await;
        }
        let mut tasks = JoinSet::new();
        for number in 0..50 {
            let (store, key) = (trial.store.clone(), trial.name("key"));
            tasks.spawn(async move {
                let value = Bytes::from(format!("winner {number}"));
                let won =
                    store.compare_and_swap(&key, expected.map(Bytes::from), value.clone(), LONG_TTL).await;
                won.expect("`swap` must succeed").then_some(value)
            });
        }
        let winners: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!(
            winners.len(),
            1,
            "of 50 swaps that expect {expected:?}, one must succeed, but these did: {winners:?}"
        );
        assert_eq!(trial.get("key").await.as_ref(), winners.first());
    }
}

async fn swaps_count_without_losing_any(trial: &Trial<'_>) {
    trial.put("key", "0", LONG_TTL).await;
    let mut tasks = JoinSet::new();
    for _ in 0..5 {
        let (store, key) = (trial.store.clone(), trial.name("key"));
        tasks.spawn(async move {
            let mut done = 0;
            while done < 10 {
                let old = store.get(&key).await.expect("`get` must succeed").expect("the value must exist");
                let count: u32 = std::str::from_utf8(&old).expect("a number").parse().expect("a number");
                let new = Bytes::from((count + 1).to_string());
                if store.compare_and_swap(&key, Some(old), new, LONG_TTL).await.expect("`swap` must succeed")
                {
                    done += 1;
                }
                tokio::task::yield_now().await;
            }
        });
    }
    tasks.join_all().await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"50"[..]));
}

async fn a_deleted_value_is_gone(trial: &Trial<'_>) {
    trial.put("key", "value", LONG_TTL).await;
    trial.put("other", "else", LONG_TTL).await;
    assert!(trial.delete("key").await);
    assert_eq!(trial.get("key").await, None);
    assert!(!trial.delete("key").await, "a second `delete` must find no value");
    assert!(trial.get("other").await.is_some());
    assert!(trial.compare_and_swap("key", None, "again").await);
}

async fn a_value_is_any_bytes(trial: &Trial<'_>) {
    let all: Bytes = (0..=255).rev().collect::<Vec<u8>>().into();
    trial.put("key", all.clone(), LONG_TTL).await;
    assert_eq!(trial.get("key").await, Some(all.clone()));
    let new = Bytes::from_static(b"\r\n\0\xff\xfe");
    assert!(trial.compare_and_swap_for("key", Some(all), new.clone(), LONG_TTL).await);
    assert_eq!(trial.renew("key", LONG_TTL).await, Some(new));
}

async fn an_empty_value_is_a_value(trial: &Trial<'_>) {
    assert!(
        !trial.compare_and_swap("key", Some(""), "value").await,
        "a missing value must differ from an empty value"
    );
    trial.put("key", "", LONG_TTL).await;
    assert_eq!(trial.get("key").await, Some(Bytes::new()));
    assert_eq!(trial.renew("key", LONG_TTL).await, Some(Bytes::new()));
    assert!(
        !trial.compare_and_swap("key", None, "value").await,
        "an empty value must differ from a missing value"
    );
    assert!(trial.compare_and_swap("key", Some(""), "").await);
    assert!(trial.delete("key").await);
}

async fn a_value_may_be_a_mebibyte(trial: &Trial<'_>) {
    let large: Bytes = (0..1 << 20).map(|place: u32| place.to_le_bytes()[place as usize % 3]).collect();
    trial.put("key", large.clone(), LONG_TTL).await;
    assert!(
        trial.get("key").await.is_some_and(|value| value == large),
        "`get` must return the bytes that were put"
    );
    assert!(trial.compare_and_swap_for("key", Some(large), "small".into(), LONG_TTL).await);
}

async fn a_key_is_any_text(trial: &Trial<'_>) {
    let mut keys: Vec<_> = ODD_NAMES.map(str::to_owned).into();
    keys.extend(["long ".repeat(1000), "long ".repeat(999) + "Long "]);
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(trial.get(key).await, None, "{key:?} must differ from the keys before it");
        trial.put(key, number.to_string(), LONG_TTL).await;
    }
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(trial.get(key).await, Some(number.to_string().into()), "{key:?}");
        assert!(trial.delete(key).await, "{key:?} must have a value to delete");
    }
}

async fn a_life_may_be_nothing_or_for_ever(trial: &Trial<'_>) {
    trial.put("gone", "value", LONG_TTL).await;
    trial.put("gone", "value", Duration::ZERO).await;
    assert_eq!(trial.get("gone").await, None, "a value with a lifetime of zero must be gone at once");
    // Below the resolution of some clocks: the value may exist or not, but this is not an error.
    trial.put("gone", "value", Duration::from_nanos(1)).await;
    trial.put("kept", "value", Duration::MAX).await;
    assert!(trial.renew("kept", Duration::MAX).await.is_some());
    trial.wait().await;
    assert_eq!(trial.get("gone").await, None);
    assert!(trial.get("kept").await.is_some(), "a value with the longest lifetime must not expire");
}

async fn a_dropped_call_changes_a_value_wholly_or_not_at_all(trial: &Trial<'_>) {
    for polls in 0..8 {
        trial.put("key", "old", LONG_TTL).await;
        drop_after(polls, trial.store.put(&trial.name("key"), "new".into(), LONG_TTL)).await;
        let found = trial.get("key").await;
        assert!(matches!(found.as_deref(), Some(b"old" | b"new")), "put: {found:?}");

        let swapping = trial.name("swap");
        trial.put("swap", "old", LONG_TTL).await;
        drop_after(
            polls,
            trial.store.compare_and_swap(&swapping, Some("old".into()), "new".into(), LONG_TTL),
        )
        .await;
        let found = trial.get("swap").await;
        assert!(matches!(found.as_deref(), Some(b"old" | b"new")), "swap: {found:?}");
    }
}
