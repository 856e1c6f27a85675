//! Rows 67–78: a prompt lists its arguments and becomes messages, whatever type its function returns.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::convert::IntoContent;
use toolway::server::{
    Audio, BoxError, Embedded, ErrorPolicy, Filled, Image, Message, Prompt, PromptEntry, PromptError, Run,
    assistant, user,
};
use toolway::testing::each_wire;
use toolway::types::{
    Content, EmbeddedResource, GetPromptResult, Icon, ImageContent, PromptArgument, PromptMessage, Resource,
    ResourceContents, Role, Theme,
};
use toolway::{ErrorKind, ProtocolVersion, RpcError, types};

fn serving(prompts: Vec<PromptEntry>) -> Server {
    Server::new("prompts", "1.0.0").prompts(prompts).build().unwrap()
}

/// A prompt that returns JSON.
fn dynamic(name: &str, value: Value) -> PromptEntry {
    PromptEntry::define(types::Prompt::new(name), move || {
        let value = value.clone();
        async move { value }
    })
}

async fn listed(client: &Client, name: &str) -> types::Prompt {
    let prompts = client.prompts().await.unwrap();
    prompts.into_iter().find(|prompt| prompt.name == name).unwrap()
}

const NOTHING: [(&str, &str); 0] = [];

async fn get(client: &Client, name: &str) -> GetPromptResult {
    client.get_prompt(name, NOTHING).await.unwrap()
}

async fn refused(client: &Client, name: &str, arguments: &[(&str, &str)]) -> RpcError {
    client.get_prompt(name, arguments).await.unwrap_err().rpc().unwrap().clone()
}

/// Returns the text of each message, with its role.
fn said(result: &GetPromptResult) -> Vec<(&str, &str)> {
    let messages = result.messages.iter();
    messages.map(|message| (message.role.as_str(), message.content.as_text().unwrap())).collect()
}

/// Review code.
///
/// Thoroughly.
#[prompt]
fn review() -> &'static str {
    "Review it."
}

#[prompt]
fn r#match() -> &'static str {
    "Match it."
}

/// Not this.
#[prompt(name = "summary", title = "Sum it up", description = "Says it in one sentence.")]
fn summarize() -> &'static str {
    "Sum it up."
}

/// Greet a person.
#[prompt]
#[derive(Deserialize, JsonSchema)]
struct WarmGreeting {
    /// Whom to greet.
    name: String,
    times: Option<u8>,
}

impl Run for WarmGreeting {
    type Output = String;

    async fn run(self, _: Ctx) -> String {
        format!("Greet {} {} times.", self.name, self.times.unwrap_or(1))
    }
}

struct Desk {
    owner: &'static str,
}

#[service]
impl Desk {
    /// Tidy up.
    #[prompt]
    async fn tidy(&self) -> String {
        format!("Tidy up the desk of {}.", self.owner)
    }
}

#[tokio::test]
async fn row_067_name_and_description_come_from_the_function() {
    let server = Server::new("prompts", "1.0.0")
        .prompts(prompts![review, r#match, summarize, WarmGreeting])
        .prompts(prompts![review as "inspect"])
        .prompt(dynamic("by-hand", json!("hi")))
        .prompt(dynamic("named", json!("hi")).named("renamed").titled("Renamed").described("Said later."))
        .service(Desk { owner: "Ada" })
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let prompts = client.prompts().await.unwrap();
        let listed: Vec<_> =
            prompts.iter().map(|prompt| (prompt.name.as_str(), prompt.description.as_deref())).collect();
        assert_eq!(
            listed,
            [
                ("review", Some("Review code.\n\nThoroughly.")),
                // Without a description, its name is used.
                ("match", Some("match")),
                ("summary", Some("Says it in one sentence.")),
                ("warm_greeting", Some("Greet a person.")),
                ("inspect", Some("Review code.\n\nThoroughly.")),
                ("by-hand", None),
                ("renamed", Some("Said later.")),
                ("tidy", Some("Tidy up.")),
            ]
        );
        let knows = client.protocol_version() >= ProtocolVersion::V2025_06_18;
        assert_eq!(prompts[2].title.as_deref(), knows.then_some("Sum it up"));
        assert_eq!(prompts[6].title.as_deref(), knows.then_some("Renamed"));
        assert_eq!(prompts[0].title, None);
        assert_eq!(said(&get(&client, "tidy").await), [("user", "Tidy up the desk of Ada.")]);
        assert_eq!(said(&get(&client, "inspect").await), [("user", "Review it.")]);
        // Its former name is unknown now.
        let error = refused(&client, "summarize", &[]).await;
        assert_eq!(error.code.0, -32602);
        assert!(error.message.starts_with("no such prompt: `summarize`"), "{error}");
    })
    .await;
    let error = Server::new("prompts", "1.0.0").prompts(prompts![review, review]).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Misuse);
    assert!(error.to_string().contains("two prompts have the name `review`"), "{error}");
    let error = Server::new("prompts", "1.0.0").prompt(dynamic("", json!("hi"))).build().unwrap_err();
    assert!(error.to_string().contains("a prompt has no name"), "{error}");
}

