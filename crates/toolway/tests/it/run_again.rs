//! A function that asked runs again: what is not repeated?

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolway::client::Answer;
use toolway::prelude::*;
use toolway::server::ask::AskErrorKind;
use toolway::testing::each_wire_as;
use toolway::types::LogLevel;
use toolway::{Form, ProtocolVersion};

#[derive(Form)]
struct Age {
    age: u8,
}

/// Ask until the user writes a number.
#[tool]
async fn insist(ctx: Ctx) -> Result<String, ToolError> {
    for number in 0..5 {
        match ctx.question(format!("age-{number}"), format!("Your age? ({number})")).ask::<Age>().await {
            Err(error) if error.kind() == AskErrorKind::Invalid => {}
            age => return Ok(format!("{} after {number}", age?.age)),
        }
    }
    Err(ToolError::new("no age"))
}

/// An answer that does not fit is an answer too: the function has handled it and gets it again.
#[tokio::test]
async fn a_question_is_not_asked_again_because_its_answer_did_not_fit() {
    let server = Server::new("app", "1.0.0").tools(tools![insist]).build().unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let notes = asked.clone();
    let client = Client::builder().on_elicit(move |question| {
        notes.lock().unwrap().push(question.message().to_owned());
        let is_serious = question.message().contains("(2)");
        async move { Answer::accept(json!({"age": if is_serious { json!(36) } else { json!("old") }})) }
    });
    each_wire_as(client, &server, async |client| {
        let result = client.call("insist", json!({})).await.unwrap();
        let asked = std::mem::take(&mut *asked.lock().unwrap());
        // The first two revisions cannot ask a user.
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            assert_eq!(result.first_text(), Some("36 after 2"), "{asked:?}");
            assert_eq!(asked, ["Your age? (0)", "Your age? (1)", "Your age? (2)"]);
        }
    })
    .await;
}

/// Say the same before and after a question.
#[tool]
async fn copy(ctx: Ctx) -> Result<&'static str, ToolError> {
    let log = async || ctx.log().warning("copying", Value::Null).await;
    let copy = || async {
        ctx.log().warning("copying", Value::Null).await;
        Ok::<_, ToolError>(())
    };
    ctx.once("first", copy).await?;
    ctx.ask::<Age>("Your age?").await?;
    ctx.once("second", copy).await?;
    log().await;
    ctx.question("again", "Really?").ask::<Age>().await?;
    log().await;
    Ok("copied")
}

/// A log message of an effect is not sent again when the effect is skipped, and must not replace a later message of the
/// function.
#[tokio::test]
async fn a_log_message_is_sent_as_often_as_it_is_written_also_inside_of_effects() {
    let server = Server::new("app", "1.0.0").tools(tools![copy]).build().unwrap();
    let client = Client::builder().on_elicit(|_| async { Answer::accept(json!({"age": 36})) });
    each_wire_as(client, &server, async |client| {
        client.set_log_level(LogLevel::Debug).await.unwrap();
        let mut news = client.notifications();
        let result = client.call("copy", json!({})).await.unwrap();
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            assert_eq!(result.first_text(), Some("copied"));
            assert_eq!(std::iter::from_fn(|| news.try_next()).count(), 4);
        }
    })
    .await;
}
