//! How is something waited for that cannot be taken back: a person, or the program at the other end of a pipe?

use tokio::sync::oneshot;

/// Does it on a thread of its own. The task that waits can be dropped, and the program ends while the thread still waits: those of the
/// runtime would be waited for.
pub(crate) async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = oneshot::channel();
    std::thread::spawn(move || {
        // The task that waited may be gone.
        let _ = sender.send(work());
    });
    receiver.await.expect("the work does not panic")
}
