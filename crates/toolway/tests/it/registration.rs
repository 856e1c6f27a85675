//! How are tools, resources and prompts added to a server, and under which names?

use std::sync::atomic::{AtomicU32, Ordering};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::element::ToolHandler;
use toolway::server::parameter::{Arguments, Scope};
use toolway::server::{
    PromptEntry, PromptMessages, PromptValues, ReadRequest, ResourceEntry, ResourceError, Run, ServerBuilder,
    ToolEntry,
};
use toolway::testing::{connect, each_wire};
use toolway::types::{CallToolResult, PromptArgument, Resource, ResourceTemplate, Tool};
use toolway::{BoxFuture, ProtocolVersion};

/// Nothing here is registered by name; it is only found by discovery.
mod marked {
    use toolway::prelude::*;

    /// Add two numbers.
    #[tool]
    fn add(a: i64, b: i64) -> i64 {
        a + b
    }

    /// What this is about.
    #[resource(uri = "marked://readme", mime = "text/markdown")]
    fn readme() -> &'static str {
        "# Found"
    }

    /// One note.
    #[resource(uri = "marked://notes/{id}")]
    fn note(id: u64) -> String {
        format!("found note {id}")
    }

    /// Greet a person.
    #[prompt]
    fn greet(name: &str) -> String {
        format!("Found: greet {name}.")
    }

    pub(super) mod deeper {
        use toolway::prelude::*;

        // Declared in reverse alphabetical order: lists are sorted anyway.

        /// The last one.
        #[tool]
        fn zebra() -> &'static str {
            "zebra"
        }

        /// The first one.
        #[tool]
        fn ant() -> &'static str {
            "ant"
        }
    }
}

/// The path of this module begins like that of `marked`, but it is another module.
mod marked_too {
    use toolway::prelude::*;

    /// Found by its own path only.
    #[tool]
    fn stranger() {}
}

/// Two functions with the same tool name.
mod twins {
    mod one {
        use toolway::prelude::*;

        #[tool]
        fn twin() -> u8 {
            1
        }
    }

    mod two {
        use toolway::prelude::*;

        #[tool(name = "twin")]
        fn other() -> u8 {
            2
        }
    }
}

const MARKED: &str = "it::registration::marked";

fn new() -> ServerBuilder {
    Server::new("registration", "1.0.0")
}

async fn tools(client: &Client) -> Vec<String> {
    client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

async fn text(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.first_text().unwrap().to_owned()
}

async fn read(client: &Client, uri: &str) -> String {
    client.read_resource(uri).await.unwrap().text().unwrap().to_owned()
}

async fn filled(client: &Client, prompt: &str, arguments: &[(&str, &str)]) -> String {
    let result = client.get_prompt(prompt, arguments).await.unwrap();
    result.messages[0].content.as_text().unwrap().to_owned()
}

fn code<T: std::fmt::Debug>(outcome: toolway::Result<T>) -> i64 {
    outcome.unwrap_err().rpc().unwrap().code.0
}

/// Subtract one number from another.
#[tool]
fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

/// The licence.
#[resource(uri = "own://licence")]
fn licence() -> &'static str {
    "MIT"
}

/// One user.
#[resource(uri = "own://users/{id}")]
fn person(id: u64) -> String {
    format!("user {id}")
}

/// Review something.
#[prompt]
fn review(what: &str) -> String {
    format!("Review {what}.")
}

