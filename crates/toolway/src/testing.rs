//! Helpers for tests of servers and clients.
//!
//! [`connect`] connects a client to a server in memory. [`each_wire`] runs a test over several protocol revisions and
//! transports. [`ctx`] and [`ctx_answering`] create a [`Ctx`] for functions that are called directly, without a client.
//! [`fix_backoff`] makes the random waits of clients the same in each run. With the feature `auth`, `Issuer` is an
//! authorization server for tests, and `connect_as` connects as a verified caller.

#[cfg(feature = "auth")]
mod caller;
#[cfg(feature = "auth")]
mod issuer;

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use toolway_protocol::capability::{ClientCapabilities, JsonObject};
use toolway_protocol::{Era, ProtocolVersion};

use crate::client::{Client, ClientBuilder};
use crate::ground::error::Chain;
use crate::ground::jitter::FIXED_FRACTION;
use crate::ground::panic::catch_panic_async;
use crate::ground::peer::Peer;
use crate::server::call::question_log::{AskMode, QuestionContext};
use crate::server::parameter::Scope;
use crate::server::{Arrival, Ctx, MemoryRecord, Server};

#[cfg(feature = "auth")]
pub use self::caller::connect_as;
#[cfg(feature = "auth")]
pub use self::issuer::{Issuer, IssuerFault};

/// Connects a client to a server in this process, with the newest protocol revision.
///
/// # Panics
///
/// Panics if the server refuses the client.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::testing::connect;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// let client = connect(&server).await;
/// let sum = client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
/// assert_eq!(sum.first_text(), Some("5"));
/// # Ok(())
/// # }
/// ```
pub async fn connect(server: &Server) -> Client {
    let wire = Wire { version: ProtocolVersion::LATEST, link: Link::Direct };
    connect_over(Client::builder(), server, wire).await.0
}

/// Creates a [`Ctx`] without a client, for unit tests of a function that takes one. Progress and log messages are
/// dropped. Resources of the server can be read. Values that the function remembers are dropped with the context. The
/// call is never cancelled.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::testing::ctx;
///
/// /// The rules of the house.
/// #[resource("house://rules")]
/// fn rules() -> &'static str {
///     "be kind"
/// }
///
/// /// Say the rules, loudly.
/// #[tool]
/// async fn shout(ctx: Ctx) -> Result<String, ToolError> {
///     ctx.progress(1, 2, "reading").await;
///     let rules = ctx.read_resource("house://rules").await?;
///     Ok(rules.text().unwrap_or_default().to_uppercase())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let server = Server::new("house", "1.0.0").resources(resources![rules]).build()?;
/// assert_eq!(shout(ctx(&server)).await.unwrap(), "BE KIND");
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
pub fn ctx(server: &Server) -> Ctx {
    ctx_with(server, Peer::unknown(ProtocolVersion::LATEST), QuestionContext::default())
}

