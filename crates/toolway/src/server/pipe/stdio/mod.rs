//! This process's stdin and stdout as a pipe.
//!
//! The protocol takes both descriptors for itself: what the program prints afterwards goes to stderr, and
//! children do not inherit the peer's end. `unix.rs` does that; elsewhere stdin and stdout are used as they are.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "portable.rs"]
mod platform;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::ground::error::{Error, ErrorKind, Result};
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

impl ServerBuilder {
    /// Builds the server and serves it over stdin and stdout: see [`Server::serve_stdio`].
    pub async fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio().await
    }
}

impl Server {
    /// Serves the peer on stdin and stdout until stdin ends. This is how hosts run local servers.
    ///
    /// From here on the protocol owns both: `println!` goes to stderr, where it can harm nobody, and child
    /// processes get an empty stdin. Stdin may be a pipe, a socket, a file or a terminal.
    ///
    /// # Errors
    ///
    /// When stdin or stdout cannot be used, or when this was called before: there is only one pair. And when a handler takes a
    /// [`Principal`](crate::Principal) or an [`Extension`](crate::Extension) that nothing gives to calls over this door.
    pub async fn serve_stdio(&self) -> Result<()> {
        static TAKEN: AtomicBool = AtomicBool::new(false);
        self.check_door("on stdin and stdout")?;
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(Error::new(
                ErrorKind::Misuse,
                "stdin and stdout are served already: a process has one pair of them",
            ));
        }
        let (reader, writer) = platform::take().map_err(|error| {
            Error::new(ErrorKind::Transport, "stdin and stdout cannot be served").caused_by(error)
        })?;
        self.serve_io(reader, writer).await
    }
}
