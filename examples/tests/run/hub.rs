//! Does the example `hub` use its servers, and is the one that dies restarted?

use std::process::Output;

use serde_json::json;
use tokio::process::Command;

use super::{PATIENCE, program};

async fn run(argument: Option<&std::path::Path>) -> String {
    let running = Command::new(program("hub")).args(argument).kill_on_drop(true).output();
    let Output { status, stdout, stderr } =
        tokio::time::timeout(PATIENCE, running).await.expect("it ends").unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

#[tokio::test]
async fn a_server_that_dies_takes_nothing_with_it_and_comes_back() {
    let text = run(None).await;
    let expected = [
        "dice: ready, 2 tools",
        "calc: ready, 1 tool",
        "  dice__roll: Roll dice that always show the same.",
        "  dice__crash: End the server in the middle of a call.",
        "  calc__add: Add numbers.",
        "once: 3 × 4 = 12",
        "1: Unavailable: the tool `dice__crash` became unavailable during the call and may still have done its work; \
         go on without it or check its effect first",
        "2: 5",
        "3: Unknown: no such tool: `calc__ad`, did you mean `calc__add`?",
        "again: 2 × 4 = 8",
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_file_is_shown_with_what_is_wrong_in_it() {
    let folder = std::env::temp_dir().join(format!("toolway-example-hub-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("mcp.json");
    // Servers are shown in the order of the file.
    let text = format!(
        r#"{{"mcpServers": {{"notes": {{"command": {}}}, "lost": {{"command": "/no/such/program"}}}}}}"#,
        json!(program("notes"))
    );
    std::fs::write(&file, text).unwrap();
    let text = run(Some(&file)).await;
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(text.starts_with("notes: ready, "), "{text}");
    assert!(text.contains("\nlost: unavailable for 0s, next try in "), "{text}");
    assert!(text.contains("\n  notes__save: "), "{text}");
}