#[tokio::test]
async fn each_of_the_four_kinds_has_its_own_list() {
    let server = new()
        .tools(tools![subtract])
        .resources(resources![licence, person])
        .prompts(prompts![review])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for (method, member, key, expected) in [
            ("tools/list", "tools", "name", "subtract"),
            ("resources/list", "resources", "uri", "own://licence"),
            ("resources/templates/list", "resourceTemplates", "uriTemplate", "own://users/{id}"),
            ("prompts/list", "prompts", "name", "review"),
        ] {
            let listed: Value = client.request(method, json!({})).await.unwrap().decode().unwrap();
            let listed = listed[member].as_array().unwrap();
            let found: Vec<_> = listed.iter().map(|item| item[key].as_str().unwrap()).collect();
            assert_eq!(found, [expected], "{method}");
        }
        assert_eq!(text(&client, "subtract", json!({"a": 5, "b": 3})).await, "2");
        assert_eq!(read(&client, "own://licence").await, "MIT");
        assert_eq!(read(&client, "own://users/7").await, "user 7");
        assert_eq!(filled(&client, "review", &[("what", "it")]).await, "Review it.");
    })
    .await;
    // A kind without elements is not declared.
    each_wire(&new().tools(tools![subtract]).build().unwrap(), async |client| {
        assert_eq!(tools(&client).await, ["subtract"]);
        assert_eq!(code(client.resources().await), -32601);
        assert_eq!(code(client.resource_templates().await), -32601);
        assert_eq!(code(client.prompts().await), -32601);
    })
    .await;
}

#[tokio::test]
async fn a_marked_function_is_listed_without_being_registered() {
    let server = new().discover_in(MARKED).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["add", "ant", "zebra"]);
        assert_eq!(client.tools().await.unwrap()[0].description(), "Add two numbers.");
        let resources = client.resources().await.unwrap();
        assert_eq!(resources.len(), 1);
        assert_eq!((&*resources[0].uri, &*resources[0].name), ("marked://readme", "readme"));
        assert_eq!(resources[0].mime_type.as_deref(), Some("text/markdown"));
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates.len(), 1);
        assert_eq!((&*templates[0].uri_template, &*templates[0].name), ("marked://notes/{id}", "note"));
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts.len(), 1);
        assert_eq!(prompts[0].name, "greet");
        assert_eq!(text(&client, "add", json!({"a": 2, "b": 3})).await, "5");
        assert_eq!(read(&client, "marked://readme").await, "# Found");
        assert_eq!(read(&client, "marked://notes/7").await, "found note 7");
        assert_eq!(filled(&client, "greet", &[("name", "Ada")]).await, "Found: greet Ada.");
    })
    .await;
}

#[tokio::test]
async fn discovery_happens_only_on_demand_and_only_where_it_is_told() {
    // Without `discover`, nothing is found.
    each_wire(&new().build().unwrap(), async |client| {
        assert_eq!(code(client.tools().await), -32601);
        assert_eq!(code(client.call("add", json!({"a": 1, "b": 2})).await), -32601);
    })
    .await;
    // One module, and not its parent.
    let deeper = format!("{MARKED}::deeper");
    each_wire(&new().discover_in(&deeper).build().unwrap(), async |client| {
        assert_eq!(tools(&client).await, ["ant", "zebra"]);
        assert_eq!(code(client.resources().await), -32601);
        assert_eq!(code(client.prompts().await), -32601);
    })
    .await;
    // Several places, in the order in which they are named; an element found twice is added once.
    let too = format!("{MARKED}_too");
    let server = new().discover_in(&too).discover_in(&deeper).discover_in(MARKED).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["stranger", "ant", "zebra", "add"]);
        assert_eq!(client.resources().await.unwrap().len(), 1);
    })
    .await;
    // A path is a path of modules, not a text prefix.
    for nowhere in [&MARKED[..MARKED.len() - 1], "marked", "registration::marked", "no::such::module"] {
        let client = connect(&new().discover_in(nowhere).build().unwrap()).await;
        assert_eq!(code(client.tools().await), -32601, "{nowhere}");
    }
    // Two functions with the same name are a mistake.
    let twins = "it::registration::twins";
    let error = new().discover_in(twins).build().unwrap_err().to_string();
    assert!(error.contains("two tools have the name `twin`"), "{error}");
    new().discover_in(&format!("{twins}::one")).build().unwrap();
}

