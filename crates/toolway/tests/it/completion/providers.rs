//! How are values for an argument suggested, and what do they depend on?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolway::prelude::*;
use toolway::server::{
    Completer, CompletionProvider, CompletionRequest, PromptEntry, PromptValues, ReadRequest, ResourceEntry,
};
use toolway::testing::each_wire;
use toolway::types::{Completion, PromptArgument, Resource, ResourceTemplate};

/// Backed: `serde` says under which texts the variants travel.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Plan {
    Free,
    #[serde(rename = "team")]
    Group,
    /// Paid once a year.
    ProYearly,
}

/// Not backed: the names are all there is.
#[derive(Debug, Deserialize, JsonSchema)]
enum Colour {
    Red,
    Green,
    Blue,
}

const STYLES: [&str; 3] = ["casual", "formal", "friendly"];

/// Write something.
#[prompt]
fn write(
    #[arg(complete = ["blog", "article", "Book"])] kind: String,
    plan: Plan,
    colour: Option<Colour>,
    #[arg(default = "casual", complete = STYLES)] style: String,
    #[arg(default = "")] free: String,
) -> String {
    format!("{kind} {plan:?} {colour:?} {style} {free}")
}

/// A page of a document.
#[resource(uri = "docs://{kind}/{plan}/{page}")]
fn page(#[arg(complete = ["blog", "article"])] kind: String, plan: Plan, page: u32) -> String {
    format!("{kind} {plan:?} {page}")
}

/// The front page.
#[resource(uri = "docs://front")]
fn front() -> &'static str {
    "front"
}

/// Publish something.
#[tool]
fn publish(kind: String) -> String {
    kind
}

fn server() -> Server {
    Server::new("completion", "1.0.0")
        .tools(tools![publish])
        .resources(resources![page, front])
        .prompts(prompts![write])
        .build()
        .unwrap()
}

const NOTHING: [(&str, &str); 0] = [];
const PAGE: &str = "docs://{kind}/{plan}/{page}";

async fn of_prompt(client: &Client, argument: &str, typed: &str) -> Vec<String> {
    client.complete_prompt("write", argument, typed, NOTHING).await.unwrap().values
}

async fn of_page(client: &Client, variable: &str, typed: &str) -> Vec<String> {
    client.complete_resource(PAGE, variable, typed, NOTHING).await.unwrap().values
}

#[tokio::test]
async fn only_prompts_and_templates_are_completed() {
    each_wire(&server(), async |client| {
        assert_eq!(of_prompt(&client, "kind", "blo").await, ["blog"]);
        assert_eq!(of_page(&client, "kind", "blo").await, ["blog"]);
        // An argument without a completer has no suggestions; that is not an error.
        assert_eq!(of_prompt(&client, "free", "").await, [""; 0]);
        assert_eq!(of_page(&client, "page", "").await, [""; 0]);

        let ask = async |reference: serde_json::Value, argument: &str| {
            let params = json!({"ref": reference, "argument": {"name": argument, "value": ""}});
            let error = client.request("completion/complete", params).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            (rpc.code.0, rpc.message.clone())
        };
        let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
        let resource = |uri: &str| json!({"type": "ref/resource", "uri": uri});
        let (code, text) = ask(json!({"type": "ref/tool", "name": "publish"}), "kind").await;
        assert_eq!(code, -32602);
        assert!(text.contains("`ref/tool`, expected `ref/prompt` or `ref/resource`"), "{text}");
        let (code, text) = ask(resource("docs://front"), "kind").await;
        assert_eq!((code, &*text), (-32602, "no such argument: `kind`"));
        let (code, text) = ask(prompt("publish"), "kind").await;
        assert_eq!((code, &*text), (-32602, "no such prompt: `publish`"));
        let (code, text) = ask(prompt("wirte"), "kind").await;
        assert_eq!((code, &*text), (-32602, "no such prompt: `wirte`, did you mean `write`?"));
        let (code, text) = ask(prompt("write"), "kin").await;
        assert_eq!((code, &*text), (-32602, "no such argument: `kin`, did you mean `kind`?"));
        let (code, _) = ask(resource("docs://{else}"), "else").await;
        assert_eq!(code, -32602);
    })
    .await;

    // A server without completers does not know the method.
    let without = Server::new("tools", "1.0.0").tools(tools![publish]).build().unwrap();
    each_wire(&without, async |client| {
        assert!(client.server_capabilities().completions.is_none());
        let error = client.complete_prompt("write", "kind", "", NOTHING).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32601);
    })
    .await;

    // `#[arg(complete = …)]` on a tool does not compile (crates/toolway/tests/macros/ui); without macros a tool cannot
    // have a completer, and one for a plain resource or for an unknown argument is a mistake.
    let named = || Completer::list(["a"]);
    let front = resources![front].remove(0).with_completer("kind", named());
    let write = prompts![write].remove(0).with_completer("author", named());
    let error = Server::new("wrong", "1.0.0").resource(front).prompt(write).build().unwrap_err().to_string();
    for part in [
        "resource `docs://front`: `kind` has a completion, but the URI has no such variable",
        "prompt `write`: `author` has a completion, but it is not an argument",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}

