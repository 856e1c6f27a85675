//! How do a client and a server behave when the network between them is slow?
//!
//! On loopback a message arrives before its sender does anything else, which hides races. This proxy stands in front of
//! a server and delays each direction; it does not limit the amount of data in transit.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use socket2::SockRef;

use crate::run::Result;

/// A proxy on its own port. Dropping it ends the proxy and every connection through it.
#[derive(Debug)]
pub(crate) struct LatencyProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl LatencyProxy {
    /// Listens on a free port of 127.0.0.1 and forwards each connection to `target`, every byte `delay` after it
    /// arrived. The target need not listen yet: until it does, connections are reset.
    pub(crate) fn in_front_of(target: SocketAddr, delay: Duration) -> Result<Self> {
        let failed = |error: std::io::Error| format!("could not listen on 127.0.0.1 to add latency: {error}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let accepting = thread::spawn({
            let shared = shared.clone();
            move || {
                // An error concerns a single connection that was closed too early.
                for client in listener.incoming() {
                    if shared.is_over() {
                        return;
                    }
                    if let Ok(client) = client {
                        shared.forward(client, target, delay);
                    }
                }
            }
        });
        Ok(Self { address, shared, acceptor: Some(accepting) })
    }

    /// The address that clients use in place of the target's.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for LatencyProxy {
    fn drop(&mut self) {
        self.shared.end();
        // The accepting thread checks for the end when a connection arrives.
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(accepting) = self.acceptor.take().filter(|_| woken) {
            let _ = accepting.join();
        }
    }
}

/// The connections, and whether the proxy has ended.
#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the threads that wait until a piece is due.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_over: bool,
    connections: Vec<Weak<Connection>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_over
    }

    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_over = true;
        for connection in state.connections.drain(..).filter_map(|connection| connection.upgrade()) {
            for stream in [&connection.client, &connection.server] {
                // This fails when the other side has closed the connection, which is the goal.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        self.ended.notify_all();
    }

    /// Connects to the target and starts the threads of both directions.
    fn forward(self: &Arc<Self>, client: TcpStream, target: SocketAddr, delay: Duration) {
        let Ok(server) = TcpStream::connect(target) else { return reset_on_close(&client) };
        for stream in [&client, &server] {
            // Waiting for more bytes would add latency. This fails for a connection that is closed already.
            let _ = stream.set_nodelay(true);
        }
        let connection = Arc::new(Connection { client, server });
        {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if state.is_over {
                return;
            }
            state.connections.retain(|connection| connection.strong_count() > 0);
            state.connections.push(Arc::downgrade(&connection));
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            let (sender, queue) = sync_channel(MAX_CHUNKS);
            let reading = connection.clone();
            thread::spawn(move || reading.read(direction, delay, &sender));
            let (writing, shared) = (connection.clone(), self.clone());
            thread::spawn(move || writing.write(direction, &queue, &shared));
        }
    }

    /// Waits until `due`; returns `false` if the proxy ended meanwhile.
    fn wait_until(&self, due: Instant) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while !state.is_over {
            let rest = due.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return true;
            }
            state = self.ended.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }
}

/// Both sockets of a forwarded connection. They close when the last of the four threads is done, which sends a reset.
#[derive(Debug)]
struct Connection {
    client: TcpStream,
    server: TcpStream,
}

#[derive(Debug, Clone, Copy)]
enum Direction {
    ToServer,
    ToClient,
}

/// A piece of a stream that is forwarded when it is due.
enum StreamPiece {
    Bytes(Vec<u8>),
    /// The sender has closed its writing half, and may still read.
    End,
    Reset,
}

impl Connection {
    fn sockets(&self, direction: Direction) -> (&TcpStream, &TcpStream) {
        match direction {
            Direction::ToServer => (&self.client, &self.server),
            Direction::ToClient => (&self.server, &self.client),
        }
    }

    fn read(&self, direction: Direction, delay: Duration, queue: &SyncSender<(Instant, StreamPiece)>) {
        let (mut from, _) = self.sockets(direction);
        let mut buffer = vec![0; CHUNK_SIZE];
        loop {
            let arrived = match from.read(&mut buffer) {
                Ok(0) => StreamPiece::End,
                Ok(length) => StreamPiece::Bytes(buffer[..length].to_vec()),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => StreamPiece::Reset,
            };
            let is_last = !matches!(arrived, StreamPiece::Bytes(_));
            if queue.send((Instant::now() + delay, arrived)).is_err() || is_last {
                return;
            }
        }
    }

