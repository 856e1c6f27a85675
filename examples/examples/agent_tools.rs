//! An agent: offers the tools of servers and of this program to any model with OpenAI's chat completions API, and loops
//! until the model has an answer. `cargo run -p toolway-examples --example agent_tools -- "What is 2 + 3, and what is 1
//! divided by 0?"`
//!
//! | variable | meaning |
//! |---|---|
//! | `OPENAI_BASE_URL` | the URL of the model, such as `https://api.openai.com/v1` or `http://localhost:11434/v1`; without it, a small built-in server plays the model |
//! | `OPENAI_API_KEY` | sent as a bearer token |
//! | `OPENAI_MODEL` | the name of the model |
//! | `MCP_CONFIG` | an `mcp.json` with more servers |

use std::error::Error;
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client as Web, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use toolway::agent;
use toolway::agent::{RenderedTools, ToolAnswer, ToolCall, ToolSet};
use toolway::prelude::*;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let question = std::env::args().nth(1).unwrap_or_else(|| "What is 2 + 3, and what is 1 / 0?".to_owned());
    let hub = match std::env::var_os("MCP_CONFIG") {
        Some(file) => Hub::from_file(file).await?,
        None => Hub::new(),
    };
    let calculator = Server::new("calculator", "1.0.0").tools(tools![add, divide]).build()?;
    hub.connect("calc", &calculator).await?;

    // Functions of this program are in the same list.
    let today =
        agent::native_tool("today", "Which day it is.", json!({"type": "object"}), async |_: Value| "Monday");
    let answer = converse(&Model::from_env().await?, &hub.tools().with(today), &question).await?;
    say(&answer);
    hub.close_all().await;
    Ok(())
}

/// Asks the model, makes the calls it wants and returns the results to it, until it wants no more calls.
async fn converse(model: &Model, tools: &ToolSet, question: &str) -> Result<String, Box<dyn Error>> {
    let offered = tools.for_openai();
    for loss in &offered.losses {
        eprintln!("note: {loss}");
    }
    let mut messages = vec![
        json!({"role": "system", "content": "Use the tools. When one fails, say so."}),
        json!({"role": "user", "content": question}),
    ];
    for _ in 0..MAX_ROUNDS {
        let reply = model.chat(&messages, &offered).await?;
        let message = &reply["choices"][0]["message"];
        let calls = ToolCall::from_openai(&reply);
        if calls.is_empty() {
            return Ok(message["content"].as_str().ok_or("the model's reply has no message")?.to_owned());
        }
        messages.push(message.clone());
        // All at the same time. Each call gets an answer in any case: the model reads the error and continues.
        let answers = tools.call_all(calls).await;
        for answer in &answers {
            eprintln!("{}: {}", answer.name, answer.to_openai()["content"].as_str().unwrap_or_default());
        }
        messages.extend(answers.iter().map(ToolAnswer::to_openai));
    }
    Err(format!("the model wanted tools {MAX_ROUNDS} times in a row: given up").into())
}

/// How often a model may ask for tools before the program gives up.
const MAX_ROUNDS: usize = 8;

/// The timeout for one reply of the model.
const PATIENCE: Duration = Duration::from_secs(2 * 60);

/// The maximum size of a reply, in bytes.
const MAX_REPLY: usize = 8 << 20;

/// A model behind a URL.
struct Model {
    web: Web<HttpsConnector<HttpConnector>, Body>,
    url: String,
    key: String,
    name: String,
}

impl Model {
    async fn from_env() -> Result<Self, Box<dyn Error>> {
        let base = match std::env::var("OPENAI_BASE_URL") {
            Ok(base) => base,
            Err(_) => pretend().await?,
        };
        let connector =
            HttpsConnectorBuilder::new().with_webpki_roots().https_or_http().enable_http1().build();
        Ok(Self {
            web: Web::builder(TokioExecutor::new()).build(connector),
            url: format!("{}/chat/completions", base.trim_end_matches('/')),
            key: std::env::var("OPENAI_API_KEY").unwrap_or_default(),
            name: std::env::var("OPENAI_MODEL").unwrap_or_else(|_| "gpt-5-mini".to_owned()),
        })
    }

    async fn chat(&self, messages: &[Value], tools: &RenderedTools) -> Result<Value, Box<dyn Error>> {
        let body = json!({"model": self.name, "messages": messages, "tools": tools});
        let mut request = Request::post(&self.url).header(header::CONTENT_TYPE, "application/json");
        if !self.key.is_empty() {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", self.key));
        }
        let request = request.body(Body::from(body.to_string()))?;
        let exchange = async {
            let reply = self.web.request(request).await?;
            let status = reply.status();
            let bytes = axum::body::to_bytes(Body::new(reply.into_body()), MAX_REPLY).await?;
            Ok::<_, Box<dyn Error>>((status, bytes))
        };
        let (status, bytes) = tokio::time::timeout(PATIENCE, exchange).await??;
        if !status.is_success() {
            let said: String = String::from_utf8_lossy(&bytes).chars().take(300).collect();
            return Err(format!("{} answered {status}: {said}", self.url).into());
        }
        Ok(serde_json::from_slice(&bytes)?)
    }
}

#[expect(clippy::print_stdout, reason = "the example prints its results")]
fn say(answer: &str) {
    println!("{answer}");
}

/// Add two numbers.
#[tool(read_only)]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Divide one number by another.
#[tool(read_only)]
fn divide(a: f64, by: f64) -> Result<f64, ToolError> {
    if by == 0.0 { Err(ToolError::new("a number cannot be divided by 0")) } else { Ok(a / by) }
}

/// Plays the model if no URL is set: it asks for two calls, and repeats their results.
async fn pretend() -> Result<String, Box<dyn Error>> {
    async fn reply(axum::Json(request): axum::Json<Value>) -> axum::Json<Value> {
        let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
        let told = messages.iter().filter(|message| message["role"] == "tool");
        let told: Vec<_> = told.filter_map(|message| message["content"].as_str()).collect();
        let call = |id: &str, name: &str, arguments: Value| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments.to_string()}});
        let message = if told.is_empty() {
            let calls = [
                call("1", "calc__add", json!({"a": 2, "b": 3})),
                call("2", "calc__divide", json!({"a": 1, "by": 0})),
            ];
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        } else {
            json!({"role": "assistant", "content": format!("The tools say: {}.", told.join("; "))})
        };
        axum::Json(json!({"choices": [{"index": 0, "message": message}]}))
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let base = format!("http://{}/v1", listener.local_addr()?);
    let app = axum::Router::new().route("/v1/chat/completions", axum::routing::post(reply));
    tokio::spawn(async move { axum::serve(listener, app).await });
    Ok(base)
}