#[tokio::test]
async fn a_list_is_filtered_by_what_was_typed() {
    each_wire(&server(), async |client| {
        for (typed, expected) in [
            ("", &["blog", "article", "Book"][..]),
            ("b", &["blog", "Book"]),
            ("BO", &["Book"]),
            ("article", &["article"]),
            // Only the beginning of a value is compared.
            ("log", &[]),
            ("articles", &[]),
        ] {
            assert_eq!(of_prompt(&client, "kind", typed).await, expected, "{typed:?}");
        }
        assert_eq!(of_page(&client, "kind", "").await, ["blog", "article"]);
        assert_eq!(of_page(&client, "kind", "a").await, ["article"]);
        let all = client.complete_prompt("write", "kind", "", NOTHING).await.unwrap();
        assert_eq!((all.total, all.has_more), (None, None), "nothing was left out");
    })
    .await;
}

#[tokio::test]
async fn a_backed_enum_is_completed_by_its_texts() {
    each_wire(&server(), async |client| {
        assert_eq!(of_prompt(&client, "plan", "").await, ["free", "team", "pro-yearly"]);
        assert_eq!(of_prompt(&client, "plan", "pro").await, ["pro-yearly"]);
        assert_eq!(
            of_prompt(&client, "plan", "Group").await,
            [""; 0],
            "the name in Rust is nobody's business"
        );
        assert_eq!(of_page(&client, "plan", "t").await, ["team"]);
        // Suggested values are accepted.
        let filled = [("kind", "blog"), ("plan", "pro-yearly")];
        let prompt = client.get_prompt("write", filled).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("blog ProYearly None casual "));
        assert_eq!(client.read_resource("docs://blog/team/7").await.unwrap().text(), Some("blog Group 7"));
    })
    .await;
}

#[tokio::test]
async fn a_unit_enum_is_completed_by_its_names() {
    each_wire(&server(), async |client| {
        // Also for an optional argument.
        assert_eq!(of_prompt(&client, "colour", "").await, ["Red", "Green", "Blue"]);
        assert_eq!(of_prompt(&client, "colour", "g").await, ["Green"]);
        let filled = [("kind", "blog"), ("plan", "free"), ("colour", "Green")];
        let prompt = client.get_prompt("write", filled).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("blog Free Some(Green) casual "));
    })
    .await;
}

/// A completer of the application: it uses the typed text and the caller.
struct Cities(&'static [&'static str]);

impl CompletionProvider for Cities {
    async fn complete(&self, typed: CompletionRequest, ctx: Ctx) -> Completion {
        tokio::task::yield_now().await;
        let mut found = typed.filter(self.0);
        found.push(ctx.peer().version.to_string());
        Completion::new(found)
    }
}

/// A completer without fields.
struct Echo;

impl CompletionProvider for Echo {
    async fn complete(&self, typed: CompletionRequest, _: Ctx) -> Completion {
        Completion::new(vec![format!("{} {}", typed.name, typed.value)])
    }
}

