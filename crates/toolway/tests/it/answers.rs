//! How does a client answer when a server asks, in both eras, on a pipe and over HTTP? The server is played by hand.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::sync::{Barrier, mpsc};
use tokio::task::JoinHandle;
use toolway::client::{Answer, AnswerError, ClientBuilder, Elicitation, QuestionOrigin};
use toolway::prelude::*;
use toolway::types::{Content, CreateMessageResult, Role, Root};
use toolway::{ErrorKind, ProtocolVersion};

use super::client_http::{Asked, SESSION, Stage, Stream};

/// A server that is played by hand.
struct Peer {
    wire: Wire,
    /// The capabilities that the client declared.
    declared: Value,
}

enum Wire {
    Pipe {
        lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
        writer: WriteHalf<DuplexStream>,
    },
    Http {
        stage: Stage,
        opening: Option<Asked>,
        /// The unanswered requests by their ids, and the stream that GET opened under `null`.
        streams: Vec<(Value, Stream)>,
    },
}

const LINKS: [&str; 2] = ["pipe", "http"];

impl Peer {
    /// Connects a client to a server that answers the opening of a conversation with `version`.
    async fn join(link: &str, builder: ClientBuilder, version: &str) -> (Client, Self) {
        let (connecting, wire) = match link {
            "pipe" => {
                let (near, far) = tokio::io::duplex(1 << 16);
                let (reader, writer) = tokio::io::split(near);
                let connecting = tokio::spawn(builder.connect_io(reader, writer));
                let (reader, writer) = tokio::io::split(far);
                (connecting, Wire::Pipe { lines: BufReader::new(reader).lines(), writer })
            }
            _ => {
                let stage = Stage::open().await;
                let url = stage.url.clone();
                let connecting = tokio::spawn(async move { builder.connect_http(&url).await });
                (connecting, Wire::Http { stage, opening: None, streams: Vec::new() })
            }
        };
        let mut peer = Self { wire, declared: Value::Null };
        let opening = peer.hear().await;
        let server = json!({"name": "s", "version": "1"});
        if opening["method"] == "initialize" {
            peer.declared = opening["params"]["capabilities"].clone();
            let result = json!({"protocolVersion": version, "capabilities": {}, "serverInfo": server});
            peer.reply(&opening, result).await;
            assert_eq!(peer.hear().await["method"], "notifications/initialized");
        } else {
            let meta = &opening["params"]["_meta"];
            peer.declared = meta["io.modelcontextprotocol/clientCapabilities"].clone();
            peer.reply(&opening, json!({"supportedVersions": [version], "capabilities": {}})).await;
        }
        (connecting.await.unwrap().unwrap(), peer)
    }

    /// Reads the next message of the client.
    async fn hear(&mut self) -> Value {
        match &mut self.wire {
            Wire::Pipe { lines, .. } => {
                serde_json::from_str(&lines.next_line().await.unwrap().expect("a line")).unwrap()
            }
            Wire::Http { stage, opening, streams } => loop {
                let asked = stage.next().await;
                match asked.method.as_str() {
                    "GET" => streams.insert(0, (Value::Null, asked.stream().await)),
                    "DELETE" => asked.plain("204 No Content").await,
                    _ => {
                        let body = asked.body.clone();
                        match (body.get("method").and_then(Value::as_str), body.get("id")) {
                            (Some("initialize"), _) => *opening = Some(asked),
                            (Some(_), Some(id)) => streams.push((id.clone(), asked.stream().await)),
                            _ => asked.plain("202 Accepted").await,
                        }
                        return body;
                    }
                }
            },
        }
    }

    /// Sends a message: over HTTP a reply goes to its request, other messages to the newest stream.
    async fn say(&mut self, message: &Value) {
        match &mut self.wire {
            Wire::Pipe { writer, .. } => writer.write_all(format!("{message}\n").as_bytes()).await.unwrap(),
            Wire::Http { stage, opening, streams } => {
                if let Some(opening) = opening.take() {
                    return opening.json(SESSION, &message["result"]).await;
                }
                let event = format!("data: {message}\n\n");
                if message.get("method").is_none() {
                    let place = streams.iter().position(|(id, _)| *id == message["id"]).unwrap();
                    let (_, mut stream) = streams.remove(place);
                    stream.say(&event).await;
                    return stream.end().await;
                }
                if streams.is_empty() {
                    let asked = stage.next().await;
                    assert_eq!(asked.method, "GET");
                    streams.push((Value::Null, asked.stream().await));
                }
                streams.last_mut().unwrap().1.say(&event).await;
            }
        }
    }

