//! What stays the same when a function runs again?

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolway::client::Answer;
use toolway::client::Notification;
use toolway::prelude::*;
use toolway::server::ToolEntry;
use toolway::server::ask::{AskError, OnceError};
use toolway::testing::each_wire_as;
use toolway::types::{Field, FieldKind, Fields, FormSchema, LogLevel};

use super::{Door, Name, accept, again, call, filling_in, has_forms, text};

/// The counts of a test.
#[derive(Default)]
struct Counts {
    runs: AtomicUsize,
    effects: AtomicUsize,
}

impl Counts {
    fn run(&self) -> usize {
        self.runs.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn effect(&self) -> usize {
        self.effects.fetch_add(1, Ordering::Relaxed) + 1
    }

    fn take(&self) -> (usize, usize) {
        (self.runs.swap(0, Ordering::Relaxed), self.effects.swap(0, Ordering::Relaxed))
    }
}

fn with(tool: ToolEntry) -> Server {
    Server::new("app", "1.0.0").state(Counts::default()).tool(tool).build().unwrap()
}

#[tokio::test]
async fn a_result_of_another_type_is_not_a_wrong_key() {
    /// Remembers two types under one key.
    #[tool]
    fn confused(ctx: &Ctx) -> String {
        let number = ctx.remember("key", || 7).unwrap();
        let kind = |error: OnceError| {
            let error = error.into_inner().downcast::<AskError>().unwrap();
            format!("{:?}: {error}", error.kind())
        };
        let text = kind(ctx.remember("key", String::new).unwrap_err());
        let unwritable = || std::collections::HashMap::from([((1, 2), 3)]);
        let unwritten = kind(ctx.remember("other", unwritable).unwrap_err());
        format!("{number}; {text}; {unwritten}")
    }
    let [door, _] = Door::both(&Server::new("app", "1.0.0").tools(tools![confused]).build().unwrap());
    assert_eq!(
        text(&door.say(&call("confused")).await),
        "7; InvalidResult: the remembered result of `key` has another type: give each effect its own key, and a new key \
         if the type changes: invalid type: integer `7`, expected a string; InvalidResult: the result of `other` cannot \
         be written as JSON: key must be a string"
    );
}

/// Runs a tool on every wire that has forms; the user's name is Ada.
async fn each_says(tool: ToolEntry, expected: &str, runs: usize, effects: usize) {
    let server = with(tool.with_name("tool"));
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        let counts = server.state::<Counts>().unwrap();
        counts.take();
        if !has_forms(&client) {
            return;
        }
        let result = client.call("tool", json!({})).await.unwrap();
        assert_eq!(result.first_text(), Some(expected));
        assert_eq!(counts.take(), (runs, effects));
    })
    .await;
}

#[tokio::test]
async fn an_effect_happens_once_and_a_value_is_made_once() {
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let effect = ctx.once("effect", || async { Ok::<_, std::io::Error>(counts.effect()) }).await?;
        let made = ctx.remember("made", || counts.runs.load(Ordering::Relaxed))?;
        let one: Name = ctx.question("one", "One?").ask().await?;
        let late = ctx.remember("late", || counts.runs.load(Ordering::Relaxed))?;
        let two: Name = ctx.question("two", "Two?").ask().await?;
        Ok(format!("{effect} {made} {late} {} {}", one.name, two.name))
    }
    each_says(ToolEntry::of::<tool>(), "1 1 2 Ada Ada", 3, 1).await;
}

#[tokio::test]
async fn an_effect_that_cannot_fail_happens_once() {
    #[tool]
    async fn tool(ctx: Ctx, State(counts): State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let borrowed = ctx.once_value("pid", async || counts.effect()).await?;
        let plain = ctx.once_value("other", || async { counts.effect() }).await?;
        let name: Name = ctx.ask("Who?").await?;
        Ok(format!("{borrowed} {plain} {}", name.name))
    }
    each_says(tool::entry(), "1 2 Ada", 2, 2).await;
}

