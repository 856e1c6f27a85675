//! Is each request answered once, and is each forgery refused?

use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::{Builder, Runtime};
use toolway::Form;
use toolway::fuzzing::{SealedCall, sign_cursor, verify_cursor};
use toolway::prelude::*;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};
use toolway_protocol::{Id, Method, RawJson};

use crate::mutate::Random;
use crate::{Outcome, split_lines};

/// In a conversation of any lines, each request gets one reply, and everything that the server writes is a message.
pub(crate) fn conversation(input: &[u8]) -> Outcome {
    let output = RUNTIME.block_on(async {
        let (mut near, far) = tokio::io::duplex(64 << 10);
        let (reader, writer) = tokio::io::split(far);
        let serving = SERVER.serve_io(reader, writer);
        let (mut from_server, mut to_server) = tokio::io::split(&mut near);
        let mut output = Vec::new();
        let write = async {
            to_server.write_all(input).await.unwrap();
            to_server.shutdown().await.unwrap();
        };
        let (outcome, (), read) = tokio::join!(serving, write, from_server.read_to_end(&mut output));
        outcome.unwrap();
        read.unwrap();
        output
    });
    let sent = Requests::of(input);
    let mut replies: HashMap<Option<Id>, usize> = HashMap::new();
    let mut questions = Vec::new();
    for line in output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let shown = line.escape_ascii();
        let messages = match parse(&Bytes::copy_from_slice(line), Limits::default()) {
            Ok(ParsedFrame::One(message)) => vec![message],
            Ok(ParsedFrame::Batch(messages)) => messages.into_iter().map(Result::unwrap).collect(),
            Err(rejected) => panic!("the server wrote {shown}: {rejected:?}"),
        };
        for message in messages {
            match message {
                Message::Response { id, .. } => *replies.entry(id).or_default() += 1,
                Message::Request { id, .. } => {
                    assert!(!questions.contains(&id), "two questions have the id {id}");
                    questions.push(id);
                }
                Message::Notification { .. } => {}
            }
        }
    }
    for (id, count) in &sent.certain {
        let replies = replies.get(&Some(id.clone())).copied().unwrap_or_default();
        let most = count + sent.possible.get(id).copied().unwrap_or_default();
        assert!(
            (*count..=most).contains(&replies),
            "{count} requests with the id {id} got {replies} replies"
        );
    }
    for (id, count) in &replies {
        match id {
            Some(id) => {
                let most =
                    [&sent.certain, &sent.possible].map(|ids| ids.get(id).copied().unwrap_or_default());
                assert!(*count <= most.iter().sum(), "{id} got {count} replies to {most:?} requests");
            }
            None => assert!(*count <= sent.unnamed, "{count} replies without an id"),
        }
    }
    Outcome::of(replies.keys().any(Option::is_some))
}

/// The requests of an input, by id.
#[derive(Default)]
struct Requests {
    /// How many requests must be answered.
    certain: HashMap<Id, usize>,
    /// How many messages may be answered: those of a batch, those that were cancelled, and those that stay open.
    possible: HashMap<Id, usize>,
    /// How many frames may be answered without an id.
    unnamed: usize,
}

impl Requests {
    fn of(input: &[u8]) -> Self {
        let mut requests = Self::default();
        for line in input.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match parse(&Bytes::copy_from_slice(line), Limits::default()) {
                Ok(ParsedFrame::One(message)) => requests.add(message),
                Ok(ParsedFrame::Batch(messages)) => {
                    requests.unnamed += 1;
                    for message in messages {
                        let id = match message {
                            Ok(message) => message.id().cloned(),
                            Err(rejected) => rejected.id,
                        };
                        match id {
                            Some(id) => *requests.possible.entry(id).or_default() += 1,
                            None => requests.unnamed += 1,
                        }
                    }
                }
                Err(rejected) => match rejected.id {
                    Some(id) => *requests.certain.entry(id).or_default() += 1,
                    None => requests.unnamed += 1,
                },
            }
        }
        requests
    }

    fn add(&mut self, message: Message) {
        match message {
            Message::Request { id, method: Method::Listen, .. } => {
                *self.possible.entry(id).or_default() += 1;
            }
            Message::Request { id, .. } => *self.certain.entry(id).or_default() += 1,
            Message::Notification { method: Method::Cancelled, params } => {
                // The request may have been answered before, or not at all.
                let Some(Ok(Cancelled { id })) = params.text().map(|text| text.decode::<Cancelled>()) else {
                    return;
                };
                let id = match id {
                    serde_json::Value::String(text) => Id::from(&*text),
                    id => Id::Number(id.as_i64().unwrap_or_default()),
                };
                let count = self.certain.remove(&id).unwrap_or_default();
                *self.possible.entry(id).or_default() += count;
            }
            _ => {}
        }
    }
}

