//! The client: does it find the era, read replies of every form, and report which side is at fault?

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use toolway::prelude::*;
use toolway::{Chain, Era, Error, ErrorKind, ProtocolVersion};

use crate::ports::Port;

/// A foreign server on a pipe with scripted answers; `ID` stands for the request's id. Returns the methods that it
/// received.
fn scripted(answers: Vec<&'static str>) -> (tokio::io::DuplexStream, JoinHandle<Vec<String>>) {
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = tokio::spawn(async move {
        let (reader, mut writer) = tokio::io::split(far);
        let mut lines = BufReader::new(reader).lines();
        let mut answers = answers.into_iter();
        let mut asked = Vec::new();
        while let Ok(Some(line)) = lines.next_line().await {
            let message: Value = serde_json::from_str(&line).unwrap();
            asked.push(message["method"].as_str().unwrap().to_owned());
            // Only requests take an answer from the script.
            if let Some(id) = message.get("id")
                && let Some(answer) = answers.next()
            {
                writer.write_all(answer.replace("ID", &id.to_string()).as_bytes()).await.unwrap();
                writer.write_all(b"\n").await.unwrap();
            }
        }
        asked
    });
    (near, server)
}

async fn connect(answers: Vec<&'static str>) -> (Result<Client, Error>, JoinHandle<Vec<String>>) {
    let (pipe, server) = scripted(answers);
    let (reader, writer) = tokio::io::split(pipe);
    (Client::connect_io(reader, writer).await, server)
}

const INITIALIZED: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"old","version":"1"}}}"#;

#[tokio::test]
async fn a_server_that_does_not_know_discovery_is_opened_by_a_handshake() {
    for refusal in [
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32602,"message":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"not initialized"}}"#,
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"],"requested":"x"}}}"#,
    ] {
        let (client, server) = connect(vec![refusal, INITIALIZED]).await;
        let client = client.unwrap();
        assert_eq!(client.protocol_version().to_string(), "2025-06-18");
        assert_eq!(client.protocol_version().era(), Era::Handshake);
        assert_eq!(client.server_info().unwrap().name, "old");
        drop(client);
        assert_eq!(server.await.unwrap(), ["server/discover", "initialize", "notifications/initialized"]);
    }
}

#[tokio::test]
async fn closing_a_pipe_takes_back_the_calls_that_were_given_up() {
    let refusal = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}"#;
    // A notification instead of an answer: the call has begun.
    let begun = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#;
    let (client, server) = connect(vec![refusal, INITIALIZED, begun]).await;
    let client = client.unwrap();
    let mut news = client.notifications();
    let mut call = client.call("slow", json!({}));
    tokio::select! {
        outcome = &mut call => panic!("{outcome:?}"),
        _ = news.next() => {}
    }
    drop(call);
    client.close().await.unwrap();
    let asked = server.await.unwrap();
    assert_eq!(asked[3..], ["tools/call", "notifications/cancelled"], "{asked:?}");
}

#[tokio::test]
async fn a_server_that_knows_discovery_is_not_asked_for_more() {
    let discovered = r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2099-01-01","2026-07-28","2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}}"#;
    let (client, server) = connect(vec![discovered]).await;
    let client = client.unwrap();
    assert_eq!(client.protocol_version(), ProtocolVersion::LATEST);
    assert!(client.server_info().is_none(), "an identity is not required");
    drop(client);
    assert_eq!(server.await.unwrap(), ["server/discover"]);
}

#[tokio::test]
async fn one_correction_is_made_and_no_second() {
    let correction = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"],"requested":"x"}}}"#;
    let (client, server) = connect(vec![correction, correction, correction]).await;
    assert_eq!(client.unwrap_err().rpc().unwrap().code.0, -32022);
    assert_eq!(server.await.unwrap(), ["server/discover", "server/discover"]);
}

#[tokio::test]
async fn a_server_of_no_common_version_is_incompatible() {
    let discovered =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2099-01-01"],"capabilities":{}}}"#;
    let (client, _) = connect(vec![discovered]).await;
    assert_eq!(client.unwrap_err().kind(), ErrorKind::PeerIncompatible);
    let refusal = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}"#;
    let future = r#"{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2099-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}"#;
    let (client, _) = connect(vec![refusal, future]).await;
    assert_eq!(client.unwrap_err().kind(), ErrorKind::PeerIncompatible);
}

