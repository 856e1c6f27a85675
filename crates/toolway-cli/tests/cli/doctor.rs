//! Which step fails? One test for each step, with the advice that is printed.

use std::io::{Read, Write};

use serde_json::{Value, json};
use toolway::ProtocolVersion;

use crate::stage::{
    Closed, Folder, Http, Ran, answer, fixture_http, fixture_path, golden, in_turn, listen, own,
    read_request, run, say, toolway, transcript, web,
};

/// Runs `doctor`, compares its output with the golden file, and checks its report: the failed step must be the last,
/// and the only one.
fn diagnose(name: &str, words: &[&str], step: &str, code: i32) {
    let typed = [&["doctor"], words].concat();
    let ran = say(&typed);
    assert_eq!((ran.code, &*ran.stderr), (Some(code), ""), "{}", ran.stdout);
    golden(&format!("doctor-{name}"), &transcript(&format!("toolway {}", typed.join(" ")), &ran));

    let ran = say(&[&["doctor", "--json"], words].concat());
    assert_eq!(ran.code, Some(code));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], false);
    let steps = report["steps"].as_array().unwrap();
    let failed: Vec<_> = steps.iter().filter(|step| step["status"] == "failed").collect();
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0], steps.last().unwrap());
    assert_eq!(failed[0]["name"], step, "{report}");
    assert!(failed[0]["fix"].as_str().is_some_and(|fix| !fix.is_empty()));
    let envelope: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert!(envelope["error"]["message"].as_str().unwrap().starts_with(&format!("{step}: ")));
}

fn on<'w>(words: &[&'w str], fixture: &'w str, mode: &'w str) -> Vec<&'w str> {
    [words, &["--", fixture, mode]].concat()
}

#[test]
fn the_url_is_none() {
    diagnose("url", &["http://exa mple.com/"], "url", 1);
    diagnose("url-with-user", &["https://ada:s3cret@example.com/mcp"], "url", 1);
}

#[test]
fn the_name_is_not_known() {
    diagnose("dns", &["http://nowhere.invalid/mcp"], "dns", 4);
}

#[test]
fn the_port_is_closed() {
    let closed = Closed::new();
    diagnose("tcp", &[&format!("http://{}/mcp", closed.address)], "tcp", 4);
}

