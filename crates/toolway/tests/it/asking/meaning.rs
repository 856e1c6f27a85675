//! What can be asked, and what does each answer become, on every wire?

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolway::client::{Answer, AnswerError, ClientBuilder};
use toolway::prelude::*;
use toolway::server::ask::{AskError, UserAnswer as Answered};
use toolway::testing::{ctx_answering, each_wire_as};
use toolway::types::{Content, CreateMessageResult, Field, FieldKind, Fields, FormSchema, Role, Root};
use toolway::{Code, Era, ErrorKind, Form, ProtocolVersion};

use super::{Door, Name, accept, again, call, filling_in, greet, has_forms, text};
use crate::pipe::Talk;
use crate::raw_http::initialize;

#[derive(Debug, Form)]
enum Size {
    #[form(rename = "s", title = "Small")]
    Small,
    #[form(rename = "l", title = "Large")]
    Large,
}

#[derive(Debug, Form)]
enum Extra {
    Cheese,
    Olives,
}

#[derive(Debug, Form)]
#[expect(dead_code, reason = "it is read by showing it")]
struct Pizza {
    #[form(min_length = 2)]
    name: String,
    #[form(default = 2, min = 1, max = 9)]
    slices: u8,
    size: Size,
    note: Option<String>,
    #[form(format = "email")]
    mail: Option<String>,
    #[form(default = true)]
    hot: bool,
}

#[derive(Debug, Form)]
struct Extras {
    extras: Vec<Extra>,
}

#[tool]
async fn pizza(ctx: Ctx) -> Result<String, ToolError> {
    let pizza: Pizza = ctx.ask("What may it be?").await?;
    Ok(format!("{pizza:?}"))
}

#[tool]
async fn extras(ctx: Ctx) -> Result<String, ToolError> {
    let extras: Extras = ctx.ask("What on top?").await?;
    Ok(format!("{:?}", extras.extras))
}

fn kind(error: &AskError) -> String {
    format!("{:?}: {error}", error.kind())
}

/// Says what became of a question.
#[tool]
async fn outcome(ctx: Ctx) -> String {
    match ctx.ask::<Name>("Who are you?").await {
        Ok(name) => name.name,
        Err(error) => kind(&error),
    }
}

/// The same, by [`Ask::answer`](toolway::server::ask::Ask::answer).
#[tool]
async fn answered(ctx: Ctx) -> Result<String, ToolError> {
    Ok(match ctx.ask::<Name>("Who are you?").answer().await? {
        Answered::Accepted(name) => format!("accepted {}", name.name),
        Answered::Declined => "declined".to_owned(),
        Answered::Cancelled => "cancelled".to_owned(),
        _ => "something else".to_owned(),
    })
}

#[tool]
async fn by_hand(ctx: Ctx) -> Result<String, ToolError> {
    let mut port = Field::new(FieldKind::Integer);
    port.default = Some(json!(80));
    let fields = vec![("host".to_owned(), Field::new(FieldKind::String)), ("port".to_owned(), port)];
    let form = FormSchema::new(Fields(fields)).with_required(vec!["host".to_owned()]);
    let filled: BTreeMap<String, Value> = ctx.question("address", "Where?").form(form).await?;
    Ok(serde_json::to_string(&filled)?)
}

#[tool]
async fn pay(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.ask_url("Please pay.", "https://pay.example/17").await?;
    Ok("thank you")
}

#[tool]
async fn think(ctx: Ctx) -> Result<String, ToolError> {
    let answer = ctx.sample("Why?").await?;
    Ok(answer.content.as_slice().iter().filter_map(Content::as_text).collect())
}

#[tool]
async fn folders(ctx: Ctx) -> Result<Vec<String>, ToolError> {
    Ok(ctx.roots().await?.into_iter().map(|root| root.uri).collect())
}

#[tool]
async fn together(ctx: Ctx) -> Result<String, ToolError> {
    let one = ctx.question("one", "First?").ask::<Name>();
    let two = ctx.question("two", "Second?").ask::<Name>();
    let (one, two, folders) = ctx.ask_all((one, two, ctx.roots())).await?;
    Ok(format!("{} {} {}", one.name, two.name, folders.len()))
}