#[tokio::test]
async fn a_type_of_the_application_completes() {
    #[prompt]
    fn travel(
        #[arg(complete = Cities(&["Paris", "Pisa", "Oslo"]))] to: String,
        #[arg(complete = Echo)] from: String,
    ) -> String {
        format!("{from} {to}")
    }
    #[resource(uri = "weather://{city}")]
    fn weather(#[arg(complete = Cities(&["Bonn", "Bern"]))] city: String) -> String {
        city
    }
    let server = Server::new("travel", "1.0.0")
        .prompts(prompts![travel])
        .resources(resources![weather])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version().to_string();
        let found = client.complete_prompt("travel", "to", "p", NOTHING).await.unwrap();
        assert_eq!(found.values, ["Paris", "Pisa", &version]);
        let found = client.complete_prompt("travel", "from", "x y", NOTHING).await.unwrap();
        assert_eq!(found.values, ["from x y"]);
        let found = client.complete_resource("weather://{city}", "city", "be", NOTHING).await.unwrap();
        assert_eq!(found.values, ["Bern", &version]);
    })
    .await;
}

/// State that a completer depends on.
struct Users(Vec<String>);

async fn users(typed: CompletionRequest, users: State<Users>) -> Vec<String> {
    typed.filter(&users.0)
}

#[prompt]
fn greet(#[arg(complete = users)] user: String) -> String {
    user
}

#[resource(uri = "users://{user}")]
fn user_page(#[arg(complete = users)] user: String) -> String {
    user
}

#[tokio::test]
async fn a_provider_gets_what_it_depends_on_from_the_server() {
    let elements = || Server::new("users", "1.0.0").prompts(prompts![greet]).resources(resources![user_page]);
    let known = |names: &[&str]| Users(names.iter().map(ToString::to_string).collect());
    let server = elements().state(known(&["ada", "alan", "grace"])).build().unwrap();
    each_wire(&server, async |client| {
        let found = client.complete_prompt("greet", "user", "a", NOTHING).await.unwrap();
        assert_eq!(found.values, ["ada", "alan"]);
        let found = client.complete_resource("users://{user}", "user", "g", NOTHING).await.unwrap();
        assert_eq!(found.values, ["grace"]);
    })
    .await;
    // Another server has its own state.
    let other = elements().state(known(&["zoe"])).build().unwrap();
    let client = toolway::testing::connect(&other).await;
    assert_eq!(client.complete_prompt("greet", "user", "", NOTHING).await.unwrap().values, ["zoe"]);
    // Missing state is reported when the server is built, not at the first completion.
    let error = elements().build().unwrap_err().to_string();
    for part in [
        "prompt `greet`: the completion of `user`: it takes `State<",
        "resource `users://{user}`: the completion",
    ] {
        assert!(error.contains(part), "{part:?} in {error}");
    }
}

#[tokio::test]
async fn a_provider_that_is_a_value_is_used_as_it_is() {
    /// Counts its calls.
    struct Counting(Arc<AtomicUsize>);

    impl CompletionProvider for Counting {
        async fn complete(&self, _: CompletionRequest, _: Ctx) -> Completion {
            let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
            Completion::new(vec![count.to_string()])
        }
    }

    let counted = Arc::new(AtomicUsize::new(0));
    let shared = Completer::provider(Counting(counted.clone()));
    let definition = toolway::types::Prompt::new("greet")
        .with_arguments(vec![PromptArgument::new("name").with_required(true), PromptArgument::new("tone")]);
    let greet = PromptEntry::define(definition, |filled: PromptValues| async move {
        filled.text("name").unwrap_or_default().to_owned()
    })
    .with_completer("name", shared.clone())
    // The last one counts.
    .with_completer("tone", Completer::list(["soft"]))
    .with_completer("tone", Completer::list(["loud"]));
    let user = ResourceEntry::define(
        ResourceTemplate::new("users://{id}", "user"),
        |reading: ReadRequest| async move { reading.variables.text("id").unwrap_or_default().to_owned() },
    )
    .with_completer("id", shared);
    let server = Server::new("instances", "1.0.0").prompt(greet).resource(user).build().unwrap();
    assert_eq!(counted.load(Ordering::SeqCst), 0, "nobody has asked yet");
    each_wire(&server, async |client| {
        let before = counted.load(Ordering::SeqCst);
        let found = client.complete_prompt("greet", "name", "", NOTHING).await.unwrap();
        assert_eq!(found.values, [(before + 1).to_string()]);
        let found = client.complete_resource("users://{id}", "id", "", NOTHING).await.unwrap();
        assert_eq!(found.values, [(before + 2).to_string()], "the same value for both");
        let found = client.complete_prompt("greet", "tone", "", NOTHING).await.unwrap();
        assert_eq!(found.values, ["loud"]);
        assert_eq!(counted.load(Ordering::SeqCst), before + 2);
    })
    .await;
}

