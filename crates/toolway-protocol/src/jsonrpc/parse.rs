//! What does this frame contain, or why is it refused?
//!
//! One walk over the bytes finds the envelope, the well-known members of `params` and the keys of `params._meta`.
//! Everything else stays text. Keys are compared exactly. An object that has a key twice is refused, at any depth: two
//! parsers may read such a frame differently.

use bytes::Bytes;

use super::params::ScannedParams;
use super::{Code, Id, Message, RpcError};
use crate::json::duplicates::{Duplicate, find_duplicate};
use crate::json::escape::unescape;
use crate::json::raw::decode_scanned;
use crate::json::scan::{ScanError, Scanner, Span, ValueKind};
use crate::json::{Limits, RawJson, message_without_position};
use crate::method::Method;

/// The content of one frame.
#[derive(Debug)]
pub enum ParsedFrame {
    /// One message.
    One(Message),
    /// A batch of 1 to 100 messages. [`batch::check`](crate::era::batch::check) decides which of the messages are
    /// allowed.
    Batch(Vec<Result<Message, Rejection>>),
}

/// A frame that is answered with an error.
///
/// ```
/// use toolway_protocol::json::Limits;
/// use toolway_protocol::jsonrpc::parse;
///
/// let rejected = parse(&br#"{"id":7,"method":"ping"}"#[..].into(), Limits::default()).unwrap_err();
/// assert_eq!(rejected.id, Some(7.into()), "the answer can still be addressed");
/// ```
#[derive(Debug, Clone)]
pub struct Rejection {
    /// The request's id, if it could be read. Always `None` for a malformed reply.
    pub id: Option<Id>,
    /// The error to send.
    pub error: RpcError,
}

impl Rejection {
    /// Returns whether the error must be sent. A notification has no reply, even if its `params` are wrong (JSON-RPC
    /// 2.0, section 4.1). Over HTTP every POST has a response, and the error may be the body of that response.
    ///
    /// ```
    /// use toolway_protocol::json::Limits;
    /// use toolway_protocol::jsonrpc::parse;
    ///
    /// let rejected = |frame: &'static str| parse(&frame.into(), Limits::default()).unwrap_err();
    /// assert!(!rejected(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":7}"#).needs_reply());
    /// assert!(rejected(r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":7}"#).needs_reply());
    /// assert!(rejected(r#"{"jsonrpc":"2.0","method":7}"#).needs_reply(), "that is no notification");
    /// ```
    pub fn needs_reply(&self) -> bool {
        // `params` are checked last. A frame without an id whose only mistake is in `params` is therefore a
        // notification.
        self.id.is_some() || self.error.code != Code::INVALID_PARAMS
    }
}

/// The maximum number of messages in a batch.
const MAX_BATCH: usize = 100;

/// Parses one frame. A batch that is empty or holds more than 100 messages is refused as a whole, before its messages
/// are checked.
///
/// ```
/// use toolway_protocol::jsonrpc::{Message, ParsedFrame, parse};
/// use toolway_protocol::json::Limits;
///
/// let frame = bytes::Bytes::from_static(br#"{"jsonrpc":"2.0","id":"a","method":"ping"}"#);
/// let Ok(ParsedFrame::One(Message::Request { id, method, .. })) = parse(&frame, Limits::default()) else { panic!() };
/// assert_eq!((id, method.name()), ("a".into(), "ping"));
/// ```
pub fn parse(frame: &Bytes, limits: Limits) -> Result<ParsedFrame, Rejection> {
    // Positions in a frame are 32-bit numbers.
    if u32::try_from(frame.len()).is_err() {
        return Err(reject_without_id(RpcError::too_large(u32::MAX as usize)));
    }
    let Ok(text) = std::str::from_utf8(frame) else {
        return Err(reject_without_id(RpcError::parse_error("the message is not UTF-8")));
    };
    let mut scanner = Scanner::new(text, limits);
    let unreadable = |error| reject_without_id(scan_failure(error));
    if scanner.peek().map_err(unreadable)? == ValueKind::Array {
        let mut envelopes = Vec::new();
        let mut count = 0;
        scanner
            .array(|scanner| {
                count += 1;
                let envelope = ScannedMessage::scan(scanner)?;
                if count <= MAX_BATCH {
                    envelopes.push(envelope);
                }
                Ok(())
            })
            .and_then(|_| scanner.expect_end())
            .map_err(unreadable)?;
        if count == 0 {
            return Err(reject_without_id(RpcError::invalid_request("a batch must not be empty")));
        }
        if count > MAX_BATCH {
            let message = format!("a batch may hold {MAX_BATCH} messages, this one has {count}");
            return Err(reject_without_id(RpcError::invalid_request(message)));
        }
        return Ok(ParsedFrame::Batch(
            envelopes.into_iter().map(|envelope| envelope.into_message(frame)).collect(),
        ));
    }
    let envelope = ScannedMessage::scan(&mut scanner).map_err(unreadable)?;
    scanner.expect_end().map_err(unreadable)?;
    envelope.into_message(frame).map(ParsedFrame::One)
}

