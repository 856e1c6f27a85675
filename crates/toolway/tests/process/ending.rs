//! How are servers ended? Nothing of them remains, whatever they do.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{WaitId, WaitIdOptions, waitid};
use serde_json::json;
use toolway::ErrorKind;

use super::*;

#[tokio::test]
async fn closing_waits_until_the_server_is_gone() {
    // If it were terminated or killed, the status would not be 0. The timeout is too long for that.
    let patient = |command: Command| command.close_timeout(Duration::from_secs(10 * 60));
    let fixture = Fixture::new("serve").with(patient);
    let (client, transport) = fixture.connect_kept().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    soon(client.close()).await.unwrap();
    process.is_reaped();
    assert!(!transport.is_connected());
    assert!(transport.diagnosis().unwrap().ends_with("serve` ended with exit status 0"));
    soon(transport.close()).await.unwrap();
}

#[tokio::test]
async fn calls_that_wait_learn_of_the_end() {
    let fixture = Fixture::new("serve");
    let client = fixture.connect().await;
    let asking = client.clone();
    let mut pending = tokio_test_call(asking, "never");
    // The call is sent once it was polled, and the next one is answered after it.
    soon(async {
        tokio::select! {
            biased;
            _ = &mut pending => panic!("it is never answered"),
            result = client.call("echo", json!({})) => result.unwrap(),
        }
    })
    .await;
    let clone = client.clone();
    soon(client.close()).await.unwrap();
    let error = soon(pending).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.is_reply_lost());
    tells(&error, &["the connection was closed"]);
    let error = soon(clone.call("echo", json!({}))).await.unwrap_err();
    assert!(error.is_session_ended());
    tells(&error, &["the client is closed"]);
}

type Calling =
    std::pin::Pin<Box<dyn Future<Output = toolway::Result<toolway::types::CallToolResult>> + Send>>;

fn tokio_test_call(client: Client, tool: &'static str) -> Calling {
    Box::pin(async move { client.call(tool, json!({})).await.map(Into::into) })
}

#[tokio::test]
async fn a_server_that_heeds_nothing_is_killed() {
    for mode in ["stubborn", "parent", "hang", "deaf", "flood-stderr", "junk"] {
        let fixture = Fixture::stubborn(mode);
        let transport = fixture.reach().await;
        let processes = fixture.wait_for(if mode == "parent" { 2 } else { 1 }).await;
        soon(transport.close()).await.unwrap();
        for process in processes {
            process.is_reaped();
            process.gone().await;
        }
    }
}

#[tokio::test]
async fn a_server_that_heeds_sigterm_is_asked_first() {
    let fixture = Fixture::new("stubborn");
    let (client, transport) = fixture.connect_kept().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    soon(client.close()).await.unwrap();
    process.is_reaped();
    let diagnosis = transport.diagnosis().unwrap();
    assert!(diagnosis.ends_with("stubborn` was killed by signal 15; its stderr: not going"), "{diagnosis}");
}

#[tokio::test]
async fn a_server_may_say_much_before_it_ends() {
    let fixture =
        Fixture::new("talkative").with(|command| command.close_timeout(Duration::from_secs(10 * 60)));
    let (client, transport) = fixture.connect_kept().await;
    soon(client.close()).await.unwrap();
    let diagnosis = transport.diagnosis().unwrap();
    assert!(diagnosis.ends_with("ended with exit status 0; its stderr: said it all"), "{diagnosis}");
}

#[tokio::test]
async fn whoever_a_server_has_started_ends_with_it() {
    for fixture in [Fixture::new("parent"), Fixture::stubborn("parent")] {
        let client = fixture.connect().await;
        let processes = fixture.wait_for(2).await;
        soon(client.close()).await.unwrap();
        for process in processes {
            process.gone().await;
        }
    }
}

/// The ways in which a server can start a process that leaves its group.
const LEAVING: [&str; 3] = ["leave", "leave-bare", "leave-orphan"];

#[tokio::test]
async fn a_process_that_left_the_group_of_its_server_ends_with_it() {
    for mode in LEAVING {
        for fixture in [Fixture::new(mode), Fixture::stubborn(mode)] {
            let client = fixture.connect().await;
            let processes = fixture.wait_for_sessions(2).await;
            soon(client.close()).await.unwrap();
            let left = fixture.processes();
            for process in &left {
                process.kill();
            }
            assert!(left.is_empty(), "{mode}: closing waits for {processes:?}, but {left:?} ran");
        }
    }
}

#[tokio::test]
async fn a_process_that_left_the_group_ends_when_the_client_is_dropped_or_the_server_dies() {
    for mode in LEAVING {
        let fixture = Fixture::stubborn(mode);
        let client = fixture.connect().await;
        let processes = fixture.wait_for_sessions(2).await;
        drop(client);
        for process in processes {
            process.gone().await;
        }
    }
    let fixture = Fixture::stubborn("leave");
    let client = fixture.connect().await;
    let processes = fixture.wait_for_sessions(2).await;
    let own = soon(client.call("pid", json!({}))).await.unwrap();
    Process(own.first_text().unwrap().parse().unwrap()).kill();
    for process in processes {
        process.gone().await;
    }
}

