//! What does the caller learn if a tool fails?

use serde_json::json;
use toolway::prelude::*;
use toolway::server::ErrorPolicy;
use toolway::testing::each_wire;
use toolway::types::Content;

use super::{call, texts};

#[tool]
fn yes() -> bool {
    true
}

#[tool]
fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    if b == 0.0 {
        return Err(ToolError::new("Division by zero"));
    }
    Ok(a / b)
}

/// Its error is boxed on the way, and still the same.
#[tool]
fn boxed() -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
    Err(ToolError::new("Boxed, and meant for you"))?
}

#[tokio::test]
async fn a_tool_error_is_a_result_that_the_model_reads() {
    let tools = || tools![divide, boxed];
    // The policy is about other errors: a text that the author wrote for the model is never hidden.
    for policy in [ErrorPolicy::Hidden, ErrorPolicy::Rpc, ErrorPolicy::Verbose] {
        let server = Server::new("tools", "1.0.0").tools(tools()).errors(policy).build().unwrap();
        each_wire(&server, async |client| {
            let failed = client.call("divide", json!({"a": 1, "b": 0})).await.unwrap();
            assert_eq!(failed.is_error, Some(true));
            assert_eq!(failed.content, [Content::text("Division by zero")]);
            let boxed = call(&client, "boxed").await;
            assert_eq!((boxed.is_error(), boxed.first_text()), (true, Some("Boxed, and meant for you")));
            let fine = client.call("divide", json!({"a": 1, "b": 4})).await.unwrap();
            assert_eq!((fine.is_error(), fine.first_text()), (false, Some("0.25")));
        })
        .await;
    }
}

/// An error with a source.
#[derive(Debug)]
struct Broken(std::io::Error);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the secret database is gone")
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

#[tool]
fn unexpected() -> Result<String, ToolError> {
    Err(Broken(std::io::Error::other("the password is 1234")))?
}

#[tool]
fn plain_error() -> Result<String, Broken> {
    Err(Broken(std::io::Error::other("the password is 1234")))
}

#[tool]
async fn panics() -> String {
    tokio::task::yield_now().await;
    panic!("the password is 1234")
}

/// Its author wants exactly this error.
#[tool]
fn refused() -> Result<String, ToolError> {
    let error = toolway::RpcError::new(toolway_protocol::jsonrpc::Code(-32001), "not today");
    Err(error.with_data(json!({"retry": "tomorrow"})))?
}

fn failing(policy: ErrorPolicy) -> Server {
    let tools = tools![unexpected, plain_error, panics, refused, yes];
    Server::new("tools", "1.0.0").tools(tools).errors(policy).build().unwrap()
}

const FAILING: [&str; 3] = ["unexpected", "plain_error", "panics"];

fn is_generic(text: &str, tool: &str) -> bool {
    let start =
        format!("the tool `{tool}` failed; the server's operator can find the cause under reference ");
    text.strip_prefix(&start)
        .is_some_and(|reference| reference.len() == 16 && reference.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[tokio::test]
async fn any_other_error_is_told_in_general_words_only() {
    // As a JSON-RPC error, if the author chose that.
    each_wire(&failing(ErrorPolicy::Rpc), async |client| {
        for tool in FAILING {
            let error = client.call(tool, json!({})).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!(rpc.code.0, -32603, "{tool}");
            assert!(is_generic(&rpc.message, tool), "{tool}: {}", rpc.message);
            assert_eq!(rpc.data, None);
        }
        assert_eq!(texts(&client, "yes").await, ["true"], "one failed call is one failed call");
    })
    .await;
    // By default, as a result that the model reads.
    assert_eq!(ErrorPolicy::default(), ErrorPolicy::Hidden);
    each_wire(&failing(ErrorPolicy::Hidden), async |client| {
        for tool in FAILING {
            let result = call(&client, tool).await;
            assert!(result.is_error());
            assert_eq!(result.content.len(), 1);
            let text = result.first_text().unwrap();
            assert!(is_generic(text, tool), "{tool}: {text}");
            // Each failure has its own reference.
            assert_ne!(call(&client, tool).await.first_text(), Some(text));
        }
    })
    .await;
}

#[tokio::test]
async fn every_error_reaches_the_client_as_something_it_understands() {
    each_wire(&failing(ErrorPolicy::Verbose), async |client| {
        let cause = "the secret database is gone: the password is 1234";
        for (tool, cause) in [("unexpected", cause), ("plain_error", cause)] {
            let result = call(&client, tool).await;
            assert!(result.is_error());
            assert_eq!(result.first_text(), Some(&*format!("the tool `{tool}` failed: {cause}")));
        }
        let result = call(&client, "panics").await;
        assert!(result.is_error());
        let text = result.first_text().unwrap();
        assert!(text.starts_with("the tool `panics` failed: "), "{text}");
        assert!(text.contains("the password is 1234"), "{text}");
    })
    .await;
    // An error of the protocol is sent unchanged, whatever the policy.
    for policy in [ErrorPolicy::Hidden, ErrorPolicy::Rpc, ErrorPolicy::Verbose] {
        each_wire(&failing(policy), async |client| {
            let error = client.call("refused", json!({})).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (-32001, "not today"));
            assert_eq!(rpc.data.as_ref().unwrap().as_str(), r#"{"retry":"tomorrow"}"#);
        })
        .await;
    }
}

#[tokio::test]
async fn an_error_of_a_tool_is_a_result_that_the_model_reads() {
    /// Divide.
    #[tool]
    async fn quotient(a: f64, b: f64) -> Result<f64, ToolError> {
        if b == 0.0 {
            return Err(ToolError::new("division by zero: choose another `b`"));
        }
        Ok(a / b)
    }
    let server = Server::new("calculator", "1.0.0").tools(tools![quotient]).build().unwrap();
    each_wire(&server, async |client| {
        let wrong = client.call("quotient", json!({"a": 1, "b": 0})).await.unwrap();
        assert!(wrong.is_error());
        assert_eq!(wrong.content, [Content::text("division by zero: choose another `b`")]);
        assert!(wrong.structured_content.is_none());
        let right = client.call("quotient", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!((right.is_error(), right.first_text()), (false, Some("0.5")));
    })
    .await;
}
