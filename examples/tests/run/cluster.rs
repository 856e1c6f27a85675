//! Does a session survive the death of a node in the example `cluster`?

use std::io::Write;
use std::process::{Command, Stdio};

use super::program;

#[test]
fn a_session_survives_a_killed_node() {
    for (name, version) in [("redis-server", "--version"), ("haproxy", "-v")] {
        if find_or_explain(name, version).is_none() {
            return;
        }
    }
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/cluster/run.sh");
    let ran = Command::new(script).env("CLUSTER", program("cluster")).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}\n{}", String::from_utf8_lossy(&ran.stderr));
    // The number goes on, so it is one session; and the node that died has no visit after its death.
    let (before, after) = said.split_once("kill -9 ").unwrap();
    let dead = after.lines().next().unwrap();
    assert!(before.contains(&format!("a long call works at {dead}\n")), "{said}");
    for visit in 1..=12 {
        let part = if visit <= 6 { before } else { after };
        assert!(part.contains(&format!("\nvisit {visit} at node-")), "{said}");
    }
    assert!(!after.contains(&format!("at {dead}\n")), "{said}");
    assert!(after.contains("the long call failed: "), "{said}");
}

/// Returns a program, or says that a test does not run without it.
pub(super) fn find_or_explain(name: &str, version: &str) -> Option<String> {
    let is_installed = |program: &String| {
        Command::new(program).arg(version).stdout(Stdio::null()).status().is_ok_and(|status| status.success())
    };
    let found = [name.to_owned(), format!("/usr/sbin/{name}")].into_iter().find(is_installed);
    if found.is_none() {
        let text =
            format!("{name} was not found, so a test of several nodes did not run: apt-get install {name}");
        assert!(std::env::var_os("TOOLWAY_REQUIRE_REDIS").is_none(), "{text}");
        // Not `eprintln`, which is only shown for tests that fail.
        std::io::stderr().write_all(format!("{text}\n").as_bytes()).unwrap();
    }
    found
}
