//! Which task ends with its owner?

use std::future::Future;

use tokio::task::JoinHandle;

/// A task in the background that is aborted when this value is dropped.
pub(crate) struct Task(JoinHandle<()>);

impl Task {
    pub(crate) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
