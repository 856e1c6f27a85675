//! A server as a whole: how it is run, what it declares, its tools, prompts and completions (rows 150 to 194).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use toolway::capability::{ServerCapabilities, Settings};
use toolway::prelude::*;
use toolway::server::{
    Completer, Completing, Embedded, Filled, Image, Prompt, PromptEntry, PromptError, ToolEntry,
};
use toolway::testing::{each_session, each_wire};
use toolway::types::{Completion, Content, PromptArgument, Role, Tool};
use toolway::{Era, ErrorKind, Notification, ProtocolVersion, RpcError};

use super::listening::{Listening, TOLD, listen};

const NOTHING: [(&str, &str); 0] = [];

fn settings(value: Value) -> Option<Settings> {
    value.as_object().cloned()
}

#[cfg(unix)]
#[tokio::test]
async fn row_150_one_line_serves_a_process_or_a_task() {
    use std::process::Stdio;
    // A program whose `main` is `Server::new(…).tools(…).serve_stdio().await`, as a child process.
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/stdio-fixture");
    for version in ProtocolVersion::ALL {
        let mut child = tokio::process::Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let (reader, writer) = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
        let client = Client::builder().protocol(version).connect_io(reader, writer).await.unwrap();
        assert_eq!(client.protocol_version(), version);
        assert_eq!(client.server_info().unwrap().name, "fixture");
        let tools = client.tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["noisy", "flood", "breaks"]
        );
        let result = client.call("noisy", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some("child read 0 bytes"));
        drop(client);
        assert!(child.wait().await.unwrap().success(), "it ends when its parent hangs up");
    }

    // A task of this process, which a supervisor may end and restart.
    let server = Server::new("child", "1.0.0").tools(tools![here]).build().unwrap();
    let start = || {
        let (near, far) = tokio::io::duplex(1 << 16);
        let server = server.clone();
        let child = tokio::spawn(async move {
            let (reader, writer) = tokio::io::split(far);
            server.serve_io(reader, writer).await
        });
        (child, tokio::io::split(near))
    };
    let (first, (reader, writer)) = start();
    let client = Client::connect_io(reader, writer).await.unwrap();
    assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    assert_eq!(client.call("here", json!({})).await.unwrap_err().kind(), ErrorKind::Transport);
    let (second, (reader, writer)) = start();
    let client = Client::connect_io(reader, writer).await.unwrap();
    assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
    drop(client);
    second.await.unwrap().unwrap();
}

#[tokio::test]
async fn row_157_name_version_and_instructions_reach_the_client() {
    let help = "Call `here` first.\n\nThen \"there\".";
    let server = Server::new("router", "0.3.4").instructions(help).tools(tools![here]).build().unwrap();
    each_wire(&server, async |client| {
        let info = client.server_info().unwrap();
        assert_eq!((info.name.as_str(), info.version.as_str()), ("router", "0.3.4"));
        assert_eq!(client.instructions().as_deref(), Some(help));
    })
    .await;
    let silent = Server::new("silent", "1").build().unwrap();
    each_wire(&silent, async |client| {
        assert_eq!(client.server_info().unwrap().version, "1");
        assert_eq!(client.instructions(), None);
    })
    .await;
    let error = Server::new("", "1").build().unwrap_err().to_string();
    assert!(error.contains("the server's name is empty"), "{error}");
}

/// Of this module.
#[tool]
fn here() -> &'static str {
    "here"
}

/// Add two numbers, both described by hand.
#[tool(
    name = "sum",
    input_schema = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]},
    output_schema = {"type": "object", "properties": {"sum": {"type": "integer", "maximum": 100}}, "required": ["sum"]},
)]
fn adds(a: i64, b: i64) -> Value {
    json!({"sum": a + b})
}

async fn by_hand(arguments: Value) -> Value {
    json!({"sum": arguments["a"].as_i64().unwrap_or_default() + arguments["b"].as_i64().unwrap_or_default()})
}