#[prompt(
    icons = ["https://app.example/a.svg", icon("https://app.example/b.png", mime = "image/png", sizes = ["48x48", "any"], theme = "light")],
    meta = {"team": "docs", "app.example/rank": [1, null]}
)]
fn dressed() -> &'static str {
    "d"
}

#[tokio::test]
async fn row_068_icons_and_meta_go_to_the_revisions_that_know_them() {
    let mut prompts = prompts![dressed, review];
    prompts.push(dynamic("added", json!("hi")).with_icon(Icon::new("https://app.example/c.png")));
    each_wire(&serving(prompts), async |client| {
        let version = client.protocol_version();
        let icons = vec![
            Icon::new("https://app.example/a.svg"),
            Icon::new("https://app.example/b.png")
                .with_mime_type("image/png")
                .with_sizes(vec!["48x48".to_owned(), "any".to_owned()])
                .with_theme(Theme::Light),
        ];
        let dressed = listed(&client, "dressed").await;
        let knows_icons = version >= ProtocolVersion::V2025_11_25;
        assert_eq!(dressed.icons, knows_icons.then_some(icons));
        let knows_meta = version >= ProtocolVersion::V2025_06_18;
        let meta = json!({"team": "docs", "app.example/rank": [1, null]});
        assert_eq!(dressed.meta.map(Value::Object), knows_meta.then_some(meta));
        let added = listed(&client, "added").await;
        assert_eq!(added.icons, knows_icons.then(|| vec![Icon::new("https://app.example/c.png")]));
        let bare = listed(&client, "review").await;
        assert_eq!((bare.icons, bare.meta), (None, None));
    })
    .await;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Formal,
    Casual,
}

/// Write about something.
#[prompt]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
async fn write(
    /// What about.
    topic: String,
    #[arg(title = "Tone of voice", description = "How to say it.")] tone: Tone,
    ctx: Ctx,
    #[arg(default = "general")] focus: String,
    #[arg(default = 3)] paragraphs: u8,
    author: State<String>,
    language: Option<String>,
    r#type: Option<char>,
) -> String {
    assert!(!ctx.is_cancelled());
    format!("{topic} {tone:?} {focus} {paragraphs} {} {language:?} {type:?}", author.as_str())
}

