//! Is a user asked about all that a file of a project would run, and only once?

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::stage::{Folder, Ran, fixture_path, run, toolway};
use crate::terminal::Terminal;

/// A user with a home directory, in a project of another person.
struct User {
    project: Folder,
    home: Folder,
}

impl User {
    fn new() -> Self {
        Self { project: Folder::new(), home: Folder::new() }
    }

    /// Writes the file of the project, with one server, and returns its path.
    fn describes(&self, server: &Value) -> String {
        self.project.write(".mcp.json", &json!({"mcpServers": {"here": server}}).to_string())
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = toolway();
        command.current_dir(&self.project.0).env("HOME", &self.home.0).args(words);
        command.env("TOKEN", "s3cret").env("KEY", "s3cret-too");
        command
    }

    fn at_terminal(&self, words: &[&str]) -> Terminal {
        Terminal::start(self.command(words))
    }

    /// Runs a command without a terminal.
    fn runs(&self, words: &[&str]) -> Ran {
        run(self.command(words), "")
    }

    /// Agrees to use the server, and returns the whole question.
    fn agrees(&self) -> String {
        let mut terminal = self.at_terminal(&["list", "--tools", "here"]);
        let question = terminal.until(PROMPT);
        let (rest, code) = terminal.types("y").ends();
        assert_eq!(code, Some(0), "{question}{rest}");
        question
    }

    fn is_asked(&self) -> bool {
        let ran = self.runs(&["list", "--tools", "here"]);
        let is_asked = ran.stderr.contains("you have not agreed to use it");
        assert_eq!(ran.code, Some(i32::from(is_asked)), "{ran:?}");
        is_asked
    }
}

const PROMPT: &str = "Use it? (y: until it changes, o: only this once, N: no) ";

