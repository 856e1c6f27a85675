//! In which ways can a prompt be defined, and what does its function get?

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolway::prelude::*;
use toolway::server::element::PromptHandler;
use toolway::server::parameter::Scope;
use toolway::server::{PromptEntry, PromptError, PromptMessages, PromptValues, Run, ServerBuilder};
use toolway::testing::each_wire;
use toolway::types::{Content, GetPromptResult, PromptArgument, PromptMessage, Role};
use toolway::{BoxFuture, ProtocolVersion};

fn new() -> ServerBuilder {
    Server::new("prompts", "1.0.0")
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// The readme.
#[resource(uri = "app://readme")]
fn readme() -> &'static str {
    "# App"
}

/// Greet a person.
#[prompt]
fn greet(name: &str) -> String {
    format!("Greet {name}.")
}

fn review_arguments() -> Vec<PromptArgument> {
    vec![
        PromptArgument::new("code")
            .with_title("Code")
            .with_description("What to review.")
            .with_required(true),
        PromptArgument::new("style").with_required(false),
    ]
}

fn review_definition(name: &str) -> toolway::types::Prompt {
    toolway::types::Prompt::new(name)
        .with_title("Code review")
        .with_description("Review code.")
        .with_arguments(review_arguments())
        .with_meta(json!({"team": "docs"}).as_object().cloned().unwrap())
}

fn review_text(code: &str, style: Option<&str>) -> PromptMessages {
    PromptMessages::new()
        .with_description(format!("A {} review", style.unwrap_or("short")))
        .assistant("You are an editor.")
        .user(format!("Review {code}."))
}

/// A type that implements everything by hand.
struct ReviewPrompt;

impl PromptHandler for ReviewPrompt {
    fn definition(&self) -> toolway::types::Prompt {
        review_definition("by_type")
    }

    fn get(
        &self,
        arguments: toolway_protocol::uri_template::Values,
        _: Scope,
    ) -> BoxFuture<'static, Result<GetPromptResult, PromptError>> {
        let text = format!("Review {}.", arguments.text("code").unwrap_or_default());
        let style = arguments.text("style").unwrap_or("short").to_owned();
        Box::pin(async move {
            let mut result = GetPromptResult::new(vec![
                PromptMessage::new(Role::Assistant, Content::text("You are an editor.")),
                PromptMessage::new(Role::User, Content::text(text)),
            ]);
            result.description = Some(format!("A {style} review"));
            Ok(result)
        })
    }
}

/// Review code.
#[prompt(name = "by_macro", title = "Code review", meta = {"team": "docs"})]
fn review(
    /// What to review.
    #[arg(title = "Code")]
    code: &str,
    style: Option<String>,
) -> PromptMessages {
    review_text(code, style.as_deref())
}

/// Named after itself.
#[prompt]
#[derive(Deserialize, JsonSchema)]
struct CodeReview {
    code: String,
}

impl Run for CodeReview {
    type Output = PromptMessages;

    async fn run(self, _: Ctx) -> PromptMessages {
        review_text(&self.code, None)
    }
}

fn reviewers() -> Server {
    let by_closure =
        PromptEntry::define(review_definition("by_closure"), |filled: PromptValues| async move {
            review_text(filled.text("code").unwrap(), filled.text("style"))
        });
    let server =
        new().prompt(PromptEntry::new(ReviewPrompt)).prompt(by_closure).prompts(prompts![review]).build();
    let server = server.unwrap();
    let late = PromptEntry::of::<review>().with_name("by_server");
    server.add_prompt(late).unwrap();
    server.add_prompt(PromptEntry::of::<CodeReview>()).unwrap();
    server
}

const REVIEWERS: [&str; 4] = ["by_type", "by_closure", "by_macro", "by_server"];

#[tokio::test]
async fn a_prompt_can_be_defined_in_every_way_a_tool_can() {
    let server = reviewers();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let prompts = client.prompts().await.unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["by_type", "by_closure", "by_macro", "by_server", "code_review"]);
        let is_new = version >= ProtocolVersion::V2025_06_18;
        for prompt in &prompts[..4] {
            assert_eq!(prompt.title.as_deref(), is_new.then_some("Code review"));
            assert_eq!(prompt.description.as_deref(), Some("Review code."));
            let meta = json!({"team": "docs"});
            assert_eq!(prompt.meta.as_ref(), meta.as_object().filter(|_| is_new));
            let arguments = prompt.arguments.as_ref().unwrap();
            let names: Vec<_> = arguments.iter().map(|argument| &*argument.name).collect();
            assert_eq!(names, ["code", "style"]);
            let result = client.get_prompt(&prompt.name, [("code", "x += 1")]).await.unwrap();
            let said: Vec<_> =
                result.messages.iter().map(|m| (m.role.as_str(), m.content.as_text().unwrap())).collect();
            assert_eq!(said, [("assistant", "You are an editor."), ("user", "Review x += 1.")]);
        }
        assert_eq!(code(client.get_prompt("review", [("code", "x")]).await), -32602);
    })
    .await;
    let error = server.add_prompt(PromptEntry::of::<CodeReview>()).unwrap_err().to_string();
    assert!(error.contains("two prompts have the name `code_review`"), "{error}");
    assert!(server.remove_prompt("code_review") && !server.remove_prompt("code_review"));
}

