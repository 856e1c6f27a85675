//! What does the contract require of maps?

use std::time::Duration;

use bytes::Bytes;

use super::operations::{LONG_TTL, SHORT_TTL, enter, free, has_room, leave, name};
use super::trial::{Trial, cases, odd_bytes, odd_names};
use crate::step::{Operation, Outcome, Step};

cases! { "maps":
    a_map_that_was_never_entered_has_no_entries,
    enter_sets_an_entry_and_replaces_it,
    entries_expire_one_by_one,
    enter_replaces_the_time_to_live_of_its_entry,
    an_expired_entry_never_existed,
    reading_and_conditions_do_not_renew_entries,
    leave_removes_the_entry_of_its_key,
    leave_removes_only_the_value_that_it_names,
    clear_removes_all_entries_of_a_map,
    free_requires_no_entry_or_this_one,
    free_is_refused_with_the_entry_that_is_there,
    has_room_requires_fewer_entries_or_an_entry_for_the_key,
    expired_and_removed_entries_leave_room,
    an_entry_may_expire_at_once_or_never,
    a_map_may_have_many_entries,
    the_value_of_an_entry_is_any_bytes,
    the_names_of_maps_and_entries_are_any_text,
}

async fn a_map_that_was_never_entered_has_no_entries(trial: &Trial<'_>) {
    assert_eq!(trial.entries("map").await, []);
    trial.op(leave("map", "key", None)).await;
    trial.op(leave("map", "key", Some("value"))).await;
    trial.op(Operation::Clear(name("map"))).await;
    assert_eq!(trial.entries("map").await, []);
}

async fn enter_sets_an_entry_and_replaces_it(trial: &Trial<'_>) {
    trial.enter("map", "a", "one", LONG_TTL).await;
    trial.enter("map", "b", "two", LONG_TTL).await;
    trial.enter("other", "a", "else", LONG_TTL).await;
    assert_eq!(trial.entries("map").await, [("a".to_owned(), "one".into()), ("b".to_owned(), "two".into())]);
    trial.enter("map", "a", "three", LONG_TTL).await;
    assert_eq!(
        trial.entries("map").await,
        [("a".to_owned(), "three".into()), ("b".to_owned(), "two".into())]
    );
    assert_eq!(trial.entries("other").await, [("a".to_owned(), "else".into())]);
}

async fn entries_expire_one_by_one(trial: &Trial<'_>) {
    trial.enter("map", "long", "value", LONG_TTL).await;
    trial.enter("map", "short", "value", SHORT_TTL).await;
    trial.enter("map", "also long", "value", LONG_TTL).await;
    assert_eq!(
        trial.keys("map").await,
        ["also long", "long", "short"],
        "entries must exist until they expire"
    );
    trial.wait().await;
    assert_eq!(trial.keys("map").await, ["also long", "long"]);
}

async fn enter_replaces_the_time_to_live_of_its_entry(trial: &Trial<'_>) {
    trial.enter("map", "stays short", "value", SHORT_TTL).await;
    trial.enter("map", "becomes long", "value", SHORT_TTL).await;
    trial.enter("map", "becomes short", "value", LONG_TTL).await;
    trial.enter("map", "becomes long", "value", LONG_TTL).await;
    trial.enter("map", "becomes short", "value", SHORT_TTL).await;
    trial.wait().await;
    assert_eq!(trial.keys("map").await, ["becomes long"]);
}

async fn an_expired_entry_never_existed(trial: &Trial<'_>) {
    trial.enter("map", "key", "value", SHORT_TTL).await;
    trial.enter("map", "other", "value", LONG_TTL).await;
    trial.wait().await;
    assert!(trial.holds(free("map", "key", "else")).await);
    assert!(
        !trial.holds(has_room("map", "key", 1)).await,
        "an expired entry must not count as an entry for the key"
    );
    trial.op(leave("map", "key", Some("value"))).await;
    assert_eq!(trial.keys("map").await, ["other"]);
    trial.enter("map", "key", "again", LONG_TTL).await;
    assert_eq!(trial.entries("map").await[0], ("key".to_owned(), "again".into()));
}