#[tokio::test]
async fn every_kind_can_be_registered_by_hand() {
    let definition = toolway::types::Prompt::new("ask")
        .with_arguments(vec![PromptArgument::new("what").with_required(true)]);
    let server = new()
        .tool(ToolEntry::from_fn("hello", || async { "hello" }))
        .resource(ResourceEntry::define(Resource::new("hand://motd", "motd"), || async { "be kind" }))
        .resource(ResourceEntry::define(
            ResourceTemplate::new("hand://{id}", "thing"),
            |reading: ReadRequest| async move { format!("thing {}", reading.variables.text("id").unwrap()) },
        ))
        .prompt(PromptEntry::define(definition, |filled: PromptValues| async move {
            format!("What about {}?", filled.text("what").unwrap())
        }))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["hello"]);
        assert_eq!(client.resources().await.unwrap()[0].uri, "hand://motd");
        assert_eq!(client.resource_templates().await.unwrap()[0].uri_template, "hand://{id}");
        assert_eq!(client.prompts().await.unwrap()[0].name, "ask");
        assert_eq!(text(&client, "hello", json!({})).await, "hello");
        assert_eq!(read(&client, "hand://motd").await, "be kind");
        assert_eq!(read(&client, "hand://7").await, "thing 7");
        assert_eq!(filled(&client, "ask", &[("what", "tea")]).await, "What about tea?");
    })
    .await;
    // Two elements with the same name are a mistake, for each kind.
    let twice = new()
        .tools(tools![subtract, subtract])
        .resources(resources![licence, licence, person, person])
        .prompts(prompts![review, review]);
    let error = twice.build().unwrap_err().to_string();
    for mistake in [
        "two tools have the name `subtract`",
        "two resources have the URI `own://licence`",
        "the templates `own://users/{id}` and `own://users/{id}` match the same URIs",
        "two prompts have the name `review`",
    ] {
        assert!(error.contains(mistake), "{mistake:?} in {error}");
    }
}

#[tokio::test]
async fn what_is_found_joins_what_is_registered() {
    let server = new()
        .discover_in(MARKED)
        .tools(tools![subtract])
        .resources(resources![licence, person])
        .prompts(prompts![review])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        // Explicitly added elements come first, whatever the order of the calls.
        assert_eq!(tools(&client).await, ["subtract", "add", "ant", "zebra"]);
        let resources = client.resources().await.unwrap();
        let uris: Vec<_> = resources.iter().map(|resource| &*resource.uri).collect();
        assert_eq!(uris, ["own://licence", "marked://readme"]);
        let templates = client.resource_templates().await.unwrap();
        let templates: Vec<_> = templates.iter().map(|template| &*template.uri_template).collect();
        assert_eq!(templates, ["own://users/{id}", "marked://notes/{id}"]);
        let prompts = client.prompts().await.unwrap();
        let prompts: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(prompts, ["review", "greet"]);
        assert_eq!(text(&client, "add", json!({"a": 2, "b": 3})).await, "5");
        assert_eq!(text(&client, "subtract", json!({"a": 2, "b": 3})).await, "-1");
        assert_eq!(read(&client, "own://users/1").await, "user 1");
        assert_eq!(read(&client, "marked://notes/1").await, "found note 1");
    })
    .await;
}

/// A server with the discovered elements and one more, added before and after.
fn both_orders(more: impl Fn(ServerBuilder) -> ServerBuilder) -> [Server; 2] {
    [more(new().discover_in(MARKED)).build().unwrap(), more(new()).discover_in(MARKED).build().unwrap()]
}

#[tokio::test]
async fn a_registered_tool_beats_a_found_one_of_its_name() {
    let mine = || {
        ToolEntry::from_fn("add", || async { "mine" })
            .with_description("Mine.")
            .edit(|tool| tool.title = None)
    };
    for server in both_orders(|server| server.tool(mine())) {
        each_wire(&server, async |client| {
            assert_eq!(tools(&client).await, ["add", "ant", "zebra"]);
            assert_eq!(client.tools().await.unwrap()[0].description(), "Mine.");
            assert_eq!(text(&client, "add", json!({})).await, "mine");
        })
        .await;
    }
    // The name decides, not the function: with another name both are there.
    let server = new().discover_in(MARKED).tool(mine().with_name("sum")).build().unwrap();
    let client = connect(&server).await;
    assert_eq!(tools(&client).await, ["sum", "add", "ant", "zebra"]);
    assert_eq!(text(&client, "add", json!({"a": 1, "b": 1})).await, "2");
}

