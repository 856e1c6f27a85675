//! A tool that asks its user, with nothing but the default features.

use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
struct Name {
    /// What are you called?
    name: String,
}

/// Greet a person.
#[tool]
async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("Hello, {name}!"))
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    Server::new("greeter", "1.0.0").tools(tools![greet]).serve_stdio().await
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use toolway::server::{Extensions, Principal};

    use super::*;

    async fn say(server: &Server, params: Value, caller: &str) -> Value {
        let mut params = params;
        params["name"] = json!("greet");
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}}},
        });
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let caller = Extensions::new().with(Principal::new(caller));
        serde_json::from_str(&server.handle_json(call.to_string(), caller).await.unwrap()).unwrap()
    }

    #[tokio::test]
    async fn a_call_of_2026_07_28_gets_its_state_back_without_any_cipher() {
        let server = Server::new("greeter", "1.0.0").tools(tools![greet]).build().unwrap();
        let asked = say(&server, json!({"arguments": {}}), "ann").await;
        let state = &asked["result"]["requestState"];
        assert_eq!(state.as_str().map(str::len), Some(32), "a random id: {asked}");
        let answers = json!({"Name": {"action": "accept", "content": {"name": "Ann"}}});
        let again = |state: &Value| json!({"arguments": {}, "requestState": state, "inputResponses": answers.clone()});

        let greeted = say(&server, again(state), "ann").await;
        assert_eq!(greeted["result"]["content"][0]["text"], "Hello, Ann!", "{greeted}");
        let same = say(&server, again(state), "ann").await;
        assert_eq!(same, greeted, "a client may send its call again");

        for (state, caller) in [(state, "bob"), (&json!("AAAA"), "ann"), (&json!(""), "ann")] {
            let refused = say(&server, again(state), caller).await;
            assert_eq!(refused["error"]["code"], -32602, "{state} of {caller}: {refused}");
            let text = refused["error"]["message"].as_str().unwrap();
            assert!(text.contains("`params.requestState` was not issued for this call"), "{text}");
        }
    }
}
