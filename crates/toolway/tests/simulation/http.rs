//! HTTP to the server, without sockets: each request is a connection of its own, with a nemesis in between.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response};
use http_body::{Body, Frame};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use toolway::client::{HttpBody, HttpClient};
use toolway::server::http::{RemoteAddr, ResponseBody};
use toolway::transport::sse::Parser;
use toolway::{BoxFuture, Error, ErrorKind};

use crate::history::{Event, History};
use crate::nemesis::{Break, Fault, Nemesis, Pace};
use crate::random::Random;
use crate::world::{Node, World};

/// Sends the requests of one client.
pub(crate) struct FaultyHttp {
    world: World,
    nemesis: Nemesis,
    seen: Seen,
}

/// The events that a client has received: for each stream, the purpose of the request that opened it and the ids.
type Seen = Arc<Mutex<BTreeMap<String, (String, BTreeSet<String>)>>>;
/// The head of a reply, and its body as it arrives.
type Reply = toolway::Result<Response<HttpBody>>;
type Piece = Result<Bytes, io::Error>;

impl FaultyHttp {
    pub(crate) fn new(world: &World, nemesis: &Nemesis) -> Self {
        Self { world: world.clone(), nemesis: nemesis.clone(), seen: Seen::default() }
    }

    /// Describes a request without what is random, or depends on the order of requests: a call and an answer by the key
    /// of the call, a resumed stream by the request that opened it.
    fn purpose(&self, request: &Request<Bytes>) -> String {
        if let Some(last) = request.headers().get("last-event-id") {
            let stream = stream_of(last.to_str().unwrap());
            let seen = self.seen.lock().unwrap();
            return format!("resume {}", seen.get(stream).map_or("?", |(purpose, _)| purpose));
        }
        let message: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let params = &message["params"];
        let (call, cancelled) = (&params["arguments"]["key"], &params["requestId"]);
        let answer = &message["result"]["content"]["word"];
        format!("{} {} {call}{cancelled}{answer}", request.method(), message["method"]).replace("null", "")
    }
}

/// Returns the part of an event id that all events of a stream share.
fn stream_of(event: &str) -> &str {
    event.split('.').next().unwrap()
}

impl HttpClient for FaultyHttp {
    fn send(&self, mut request: Request<Bytes>) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let purpose = self.purpose(&request);
            self.world.history.add(Event::Sent { client: self.nemesis.client, request: purpose.clone() });
            let (fault, way, random) = self.nemesis.draw(&purpose, 1500);
            let node = self.world.node().filter(|_| !self.nemesis.has_vanished());
            let is_unreachable =
                fault == Fault::Unreachable && self.nemesis.strike(format_args!("http, {fault}"));
            let Some(node) = node.filter(|_| !is_unreachable) else {
                if !is_unreachable {
                    self.nemesis.strike("no server");
                }
                sleep(Duration::from_millis(1)).await;
                return Err(Error::new(ErrorKind::Transport, "the connection was refused").unsent());
            };
            let address = format!("127.0.0.{}:9", self.nemesis.client + 1).parse().unwrap();
            request.headers_mut().insert("host", HeaderValue::from_static("localhost"));
            request.extensions_mut().insert(RemoteAddr(address));
            let (reply, replied) = oneshot::channel();
            let (history, seen) = (self.world.history.clone(), self.seen.clone());
            let received = Received { history, seen, purpose: purpose.clone(), parser: Parser::new(1 << 20) };
            let connection = Connection { nemesis: self.nemesis.clone(), fault, way, random };
            let running = Box::pin(connection.run(node, request, ClientSide::new(reply, received)));
            self.world.depart(self.nemesis.client, purpose, running);
            let lost = || Error::new(ErrorKind::Transport, "the connection broke").reply_lost();
            replied.await.unwrap_or_else(|_| Err(lost()))
        })
    }
}

/// The connection of one request.
struct Connection {
    nemesis: Nemesis,
    fault: Fault,
    way: Break,
    random: Random,
}

impl Connection {
    /// Serves the request until its reply is complete, the client gives it up, or the connection breaks.
    async fn run(mut self, node: Node, request: Request<Bytes>, mut client: ClientSide) {
        let (nemesis, fault, way) = (self.nemesis.clone(), self.fault, self.way);
        let broken = async {
            match fault {
                Fault::After(time) => sleep(time).await,
                _ => std::future::pending().await,
            }
            if !nemesis.strike(format_args!("http, {fault}")) {
                std::future::pending::<()>().await;
            }
        };
        let gone = async {
            node.gone().await;
            nemesis.strike("restart");
        };
        let is_cut = tokio::select! {
            biased;
            () = broken => true,
            () = gone => true,
            is_cut = self.serve(&node, request, &mut client) => is_cut,
        };
        if is_cut {
            client.fail(way).await;
        }
    }

    /// Returns whether the connection broke.
    async fn serve(&mut self, node: &Node, request: Request<Bytes>, client: &mut ClientSide) -> bool {
        let mut pace = Pace::new(&mut self.random);
        pace.travel(&self.nemesis).await;
        let (request, is_cut) = self.upload(request, pace.chunk);
        let response = tokio::select! {
            biased;
            () = client.gave_up() => {
                // The server learns of it a little later.
                pace.travel(&self.nemesis).await;
                return false;
            }
            response = node.service.handle(request) => response,
        };
        if is_cut {
            return self.cut().await;
        }
        pace.travel(&self.nemesis).await;
        if !client.start(&response) {
            return false;
        }
        self.download(response.into_body(), pace, client).await
    }