#[tokio::test]
async fn a_failed_effect_is_not_remembered_and_keeps_its_words() {
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let tried = ctx.once("effect", || async {
            match counts.effect() {
                1 => Err(ToolError::new("the disk is full")),
                number => Ok(number),
            }
        });
        let first = tried.await;
        let name: Name = ctx.ask("Who?").await?;
        match first {
            Ok(number) => Ok(format!("{} {number}", name.name)),
            Err(error) => Err(error.into()),
        }
    }
    each_says(ToolEntry::of::<tool>(), "Ada 2", 2, 2).await;

    #[tool]
    async fn failing(ctx: Ctx) -> Result<String, ToolError> {
        Ok(ctx.once("effect", || async { Err::<String, _>(ToolError::new("the disk is full")) }).await?)
    }
    let server = with(ToolEntry::of::<failing>());
    each_wire_as(Client::builder(), &server, async |client| {
        let result = client.call("failing", json!({})).await.unwrap();
        assert!(result.is_error());
        assert_eq!(result.first_text(), Some("the disk is full"));
    })
    .await;
}

#[tokio::test]
async fn the_same_question_twice_is_one_question() {
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let (one, two) = ctx.ask_all((ctx.ask::<Name>("Who?"), ctx.ask::<Name>("Who?"))).await?;
        let three: Name = ctx.ask("Who?").await?;
        Ok(format!("{} {} {}", one.name, two.name, three.name))
    }
    each_says(ToolEntry::of::<tool>(), "Ada Ada Ada", 2, 0).await;
    let reply = Door::both(&with(ToolEntry::of::<tool>()))[0].say(&call("tool")).await;
    assert_eq!(reply["result"]["inputRequests"].as_object().unwrap().len(), 1);
}

#[tokio::test]
async fn two_different_questions_with_one_key_are_the_authors_mistake() {
    #[tool]
    async fn tool(ctx: Ctx) -> Result<String, ToolError> {
        let one: Name = ctx.ask("Who are you?").await?;
        let two: Name = ctx.ask("And your friend?").await?;
        Ok(format!("{} {}", one.name, two.name))
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        if has_forms(&client) {
            let result = client.call("tool", json!({})).await.unwrap();
            assert!(result.is_error());
            // Only the log says what is wrong with the program.
            assert!(result.first_text().unwrap().contains("reference"), "{:?}", result.first_text());
        }
    })
    .await;
}

#[tokio::test]
async fn a_changed_form_is_asked_again() {
    /// Asks for one more field each time, until there are three.
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        let fields = (0..counts.run().min(3)).map(|n| (format!("f{n}"), Field::new(FieldKind::String)));
        let form = FormSchema::new(Fields(fields.collect()));
        let filled = ctx.question("form", "Please.").form(form).await?;
        Ok(filled.len().to_string())
    }
    let server = with(ToolEntry::of::<tool>());
    let all = filling_in(json!({"f0": "a", "f1": "b", "f2": "c"}));
    each_wire_as(all, &server, async |client| {
        let counts = server.state::<Counts>().unwrap();
        counts.take();
        if has_forms(&client) {
            // The first answer is to a form of one field, the second to one of two.
            assert_eq!(client.call("tool", json!({})).await.unwrap().first_text(), Some("3"));
            assert_eq!(counts.take().0, 4);
        }
    })
    .await;

    /// Two questions, of which the first has another form when the second is answered.
    #[tool]
    async fn again_and_again(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        let fields = if counts.run() < 3 { 1 } else { 3 };
        let fields = (0..fields).map(|n| (format!("f{n}"), Field::new(FieldKind::String)));
        let form = FormSchema::new(Fields(fields.collect()));
        let filled = ctx.question("form", "Please.").form(form).await?;
        let _: Name = ctx.ask("Who?").await?;
        Ok(filled.len().to_string())
    }
    let server = with(ToolEntry::of::<again_and_again>());
    let all = filling_in(json!({"f0": "a", "f1": "b", "f2": "c", "name": "Ada"}));
    each_wire_as(all, &server, async |client| {
        let counts = server.state::<Counts>().unwrap();
        counts.take();
        if has_forms(&client) {
            let result = client.call("again_and_again", json!({})).await.unwrap();
            assert_eq!(result.first_text(), Some("3"));
            // The form; the name; the form again, which has changed meanwhile, so that the run did not reach the name;
            // and that again.
            assert_eq!(counts.take().0, 5);
        }
    })
    .await;
}

