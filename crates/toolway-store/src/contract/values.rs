//! What does the contract require of values?

use std::time::Duration;

use super::operations::{
    LONG_TTL, SHORT_TTL, absent, exists, get, name, new_version, put, put_version, renew,
};
use super::trial::{Trial, cases, odd_bytes, odd_names};
use crate::step::{Answer, Condition, Operation, Outcome, Step, StoredValue, Version};

cases! { "values":
    a_key_that_was_never_put_has_no_value,
    put_sets_the_value_and_the_version_and_replaces_both,
    get_leaves_out_the_bytes_of_a_known_version,
    exists_requires_a_value,
    absent_requires_that_there_is_no_value,
    has_version_requires_the_version,
    all_bits_of_a_version_count,
    put_replaces_the_time_to_live,
    an_expired_value_never_existed,
    get_and_conditions_do_not_renew_a_value,
    renew_replaces_the_time_to_live_and_nothing_else,
    a_time_to_live_may_be_less_than_a_second,
    a_time_to_live_may_be_zero_or_endless,
    delete_removes_the_value_of_its_key,
    a_value_is_any_bytes,
    a_key_is_any_text,
}

async fn a_key_that_was_never_put_has_no_value(trial: &Trial<'_>) {
    assert_eq!(trial.get("key").await, None);
    trial.op(renew("key", LONG_TTL)).await;
    trial.op(Operation::Delete(name("key"))).await;
    assert_eq!(trial.get("key").await, None, "`Renew` and `Delete` must not create a value");
    let known = Operation::Get { key: name("key"), known: Some(Version(0)) };
    assert_eq!(trial.op(known).await, Answer::Value(None));
}

async fn put_sets_the_value_and_the_version_and_replaces_both(trial: &Trial<'_>) {
    trial.put("other", "else", LONG_TTL).await;
    for (value, version) in [("one", Version(1)), ("two", Version(2)), ("two", Version(3)), ("", Version(0))]
    {
        trial.op(put_version("key", value, version, LONG_TTL)).await;
        for _ in 0..2 {
            assert_eq!(trial.value("key").await, Some(StoredValue { version, bytes: Some(value.into()) }));
        }
    }
    assert_eq!(trial.get("other").await.as_deref(), Some(&b"else"[..]));
}

async fn get_leaves_out_the_bytes_of_a_known_version(trial: &Trial<'_>) {
    let (old, new) = (new_version(), new_version());
    let get = async |known| {
        let Answer::Value(Some(value)) = trial.op(Operation::Get { key: name("key"), known }).await else {
            panic!("the value must exist");
        };
        value
    };
    trial.op(put_version("key", "one", old, LONG_TTL)).await;
    assert_eq!(get(Some(old)).await, StoredValue { version: old, bytes: None });
    assert_eq!(get(Some(new)).await, StoredValue { version: old, bytes: Some("one".into()) });
    trial.op(put_version("key", "two", new, LONG_TTL)).await;
    assert_eq!(get(Some(old)).await, StoredValue { version: new, bytes: Some("two".into()) });
    assert_eq!(get(Some(new)).await, StoredValue { version: new, bytes: None });
    assert_eq!(get(None).await, StoredValue { version: new, bytes: Some("two".into()) });
}

async fn exists_requires_a_value(trial: &Trial<'_>) {
    assert!(!trial.holds(exists("key")).await);
    trial.put("key", "", LONG_TTL).await;
    assert!(trial.holds(exists("key")).await, "an empty value is a value");
    assert!(!trial.holds(exists("other")).await);
}

async fn absent_requires_that_there_is_no_value(trial: &Trial<'_>) {
    assert!(trial.holds(absent("key")).await);
    trial.put("key", "", LONG_TTL).await;
    assert!(!trial.holds(absent("key")).await, "an empty value is a value");
    assert!(trial.holds(absent("other")).await);
}

async fn has_version_requires_the_version(trial: &Trial<'_>) {
    let (old, new) = (new_version(), new_version());
    let has = async |version| trial.holds(Condition::HasVersion(name("key"), version)).await;
    assert!(!has(old).await && !has(Version(0)).await, "a key without a value must have no version");
    trial.op(put_version("key", "value", old, LONG_TTL)).await;
    assert!(has(old).await && !has(new).await);
    trial.op(put_version("key", "value", new, LONG_TTL)).await;
    assert!(has(new).await && !has(old).await);
}

async fn all_bits_of_a_version_count(trial: &Trial<'_>) {
    // Neighbours of 2^53 and of 2^63 are equal as floating-point and as signed numbers in some languages.
    let versions =
        [0, 1, 1 << 53, (1 << 53) + 1, (1 << 63) - 1, 1 << 63, (1 << 63) + 1, u64::MAX - 1, u64::MAX];
    for stored in versions {
        trial.op(put_version("key", "value", Version(stored), LONG_TTL)).await;
        assert_eq!(trial.value("key").await.map(|value| value.version), Some(Version(stored)));
        for asked in versions {
            let has = trial.holds(Condition::HasVersion(name("key"), Version(asked))).await;
            assert_eq!(has, stored == asked, "stored {stored:x}, asked for {asked:x}");
            let get = Operation::Get { key: name("key"), known: Some(Version(asked)) };
            let Answer::Value(Some(value)) = trial.op(get).await else { panic!("the value must exist") };
            assert_eq!(value.bytes.is_none(), stored == asked, "stored {stored:x}, known {asked:x}");
        }
    }
}

async fn put_replaces_the_time_to_live(trial: &Trial<'_>) {
    for (key, first, second) in [("longer", SHORT_TTL, LONG_TTL), ("shorter", LONG_TTL, SHORT_TTL)] {
        trial.put(key, "value", first).await;
        trial.put(key, "value", second).await;
    }
    trial.wait().await;
    assert!(trial.get("longer").await.is_some(), "the last `Put` must extend the lifetime");
    assert_eq!(trial.get("shorter").await, None, "the last `Put` must shorten the lifetime");
}