#[tokio::test]
async fn row_069_parameters_become_arguments() {
    let by_hand = types::Prompt::new("by-hand").with_arguments(vec![
        PromptArgument::new("needed").with_required(true),
        PromptArgument::new("free").with_description("Or not."),
    ]);
    let server = Server::new("prompts", "1.0.0")
        .state("Ada".to_owned())
        .prompts(prompts![write, review, WarmGreeting])
        .prompt(PromptEntry::define(by_hand, |filled: Filled| async move {
            format!("{:?} {:?}", filled.text("needed"), filled.text("free"))
        }))
        .build()
        .unwrap();
    each_wire(&server, async |client| {
        let mut tone = PromptArgument::new("tone").with_description("How to say it.").with_required(true);
        if client.protocol_version() >= ProtocolVersion::V2025_06_18 {
            tone = tone.with_title("Tone of voice");
        }
        let arguments = vec![
            PromptArgument::new("topic").with_description("What about.").with_required(true),
            tone,
            PromptArgument::new("focus").with_required(false),
            PromptArgument::new("paragraphs").with_required(false),
            PromptArgument::new("language").with_required(false),
            PromptArgument::new("type").with_required(false),
        ];
        assert_eq!(listed(&client, "write").await.arguments, Some(arguments));
        assert_eq!(listed(&client, "review").await.arguments, None);
        let fields = vec![
            PromptArgument::new("name").with_description("Whom to greet.").with_required(true),
            PromptArgument::new("times").with_required(false),
        ];
        assert_eq!(listed(&client, "warm_greeting").await.arguments, Some(fields));

        let least = [("topic", "tea"), ("tone", "formal")];
        let result = client.get_prompt("write", least).await.unwrap();
        assert_eq!(said(&result), [("user", "tea Formal general 3 Ada None None")]);
        let all = [
            ("topic", "tea"),
            ("tone", "casual"),
            ("focus", ""),
            ("paragraphs", "5"),
            ("language", "de"),
            ("type", "é"),
        ];
        let result = client.get_prompt("write", all).await.unwrap();
        assert_eq!(said(&result), [("user", "tea Casual  5 Ada Some(\"de\") Some('é')")]);
        let result = client.get_prompt("warm_greeting", [("name", "Bob"), ("times", "2")]).await.unwrap();
        assert_eq!(said(&result), [("user", "Greet Bob 2 times.")]);
        let result = client.get_prompt("by-hand", [("needed", "x")]).await.unwrap();
        assert_eq!(said(&result), [("user", "Some(\"x\") None")]);

        for (prompt, arguments, complaint) in [
            ("write", vec![], "argument `topic` is missing; argument `tone` is missing"),
            ("by-hand", vec![("free", "x")], "argument `needed` is missing"),
            ("by-hand", vec![("needed", "x"), ("fre", "x")], "unknown argument `fre`, did you mean `free`?"),
            ("review", vec![("code", "x")], "unknown argument `code`"),
            // A parameter that the server provides cannot be sent.
            ("write", [least.as_slice(), &[("ctx", "x")]].concat(), "unknown argument `ctx`"),
        ] {
            let error = refused(&client, prompt, &arguments).await;
            assert_eq!(error, RpcError::invalid_params(complaint));
        }
    })
    .await;
}

#[prompt]
fn list_of_messages() -> Vec<Message> {
    vec![assistant("You are an editor."), user("Edit it."), user("Now.")]
}

#[prompt]
fn array_of_messages() -> [Message; 2] {
    [user("One."), assistant("Two.")]
}

#[prompt]
fn no_messages() -> Vec<Message> {
    Vec::new()
}

#[prompt]
fn described_messages() -> Prompt {
    Prompt::new().described("A review").assistant("You are an editor.").user("Review it.")
}

#[tokio::test]
async fn row_070_a_list_of_messages_is_sent_in_its_order() {
    let mut prompts = prompts![list_of_messages, array_of_messages, no_messages, described_messages];
    prompts.push(dynamic(
        "json",
        json!([
            {"role": "assistant", "content": "You are an editor."},
            {"role": "user", "content": {"type": "text", "text": "Edit it."}},
        ]),
    ));
    prompts.push(dynamic(
        "json-described",
        json!({"description": "Said in JSON", "messages": [{"role": "user", "content": "Edit it."}]}),
    ));
    prompts.push(dynamic("json-wrong", json!([{"role": "user", "content": 5}])));
    prompts.push(dynamic("json-number", json!(5)));
    each_wire(&serving(prompts), async |client| {
        for (prompt, description, messages) in [
            (
                "list_of_messages",
                None,
                vec![("assistant", "You are an editor."), ("user", "Edit it."), ("user", "Now.")],
            ),
            ("array_of_messages", None, vec![("user", "One."), ("assistant", "Two.")]),
            ("no_messages", None, vec![]),
            (
                "described_messages",
                Some("A review"),
                vec![("assistant", "You are an editor."), ("user", "Review it.")],
            ),
            ("json", None, vec![("assistant", "You are an editor."), ("user", "Edit it.")]),
            ("json-described", Some("Said in JSON"), vec![("user", "Edit it.")]),
        ] {
            let result = get(&client, prompt).await;
            assert_eq!((said(&result), result.description.as_deref()), (messages, description), "{prompt}");
        }
        for prompt in ["json-wrong", "json-number"] {
            let error = refused(&client, prompt, &[]).await;
            let text = "the prompt returned a value that is not a list of messages";
            assert_eq!(error, RpcError::internal(text));
        }
    })
    .await;
}