#[tokio::test]
async fn row_158_a_tool_has_a_name_and_perhaps_schemas_and_a_handler_elsewhere() {
    let input = json!({"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]});
    let output = json!({"type": "object", "properties": {"sum": {"type": "integer", "maximum": 100}}, "required": ["sum"]});
    // The same without macros: everything is a value.
    let definition = Tool::new("by_hand", input.clone()).with_output_schema(output.clone());
    let server = Server::new("tools", "1.0.0")
        .tools(tools![adds])
        .tool(ToolEntry::define(definition, by_hand))
        .tool(ToolEntry::from_fn("bare", || async { "bare" }))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let structured = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let tools = client.tools().await.unwrap();
        assert_eq!(
            tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
            ["sum", "by_hand", "bare"]
        );
        for tool in &tools[..2] {
            assert_eq!(tool.input_schema.decode::<Value>().unwrap(), input);
            let schema = tool.output_schema.as_ref().map(|schema| schema.decode::<Value>().unwrap());
            assert_eq!(schema, structured.then(|| output.clone()));

            let result = client.call(&tool.name, json!({"a": 2, "b": 3})).await.unwrap();
            assert_eq!(result.first_text(), Some(r#"{"sum":5}"#));
            let content = result.structured().map(|content| content.decode::<Value>().unwrap());
            assert_eq!(content, structured.then(|| json!({"sum": 5})));

            let result = client.call(&tool.name, json!({"a": 2})).await.unwrap();
            assert_eq!((result.is_error(), result.first_text()), (true, Some("argument `b` is missing")));
            // An output that its schema forbids is an error of the tool, and its details are not shown to the caller.
            let result = client.call(&tool.name, json!({"a": 99, "b": 2})).await.unwrap();
            assert!(result.is_error());
            let text = result.first_text().unwrap();
            assert!(text.starts_with(&format!("the tool `{}` failed", tool.name)), "{text}");
        }
        assert!(tools[2].output_schema.is_none());
        assert_eq!(client.call("bare", json!({})).await.unwrap().first_text(), Some("bare"));
    })
    .await;
}

#[tokio::test]
async fn row_159_a_tool_without_arguments_says_so() {
    let closure = ToolEntry::from_fn("closure", |ctx: Ctx| async move { ctx.peer().version.to_string() });
    let server = Server::new("tools", "1.0.0").tools(tools![here]).tool(closure).build().unwrap();
    each_wire(&server, async |client| {
        let nothing = json!({"type": "object", "properties": {}, "additionalProperties": false});
        for tool in client.tools().await.unwrap() {
            assert_eq!(tool.input_schema.decode::<Value>().unwrap(), nothing, "{}", tool.name);
            let result = client.call(&tool.name, json!({"extra": 1})).await.unwrap();
            assert!(result.is_error());
            assert_eq!(result.first_text(), Some("unknown argument `extra`: this tool takes none"));
        }
        assert_eq!(client.call("here", json!({})).await.unwrap().first_text(), Some("here"));
        let version = client.protocol_version().to_string();
        assert_eq!(client.call("closure", json!({})).await.unwrap().first_text(), Some(&*version));
    })
    .await;
}

const FROM_ELSEWHERE: &str = concat!("From ", "elsewhere.");

/// From the comment.
#[tool]
fn commented() {}

/// Not this.
#[tool(description = "From the attribute.")]
fn inline() {}

#[tool(description = FROM_ELSEWHERE)]
fn constant() {}

#[tool]
fn undescribed() {}

#[tokio::test]
async fn row_160_a_description_stands_before_the_definition_or_in_it() {
    let server = Server::new("tools", "1.0.0")
        .tools(tools![commented, inline, constant, undescribed])
        .tool(ToolEntry::of::<commented>().named("said").described("From the registration."))
        .tool(ToolEntry::from_fn("closure", || async {}).described("Of a closure."))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let tools = client.tools().await.unwrap();
        let described: Vec<_> = tools.iter().map(|tool| (tool.name.as_str(), tool.description())).collect();
        assert_eq!(
            described,
            [
                ("commented", "From the comment."),
                ("inline", "From the attribute."),
                ("constant", "From elsewhere."),
                ("undescribed", "undescribed"),
                ("said", "From the registration."),
                ("closure", "Of a closure."),
            ]
        );
    })
    .await;
}

mod elsewhere {
    use toolway::prelude::*;

    /// Of another module.
    #[tool]
    pub(super) fn there() -> &'static str {
        "there"
    }

    /// A function that is not marked.
    pub(super) async fn plain() -> String {
        "plain".to_owned()
    }

    /// A nested module.
    pub(super) mod inside {
        use toolway::prelude::*;

        /// The same name as one outside.
        #[tool]
        pub(in super::super) fn here() -> &'static str {
            "inside"
        }
    }
}