#[derive(Deserialize)]
struct Cancelled {
    #[serde(rename = "requestId")]
    id: serde_json::Value,
}

/// Add two numbers.
#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Wait for a moment, so that other requests run meanwhile.
#[tool]
async fn wait(ctx: Ctx, rounds: u8) -> Result<u8, ToolError> {
    for round in 0..rounds {
        ctx.progress(round, rounds, "waiting").await;
        tokio::task::yield_now().await;
    }
    Ok(rounds)
}

/// Fail.
#[tool]
fn fail(reason: String) -> Result<String, ToolError> {
    Err(ToolError::new(reason))
}

#[derive(Form)]
struct Confirmation {
    name: String,
}

/// Ask a question.
#[tool]
async fn ask(ctx: Ctx) -> Result<String, ToolError> {
    let Confirmation { name } = ctx.ask("Which name?").await?;
    Ok(name)
}

/// A note.
#[resource("notes://{id}")]
fn note(id: u32) -> String {
    format!("note {id}")
}

/// Greet.
#[prompt]
fn greet(who: String) -> String {
    format!("Greet {who}.")
}

/// A server with something of each kind.
pub(crate) fn server() -> Server {
    let server = Server::new("fuzz", "1.0.0").tools(tools![add, wait, fail, ask]);
    server.resources(resources![note]).prompts(prompts![greet]).build().unwrap()
}

static SERVER: LazyLock<Server> = LazyLock::new(server);

/// Time stands still while there is something to do, and passes at once while there is not.
pub(crate) static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_all().start_paused(true).build().unwrap());

/// A sealed state opens for its own call, and neither for another call nor with another byte. The lines are the
/// principal, the method, the target, the arguments, and the state.
pub(crate) fn sealed_state(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [principal, method, target, arguments, state] = split_lines(text);
    let arguments = match arguments {
        "" => None,
        text => match RawJson::parse(text) {
            Ok(arguments) => Some(arguments),
            Err(_) => return Outcome::Refused,
        },
    };
    let principal = (!principal.is_empty()).then_some(principal);
    let call = SealedCall { principal, target: [method, target], arguments: arguments.as_ref() };
    let sealed = call.seal(state.as_bytes());
    assert_eq!(call.open(&sealed).as_deref(), Some(state.as_bytes()));
    let longer = format!("{target}x");
    let others = [
        SealedCall { principal: Some(&longer), ..call },
        SealedCall { target: [target, method], ..call },
        SealedCall { target: [method, &longer], ..call },
        SealedCall { arguments: None, ..call },
    ];
    for other in others.into_iter().filter(|other| *other != call) {
        // Arguments that are missing are the same as none.
        let is_empty = arguments.as_ref().is_some_and(|text| {
            matches!(text.as_str().trim(), "null") || text.members().is_some_and(|members| members.is_empty())
        });
        assert!(
            other.open(&sealed).is_none() || (other.arguments.is_none() && is_empty),
            "{other:?} opens it"
        );
    }
    for forged in forgeries(&sealed, state.len()) {
        assert_eq!(call.open(&forged), None, "{forged} is {sealed} with a change");
    }
    assert_eq!(call.open(state), None);
    Outcome::Accepted
}

/// A cursor is good for its own list, and neither for another one nor with another byte. The lines are the list and the
/// place.
pub(crate) fn cursor(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let [list, place] = split_lines(text);
    let cursor = sign_cursor(list, place);
    assert_eq!(verify_cursor(list, &cursor).as_deref(), Some(place));
    assert_eq!(verify_cursor(&format!("{list}x"), &cursor), None);
    assert_eq!(verify_cursor(list, place), None);
    for forged in forgeries(&cursor, place.len()) {
        assert_eq!(verify_cursor(list, &forged), None, "{forged} is {cursor} with a change");
    }
    Outcome::Accepted
}

/// Returns the text with its last letter changed, with a letter added, with one removed, and with one changed anywhere.
fn forgeries(text: &str, seed: usize) -> [String; 4] {
    let mut random = Random::new(seed as u64);
    let mut change = |at: usize| {
        let mut bytes = text.as_bytes().to_vec();
        while bytes[at] == text.as_bytes()[at] {
            bytes[at] = LETTERS[random.below(LETTERS.len())];
        }
        String::from_utf8(bytes).unwrap()
    };
    let last = text.len() - 1;
    [change(last), change(seed % last), text[..last].to_owned(), format!("{text}A")]
}

const LETTERS: &[u8; 65] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=";
