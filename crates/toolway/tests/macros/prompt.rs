//! What `#[prompt]` makes of functions and structs, tested through a server.

use crate::support::{ask, refused};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{CompletionProvider, CompletionRequest, Message, Run, assistant, user};
use toolway::types::Completion;

struct Cities(&'static [&'static str]);

impl CompletionProvider for Cities {
    async fn complete(&self, typed: CompletionRequest, _: Ctx) -> Completion {
        Completion::new(typed.filter(self.0))
    }
}

async fn titles(typed: CompletionRequest, known: State<Vec<String>>) -> Vec<String> {
    typed.filter(known.iter())
}

#[derive(Debug, Deserialize, JsonSchema)]
enum Tone {
    Kind,
    Keen,
}

/// Review a note.
#[prompt(title = "Review", meta = {"a": 1}, icon = "https://a.example/i.png")]
fn review(
    /// How it sounds.
    #[arg(complete = ["casual", "formal"])]
    style: &str,
    #[arg(title = "Title", complete = titles)] title: String,
    #[arg(complete = Cities(&["Rome", "Riga"]))] city: Option<String>,
    #[arg(default = 3, complete = |typed: CompletionRequest| async move { typed.filter(["3", "30"]) })] count: u8,
    tone: Option<Tone>,
    state: State<Vec<String>>,
) -> Vec<Message> {
    let _ = state;
    vec![
        assistant("You are an editor."),
        user(format!("Review {title} in a {style} style {count} {city:?} {tone:?}")),
    ]
}

fn server() -> Server {
    let titles = vec!["Alpha".to_owned(), "Beta".to_owned()];
    Server::new("notes", "1")
        .state(titles)
        .prompts(prompts![review, Translate])
        .build()
        .expect("nothing is missing")
}

#[tokio::test]
async fn a_function_becomes_a_prompt() {
    let server = server();
    let listed = ask(&server, "prompts/list", json!({})).await;
    assert_eq!(
        listed["prompts"][0],
        json!({
            "name": "review",
            "title": "Review",
            "description": "Review a note.",
            "arguments": [
                {"name": "style", "description": "How it sounds.", "required": true},
                {"name": "title", "title": "Title", "required": true},
                {"name": "city", "required": false},
                {"name": "count", "required": false},
                {"name": "tone", "required": false},
            ],
            "icons": [{"src": "https://a.example/i.png"}],
            "_meta": {"a": 1},
        })
    );
    let params = json!({"name": "review", "arguments": {"style": "formal", "title": "X", "tone": "Kind"}});
    let result = ask(&server, "prompts/get", params).await;
    assert_eq!(result["messages"][0]["role"], "assistant");
    assert_eq!(result["messages"][1]["content"]["text"], "Review X in a formal style 3 None Some(Kind)");
    let params = json!({"name": "review", "arguments": {"style": "formal", "title": "X", "count": "many"}});
    assert_eq!(refused(&server, "prompts/get", params).await["code"], -32602);
}

async fn completed(server: &Server, name: &str, value: &str) -> Value {
    let params =
        json!({"ref": {"type": "ref/prompt", "name": "review"}, "argument": {"name": name, "value": value}});
    ask(server, "completion/complete", params).await["completion"]["values"].take()
}

#[tokio::test]
async fn arguments_are_completed_by_lists_functions_values_and_types() {
    let server = server();
    assert_eq!(completed(&server, "style", "f").await, json!(["formal"]));
    assert_eq!(completed(&server, "title", "b").await, json!(["Beta"]));
    assert_eq!(completed(&server, "city", "r").await, json!(["Rome", "Riga"]));
    assert_eq!(completed(&server, "count", "").await, json!(["3", "30"]));
    assert_eq!(completed(&server, "tone", "ke").await, json!(["Keen"]));
}

/// Translate a text.
#[prompt]
#[derive(Deserialize, JsonSchema)]
struct Translate {
    /// What to translate.
    text: String,
    language: Option<String>,
}

impl Run for Translate {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("{} {:?}", self.text, self.language)
    }
}

#[tokio::test]
async fn a_struct_becomes_a_prompt() {
    let server = server();
    let listed = ask(&server, "prompts/list", json!({})).await;
    assert_eq!(
        listed["prompts"][1],
        json!({
            "name": "translate",
            "description": "Translate a text.",
            "arguments": [
                {"name": "text", "description": "What to translate.", "required": true},
                {"name": "language", "required": false},
            ],
        })
    );
    let params = json!({"name": "translate", "arguments": {"text": "a"}});
    assert_eq!(ask(&server, "prompts/get", params).await["messages"][0]["content"]["text"], "a None");
}
