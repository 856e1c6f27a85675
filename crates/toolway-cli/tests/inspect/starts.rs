//! What can an inspector be started with: one server, all of a file, an author's own program, and which port does it take?

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Folder, fixture, fixture_http, fixture_path, say, toolway};

#[test]
fn the_demo_needs_no_server() {
    let inspected = Inspected::start(&["--demo"]);
    let server = inspected.ready();
    assert_eq!(
        (&server["info"]["name"], &server["over"]),
        (&json!("toolway-demo"), &json!("pipe")),
        "{server}"
    );
    assert_eq!(inspected.call("add", &json!({"a": 2, "b": 3}))["blocks"][0]["text"], "5");
    for other in [&["--demo", "--config", "mcp.json"][..], &["--demo", "--", "server"]] {
        assert_eq!(say(&[&["inspect"], other].concat()).code, Some(1), "{other:?}");
    }
}

#[test]
fn all_servers_of_a_file_are_shown_as_a_hub() {
    let folder = Folder::new();
    let http = fixture_http();
    let program = fixture_path();
    let servers = json!({"mcpServers": {
        "near": {"command": program, "args": ["serve"]},
        "far": {"url": http.url},
        "gone": {"command": folder.0.join("no-such-program"), "args": []},
        "off": {"command": program, "args": ["serve"], "disabled": true},
    }});
    let file = folder.write("mcp.json", &servers.to_string());
    let inspected = Inspected::start(&["--config", &file]);
    let mut events = inspected.events();
    let mut waiting = 3;
    while waiting > 0 {
        let event = events.next();
        let is_failed = event["type"] == "connection" && event["connection"]["state"] == "failed";
        waiting -= i32::from(is_failed || event["type"] == "catalog");
    }
    let state = inspected.state();
    assert_eq!(state["mode"], "hub");
    let names: Vec<_> =
        state["servers"].as_array().unwrap().iter().map(|server| server["name"].clone()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    let number = |name: &str| names.iter().position(|known| known == name).unwrap();
    let gone = &state["servers"][number("gone")]["connection"];
    assert_eq!(gone["state"], "failed", "{gone}");
    let hub = inspected.get("/api/hub");
    let row = |name: &str| {
        hub["servers"]
            .as_array()
            .unwrap()
            .iter()
            .find(|row| row["name"] == name)
            .unwrap_or(&Value::Null)
            .clone()
    };
    assert_eq!((&row("near")["state"], &row("far")["state"]), (&json!("ready"), &json!("ready")), "{hub}");
    assert_ne!(row("gone")["state"], "ready");
    assert!(!row("gone")["error"].as_str().unwrap().is_empty(), "{hub}");
    let tools = row("near")["tools"].as_u64().unwrap();
    let openai = |name: &str| row(name)["tokens"]["openai"].as_u64().unwrap();
    assert_eq!(hub["tokens"]["openai"].as_u64().unwrap(), openai("near") + openai("far"));
    let shown = hub["names"].as_array().unwrap();
    assert_eq!(shown.len() as u64, 2 * tools, "{hub}");
    let name = |server: &str, name: &str| {
        let found = shown.iter().find(|one| one["server"] == server && one["name"] == name);
        found.unwrap_or_else(|| panic!("{server} {name}: {shown:?}"))["shown"].clone()
    };
    assert_ne!(name("near", "add"), name("far", "add"), "the hub tells them apart");
    let collisions = hub["collisions"].as_array().unwrap();
    let add = collisions.iter().find(|one| one["name"] == "add").unwrap();
    assert_eq!(add["servers"].as_array().unwrap().len(), 2);
    for server in ["near", "far"] {
        let call = inspected.begin(
            &json!({"server": number(server), "kind": "tool", "name": "add", "arguments": "{\"a\":1,\"b\":2}"}),
        );
        assert_eq!(inspected.over(call)["blocks"][0]["text"], "3", "{server}");
    }
    let single = Inspected::fixture(&["serve"]);
    let (status, reply) = single.ask("GET", "/api/hub", &Value::Null);
    assert_eq!(status, 404);
    assert!(reply["error"]["message"].as_str().unwrap().contains("--config"), "{reply}");
}

#[test]
fn one_server_of_a_file_is_looked_at_by_its_name() {
    let folder = Folder::new();
    let servers = json!({"mcpServers": {"near": {"command": fixture_path(), "args": ["serve"]}, "x": {"url": "http://127.0.0.1:1"}}});
    let file = folder.write("mcp.json", &servers.to_string());
    let inspected = Inspected::start(&["near", "--config", &file]);
    inspected.ready();
    assert_eq!(inspected.state()["mode"], "server");
    assert_eq!(inspected.server(0)["over"], "pipe");
    let ran = say(&["inspect", "nope", "--config", &file, "--port", "0"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn a_server_of_a_project_is_not_started_without_a_question() {
    let folder = Folder::new();
    let mark = folder.0.join("started");
    let servers = json!({"mcpServers": {"near": {"command": "touch", "args": [mark]}}});
    folder.write(".mcp.json", &servers.to_string());
    let mut command = toolway();
    command.args(["inspect", "near", "--json", "--port", "0"]).current_dir(&folder.0);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(!mark.exists());
}

#[test]
fn an_authors_own_program_inspects_itself() {
    let mut command = fixture();
    command.args(["inspect", "--json", "--port", "0"]);
    let inspected = Inspected::of(command);
    let server = inspected.ready();
    assert_eq!((&server["name"], &server["over"]), (&json!("fixture"), &json!("memory")));
    assert_eq!(server["can"]["cut"], false);
    assert_eq!(inspected.call("add", &json!({"a": 1, "b": 2}))["blocks"][0]["text"], "3");
    let (status, error) = inspected.refused("/api/cut", &json!({"server": 0}));
    assert_eq!(status, 400);
    assert!(error["message"].as_str().unwrap().contains("same process"), "{error}");
    inspected.post("/api/revision", &json!({"server": 0, "revision": "2025-11-25"}));
    inspected
        .events()
        .until(|event| event["revision"] == "2025-11-25" && event["connection"]["state"] == "ready");
    let call = inspected.call("add", &json!({"a": 2, "b": 2}));
    assert_eq!(call["blocks"][0]["text"], "4");
    assert!(inspected.export(&call["id"], "rust").contains("server()"));
}

#[test]
fn a_port_that_is_taken_is_named_with_a_way_out() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let fixture = fixture_path();
    let ran = say(&["inspect", "--json", "--port", &port, "--", fixture.to_str().unwrap(), "serve"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert!(ran.stderr.contains(&format!("the port {port} cannot be used")), "{}", ran.stderr);
    assert!(ran.stderr.contains("leave out --port"), "{}", ran.stderr);
}

#[test]
fn without_a_port_a_second_inspector_takes_another_one() {
    let start = || {
        let mut command = toolway();
        command.args(["inspect", "--json", "--"]).arg(fixture_path()).arg("serve");
        Inspected::of(command)
    };
    // Whether the first one has the usual port or not: another program may have it.
    let (first, second) = (start(), start());
    assert_ne!(first.address, second.address);
    for inspected in [first, second] {
        assert!(inspected.address.starts_with("127.0.0.1:"), "{}", inspected.address);
        inspected.ready();
    }
}

#[test]
fn only_this_machine_can_connect() {
    let inspected = Inspected::fixture(&["serve"]);
    let port: u16 = inspected.address.rsplit(':').next().unwrap().parse().unwrap();
    // The port is free on the other addresses of this machine.
    TcpListener::bind(("127.0.0.2", port)).unwrap();
    inspected.ready();
}

#[test]
fn a_mistake_on_the_command_line_ends_it_at_once() {
    for words in [&["inspect", "--port", "70000", "x"][..], &["inspect"], &["inspect", "no-such-server"]] {
        let ran = say(words);
        assert_ne!(ran.code, Some(0), "{words:?}");
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
}

#[test]
fn the_program_of_the_server_ends_with_the_inspector() {
    let folder = Folder::new();
    let pid = folder.0.join("pid");
    let mut command = toolway();
    command.args(["inspect", "--json", "--port", "0", "--", "sh", "-c"]);
    command.arg("echo $$ > \"$0\"; exec \"$1\" serve").arg(&pid).arg(fixture_path());
    let mut inspected = Inspected::of(command);
    inspected.ready();
    let server = std::fs::read_to_string(&pid).unwrap();
    assert_eq!(inspected.interrupt(), Some(0));
    // The inspector has waited for the end of its child.
    let is_running = Command::new("kill").args(["-0", server.trim()]).stderr(Stdio::null()).status().unwrap();
    assert!(!is_running.success(), "the server {server} still runs");
}
