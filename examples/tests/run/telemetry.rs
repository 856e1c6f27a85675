//! The example `telemetry` writes spans to stderr and counts.

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use super::{PATIENCE, call, start};

#[tokio::test]
async fn telemetry_is_written_to_stderr_and_counted() {
    let (client, mut child) = start("telemetry").await;
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert_eq!(call(&client, "divide", json!({"a": 7, "b": 2})).await, "3");
    assert!(client.call("divide", json!({"a": 7, "b": 0})).await.unwrap().is_error());
    client.call("guess", json!({})).await.unwrap_err();
    let counts: Value = serde_json::from_str(&call(&client, "counts", json!({})).await).unwrap();
    let expected = json!({
        "tools/call divide ok": 1,
        "tools/call divide internal_error": 1,
        "tools/call - tool_not_found": 1,
    });
    assert_eq!(counts, expected);

    let mut next = async |message: &str| loop {
        let line = tokio::time::timeout(PATIENCE, lines.next_line()).await.unwrap().unwrap().unwrap();
        // The message of the panic itself is not JSON.
        let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
        if line["fields"]["message"] == message {
            return line;
        }
    };
    let span = next("close").await;
    assert_eq!(span["span"]["otel.name"], "tools/call divide");
    assert_eq!(span["span"]["error.type"], Value::Null);
    let told = next("an error was reported").await;
    assert_eq!(told["fields"]["panic"], true);
    assert_eq!(next("close").await["span"]["error.type"], "tool_error");
    assert_eq!(next("close").await["span"]["error.type"], "-32602");
}
