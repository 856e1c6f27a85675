//! How is the server found?

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::json;

use crate::stage::{Folder, Ran, fixture_http, fixture_path, listen, run, say, toolway};

fn config(folder: &Folder, name: &str, servers: &serde_json::Value) -> String {
    folder.write(name, &json!({"mcpServers": servers}).to_string())
}

#[test]
fn a_program_is_named_by_its_path() {
    // Without arguments the fixture is not a server, but it is started.
    let ran = say(&["list", fixture_path().to_str().unwrap()]);
    assert_eq!((ran.code, &*ran.stdout), (Some(4), ""));
    assert!(ran.stderr.contains("ended with exit status 1"), "{}", ran.stderr);
}

#[test]
fn a_command_is_one_line_or_many_words() {
    let line = format!("'{}' serve", fixture_path().display());
    let ran = say(&["call", "--command", &line, "add", "a=1", "b=2"]);
    assert_eq!(ran, Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() });
    assert_eq!(say(&["list", "--command", "an 'open quote"]).code, Some(1));
    assert_eq!(say(&["list", "--command", "x", "--", "y"]).code, Some(1));
}

#[test]
fn a_server_is_named_as_in_a_file() {
    let folder = Folder::new();
    let http = fixture_http();
    let file = config(
        &folder,
        "servers.json",
        &json!({
            "pipe": {"command": fixture_path(), "args": ["serve"]},
            "web": {"url": http.url},
        }),
    );
    for name in ["pipe", "web"] {
        let ran = say(&["call", "--config", &file, name, "add", "a=1", "b=2"]);
        assert_eq!(ran, Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() });
    }
    let ran = say(&["list", "--config", &file, "pip"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(2), ""));
    assert_eq!(
        ran.stderr,
        format!("toolway: {file} has no server `pip`; did you mean `pipe`?\navailable: pipe, web\n")
    );
    let ran = say(&["list", "--config", "/no/such/file", "pipe"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert!(ran.stderr.contains("/no/such/file"), "{}", ran.stderr);
}

#[test]
fn files_of_the_user_are_found() {
    let project = Folder::new();
    let home = Folder::new();
    config(&home, ".cursor/mcp.json", &json!({"there": {"command": fixture_path(), "args": ["serve"]}}));
    let call = |folder: &Folder, words: &[&str]| {
        let mut command = toolway();
        command.current_dir(&folder.0).env("HOME", &home.0).args(words);
        run(command, "")
    };
    for name in ["there", "cursor:there"] {
        // In the home folder the file still counts as the user's own, not as a project's.
        for folder in [&project, &home] {
            let there = call(folder, &["call", name, "add", "a=1", "b=2"]);
            assert_eq!(
                there,
                Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() },
                "{name}"
            );
        }
    }
    let nowhere = call(&project, &["list", "ther"]);
    assert_eq!((nowhere.code, &*nowhere.stdout), (Some(2), ""));
    assert!(nowhere.stderr.contains("did you mean `there`?"), "{}", nowhere.stderr);
}