#[tokio::test]
async fn row_161_a_handler_may_live_in_any_module() {
    let server = Server::new("modules", "1.0.0")
        .tools(tools![here, elsewhere::there, elsewhere::inside::here as "inside"])
        .tool(ToolEntry::from_fn("plain", elsewhere::plain))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for name in ["here", "there", "inside", "plain"] {
            assert_eq!(client.call(name, json!({})).await.unwrap().first_text(), Some(name));
        }
    })
    .await;
    assert_eq!(elsewhere::there(), "there", "it is still a function");
    let error = Server::new("clash", "1").tools(tools![here, elsewhere::inside::here]).build().unwrap_err();
    assert!(error.to_string().contains("two tools have the name `here`"), "{error}");
}

/// Divide.
#[tool]
async fn divide(a: f64, b: f64) -> Result<f64, ToolError> {
    if b == 0.0 {
        return Err(ToolError::new("division by zero: choose another `b`"));
    }
    Ok(a / b)
}

#[tokio::test]
async fn row_164_an_error_of_a_tool_is_a_result_that_the_model_reads() {
    let server = Server::new("calculator", "1.0.0").tools(tools![divide]).build().unwrap();
    each_wire(&server, async |client| {
        let wrong = client.call("divide", json!({"a": 1, "b": 0})).await.unwrap();
        assert!(wrong.is_error());
        assert_eq!(wrong.content, [Content::text("division by zero: choose another `b`")]);
        assert!(wrong.structured_content.is_none());
        let right = client.call("divide", json!({"a": 1, "b": 2})).await.unwrap();
        assert_eq!((right.is_error(), right.first_text()), (false, Some("0.5")));
    })
    .await;
}

/// The values to complete with.
struct Studies(Vec<&'static str>);

async fn study_ids(typed: Completing, studies: State<Studies>) -> Vec<String> {
    typed.filter(&studies.0)
}

/// Review a study.
#[prompt]
async fn review(
    /// The study to review.
    #[arg(complete = study_ids)]
    study_id: String,
    #[arg(title = "Tone", description = "How to say it.", default = "kind", complete = ["kind", "keen"])]
    tone: String,
    length: Option<u32>,
) -> String {
    format!("Review {study_id}, {tone}, {length:?}")
}

#[tokio::test]
async fn row_169_a_prompt_has_arguments_and_somebody_who_completes_them() {
    let by_hand = toolway::types::Prompt::new("by_hand").with_description("By hand.").with_arguments(vec![
        PromptArgument::new("study_id").with_description("The study to review.").with_required(true),
        PromptArgument::new("tone"),
    ]);
    let by_hand = PromptEntry::define(by_hand, |filled: Filled| async move {
        format!("{:?} {:?}", filled.text("study_id"), filled.text("tone"))
    })
    .completer("study_id", Completer::function(study_ids));
    let server = Server::new("studies", "1.0.0")
        .state(Studies(vec!["s1", "s2", "t1"]))
        .prompts(prompts![review])
        .prompt(by_hand)
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let titled = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        let prompts = client.prompts().await.unwrap();
        assert_eq!(prompts[0].description.as_deref(), Some("Review a study."));
        let mut tone = PromptArgument::new("tone").with_description("How to say it.").with_required(false);
        tone.title = titled.then(|| "Tone".to_owned());
        let study =
            PromptArgument::new("study_id").with_description("The study to review.").with_required(true);
        let length = PromptArgument::new("length").with_required(false);
        assert_eq!(prompts[0].arguments, Some(vec![study.clone(), tone, length]));
        assert_eq!(prompts[1].arguments, Some(vec![study, PromptArgument::new("tone")]));

        for prompt in ["review", "by_hand"] {
            let found = client.complete_prompt(prompt, "study_id", "s", NOTHING).await.unwrap();
            assert_eq!(found.values, ["s1", "s2"], "{prompt}");
            let error = client.get_prompt(prompt, [("tone", "keen")]).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!((rpc.code.0, &*rpc.message), (-32602, "argument `study_id` is missing"), "{prompt}");
            let error = client.get_prompt(prompt, [("study_id", "s1"), ("tune", "x")]).await.unwrap_err();
            assert_eq!(error.rpc().unwrap().message, "unknown argument `tune`, did you mean `tone`?");
        }
        assert_eq!(client.complete_prompt("review", "tone", "ke", NOTHING).await.unwrap().values, ["keen"]);
        let said = async |prompt: &str, filled: &[(&str, &str)]| {
            let filled = client.get_prompt(prompt, filled).await.unwrap();
            filled.messages[0].content.as_text().unwrap().to_owned()
        };
        assert_eq!(said("review", &[("study_id", "s1")]).await, "Review s1, kind, None");
        assert_eq!(
            said("review", &[("study_id", "s1"), ("tone", "keen"), ("length", "3")]).await,
            "Review s1, keen, Some(3)"
        );
        assert_eq!(said("by_hand", &[("study_id", "s1")]).await, r#"Some("s1") None"#);
        let error = client.get_prompt("review", [("study_id", "s1"), ("length", "long")]).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32602);
    })
    .await;
}

