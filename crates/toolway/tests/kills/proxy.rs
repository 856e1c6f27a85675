//! A proxy between a client and a server that cuts connections.
//!
//! It keeps its port while servers restart: a connection that finds no server waits for the next one.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::point::Random;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As if the peer had closed it.
    Fin,
    /// As if the peer had crashed.
    Rst,
}

impl End {
    pub(crate) fn draw(random: &mut Random) -> Self {
        if random.coin() { Self::Fin } else { Self::Rst }
    }
}

/// Cuts the connection that carries this byte, right after it. Bytes are counted over all connections.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// `true` if bytes from the client are counted.
    pub(crate) up: bool,
    pub(crate) after: usize,
    pub(crate) end: End,
}

pub(crate) struct Proxy {
    pub(crate) url: String,
    shared: Arc<Shared>,
    accepting: tokio::task::AbortHandle,
}

struct Shared {
    server: SocketAddr,
    /// The number of servers so far.
    births: watch::Receiver<u64>,
    plans: Mutex<Plans>,
    /// How often all connections were cut, and how.
    all: watch::Sender<(u64, End)>,
    on_cut: Box<dyn Fn() + Send + Sync>,
}

#[derive(Default)]
struct Plans {
    cut: Option<Cut>,
    /// The bytes that the next connections carry to the client before they are cut.
    next: VecDeque<(usize, End)>,
}

impl Plans {
    /// Returns how many of these bytes pass, and whether the connection ends with them.
    fn take(&mut self, up: bool, length: usize, own: &mut Option<(usize, End)>) -> (usize, Option<End>) {
        if let Some(cut) = self.cut.as_mut().filter(|cut| cut.up == up) {
            if length >= cut.after {
                let Cut { after, end, .. } = *cut;
                self.cut = None;
                return (after, Some(end));
            }
            cut.after -= length;
        }
        if let (false, Some((left, end))) = (up, own) {
            if length >= *left {
                return (*left, Some(*end));
            }
            *left -= length;
        }
        (length, None)
    }
}

impl Proxy {
    pub(crate) async fn open(
        server: SocketAddr,
        births: watch::Receiver<u64>,
        on_cut: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let all = watch::Sender::new((0, End::Fin));
        let shared =
            Arc::new(Shared { server, births, plans: Mutex::default(), all, on_cut: Box::new(on_cut) });
        let of_connections = shared.clone();
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                while connections.try_join_next().is_some() {}
                connections.spawn(carry(of_connections.clone(), client));
            }
        });
        Self { url, shared, accepting: accepting.abort_handle() }
    }

    pub(crate) fn plan(&self, cut: Cut) {
        self.shared.plans.lock().unwrap().cut = Some(cut);
    }

    /// Cuts the next connections, one after the other.
    pub(crate) fn ambush(&self, after: &[usize], end: End) {
        self.shared.plans.lock().unwrap().next = after.iter().map(|after| (*after, end)).collect();
    }

    pub(crate) fn cut_all(&self, end: End) {
        self.shared.all.send_modify(|all| *all = (all.0 + 1, end));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Forwards one connection, until it is cut or one side closes it.
async fn carry(shared: Arc<Shared>, mut client: TcpStream) {
    let mut all = shared.all.subscribe();
    let mut server = tokio::select! {
        server = reach(&shared) => server,
        _ = all.changed() => return leave(client, all.borrow().1),
    };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut own = shared.plans.lock().unwrap().next.pop_front();
    let (mut from_client, mut from_server) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    loop {
        let end = tokio::select! {
            _ = all.changed() => Some(all.borrow().1),
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                let (length, end) = shared.plans.lock().unwrap().take(true, length, &mut own);
                if server.write_all(&from_client[..length]).await.is_err() {
                    return;
                }
                end
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                let (length, end) = shared.plans.lock().unwrap().take(false, length, &mut own);
                if client.write_all(&from_server[..length]).await.is_err() {
                    return;
                }
                end
            }
        };
        if let Some(end) = end {
            leave(client, end);
            (shared.on_cut)();
            return;
        }
    }
}

/// Connects to the server, or to the next one if none runs.
async fn reach(shared: &Shared) -> TcpStream {
    let mut births = shared.births.clone();
    loop {
        births.borrow_and_update();
        match TcpStream::connect(shared.server).await {
            Ok(server) => return server,
            Err(_) => births.changed().await.unwrap(),
        }
    }
}

fn leave(client: TcpStream, end: End) {
    if end == End::Rst {
        client.set_zero_linger().unwrap();
    }
}
