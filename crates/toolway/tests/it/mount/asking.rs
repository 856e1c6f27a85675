//! Is the right caller asked, and does its answer arrive?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use toolway::client::{Answer, ClientBuilder};
use toolway::prelude::*;
use toolway::server::ask::UserAnswer;
use toolway::server::{Extensions, PromptError, ResourceError};
use toolway::testing::connect;
use toolway::types::{Content, CreateMessageResult, Role, Root};
use toolway::{Code, Form, ProtocolVersion};

use super::{Place, Wire, through_as};

#[derive(Form)]
struct Name {
    #[form(min_length = 2)]
    name: String,
}

#[derive(Form)]
struct Colour {
    #[form(default = "red")]
    colour: String,
}

/// Ask for a name.
#[tool]
async fn name(ctx: Ctx) -> Result<String, ToolError> {
    Ok(match ctx.ask::<Name>("Who are you?").answer().await? {
        UserAnswer::Accepted(Name { name }) => format!("you are {name}"),
        UserAnswer::Declined => "you do not say".to_owned(),
        _ => "you are gone".to_owned(),
    })
}

/// Ask for several things, in several rounds.
#[tool]
async fn interview(ctx: Ctx) -> Result<String, ToolError> {
    let name = ctx.ask::<Name>("Who are you?");
    let colour = ctx.ask::<Colour>("Which colour?");
    let (Name { name }, Colour { colour }) = ctx.ask_all((name, colour)).await?;
    let model = ctx.sample(format!("What is {colour}?")).await?;
    let model = model.content.as_slice()[0].as_text().unwrap_or_default().to_owned();
    let roots = ctx.roots().await?;
    let again: Name = ctx.question("again", "And your name again?").ask().await?;
    Ok(format!("{name} {colour} {model} {} {}", roots[0].uri, again.name))
}

/// Send the user to a page.
#[tool]
async fn visit(ctx: Ctx) -> Result<&'static str, ToolError> {
    ctx.ask_url("Please pay.", "https://pay.example/17").await?;
    Ok("paid")
}

/// Greet, when it is known whom.
#[prompt]
async fn greet(ctx: Ctx) -> Result<String, PromptError> {
    let Name { name } = ctx.ask("Whom?").await?;
    Ok(format!("Greet {name}."))
}

/// A diary.
#[resource("diary://today")]
async fn diary(ctx: Ctx) -> Result<String, ResourceError> {
    let Name { name } = ctx.ask("Whose?").await?;
    Ok(format!("the diary of {name}"))
}

fn server() -> Server {
    Server::new("upstream", "1.0.0")
        .tools(tools![name, interview, visit])
        .prompts(prompts![greet])
        .resources(resources![diary])
        .build()
        .unwrap()
}

/// A client that answers everything.
fn talkative() -> ClientBuilder {
    Client::builder()
        .on_elicit(async |question| {
            let is_colour = question.form().is_some_and(|form| form.properties.0[0].0 == "colour");
            if is_colour { Answer::defaults() } else { Answer::accept(json!({"name": "Ada"})) }
        })
        .on_elicit_url(async |question| {
            assert_eq!(question.url(), Some("https://pay.example/17"));
            Answer::consent()
        })
        .on_sample(async |asked| {
            let text = format!("a colour, of {} messages", asked.messages.len());
            Ok(CreateMessageResult::new(Role::Assistant, Content::text(text), "a-model"))
        })
        .roots([Root::new("file:///home/ada")])
}

/// Runs a test on the wires where users can be asked on both sides: the first two revisions cannot ask.
async fn asked_through(caller: ClientBuilder, since: ProtocolVersion, test: impl AsyncFn(Client)) {
    let server = server();
    let wires = || Wire::all().filter(|wire| wire.version() >= since);
    for behind in wires() {
        for before in wires() {
            let _place = Place(format!("behind the gateway {behind:?}, before it {before:?}"));
            let (upstream, _serving) = behind.connect(Client::builder().forward_questions(), &server).await;
            let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
            let (caller, _serving) = before.connect(caller.clone(), &gateway).await;
            test(caller).await;
        }
    }
}