#[derive(Debug)]
struct Wrapped(#[expect(dead_code, reason = "an error of an application often shows nothing")] AskError);

impl fmt::Display for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something went wrong")
    }
}

impl std::error::Error for Wrapped {}

#[tokio::test]
async fn a_question_goes_out_whatever_becomes_of_its_error() {
    #[tool]
    async fn swallowed(ctx: Ctx, counts: State<Counts>) -> String {
        counts.run();
        let name = ctx.ask::<Name>("Who?").await;
        name.map_or_else(|_| "nobody".to_owned(), |name| name.name)
    }
    each_says(ToolEntry::of::<swallowed>(), "Ada", 2, 0).await;

    #[tool]
    async fn dropped(ctx: Ctx, counts: State<Counts>) -> &'static str {
        counts.run();
        let _ = ctx.ask::<Name>("Who?").await;
        "x"
    }
    each_says(ToolEntry::of::<dropped>(), "x", 2, 0).await;

    #[tool]
    async fn panicking(ctx: Ctx, counts: State<Counts>) -> String {
        counts.run();
        ctx.ask::<Name>("Who?").await.unwrap().name
    }
    each_says(ToolEntry::of::<panicking>(), "Ada", 2, 0).await;

    #[tool]
    async fn wrapped(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let name: Name = ctx.ask("Who?").await.map_err(Wrapped)?;
        Ok(name.name)
    }
    each_says(ToolEntry::of::<wrapped>(), "Ada", 2, 0).await;

    #[tool]
    async fn another(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let name: Name = ctx.ask("Who?").await.map_err(|_| ToolError::new("nobody is there"))?;
        Ok(name.name)
    }
    each_says(ToolEntry::of::<another>(), "Ada", 2, 0).await;

    /// While it asks, its result is not what its schema says.
    #[tool(output_schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})]
    async fn with_schema(ctx: Ctx, counts: State<Counts>) -> Json<serde_json::Value> {
        counts.run();
        Json(match ctx.ask::<Name>("Who?").await {
            Err(_) => json!({"name": 5}),
            Ok(name) => json!({"name": name.name}),
        })
    }
    each_says(ToolEntry::of::<with_schema>(), r#"{"name":"Ada"}"#, 2, 0).await;
}

#[tokio::test]
async fn questions_that_are_asked_at_the_same_time_are_one_round() {
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let one = async { ctx.question("one", "One?").ask::<Name>().await };
        let two = async { ctx.question("two", "Two?").ask::<Name>().await };
        let (one, two) = tokio::join!(one, two);
        Ok(format!("{} {}", one?.name, two?.name))
    }
    each_says(ToolEntry::of::<tool>(), "Ada Ada", 2, 0).await;
}

#[tokio::test]
async fn ten_rounds_are_enough_and_the_eleventh_is_an_error() {
    #[tool]
    async fn tool(rounds: usize, ctx: Ctx, counts: State<Counts>) -> Result<usize, ToolError> {
        counts.run();
        for round in 0..rounds {
            let _: Name = ctx.question(format!("round-{round}"), "Who?").ask().await?;
        }
        Ok(rounds)
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        let counts = server.state::<Counts>().unwrap();
        counts.take();
        if !has_forms(&client) {
            return;
        }
        let ten = client.call("tool", json!({"rounds": 10})).await.unwrap();
        assert_eq!((ten.first_text(), counts.take().0), (Some("10"), 11));
        let eleven = client.call("tool", json!({"rounds": 11})).await.unwrap();
        assert!(eleven.is_error());
        assert!(eleven.first_text().unwrap().contains("10 rounds"), "{:?}", eleven.first_text());
        assert_eq!(counts.take().0, 11);
    })
    .await;
}

