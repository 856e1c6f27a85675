//! Which private parts does `fuzz/` call with any input? Not part of the public API.

use std::sync::LazyLock;

use ::http::header::LOCATION;
use ::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use toolway_protocol::RawJson;

use crate::client::http::request::redirect;
use crate::client::http::request::url::Url;
use crate::client::pipe::printable;
use crate::ground::error::Result;
use crate::hub::config::env_file;
use crate::server::catalog::cursor::CursorKey;
use crate::server::stateless::seal::{Binding, SealKeys};

/// The call that a sealed state belongs to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SealedCall<'c> {
    /// The principal of the caller.
    pub principal: Option<&'c str>,
    /// The method and the name of what is called.
    pub target: [&'c str; 2],
    /// The arguments.
    pub arguments: Option<&'c RawJson>,
}

impl SealedCall<'_> {
    /// Seals a state.
    pub fn seal(&self, plain: &[u8]) -> String {
        SEAL_KEYS.seal(&self.binding(), plain, EXPIRES)
    }

    /// Opens a state, or returns `None` if it was not sealed for this call.
    pub fn open(&self, text: &str) -> Option<Vec<u8>> {
        SEAL_KEYS.open(&self.binding(), text, 0..EXPIRES).ok().map(|state| state.plain)
    }

    fn binding(&self) -> Binding<'_> {
        let Self { principal, target: [method, target], arguments } = *self;
        Binding { principal, server: "fuzz", method, target, arguments }
    }
}

const EXPIRES: u64 = 1000;

static SEAL_KEYS: LazyLock<SealKeys> = LazyLock::new(SealKeys::random);

static CURSOR_KEY: LazyLock<CursorKey> = LazyLock::new(|| CursorKey::from_secret(b"fuzz"));

/// Writes a position in a list as a cursor.
pub fn sign_cursor(list: &str, place: &str) -> String {
    CURSOR_KEY.sign(list, place)
}

/// Returns the position that a cursor of this list stands for.
pub fn verify_cursor(list: &str, cursor: &str) -> Option<String> {
    CURSOR_KEY.verify(list, cursor).ok()
}

/// Parses a file of variables, or returns the number of the line that is wrong.
pub fn parse_env_file(text: &str) -> std::result::Result<Vec<(String, String)>, usize> {
    env_file::parse(text).map_err(|(line, _)| line)
}

/// Returns the URL that a redirect leads to, if the client follows it. The outer `None` stands for a `from` that is not
/// a URL of a server.
pub fn follow_redirect(
    from: &str,
    method: &Method,
    status: StatusCode,
    location: HeaderValue,
) -> Option<Result<Option<Uri>>> {
    let from = Url::parse(from).ok()?;
    let headers = HeaderMap::from_iter([(LOCATION, location)]);
    let redirect = redirect::read(method, &from, status, &headers);
    Some(redirect.map(|redirect| redirect.map(|redirect| redirect.url.uri().clone())))
}

/// Returns at most `max` characters of a server's output, for an error message.
pub fn printable(text: &[u8], max: usize) -> String {
    printable::printable(text, max)
}
