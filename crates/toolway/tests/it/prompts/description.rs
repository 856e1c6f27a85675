//! What does a prompt say about itself and its arguments?

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::server::{PromptEntry, PromptValues, Run};
use toolway::testing::each_wire;
use toolway::types::{Icon, PromptArgument, Theme};
use toolway::{ErrorKind, ProtocolVersion, RpcError, types};

use super::{dynamic, get, refused, said, serving};

async fn listed(client: &Client, name: &str) -> types::Prompt {
    let prompts = client.prompts().await.unwrap();
    prompts.into_iter().find(|prompt| prompt.name == name).unwrap()
}

/// Review code.
///
/// Thoroughly.
#[prompt]
pub(super) fn review() -> &'static str {
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
pub(super) struct WarmGreeting {
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
async fn name_and_description_come_from_the_function() {
    let server = Server::new("prompts", "1.0.0")
        .prompts(prompts![review, r#match, summarize, WarmGreeting])
        .prompts(prompts![review as "inspect"])
        .prompt(dynamic("by-hand", json!("hi")))
        .prompt(
            dynamic("named", json!("hi"))
                .with_name("renamed")
                .with_title("Renamed")
                .with_description("Said later."),
        )
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
async fn icons_and_meta_go_to_the_revisions_that_know_them() {
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
pub(super) enum Tone {
    Formal,
    Casual,
}

/// Write about something.
#[prompt]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
pub(super) async fn write(
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
async fn parameters_become_arguments() {
    let by_hand = types::Prompt::new("by-hand").with_arguments(vec![
        PromptArgument::new("needed").with_required(true),
        PromptArgument::new("free").with_description("Or not."),
    ]);
    let server = Server::new("prompts", "1.0.0")
        .state("Ada".to_owned())
        .prompts(prompts![write, review, WarmGreeting])
        .prompt(PromptEntry::define(by_hand, |filled: PromptValues| async move {
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
