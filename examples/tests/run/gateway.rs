//! Does the example `gateway_in_20_lines` join servers, and is it as short as it says?

use serde_json::json;
use toolway::Client;
use toolway::client::Command;

use super::{call, program};

#[tokio::test]
async fn two_servers_of_its_own_are_one() {
    let client = Client::connect(Command::new(program("gateway_in_20_lines"))).await.unwrap();
    let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["calc__add", "text__shout"]);
    assert_eq!(call(&client, "calc__add", json!({"a": 2, "b": 3})).await, "5");
    assert_eq!(call(&client, "text__shout", json!({"text": "hello"})).await, "HELLO");
    client.close().await.unwrap();
}

#[tokio::test]
async fn the_servers_of_a_file_are_one() {
    let folder = std::env::temp_dir().join(format!("toolway-example-gateway-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    let servers = json!({"mcpServers": {
        "hello": {"command": program("hello")},
        "notes": {"command": program("notes")},
    }});
    std::fs::write(&file, servers.to_string()).unwrap();
    let gateway = Command::new(program("gateway_in_20_lines")).arg(&file);
    let client = Client::connect(gateway).await.unwrap();
    assert_eq!(call(&client, "hello__add", json!({"a": 2, "b": 3})).await, "5");
    call(&client, "notes__save", json!({"title": "Milk", "body": "Two bottles."})).await;
    let index = client.read_resource("notes://index").await.unwrap();
    assert_eq!(index.text(), Some(r#"[{"id":1,"title":"Milk"}]"#));
    client.close().await.unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn it_is_as_short_as_it_says() {
    let source = include_str!("../../examples/gateway_in_20_lines.rs");
    let main = source.lines().skip_while(|line| !line.contains("fn main")).take_while(|line| *line != "}");
    let lines = main.count() + 1;
    assert!(lines <= 20, "{lines} lines");
}
