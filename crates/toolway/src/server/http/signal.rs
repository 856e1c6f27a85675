//! When is the process told to stop? By Ctrl-C anywhere, by SIGTERM where there is one.

/// Waits until the process is told to stop.
pub(super) async fn told_to_stop() {
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