#[tokio::test]
async fn a_registered_resource_beats_a_found_one_of_its_uri() {
    let mine = || ResourceEntry::define(Resource::new("marked://readme", "other_name"), || async { "mine" });
    for server in both_orders(|server| server.resource(mine())) {
        each_wire(&server, async |client| {
            let resources = client.resources().await.unwrap();
            assert_eq!(resources.len(), 1);
            assert_eq!(resources[0].name, "other_name");
            assert_eq!(resources[0].mime_type, None);
            assert_eq!(read(&client, "marked://readme").await, "mine");
        })
        .await;
    }
    // The URI decides, not the name.
    let other = ResourceEntry::define(Resource::new("mine://readme", "readme"), || async { "mine" });
    let client = connect(&new().discover_in(MARKED).resource(other).build().unwrap()).await;
    assert_eq!(client.resources().await.unwrap().len(), 2);
    assert_eq!(read(&client, "marked://readme").await, "# Found");
}

#[tokio::test]
async fn a_registered_template_beats_a_found_one_that_is_the_same() {
    let mine = |template: &str| {
        let definition = ResourceTemplate::new(template, "mine");
        ResourceEntry::define(definition, |reading: ReadRequest| async move { format!("my {}", reading.uri) })
    };
    for server in both_orders(|server| server.resource(mine("marked://notes/{id}"))) {
        each_wire(&server, async |client| {
            let templates = client.resource_templates().await.unwrap();
            assert_eq!(templates.len(), 1);
            assert_eq!(templates[0].name, "mine");
            assert_eq!(read(&client, "marked://notes/7").await, "my marked://notes/7");
            // The discovered one only accepted numbers.
            assert_eq!(read(&client, "marked://notes/x").await, "my marked://notes/x");
        })
        .await;
    }
    // Another template that matches the same URIs is a mistake, which the author must resolve.
    let error = new().discover_in(MARKED).resource(mine("marked://notes/{n}")).build().unwrap_err();
    let expected = "the templates `marked://notes/{n}` and `marked://notes/{id}` match the same URIs";
    assert!(error.to_string().contains(expected), "{error}");
}

#[tokio::test]
async fn a_registered_prompt_beats_a_found_one_of_its_name() {
    let mine = || {
        let definition = toolway::types::Prompt::new("greet").with_description("Mine.");
        PromptEntry::define(definition, || async { "mine" })
    };
    for server in both_orders(|server| server.prompt(mine())) {
        each_wire(&server, async |client| {
            let prompts = client.prompts().await.unwrap();
            assert_eq!(prompts.len(), 1);
            assert_eq!(prompts[0].description.as_deref(), Some("Mine."));
            assert_eq!(prompts[0].arguments, None);
            assert_eq!(filled(&client, "greet", &[]).await, "mine");
        })
        .await;
    }
    let client = connect(&new().discover_in(MARKED).prompt(mine().with_name("hail")).build().unwrap()).await;
    assert_eq!(client.prompts().await.unwrap().len(), 2);
    assert_eq!(filled(&client, "greet", &[("name", "Ada")]).await, "Found: greet Ada.");
}