#[test]
fn a_runtime_that_ends_takes_processes_that_left_the_group_with_it() {
    let fixture = Fixture::stubborn("leave-orphan");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(fixture.connect());
    let processes = runtime.block_on(fixture.wait_for_sessions(2));
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(async {
        for process in processes {
            process.gone().await;
        }
    });
    drop(client);
}

#[tokio::test]
async fn a_process_of_somebody_else_is_left_alone() {
    let fixture = Fixture::new("leave");
    let client = fixture.connect().await;
    fixture.wait_for_sessions(2).await;
    // They are younger than the server, as its descendants are, and their environments look like theirs.
    let bystander = |mark: &str| {
        let mut command = std::process::Command::new(crate::path());
        command.arg("leaver").env("TOOLWAY_SERVER_MARK", mark).spawn().unwrap()
    };
    let mut bystanders = [bystander(""), bystander(&"0".repeat(32))];
    let closed = soon(client.close()).await;
    let endings = bystanders.each_mut().map(|bystander| {
        let ending = bystander.try_wait().unwrap();
        let _ = bystander.kill();
        bystander.wait().unwrap();
        ending
    });
    assert_eq!(endings, [None, None], "they still ran");
    assert!(closed.is_ok() && fixture.processes().is_empty());
}

#[tokio::test]
async fn dropping_a_client_leaves_nothing_behind() {
    for (fixture, count) in [
        (Fixture::new("serve"), 1),
        (Fixture::new("stubborn"), 1),
        (Fixture::stubborn("stubborn"), 1),
        (Fixture::stubborn("parent"), 2),
        (Fixture::stubborn("deaf"), 1),
    ] {
        let client = fixture.connect().await;
        let processes = fixture.wait_for(count).await;
        let mut pending = tokio_test_call(client.clone(), "never");
        assert!(soon(poll_once(&mut pending)).await.is_none());
        drop((client, pending));
        for process in processes {
            process.gone().await;
        }
    }
}

async fn poll_once<T>(future: &mut (impl Future<Output = T> + Unpin)) -> Option<T> {
    tokio::select! {
        biased;
        value = future => Some(value),
        () = std::future::ready(()) => None,
    }
}

/// A call that is stuck in the pipe does not block closing.
#[tokio::test]
async fn a_server_that_does_not_read_can_be_left() {
    let large = "x".repeat(100_000);
    let fixture = Fixture::stubborn("deaf");
    let client = fixture.connect().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    let mut calls = Vec::new();
    for _ in 0..100 {
        let (client, large) = (client.clone(), large.clone());
        calls.push(tokio::spawn(
            async move { client.call("echo", json!({"text": large})).await.unwrap_err() },
        ));
    }
    let dropped = calls.split_off(50);
    for call in &dropped {
        call.abort();
    }
    for call in dropped {
        assert!(soon(call).await.is_err());
    }
    soon(client.close()).await.unwrap();
    process.is_reaped();
    let mut sent = 0;
    for call in calls {
        let error = soon(call).await.unwrap();
        assert!(error.is_reply_lost() != error.is_unsent(), "{error:?}");
        sent += usize::from(error.is_reply_lost());
    }
    assert!(sent <= 1, "only the first can have been begun");
}

#[tokio::test]
async fn closing_that_is_given_up_goes_on() {
    let fixture = Fixture::stubborn("stubborn");
    let transport = fixture.reach().await;
    let [process] = fixture.wait_for(1).await[..] else { panic!() };
    assert!(poll_once(&mut transport.close()).await.is_none());
    process.gone().await;
    soon(transport.close()).await.unwrap();
    process.is_reaped();
}

#[test]
fn a_runtime_that_ends_takes_its_servers_with_it() {
    let fixture = Fixture::stubborn("parent");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(fixture.connect());
    let processes = runtime.block_on(fixture.wait_for(2));
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(async {
        for process in processes {
            process.gone().await;
        }
        let error = soon(client.call("echo", json!({}))).await.unwrap_err();
        assert!(error.is_unsent());
        tells(&error, &["was ended: the runtime it belonged to was shut down"]);
        soon(client.close()).await.unwrap();
    });
}

#[test]
fn a_client_may_be_dropped_while_nobody_drives_its_runtime() {
    let fixture = Fixture::new("stubborn");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let client = runtime.block_on(fixture.connect());
    let [process] = runtime.block_on(fixture.wait_for(1))[..] else { panic!() };
    drop(client);
    let pid = Pid::from_raw(process.0).unwrap();
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
    drop(runtime);
    let other = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    other.block_on(process.gone());
}

#[tokio::test]
async fn what_listens_may_panic() {
    let lines = Arc::new(Mutex::new(0));
    let heard = lines.clone();
    let fixture = Fixture::new("stubborn").with(|command| {
        command.on_stderr(move |_| {
            *heard.lock().unwrap() += 1;
            panic!("a test");
        })
    });
    let client = fixture.connect().await;
    soon(client.close()).await.unwrap();
    assert_eq!(*lines.lock().unwrap_or_else(std::sync::PoisonError::into_inner), 1);
}
