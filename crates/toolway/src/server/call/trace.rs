//! Which trace does a request belong to? W3C Trace Context, in `_meta` or in the headers.
//!
//! Strictly read: it comes from a peer, and goes to whoever looks at traces.

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::meta::Key;

/// What the `_meta` of a request says, unread.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traced {
    parent: Option<RawJson>,
    state: Option<RawJson>,
    baggage: Option<RawJson>,
}

/// The span that a request came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) parent: Parent,
    /// `tracestate` and `baggage` as they came.
    #[allow(dead_code, reason = "only OpenTelemetry asks")]
    pub(crate) state: Option<String>,
    #[allow(dead_code, reason = "only OpenTelemetry asks")]
    pub(crate) baggage: Option<String>,
}

/// A `traceparent`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parent {
    pub(crate) trace_id: u128,
    #[allow(dead_code, reason = "only OpenTelemetry asks")]
    pub(crate) span_id: u64,
    #[allow(dead_code, reason = "only OpenTelemetry asks")]
    pub(crate) flags: u8,
}

impl Traced {
    pub(crate) fn of(params: &Params) -> Self {
        Self {
            parent: params.reserved(Key::TraceParent),
            state: params.reserved(Key::TraceState),
            baggage: params.reserved(Key::Baggage),
        }
    }

    /// What the message says, else what the HTTP request around it says.
    pub(crate) fn origin(&self, headers: Option<&HeaderMap>) -> Option<Origin> {
        let text = |raw: &Option<RawJson>| raw.as_ref()?.decode::<String>().ok();
        if let Some(parent) = text(&self.parent).as_deref().and_then(Parent::parse) {
            return Some(Origin::new(parent, text(&self.state), text(&self.baggage)));
        }
        let header = |name: &str| headers?.get(name)?.to_str().ok();
        let parent = Parent::parse(header("traceparent")?)?;
        Some(Origin::new(
            parent,
            header("tracestate").map(str::to_owned),
            header("baggage").map(str::to_owned),
        ))
    }
}

impl Origin {
    fn new(parent: Parent, state: Option<String>, baggage: Option<String>) -> Self {
        let state = state.filter(|text| text.len() <= MAX_STATE && text.is_ascii());
        let baggage = baggage.filter(|text| text.len() <= MAX_BAGGAGE && text.is_ascii());
        Self { parent, state, baggage }
    }
}

impl Parent {
    /// W3C Trace Context, section 3.2: `00-TRACE-PARENT-FLAGS` in lower-case hexadecimal digits, neither id zero. A later version
    /// may add something after another dash.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(5, '-');
        let version = u8::try_from(digits(parts.next()?, 2)?).ok()?;
        let trace_id = digits(parts.next()?, 32)?;
        let span_id = u64::try_from(digits(parts.next()?, 16)?).ok()?;
        let flags = u8::try_from(digits(parts.next()?, 2)?).ok()?;
        let is_right = version != 0xff && (version != 0 || parts.next().is_none());
        (is_right && trace_id != 0 && span_id != 0).then_some(Self { trace_id, span_id, flags })
    }
}

fn digits(text: &str, length: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_right = text.len() == length && text.bytes().all(is_digit);
    is_right.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// The longest `tracestate` that is taken; W3C asks for at least this much.
const MAX_STATE: usize = 512;
/// The longest `baggage` that is taken, as W3C has it.
const MAX_BAGGAGE: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_to_the_letter() {
        let parent = Parent::parse(RIGHT).unwrap();
        assert_eq!(parent.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736);
        assert_eq!((parent.span_id, parent.flags), (0x00f0_67aa_0ba9_02b7, 1));
        assert!(
            Parent::parse(&format!("{}-and-more", RIGHT.replacen("00", "cc", 1))).is_some(),
            "a later version"
        );
        let wrong = [
            String::new(),
            "-".repeat(60),
            RIGHT.to_uppercase(),
            RIGHT.replacen("00", "ff", 1),
            RIGHT.replacen("00", "+0", 1),
            RIGHT.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            RIGHT.replace("00f067aa0ba902b7", &"0".repeat(16)),
            RIGHT.replace("-01", "-1"),
            RIGHT.replace("-01", ""),
            format!("{RIGHT}-"),
            format!("{RIGHT}0"),
            format!(" {RIGHT}"),
            RIGHT.replace('4', "é"),
            "0".repeat(1 << 20),
        ];
        for text in wrong {
            assert_eq!(Parent::parse(&text), None, "{text:.80}");
        }
    }

    #[test]
    fn the_message_says_more_than_the_headers_around_it() {
        let headers = HeaderMap::from_iter([(
            http::HeaderName::from_static("traceparent"),
            http::HeaderValue::from_static("00-11111111111111111111111111111111-2222222222222222-00"),
        )]);
        let said = |parent: &str| Traced {
            parent: Some(RawJson::from_value(&parent).unwrap()),
            state: Some(RawJson::from_value(&"a=1".repeat(1000)).unwrap()),
            baggage: Some(RawJson::from_value(&7).unwrap()),
        };
        let origin = said(RIGHT).origin(Some(&headers)).unwrap();
        assert_eq!(
            (origin.parent, origin.state, origin.baggage),
            (Parent::parse(RIGHT).unwrap(), None, None)
        );
        let origin = said("nonsense").origin(Some(&headers)).unwrap();
        assert_eq!((origin.parent.span_id, origin.parent.flags), (0x2222_2222_2222_2222, 0));
        assert_eq!(said("nonsense").origin(None), None);
        assert_eq!(Traced::default().origin(None), None);
    }
}