#[tokio::test]
async fn values_and_enums_become_providers_by_themselves() {
    // A list that is computed when the server is built.
    fn days() -> Vec<String> {
        (1..=3).map(|day| format!("day-{day}")).collect()
    }
    #[prompt]
    fn plan(#[arg(complete = days())] day: String, colour: Colour, text: String) -> String {
        format!("{day} {colour:?} {text}")
    }
    // An explicit completer takes precedence over that of the type.
    #[prompt]
    fn narrow(#[arg(complete = ["Red"])] colour: Colour) -> String {
        format!("{colour:?}")
    }
    let plan = prompts![plan].remove(0).with_completer("text", Completer::variants::<Plan>().unwrap());
    assert!(Completer::variants::<String>().is_none(), "text has no variants");
    let server =
        Server::new("values", "1.0.0").prompt(plan).prompts(prompts![write, narrow]).build().unwrap();
    each_wire(&server, async |client| {
        let complete = async |prompt: &str, argument: &str| {
            client.complete_prompt(prompt, argument, "", NOTHING).await.unwrap().values
        };
        assert_eq!(complete("write", "kind").await, ["blog", "article", "Book"], "a list in place");
        assert_eq!(complete("write", "style").await, STYLES, "the name of a list");
        assert_eq!(complete("plan", "day").await, ["day-1", "day-2", "day-3"], "any list");
        assert_eq!(complete("plan", "colour").await, ["Red", "Green", "Blue"], "an enum as the type");
        assert_eq!(complete("plan", "text").await, ["free", "team", "pro-yearly"], "an enum for a text");
        assert_eq!(complete("narrow", "colour").await, ["Red"]);
    })
    .await;
}

#[tokio::test]
async fn what_was_not_suggested_still_arrives() {
    each_wire(&server(), async |client| {
        assert_eq!(of_prompt(&client, "kind", "poem").await, [""; 0]);
        let filled = [("kind", "poem"), ("plan", "free"), ("style", "grim")];
        let prompt = client.get_prompt("write", filled).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("poem Free None grim "));
        assert_eq!(client.read_resource("docs://poem/free/1").await.unwrap().text(), Some("poem Free 1"));
        // An enum refuses unknown values because of its type, whatever completes it.
        let filled = [("kind", "blog"), ("plan", "gold")];
        let error = client.get_prompt("write", filled).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32602);
        assert_eq!(
            error.rpc().unwrap().message,
            r#"argument `plan`: expected one of "free", "team", "pro-yearly", got "gold""#
        );
    })
    .await;
    // A plain resource does not affect the template that also matches it.
    let plain = ResourceEntry::define(Resource::new("docs://blog/free/1", "first"), || async { "plain" });
    let server = Server::new("both", "1.0.0").resource(plain).resources(resources![page]).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(client.read_resource("docs://blog/free/1").await.unwrap().text(), Some("plain"));
        assert_eq!(client.read_resource("docs://blog/free/2").await.unwrap().text(), Some("blog Free 2"));
        assert_eq!(of_page(&client, "kind", "b").await, ["blog"]);
    })
    .await;
}