fn reject_without_id(error: RpcError) -> Rejection {
    Rejection { id: None, error }
}

#[cold]
fn occurs_twice(duplicate: &Duplicate) -> String {
    format!("`{}` occurs twice", duplicate.path)
}

fn scan_failure(error: ScanError) -> RpcError {
    match error {
        ScanError::Syntax(at) => RpcError::parse_error(format!("not JSON, at byte {at}")),
        ScanError::TooDeep => RpcError::invalid_request("the message is nested too deeply"),
        ScanError::TooManyNodes => RpcError::invalid_request("the message holds too many values"),
    }
}

/// The positions of the envelope's members. They are checked only after the whole frame has been read, so that an error
/// can repeat the id wherever the id is in the frame.
#[derive(Default)]
struct ScannedMessage {
    jsonrpc: Option<Span>,
    id: Option<Span>,
    method: Option<Span>,
    params: Option<ScannedParams>,
    result: Option<Span>,
    error: Option<Span>,
    /// A key that its object has twice.
    duplicate: Option<Box<Duplicate>>,
    not_an_object: bool,
}

impl ScannedMessage {
    fn scan(scanner: &mut Scanner<'_>) -> Result<Self, ScanError> {
        let mut envelope = Self::default();
        if scanner.peek()? != ValueKind::Object {
            scanner.skip_value()?;
            envelope.not_an_object = true;
            return Ok(envelope);
        }
        let whole = scanner.object(|scanner, key| {
            let slot = match &*key {
                "jsonrpc" => &mut envelope.jsonrpc,
                "id" => &mut envelope.id,
                "method" => &mut envelope.method,
                "result" => &mut envelope.result,
                "error" => &mut envelope.error,
                "params" => {
                    envelope.params = Some(ScannedParams::scan(scanner)?);
                    return Ok(());
                }
                _ => return scanner.skip_value().map(drop),
            };
            *slot = Some(scanner.skip_value()?);
            Ok(())
        })?;
        if scanner.take_suspicion() {
            envelope.duplicate = find_duplicate(scanner.piece(whole), whole.range().start);
        }
        Ok(envelope)
    }

    fn into_message(self, frame: &Bytes) -> Result<Message, Rejection> {
        let id = self.id.map(|span| read_id(span.of(frame)));
        // The id of a reply belongs to a request from this side. If the error repeated it, the peer would take the
        // error for the reply to one of its own requests.
        let is_reply = self.method.is_none() && (self.result.is_some() || self.error.is_some());
        let readable = match &id {
            Some(Ok(id)) if !is_reply => Some(id.clone()),
            _ => None,
        };
        let message = self.read_message(frame, id);
        message.map_err(|error| Rejection { id: readable, error })
    }

