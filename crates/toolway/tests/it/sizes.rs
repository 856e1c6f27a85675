//! `max_message`: one limit for the size of a message, in both directions and on every wire.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;
use toolway::client::Answer;
use toolway::hub::Config;
use toolway::prelude::*;
use toolway::server::{Extensions, File, Reader, ResourceEntry, ServerBuilder};
use toolway::testing::{each_session_as, each_wire, each_wire_as};
use toolway::types::LogLevel;
use toolway::{Error, ErrorKind, Form, ProtocolVersion};

use crate::hub::stage::Web;
use crate::pipe::Talk;

/// The limit that most tests set.
const MAX: usize = 10_000;

/// Return a text of so many letters.
#[tool]
fn letters(count: usize) -> String {
    "x".repeat(count)
}

/// Report progress, so that the reply is a stream where there are streams, and return a text of so many letters.
#[tool]
async fn spoken(ctx: Ctx, count: usize) -> String {
    ctx.progress(1, 2, "").await;
    "x".repeat(count)
}

/// Count the letters of a text.
#[tool]
fn count(text: String) -> usize {
    text.len()
}

/// Write a message of so many letters to the log.
#[tool]
async fn log(ctx: Ctx, count: usize) -> &'static str {
    ctx.log().error(&"x".repeat(count), json!({})).await;
    ctx.log().error("short", json!({})).await;
    "logged"
}

/// Ask for a name in so many words.
#[tool]
async fn greet(ctx: Ctx, words: usize) -> Result<String, ToolError> {
    #[derive(Form)]
    struct Name {
        name: String,
    }
    let Name { name } = ctx.ask("Who? ".repeat(words)).await?;
    Ok(format!("hello {}", name.len()))
}

pub(crate) fn server() -> ServerBuilder {
    Server::new("sizes", "1.0.0").tools(tools![letters, spoken, count, log, greet])
}

/// Returns the number before a word in a text.
fn number_before(text: &str, word: &str) -> usize {
    let (before, _) = text.split_once(word).unwrap_or_else(|| panic!("{text}"));
    before.rsplit(' ').find(|word| !word.is_empty()).unwrap().parse().unwrap()
}

async fn call_letters(client: &Client, tool: &str, count: usize) -> Result<(bool, String), Error> {
    let call = client.call(tool, json!({"count": count})).on_progress(|_| {});
    let result = call.await?;
    Ok((result.is_error(), result.first_text().unwrap_or_default().to_owned()))
}

/// Finds the exact limit of replies, with a server that sends up to `MAX + 1` bytes and a client that accepts `MAX`.
pub(crate) async fn find_the_border_of_replies(client: &Client) {
    for tool in ["letters", "spoken"] {
        let (is_error, text) = call_letters(client, tool, 2 * MAX).await.unwrap();
        assert!(is_error, "{text}");
        assert!(text.contains("the server sends at most 10001"), "{text}");
        assert!(text.contains("raise `max_message` on the server"), "{text}");
        let overhead = number_before(&text, " bytes long") - 2 * MAX;
        // The overhead does not depend on the number of letters.
        let (is_error, text) = call_letters(client, tool, MAX - overhead).await.unwrap();
        assert!(!is_error && text.len() == MAX - overhead, "{text}");
        let error = call_letters(client, tool, MAX + 1 - overhead).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert!(error.is_too_large() && !error.is_reply_lost() && !error.is_unsent(), "{error}");
        assert!(error.to_string().contains("longer than 10000 bytes"), "{error}");
        assert!(error.to_string().contains("raise `max_message` on the client"), "{error}");
        let (is_error, text) = call_letters(client, tool, MAX + 2 - overhead).await.unwrap();
        assert!(is_error, "{text}");
        // Everything else continues to work.
        assert_eq!(call_letters(client, tool, 3).await.unwrap().1, "xxx");
    }
}

#[tokio::test]
async fn a_reply_of_more_than_four_megabytes_arrives_on_every_wire() {
    let server = server().build().unwrap();
    each_wire(&server, async |client| {
        let result = client.call("letters", json!({"count": 4_200_000})).await.unwrap();
        assert_eq!(result.first_text().map(str::len), Some(4_200_000));
    })
    .await;
}

#[tokio::test]
async fn replies_have_their_border_on_every_wire() {
    let server = server().max_message(MAX + 1).build().unwrap();
    let builder = Client::builder().max_message(MAX);
    each_wire_as(builder, &server, async |client| find_the_border_of_replies(&client).await).await;
}