#[prompt]
async fn one_text() -> String {
    "Just this.".to_owned()
}

#[prompt]
fn one_message() -> Message {
    assistant("I am listening.")
}

#[prompt]
fn one_result() -> Result<Message, PromptError> {
    std::fs::metadata("/").map(|_| user("It is there.")).map_err(PromptError::from)
}

#[tokio::test]
async fn row_071_a_single_message_is_a_list_of_one() {
    let mut prompts = prompts![one_text, one_message, one_result, review];
    prompts.push(dynamic("json-text", json!("Just this.")));
    prompts.push(dynamic("json-message", json!({"role": "assistant", "content": "I am listening."})));
    each_wire(&serving(prompts), async |client| {
        for (prompt, message) in [
            ("one_text", ("user", "Just this.")),
            ("one_message", ("assistant", "I am listening.")),
            ("one_result", ("user", "It is there.")),
            ("review", ("user", "Review it.")),
            ("json-text", ("user", "Just this.")),
            ("json-message", ("assistant", "I am listening.")),
        ] {
            assert_eq!(said(&get(&client, prompt).await), [message], "{prompt}");
        }
    })
    .await;
}

#[prompt]
fn pairs() -> [(&'static str, &'static str); 3] {
    [("user", "Hello."), ("assistant", "How are you?"), ("user", "Fine.")]
}

#[prompt]
fn many_pairs() -> Vec<(&'static str, String)> {
    vec![("assistant", "First.".to_owned()), ("user", "Second.".to_owned())]
}

#[tokio::test]
async fn row_072_a_map_of_roles_is_messages_in_their_order() {
    let mut prompts = prompts![pairs, many_pairs];
    prompts.push(dynamic("json", json!({"user": "Hello.", "assistant": "How are you?"})));
    // A JSON object has no order: the user begins.
    prompts.push(dynamic("json-swapped", json!({"assistant": "How are you?", "user": "Hello."})));
    prompts.push(dynamic("json-one", json!({"assistant": "How are you?"})));
    prompts.push(dynamic("json-list", json!([{"assistant": "First."}, {"user": "Second."}])));
    each_wire(&serving(prompts), async |client| {
        for (prompt, messages) in [
            ("pairs", vec![("user", "Hello."), ("assistant", "How are you?"), ("user", "Fine.")]),
            ("many_pairs", vec![("assistant", "First."), ("user", "Second.")]),
            ("json", vec![("user", "Hello."), ("assistant", "How are you?")]),
            ("json-swapped", vec![("user", "Hello."), ("assistant", "How are you?")]),
            ("json-one", vec![("assistant", "How are you?")]),
            ("json-list", vec![("assistant", "First."), ("user", "Second.")]),
        ] {
            assert_eq!(said(&get(&client, prompt).await), messages, "{prompt}");
        }
    })
    .await;
}

#[prompt]
fn mixed() -> Vec<Message> {
    vec![
        user(("Describe the picture.", Image::png(b"\x89PNG"), Embedded::text("notes://7", "A note."))),
        assistant(vec![Content::text("It is"), Content::text("a dot.")]),
        user(["Are", "you sure?"]),
    ]
}

#[prompt]
fn heard() -> Message {
    let link = Resource::new("notes://7", "note").into_content();
    user((Audio::wav(b"RIFF"), link))
}

