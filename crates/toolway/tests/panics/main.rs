//! Does a panic anywhere in the author's code mean one failed call with one answer, while everything else continues?
//!
//! `sites.rs` has a server with a place to panic for each row of a table; `peer.rs` sends it raw messages, over every
//! transport in both eras. Each row is called more often than requests may run at the same time, so that a leaked
//! permit is noticed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod hooks;
mod peer;
mod sites;

use std::fmt::Write;
use std::sync::Once;

use serde_json::{Value, json};
use toolway::server::ErrorPolicy;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::peer::{Era, Peer, Way};
use crate::sites::{Dress, SITES, Shape, Site, WORDS};

/// How often each site panics on each wire: more often than the server has permits.
const TIMES: usize = 6;

#[tokio::test(start_paused = true)]
async fn a_panic_is_one_failed_call_wherever_it_happens() {
    be_loud();
    let mut tried = 0;
    for dress in [Dress::Bare, Dress::Dressed] {
        let server = sites::server(ErrorPolicy::Hidden, dress);
        for (way, era) in wires() {
            let mut peer = Peer::start(&server, way, era).await;
            for site in
                SITES.iter().filter(|site| dress == Dress::Dressed || !site.name.starts_with("around"))
            {
                for _ in 0..TIMES {
                    let Some(id) = check(&mut peer, site, way, era).await else { continue };
                    peer.fence(Some(&id)).await;
                    tried += 1;
                }
            }
            // An update that panicked has not changed the value, and the next update works.
            let (_, counted) = peer.call("counts", json!({})).await;
            assert_eq!(counted["result"]["content"][0]["text"], "1", "{way:?} {era:?}: {counted}");
            peer.end().await;
        }
    }
    println!("{} sites, {tried} panics", SITES.len());
}

#[tokio::test(start_paused = true)]
async fn three_hundred_panics_leave_every_place_free() {
    be_loud();
    let server = sites::server(ErrorPolicy::Hidden, Dress::Bare);
    for (way, era) in wires() {
        let mut peer = Peer::start(&server, way, era).await;
        for name in
            ["at once", "after waiting", "one tool is layered", "dropped", "without words", "asks and panics"]
        {
            let site = SITES.iter().find(|site| site.name == name).unwrap();
            for _ in 0..300 {
                check(&mut peer, site, way, era).await;
            }
            peer.fence(None).await;
        }
        peer.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_panic_says_is_told_only_where_that_is_wanted() {
    be_loud();
    let server = sites::server(ErrorPolicy::Verbose, Dress::Bare);
    for (way, era) in wires() {
        let mut peer = Peer::start(&server, way, era).await;
        for name in ["at_once", "after_waiting", "owned"] {
            let (_, answer) = peer.call(name, json!({})).await;
            assert_eq!(answer["result"]["isError"], true, "{name}: {answer}");
            assert!(answer.to_string().contains(WORDS), "{name}: {answer}");
        }
        let (_, answer) = peer.call("no_words", json!({})).await;
        assert!(answer.to_string().contains("panicked: no message"), "{answer}");
        peer.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_may_be_an_error_of_the_protocol() {
    be_loud();
    let server = sites::server(ErrorPolicy::Rpc, Dress::Bare);
    for (way, era) in wires() {
        let mut peer = Peer::start(&server, way, era).await;
        let (_, answer) = peer.call("after_waiting", json!({})).await;
        assert_eq!(answer["error"]["code"], -32603, "{answer}");
        assert!(!answer.to_string().contains(WORDS), "{answer}");
        peer.end().await;
    }
}

fn wires() -> impl Iterator<Item = (Way, Era)> {
    [Way::Direct, Way::Pipe, Way::Http]
        .into_iter()
        .flat_map(|way| [Era::Handshake, Era::Stateless].map(|era| (way, era)))
}

/// Makes a site panic, if it can be reached here; returns the id of the call, which must have been answered.
async fn check(peer: &mut Peer, site: &Site, way: Way, era: Era) -> Option<Value> {
    let place = format!("{:?} on {way:?} {era:?}", site.name);
    let shape = (site.shape)(way, era)?;
    let params: Value = serde_json::from_str(site.params).unwrap();
    if shape == Shape::Silent {
        peer.notify(site.method, params).await;
        return Some(Value::Null);
    }
    let (id, answer) = peer.ask(site.method, params).await;
    let result = &answer["result"];
    match shape {
        Shape::Tool => assert_eq!(result["isError"], true, "{place}: {answer}"),
        Shape::Rpc => assert_eq!(answer["error"]["code"], -32603, "{place}: {answer}"),
        Shape::Right => assert_eq!(result["content"][0]["text"], "right", "{place}: {answer}"),
        Shape::Silent => unreachable!(),
    }
    assert!(!answer.to_string().contains(WORDS), "{place}: {answer}");
    if shape != Shape::Right && !site.is_told {
        assert!(answer.to_string().contains("reference"), "{place}: {answer}");
    }
    Some(id)
}

/// Installs a subscriber that formats every event, as most programs have, so that errors are displayed. Silences the
/// panics themselves, because there are thousands.
fn be_loud() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let payload = panic.payload();
            let text = payload.downcast_ref::<&str>().copied();
            let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            let is_ours = text.is_none_or(|text| text.contains(WORDS));
            if !is_ours {
                eprintln!("{panic}");
            }
        }));
        tracing_subscriber::registry().with(Writes).init();
    });
}

/// Formats every event, and discards it.
struct Writes;

impl<S: tracing::Subscriber> Layer<S> for Writes {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Text(String);
        impl Visit for Text {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                let _ = write!(self.0, "{field}={value:?} ");
            }
        }
        event.record(&mut Text(String::new()));
    }
}
