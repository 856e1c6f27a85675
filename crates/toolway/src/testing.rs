//! Servers and clients joined for tests.
//!
//! [`connect`] joins a client to a server with nothing in between. [`each_wire`] runs a test over every way a
//! message can take: each era, each transport.

use std::fmt;

use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use toolway_protocol::{Message, ProtocolVersion};

use crate::client::{Carried, Client, Outgoing, Transport};
use crate::panic::catch;
use crate::server::{Conversation, Server};

/// Joins a client to a server in this process, in the newest revision.
///
/// # Panics
///
/// When the server refuses the client.
pub async fn connect(server: &Server) -> Client {
    join(server, Wire { version: ProtocolVersion::LATEST, link: Link::Direct }).await.0
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
    for wire in Wire::all() {
        let (client, _guard) = join(server, wire).await;
        assert_eq!(client.protocol_version(), wire.version, "on {wire}");
        if let Err(panic) = catch(test(client)).await {
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

/// Ends the serving side when the test is over.
struct Guard(Option<AbortHandle>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

async fn join(server: &Server, wire: Wire) -> (Client, Guard) {
    let builder = Client::builder().protocol(wire.version);
    let (client, guard) = match wire.link {
        Link::Direct => (builder.connect(Direct(Conversation::new(server.clone()))).await, Guard(None)),
        Link::Pipe => {
            let (near, far) = tokio::io::duplex(64 << 10);
            let server = server.clone();
            let task = tokio::spawn(async move {
                let (reader, writer) = tokio::io::split(far);
                server.serve_io(reader, writer).await
            });
            let (reader, writer) = tokio::io::split(near);
            (builder.connect_io(reader, writer).await, Guard(Some(task.abort_handle())))
        }
        Link::Http => {
            let listener =
                TcpListener::bind("127.0.0.1:0").await.expect("a free port on the loopback interface");
            let address = listener.local_addr().expect("a bound socket has an address");
            let task = tokio::spawn(server.http().serve(listener));
            (builder.connect_http(&format!("http://{address}/mcp")).await, Guard(Some(task.abort_handle())))
        }
    };
    (client.unwrap_or_else(|error| panic!("on {wire}: the client could not connect: {error}")), guard)
}

/// Calls the server without any bytes moving.
struct Direct(Conversation);

impl Direct {
    async fn answer(&self, outgoing: Outgoing) -> crate::Result<Option<Message>> {
        let message = self.0.read(&outgoing.frame).map_err(|rejected| rejected.error)?;
        if outgoing.id.is_none() {
            return Ok(None);
        }
        let reply = self.0.serve(message).await;
        Ok(Some(self.0.read(&reply.into()).map_err(|rejected| rejected.error)?))
    }
}

impl Transport for Direct {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        Box::pin(self.answer(outgoing))
    }
}
