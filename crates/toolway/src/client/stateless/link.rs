//! How does a request of the stateless era describe itself, and how does the server describe itself?

use toolway_protocol::capability::JsonObject;
use toolway_protocol::era::Envelope;
use toolway_protocol::era::stateless::{DiscoverResult, write_call_without_params};
use toolway_protocol::json::{Encoder, Members};
use toolway_protocol::jsonrpc::{write_notification, write_request};
use toolway_protocol::meta::{Key, is_reserved};
use toolway_protocol::types::{Implementation, LogLevel};
use toolway_protocol::{Id, Method, ProtocolVersion, RawJson, Request};

use crate::client::answer::answers::AnswerHandlers;
use crate::client::answer::caller::Caller;
use crate::client::stateless::listen::listen;
use crate::client::stateless::rounds::complete;
use crate::client::wire::era_link::{EraLink, WatchRequest};
use crate::client::wire::opening::ServerFacts;
use crate::client::wire::outgoing::{FRAME_CAPACITY, OutgoingMessage, put_params, split_meta};
use crate::client::wire::request_options::{RequestOptions, RequestRounds, ServerReply};
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

/// Writes the requests to one server. Each request has an envelope: the members of `_meta` that describe the client and
/// the request.
#[derive(Debug)]
pub(crate) struct StatelessLink {
    pub(super) version: ProtocolVersion,
    envelope: Envelope,
    /// The members of `envelope`, as they are written into each request of the application.
    encoded_envelope: Vec<u8>,
    /// The application's answers to the server's questions.
    pub(super) answers: AnswerHandlers,
    log_level: Mutex<Option<LogLevel>>,
}

impl StatelessLink {
    pub(crate) fn new(version: ProtocolVersion, answers: &AnswerHandlers, info: Implementation) -> Self {
        let envelope = Envelope::new(version, answers.capabilities(), info);
        let mut encoded = Vec::new();
        Encoder::new(&mut encoded, version).object(|members| envelope.put(members));
        // The requests have further members in the same object.
        let encoded_envelope = encoded[1..encoded.len() - 1].to_vec();
        Self { version, envelope, encoded_envelope, answers: answers.clone(), log_level: Mutex::new(None) }
    }

    fn outgoing(
        &self,
        frame: Vec<u8>,
        id: impl Into<Option<Id>>,
        method: Method,
        name: Option<String>,
    ) -> OutgoingMessage {
        OutgoingMessage { name, ..OutgoingMessage::new(frame, id.into(), method, Some(self.version)) }
    }

    /// Writes the envelope of a request into `_meta`. A request for a caller has the capabilities of this caller.
    fn put_envelope(&self, meta: &mut Members<'_, '_>, caller: Option<&dyn Caller>) {
        match caller {
            None => meta.splice(&self.encoded_envelope),
            Some(caller) => {
                let mut envelope = self.envelope.clone();
                envelope.capabilities = self.answers.capabilities_with(caller.capabilities());
                envelope.put(meta);
            }
        }
    }
}

impl EraLink for StatelessLink {
    fn version(&self) -> ProtocolVersion {
        self.version
    }

    fn request(&self, id: Id, course: &RequestRounds<'_>, terms: &RequestOptions) -> Result<OutgoingMessage> {
        let request = course.request();
        let name = request.name().map(String::from).or_else(|| name_of(request));
        let caller = terms.caller.as_deref();
        let caller_level = caller.and_then(Caller::log_level);
        let log_level = [course.log_level, caller_level].into_iter().flatten().min();
        let token = terms.wants_progress().then_some(&id);
        let put_envelope = |meta: &mut Members<'_, '_>| {
            self.put_envelope(meta, caller);
            meta.maybe(Key::LogLevel.name(), log_level.as_ref());
            meta.maybe(Key::ProgressToken.name(), token);
        };
        let (mut frame, own) = (Vec::with_capacity(FRAME_CAPACITY), terms.meta.as_ref());
        let method = request.method();
        write_request(&mut frame, self.version, &id, &method, |members| {
            if let Request::Other(_, params) = request {
                return put_with_meta(members, params.as_ref(), put_envelope, own);
            }
            request.put(members);
            members.object("_meta", |meta| {
                put_envelope(meta);
                put_own(meta, own);
            });
        });
        Ok(self.outgoing(frame, id, method, name))
    }

    /// Writes `server/discover`, because the stateless era does not have `ping`.
    fn ping(&self, id: Id) -> OutgoingMessage {
        let mut frame = Vec::new();
        write_call_without_params(&mut frame, &id, &Method::Discover, &self.envelope);
        self.outgoing(frame, id, Method::Discover, None)
    }

    fn notification(&self, method: Method, params: Option<&RawJson>) -> OutgoingMessage {
        let mut frame = Vec::new();
        write_notification(&mut frame, self.version, &method, |members| {
            put_with_meta(members, params, |meta| self.put_envelope(meta, None), None);
        });
        self.outgoing(frame, None, method, None)
    }

    fn watch<'w>(&'w self, watch: WatchRequest<'w>) -> BoxFuture<'w, Result<()>> {
        Box::pin(listen(watch))
    }

    fn complete<'l>(
        &'l self,
        course: &'l mut RequestRounds<'_>,
        result: RawJson,
    ) -> Result<ServerReply<'l, ()>> {
        complete(self.version, &self.answers, course, result)
    }

    fn set_log_level(&self, level: LogLevel) {
        *self.log_level.lock() = Some(level);
    }

    fn log_level(&self) -> Option<LogLevel> {
        *self.log_level.lock()
    }

    fn mirrors_arguments(&self) -> bool {
        true
    }

    fn lists_expire(&self) -> bool {
        true
    }
}

/// Writes parameters that the caller gave as JSON. The envelope goes into `_meta`, together with the caller's own
/// members of `_meta`.
fn put_with_meta(
    members: &mut Members<'_, '_>,
    params: Option<&RawJson>,
    put_envelope: impl FnOnce(&mut Members<'_, '_>),
    meta: Option<&JsonObject>,
) {
    let (params, mut own) = split_meta(params);
    own.extend(meta.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    put_params(members, params.as_ref());
    members.object("_meta", |meta| {
        put_envelope(meta);
        put_own(meta, Some(&own));
    });
}

/// Writes the members of `_meta` whose names are not reserved.
fn put_own(meta: &mut Members<'_, '_>, own: Option<&JsonObject>) {
    for (name, value) in own.into_iter().flatten().filter(|(name, _)| !is_reserved(name)) {
        meta.put_escaped(name, value);
    }
}

/// Returns the name of the tool, prompt or resource that a request with JSON parameters is about, if its method has a
/// parameter for a name.
fn name_of(request: &Request) -> Option<String> {
    let Request::Other(method, Some(params)) = request else { return None };
    let params: serde_json::Value = params.decode().ok()?;
    params[method.facts()?.name_member?].as_str().map(str::to_owned)
}

/// Returns the facts that the server stated about itself. A malformed name or version is ignored, because both are for
/// display only.
pub(crate) fn server_facts(discovered: DiscoverResult) -> ServerFacts {
    let info = discovered.meta.and_then(|mut meta| meta.remove(Key::ServerInfo.name()));
    ServerFacts {
        info: info.and_then(|info| RawJson::from(info).decode().ok()),
        capabilities: discovered.capabilities,
        instructions: discovered.instructions,
    }
}
