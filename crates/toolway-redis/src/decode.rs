//! What does the reply of the script mean?

use bytes::Bytes;
use redis::Value;
use toolway_store::{
    Answer, LogPage, Operation, Outcome, Result, Step, StoreError, StoreFailure, StoredValue, Version,
};

/// Reads the reply to a step. `moved` is the position of the operation that ran first.
pub(crate) fn outcome(reply: Value, step: &Step, moved: usize) -> Result<Outcome> {
    read(reply, step, moved).ok_or_else(|| {
        StoreError::new(
            StoreFailure::Broken,
            "the reply of Redis to a step cannot be read; its keys may have been changed by another program",
        )
    })
}

fn read(reply: Value, step: &Step, moved: usize) -> Option<Outcome> {
    let mut parts = array(reply)?.into_iter();
    Some(match integer(&parts.next()?)? {
        0 => {
            let mut answers: Vec<Value> = parts.collect();
            if answers.len() != step.operations.len() {
                return None;
            }
            if let Some(reordered) = answers.get_mut(..=moved) {
                reordered.rotate_left(1);
            }
            let answers =
                step.operations.iter().zip(answers).map(|(operation, reply)| answer(operation, reply));
            Outcome::Done(answers.collect::<Option<_>>()?)
        }
        1 => Outcome::Refused {
            condition: integer(&parts.next()?)?.try_into().ok()?,
            holder: bytes(parts.next()?),
        },
        2 => Outcome::Behind { operation: position(&mut parts)?, last: number(&parts.next()?)? },
        3 => Outcome::Ended { operation: position(&mut parts)?, last: number(&parts.next()?)? },
        _ => return None,
    })
}

fn position(parts: &mut impl Iterator<Item = Value>) -> Option<usize> {
    integer(&parts.next()?)?.try_into().ok()
}

fn answer(operation: &Operation, reply: Value) -> Option<Answer> {
    Some(match operation {
        Operation::Get { .. } => Answer::Value(match reply {
            Value::Nil => None,
            Value::Array(parts) => {
                let [stored, value] = <[Value; 2]>::try_from(parts).ok()?;
                Some(StoredValue { version: version(stored)?, bytes: Some(bytes(value)?) })
            }
            known => Some(StoredValue { version: version(known)?, bytes: None }),
        }),
        Operation::Entries(_) => {
            let mut parts = array(reply)?.into_iter();
            let mut entries = Vec::with_capacity(parts.len() / 2);
            while let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                entries.push((String::from_utf8(bytes(key)?.into()).ok()?, bytes(value)?));
            }
            Answer::Entries(entries)
        }
        Operation::Append(_) => {
            let [last, reader] = <[Value; 2]>::try_from(array(reply)?).ok()?;
            Answer::Appended { last: number(&last)?, reader: bytes(reader) }
        }
        Operation::Read { .. } => Answer::Page(match reply {
            Value::Nil => None,
            other => Some(page(other)?),
        }),
        _ => Answer::Nothing,
    })
}

fn page(reply: Value) -> Option<LogPage> {
    let [last, is_ended, reader, entries] = <[Value; 4]>::try_from(array(reply)?).ok()?;
    let mut parts = array(entries)?.into_iter();
    let mut entries = Vec::with_capacity(parts.len() / 2);
    while let (Some(entry), Some(content)) = (parts.next(), parts.next()) {
        entries.push((number(&entry)?, bytes(content)?));
    }
    Some(LogPage { entries, last: number(&last)?, is_ended: integer(&is_ended)? == 1, reader: bytes(reader) })
}

fn array(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(parts) => Some(parts),
        _ => None,
    }
}

fn integer(value: &Value) -> Option<i64> {
    match value {
        Value::Int(integer) => Some(*integer),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    integer(value)?.try_into().ok()
}

fn bytes(value: Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(bytes.into()),
        _ => None,
    }
}

fn version(value: Value) -> Option<Version> {
    Some(Version(u64::from_be_bytes(bytes(value)?.as_ref().try_into().ok()?)))
}
