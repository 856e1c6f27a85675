//! How does a task wait for blocking work that cannot be cancelled, such as a read from stdin?

use tokio::sync::oneshot;

/// Runs the work on a thread of its own and waits for the result. The waiting task can be dropped, and the program can
/// exit while the thread still blocks. A blocking thread of the runtime would delay the exit, because the runtime waits
/// for such threads.
pub(crate) async fn run_on_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        // The waiting task may have been dropped.
        let _ = sender.send(work());
    });
    receiver.await.expect("the work does not panic")
}
