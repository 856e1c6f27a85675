//! Which servers of projects does the user trust, and how is that taken back?

use std::fmt::Write;

use crate::args::Trust;
use crate::closest::unknown_name;
use crate::console::Console;
use crate::failure::{Failure, Result};
use crate::location::{TrustFile, TrustedServer};
use crate::terminal::escape_to_line;

pub(crate) fn run(trust: &Trust) -> Result<()> {
    let file = TrustFile::of_user()
        .ok_or_else(|| Failure::usage("your home directory is not known, so no agreements are kept"))?;
    let servers = file.read().map_err(|error| {
        let path = file.path.display();
        Failure::usage(format!("{path} cannot be read: {error}"))
            .hint("no server of a project is trusted; delete the file to begin again")
    })?;
    match &trust.revoke {
        Some(name) => revoke(&file, servers, name, trust.json),
        None => list(&servers, trust.json),
    }
}

fn list(servers: &[TrustedServer], wants_json: bool) -> Result<()> {
    let console = Console::new(false, true);
    if wants_json {
        return print_json(&console, servers);
    }
    if servers.is_empty() {
        console.write_lines("You have not agreed to use any server of a project.");
    }
    let mut text = String::new();
    for TrustedServer { name, file, action, .. } in servers {
        let file = file.display().to_string();
        let _ = writeln!(
            text,
            "{}\n  in {}\n  to {}",
            escape_to_line(name),
            escape_to_line(&file),
            escape_to_line(action)
        );
    }
    console.write_result(&text)
}

fn revoke(file: &TrustFile, servers: Vec<TrustedServer>, name: &str, wants_json: bool) -> Result<()> {
    let (revoked, kept): (Vec<_>, Vec<_>) = servers.into_iter().partition(|server| server.name == name);
    if revoked.is_empty() {
        let mut known: Vec<_> = kept.iter().map(|server| &*server.name).collect();
        known.sort_unstable();
        known.dedup();
        return Err(unknown_name(&format!("there is no agreement about a server `{name}`"), name, &known));
    }
    file.write(kept)
        .map_err(|error| Failure::usage(format!("{} cannot be written: {error}", file.path.display())))?;
    let console = Console::new(false, true);
    if wants_json {
        return print_json(&console, &revoked);
    }
    let mut text = String::new();
    for TrustedServer { name, file, .. } in &revoked {
        let _ = writeln!(
            text,
            "revoked {} in {}",
            escape_to_line(name),
            escape_to_line(&file.display().to_string())
        );
    }
    console.write_result(&text)
}

/// Prints servers for a program, on one line.
fn print_json(console: &Console, servers: &[TrustedServer]) -> Result<()> {
    let text = serde_json::to_string(&serde_json::json!({ "servers": servers }));
    console.write_result(&(text.expect("texts can be written as JSON") + "\n"))
}