#[test]
fn it_does_not_speak_tls() {
    let address = listen(|mut stream| {
        let mut bytes = [0; 512];
        let _ = stream.read(&mut bytes);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
    diagnose("tls", &[&format!("https://{address}/mcp")], "tls", 4);
}

#[test]
fn it_says_nothing_about_its_certificate() {
    let silent = listen(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
    diagnose("tls-silent", &["--timeout", "0.5", &format!("https://{silent}/mcp")], "tls", 4);
}

#[test]
fn it_answers_with_something_else_than_messages() {
    let rows = [
        ("http-404", "404 Not Found", "text/plain", "nothing here", 2),
        ("http-html", "200 OK", "text/html", "<html>Welcome!</html>", 2),
        ("http-500", "500 Internal Server Error", "text/plain", "oops", 4),
    ];
    for (name, status, kind, body, code) in rows {
        let path = if name == "http-404" { "mcp" } else { "" };
        diagnose(name, &[&format!("http://{}/{path}", web(status, kind, body))], "http", code);
    }
}

#[test]
fn it_asks_for_a_token() {
    let closed = web("401 Unauthorized", "application/json", "{\"error\":\"who are you?\"}");
    diagnose("http-401", &[&format!("http://{closed}/")], "login", 3);
    diagnose("http-401-token", &[&format!("http://{closed}/"), "--bearer", "s3cret"], "http", 3);
}

#[test]
fn it_answers_with_messages_that_are_no_answers() {
    let strange = r#"{"jsonrpc":"2.0","id":"server-error","result":{}}"#;
    let url = format!("http://{}/mcp", web("200 OK", "application/json", strange));
    diagnose("era-strange", &[&url], "era", 4);
    let ran = say(&["doctor", &url]);
    assert!(!ran.stdout.contains("stdout"), "a server at a URL has none: {}", ran.stdout);
}

#[test]
fn it_says_nothing_or_no_http() {
    let silent = listen(|mut stream| drop(stream.read_to_end(&mut Vec::new())));
    diagnose("http-silent", &["--timeout", "0.5", &format!("http://{silent}/mcp")], "http", 4);
    // It reads the request first: a client reports a reply that arrives before the request in other words.
    let other = listen(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        drop(stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n"));
    });
    diagnose("http-other", &[&format!("http://{other}/mcp")], "http", 4);
}

#[test]
fn the_program_is_missing() {
    diagnose("program", &["--", "no-such-program-anywhere"], "program", 2);
    diagnose("program-path", &["--", "./no/such/program"], "program", 2);
    let fixture = fixture_path();
    diagnose(
        "program-cwd",
        &on(&["--cwd", "/no/such/directory"], fixture.to_str().unwrap(), "serve"),
        "program",
        1,
    );
}

#[cfg(unix)]
#[test]
fn the_program_cannot_be_run() {
    let folder = Folder::new();
    let file = folder.write("no-program", "just a text");
    let ran = say(&["doctor", "--", &file]);
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n✗ start "), "{}", ran.stdout);
}

#[test]
fn the_program_dies_is_silent_prints_rubbish_or_speaks_nothing_known() {
    let fixture = fixture_path();
    let fixture = fixture.to_str().unwrap();
    diagnose("start", &on(&[], fixture, "die"), "start", 4);
    diagnose("era-silent", &on(&["--timeout", "0.5"], fixture, "silent"), "era", 4);
    diagnose("era-rubbish", &on(&["--timeout", "3"], fixture, "rubbish"), "era", 4);
    diagnose("era", &on(&[], fixture, "incompatible"), "era", 4);
}

#[test]
fn the_list_fails() {
    let fixture = fixture_path();
    diagnose("list", &on(&[], fixture.to_str().unwrap(), "no-list"), "list", 5);
}

/// One list fails; the others are still printed.
#[test]
fn a_list_that_fails_does_not_hide_the_others() {
    let fixture = fixture_path();
    let fixture = fixture.to_str().unwrap();
    let ran = say(&on(&["doctor"], fixture, "no-resources-list"));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    golden("doctor-no-resources-list", &transcript("toolway doctor -- FIXTURE no-resources-list", &ran));
    let ran = say(&on(&["doctor", "--json"], fixture, "no-resources-list"));
    let report: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert_eq!(report["steps"].as_array().unwrap().last().unwrap()["detail"][0], "1 tool", "{report}");
    let about: Vec<_> = report["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|warning| warning["about"].as_str().unwrap())
        .collect();
    assert_eq!(about, ["the resources", "the prompts"]);
    diagnose("list-half", &on(&[], fixture, "no-prompts-list"), "list", 5);
}

/// Two servers that do not share their sessions look like one server that loses them.
#[test]
fn sessions_are_kept_by_one_of_several_servers() {
    let demo = || {
        let mut command = toolway();
        command.args(["serve", "--demo", "--http", "127.0.0.1:0"]);
        Http::start(command)
    };
    let servers = [demo(), demo()];
    let address = |server: &Http| server.url["http://".len()..].split('/').next().unwrap().to_owned();
    let url = format!("http://{}/mcp", in_turn(servers.iter().map(address).collect()));
    diagnose("session", &[&url], "session", 4);
    // The same result for a client that is pinned to an older revision.
    let pinned = ["--protocol", &*ProtocolVersion::LATEST_HANDSHAKE.to_string(), &url];
    let ran = say(&[&["doctor"], &pinned[..]].concat());
    assert_eq!(ran.code, Some(4), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n✗ session  "), "{}", ran.stdout);
    // A single server passes, through the same balancer.
    let url = format!("http://{}/mcp", in_turn(vec![address(&servers[0])]));
    let ran = say(&["doctor", &url]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stdout.contains("\n✓ session  "), "{}", ran.stdout);
}

/// Many servers know only the sessions that they have opened themselves, and answer 400 to others.
#[test]
fn a_session_that_is_refused_with_400_is_lost_too() {
    for body in [
        r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}"#,
        "Bad Request",
    ] {
        let kind = if body.starts_with('{') { "application/json" } else { "text/plain" };
        let address = listen(move |mut stream| {
            let asked = read_request(&mut stream);
            match asked.body["method"].as_str() {
                Some("initialize") => {
                    let reply = json!({"jsonrpc": "2.0", "id": asked.body["id"], "result": {
                        "protocolVersion": asked.body["params"]["protocolVersion"], "capabilities": {},
                        "serverInfo": {"name": "s", "version": "1"},
                    }});
                    let headers = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
                    answer(&mut stream, "200 OK", headers, &reply.to_string());
                }
                _ if asked.method == "GET" => answer(&mut stream, "405 Method Not Allowed", "", ""),
                Some("notifications/initialized") => answer(&mut stream, "202 Accepted", "", ""),
                _ => answer(&mut stream, "400 Bad Request", &format!("content-type: {kind}\r\n"), body),
            }
        });
        let ran = say(&["doctor", &format!("http://{address}/mcp")]);
        assert_eq!(ran.code, Some(4), "{}", ran.stdout);
        assert!(ran.stdout.contains("\n✗ session  "), "{}", ran.stdout);
    }
}

#[test]
fn lines_on_stdout_that_are_no_messages_are_shown() {
    let fixture = fixture_path();
    let fixture = fixture.to_str().unwrap();
    let ran = say(&on(&["doctor"], fixture, "chatty"));
    assert_eq!(ran.code, Some(0), "it works here all the same: {}", ran.stdout);
    golden("doctor-chatty", &transcript("toolway doctor -- FIXTURE chatty", &ran));
}

#[test]
fn a_tool_that_is_described_by_its_name_is_marked() {
    let fixture = fixture_path();
    let ran = say(&on(&["doctor"], fixture.to_str().unwrap(), "undescribed"));
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    let words =
        "\n! tool `undescribed`: its description is only its name: a model cannot know when to use it\n";
    assert!(ran.stdout.contains(words), "{}", ran.stdout);
}

#[test]
fn all_is_well() {
    let fixture = fixture_path();
    let fixture = fixture.to_str().unwrap();
    let on_pipe = say(&on(&["doctor"], fixture, "serve"));
    golden("doctor-well-pipe", &transcript("toolway doctor -- FIXTURE serve", &on_pipe));
    let http = fixture_http();
    let over_http = say(&["doctor", &http.url]);
    golden("doctor-well-http", &transcript("toolway doctor URL", &over_http));
    golden("doctor-well-own", &transcript("fixture doctor", &own(&["doctor"])));
    let report: Value = serde_json::from_str(&own(&["doctor", "--json"]).stdout).unwrap();
    assert_eq!(report["ok"], true);
    assert!(report["steps"][0]["ms"].is_number());
}

#[test]
fn what_models_stumble_over_is_marked() {
    let fixture = fixture_path();
    let ran = say(&on(&["doctor"], fixture.to_str().unwrap(), "odd"));
    assert_eq!(ran.code, Some(0), "it works all the same");
    golden("doctor-odd", &transcript("toolway doctor -- FIXTURE odd", &ran));
}

#[test]
fn settings_are_shown_without_secrets() {
    let fixture = fixture_path();
    let folder = Folder::new();
    let mut command = toolway();
    command.args(["doctor", "--env", "TOKEN=s3cret", "--timeout", "30", "--protocol", "2025-06-18", "--cwd"]);
    command.arg(&folder.0).arg("--").arg(fixture).arg("serve");
    let Ran { stdout, .. } = run(command, "");
    assert!(stdout.contains("  variables: TOKEN\n"), "{stdout}");
    assert!(stdout.contains("  timeout: 30s\n") && stdout.contains("  revision: 2025-06-18\n"), "{stdout}");
    assert!(!stdout.contains("s3cret"), "{stdout}");

    let http = fixture_http();
    let mut command = toolway();
    command.args(["doctor", &*http.url, "--header", "X-Key: s3cret"]).env("TOOLWAY_BEARER", "s3cret");
    command.env("HTTPS_PROXY", "http://ada:s3cret@proxy");
    let Ran { stdout, .. } = run(command, "");
    assert!(stdout.contains("  headers: X-Key\n  token: set, from TOOLWAY_BEARER\n"), "{stdout}");
    assert!(stdout.contains("  HTTPS_PROXY: set, but not used"), "{stdout}");
    assert!(!stdout.contains("s3cret"), "{stdout}");
}
