//! Does the command `toolway` work with real servers?
//!
//! Each check runs one command line and checks its output and exit code.

use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::process::Command;

use crate::Suite;
use crate::check::{Checked, PATIENCE, Report, holds, same, says};
use crate::era::Era;
use crate::sdk::Sdk;
use crate::server::Server;

pub(crate) async fn play(suite: Suite, era: Era, server: &Server, report: &mut Report) {
    let toolway = Toolway { server, era };
    match suite {
        Suite::Everything => everything(&toolway, report).await,
        Suite::Filesystem => filesystem(&toolway, report).await,
        Suite::Sdk(library) => sdk(library, &toolway, report).await,
    }
    report
        .check("doctor", "finds nothing wrong", async {
            let said = toolway.run(&["doctor"]).await?;
            said.left_with(0)?;
            says(&said.out, era.revision())?;
            holds(!said.out.contains('✗'), said.out)
        })
        .await;
}

async fn sdk(library: Sdk, toolway: &Toolway<'_>, report: &mut Report) {
    report
        .check("list", "everything, for a person", async {
            let said = toolway.run(&["list"]).await?;
            said.left_with(0)?;
            for wanted in ["add", "Adds two numbers.", "interop://note", "interop://item/{id}", "greet"] {
                says(&said.out, wanted)?;
            }
            Ok(())
        })
        .await;
    report
        .check("list", "the tools, for a program", async {
            let listed = toolway.run(&["list", "--tools", "--json"]).await?.json()?;
            let tools = listed["tools"].as_array().ok_or("no list of tools")?;
            holds(tools.iter().any(|tool| tool["name"] == "add"), "there is no add")
        })
        .await;
    report
        .check("call", "arguments are read by their types", async {
            let result = toolway.run(&["call", "add", "a=2", "b=3.5", "--json"]).await?.json()?;
            let text = result["content"][0]["text"].as_str().ok_or("no text came")?;
            same(&serde_json::from_str::<Value>(text)?["sum"], &json!(5.5))
        })
        .await;
    report
        .check("call", "a text as it is", toolway.prints(&["call", "echo", "text=Grüße 🦀"], "Grüße 🦀\n"))
        .await;
    report
        .check("call", "a tool that fails", async {
            let said = toolway.run(&["call", "fail", "reason=no luck"]).await?;
            said.left_with(5)?;
            same(&said.out, "")?;
            says(&said.err, "no luck")
        })
        .await;
    report
        .check("call", "a tool that is not there, and an argument that is wrong", async {
            let unknown = toolway.run(&["call", "ad"]).await?;
            unknown.left_with(2)?;
            says(&unknown.err, "did you mean")?;
            toolway.run(&["call", "add", "a=two", "b=3"]).await?.left_with(1)
        })
        .await;
    report
        .check("call", "a question is declined where nobody is asked", async {
            library.asks_during_calls()?;
            if toolway.era.revision() < "2025-06-18" {
                return Ok(());
            }
            let said = toolway.run(&["call", "ask_form", "--no-input"]).await?;
            said.left_with(0)?;
            says(&said.out, "decline")
        })
        .await;
    report
        .check("read", "text, and bytes into a file", async {
            says(&toolway.run(&["read", "interop://note"]).await?.out, "note ")?;
            let file = toolway.server.folder().join("picture.png");
            let path = file.display().to_string();
            toolway.run(&["read", "interop://picture", "--output", &path]).await?.left_with(0)?;
            holds(fs::read(file)?.starts_with(b"\x89PNG\r\n"), "that is no PNG")
        })
        .await;
    report
        .check("read", "what is not there", async {
            let said = toolway.run(&["read", "interop://nothing"]).await?;
            holds(matches!(said.code, Some(2 | 5)), format!("it left with {:?}", said.code))
        })
        .await;
    report
        .check("prompt", "filled in", async {
            let said = toolway.run(&["prompt", "greet", "name=Zoë", "style=fancy"]).await?;
            said.left_with(0)?;
            says(&said.out, "Greet Zoë in a fancy way.")
        })
        .await;
    let line = &["complete", "prompt", "greet", "style", "f"];
    report.check("complete", "an argument", toolway.prints(line, "formal\nfriendly\nfancy\n")).await;
    let line = &["complete", "template", "interop://item/{id}", "id", "be"];
    report.check("complete", "a variable", toolway.prints(line, "beta\nbetter\n")).await;
}

