//! Do the logs say what happened, without credentials?

use toolway_store::Store;

use crate::events::EVENTS;
use crate::server::{Server, eventually, is_missing};
use crate::steps::{done, get, patient, put};

#[tokio::test]
async fn logs_name_the_server_and_never_the_user() {
    if is_missing() {
        return;
    }
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
            eventually("the store works again", async || get(&store, "key").await.is_ok()).await;
            continue;
        }
        eventually("the store has given up for now", async || {
            let Err(error) = store.run("group", &put("key", "value")).await else { return false };
            let text = format!("{error} {error:?}");
            assert!(!text.contains("alice") && !text.contains("hunter2"), "{text}");
            text.contains("several times in a row")
        })
        .await;
    }
    let events = EVENTS.lock().unwrap();
    let address = format!("127.0.0.1:{}", server.port);
    assert!(
        events.iter().any(|event| event.contains("lost the connection") && event.contains(&address)),
        "{events:?}"
    );
    assert!(!events.iter().any(|event| event.contains("alice") || event.contains("hunter2")), "{events:?}");
}