#[tool]
async fn many(ctx: Ctx) -> Result<String, ToolError> {
    let names =
        (0..5).map(|number| ctx.question(format!("name-{number}"), format!("{number}?")).ask::<Name>());
    let names = ctx.ask_all(names.collect::<Vec<_>>()).await?;
    Ok(names.into_iter().map(|name| name.name).collect::<Vec<_>>().join(" "))
}

fn server() -> Server {
    let tools = tools![greet, pizza, extras, outcome, answered, by_hand, pay, think, folders, together, many];
    Server::new("app", "1.0.0").tools(tools).build().unwrap()
}

/// A client that answers everything; it fills in a form with the question itself.
fn echo() -> ClientBuilder {
    Client::builder()
        .on_elicit(|question| async move { Answer::accept(json!({"name": question.message()})) })
        .on_elicit_url(|question| async move {
            assert_eq!(question.url(), Some("https://pay.example/17"));
            Answer::consent()
        })
        .on_sample(|ask| async move {
            let asked = ask.messages[0].content.as_slice()[0].as_text().unwrap().to_owned();
            Ok(CreateMessageResult::new(Role::Assistant, Content::text(format!("{asked} Because.")), "m"))
        })
        .roots([Root::new("file:///a"), Root::new("file:///b")])
}

/// Calls a tool on every wire. If the revision cannot ask, the model reads that; otherwise the text must be this one.
async fn each_says(builder: ClientBuilder, since: ProtocolVersion, tool: &str, expected: &str) {
    each_wire_as(builder, &server(), async |client| {
        let result = client.call(tool, json!({})).await.unwrap();
        let said = result.first_text().unwrap();
        if client.protocol_version() < since {
            assert!(result.is_error() && said.contains("the client cannot be asked"), "{said}");
        } else {
            assert!(!result.is_error(), "{said}");
            assert_eq!(said, expected);
        }
    })
    .await;
}

#[tokio::test]
async fn a_server_asks_the_user_the_model_and_for_roots() {
    let first = ProtocolVersion::V2024_11_05;
    each_says(echo(), ProtocolVersion::V2025_06_18, "greet", "Hello, Who are you?!").await;
    each_says(echo(), ProtocolVersion::V2025_11_25, "pay", "thank you").await;
    each_says(echo(), first, "think", "Why? Because.").await;
    each_says(echo(), first, "folders", "[\"file:///a\",\"file:///b\"]").await;
}

