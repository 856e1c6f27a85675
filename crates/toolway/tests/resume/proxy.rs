//! A proxy that cuts a reply after an exact number of bytes.
//!
//! Bytes from the client pass unchanged. A selected request takes the next cut of the plan: that many bytes of its
//! reply pass, and then both connections end. Without a cut the whole reply passes.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// How a connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// As if the peer had closed it.
    Fin,
    /// As if the peer had crashed.
    Rst,
}

/// The number of bytes of a reply that pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) after: usize,
    pub(crate) end: End,
}

/// Decides which requests take a cut, from everything that was sent since the last reply.
pub(crate) type Choice = fn(&[u8]) -> bool;

pub(crate) struct Proxy {
    pub(crate) url: String,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

type Passed = Arc<Mutex<Vec<u8>>>;

struct Shared {
    server: SocketAddr,
    choice: Choice,
    plan: Mutex<VecDeque<Cut>>,
    /// The bytes that passed of each reply to a selected request.
    passed: Mutex<Vec<Passed>>,
}

impl Proxy {
    pub(crate) async fn open(server: SocketAddr, choice: Choice) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let shared = Arc::new(Shared { server, choice, plan: Mutex::default(), passed: Mutex::default() });
        let of_connections = shared.clone();
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(of_connections.clone(), client));
            }
        });
        Self { url, shared, accepting }
    }

    /// Sets the cuts from now on, one per selected request, and none after them.
    pub(crate) fn plan(&self, cuts: impl IntoIterator<Item = Cut>) {
        *self.shared.plan.lock().unwrap() = cuts.into_iter().collect();
        self.shared.passed.lock().unwrap().clear();
    }

    /// Returns what has passed since the plan was set.
    pub(crate) fn passed(&self) -> Vec<Vec<u8>> {
        self.shared.passed.lock().unwrap().iter().map(|reply| reply.lock().unwrap().clone()).collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Forwards one connection, until it is cut or one side closes it.
async fn carry(shared: Arc<Shared>, mut client: TcpStream) {
    let Ok(mut server) = TcpStream::connect(shared.server).await else { return };
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let mut asked = Vec::new();
    let mut reply: Option<(Passed, Option<Cut>)> = None;
    let (mut from_client, mut from_server) = (vec![0; 16 << 10], vec![0; 16 << 10]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(length @ 1..) = read else { return };
                if asked.is_empty() {
                    // Another request on the same connection.
                    reply = None;
                }
                asked.extend_from_slice(&from_client[..length]);
                if reply.is_none() && (shared.choice)(&asked) {
                    let passed = Passed::default();
                    shared.passed.lock().unwrap().push(passed.clone());
                    reply = Some((passed, shared.plan.lock().unwrap().pop_front()));
                }
                if server.write_all(&from_client[..length]).await.is_err() {
                    return;
                }
            }
            read = server.read(&mut from_server) => {
                let Ok(length @ 1..) = read else { return };
                let mut piece = &from_server[..length];
                let mut is_cut = None;
                if let Some((passed, cut)) = &reply {
                    let mut passed = passed.lock().unwrap();
                    if let Some(cut) = cut {
                        piece = &piece[..piece.len().min(cut.after - passed.len())];
                        is_cut = (passed.len() + piece.len() == cut.after).then_some(cut.end);
                    }
                    passed.extend_from_slice(piece);
                }
                asked.clear();
                if client.write_all(piece).await.is_err() {
                    return;
                }
                if let Some(end) = is_cut {
                    match end {
                        End::Fin => drop(client.shutdown().await),
                        End::Rst => client.set_zero_linger().unwrap(),
                    }
                    return;
                }
            }
        }
    }
}