    async fn reply(&mut self, to: &Value, result: Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": to["id"], "result": result})).await;
    }

    async fn done(&mut self, to: &Value) {
        let text = [json!({"type": "text", "text": "done"})];
        self.reply(to, json!({"resultType": "complete", "content": text})).await;
    }

    async fn ask(&mut self, id: &str, method: &str, params: &Value) {
        self.say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
    }

    /// Pings the client; the answer must be its next message.
    async fn pings(&mut self) {
        self.ask("ping", "ping", &json!({})).await;
        assert_eq!(self.hear().await, json!({"jsonrpc": "2.0", "id": "ping", "result": {}}));
    }
}

fn calling(client: &Client) -> JoinHandle<toolway::Result<toolway::client::ToolResult>> {
    let client = client.clone();
    tokio::spawn(async move { client.call("t", json!({"a": [1]})).await })
}

fn handshake(builder: ClientBuilder) -> ClientBuilder {
    builder.protocol(ProtocolVersion::LATEST_HANDSHAKE)
}

fn stateless(builder: ClientBuilder) -> ClientBuilder {
    builder.protocol(ProtocolVersion::LATEST)
}

/// Calls a tool that asks one question as a request of its own, and returns the client's answer.
async fn ask_by_request(link: &str, builder: &ClientBuilder, method: &str, params: &Value) -> Value {
    let (client, mut peer) = Peer::join(link, handshake(builder.clone()), "2025-11-25").await;
    let call = calling(&client);
    let called = peer.hear().await;
    peer.ask("q", method, params).await;
    let mut answer = peer.hear().await;
    assert_eq!((&answer["id"], &answer["jsonrpc"]), (&json!("q"), &json!("2.0")));
    // The client still works, whatever the answer was.
    peer.pings().await;
    peer.done(&called).await;
    assert_eq!(call.await.unwrap().unwrap().first_text(), Some("done"));
    if answer["error"].is_null() { answer["result"].take() } else { answer["error"].take() }
}

/// The same with a question as the result of a round.
async fn ask_by_round(
    link: &str,
    builder: &ClientBuilder,
    method: &str,
    params: &Value,
) -> toolway::Result<Value> {
    let (client, mut peer) = Peer::join(link, stateless(builder.clone()), "2026-07-28").await;
    let call = calling(&client);
    let called = peer.hear().await;
    let questions = json!({"q": {"method": method, "params": params}});
    peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
    tokio::select! {
        again = peer.hear() => {
            let mut again = again;
            assert_ne!(again["id"], called["id"]);
            let answer = again["params"]["inputResponses"]["q"].take();
            let members = again["params"].as_object_mut().unwrap();
            assert_eq!(members.remove("inputResponses"), Some(json!({"q": null})));
            // Each round has its own token.
            again["params"]["_meta"]["progressToken"] = called["params"]["_meta"]["progressToken"].clone();
            assert_eq!(again["params"], called["params"]);
            peer.done(&again).await;
            assert_eq!(call.await.unwrap().unwrap().first_text(), Some("done"));
            Ok(answer)
        }
        // The call failed before it was sent again; the client still works.
        error = async { while !call.is_finished() { tokio::task::yield_now().await } } => {
            let () = error;
            let failed = call.await.unwrap().unwrap_err();
            let call = calling(&client);
            let called = peer.hear().await;
            peer.done(&called).await;
            call.await.unwrap().unwrap();
            Err(failed)
        }
    }
}

fn form() -> Value {
    let properties = json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
        "nick": {"type": "string"},
    });
    json!({"message": "Who?", "requestedSchema": {"type": "object", "properties": properties}})
}

