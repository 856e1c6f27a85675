//! How is a socket set up? The only code here that asks which system it runs on.

use tokio::net::TcpStream;

/// Prepares a connection that was accepted.
pub(super) fn prepare(socket: &TcpStream) {
    // Answers are small and complete; waiting to fill a packet only delays them.
    let _ = socket.set_nodelay(true);
    give_up_after(socket, SILENCE_MILLIS);
}

/// How long a peer may leave what it was sent unread, in milliseconds. One that has vanished would otherwise be kept for a
/// quarter of an hour, and one that stopped reading for ever.
const SILENCE_MILLIS: u32 = 60_000;

#[cfg(target_os = "linux")]
fn give_up_after(socket: &TcpStream, millis: u32) {
    let _ = rustix::net::sockopt::set_tcp_user_timeout(socket, millis);
}

#[cfg(not(target_os = "linux"))]
fn give_up_after(_: &TcpStream, _: u32) {}
