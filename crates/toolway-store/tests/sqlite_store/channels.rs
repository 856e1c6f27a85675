//! How do messages reach other processes? They stay in a table for a minute, and subscribers look there.

use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use toolway_store::{BoxFuture, Subscription};

use crate::database::{bytes, expiry, now, transact};

pub(crate) fn publish(db: &Connection, channel: &str, message: &[u8]) -> rusqlite::Result<()> {
    db.execute("DELETE FROM messages WHERE expires <= ?", [now()])?;
    let sql = "INSERT INTO messages (channel, bytes, expires) VALUES (?, ?, ?)";
    db.execute(sql, (channel.as_bytes(), message, expiry(MESSAGE_TTL)))?;
    Ok(())
}

/// Returns the number of the last message of all channels. It never falls, because the column is `AUTOINCREMENT`.
pub(crate) fn last(db: &Connection) -> rusqlite::Result<i64> {
    let last = db
        .query_row("SELECT seq FROM sqlite_sequence WHERE name = 'messages'", (), |row| row.get(0))
        .optional()?;
    Ok(last.unwrap_or(0))
}

/// A subscription that looks at the table again and again.
pub(crate) struct TableSubscription {
    pub(crate) connection: Arc<Mutex<Connection>>,
    pub(crate) channel: String,
    /// The last message of all channels that was looked at.
    pub(crate) last_seen: i64,
}

impl Subscription for TableSubscription {
    fn next(&mut self) -> BoxFuture<'_, Option<Bytes>> {
        Box::pin(async move {
            loop {
                let (channel, last_seen) = (self.channel.clone(), self.last_seen);
                let look = transact(self.connection.clone(), move |db| look(db, &channel, last_seen)).await;
                // Nothing has changed before this line, so a dropped future loses no message. Messages that cannot be
                // read because of an error are found by a later look.
                if let Ok((seen, item)) = look {
                    self.last_seen = seen;
                    if let Poll::Ready(item) = item {
                        return item;
                    }
                }
                tokio::time::sleep(INTERVAL).await;
            }
        })
    }
}

/// Returns the next message, or `None` if messages were missed, and the number of the last message that was looked at.
fn look(db: &Connection, channel: &str, last_seen: i64) -> rusqlite::Result<(i64, Poll<Option<Bytes>>)> {
    let last = last(db)?;
    let oldest: Option<i64> = db.query_row("SELECT min(id) FROM messages", (), |row| row.get(0))?;
    let removed = oldest.unwrap_or(last + 1) - 1;
    if removed > last_seen {
        return Ok((removed, Poll::Ready(None)));
    }
    let sql = "SELECT id, bytes FROM messages WHERE channel = ? AND id > ? ORDER BY id LIMIT 1";
    let message = db
        .query_row(sql, (channel.as_bytes(), last_seen), |row| {
            Ok((row.get(0)?, Poll::Ready(Some(bytes(row, 1)?))))
        })
        .optional()?;
    Ok(message.unwrap_or((last, Poll::Pending)))
}

/// The time that a message stays in the table.
const MESSAGE_TTL: Duration = Duration::from_secs(60);
/// The time between two looks.
const INTERVAL: Duration = Duration::from_millis(20);