#[tokio::test]
async fn several_questions_are_one_round() {
    each_says(echo(), ProtocolVersion::V2025_06_18, "together", "First? Second? 2").await;
    each_says(echo(), ProtocolVersion::V2025_06_18, "many", "0? 1? 2? 3? 4?").await;
    let reply = Door::both(&server())[0].say(&call("together")).await;
    let asked: Vec<_> = reply["result"]["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(asked, ["one", "roots", "two"]);
}

#[tokio::test]
async fn what_is_left_out_has_its_default_and_what_is_optional_is_none() {
    let least = filling_in(json!({"name": "Margherita", "size": "s"}));
    let expected =
        r#"Pizza { name: "Margherita", slices: 2, size: Small, note: None, mail: None, hot: true }"#;
    each_says(least, ProtocolVersion::V2025_06_18, "pizza", expected).await;
    let all = filling_in(json!({
        "name": "Funghi", "slices": 9, "size": "l", "note": "soon", "mail": "a@b.example", "hot": false, "more": 1,
    }));
    let expected = r#"Pizza { name: "Funghi", slices: 9, size: Large, note: Some("soon"), mail: Some("a@b.example"), hot: false }"#;
    each_says(all, ProtocolVersion::V2025_06_18, "pizza", expected).await;
    each_says(
        filling_in(json!({"host": "a"})),
        ProtocolVersion::V2025_06_18,
        "by_hand",
        r#"{"host":"a","port":80}"#,
    )
    .await;
    let several = filling_in(json!({"extras": ["Olives", "Cheese"]}));
    each_says(several, ProtocolVersion::V2025_11_25, "extras", "[Olives, Cheese]").await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_an_error_that_names_the_field() {
    for (field, content) in [
        ("name", json!({"name": "M", "size": "s"})),
        ("name", json!({"size": "s"})),
        ("slices", json!({"name": "Margherita", "size": "s", "slices": 10})),
        ("slices", json!({"name": "Margherita", "size": "s", "slices": "two"})),
        ("slices", json!({"name": "Margherita", "size": "s", "slices": 1.5})),
        ("size", json!({"name": "Margherita", "size": "Small"})),
        ("mail", json!({"name": "Margherita", "size": "s", "mail": "nobody"})),
        ("hot", json!({"name": "Margherita", "size": "s", "hot": "yes"})),
    ] {
        each_wire_as(filling_in(content), &server(), async |client| {
            if !has_forms(&client) {
                return;
            }
            let error = client.call("pizza", json!({})).await.unwrap_err();
            assert_eq!(error.code(), Some(Code::INVALID_PARAMS), "{error}");
            let said = error.to_string();
            assert!(said.contains("`Pizza`") && said.contains(&format!("`{field}`")), "{field}: {said}");
        })
        .await;
    }
}

#[tokio::test]
async fn declining_and_closing_are_outcomes() {
    let since = ProtocolVersion::V2025_06_18;
    let no = || Client::builder().on_elicit(|_| async { Answer::decline() });
    let closed = || Client::builder().on_elicit(|_| async { Answer::cancel() });
    each_says(no(), since, "answered", "declined").await;
    each_says(closed(), since, "answered", "cancelled").await;
    each_says(filling_in(json!({"name": "Ada"})), since, "answered", "accepted Ada").await;
    let told = "Declined: the user declined to answer `Name`";
    for (builder, expected) in
        [(no(), told), (closed(), "Cancelled: the user closed the question `Name` without an answer")]
    {
        each_wire_as(builder, &server(), async |client| {
            let said = client.call("outcome", json!({})).await.unwrap();
            let expected = if has_forms(&client) { expected } else { "Unsupported" };
            assert!(said.first_text().unwrap().starts_with(expected), "{:?}", said.first_text());
        })
        .await;
    }
    // Passed on, it is a failure that a model can read.
    each_wire_as(no(), &server(), async |client| {
        if has_forms(&client) {
            let result = client.call("greet", json!({})).await.unwrap();
            assert!(result.is_error());
            assert_eq!(result.first_text(), Some("the user declined to answer `Name`"));
        }
    })
    .await;
}

#[tokio::test]
async fn a_client_that_cannot_answer_says_so_in_the_words_of_its_era() {
    let failing = Client::builder()
        .on_elicit(|_| async { Answer::accept("no fields") })
        .on_sample(|_| async { Err(AnswerError::refused()) });
    each_wire_as(failing, &server(), async |client| {
        let is_live = client.protocol_version().era() == Era::Handshake;
        let thought = client.call("think", json!({})).await;
        match &thought {
            Ok(result) if is_live => {
                assert!(result.is_error());
                assert_eq!(result.first_text(), Some("the client answered with an error: the user refused"));
            }
            Err(error) if !is_live => assert_eq!(error.kind(), ErrorKind::Cancelled),
            other => panic!("{other:?}"),
        }
        if !has_forms(&client) {
            return;
        }
        match client.call("outcome", json!({})).await {
            Ok(result) if is_live => assert!(result.first_text().unwrap().starts_with("Refused: ")),
            Err(error) if !is_live => assert_eq!(error.kind(), ErrorKind::Application),
            other => panic!("{other:?}"),
        }
    })
    .await;
}

/// Before 2026-07-28 there was no error code for it, so the model reads a text.
#[tokio::test]
async fn who_cannot_be_asked_hears_what_is_lacking() {
    let needs = [
        ("greet", json!({"elicitation": {"form": {}}})),
        ("pay", json!({"elicitation": {"url": {}}})),
        ("think", json!({"sampling": {}})),
        ("folders", json!({"roots": {}})),
    ];
    for (tool, required) in needs {
        each_wire_as(Client::builder(), &server(), async |client| {
            let called = client.call(tool, json!({})).await;
            if client.protocol_version().era() == Era::Handshake {
                let result = called.unwrap();
                assert!(result.is_error());
                assert!(result.first_text().unwrap().contains("the client cannot be asked"));
            } else {
                let error = called.unwrap_err();
                assert_eq!(error.code(), Some(Code(-32021)), "{error}");
                let data = error.rpc().unwrap().data.clone().unwrap();
                let data: Value = data.decode().unwrap();
                assert_eq!(data["requiredCapabilities"], required);
            }
        })
        .await;
    }
}

#[tokio::test]
async fn a_malformed_answer_is_an_error_on_both_wires() {
    let malformed = [
        json!(null),
        json!(5),
        json!("accept"),
        json!([]),
        json!(["accept", {"name": "Ada"}]),
        json!({}),
        json!({"content": {"name": "Ada"}}),
        json!({"action": 5}),
        json!({"action": "perhaps"}),
        json!({"action": "accept", "content": "Ada"}),
        json!({"action": "accept", "content": ["Ada"]}),
        json!({"action": "accept", "content": {"name": {"deep": ["Ada"]}}}),
        json!({"action": "accept"}),
    ];
    let server = server();
    for answer in malformed {
        for door in Door::both(&server) {
            let state = door.ask(&call("greet")).await;
            let reply = door.say(&again(&call("greet"), &state, json!({"Name": answer}))).await;
            assert_eq!(reply["error"]["code"], -32602, "{answer}: {reply}");
            assert!(reply["error"]["message"].as_str().unwrap().contains("`Name`"), "{answer}: {reply}");
        }
        let mut talk = Talk::start(&server);
        let mut opening = initialize("2025-11-25");
        opening["params"]["capabilities"] = json!({"elicitation": {}});
        talk.send_json(opening).await;
        talk.receive().await;
        talk.send_json(
            json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "greet"}}),
        )
        .await;
        let question = talk.receive().await;
        talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "result": answer})).await;
        let reply = talk.receive().await;
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&json!(1), &json!(-32602)), "{answer}: {reply}");
    }
}

