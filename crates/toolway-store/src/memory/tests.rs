//! Does expired data leave, a little with each operation?

use std::time::Duration;

use tokio::time::Instant;

use super::calendar::CHECKS_PER_OPERATION;
use super::expiring::Expiring;
use super::maps::Maps;

const SECOND: Duration = Duration::from_secs(1);

/// Pseudo-random numbers, the same in each run.
fn dice() -> impl FnMut() -> u32 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        u32::try_from(state >> 40).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn every_value_has_one_date_whatever_happens_to_it() {
    let (mut things, mut dice) = (Expiring::default(), dice());
    for step in 0..20_000_u32 {
        let dice = dice();
        let (name, ttl, now) = ((dice % 50).to_string(), SECOND * (dice / 50 % 20), Instant::now());
        things.remove_expired(now);
        match dice / 1000 % 5 {
            0 | 1 => things.put(("group", &name), step, now, ttl),
            2 => _ = things.renew(("group", &name), now, ttl),
            3 => things.remove(("group", &name)),
            _ => tokio::time::advance(SECOND / 2).await,
        }
        if step % 16 == 0 {
            things.assert_each_has_one_date();
        }
    }
    tokio::time::advance(SECOND * 30).await;
    for _ in 0..=50 / CHECKS_PER_OPERATION {
        things.remove_expired(Instant::now());
    }
    assert_eq!(things.len(), 0);
    things.assert_each_has_one_date();
}

#[tokio::test(start_paused = true)]
async fn every_entry_of_a_map_has_one_date_whatever_happens_to_it() {
    let (mut maps, mut dice) = (Maps::default(), dice());
    for step in 0..20_000_u32 {
        let dice = dice();
        let (map, key) = ((dice % 5).to_string(), (dice / 5 % 10).to_string());
        let (ttl, now) = (SECOND * (dice / 50 % 20), Instant::now());
        maps.remove_expired(now);
        match dice / 1000 % 12 {
            0..=7 => maps.enter(("group", &map), &key, "value".into(), now, ttl),
            8 => maps.leave(("group", &map), &key),
            9 => maps.clear(("group", &map)),
            _ => tokio::time::advance(SECOND / 2).await,
        }
        if step % 16 == 0 {
            maps.assert_each_has_one_date();
        }
    }
    tokio::time::advance(SECOND * 30).await;
    for _ in 0..=50 / CHECKS_PER_OPERATION {
        maps.remove_expired(Instant::now());
    }
    assert_eq!(maps.len(), 0);
    maps.assert_each_has_one_date();
}

#[tokio::test(start_paused = true)]
async fn an_operation_removes_a_few_and_the_next_ones_the_rest() {
    let mut things = Expiring::default();
    for number in 0..1000_u32 {
        things.put(("group", &number.to_string()), number, Instant::now(), SECOND);
    }
    tokio::time::advance(SECOND).await;
    let now = Instant::now();
    assert!(things.get(("group", "999"), now).is_none());
    things.remove_expired(now);
    assert_eq!(things.len(), 1000 - CHECKS_PER_OPERATION);
    for _ in 0..1000 / CHECKS_PER_OPERATION {
        things.remove_expired(now);
    }
    assert_eq!(things.len(), 0);
    assert!(things.has_shrunk());
}
