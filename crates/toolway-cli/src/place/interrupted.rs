//! Does the user want it to stop?

/// Waits for Ctrl-C. Where that cannot be heard, it waits for ever.
pub(crate) async fn interrupted() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
