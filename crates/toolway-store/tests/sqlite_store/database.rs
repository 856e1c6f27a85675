//! How is SQLite used from asynchronous code?

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use rusqlite::{Connection, ErrorCode, Row, TransactionBehavior};
use toolway_store::{Result, StoreError, StoreFailure};

/// Does work in one transaction, on a thread that may block. The work is finished even if the future is dropped.
pub(crate) async fn transact<T: Send + 'static>(
    connection: Arc<Mutex<Connection>>,
    work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
) -> Result<T> {
    let task = tokio::task::spawn_blocking(move || {
        let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
        // An immediate transaction takes the lock of the file at once, so that nothing changes after a condition was
        // checked. If the work or the commit fails, it is rolled back.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let result = work(&transaction)?;
        transaction.commit()?;
        Ok(result)
    });
    let failed = |error: rusqlite::Error| {
        let failure = match error.sqlite_error_code() {
            Some(ErrorCode::DatabaseBusy | ErrorCode::DiskFull) => StoreFailure::NotDone,
            _ => StoreFailure::Broken,
        };
        StoreError::new(failure, "SQLite could not do a step").caused_by(error)
    };
    match task.await {
        Ok(result) => result.map_err(failed),
        Err(error) => Err(StoreError::new(StoreFailure::Unknown, "a step was interrupted").caused_by(error)),
    }
}

pub(crate) fn bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Bytes> {
    row.get::<_, Vec<u8>>(column).map(Bytes::from)
}

pub(crate) fn optional_bytes(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Bytes>> {
    Ok(row.get::<_, Option<Vec<u8>>>(column)?.map(Bytes::from))
}

/// Returns when something expires, in milliseconds of Unix time.
pub(crate) fn expiry(ttl: Duration) -> i64 {
    now().saturating_add(to_sql(ttl.as_millis()))
}

pub(crate) fn now() -> i64 {
    to_sql(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis())
}

/// Returns a number as SQLite stores it. Numbers beyond its range become the largest one.
pub(crate) fn to_sql(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
