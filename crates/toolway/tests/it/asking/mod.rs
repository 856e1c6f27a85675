//! A function asks: what does each side see?
//!
//! | file | question |
//! |---|---|
//! | `meaning.rs` | What can be asked, and what does each answer become, on every wire? |
//! | `rounds.rs` | What stays the same when a function runs again? |
//! | `places.rs` | Which handlers may ask? |
//! | `waiting.rs` | What happens while a question is open on a pipe? |
//! | `sessions.rs` | The same over HTTP. |
//! | `hostile.rs` | What happens if the client returns a state that it was never given? |
//! | `single_use.rs` | How often does an answer count? |
//! | `running.rs` | Which limits apply to running calls? |

mod hostile;
mod meaning;
mod places;
mod rounds;
mod running;
mod sessions;
mod single_use;
mod waiting;

use serde_json::{Value, json};
use toolway::client::{Answer, ClientBuilder};
use toolway::prelude::*;
use toolway::server::Extensions;
use toolway::server::http::HttpService;
use toolway::{Form, ProtocolVersion};

use crate::http::{post, read};

#[derive(Form)]
pub(super) struct Name {
    /// What are you called?
    name: String,
}

/// Greet a person.
#[tool]
pub(super) async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("Hello, {name}!"))
}

/// A client whose user fills in every form with this.
pub(super) fn filling_in(content: Value) -> ClientBuilder {
    Client::builder().on_elicit(move |_| std::future::ready(Answer::accept(content.clone())))
}

/// Returns whether the client's revision has forms.
pub(super) fn has_forms(client: &Client) -> bool {
    client.protocol_version() >= ProtocolVersion::V2025_06_18
}

pub(super) fn accept(content: Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// A request of the stateless era, from a client that can be asked everything.
pub(super) fn request(method: &str, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {
            "elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {},
        },
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

pub(super) fn call(tool: &str) -> Value {
    request("tools/call", json!({"name": tool, "arguments": {}}))
}

/// The same request in its next round.
pub(super) fn again(request: &Value, state: &Value, answers: Value) -> Value {
    let mut request = request.clone();
    request["id"] = json!(2);
    request["params"]["requestState"] = state.clone();
    request["params"]["inputResponses"] = answers;
    request
}

/// The transport of a message of the stateless era.
#[derive(Clone)]
pub(super) enum Door {
    Json(Server, Extensions),
    Http(HttpService, Vec<(&'static str, String)>),
}

impl Door {
    /// Both transports, for an anonymous caller.
    pub(super) fn both(server: &Server) -> [Self; 2] {
        [Self::Json(server.clone(), Extensions::new()), Self::Http(server.http(), Vec::new())]
    }

    pub(super) async fn say(&self, message: &Value) -> Value {
        match self {
            Self::Json(server, extensions) => {
                let answer = server.handle_json(message.to_string(), extensions.clone()).await;
                serde_json::from_str(&answer.unwrap()).unwrap()
            }
            Self::Http(service, headers) => {
                let mut request = post(message);
                let params = &message["params"];
                let name = params.get("name").or(params.get("uri")).and_then(Value::as_str).unwrap_or("-");
                for (header, value) in [
                    ("mcp-protocol-version", "2026-07-28"),
                    ("mcp-method", message["method"].as_str().unwrap()),
                    ("mcp-name", name),
                ] {
                    request.headers_mut().insert(header, value.parse().unwrap());
                }
                for (header, value) in headers {
                    request.headers_mut().insert(*header, value.parse().unwrap());
                }
                read(service.handle(request).await).await.1
            }
        }
    }

    /// Sends a request that ends in questions, and returns the state for the next round.
    pub(super) async fn ask(&self, message: &Value) -> Value {
        let reply = self.say(message).await;
        assert_eq!(reply["result"]["resultType"], "input_required", "{reply}");
        reply["result"]["requestState"].clone()
    }
}

/// The text of the result of a tool.
pub(super) fn text(reply: &Value) -> &str {
    reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text: {reply}"))
}

#[tokio::test]
async fn a_question_is_a_result_and_the_answer_is_a_second_call() {
    let server = Server::new("app", "1.0.0").tools(tools![greet]).build().unwrap();
    for door in Door::both(&server) {
        let first = door.say(&call("greet")).await;
        assert_eq!(first["result"]["resultType"], "input_required", "{first}");
        let question = &first["result"]["inputRequests"]["Name"];
        assert_eq!(question["method"], "elicitation/create");
        assert_eq!(question["params"]["message"], "Who are you?");
        // These results must never be cached.
        assert!(first["result"].get("ttlMs").is_none() && first["result"].get("cacheScope").is_none());
        let answers = json!({"Name": accept(json!({"name": "Ada"}))});
        let second = door.say(&again(&call("greet"), &first["result"]["requestState"], answers)).await;
        assert_eq!(text(&second), "Hello, Ada!");
        assert!(second["result"].get("requestState").is_none());
    }
}
