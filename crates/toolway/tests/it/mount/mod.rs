//! A server in front of others offers all their elements and forwards all their messages, on every wire on both sides.
//!
//! | file | question |
//! |---|---|
//! | `passing.rs` | Are definitions, arguments, results and errors forwarded unchanged? |
//! | `layers.rs` | Which layers apply to the calls of a gateway, and which server owns a name? |
//! | `forwarding.rs` | Are messages during a call forwarded, and cancellations? |
//! | `changes.rs` | Are all callers notified of changes behind a gateway? |
//! | `edited.rs` | Can mounted elements be renamed, described and left out? |
//! | `asking.rs` | Is the right caller asked, and does its answer arrive? |
//! | `listening.rs` | Are changes noticed if a server does not report them properly? |
//! | `hub.rs` | Is a whole hub offered, with its names? |
//! | `hidden.rs` | Can a hidden element be read anyway? |

mod asking;
mod changes;
mod edited;
mod forwarding;
mod hidden;
mod hub;
mod layers;
mod listening;
mod passing;

use tokio::net::TcpListener;
use tokio::task::AbortHandle;
use toolway::ProtocolVersion;
use toolway::client::ClientBuilder;
use toolway::prelude::*;
use toolway::server::ServerBuilder;
use toolway::testing::each_wire;

/// Runs a test with a client of a gateway, on every wire between the two and between the gateway and the server behind
/// it.
async fn through(server: &Server, test: impl AsyncFn(Client)) {
    through_as(Client::builder(), server, toolway::server::ServerBuilder::mount, test).await;
}

/// The same with a given client and gateway.
async fn through_as(
    caller: ClientBuilder,
    server: &Server,
    mount: impl Fn(ServerBuilder, Client) -> ServerBuilder,
    test: impl AsyncFn(Client),
) {
    for behind in Wire::all() {
        for before in Wire::all() {
            let _place = Place(format!("behind the gateway {behind:?}, before it {before:?}"));
            let (upstream, _serving) = behind.connect(Client::builder().forward_questions(), server).await;
            let gateway = mount(Server::new("gateway", "1.0.0"), upstream).build().unwrap();
            let (caller, _serving) = before.connect(caller.clone(), &gateway).await;
            test(caller).await;
        }
    }
}

/// Runs a test with a gateway in front of a server, on every wire between the two.
async fn in_front_of(server: &Server, test: impl AsyncFn(Server, Client)) {
    each_wire(server, async |upstream| {
        let gateway = Server::new("gateway", "1.0.0").mount(&upstream).build().unwrap();
        test(gateway, upstream).await;
    })
    .await;
}

/// A transport and a revision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wire {
    Direct(ProtocolVersion),
    Pipe(ProtocolVersion),
    Http(ProtocolVersion),
}

impl Wire {
    /// The newest revision of each era on each transport, and the older ones on one.
    fn all() -> impl Iterator<Item = Self> {
        let newest = [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE];
        let older = ProtocolVersion::ALL.into_iter().filter(move |version| !newest.contains(version));
        let wires = newest
            .into_iter()
            .flat_map(|version| [Self::Direct(version), Self::Pipe(version), Self::Http(version)]);
        wires.chain(older.map(Self::Direct))
    }

    fn version(self) -> ProtocolVersion {
        let (Self::Direct(version) | Self::Pipe(version) | Self::Http(version)) = self;
        version
    }

    async fn connect(self, builder: ClientBuilder, server: &Server) -> (Client, Serving) {
        let builder = builder.protocol(self.version());
        match self {
            Self::Direct(_) => (builder.connect(server).await.unwrap(), Serving(None)),
            Self::Pipe(_) => {
                let (near, far) = tokio::io::duplex(64 << 10);
                let server = server.clone();
                let task = tokio::spawn(async move {
                    let (reader, writer) = tokio::io::split(far);
                    server.serve_io(reader, writer).await
                });
                let (reader, writer) = tokio::io::split(near);
                (builder.connect_io(reader, writer).await.unwrap(), Serving(Some(task.abort_handle())))
            }
            Self::Http(_) => {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let url = format!("http://{}/mcp", listener.local_addr().unwrap());
                let task = tokio::spawn(server.http().serve(listener));
                (builder.connect_http(&url).await.unwrap(), Serving(Some(task.abort_handle())))
            }
        }
    }
}

/// Stops the serving side at the end of the test.
struct Serving(Option<AbortHandle>);

impl Drop for Serving {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Prints the wires when a test fails.
struct Place(String);

impl Drop for Place {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}