    fn write(&self, direction: Direction, queue: &Receiver<(Instant, StreamPiece)>, shared: &Shared) {
        let (_, mut to) = self.sockets(direction);
        for (due, arrived) in queue {
            if !shared.wait_until(due) {
                return;
            }
            match arrived {
                // A receiver that is gone is noticed in the other direction, by its reset.
                StreamPiece::Bytes(bytes) if to.write_all(&bytes).is_err() => return,
                StreamPiece::Bytes(_) => {}
                StreamPiece::End => drop(to.shutdown(Shutdown::Write)),
                StreamPiece::Reset => {
                    reset_on_close(to);
                    // Nothing can be forwarded in either direction: this ends the reader of the other direction.
                    drop(to.shutdown(Shutdown::Read));
                }
            }
        }
    }
}

/// Makes closing the stream send a reset.
fn reset_on_close(stream: &TcpStream) {
    // This fails for a connection that is closed already, which needs no reset.
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

/// The number of bytes in one read.
const CHUNK_SIZE: usize = 64 << 10;
/// The number of pieces in transit in one direction: enough for any delay, but a receiver that does not read stops its
/// sender.
const MAX_CHUNKS: usize = 1024;

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{LatencyProxy, reset_on_close};

    const DELAY: Duration = Duration::from_millis(20);

    /// A proxy, and both ends of a connection through it.
    fn connected(delay: Duration) -> (LatencyProxy, TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let latency = LatencyProxy::in_front_of(listener.local_addr().unwrap(), delay).unwrap();
        let client = TcpStream::connect(latency.address()).unwrap();
        let server = listener.accept().unwrap().0;
        (latency, client, server)
    }

    /// Only the minimum is checked: a busy machine takes longer.
    #[test]
    fn each_direction_takes_at_least_its_delay() {
        let (_latency, mut client, mut server) = connected(DELAY);
        let start = Instant::now();
        client.write_all(b"there").unwrap();
        let mut heard = [0; 5];
        server.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"there");
        assert!(start.elapsed() >= DELAY);
        server.write_all(b" back").unwrap();
        client.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b" back");
        assert!(start.elapsed() >= 2 * DELAY);
    }

    #[test]
    fn bytes_arrive_whole_and_in_order_and_an_end_is_passed_on() {
        let (_latency, mut client, mut server) = connected(DELAY);
        let sent: Vec<u8> = (0..3_000_000_u32).map(|number| (number % 251) as u8).collect();
        let (copy, mut writing) = (sent.clone(), client.try_clone().unwrap());
        let sending = thread::spawn(move || {
            writing.write_all(&copy).unwrap();
            writing.shutdown(Shutdown::Write).unwrap();
        });
        let mut heard = Vec::new();
        server.read_to_end(&mut heard).unwrap();
        sending.join().unwrap();
        assert!(heard == sent, "{} of {} bytes, or others", heard.len(), sent.len());
        // One half is closed, the other still works.
        server.write_all(b"all of it").unwrap();
        drop(server);
        let mut answer = String::new();
        client.read_to_string(&mut answer).unwrap();
        assert_eq!(answer, "all of it");
    }

    /// The delay is an hour, so a test that waited for it would never end.
    #[test]
    fn a_delay_does_not_stop_the_sender_and_a_drop_ends_it() {
        let (latency, mut client, mut server) = connected(Duration::from_secs(3600));
        client.write_all(&vec![7; 8 << 20]).unwrap();
        drop(latency);
        let mut heard = Vec::new();
        for end in [&mut client, &mut server] {
            // The read ends with EOF or a reset, depending on what was in transit.
            let _ = end.read_to_end(&mut heard);
        }
        assert!(heard.is_empty(), "nothing was due");
    }

    #[test]
    fn a_reset_is_passed_on() {
        let (_latency, mut client, server) = connected(DELAY);
        reset_on_close(&server);
        drop(server);
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_target_that_does_not_listen_gives_a_reset() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let latency = LatencyProxy::in_front_of(listener.local_addr().unwrap(), DELAY).unwrap();
        drop(listener);
        let mut client = TcpStream::connect(latency.address()).unwrap();
        let error = client.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
}