const PNG: &[u8] = b"\x89PNG not really";

/// Everything in order.
#[prompt]
fn gallery() -> Prompt {
    Prompt::new()
        .described("A gallery")
        .assistant("You look at pictures.")
        .user(("What is this?", Image::png(PNG), Embedded::text("docs://a", "# A").mime("text/markdown")))
        .assistant(Embedded::blob("docs://b", [0, 1, 2]).mime("application/zip"))
        .user("Thanks.")
}

#[tokio::test]
async fn row_170_a_prompt_is_pairs_of_role_and_content_in_order() {
    // The same as pairs, for prompts that only have text.
    #[prompt]
    fn pairs() -> [(&'static str, &'static str); 3] {
        [("assistant", "one"), ("user", "two"), ("assistant", "three")]
    }
    let server = Server::new("gallery", "1.0.0").prompts(prompts![gallery, pairs]).build().unwrap();
    each_wire(&server, async |client| {
        let result = client.get_prompt("gallery", NOTHING).await.unwrap();
        assert_eq!(result.description.as_deref(), Some("A gallery"));
        let roles: Vec<_> = result.messages.iter().map(|message| message.role.clone()).collect();
        let (user, assistant) = (Role::User, Role::Assistant);
        assert_eq!(
            roles,
            [assistant.clone(), user.clone(), user.clone(), user.clone(), assistant.clone(), user.clone()]
        );
        assert_eq!(result.messages[0].content, Content::text("You look at pictures."));
        assert_eq!(result.messages[1].content, Content::text("What is this?"));
        let Content::Image(image) = &result.messages[2].content else { panic!("{result:?}") };
        assert_eq!((image.data.as_str(), image.mime_type.as_str()), ("iVBORyBub3QgcmVhbGx5", "image/png"));
        let Content::Resource(text) = &result.messages[3].content else { panic!("{result:?}") };
        assert_eq!((text.resource.uri.as_str(), text.resource.text.as_deref()), ("docs://a", Some("# A")));
        assert_eq!(text.resource.mime_type.as_deref(), Some("text/markdown"));
        let Content::Resource(blob) = &result.messages[4].content else { panic!("{result:?}") };
        assert_eq!((blob.resource.uri.as_str(), blob.resource.blob.as_deref()), ("docs://b", Some("AAEC")));
        assert_eq!(
            (&blob.resource.text, blob.resource.mime_type.as_deref()),
            (&None, Some("application/zip"))
        );
        assert_eq!(result.messages[5].content, Content::text("Thanks."));

        let result = client.get_prompt("pairs", NOTHING).await.unwrap();
        let said: Vec<_> =
            result.messages.iter().map(|one| (one.role.clone(), one.content.as_text())).collect();
        assert_eq!(said, [(assistant.clone(), Some("one")), (user, Some("two")), (assistant, Some("three"))]);
    })
    .await;
}

/// Fails in whichever way it is asked to.
#[prompt]
fn failing(how: &str) -> Result<String, PromptError> {
    Err(match how {
        "internal" => RpcError::internal("no studies today").into(),
        "params" => RpcError::invalid_params("not that one").with_data(json!({"try": "another"})).into(),
        "visible" => PromptError::new("the study is locked"),
        _ => std::io::Error::other("a secret").into(),
    })
}

