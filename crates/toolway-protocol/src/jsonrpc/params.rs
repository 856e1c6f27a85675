//! The `params` of a message: where are the well-known members, and how are they read?

use std::borrow::Cow;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::{Code, RpcError};
use crate::json::escape::unescape;
use crate::json::raw::decode_scanned;
use crate::json::scan::{ScanError, Scanner, Span, ValueKind};
use crate::json::{RawJson, message_without_position};
use crate::meta;

/// The `params` of a request or notification: text with the positions of the well-known members.
#[derive(Debug, Clone)]
pub struct Params {
    frame: Bytes,
    spans: Spans,
}

impl Params {
    /// Returns `params.name`, which must be a string.
    pub fn name(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.name, "name")
    }

    /// Returns `params.uri`, which must be a string.
    pub fn uri(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.uri, "uri")
    }

    /// Returns `params.cursor`, which must be a string. The empty string is a valid cursor.
    pub fn cursor(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.cursor, "cursor")
    }

    /// Returns `params.requestState`, which must be a string.
    pub fn request_state(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        self.string(self.spans.request_state, "requestState")
    }

    /// Returns `params.arguments`, which must be an object.
    pub fn arguments(&self) -> Result<Option<RawJson>, RpcError> {
        self.object(self.spans.arguments, "arguments")
    }

    /// Returns `params.inputResponses`, which must be an object.
    pub fn input_responses(&self) -> Result<Option<RawJson>, RpcError> {
        self.object(self.spans.input_responses, "inputResponses")
    }

    /// Returns the whole `_meta` object.
    pub fn meta(&self) -> Option<RawJson> {
        self.spans.meta.map(|span| self.slice(span))
    }

    /// Returns the member of `_meta` with this key, as text.
    pub fn meta_member(&self, key: meta::Key) -> Option<RawJson> {
        self.spans.meta_members[key as usize].map(|span| self.slice(span))
    }

    /// Returns the whole object as text, or `None` if the message has no `params`.
    pub fn text(&self) -> Option<RawJson> {
        self.spans.whole.map(|span| self.slice(span))
    }

    /// Decodes the whole object as a `T`; missing `params` are read as `{}`.
    pub fn decode<T: DeserializeOwned>(&self) -> Result<T, RpcError> {
        let text = self.spans.whole.map_or(&b"{}"[..], |span| span.of(&self.frame));
        decode_scanned(text).map_err(|error| {
            RpcError::new(
                Code::INVALID_PARAMS,
                format!("wrong `params`: {}", message_without_position(&error)),
            )
        })
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
        let text = self.slice(span);
        if text.is_object() {
            return Ok(Some(text));
        }
        Err(RpcError::invalid_params(format!("`params.{key}` must be an object")))
    }

    fn slice(&self, span: Span) -> RawJson {
        RawJson::from_scanned(self.frame.slice(span.range()))
    }
}

/// The positions of the well-known members of `params`.
#[derive(Debug, Clone, Copy, Default)]
struct Spans {
    whole: Option<Span>,
    name: Option<Span>,
    uri: Option<Span>,
    arguments: Option<Span>,
    cursor: Option<Span>,
    input_responses: Option<Span>,
    request_state: Option<Span>,
    meta: Option<Span>,
    meta_members: [Option<Span>; meta::KEYS.len()],
}

/// The result of scanning `params`. It is checked only after the whole frame has been read.
#[derive(Default)]
pub(super) struct ScannedParams {
    spans: Spans,
    not_an_object: bool,
    meta_not_an_object: bool,
}

impl ScannedParams {
    pub(super) fn scan(scanner: &mut Scanner<'_>) -> Result<Self, ScanError> {
        let mut params = Self::default();
        if scanner.peek()? != ValueKind::Object {
            params.spans.whole = Some(scanner.skip_value()?);
            params.not_an_object = true;
            return Ok(params);
        }
        let whole = scanner.object(|scanner, key| {
            let slot = match &*key {
                "name" => &mut params.spans.name,
                "uri" => &mut params.spans.uri,
                "arguments" => &mut params.spans.arguments,
                "cursor" => &mut params.spans.cursor,
                "inputResponses" => &mut params.spans.input_responses,
                "requestState" => &mut params.spans.request_state,
                "_meta" => {
                    params.spans.meta = Some(params.scan_meta(scanner)?);
                    return Ok(());
                }
                _ => return scanner.skip_value().map(drop),
            };
            *slot = Some(scanner.skip_value()?);
            Ok(())
        })?;
        params.spans.whole = Some(whole);
        Ok(params)
    }

    /// Finds the members of `_meta` that the protocol defines.
    fn scan_meta(&mut self, scanner: &mut Scanner<'_>) -> Result<Span, ScanError> {
        if scanner.peek()? != ValueKind::Object {
            self.meta_not_an_object = true;
            return scanner.skip_value();
        }
        scanner.object(|scanner, key| {
            let value = scanner.skip_value()?;
            if let Some(reserved) = meta::Key::find(&key) {
                self.spans.meta_members[reserved as usize] = Some(value);
            }
            Ok(())
        })
    }

    /// Returns whether a position is inside `params`.
    pub(super) fn contains(&self, position: u32) -> bool {
        self.spans.whole.is_some_and(|whole| whole.contains(position))
    }

    /// Checks the members. `duplicate` describes a key that occurs twice.
    pub(super) fn into_params(self, frame: &Bytes, duplicate: Option<String>) -> Result<Params, RpcError> {
        if self.not_an_object {
            return Err(RpcError::invalid_params("`params` must be an object"));
        }
        if let Some(duplicate) = duplicate {
            return Err(RpcError::invalid_params(duplicate));
        }
        if self.meta_not_an_object {
            return Err(RpcError::invalid_params("`params._meta` must be an object"));
        }
        Ok(Params { frame: frame.clone(), spans: self.spans })
    }
}
