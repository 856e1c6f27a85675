//! Servers with the transport of 2024-11-05, which has two URLs: are they detected, used and closed?

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolway::client::Notification;
use toolway::client::{Answer, ClientBuilder, Http, HttpBody, HttpClient};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, Chain, ErrorKind, Form, ProtocolVersion};
use tower::Service;

use super::stage::{Asked, Stage, Stream, calling, news, number, text};
use crate::sizes;

fn connecting(stage: &Stage) -> JoinHandle<toolway::Result<Client>> {
    let server = Http::new(&stage.url).bearer("t0ken");
    tokio::spawn(Client::builder().protocol(ProtocolVersion::LATEST_HANDSHAKE).connect_http(server))
}

/// Accepts a message; its answer comes on the stream.
async fn post(stage: &mut Stage, rpc: &str) -> Value {
    let asked = stage.next().await;
    assert_eq!(asked.rpc(), rpc);
    assert_eq!(asked.path, "/messages?session=1");
    assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
    assert_eq!(asked.header("content-type"), Some("application/json"));
    let id = asked.body["id"].clone();
    asked.with("202 Accepted", "", "Accepted").await;
    id
}

async fn answer(stream: &mut Stream, id: &Value, result: &Value) {
    let reply = json!({"jsonrpc": "2.0", "id": id, "result": result});
    stream.say(&format!("event: message\ndata: {reply}\n\n")).await;
}

async fn refuse(stage: &mut Stage, status: &str) {
    let asked = stage.next().await;
    assert_eq!((asked.rpc(), asked.path.as_str()), ("initialize", "/mcp"));
    asked.with(status, "content-type: text/plain\r\n", "Cannot POST /mcp").await;
}

async fn opening(stage: &mut Stage) -> Asked {
    let asked = stage.next().await;
    asked.assert_get(None);
    assert_eq!(asked.path, "/mcp");
    assert_eq!(asked.header("authorization"), Some("Bearer t0ken"));
    asked
}

async fn opened(status: &str) -> (Client, Stage, Stream) {
    let mut stage = Stage::open().await;
    let connecting = connecting(&stage);
    let stream = shake(&mut stage, status).await;
    (connecting.await.unwrap().unwrap(), stage, stream)
}

