//! How often does an answer count?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolway::prelude::*;
use toolway::store::MemoryStore;

use super::{Door, Name, accept, again, call, text};

struct Transfers(Arc<AtomicUsize>);

/// Moves money.
#[tool(single_use)]
async fn transfer(ctx: Ctx, made: State<Transfers>) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("To whom?").await?;
    Ok(format!("{} to {name}", made.0.fetch_add(1, Ordering::Relaxed) + 1))
}

/// The same without a word about it.
#[tool]
async fn repeat(ctx: Ctx, made: State<Transfers>) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("To whom?").await?;
    Ok(format!("{} to {name}", made.0.fetch_add(1, Ordering::Relaxed) + 1))
}

const KEY: &str = "bWFrZSBtZSB3aXRoIG9wZW5zc2wsIG5vdCBzbyAhISE=";

fn server(store: &Arc<MemoryStore>, made: &Arc<AtomicUsize>) -> Server {
    Server::new("bank", "1.0.0")
        .seal_keys([KEY])
        .store(store.clone())
        .state(Transfers(made.clone()))
        .tools(tools![transfer, repeat])
        .build()
        .unwrap()
}

fn to_ada() -> Value {
    json!({"Name": accept(json!({"name": "Ada"}))})
}

fn was_used(reply: &Value) -> bool {
    reply["error"]["code"] == -32602
        && reply["error"]["message"].as_str().unwrap().contains("was used before")
}

#[tokio::test]
async fn what_is_used_once_is_refused_the_second_time() {
    let made = Arc::default();
    for door in Door::both(&server(&Arc::new(MemoryStore::new()), &made)) {
        made.store(0, Ordering::Relaxed);
        let state = door.ask(&call("transfer")).await;
        let next = again(&call("transfer"), &state, to_ada());
        assert_eq!(text(&door.say(&next).await), "1 to Ada");
        let replayed = door.say(&next).await;
        assert!(was_used(&replayed), "{replayed}");
        // Another call of the same tool has its own state.
        let state = door.ask(&call("transfer")).await;
        assert_eq!(text(&door.say(&again(&call("transfer"), &state, to_ada())).await), "2 to Ada");
    }
}

/// Without a state, nothing could be marked as used.
#[tokio::test]
async fn answers_without_a_state_count_only_where_they_may_count_twice() {
    let made = Arc::default();
    for door in Door::both(&server(&Arc::new(MemoryStore::new()), &made)) {
        made.store(0, Ordering::Relaxed);
        let without_state = |tool: &str, answers: Value| {
            let mut request = call(tool);
            request["params"]["inputResponses"] = answers;
            request
        };
        let refused = door.say(&without_state("transfer", to_ada())).await;
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert_eq!(
            refused["error"]["message"],
            "`params.inputResponses` need the `params.requestState` of the call that asked: call again without them"
        );
        assert_eq!(made.load(Ordering::Relaxed), 0);
        // No answers are no answers.
        let asked = door.say(&without_state("transfer", json!({}))).await;
        assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
        assert_eq!(text(&door.say(&without_state("repeat", to_ada())).await), "1 to Ada");
    }
}

/// The clock of one server is ahead, or its timeout is much longer: its states would be valid for longer than they may.
#[tokio::test]
async fn a_state_that_expires_too_late_is_refused() {
    let with_timeout = |seconds| {
        Server::new("bank", "1.0.0")
            .seal_keys([KEY])
            .question_timeout(Duration::from_secs(seconds))
            .state(Transfers(Arc::default()))
            .tools(tools![repeat])
            .build()
            .unwrap()
    };
    let [ahead, _] = Door::both(&with_timeout(60 * 60 * 24));
    let [here, _] = Door::both(&with_timeout(60));
    let next = again(&call("repeat"), &ahead.ask(&call("repeat")).await, to_ada());
    let refused = here.say(&next).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("is valid for too long"), "{refused}");
    assert_eq!(text(&ahead.say(&next).await), "1 to Ada");
    // A few minutes are tolerated: clocks differ.
    let [near, _] = Door::both(&with_timeout(5 * 60));
    let next = again(&call("repeat"), &near.ask(&call("repeat")).await, to_ada());
    assert_eq!(text(&here.say(&next).await), "1 to Ada");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_ten_at_once_exactly_one_counts() {
    let made = Arc::default();
    let [door, _] = Door::both(&server(&Arc::new(MemoryStore::new()), &made));
    let state = door.ask(&call("transfer")).await;
    let next = again(&call("transfer"), &state, to_ada());
    let mut calls = JoinSet::new();
    for _ in 0..10 {
        let (door, next) = (door.clone(), next.clone());
        calls.spawn(async move { door.say(&next).await });
    }
    let replies = calls.join_all().await;
    assert_eq!(replies.iter().filter(|reply| was_used(reply)).count(), 9, "{replies:?}");
    assert_eq!(made.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn servers_that_share_a_store_count_together() {
    let (store, made) = (Arc::new(MemoryStore::new()), Arc::default());
    let [here, _] = Door::both(&server(&store, &made));
    let [there, _] = Door::both(&server(&store, &made));
    let state = here.ask(&call("transfer")).await;
    let next = again(&call("transfer"), &state, to_ada());
    assert_eq!(text(&there.say(&next).await), "1 to Ada");
    assert!(was_used(&here.say(&next).await));
    assert!(was_used(&there.say(&next).await));
}

/// By default the same state is accepted as often as it is sent. An effect that must not happen twice needs a
/// remembered key by which a repetition is recognised.
#[tokio::test]
async fn without_a_word_a_state_may_come_back_as_often_as_it_likes() {
    let made = Arc::default();
    for door in Door::both(&server(&Arc::new(MemoryStore::new()), &made)) {
        made.store(0, Ordering::Relaxed);
        let state = door.ask(&call("repeat")).await;
        let next = again(&call("repeat"), &state, to_ada());
        for number in 1..=3 {
            assert_eq!(text(&door.say(&next).await), format!("{number} to Ada"));
        }
    }
}