/// Creates a [`Ctx`] like [`ctx`] does, with answers to the questions that the function asks. Each answer has the key
/// of its question.
///
/// An answer is the content of the form, or `null` to decline. It is checked against the form as usual. The keys
/// `"roots"` and `"sample"` are for roots and for requests to the model; their answer is the whole result that a client
/// would send. A question without an answer in `answers` fails with
/// [`AskErrorKind::Unanswered`](crate::server::ask::AskErrorKind::Unanswered).
///
/// ```
/// use serde_json::json;
/// use toolway::Form;
/// use toolway::prelude::*;
/// use toolway::testing::ctx_answering;
///
/// #[derive(Form)]
/// struct Confirm {
///     name: String,
///     #[form(default = true)]
///     backup: bool,
/// }
///
/// /// Delete a project.
/// #[tool]
/// async fn delete(ctx: Ctx) -> Result<String, ToolError> {
///     let roots = ctx.roots().await?;
///     let Confirm { name, backup } = ctx.ask("Delete everything?").await?;
///     Ok(format!("deleted {name} in {}, backup: {backup}", roots[0].uri))
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let server = Server::new("projects", "1.0.0").build()?;
/// let roots = json!({"roots": [{"uri": "file:///srv"}]});
/// let ctx = ctx_answering(&server, [("roots", roots.clone()), ("Confirm", json!({"name": "apollo"}))]);
/// assert_eq!(delete(ctx).await.unwrap(), "deleted apollo in file:///srv, backup: true");
///
/// let declining = ctx_answering(&server, [("roots", roots), ("Confirm", json!(null))]);
/// assert!(delete(declining).await.is_err());
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
pub fn ctx_answering(server: &Server, answers: impl IntoIterator<Item = (impl Into<String>, Value)>) -> Ctx {
    let mut peer = Peer::unknown(ProtocolVersion::LATEST);
    let able =
        |parts: &[&str]| -> JsonObject { parts.iter().map(|part| ((*part).to_owned(), json!({}))).collect() };
    peer.capabilities = ClientCapabilities::new()
        .with_elicitation(able(&["form", "url"]))
        .with_sampling(able(&["tools"]))
        .with_roots(able(&[]));
    let fresh = answers.into_iter().map(|(key, answer)| {
        let key = key.into();
        let answer = match (key.as_str(), answer) {
            ("roots" | "sample", result) => result,
            (_, Value::Null) => json!({"action": "decline"}),
            (_, content) => json!({"action": "accept", "content": content}),
        };
        (key, Ok(answer.into()))
    });
    ctx_with(
        server,
        peer,
        QuestionContext {
            mode: AskMode::NextCall,
            replay: None,
            new_answers: Some(Arc::new(fresh.collect())),
        },
    )
}

fn ctx_with(server: &Server, peer: Peer, asking: QuestionContext) -> Ctx {
    let memory = Some(MemoryRecord::in_process());
    let arrival =
        Arrival { peer: Arc::new(peer), questions: asking, memory_record: memory, ..Arrival::default() };
    let scope = Scope::begin(server.clone(), Box::new(arrival));
    let ctx = Ctx::of(&scope);
    // Dropping the scope would end the call while the context is still in use.
    std::mem::forget(scope);
    ctx
}

/// Runs `test` on every wire. A wire is a protocol revision over a transport. The newest revision, and the newest
/// revision with a handshake, are tested in memory, over a pipe and over HTTP. The older revisions are tested in
/// memory.
///
/// The behaviour of a server should be the same on every wire. If the test fails, the panic message names the wire.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::testing::each_wire;
///
/// /// Add two numbers.
/// #[tool]
/// fn add(a: f64, b: f64) -> f64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
/// each_wire(&server, async |client| {
///     let result = client.call("add", serde_json::json!({"a": 2, "b": 3})).await.unwrap();
///     assert_eq!(result.first_text(), Some("5"));
/// })
/// .await;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
///
/// # Panics
///
/// Panics if the test panics, on the first wire where it does.
pub async fn each_wire(server: &Server, test: impl AsyncFn(Client)) {
    each_wire_as(Client::builder(), server, test).await;
}

/// Runs a test as [`each_wire`] does, with clients from your own builder: for example, clients that answer questions of
/// the server. The wire sets the protocol revision of the clients.
///
/// ```
/// use toolway::client::Answer;
/// use toolway::prelude::*;
/// use toolway::testing::each_wire_as;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::new("calculator", "1.0.0").build()?;
/// let builder = Client::builder().on_elicit(|_| async { Answer::defaults() });
/// each_wire_as(builder, &server, async |client| client.ping().await.unwrap()).await;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
///
/// # Panics
///
/// Panics as [`each_wire`] does.
pub async fn each_wire_as(builder: ClientBuilder, server: &Server, test: impl AsyncFn(Client)) {
    run_on(builder, server, &mut Wire::all(), &|client| Box::pin(test(client))).await;
}

