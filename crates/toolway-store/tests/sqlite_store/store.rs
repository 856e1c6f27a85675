//! How does a store do a step on SQLite? Every step is one transaction that first removes what has expired.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, OptionalExtension};
use toolway_store::{
    Answer, BoxFuture, Condition, Operation, Outcome, Result, Secret, Step, Store, StoredValue, Subscription,
    Version,
};

use crate::channels::TableSubscription;
use crate::database::{bytes, expiry, now, optional_bytes, to_sql, transact};
use crate::{channels, log};

/// A store in a file that the processes of one machine share.
pub(crate) struct SqliteStore {
    connection: Arc<Mutex<Connection>>,
    secret: Secret,
}

impl SqliteStore {
    /// Opens a store, and creates the file if there is none.
    pub(crate) fn open(file: &Path) -> rusqlite::Result<Self> {
        let connection = Connection::open(file)?;
        connection.busy_timeout(Duration::from_secs(5))?;
        connection.execute_batch(SCHEMA)?;
        let secret = connection.query_row("SELECT bytes FROM secret", (), |row| row.get(0))?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)), secret: Secret::new(secret) })
    }
}

impl Store for SqliteStore {
    fn run<'s>(&'s self, group: &'s str, step: &'s Step) -> BoxFuture<'s, Result<Outcome>> {
        let (group, step) = (group.to_owned(), step.clone());
        Box::pin(transact(self.connection.clone(), move |db| run(db, group.as_bytes(), &step)))
    }

    fn publish<'s>(&'s self, channel: &'s str, message: Bytes) -> BoxFuture<'s, Result<()>> {
        let channel = channel.to_owned();
        Box::pin(transact(self.connection.clone(), move |db| channels::publish(db, &channel, &message)))
    }

    fn subscribe<'s>(&'s self, channel: &'s str) -> BoxFuture<'s, Result<Box<dyn Subscription>>> {
        Box::pin(async move {
            let (connection, channel) = (self.connection.clone(), channel.to_owned());
            let last_seen = transact(connection.clone(), channels::last).await?;
            Ok(Box::new(TableSubscription { connection, channel, last_seen }) as _)
        })
    }

    fn secret(&self) -> Secret {
        self.secret
    }
}

fn run(db: &Connection, group: &[u8], step: &Step) -> rusqlite::Result<Outcome> {
    remove_expired(db)?;
    for (position, condition) in step.conditions.iter().enumerate() {
        let (holds, holder) = check(db, group, condition)?;
        if !holds {
            return Ok(Outcome::Refused { condition: position, holder });
        }
    }
    for (position, operation) in step.operations.iter().enumerate() {
        if let Operation::Append(append) = operation
            && let Err(outcome) =
                log::count_present(log::find(db, group, &append.log)?.as_ref(), append, position)
        {
            return Ok(outcome);
        }
    }
    let mut answers = Vec::new();
    for operation in &step.operations {
        answers.push(execute(db, group, operation)?);
        remove_expired(db)?;
    }
    Ok(Outcome::Done(answers))
}

/// Returns whether a condition holds, and the entry that is there instead.
fn check(db: &Connection, group: &[u8], condition: &Condition) -> rusqlite::Result<(bool, Option<Bytes>)> {
    let holds = match condition {
        Condition::Exists(key) => version(db, group, key)?.is_some(),
        Condition::Absent(key) => version(db, group, key)?.is_none(),
        Condition::HasVersion(key, expected) => version(db, group, key)? == Some(*expected),
        Condition::Free { map, key, value } => {
            let holder = entry(db, group, map, key)?.filter(|holder| holder != value);
            return Ok((holder.is_none(), holder));
        }
        Condition::HasRoom { map, key, limit } => {
            let sql = "SELECT count(*) FROM entries WHERE grp = ? AND map = ?";
            let count: i64 = db.query_row(sql, (group, map.as_bytes()), |row| row.get(0))?;
            entry(db, group, map, key)?.is_some() || count < to_sql(*limit)
        }
        Condition::ReadBy { log, reader } => {
            log::find(db, group, log)?.is_some_and(|log| log.reader.is_none_or(|current| current == *reader))
        }
    };
    Ok((holds, None))
}

