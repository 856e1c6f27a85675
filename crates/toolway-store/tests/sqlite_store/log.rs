//! How does a log live in two tables, one for logs and one for their entries?

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use toolway_store::{Answer, Append, Keep, LogPage, Outcome, Room};

use crate::database::{bytes, expiry, optional_bytes, to_sql};

/// A row of the table of logs.
pub(crate) struct Log {
    id: i64,
    last: u64,
    ended_by: Option<Bytes>,
    pub(crate) reader: Option<Bytes>,
}

pub(crate) fn find(db: &Connection, group: &[u8], log: &str) -> rusqlite::Result<Option<Log>> {
    let sql = "SELECT id, last, ended_by, reader FROM logs WHERE grp = ? AND name = ?";
    db.query_row(sql, (group, log.as_bytes()), |row| {
        let last = row.get::<_, i64>(1)?.cast_unsigned();
        Ok(Log { id: row.get(0)?, last, ended_by: optional_bytes(row, 2)?, reader: optional_bytes(row, 3)? })
    })
    .optional()
}

/// Returns how many entries of an append are there already. Fails with the outcome of a step that has the append at this
/// position.
pub(crate) fn count_present(log: Option<&Log>, append: &Append, operation: usize) -> Result<usize, Outcome> {
    let last = log.map_or(0, |log| log.last);
    let ended_by = log.and_then(|log| log.ended_by.as_ref());
    let count = append.entries.len();
    let present = match append.first {
        Some(first) => usize::try_from((last + 1).saturating_sub(first)).unwrap_or(count).min(count),
        // The writer repeats its end.
        None if append.ends && ended_by.is_some() => count,
        None => 0,
    };
    if ended_by.is_some_and(|writer| *writer != append.writer || present < count) {
        return Err(Outcome::Ended { operation, last });
    }
    if append.first.is_some_and(|first| first > last + 1) {
        return Err(Outcome::Behind { operation, last });
    }
    Ok(present)
}

pub(crate) fn append(db: &Connection, group: &[u8], append: &Append) -> rusqlite::Result<Answer> {
    let found = find(db, group, &append.log)?;
    let present = count_present(found.as_ref(), append, 0).unwrap_or(append.entries.len());
    let log = match found {
        Some(log) => log,
        None => {
            let sql = "INSERT INTO logs (grp, name, last) VALUES (?, ?, 0)";
            db.execute(sql, (group, append.log.as_bytes()))?;
            Log { id: db.last_insert_rowid(), last: 0, ended_by: None, reader: None }
        }
    };
    let mut last = to_sql(log.last);
    for entry in append.entries.iter().skip(present) {
        last += 1;
        let is_kept = entry.keep == Keep::Always;
        db.execute("INSERT INTO log_entries VALUES (?, ?, ?, ?)", (log.id, last, &*entry.bytes, is_kept))?;
    }
    if present < append.entries.len() {
        drop_oldest(db, log.id, last, append.room)?;
    }
    let ended_by = log.ended_by.or_else(|| append.ends.then(|| append.writer.clone()));
    let sql = "UPDATE logs SET last = ?, ended_by = ?, expires = ? WHERE id = ?";
    db.execute(sql, (last, ended_by.as_deref(), expiry(append.ttl), log.id))?;
    Ok(Answer::Appended { last: last.cast_unsigned(), reader: log.reader })
}

/// Drops the oldest entries that have no room. The last entry stays.
fn drop_oldest(db: &Connection, log: i64, last: i64, room: Room) -> rusqlite::Result<()> {
    let sql =
        "SELECT number, length(bytes) FROM log_entries WHERE log = ? AND NOT is_kept ORDER BY number DESC";
    let mut query = db.prepare(sql)?;
    let mut rows = query.query([log])?;
    let (mut entries, mut bytes) = (0, 0_i64);
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        entries += 1;
        bytes += row.get::<_, i64>(1)?;
        if number < last && (entries > to_sql(room.entries) || bytes > to_sql(room.bytes)) {
            let sql = "DELETE FROM log_entries WHERE log = ? AND NOT is_kept AND number <= ?";
            db.execute(sql, (log, number))?;
            break;
        }
    }
    Ok(())
}

pub(crate) fn read(db: &Connection, log: Log, after: u64, limit: Room) -> rusqlite::Result<LogPage> {
    let sql = "SELECT number, bytes FROM log_entries WHERE log = ? AND number > ? ORDER BY number LIMIT ?";
    let mut query = db.prepare(sql)?;
    let mut rows = query.query((log.id, to_sql(after), to_sql(limit.entries)))?;
    let (mut entries, mut size) = (Vec::new(), 0_usize);
    while let Some(row) = rows.next()? {
        let bytes = bytes(row, 1)?;
        size += bytes.len();
        if size > limit.bytes && !entries.is_empty() {
            break;
        }
        entries.push((row.get::<_, i64>(0)?.cast_unsigned(), bytes));
    }
    Ok(LogPage { entries, last: log.last, is_ended: log.ended_by.is_some(), reader: log.reader })
}