async fn reading_and_conditions_do_not_renew_entries(trial: &Trial<'_>) {
    trial.enter("map", "key", "value", SHORT_TTL).await;
    // The entry may already be gone on a slow machine; only the last check counts.
    trial
        .wait_around(async || {
            trial.entries("map").await;
            trial.holds(free("map", "key", "value")).await;
            trial.holds(has_room("map", "key", 1)).await;
            trial.op(leave("map", "key", Some("else"))).await;
            trial.enter("map", "other", "value", LONG_TTL).await;
        })
        .await;
    assert_eq!(trial.keys("map").await, ["other"]);
}

async fn leave_removes_the_entry_of_its_key(trial: &Trial<'_>) {
    for (map, key) in [("map", "a"), ("map", "b"), ("other", "a")] {
        trial.enter(map, key, "value", LONG_TTL).await;
    }
    trial.op(leave("map", "a", None)).await;
    assert_eq!(trial.keys("map").await, ["b"]);
    assert_eq!(trial.keys("other").await, ["a"]);
    trial.op(leave("map", "b", None)).await;
    assert_eq!(trial.entries("map").await, []);
}

async fn leave_removes_only_the_value_that_it_names(trial: &Trial<'_>) {
    trial.enter("map", "key", "value", LONG_TTL).await;
    for wrong in ["", "val", "values", "VALUE"] {
        trial.op(leave("map", "key", Some(wrong))).await;
        assert_eq!(trial.keys("map").await, ["key"], "the value is not {wrong:?}");
    }
    trial.op(leave("map", "key", Some("value"))).await;
    assert_eq!(trial.entries("map").await, []);
    trial.enter("map", "empty", "", LONG_TTL).await;
    trial.op(leave("map", "empty", Some("value"))).await;
    assert_eq!(trial.keys("map").await, ["empty"]);
    trial.op(leave("map", "empty", Some(""))).await;
    assert_eq!(trial.entries("map").await, []);
}

async fn clear_removes_all_entries_of_a_map(trial: &Trial<'_>) {
    for key in ["a", "b", "c"] {
        trial.enter("map", key, "value", LONG_TTL).await;
        trial.enter("other", key, "value", LONG_TTL).await;
    }
    trial.op(Operation::Clear(name("map"))).await;
    assert_eq!(trial.entries("map").await, []);
    assert_eq!(trial.keys("other").await, ["a", "b", "c"]);
    assert!(trial.holds(has_room("map", "key", 1)).await);
    trial.enter("map", "d", "value", LONG_TTL).await;
    assert_eq!(trial.keys("map").await, ["d"]);
}

async fn free_requires_no_entry_or_this_one(trial: &Trial<'_>) {
    assert!(trial.holds(free("map", "key", "mine")).await);
    assert_eq!(trial.entries("map").await, [], "a condition must not change anything");
    trial.enter("map", "key", "mine", LONG_TTL).await;
    assert!(trial.holds(free("map", "key", "mine")).await);
    for other in ["", "min", "mine ", "yours"] {
        assert!(!trial.holds(free("map", "key", other)).await, "{other:?} is not the entry");
    }
    assert!(trial.holds(free("map", "other", "yours")).await);
    assert!(trial.holds(free("other", "key", "yours")).await);
}

async fn free_is_refused_with_the_entry_that_is_there(trial: &Trial<'_>) {
    for held in odd_bytes() {
        trial.enter("map", "key", held.clone(), LONG_TTL).await;
        let step = Step::new().when(free("map", "other", "mine")).when(free("map", "key", "mine"));
        let refused = Outcome::Refused { condition: 1, holder: Some(held) };
        assert!(trial.run(&step).await == refused, "`holder` must have the bytes of the entry");
    }
}

