//! What is known about a caller before its first message?

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};

use http::header::{AUTHORIZATION, AsHeaderName, HeaderName, HeaderValue};
use http::{HeaderMap, Method as HttpMethod};
use toolway_protocol::http::header::{MirroredHeader, decode};

use crate::server::call::scope::Scope;
use crate::server::handler::parameter::{Missing, Parameter};

/// A peer that wants to connect, as a parameter of the [`on_connect`](crate::server::ServerBuilder::on_connect)
/// handler.
///
/// The peer chooses the headers and the query, so they prove nothing by themselves. `Debug` leaves out their values,
/// which may be secret.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{Admit, ConnectRequest, Refuse};
///
/// async fn check(connecting: ConnectRequest) -> Result<Admit, Refuse> {
///     let is_local = connecting.remote().is_some_and(|remote| remote.ip().is_loopback());
///     let has_key = connecting.query_value("key").as_deref() == Some("open sesame");
///     if connecting.is_pipe() || is_local || has_key { Ok(Admit::anyone()) } else { Err(Refuse::forbidden("go away")) }
/// }
///
/// let server = Server::new("cave", "1.0.0").on_connect(check).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Clone)]
pub struct ConnectRequest {
    /// `None` on a pipe.
    pub(crate) headers: Option<Arc<HeaderMap>>,
    pub(crate) query: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) remote: Option<SocketAddr>,
    /// The method of the HTTP request; `None` if the request was admitted before, and is checked again.
    pub(crate) http_method: Option<HttpMethod>,
}

impl ConnectRequest {
    pub(crate) fn over_pipe() -> Self {
        Self { headers: None, query: None, session_id: None, remote: None, http_method: None }
    }

    /// Returns the headers of the HTTP request; empty on a pipe.
    pub fn headers(&self) -> &HeaderMap {
        static NONE: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);
        self.headers.as_deref().unwrap_or(&NONE)
    }

    /// Returns the query of the URL, the part after the `?`, without decoding it.
    pub fn query(&self) -> Option<&str> {
        self.query.as_deref()
    }

    /// Returns the query value of this name, decoded as browsers encode it: `%2F` is a slash, `+` is a space.
    ///
    /// Returns `None` if the name occurs more than once, because a proxy may have checked the other value. Also returns
    /// `None` if the value is not encoded correctly.
    pub fn query_value(&self, name: &str) -> Option<Cow<'_, str>> {
        let pairs = self.query.as_deref()?.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let mut found = pairs.filter(|(key, _)| decoded(key).is_some_and(|key| key == name));
        let (Some((_, value)), None) = (found.next(), found.next()) else { return None };
        decoded(value)
    }

    /// Returns the method of the HTTP request: POST for messages, GET for streams, DELETE to end a session. Returns `None` on
    /// a pipe, and if a request that was admitted before is checked again, because its stream is still open.
    pub fn http_method(&self) -> Option<&HttpMethod> {
        self.http_method.as_ref()
    }

    /// Returns the id of the session that the request names. The id does not prove that the peer owns the session.
    pub fn session_id(&self) -> Option<&str> {
        self.session_id.as_deref()
    }

    /// Returns the method of the message, such as `tools/call`, as the `Mcp-Method` header names it. Clients of
    /// 2026-07-28 send the header with each request; clients of earlier revisions usually do not, and a pipe has none.
    ///
    /// A message whose method differs from the header is refused before it reaches a handler.
    pub fn method(&self) -> Option<&str> {
        match mirrored(self.headers(), &MCP_METHOD) {
            MirroredHeader::One(method) => Some(method),
            MirroredHeader::Absent | MirroredHeader::Unreadable => None,
        }
    }

    /// Returns the name of the tool or prompt, or the URI of the resource, that the message is about, as the `Mcp-Name`
    /// header names it, decoded. Clients of 2026-07-28 send the header; clients of earlier revisions usually do not,
    /// and a pipe has none. So `None` does not mean that the message is harmless.
    ///
    /// A message about something else than the header says is refused before it reaches a handler. To limit what a
    /// caller may use, [`Admit::only_tools`](crate::server::Admit::only_tools) and its relatives are the better way:
    /// they apply to every revision and transport, and to lists too.
    ///
    /// ```
    /// use toolway::server::{Admit, ConnectRequest, Refuse};
    ///
    /// async fn check(connecting: ConnectRequest) -> Result<Admit, Refuse> {
    ///     match connecting.target().as_deref() {
    ///         Some("delete_all") => Err(Refuse::forbidden("not through this door")),
    ///         _ => Ok(Admit::anyone().only_tools(["list", "add"])),
    ///     }
    /// }
    /// ```
    pub fn target(&self) -> Option<Cow<'_, str>> {
        match mirrored(self.headers(), &MCP_NAME) {
            MirroredHeader::One(name) => decode(name),
            MirroredHeader::Absent | MirroredHeader::Unreadable => None,
        }
    }

    /// Returns the address of the connection, if it is known. Behind a proxy this is the address of the proxy, unless
    /// the server [trusts](crate::server::http::HttpService::trusted_proxies) the proxy: then it is the address of the
    /// client, with the port 0.
    pub fn remote(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// Returns the token of an `Authorization: Bearer …` header. Returns `None` if the request has several
    /// `Authorization` headers, or if the value is not a bearer token.
    pub fn bearer(&self) -> Option<&str> {
        let mut lines = self.headers().get_all(AUTHORIZATION).iter();
        let (Some(line), None) = (lines.next(), lines.next()) else { return None };
        let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
        let token = token.trim_matches(' ');
        // A comma may come from a proxy that joined two headers.
        let is_token = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic() && byte != b',');
        (is_token && scheme.eq_ignore_ascii_case("bearer")).then_some(token)
    }

    /// Returns whether this is a pipe, such as stdin and stdout of this process. A pipe has no headers, query or
    /// address.
    pub fn is_pipe(&self) -> bool {
        self.headers.is_none()
    }
}