#[tokio::test]
async fn an_argument_of_a_prompt_has_a_name_a_title_a_description_and_may_be_required() {
    each_wire(&reviewers(), async |client| {
        let is_titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let prompts = client.prompts().await.unwrap();
        for prompt in &prompts[..4] {
            let [code, style] = prompt.arguments.as_deref().unwrap() else { panic!("{prompt:?}") };
            assert_eq!(code.name, "code");
            assert_eq!(code.title.as_deref(), is_titled.then_some("Code"), "{}", prompt.name);
            assert_eq!(code.description.as_deref(), Some("What to review."));
            assert_eq!(code.required, Some(true));
            assert_eq!(style.name, "style");
            assert_eq!((&style.title, &style.description), (&None, &None));
            assert_eq!(style.required, Some(false));
            // Required arguments must be there, and unknown ones must not.
            let name = &prompt.name;
            let error = client.get_prompt(name, [("style", "long")]).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (-32602, "argument `code` is missing"), "{name}");
            let error = client.get_prompt(name, [("code", "x"), ("stile", "long")]).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            let expected = "unknown argument `stile`, did you mean `style`?";
            assert_eq!((rpc.code.0, &*rpc.message), (-32602, expected), "{name}");
        }
    })
    .await;
}

struct Settings {
    greeting: &'static str,
}

/// Gets what was filled in, what the server has and what belongs to the call.
#[prompt]
async fn briefing(topic: &str, settings: State<Settings>, ctx: Ctx) -> PromptMessages {
    let readme = ctx.read_resource("app://readme").await;
    let readme = readme.ok().and_then(|contents| contents.text().map(str::to_owned)).unwrap_or_default();
    PromptMessages::new()
        .with_description(format!("{} for {}", settings.greeting, ctx.peer().version))
        .user(format!("{topic}: {readme}"))
}

#[tokio::test]
async fn a_prompt_gets_its_arguments_and_the_call_and_gives_messages() {
    let define = toolway::types::Prompt::new("by_hand").with_arguments(vec![PromptArgument::new("topic")]);
    let by_hand =
        PromptEntry::define(define, |filled: PromptValues, settings: State<Settings>, ctx: Ctx| async move {
            PromptMessages::new()
                .with_description(format!("{} for {}", settings.greeting, ctx.peer().version))
                .user(filled.text("topic").unwrap_or("nothing"))
        });
    let server = new()
        .state(Settings { greeting: "briefing" })
        .resources(resources![readme])
        .prompts(prompts![briefing])
        .prompt(by_hand)
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        // Only values that users fill in are arguments.
        let arguments = client.prompts().await.unwrap()[0].arguments.clone().unwrap();
        assert_eq!(arguments.len(), 1);
        assert_eq!(arguments[0].name, "topic");
        let result = client.get_prompt("briefing", [("topic", "gems")]).await.unwrap();
        assert_eq!(result.description, Some(format!("briefing for {version}")));
        assert_eq!(result.messages, [PromptMessage::new(Role::User, Content::text("gems: # App"))]);
        let result = client.get_prompt("by_hand", [("", ""); 0]).await.unwrap();
        assert_eq!(result.description, Some(format!("briefing for {version}")));
        assert_eq!(result.messages, [PromptMessage::new(Role::User, Content::text("nothing"))]);
    })
    .await;
}

#[tokio::test]
async fn the_description_of_a_filled_prompt_reaches_the_client() {
    let server = reviewers();
    server.add_prompt(PromptEntry::of::<greet>()).unwrap();
    each_wire(&server, async |client| {
        for name in REVIEWERS {
            let result = client.get_prompt(name, [("code", "x"), ("style", "long")]).await.unwrap();
            assert_eq!(result.description.as_deref(), Some("A long review"), "{name}");
            // The description belongs to this result, not to the prompt.
            let result = client.get_prompt(name, [("code", "x")]).await.unwrap();
            assert_eq!(result.description.as_deref(), Some("A short review"), "{name}");
        }
        let silent = client.get_prompt("greet", [("name", "Ada")]).await.unwrap();
        assert_eq!(silent.description, None);
    })
    .await;
}
