//! How does a user sign in to a server, and what happens without a user?

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{Folder, Http, Ran, answer, fixture_http, listen, run, toolway};
use crate::terminal::Terminal;

/// A server that asks to sign in, its authorization server at the same address, and a user's machine.
struct World {
    url: String,
    state: Arc<Mutex<State>>,
    home: Folder,
    _server: Http,
}

#[derive(Default)]
struct State {
    tokens: u32,
    valid: HashSet<String>,
    /// The paths and bodies of requests to the authorization server.
    sent: Vec<(String, String)>,
    /// Members of the documents that differ.
    resource: Value,
    server: Value,
}

/// The beginnings of everything that must not be shown.
const SECRETS: [&str; 4] = ["hidden-token", "hidden-refresh", "hidden-code", "hidden-secret"];

impl World {
    fn new() -> Self {
        let (server, state, home) = (fixture_http(), Arc::<Mutex<State>>::default(), Folder::new());
        let behind = server.url["http://".len()..].split('/').next().unwrap().to_owned();
        let shared = state.clone();
        let address = listen(move |stream| serve(stream, &behind, &shared));
        let browser = home.write("browser", "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/opened\"\n");
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { url: format!("http://{address}/mcp"), state, home, _server: server }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = toolway();
        command.args(words).env("HOME", &self.home.0).current_dir(&self.home.0);
        command.env("BROWSER", self.home.0.join("browser"));
        command
    }

    /// Runs a command without a terminal.
    fn say(&self, words: &[&str]) -> Ran {
        let ran = run(self.command(words), "");
        check_secrets(&ran.stdout);
        check_secrets(&ran.stderr);
        ran
    }

