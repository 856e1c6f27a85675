//! When is the process told to stop? By Ctrl-C anywhere, by SIGTERM where there is one.

/// Waits until the process is told to stop: by Ctrl-C, or by SIGTERM where there is one. From the first poll on these are
/// heard here, and do not end the process by themselves any more.
///
/// ```no_run
/// use toolway::prelude::*;
/// use toolway::server::http::told_to_stop;
///
/// # async fn doc(server: Server) -> Result<(), Box<dyn std::error::Error>> {
/// let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
/// server.http().serve_until(listener, told_to_stop()).await?;
/// # Ok(())
/// # }
/// ```
pub async fn told_to_stop() {
    tokio::select! {
        // A system that cannot tell never does.
        told = tokio::signal::ctrl_c() => if told.is_err() { std::future::pending().await },
        () = terminated() => {}
    }
}

/// Waits until it is told so for the second time.
pub(super) async fn told_twice() {
    told_to_stop().await;
    told_to_stop().await;
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
