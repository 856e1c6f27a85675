//! Do the commands of the README and of the guides print what is shown below them?
//!
//! Every fenced block of the kind `console` is run, in the order of its page. In such a block
//!
//! - `$ cargo run -p toolway-examples --example NAME -- …` starts that example for the rest of the page. Pages say port
//!   8000; here it is any free port;
//! - `$ anything else` is run by a shell, and must print the lines that follow. A line that ends with `\`, or inside
//!   quotes, continues on the next;
//! - `…` stands for any text, and as a whole line for any number of lines;
//! - `^C` as the last line means that the command is interrupted as soon as it has printed the rest;
//! - `$SESSION` is the session, `$STREAM` the event stream, and `$STATE` the state of a call, that were last seen in an
//!   answer. `calculator` is the example `hello`.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{PATIENCE, address_of, program, spawn};

#[tokio::test]
async fn every_command_of_the_guides_answers_what_stands_below_it() {
    let curl = Command::new("curl").arg("--version").output().await;
    assert!(curl.is_ok(), "this test needs the program `curl` 7.82 or later: install it");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages: Vec<PathBuf> = std::fs::read_dir(root.join("docs/guide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .collect();
    pages.push(root.join("README.md"));
    pages.sort();
    let mut run = Vec::new();
    for page in pages {
        let name = page.file_name().unwrap().to_str().unwrap().to_owned();
        let steps = steps(&std::fs::read_to_string(&page).unwrap());
        let mut reader = Reader::default();
        for step in &steps {
            reader.follow(&name, step).await;
        }
        if !steps.is_empty() {
            run.push(name);
        }
    }
    // Detects a block that is skipped because its fence is written differently.
    assert_eq!(
        run,
        ["ask-the-user.md", "behind-a-proxy.md", "first-server.md", "mount-in-axum.md", "serve-over-http.md"],
        "pages with commands"
    );
}

/// A command of a page, and its expected output.
#[derive(Debug, PartialEq)]
struct Step {
    line: usize,
    command: String,
    expected: Vec<String>,
}

fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_inside = false;
    let mut goes_on = false;
    for (index, line) in page.lines().enumerate() {
        if line.starts_with("```") {
            is_inside = line == "```console";
            continue;
        }
        if !is_inside {
            continue;
        }
        let (text, is_command) = match line.strip_prefix("$ ") {
            Some(command) => (command, true),
            None => (line, false),
        };
        if is_command {
            steps.push(Step { line: index + 1, command: String::new(), expected: Vec::new() });
        }
        let step = steps.last_mut().unwrap_or_else(|| panic!("line {}: no command before it", index + 1));
        if !is_command && !goes_on {
            step.expected.push(text.to_owned());
            continue;
        }
        step.command.push_str(text.trim_start());
        let is_broken = step.command.ends_with('\\');
        if is_broken {
            step.command.pop();
        }
        goes_on = is_broken || step.command.matches('\'').count() % 2 == 1;
    }
    steps
}

/// Runs the commands of a page, as a reader would.
#[derive(Default)]
struct Reader {
    server: Option<Child>,
    address: String,
    session: String,
    stream: String,
    state: String,
}

impl Reader {
    async fn follow(&mut self, page: &str, step: &Step) {
        if let Some(example) = step.command.strip_prefix("cargo run -p toolway-examples --example ") {
            let (name, arguments) = example.split_once(" -- ").unwrap_or((example, ""));
            let arguments = arguments.replace(PRINTED, "127.0.0.1:0");
            let mut server = spawn(name, arguments.split_whitespace());
            self.address = address_of(&mut server).await;
            self.server = Some(server);
            return;
        }
        let is_ended = step.expected.last().is_some_and(|line| line == "^C");
        let expected = &step.expected[..step.expected.len() - usize::from(is_ended)];
        let printed = self.run(&step.command, is_ended.then_some(expected)).await;
        for line in &printed {
            if let Some(session) = line.strip_prefix("mcp-session-id: ") {
                session.clone_into(&mut self.session);
            }
            if let Some((stream, _)) = line.strip_prefix("id: ").and_then(|id| id.split_once('.')) {
                stream.clone_into(&mut self.stream);
            }
            if let Some((state, _)) =
                line.split_once(r#""requestState":""#).and_then(|(_, state)| state.split_once('"'))
            {
                state.clone_into(&mut self.state);
            }
        }
        assert!(
            fits(expected, &printed),
            "{page}, line {}: {}\n--- expected\n{}\n--- printed\n{}\n---",
            step.line,
            step.command,
            expected.join("\n"),
            printed.join("\n"),
        );
    }

    /// Runs a command and returns its output. With `until`, the command is killed as soon as its output matches.
    async fn run(&self, command: &str, until: Option<&[String]>) -> Vec<String> {
        let command = command.replace(PRINTED, &self.address);
        let command = command.replace("| calculator", &format!("| {}", program("hello").display()));
        // `exec` replaces the shell, so the process that is killed is the one that prints.
        let command = if until.is_some() { format!("exec {command}") } else { command };
        let mut child = Command::new("sh")
            .args(["-c", &command])
            .env("SESSION", &self.session)
            .env("STREAM", &self.stream)
            .env("STATE", &self.state)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut printed = Vec::new();
        let reading = async {
            let Some(until) = until else {
                let mut text = String::new();
                output.read_to_string(&mut text).await.unwrap();
                printed = self.lines(&text);
                return;
            };
            let mut text = String::new();
            while !fits(until, &self.lines(&text)) && output.read_line(&mut text).await.unwrap() > 0 {}
            printed = self.lines(&text);
        };
        // After a timeout, the comparison reports what is missing.
        let _ = tokio::time::timeout(PATIENCE, reading).await;
        child.kill().await.unwrap();
        printed
    }

    /// Returns the lines of an output, with the address that pages use.
    fn lines(&self, text: &str) -> Vec<String> {
        let text =
            if self.address.is_empty() { text.to_owned() } else { text.replace(&self.address, PRINTED) };
        text.lines().map(str::to_owned).collect()
    }
}

/// The address that pages use.
const PRINTED: &str = "127.0.0.1:8000";

/// Returns whether the lines match the expected ones. Empty lines at the end are ignored.
fn fits(expected: &[String], printed: &[String]) -> bool {
    match (expected, printed) {
        ([], rest) => rest.iter().all(String::is_empty),
        ([any, rest @ ..], _) if any == "…" => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..]))
        }
        ([empty], []) => empty.is_empty(),
        (_, []) => false,
        ([line, expected @ ..], [other, printed @ ..]) => line_fits(line, other) && fits(expected, printed),
    }
}

