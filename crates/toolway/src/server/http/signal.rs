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
    tokio::select! {
        // If the signal cannot be observed, this branch waits forever.
        told = tokio::signal::ctrl_c() => if told.is_err() { std::future::pending().await },
        () = terminated() => {}
    }
}

/// Waits for two signals, one after the other.
pub(super) async fn second_shutdown_signal() {
    shutdown_signal().await;
    shutdown_signal().await;
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut told) => drop(told.recv().await),
        Err(_) => std::future::pending().await,
    }
}

#[cfg(not(unix))]
async fn terminated() {
    std::future::pending().await
}