#[tokio::test]
async fn registration_may_depend_on_conditions() {
    for is_admin in [true, false] {
        let mut by_if = new().tools(tools![subtract]);
        if is_admin {
            by_if = by_if.prompts(prompts![review]).resources(resources![licence]);
        }
        let by_when = new()
            .tools(tools![subtract])
            .when(is_admin, |server| server.prompts(prompts![review]).resources(resources![licence]));
        for server in [by_if.build().unwrap(), by_when.build().unwrap()] {
            each_wire(&server, async |client| {
                assert_eq!(tools(&client).await, ["subtract"]);
                if is_admin {
                    assert_eq!(filled(&client, "review", &[("what", "it")]).await, "Review it.");
                    assert_eq!(read(&client, "own://licence").await, "MIT");
                } else {
                    assert_eq!(code(client.prompts().await), -32601);
                    assert_eq!(code(client.read_resource("own://licence").await), -32601);
                }
            })
            .await;
        }
    }
}

#[derive(Deserialize, JsonSchema)]
struct Sides {
    x: f64,
    y: f64,
}

#[tokio::test]
async fn handlers_may_come_from_code_of_others() {
    // A function of the standard library, unchanged; it makes a future of its argument.
    let echo = ToolEntry::from_fn("echo", std::future::ready::<Value>);
    // A function that is not async, in a closure.
    let hypot = ToolEntry::from_fn("hypot", |sides: Sides| async move { f64::hypot(sides.x, sides.y) });
    let temp = ResourceEntry::define(Resource::new("std://separator", "separator"), || async {
        std::path::MAIN_SEPARATOR_STR
    });
    let shout = PromptEntry::define(
        toolway::types::Prompt::new("shout").with_arguments(vec![PromptArgument::new("text")]),
        |filled: PromptValues| async move { str::to_uppercase(filled.text("text").unwrap_or_default()) },
    );
    let server = new().tools([echo, hypot]).resource(temp).prompt(shout).build().unwrap();
    each_wire(&server, async |client| {
        assert_eq!(text(&client, "echo", json!({"any": [1, null]})).await, r#"{"any":[1,null]}"#);
        assert_eq!(text(&client, "hypot", json!({"x": 3, "y": 4})).await, "5");
        let wrong = client.call("hypot", json!({"x": 3})).await.unwrap();
        assert_eq!((wrong.is_error(), wrong.first_text()), (true, Some("argument `y` is missing")));
        assert_eq!(read(&client, "std://separator").await, std::path::MAIN_SEPARATOR_STR);
        assert_eq!(filled(&client, "shout", &[("text", "quiet")]).await, "QUIET");
    })
    .await;
}

/// A counter with a name.
#[derive(Default)]
struct Counter {
    name: String,
    count: AtomicU32,
}

#[service]
impl Counter {
    /// Count on.
    #[tool]
    async fn count(&self, by: u32) -> u32 {
        self.count.fetch_add(by, Ordering::SeqCst) + by
    }

    /// Where the counter stands.
    #[resource(uri = "counter://now")]
    fn now(&self) -> String {
        format!("{} {}", self.name, self.count.load(Ordering::SeqCst))
    }

    /// The counter times something.
    #[resource(uri = "counter://times/{factor}")]
    fn times(&self, factor: u32) -> String {
        (self.count.load(Ordering::SeqCst) * factor).to_string()
    }

    /// Ask about the counter.
    #[prompt]
    fn ask(&self) -> String {
        format!("Why {}?", self.count.load(Ordering::SeqCst))
    }

    /// Needs no one.
    #[tool]
    fn version() -> &'static str {
        "1"
    }
}

#[tokio::test]
async fn a_method_reaches_the_state_of_its_instance() {
    let counter = |name: &str| Counter { name: name.to_owned(), ..Counter::default() };
    let server = new().service(counter("left")).build().unwrap();
    let other = connect(&new().service(counter("right")).build().unwrap()).await;
    let sum = AtomicU32::new(0);
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["count", "version"]);
        let before = sum.fetch_add(3, Ordering::SeqCst);
        assert_eq!(text(&client, "count", json!({"by": 1})).await, (before + 1).to_string());
        assert_eq!(text(&client, "count", json!({"by": 2})).await, (before + 3).to_string());
        assert_eq!(read(&client, "counter://now").await, format!("left {}", before + 3));
        assert_eq!(read(&client, "counter://times/10").await, ((before + 3) * 10).to_string());
        assert_eq!(filled(&client, "ask", &[]).await, format!("Why {}?", before + 3));
        assert_eq!(text(&client, "version", json!({})).await, "1");
        // `self` is not an argument.
        let schema: Value = client.tools().await.unwrap()[0].input_schema.decode().unwrap();
        assert_eq!(schema["required"], json!(["by"]));
        assert_eq!(schema["properties"].as_object().unwrap().len(), 1);
    })
    .await;
    assert_eq!(sum.into_inner(), 27, "nine wires, one instance");
    assert_eq!(read(&other, "counter://now").await, "right 0");
}

