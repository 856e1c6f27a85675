//! Who gets in? The browser that has the newest link, once.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::browser::Inspected;
use crate::stage::{Folder, fixture_path, toolway};

#[test]
fn a_link_works_once() {
    let inspected = Inspected::fixture(&["serve"]);
    assert_eq!(inspected.state()["mode"], "server");
    let (status, reply) = inspected.enter(&inspected.code);
    assert_eq!(status, 403);
    assert_eq!(reply["error"]["code"], "forbidden");
    let message = reply["error"]["message"].as_str().unwrap();
    assert!(message.contains("used before") && message.contains("Enter"), "{message}");
    assert!(reply["token"].is_null());
    assert_eq!(inspected.state()["mode"], "server", "the first browser is still in");
}

#[test]
fn enter_shows_a_new_link_and_the_old_one_ends() {
    let mut command = toolway();
    command.args(["inspect", "--json", "--port", "0", "--"]).arg(fixture_path()).arg("serve");
    command.stderr(Stdio::null());
    let mut inspected = Inspected::unused(command);
    let (status, reply) = inspected.enter("no such code");
    assert_eq!(status, 403, "{reply}");
    inspected.types("");
    let (_, new) = inspected.next_link();
    assert_ne!(new, inspected.code);
    let (status, reply) = inspected.enter(&inspected.code);
    assert_eq!(status, 403);
    assert!(
        reply["error"]["message"].as_str().unwrap().contains("a newer one has taken its place"),
        "{reply}"
    );
    assert_eq!(inspected.enter(&new).0, 200);
    // A third browser gets a token of its own, and the second one keeps its token.
    inspected.types("");
    let (_, third) = inspected.next_link();
    assert_eq!(inspected.enter(&third).0, 200);
}

#[test]
fn only_a_token_of_this_inspector_is_valid() {
    let first = Inspected::fixture(&["serve"]);
    let second = Inspected::fixture(&["serve"]);
    let with = |token: &str| {
        let header = format!("Bearer {token}");
        first.send("GET", "/api/state", &[("authorization", &header)], b"").0
    };
    assert_eq!(with(&first.token), 200);
    assert_eq!(with(&second.token), 401, "a token of another inspector");
    assert_eq!(with(&first.code), 401, "the code is not the token");
    assert_eq!(with(""), 401);
    assert_eq!(with(&first.token[1..]), 401);
    let basic = format!("Basic {}", first.token);
    assert_eq!(first.send("GET", "/api/state", &[("authorization", &basic)], b"").0, 401);
    let (status, reply) = first.send("GET", "/api/state", &[], b"");
    assert_eq!(status, 401);
    assert_eq!(reply["error"]["code"], "ended");
    assert!(
        reply["error"]["message"].as_str().unwrap().contains("the link that its terminal shows"),
        "{reply}"
    );
    let in_url = first.send("GET", &format!("/api/state?token={}", first.token), &[], b"").0;
    assert_eq!(in_url, 401, "a token in a URL is not looked at");
}

#[test]
fn at_a_terminal_the_link_is_shown_with_what_to_do() {
    let mut command = toolway();
    command.args(["inspect", "--no-open", "--port", "0", "--"]).arg(fixture_path()).arg("serve");
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("Ctrl-C") {
        assert!(stderr.read_line(&mut seen).unwrap() > 0, "it ended: {seen}");
    }
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(
        seen.contains("Open the inspector in a browser of this machine:\n\n  http://127.0.0.1:"),
        "{seen}"
    );
    assert!(seen.contains("works once, within 60 seconds; Enter shows a new one"), "{seen}");
    assert!(output.stdout.is_empty(), "stdout is for results");
}

#[test]
fn without_a_browser_the_link_is_shown_all_the_same() {
    let folder = Folder::new();
    let mut command = toolway();
    // Neither a browser nor a program that would find one.
    command.env("PATH", &folder.0).env("BROWSER", "").env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
    command.args(["inspect", "--port", "0", "--"]).arg(fixture_path()).arg("serve");
    let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    while !seen.contains("Ctrl-C") {
        assert!(stderr.read_line(&mut seen).unwrap() > 0, "it ended: {seen}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(
        seen.contains("No browser could be opened. Open the inspector in a browser of this machine:"),
        "{seen}"
    );
}

#[test]
fn the_page_is_three_files_that_hold_no_secret_and_may_load_nothing_else() {
    let inspected = Inspected::fixture(&["serve"]);
    // As they are in the repository, so they hold nothing of this run.
    let files: [(_, _, &[u8], _); 3] = [
        ("/", "text/html", include_bytes!("../../page/dist/index.html"), false),
        ("/page.js", "text/javascript", include_bytes!("../../page/dist/page.js.gz"), true),
        ("/page.css", "text/css", include_bytes!("../../page/dist/page.css.gz"), true),
    ];
    for (path, media_type, content, is_gzip) in files {
        let headers = [("host", &*inspected.address), ("accept-encoding", "gzip, deflate, br")];
        let reply = inspected.connect().send("GET", path, &headers, b"");
        assert_eq!(reply.status, 200, "{path}");
        assert!(reply.body == content, "{path}");
        let head = reply.head.to_ascii_lowercase();
        for line in [
            &*format!("content-type: {media_type}; charset=utf-8\r\n"),
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src blob:; media-src blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'\r\n",
            "cache-control: no-store\r\n",
            "x-content-type-options: nosniff\r\n",
            "referrer-policy: no-referrer\r\n",
            "cross-origin-opener-policy: same-origin\r\n",
            "cross-origin-resource-policy: same-origin\r\n",
        ] {
            assert!(head.contains(line), "{path}: {line} is not in {head}");
        }
        assert_eq!(head.contains("content-encoding: gzip\r\n"), is_gzip, "{path}: {head}");
        assert_eq!(inspected.connect().send("HEAD", path, &headers, b"").status, 200, "{path}");
    }
    let (_, reply) = inspected.send("POST", "/api/enter", &[], b"{\"code\": 1}");
    assert_eq!(reply["error"]["code"], json!("usage"), "{reply}");
    assert_eq!(inspected.ask("GET", "/api/no-such", &Value::Null).0, 404);
}

#[test]
fn a_client_that_does_not_accept_gzip_is_told_so() {
    let inspected = Inspected::fixture(&["serve"]);
    for headers in [&[][..], &[("accept-encoding", "identity")], &[("accept-encoding", "br, gzip;q=0")]] {
        for path in ["/page.js", "/page.css"] {
            let (status, reply) = inspected.send("GET", path, headers, b"");
            assert_eq!(status, 406, "{path} {headers:?}: {reply}");
            let message = reply["error"]["message"].as_str().unwrap();
            assert!(message.contains("does not accept gzip"), "{message}");
        }
        let headers = [&[("host", &*inspected.address)], headers].concat();
        assert_eq!(inspected.connect().send("GET", "/", &headers, b"").status, 200, "{headers:?}");
    }
}
