//! Which texts does a user read? They are kept in `tests/golden`, so that a change of them is visible.

use crate::stage::{fixture_path, golden, on_fixture, own, say, transcript};

#[test]
fn help_says_what_can_be_written() {
    let mut all = String::new();
    for words in [
        &["--help"][..],
        &["list", "--help"],
        &["call", "--help"],
        &["read", "--help"],
        &["prompt", "--help"],
        &["complete", "--help"],
        &["doctor", "--help"],
        &["serve", "--help"],
        &["trust", "--help"],
        &["login", "--help"],
        &["logout", "--help"],
        &["whoami", "--help"],
    ] {
        all.push_str(&transcript(&format!("toolway {}", words.join(" ")), &say(words)));
    }
    golden("help", &all);
    let mut all = String::new();
    for words in [&["--help"][..], &["--version"], &["call", "--help"], &["serve", "--help"]] {
        all.push_str(&transcript(&format!("fixture {}", words.join(" ")), &own(words)));
    }
    golden("help-own", &all);
}

#[test]
fn lists_say_how_things_are_used() {
    let mut all = String::new();
    for words in
        [&["list"][..], &["list", "--tools"], &["list", "--resources", "--templates"], &["list", "--prompts"]]
    {
        all.push_str(&transcript(&format!("fixture {}", words.join(" ")), &own(words)));
    }
    let fixture = fixture_path();
    let odd = say(&["list", "--", fixture.to_str().unwrap(), "odd"]);
    all.push_str(&transcript("toolway list -- FIXTURE odd", &odd));
    let nothing = say(&["list", "--resources", "--", fixture.to_str().unwrap(), "odd"]);
    all.push_str(&transcript("toolway list --resources -- FIXTURE odd", &nothing));
    golden("list", &all);
}

#[test]
fn mistakes_are_answered_with_what_would_be_right() {
    let mut all = String::new();
    for words in [
        &["call"][..],
        &["call", "ad", "a=1"],
        &["call", "unknown"],
        &["call", "add"],
        &["call", "add", "a=1"],
        &["call", "add", "a=one", "b=2"],
        &["call", "add", "a=1", "bb=2"],
        &["call", "add", "1", "2"],
        &["call", "add", "{}"],
        &["call", "fail", "reason=it rains"],
        &["read", "fixture://abuot"],
        &["read", "other://x"],
        &["prompt", "sigths"],
        &["prompt", "sights", "town=Bern"],
        &["complete", "prompt", "sights"],
        &["complete", "prompt", "sights", "ctiy"],
        &["complete", "template", "citty", "name"],
    ] {
        all.push_str(&transcript(
            &format!("toolway {} -- FIXTURE serve", words.join(" ")),
            &on_fixture(words),
        ));
    }
    for words in [
        &["list"][..],
        &["list", "-h"],
        &["lits"],
        &["list", "localhost:8000/mcp"],
        &["list", "http://127.0.0.1:1/mcp"],
        &["list", "--json", "http://127.0.0.1:1/mcp"],
        &["list", "--", "no-such-program-anywhere"],
        &["trust"],
        &["trust", "--revoke", "weather"],
        &["login"],
        &[
            "login",
            "http://127.0.0.1:1/mcp",
            "--client-id",
            "a",
            "--client-secret-file",
            "/no/such/file",
            "--issuer",
            "https://id.example",
        ],
        &["login", "http://127.0.0.1:1/mcp", "--redirect", "https://example.com/callback"],
        &["whoami", "http://127.0.0.1:1/mcp"],
        &["logout", "http://127.0.0.1:1/mcp"],
        &["serve"],
        &["serve", "/no/such/directory"],
        &["serve", "--demo", "--http", "0.0.0.0:8000"],
        &["serve", "--demo", "--store", "redis://127.0.0.1"],
        &["serve", "--demo", "--http", "--store", "localhost:6379"],
        &["serve", "--demo", "--http", "--store", "http://user:s3cret@localhost"],
        &["serve", "--demo", "--http", "--store", "redis://user:s3cret@one,two"],
    ] {
        if words != ["list", "-h"] {
            all.push_str(&transcript(&format!("toolway {}", words.join(" ")), &say(words)));
        }
    }
    golden("mistakes", &all);
}