#[tokio::test]
async fn what_is_too_large_to_remember_is_an_error_that_says_what_to_do() {
    #[tool]
    async fn tool(size: usize, ctx: Ctx) -> Result<String, ToolError> {
        let kept = ctx.once("big", || async { Ok::<_, std::io::Error>("x".repeat(size)) }).await?;
        let name: Name = ctx.ask("Who?").await?;
        Ok(format!("{} {}", name.name, kept.len()))
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        if !has_forms(&client) {
            return;
        }
        let fits = client.call("tool", json!({"size": 40 << 10})).await.unwrap();
        assert_eq!(fits.first_text(), Some("Ada 40960"));
        let large = client.call("tool", json!({"size": 43 << 10})).await.unwrap();
        assert!(large.is_error());
        let said = large.first_text().unwrap();
        assert!(said.contains("42 KiB") && said.contains("`once`"), "{said}");
    })
    .await;

    #[tool]
    async fn patient(ctx: Ctx) -> Result<String, ToolError> {
        let one: Name = ctx.question("one", "One?").ask().await?;
        let two: Name = ctx.question("two", "Two?").ask().await?;
        Ok((one.name.len() + two.name.len()).to_string())
    }
    let server = with(ToolEntry::of::<patient>());
    each_wire_as(filling_in(json!({"name": "x".repeat(30 << 10)})), &server, async |client| {
        if has_forms(&client) {
            let result = client.call("patient", json!({})).await.unwrap();
            assert!(result.is_error());
            assert!(result.first_text().unwrap().contains("42 KiB"));
        }
    })
    .await;
}

/// A state may be larger as text than in memory: a state that a client could not send back is never issued.
#[tokio::test]
async fn the_largest_past_still_comes_back() {
    #[tool]
    async fn tool(key: String, ctx: Ctx) -> Result<String, ToolError> {
        for number in 0..130 {
            ctx.remember(format!("{number:03}{}", key.repeat(250 / key.len())), || number)?;
        }
        for number in 0..256 {
            ctx.log().error("said", json!({"number": number})).await;
        }
        let name: Name = ctx.ask("Who?").await?;
        Ok(name.name)
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        if !has_forms(&client) {
            return;
        }
        let _news = client.notifications();
        client.set_log_level(LogLevel::Error).await.unwrap();
        for key in ["x", "\u{1}", "\"", "é"] {
            let called = client.call("tool", json!({"key": key})).await;
            let result = called.unwrap_or_else(|error| panic!("{key:?}: {error}"));
            let said = result.first_text().unwrap();
            assert!(said == "Ada" || result.is_error() && said.contains("42 KiB"), "{key:?}: {said}");
        }
    })
    .await;
}

