//! Do the small programs work that a new user writes by following the guides?
//!
//! They are in `newcomers/`, a separate workspace. Each is built alone, so that it has exactly the features that it
//! names, and then run: the two servers answer requests, the client and the hub connect to them. The tests that the
//! inspector exports are built and run too (`exported.rs`).

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::exported;
use crate::run::{self, Result};
use crate::server_process::ServerProcess;
use crate::workspace::Workspace;

/// `cargo xtask newcomers`.
pub(crate) fn run(workspace: &Workspace) -> Result {
    // The target folder of all other builds: shared dependencies are not built again.
    let folder = workspace.target.clone();
    for project in PROJECTS {
        cargo(workspace, &folder, &["build", "--quiet", "-p", project])?;
    }
    let program = |name: &str| -> PathBuf {
        folder.join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX))
    };
    expect(
        "the server on stdin and stdout",
        &output_of(&mut Command::new(program(STDIO)), CALL)?,
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"5"}]"#,
    )?;
    expect(
        "the server with every macro",
        &output_of(&mut Command::new(program(MACROS)), LIST)?,
        r#""name":"save""#,
    )?;

    let server = ServerProcess::start(
        &program(HTTP),
        |port| vec![port.to_string()],
        folder.join("newcomer-http.log"),
    )?;
    expect("the client", &output_of(Command::new(program(CLIENT)).arg(server.url()), "")?, "2 + 3 = 5")?;

    let file = folder.join("newcomer-mcp.json");
    let servers = json!({"mcpServers": {"calc": {"command": program(STDIO)}, "far": {"url": server.url()}}});
    fs::write(&file, servers.to_string())
        .map_err(|error| format!("could not write {}: {error}", file.display()))?;
    let hub = output_of(Command::new(program(HUB)).arg(&file), "")?;
    for wanted in ["calc: ready, 1 tool", "far: ready, 1 tool", "2 + 3 = 5"] {
        expect("the hub", &hub, wanted)?;
    }

    // Tests with the dev-dependency that the testing guide names.
    cargo(workspace, &folder, &["test", "--quiet", "-p", MACROS])?;
    // Tests without the feature `http`: all other tests have it.
    cargo(workspace, &folder, &["test", "--quiet", "-p", ASK])?;
    // The tests that a user gets from the inspector.
    exported::run(workspace, &folder)?;
    println!("newcomers: {} programs built and run", PROJECTS.len());
    Ok(())
}

fn cargo(workspace: &Workspace, folder: &Path, arguments: &[&str]) -> Result {
    let mut command = workspace.cargo(arguments);
    command.arg("--manifest-path").arg(workspace.root.join("newcomers/Cargo.toml"));
    run::check_success(command.arg("--target-dir").arg(folder))
}

/// Runs a program with `input` on standard input, and returns its whole output.
fn output_of(command: &mut Command, input: &str) -> Result<String> {
    println!("   $ {}", run::command_text(command));
    let failed = |error: std::io::Error| format!("`{}` failed: {error}", run::command_text(command));
    let mut child = Command::new(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(input.as_bytes()).map_err(failed)?;
    }
    let mut output = child.stdout.take().ok_or("standard output is not a pipe")?;
    let reading = thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).map(|_| text)
    });
    let deadline = Instant::now() + RUN_TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break status;
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "`{}` is not done after {} s",
                run::command_text(command),
                RUN_TIMEOUT.as_secs()
            ));
        }
        thread::sleep(Duration::from_millis(10));
    };
    let text = reading.join().map_err(|_| "reading its output panicked".to_owned())?.map_err(failed)?;
    if status.success() {
        Ok(text)
    } else {
        Err(format!(
            "`{}` failed with {}; it said: {text}",
            run::command_text(command),
            run::describe_exit(status)
        ))
    }
}

fn expect(what: &str, said: &str, wanted: &str) -> Result {
    if said.contains(wanted) {
        Ok(())
    } else {
        Err(format!("{what} should print `{wanted}`, but printed: {said}"))
    }
}

const STDIO: &str = "newcomer-stdio";
const HTTP: &str = "newcomer-http";
const CLIENT: &str = "newcomer-client";
const HUB: &str = "newcomer-hub";
const ASK: &str = "newcomer-ask";
const MACROS: &str = "newcomer-macros";
const PROJECTS: [&str; 6] = [STDIO, HTTP, CLIENT, HUB, MACROS, ASK];
const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"add\",\"arguments\":{\"a\":2,\"b\":3}}}\n";
const LIST: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n";
/// Each of them takes less than a second; the limit allows for a busy machine.
const RUN_TIMEOUT: Duration = Duration::from_secs(2 * 60);

#[cfg(all(test, unix))]
mod tests {
    use super::{PROJECTS, expect, output_of};
    use std::process::Command;

    #[test]
    fn a_program_gets_its_input_and_is_heard() {
        assert_eq!(output_of(&mut Command::new("cat"), "hello\n").unwrap(), "hello\n");
        let error = output_of(Command::new("sh").args(["-c", "echo oh; exit 2"]), "").unwrap_err();
        assert!(error.ends_with("failed with exit code 2; it said: oh\n"), "{error}");
        assert!(expect("it", "five", "5").unwrap_err().contains("should print `5`"));
    }

    #[test]
    fn every_project_of_the_workspace_is_built() {
        let manifest = include_str!("../../newcomers/Cargo.toml");
        let (_, members) = manifest.split_once("members = [").unwrap();
        let members = members.split_once(']').unwrap().0;
        let members: Vec<String> =
            members.split(',').map(|name| format!("newcomer-{}", name.trim().trim_matches('"'))).collect();
        assert_eq!(members, PROJECTS);
    }
}
