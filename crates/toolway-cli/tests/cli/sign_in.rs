//! How does a user sign in to a server, and what happens without a user?

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::protected_server::{World, callback, check_secrets, follow};
use crate::stage::{Ran, fixture_http, run};
use crate::terminal::Terminal;

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