async fn said(caller: &Client, tool: &str) -> String {
    caller.call(tool, json!({})).await.unwrap().text().unwrap()
}

#[tokio::test]
async fn a_caller_is_asked_what_the_server_behind_wants_to_know() {
    asked_through(talkative(), ProtocolVersion::V2025_06_18, async |caller| {
        assert_eq!(said(&caller, "name").await, "you are Ada");
        let expected = "Ada red a colour, of 1 messages file:///home/ada Ada";
        assert_eq!(said(&caller, "interview").await, expected);
        // Again: nothing of one call affects the next.
        assert_eq!(said(&caller, "name").await, "you are Ada");
    })
    .await;
}

#[tokio::test]
async fn whoever_gets_a_prompt_or_reads_a_resource_is_asked_too() {
    asked_through(talkative(), ProtocolVersion::V2025_06_18, async |caller| {
        let greeting = caller.get_prompt("greet", ()).await.unwrap();
        assert_eq!(greeting.messages[0].content.as_text(), Some("Greet Ada."));
        let diary = caller.read_resource("diary://today").await.unwrap();
        assert_eq!(diary.text(), Some("the diary of Ada"));
    })
    .await;
}

#[tokio::test]
async fn a_caller_is_sent_to_a_page() {
    asked_through(talkative(), ProtocolVersion::V2025_11_25, async |caller| {
        assert_eq!(said(&caller, "visit").await, "paid");
    })
    .await;
}

#[tokio::test]
async fn to_decline_is_an_answer_too() {
    for (answer, expected) in [(Answer::decline(), "you do not say"), (Answer::cancel(), "you are gone")] {
        let caller = Client::builder().on_elicit(move |_| std::future::ready(answer.clone()));
        asked_through(caller, ProtocolVersion::V2025_06_18, async |caller| {
            assert_eq!(said(&caller, "name").await, expected);
        })
        .await;
    }
}

