//! Which parts does a URL have?
//!
//! URLs of OAuth are compared as texts, so this only finds their parts and changes nothing.

/// The parts of an `http` or `https` URL.
///
/// ```
/// use toolway_protocol::oauth::HttpUrl;
///
/// let url = HttpUrl::parse("https://notes.example:8443/mcp?key=1").unwrap();
/// assert_eq!((url.origin, url.path, url.query), ("https://notes.example:8443", "/mcp", Some("key=1")));
/// assert_eq!(url.port(), 8443);
/// assert!(HttpUrl::parse("https://user:secret@notes.example/").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpUrl<'a> {
    /// Scheme, host and port, as written.
    pub origin: &'a str,
    /// The host. An IPv6 address has its brackets.
    pub host: &'a str,
    /// Empty, or begins with `/`.
    pub path: &'a str,
    /// The part after `?`.
    pub query: Option<&'a str>,
    /// The part after `#`.
    pub fragment: Option<&'a str>,
    /// `true` for `https`.
    pub is_encrypted: bool,
    port: Option<u16>,
}

impl<'a> HttpUrl<'a> {
    /// Finds the parts, unless the text is not such a URL or names a user.
    pub fn parse(text: &'a str) -> Option<Self> {
        // A backslash is a slash to some parsers, and white space is removed by some.
        if !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte)) {
            return None;
        }
        let (scheme, rest) = text.split_once("://")?;
        let is_encrypted = scheme.eq_ignore_ascii_case("https");
        if !is_encrypted && !scheme.eq_ignore_ascii_case("http") {
            return None;
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, tail) = rest.split_at(end);
        let (host, port) = split_authority(authority)?;
        let (tail, fragment) = split_optional(tail, '#');
        let (path, query) = split_optional(tail, '?');
        let origin = &text[..scheme.len() + 3 + authority.len()];
        Some(Self { origin, host, path, query, fragment, is_encrypted, port })
    }

    /// Returns the port, which depends on the scheme if the URL names none.
    pub fn port(&self) -> u16 {
        self.port.unwrap_or(if self.is_encrypted { 443 } else { 80 })
    }

    /// Returns whether both URLs have the same scheme, host and port.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        self.is_encrypted == other.is_encrypted
            && self.host.eq_ignore_ascii_case(other.host)
            && self.port() == other.port()
    }
}

fn split_optional(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn split_authority(authority: &str) -> Option<(&str, Option<u16>)> {
    let (host, port) = match authority.find(']') {
        Some(end) if authority.starts_with('[') => authority.split_at(end + 1),
        _ => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let is_name = |host: &str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    let is_address = |host: &str| {
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        inner.is_some_and(|inner| inner.parse::<std::net::Ipv6Addr>().is_ok())
    };
    if !is_name(host) && !is_address(host) {
        return None;
    }
    match port.strip_prefix(':') {
        None if port.is_empty() => Some((host, None)),
        Some("") => Some((host, None)),
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((host, Some(digits.parse().ok()?)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found() {
        let url = HttpUrl::parse("HTTP://[::1]:80?a#b").unwrap();
        assert_eq!((url.origin, url.host, url.path), ("HTTP://[::1]:80", "[::1]", ""));
        assert_eq!((url.query, url.fragment, url.is_encrypted), (Some("a"), Some("b"), false));
        let same = HttpUrl::parse("http://[::1]/x").unwrap();
        assert!(url.is_same_origin(&same));
        assert!(!url.is_same_origin(&HttpUrl::parse("https://[::1]:80/").unwrap()));
    }

    #[test]
    fn what_parsers_read_in_different_ways_is_refused() {
        for text in [
            "",
            "https://",
            "https:///path",
            "https://a b/",
            "https://a\\b/",
            "https://user@host/",
            "https://host:99999/",
            "https://host:+1/",
            "https://[::1/",
            "https://[not]/",
            "https://host%2eexample/",
            "ftp://host/",
            "javascript:alert(1)",
            "https://h\u{f6}st/",
            "https://host/\nx",
        ] {
            assert_eq!(HttpUrl::parse(text), None, "{text:?}");
        }
    }
}