fn line_fits(expected: &str, printed: &str) -> bool {
    match expected.split_once('…') {
        None => expected == printed,
        Some((start, rest)) => printed.strip_prefix(start).is_some_and(|printed| {
            printed
                .char_indices()
                .map(|(at, _)| at)
                .chain([printed.len()])
                .any(|at| line_fits(rest, &printed[at..]))
        }),
    }
}

#[test]
fn what_differs_does_not_fit() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let is = |expected: &str, printed: &str| fits(&lines(expected), &lines(printed));
    assert!(is("a\nb…d\n…\ne", "a\nbcd\nx\ny\ne\n\n"));
    assert!(is("…", "") && is("a…", "a"));
    for (expected, printed) in [("a", "b"), ("a", "a\nb"), ("a\nb", "a"), ("a…c", "ab"), ("…\ne", "a\nb")]
    {
        assert!(!is(expected, printed), "{expected:?} {printed:?}");
    }
}

#[test]
fn a_page_is_read_command_by_command() {
    let page = "```sh\n$ no\n```\n```console\n$ a \\\n    b 'c\n  d'\ne\n\n$ f\n```\nno\n";
    let step = |line, command: &str, expected: &[&str]| Step {
        line,
        command: command.to_owned(),
        expected: expected.iter().map(|text| (*text).to_owned()).collect(),
    };
    assert_eq!(steps(page), [step(5, "a b 'cd'", &["e", ""]), step(10, "f", &[])]);
}