#[tokio::test]
async fn what_was_found_once_is_found_again_without_a_search() {
    // The linker collects marked items: every server sees the same definitions in the same order.
    let (first, second) = (new().discover_in(MARKED), new().discover_in(MARKED));
    let first = connect(&first.build().unwrap()).await;
    each_wire(&second.build().unwrap(), async |client| {
        for method in ["tools/list", "resources/list", "resources/templates/list", "prompts/list"] {
            let before: Value = first.request(method, json!({})).await.unwrap().decode().unwrap();
            let after: Value = client.request(method, json!({})).await.unwrap().decode().unwrap();
            let member = before.as_object().unwrap().values().find(|member| member.is_array()).unwrap();
            let same = after.as_object().unwrap().values().find(|member| member.is_array()).unwrap();
            assert_eq!(member.to_string(), same.to_string(), "{method}");
        }
        assert_eq!(tools(&client).await, ["add", "ant", "zebra"]);
        assert_eq!(text(&client, "ant", json!({})).await, "ant");
    })
    .await;
}

/// Save a note.
#[tool]
#[derive(Deserialize, JsonSchema)]
struct SaveNote {
    /// What to save.
    text: String,
    /// How often.
    times: Option<u32>,
}

impl Run for SaveNote {
    type Output = String;

    async fn run(self, ctx: Ctx) -> String {
        format!("{} {} on {}", self.text, self.times.unwrap_or(1), ctx.peer().version)
    }
}

/// One line of a page.
#[resource(uri = "pages://{page}/{line}")]
#[derive(Deserialize, JsonSchema)]
struct PageLine {
    page: String,
    line: u32,
}

impl Run for PageLine {
    type Output = Result<String, ResourceError>;

    async fn run(self, _: Ctx) -> Result<String, ResourceError> {
        if self.line == 0 {
            return Err(ResourceError::not_found());
        }
        Ok(format!("line {} of {}", self.line, self.page))
    }
}

/// Translate something.
#[prompt]
#[derive(Deserialize, JsonSchema)]
struct Translate {
    /// What to translate.
    text: String,
    /// Into which language.
    language: Option<String>,
}

impl Run for Translate {
    type Output = PromptMessages;

    async fn run(self, _: Ctx) -> PromptMessages {
        let language = self.language.as_deref().unwrap_or("English");
        PromptMessages::new().user(format!("Translate into {language}: {}", self.text))
    }
}

/// A type that implements everything by hand.
struct Dice {
    sides: u32,
}

impl ToolHandler for Dice {
    fn definition(&self) -> Tool {
        Tool::new("roll", json!({"type": "object", "properties": {}})).with_description("Roll a die.")
    }

    fn call(&self, _: Arguments, _: Scope) -> BoxFuture<'static, Result<CallToolResult, ToolError>> {
        let best = self.sides.to_string();
        Box::pin(async move { Ok(CallToolResult::text(best)) })
    }
}