#[tokio::test]
async fn row_171_a_prompt_may_answer_with_an_error_of_the_protocol() {
    let server = Server::new("failing", "1.0.0").prompts(prompts![failing]).build().unwrap();
    each_wire(&server, async |client| {
        let fails = async |how: &str| {
            let error = client.get_prompt("failing", [("how", how)]).await.unwrap_err();
            error.rpc().unwrap().clone()
        };
        assert_eq!(fails("internal").await, RpcError::internal("no studies today"));
        let expected = RpcError::invalid_params("not that one").with_data(json!({"try": "another"}));
        assert_eq!(fails("params").await, expected);
        assert_eq!(fails("visible").await, RpcError::internal("the study is locked"));
        let hidden = fails("hidden").await;
        assert_eq!(hidden.code.0, -32603);
        assert!(
            hidden
                .message
                .starts_with("the prompt `failing` failed; the server's operator can find the cause"),
            "{hidden:?}"
        );
        assert!(!hidden.message.contains("secret"));
        let error = client.get_prompt("nowhere", NOTHING).await.unwrap_err();
        assert_eq!(error.rpc().unwrap().code.0, -32602);
    })
    .await;
}

/// Returns everything that it is given.
async fn shows(typed: Completing, ctx: Ctx) -> Vec<String> {
    let earlier: Vec<_> = typed.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![typed.name, typed.value, earlier.join(","), ctx.peer().version.to_string()]
}

#[tokio::test]
async fn row_175_who_completes_gets_the_name_the_text_so_far_and_the_call() {
    #[prompt]
    fn write(#[arg(complete = shows)] first: String, #[arg(complete = shows)] second: String) -> String {
        first + &second
    }
    #[resource(uri = "texts://{first}/{second}")]
    fn text(#[arg(complete = shows)] first: String, #[arg(complete = shows)] second: String) -> String {
        first + &second
    }

    /// A service with a method that completes an argument.
    struct Library(Vec<&'static str>);

    #[service]
    impl Library {
        /// Lend a book.
        #[prompt]
        fn lend(&self, #[arg(complete = Self::titles)] title: String) -> String {
            format!("{title}, one of {}", self.0.len())
        }

        async fn titles(&self, typed: Completing, ctx: &Ctx) -> Completion {
            let mut found = typed.filter(&self.0);
            found.push(format!("{} {}", typed.name, ctx.peer().version));
            Completion::new(found)
        }
    }

    let server = Server::new("shows", "1.0.0")
        .prompts(prompts![write])
        .resources(resources![text])
        .service(Library(vec!["Emma", "Persuasion"]))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let version = client.protocol_version();
        let shown = version.to_string();
        // Earlier arguments are sent since 2025-06-18.
        let earlier = if version >= ProtocolVersion::V2025_06_18 { "first=a b" } else { "" };
        let known = [("first", "a b")];
        let found = client.complete_prompt("write", "second", "Tö", known).await.unwrap();
        assert_eq!(found.values, ["second", "Tö", earlier, &shown]);
        let found = client.complete_prompt("write", "first", "", NOTHING).await.unwrap();
        assert_eq!(found.values, ["first", "", "", &shown]);
        let found = client.complete_resource("texts://{first}/{second}", "second", "x", known).await.unwrap();
        assert_eq!(found.values, ["second", "x", earlier, &shown]);
        let found = client.complete_prompt("lend", "title", "em", NOTHING).await.unwrap();
        assert_eq!(found.values, ["Emma".to_owned(), format!("title {shown}")]);
    })
    .await;
}

/// Completes in as many ways as it has arguments.
#[prompt]
fn answers(
    #[arg(complete = |_: Completing| async { vec!["plain"] })] list: String,
    #[arg(complete = whole)] whole: String,
    #[arg(complete = |_: Completing| async { Ok::<_, ToolError>(vec!["fine".to_owned()]) })] result: String,
    #[arg(complete = broken)] broken: String,
    #[arg(complete = many)] many: String,
) -> String {
    [list, whole, result, broken, many].concat()
}

async fn whole(_: Completing) -> Completion {
    Completion::new(vec!["one".to_owned()]).with_total(250).with_has_more(true)
}

async fn broken(typed: Completing) -> Result<Completion, std::io::Error> {
    assert!(typed.value != "panic", "a secret");
    Err(std::io::Error::other("a secret"))
}

/// Returns as many values as the typed number says.
async fn many(typed: Completing) -> Completion {
    let (count, total) = typed.value.split_once('/').unwrap_or((&typed.value, ""));
    let values: Vec<_> = (0..count.parse().unwrap_or(0)).map(|number: u32| number.to_string()).collect();
    let mut completion = Completion::new(values);
    completion.total = total.parse().ok();
    completion
}

