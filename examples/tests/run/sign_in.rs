//! The examples that sign in.

use tokio::process::Command;

use super::{PATIENCE, program};

#[tokio::test]
async fn a_client_signs_in_renews_its_token_and_signs_out() {
    let said = run_to_end("signed_in").await;
    for part in
        ["2 + 3 = 5\n", "3 + 4 = 7\n", "GET /authorize\n", "POST /token refresh_token\n", "revoked: true\n"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(said.matches("/authorize").count(), 1, "{said}");
}

#[tokio::test]
async fn a_program_signs_in_without_a_user() {
    let said = run_to_end("service_account").await;
    assert!(said.contains("2 + 3 = 5\n") && said.contains("nothing was sent"), "{said}");
}

#[tokio::test]
async fn a_protected_server_lets_in_callers_with_a_token() {
    let said = run_to_end("protected").await;
    for part in [
        "Bearer resource_metadata=\"http://127.0.0.1:",
        "scope=\"notes:read\"\n",
        "alice has no notes about milk\n",
        "alice has saved \"buy milk\"\n",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

async fn run_to_end(example: &str) -> String {
    let running = Command::new(program(example)).kill_on_drop(true).output();
    let output = tokio::time::timeout(PATIENCE, running).await.expect("the example ends").unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(output.status.success(), "{said}");
    said
}
