//! How is a task started? In a box: tokio compiles what runs a task, and what ends it, for each type of future again, for both
//! kinds of runtimes.

use toolway::BoxFuture;

pub(super) fn spawn(task: BoxFuture<'static, ()>) {
    drop(tokio::spawn(task));
}