#[tokio::test]
async fn functions_methods_and_types_can_be_handlers() {
    let server = new()
        .tools(tools![subtract, SaveNote])
        .tool(ToolEntry::new(Dice { sides: 20 }))
        .resources(resources![PageLine])
        .prompts(prompts![Translate])
        .service(Counter::default())
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["subtract", "save_note", "roll", "count", "version"]);
        let version = client.protocol_version();
        let note = text(&client, "save_note", json!({"text": "tea", "times": 2})).await;
        assert_eq!(note, format!("tea 2 on {version}"));
        let note = text(&client, "save_note", json!({"text": "tea"})).await;
        assert_eq!(note, format!("tea 1 on {version}"));
        let wrong = client.call("save_note", json!({"txt": "tea"})).await.unwrap();
        assert!(wrong.is_error());
        assert!(wrong.first_text().unwrap().contains("did you mean `text`?"), "{wrong:?}");
        assert_eq!(text(&client, "roll", json!({})).await, "20");
        let schema: Value = client.tools().await.unwrap()[1].input_schema.decode().unwrap();
        assert_eq!(schema["required"], json!(["text"]));
        assert_eq!(schema["properties"]["times"]["description"], "How often.");
        assert_eq!(schema["additionalProperties"], false);

        assert_eq!(client.resource_templates().await.unwrap()[0].name, "page_line");
        assert_eq!(read(&client, "pages://a/3").await, "line 3 of a");
        let latest = client.protocol_version() == ProtocolVersion::LATEST;
        assert_eq!(code(client.read_resource("pages://a/0").await), if latest { -32602 } else { -32002 });
        assert_eq!(code(client.read_resource("pages://a/b").await), -32602, "no number");

        let prompts = client.prompts().await.unwrap();
        let translate = prompts.iter().find(|prompt| prompt.name == "translate").unwrap();
        let arguments = translate.arguments.as_ref().unwrap();
        let required: Vec<_> = arguments.iter().map(|a| (a.name.as_str(), a.required)).collect();
        assert_eq!(required, [("text", Some(true)), ("language", Some(false))]);
        let prompt = filled(&client, "translate", &[("text", "thé")]).await;
        assert_eq!(prompt, "Translate into English: thé");
        assert_eq!(code(client.get_prompt("translate", [("language", "Latin")]).await), -32602);
    })
    .await;
}

/// Names and descriptions in every combination.
mod named {
    use super::*;

    /// The comment.
    #[tool(name = "tool-by.option", description = "The option.")]
    pub(super) fn tool_all() {}

    /// The comment.
    #[tool]
    pub(super) fn tool_comment() {}

    #[tool]
    pub(super) fn tool_bare() {}

    #[tool]
    pub(super) fn r#type() {}

    /// The comment.
    #[resource(uri = "named://all", name = "resource by option", description = "The option.")]
    pub(super) fn resource_all() -> &'static str {
        ""
    }

    /// The comment.
    #[resource(uri = "named://comment")]
    pub(super) fn resource_comment() -> &'static str {
        ""
    }

    #[resource(uri = "named://bare/{id}")]
    pub(super) fn template_bare(id: u8) -> String {
        id.to_string()
    }

    /// The comment.
    #[prompt(name = "prompt_by_option", description = "The option.")]
    pub(super) fn prompt_all() -> &'static str {
        ""
    }

    /// The comment.
    #[prompt]
    pub(super) fn prompt_comment() -> &'static str {
        ""
    }

    #[prompt]
    pub(super) fn prompt_bare() -> &'static str {
        ""
    }

    #[tool(name = "type-by.option")]
    #[derive(Deserialize, JsonSchema)]
    pub(super) struct ToolType {}

    impl Run for ToolType {
        type Output = ();

        async fn run(self, _: Ctx) {}
    }
}

