//! Ports that stay reserved while a test needs them. A port that is only known to be free may be given to another test,
//! or to an outgoing connection, before it is used.

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

/// A port that is reserved as long as this lives. Connections to it are refused, except while a
/// [listener](Self::listen) exists.
#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) address: SocketAddr,
    _held: TcpSocket,
}

impl Port {
    pub(crate) fn hold() -> Self {
        let held = socket();
        held.bind(([127, 0, 0, 1], 0).into()).unwrap();
        Self { address: held.local_addr().unwrap(), _held: held }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Listens at the port. May be called again after the previous listener is dropped.
    pub(crate) fn listen(&self) -> TcpListener {
        let socket = socket();
        socket.bind(self.address).unwrap();
        socket.listen(1024).unwrap()
    }
}

fn socket() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    #[cfg(unix)]
    socket.set_reuseport(true).unwrap();
    socket
}