#[tokio::test]
async fn row_073_several_blocks_become_one_message_each() {
    let mut prompts = prompts![mixed, heard];
    prompts.push(dynamic(
        "json",
        json!([
            {"role": "user", "content": [
                "Describe the picture.",
                {"type": "image", "data": "iVBORw==", "mimeType": "image/png"},
                {"type": "resource", "resource": {"uri": "notes://7", "text": "A note."}},
            ]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is"}, "a dot."]},
            {"user": ["Are", "you sure?"]},
        ]),
    ));
    prompts.push(dynamic("json-wrong", json!({"role": "user", "content": [{"data": "iVBORw=="}]})));
    each_wire(&serving(prompts), async |client| {
        let note = ResourceContents::new("notes://7").with_text("A note.");
        let expected = [
            (Role::User, Content::text("Describe the picture.")),
            (Role::User, Content::Image(ImageContent::new("iVBORw==", "image/png"))),
            (Role::User, Content::Resource(Box::new(EmbeddedResource::new(note)))),
            (Role::Assistant, Content::text("It is")),
            (Role::Assistant, Content::text("a dot.")),
            (Role::User, Content::text("Are")),
            (Role::User, Content::text("you sure?")),
        ];
        let expected = expected.map(|(role, content)| PromptMessage::new(role, content));
        assert_eq!(get(&client, "mixed").await.messages, expected);
        assert_eq!(get(&client, "json").await.messages, expected);
        assert_eq!(refused(&client, "json-wrong", &[]).await.code.0, -32603);

        // A block that a revision does not know becomes text.
        let heard = get(&client, "heard").await.messages;
        let [sound, link] = heard.as_slice() else { panic!("{heard:?}") };
        let version = client.protocol_version();
        if version >= ProtocolVersion::V2025_03_26 {
            let Content::Audio(sound) = &sound.content else { panic!("{sound:?}") };
            assert_eq!((sound.data.as_str(), sound.mime_type.as_str()), ("UklGRg==", "audio/wav"));
        } else {
            assert_eq!(sound.content.as_text(), Some("[audio, audio/wav]"));
        }
        if version >= ProtocolVersion::V2025_06_18 {
            assert_eq!(link.content, Content::Link(Box::new(Resource::new("notes://7", "note"))));
        } else {
            assert_eq!(link.content.as_text(), Some("[note](notes://7)"));
        }
    })
    .await;
}

#[prompt]
fn with_role() -> Vec<Message> {
    vec![Message::new(Role::Assistant, Content::text("I am one.")), Message::new(Role::User, "So am I.")]
}

#[prompt]
fn explicit() -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(Role::Assistant, Content::text("I am one.")),
        PromptMessage::new(Role::User, Content::text("So am I.")),
    ]
}

#[prompt]
fn explicit_one() -> PromptMessage {
    PromptMessage::new(Role::User, Image::gif(b"GIF").into_content())
}

#[prompt]
async fn whole() -> Result<GetPromptResult, PromptError> {
    let meta = json!({"app.example/version": 2}).as_object().cloned();
    let meta = meta.ok_or_else(|| PromptError::new("no object"))?;
    let messages = vec![PromptMessage::new(Role::Assistant, Content::text("I am one."))];
    Ok(GetPromptResult::new(messages).with_description("All of it").with_meta(meta))
}

#[tokio::test]
async fn row_074_explicit_messages_pass_as_they_are() {
    each_wire(&serving(prompts![with_role, explicit, explicit_one, whole]), async |client| {
        for prompt in ["with_role", "explicit"] {
            let messages = [("assistant", "I am one."), ("user", "So am I.")];
            assert_eq!(said(&get(&client, prompt).await), messages, "{prompt}");
        }
        let picture = Content::Image(ImageContent::new("R0lG", "image/gif"));
        let one = get(&client, "explicit_one").await;
        assert_eq!(one.messages, [PromptMessage::new(Role::User, picture)]);
        let whole = get(&client, "whole").await;
        assert_eq!(said(&whole), [("assistant", "I am one.")]);
        assert_eq!(whole.description.as_deref(), Some("All of it"));
        assert_eq!(whole.meta.unwrap()["app.example/version"], 2);
    })
    .await;
}