fn named_server() -> Server {
    use named::{
        ToolType, prompt_all, prompt_bare, prompt_comment, resource_all, resource_comment, template_bare,
        tool_all, tool_bare, tool_comment, r#type,
    };
    new()
        .tools(tools![tool_all, tool_comment, tool_bare, r#type, ToolType])
        .resources(resources![resource_all, resource_comment, template_bare])
        .prompts(prompts![prompt_all, prompt_comment, prompt_bare])
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_name_comes_from_the_option_or_else_from_the_function() {
    each_wire(&named_server(), async |client| {
        let expected = ["tool-by.option", "tool_comment", "tool_bare", "type", "type-by.option"];
        assert_eq!(tools(&client).await, expected);
        let resources = client.resources().await.unwrap();
        let names: Vec<_> = resources.iter().map(|resource| &*resource.name).collect();
        assert_eq!(names, ["resource by option", "resource_comment"]);
        assert_eq!(client.resource_templates().await.unwrap()[0].name, "template_bare");
        let prompts = client.prompts().await.unwrap();
        let names: Vec<_> = prompts.iter().map(|prompt| &*prompt.name).collect();
        assert_eq!(names, ["prompt_by_option", "prompt_comment", "prompt_bare"]);
        // A function has only one name.
        assert!(!client.call("tool-by.option", json!({})).await.unwrap().is_error());
        assert!(!client.call("type", json!({})).await.unwrap().is_error());
        assert_eq!(code(client.call("tool_all", json!({})).await), -32602);
        assert_eq!(code(client.get_prompt("prompt_all", [("", ""); 0]).await), -32602);
    })
    .await;
}

#[tokio::test]
async fn a_description_comes_from_the_option_or_the_comment_or_the_name() {
    each_wire(&named_server(), async |client| {
        let tools = client.tools().await.unwrap();
        let texts: Vec<_> = tools.iter().map(Tool::description).collect();
        assert_eq!(texts, ["The option.", "The comment.", "tool_bare", "type", "type-by.option"]);
        let resources = client.resources().await.unwrap();
        let texts: Vec<_> = resources.iter().map(|resource| resource.description.as_deref()).collect();
        assert_eq!(texts, [Some("The option."), Some("The comment.")]);
        let templates = client.resource_templates().await.unwrap();
        assert_eq!(templates[0].description.as_deref(), Some("template_bare"));
        let prompts = client.prompts().await.unwrap();
        let texts: Vec<_> = prompts.iter().map(|prompt| prompt.description.as_deref()).collect();
        assert_eq!(texts, [Some("The option."), Some("The comment."), Some("prompt_bare")]);
    })
    .await;
    // Without a macro the description is the name, until it is set.
    let tool = ToolEntry::from_fn("hello", || async { "hello" });
    assert_eq!(tool.definition().description(), "hello");
    assert_eq!(tool.with_description("Say hello.").definition().description(), "Say hello.");
}

#[tokio::test]
async fn a_name_given_at_registration_beats_all_others() {
    use named::{resource_all, template_bare, tool_all};
    let server = new()
        .tools(tools![subtract as "minus", tool_all as "everything"])
        .tool(ToolEntry::of::<subtract>().with_name("take_away"))
        .tool(ToolEntry::from_fn("plus", || async { "sum" }).with_name("add_numbers"))
        .resources(resources![resource_all as "all", template_bare as "bare"])
        .prompts(prompts![review as "check"])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        assert_eq!(tools(&client).await, ["minus", "everything", "take_away", "add_numbers"]);
        assert_eq!(text(&client, "minus", json!({"a": 5, "b": 3})).await, "2");
        assert_eq!(text(&client, "take_away", json!({"a": 5, "b": 4})).await, "1");
        assert_eq!(text(&client, "add_numbers", json!({})).await, "sum");
        // Only the name differs.
        let tools = client.tools().await.unwrap();
        assert_eq!(tools[0].description(), "Subtract one number from another.");
        assert_eq!(tools[1].description(), "The option.");
        for gone in ["subtract", "tool-by.option", "plus"] {
            assert_eq!(code(client.call(gone, json!({})).await), -32602, "{gone}");
        }
        assert_eq!(client.resources().await.unwrap()[0].name, "all");
        assert_eq!(client.resource_templates().await.unwrap()[0].name, "bare");
        assert_eq!(client.prompts().await.unwrap()[0].name, "check");
        assert_eq!(filled(&client, "check", &[("what", "it")]).await, "Review it.");
        assert_eq!(code(client.get_prompt("review", [("what", "it")]).await), -32602);
    })
    .await;
}