/// Runs a test as [`each_wire`] does, but only with the revisions that have sessions, up to 2025-11-25. With these
/// revisions, the server remembers its client and can send messages outside of requests.
///
/// # Panics
///
/// Panics as [`each_wire`] does.
pub async fn each_session(server: &Server, test: impl AsyncFn(Client)) {
    each_session_as(Client::builder(), server, test).await;
}

/// Runs a test as [`each_session`] does, with clients from your own builder.
///
/// # Panics
///
/// Panics as [`each_wire`] does.
pub async fn each_session_as(builder: ClientBuilder, server: &Server, test: impl AsyncFn(Client)) {
    let mut wires = Wire::all().filter(|wire| wire.version.era() == Era::Handshake);
    run_on(builder, server, &mut wires, &|client| Box::pin(test(client))).await;
}

/// A test, with its type erased, so that a program with hundreds of them has one copy of what runs them.
type Test<'t> = dyn Fn(Client) -> Pin<Box<dyn Future<Output = ()> + 't>> + 't;

async fn run_on(
    builder: ClientBuilder,
    server: &Server,
    wires: &mut dyn Iterator<Item = Wire>,
    test: &Test<'_>,
) {
    for wire in wires {
        let (client, _serving) = connect_over(builder.clone(), server, wire).await;
        assert_eq!(client.protocol_version(), wire.version, "on {wire}");
        if let Err(panic) = catch_panic_async(|| test(client)).await {
            panic!("on {wire}: {panic}");
        }
    }
}

/// Makes the random waits of clients on this thread the same in each run: the waits before a client retries or
/// reconnects. `fraction` is the part of the longest possible wait, from 0 to 1. Together with the paused clock of
/// tokio, a test in which connections break then takes the same course each time.
///
/// ```
/// toolway::testing::fix_backoff(0.5);
/// ```
pub fn fix_backoff(fraction: f64) {
    FIXED_FRACTION.set(Some(fraction.clamp(0.0, 1.0)));
}

/// A protocol revision over a transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wire {
    version: ProtocolVersion,
    link: Link,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Link {
    Direct,
    Pipe,
    Http,
}

impl Wire {
    fn all() -> impl Iterator<Item = Self> {
        ProtocolVersion::ALL.into_iter().rev().flat_map(|version| {
            let is_newest =
                version == ProtocolVersion::LATEST || version == ProtocolVersion::LATEST_HANDSHAKE;
            let links: &[Link] =
                if is_newest { &[Link::Direct, Link::Pipe, Link::Http] } else { &[Link::Direct] };
            links.iter().map(move |link| Self { version, link: *link })
        })
    }
}

impl fmt::Display for Wire {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let link = match self.link {
            Link::Direct => "called directly",
            Link::Pipe => "over a pipe",
            Link::Http => "over HTTP",
        };
        write!(f, "{} {link}", self.version)
    }
}

/// Connects a client over a wire. Also returns the task that serves it, which is aborted when the returned set is
/// dropped.
async fn connect_over(builder: ClientBuilder, server: &Server, wire: Wire) -> (Client, JoinSet<()>) {
    let builder = builder.protocol(wire.version);
    let mut serving = JoinSet::new();
    let client = match wire.link {
        Link::Direct => builder.connect(server).await,
        Link::Pipe => {
            let (near, far) = tokio::io::duplex(64 << 10);
            let server = server.clone();
            serving.spawn(async move {
                let (reader, writer) = tokio::io::split(far);
                drop(server.serve_io(reader, writer).await);
            });
            let (reader, writer) = tokio::io::split(near);
            builder.connect_io(reader, writer).await
        }
        Link::Http => {
            let listener =
                TcpListener::bind("127.0.0.1:0").await.expect("a free port on the loopback interface");
            let address = listener.local_addr().expect("a bound socket has an address");
            let service = server.http();
            serving.spawn(async move { drop(service.serve(listener).await) });
            builder.connect_http(&format!("http://{address}/mcp")).await
        }
    };
    (
        client.unwrap_or_else(|error| panic!("on {wire}: the client could not connect: {}", Chain(&error))),
        serving,
    )
}
