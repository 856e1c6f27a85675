//! Who is asked to complete an argument, what does it get, and how much of its answer is sent?

use serde_json::{Value, json};
use toolway::ProtocolVersion;
use toolway::prelude::*;
use toolway::server::{Completer, CompletionRequest, PromptEntry, PromptValues};
use toolway::testing::each_wire;
use toolway::types::{Completion, PromptArgument};

const NOTHING: [(&str, &str); 0] = [];

/// The values to complete with.
struct Studies(Vec<&'static str>);

async fn study_ids(typed: CompletionRequest, studies: State<Studies>) -> Vec<String> {
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
async fn a_prompt_has_arguments_and_somebody_who_completes_them() {
    let by_hand = toolway::types::Prompt::new("by_hand").with_description("By hand.").with_arguments(vec![
        PromptArgument::new("study_id").with_description("The study to review.").with_required(true),
        PromptArgument::new("tone"),
    ]);
    let by_hand = PromptEntry::define(by_hand, |filled: PromptValues| async move {
        format!("{:?} {:?}", filled.text("study_id"), filled.text("tone"))
    })
    .with_completer("study_id", Completer::function(study_ids));
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

/// Returns everything that it is given.
async fn shows(typed: CompletionRequest, ctx: Ctx) -> Vec<String> {
    let earlier: Vec<_> = typed.arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
    vec![typed.name, typed.value, earlier.join(","), ctx.peer().version.to_string()]
}

#[tokio::test]
async fn who_completes_gets_the_name_the_text_so_far_and_the_call() {
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

        async fn titles(&self, typed: CompletionRequest, ctx: &Ctx) -> Completion {
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
    #[arg(complete = |_: CompletionRequest| async { vec!["plain"] })] list: String,
    #[arg(complete = whole)] whole: String,
    #[arg(complete = |_: CompletionRequest| async { Ok::<_, ToolError>(vec!["fine".to_owned()]) })]
    result: String,
    #[arg(complete = broken)] broken: String,
    #[arg(complete = many)] many: String,
) -> String {
    [list, whole, result, broken, many].concat()
}

async fn whole(_: CompletionRequest) -> Completion {
    Completion::new(vec!["one".to_owned()]).with_total(250).with_has_more(true)
}

async fn broken(typed: CompletionRequest) -> Result<Completion, std::io::Error> {
    assert!(typed.value != "panic", "a secret");
    Err(std::io::Error::other("a secret"))
}

/// Returns as many values as the typed number says.
async fn many(typed: CompletionRequest) -> Completion {
    let (count, total) = typed.value.split_once('/').unwrap_or((&typed.value, ""));
    let values: Vec<_> = (0..count.parse().unwrap_or(0)).map(|number: u32| number.to_string()).collect();
    let mut completion = Completion::new(values);
    completion.total = total.parse().ok();
    completion
}

#[tokio::test]
async fn a_completion_is_a_list_or_says_how_many_there_are() {
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
async fn the_first_hundred_values_are_sent_and_the_rest_is_told_of() {
    let values: Vec<String> = (0..250).map(|number| format!("v{number}")).collect();
    let pick = prompts![pick].remove(0).with_completer("value", Completer::list(values.clone()));
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

#[tokio::test]
async fn a_completion_is_asked_of_the_one_who_was_named() {
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
