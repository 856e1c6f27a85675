//! The codec of the stateless era: how are its requests read and its replies written?

use crate::capability::ServerCapabilities;
use crate::era::{Envelope, Era};
use crate::json::{Encode, Encoder, Members, RawJson};
use crate::jsonrpc::{Id, write_request, write_result};
use crate::meta::Key;
use crate::method::Method;
use crate::request::{Reply, Request};
use crate::types::Implementation;
use crate::version::ProtocolVersion;

/// The revision that this codec writes.
pub const VERSION: ProtocolVersion = ProtocolVersion::V2026_07_28;

/// Who answers, already written: the same bytes go into every result.
#[derive(Debug, Clone)]
pub struct Stamp(RawJson);

impl Stamp {
    /// The stamp of a server.
    pub fn new(server: &Implementation) -> Self {
        let mut out = Vec::new();
        server.encode(&mut Encoder::new(&mut out, VERSION));
        Self(RawJson::scanned(out.into()))
    }
}

/// Appends the reply to a request.
pub fn write_reply(out: &mut Vec<u8>, id: &Id, reply: &Reply, stamp: &Stamp) {
    write_result(out, VERSION, id, |members| {
        complete(members);
        reply.put(members);
        if reply.is_cacheable() {
            uncached(members);
        }
        members.object("_meta", |meta| {
            put_stamp(meta, stamp);
            for (key, value) in reply.meta().into_iter().flatten() {
                if key != Key::ServerInfo.name() {
                    meta.put_foreign(key, value);
                }
            }
        });
    });
}

/// Appends the reply to `server/discover`.
pub fn write_discovery(
    out: &mut Vec<u8>,
    id: &Id,
    capabilities: &ServerCapabilities,
    instructions: Option<&String>,
    stamp: &Stamp,
) {
    write_result(out, VERSION, id, |members| {
        complete(members);
        members.put("supportedVersions", &ProtocolVersion::names(Era::Stateless));
        members.put("capabilities", capabilities);
        members.maybe("instructions", instructions);
        uncached(members);
        members.object("_meta", |meta| put_stamp(meta, stamp));
    });
}

/// Appends a request that carries `envelope`.
pub fn write_call(out: &mut Vec<u8>, id: &Id, request: &Request, envelope: &Envelope) {
    write_request(out, VERSION, id, &request.method(), |params| {
        request.put(params);
        params.object("_meta", |meta| envelope.put(meta));
    });
}

/// Appends a request that has no parameters of its own.
pub fn write_bare(out: &mut Vec<u8>, id: &Id, method: &Method, envelope: &Envelope) {
    write_request(out, VERSION, id, method, |params| params.object("_meta", |meta| envelope.put(meta)));
}

fn complete(members: &mut Members<'_, '_>) {
    members.put_raw("resultType", b"\"complete\"");
}

/// What an author who said nothing about caching gets: do not keep, do not share.
fn uncached(members: &mut Members<'_, '_>) {
    members.put("ttlMs", &0_u32);
    members.put_raw("cacheScope", b"\"private\"");
}

fn put_stamp(meta: &mut Members<'_, '_>, stamp: &Stamp) {
    meta.put(Key::ServerInfo.name(), &stamp.0);
}
