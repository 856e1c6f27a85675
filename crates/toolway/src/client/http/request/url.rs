//! Which URLs are valid for a server, and how is a URL shown without its secrets?

use std::fmt;

use ::http::Uri;
use ::http::uri::Scheme;

use crate::ground::error::{Error, ErrorKind, Result};

/// The URL of a server. `Display` and `Debug` hide the parts that may be secret: the query, and path segments that look
/// like a key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Url(Uri);

impl Url {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let misuse = |reason: &str| Error::new(ErrorKind::Misuse, format!("{} {reason}", display_url(text)));
        let not_a_url = || misuse("is not a URL: a URL looks like http://localhost:8000/mcp");
        let uri: Uri = text.parse().map_err(|error: ::http::uri::InvalidUri| not_a_url().caused_by(error))?;
        if !is_http(uri.scheme()) || uri.host().is_none_or(str::is_empty) {
            return Err(misuse("is not an HTTP URL: it must begin with http:// or https:// and a host"));
        }
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(misuse(
                "cannot be used, because a URL must not contain a user and a password: send them in a header, with \
                 `Http::header` or `Http::bearer`",
            ));
        }
        if has_wrong_port(&uri) {
            return Err(not_a_url());
        }
        Ok(Self(uri))
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// Returns whether both URLs have the same origin: the same scheme, host and port.
    pub(crate) fn is_same_origin(&self, other: &Self) -> bool {
        let host = |url: &Self| url.0.host().map(str::to_ascii_lowercase);
        self.0.scheme() == other.0.scheme() && host(self) == host(other) && self.port() == other.port()
    }

    fn port(&self) -> u16 {
        self.0.port_u16().unwrap_or(if self.is_encrypted() { 443 } else { 80 })
    }

    /// Resolves a reference relative to this URL (RFC 3986, section 5). A reference may be `https://other/a`,
    /// `//other/a`, `/a`, `a` or `?a`.
    pub(crate) fn join(&self, reference: &str) -> Result<Self> {
        let reference = reference.split('#').next().unwrap_or_default();
        if has_scheme(reference) {
            return Self::parse(reference);
        }
        let scheme = self.0.scheme_str().unwrap_or_default();
        if reference.starts_with("//") {
            return Self::parse(&format!("{scheme}:{reference}"));
        }
        let (path, query) = match reference.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (reference, None),
        };
        let base = self.0.path();
        let (path, query) = match path {
            "" => (base.to_owned(), query.or_else(|| self.0.query())),
            _ if path.starts_with('/') => (without_dots(path), query),
            _ => {
                let folder = base.rsplit_once('/').map_or("", |(folder, _)| folder);
                (without_dots(&format!("{folder}/{path}")), query)
            }
        };
        let authority = self.0.authority().map(::http::uri::Authority::as_str).unwrap_or_default();
        let query = query.map(|query| format!("?{query}")).unwrap_or_default();
        Self::parse(&format!("{scheme}://{authority}{path}{query}"))
    }
}

/// Returns whether the host is followed by anything but a port, which is a 16-bit number. `Uri` accepts other texts and
/// ignores them, so that a request would go to the default port.
fn has_wrong_port(uri: &Uri) -> bool {
    let authority = uri.authority().map(::http::uri::Authority::as_str).unwrap_or_default();
    let after_host = authority.strip_prefix(uri.host().unwrap_or_default());
    match (after_host, uri.port()) {
        (Some("" | ":"), _) => false,
        (Some(text), Some(port)) => text.strip_prefix(':') != Some(port.as_str()),
        _ => true,
    }
}

/// Returns whether a reference begins with a scheme.
fn has_scheme(reference: &str) -> bool {
    let Some((scheme, _)) = reference.split_once(':') else { return false };
    scheme.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

/// Removes the `.` and `..` segments from an absolute path.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').skip(1).peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." | ".." => {
                if segment == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            _ => kept.push(segment),
        }
    }
    format!("/{}", kept.join("/"))
}

fn is_http(scheme: Option<&Scheme>) -> bool {
    scheme.is_some_and(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)
}

/// Returns the printable form of a text that should be a URL, without the parts that may be secret.
pub(crate) fn display_url(text: &str) -> String {
    // If the text is not a valid URL, it is unknown where the user and password end.
    if text.contains('@') && text.parse::<Uri>().is_err() {
        return "a URL that contains a user".to_owned();
    }
    match text.parse::<Uri>() {
        Ok(uri) if is_http(uri.scheme()) => Url(uri).to_string(),
        _ => format!("{:?}", text.split(['?', '#']).next().unwrap_or_default()),
    }
}

/// Returns the parts of a URL that may be secret: the values of the query, and path segments that look like a key.
pub(crate) fn secret_parts(text: &str) -> impl Iterator<Item = &str> {
    let text = text.split('#').next().unwrap_or_default();
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    path.split('/').filter(|segment| is_key(segment)).chain(values).filter(|part| !part.is_empty())
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = self.0.scheme_str().unwrap_or_default();
        write!(f, "{scheme}://{}", self.0.host().unwrap_or_default())?;
        if let Some(port) = self.0.port() {
            write!(f, ":{port}")?;
        }
        let segments = self.0.path().split('/').map(|segment| if is_key(segment) { "…" } else { segment });
        f.write_str(&segments.collect::<Vec<_>>().join("/"))
    }
}

