//! What do `list`, `call`, `read`, `prompt` and `complete` do?

use serde_json::{Value, json};

use crate::stage::{Folder, Ran, fixture, fixture_http, fixture_path, on_fixture, own, run, say};

fn ok(stdout: &str) -> Ran {
    Ran { code: Some(0), stdout: stdout.to_owned(), stderr: String::new() }
}

/// Runs the same arguments against the same server: over a pipe, in the author's own program, and over HTTP.
fn everywhere(words: &[&str], check: impl Fn(Ran)) {
    check(on_fixture(words));
    check(own(words));
    let server = fixture_http();
    let (command, rest) = words.split_first().unwrap();
    check(say(&[&[command, &*server.url], rest].concat()));
}

#[test]
fn a_tool_is_called_wherever_the_server_is() {
    everywhere(&["call", "add", "a=1", "b=2.5"], |ran| assert_eq!(ran, ok("3.5\n")));
    everywhere(&["call", "add", r#"{"a": 1, "b": 2}"#], |ran| assert_eq!(ran, ok("3\n")));
    everywhere(&["call", "add", "--input-json", r#"{"a": 1, "b": 2}"#], |ran| assert_eq!(ran, ok("3\n")));
    everywhere(&["call", "empty"], |ran| assert_eq!(ran, ok("")));
    everywhere(&["call", "work", "steps=2"], |ran| {
        assert_eq!(ran, ok("done\n"), "nothing is said of its progress");
    });
}

#[test]
fn arguments_come_from_files_and_from_stdin() {
    let folder = Folder::new();
    let file = folder.write("a.json", r#"{"a": 20, "b": 22}"#);
    let number = folder.write("number", "40\n");
    assert_eq!(own(&["call", "add", "--input-json", &format!("@{file}")]), ok("42\n"));
    assert_eq!(own(&["call", "add", &format!("a=@{number}"), "b=2"]), ok("42\n"));
    let mut command = fixture();
    command.args(["call", "add", "--input-json", "-"]);
    assert_eq!(run(command, r#"{"a": 1, "b": 1}"#), ok("2\n"));
    let mut command = fixture();
    command.args(["call", "add", "a=@-", "b=1"]);
    assert_eq!(run(command, "1"), ok("2\n"));
}

#[test]
fn json_is_the_result_as_the_server_sent_it() {
    everywhere(&["call", "facts", "--json"], |ran| {
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""));
        assert_eq!(ran.stdout.matches('\n').count(), 1, "one line");
        let result: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(result["structuredContent"], json!({"z": 1, "a": [true, null]}));
        assert!(ran.stdout.contains(r#""structuredContent":{"z":1,"a":[true,null]}"#), "in their order");
    });
    everywhere(&["list", "--json"], |ran| {
        let lists: Value = serde_json::from_str(&ran.stdout).unwrap();
        let members: Vec<_> = lists.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, ["prompts", "resourceTemplates", "resources", "tools"]);
        assert_eq!(lists["tools"][0]["name"], "add");
        assert_eq!(lists["tools"][0]["inputSchema"]["required"], json!(["a", "b"]));
    });
    let only: Value = serde_json::from_str(&own(&["list", "--prompts", "--json"]).stdout).unwrap();
    assert_eq!(only.as_object().unwrap().len(), 1);
    let read: Value = serde_json::from_str(&own(&["read", "fixture://about", "--json"]).stdout).unwrap();
    assert_eq!(read["contents"][0]["text"], "A fixture.");
    let prompt: Value =
        serde_json::from_str(&own(&["prompt", "sights", "city=Bern", "--json"]).stdout).unwrap();
    assert_eq!(prompt["messages"][1]["role"], "assistant");
    let complete: Value =
        serde_json::from_str(&own(&["complete", "prompt", "sights", "city", "L", "--json"]).stdout).unwrap();
    assert_eq!(complete["completion"]["values"], json!(["Lisbon"]));
}

#[test]
fn a_server_that_knows_no_families_of_resources_has_none() {
    let fixture = fixture_path();
    let on = |words: &[&str]| say(&[words, &["--", fixture.to_str().unwrap(), "no-templates"]].concat());
    assert_eq!(on(&["list"]), ok("Tools (1)\n\n  greet\n    Greet.\n\nResources (1)\n\n  plain://a (a)\n"));
    assert_eq!(on(&["list", "--templates"]), ok("Resource templates (0)\n"));
    assert_eq!(on(&["doctor"]).code, Some(0), "{}", on(&["doctor"]).stdout);
    let ran = on(&["complete", "template", "plain://{x}", "x"]);
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}

#[test]
fn what_is_no_text_is_named_and_can_be_saved() {
    assert_eq!(own(&["call", "draw"]), ok("a dot\n[image/png, 4 bytes]\n"));
    assert_eq!(own(&["call", "facts"]), ok("{\n  \"z\": 1,\n  \"a\": [\n    true,\n    null\n  ]\n}\n"));
    let folder = Folder::new();
    let directory = folder.0.join("new");
    // An existing file is not overwritten.
    folder.write("new/1.png", "mine");
    let ran = own(&["call", "draw", "--save", directory.to_str().unwrap()]);
    assert_eq!(ran, ok(&format!("a dot\n[image/png, 4 bytes: {}]\n", directory.join("2.png").display())));
    assert_eq!(std::fs::read(directory.join("2.png")).unwrap(), [0x89, b'P', b'N', b'G']);
    assert_eq!(std::fs::read(directory.join("1.png")).unwrap(), b"mine");
}

#[test]
fn programs_get_every_byte_of_a_text() {
    assert_eq!(own(&["call", "wild"]), ok("before\u{1b}[2Jafter\n"));
}

#[test]
fn resources_are_read() {
    everywhere(&["read", "fixture://about"], |ran| assert_eq!(ran, ok("A fixture.\n")));
    everywhere(&["read", "fixture://city/Bern"], |ran| assert_eq!(ran, ok("Bern is a city.\n")));
    let mut command = fixture();
    let output = command.args(["read", "fixture://logo"]).output().unwrap();
    assert_eq!(output.stdout, [0x89, b'P', b'N', b'G', 0xff], "a pipe gets bytes");
    let folder = Folder::new();
    let file = folder.0.join("logo.png");
    assert_eq!(own(&["read", "fixture://logo", "-o", file.to_str().unwrap()]), ok(""));
    assert_eq!(std::fs::read(file).unwrap(), [0x89, b'P', b'N', b'G', 0xff]);
}

#[test]
fn prompts_are_filled_in_and_completed() {
    everywhere(&["prompt", "sights", "city=Bern", "days=3"], |ran| {
        assert_eq!(ran, ok("[user]\nWhat should I see in Bern in 3 days?\n\n[assistant]\nLet me think.\n"));
    });
    everywhere(&["complete", "prompt", "sights", "city", "Be"], |ran| assert_eq!(ran, ok("Bern\nBerlin\n")));
    everywhere(&["complete", "template", "fixture://city/{name}", "name"], |ran| {
        assert_eq!(ran, ok("Bern\nBerlin\nLisbon\n"));
    });
    everywhere(&["complete", "template", "city", "name", "L", "x=y"], |ran| assert_eq!(ran, ok("Lisbon\n")));
}

#[test]
fn whoever_wants_everything_sees_the_log_the_progress_and_stderr() {
    let ran = on_fixture(&["call", "work", "steps=2", "-v"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(0), "done\n"));
    assert!(ran.stderr.contains("progress: 1/2 step 1\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[info"), "{}", ran.stderr);
}

#[test]
fn a_question_that_nobody_can_answer_is_declined_with_a_hint() {
    for words in [&["call", "book"][..], &["call", "book", "--no-input"], &["call", "pay"]] {
        let ran = own(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(5), ""), "{words:?}");
        let asked = if words[1] == "pay" { "Please pay 3 €." } else { "A table for the evening?" };
        assert!(ran.stderr.starts_with(&format!("The server asks: {asked}\n")), "{}", ran.stderr);
        assert!(ran.stderr.contains("run the command in a terminal, without --no-input"), "{}", ran.stderr);
    }
}

#[test]
fn a_revision_can_be_chosen() {
    for version in toolway::ProtocolVersion::ALL {
        let ran = on_fixture(&["call", "add", "a=1", "b=2", "--protocol", version.as_str()]);
        assert_eq!(ran, ok("3\n"), "{version}");
    }
}

#[cfg(unix)]
#[test]
fn whoever_reads_only_the_beginning_is_no_failure() {
    use std::process::{Command, Stdio};
    let mut list = fixture().args(["list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Closes its end immediately.
    let reader = Command::new("true").stdin(list.stdout.take().unwrap()).status().unwrap();
    assert!(reader.success());
    let output = list.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}

/// Reads a file of 20,000 bytes over a pipe, over HTTP, and from a server named in a configuration file.
#[test]
fn messages_are_as_long_as_max_message_says() {
    let folder = Folder::new();
    folder.write("served/big.txt", &"x".repeat(20_000));
    let served = folder.0.join("served");
    let served = served.to_str().unwrap();
    let toolway = env!("CARGO_BIN_EXE_toolway");
    let over_http = |options: &[&str]| {
        let mut command = crate::stage::toolway();
        command.args(["serve", "--http", "127.0.0.1:0"]).args(options).arg(served);
        crate::stage::Http::start(command)
    };
    let read = ["read_file", "path=big.txt"];
    let pipe = |client: &[&str], server: &[&str]| {
        say(&[&["call"], client, &read, &["--", toolway, "serve"], server, &[served]].concat())
    };
    let web = |client: &[&str], server: &[&str]| {
        let http = over_http(server);
        say(&[&["call"], client, &[&*http.url], &read].concat())
    };
    let named = |bytes: u32| {
        let entry = json!({"command": toolway, "args": ["serve", served], "maxMessage": bytes});
        let file = folder.write("mcp.json", &json!({"mcpServers": {"files": entry}}).to_string());
        say(&[&["call", "--config", &file, "files"], &read[..]].concat())
    };
    for ran in [
        pipe(&[], &[]),
        pipe(&["--max-message", "30K"], &["--max-message", "30K"]),
        web(&["--max-message=30000"], &["--max-message=30000"]),
        named(30_000),
    ] {
        assert_eq!((ran.code, ran.stdout.trim_end().len()), (Some(0), 20_000), "{}", ran.stderr);
    }
    for ran in [pipe(&["--max-message", "10K"], &[]), web(&["--max-message", "10K"], &[]), named(10 << 10)] {
        assert_eq!((ran.code, &*ran.stdout), (Some(5), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains("longer than 10240 bytes"), "{}", ran.stderr);
        assert!(ran.stderr.contains("--max-message SIZE"), "{}", ran.stderr);
    }
    for ran in [pipe(&[], &["--max-message", "10K"]), web(&[], &["--max-message", "10K"])] {
        assert_eq!(ran.code, Some(5), "{}", ran.stderr);
        assert!(ran.stderr.contains("the server sends at most 10240"), "{}", ran.stderr);
    }
    let wrong = say(&["list", "--max-message", "much", "files"]);
    assert_eq!(wrong.code, Some(1));
    assert!(wrong.stderr.contains("such as 67108864, 65536K or 64M"), "{}", wrong.stderr);
}