#[tokio::test]
async fn a_call_of_nobody_can_be_given_answers() {
    use toolway::server::ask::AskErrorKind::{Declined, Invalid, Unanswered};
    let server = server();
    let kind = async |answers: Vec<(&'static str, Value)>| {
        let ctx = ctx_answering(&server, answers);
        ctx.ask::<Name>("Who?").await.map(|name| name.name).map_err(|error| error.kind())
    };
    assert_eq!(kind(vec![("Name", json!({"name": "Ada"}))]).await, Ok("Ada".to_owned()));
    assert_eq!(kind(vec![("Name", json!({"name": 5}))]).await, Err(Invalid));
    assert_eq!(kind(vec![("Name", json!(null))]).await, Err(Declined));
    assert_eq!(kind(vec![("Other", json!({}))]).await, Err(Unanswered));
    let answer = json!({"role": "assistant", "content": {"type": "text", "text": "so"}, "model": "m"});
    let answers =
        [("sample", answer), ("roots", json!({"roots": [{"uri": "file:///a"}]})), ("url", json!({}))];
    let ctx = ctx_answering(&server, answers);
    assert_eq!(ctx.sample("Why?").await.unwrap().model, "m");
    assert_eq!(ctx.roots().await.unwrap()[0].uri, "file:///a");
    ctx.ask_url("Please pay.", "https://pay.example/17").await.unwrap();
}

/// The revision has neither modes nor lists, and writes the names of choices beside their values.
#[tokio::test]
async fn the_first_forms_are_asked_in_their_own_words() {
    let mut talk = Talk::start(&server());
    let mut opening = initialize("2025-06-18");
    opening["params"]["capabilities"] = json!({"elicitation": {}});
    talk.send_json(opening).await;
    talk.receive().await;
    let call =
        |id, tool| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool}});
    talk.send_json(call(1, "pizza")).await;
    let question = talk.receive().await;
    assert_eq!(question["method"], "elicitation/create");
    let params = &question["params"];
    assert!(params.get("mode").is_none(), "{params}");
    let fields = &params["requestedSchema"]["properties"];
    assert_eq!(
        fields["size"],
        json!({"type": "string", "enum": ["s", "l"], "enumNames": ["Small", "Large"]})
    );
    assert!(fields["slices"].get("default").is_none() && fields["hot"]["default"] == true, "{fields}");
    let content = json!({"name": "Margherita", "size": "l"});
    talk.send_json(json!({"jsonrpc": "2.0", "id": question["id"], "result": accept(content)})).await;
    let reply = talk.receive().await;
    assert!(text(&reply).contains("slices: 2, size: Large"), "{reply}");
    talk.send_json(call(2, "extras")).await;
    let reply = talk.receive().await;
    assert_eq!(reply["result"]["isError"], true);
    assert!(text(&reply).contains("the client cannot be asked"), "{reply}");
}