    /// Keeps both sides uninformed if the break is silent.
    async fn cut(&self) -> bool {
        if self.way == Break::Silent {
            self.nemesis.until_calm().await;
        }
        true
    }

    /// Returns the request as the server gets it, and whether it breaks off.
    fn upload(&self, request: Request<Bytes>, chunk: usize) -> (Request<ChannelBody>, bool) {
        let (parts, body) = request.into_parts();
        let limit = match self.fault {
            Fault::Up(limit)
                if limit < body.len() as u64
                    && self.nemesis.strike(format_args!("http, {}, {:?}", self.fault, self.way)) =>
            {
                Some(usize::try_from(limit).unwrap())
            }
            _ => None,
        };
        let arrives = &body[..limit.unwrap_or(body.len())];
        let (pieces, receiver) = mpsc::channel(arrives.len() / chunk + 2);
        for piece in arrives.chunks(chunk) {
            pieces.try_send(Ok(Bytes::copy_from_slice(piece))).unwrap();
        }
        if limit.is_some() {
            pieces.try_send(Err(reset())).unwrap();
        }
        (Request::from_parts(parts, ChannelBody { pieces: receiver, received: None }), limit.is_some())
    }

    async fn download(&mut self, mut body: ResponseBody, mut pace: Pace, client: &ClientSide) -> bool {
        let mut left = match self.fault {
            Fault::Down(limit) => usize::try_from(limit).unwrap(),
            _ => usize::MAX,
        };
        loop {
            let frame = tokio::select! {
                biased;
                () = client.pieces.closed() => {
                    pace.travel(&self.nemesis).await;
                    return false;
                }
                frame = body.frame() => frame,
            };
            let Some(Ok(frame)) = frame else { return false };
            let data = frame.into_data().unwrap_or_default();
            for piece in data.chunks(pace.chunk) {
                pace.travel(&self.nemesis).await;
                let is_cut = piece.len() > left
                    && self.nemesis.strike(format_args!("http, {}, {:?}", self.fault, self.way));
                let piece = if is_cut { &piece[..left] } else { piece };
                if !piece.is_empty() && client.pieces.send(Ok(Bytes::copy_from_slice(piece))).await.is_err() {
                    return false;
                }
                if is_cut {
                    return self.cut().await;
                }
                left = left.saturating_sub(piece.len());
            }
        }
    }
}

/// The end of a connection at the client.
struct ClientSide {
    reply: Option<(oneshot::Sender<Reply>, ChannelBody)>,
    pieces: mpsc::Sender<Piece>,
    is_stream: bool,
}

impl ClientSide {
    fn new(reply: oneshot::Sender<Reply>, received: Received) -> Self {
        let (pieces, queue) = mpsc::channel(1);
        let body = ChannelBody { pieces: queue, received: Some(received) };
        Self { reply: Some((reply, body)), pieces, is_stream: false }
    }

    /// Waits until the client does not wait for the reply any more.
    async fn gave_up(&mut self) {
        if let Some((reply, _)) = &mut self.reply {
            reply.closed().await;
        }
    }

    /// Delivers the head of the reply. Returns whether the client still wants it.
    fn start(&mut self, response: &Response<ResponseBody>) -> bool {
        let Some((reply, mut body)) = self.reply.take() else { return false };
        self.is_stream =
            response.headers().get("content-type").is_some_and(|kind| kind == "text/event-stream");
        if !self.is_stream {
            body.received = None;
        }
        let mut head = Response::new(HttpBody::new(body));
        *head.status_mut() = response.status();
        *head.headers_mut() = response.headers().clone();
        reply.send(Ok(head)).is_ok()
    }

    /// Breaks the connection. The client may notice only that a stream ends; a reply of one piece has a length, so it
    /// always notices that bytes are missing.
    async fn fail(self, way: Break) {
        if way != Break::OneDirection || !self.is_stream {
            let _ = self.pieces.send(Err(reset())).await;
        }
    }
}

fn reset() -> io::Error {
    io::ErrorKind::ConnectionReset.into()
}

/// A body that arrives in pieces.
struct ChannelBody {
    pieces: mpsc::Receiver<Piece>,
    received: Option<Received>,
}

impl Body for ChannelBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let piece = std::task::ready!(self.pieces.poll_recv(cx));
        if let (Some(received), Some(Ok(bytes))) = (&mut self.received, &piece) {
            received.push(bytes);
        }
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }
}

/// Checks what the client receives: no event comes twice, however often a stream is resumed.
struct Received {
    history: History,
    seen: Seen,
    purpose: String,
    parser: Parser,
}

impl Received {
    fn push(&mut self, bytes: &[u8]) {
        self.parser.push(bytes);
        while let Some(event) = self.parser.next_event().unwrap() {
            let Some(id) = event.id else { continue };
            let mut seen = self.seen.lock().unwrap();
            let stream = seen.entry(stream_of(&id).to_owned());
            let (_, ids) = stream.or_insert_with(|| (self.purpose.clone(), BTreeSet::new()));
            if !ids.insert(id) {
                let text = String::from_utf8_lossy(&event.data).into_owned();
                self.history.add(Event::Broken(format!("an event came twice: {text}")));
            }
        }
    }
}
