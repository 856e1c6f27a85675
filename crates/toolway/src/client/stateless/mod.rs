//! The stateless era: how does a request describe itself, and what does the server say about itself?
//!
//! `rounds.rs`: how is a request answered that the server has questions about?

mod rounds;

use std::sync::{Mutex, PoisonError};

use serde_json::Value;
use toolway_protocol::capability::{ClientCapabilities, Settings};
use toolway_protocol::era::Envelope;
use toolway_protocol::era::stateless::{Discovered, write_bare, write_call};
use toolway_protocol::json::Members;
use toolway_protocol::jsonrpc::{write_notification, write_request};
use toolway_protocol::meta::Key;
use toolway_protocol::types::{Implementation, LogLevel};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

pub(super) use rounds::ask;

use super::ServerFacts;
use super::transport::{Outgoing, put_params};
use crate::error::{Error, ErrorKind, Result};

/// What every request to one server carries.
#[derive(Debug)]
pub(super) struct Link {
    version: ProtocolVersion,
    envelope: Envelope,
    log_level: Mutex<Option<LogLevel>>,
}

/// What is to be heard of a request while it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wishes {
    progress: bool,
    log_level: Option<LogLevel>,
}

impl Link {
    pub(super) fn new(
        version: ProtocolVersion,
        capabilities: ClientCapabilities,
        info: Implementation,
    ) -> Self {
        Self { version, envelope: Envelope::new(version, capabilities, info), log_level: Mutex::new(None) }
    }

    /// What later requests say they want to hear of the log.
    pub(super) fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
    }

    /// What a request of now wants to hear while it runs.
    pub(super) fn wishes(&self, progress: bool) -> Wishes {
        Wishes { progress, log_level: *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) }
    }

    pub(super) fn version(&self) -> ProtocolVersion {
        self.version
    }

    pub(super) fn request(&self, id: Id, request: &Request, wishes: Wishes) -> Outgoing {
        let name = request.name().map(String::from).or_else(|| name_of(request));
        let mut envelope = self.envelope.clone();
        envelope.progress_token = wishes.progress.then(|| id.clone());
        envelope.log_level = wishes.log_level;
        let mut frame = Vec::new();
        match request {
            Request::Other(method, params) => {
                write_request(&mut frame, self.version, &id, method, |members| {
                    put_with_meta(members, params.as_ref(), &envelope);
                });
            }
            request => write_call(&mut frame, &id, request, &envelope),
        }
        self.outgoing(frame, id, request.method(), name)
    }

    pub(super) fn bare(&self, id: Id, method: Method) -> Outgoing {
        let mut frame = Vec::new();
        write_bare(&mut frame, &id, &method, &self.envelope);
        self.outgoing(frame, id, method, None)
    }

    pub(super) fn notification(&self, method: Method, params: Option<&RawJson>) -> Outgoing {
        let mut frame = Vec::new();
        write_notification(&mut frame, self.version, &method, |members| {
            put_with_meta(members, params, &self.envelope);
        });
        self.outgoing(frame, None, method, None)
    }

    fn outgoing(
        &self,
        frame: Vec<u8>,
        id: impl Into<Option<Id>>,
        method: Method,
        name: Option<String>,
    ) -> Outgoing {
        Outgoing { frame: frame.into(), id: id.into(), method, name, version: Some(self.version) }
    }
}

/// Writes parameters that were put together by hand, and the envelope beside what the caller has in `_meta`.
fn put_with_meta(members: &mut Members<'_, '_>, params: Option<&RawJson>, envelope: &Envelope) {
    let (params, own) = split_meta(params);
    put_params(members, params.as_ref());
    members.object("_meta", |meta| {
        envelope.put(meta);
        for (name, value) in own.iter().filter(|(name, _)| !is_reserved(name)) {
            meta.put_foreign(name, value);
        }
    });
}

/// Takes what the caller wrote into `_meta` out of the parameters: an object has it once, and ours goes there too.
fn split_meta(params: Option<&RawJson>) -> (Option<RawJson>, Settings) {
    match params.and_then(|params| params.decode().ok()) {
        Some(Value::Object(mut members)) if members.contains_key("_meta") => {
            let own = match members.remove("_meta") {
                Some(Value::Object(own)) => own,
                _ => Settings::new(),
            };
            (Some(Value::Object(members).into()), own)
        }
        _ => (params.cloned(), Settings::new()),
    }
}

/// Whether a key of `_meta` is one that the protocol fills in.
fn is_reserved(name: &str) -> bool {
    name.starts_with("io.modelcontextprotocol/") || name == "progressToken"
}

/// What a request that was put together by hand is about, if its method says where that stands.
fn name_of(request: &Request) -> Option<String> {
    let Request::Other(method, Some(params)) = request else { return None };
    let params: serde_json::Value = params.decode().ok()?;
    params[method.facts()?.name_member?].as_str().map(str::to_owned)
}

/// Reads the reply to `server/discover`.
pub(super) fn discovered(result: &RawJson) -> Result<Discovered> {
    result.decode().map_err(|error| {
        Error::new(ErrorKind::PeerMisbehaved, "the server's reply to server/discover is malformed")
            .caused_by(error)
    })
}

/// What the server said about itself. A malformed identity is none: it is for display only.
pub(super) fn facts(discovered: Discovered) -> ServerFacts {
    let info = discovered.meta.and_then(|mut meta| meta.remove(Key::ServerInfo.name()));
    ServerFacts {
        info: info.and_then(|info| RawJson::from(info).decode().ok()),
        capabilities: discovered.capabilities,
        instructions: discovered.instructions,
    }
}
