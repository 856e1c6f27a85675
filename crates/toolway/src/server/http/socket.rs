//! How is a socket configured? Only the timeout depends on the platform.

use tokio::net::TcpStream;

/// Sets the options of an accepted connection.
pub(super) fn prepare(socket: &TcpStream) {
    // Responses are small and complete; waiting to fill a packet only delays them.
    let _ = socket.set_nodelay(true);
    set_user_timeout(socket, USER_TIMEOUT_MILLIS);
}

/// How long sent data may stay unacknowledged, or wait for a peer that does not read, in milliseconds. Linux only.
/// Without this limit, the connection of a peer that vanished would be kept for a quarter of an hour, and a peer that
/// stopped reading would be kept forever.
const USER_TIMEOUT_MILLIS: u32 = 60_000;

#[cfg(target_os = "linux")]
fn set_user_timeout(socket: &TcpStream, millis: u32) {
    let _ = rustix::net::sockopt::set_tcp_user_timeout(socket, millis);
}

#[cfg(not(target_os = "linux"))]
fn set_user_timeout(_: &TcpStream, _: u32) {}
