//! Do the Rust tests compile and pass that the inspector exports?
//!
//! Calls of several kinds are made with a running `toolway inspect`, as its page makes them, and exported. Each target has
//! a package in the target folder with exactly the dependencies that the exported text names; its tests then run against
//! the real server.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::page;
use crate::run::{self, KillOnDrop, Result};
use crate::server_process::ServerProcess;
use crate::test;
use crate::workspace::Workspace;

/// Exports a test for each call, compiles them all, and runs them.
pub(crate) fn run(workspace: &Workspace, folder: &Path) -> Result {
    test::build_programs(workspace, &page::BUILD)?;
    let fixture = workspace.debug_program("examples/cli-fixture");
    let server = ServerProcess::start(
        &fixture,
        |port| ["more", "serve", "--http", &format!("127.0.0.1:{port}")].map(str::to_owned).to_vec(),
        folder.join("exported-http.log"),
    )?;
    let program = fixture.to_string_lossy();
    let url = server.url();
    let pipe = ["--", &*program, "more", "serve"];
    for (name, target, calls) in
        [("pipe", &pipe[..], PIPE_CALLS), ("http", &["--protocol", "2025-11-25", &*url], HTTP_CALLS)]
    {
        let inspector = Inspector::start(workspace, target)?;
        let package = folder.join("exported").join(name);
        let mut texts = Vec::new();
        for (tool, arguments) in calls {
            texts.push((*tool, inspector.export(tool, arguments)?));
        }
        write_package(workspace, &package, name, &texts)
            .map_err(|error| format!("could not write {}: {error}", package.display()))?;
        let mut cargo = workspace.cargo(&["test", "--test", "exported", "--manifest-path"]);
        let (said, outcome) = run::tee(cargo.arg(package.join("Cargo.toml")).arg("--target-dir").arg(folder));
        outcome?;
        let wanted = format!("ok. {} passed", calls.len());
        if !said.contains(&wanted) {
            return Err(format!("the exported tests over {name} should say `{wanted}`"));
        }
    }
    Ok(())
}

fn write_package(
    workspace: &Workspace,
    package: &Path,
    name: &str,
    texts: &[(&str, String)],
) -> std::io::Result<()> {
    let folder = package.join("tests/exported");
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(package.join("src"))?;
    fs::write(package.join("src/lib.rs"), "")?;
    // The versions that all other newcomers are built with.
    fs::copy(workspace.root.join("newcomers/Cargo.lock"), package.join("Cargo.lock"))?;
    let library = workspace.root.join("crates/toolway");
    let dependencies = texts.first().map(|(_, text)| dependencies_of(text, &library)).unwrap_or_default();
    let manifest = format!(
        "[workspace]\n\n[package]\nname = \"exported-{name}\"\nedition = \"2024\"\n\n{dependencies}\n\
         [profile.dev]\ndebug = false\n"
    );
    fs::write(package.join("Cargo.toml"), manifest)?;
    let mut modules = String::new();
    for (tool, text) in texts {
        modules.extend(["mod ", tool, ";\n"]);
        fs::write(folder.join(format!("{tool}.rs")), text)?;
    }
    fs::write(folder.join("main.rs"), modules)?;
    Ok(())
}

/// Returns the lines for `Cargo.toml` from the beginning of an exported test, with a path in place of the repository.
fn dependencies_of(text: &str, library: &Path) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("// "));
    let lines = lines.map(|line| match line.split_once("git = \"") {
        Some((before, rest)) => {
            let after = rest.split_once('"').map_or("", |(_, after)| after);
            format!("{before}path = {:?}{after}\n", library.to_string_lossy())
        }
        None => format!("{line}\n"),
    });
    lines.collect()
}

/// A running `toolway inspect` and the token of its page.
struct Inspector {
    _process: KillOnDrop,
    address: String,
    token: String,
}

