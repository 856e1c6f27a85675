//! Plays conversations from text files against the codecs and the lifecycle, without any I/O.
//!
//! | line | means |
//! |---|---|
//! | `# …` | a comment |
//! | `pipe`, `http` | starts a new conversation over that transport |
//! | `@ Name: value` | a header of the next message |
//! | `> {…}` | the client sends this |
//! | `= {…}` | the server answers with this result of a handler, in a form that is independent of the era |
//! | `=? {…}` | the server asks a question instead: an `InputRequired` |
//! | `=! {…}` | the handler fails with this error |
//! | `+ {…}` | the server sends this notification `{method, params}`: on the stream that a listen request opened, otherwise on its own |
//! | `end` | the server ends the stream that the last listen request opened |
//! | `< {…}` | exactly this is sent next |
//! | `! 400` | the HTTP status of the last answer |
//! | `silence` | nothing is sent |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};
use toolway_protocol::capability::{JsonObject, ServerCapabilities};
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::era::stateless::{DiscoverResult, EncodedServerInfo};
use toolway_protocol::era::{Claim, Delivery, batch, classify, handshake, stateless};
use toolway_protocol::http::header::{MirroredHeader, MirroredHeaders};
use toolway_protocol::http::status;
use toolway_protocol::json::Limits;
use toolway_protocol::jsonrpc::{Params, ParsedFrame, Rejection, parse, write_error};
use toolway_protocol::types::{CacheHints, Implementation, InputRequired, Listing};
use toolway_protocol::{
    Era, Id, Message, Method, Notification, Outcome, ProtocolVersion, RawJson, Reply, Request, RpcError,
};

#[test]
fn conversations_go_as_they_are_written() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/talk");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 10, "{files:?}");
    for file in files {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let mut player = Player::default();
        for (index, line) in std::fs::read_to_string(&file).unwrap().lines().enumerate() {
            player.line(line, &format!("{name}:{}", index + 1));
        }
        player.nothing_left(&name);
    }
}

/// A request whose answer comes later in the file.
struct Asked {
    id: Id,
    method: Method,
    wire: Wire,
}

#[derive(Clone, Copy, PartialEq)]
enum Wire {
    Handshake(ProtocolVersion),
    Stateless,
}

#[derive(Default)]
struct Player {
    over_http: bool,
    headers: Vec<(String, String)>,
    lifecycle: Lifecycle,
    asked: Option<Asked>,
    listening: Option<Id>,
    out: VecDeque<Value>,
    status: Option<u16>,
}

impl Player {
    fn line(&mut self, line: &str, place: &str) {
        let (sign, rest) = line.split_once(' ').unwrap_or((line, ""));
        match sign {
            "" | "#" => {}
            "pipe" | "http" => {
                self.nothing_left(place);
                *self = Self { over_http: sign == "http", ..Self::default() };
            }
            "@" => {
                let (name, value) = rest.split_once(':').unwrap_or_else(|| panic!("{place}: no colon"));
                self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
            }
            ">" => {
                assert!(self.out.is_empty(), "{place}: nobody expected {:?}", self.out);
                self.receive(rest);
                self.headers.clear();
            }
            "=" | "=?" | "=!" => self.answer(sign, rest, place),
            "+" => self.tell(rest, place),
            "end" => {
                let id = self.listening.take().unwrap_or_else(|| panic!("{place}: nobody listens"));
                self.send(|out| stateless::write_listen_end(out, &id, None, &stamp()));
            }
            "<" => {
                let sent = self.out.pop_front().unwrap_or_else(|| panic!("{place}: nothing went out"));
                let expected: Value =
                    serde_json::from_str(rest).unwrap_or_else(|error| panic!("{place}: {error}"));
                assert_eq!(sent, expected, "{place}\n  sent     {sent}\n  expected {expected}");
            }
            "!" => assert_eq!(
                self.status.take().map(|status| status.to_string()).as_deref(),
                Some(rest),
                "{place}"
            ),
            "silence" => self.nothing_left(place),
            _ => panic!("{place}: what does {line:?} mean?"),
        }
    }

    fn nothing_left(&self, place: &str) {
        assert!(self.out.is_empty(), "{place}: this went out and nobody expected it: {:?}", self.out);
        assert!(self.asked.is_none(), "{place}: a request was not answered");
    }

    fn send(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut frame = Vec::new();
        write(&mut frame);
        self.out.push_back(serde_json::from_slice(&frame).unwrap());
    }

