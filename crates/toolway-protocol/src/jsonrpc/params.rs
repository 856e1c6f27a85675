//! The `params` of a message: where its well-known members stand, and how are they read?

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{Code, RpcError};
use crate::json::scan::{Kind, ScanError, Scanner, Span, unescape};
use crate::json::{RawJson, reason};
use crate::meta;
use crate::wire::Wire;

/// The `params` of a request or notification: text, with the well-known members already found.
#[derive(Debug, Clone)]
pub struct Params {
    frame: Bytes,
    spans: PlainSpans,
}

impl Params {
    /// `params.name`, which must be a string.
    pub fn name(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.name, "name")
    }

    /// `params.uri`, which must be a string.
    pub fn uri(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.uri, "uri")
    }

    /// `params.cursor`, which must be a string; the empty string is a cursor like any other.
    pub fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.cursor, "cursor")
    }

    /// `params.requestState`, which must be a string.
    pub fn request_state(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.request_state, "requestState")
    }

    /// `params.arguments`, which must be an object.
    pub fn arguments(&self) -> Result<Option<RawJson>, RpcError> {
        self.object(self.spans.arguments, "arguments")
    }

    /// `params.inputResponses`, which must be an object.
    pub fn input_responses(&self) -> Result<Option<RawJson>, RpcError> {
        self.object(self.spans.input_responses, "inputResponses")
    }

    /// The whole `_meta` object.
    pub fn meta(&self) -> Option<RawJson> {
        self.spans.meta.map(|span| RawJson::scanned(slice(&self.frame, span)))
    }

    /// One reserved member of `_meta`, as text.
    pub fn reserved(&self, key: meta::Key) -> Option<RawJson> {
        self.spans.reserved[key as usize].map(|span| RawJson::scanned(slice(&self.frame, span)))
    }

    /// The whole object as text; `None` when the message had no `params`.
    pub fn text(&self) -> Option<RawJson> {
        self.spans.whole.map(|span| RawJson::scanned(slice(&self.frame, span)))
    }

    /// Reads the whole object as a `T`; a missing one reads as `{}`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let text = self.spans.whole.map_or(&b"{}"[..], |span| span.of(&self.frame));
        serde_json::from_slice(text).map_err(|error| {
            RpcError::new(Code::INVALID_PARAMS, format!("wrong `params`: {}", reason(&error)))
        })
    }

    /// Reads the members of the object, without `_meta`, as a `T`.
    pub(crate) fn decode_body<T: DeserializeOwned + Wire>(&self) -> Result<T, RpcError> {
        let mut body: T = self.decode()?;
        body.extra().remove("_meta");
        Ok(body)
    }

    fn string(&self, span: Option<Span>, key: &str) -> Result<Option<Cow<'_, str>>, RpcError> {
        let Some(span) = span else { return Ok(None) };
        let quoted = span.of(&self.frame);
        if quoted.first() != Some(&b'"') {
            return Err(RpcError::invalid_params(format!("`params.{key}` must be a string")));
        }
        match unescape(quoted) {
            Some(text) => Ok(Some(text)),
            None => Err(RpcError::invalid_params(format!("`params.{key}` is not readable text"))),
        }
    }

    fn object(&self, span: Option<Span>, key: &str) -> Result<Option<RawJson>, RpcError> {
        let Some(span) = span else { return Ok(None) };
        let text = RawJson::scanned(slice(&self.frame, span));
        if text.is_object() {
            return Ok(Some(text));
        }
        Err(RpcError::invalid_params(format!("`params.{key}` must be an object")))
    }
}

fn slice(frame: &Bytes, span: Span) -> Bytes {
    frame.slice(span.range())
}

#[derive(Debug, Clone, Copy, Default)]
struct PlainSpans {
    whole: Option<Span>,
    name: Option<Span>,
    uri: Option<Span>,
    arguments: Option<Span>,
    cursor: Option<Span>,
    input_responses: Option<Span>,
    request_state: Option<Span>,
    meta: Option<Span>,
    reserved: [Option<Span>; meta::KEYS.len()],
}

