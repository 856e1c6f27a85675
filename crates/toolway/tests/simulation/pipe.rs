//! A pipe to the server, as to a child process, with a nemesis in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::sync::SetOnce;
use tokio::time::{Instant, sleep_until};
use toolway::client::{Client, ClientBuilder};

use crate::history::{Event, History};
use crate::nemesis::{Break, Fault, Nemesis, Pace};
use crate::world::World;

/// Connects a client to the current node over a new pipe. A pipe that has ended cannot be opened again.
pub(crate) async fn connect(
    builder: ClientBuilder,
    world: &World,
    nemesis: &Nemesis,
) -> toolway::Result<Client> {
    let (fault, way, mut random) = nemesis.draw("pipe", 6000);
    let room = random.pick(&[64, 4096]);
    let (client_writer, from_client) = duplex(room);
    let (to_server, server_reader) = duplex(room);
    let (server_writer, from_server) = duplex(room);
    let (to_client, client_reader) = duplex(room);
    let (up, down) = (Pace::new(&mut random), Pace::new(&mut random));
    if let Some(node) = world.node() {
        let broken = Arc::<SetOnce<()>>::default();
        let direction =
            |pace, limit| Direction { nemesis: nemesis.clone(), broken: broken.clone(), pace, limit, way };
        let (up_limit, down_limit) = match fault {
            Fault::Up(bytes) => (Some(bytes), None),
            Fault::Down(bytes) => (None, Some(bytes)),
            Fault::Unreachable => (Some(0), None),
            Fault::Never | Fault::After(_) => (None, None),
        };
        let tap = Tap { history: world.history.clone(), line: Vec::new(), answered: BTreeSet::new() };
        tokio::spawn(direction(up, up_limit).run(from_client, to_server, None));
        tokio::spawn(direction(down, down_limit).run(from_server, to_client, Some(tap)));
        let nemesis = nemesis.clone();
        tokio::spawn(async move {
            let serving = node.server.serve_io(server_reader, server_writer);
            let broken_off = async {
                match fault {
                    Fault::After(time) => sleep_until(Instant::now() + time).await,
                    _ => std::future::pending().await,
                }
                if !nemesis.strike(format_args!("pipe, {fault}")) {
                    std::future::pending::<()>().await;
                }
            };
            let restarted = async {
                node.gone().await;
                nemesis.strike("restart");
            };
            tokio::select! {
                biased;
                _ = serving => {}
                () = broken_off => {}
                () = restarted => {}
            }
            let _ = broken.set(());
        });
    } else {
        nemesis.strike("no server");
    }
    builder.connect_io(client_reader, client_writer).await
}

/// One direction of a pipe.
struct Direction {
    nemesis: Nemesis,
    broken: Arc<SetOnce<()>>,
    pace: Pace,
    /// It breaks after this many bytes.
    limit: Option<u64>,
    way: Break,
}

impl Direction {
    async fn run(mut self, reader: DuplexStream, writer: DuplexStream, tap: Option<Tap>) {
        let broken = self.broken.clone();
        tokio::select! {
            biased;
            () = broken.wait() => {}
            () = self.carry(reader, writer, tap) => {}
        }
    }

    async fn carry(&mut self, mut reader: DuplexStream, mut writer: DuplexStream, mut tap: Option<Tap>) {
        let mut buffer = vec![0; self.pace.chunk];
        let mut passed = 0;
        loop {
            let Ok(read @ 1..) = reader.read(&mut buffer).await else { return };
            if let Some(tap) = &mut tap {
                tap.push(&buffer[..read]);
            }
            self.pace.travel(&self.nemesis).await;
            let rest = self.limit.map_or(read as u64, |limit| limit - passed);
            let is_cut = rest < read as u64 && self.nemesis.strike(format_args!("pipe, {:?}", self.way));
            let sent = if is_cut { usize::try_from(rest).unwrap() } else { read };
            if writer.write_all(&buffer[..sent]).await.is_err() {
                return;
            }
            if is_cut {
                return self.cut().await;
            }
            if rest < read as u64 {
                // Too late to break.
                self.limit = None;
            }
            passed += sent as u64;
        }
    }

    /// Ends this direction; the caller drops both of its streams.
    async fn cut(&self) {
        match self.way {
            Break::Both => {
                let _ = self.broken.set(());
            }
            Break::OneDirection => {}
            Break::Silent => {
                self.nemesis.until_calm().await;
                let _ = self.broken.set(());
            }
        }
    }
}

/// Checks what the server writes: one reply for each request, and nothing about a request after its reply.
struct Tap {
    history: History,
    line: Vec<u8>,
    answered: BTreeSet<String>,
}

impl Tap {
    fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == b'\n' {
                let line = std::mem::take(&mut self.line);
                self.check(&line);
            } else {
                self.line.push(*byte);
            }
        }
    }

    fn check(&mut self, line: &[u8]) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            return self
                .history
                .add(Event::Broken(format!("not a message: {}", String::from_utf8_lossy(line))));
        };
        let token = &message["params"]["progressToken"];
        if message["method"].is_null() && !self.answered.insert(message["id"].to_string()) {
            self.history.add(Event::Broken(format!("a second reply to {}", message["id"])));
        } else if !token.is_null() && self.answered.contains(&token.to_string()) {
            self.history.add(Event::Broken(format!("progress of {token} after its reply")));
        }
    }
}
