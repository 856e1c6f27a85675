//! Servers and clients joined for tests.
//!
//! [`connect`] joins a client to a server with nothing in between. [`each_wire`] runs a test over every way a
//! message can take: each era, each transport. [`ctx`] is for functions that are called without any of that.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};

use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::AbortHandle;
use toolway_protocol::{Era, Message, ProtocolVersion};

use crate::client::{Carried, Client, Inbox, Outgoing, Transport};
use crate::extensions::Extensions;
use crate::outbound::Outbound;
use crate::panic::catch;
use crate::peer::Peer;
use crate::server::{
    Admitted, Arrival, Connecting, Conversation, Ctx, Facts, Parameter, Refuse, Scope, Server, Threshold,
};

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
    join(server, Wire { version: ProtocolVersion::LATEST, link: Link::Direct }).await.0
}

/// A call of nobody, for a unit test of a function that takes [`Ctx`]: progress and log messages go nowhere, resources of
/// the server can be read, and the call does not end.
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
    let facts = Facts {
        peer: Arc::new(Peer::unknown(ProtocolVersion::LATEST)),
        progress_token: None,
        threshold: Threshold::Nothing,
    };
    let (scope, ending) = Scope::begin(server.clone(), facts, Arrival::default());
    std::mem::forget(ending);
    Ctx::absent(&scope).expect("every call has a context")
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
    on(server, Wire::all(), test).await;
}

/// Runs a test over every wire on which a server can speak unasked and remembers its peer: those of the handshake
/// era.
///
/// # Panics
///
/// As [`each_wire`] does.
pub async fn each_session(server: &Server, test: impl AsyncFn(Client)) {
    on(server, Wire::all().filter(|wire| wire.version.era() == Era::Handshake), test).await;
}

async fn on(server: &Server, wires: impl Iterator<Item = Wire>, test: impl AsyncFn(Client)) {
    for wire in wires {
        let (client, _guard) = join(server, wire).await;
        assert_eq!(client.protocol_version(), wire.version, "on {wire}");
        if let Err(panic) = catch(|| test(client)).await {
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
        Link::Direct => (builder.connect(Direct::new(server).await).await, Guard(None)),
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

/// A client and a server with nothing in between: a request is a call of a function.
struct Direct {
    /// What the server thinks of the client, as on a pipe.
    admission: Result<Admitted, Refuse>,
    conversation: Arc<Conversation>,
    inbox: Arc<OnceLock<Inbox>>,
    /// Tells of changes.
    telling: AbortHandle,
}

impl Direct {
    async fn new(server: &Server) -> Self {
        let admission = server.admit(Connecting::over_pipe(), Extensions::new()).await;
        let conversation = Arc::new(Conversation::new(server.clone()));
        let inbox = Arc::new(OnceLock::<Inbox>::new());
        let (talk, news) = (conversation.clone(), inbox.clone());
        let telling = tokio::spawn(async move {
            loop {
                talk.changed().await;
                let mut lines = Vec::new();
                talk.tell(&mut lines);
                for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                    deliver(&talk, &news, Some(line.to_vec()));
                }
            }
        });
        Self { admission, conversation, inbox, telling: telling.abort_handle() }
    }

    async fn answer(&self, outgoing: Outgoing) -> crate::Result<Option<Message>> {
        let admitted = self.admission.as_ref().map_err(Refuse::error)?;
        let message = self.conversation.read_one(&outgoing.frame).map_err(|rejected| rejected.error)?;
        let (sender, mut said) = mpsc::channel(16);
        let listens = Some(Arc::new(Semaphore::new(1)));
        let Admitted { principal, extensions } = admitted.clone();
        let outbound = Outbound::to(sender);
        let arrival = Arrival { outbound, extensions, principal, listens, ..Arrival::default() };
        let mut work = pin!(self.conversation.serve(message, arrival));
        let reply = loop {
            tokio::select! {
                biased;
                Some(said) = said.recv() => deliver(&self.conversation, &self.inbox, said.into_frame()),
                reply = &mut work => break reply,
            }
        };
        // What a request has said comes before its answer.
        while let Ok(said) = said.try_recv() {
            deliver(&self.conversation, &self.inbox, said.into_frame());
        }
        match reply {
            Some(frame) => {
                Ok(Some(self.conversation.read_one(&frame.into()).map_err(|rejected| rejected.error)?))
            }
            None => Ok(None),
        }
    }
}

fn deliver(conversation: &Conversation, inbox: &OnceLock<Inbox>, frame: Option<Vec<u8>>) {
    let Some(frame) = frame else { return };
    if let (Some(inbox), Ok(message)) = (inbox.get(), conversation.read_one(&frame.into())) {
        inbox.take(&message);
    }
}

impl Transport for Direct {
    fn carry(&self, outgoing: Outgoing) -> Carried<'_> {
        Box::pin(self.answer(outgoing))
    }

    fn deliver_to(&self, inbox: Inbox) {
        let _ = self.inbox.set(inbox);
    }
}

impl Drop for Direct {
    fn drop(&mut self) {
        self.telling.abort();
    }
}