    fn read_message(mut self, frame: &Bytes, id: Option<Result<Id, RpcError>>) -> Result<Message, RpcError> {
        if self.not_an_object {
            return Err(RpcError::invalid_request("a message must be an object"));
        }
        // A duplicate in `params` is a mistake in `params`, and one in a reply fails the request that it replies to.
        if let Some(duplicate) = &self.duplicate
            && !self.params.as_ref().is_some_and(|params| params.contains(duplicate.position))
            && !(self.method.is_none() && self.is_in_outcome(duplicate.position))
        {
            return Err(RpcError::invalid_request(occurs_twice(duplicate)));
        }
        match self.jsonrpc.map(|span| span.of(frame)) {
            Some(br#""2.0""#) => {}
            Some(_) => return Err(RpcError::invalid_request("`jsonrpc` must be \"2.0\"")),
            None => return Err(RpcError::invalid_request("`jsonrpc` is missing, it must be \"2.0\"")),
        }
        let Some(method) = self.method else { return self.read_response(frame, id) };
        if self.result.is_some() || self.error.is_some() {
            return Err(RpcError::invalid_request(
                "a message has either `method` or one of `result` and `error`",
            ));
        }
        let quoted = method.of(frame);
        if quoted.first() != Some(&b'"') {
            return Err(RpcError::invalid_request("`method` must be a string"));
        }
        let name =
            unescape(quoted).ok_or_else(|| RpcError::invalid_request("`method` is not readable text"))?;
        let method = Method::from_name(&name);
        let id = id.transpose()?;
        let duplicate = self.duplicate.as_deref().map(occurs_twice);
        let params = self.params.take().unwrap_or_default().into_params(frame, duplicate)?;
        Ok(match id {
            Some(id) => Message::Request { id, method, params },
            None => Message::Notification { method, params },
        })
    }

    fn is_in_outcome(&self, position: u32) -> bool {
        [self.result, self.error].into_iter().flatten().any(|span| span.contains(position))
    }

    fn read_response(self, frame: &Bytes, id: Option<Result<Id, RpcError>>) -> Result<Message, RpcError> {
        let outcome = match (self.result, self.error, &self.duplicate) {
            (Some(_), None, Some(duplicate)) | (None, Some(_), Some(duplicate)) => {
                let duplicate = occurs_twice(duplicate);
                Err(RpcError::invalid_request(format!("the reply is ambiguous: {duplicate}")))
            }
            (Some(result), None, _) => Ok(RawJson::from_scanned(frame.slice(result.range()))),
            (None, Some(error), _) => Err(decode_scanned(error.of(frame)).map_err(|error| {
                RpcError::invalid_request(format!(
                    "`error` must have an integer `code` and a string `message`: {}",
                    message_without_position(&error)
                ))
            })?),
            (Some(_), Some(_), _) => {
                return Err(RpcError::invalid_request("a reply has either `result` or `error`, not both"));
            }
            (None, None, _) => return Err(RpcError::invalid_request("`method` is missing")),
        };
        // An error reply to an unreadable request has no id, or the `null` of plain JSON-RPC.
        let id = match id {
            Some(Err(_)) if outcome.is_err() && self.id.is_some_and(|span| span.of(frame) == b"null") => None,
            Some(id) => Some(id?),
            None if outcome.is_err() => None,
            None => return Err(RpcError::invalid_request("`id` is missing from a reply")),
        };
        Ok(Message::Response { id, outcome })
    }
}

pub(super) fn read_id(text: &[u8]) -> Result<Id, RpcError> {
    if let Some(number) = short_number(text) {
        return Ok(Id::Number(number));
    }
    let wrong = |what| RpcError::invalid_request(format!("`id` must be a string or an integer, {what}"));
    match text.first() {
        Some(b'"') => {
            unescape(text).map(|id| Id::from(&*id)).ok_or_else(|| wrong("this string is not readable text"))
        }
        Some(b'-' | b'0'..=b'9') if text.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
            Err(wrong("not a fraction"))
        }
        Some(b'-' | b'0'..=b'9') => std::str::from_utf8(text)
            .ok()
            .and_then(|digits| digits.parse().ok())
            .map(Id::Number)
            .ok_or_else(|| wrong("and an integer must fit 64 bits")),
        Some(b'n') => Err(wrong("not null")),
        _ => Err(wrong("nothing else")),
    }
}

/// Reads a number of digits only that fits 64 bits in any case, as most ids do.
fn short_number(text: &[u8]) -> Option<i64> {
    if !(1..=18).contains(&text.len()) {
        return None;
    }
    let append =
        |number: i64, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + i64::from(*byte - b'0'));
    text.iter().try_fold(0, append)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_digits_is_read_as_any_number() {
        for digits in ["0", "7", "12345", "999999999999999999", "1000000000000000000", "9223372036854775807"]
        {
            assert_eq!(read_id(digits.as_bytes()), Ok(Id::Number(digits.parse().unwrap())), "{digits}");
        }
        for wrong in ["", "1.0", "1e3", "9223372036854775808", "null", "true"] {
            assert!(read_id(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert_eq!(read_id(b"-7"), Ok(Id::Number(-7)));
    }
}
