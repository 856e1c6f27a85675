//! When is the process asked to shut down? On Ctrl-C, and on SIGTERM where the system has it.

/// Waits for Ctrl-C, or for SIGTERM where the system has it. From the first poll on, these signals no longer end the
/// process by themselves.
///
/// ```no_run
/// use toolway::prelude::*;
/// use toolway::server::http::shutdown_signal;
///
/// # async fn doc(server: Server) -> Result<(), Box<dyn std::error::Error>> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// server.http().serve_until(listener, shutdown_signal()).await?;
/// # Ok(())
/// # }
/// ```
pub async fn shutdown_signal() {
    Signals::new().next().await;
}

/// A signal that asks the process to shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ShutdownSignal {
    /// Ctrl-C: a person waits for the end.
    Interrupt,
    /// SIGTERM: a supervisor replaces the process.
    Terminate,
}

/// The signals since this value was created. The system merges equal signals that nothing has waited for in between.
#[cfg(unix)]
pub(super) struct Signals {
    /// `None` if the signal cannot be observed.
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Signals {
    pub(super) fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        Self {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    pub(super) async fn next(&mut self) -> ShutdownSignal {
        async fn recv(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = recv(&mut self.interrupt) => ShutdownSignal::Interrupt,
            () = recv(&mut self.terminate) => ShutdownSignal::Terminate,
        }
    }
}

#[cfg(not(unix))]
pub(super) struct Signals;

#[cfg(not(unix))]
impl Signals {
    pub(super) fn new() -> Self {
        Self
    }

    pub(super) async fn next(&mut self) -> ShutdownSignal {
        // If the signal cannot be observed, this waits forever.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        ShutdownSignal::Interrupt
    }
}