#[prompt]
fn system_pair() -> Vec<(&'static str, &'static str)> {
    vec![("user", "Hello."), ("system", "You are an editor.")]
}

/// A role can be made from any text; that does not make it one.
#[prompt]
fn system_role() -> Message {
    Message::new(Role::from("system"), "You are an editor.")
}

#[prompt]
fn system_result() -> GetPromptResult {
    GetPromptResult::new(vec![PromptMessage::new(Role::from("system"), Content::text("You are an editor."))])
}

#[tokio::test]
async fn row_075_only_the_user_and_the_assistant_speak() {
    let mut prompts = prompts![system_pair, system_role, system_result];
    for (name, value) in [
        ("json-role", json!([{"role": "user", "content": "Hi."}, {"role": "system", "content": "Hi."}])),
        ("json-key", json!({"user": "Hi.", "system": "Hi."})),
        ("json-nested", json!({"messages": [{"system": "Hi."}]})),
    ] {
        prompts.push(dynamic(name, value));
    }
    prompts.push(dynamic("json-case", json!({"role": "User", "content": "Hi."})));
    prompts.push(dynamic("json-none", json!({"role": null, "content": "Hi."})));
    let names: Vec<String> = prompts.iter().map(|prompt| prompt.definition().name.clone()).collect();
    prompts.extend(prompts![pairs]);
    each_wire(&serving(prompts), async |client| {
        for name in &names {
            let role = match name.as_str() {
                "json-case" => "User",
                "json-none" => "",
                _ => "system",
            };
            let text = format!("the role of a message is `user` or `assistant`, not `{role}`");
            assert_eq!(refused(&client, name, &[]).await, RpcError::internal(text), "{name}");
        }
        let roles: Vec<Role> =
            get(&client, "pairs").await.messages.into_iter().map(|message| message.role).collect();
        assert_eq!(roles, [Role::User, Role::Assistant, Role::User]);
    })
    .await;
}

#[prompt]
async fn fails_visibly() -> Result<String, PromptError> {
    Err(PromptError::new("nobody reviews that: choose another language"))
}

fn helper() -> Result<String, PromptError> {
    Err(PromptError::new("the helper says no"))
}

#[prompt]
fn fails_deeply() -> Result<Vec<Message>, BoxError> {
    Ok(vec![user(helper()?)])
}

#[prompt]
fn fails_with_own_code() -> Result<String, RpcError> {
    Err(RpcError::invalid_params("which one?").with_data(json!({"choices": 2})))
}

/// Reads a resource that there is not.
#[prompt]
async fn fails_to_read(ctx: Ctx) -> Result<String, PromptError> {
    let note = ctx.read_resource("notes://missing").await?;
    Ok(note.text().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn row_076_a_prompt_error_is_read_by_the_client() {
    let prompts = prompts![fails_visibly, fails_deeply, fails_with_own_code, fails_to_read];
    each_wire(&serving(prompts), async |client| {
        for (prompt, error) in [
            ("fails_visibly", RpcError::internal("nobody reviews that: choose another language")),
            ("fails_deeply", RpcError::internal("the helper says no")),
            ("fails_with_own_code", RpcError::invalid_params("which one?").with_data(json!({"choices": 2}))),
            ("fails_to_read", RpcError::internal("no such resource")),
        ] {
            assert_eq!(refused(&client, prompt, &[]).await, error, "{prompt}");
        }
    })
    .await;
}

#[prompt]
async fn fails_with_io() -> Result<String, PromptError> {
    Ok(std::fs::read_to_string("/no/such/secret-file")?)
}

#[prompt]
fn fails_hidden() -> Result<String, PromptError> {
    Err(PromptError::hidden("the secret is 42"))
}

#[prompt]
fn fails_with_other_type() -> Result<Message, std::num::ParseIntError> {
    "secret".parse::<u8>().map(|number| user(number.to_string()))
}

#[prompt]
async fn fails_with_panic() -> String {
    tokio::task::yield_now().await;
    panic!("the secret is 42")
}

#[prompt(blocking)]
fn fails_with_blocking_panic() -> String {
    panic!("the secret is 42")
}

const HIDDEN: [&str; 5] = [
    "fails_with_io",
    "fails_hidden",
    "fails_with_other_type",
    "fails_with_panic",
    "fails_with_blocking_panic",
];

fn failing() -> Vec<PromptEntry> {
    prompts![fails_with_io, fails_hidden, fails_with_other_type, fails_with_panic, fails_with_blocking_panic]
}

#[tokio::test]
async fn row_077_any_other_error_is_hidden() {
    let mut prompts = failing();
    prompts.extend(prompts![review]);
    each_wire(&serving(prompts), async |client| {
        for prompt in HIDDEN {
            let error = refused(&client, prompt, &[]).await;
            assert_eq!((error.code.0, &error.data), (-32603, &None));
            let start = format!(
                "the prompt `{prompt}` failed; the server's operator can find the cause under reference "
            );
            let reference = error.message.strip_prefix(&start).unwrap();
            assert!(
                reference.len() == 16 && reference.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{error}"
            );
        }
        assert_eq!(said(&get(&client, "review").await), [("user", "Review it.")]);
    })
    .await;
    let verbose = Server::new("prompts", "1.0.0").errors(ErrorPolicy::Verbose).prompts(failing());
    each_wire(&verbose.build().unwrap(), async |client| {
        let error = refused(&client, "fails_hidden", &[]).await;
        assert_eq!(error, RpcError::internal("the prompt `fails_hidden` failed: the secret is 42"));
    })
    .await;
}

#[derive(Debug)]
struct OutOfRange;

impl std::fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("secret limits")
    }
}

