//! What is printed, and with which exit code, when something goes wrong?

use std::io::Read;

use serde_json::Value;

use crate::stage::{Closed, Ran, fixture_path, listen, on_fixture, own, run, say, toolway, web};

/// Every kind of failure: the command line, the exit code, and the error code for programs.
fn failures(closed: &Closed) -> Vec<(Vec<String>, i32, &'static str)> {
    let fixture = fixture_path().to_str().unwrap().to_owned();
    let closed = format!("http://{}/mcp", closed.address);
    let unauthorized = format!("http://{}/mcp", web("401 Unauthorized", "text/plain", "who are you?"));
    let forbidden = format!("http://{}/mcp", web("403 Forbidden", "text/plain", "not you"));
    let page = format!("http://{}/", web("200 OK", "text/html", "<html>"));
    let silent = format!("http://{}/mcp", listen(|mut stream| drop(stream.read_to_end(&mut Vec::new()))));
    let on = |words: &[&str], server: &[&str]| {
        let words = words.iter().chain(&["--"]).chain(server);
        words.map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    let to = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    vec![
        // 1: the command line
        (to(&["list"]), 1, "usage"),
        (to(&["list", "http://"]), 1, "usage"),
        (to(&["list", &closed, "more"]), 4, "unreachable"),
        (to(&["list", &closed, "--header", "nothing"]), 1, "usage"),
        (to(&["list", &closed, "--env", "A=b"]), 1, "usage"),
        (on(&["list", "--bearer", "x"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["list", "--env", "NOT_SET_ANYWHERE"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["list", "more"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "a=1"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "a=x", "b=1"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "c=1"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "a"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "{"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["call", "add", "--input-json", "@/no/file"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["read"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["read", "fixture://about", "more"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["read", "fixture://about", "-o", "/no/such/folder/x"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["prompt"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["prompt", "sights"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["complete", "prompt"], &[&fixture, "serve"]), 1, "usage"),
        (on(&["complete", "tool", "add", "a"], &[&fixture, "serve"]), 1, "usage"),
        // 2: nothing with this name
        (to(&["list", "weather"]), 2, "not_found"),
        (to(&["list", "localhost:8000/mcp"]), 2, "not_found"),
        (to(&["list", "ftp://example.com"]), 2, "not_found"),
        (on(&["list"], &["no-such-program-anywhere"]), 2, "not_found"),
        (on(&["call", "ad"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["read", "fixture://abuot"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["read", "fixture://city/Atlantis"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["prompt", "sight"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["complete", "prompt", "sight", "city"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["complete", "prompt", "sights", "ctiy"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["complete", "template", "cty", "name"], &[&fixture, "serve"]), 2, "not_found"),
        (on(&["prompt", "x"], &[&fixture, "no-list"]), 2, "not_found"),
        (on(&["read", "x"], &[&fixture, "no-list"]), 2, "not_found"),
        // 3: authentication is required
        (to(&["list", &unauthorized]), 3, "auth_required"),
        (to(&["list", &forbidden]), 3, "auth_required"),
        // 4: nothing listens there
        (to(&["list", &closed]), 4, "unreachable"),
        (to(&["list", "http://nowhere.invalid/mcp"]), 4, "unreachable"),
        (to(&["list", &page]), 4, "unreachable"),
        (to(&["list", "--timeout", "0.3", &silent]), 4, "unreachable"),
        (on(&["list"], &[&fixture, "die"]), 4, "cannot_start"),
        (on(&["list"], &["/"]), 4, "cannot_start"),
        (on(&["list", "--timeout", "0.3"], &[&fixture, "silent"]), 4, "unreachable"),
        (on(&["list", "--timeout", "0.3"], &[&fixture, "rubbish"]), 4, "unreachable"),
        (on(&["list"], &[&fixture, "incompatible"]), 4, "unreachable"),
        // 5: the server answers with an error
        (on(&["call", "fail", "reason=because"], &[&fixture, "serve"]), 5, "tool_error"),
        (on(&["call", "add", "{}"], &[&fixture, "serve"]), 5, "tool_error"),
        (on(&["call", "book"], &[&fixture, "serve"]), 5, "tool_error"),
        (on(&["list"], &[&fixture, "no-list"]), 5, "tool_error"),
    ]
}

#[test]
fn every_failure_has_its_code_says_something_and_leaves_stdout_alone() {
    let closed = Closed::new();
    for (words, code, _) in failures(&closed) {
        let mut command = toolway();
        command.args(&words);
        let Ran { code: given, stdout, stderr } = run(command, "");
        assert_eq!(given, Some(code), "{words:?}: {stderr}");
        assert_eq!(stdout, "", "{words:?}");
        assert!(stderr.contains("toolway: "), "{words:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
}

#[test]
fn programs_get_one_line_of_json_for_every_failure() {
    let closed = Closed::new();
    for (mut words, code, name) in failures(&closed) {
        words.insert(1, "--json".to_owned());
        let mut command = toolway();
        command.args(&words);
        let Ran { code: given, stdout, stderr } = run(command, "");
        assert_eq!(given, Some(code), "{words:?}: {stderr}");
        let line = stderr.lines().last().unwrap_or_default();
        let envelope: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{words:?}: {error}: {stderr}"));
        assert_eq!(envelope["error"]["code"], name, "{words:?}");
        assert!(envelope["error"]["message"].as_str().is_some_and(|message| !message.is_empty()));
        // A tool that failed has sent a result, which a program may want to read.
        let is_result = code == 5 && words[0] == "call";
        assert_eq!(!stdout.is_empty(), is_result, "{words:?}: {stdout}");
        if is_result {
            let result: Value = serde_json::from_str(&stdout).unwrap();
            assert_eq!(result["isError"], true);
        }
    }
}

#[test]
fn a_wrong_command_line_is_a_usage_error() {
    for words in [
        &[][..],
        &["lits"],
        &["list", "--no-such-option"],
        &["list", "--timeout", "never", "x"],
        &["list", "--timeout", "0", "x"],
        &["list", "--protocol", "1999-01-01", "x"],
        &["serve"],
        &["serve", "--demo", "."],
        &["serve", "--demo", "--write"],
        &["serve", "--demo", "--http", "nowhere"],
        &["serve", "--demo", "--public"],
        &["serve", "/no/such/directory"],
        &["serve", "--demo", "--http", "0.0.0.0:0"],
    ] {
        let ran = say(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{words:?}: {}", ran.stderr);
        assert!(!ran.stderr.is_empty(), "{words:?}");
    }
    assert_eq!(own(&["list", "http://127.0.0.1/"]).code, Some(1), "an author's program knows its server");
    assert_eq!(own(&["list", "--bearer", "x"]).code, Some(1));
}

#[test]
fn a_server_of_ones_own_that_cannot_be_made_cannot_start() {
    let ran = own(&["broken", "list"]);
    let words = "cli-fixture: no database at /var/lib/db\n".to_owned();
    assert_eq!(ran, Ran { code: Some(4), stdout: String::new(), stderr: words });
    for words in [&["broken", "list", "--json"][..], &["broken", "call", "--json", "add"]] {
        let ran = own(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(4), ""));
        let envelope: Value = serde_json::from_str(&ran.stderr).unwrap();
        assert_eq!(
            envelope,
            serde_json::json!({"error": {"code": "cannot_start", "message": "no database at /var/lib/db"}})
        );
    }
}

#[test]
fn a_tool_that_fails_says_why_on_stderr() {
    let ran = on_fixture(&["call", "fail", "reason=no\u{1b}[2J city"]);
    assert_eq!(
        ran,
        Ran {
            code: Some(5),
            stdout: String::new(),
            stderr: "toolway: the tool `fail` failed: no\\u001b[2J city\n".to_owned()
        }
    );
}

#[test]
fn a_stderr_that_nobody_reads_changes_nothing() {
    for words in [&["list", "http://"][..], &["list", "--json", "http://"], &["lits"], &["lits", "--json"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = toolway();
        assert_eq!(command.args(words).stderr(writer).status().unwrap().code(), Some(1), "{words:?}");
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_gives_a_call_up_and_ends_the_server() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};
    let mut command = toolway();
    // The tool reports progress (`waiting`) while it runs, which `-v` prints on stderr.
    command.args(["call", "wait", "-v", "--"]).arg(fixture_path()).arg("serve");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("waiting") {
        line.clear();
        assert!(stderr.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let started = Command::new("pgrep").args(["-P", &child.id().to_string()]).output().unwrap();
    let server = String::from_utf8(started.stdout).unwrap().trim().to_owned();
    assert!(!server.is_empty());
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    let mut rest = String::new();
    stderr.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "whoever pressed Ctrl-C knows");
    let is_there = Command::new("kill").args(["-0", &server]).stderr(Stdio::null()).status().unwrap();
    assert!(!is_there.success(), "the server has ended before us");
}

#[cfg(unix)]
#[test]
fn an_interrupt_is_heard_while_arguments_are_read() {
    use std::process::{Command, Stdio};
    let folder = crate::stage::Folder::new();
    let pipe = folder.0.join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let at = format!("@{}", pipe.display());
    for words in [
        &["call", "add", "--input-json", &at][..],
        &["call", "add", &format!("a={at}"), "b=1"],
        &["prompt", "sights", &format!("city={at}")],
        &["complete", "prompt", "sights", "city", "B", &format!("days={at}")],
    ] {
        let mut command = crate::stage::fixture();
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        // This returns when the command opens the pipe to read; the command then waits for input that never comes.
        let writer = std::fs::File::options().write(true).open(&pipe).unwrap();
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130), "{words:?}: {output:?}");
        drop(writer);
    }
}
