//! Through which proxy does an encrypted connection go?
//!
//! A proxy opens the connection for the client (`CONNECT`), and sees only the name of the server. Connections without
//! encryption go to their server directly.

use std::error::Error as StdError;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

use ::http::Uri;
use ::http::uri::{Authority, Scheme};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower_service::Service;

use crate::client::http::request::built_in::connector;
use crate::client::http::request::client::BoxError;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;

/// The setting of which proxy is used.
#[derive(Clone, Default)]
pub(crate) enum ProxySetting {
    /// The proxy that the environment names, if it names one.
    #[default]
    Environment,
    /// The proxy at this URL.
    At(String),
    Never,
}

/// The proxy, and the hosts that are reached without it.
#[derive(Clone, Default)]
pub(crate) struct ProxyRules {
    matcher: Option<Arc<Matcher>>,
    /// `true` if this machine is reached through the proxy, too.
    covers_this_machine: bool,
}

impl ProxyRules {
    pub(crate) fn new(setting: &ProxySetting) -> Result<Self> {
        let (proxy, exceptions) = match setting {
            ProxySetting::Never => return Ok(Self::default()),
            ProxySetting::At(url) => (url.clone(), String::new()),
            ProxySetting::Environment => match first_variable(&PROXY_VARIABLES) {
                Some(proxy) => (proxy, first_variable(&EXCEPTION_VARIABLES).unwrap_or_default()),
                None => return Ok(Self::default()),
            },
        };
        check_proxy(&proxy)?;
        let matcher = Matcher::builder().https(proxy).no(exceptions).build();
        let covers_this_machine = matches!(setting, ProxySetting::At(_));
        Ok(Self { matcher: Some(Arc::new(matcher)), covers_this_machine })
    }

    /// Returns the proxy through which a URL is reached.
    pub(crate) fn find(&self, url: &Uri) -> Option<Intercept> {
        let is_direct = !self.covers_this_machine && is_this_machine(url.host()?);
        self.matcher.as_ref().filter(|_| !is_direct)?.intercept(url)
    }
}

/// Returns the value of the first variable that is set and not empty.
fn first_variable(names: &[&str]) -> Option<String> {
    names.iter().filter_map(|name| std::env::var(name).ok()).find(|value| !value.is_empty())
}

/// Checks the URL of a proxy. Errors do not show it, because it may contain a password.
fn check_proxy(proxy: &str) -> Result<()> {
    let probe = Uri::from_static("https://server.example/");
    let found = Matcher::builder().https(proxy).build().intercept(&probe);
    let mistake = match found {
        Some(proxy) if proxy.uri().scheme() == Some(&Scheme::HTTP) => return Ok(()),
        Some(_) => "is of a kind that is not supported",
        None => "is not a URL",
    };
    let text = format!(
        "the proxy that HTTPS_PROXY, ALL_PROXY or `Http::proxy` names {mistake}: write it like http://proxy.example:3128"
    );
    Err(Error::new(ErrorKind::Misuse, text))
}

/// A proxy cannot reach the machine of its client by these names.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let name = host.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || host.parse().is_ok_and(|address: IpAddr| address.is_loopback())
}

/// Opens TCP connections, through the proxy if there is one for the URL.
#[derive(Clone)]
pub(crate) struct Proxied<C> {
    direct: C,
    /// Connects to the proxy. The operator has named it, so it may be anywhere.
    to_proxy: HttpConnector,
    rules: ProxyRules,
}

impl<C> Proxied<C> {
    pub(crate) fn new(direct: C, rules: ProxyRules) -> Self {
        Self { direct, to_proxy: connector(), rules }
    }
}

impl<C> Service<Uri> for Proxied<C>
where
    C: Service<Uri, Response = TokioIo<TcpStream>, Error: Into<BoxError>, Future: Send + 'static>,
{
    type Response = TokioIo<TcpStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.direct.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        let Some(proxy) = self.rules.find(&url) else {
            let connecting = self.direct.call(url);
            return Box::pin(async { connecting.await.map_err(Into::into) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.to_proxy.clone());
        if let Some(password) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(password.clone());
        }
        Box::pin(async move {
            let connected = tunnel.call(url).await;
            connected.map_err(|error| ProxyError::new(&proxy, error).into())
        })
    }
}

/// The error of a proxy.
#[derive(Debug)]
pub(crate) struct ProxyError {
    /// The host and port of the proxy.
    proxy: Option<Authority>,
    cause: BoxError,
}

impl ProxyError {
    fn new(proxy: &Intercept, cause: impl Into<BoxError>) -> Self {
        Self { proxy: proxy.uri().authority().cloned(), cause: cause.into() }
    }
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.proxy.as_ref().map_or("", Authority::as_str);
        // The type of the cause is private.
        if self.cause.source().is_some() {
            write!(
                f,
                "the proxy {proxy} cannot be reached: correct HTTPS_PROXY, or name the server in NO_PROXY"
            )
        } else if self.cause.to_string().contains("authorization required") {
            write!(
                f,
                "the proxy {proxy} asks for a user and a password: set them in HTTPS_PROXY, as in \
                 http://USER:PASSWORD@{proxy}"
            )
        } else {
            write!(
                f,
                "the proxy {proxy} did not connect to the server: if it needs no proxy, name it in NO_PROXY"
            )
        }
    }
}

impl StdError for ProxyError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.cause)
    }
}

/// The variables that name the proxy, as curl reads them.
const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// The variables that name hosts without a proxy.
const EXCEPTION_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

#[cfg(test)]
mod tests {
    use super::*;

    fn is_found(rules: &ProxyRules, url: &'static str) -> bool {
        rules.find(&Uri::from_static(url)).is_some()
    }

    #[test]
    fn only_encrypted_connections_go_through_a_proxy() {
        let rules = ProxyRules::new(&ProxySetting::At("http://u:p@proxy.example:3128".into())).unwrap();
        assert!(is_found(&rules, "https://notes.example/mcp"));
        assert!(is_found(&rules, "https://localhost/mcp"), "the application has named the proxy");
        assert!(!is_found(&rules, "http://notes.example/mcp"));
        assert!(!is_found(&ProxyRules::new(&ProxySetting::Never).unwrap(), "https://notes.example/mcp"));
    }

    #[test]
    fn this_machine_and_the_exceptions_need_no_proxy() {
        let matcher =
            Matcher::builder().https("proxy.example:3128").no("10.0.0.0/8, .intern.example").build();
        let rules = ProxyRules { matcher: Some(Arc::new(matcher)), covers_this_machine: false };
        for url in [
            "https://localhost/mcp",
            "https://a.localhost/mcp",
            "https://127.0.0.1:8000/mcp",
            "https://[::1]/mcp",
            "https://10.1.2.3/mcp",
            "https://notes.intern.example/mcp",
        ] {
            assert!(!is_found(&rules, url), "{url}");
        }
        assert!(is_found(&rules, "https://notes.example/mcp"));
    }

    #[test]
    fn a_proxy_that_cannot_be_used_is_refused_without_its_password() {
        for (proxy, says) in [
            ("socks5://me:s3cret@proxy.example:1080", "not supported"),
            ("https://me:s3cret@proxy.example", "not supported"),
            ("me:s3cret@", "not a URL"),
            ("ftp://me:s3cret@proxy.example", "not a URL"),
        ] {
            let error = ProxyRules::new(&ProxySetting::At(proxy.into())).err().expect(proxy).to_string();
            assert!(error.contains(says) && error.contains("HTTPS_PROXY"), "{proxy}: {error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }
}
