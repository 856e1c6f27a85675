//! How large are the futures that carry a request? Each of them is moved into its place, so its size is work and memory.
//!
//! If one of these tests fails, find the value that is held across a point of suspension: `docs/design/0023-small-futures.md` says how.

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use tokio::net::{TcpListener, TcpStream};
use toolway_protocol::era::{Claim, Delivery, classify_in};
use toolway_protocol::jsonrpc::{ParsedFrame, parse};
use toolway_protocol::{Message, ProtocolVersion};

use super::stateless;
use crate::server::Server;
use crate::server::pipe::conversation::Conversation;

/// A call of the stateless era.
fn text() -> Bytes {
    let version = ProtocolVersion::LATEST;
    let meta = format!(
        r#""io.modelcontextprotocol/protocolVersion":"{version}","io.modelcontextprotocol/clientCapabilities":{{}}"#
    );
    let params = format!(r#"{{"name":"echo","arguments":{{"text":"hi"}},"_meta":{{{meta}}}}}"#);
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#).into()
}

fn server() -> Server {
    Server::new("sizes", "1.0.0").build().unwrap()
}

fn call(server: &Server) -> Message {
    match parse(&text(), server.inner.limits) {
        Ok(ParsedFrame::One(message)) => message,
        other => panic!("not one message: {other:?}"),
    }
}

#[track_caller]
fn assert_at_most(max: usize, size: usize) {
    assert!(size <= max, "{size} bytes, of at most {max}");
}

#[test]
fn the_future_of_a_request_over_http_is_small() {
    let service = server().http();
    let request = Request::post("/mcp").body(Full::new(text())).unwrap();
    assert_at_most(1664, size_of_val(&service.handle(request)));
}

#[test]
fn the_future_of_a_stateless_call_over_http_is_small() {
    let service = server().http();
    let server = &service.endpoint().server;
    let message = call(server);
    let Ok(Claim::Stateless(envelope)) = classify_in(server.inner.era, &message, Delivery::Pipe) else {
        panic!("not a stateless request")
    };
    let answer = stateless::post(service.endpoint(), Box::default(), message, envelope);
    assert_at_most(2240, size_of_val(&*answer));
}

#[test]
fn the_future_of_a_message_on_a_pipe_is_small() {
    let server = server();
    let message = call(&server);
    let conversation = std::sync::Arc::new(Conversation::new(server));
    assert_at_most(2816, size_of_val(&*conversation.serve(message, Box::default())));
}

#[tokio::test]
async fn the_future_of_a_connection_is_small() {
    let service = server().http();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let socket = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let remote = socket.local_addr().unwrap();
    assert_at_most(1536, size_of_val(&service.serve_socket(socket, remote)));
}
