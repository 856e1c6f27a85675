//! What replaces TLS in a build without the feature `tls`? An error that names the feature.

use std::sync::Arc;
use std::time::Duration;

use ::http::Uri;

use crate::client::http::request::built_in::ConnectionReuse;
use crate::client::http::request::client::HttpClient;
use crate::client::http::request::url::Url;
use crate::ground::error::{Error, ErrorKind, Result};

/// Empty: a build without TLS has no certificates and no proxies.
#[derive(Clone, Default)]
pub(crate) struct TlsSettings {}

impl TlsSettings {
    #[expect(clippy::unused_self, reason = "with TLS it is used")]
    pub(crate) fn proxy_for(&self, _: &Uri) -> Option<String> {
        None
    }
}

pub(crate) fn check(url: &Url) -> Result<()> {
    Err(Error::new(
        ErrorKind::Misuse,
        format!(
            "{url}: this build supports plain HTTP only, not HTTPS: enable the feature `tls` of `toolway` in \
             Cargo.toml, or give a client that supports HTTPS with `Http::with_client`"
        ),
    ))
}

/// Always fails. It is never called, because `check` fails first.
pub(crate) fn client<C>(
    _: C,
    _: &TlsSettings,
    _: Duration,
    _: ConnectionReuse,
) -> Result<Arc<dyn HttpClient>> {
    Err(Error::new(ErrorKind::Misuse, "this build does not support HTTPS"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Http, IntoTarget};

    #[test]
    fn https_names_the_feature_that_it_needs() {
        let error = Http::new("https://localhost/mcp?secret").into_target().expect_err("no TLS");
        assert_eq!(error.kind(), ErrorKind::Misuse);
        assert!(error.to_string().contains("feature `tls`"), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
}