/// Returns the length of a request with an empty text, as the client reports it.
async fn overhead_of_requests(client: &Client) -> usize {
    let error = client.call("count", json!({"text": "x".repeat(3 * MAX)})).await.unwrap_err();
    assert!(error.is_too_large(), "{error}");
    let error = client.call("count", json!({"text": "x".repeat(3 * MAX)})).await.unwrap_err();
    number_before(&error.to_string(), " bytes long") - 3 * MAX
}

/// Finds the exact limit of requests, where `side` accepts at most `MAX`.
pub(crate) async fn find_the_border_of_requests(client: &Client, side: &str) {
    let room = MAX - overhead_of_requests(client).await;
    let fits = client.call("count", json!({"text": "x".repeat(room)})).await.unwrap();
    assert_eq!(fits.first_text(), Some(&*room.to_string()));
    let error = client.call("count", json!({"text": "x".repeat(room + 1)})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
    let expected = format!("the request is 10001 bytes long, and the {side} at most 10000");
    assert!(error.to_string().starts_with(&expected), "{error}");
    let count = client.call("count", json!({"text": "short"})).await.unwrap();
    assert_eq!(count.first_text(), Some("5"), "everything else goes on");
}

#[tokio::test]
async fn a_client_sends_no_more_than_it_is_told_on_any_wire() {
    let server = server().build().unwrap();
    let builder = Client::builder().max_message(MAX);
    let border = async |client: Client| find_the_border_of_requests(&client, "client sends").await;
    each_wire_as(builder, &server, border).await;
}

#[tokio::test]
async fn a_client_sends_no_more_than_the_server_has_said_to_take_on_any_wire() {
    let server = server().max_message(MAX).build().unwrap();
    each_wire(&server, async |client| {
        let error = client.call("count", json!({"text": "x".repeat(3 * MAX)})).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge, "{error}");
        assert_eq!(
            error.rpc().and_then(toolway::RpcError::max_message),
            Some(MAX),
            "it is the server that said so"
        );
        assert!(error.to_string().contains("longer than 10000 bytes"), "{error}");
        assert!(error.to_string().contains("max_message"), "{error}");
        find_the_border_of_requests(&client, "server takes").await;
    })
    .await;
}

