//! How is a task started that is rare? As a box: tokio compiles the code that runs and ends a task for each type of future, and
//! for each kind of runtime, which is four kilobytes of machine code.

use super::future::BoxFuture;

/// Boxes the future of a task.
pub(crate) fn boxed_task(task: impl Future<Output = ()> + Send + 'static) -> BoxFuture<'static, ()> {
    Box::pin(task)
}
