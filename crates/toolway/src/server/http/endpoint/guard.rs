//! Is this request allowed at all? Checked for every route and method, before anything else is read.
//!
//! A web page can make its visitor's browser send requests anywhere, and can point its own domain name at the address
//! 127.0.0.1. The browser then sends that name as `Host`, and the page's address as `Origin`. A server that checks both
//! cannot be reached this way.

use std::fmt;
use std::sync::Arc;

use ::http::HeaderMap;
use ::http::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HOST, ORIGIN};
use ::http::request::Parts;
use ::http::uri::Authority;

use super::header_lines::{HeaderLines, lines_of};

/// The host names by which a server may be reached.
#[derive(Clone, Default)]
pub struct Hosts(Allowed);

/// The origins of web pages that may call a server. A request without an `Origin` header is allowed, because it does
/// not come from a web page.
#[derive(Clone, Default)]
pub struct Origins(Allowed);

#[derive(Clone)]
enum Allowed {
    Any,
    LoopbackAnd(Arc<[String]>),
}

impl Default for Allowed {
    fn default() -> Self {
        Self::LoopbackAnd(Arc::new([]))
    }
}

impl Hosts {
    /// Allows every name. Only for a server that is open to the public, or behind a proxy that checks the name.
    #[expect(non_upper_case_globals, reason = "reads as the choice it is: `Hosts::Any`")]
    pub const Any: Self = Self(Allowed::Any);
}

impl Origins {
    /// Allows every web page. Only for a server that is open to the public.
    #[expect(non_upper_case_globals, reason = "reads as the choice it is: `Origins::Any`")]
    pub const Any: Self = Self(Allowed::Any);
}

macro_rules! from_lists {
    ($($type:ident),*) => {$(
        impl<const N: usize> From<[&str; N]> for $type {
            fn from(names: [&str; N]) -> Self {
                names.map(String::from).to_vec().into()
            }
        }

        impl From<Vec<String>> for $type {
            fn from(names: Vec<String>) -> Self {
                let names = names.into_iter().map(|name| name.trim_end_matches('/').to_ascii_lowercase());
                Self(Allowed::LoopbackAnd(names.collect()))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match &self.0 {
                    Allowed::Any => f.write_str("any"),
                    Allowed::LoopbackAnd(names) => write!(f, "loopback and {names:?}"),
                }
            }
        }
    )*};
}
from_lists!(Hosts, Origins);

/// Checks the `Host` and the `Origin` of a request.
pub(crate) fn check(parts: &Parts, hosts: &Hosts, origins: &Origins) -> Result<(), String> {
    let [host, origin] = lines_of(&parts.headers, [&HOST, &ORIGIN]);
    check_host(host, parts.uri.authority(), hosts)?;
    check_origin(origin, origins)
}

fn check_host(
    header: HeaderLines<'_>,
    authority: Option<&Authority>,
    Hosts(allowed): &Hosts,
) -> Result<(), String> {
    let Allowed::LoopbackAnd(names) = allowed else { return Ok(()) };
    let from_header = header.single_value().map_err(|()| "the Host header must occur once".to_owned())?;
    let wanted = match (from_header, authority) {
        (Some(header), None) => header,
        (None, Some(authority)) => authority.as_str(),
        (Some(header), Some(authority)) if header.eq_ignore_ascii_case(authority.as_str()) => header,
        (Some(_), Some(_)) => return Err("the Host header differs from the request's address".to_owned()),
        (None, None) => return Err("the Host header is missing".to_owned()),
    };
    if is_usual_loopback(wanted) {
        return Ok(());
    }
    let Some(authority) = host_and_port(wanted) else {
        return Err("the Host header is not a valid host".to_owned());
    };
    let host = authority.host().to_ascii_lowercase();
    let with_port = authority.as_str().to_ascii_lowercase();
    // A name that is allowed without a port is allowed on every port.
    if is_loopback(&host) || names.iter().any(|name| *name == host || *name == with_port) {
        return Ok(());
    }
    Err(format!("the host {host:?} is not served here; if it should be, allow it with `.hosts([{host:?}])`"))
}

fn check_origin(header: HeaderLines<'_>, Origins(allowed): &Origins) -> Result<(), String> {
    let Allowed::LoopbackAnd(origins) = allowed else { return Ok(()) };
    let origin = header.single_value().map_err(|()| "the Origin header must occur once".to_owned())?;
    let Some(origin) = origin else { return Ok(()) };
    let origin = origin.to_ascii_lowercase();
    if origins.contains(&origin) {
        return Ok(());
    }
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let authority = host.and_then(host_and_port);
    if authority.is_some_and(|authority| is_loopback(authority.host())) {
        return Ok(());
    }
    Err(format!(
        "pages of {origin:?} may not call this server; if they should, allow them with `.origins([{origin:?}])`"
    ))
}