/// Returns whether a path segment looks like a secret key. Some servers identify the caller by a key in the path.
fn is_key(segment: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| segment.as_bytes().iter().any(kind);
    segment.len() >= MIN_KEY_LENGTH && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
}

/// The minimum length in bytes of a path segment that counts as a key.
const MIN_KEY_LENGTH: usize = 20;

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_secrets() {
        for (text, public) in [
            ("http://localhost:8000/mcp?key=secret#secret", "http://localhost:8000/mcp"),
            ("https://[::1]/a/b?secret", "https://[::1]/a/b"),
            ("https://example.com/api/s3cr3ts3cr3ts3cr3ts3cr3t/mcp", "https://example.com/api/…/mcp"),
            (
                "https://example.com/a-rather-long-name-of-a-server",
                "https://example.com/a-rather-long-name-of-a-server",
            ),
            ("HTTP://example.com?secret", "http://example.com/"),
            ("https://name:secret@example.com/mcp", "https://example.com/mcp"),
            ("https://name:se cret@example.com/mcp", "a URL that contains a user"),
            ("file:///tmp/x?secret", "\"file:///tmp/x\""),
            ("no url?secret", "\"no url\""),
        ] {
            assert_eq!(display_url(text), public);
            if let Ok(url) = Url::parse(text) {
                assert_eq!(url.to_string(), public);
                assert_eq!(format!("{url:?}"), public);
            }
        }
    }

    #[test]
    fn what_is_no_url_of_a_server_says_what_it_should_be() {
        for (text, part) in [
            ("", "is not a URL"),
            ("localhost:8000", "must begin with http://"),
            ("/mcp", "must begin with http://"),
            ("ftp://example.com/", "must begin with http://"),
            ("http://", "is not a URL"),
            ("http:///mcp", "is not"),
            ("https://name:secret@example.com/mcp", "`Http::bearer`"),
            ("https://ex ample.com/", "is not a URL"),
            ("http://localhost:80000/mcp", "is not a URL"),
            ("http://[::1]:80000/mcp", "is not a URL"),
            ("http://localhost:[::1]", "is not a URL"),
            ("http://[::1])):80/mcp", "is not a URL"),
            ("http://[::1]x/mcp", "is not a URL"),
        ] {
            let error = Url::parse(text).expect_err(text);
            assert_eq!(error.kind(), ErrorKind::Misuse);
            assert!(error.to_string().contains(part), "{text:?}: {error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert!(Url::parse("HTTPS://example.com").expect("a URL").is_encrypted());
        for text in ["http://[::1]:80", "http://[::1]", "http://localhost:/", "http://localhost:065535"] {
            assert!(!Url::parse(text).expect(text).is_encrypted());
        }
    }

    #[test]
    fn a_reference_means_what_the_standard_says() {
        let base = Url::parse("http://Example.com:8000/a/b/c?q=1").expect("a URL");
        for (reference, meant) in [
            ("d", "http://Example.com:8000/a/b/d"),
            ("./d", "http://Example.com:8000/a/b/d"),
            ("../d", "http://Example.com:8000/a/d"),
            ("../../../../d", "http://Example.com:8000/d"),
            ("..", "http://Example.com:8000/a/"),
            (".", "http://Example.com:8000/a/b/"),
            ("/d/./e/../f", "http://Example.com:8000/d/f"),
            ("/d?x=1:2#y", "http://Example.com:8000/d?x=1:2"),
            ("?x=1", "http://Example.com:8000/a/b/c?x=1"),
            ("", "http://Example.com:8000/a/b/c?q=1"),
            ("#x", "http://Example.com:8000/a/b/c?q=1"),
            ("//other/x", "http://other/x"),
            ("https://other:1/x?y", "https://other:1/x?y"),
            ("d/e:f", "http://Example.com:8000/a/b/d/e:f"),
        ] {
            let joined = base.join(reference).expect(reference);
            assert_eq!(joined.uri(), &meant.parse::<Uri>().expect("a URL"), "{reference}");
        }
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "http://",
            "//",
            "/a b",
            "https://me:secret@other/",
            "//Example.com:73536/",
        ] {
            assert!(base.join(bad).is_err(), "{bad}");
        }
        let root = Url::parse("http://localhost").expect("a URL");
        assert_eq!(root.join("mcp").expect("a URL").to_string(), "http://localhost/mcp");
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let url = |text: &str| Url::parse(text).expect("a URL");
        for (one, other, is_same) in [
            ("http://a/x", "http://a:80/y?z", true),
            ("https://a/x", "https://A:443/", true),
            ("http://a", "https://a", false),
            ("http://a:443", "https://a:443", false),
            ("http://a", "http://a:8000", false),
            ("http://a", "http://b", false),
            ("http://a", "http://a.", false),
            ("http://localhost", "http://127.0.0.1", false),
        ] {
            assert_eq!(url(one).is_same_origin(&url(other)), is_same, "{one} {other}");
        }
    }
}