#[tokio::test]
async fn row_176_a_completion_is_a_list_or_says_how_many_there_are() {
    let server = Server::new("answers", "1.0.0").prompts(prompts![answers]).build().unwrap();
    each_wire(&server, async |client| {
        let complete = async |argument: &str| client.complete_prompt("answers", argument, "", NOTHING).await;
        let list = complete("list").await.unwrap();
        assert_eq!((list.values, list.total, list.has_more), (vec!["plain".to_owned()], None, None));
        let whole = complete("whole").await.unwrap();
        assert_eq!(
            (whole.values, whole.total, whole.has_more),
            (vec!["one".to_owned()], Some(250), Some(true))
        );
        assert_eq!(complete("result").await.unwrap().values, ["fine"]);
        for typed in ["", "panic"] {
            let error = client.complete_prompt("answers", "broken", typed, NOTHING).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!(rpc.code.0, -32603);
            assert!(!rpc.message.contains("secret"), "{rpc:?}");
        }
        assert_eq!(complete("result").await.unwrap().values, ["fine"], "the server is still there");
    })
    .await;
}

#[prompt]
fn pick(value: String) -> String {
    value
}

#[tokio::test]
async fn row_177_the_first_hundred_values_are_sent_and_the_rest_is_told_of() {
    let values: Vec<String> = (0..250).map(|number| format!("v{number}")).collect();
    let pick = prompts![pick].remove(0).completer("value", Completer::list(values.clone()));
    let server = Server::new("many", "1.0.0").prompts(prompts![answers]).prompt(pick).build().unwrap();
    each_wire(&server, async |client| {
        for (typed, sent, total, has_more) in [
            ("99", 99, None, None),
            ("100", 100, None, None),
            ("101", 100, Some(101), Some(true)),
            ("1000", 100, Some(1000), Some(true)),
            // The author can set another total.
            ("150/5000", 100, Some(5000), Some(true)),
        ] {
            let found = client.complete_prompt("answers", "many", typed, NOTHING).await.unwrap();
            assert_eq!((found.values.len(), found.total, found.has_more), (sent, total, has_more), "{typed}");
            assert_eq!(found.values.last().unwrap(), &(sent - 1).to_string(), "the first ones, in order");
        }
        let found = client.complete_prompt("pick", "value", "", NOTHING).await.unwrap();
        assert_eq!((&found.values[..], found.has_more), (&values[..100], Some(true)));
        let found = client.complete_prompt("pick", "value", "v24", NOTHING).await.unwrap();
        assert_eq!((found.values.len(), found.has_more), (11, None), "those that fit are few enough");
        // The same on the wire.
        let params = json!({"ref": {"type": "ref/prompt", "name": "pick"}, "argument": {"name": "value", "value": ""}});
        let raw: Value = client.request("completion/complete", params).await.unwrap().decode().unwrap();
        assert_eq!(raw["completion"], json!({"values": values[..100], "total": 250, "hasMore": true}));
    })
    .await;
}

#[prompt]
fn completed(#[arg(complete = ["x"])] value: String) -> String {
    value
}

#[resource(uri = "plain://one")]
fn one() -> &'static str {
    "one"
}