    fn fail(&mut self, id: Option<&Id>, error: &RpcError, status: u16) {
        self.send(|out| write_error(out, id, error));
        self.status = Some(status);
    }

    fn receive(&mut self, text: &str) {
        match parse(&Bytes::copy_from_slice(text.as_bytes()), Limits::default()) {
            Ok(ParsedFrame::One(message)) => self.message(message),
            Ok(ParsedFrame::Batch(messages)) => match batch::check(self.lifecycle.version(), messages) {
                Ok(messages) => {
                    for message in messages {
                        match message {
                            Ok(message) => self.message(message),
                            Err(rejected) if !rejected.needs_reply() => {}
                            Err(Rejection { id, error }) => self.fail(id.as_ref(), &error, 400),
                        }
                    }
                }
                Err(error) => self.fail(None, &error, 400),
            },
            Err(Rejection { id, error }) => self.fail(id.as_ref(), &error, 400),
        }
    }

    fn message(&mut self, message: Message) {
        let claim = {
            let lines = |name: &str| {
                let found = self.headers.iter().filter(|(known, _)| known == name);
                MirroredHeader::from_lines(
                    found.map(|(_, value)| value.as_bytes()).collect::<Vec<_>>().into_iter(),
                )
            };
            let headers = MirroredHeaders {
                protocol_version: lines("mcp-protocol-version"),
                method: lines("mcp-method"),
                name: lines("mcp-name"),
            };
            classify(&message, if self.over_http { Delivery::Http(&headers) } else { Delivery::Pipe })
        };
        let (id, method, params) = match message {
            Message::Request { id, method, params } => (id, method, params),
            Message::Notification { method, params } => return self.heard(&method, &params),
            Message::Response { .. } => return,
        };
        match claim {
            Err(error) => self.fail(Some(&id), &error, 400),
            Ok(Claim::Stateless(_)) => self.request(id, method, &params, Wire::Stateless),
            Ok(Claim::Handshake(version)) => {
                let version = version.unwrap_or(self.lifecycle.version());
                self.request(id, method, &params, Wire::Handshake(version));
            }
        }
    }

    fn heard(&mut self, method: &Method, params: &Params) {
        match Notification::decode(method, params) {
            Ok(Some(Notification::Initialized(_))) => self.lifecycle.initialized(),
            Ok(Some(Notification::Cancelled(cancelled))) => {
                self.asked.take_if(|asked| Some(&asked.id) == cancelled.request_id.as_ref());
            }
            _ => {}
        }
    }

    fn request(&mut self, id: Id, method: Method, params: &Params, wire: Wire) {
        assert!(self.asked.is_none(), "one request at a time: {id} came before the last was answered");
        let known_in = match wire {
            Wire::Handshake(version) => version,
            Wire::Stateless => stateless::VERSION,
        };
        match &method {
            Method::Initialize if wire != Wire::Stateless => return self.initialize(&id, params),
            Method::Ping if wire != Wire::Stateless => {
                return self.send(|out| handshake::write_empty(out, known_in, &id));
            }
            Method::Discover if wire == Wire::Stateless => {
                let versions: Vec<String> =
                    ProtocolVersion::names(Era::Stateless).into_iter().map(String::from).collect();
                let discovered = DiscoverResult::new(versions, capabilities());
                self.status = Some(200);
                return self.send(|out| {
                    stateless::write_discover_result(out, &id, &discovered, &CacheHints::default(), &stamp());
                });
            }
            Method::Other(name) if !name.starts_with("acme/") => {}
            Method::Other(_) => {
                self.asked = Some(Asked { id, method, wire });
                return;
            }
            _ => {}
        }
        let decoded = if method.is_known_in(known_in) {
            Request::decode(&method, params).and_then(|request| request.ok_or_else(|| not_found(&method)))
        } else {
            Err(not_found(&method))
        };
        match (decoded, wire) {
            (Ok(Request::Listen(_)), _) => self.listening = Some(id),
            (Ok(_), _) => self.asked = Some(Asked { id, method, wire }),
            (Err(error), Wire::Stateless) => self.fail(Some(&id), &error, status::for_code(error.code)),
            (Err(error), Wire::Handshake(_)) => self.fail(Some(&id), &error, 200),
        }
    }

