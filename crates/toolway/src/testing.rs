//! Servers and clients joined for tests.
//!
//! [`connect`] joins a client to a server with nothing in between. [`each_wire`] runs a test over every way a
//! message can take: each era, each transport. [`ctx`] and [`ctx_answering`] are for functions that are called without any of
//! that.

use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::{Era, ProtocolVersion};

use crate::client::{Client, ClientBuilder};
use crate::ground::panic::catch;
use crate::ground::peer::Peer;
use crate::server::call::question_log::{Asking, Way};
use crate::server::{Arrival, Ctx, Place, Scope, Server};

/// Joins a client to a server in this process, in the newest revision.
///
/// # Panics
///
/// When the server refuses the client.
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
    join(Client::builder(), server, wire).await.0
}

/// A call of nobody, for a unit test of a function that takes [`Ctx`]: progress and log messages go nowhere, resources of
/// the server can be read, what is remembered is forgotten with it, and the call does not end.
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
    in_call(server, Peer::unknown(ProtocolVersion::LATEST), Asking::default())
}

/// A call as [`ctx`] is one, of somebody who answers questions: the answers by the keys of their questions.
///
/// An answer is what is filled in, or `null` of somebody who declines. It is checked against the form as ever. Under `"roots"`
/// and `"sample"`, the keys of questions for roots and to the model, it is the whole result that a client would send.
/// A question that has no answer here ends with [`AskErrorKind::Unanswered`](crate::AskErrorKind::Unanswered).
///
/// ```
/// use serde_json::json;
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
        |parts: &[&str]| -> Settings { parts.iter().map(|part| ((*part).to_owned(), json!({}))).collect() };
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
    in_call(server, peer, Asking { way: Way::Again, past: None, fresh: Some(Arc::new(fresh.collect())) })
}

fn in_call(server: &Server, peer: Peer, asking: Asking) -> Ctx {
    let memory = Some(Place::here());
    let arrival = Arrival { peer: Arc::new(peer), asking, memory, ..Arrival::default() };
    let scope = Scope::begin(server.clone(), Box::new(arrival));
    let ctx = Ctx::of(&scope);
    // The call goes on as long as the context is there.
    std::mem::forget(scope);
    ctx
}

/// Runs `test` on every wire: the newest revision of each era, called directly, over a pipe and over HTTP,
/// and the older revisions directly.
///
/// A behaviour test does not know its wire. When it fails, the message says on which one.
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
/// When the test does, on the first wire where it does.
pub async fn each_wire(server: &Server, test: impl AsyncFn(Client)) {
    each_wire_as(Client::builder(), server, test).await;
}

/// Runs a test as [`each_wire`] does, with clients of your own: ones that answer what the server asks, for example. Their
/// revision is the wire's.
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
/// As [`each_wire`] does.
pub async fn each_wire_as(builder: ClientBuilder, server: &Server, test: impl AsyncFn(Client)) {
    on(builder, server, Wire::all(), test).await;
}

/// Runs a test over every wire on which a server can speak unasked and remembers its peer: those of the handshake
/// era.
///
/// # Panics
///
/// As [`each_wire`] does.
pub async fn each_session(server: &Server, test: impl AsyncFn(Client)) {
    each_session_as(Client::builder(), server, test).await;
}

/// Runs a test as [`each_session`] does, with clients of your own.
///
/// # Panics
///
/// As [`each_wire`] does.
pub async fn each_session_as(builder: ClientBuilder, server: &Server, test: impl AsyncFn(Client)) {
    let wires = Wire::all().filter(|wire| wire.version.era() == Era::Handshake);
    on(builder, server, wires, test).await;
}

async fn on(
    builder: ClientBuilder,
    server: &Server,
    wires: impl Iterator<Item = Wire>,
    test: impl AsyncFn(Client),
) {
    for wire in wires {
        let (client, _serving) = join(builder.clone(), server, wire).await;
        assert_eq!(client.protocol_version(), wire.version, "on {wire}");
        if let Err(panic) = catch(|| Box::pin(test(client))).await {
            panic!("on {wire}: {panic}");
        }
    }
}

/// A way that messages can take.
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

/// A client on a wire, and the task that serves it, which ends with what is returned.
async fn join(builder: ClientBuilder, server: &Server, wire: Wire) -> (Client, JoinSet<()>) {
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
    (client.unwrap_or_else(|error| panic!("on {wire}: the client could not connect: {error}")), serving)
}
