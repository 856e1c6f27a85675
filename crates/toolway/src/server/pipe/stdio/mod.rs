//! How does a server use this process's stdin and stdout as a pipe?
//!
//! The server takes over both descriptors: later prints of the program go to stderr, and child processes do not inherit
//! the pipe to the peer. `unix.rs` does that; on other systems stdin and stdout are used as they are.

#[cfg(unix)]
#[path = "unix.rs"]
mod platform;
#[cfg(not(unix))]
#[path = "portable.rs"]
mod platform;

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::ground::abort_on_drop::AbortOnDrop;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

impl ServerBuilder {
    /// Builds the server and serves it over stdin and stdout: see [`Server::serve_stdio`].
    pub async fn serve_stdio(self) -> Result<()> {
        self.build()?.serve_stdio().await
    }
}

impl Server {
    /// Serves the peer on stdin and stdout until stdin ends. Hosts run local servers this way.
    ///
    /// On Unix the server takes over both streams: `println!` then goes to stderr, where it cannot corrupt the
    /// protocol, and child processes get an empty stdin. Stdin may be a pipe, a socket, a file or a terminal. On other
    /// systems the program must not print to stdout.
    ///
    /// # Errors
    ///
    /// If stdin or stdout cannot be used, or if this method was called before: a process has only one stdin and stdout.
    /// Also if a handler takes a [`Principal`](crate::server::Principal) or an [`Extension`](crate::server::Extension)
    /// that calls over stdio never get.
    pub async fn serve_stdio(&self) -> Result<()> {
        self.serve_standard_streams().await
    }

    /// Serves the peer on stdin and stdout. Not an `async fn`, so that its code exists once, in this crate.
    fn serve_standard_streams(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            static TAKEN: AtomicBool = AtomicBool::new(false);
            self.check_transport("on stdin and stdout")?;
            if TAKEN.swap(true, Ordering::SeqCst) {
                return Err(Error::new(
                    ErrorKind::Misuse,
                    "stdin and stdout are served already: a process has one pair of them",
                ));
            }
            let (reader, writer) = platform::take().map_err(|error| {
                Error::new(ErrorKind::Transport, "stdin and stdout cannot be served").caused_by(error)
            })?;
            // As a task it runs on a thread that also waits for input. A future that `main` awaits runs on a thread of its own,
            // which every message would have to wake.
            let server = self.clone();
            let mut serving =
                AbortOnDrop(tokio::spawn(async move { server.serve_streams(reader, writer).await }));
            match (&mut serving.0).await {
                Ok(outcome) => outcome,
                Err(stopped) => match stopped.try_into_panic() {
                    Ok(panic) => resume_unwind(panic),
                    Err(_) => Err(Error::new(ErrorKind::Cancelled, "the runtime was shut down")),
                },
            }
        })
    }
}