impl std::error::Error for OutOfRange {}

#[prompt]
fn essay(words: u16) -> Result<String, OutOfRange> {
    if words > 1000 { Err(OutOfRange) } else { Ok(format!("Write {words} words.")) }
}

/// The original page knew one kind of error; its guarantees hold for every kind.
#[tokio::test]
async fn row_078_what_is_not_valid_is_an_error() {
    let mut prompts = failing();
    prompts.extend(prompts![essay, write, WarmGreeting, fails_visibly, system_pair]);
    let server = Server::new("prompts", "1.0.0").state("Ada".to_owned()).prompts(prompts).build().unwrap();
    each_wire(&server, async |client| {
        for (prompt, arguments, code, complaint) in [
            ("essay", vec![], -32602, "argument `words` is missing"),
            (
                "essay",
                vec![("words", "many")],
                -32602,
                "argument `words`: expected an integer from 0 to 65535, got \"many\"",
            ),
            (
                "essay",
                vec![("words", "70000")],
                -32602,
                "argument `words`: expected an integer from 0 to 65535, got \"70000\"",
            ),
            ("essay", vec![("words", "2000")], -32603, "the prompt `essay` failed; "),
            ("essay", vec![("word", "1")], -32602, "unknown argument `word`, did you mean `words`?"),
            (
                "write",
                vec![("topic", "tea"), ("tone", "rude")],
                -32602,
                "argument `tone`: expected one of \"formal\", \"casual\", got \"rude\"",
            ),
            (
                "warm_greeting",
                vec![("name", "Bob"), ("times", "-1")],
                -32602,
                "argument `times`: expected an integer from 0 to 255, got \"-1\"",
            ),
            ("fails_visibly", vec![], -32603, "nobody reviews that"),
            ("system_pair", vec![], -32603, "the role of a message is "),
            ("esay", vec![], -32602, "no such prompt: `esay`, did you mean `essay`?"),
        ] {
            let error = refused(&client, prompt, &arguments).await;
            assert_eq!(error.code.0, code, "{prompt}: {error}");
            assert!(error.message.contains(complaint), "{complaint:?} in {error}");
            assert!(!error.message.contains("secret"), "{error}");
        }
        for prompt in HIDDEN {
            assert_eq!(refused(&client, prompt, &[]).await.code.0, -32603);
        }
        let result = client.get_prompt("essay", [("words", "1000")]).await.unwrap();
        assert_eq!(said(&result), [("user", "Write 1000 words.")]);
    })
    .await;
}
