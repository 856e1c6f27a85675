//! A function asks very many questions: are all of them answered?

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolway::client::Answer;
use toolway::prelude::*;
use toolway::testing::each_wire_as;
use toolway::{Form, ProtocolVersion};

#[derive(Form)]
struct Decision {
    delete: bool,
}

static RUNS: AtomicUsize = AtomicUsize::new(0);

/// Ask about many files.
#[tool]
async fn tidy(files: usize, ctx: Ctx) -> Result<usize, ToolError> {
    RUNS.fetch_add(1, Ordering::Relaxed);
    let questions =
        (0..files).map(|file| ctx.question(format!("file-{file}"), "Delete it?").ask::<Decision>());
    let decisions = ctx.ask_all(questions.collect::<Vec<_>>()).await?;
    Ok(decisions.iter().filter(|decision| decision.delete).count())
}

#[tokio::test]
async fn what_is_too_much_for_one_round_is_asked_in_several() {
    let server = Server::new("app", "1.0.0").tools(tools![tidy]).build().unwrap();
    let client = Client::builder().on_elicit(async |_| Answer::accept(json!({"delete": true})));
    each_wire_as(client, &server, async |client| {
        if client.protocol_version() < ProtocolVersion::V2025_06_18 {
            return;
        }
        RUNS.store(0, Ordering::Relaxed);
        let result = client.call("tidy", json!({"files": 100})).await.unwrap();
        assert_eq!(result.first_text(), Some("100"));
        assert_eq!(RUNS.load(Ordering::Relaxed), 5, "four rounds of at most 32 questions, and the last run");
    })
    .await;
}