async fn shake(stage: &mut Stage, status: &str) -> Stream {
    refuse(stage, status).await;
    let mut stream = opening(stage).await.stream().await;
    stream.say(": hello\n\nretry: 5\n\nevent: endpoint\ndata: /messages?session=1\n\n").await;
    let id = post(stage, "initialize").await;
    let result = json!({"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}});
    answer(&mut stream, &id, &result).await;
    post(stage, "notifications/initialized").await;
    stream
}

#[tokio::test]
async fn an_old_server_is_spoken_with_through_its_two_urls() {
    for status in ["404 Not Found", "405 Method Not Allowed", "400 Bad Request", "415 Unsupported"] {
        let (client, mut stage, mut stream) = opened(status).await;
        assert_eq!(client.protocol_version(), ProtocolVersion::V2024_11_05);
        let mut told = client.notifications();
        let (one, two) = (calling(&client, "one"), calling(&client, "two"));
        let first = post(&mut stage, "tools/call").await;
        let second = post(&mut stage, "tools/call").await;
        stream
            .say(&format!("event: message\ndata: {}\n\nevent: other\ndata: x\n\ndata: no\n\n", news(1)))
            .await;
        // In the other order, and in pieces.
        answer(&mut stream, &second, &text("b")).await;
        answer(&mut stream, &first, &text("a")).await;
        let mut said = [one.await.unwrap().unwrap(), two.await.unwrap().unwrap()];
        said.sort();
        assert_eq!(said, ["a", "b"]);
        assert_eq!(number(&told.next().await.unwrap()), 1);
        // The server asks, and the answer goes to the URL for messages.
        stream.say("data: {\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n\n").await;
        let pong = stage.next().await;
        assert_eq!(
            (pong.path.as_str(), &pong.body),
            ("/messages?session=1", &json!({"jsonrpc": "2.0", "id": 9, "result": {}}))
        );
        pong.plain("202 Accepted").await;
        // Closing only ends the stream.
        client.close().await.unwrap();
        stream.abandoned().await;
    }
}

#[tokio::test]
async fn a_call_is_lost_with_the_stream_and_the_next_one_opens_another() {
    let (client, mut stage, stream) = opened("405 Method Not Allowed").await;
    let call = calling(&client, "a");
    post(&mut stage, "tools/call").await;
    stream.end().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(error.is_reply_lost() && error.kind() == ErrorKind::Transport, "{error}");
    let call = calling(&client, "b");
    let mut stream = shake(&mut stage, "405 Method Not Allowed").await;
    let id = post(&mut stage, "tools/call").await;
    answer(&mut stream, &id, &text("again")).await;
    assert_eq!(call.await.unwrap().unwrap(), "again");
}

#[tokio::test]
async fn a_pipe_that_the_server_has_forgotten_is_opened_again() {
    let (client, mut stage, _stream) = opened("405 Method Not Allowed").await;
    let call = calling(&client, "a");
    stage.next().await.plain("404 Not Found").await;
    let mut stream = shake(&mut stage, "405 Method Not Allowed").await;
    let id = post(&mut stage, "tools/call").await;
    answer(&mut stream, &id, &text("again")).await;
    assert_eq!(call.await.unwrap().unwrap(), "again");
}

#[tokio::test]
async fn messages_are_posted_to_the_same_server_only() {
    let forbidden = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let elsewhere = format!("http://{}/messages?key=s3cret", forbidden.local_addr().unwrap());
    for (endpoint, part) in [
        (elsewhere.as_str(), "another server"),
        ("//example.com/messages", "another server"),
        ("https://127.0.0.1/messages", "another server"),
        ("javascript:alert(1)", "not a URL"),
        ("http://me:s3cret@127.0.0.1/", "not a URL"),
        ("/a b", "not a URL"),
    ] {
        let mut stage = Stage::open().await;
        let connecting = connecting(&stage);
        refuse(&mut stage, "405 Method Not Allowed").await;
        let mut stream = opening(&mut stage).await.stream().await;
        stream.say(&format!("event: endpoint\ndata: {endpoint}\n\n")).await;
        let error = connecting.await.unwrap().unwrap_err();
        let text = Chain(&error).to_string();
        assert_eq!(error.kind(), ErrorKind::PeerMisbehaved, "{text}");
        assert!(text.contains(part) && !text.contains("s3cret"), "{text}");
        stream.abandoned().await;
    }
    let accepting = tokio::spawn(async move { forbidden.accept().await.map(drop) });
    accepting.abort();
    assert!(accepting.await.unwrap_err().is_cancelled(), "nobody has connected");
}

/// If the stream is not one of this transport, the error is that of the message.
#[tokio::test(start_paused = true)]
async fn a_server_that_only_refuses_is_no_old_server() {
    for (kind, said) in [
        ("", ""),
        ("text/html", "<html>"),
        ("text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"),
        ("text/event-stream", "id: 1\ndata:\n\n"),
        ("text/event-stream", ""),
    ] {
        let mut stage = Stage::open().await;
        let connecting = connecting(&stage);
        refuse(&mut stage, "404 Not Found").await;
        let asked = opening(&mut stage).await;
        let mut kept = None;
        match kind {
            "" => asked.plain("405 Method Not Allowed").await,
            "text/event-stream" => {
                let mut stream = asked.stream().await;
                stream.say(said).await;
                // It stays open, and sends nothing more.
                kept = Some(stream);
            }
            _ => asked.with("200 OK", &format!("content-type: {kind}\r\n"), said).await,
        }
        let error = connecting.await.unwrap().unwrap_err();
        assert_eq!(error.http_status(), Some(404), "{error:?}");
        assert!(format!("{error:?}").contains("Cannot POST"), "{error:?}");
        drop(kept);
    }
    for status in ["401 Unauthorized", "403 Forbidden", "429 Too Many", "500 Oops"] {
        let mut stage = Stage::open().await;
        let connecting = connecting(&stage);
        refuse(&mut stage, status).await;
        connecting.await.unwrap().unwrap_err();
        stage.stays_quiet().await;
    }
}

/// A transport to a server that does not accept messages at the URL of its stream, like servers of 2024.
struct OfThatTime(HttpService);

impl HttpClient for OfThatTime {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, toolway::Result<Response<HttpBody>>> {
        let mut service = self.0.clone();
        let is_message = request.method() == Method::POST;
        let knows_where = request.uri().query().is_some_and(|query| query.contains("sessionId="));
        Box::pin(async move {
            if is_message && !knows_where {
                let mut response = Response::new(HttpBody::new(Full::new(Bytes::new())));
                *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
                return Ok(response);
            }
            let Ok(response) = service.call(request.map(Full::new)).await;
            Ok(response.map(HttpBody::new))
        })
    }
}

/// Asks who it is, and tells of it.
#[tool]
async fn greet(ctx: Ctx) -> Result<String, ToolError> {
    #[derive(Form)]
    struct Name {
        name: String,
    }
    ctx.progress(1, 2, "asking").await;
    let Name { name } = ctx.ask("Who are you?").await?;
    Ok(format!("hello {name}"))
}

#[tokio::test]
async fn messages_have_the_same_borders_as_on_other_wires() {
    let connect = async |builder: ClientBuilder, server: &Server| {
        let url = Http::new("http://localhost/mcp").with_client(OfThatTime(server.http().legacy_sse()));
        builder.connect_http(url).await.unwrap()
    };
    let server = sizes::server().max_message(10_001).build().unwrap();
    let client = connect(Client::builder().max_message(10_000), &server).await;
    sizes::find_the_border_of_replies(&client).await;
    let server = sizes::server().max_message(10_000).build().unwrap();
    let client = connect(Client::builder(), &server).await;
    sizes::find_the_border_of_requests(&client, "server takes").await;
}

#[tokio::test]
async fn our_own_server_is_spoken_with_as_it_was_then() {
    let server = Server::new("old", "1.0.0").tools(tools![greet]).build().unwrap();
    let url = Http::new("http://localhost/mcp").with_client(OfThatTime(server.http().legacy_sse()));
    let builder = Client::builder().on_elicit(|_| async { Answer::accept(json!({"name": "Ada"})) });
    let client = builder.connect_http(url).await.unwrap();
    assert_eq!(client.protocol_version(), ProtocolVersion::LATEST_HANDSHAKE);
    let mut told = client.notifications();
    let greeting = client.call("greet", json!({})).await.unwrap();
    assert_eq!(greeting.first_text(), Some("hello Ada"));
    assert!(matches!(told.next().await, Some(Notification::Progress(_))));
    client.close().await.unwrap();
}