async fn an_expired_value_never_existed(trial: &Trial<'_>) {
    let version = new_version();
    trial.op(put_version("key", "value", version, SHORT_TTL)).await;
    assert!(trial.get("key").await.is_some(), "a value must exist until it expires");
    trial.wait().await;
    assert!(!trial.holds(exists("key")).await);
    assert!(trial.holds(absent("key")).await);
    assert!(!trial.holds(Condition::HasVersion(name("key"), version)).await);
    assert_eq!(trial.get("key").await, None);
    trial.op(renew("key", LONG_TTL)).await;
    assert_eq!(trial.get("key").await, None, "`Renew` must not restore an expired value");
    trial.put("key", "again", LONG_TTL).await;
    assert_eq!(trial.get("key").await.as_deref(), Some(&b"again"[..]));
}

async fn get_and_conditions_do_not_renew_a_value(trial: &Trial<'_>) {
    let version = new_version();
    trial.op(put_version("read", "value", version, SHORT_TTL)).await;
    trial.op(put_version("checked", "value", version, SHORT_TTL)).await;
    trial.op(put_version("refused", "value", version, SHORT_TTL)).await;
    // The values may already be gone on a slow machine; only the last checks count.
    trial
        .wait_around(async || {
            trial.get("read").await;
            trial.holds(exists("checked")).await;
            trial.holds(Condition::HasVersion(name("checked"), version)).await;
            trial.run(&Step::new().when(exists("never")).then(renew("refused", LONG_TTL))).await;
        })
        .await;
    for key in ["read", "checked", "refused"] {
        assert_eq!(trial.get(key).await, None, "{key}");
    }
}

async fn renew_replaces_the_time_to_live_and_nothing_else(trial: &Trial<'_>) {
    let version = new_version();
    trial.op(put_version("longer", "value", version, SHORT_TTL)).await;
    trial.op(renew("longer", LONG_TTL)).await;
    trial.put("shorter", "value", LONG_TTL).await;
    trial.op(renew("shorter", SHORT_TTL)).await;
    trial.put("other", "value", SHORT_TTL).await;
    trial.wait().await;
    let expected = StoredValue { version, bytes: Some("value".into()) };
    assert_eq!(trial.value("longer").await, Some(expected));
    assert_eq!(trial.get("shorter").await, None, "`Renew` may shorten the lifetime");
    assert_eq!(trial.get("other").await, None, "`Renew` must not affect other keys");
}

async fn a_time_to_live_may_be_less_than_a_second(trial: &Trial<'_>) {
    trial.put("key", "value", SHORT_TTL * 9 / 10).await;
    assert!(trial.get("key").await.is_some(), "a lifetime must not be cut to whole seconds");
    trial.wait().await;
    assert_eq!(trial.get("key").await, None);
}

async fn a_time_to_live_may_be_zero_or_endless(trial: &Trial<'_>) {
    for ttl in [Duration::ZERO, Duration::from_nanos(1)] {
        trial.put("put", "value", LONG_TTL).await;
        trial.put("renewed", "value", LONG_TTL).await;
        trial.put("put", "value", ttl).await;
        trial.op(renew("renewed", ttl)).await;
        // A nanosecond is below the resolution of some clocks: the value may exist for a moment.
        if ttl.is_zero() {
            assert_eq!(trial.get("put").await, None, "a value with a lifetime of zero must be gone at once");
            assert_eq!(trial.get("renewed").await, None);
            let both = Step::new().then(put("both", "value", ttl)).then(get("both"));
            assert_eq!(trial.done(&both).await[1], Answer::Value(None), "also for the next operation");
        }
    }
    trial.put("endless", "value", Duration::MAX).await;
    trial.put("renewed for ever", "value", SHORT_TTL).await;
    trial.op(renew("renewed for ever", Duration::MAX)).await;
    trial.wait().await;
    assert_eq!((trial.get("put").await, trial.get("renewed").await), (None, None));
    assert!(trial.get("endless").await.is_some(), "a value with the longest lifetime must not expire");
    assert!(trial.get("renewed for ever").await.is_some());
}

async fn delete_removes_the_value_of_its_key(trial: &Trial<'_>) {
    trial.put("key", "value", LONG_TTL).await;
    trial.put("other", "else", LONG_TTL).await;
    trial.op(Operation::Delete(name("key"))).await;
    assert_eq!(trial.get("key").await, None);
    assert!(trial.get("other").await.is_some());
    let again = Step::new().when(absent("key")).then(put("key", "again", LONG_TTL));
    assert_eq!(trial.run(&again).await, Outcome::Done(vec![Answer::Nothing]));
}

async fn a_value_is_any_bytes(trial: &Trial<'_>) {
    for value in odd_bytes() {
        trial.put("key", value.clone(), LONG_TTL).await;
        assert!(trial.get("key").await == Some(value), "`Get` must return the bytes that were put");
    }
}

async fn a_key_is_any_text(trial: &Trial<'_>) {
    for (number, key) in odd_names().iter().enumerate() {
        assert_eq!(trial.get(key).await, None, "{key:?} must differ from the keys before it");
        trial.put(key, number.to_string(), LONG_TTL).await;
    }
    for (number, key) in odd_names().iter().enumerate() {
        assert_eq!(trial.get(key).await, Some(number.to_string().into()), "{key:?}");
        assert!(trial.holds(exists(key)).await, "{key:?}");
        trial.op(Operation::Delete(name(key))).await;
        assert_eq!(trial.get(key).await, None, "{key:?}");
    }
}
