//! Do the logs say what happened, without credentials?

use std::fmt::{Debug, Write};
use std::sync::{Arc, Mutex};

use toolway_store::StoreFailure;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::server::{Server, eventually, is_missing};
use crate::steps::{done, failure, patient, put};

#[tokio::test]
async fn logs_name_the_server_and_never_the_user() {
    if is_missing() {
        return;
    }
    let text = Arc::new(Mutex::new(String::new()));
    // All tasks of this test run on its thread.
    let _guard = tracing::subscriber::set_default(tracing_subscriber::registry().with(Capture(text.clone())));
    let server = Server::start(&[]);
    let rights = ["~tw1:*", "resetchannels", "&tw1:*", "+@all"];
    let (): () = server.query(&[&["ACL", "SETUSER", "alice", "on", ">hunter2"], &rights[..]].concat()).await;
    let url = server.url().replace("redis://", "redis://alice:hunter2@");
    let store = patient(url).timeout(std::time::Duration::from_millis(500)).connect().await.unwrap();
    done(&store, &put("key", "value")).await;
    for change in [["-info", "+ping"], ["+info", ">changed"], ["<hunter2", "+ping"]] {
        let (): () = server.query(&["ACL", "SETUSER", "alice", change[0], change[1]]).await;
        // Closes the connections of this user only.
        let _: u32 = server.query(&["CLIENT", "KILL", "USER", "alice"]).await;
        if change[0] == "+info" {
            eventually("the store works again", async || crate::steps::get(&store, "key").await.is_ok())
                .await;
        } else {
            eventually("the store has given up for now", async || {
                failure(&store, &put("key", "value")).await == StoreFailure::NotDone
                    && text.lock().unwrap().contains("until a probe has connected")
            })
            .await;
            let error = store_error(&store).await;
            assert!(!error.contains("alice") && !error.contains("hunter2"), "{error}");
            text.lock().unwrap().push_str("(seen)");
        }
    }
    let text = text.lock().unwrap();
    assert!(text.contains("lost the connection to Redis") && text.contains("127.0.0.1"), "{text}");
    assert!(!text.contains("alice") && !text.contains("hunter2"), "{text}");
}

async fn store_error(store: &toolway_redis::Redis) -> String {
    let error = toolway_store::Store::run(store, "group", &put("key", "value")).await.unwrap_err();
    format!("{error} {error:?}")
}

/// Keeps the events of the store as text.
struct Capture(Arc<Mutex<String>>);

impl<S: tracing::Subscriber> Layer<S> for Capture {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("toolway_redis") {
            event.record(&mut Line(&mut self.0.lock().unwrap()));
        }
    }
}

struct Line<'t>(&'t mut String);

impl Visit for Line<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        writeln!(self.0, "{field}: {value:?}").unwrap();
    }
}