fn page() -> Value {
    json!({"mode": "url", "message": "Pay", "url": "https://pay.example/1", "elicitationId": "e"})
}

fn sampling() -> Value {
    json!({"messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}], "maxTokens": 5})
}

/// A client that answers everything.
fn talkative() -> ClientBuilder {
    Client::builder()
        .on_elicit(|question: Elicitation| async move {
            assert_eq!(question.message(), "Who?");
            assert!(question.form().is_some() && question.url().is_none());
            assert_eq!(question.key().is_some(), question.request_method() == Some("tools/call"));
            Answer::accept(json!({"name": "Ada", "nick": "a"}))
        })
        .on_elicit_url(|question| async move {
            assert_eq!(question.url(), Some("https://pay.example/1"));
            Answer::consent()
        })
        .on_sample(|ask| async move {
            let text = ask.messages[0].content.as_slice()[0].as_text().unwrap().to_uppercase();
            Ok(CreateMessageResult::new(Role::Assistant, Content::text(text), "m"))
        })
        .roots([Root::new("file:///a").with_name("A")])
}

#[tokio::test]
async fn every_kind_of_question_is_answered_in_both_eras_on_every_transport() {
    let filled =
        json!({"name": "Ada", "age": 30, "score": 95.5, "status": "active", "verified": true, "nick": "a"});
    for (method, params, answer) in [
        ("elicitation/create", form(), json!({"action": "accept", "content": filled})),
        ("elicitation/create", page(), json!({"action": "accept"})),
        (
            "sampling/createMessage",
            sampling(),
            json!({"role": "assistant", "content": {"type": "text", "text": "HI"}, "model": "m"}),
        ),
        ("roots/list", json!({}), json!({"roots": [{"uri": "file:///a", "name": "A"}]})),
    ] {
        for link in LINKS {
            assert_eq!(ask_by_request(link, &talkative(), method, &params).await, answer, "{link}");
            assert_eq!(ask_by_round(link, &talkative(), method, &params).await.unwrap(), answer, "{link}");
        }
    }
}

#[tokio::test]
async fn no_is_an_answer_and_so_are_defaults() {
    for (answer, sent) in [
        (Answer::decline(), json!({"action": "decline"})),
        (Answer::cancel(), json!({"action": "cancel"})),
        (
            Answer::defaults(),
            json!({"action": "accept", "content": {"name": "John Doe", "age": 30, "score": 95.5, "status": "active", "verified": true}}),
        ),
    ] {
        let builder = Client::builder().on_elicit(move |_| std::future::ready(answer.clone()));
        for link in LINKS {
            assert_eq!(ask_by_request(link, &builder, "elicitation/create", &form()).await, sent);
            assert_eq!(ask_by_round(link, &builder, "elicitation/create", &form()).await.unwrap(), sent);
        }
    }
}

/// The schema of each revision: the empty object means forms; old revisions have only forms, or no elicitation at all.
#[tokio::test]
async fn what_is_answered_is_declared_as_far_as_the_revision_knows_it() {
    let forms = || Client::builder().on_elicit(|_| async { Answer::decline() });
    let pages = || Client::builder().on_elicit_url(|_| async { Answer::decline() });
    let both = || forms().on_elicit_url(|_| async { Answer::decline() });
    let model = || Client::builder().on_sample(|_| async { Err(AnswerError::refused()) });
    let old = ["2024-11-05", "2025-03-26"];
    let middle = ["2025-06-18"];
    let new = ["2025-11-25", "2026-07-28"];
    for (versions, builder, declared) in [
        (&old[..], both(), json!({})),
        (&old, model().sample_with_tools(), json!({"sampling": {}})),
        (&middle, both(), json!({"elicitation": {}})),
        (&middle, pages(), json!({})),
        (&new, forms(), json!({"elicitation": {}})),
        (&new, pages(), json!({"elicitation": {"url": {}}})),
        (&new, both(), json!({"elicitation": {"form": {}, "url": {}}})),
        (&new, model(), json!({"sampling": {}})),
        (&new, model().sample_with_tools(), json!({"sampling": {"tools": {}}})),
        (&new, Client::builder().roots([]), json!({"roots": {}})),
        (&new, Client::builder().sample_with_tools(), json!({})),
    ] {
        for version in versions {
            let builder = builder.clone().protocol(version.parse().unwrap());
            let (_client, peer) = Peer::join("pipe", builder, version).await;
            assert_eq!(peer.declared, declared, "{version}");
        }
    }
}

#[tokio::test]
async fn a_server_that_settles_for_an_old_revision_cannot_ask_what_that_does_not_know() {
    let builder = handshake(talkative());
    let (_client, mut peer) = Peer::join("pipe", builder.clone(), "2025-03-26").await;
    peer.ask("q", "elicitation/create", &form()).await;
    assert_eq!(peer.hear().await["error"]["code"], -32601);
    let (_client, mut peer) = Peer::join("pipe", builder, "2025-06-18").await;
    peer.ask("q", "elicitation/create", &page()).await;
    assert_eq!(peer.hear().await["error"]["code"], -32602);
    peer.ask("r", "elicitation/create", &form()).await;
    assert_eq!(peer.hear().await["result"]["action"], "accept");
}

#[tokio::test]
async fn what_was_not_declared_is_refused_before_anybody_is_bothered() {
    let nobody = Client::builder();
    let forms = Client::builder().on_elicit(|_| async { panic!("nobody is to be bothered") });
    let pages = Client::builder().on_elicit_url(|_| async { panic!("nobody is to be bothered") });
    let model = Client::builder().on_sample(|_| async { panic!("nobody is to be bothered") });
    let mut with_tools = sampling();
    with_tools["toolChoice"] = json!({"mode": "auto"});
    let mut unfinished = sampling();
    unfinished["messages"] = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "t", "input": {}}]},
        {"role": "user", "content": {"type": "text", "text": "never mind"}},
    ]);
    for (builder, method, params, code) in [
        (&nobody, "elicitation/create", form(), -32601),
        (&nobody, "sampling/createMessage", sampling(), -32601),
        (&nobody, "roots/list", json!({}), -32601),
        (&forms, "elicitation/create", page(), -32602),
        (&pages, "elicitation/create", form(), -32602),
        (&forms, "elicitation/create", json!({"message": 7}), -32602),
        (&forms, "elicitation/create", json!({"mode": "psychic", "message": "?"}), -32602),
        (&model, "sampling/createMessage", with_tools, -32602),
        (&model, "sampling/createMessage", unfinished, -32602),
    ] {
        for link in LINKS {
            let refused = ask_by_request(link, builder, method, &params).await;
            assert_eq!(refused["code"], code, "{refused}");
            let error = ask_by_round(link, builder, method, &params).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "{error}");
        }
    }
    let error = ask_by_round("pipe", &nobody, "roots/list", &json!({})).await.unwrap_err();
    assert!(error.to_string().contains("roots/list"), "{error}");
}