async fn has_room_requires_fewer_entries_or_an_entry_for_the_key(trial: &Trial<'_>) {
    assert!(!trial.holds(has_room("map", "a", 0)).await);
    for (number, key) in ["a", "b", "c"].into_iter().enumerate() {
        assert!(!trial.holds(has_room("map", key, number)).await, "{number} entries");
        assert!(trial.holds(has_room("map", key, number + 1)).await, "{number} entries");
        assert!(trial.holds(has_room("map", key, usize::MAX)).await, "{number} entries");
        trial.enter("map", key, "value", LONG_TTL).await;
        assert!(trial.holds(has_room("map", key, 0)).await, "the map has an entry for the key");
        trial.enter("map", key, "again", LONG_TTL).await;
    }
    assert!(trial.holds(has_room("other", "d", 1)).await, "each map must have its own room");
}

async fn expired_and_removed_entries_leave_room(trial: &Trial<'_>) {
    for key in ["a", "b", "c"] {
        trial.enter("map", key, "value", SHORT_TTL).await;
        trial.enter("map", &format!("{key} long"), "value", LONG_TTL).await;
    }
    assert!(!trial.holds(has_room("map", "new", 6)).await);
    trial.wait().await;
    assert!(!trial.holds(has_room("map", "new", 3)).await);
    assert!(trial.holds(has_room("map", "new", 4)).await, "expired entries must leave room");
    trial.op(leave("map", "a long", None)).await;
    assert!(!trial.holds(has_room("map", "new", 2)).await);
    assert!(trial.holds(has_room("map", "new", 3)).await, "a removed entry must leave room");
}

async fn an_entry_may_expire_at_once_or_never(trial: &Trial<'_>) {
    trial.enter("map", "gone", "value", LONG_TTL).await;
    trial.enter("map", "gone", "value", Duration::ZERO).await;
    assert_eq!(trial.keys("map").await, [""; 0], "an entry with a lifetime of zero must be gone at once");
    trial.enter("map", "endless", "value", Duration::MAX).await;
    trial.enter("map", "short", "value", SHORT_TTL).await;
    trial.wait().await;
    assert_eq!(trial.keys("map").await, ["endless"]);
}

async fn a_map_may_have_many_entries(trial: &Trial<'_>) {
    let mut expected = Vec::new();
    for number in 0..300 {
        let (key, value) = (format!("key {number:03}"), Bytes::from(number.to_string()));
        trial.op(enter("map", &key, value.clone(), LONG_TTL)).await;
        expected.push((key, value));
    }
    assert_eq!(trial.entries("map").await, expected);
    assert!(!trial.holds(has_room("map", "new", 300)).await);
    assert!(trial.holds(has_room("map", "new", 301)).await);
}

async fn the_value_of_an_entry_is_any_bytes(trial: &Trial<'_>) {
    for value in odd_bytes() {
        trial.enter("map", "key", value.clone(), LONG_TTL).await;
        let expected = [("key".to_owned(), value.clone())];
        assert!(trial.entries("map").await == expected, "`Entries` must return the bytes that were entered");
        assert!(trial.holds(free("map", "key", value.clone())).await, "`Free` must compare all bytes");
        let leave = Operation::Leave { map: name("map"), key: name("key"), value: Some(value) };
        trial.op(leave).await;
        assert!(trial.entries("map").await.is_empty(), "`Leave` must compare all bytes");
    }
}

async fn the_names_of_maps_and_entries_are_any_text(trial: &Trial<'_>) {
    let names = odd_names();
    for (number, odd) in names.iter().enumerate() {
        assert!(trial.holds(free("map", odd, "new")).await, "{odd:?} must differ from the keys before it");
        trial.enter("map", odd, number.to_string(), LONG_TTL).await;
        assert_eq!(trial.entries(odd).await, [], "{odd:?} must differ from the maps before it");
        trial.enter(odd, "key", odd.clone(), LONG_TTL).await;
    }
    let mut expected: Vec<_> =
        names.iter().cloned().zip((0..).map(|number: u32| number.to_string().into())).collect();
    expected.sort();
    assert_eq!(trial.entries("map").await, expected);
    for odd in &names {
        assert_eq!(trial.entries(odd).await, [("key".to_owned(), odd.clone().into())]);
        trial.op(leave("map", odd, None)).await;
    }
    assert_eq!(trial.entries("map").await, []);
}