fn execute(db: &Connection, group: &[u8], operation: &Operation) -> rusqlite::Result<Answer> {
    match operation {
        Operation::Get { key, known } => {
            let sql = "SELECT version, CASE version WHEN ? THEN NULL ELSE bytes END FROM items WHERE grp = ? AND name = ?";
            let known = known.map(|version| version.0.cast_signed());
            let value = db
                .query_row(sql, (known, group, key.as_bytes()), |row| {
                    let version = Version(row.get::<_, i64>(0)?.cast_unsigned());
                    Ok(StoredValue { version, bytes: optional_bytes(row, 1)? })
                })
                .optional()?;
            return Ok(Answer::Value(value));
        }
        Operation::Renew { key, ttl } => {
            let sql = "UPDATE items SET expires = ? WHERE grp = ? AND name = ?";
            db.execute(sql, (expiry(*ttl), group, key.as_bytes()))?;
        }
        Operation::Put { key, value, version, ttl } => {
            let sql =
                "INSERT OR REPLACE INTO items (grp, name, version, bytes, expires) VALUES (?, ?, ?, ?, ?)";
            db.execute(sql, (group, key.as_bytes(), version.0.cast_signed(), &**value, expiry(*ttl)))?;
        }
        Operation::Delete(key) => {
            db.execute("DELETE FROM items WHERE grp = ? AND name = ?", (group, key.as_bytes()))?;
        }
        Operation::Enter { map, key, value, ttl } => {
            let sql =
                "INSERT OR REPLACE INTO entries (grp, map, name, bytes, expires) VALUES (?, ?, ?, ?, ?)";
            db.execute(sql, (group, map.as_bytes(), key.as_bytes(), &**value, expiry(*ttl)))?;
        }
        Operation::Leave { map, key, value } => {
            let sql =
                "DELETE FROM entries WHERE grp = ? AND map = ? AND name = ? AND bytes = ifnull(?, bytes)";
            db.execute(sql, (group, map.as_bytes(), key.as_bytes(), value.as_deref()))?;
        }
        Operation::Entries(map) => {
            let mut query = db.prepare("SELECT name, bytes FROM entries WHERE grp = ? AND map = ?")?;
            let rows = query.query_map((group, map.as_bytes()), |row| {
                let name: Vec<u8> = row.get(0)?;
                Ok((String::from_utf8_lossy(&name).into_owned(), bytes(row, 1)?))
            })?;
            return Ok(Answer::Entries(rows.collect::<rusqlite::Result<_>>()?));
        }
        Operation::Clear(map) => {
            db.execute("DELETE FROM entries WHERE grp = ? AND map = ?", (group, map.as_bytes()))?;
        }
        Operation::Append(append) => return log::append(db, group, append),
        Operation::Read { log, after, limit } => {
            let log = log::find(db, group, log)?;
            return Ok(Answer::Page(log.map(|log| log::read(db, log, *after, *limit)).transpose()?));
        }
        Operation::SetReader { log, reader } => {
            let sql = "UPDATE logs SET reader = ? WHERE grp = ? AND name = ?";
            db.execute(sql, (&**reader, group, log.as_bytes()))?;
        }
        Operation::RenewLog { log, ttl } => {
            let sql = "UPDATE logs SET expires = ? WHERE grp = ? AND name = ?";
            db.execute(sql, (expiry(*ttl), group, log.as_bytes()))?;
        }
        Operation::DeleteLog(log) => {
            db.execute("DELETE FROM logs WHERE grp = ? AND name = ?", (group, log.as_bytes()))?;
        }
        Operation::Publish { channel, message } => channels::publish(db, channel, message)?,
    }
    Ok(Answer::Nothing)
}

fn version(db: &Connection, group: &[u8], key: &str) -> rusqlite::Result<Option<Version>> {
    let sql = "SELECT version FROM items WHERE grp = ? AND name = ?";
    db.query_row(sql, (group, key.as_bytes()), |row| Ok(Version(row.get::<_, i64>(0)?.cast_unsigned())))
        .optional()
}

fn entry(db: &Connection, group: &[u8], map: &str, key: &str) -> rusqlite::Result<Option<Bytes>> {
    let sql = "SELECT bytes FROM entries WHERE grp = ? AND map = ? AND name = ?";
    db.query_row(sql, (group, map.as_bytes(), key.as_bytes()), |row| bytes(row, 0)).optional()
}

fn remove_expired(db: &Connection) -> rusqlite::Result<()> {
    for table in ["items", "entries", "logs"] {
        db.execute(&format!("DELETE FROM {table} WHERE expires <= ?"), [now()])?;
    }
    Ok(())
}

/// Names are blobs, because texts with a NUL are not safe in all functions of SQLite.
const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS items (
        grp BLOB, name BLOB, version INTEGER, bytes BLOB, expires INTEGER, PRIMARY KEY (grp, name));
    CREATE TABLE IF NOT EXISTS entries (
        grp BLOB, map BLOB, name BLOB, bytes BLOB, expires INTEGER, PRIMARY KEY (grp, map, name));
    CREATE TABLE IF NOT EXISTS logs (
        id INTEGER PRIMARY KEY, grp BLOB, name BLOB, last INTEGER, ended_by BLOB, reader BLOB, expires INTEGER,
        UNIQUE (grp, name));
    CREATE TABLE IF NOT EXISTS log_entries (
        log INTEGER REFERENCES logs ON DELETE CASCADE, number INTEGER, bytes BLOB, is_kept INTEGER,
        PRIMARY KEY (log, number));
    CREATE TABLE IF NOT EXISTS messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT, channel BLOB, bytes BLOB, expires INTEGER);
    CREATE TABLE IF NOT EXISTS secret (id INTEGER PRIMARY KEY CHECK (id = 1), bytes BLOB);
    CREATE INDEX IF NOT EXISTS items_expire ON items (expires);
    CREATE INDEX IF NOT EXISTS entries_expire ON entries (expires);
    CREATE INDEX IF NOT EXISTS logs_expire ON logs (expires);
    CREATE INDEX IF NOT EXISTS messages_expire ON messages (expires);
    CREATE INDEX IF NOT EXISTS messages_by_channel ON messages (channel, id);
    INSERT OR IGNORE INTO secret VALUES (1, randomblob(32));
";