#[tokio::test]
async fn a_page_whose_url_could_be_read_as_another_is_refused_before_anybody_is_bothered() {
    let pages = Client::builder().on_elicit_url(|_| async { panic!("nobody is to be bothered") });
    for trick in
        [" ", "\n", "\r", "\t", "\u{1b}", "\u{a0}", "\u{ad}", "\u{200b}", "\u{202e}", "\u{3164}", "\u{e0041}"]
    {
        let mut asked = page();
        asked["url"] = json!(format!("https://pay.example/{trick}x"));
        for link in LINKS {
            let refused = ask_by_request(link, &pages, "elicitation/create", &asked).await;
            assert_eq!(refused["code"], -32602, "{trick:?}: {refused}");
            let error = ask_by_round(link, &pages, "elicitation/create", &asked).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "{error}");
            assert!(
                error.to_string().contains("white space, or a control or invisible character"),
                "{error}"
            );
        }
    }
}

#[tokio::test]
async fn results_of_tools_are_passed_on_to_a_model_that_has_them() {
    let builder = Client::builder()
        .on_sample(|ask| async move {
            assert_eq!(ask.messages.len(), 3);
            Ok(CreateMessageResult::new(Role::Assistant, Content::text("5"), "m"))
        })
        .sample_with_tools();
    let used = |id| json!({"type": "tool_use", "id": id, "name": "add", "input": {}});
    let result = |id| json!({"type": "tool_result", "toolUseId": id, "content": []});
    let mut ask = sampling();
    ask["tools"] = json!([{"name": "add", "inputSchema": {"type": "object"}}]);
    ask["messages"] = json!([
        {"role": "user", "content": {"type": "text", "text": "?"}},
        {"role": "assistant", "content": [used("1"), used("2")]},
        {"role": "user", "content": [result("2"), result("1")]},
    ]);
    let answer = ask_by_request("pipe", &builder, "sampling/createMessage", &ask).await;
    assert_eq!(answer["content"]["text"], "5");
}

