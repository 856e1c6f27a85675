//! Can servers of two formats share the data, and is data of other formats refused?

use toolway_redis::Redis;
use toolway_store::StoreFailure;

use crate::server::{Server, eventually, is_missing};
use crate::steps::{done, get, patient, put};

#[tokio::test]
async fn a_store_reads_its_own_format_and_the_former_one() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    for (number, remedy) in [
        ("1", Some("replace all servers by a version with format 2")),
        ("2", None),
        ("3", None),
        ("4", Some("use the version that wrote it")),
        ("many", Some("use another prefix")),
    ] {
        let (): () = server.query(&["FLUSHALL"]).await;
        let (): () = server.query(&["SET", FORMAT, number]).await;
        match (patient(server.url()).format(3).connect().await, remedy) {
            (Ok(_), None) => {}
            (Err(error), Some(remedy)) => {
                assert_eq!(error.setting(), "prefix");
                let text = error.to_string();
                let parts = [&format!("format {number:?}"), "reads the formats 2 and 3", remedy];
                assert!(parts.iter().all(|part| text.contains(part)), "{text}");
                assert_eq!(server.query::<String>(&["GET", FORMAT]).await, number, "it is not changed");
            }
            (outcome, _) => panic!("{number}: {outcome:?}"),
        }
    }
}

#[tokio::test]
async fn the_format_is_raised_when_no_server_of_the_former_one_is_left() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let former = patient(server.url()).format(1).connect().await.unwrap();
    done(&former, &put("key", "value")).await;
    let next = patient(server.url()).format(2).connect().await.unwrap();
    // An operator may go back while there are servers of both.
    let again = patient(server.url()).format(1).connect().await.unwrap();
    assert_eq!(get(&next, "key").await.unwrap().unwrap(), "value");
    done(&next, &put("key", "next")).await;
    assert_eq!(get(&again, "key").await.unwrap().unwrap(), "next");
    assert_eq!((format_of(&next), server.query::<u32>(&["GET", FORMAT]).await), (1, 1));
    drop((former, again));
    leave(&server, 1).await;
    let last = patient(server.url()).format(2).connect().await.unwrap();
    assert_eq!((format_of(&last), server.query::<u32>(&["GET", FORMAT]).await), (2, 2));
    reconnect(&server).await;
    eventually("the other server knows", async || format_of(&next) == 2).await;
    assert_eq!(get(&next, "key").await.unwrap().unwrap(), "next");
    let error = patient(server.url()).format(1).connect().await.unwrap_err();
    assert!(error.to_string().contains("use the version that wrote it"), "{error}");
    let third = patient(server.url()).format(3).connect().await.unwrap();
    assert_eq!(format_of(&third), 2);
}

#[tokio::test]
async fn a_server_that_was_cut_off_during_an_upgrade_does_no_more_steps() {
    if is_missing() {
        return;
    }
    let server = Server::start(&[]);
    let former = patient(server.url()).format(1).connect().await.unwrap();
    // As it is after the entry has expired.
    leave(&server, 1).await;
    let next = patient(server.url()).format(2).connect().await.unwrap();
    assert_eq!(format_of(&next), 2);
    reconnect(&server).await;
    eventually(
        "the former server refuses steps",
        async || matches!(get(&former, "key").await, Err(error) if error.failure() == StoreFailure::Broken),
    )
    .await;
    let error = get(&former, "key").await.unwrap_err();
    assert!(error.to_string().contains("replace it as well"), "{error}");
    done(&next, &put("key", "value")).await;
}

#[tokio::test]
async fn a_format_that_redis_has_lost_is_written_again_as_it_was() {
    if is_missing() {
        return;
    }
    let mut server = Server::start(&[]);
    let former = patient(server.url()).format(1).connect().await.unwrap();
    let next = patient(server.url()).format(2).connect().await.unwrap();
    server.kill();
    server.start_again();
    eventually("both servers are known again", async || {
        let ids: Vec<String> = server.query(&["HKEYS", SERVERS]).await;
        ids.iter().filter(|id| *id != "lost").count() == 2
    })
    .await;
    assert_eq!(server.query::<u32>(&["GET", FORMAT]).await, 1);
    done(&former, &put("key", "value")).await;
    assert_eq!(get(&next, "key").await.unwrap().unwrap(), "value");
    // A fail-over may have lost that the format was raised.
    drop(former);
    leave(&server, 1).await;
    reconnect(&server).await;
    eventually("the format is raised", async || format_of(&next) == 2).await;
    let (): () = server.query(&["SET", FORMAT, "1"]).await;
    reconnect(&server).await;
    eventually("the format is 2 again", async || server.query::<u32>(&["GET", FORMAT]).await == 2).await;
}

/// Returns the format in which a store writes.
fn format_of(store: &Redis) -> u32 {
    let text = format!("{store:?}");
    let (_, number) = text.split_once("format: ").unwrap();
    number.split(|letter: char| !letter.is_ascii_digit()).next().unwrap().parse().unwrap()
}

/// Makes the entries of all servers of a format expire.
async fn leave(server: &Server, format: u32) {
    let entries: Vec<(String, String)> = server.query(&["HGETALL", SERVERS]).await;
    for (id, entry) in entries {
        if entry.starts_with(&format!("{format}:")) {
            let (): () = server.query(&["HSET", SERVERS, &id, &format!("{format}:0")]).await;
        }
    }
}

/// Cuts the connections of all stores. A store that has connected again looks at the format.
async fn reconnect(server: &Server) {
    let _: u32 = server.query(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
}

const FORMAT: &str = "tw1:{c}format";
const SERVERS: &str = "tw1:{c}servers";
