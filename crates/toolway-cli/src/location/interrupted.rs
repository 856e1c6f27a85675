//! Does the user want to stop the program?

/// Waits for Ctrl-C. If the signal cannot be received, this waits forever.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