async fn everything(toolway: &Toolway<'_>, report: &mut Report) {
    report
        .check("list", "everything, for a person", async {
            let said = toolway.run(&["list"]).await?;
            said.left_with(0)?;
            for wanted in ["get-sum", "demo://resource/dynamic/text/{resourceId}", "args-prompt"] {
                says(&said.out, wanted)?;
            }
            Ok(())
        })
        .await;
    let line = &["call", "get-sum", "a=2", "b=3"];
    report
        .check(
            "call",
            "arguments are read by their types",
            toolway.prints(line, "The sum of 2 and 3 is 5.\n"),
        )
        .await;
    report
        .check("call", "a structured result, for a program", async {
            let line = ["call", "get-structured-content", "location=Chicago", "--json"];
            same(&toolway.run(&line).await?.json()?["structuredContent"]["temperature"], &json!(36))
        })
        .await;
    report
        .check("call", "a picture is saved", async {
            let folder = toolway.server.folder().join("saved");
            let path = folder.display().to_string();
            toolway.run(&["call", "get-tiny-image", "--save", &path]).await?.left_with(0)?;
            let saved: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
            same(&saved.len(), &1)?;
            holds(fs::read(saved[0].path())?.starts_with(b"\x89PNG\r\n"), "that is no PNG")
        })
        .await;
    report
        .check("read", "text", async {
            says(&toolway.run(&["read", "demo://resource/dynamic/text/5"]).await?.out, "Resource 5: ")
        })
        .await;
    report
        .check("prompt", "filled in", async {
            says(
                &toolway.run(&["prompt", "args-prompt", "city=Zürich"]).await?.out,
                "What's weather in Zürich?",
            )
        })
        .await;
    let line = &["complete", "prompt", "completable-prompt", "name", "", "department=Sales"];
    report
        .check("complete", "an argument that depends on another", toolway.prints(line, "David\nEve\nFrank\n"))
        .await;
}

async fn filesystem(toolway: &Toolway<'_>, report: &mut Report) {
    let file = toolway.server.folder().join("cli.txt");
    let path = format!("path={}", file.display());
    report
        .check("list", "the tools, and that there is nothing else", async {
            let listed = toolway.run(&["list", "--json"]).await?.json()?;
            let counts = ["tools", "resources", "resourceTemplates", "prompts"]
                .map(|kind| listed[kind].as_array().map_or(0, Vec::len));
            holds(counts[0] > 0 && counts[1..] == [0; 3], format!("{counts:?} of each kind"))
        })
        .await;
    report
        .check("call", "a file is written and read", async {
            toolway.run(&["call", "write_file", &path, "content=by hand"]).await?.left_with(0)?;
            same(fs::read_to_string(&file)?.as_str(), "by hand")?;
            same(&toolway.run(&["call", "read_text_file", &path]).await?.out, "by hand\n")
        })
        .await;
    report
        .check("call", "a list of objects", async {
            let edits = r#"edits=[{"oldText": "by hand", "newText": "by toolway"}]"#;
            says(&toolway.run(&["call", "edit_file", &path, edits]).await?.out, "+by toolway")
        })
        .await;
    report
        .check("call", "outside of its folder", async {
            let said = toolway.run(&["call", "read_text_file", "path=/etc/passwd"]).await?;
            said.left_with(5)?;
            says(&said.err, "Access denied")
        })
        .await;
    report
        .check("read", "a server without resources", async {
            toolway.run(&["read", "file:///etc/passwd"]).await?.left_with(2)
        })
        .await;
}

/// The command, and the server that it talks to.
struct Toolway<'s> {
    server: &'s Server,
    era: Era,
}

/// The exit code and the output of a command.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Toolway<'_> {
    /// Runs a command with these arguments; adds the server and the era.
    async fn run(&self, words: &[&str]) -> Checked<Said> {
        let (verb, words) = words.split_first().ok_or("no command")?;
        let mut command = Command::new(program()?);
        command.arg(verb);
        let (place, patience) = (self.server.words(), PATIENCE.as_secs().to_string());
        if self.server.is_child() {
            command
                .args(words)
                .args(self.era.options())
                .args(["--timeout", &patience])
                .arg("--")
                .args(&place);
        } else {
            command.args(&place).args(words).args(self.era.options()).args(["--timeout", &patience]);
        }
        let output = command.stdin(Stdio::null()).kill_on_drop(true).output().await?;
        let text = |bytes| String::from_utf8(bytes).map_err(|_| "it printed no UTF-8");
        Ok(Said { code: output.status.code(), out: text(output.stdout)?, err: text(output.stderr)? })
    }

    /// Runs a command that must print exactly this.
    async fn prints(&self, words: &[&str], wanted: &str) -> Checked {
        let said = self.run(words).await?;
        said.left_with(0)?;
        same(said.out.as_str(), wanted)
    }
}

impl Said {
    fn left_with(&self, code: i32) -> Checked {
        holds(
            self.code == Some(code),
            format!("it left with {:?}, not {code}: {}{}", self.code, self.out, self.err),
        )
    }

    fn json(&self) -> Checked<Value> {
        self.left_with(0)?;
        Ok(serde_json::from_str(&self.out)?)
    }
}

/// The path of the command, which is built beside this program.
fn program() -> std::io::Result<PathBuf> {
    Ok(std::env::current_exe()?.with_file_name(format!("toolway{}", std::env::consts::EXE_SUFFIX)))
}