#[tokio::test]
async fn a_refusal_and_a_failure_are_told_apart_and_their_reasons_stay_here() {
    let secret = || std::io::Error::other("the key is 1234");
    let refusing = Client::builder()
        .on_sample(|_| async { Err(AnswerError::refused()) })
        .on_list_roots(|| async { Err(AnswerError::refused()) });
    let failing = Client::builder()
        .on_elicit(|_| async { Answer::accept(1234) })
        .on_sample(move |_| async move { Err(secret().into()) })
        .roots([Root::new("https://1234.example")]);
    let panicking = Client::builder()
        .on_elicit(|_| async { panic!("1234") })
        .on_elicit_url(|_| -> std::future::Ready<Answer> { panic!("1234") })
        .on_list_roots(|| async { panic!("1234") });
    let (elicit, sample, roots) = ("elicitation/create", "sampling/createMessage", "roots/list");
    for (builder, method, params, code, kind) in [
        (&refusing, sample, sampling(), -1, ErrorKind::Cancelled),
        (&refusing, roots, json!({}), -1, ErrorKind::Cancelled),
        (&failing, elicit, form(), -32603, ErrorKind::Application),
        (&failing, sample, sampling(), -32603, ErrorKind::Application),
        (&failing, roots, json!({}), -32603, ErrorKind::Application),
        (&panicking, elicit, form(), -32603, ErrorKind::Application),
        (&panicking, elicit, page(), -32603, ErrorKind::Application),
        (&panicking, roots, json!({}), -32603, ErrorKind::Application),
    ] {
        for link in LINKS {
            let refused = ask_by_request(link, builder, method, &params).await;
            assert_eq!(refused["code"], code, "{refused}");
            assert!(!refused.to_string().contains("1234"), "{refused}");
            let error = ask_by_round(link, builder, method, &params).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
        }
    }
}