impl From<ParamSpans> for PlainSpans {
    fn from(spans: ParamSpans) -> Self {
        let meta = spans.meta.unwrap_or_default();
        Self {
            whole: spans.whole,
            name: spans.name,
            uri: spans.uri,
            arguments: spans.arguments,
            cursor: spans.cursor,
            input_responses: spans.input_responses,
            request_state: spans.request_state,
            meta: meta.whole,
            reserved: meta.reserved,
        }
    }
}

/// The places of what is well known inside `params`.
#[derive(Default)]
pub(super) struct ParamSpans {
    whole: Option<Span>,
    not_an_object: bool,
    name: Option<Span>,
    uri: Option<Span>,
    arguments: Option<Span>,
    cursor: Option<Span>,
    input_responses: Option<Span>,
    request_state: Option<Span>,
    meta: Option<MetaSpans>,
    seen: Keys,
}

impl ParamSpans {
    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Result<Self, ScanError> {
        let mut params = Self::default();
        if scanner.peek()? != Kind::Object {
            params.whole = Some(scanner.value()?);
            params.not_an_object = true;
            return Ok(params);
        }
        let whole = scanner.object(|scanner, key| {
            let slot = match &*key {
                "name" => &mut params.name,
                "uri" => &mut params.uri,
                "arguments" => &mut params.arguments,
                "cursor" => &mut params.cursor,
                "inputResponses" => &mut params.input_responses,
                "requestState" => &mut params.request_state,
                "_meta" => {
                    let meta = MetaSpans::scan(scanner)?;
                    if params.meta.replace(meta).is_some() {
                        params.seen.twice("_meta");
                    }
                    return Ok(());
                }
                _ => return scanner.value().map(drop),
            };
            let value = scanner.value()?;
            if slot.replace(value).is_some() {
                params.seen.twice(&key);
            }
            Ok(())
        })?;
        params.whole = Some(whole);
        Ok(params)
    }

    pub(super) fn params(mut self, frame: &Bytes) -> Result<Params, RpcError> {
        if self.not_an_object {
            return Err(RpcError::invalid_params("`params` must be an object"));
        }
        if let Some(key) = self.seen.duplicate() {
            return Err(RpcError::invalid_params(format!("`params.{key}` comes twice")));
        }
        if let Some(meta) = &mut self.meta {
            if meta.not_an_object {
                return Err(RpcError::invalid_params("`params._meta` must be an object"));
            }
            if let Some(key) = meta.seen.duplicate() {
                return Err(RpcError::invalid_params(format!("`{key}` comes twice in `params._meta`")));
            }
        }
        Ok(Params { frame: frame.clone(), spans: PlainSpans::from(self) })
    }
}

/// The places of the reserved keys of `_meta`.
#[derive(Default)]
struct MetaSpans {
    not_an_object: bool,
    whole: Option<Span>,
    reserved: [Option<Span>; meta::KEYS.len()],
    seen: Keys,
}

impl MetaSpans {
    fn scan(scanner: &mut Scanner<'_>) -> Result<Self, ScanError> {
        let mut meta = Self::default();
        if scanner.peek()? != Kind::Object {
            scanner.value()?;
            meta.not_an_object = true;
            return Ok(meta);
        }
        let whole = scanner.object(|scanner, key| {
            let value = scanner.value()?;
            match meta::Key::find(&key) {
                Some(reserved) => {
                    if meta.reserved[reserved as usize].replace(value).is_some() {
                        meta.seen.twice(&key);
                    }
                }
                None => meta.seen.other(&key),
            }
            Ok(())
        })?;
        meta.whole = Some(whole);
        Ok(meta)
    }
}

/// Remembers keys to find one that came twice.
#[derive(Default)]
pub(super) struct Keys {
    others: Vec<Box<str>>,
    twice: Option<Box<str>>,
}

impl Keys {
    pub(super) fn twice(&mut self, key: &str) {
        self.twice = Some(key.into());
    }

    pub(super) fn other(&mut self, key: &str) {
        self.others.push(key.into());
    }

    /// Sorting keeps this cheap for a frame made of a hundred thousand keys.
    pub(super) fn duplicate(&mut self) -> Option<Box<str>> {
        self.others.sort_unstable();
        let other = self.others.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0].clone());
        self.twice.take().or(other)
    }
}