#[test]
fn everything_that_would_run_is_shown() {
    let user = User::new();
    user.project.write("vars/.env", "PYTHONPATH=s3cret-file\nMODE=s3cret-file\n");
    fs::create_dir(user.project.0.join("sub")).unwrap();
    let bin = user.project.0.join("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(fixture_path(), bin.join("server")).unwrap();
    let file = user.describes(&json!({
        "command": "server",
        "args": ["serve", "--help-me\nUse it? (y/N) y", "", "${TOKEN}", "${UNSET:-a default}"],
        "cwd": "sub",
        "envFile": "vars/.env",
        "env": {"PATH": bin, "LD_PRELOAD": "./own.so", "NODE_OPTIONS": "--require ./own.js", "API": "k-${KEY}", "x": "a\u{ad}b"},
    }));
    let mut terminal = user.at_terminal(&["list", "here"]);
    let seen = terminal.until(PROMPT).replace("\r\n", "\n");
    for line in [
        "  start      ",
        "  argument   serve\n",
        "  argument   \"--help-me\\nUse it? (y/N) y\"\n",
        "  argument   \"\"\n",
        "  argument   ${TOKEN}\n",
        "  argument   a default\n",
        "  directory  ",
        "  variable   LD_PRELOAD=./own.so\n",
        "  variable   NODE_OPTIONS=--require ./own.js\n",
        "  variable   API=k-${KEY}\n",
        "  variable   x=a\\u00adb\n",
        "It would get the variables TOKEN, KEY of your environment.\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    // Long texts are wrapped.
    let joined = seen.replace("\n           | ", "").replace("\n  ", " ");
    for path in
        [file, bin.join("server").display().to_string(), user.project.0.join("sub").display().to_string()]
    {
        assert!(joined.contains(&path), "{path}: {joined}");
    }
    assert!(!seen.contains("s3cret") && !seen.contains('\u{ad}'), "{seen}");
    assert!(!seen.contains("\nUse it?"), "{seen}");
    let (rest, code) = terminal.types("n").ends();
    assert!(rest.contains("the server `here` is not used"), "{rest}");
    assert_eq!(code, Some(1));
}

#[test]
fn a_url_is_shown_whole_with_the_names_of_its_headers() {
    let user = User::new();
    user.describes(&json!({
        "url": "https://a.example@b.example/mcp?key=${KEY}", "headers": {"Authorization": "Bearer ${TOKEN}", "X-Own": "text"},
    }));
    let mut terminal = user.at_terminal(&["list", "here"]);
    let seen = terminal.until(PROMPT);
    for line in [
        "  connect to https://a.example@b.example/mcp?key=${KEY}\r\n",
        "  header     Authorization\r\n",
        "  header     X-Own\r\n",
        "It would get the variables KEY, TOKEN of your environment.\r\n",
    ] {
        assert!(seen.contains(line), "{line}: {seen}");
    }
    assert!(!seen.contains("s3cret") && !seen.contains("CAREFUL"), "{seen}");
    assert_eq!(terminal.types("").ends().1, Some(1));
}

#[test]
fn a_program_that_a_variable_names_is_shown_by_the_variable() {
    let user = User::new();
    user.describes(&json!({"command": "${TOKEN}/run", "cwd": "${KEY}/sub"}));
    let mut terminal = user.at_terminal(&["list", "here"]);
    let seen = terminal.until(PROMPT);
    assert!(seen.contains("  start      ${TOKEN}/run\r\n  directory  ${KEY}/sub\r\n"), "{seen}");
    assert!(!seen.contains("s3cret"), "{seen}");
    let ran = user.runs(&["list", "here"]);
    assert!(ran.code == Some(1) && !ran.stderr.contains("s3cret"), "{ran:?}");

    // The answer is about the program that the variable named.
    user.describes(&json!({"command": "${BIN}/server", "args": ["serve"]}));
    let with_bin = |name: &str| {
        let bin = user.project.0.join(name);
        fs::create_dir_all(&bin).unwrap();
        let _ = std::os::unix::fs::symlink(fixture_path(), bin.join("server"));
        let mut command = user.command(&["list", "--tools", "here"]);
        command.env("BIN", bin);
        command
    };
    let mut terminal = Terminal::start(with_bin("one"));
    terminal.until(PROMPT);
    assert_eq!(terminal.types("y").ends().1, Some(0));
    assert_eq!(run(with_bin("one"), "").code, Some(0));
    assert_eq!(run(with_bin("two"), "").code, Some(1), "another program");
}

#[test]
fn an_answer_counts_for_what_was_shown() {
    for (said, works, is_kept) in [
        ("y", true, true),
        ("YES", true, true),
        ("o", true, false),
        ("", false, false),
        ("n", false, false),
        ("why?", false, false),
    ] {
        let user = User::new();
        user.describes(&json!({"command": fixture_path(), "args": ["serve"], "env": {"A": "1"}}));
        for words in [
            &["call", "here", "add", "a=1", "b=2"][..],
            &["call", "--json", "here", "empty"],
            &["doctor", "here"],
        ] {
            // The answer is for all commands, so each one is the first for its user.
            let _ = fs::remove_dir_all(user.home.0.join(".config"));
            let mut terminal = user.at_terminal(words);
            terminal.until(PROMPT);
            let (rest, code) = terminal.types(said).ends();
            assert_eq!(code, Some(i32::from(!works)), "{said}: {rest:?}");
            assert_eq!(rest.contains("`here` is not used"), !works, "{said}: {rest:?}");
            assert_eq!(user.is_asked(), !is_kept, "{said}");
        }
    }
    // A user who does not want to be asked is not asked, even at a terminal.
    let user = User::new();
    user.describes(&json!({"command": fixture_path(), "args": ["serve"]}));
    let (seen, code) = user.at_terminal(&["list", "--no-input", "here"]).ends();
    assert_eq!(code, Some(1));
    assert!(seen.contains("--config") && !seen.contains(PROMPT), "{seen:?}");
}

#[test]
fn any_change_is_asked_about_again() {
    let user = User::new();
    let bin = |name: &str| user.project.0.join(name);
    for name in ["bin", "other-bin"] {
        fs::create_dir(bin(name)).unwrap();
        std::os::unix::fs::symlink(fixture_path(), bin(name).join("server")).unwrap();
    }
    fs::create_dir(user.project.0.join("sub")).unwrap();
    user.project.write("one.env", "A=1\nB=2\n");
    user.project.write("two.env", "A=1\nB=2\n");
    let path = std::env::join_paths([bin("before"), bin("bin")]).unwrap().into_string().unwrap();
    let first = json!({"command": "server", "args": ["serve"], "env": {"PATH": path, "MODE": "${TOKEN}"}, "envFile": "one.env"});
    user.describes(&first);
    assert!(user.is_asked());
    user.agrees();
    assert!(!user.is_asked(), "nothing has changed");

    let changed = |path: &str, value: Value| {
        let mut server = first.clone();
        *server.pointer_mut(path).unwrap_or_else(|| panic!("{path}")) = value;
        server
    };
    let mut more = first.clone();
    more["cwd"] = json!("sub");
    let mut quiet = first.clone();
    quiet["env"]["LD_BIND_NOW"] = json!("1");
    for (what, server) in [
        ("a value", changed("/env/MODE", json!("${KEY}"))),
        ("a literal", changed("/env/MODE", json!("x"))),
        ("a variable", quiet),
        ("another program of this name", changed("/env/PATH", json!(bin("other-bin")))),
        ("the program", changed("/command", json!(fixture_path()))),
        ("an argument", changed("/args", json!(["serve", "--max-message", "1M"]))),
        ("the directory", more),
        ("the file of variables", changed("/envFile", json!("two.env"))),
    ] {
        user.describes(&server);
        assert!(user.is_asked(), "{what}");
    }
    user.describes(&first);
    assert!(!user.is_asked(), "it is as it was");
    user.project.write("one.env", "A=1\nB=3\n");
    assert!(user.is_asked(), "a value in the file of variables");
    user.project.write("one.env", "A=1\nB=2\n");
    assert!(!user.is_asked());
    // A program of the same name comes first on `PATH` now.
    fs::create_dir(bin("before")).unwrap();
    std::os::unix::fs::symlink(fixture_path(), bin("before/server")).unwrap();
    assert!(user.is_asked(), "another program is found");
    fs::remove_file(bin("before/server")).unwrap();
    assert!(!user.is_asked());
    // The user's own variables may change.
    let mut command = user.command(&["list", "--tools", "here"]);
    command.env("TOKEN", "another-s3cret");
    assert_eq!(run(command, "").code, Some(0));
    // Another project is asked about, whatever its file says.
    let other = User { project: Folder::new(), home: Folder(user.home.0.clone()) };
    other.describes(&json!({"command": fixture_path(), "args": ["serve"]}));
    assert!(other.is_asked());
}

#[test]
fn agreements_are_listed_and_revoked() {
    let user = User::new();
    assert_eq!(user.runs(&["trust", "--list"]).stdout, "");
    let file = user.describes(&json!({"command": fixture_path(), "args": ["serve"]}));
    user.agrees();
    let fixture = fixture_path().display().to_string();
    let listed = user.runs(&["trust", "--list"]);
    assert_eq!(listed.stdout, format!("here\n  in {file}\n  to start {fixture}\n"), "{listed:?}");
    let all: Value = serde_json::from_str(&user.runs(&["trust", "--list", "--json"]).stdout).unwrap();
    assert_eq!((&all["servers"][0]["name"], &all["servers"][0]["file"]), (&json!("here"), &json!(file)));

    let unknown = user.runs(&["trust", "--revoke", "hear"]);
    assert_eq!((unknown.code, &*unknown.stdout), (Some(2), ""));
    assert_eq!(
        unknown.stderr,
        "toolway: there is no agreement about a server `hear`; did you mean `here`?\navailable: here\n"
    );
    assert!(!user.is_asked());
    let revoked = user.runs(&["trust", "--revoke", "here"]);
    assert_eq!(
        revoked,
        Ran { code: Some(0), stdout: format!("revoked here in {file}\n"), stderr: String::new() }
    );
    assert!(user.is_asked());
    assert_eq!(user.runs(&["trust", "--revoke", "here"]).code, Some(2));
    for words in [&["trust"][..], &["trust", "--list", "--revoke", "here"]] {
        assert_eq!(user.runs(words).code, Some(1), "{words:?}");
    }
}

#[test]
fn the_file_of_agreements_is_private_and_may_be_damaged() {
    let user = User::new();
    user.describes(&json!({"command": fixture_path(), "args": ["serve"]}));
    user.agrees();
    let file = user.home.0.join(".config/toolway/trusted.json");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let names: Vec<_> =
        fs::read_dir(file.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["trusted.json"], "nothing else is left");
    let whole = fs::read_to_string(&file).unwrap();
    assert!(!whole.contains("s3cret"));
    for damaged in [
        String::new(),
        "{}".to_owned(),
        "\0".to_owned(),
        whole[..whole.len() / 2].to_owned(),
        whole.replace(&whole[whole.find("\"sha256\": \"").unwrap() + 11..][..8], "00000000"),
    ] {
        fs::write(&file, damaged).unwrap();
        assert!(user.is_asked());
    }
    let ran = user.runs(&["trust", "--list"]);
    assert_eq!(ran.code, Some(0), "a list with another digest is still a list: {ran:?}");
    fs::write(&file, "rubbish").unwrap();
    let ran = user.runs(&["trust", "--list"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(1), ""));
    assert!(ran.stderr.contains("delete the file to begin again"), "{ran:?}");
    user.agrees();
    assert!(!user.is_asked(), "the file is written anew");

    // An answer that cannot be kept is still an answer.
    let user = User::new();
    user.describes(&json!({"command": fixture_path(), "args": ["serve"]}));
    user.home.write(".config", "a file where a directory should be");
    let mut terminal = user.at_terminal(&["call", "here", "add", "a=1", "b=2"]);
    terminal.until(PROMPT);
    let (rest, code) = terminal.types("y").ends();
    assert!(rest.contains("Your answer is not saved") && rest.ends_with("3\r\n"), "{rest:?}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_is_too_long_to_read_is_not_asked() {
    let user = User::new();
    let mut args = vec!["serve"; 200];
    args.push("last");
    user.describes(&json!({"command": fixture_path(), "args": args}));
    let (seen, code) = user.at_terminal(&["list", "here"]).ends();
    assert!(seen.contains("takes more than 100 lines to show") && !seen.contains(PROMPT), "{seen}");
    assert_eq!(code, Some(1));
}