impl Inspector {
    /// Starts the inspector and waits until its server is connected.
    fn start(workspace: &Workspace, target: &[&str]) -> Result<Self> {
        let mut command = Command::new(workspace.debug_program("toolway"));
        command.args(["inspect", "--json", "--port", "0"]).args(target);
        let (process, output) = KillOnDrop::spawn_and_read(&mut command)?;
        let mut line = String::new();
        BufReader::new(output)
            .read_line(&mut line)
            .map_err(|error| format!("could not read the link of the inspector: {error}"))?;
        let printed: Value = serde_json::from_str(&line).unwrap_or_default();
        let address_and_code =
            printed["url"].as_str().and_then(|url| url.strip_prefix("http://")?.split_once("/#"));
        let (address, code) =
            address_and_code.ok_or_else(|| format!("the inspector printed no link: {line}"))?;
        let mut inspector = Self { _process: process, address: address.to_owned(), token: String::new() };
        let entered = inspector.send("POST", "/api/enter", &json!({ "code": code }))?;
        entered["token"].as_str().unwrap_or_default().clone_into(&mut inspector.token);
        inspector.wait("/api/state", |state| state["servers"][0]["connection"]["state"] == "ready")?;
        Ok(inspector)
    }

    /// Calls a tool, and returns the call as a Rust test.
    fn export(&self, tool: &str, arguments: &str) -> Result<String> {
        let call = json!({"server": 0, "kind": "tool", "name": tool, "arguments": arguments});
        let number = self.send("POST", "/api/call", &call)?["call"].clone();
        self.wait(&format!("/api/call?id={number}"), |call| {
            !matches!(call["state"].as_str(), Some("running" | "asking"))
        })?;
        let exported = self.send("POST", "/api/export", &json!({"call": number, "as": "rust"}))?;
        exported["text"].as_str().map(str::to_owned).ok_or_else(|| format!("`{tool}`: {exported}"))
    }

    fn wait(&self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Result<Value> {
        let deadline = Instant::now() + WAIT;
        loop {
            let reply = self.send("GET", path, &Value::Null)?;
            if is_wanted(&reply) {
                return Ok(reply);
            }
            if Instant::now() > deadline {
                return Err(format!("the inspector still answers {path} with {reply}"));
            }
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let failed = |error: std::io::Error| format!("{method} {path} of the inspector failed: {error}");
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(&self.address).map_err(failed)?;
        stream.set_read_timeout(Some(WAIT)).map_err(failed)?;
        // In this version of HTTP, the reply ends with the connection.
        let head = format!(
            "{method} {path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        stream.write_all(format!("{head}{body}").as_bytes()).map_err(failed)?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply).map_err(failed)?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_default();
        if head.split(' ').nth(1) == Some("200") {
            serde_json::from_str(body).map_err(|error| format!("{method} {path}: {error}: {body}"))
        } else {
            Err(format!("{method} {path}: the inspector answered {reply}"))
        }
    }
}

/// Tools of the fixture with their arguments: a text, quotes of every kind, and a result that is an error.
const PIPE_CALLS: &[(&str, &str)] = &[
    ("add", r#"{"a":1.5,"b":2}"#),
    ("echo", r###"{"text":"it's \"quoted\"\\ and\nbroken, größer 🦀 \u202e $HOME {} r#\"#\"##"}"###),
    ("fail", r##"{"reason":"no \"#reason"}"##),
];
/// Structured content without and with a schema, in a revision that the client would not choose.
const HTTP_CALLS: &[(&str, &str)] = &[("facts", "{}"), ("sum", r#"{"a":1,"b":2}"#)];
/// Each step takes milliseconds; the limit allows for a busy machine.
const WAIT: Duration = Duration::from_secs(60);

#[cfg(test)]
mod tests {
    use super::dependencies_of;
    use std::path::Path;

    #[test]
    fn the_dependencies_of_an_exported_test_have_a_path() {
        let text = "// [dev-dependencies]\n// tokio = \"1\"\n// toolway = { git = \"https://x.example\", \
                    features = [\"client\"] }\nuse toolway::prelude::*;\n// not this\n";
        assert_eq!(
            dependencies_of(text, Path::new("/lib")),
            "[dev-dependencies]\ntokio = \"1\"\ntoolway = { path = \"/lib\", features = [\"client\"] }\n"
        );
    }
}