/// Requests of 5,000 bytes, with the id in every possible place, and the id of the answer.
#[tokio::test]
async fn a_line_beyond_the_limit_is_answered_with_its_id() {
    let server = server().max_message(1000).build().unwrap();
    let mut talk = Talk::start(&server);
    let long = "x".repeat(5000);
    let params = format!(r#"{{"name":"count","arguments":{{"text":"{long}","id":99}},"id":98}}"#);
    for (frame, id) in [
        (format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#), json!(7)),
        (format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":8}}"#), json!(8)),
        (
            format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":"a\"b"}}"#),
            json!("a\"b"),
        ),
        (format!(r#"{{"params":{params},"\u0069d":-9,"method":"tools/call","jsonrpc":"2.0"}}"#), json!(-9)),
        // With two ids, the right one is unknown.
        (format!(r#"{{"id":1,"method":"ping","params":{params},"id":2}}"#), Value::Null),
        // An id inside another value is not the message's.
        (format!(r#"[{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}]"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":{{"id":7}},"method":"ping","params":{params}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#), Value::Null),
        (format!("{long}\"id\":7"), Value::Null),
    ] {
        talk.send(frame.as_bytes()).await;
        let reply = talk.receive().await;
        assert_eq!(reply["error"]["code"], -32600, "{reply}");
        assert_eq!(reply["error"]["data"]["maxMessage"], 1000, "{reply}");
        assert_eq!(reply.get("id").cloned().unwrap_or_default(), id, "{reply}");
    }
    // A notification gets no answer, and neither does an answer to a question.
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {"text": long}})).await;
    talk.send_json(json!({"jsonrpc": "2.0", "id": 7, "result": {"text": long}})).await;
    talk.send_json(json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await;
    assert_eq!(talk.receive().await["id"], 1);
}

#[tokio::test]
async fn a_text_beyond_the_limit_is_refused_without_a_connection_too() {
    let server = server().max_message(MAX).build().unwrap();
    let call = |text: String| json!({"jsonrpc": "2.0", "id": "a", "method": "tools/call", "params": {"name": "count", "arguments": {"text": text}}});
    let room = MAX - call(String::new()).to_string().len();
    for (letters, fits) in [(room, true), (room + 1, false)] {
        let frame = call("x".repeat(letters)).to_string();
        let answer = server.handle_json(frame, Extensions::new()).await.unwrap();
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["id"], "a");
        assert_eq!(answer["error"].is_null(), fits, "{answer}");
        assert_eq!(answer["error"]["data"]["maxMessage"], if fits { Value::Null } else { MAX.into() });
    }
    let letters = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"letters","arguments":{"count":20000}}}"#;
    let answer = server.handle_json(letters, Extensions::new()).await.unwrap();
    assert!(answer.len() < 1000 && answer.contains("raise `max_message` on the server"), "{answer}");
}

#[tokio::test]
async fn results_that_are_no_tools_fail_with_an_error_that_names_the_setting() {
    let folder = std::env::temp_dir().join(format!("toolway-sizes-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("file.txt");
    let server = server().max_message(MAX);
    // As text, as a blob that grows by a third, as a file that is not read to its end, and as a stream.
    let file = {
        let path = path.clone();
        move || File::new(path.clone())
    };
    let server = server
        .resource(ResourceEntry::define(toolway::types::Resource::new("a://text", "text"), || async {
            "x".repeat(MAX)
        }))
        .resource(ResourceEntry::define(toolway::types::Resource::new("a://blob", "blob"), || async {
            vec![0_u8; MAX - 1000]
        }))
        .resource(ResourceEntry::define(toolway::types::Resource::new("a://file", "file"), move || {
            let file = file();
            async move { file }
        }))
        .resource(ResourceEntry::define(toolway::types::Resource::new("a://stream", "stream"), || async {
            Reader(tokio::io::repeat(0))
        }))
        .build()
        .unwrap();
    for (length, fits) in [(MAX - 1000, true), (MAX + 1, false)] {
        std::fs::write(&path, "x".repeat(length)).unwrap();
        each_wire(&server, async |client| {
            let read = client.read_resource("a://file").await;
            assert_eq!(read.is_ok(), fits, "{read:?}");
        })
        .await;
    }
    each_wire(&server, async |client| {
        for uri in ["a://text", "a://blob", "a://file", "a://stream"] {
            let error = client.read_resource(uri).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{uri}: {error}");
            assert_eq!(error.code(), Some(toolway::Code::INTERNAL_ERROR), "{uri}: {error}");
            assert!(error.to_string().contains("raise `max_message` on the server"), "{uri}: {error}");
        }
        // The limit of what the server sends does not limit what it accepts.
        client.call("count", json!({"text": "x".repeat(MAX / 2)})).await.unwrap();
    })
    .await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn a_notification_beyond_the_limit_is_lost_and_nothing_else() {
    let server = server().max_message(MAX).build().unwrap();
    let heard: Arc<Mutex<Vec<usize>>> = Arc::default();
    let notes = heard.clone();
    let builder =
        Client::builder().on_log(move |message| notes.lock().unwrap().push(message.data.as_str().len()));
    each_wire_as(builder, &server, async |client| {
        client.set_log_level(LogLevel::Debug).await.unwrap();
        let logged = client.call("log", json!({"count": 2 * MAX})).await.unwrap();
        assert_eq!(logged.first_text(), Some("logged"));
        // On a separate stream, a notification may arrive after the reply.
        let told = async {
            while heard.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(20), told).await.expect("the short one");
        let lengths = std::mem::take(&mut *heard.lock().unwrap());
        assert!(matches!(lengths[..], [1..100]), "{lengths:?}");
    })
    .await;
}

#[tokio::test]
async fn a_question_or_an_answer_beyond_the_limit_fails_at_once() {
    for (of_server, of_client, words, expected) in [
        (MAX, 16 << 20, MAX, "the server sends at most 10000: ask in fewer words"),
        (16 << 20, MAX, 1, "the client sends at most 10000"),
        (MAX, 16 << 20, 1, "longer than 10000 bytes"),
    ] {
        let server = server().max_message(of_server).build().unwrap();
        let builder = Client::builder()
            .max_message(of_client)
            .on_elicit(|_| async { Answer::accept(json!({"name": "x".repeat(2 * MAX)})) });
        each_session_as(builder, &server, async |client| {
            // The oldest revisions cannot ask users.
            if client.protocol_version() != ProtocolVersion::LATEST_HANDSHAKE {
                return;
            }
            let result = client.call("greet", json!({"words": words})).await.unwrap();
            let text = result.first_text().unwrap_or_default();
            assert!(result.is_error() && text.contains(expected), "{text}");
        })
        .await;
    }
}

#[tokio::test]
async fn answers_of_a_batch_that_are_too_long_together_fail_one_by_one() {
    let server = server().max_message(MAX).build().unwrap();
    let mut talk = Talk::start(&server);
    let info = json!({"name": "c", "version": "1"});
    let params = json!({"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": info});
    talk.send_json(json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await;
    talk.receive().await;
    talk.send_json(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
    let call = |id: u32, count: usize| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "letters", "arguments": {"count": count}}});
    talk.send_json(json!([call(1, 3000), call(2, 5000), call(3, 4000), call(4, 10)])).await;
    let reply = talk.receive().await;
    let failed: Vec<_> = reply.as_array().unwrap().iter().map(|answer| !answer["error"].is_null()).collect();
    assert_eq!(failed, [false, true, false, false], "the longest: {reply}");
    assert_eq!(reply[1]["id"], 2);
    assert!(reply[1]["error"]["message"].as_str().unwrap().contains("max_message"), "{reply}");
    assert!(reply.to_string().len() <= MAX);
}

/// A foreign server on a pipe with scripted answers.
struct Foreign {
    lines: tokio::io::Lines<BufReader<tokio::io::ReadHalf<tokio::io::DuplexStream>>>,
    writer: tokio::io::WriteHalf<tokio::io::DuplexStream>,
}

impl Foreign {
    async fn start(builder: toolway::client::ClientBuilder) -> (Client, Self) {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(far);
        let mut foreign = Self { lines: BufReader::new(reader).lines(), writer };
        let (reader, writer) = tokio::io::split(near);
        let builder = builder.protocol(ProtocolVersion::LATEST_HANDSHAKE);
        let connecting = tokio::spawn(builder.connect_io(reader, writer));
        let opening = foreign.next().await;
        let result = json!({"protocolVersion": ProtocolVersion::LATEST_HANDSHAKE.as_str(), "capabilities": {"tools": {}},
            "serverInfo": {"name": "foreign", "version": "1"}});
        foreign.say(&json!({"jsonrpc": "2.0", "id": opening["id"], "result": result})).await;
        assert_eq!(foreign.next().await["method"], "notifications/initialized");
        (connecting.await.unwrap().unwrap(), foreign)
    }

    async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn say(&mut self, message: &Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }
}

fn calling(client: &Client, letters: usize) -> tokio::task::JoinHandle<Result<String, Error>> {
    let call = client.call("echo", json!({"text": "x".repeat(letters)}));
    tokio::spawn(async move { call.await.map(|result| result.first_text().unwrap_or_default().to_owned()) })
}

/// Each case: the lengths of requests in flight, the error, and which of them end with it.
#[tokio::test]
async fn an_error_without_an_id_ends_the_requests_that_can_be_meant() {
    let limited = json!({"code": -32600, "message": "too big", "data": {"maxMessage": 90_000}});
    let plain = |code: i64| json!({"code": code, "message": "too big"});
    for (lengths, error, ended) in [
        (&[10, 100_000, 20, 95_000][..], limited, &[1, 3][..]),
        (&[10, 100_000, 20, 95_000], plain(-32700), &[1]),
        (&[10, 100_000, 20, 95_000], plain(-32600), &[1]),
        (&[10, 100_000, 20, 95_000], plain(-32603), &[]),
        (&[10, 60_000, 20], plain(-32700), &[]),
    ] {
        let (client, mut foreign) = Foreign::start(Client::builder().timeout(None)).await;
        let mut calls = Vec::new();
        let mut ids = Vec::new();
        for length in lengths {
            calls.push(calling(&client, *length));
            ids.push(foreign.next().await["id"].clone());
        }
        foreign.say(&json!({"jsonrpc": "2.0", "id": null, "error": error})).await;
        for (index, call) in calls.into_iter().enumerate() {
            if ended.contains(&index) {
                let refused = call.await.unwrap().unwrap_err();
                assert!(format!("{refused:?}").contains("too big"), "{refused:?}");
                assert_eq!(refused.rpc().unwrap().code.0, error["code"]);
            } else {
                let result = json!({"content": [{"type": "text", "text": "done"}]});
                foreign.say(&json!({"jsonrpc": "2.0", "id": ids[index], "result": result})).await;
                assert_eq!(call.await.unwrap().unwrap(), "done", "{lengths:?} {error}");
            }
        }
        client.close().await.unwrap();
    }
}

/// A reply, a question and a notification that are too long, and messages after them.
#[tokio::test]
async fn a_line_of_the_server_beyond_the_limit_costs_one_call() {
    let (client, mut foreign) = Foreign::start(Client::builder().max_message(MAX).timeout(None)).await;
    let long = "x".repeat(2 * MAX);
    let (first, second) = (calling(&client, 1), calling(&client, 2));
    let mut ids = [foreign.next().await["id"].clone(), foreign.next().await["id"].clone()];
    ids.sort_by_key(Value::as_i64);
    foreign.say(&json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": long}})).await;
    foreign.say(&json!({"jsonrpc": "2.0", "id": "q", "method": "ping", "params": {"x": long}})).await;
    let refusal = foreign.next().await;
    assert_eq!((&refusal["id"], &refusal["error"]["data"]["maxMessage"]), (&json!("q"), &json!(MAX)));
    let result = |text: &str| json!({"content": [{"type": "text", "text": text}]});
    // The id may come before or after the result; both are found.
    let line = format!(r#"{{"result":{},"id":{},"jsonrpc":"2.0"}}"#, result(&long), ids[0]);
    foreign.writer.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    foreign.say(&json!({"jsonrpc": "2.0", "id": ids[1], "result": result("done")})).await;
    let outcomes = [first.await.unwrap(), second.await.unwrap()];
    let failed: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().err()).collect();
    assert_eq!(failed.len(), 1, "{outcomes:?}");
    assert_eq!(failed[0].kind(), ErrorKind::TooLarge);
    assert!(failed[0].to_string().contains("raise `max_message` on the client"), "{}", failed[0]);
    client.close().await.unwrap();
}

/// The server answers before it has read the whole request, and the client must still get the answer.
#[tokio::test]
async fn a_request_far_beyond_the_limit_of_an_http_server_is_refused_with_its_words() {
    let server = server().max_message(MAX).build().unwrap();
    let web = Web::start(&server).await;
    let text = "x".repeat(8 << 20);
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        for _ in 0..3 {
            let client = Client::builder().protocol(version).connect_http(web.url()).await.unwrap();
            let error = client.call("count", json!({"text": text})).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge, "{error:?}");
            assert_eq!(error.rpc().and_then(toolway::RpcError::max_message), Some(MAX), "{error:?}");
        }
    }
}

#[tokio::test]
async fn a_hub_takes_what_it_is_told_and_what_its_file_says() {
    let server = server().build().unwrap();
    let web = Web::start(&server).await;
    let config = json!({"mcpServers": {
        "usual": {"url": web.url()},
        "large": {"url": web.url(), "maxMessage": 30_000},
    }});
    let config = Config::parse(&config.to_string()).unwrap();
    assert_eq!(config.server("large").unwrap().max_message, Some(30_000));
    let hub = Hub::builder().max_message(MAX).from_config(config).await.unwrap();
    let called = async |name: &str| hub.call(name, json!({"count": 2 * MAX})).await;
    let error = called("usual__letters").await.unwrap_err();
    assert!(format!("{error:?}").contains("longer than 10000 bytes"), "{error:?}");
    assert_eq!(called("large__letters").await.unwrap().text().unwrap().len(), 2 * MAX);
    // Through a gateway, whose callers see the reason.
    let gateway = Server::new("gateway", "1.0.0").mount(&hub).build().unwrap();
    each_wire(&gateway, async |client| {
        let told = match client.call("usual__letters", json!({"count": 2 * MAX})).await {
            Ok(result) => result.first_text().unwrap_or_default().to_owned(),
            Err(error) => format!("{error:?}"),
        };
        assert!(told.contains("10000 bytes"), "{told}");
        let large = client.call("large__letters", json!({"count": 2 * MAX})).await.unwrap();
        assert_eq!(large.first_text().map(str::len), Some(2 * MAX));
    })
    .await;
    for wrong in [json!("64M"), json!(0), json!(-1), json!(1.5), json!(5_000_000_000_u64)] {
        let config = json!({"mcpServers": {"a": {"url": web.url(), "maxMessage": wrong}}});
        let error = Config::parse(&config.to_string()).unwrap_err().to_string();
        assert!(error.contains("mcpServers.a.maxMessage must be a number of bytes"), "{error}");
    }
}

#[tokio::test]
async fn a_body_beyond_max_body_is_refused_with_413_and_the_limit() {
    let server = server().build().unwrap();
    for (service, max) in [(server.http(), 16 << 20), (server.http().max_body(MAX), MAX)] {
        for (length, fits) in [(max, true), (max + 1, false)] {
            let mut body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
            body.push_str(&" ".repeat(length - body.len()));
            let request = http::Request::post("http://localhost/mcp")
                .header("content-type", "application/json")
                .body(http_body_util::Full::new(bytes::Bytes::from(body)))
                .unwrap();
            let response = service.handle(request).await;
            assert_eq!(response.status() == 413, !fits, "{length}: {}", response.status());
            if !fits {
                let body = http_body_util::BodyExt::collect(response.into_body()).await.unwrap().to_bytes();
                let answer: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(answer["error"]["data"]["maxMessage"], max, "{answer}");
            }
        }
    }
}