#[tokio::test]
async fn rubbish_on_a_pipe_is_skipped() {
    let (client, _) = connect(vec![concat!(
        "Listening on stdio!\n",
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":{}}}"#,
    )])
    .await;
    client.unwrap();
}

/// The specification: a client of 2025-03-26 must accept batches.
#[tokio::test]
async fn a_batch_of_the_server_is_taken_apart() {
    let (client, _) = connect(vec![
        r#"[{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}]"#,
        r#"[{"jsonrpc":"2.0","id":ID,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}}]"#,
        r#"[7,{"jsonrpc":"2.0","method":"notifications/tools/list_changed"},{"jsonrpc":"2.0","id":5,"method":"ping"},{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}]"#,
    ])
    .await;
    let client = client.unwrap();
    let mut news = client.notifications();
    assert_eq!(client.tools().await.unwrap()[0].name, "t");
    assert!(matches!(news.try_next(), Some(toolway::client::Notification::ToolsChanged(_))));
}

#[tokio::test]
async fn a_server_that_goes_away_is_a_transport_error_at_once() {
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let connecting = tokio::spawn(Client::connect_io(reader, writer));
    let mut first = [0; 1];
    let mut far = far;
    far.read_exact(&mut first).await.unwrap();
    drop(far);
    let error = connecting.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
}

#[tokio::test]
async fn a_server_on_a_pipe_may_ask_once_a_handshake_was_begun() {
    let refusal = concat!(
        r#"{"jsonrpc":"2.0","id":"early","method":"ping"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}"#,
    );
    let (near, far) = tokio::io::duplex(1 << 16);
    let (reader, writer) = tokio::io::split(near);
    let connecting = tokio::spawn(Client::connect_io(reader, writer));
    let (reader, mut writer) = tokio::io::split(far);
    let mut lines = BufReader::new(reader).lines();
    let mut next = async || -> Option<Value> {
        lines.next_line().await.unwrap().map(|line| serde_json::from_str(&line).unwrap())
    };
    for answer in [refusal, INITIALIZED] {
        let asked = next().await.unwrap();
        let answer = answer.replace("ID", &asked["id"].to_string()) + "\n";
        writer.write_all(answer.as_bytes()).await.unwrap();
    }
    assert_eq!(next().await.unwrap()["method"], "notifications/initialized");
    let client = connecting.await.unwrap().unwrap();
    let questions = concat!(
        r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":{}}"#,
        "\n",
    );
    writer.write_all(questions.as_bytes()).await.unwrap();
    assert_eq!(next().await.unwrap(), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    let refused = next().await.unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32601)));
    // Closing ends it for all clones, and pending calls fail.
    let clone = client.clone();
    let waiting = tokio::spawn(async move { clone.ping().await });
    assert_eq!(next().await.unwrap()["method"], "ping");
    client.close().await.unwrap();
    let error = waiting.await.unwrap().unwrap_err();
    assert!(error.is_reply_lost(), "{error}");
    assert!(next().await.is_none(), "the server's input has ended");
}

/// An HTTP server that gives each connection the same answer; `ID` stands for the request's id.
async fn http_answer(head: &'static str, body: &'static str) -> Result<Client, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}}}}") {
                let mut chunk = [0; 4096];
                let count = socket.read(&mut chunk).await.unwrap();
                request.extend_from_slice(&chunk[..count]);
            }
            let answer = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n{body}").replace("ID", "0");
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let client = Client::builder()
        .protocol(ProtocolVersion::LATEST)
        .connect_http(&format!("http://{address}/mcp"))
        .await;
    server.abort();
    client
}

#[tokio::test]
async fn a_reply_may_be_json_or_a_stream_of_events() {
    const RESULT: &str = r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}}"#;
    http_answer("200 OK\r\ncontent-type: application/json; charset=utf-8", RESULT).await.unwrap();
    let stream = concat!(
        ": hello\n\n",
        "id: 1\ndata:\n\n",
        "event: other\ndata: not for us\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\ndata: \"capabilities\":{}}}\n\n",
    );
    http_answer("200 OK\r\ncontent-type: text/event-stream", stream).await.unwrap();
}

