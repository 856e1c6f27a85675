//! How does a test get a server that asks to sign in, with its authorization server and a user's machine?

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::stage::{Folder, Http, Ran, answer, fixture_http, listen, run, toolway};

/// A server that asks to sign in, its authorization server at the same address, and a user's machine.
pub(crate) struct World {
    pub(crate) url: String,
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) home: Folder,
    _server: Http,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) tokens: u32,
    pub(crate) valid: HashSet<String>,
    /// The paths and bodies of requests to the authorization server.
    pub(crate) sent: Vec<(String, String)>,
    /// Members of the documents that differ.
    pub(crate) resource: Value,
    pub(crate) server: Value,
}

/// The beginnings of everything that must not be shown.
pub(crate) const SECRETS: [&str; 4] = ["hidden-token", "hidden-refresh", "hidden-code", "hidden-secret"];

impl World {
    pub(crate) fn new() -> Self {
        let (server, state, home) = (fixture_http(), Arc::<Mutex<State>>::default(), Folder::new());
        let behind = server.url["http://".len()..].split('/').next().unwrap().to_owned();
        let shared = state.clone();
        let address = listen(move |stream| serve(stream, &behind, &shared));
        let browser = home.write("browser", "#!/bin/sh\nprintf '%s' \"$1\" > \"$HOME/opened\"\n");
        std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { url: format!("http://{address}/mcp"), state, home, _server: server }
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = toolway();
        command.args(words).env("HOME", &self.home.0).current_dir(&self.home.0);
        command.env("BROWSER", self.home.0.join("browser"));
        command
    }

    /// Runs a command without a terminal.
    pub(crate) fn say(&self, words: &[&str]) -> Ran {
        let ran = run(self.command(words), "");
        check_secrets(&ran.stdout);
        check_secrets(&ran.stderr);
        ran
    }

    /// Signs in without a browser and without a terminal. Returns what is written on stdout.
    pub(crate) fn sign_in(&self, words: &[&str]) -> String {
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
    pub(crate) fn sent_to(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        state.sent.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }

    pub(crate) fn expire(&self) {
        self.state.lock().unwrap().valid.clear();
    }

    pub(crate) fn was_opened(&self) -> bool {
        self.home.0.join("opened").exists()
    }
}

pub(crate) fn check_secrets(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{text}");
    }
}

/// Returns the URL to which the browser returns, from a text with the page to sign in.
pub(crate) fn callback(seen: &str) -> String {
    let page = seen.lines().map(str::trim).find(|line| line.contains("/authorize?")).unwrap();
    let value = |name: &str| {
        let query = page.split_once('?').unwrap().1;
        query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}="))).unwrap().to_owned()
    };
    let redirect = value("redirect_uri").replace("%3A", ":").replace("%2F", "/");
    format!("{redirect}?code=hidden-code&state={}", value("state"))
}

/// Follows a URL as a browser does.
pub(crate) fn follow(url: &str) {
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
