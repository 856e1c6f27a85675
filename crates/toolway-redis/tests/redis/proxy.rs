//! How does a test break the network between a store and its server?

use std::net::SocketAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The ways in which a proxy treats its connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Passes everything on.
    Pass,
    /// Takes everything and passes nothing on.
    Blackhole,
    /// Passes requests on, and closes the connection instead of the first reply.
    LoseReply,
    /// Answers each step with this error.
    Answer(&'static str),
}

/// A proxy in front of a server.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    target: watch::Sender<u16>,
    mode: watch::Sender<Mode>,
    cuts: watch::Sender<u32>,
    _connections: JoinSet<()>,
}

impl Proxy {
    pub(crate) async fn start(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let own_port = listener.local_addr().unwrap().port();
        let (target, target_now) = watch::channel(port);
        let (mode, receiver) = watch::channel(Mode::Pass);
        let (cuts, cut) = watch::channel(0);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = SocketAddr::from(([127, 0, 0, 1], *target_now.borrow()));
                connections.spawn(serve(client, server, receiver.clone(), cut.clone()));
            }
        });
        Self { port: own_port, target, mode, cuts, _connections: tasks }
    }

    /// Leads to the server with this port from now on, and closes the connections to the one before.
    pub(crate) fn lead_to(&self, port: u16) {
        self.target.send_replace(port);
        self.cut();
    }

    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }

    /// Closes all connections. New ones are accepted.
    pub(crate) fn cut(&self) {
        self.cuts.send_modify(|count| *count += 1);
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

async fn serve(
    client: TcpStream,
    server: SocketAddr,
    mode: watch::Receiver<Mode>,
    mut cut: watch::Receiver<u32>,
) {
    cut.mark_unchanged();
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    tokio::select! {
        _ = cut.changed() => {}
        () = requests(&mut from_client, &mut to_server, &mode) => {}
        () = replies(from_server, to_client, &mode) => {}
    }
}

async fn requests(
    client: &mut (impl AsyncRead + Unpin),
    server: &mut (impl AsyncWrite + Unpin),
    mode: &watch::Receiver<Mode>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut buffer).await {
        let chunk = &buffer[..count];
        let mode_now = *mode.borrow();
        let is_passed = match mode_now {
            Mode::Blackhole => Ok(()),
            Mode::Answer(error) => server.write_all(&answered(chunk, error)).await,
            _ => server.write_all(chunk).await,
        };
        if is_passed.is_err() {
            return;
        }
    }
}

/// Replaces each step by a script that only returns an error, so that replies keep their order.
fn answered(chunk: &[u8], error: &str) -> Vec<u8> {
    let script = "return redis.error_reply(ARGV[1])";
    let (size, error_size) = (script.len(), error.len());
    let answer =
        format!("*4\r\n$4\r\nEVAL\r\n${size}\r\n{script}\r\n$1\r\n0\r\n${error_size}\r\n{error}\r\n");
    let later = chunk.windows(3).enumerate().filter(|(_, bytes)| *bytes == b"\r\n*").map(|(at, _)| at + 2);
    let mut starts: Vec<_> = std::iter::once(0).chain(later).collect();
    starts.push(chunk.len());
    let mut commands = Vec::new();
    for ends in starts.windows(2) {
        let command = &chunk[ends[0]..ends[1]];
        let is_step = command.windows(7).any(|word| word == b"EVALSHA");
        commands.extend_from_slice(if is_step { answer.as_bytes() } else { command });
    }
    commands
}

async fn replies(
    mut server: impl AsyncRead + Unpin,
    mut client: impl AsyncWrite + Unpin,
    mode: &watch::Receiver<Mode>,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = server.read(&mut buffer).await {
        let mode_now = *mode.borrow();
        match mode_now {
            Mode::LoseReply => return,
            Mode::Blackhole => {}
            _ if client.write_all(&buffer[..count]).await.is_err() => return,
            _ => {}
        }
    }
}