#[tokio::test]
async fn what_is_no_reply_is_said_to_be_none() {
    for (head, body, part) in [
        ("502 Bad Gateway\r\ncontent-type: text/html", "<h1>no</h1>", "502 Bad Gateway"),
        ("200 OK\r\ncontent-type: application/json", r#"{"hello":"world"}"#, "200 OK"),
        ("404 Not Found", "", "404 Not Found"),
        ("200 OK\r\ncontent-type: text/event-stream", "data: {}\n\n", "not a message"),
        ("200 OK\r\ncontent-type: text/event-stream", ": bye\n\n", "broke off"),
    ] {
        let error = http_answer(head, body).await.unwrap_err();
        assert!(Chain(&error).to_string().contains(part), "{head}: {error:?}");
    }
}

/// An old HTTP server: it only knows `initialize`, and refuses other requests without a message.
async fn old_http(status: &'static str) -> Result<Client, Error> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"}") || !String::from_utf8_lossy(&request).contains("\r\n\r\n{") {
                let mut chunk = [0; 4096];
                let count = socket.read(&mut chunk).await.unwrap();
                request.extend_from_slice(&chunk[..count]);
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            let body: Value = serde_json::from_str(&request[request.find("\r\n\r\n").unwrap()..]).unwrap();
            let answer = match body["method"].as_str().unwrap() {
                "initialize" => format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{}",
                    INITIALIZED.replace("ID", &body["id"].to_string())
                ),
                "notifications/initialized" => {
                    "HTTP/1.1 202 Accepted\r\nconnection: close\r\n\r\n".to_owned()
                }
                _ => format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\nwhat?"),
            };
            socket.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let client = Client::connect_http(&format!("http://{address}/mcp")).await;
    server.abort();
    client
}

#[tokio::test]
async fn an_old_http_server_is_found_and_an_outage_is_not_taken_for_one() {
    for status in ["400 Bad Request", "404 Not Found", "405 Method Not Allowed", "406 Not Acceptable"] {
        let client = old_http(status).await.unwrap_or_else(|error| panic!("{status}: {error}"));
        assert_eq!(client.protocol_version().era(), Era::Handshake, "{status}");
    }
    for status in ["401 Unauthorized", "403 Forbidden", "429 Too Many Requests", "500 Oops", "503 Busy"] {
        let error = old_http(status).await.unwrap_err();
        assert_eq!(error.http_status().map(|code| code.to_string()).as_deref(), status.split(' ').next());
    }
}

#[tokio::test]
async fn a_result_of_an_unknown_type_is_not_taken_for_complete() {
    let discovered = r#"{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
    let strange = r#"{"jsonrpc":"2.0","id":ID,"result":{"resultType":"postponed","content":[]}}"#;
    let unsaid = r#"{"jsonrpc":"2.0","id":ID,"result":{"content":[]}}"#;
    let (client, _server) = connect(vec![discovered, strange, unsaid]).await;
    let client = client.unwrap();
    let error = client.call("x", json!({})).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PeerMisbehaved);
    assert!(error.to_string().contains("postponed"), "{error}");
    client.call("x", json!({})).await.unwrap();
}

#[tokio::test]
async fn a_result_is_an_object_and_not_an_array_in_the_same_order() {
    let refusal = r#"{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no"}}"#;
    let array = r#"{"jsonrpc":"2.0","id":ID,"result":[[],null]}"#;
    let (client, _server) = connect(vec![refusal, INITIALIZED, array]).await;
    assert_eq!(client.unwrap().tools().await.unwrap_err().kind(), ErrorKind::PeerMisbehaved);
}

#[tokio::test]
async fn pages_are_followed_but_not_for_ever() {
    let discovered = r#"{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}"#;
    let first = r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":""}}"#;
    let last =
        r#"{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}}"#;
    let (client, _server) = connect(vec![discovered, first, last, first, first]).await;
    let client = client.unwrap();
    let names: Vec<_> = client.tools().await.unwrap().into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["a", "b"], "the empty cursor is a cursor");
    assert!(client.tools().await.unwrap_err().to_string().contains("does not end"));
}

#[tokio::test]
async fn an_address_where_nobody_listens_is_named() {
    let port = Port::hold();
    let address = port.address;
    let error = Client::connect_http(&port.url()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
    assert!(error.to_string().contains(&format!("failed to connect to http://{address}/mcp")), "{error}");
    assert!(std::error::Error::source(&error).is_some());
    for (url, part) in [("ftp://a.example", "http://"), ("not a url", "not a URL")] {
        let error = Client::connect_http(url).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains(part), "{error}");
    }
}