#[tokio::test]
async fn questions_are_answered_at_the_same_time_and_each_by_its_own_answer() {
    for link in LINKS {
        let meeting = Arc::new(Barrier::new(2));
        let builder = Client::builder().on_elicit(move |question| {
            let meeting = meeting.clone();
            async move {
                meeting.wait().await;
                Answer::accept(json!({"echo": question.message()}))
            }
        });
        let ask =
            |message| json!({"message": message, "requestedSchema": {"type": "object", "properties": {}}});
        let (client, mut peer) = Peer::join(link, handshake(builder.clone()), "2025-11-25").await;
        let call = calling(&client);
        let called = peer.hear().await;
        peer.ask("a", "elicitation/create", &ask("A")).await;
        peer.ask("b", "elicitation/create", &ask("B")).await;
        let mut answers = [peer.hear().await, peer.hear().await];
        answers.sort_by_key(|answer| answer["id"].to_string());
        assert_eq!((&answers[0]["id"], &answers[0]["result"]["content"]["echo"]), (&json!("a"), &json!("A")));
        assert_eq!((&answers[1]["id"], &answers[1]["result"]["content"]["echo"]), (&json!("b"), &json!("B")));
        peer.done(&called).await;
        call.await.unwrap().unwrap();

        let (client, mut peer) = Peer::join(link, stateless(builder), "2026-07-28").await;
        let call = calling(&client);
        let called = peer.hear().await;
        let question = |message| json!({"method": "elicitation/create", "params": ask(message)});
        let questions = json!({"z": question("Z"), "a \"b\"": question("A")});
        peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
        let again = peer.hear().await;
        let answer = |message| json!({"action": "accept", "content": {"echo": message}});
        assert_eq!(again["params"]["inputResponses"], json!({"z": answer("Z"), "a \"b\"": answer("A")}));
        peer.done(&again).await;
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_callback_knows_the_tag_of_the_call_where_the_wire_tells() {
    let start = |client: &Client, tag| tokio::spawn(client.call("t", json!({"a": [1]})).tag(tag));
    for link in LINKS {
        let (seen, mut tags) = mpsc::unbounded_channel();
        let builder = Client::builder().on_sample(move |_| {
            seen.send(QuestionOrigin::current().unwrap().request_tag()).unwrap();
            async { Ok(CreateMessageResult::new(Role::Assistant, Content::text("hi"), "m")) }
        });
        let (client, mut peer) = Peer::join(link, handshake(builder.clone()), "2025-11-25").await;
        let first = start(&client, 7);
        let called_first = peer.hear().await;
        let second = start(&client, 8);
        let called_second = peer.hear().await;
        // Over HTTP, on the stream of the second call, and then on that of the first.
        for (call, called, tag) in [(second, called_second, 8), (first, called_first, 7)] {
            peer.ask("q", "sampling/createMessage", &sampling()).await;
            assert_eq!(peer.hear().await["id"], "q");
            assert_eq!(tags.recv().await, Some((link == "http").then_some(tag)), "{link}");
            peer.done(&called).await;
            call.await.unwrap().unwrap();
        }

        let (client, mut peer) = Peer::join(link, stateless(builder), "2026-07-28").await;
        let calls = [start(&client, 7), start(&client, 8)];
        let called = [peer.hear().await, peer.hear().await];
        let question = json!({"q": {"method": "sampling/createMessage", "params": sampling()}});
        for called in called {
            peer.reply(&called, json!({"resultType": "input_required", "inputRequests": question})).await;
            let again = peer.hear().await;
            peer.done(&again).await;
        }
        let mut seen = [tags.recv().await.unwrap(), tags.recv().await.unwrap()];
        seen.sort_unstable();
        assert_eq!(seen, [Some(7), Some(8)], "{link}");
        for call in calls {
            call.await.unwrap().unwrap();
        }
    }
    assert_eq!(QuestionOrigin::current(), None);
}

/// A client that never answers: reports when a question begins and when it is dropped.
fn silent() -> (ClientBuilder, mpsc::UnboundedReceiver<&'static str>) {
    struct Told(mpsc::UnboundedSender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, events) = mpsc::unbounded_channel();
    let builder = Client::builder().on_elicit(move |_| {
        let told = Told(sender.clone());
        async move {
            let _ = told.0.send("begun");
            std::future::pending().await
        }
    });
    (builder, events)
}

#[tokio::test]
async fn a_question_that_is_taken_back_is_ended_and_not_answered() {
    for link in LINKS {
        let (builder, mut events) = silent();
        let (client, mut peer) = Peer::join(link, handshake(builder), "2025-11-25").await;
        peer.ask("q", "elicitation/create", &form()).await;
        assert_eq!(events.recv().await, Some("begun"));
        // While the question waits, its id is in use, and everything else continues.
        peer.ask("q", "elicitation/create", &form()).await;
        assert_eq!(peer.hear().await["error"]["code"], -32600);
        peer.pings().await;
        let call = calling(&client);
        let called = peer.hear().await;
        peer.done(&called).await;
        call.await.unwrap().unwrap();
        for id in ["other", "q"] {
            peer.say(
                &json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}),
            )
            .await;
        }
        assert_eq!(events.recv().await, Some("dropped"));
        // The client does not answer the cancelled question: its next message is this one.
        peer.pings().await;
    }
}

