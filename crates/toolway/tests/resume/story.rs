//! The call that is cut, which sends many messages, and the places where its reply is cut.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use toolway::prelude::*;
use toolway::transport::sse::{Event, Parser};

/// The number of progress notifications of the call.
const STEPS: u32 = 60;
/// The interval of log messages, in steps.
const LOGS: u32 = 3;

/// How often each call was run, by its key.
#[derive(Clone, Default)]
pub(crate) struct Runs(Arc<Mutex<HashMap<String, u32>>>);

impl Runs {
    fn count(&self, key: &str) {
        *self.0.lock().unwrap().entry(key.to_owned()).or_default() += 1;
    }

    pub(crate) fn of(&self, key: &str) -> u32 {
        self.0.lock().unwrap().get(key).copied().unwrap_or_default()
    }
}

/// Tells a long story: all at once, or with a break after each sentence.
#[tool]
pub(crate) async fn story(key: String, breaks: bool, is_long: bool, runs: State<Runs>, ctx: Ctx) -> String {
    runs.count(&key);
    for step in 1..=STEPS {
        ctx.progress(step, STEPS, sentence(step, is_long)).await;
        if step % LOGS == 0 {
            ctx.log().error("story", json!({"step": step, "text": sentence(step + 1, is_long)})).await;
        }
        if breaks {
            tokio::task::yield_now().await;
        }
    }
    format!("the end, {}", sentence(30, is_long))
}

fn sentence(step: u32, is_long: bool) -> String {
    match step {
        30 => "żółw 🐢 \u{2028} und \"Bär\" \\ \r\n data: id: 7 ".repeat(if is_long { 20 } else { 1 }),
        7 | 21 | 45 if is_long => "0123456789abcdef".repeat(100 + step as usize * 3),
        _ => format!("step {step}"),
    }
}

pub(crate) fn arguments(key: &str, breaks: bool, is_long: bool) -> Value {
    json!({"key": key, "breaks": breaks, "is_long": is_long})
}

/// Returns the complete events in a part of a stream.
pub(crate) fn events(bytes: &[u8]) -> Vec<Event> {
    let mut parser = Parser::new(1 << 20);
    parser.push(bytes);
    std::iter::from_fn(|| parser.next_event().unwrap()).collect()
}

/// Returns the offsets where events end.
pub(crate) fn ends(bytes: &[u8]) -> Vec<usize> {
    (2..=bytes.len()).filter(|end| bytes[..*end].ends_with(b"\n\n")).collect()
}

/// Returns the messages among the events, as text.
pub(crate) fn messages(events: Vec<Event>) -> impl Iterator<Item = Bytes> {
    events.into_iter().map(|event| event.data).filter(|data| !data.is_empty())
}

/// Returns whether a message is the answer.
pub(crate) fn is_answer(message: &[u8]) -> bool {
    serde_json::from_slice::<Value>(message).unwrap().get("result").is_some()
}

/// Returns the last id among the events.
pub(crate) fn last_id(events: &[Event]) -> Option<String> {
    events.iter().rev().find_map(|event| event.id.clone())
}

/// Returns the data received of a chunked body, complete or not.
pub(crate) fn unchunk(mut body: &[u8]) -> Vec<u8> {
    let mut data = Vec::new();
    while let Some(end) = body.windows(2).position(|pair| pair == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&body[..end]).unwrap(), 16).unwrap();
        body = &body[end + 2..];
        data.extend_from_slice(&body[..size.min(body.len())]);
        if size == 0 || body.len() < size + 2 {
            break;
        }
        body = &body[size + 2..];
    }
    data
}

/// Returns the body of a reply, if its head has arrived.
pub(crate) fn body(reply: &[u8]) -> Option<&[u8]> {
    let head = reply.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(&reply[head + 4..])
}

/// Returns the offsets to cut at: every fourth at the beginning, those around each of `ends`, and random ones. With
/// `TOOLWAY_ROUNDS=full` there are all at the beginning, and more random ones.
pub(crate) fn offsets(
    length: usize,
    ends: impl IntoIterator<Item = usize>,
    random: &mut Random,
) -> Vec<usize> {
    let is_full = std::env::var("TOOLWAY_ROUNDS").is_ok_and(|rounds| rounds == "full");
    let (every, at_random) = if is_full { (1, 300) } else { (4, 100) };
    let mut offsets: BTreeSet<usize> = (0..length.min(2 << 10)).step_by(every).collect();
    offsets.extend(ends.into_iter().flat_map(|end| end.saturating_sub(3)..=end + 3));
    offsets.extend((0..at_random).map(|_| random.below(length)));
    offsets.insert(length);
    offsets.retain(|offset| *offset <= length);
    offsets.into_iter().collect()
}

/// Pseudorandom numbers, the same in each run unless `SEED` is set. A failing test prints the seed.
pub(crate) struct Random {
    state: u64,
    seed: u64,
}

impl Drop for Random {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("that was SEED={}", self.seed);
        }
    }
}

impl Random {
    pub(crate) fn new() -> Self {
        let seed = std::env::var("SEED").map_or(20_251_125, |seed| seed.parse().unwrap());
        Self { state: seed.max(1), seed }
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap()
    }
}