#[tokio::test]
async fn row_182_capabilities_follow_from_what_there_is() {
    let build = |server: toolway::server::ServerBuilder| server.build().unwrap();
    let empty = build(Server::new("empty", "1.0.0"));
    let tools = build(Server::new("tools", "1.0.0").tools(tools![here]));
    let prompts = build(Server::new("prompts", "1.0.0").prompts(prompts![gallery]));
    let completed = build(Server::new("completed", "1.0.0").prompts(prompts![completed]));
    let resources = build(Server::new("resources", "1.0.0").resources(resources![one]));
    let reader = build(Server::new("reader", "1.0.0").read_resource(|| async { "any" }));
    for (server, names) in [
        (&empty, &[][..]),
        (&tools, &["tools"]),
        (&prompts, &["prompts"]),
        (&completed, &["prompts", "completions"]),
        (&resources, &["resources"]),
        (&reader, &["resources"]),
    ] {
        each_wire(server, async |client| {
            let ServerCapabilities { tools, prompts, resources, completions, logging, .. } =
                &client.server_capabilities();
            let mut found = Vec::new();
            for (name, settings) in [
                ("tools", tools),
                ("prompts", prompts),
                ("resources", resources),
                ("completions", completions),
            ] {
                found.extend(settings.as_ref().map(|_| name));
            }
            // Before 2025-03-26 the capability for completions did not exist.
            let names: Vec<_> = names
                .iter()
                .filter(|name| {
                    **name != "completions" || client.protocol_version() >= ProtocolVersion::V2025_03_26
                })
                .copied()
                .collect();
            assert_eq!(found, names);
            assert!(logging.is_some(), "every handler may log");
            // Methods that are not declared do not exist, and declared ones do.
            let unknown = |error: &toolway::Error| error.rpc().unwrap().code.0 == -32601;
            assert_eq!(client.tools().await.is_err_and(|error| unknown(&error)), tools.is_none());
            assert_eq!(client.prompts().await.is_err_and(|error| unknown(&error)), prompts.is_none());
            assert_eq!(client.resources().await.is_err_and(|error| unknown(&error)), resources.is_none());
            // A server declares only what this wire can do, and does only what it has declared.
            let promised =
                resources.as_ref().is_some_and(|settings| settings.get("subscribe") == Some(&json!(true)));
            match client.protocol_version().era() {
                Era::Handshake => assert_eq!(client.subscribe("plain://one").await.is_ok(), promised),
                Era::Stateless => assert_eq!(promised, resources.is_some()),
            }
            let can_tell = listen(&client, &[]).await.is_some();
            assert!(!promised || can_tell);
        })
        .await;
    }
    // If the server can send notifications unasked, it declares that.
    each_session(&tools, async |client| {
        assert_eq!(client.server_capabilities().tools, settings(json!({"listChanged": true})));
    })
    .await;
    each_session(&resources, async |client| {
        let expected = settings(json!({"listChanged": true, "subscribe": true}));
        assert_eq!(client.server_capabilities().resources, expected);
    })
    .await;

    // The author may declare more than there is yet, and less than there could be.
    let declared = ServerCapabilities::new()
        .with_tools(settings(json!({"listChanged": false})).unwrap())
        .with_prompts(Settings::new())
        .with_experimental(BTreeMap::from([("acme".to_owned(), json!({"x": 1}))]));
    let server = build(Server::new("declared", "1.0.0").tools(tools![here]).capabilities(declared));
    each_wire(&server, async |client| {
        let capabilities = client.server_capabilities();
        // Where notifications cannot be sent, they need not be declared.
        assert_ne!(capabilities.tools.as_ref().unwrap().get("listChanged"), Some(&json!(true)));
        assert_eq!(capabilities.prompts, Some(Settings::new()));
        assert_eq!(capabilities.experimental.as_ref().unwrap()["acme"], json!({"x": 1}));
        assert!(capabilities.resources.is_none() && capabilities.completions.is_none());
        assert_eq!(client.prompts().await.unwrap(), []);
        assert_eq!(client.tools().await.unwrap().len(), 1);
    })
    .await;
    each_session(&server, async |client| {
        assert_eq!(client.server_capabilities().tools, settings(json!({"listChanged": false})));
    })
    .await;
    // Elements that are added later count for clients that connect then.
    assert!(empty.capabilities().tools.is_none());
    empty.add_tool(ToolEntry::of::<here>()).unwrap();
    each_wire(&empty, async |client| assert!(client.server_capabilities().tools.is_some())).await;
}

#[tokio::test]
async fn row_190_a_completion_is_asked_of_the_one_who_was_named() {
    #[prompt]
    fn first(#[arg(complete = ["first prompt"])] value: String) -> String {
        value
    }
    #[prompt]
    fn second(#[arg(complete = ["second prompt"])] value: String) -> String {
        value
    }
    #[resource(uri = "first://{value}")]
    fn first_resource(#[arg(complete = ["first resource"])] value: String) -> String {
        value
    }
    #[resource(uri = "second://{value}", name = "first")]
    fn second_resource(#[arg(complete = ["second resource"])] value: String) -> String {
        value
    }
    let server = Server::new("dispatch", "1.0.0")
        .prompts(prompts![first, second])
        .resources(resources![first_resource, second_resource])
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        for prompt in ["first", "second"] {
            let found = client.complete_prompt(prompt, "value", "", NOTHING).await.unwrap();
            assert_eq!(found.values, [format!("{prompt} prompt")]);
            let found = client
                .complete_resource(format!("{prompt}://{{value}}"), "value", "", NOTHING)
                .await
                .unwrap();
            assert_eq!(found.values, [format!("{prompt} resource")]);
        }
        // By URI and not by name, by template and not by a URI that matches it.
        for uri in ["first", "first://x", "third://{value}"] {
            let error = client.complete_resource(uri, "value", "", NOTHING).await.unwrap_err();
            let rpc = error.rpc().unwrap();
            assert_eq!(rpc.code.0, -32602);
            assert_eq!(rpc.message, format!("no such resource or template: `{uri}`"));
        }
    })
    .await;
}

