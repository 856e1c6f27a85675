//! Panics that do not belong to a single call: hooks of connections, and the store.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use serde_json::json;
use toolway::BoxFuture;
use toolway::prelude::*;
use toolway::server::{Admit, ConnectRequest, DisconnectEvent, TerminationEvent, ToolEntry};
use toolway::store::{self, MemoryStore, Outcome, Secret, Step, Store, Subscription};

use crate::peer::{Era, Peer, Way};
use crate::sites::WORDS;
use crate::{be_loud, wires};

#[tokio::test(start_paused = true)]
async fn whoever_cannot_be_checked_is_refused_and_the_next_one_comes_in() {
    be_loud();
    for is_at_once in [false, true] {
        let is_panicking = Arc::new(AtomicBool::new(true));
        let panics = is_panicking.clone();
        let server = Server::new("door", "1.0.0")
            .tool(ToolEntry::from_fn("right", || async { "right" }))
            .on_connect(move |_: ConnectRequest| {
                let panics = panics.load(Ordering::SeqCst);
                assert!(!(panics && is_at_once), "{WORDS}");
                async move {
                    tokio::task::yield_now().await;
                    assert!(!panics, "{WORDS}");
                    Admit::as_principal("ann")
                }
            })
            .build()
            .unwrap();
        for era in [Era::Handshake, Era::Stateless] {
            for way in [Way::Pipe, Way::Http] {
                is_panicking.store(true, Ordering::SeqCst);
                let refused = Peer::refused(&server, way, era).await;
                assert_eq!(refused["error"]["code"], -32603, "{way:?} {era:?}: {refused}");
                assert!(!refused.to_string().contains(WORDS), "{refused}");
                is_panicking.store(false, Ordering::SeqCst);
                let mut peer = Peer::start(&server, way, era).await;
                let (_, answer) = peer.call("right", json!({})).await;
                assert_eq!(answer["result"]["content"][0]["text"], "right", "{way:?} {era:?}: {answer}");
                peer.end().await;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn hooks_for_those_who_go_panic_for_themselves() {
    be_loud();
    for is_at_once in [false, true] {
        let told = Arc::new(AtomicUsize::new(0));
        let (gone, over) = (told.clone(), told.clone());
        let heard = told.clone();
        let server = Server::new("hooks", "1.0.0")
            .tool(ToolEntry::from_fn("right", || async { "right" }))
            .on_disconnect(move |_: DisconnectEvent| {
                gone.fetch_add(1, Ordering::SeqCst);
                assert!(!is_at_once, "{WORDS}");
                async { panic!("{WORDS}") }
            })
            .on_terminate(move |_: TerminationEvent| {
                over.fetch_add(1, Ordering::SeqCst);
                assert!(!is_at_once, "{WORDS}");
                async { panic!("{WORDS}") }
            })
            // Hooks after one that panics still run.
            .on_disconnect(move |_: DisconnectEvent| {
                heard.fetch_add(100, Ordering::SeqCst);
                async {}
            })
            .build()
            .unwrap();
        for (way, era) in wires() {
            told.store(0, Ordering::SeqCst);
            let mut peer = Peer::start(&server, way, era).await;
            for _ in 0..20 {
                let (_, answer) = peer.call("right", json!({})).await;
                assert_eq!(answer["result"]["content"][0]["text"], "right", "{way:?} {era:?}: {answer}");
            }
            peer.end().await;
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            let sessions = usize::from(era == Era::Handshake);
            let expected = match way {
                Way::Direct => 0,
                Way::Pipe => 101 + sessions,
                // Opening a session takes two requests. The session was not ended.
                Way::Http => (20 + 2 * sessions) * 101,
            };
            assert_eq!(told.load(Ordering::SeqCst), expected, "{way:?} {era:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_has_failed() {
    be_loud();
    for part in 0..PARTS {
        for is_at_once in [false, true] {
            let store = Arc::new(Panicking {
                store: MemoryStore::new(),
                part,
                is_at_once,
                is_on: AtomicBool::new(false),
            });
            let server = Server::new("store", "1.0.0")
                .max_in_flight(4, 2)
                .store(store.clone())
                .tool(ToolEntry::from_fn("talks", |ctx: Ctx| async move {
                    ctx.progress(1, 2, "one").await;
                    tokio::time::sleep(Duration::from_secs(60)).await;
                    ctx.progress(2, 2, "two").await;
                    "right"
                }))
                .tool(ToolEntry::from_fn("counts", |ctx: Ctx| async move {
                    ctx.memory_update(|count: &mut u32| *count += 1).await.map_err(ToolError::from)
                }))
                .build()
                .unwrap();
            let mut peer = Peer::start(&server, Way::Http, Era::Handshake).await;
            for tool in ["talks", "counts"] {
                for _ in 0..6 {
                    store.is_on.store(true, Ordering::SeqCst);
                    // Whether there is an answer depends on what the store is needed for; the call ends in any case,
                    // with at most one answer.
                    let answers = peer.try_call(tool).await;
                    assert!(answers.len() <= 1, "part {part}: {answers:?}");
                    assert!(!format!("{answers:?}").contains(WORDS), "part {part}: {answers:?}");
                    store.is_on.store(false, Ordering::SeqCst);
                    let (_, answer) = peer.call(tool, json!({})).await;
                    assert_ne!(answer["result"]["isError"], true, "part {part}: {answer}");
                    assert!(answer["result"].is_object(), "part {part}: {answer}");
                }
            }
        }
    }
}

/// A store that panics in one of its parts, while it is switched on.
struct Panicking {
    store: MemoryStore,
    part: usize,
    is_at_once: bool,
    is_on: AtomicBool,
}

const PARTS: usize = 3;

impl Panicking {
    fn part<'s, T: Send + 's>(
        &'s self,
        part: usize,
        storing: BoxFuture<'s, store::Result<T>>,
    ) -> BoxFuture<'s, store::Result<T>> {
        if !self.is_on.load(Ordering::SeqCst) || self.part != part {
            return storing;
        }
        assert!(!self.is_at_once, "{WORDS}");
        Box::pin(async move {
            tokio::task::yield_now().await;
            panic!("{WORDS}")
        })
    }
}

impl Store for Panicking {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, store::Result<Outcome>> {
        self.part(0, self.store.run(group, step))
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, store::Result<()>> {
        self.part(1, self.store.publish(channel, message))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, store::Result<Box<dyn Subscription>>> {
        self.part(2, self.store.subscribe(channel))
    }

    fn secret(&self) -> Secret {
        self.store.secret()
    }
}
