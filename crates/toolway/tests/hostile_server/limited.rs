//! Do a client and a gateway that may only use little memory survive a list that never ends?
//!
//! They are processes of their own with a limit on their memory: 96 MiB for the client, 192 MiB for the gateway, which
//! keeps four lists, for itself and for its clients. Each list is limited to 8 MiB.

#[path = "../fixtures/limited_program.rs"]
mod limited_program;

use limited_program::Limited;
use serde_json::json;
use toolway::prelude::*;

use crate::lists::{Endless, long};

#[tokio::test]
async fn a_client_reads_up_to_its_limit() {
    let url = Endless::new(long).over_http().await;
    let mut program = Limited::start(&["client", "96", &url]).await;
    let text = "the server's list of tools is longer than 8388608 bytes: raise `max_list` on the client";
    assert_eq!(program.line, text);
    program.assert_alive();
}

#[tokio::test]
async fn a_gateway_serves_its_other_servers() {
    let url = Endless::new(long).over_http().await;
    let mut program = Limited::start(&["gateway", "192", &url]).await;
    let client = Client::connect(&*format!("http://{}/mcp", program.line)).await.unwrap();
    for _ in 0..100 {
        let answer = client.call("honest__little", json!({})).await.unwrap();
        assert_eq!(answer.first_text(), Some("little"));
    }
    program.assert_alive();
}
