//! How are servers run? Texts for users go to stderr, messages to stdout, and nothing else is written.

use std::io::Read;
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::{Folder, Http, fixture, run, say, toolway};

fn demo() -> Command {
    let mut command = toolway();
    command.args(["serve", "--demo", "--http", "127.0.0.1:0"]);
    command
}

#[test]
fn the_demo_speaks_on_stdin_and_stdout_and_says_nothing_else() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count_words", "arguments": {"text": "a bc\nd"}}});
    let mut command = toolway();
    command.args(["serve", "--demo"]);
    let ran = run(command, &format!("{call}\n"));
    assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
    let reply: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(reply["result"]["structuredContent"], json!({"words": 3, "characters": 6, "lines": 2}));
}

#[test]
fn the_hints_of_the_demo_work_as_they_are_printed() {
    let mut demo = Http::start(demo());
    let hints = demo.hints_until("mcpServers");
    // The printed curl command works.
    let from = hints.find("curl ").unwrap();
    let to = hints[from..].find("\n\n").unwrap() + from;
    let output = Command::new("sh").args(["-c", &hints[from..to]]).output().unwrap();
    let reply: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    assert_eq!(reply["result"]["content"][0]["text"], "5");
    // The printed configuration for a host starts the demo over stdio.
    let entry = hints.lines().find(|line| line.contains("mcpServers")).unwrap();
    let entry: Value = serde_json::from_str(entry).unwrap();
    let server = &entry["mcpServers"]["toolway-demo"];
    let arguments: Vec<_> =
        server["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
    assert_eq!(server["command"], env!("CARGO_BIN_EXE_toolway"));
    let mut command = toolway();
    command.args(arguments);
    let ran = run(command, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    assert_eq!(ran.stdout, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
}

#[test]
fn an_address_in_use_is_named_with_a_way_out() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ran = say(&["serve", "--demo", "--http", &address]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    let words = ran.stderr;
    assert!(words.starts_with(&format!("toolway: cannot listen on {address}: ")), "{words}");
    assert!(words.contains("choose another address with --http ADDRESS"), "{words}");
}

#[test]
fn the_demo_serves_though_nobody_reads_its_hints() {
    // The test needs to know the address in advance, so it picks a free port. Another program may take the port first;
    // then the server ends with "address in use", and the test picks another one.
    let (ended, ran) = loop {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = toolway();
        let mut server =
            command.args(["serve", "--demo", "--http", &address]).stderr(writer).spawn().unwrap();
        let call = || say(&["call", &format!("http://{address}/mcp"), "add", "a=1", "b=2"]);
        let mut ran = call();
        // Retries until the server listens.
        while ran.code == Some(4) && server.try_wait().unwrap().is_none() {
            ran = call();
        }
        let ended = server.try_wait().unwrap();
        let _ = server.kill();
        let _ = server.wait();
        if ended.is_none_or(|status| status.code() != Some(1)) {
            break (ended, ran);
        }
    };
    assert_eq!((ended, &*ran.stdout), (None, "3\n"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_demo_well() {
    let mut demo = Http::start(demo());
    demo.hints_until("mcpServers");
    let status = Command::new("kill").args(["-INT", &demo.child.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert!(demo.child.wait().unwrap().success());
    let mut rest = String::new();
    demo.stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn an_authors_program_serves_itself() {
    let mut command = fixture();
    command.args(["serve", "--http", "127.0.0.1:0"]);
    let mut server = Http::start(command);
    let hints = server.hints_until("mcpServers");
    let entry: Value =
        serde_json::from_str(hints.lines().find(|line| line.contains("mcpServers")).unwrap()).unwrap();
    assert_eq!(entry["mcpServers"]["fixture"]["args"], json!(["serve"]));
    assert_eq!(say(&["call", &server.url, "add", "a=1", "b=2"]).stdout, "3\n");
}

#[test]
fn a_directory_is_served_on_a_pipe_and_over_http() {
    let folder = Folder::new();
    folder.write("shown/a.txt", "text of a");
    folder.write("shown/.env", "HIDDEN");
    folder.write("secret.txt", "SECRET");
    let shown = folder.0.join("shown");
    let shown = shown.to_str().unwrap();
    let call = |words: &[&str], more: &[&str]| {
        let mut command = toolway();
        command.args(words).arg("--").arg(env!("CARGO_BIN_EXE_toolway")).args(["serve", shown]).args(more);
        run(command, "")
    };
    assert_eq!(call(&["read", "files:///a.txt"], &[]).stdout, "text of a\n");
    assert_eq!(call(&["call", "read_file", "path=../secret.txt"], &[]).code, Some(5));
    assert_eq!(call(&["read", "files:///.env"], &[]).code, Some(2));
    assert_eq!(call(&["read", "files:///.env"], &["--all"]).stdout, "HIDDEN\n");
    assert_eq!(call(&["call", "write_file", "path=b", "content=x"], &[]).code, Some(2), "nothing writes");
    assert_eq!(
        call(&["call", "write_file", "path=b", "content=x"], &["--write"]).stdout,
        "wrote 1 bytes to `b`\n"
    );
    assert_eq!(std::fs::read_to_string(folder.0.join("shown/b")).unwrap(), "x");

    let mut command = toolway();
    command.current_dir(&folder.0).args(["serve", "shown", "--http", "127.0.0.1:0"]);
    let mut server = Http::start(command);
    let hints = server.hints_until("mcpServers");
    let entry: Value =
        serde_json::from_str(hints.lines().find(|line| line.contains("mcpServers")).unwrap()).unwrap();
    assert_eq!(
        entry["mcpServers"]["files"]["args"],
        json!(["serve", shown]),
        "a host starts it somewhere else"
    );
    assert_eq!(say(&["read", &server.url, "files:///a.txt"]).stdout, "text of a\n");
}

/// A disk that is full is played by a limit on the size of files.
#[cfg(unix)]
#[test]
fn a_write_that_fails_leaves_neither_half_a_file_nor_a_temporary_one() {
    let (shown, aside) = (Folder::new(), Folder::new());
    shown.write("old.txt", "old");
    let long = format!("content=@{}", aside.write("long.txt", &"x".repeat(1 << 20)));
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    for (path, overwrite) in [("path=new.txt", "overwrite=false"), ("path=old.txt", "overwrite=true")] {
        let mut command = toolway();
        command.args(["call", "write_file", path, overwrite, &long, "--", "sh", "-c", limited]);
        command.arg(env!("CARGO_BIN_EXE_toolway")).arg("serve").arg(&shown.0).arg("--write");
        let ran = run(command, "");
        assert_eq!(ran.code, Some(5), "{ran:?}");
        let left: Vec<_> =
            std::fs::read_dir(&shown.0).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["old.txt"], "{ran:?}");
        assert_eq!(std::fs::read_to_string(shown.0.join("old.txt")).unwrap(), "old");
    }
}