#[tokio::test]
async fn row_192_a_ping_is_answered_with_nothing() {
    let server = Server::new("ping", "1.0.0").build().unwrap();
    each_wire(&server, async |client| {
        client.ping().await.unwrap();
        let answer = client.request("ping", json!({})).await;
        if client.protocol_version() < ProtocolVersion::V2026_07_28 {
            assert_eq!(answer.unwrap().as_str(), "{}");
        } else {
            // The stateless era uses discovery instead.
            assert_eq!(answer.unwrap_err().rpc().unwrap().code.0, -32601);
        }
    })
    .await;
}

/// Returns a new name, so that every wire adds its own tool.
fn fresh() -> String {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    format!("fresh_{}", COUNT.fetch_add(1, Ordering::SeqCst))
}

/// Lets a resource be updated, which comes after every list that has changed.
#[resource(uri = "fence://here")]
fn fence() -> &'static str {
    "fence"
}

/// Checks that nothing else was sent: the fence comes next.
async fn nothing_more(server: &Server, listening: &mut Listening) {
    server.resource_updated("fence://here");
    assert_eq!(listening.updated().await, "fence://here");
}

#[tokio::test]
async fn row_193_everybody_hears_that_a_tool_was_added_or_removed() {
    let server =
        Server::new("live", "1.0.0").tools(tools![here]).resources(resources![fence]).build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["fence://here"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let name = fresh();
        let tool = ToolEntry::from_fn(&name, || async { "new" });
        server.add_tool(tool.clone()).unwrap();
        assert!(matches!(listening.heard().await, Notification::ToolsChanged(_)));
        let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
        assert_eq!(names, ["here", &name]);
        assert_eq!(client.call(&name, json!({})).await.unwrap().first_text(), Some("new"));
        // A failed change is not announced.
        let error = server.add_tool(tool).unwrap_err().to_string();
        assert!(error.contains(&format!("two tools have the name `{name}`")), "{error}");
        assert!(!server.remove_tool("nowhere"));
        nothing_more(&server, &mut listening).await;

        assert!(server.remove_tool(&name));
        assert!(matches!(listening.heard().await, Notification::ToolsChanged(_)));
        assert_eq!(client.call(&name, json!({})).await.unwrap_err().rpc().unwrap().code.0, -32602);
        assert_eq!(client.tools().await.unwrap().len(), 1);
        nothing_more(&server, &mut listening).await;
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}

#[tokio::test]
async fn row_194_everybody_hears_that_a_prompt_was_added_or_removed() {
    let server =
        Server::new("live", "1.0.0").prompts(prompts![gallery]).resources(resources![fence]).build().unwrap();
    let told = AtomicUsize::new(0);
    each_wire(&server, async |client| {
        let Some(mut listening) = listen(&client, &["fence://here"]).await else { return };
        told.fetch_add(1, Ordering::SeqCst);
        let name = fresh();
        let prompt = PromptEntry::define(toolway::types::Prompt::new(&name), || async { "new" });
        server.add_prompt(prompt.clone()).unwrap();
        assert!(matches!(listening.heard().await, Notification::PromptsChanged(_)));
        let names: Vec<_> = client.prompts().await.unwrap().into_iter().map(|prompt| prompt.name).collect();
        assert_eq!(names, ["gallery", &name]);
        let filled = client.get_prompt(&name, NOTHING).await.unwrap();
        assert_eq!(filled.messages[0].content.as_text(), Some("new"));
        let error = server.add_prompt(prompt).unwrap_err().to_string();
        assert!(error.contains(&format!("two prompts have the name `{name}`")), "{error}");
        assert!(!server.remove_prompt("nowhere"));
        nothing_more(&server, &mut listening).await;

        assert!(server.remove_prompt(&name));
        assert!(matches!(listening.heard().await, Notification::PromptsChanged(_)));
        assert_eq!(client.get_prompt(&name, NOTHING).await.unwrap_err().rpc().unwrap().code.0, -32602);
        assert_eq!(client.prompts().await.unwrap().len(), 1);
        nothing_more(&server, &mut listening).await;
    })
    .await;
    assert!(told.into_inner() >= TOLD);
}