#[tokio::test]
async fn no_more_than_thirty_two_questions_wait() {
    for link in LINKS {
        let (builder, mut events) = silent();
        let (_client, mut peer) = Peer::join(link, handshake(builder.clone()), "2025-11-25").await;
        for number in 0..32 {
            peer.ask(&format!("q{number}"), "elicitation/create", &form()).await;
            assert_eq!(events.recv().await, Some("begun"));
        }
        peer.ask("more", "elicitation/create", &form()).await;
        let refused = peer.hear().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("more"), &json!(-32603)));

        let (client, mut peer) = Peer::join(link, stateless(builder), "2026-07-28").await;
        let call = calling(&client);
        let called = peer.hear().await;
        let question = json!({"method": "elicitation/create", "params": form()});
        let questions: serde_json::Map<_, _> =
            (0..33).map(|key| (key.to_string(), question.clone())).collect();
        peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
        assert_eq!(call.await.unwrap().unwrap_err().kind(), ErrorKind::PeerMisbehaved);
    }
}

#[tokio::test]
async fn questions_end_with_the_client_that_is_dropped_or_closed() {
    for link in LINKS {
        for closes in [false, true] {
            let (builder, mut events) = silent();
            let (client, mut peer) = Peer::join(link, handshake(builder), "2025-11-25").await;
            peer.ask("q", "elicitation/create", &form()).await;
            assert_eq!(events.recv().await, Some("begun"));
            let clone = client.clone();
            // The server does not react any more, so closing gets no answer.
            let closing = tokio::spawn(async move {
                if closes {
                    let _ = client.close().await;
                }
            });
            if !closes {
                drop(clone);
            }
            assert_eq!(events.recv().await, Some("dropped"));
            closing.abort();
        }
    }
}

#[tokio::test]
async fn questions_of_a_round_end_with_the_call_that_is_dropped() {
    for link in LINKS {
        let (builder, mut events) = silent();
        let (client, mut peer) = Peer::join(link, stateless(builder), "2026-07-28").await;
        let call = calling(&client);
        let called = peer.hear().await;
        let questions = json!({"q": {"method": "elicitation/create", "params": form()}});
        peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
        assert_eq!(events.recv().await, Some("begun"));
        // Other calls do not wait for it.
        let other = calling(&client);
        let called = peer.hear().await;
        peer.done(&called).await;
        other.await.unwrap().unwrap();
        call.abort();
        assert_eq!(events.recv().await, Some("dropped"));
    }
}

