//! Do the rules hold if any one visit to the store fails?
//!
//! One long conversation through all nodes is held once for each visit and each way to fail: nothing was done and this is
//! known, nothing was done and this is not known, everything was done and this is not known.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;

use super::history::{Event, History, StoreFault};
use super::load::{Call, Visitor};
use super::nodes::Cluster;
use super::store::{SharedStore, StoreFaults};
use super::world::{NODES, check_nothing_is_left, in_paused_time};
use crate::harness;
use crate::random::Random;

/// Holds the conversation. Returns the number of visits.
async fn converse(planned: Option<(u64, StoreFault)>, history: &History) -> u64 {
    let mut random = Random::new(7);
    // A number that no visit has, so that nothing else is drawn.
    let planned = planned.or(Some((u64::MAX, StoreFault::NotDone)));
    let store = SharedStore::new(history, 0, StoreFaults { planned, ..StoreFaults::default() });
    let cluster = Cluster::new(history, &store, NODES);
    let mut visitor = Visitor::new(0, &cluster, &Arc::default(), &mut random);
    visitor.browser.faults = 0;
    visitor.browser.version = "2025-11-25";
    visitor.open(&mut random).await;
    let listening = tokio::spawn(visitor.clone().listen(random.split()));
    let work = |key: &str| Call::plain(key.to_owned(), "work");
    let calls = [
        Call { steps: 3, pause: 50, leave_after: Some(2), ..work("1-work") },
        Call::plain("2-ask".to_owned(), "ask"),
        Call { cancel_after: Some(700), ..Call::plain("3-hold".to_owned(), "hold") },
        Call {
            steps: 2,
            pause: 100,
            copy_after: Some(30),
            leave_after: Some(1),
            keeps_first: true,
            ..work("4-work")
        },
        Call { pause: 1500, ..work("5-work") },
        Call { leave_after: Some(1), ..Call::plain("6-ask".to_owned(), "ask") },
        Call::plain("7-peek".to_owned(), "peek"),
    ];
    for call in calls {
        visitor.clone().make(call, random.split()).await;
    }
    sleep(Duration::from_secs(20)).await;
    history.add(Event::Calm);
    let announce = Call::plain("8-announce".to_owned(), "announce");
    visitor.clone().make(announce, random.split()).await;
    sleep(Duration::from_secs(20)).await;
    visitor.delete(&mut random).await;
    for node in cluster.nodes() {
        visitor.ping(node, &mut random).await;
    }
    listening.await.unwrap();
    let visits = store.visits();
    drop((visitor, store));
    check_nothing_is_left(cluster, history).await;
    visits
}

#[test]
fn every_rule_holds_if_any_one_visit_fails() {
    harness::watch_panics();
    let mut visits = 0;
    let (history, broken) = in_paused_time(async |history| visits = converse(None, &history).await);
    assert!(broken.is_empty(), "{broken:?}\n{history}");
    assert!(visits > 50, "a conversation of {visits} visits");
    let mut failures = Vec::new();
    let ways = [StoreFault::NotDone, StoreFault::UnknownBefore, StoreFault::UnknownAfter];
    // Each visit fails in one of the ways, and with `TOOLWAY_ROUNDS=full` in all of them.
    let planned: Vec<_> = if harness::is_full() {
        (1..=visits).flat_map(|number| ways.map(|way| (number, way))).collect()
    } else {
        (1..=visits).zip(ways.into_iter().cycle()).collect()
    };
    for (number, way) in planned {
        let (history, broken) = in_paused_time(async move |history| {
            converse(Some((number, way)), &history).await;
        });
        if !broken.is_empty() {
            if failures.is_empty() {
                println!("{history}");
            }
            failures.push(format!("visit {number} of {visits}, {way:?}: {broken:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}