    fn initialize(&mut self, id: &Id, params: &Params) {
        let opened = params.decode::<handshake::Initialize>().and_then(|opening| {
            let version = self.lifecycle.initialize(&opening.protocol_version)?;
            Ok((version, handshake::InitializeResult::new(version.as_str(), capabilities(), server())))
        });
        match opened {
            Ok((version, answer)) => {
                self.send(|out| handshake::write_initialize_result(out, version, id, &answer));
            }
            Err(error) => self.fail(Some(id), &error, 200),
        }
    }

    fn answer(&mut self, sign: &str, text: &str, place: &str) {
        let Asked { id, method, wire } =
            self.asked.take().unwrap_or_else(|| panic!("{place}: nothing was asked"));
        let outcome = match sign {
            "=" => Outcome::Complete(neutral(&method, text)),
            "=?" => Outcome::NeedInput(serde_json::from_str::<InputRequired>(text).unwrap()),
            _ => {
                let error: RpcError = serde_json::from_str(text).unwrap();
                let status = if wire == Wire::Stateless { status::for_code(error.code) } else { 200 };
                return self.fail(Some(&id), &error, status);
            }
        };
        self.status = Some(200);
        match (outcome, wire) {
            (Outcome::Complete(reply), Wire::Stateless) => {
                self.send(|out| stateless::write_reply(out, &id, &reply, &CacheHints::default(), &stamp()));
            }
            (Outcome::Complete(reply), Wire::Handshake(version)) => {
                self.send(|out| handshake::write_reply(out, version, &id, &reply));
            }
            (Outcome::NeedInput(required), Wire::Stateless) => {
                self.send(|out| stateless::write_input_required(out, &id, &required, &stamp()));
            }
            _ => panic!("{place}: the handshake era asks with requests of its own"),
        }
    }

    fn tell(&mut self, text: &str, place: &str) {
        let frame = format!(r#"{{"jsonrpc":"2.0",{}"#, text.trim_start_matches('{'));
        let Ok(ParsedFrame::One(Message::Notification { method, params })) =
            parse(&frame.into(), Limits::default())
        else {
            panic!("{place}: a notification is {{method, params}}")
        };
        let news = Notification::decode(&method, &params)
            .unwrap()
            .unwrap_or_else(|| panic!("{place}: no such news"));
        match self.listening.clone() {
            Some(id) => self.send(|out| stateless::write_change(out, &id, &news)),
            None if self.asked.as_ref().is_some_and(|asked| asked.wire == Wire::Stateless) => {
                self.send(|out| stateless::write_told(out, &news));
            }
            None if self.asked.is_some() || self.lifecycle.may_send(&method) => {
                let version = self.lifecycle.version();
                self.send(|out| handshake::write_notification(out, version, &news));
            }
            None => {}
        }
    }
}

fn not_found(method: &Method) -> RpcError {
    RpcError::method_not_found(method.name())
}

fn server() -> Implementation {
    Implementation::new("talk", "1").with_title("Talk")
}

fn stamp() -> EncodedServerInfo {
    EncodedServerInfo::new(&Implementation::new("talk", "1"))
}

fn capabilities() -> ServerCapabilities {
    let completions = JsonObject::new();
    ServerCapabilities::new().with_tools(JsonObject::new()).with_completions(completions)
}

/// Parses a result in the form that is independent of the era, by the method of the request.
fn neutral(method: &Method, text: &str) -> Reply {
    let value: Value = serde_json::from_str(text).unwrap();
    let list = |key: &str| RawJson::from(value[key].clone());
    let next = value.get("nextCursor").and_then(Value::as_str).map(String::from);
    let whole = RawJson::parse(text).unwrap();
    match method {
        Method::ListTools => Reply::Tools(Arc::new(Listing::new(list("tools").decode().unwrap(), next))),
        Method::ListPrompts => {
            Reply::Prompts(Arc::new(Listing::new(list("prompts").decode().unwrap(), next)))
        }
        Method::ListResources => {
            Reply::Resources(Arc::new(Listing::new(list("resources").decode().unwrap(), next)))
        }
        Method::ListResourceTemplates => Reply::ResourceTemplates(Arc::new(Listing::new(
            list("resourceTemplates").decode().unwrap(),
            next,
        ))),
        Method::CallTool => Reply::ToolCalled(whole.decode().unwrap()),
        Method::ReadResource => Reply::ResourceRead(whole.decode().unwrap()),
        Method::GetPrompt => Reply::PromptFilled(whole.decode().unwrap()),
        Method::Complete => Reply::Completed(whole.decode().unwrap()),
        Method::Other(_) => Reply::Custom(whole),
        _ => {
            assert_eq!(value, json!({}));
            Reply::Empty
        }
    }
}
