//! How does a task end with the future that waits for it?

use tokio::task::JoinHandle;

/// A task that is aborted when this handle is dropped.
pub(crate) struct AbortOnDrop<T>(pub(crate) JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
