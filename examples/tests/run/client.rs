//! Does the example `client` print what its reader should see?

use std::process::Output;

use tokio::process::Command;

use super::{PATIENCE, program};

async fn run(argument: Option<&str>) -> Output {
    let running = Command::new(program("client")).args(argument).kill_on_drop(true).output();
    tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn a_server_is_started_called_asked_and_closed() {
    let Output { status, stdout, stderr } = run(None).await;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let expected = [
        "café 1.0.0, in 2026-07-28",
        "  weather: The weather in a city.",
        "  brew: Brew coffee, cup by cup.",
        "  order: Ask the user what to bring.",
        "  wait: Never finish.",
        "  learn: Learn a new tool.",
        r#"weather: {"celsius":-3.5}; that is -3.5 degrees"#,
        "failed: the tool failed: there is no weather in Rome",
        "refused: PeerRefused: no such tool: `wether`, did you mean `weather`? (-32602)",
        "progress: 1 cup 1 is full",
        "progress: 2 cup 2 is full",
        "progress: 3 cup 3 is full",
        "brewed: 3 cups",
        "asked: coffee is on its way",
        "late: the server did not answer tools/call within 50ms",
        "learned: how to wink",
        "now there are 6 tools",
    ];
    assert_eq!(String::from_utf8(stdout).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn another_server_is_shown() {
    // A command line is split into words, and a path may contain spaces.
    let line = format!("'{}'", program("hello").display());
    let Output { status, stdout, stderr } = run(Some(&line)).await;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let shown = String::from_utf8(stdout).unwrap();
    assert_eq!(shown, "calculator 1.0.0, in 2026-07-28\n  add: Add two numbers.\n");
}

#[tokio::test]
async fn what_is_wrong_is_said() {
    let Output { status, stderr, .. } = run(Some("no-such-program-anywhere")).await;
    assert!(!status.success());
    let said = String::from_utf8(stderr).unwrap();
    assert!(said.contains("it was not found on `PATH`; is it installed?"), "{said}");
}