    /// Signs in without a browser and without a terminal. Returns what is written on stdout.
    fn sign_in(&self, words: &[&str]) -> String {
        let mut command = self.command(&["login", &self.url, "--no-browser"]);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut seen = String::new();
        while !seen.contains("  http://") {
            assert!(stderr.read_line(&mut seen).unwrap() > 0, "it ended: {seen}");
        }
        follow(&callback(&seen));
        let output = child.wait_with_output().unwrap();
        stderr.read_to_string(&mut seen).unwrap();
        assert_eq!(output.status.code(), Some(0), "{seen}");
        check_secrets(&seen);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Returns the bodies of requests to a path of the authorization server.
    fn sent_to(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.sent.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }

    fn expire(&self) {
        self.state.lock().unwrap().valid.clear();
    }

    fn was_opened(&self) -> bool {
        self.home.0.join("opened").exists()
    }
}

fn check_secrets(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
}

/// Returns the URL to which the browser returns, from a text with the page to sign in.
fn callback(seen: &str) -> String {
    let page = seen.lines().map(str::trim).find(|line| line.contains("/authorize?")).unwrap();
    let value = |name: &str| {
        let query = page.split_once('?').unwrap().1;
        query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap().to_owned()
    };
    let redirect = value("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    format!("{redirect}?code=hidden-code&state={}", value("state"))
}

/// Follows a URL as a browser does.
fn follow(url: &str) {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut page = String::new();
    let _ = stream.read_to_string(&mut page);
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
}

/// Answers one request: as the authorization server, with a challenge, or as the server behind.
fn serve(mut stream: TcpStream, behind: &str, state: &Mutex<State>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    let header = |name: &str| {
        head.lines()
            .filter_map(|line| line.split_once(": "))
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
    };
    let length = header("content-length").map_or(0, |(_, length)| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let host = header("host").unwrap().1.to_owned();
    let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
    if path == "/mcp" {
        let token = header("authorization").and_then(|(_, token)| token.strip_prefix("Bearer "));
        if !token.is_some_and(|token| state.lock().unwrap().valid.contains(token)) {
            let challenge = "www-authenticate: Bearer scope=\"notes:read\"\r\n";
            return answer(&mut stream, "401 Unauthorized", challenge, "");
        }
        let mut server = TcpStream::connect(behind).unwrap();
        // One request for each connection, so that each is looked at.
        let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
        server.write_all(head.as_bytes()).and_then(|()| server.write_all(&body)).unwrap();
        let _ = std::io::copy(&mut server, &mut stream);
        return;
    }
    let body = String::from_utf8(body).unwrap();
    let reply = authorize(&host, &path, &body, &mut state.lock().unwrap());
    let status = if reply.is_null() { "404 Not Found" } else { "200 OK" };
    answer(&mut stream, status, "content-type: application/json\r\n", &reply.to_string());
}

fn authorize(host: &str, path: &str, body: &str, state: &mut State) -> Value {
    state.sent.push((path.to_owned(), body.to_owned()));
    let at = |path: &str| format!("http://{host}{path}");
    let with = |mut document: Value, changes: &Value| {
        for (name, value) in changes.as_object().into_iter().flatten() {
            document[name] = value.clone();
        }
        document
    };
    match path {
        "/.well-known/oauth-protected-resource/mcp" => {
            with(json!({"resource": at("/mcp"), "authorization_servers": [at("")]}), &state.resource)
        }
        "/.well-known/oauth-authorization-server" => with(
            json!({
                "issuer": at(""), "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
                "registration_endpoint": at("/register"), "revocation_endpoint": at("/revoke"),
                "device_authorization_endpoint": at("/device"), "code_challenge_methods_supported": ["S256"],
            }),
            &state.server,
        ),
        "/register" => json!({"client_id": "registered"}),
        "/device" => json!({
            "device_code": "hidden-code", "user_code": "WDJB-MJHT", "verification_uri": at("/enter"), "interval": 1,
        }),
        "/revoke" => json!({}),
        "/token" => {
            state.tokens += 1;
            let token = format!("hidden-token-{}", state.tokens);
            state.valid = HashSet::from([token.clone()]);
            json!({
                "access_token": token, "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": format!("hidden-refresh-{}", state.tokens),
            })
        }
        _ => Value::Null,
    }
}

#[test]
fn without_a_user_a_command_fails_at_once_and_names_the_command_to_type() {
    let world = World::new();
    for words in
        [&["call", &world.url, "add", "a=1", "b=2"][..], &["list", &world.url], &["read", &world.url, "x"]]
    {
        let ran = world.say(words);
        assert_eq!((ran.code, &*ran.stdout), (Some(3), ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(&format!("`toolway login {}`", world.url)), "{}", ran.stderr);
    }
    let ran = world.say(&["list", "--json", &world.url]);
    let envelope: Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(envelope["error"]["code"], "auth_required");
    assert!(envelope["error"]["hint"].as_str().unwrap().contains("toolway login "), "{envelope}");
    assert!(world.state.lock().unwrap().sent.is_empty(), "nothing is tried");
    assert!(!world.was_opened());
}

#[test]
fn a_login_is_used_renewed_shown_and_forgotten() {
    let world = World::new();
    let said = world.sign_in(&[]);
    let issuer = world.url.trim_end_matches("/mcp");
    assert!(said.starts_with(&format!("You are signed in to {}.\n", world.url)), "{said}");
    for text in [issuer, "registered", "notes:read", "in 59 minutes; it is renewed without you"] {
        assert!(said.contains(text), "{text}: {said}");
    }
    assert!(!world.was_opened());
    let call = || world.say(&["call", &world.url, "add", "a=1", "b=2"]);
    assert_eq!(call(), Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() });
    assert_eq!(world.state.lock().unwrap().tokens, 1);
    world.expire();
    assert_eq!(call().code, Some(0));
    assert_eq!(world.state.lock().unwrap().tokens, 2, "the token was renewed");
    assert_eq!(world.say(&["doctor", &world.url]).code, Some(0));

    let who = world.say(&["whoami", &world.url, "--json"]);
    let who: Value = serde_json::from_str(&who.stdout).unwrap();
    assert_eq!(
        (&who["signedIn"], &who["clientId"], &who["canRenew"]),
        (&json!(true), &json!("registered"), &json!(true))
    );
    let out = world.say(&["logout", &world.url]);
    assert_eq!(out.code, Some(0), "{}", out.stderr);
    assert!(out.stdout.contains("has taken the token back"), "{}", out.stdout);
    assert!(!world.sent_to("/revoke").is_empty());
    let who = world.say(&["whoami", &world.url]);
    assert_eq!((who.code, &*who.stdout), (Some(3), ""));
    assert_eq!(
        who.stderr,
        format!("toolway: you are not signed in to {0}\nsign in with `toolway login {0}`\n", world.url)
    );
    let out = world.say(&["logout", &world.url, "--json"]);
    let out: Value = serde_json::from_str(&out.stdout).unwrap();
    assert_eq!(out, json!({"server": world.url, "wasSignedIn": false, "isRevoked": false}));
    assert_eq!(call().code, Some(3));
}

#[test]
fn at_a_terminal_a_command_signs_in_by_itself() {
    let world = World::new();
    let mut terminal = Terminal::start(world.command(&["call", &world.url, "add", "a=1", "b=2"]));
    terminal.sees("asks you to sign in. This page opens in your browser:");
    let seen = terminal.until("The command goes on when you have signed in.");
    follow(&callback(&seen));
    let (rest, code) = terminal.ends();
    assert!(rest.ends_with("3\r\n"), "{rest:?}");
    assert_eq!(code, Some(0));
    check_secrets(&(seen + &rest));
    assert!(world.was_opened());
    assert_eq!(world.say(&["list", &world.url]).code, Some(0), "the token is kept");
}

#[test]
fn the_url_of_a_browser_elsewhere_is_pasted() {
    let world = World::new();
    let mut terminal = Terminal::start(world.command(&["call", &world.url, "book"]));
    let seen = terminal.until("paste the URL at which it ends.");
    terminal.types("http://localhost:1/callback?code=x&state=y").sees("This is not the URL of this login.");
    terminal.types(&callback(&seen));
    // What is typed next answers the next question.
    let (_, code) = terminal.sees("Guests (whole number from 1 to 8)").types(":d").ends();
    assert_eq!(code, Some(5));
}

#[test]
fn a_token_of_the_user_is_enough() {
    let world = World::new();
    world.sign_in(&[]);
    let before = world.state.lock().unwrap().sent.len();
    let mut by_variable = world.command(&["list", &world.url]);
    by_variable.env("TOOLWAY_BEARER", "hidden-secret");
    let ran = [
        world.say(&["list", &world.url, "--bearer", "hidden-secret"]),
        world.say(&["list", &world.url, "--header", "authorization: Bearer hidden-secret"]),
        run(by_variable, ""),
    ];
    for ran in ran {
        assert_eq!(ran.code, Some(3), "{}", ran.stderr);
        assert!(!ran.stderr.contains("toolway login"), "{}", ran.stderr);
    }
    assert_eq!(world.state.lock().unwrap().sent.len(), before);
}

#[test]
fn a_login_may_ask_for_scopes_and_have_a_client_of_its_own() {
    let world = World::new();
    world.sign_in(&[]);
    let secret = world.home.write("secret", "hidden-secret\n");
    let issuer = world.url.trim_end_matches("/mcp");
    let said = world.sign_in(&[
        "--client-id",
        "app",
        "--client-secret-file",
        &secret,
        "--issuer",
        issuer,
        "--scope",
        "a",
        "--scope",
        "b",
        "--json",
    ]);
    let said: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&said["clientId"], &said["scope"]), (&json!("app"), &json!("a b")));
    assert_eq!(world.sent_to("/register").len(), 1);
    let other = [
        "login",
        &world.url,
        "--client-id",
        "app",
        "--client-secret-file",
        &secret,
        "--issuer",
        "https://o.example",
    ];
    let ran = world.say(&other);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(ran.stderr.contains("nothing was sent"), "{}", ran.stderr);
    let unbound = world.say(&["login", &world.url, "--client-id", "app", "--client-secret-file", &secret]);
    assert_eq!(unbound.code, Some(1), "{}", unbound.stderr);
    assert!(unbound.stderr.contains("--issuer <URL>"), "{}", unbound.stderr);
}

#[test]
fn a_user_signs_in_on_another_device() {
    let world = World::new();
    let ran = world.say(&["login", &world.url, "--device", "--json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("enter the code WDJB-MJHT"), "{}", ran.stderr);
    assert!(!world.was_opened());
}

#[test]
fn a_server_that_does_not_ask_needs_no_login() {
    let world = World::new();
    let open = fixture_http();
    let ran = world.say(&["login", &open.url]);
    let words = format!("{} did not ask to sign in: it can be used as it is.\n", open.url);
    assert_eq!(ran, Ran { code: Some(0), stdout: words, stderr: String::new() });
    let ran = world.say(&["login", "./browser"]);
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("users sign in only to servers with a URL"), "{}", ran.stderr);
}

#[test]
fn a_file_says_how_to_sign_in() {
    let world = World::new();
    let oauth = json!({"clientId": "from-file", "clientSecret": "${SECRET}", "scopes": "x y"});
    let text = json!({"mcpServers": {"notes": {"url": world.url, "oauth": oauth}}}).to_string();
    let file = world.home.write("servers.json", &text);
    let mut command = world.command(&["call", "notes", "add", "a=1", "b=2", "--config", &file]);
    command.env("SECRET", "hidden-secret");
    let mut terminal = Terminal::start(command);
    let seen = terminal.until("The command goes on when you have signed in.");
    assert!(seen.contains("client_id=from-file") && seen.contains("scope=x+y"), "{seen}");
    follow(&callback(&seen));
    assert_eq!(terminal.ends().1, Some(0));
    assert!(world.sent_to("/register").is_empty());
    world.expire();
    world.say(&["logout", &world.url]);
    let mut command = world.command(&["list", "notes", "--config", &file]);
    command.env("SECRET", "hidden-secret");
    let ran = run(command, "");
    assert_eq!(ran.code, Some(3));
    assert!(ran.stderr.contains(&format!("`toolway login notes --config {file}`")), "{}", ran.stderr);
    check_secrets(&ran.stderr);
}

#[test]
fn the_doctor_names_the_step_of_a_login_that_fails() {
    let rows = [
        (json!({}), json!({}), "token", "you are not signed in"),
        (json!({"resource": "https://other.example/mcp"}), json!({}), "login", "speaks of"),
        (json!({"authorization_servers": []}), json!({}), "login", "authorization server"),
        (json!({}), json!({"issuer": "https://other.example"}), "login", "other.example"),
        (json!({}), json!({"code_challenge_methods_supported": ["plain"]}), "login", "PKCE"),
    ];
    for (resource, server, step, words) in rows {
        let world = World::new();
        {
            let mut state = world.state.lock().unwrap();
            (state.resource, state.server) = (resource, server);
        }
        let ran = world.say(&["doctor", &world.url, "--json"]);
        assert_eq!(ran.code, Some(3), "{}", ran.stdout);
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        let last = report["steps"].as_array().unwrap().last().unwrap();
        assert_eq!((&last["name"], &last["status"]), (&json!(step), &json!("failed")), "{report}");
        assert!(last["detail"][0].as_str().unwrap().contains(words), "{words}: {last}");
        assert!(world.sent_to("/register").is_empty(), "nothing is left behind");
        assert!(!world.was_opened());
    }
}

#[test]
fn what_stands_in_the_way_of_a_login_is_named() {
    let world = World::new();
    let mut command = world.command(&["whoami", &world.url]);
    command.env("TOOLWAY_BEARER", "hidden-secret");
    assert_eq!(run(command, "").code, Some(3), "a token of the environment is not a login");
    let headers = json!({"Authorization": "Bearer hidden-secret"});
    let text = json!({"mcpServers": {"notes": {"url": world.url, "headers": headers}}}).to_string();
    let file = world.home.write("servers.json", &text);
    for words in [
        &["login", "notes", "--config", &file][..],
        &["login", &world.url, "--header", "Authorization: Bearer hidden-secret"],
    ] {
        let ran = world.say(words);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains("gives the header Authorization for this server"), "{}", ran.stderr);
    }
    world.sign_in(&[]);
    let tokens = world.home.0.join(".local/share/toolway/vault");
    for file in std::fs::read_dir(tokens).unwrap() {
        std::fs::set_permissions(file.unwrap().path(), std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    for words in [["whoami", &world.url], ["list", &world.url], ["logout", &world.url]] {
        let ran = world.say(&words);
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains("chmod 600"), "{}", ran.stderr);
    }
}

#[test]
fn the_proxy_uses_the_token_that_login_keeps() {
    let world = World::new();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "add", "arguments": {"a": 1, "b": 2}, "_meta": crate::host::stateless_meta(),
    }});
    let mut host = crate::host::Host::start(world.command(&["proxy", &world.url]));
    host.send(&call);
    let refused = host.read();
    assert_eq!(refused["error"]["data"]["reason"], "signInRequired", "{refused}");
    let login = format!("sign in with `toolway login {}`", world.url);
    assert!(refused["error"]["message"].as_str().unwrap().contains(&login), "{refused}");
    world.sign_in(&[]);
    // The proxy looks for the token again.
    host.send(&call);
    assert_eq!(host.read()["result"]["content"][0]["text"], "3");
    let mut other = crate::host::Host::start(world.command(&["proxy", &world.url]));
    other.initialize("2025-11-25");
    world.expire();
    let renewed = other.ask(&json!(2), "tools/list", &json!({}));
    assert!(renewed["result"]["tools"].is_array(), "the token is renewed: {renewed}");
}

#[test]
fn a_project_cannot_change_how_to_sign_in_without_a_question() {
    let world = World::new();
    let oauth = json!({"clientId": "from-project", "clientSecret": "${SECRET}"});
    let text = json!({"mcpServers": {"notes": {"url": world.url, "oauth": oauth}}}).to_string();
    world.home.write("project/.mcp.json", &text);
    let mut command = world.command(&["login", "notes", "--no-browser"]);
    command.current_dir(world.home.0.join("project")).env("SECRET", "hidden-secret");
    let mut terminal = Terminal::start(command);
    let seen = terminal.until("Use it?");
    assert!(seen.contains("sign in    clientId=from-project\r\n"), "{seen}");
    assert!(seen.contains("It would get the variable SECRET of your environment."), "{seen}");
    check_secrets(&seen);
    assert_eq!(terminal.types("n").ends().1, Some(1));
    assert!(world.state.lock().unwrap().sent.is_empty());
}