#[tokio::test]
async fn who_cannot_be_asked_is_not_asked_and_the_server_behind_hears_why() {
    // Roots, but no forms.
    let caller = Client::builder().roots([Root::new("file:///")]);
    let mount = |gateway: toolway::server::ServerBuilder, upstream| gateway.mount(upstream);
    through_as(caller, &server(), mount, async |caller| match caller.call("name", json!({})).await {
        Ok(result) => {
            assert!(result.is_error());
            let text = result.first_text().unwrap();
            assert!(text.contains("cannot be asked") || text.contains("does not support"), "{text}");
        }
        Err(error) => assert_eq!(error.code(), Some(Code::MISSING_CAPABILITY), "{error}"),
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_does_not_fit_is_refused_by_whoever_has_asked() {
    let caller = Client::builder().on_elicit(async |_| Answer::accept(json!({"name": "A"})));
    asked_through(caller, ProtocolVersion::V2025_06_18, async |caller| {
        let error = caller.call("name", json!({})).await.unwrap_err();
        assert_eq!(error.code(), Some(Code::INVALID_PARAMS), "{error}");
        assert!(error.to_string().contains("name"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn questions_pass_two_gateways() {
    let server = server();
    let versions = [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE];
    for (behind, between, before) in versions
        .into_iter()
        .flat_map(|one| versions.map(|two| (one, two)))
        .flat_map(|(one, two)| versions.map(|three| (one, two, three)))
    {
        let _place = Place(format!("{behind} {between} {before}"));
        let to = |version, server: &Server| Client::builder().protocol(version).connect(server.clone());
        let far = Server::new("far", "1.0.0").mount(to(behind, &server).await.unwrap()).build().unwrap();
        let near =
            Server::new("near", "1.0.0").mount_as("far", to(between, &far).await.unwrap()).build().unwrap();
        let caller = talkative().protocol(before).connect(&near).await.unwrap();
        let expected = "Ada red a colour, of 1 messages file:///home/ada Ada";
        assert_eq!(said(&caller, "far__interview").await, expected);
    }
}

#[tokio::test]
async fn a_client_that_was_connected_before_it_was_mounted_passes_questions_too() {
    let server = server();
    let upstream =
        Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).connect(&server).await.unwrap();
    // The server was not told of a caller yet, so it does not ask.
    assert!(upstream.call("name", json!({})).await.unwrap().is_error());
    let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
    let caller = talkative().connect(&gateway).await.unwrap();
    assert_eq!(said(&caller, "name").await, "you are Ada");
}

#[tokio::test]
async fn what_the_application_answers_itself_is_not_passed_on() {
    let server = server();
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let own = Client::builder()
            .protocol(version)
            .on_elicit(async |_| Answer::accept(json!({"name": "Bob", "colour": "blue"})))
            .forward_questions();
        let upstream = own.connect(&server).await.unwrap();
        let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
        let caller = talkative().connect(&gateway).await.unwrap();
        assert_eq!(said(&caller, "name").await, "you are Bob");
        // In one call, the application answers some questions and the caller answers others.
        let expected = "Bob blue a colour, of 1 messages file:///home/ada Bob";
        assert_eq!(said(&caller, "interview").await, expected);
    }
}

/// The number of calls that wait for an answer.
#[derive(Clone)]
struct Waiting(watch::Sender<usize>);

impl Waiting {
    async fn is(&self, number: usize) {
        self.0.subscribe().wait_for(|waiting| *waiting == number).await.map(drop).unwrap();
    }
}

struct Here(watch::Sender<usize>);

impl Drop for Here {
    fn drop(&mut self) {
        self.0.send_modify(|waiting| *waiting -= 1);
    }
}

/// A hand-written server of the handshake era, whose tool asks while its call waits, and continues with the answer. A
/// server of this library would run the function again instead, and would not notice that its call was parked and
/// resumed.
async fn asker(waiting: Waiting) -> Client {
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
    let (near, far) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        let mut calls = std::collections::HashMap::new();
        let mut questions = std::collections::HashMap::new();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            let id = &message["id"];
            let reply = match message["method"].as_str() {
                Some("server/discover") => {
                    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no"}})
                }
                Some("initialize") => {
                    assert!(message["params"]["capabilities"]["elicitation"].is_object(), "{message}");
                    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "by hand", "version": "1"}});
                    json!({"jsonrpc": "2.0", "id": id, "result": result})
                }
                Some("tools/list") => {
                    let tool = json!({"name": "name", "inputSchema": {"type": "object"}});
                    json!({"jsonrpc": "2.0", "id": id, "result": {"tools": [tool]}})
                }
                Some("tools/call") => {
                    waiting.0.send_modify(|waiting| *waiting += 1);
                    calls.insert(id.clone(), Here(waiting.0.clone()));
                    let question = json!(format!("q{id}"));
                    questions.insert(question.clone(), id.clone());
                    let schema = json!({"type": "object", "properties": {"name": {"type": "string"}}});
                    let params = json!({"message": "Who?", "requestedSchema": schema});
                    json!({"jsonrpc": "2.0", "id": question, "method": "elicitation/create", "params": params})
                }
                Some("notifications/cancelled") => {
                    calls.remove(&message["params"]["requestId"]);
                    continue;
                }
                Some(_) => continue,
                None => {
                    let Some(call) = questions.remove(id) else { continue };
                    calls.remove(&call);
                    let text = match &message["error"]["message"] {
                        Value::Null => message["result"]["content"]["name"].clone(),
                        refused => refused.clone(),
                    };
                    json!({"jsonrpc": "2.0", "id": call, "result": {"content": [{"type": "text", "text": text}]}})
                }
            };
            writer.write_all(format!("{reply}\n").as_bytes()).await.unwrap();
        }
    });
    let (reader, writer) = tokio::io::split(near);
    Client::builder().forward_questions().connect_io(reader, writer).await.unwrap()
}

fn waiting() -> Waiting {
    Waiting(watch::Sender::new(0))
}