#[tokio::test]
async fn nothing_is_told_twice_and_nothing_is_lost() {
    #[tool]
    async fn tool(ctx: Ctx) -> Result<String, ToolError> {
        ctx.progress(1, 4, "begun").await;
        ctx.log().info("begun", json!({})).await;
        ctx.once("effect", || async {
            ctx.log().info("effect", json!({})).await;
            Ok::<_, std::io::Error>(())
        })
        .await?;
        ctx.log().info("twice", json!({})).await;
        ctx.log().info("twice", json!({})).await;
        let one: Name = ctx.question("one", "One?").ask().await?;
        ctx.progress(2, 4, "one").await;
        ctx.log().info("one", json!({})).await;
        ctx.once("late", || async {
            ctx.log().info("late effect", json!({})).await;
            Ok::<_, std::io::Error>(())
        })
        .await?;
        let two: Name = ctx.question("two", "Two?").ask().await?;
        ctx.progress(3, 4, "two").await;
        ctx.log().info("twice", json!({})).await;
        ctx.log().info("two", json!({})).await;
        Ok(format!("{} {}", one.name, two.name))
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        if !has_forms(&client) {
            return;
        }
        let mut news = client.notifications();
        client.set_log_level(LogLevel::Info).await.unwrap();
        assert_eq!(client.call("tool", json!({})).await.unwrap().first_text(), Some("Ada Ada"));
        let (mut progress, mut logs) = (Vec::new(), Vec::new());
        while let Some(told) = news.try_next() {
            match told {
                Notification::Progress(told) => progress.push(told.progress.as_f64().unwrap()),
                Notification::LogMessage(told) => {
                    let data: serde_json::Value = serde_json::to_value(&told.data).unwrap();
                    logs.push(data["message"].as_str().unwrap().to_owned());
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(progress, [1.0, 2.0, 3.0]);
        let expected = ["begun", "effect", "twice", "twice", "one", "late effect", "twice", "two"];
        assert_eq!(logs, expected);
    })
    .await;
}

#[tokio::test]
async fn an_answer_counts_for_the_question_it_was_given_to() {
    #[tool]
    async fn tool(ctx: Ctx) -> Result<String, ToolError> {
        let one: Name = ctx.question("one", "One?").ask().await?;
        let two: Name = ctx.question("two", "Two?").ask().await?;
        Ok(format!("{} {}", one.name, two.name))
    }
    for door in Door::both(&with(ToolEntry::of::<tool>())) {
        let state = door.ask(&call("tool")).await;
        // Unanswered questions are asked again.
        let other = json!({"two": accept(json!({"name": "Bob"}))});
        let next = door.say(&again(&call("tool"), &state, other)).await;
        let asked: Vec<_> = next["result"]["inputRequests"].as_object().unwrap().keys().collect();
        assert_eq!(asked, ["one"]);
        let both = json!({"one": accept(json!({"name": "Ada"})), "two": accept(json!({"name": "Bob"}))});
        let reply = door.say(&again(&call("tool"), &next["result"]["requestState"], both)).await;
        assert_eq!(text(&reply), "Ada Bob");
    }
}

/// The effect comes first, then the user declines: the effect is not repeated, and the refusal is remembered.
#[tokio::test]
async fn a_refusal_is_remembered_like_an_answer() {
    #[tool]
    async fn tool(ctx: Ctx, counts: State<Counts>) -> Result<String, ToolError> {
        counts.run();
        let first = ctx.question("first", "One?").ask::<Name>().await.map_err(|error| error.kind());
        let second = ctx.question("second", "Two?").ask::<Name>().await.map_err(|error| error.kind());
        Ok(format!("{:?} {:?}", first.err(), second.err()))
    }
    let server = with(ToolEntry::of::<tool>());
    let builder = Client::builder().on_elicit(|question| async move {
        if question.message() == "One?" { Answer::decline() } else { Answer::cancel() }
    });
    each_wire_as(builder, &server, async |client| {
        server.state::<Counts>().unwrap().take();
        if has_forms(&client) {
            let result = client.call("tool", json!({})).await.unwrap();
            assert_eq!(result.first_text(), Some("Some(Declined) Some(Cancelled)"));
            // Both are asked in one round: nothing stopped the function after the first.
            assert_eq!(server.state::<Counts>().unwrap().take().0, 2);
        }
    })
    .await;
}

#[tokio::test]
async fn an_empty_key_or_a_very_long_one_is_the_authors_mistake() {
    #[tool]
    async fn tool(key: String, ctx: Ctx) -> Result<String, ToolError> {
        let name: Name = ctx.question(key, "Who?").ask().await?;
        Ok(name.name)
    }
    let server = with(ToolEntry::of::<tool>());
    each_wire_as(filling_in(json!({"name": "Ada"})), &server, async |client| {
        if !has_forms(&client) {
            return;
        }
        for key in [String::new(), "k".repeat(257)] {
            let result = client.call("tool", json!({"key": key})).await.unwrap();
            assert!(result.is_error() && result.first_text().unwrap().contains("reference"));
        }
        let result = client.call("tool", json!({"key": "k".repeat(256)})).await.unwrap();
        assert_eq!(result.first_text(), Some("Ada"));
    })
    .await;
}