#[test]
fn what_a_project_names_is_not_used_unless_somebody_says_so() {
    let project = Folder::new();
    let home = Folder::new();
    let (url, heard) = listener();
    let fixture = fixture_path();
    let fixture = fixture.to_str().unwrap();
    let entry =
        json!({"url": format!("{url}?key=${{PROJECT}}"), "headers": {"X": "${KEY} ${NOT_SET:-x} ${KEY}"}});
    let program = json!({"command": fixture, "args": ["serve"]});
    let file = config(&project, ".mcp.json", &json!({"weather": entry, "program": program}));
    let own = config(&home, ".cursor/mcp.json", &json!({"weather": program}));
    let call = |words: &[&str]| {
        let mut command = toolway();
        command.current_dir(&project.0).env("HOME", &home.0).args(words);
        command.env("KEY", "s3cret").env("PROJECT", "s3cret").env_remove("NOT_SET");
        run(command, "")
    };
    let whose = format!(
        "is described in {file}, a file of this project that another person may have written, and you"
    );
    let connects = format!(
        "the server `weather` {whose} have not agreed to use it: it would connect to {url}?key=${{PROJECT}}"
    );
    let starts = format!("the server `program` {whose} have not agreed to use it: it would start {fixture}");
    let trust = format!(
        "run this command in a terminal; or, if you trust the server, name its file: --config {file}"
    );
    let other = format!("; another server `weather` is in {own}: --config {own}");

    let ran = call(&["list", "weather"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert_eq!(ran.stderr, format!("toolway: {connects}\n{trust}{other}\n"));
    let ran = call(&["call", "program", "add", "a=1", "b=2"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert_eq!(ran.stderr, format!("toolway: {starts}\n{trust}\n"));
    let ran = call(&["list", "--json", "weather"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    let envelope: serde_json::Value = serde_json::from_str(&ran.stderr).unwrap();
    assert_eq!(
        envelope["error"],
        json!({"code": "usage", "message": connects, "hint": format!("{trust}{other}")})
    );
    let ran = call(&["doctor", "weather"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""), "{}", ran.stderr);
    assert_eq!(*heard.lock().unwrap(), "", "nothing was sent");

    // A user who names the file trusts it.
    let ran = call(&["call", "--config", &file, "program", "add", "a=1", "b=2"]);
    assert_eq!(ran, Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() });
    let ran = call(&["call", "--config", &own, "weather", "add", "a=1", "b=2"]);
    assert_eq!(ran, Ran { code: Some(0), stdout: "3\n".to_owned(), stderr: String::new() });
    assert_eq!(call(&["list", "--config", ".mcp.json", "weather"]).code, Some(3));
    assert!(heard.lock().unwrap().to_lowercase().contains("x: s3cret x s3cret"));
}

#[cfg(unix)]
#[test]
fn variables_and_the_directory_of_a_command_are_set() {
    let folder = Folder::new();
    let script = r#"printf '%s %s %s' "$ONE" "$TWO" "$(pwd)" >&2; exit 1"#;
    let mut command = toolway();
    command.env("TWO", "second").args(["list", "-v", "--env", "ONE=first", "--env", "TWO", "--cwd"]);
    command.arg(&folder.0).args(["--", "sh", "-c", script]);
    let ran = run(command, "");
    assert!(ran.stderr.contains(&format!("first second {}", folder.0.display())), "{}", ran.stderr);
}

/// Listens, records what it receives, and gives a useless answer.
fn listener() -> (String, Arc<Mutex<String>>) {
    let heard = Arc::new(Mutex::new(String::new()));
    let keep = heard.clone();
    let address = listen(move |mut stream| {
        use std::io::Read;
        let mut bytes = [0; 4096];
        let length = stream.read(&mut bytes).unwrap();
        keep.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
        let _ =
            stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    });
    (format!("http://{address}/mcp"), heard)
}

#[test]
fn headers_and_tokens_are_sent_and_never_shown() {
    let (url, heard) = listener();
    let ran = say(&["list", &url, "--header", "X-Key: s3cret-key", "--bearer", "s3cret-token", "-v"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(3), ""));
    let heard = heard.lock().unwrap().to_lowercase();
    assert!(
        heard.contains("x-key: s3cret-key") && heard.contains("authorization: bearer s3cret-token"),
        "{heard}"
    );
    assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
}

#[test]
fn a_command_is_shown_as_its_file_has_it() {
    let folder = Folder::new();
    let dies = json!({"command": fixture_path(), "args": ["die", "--token", "${TOKEN}"]});
    let file = config(&folder, "servers.json", &json!({"dies": dies}));
    for words in [&["list"][..], &["list", "--json"], &["list", "-v"], &["doctor"], &["doctor", "--json"]] {
        let mut command = toolway();
        command.env("TOKEN", "s3cret").args(words).args(["--config", &file, "dies"]);
        let Ran { code, stdout, stderr } = run(command, "");
        assert_eq!(code, Some(4), "{words:?}: {stderr}");
        let said = stdout + &stderr;
        assert!(!said.contains("s3cret"), "{words:?}: {said}");
        assert!(said.contains("die --token '${TOKEN}'`"), "{words:?}: {said}");
    }
}

#[test]
fn the_token_of_the_environment_goes_to_urls_and_to_nobody_that_a_file_names() {
    let folder = Folder::new();
    let (url, heard) = listener();
    let file = config(&folder, "servers.json", &json!({"web": {"url": url}}));
    let call = |words: &[&str]| {
        let mut command = toolway();
        command.env("TOOLWAY_BEARER", "s3cret-token").args(words);
        let ran = run(command, "");
        assert_eq!(ran.code, Some(3));
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
        std::mem::take(&mut *heard.lock().unwrap()).to_lowercase()
    };
    assert!(call(&["list", &url]).contains("bearer s3cret-token"));
    assert!(!call(&["list", "--config", &file, "web"]).contains("s3cret"));
    assert!(call(&["list", "--config", &file, "web", "--bearer", "other"]).contains("bearer other"));
}
