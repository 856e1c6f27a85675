//! What happens to a call while its client connects to another server, and that one dies as well? It was sent to
//! neither, so it is retried.

use std::sync::Arc;

use tokio::task::JoinSet;

use crate::gate::{Gate, Lot};
use crate::load::{Call, Open, judge};
use crate::wire::{Place, Wire};

async fn dies_while_it_is_opened(wire: Wire) {
    let place = Place::new(&format!("{wire:?}-opening"));
    let gate = Arc::new(Gate::open(&place.gate()));
    let client = wire.builder().connect(place.command()).await.unwrap();
    let open = Arc::new(Open::default());
    gate.lots([Lot::Killed, Lot::Killed]);
    gate.killer()();
    while client.is_connected() {
        tokio::task::yield_now().await;
    }
    // All of them wait for the same connection attempt, and each must handle its failure.
    let mut calls = JoinSet::new();
    for number in 0..8 {
        let (client, open) = (client.clone(), open.clone());
        calls.spawn(async move {
            Call::alone(&format!("call-{number}"), false).make(&client, &open, || ()).await
        });
    }
    let outcomes = calls.join_all().await;
    for outcome in &outcomes {
        assert!(outcome.is_done(), "{outcome:?}");
    }
    client.close().await.unwrap();
    assert_eq!(judge(&outcomes, &place.runs()).done, 8);
}

#[tokio::test]
async fn a_call_survives_servers_that_die_while_they_are_opened_with_a_handshake() {
    dies_while_it_is_opened(Wire::StdioHandshake).await;
}

#[tokio::test]
async fn a_call_survives_servers_that_die_while_they_are_discovered() {
    dies_while_it_is_opened(Wire::StdioStateless).await;
}