#[tokio::test]
async fn a_call_that_waits_for_its_caller_goes_on_where_it_was() {
    for before in Wire::all().filter(|wire| wire.version() >= ProtocolVersion::V2025_06_18) {
        let _place = Place(format!("{before:?}"));
        let waiting = waiting();
        let gateway = Server::new("gateway", "1.0.0").mount(asker(waiting.clone()).await).build().unwrap();
        let (caller, _serving) = before.connect(talkative(), &gateway).await;
        assert_eq!(said(&caller, "name").await, "Ada");
        waiting.is(0).await;
    }
}

/// Sends one stateless message to a server that keeps no sessions.
async fn post(gateway: &Server, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let answer = gateway.handle_json(message.to_string(), Extensions::new()).await.unwrap();
    serde_json::from_str(&answer).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_does_not_come_back_is_given_up() {
    let waiting = waiting();
    let gateway = Server::new("gateway", "1.0.0")
        .mount(asker(waiting.clone()).await)
        .question_timeout(Duration::from_secs(60))
        .build()
        .unwrap();
    let asked = post(&gateway, json!({"name": "name"})).await;
    assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
    waiting.is(1).await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    assert_eq!(*waiting.0.borrow(), 1, "it may still come back");
    tokio::time::sleep(Duration::from_secs(2)).await;
    waiting.is(0).await;
    // An answer that comes too late is refused.
    let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let answers = json!({key: {"action": "accept", "content": {"name": "Ada"}}});
    let state = &asked["result"]["requestState"];
    let late =
        post(&gateway, json!({"name": "name", "inputResponses": answers, "requestState": state})).await;
    let text = late.to_string();
    assert!(text.contains("call again") || text.contains("expired"), "{late}");
}

#[tokio::test]
async fn a_parked_call_is_taken_up_once_and_by_its_caller_only() {
    let waiting = waiting();
    let gateway = Server::new("gateway", "1.0.0").mount(asker(waiting.clone()).await).build().unwrap();
    let first = post(&gateway, json!({"name": "name"})).await;
    waiting.is(1).await;
    let second = post(&gateway, json!({"name": "name"})).await;
    let round = |asked: &Value, name: &str| {
        let key = asked["result"]["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
        let answers = json!({key: {"action": "accept", "content": {"name": name}}});
        json!({"name": "name", "inputResponses": answers, "requestState": asked["result"]["requestState"]})
    };
    // The server runs two calls, and its second question does not say which call it belongs to.
    assert!(second.to_string().contains("several callers share"), "{second}");
    let done = post(&gateway, round(&first, "Ada")).await;
    assert_eq!(done["result"]["content"][0]["text"], "Ada");
    let again = post(&gateway, round(&first, "Eve")).await;
    assert_eq!(again["result"]["isError"], true, "{again}");
    assert!(again.to_string().contains("already answered"), "{again}");
}

#[tokio::test]
async fn a_caller_that_leaves_a_question_takes_the_call_along() {
    for before in Wire::all().filter(|wire| wire.version() == ProtocolVersion::LATEST_HANDSHAKE) {
        let _place = Place(format!("{before:?}"));
        let waiting = waiting();
        let gateway = Server::new("gateway", "1.0.0").mount(asker(waiting.clone()).await).build().unwrap();
        let (asked, mut asks) = mpsc::unbounded_channel();
        let silent = Client::builder().on_elicit(move |_| {
            asked.send(()).unwrap();
            std::future::pending()
        });
        let (caller, _serving) = before.connect(silent, &gateway).await;
        let call = caller.call("name", json!({}));
        tokio::select! {
            outcome = call => panic!("{outcome:?}"),
            _ = asks.recv() => {}
        }
        waiting.is(0).await;
    }
}

#[tokio::test]
async fn each_caller_is_asked_its_own_questions() {
    /// Ask for a name, when two calls are there.
    #[tool]
    async fn both(
        ctx: Ctx,
        count: State<AtomicUsize>,
        gate: State<watch::Sender<usize>>,
    ) -> Result<String, ToolError> {
        let number = ctx.remember("number", || count.fetch_add(1, Ordering::SeqCst))?;
        gate.send_modify(|here| *here = (*here).max(number + 1));
        gate.subscribe().wait_for(|here| *here >= 2).await?;
        let Name { name } = ctx.ask(format!("Who is number {number}?")).await?;
        Ok(name)
    }
    let server = Server::new("upstream", "1.0.0")
        .state(AtomicUsize::new(0))
        .state(watch::Sender::new(0_usize))
        .tools(tools![both])
        .build()
        .unwrap();
    let wires = || Wire::all().filter(|wire| wire.version() >= ProtocolVersion::V2025_06_18);
    for behind in wires() {
        for before in wires() {
            let _place = Place(format!("behind the gateway {behind:?}, before it {before:?}"));
            server.state::<AtomicUsize>().unwrap().store(0, Ordering::SeqCst);
            server.state::<watch::Sender<usize>>().unwrap().send_replace(0);
            let (upstream, _serving) = behind.connect(Client::builder().forward_questions(), &server).await;
            let gateway = Server::new("gateway", "1.0.0").mount(upstream).build().unwrap();
            let asked = Arc::new(AtomicUsize::new(0));
            let caller = async |name: &'static str| {
                let asked = asked.clone();
                let builder = Client::builder().on_elicit(move |_| {
                    asked.fetch_add(1, Ordering::SeqCst);
                    std::future::ready(Answer::accept(json!({"name": name})))
                });
                before.connect(builder, &gateway).await
            };
            let ((ann, _one), (bob, _two)) = (caller("Ann").await, caller("Bob").await);
            let (ann, bob) = tokio::join!(ann.call("both", json!({})), bob.call("both", json!({})));
            let can_be_told = !matches!(behind, Wire::Pipe(version) if version != ProtocolVersion::LATEST);
            for (result, name) in [(ann, "Ann"), (bob, "Bob")] {
                let result = result.unwrap();
                if can_be_told {
                    assert_eq!(result.text().unwrap(), name);
                } else {
                    assert!(result.is_error());
                    assert!(result.first_text().unwrap().contains("several callers share"), "{result:?}");
                }
            }
            assert_eq!(asked.load(Ordering::SeqCst), if can_be_told { 2 } else { 0 });
        }
    }
}

#[tokio::test]
async fn a_question_for_no_reason_reaches_nobody_who_has_only_called_before() {
    // On a pipe that two callers have used, one after the other, a question may belong to either.
    let waiting = waiting();
    let gateway = Server::new("gateway", "1.0.0").mount(asker(waiting).await).build().unwrap();
    let ann = talkative().connect(&gateway).await.unwrap();
    assert_eq!(said(&ann, "name").await, "Ada");
    assert_eq!(said(&ann, "name").await, "Ada", "the same caller may be asked again");
    let bob = talkative().connect(&gateway).await.unwrap();
    assert!(said(&bob, "name").await.contains("several callers share"));
}

#[tokio::test]
async fn more_than_can_be_carried_along_is_said_to_be_so() {
    /// Remember much, and ask.
    #[tool]
    async fn hoard(ctx: Ctx) -> Result<String, ToolError> {
        let much = ctx.remember("much", || "x".repeat(40 << 10))?;
        let Name { name } = ctx.ask("Who?").await?;
        Ok(format!("{name} {}", much.len()))
    }
    let server = Server::new("upstream", "1.0.0").tools(tools![hoard]).build().unwrap();
    // It works without a gateway. Through one the state is too large to be carried, and the error says so.
    let straight = talkative().connect(&server).await.unwrap();
    assert_eq!(said(&straight, "hoard").await, "Ada 40960");
    let gateway = Server::new("gateway", "1.0.0").mount(connect(&server).await).build().unwrap();
    let caller = talkative().connect(&gateway).await.unwrap();
    let result = caller.call("hoard", json!({})).await.unwrap();
    assert!(result.is_error());
    assert!(result.first_text().unwrap().contains("too large to be kept"), "{result:?}");
}