impl fmt::Debug for ConnectRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers().keys().collect();
        f.debug_struct("ConnectRequest")
            .field("is_pipe", &self.is_pipe())
            .field("remote", &self.remote)
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

/// Returns the value of a header that must equal a part of the message.
pub(crate) fn mirrored(headers: &HeaderMap, name: impl AsHeaderName) -> MirroredHeader<'_> {
    MirroredHeader::from_lines(headers.get_all(name).iter().map(HeaderValue::as_bytes))
}

pub(crate) static MCP_METHOD: HeaderName = HeaderName::from_static("mcp-method");
pub(crate) static MCP_NAME: HeaderName = HeaderName::from_static("mcp-name");

impl Parameter for ConnectRequest {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// Decodes a part of a query. Returns `None` if it is not encoded correctly, or is not UTF-8.
fn decoded(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains(['%', '+']) {
        return Some(Cow::Borrowed(text));
    }
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => digit(bytes.next()?)? << 4 | digit(bytes.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_headers(lines: &[&str]) -> ConnectRequest {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(AUTHORIZATION, http::HeaderValue::from_bytes(line.as_bytes()).unwrap());
        }
        ConnectRequest { headers: Some(Arc::new(headers)), ..ConnectRequest::over_pipe() }
    }

    fn with_query(query: &str) -> ConnectRequest {
        ConnectRequest { query: Some(query.to_owned()), ..ConnectRequest::over_pipe() }
    }

    #[test]
    fn the_target_is_decoded_and_unknown_if_it_is_not_clear() {
        let target = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append("mcp-name", line.parse().unwrap());
            }
            let connecting =
                ConnectRequest { headers: Some(Arc::new(headers)), ..ConnectRequest::over_pipe() };
            connecting.target().map(Cow::into_owned)
        };
        assert_eq!(target(&["add"]).as_deref(), Some("add"));
        assert_eq!(target(&["=?base64?YWRk?="]).as_deref(), Some("add"));
        for unclear in [&[][..], &["=?base64?YW!k?="], &["add", "sub"]] {
            assert_eq!(target(unclear), None, "{unclear:?}");
        }
        assert_eq!(ConnectRequest::over_pipe().target(), None);
    }

    #[test]
    fn one_bearer_header_has_a_token() {
        for line in
            ["Bearer t0k.en~+/==", "bearer t0k.en~+/==", "BEARER   t0k.en~+/==", "Bearer t0k.en~+/==  "]
        {
            assert_eq!(with_headers(&[line]).bearer(), Some("t0k.en~+/=="), "{line:?}");
        }
        assert_eq!(with_headers(&["Bearer 12|ab:cd"]).bearer(), Some("12|ab:cd"));
    }

    #[test]
    fn anything_else_has_none() {
        let wrong: [&[&str]; 16] = [
            &[],
            &[""],
            &["Bearer"],
            &["Bearer "],
            &["Bearer     "],
            &["Bearer\ta"],
            &[" Bearer a"],
            &["Basic a"],
            &["Bearera b"],
            &["Bearer a b"],
            &["Bearer a\tb"],
            &["Bearer a,b"],
            &["Bearer a, Bearer b"],
            &["Bearer gr\u{fc}n"],
            &["Bearer a", "Bearer a"],
            &["Basic b", "Bearer a"],
        ];
        for lines in wrong {
            assert_eq!(with_headers(lines).bearer(), None, "{lines:?}");
        }
        assert_eq!(ConnectRequest::over_pipe().bearer(), None);
    }

    #[test]
    fn a_query_is_decoded_by_name() {
        let connecting = with_query("a=1&key=a%2Fb+c%C3%A9&empty=&flag&%6eame=x=y");
        for (name, value) in [
            ("a", Some("1")),
            ("key", Some("a/b c\u{e9}")),
            ("empty", Some("")),
            ("flag", Some("")),
            ("name", Some("x=y")),
            ("other", None),
        ] {
            assert_eq!(connecting.query_value(name).as_deref(), value, "{name}");
        }
        assert!(matches!(connecting.query_value("a"), Some(Cow::Borrowed("1"))));
        assert_eq!(connecting.query(), Some("a=1&key=a%2Fb+c%C3%A9&empty=&flag&%6eame=x=y"));
        assert_eq!(ConnectRequest::over_pipe().query_value("a"), None);
    }

    #[test]
    fn a_query_that_is_not_clear_has_no_value() {
        let unclear = [
            "k=%",
            "k=%4",
            "k=%zz",
            "k=%+1",
            "k=%FF",
            "k=%C3",
            "k=a&k=a",
            "k=a&%6B=b",
            "%k=a",
            "",
            "&&",
            "=k",
        ];
        for query in unclear {
            assert_eq!(with_query(query).query_value("k"), None, "{query:?}");
        }
        // Malformed pairs with other names do not matter.
        assert_eq!(with_query("%zz=%&k=a&&=").query_value("k").as_deref(), Some("a"));
    }

    #[test]
    fn nothing_secret_is_shown() {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, "Bearer geheim1".parse().unwrap());
        let remote = Some(SocketAddr::from(([127, 0, 0, 1], 80)));
        let connecting = ConnectRequest {
            headers: Some(Arc::new(headers)),
            query: Some("key=geheim2".to_owned()),
            session_id: Some("geheim3".to_owned()),
            remote,
            http_method: None,
        };
        let shown = format!("{connecting:?}");
        assert!(!shown.contains("geheim"), "{shown}");
        assert!(shown.contains("authorization") && shown.contains("127.0.0.1:80"), "{shown}");
        assert_eq!(connecting.session_id(), Some("geheim3"));
        assert_eq!(connecting.remote(), remote);
        assert!(!connecting.is_pipe());
    }
}