#[tokio::test]
async fn what_the_server_wants_back_comes_back_as_it_was_and_only_then() {
    let builder = Client::builder().roots([]);
    let state = "\u{0}\u{7f}\"\\/ \n\t\u{1f600}\u{2028}é\u{feff}%2F=+";
    for link in LINKS {
        let (client, mut peer) = Peer::join(link, stateless(builder.clone()), "2026-07-28").await;
        let call = calling(&client);
        let mut ids = Vec::new();
        let questions = json!({"q": {"method": "roots/list"}});
        for (sent, expected) in [(Some(state), None), (None, Some(state)), (Some(""), None)] {
            let called = peer.hear().await;
            assert_eq!(called["params"].get("requestState"), expected.map(Value::from).as_ref());
            assert_eq!(called["params"].get("inputResponses").is_some(), !ids.is_empty());
            let meta = &called["params"]["_meta"];
            assert!(meta["io.modelcontextprotocol/clientCapabilities"]["roots"].is_object());
            ids.push(called["id"].clone());
            let mut result = json!({"resultType": "input_required", "inputRequests": questions});
            if let Some(state) = sent {
                result["requestState"] = json!(state);
            }
            peer.reply(&called, result).await;
        }
        let called = peer.hear().await;
        assert_eq!(called["params"]["requestState"], "");
        assert!(!ids.contains(&called["id"]), "each round has an id of its own");
        ids.dedup();
        assert_eq!(ids.len(), 3);
        peer.done(&called).await;
        call.await.unwrap().unwrap();
        // Nothing of it is sent with the next call.
        let call = calling(&client);
        let called = peer.hear().await;
        assert!(called["params"].get("requestState").is_none());
        assert!(called["params"].get("inputResponses").is_none());
        // A result without `resultType` is complete.
        peer.reply(&called, json!({"content": []})).await;
        call.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn prompts_and_resources_may_ask_and_lists_may_not() {
    let (client, mut peer) = Peer::join("pipe", stateless(Client::builder().roots([])), "2026-07-28").await;
    let required = json!({"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}});
    let fetching = client.clone();
    let prompt = tokio::spawn(async move { fetching.get_prompt("p", [("a", "b")]).await });
    let called = peer.hear().await;
    peer.reply(&called, required.clone()).await;
    let again = peer.hear().await;
    assert_eq!(again["params"]["arguments"], json!({"a": "b"}));
    assert_eq!(again["params"]["inputResponses"]["q"], json!({"roots": []}));
    peer.reply(&again, json!({"resultType": "complete", "messages": []})).await;
    prompt.await.unwrap().unwrap();
    let reading = client.clone();
    let resource = tokio::spawn(async move { reading.read_resource("a://b").await });
    let called = peer.hear().await;
    peer.reply(&called, required.clone()).await;
    let again = peer.hear().await;
    assert_eq!(again["params"]["uri"], "a://b");
    assert_eq!(again["params"]["inputResponses"]["q"], json!({"roots": []}));
    peer.reply(&again, json!({"resultType": "complete", "contents": []})).await;
    resource.await.unwrap().unwrap();
    let listing = tokio::spawn(async move { client.tools().await });
    let called = peer.hear().await;
    peer.reply(&called, required).await;
    assert_eq!(listing.await.unwrap().unwrap_err().kind(), ErrorKind::PeerMisbehaved);
}

#[tokio::test]
async fn a_server_that_never_has_enough_is_left_after_ten_rounds() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let builder = Client::builder().on_list_roots(move || {
        count.fetch_add(1, Ordering::Relaxed);
        async { Ok(Vec::new()) }
    });
    let (client, mut peer) = Peer::join("pipe", stateless(builder), "2026-07-28").await;
    let call = calling(&client);
    for _ in 0..=10 {
        let called = peer.hear().await;
        let questions = json!({"q": {"method": "roots/list"}});
        peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
    }
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
    assert!(error.to_string().contains("10 rounds"), "{error}");
    assert_eq!(asked.load(Ordering::Relaxed), 10, "nobody is asked in vain");
}

/// The specification: a state without questions means that the server is overloaded.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_nothing_is_given_more_and_more_time() {
    let (client, mut peer) = Peer::join("pipe", stateless(Client::builder()), "2026-07-28").await;
    let call = calling(&client);
    let mut called = peer.hear().await;
    for (round, millis) in [100, 200, 400, 800, 1600, 3200, 5000, 5000].into_iter().enumerate() {
        let before = tokio::time::Instant::now();
        peer.reply(&called, json!({"resultType": "input_required", "requestState": round.to_string()})).await;
        called = peer.hear().await;
        assert_eq!(before.elapsed().as_millis(), Duration::from_millis(millis).as_millis(), "{round}");
        assert_eq!(called["params"]["requestState"], round.to_string());
        assert!(called["params"].get("inputResponses").is_none());
    }
    peer.done(&called).await;
    call.await.unwrap().unwrap();
    let call = calling(&client);
    let called = peer.hear().await;
    peer.reply(&called, json!({"resultType": "input_required", "inputRequests": {}})).await;
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "neither questions nor a state: {error}");
}

#[tokio::test]
async fn every_round_wants_to_hear_what_the_first_one_wanted() {
    let (client, mut peer) = Peer::join("pipe", stateless(Client::builder().roots([])), "2026-07-28").await;
    client.set_log_level(toolway::types::LogLevel::Info).await.unwrap();
    let news = client.notifications();
    let call = calling(&client);
    let called = peer.hear().await;
    drop(news);
    client.set_log_level(toolway::types::LogLevel::Error).await.unwrap();
    let questions = json!({"q": {"method": "roots/list"}});
    peer.reply(&called, json!({"resultType": "input_required", "inputRequests": questions})).await;
    let again = peer.hear().await;
    for round in [&called, &again] {
        assert_eq!(round["params"]["_meta"]["io.modelcontextprotocol/logLevel"], "info");
        assert_eq!(round["params"]["_meta"]["progressToken"], round["id"]);
    }
    peer.done(&again).await;
    call.await.unwrap().unwrap();
}