/// Parses a host with an optional port. [`Authority`] also allows user info before an `@`, which other parsers could
/// take for the host, and a port that is not a number. Both are rejected here.
fn host_and_port(text: &str) -> Option<Authority> {
    let authority: Authority = text.parse().ok()?;
    let port = authority.as_str().strip_prefix(authority.host())?;
    let is_port = port.is_empty() || port == ":" || authority.port_u16().is_some();
    is_port.then_some(authority)
}

/// Returns whether this is a loopback name in lower case, with or without a port: most requests on one machine have it, and
/// it need not be parsed. All others are parsed, so that both ways decide the same.
fn is_usual_loopback(text: &str) -> bool {
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    is_loopback(text) || text.rsplit_once(':').is_some_and(|(host, port)| is_loopback(host) && is_port(port))
}

fn is_loopback(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "[::1]")
}

/// A mistake in the media types of a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaMistake {
    /// The body is not JSON. A browser does not send JSON to another origin without a preflight request.
    ContentType,
    /// The body is encoded.
    ContentEncoding,
    /// The client does not accept JSON.
    Accept,
}

/// Checks the media types of a POST.
pub(crate) fn check_media(headers: &HeaderMap) -> Result<(), MediaMistake> {
    let [content_type, encoding, accept] = lines_of(headers, [&CONTENT_TYPE, &CONTENT_ENCODING, &ACCEPT]);
    let is_json = |value: &str| value == JSON || media_type(value).eq_ignore_ascii_case(JSON);
    if !content_type.single_value().is_ok_and(|value| value.is_some_and(is_json)) {
        return Err(MediaMistake::ContentType);
    }
    let is_plain = |coding: &str| coding.eq_ignore_ascii_case("identity");
    if !encoding.single_value().is_ok_and(|coding| coding.is_none_or(is_plain)) {
        return Err(MediaMistake::ContentEncoding);
    }
    if !accepts_any(headers, accept, [JSON, "application/*", "*/*"]) {
        return Err(MediaMistake::Accept);
    }
    Ok(())
}

/// Returns whether the client accepts an event stream.
pub(crate) fn accepts_events(headers: &HeaderMap) -> bool {
    let [accept] = lines_of(headers, [&ACCEPT]);
    accepts_any(headers, accept, ["text/event-stream", "text/*", "*/*"])
}

/// Returns whether a client accepts one of these. A client without an `Accept` header accepts everything.
fn accepts_any(headers: &HeaderMap, accept: HeaderLines<'_>, fitting: [&str; 3]) -> bool {
    match accept {
        HeaderLines::Absent => return true,
        HeaderLines::One(line) if line == USUAL_ACCEPT => return true,
        HeaderLines::One(_) | HeaderLines::Several => {}
    }
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    let mut said = lines.flat_map(|line| line.split(',')).peekable();
    said.peek().is_none()
        || said.any(|range| {
            let range = media_type(range);
            fitting.iter().any(|fitting| range.eq_ignore_ascii_case(fitting))
        })
}

const JSON: &str = "application/json";
/// Nearly every client sends this. It allows both forms of a reply.
const USUAL_ACCEPT: &str = "application/json, text/event-stream";

fn media_type(value: &str) -> &str {
    value.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes a host of pieces that matter to one of both ways.
    fn generated(seed: u64) -> String {
        const PIECES: [&str; 24] = [
            "localhost",
            "127.0.0.1",
            "[::1]",
            ":",
            "8000",
            "0",
            "65535",
            "65536",
            "080",
            "+80",
            "-1",
            "@",
            "a",
            "LOCALHOST",
            "[::1",
            "::1]",
            ".",
            " ",
            "/",
            "evil.example",
            "%31",
            "\u{e9}",
            "localhost:80",
            "127.0.0.1:",
        ];
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut draw = |count: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            usize::try_from(state % count as u64).unwrap()
        };
        let length = 1 + draw(4);
        (0..length).map(|_| PIECES[draw(PIECES.len())]).collect()
    }

    #[test]
    fn the_short_way_lets_in_only_what_the_long_way_lets_in() {
        let mut short = 0;
        for seed in 0..100_000 {
            let text = generated(seed);
            let is_let_in = host_and_port(&text)
                .is_some_and(|authority| is_loopback(&authority.host().to_ascii_lowercase()));
            assert!(is_let_in || !is_usual_loopback(&text), "seed {seed}: {text:?}");
            short += usize::from(is_usual_loopback(&text));
        }
        assert!(short > 1_000, "only {short} of the generated hosts took the short way");
    }
}
