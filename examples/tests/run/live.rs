//! Does the example `live` change while it runs, and is its client notified?

use std::process::Output;

use serde_json::json;
use tokio::process::Command;
use toolway::client::Notification;

use super::{PATIENCE, call, next, program, start_session};

#[tokio::test]
async fn a_client_sees_sensors_come_and_go() {
    let watching = Command::new(program("live")).arg("watch").kill_on_drop(true).output();
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, watching).await.expect("it ends").unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let text = String::from_utf8(stdout).unwrap();
    let mut lines: Vec<_> = text.lines().collect();
    // The two lists change one after the other, and their notifications may arrive in either order.
    lines[1..3].sort_unstable();
    lines[5..7].sort_unstable();
    let expected = [
        "rain is plugged in",
        "2 resources",
        "tools: plug, unplug, mine, read_rain",
        "station://rain has changed",
        "rain is unplugged",
        "1 resources",
        "tools: plug, unplug, mine",
        "mine: rain",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn sensors_are_tools_and_resources_that_change() {
    let (client, _child) = start_session("live").await;
    let mut news = client.notifications();
    assert_eq!(call(&client, "plug", json!({"sensor": "wind"})).await, "wind is plugged in");
    client.subscribe("station://wind").await.unwrap();
    while !matches!(next(&mut news).await, Notification::ResourceUpdated(told) if told.uri == "station://wind")
    {
    }
    assert!(call(&client, "read_wind", json!({})).await.starts_with("wind: "));
    let read = client.read_resource("station://wind").await.unwrap();
    assert!(read.text().unwrap().starts_with("wind: "));
    let twice = client.call("plug", json!({"sensor": "wind"})).await.unwrap();
    assert_eq!((twice.is_error(), twice.first_text()), (true, Some("wind is plugged in already")));
    assert_eq!(call(&client, "mine", json!({})).await, "wind");
    assert_eq!(call(&client, "unplug", json!({"sensor": "wind"})).await, "wind is unplugged");
    assert!(client.call("read_wind", json!({})).await.is_err());
}
