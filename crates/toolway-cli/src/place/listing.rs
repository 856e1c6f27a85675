//! How is a list of a server read to its end?

use toolway::client::Pages;
use toolway::{Code, Result};

/// Everything that a server lists. What it does not know the question for, it has nothing of: not every server that has
/// resources has families of them.
pub(crate) async fn all<T>(pages: Pages<T>) -> Result<Vec<T>> {
    match pages.all().await {
        Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => Ok(Vec::new()),
        outcome => outcome,
    }
}
