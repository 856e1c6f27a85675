//! How are documents fetched and forms posted, if their URLs come from a server?
//!
//! Headers that are meant for the MCP server never go here. Errors name the host, and nothing of what it said.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION,
};
use ::http::{Method, Request, StatusCode};
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::sync::OnceCell;
use toolway_protocol::oauth::HttpUrl;

use crate::client::http::request::built_in::{BuiltInClient, ConnectionReuse, with_keep_alive};
use crate::client::http::request::client::HttpClient;
use crate::client::http::request::tls::{self, TlsSettings};
use crate::client::http::request::url::Url;
use crate::client::oauth::dpop::PROOF_HEADER;
use crate::client::oauth::egress::{
    ForbiddenAddress, GuardedResolver, Lookup, Policy, leads_inside, look_up_briefly, system_lookup,
};
use crate::ground::error::{Error, ErrorKind, Result};

/// Sends the requests of OAuth for one MCP server.
pub(crate) struct Fetcher {
    /// The URL of the MCP server, which the application named.
    server: Url,
    allows_private: bool,
    carrier: Carrier,
    guard: OnceCell<Guard>,
}

/// Carries the requests.
#[derive(Clone)]
pub(crate) enum Carrier {
    /// A client of the application, which decides for itself where names lead.
    Application(Arc<dyn HttpClient>),
    /// The built-in client, with its settings.
    BuiltIn { tls: TlsSettings, connect_timeout: Duration },
}

/// The addresses that are allowed, and the clients that keep to them.
struct Guard {
    policy: Policy,
    client: Arc<dyn HttpClient>,
    /// For `https`, made when it is needed.
    encrypted: OnceCell<Arc<dyn HttpClient>>,
}

/// A reply.
pub(crate) struct Fetched {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// A request that posts a form or JSON.
pub(crate) struct Post<'a> {
    pub(crate) url: &'a str,
    pub(crate) content_type: &'static str,
    pub(crate) body: String,
    /// The value of `Authorization`.
    pub(crate) authorization: Option<HeaderValue>,
    /// The proof that the client has a key.
    pub(crate) proof: Option<HeaderValue>,
}

impl Fetcher {
    pub(crate) fn new(server: Url, allows_private: bool, carrier: Carrier) -> Self {
        Self { server, allows_private, carrier, guard: OnceCell::new() }
    }

    /// Returns a sender of requests to another server that the application named.
    pub(crate) fn for_named(&self, server: &str) -> Result<Self> {
        Ok(Self::new(Url::parse(server)?, self.allows_private, self.carrier.clone()))
    }

    /// Returns whether a URL may be connected to.
    pub(crate) async fn allows(&self, url: &str) -> bool {
        match self.guard().await {
            Ok(guard) => self.check(guard, url).await.is_ok(),
            Err(_) => false,
        }
    }

    /// Fetches a document of up to `limit` bytes, and follows a few redirects.
    pub(crate) async fn get(&self, url: &str, headers: HeaderMap, limit: usize) -> Result<Fetched> {
        let mut url = url.to_owned();
        for _ in 0..=MAX_REDIRECTS {
            let reply = self.send(Method::GET, &url, headers.clone(), Bytes::new(), limit).await?;
            let target = reply.status.is_redirection().then(|| reply.headers.get(LOCATION)).flatten();
            let Some(target) = target.and_then(|target| target.to_str().ok()) else { return Ok(reply) };
            let parsed = Url::parse(&url)?
                .join(target)
                .map_err(|_| refused(&url, "redirects to something that is not a URL"))?;
            url = parsed.uri().to_string();
        }
        Err(refused(&url, "redirects too often"))
    }

    /// Posts a form or JSON. Redirects are not followed.
    pub(crate) async fn post(&self, post: Post<'_>) -> Result<Fetched> {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(post.content_type));
        if let Some(authorization) = post.authorization {
            headers.insert(AUTHORIZATION, authorization);
        }
        if let Some(proof) = post.proof {
            headers.insert(PROOF_HEADER, proof);
        }
        self.send(Method::POST, post.url, headers, post.body.into(), MAX_REPLY).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
        limit: usize,
    ) -> Result<Fetched> {
        let work = async {
            let guard = self.guard().await?;
            let client = self.check(guard, url).await?;
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
            let mut request = Request::new(body);
            *request.method_mut() = method;
            *request.uri_mut() = url.parse().map_err(|_| refused(url, "is not a URL"))?;
            *request.headers_mut() = headers;
            let response = client.send(request).await.map_err(|error| send_error(url, error))?;
            let (head, body) = response.into_parts();
            if head.headers.contains_key(CONTENT_ENCODING) {
                return Err(refused(url, "sends an encoded reply, which was not asked for"));
            }
            let body = Limited::new(body, limit).collect().await;
            let body = body.map_err(|_| refused(url, "sends a reply that is too long, or breaks off"))?;
            Ok(Fetched { status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        match tokio::time::timeout(TIMEOUT, work).await {
            Ok(reply) => reply,
            Err(_) => Err(Error::new(ErrorKind::Timeout, format!("{} does not answer", host_of(url)))),
        }
    }

    /// Returns the client for a URL, if it may be connected to.
    async fn check<'g>(&self, guard: &'g Guard, url: &str) -> Result<&'g Arc<dyn HttpClient>> {
        let parts = HttpUrl::parse(url).filter(|parts| parts.fragment.is_none());
        let parts = parts.ok_or_else(|| refused(url, "is not an HTTP URL"))?;
        if !guard.policy.allows_literal(parts.host) {
            return Err(forbidden(url));
        }
        if !parts.is_encrypted {
            // Only a server on this machine may do without encryption, and only for a client that named it.
            let is_local = parts.host == "localhost" || is_loopback(parts.host);
            if !is_local || !guard.policy.allows_loopback {
                return Err(refused(url, "must begin with https://"));
            }
            return Ok(&guard.client);
        }
        match &self.carrier {
            Carrier::Application(_) => Ok(&guard.client),
            Carrier::BuiltIn { tls, connect_timeout } => {
                if self.uses_proxy(url) && leads_inside(&system_lookup, parts.host, guard.policy).await {
                    return Err(forbidden(url));
                }
                let (policy, tls, limit) = (guard.policy, tls.clone(), *connect_timeout);
                guard.encrypted.get_or_try_init(|| make_encrypted(policy, tls, limit, url)).await
            }
        }
    }

    /// Returns whether connections to a URL go through a proxy, which decides for itself where names lead.
    fn uses_proxy(&self, url: &str) -> bool {
        match (&self.carrier, url.parse()) {
            (Carrier::BuiltIn { tls, .. }, Ok(url)) => tls.proxy_for(&url).is_some(),
            _ => false,
        }
    }

    /// Finds out where the MCP server is, once.
    async fn guard(&self) -> Result<&Guard> {
        self.guard
            .get_or_try_init(|| async {
                let host = self.server.uri().host().unwrap_or_default().to_owned();
                let is_proxied = self.uses_proxy(&self.server.uri().to_string());
                let looked_up = if is_proxied {
                    look_up_briefly(&system_lookup, &host).await
                } else {
                    system_lookup(host.clone()).await
                };
                let found = match (looked_up, &self.carrier) {
                    (Ok(found), _) => found,
                    // Only the client of the application or the proxy may know the name.
                    (Err(_), Carrier::Application(_)) => Vec::new(),
                    (Err(_), Carrier::BuiltIn { .. }) if is_proxied => Vec::new(),
                    (Err(error), Carrier::BuiltIn { .. }) => {
                        return Err(send_error(&self.server.uri().to_string(), error.into()));
                    }
                };
                let mut policy = Policy::of_server(&host, &found);
                policy.allows_private |= self.allows_private;
                let client = match &self.carrier {
                    Carrier::Application(client) => client.clone(),
                    Carrier::BuiltIn { connect_timeout, .. } => {
                        let tcp = guarded_connector(policy);
                        Arc::new(BuiltInClient::new(tcp, *connect_timeout, ConnectionReuse::Never, |_| None))
                            as _
                    }
                };
                Ok(Guard { policy, client, encrypted: OnceCell::new() })
            })
            .await
    }
}

fn guarded_connector(policy: Policy) -> HttpConnector<GuardedResolver> {
    let lookup: Arc<Lookup> = Arc::new(system_lookup);
    with_keep_alive(HttpConnector::new_with_resolver(GuardedResolver { policy, lookup }))
}

async fn make_encrypted(
    policy: Policy,
    settings: TlsSettings,
    limit: Duration,
    url: &str,
) -> Result<Arc<dyn HttpClient>> {
    tls::check(&Url::parse(url)?)?;
    let tcp = guarded_connector(policy);
    // Loading the certificates reads files, which blocks.
    let made =
        tokio::task::spawn_blocking(move || tls::client(tcp, &settings, limit, ConnectionReuse::Never)).await;
    made.map_err(|error| Error::new(ErrorKind::Transport, "TLS could not be set up").caused_by(error))?
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Returns the host of a URL, which is all of it that is shown.
pub(crate) fn host_of(url: &str) -> String {
    HttpUrl::parse(url).map_or_else(|| "a text that is not a URL".to_owned(), |parts| parts.origin.to_owned())
}

fn refused(url: &str, why: &str) -> Error {
    Error::new(ErrorKind::PeerMisbehaved, format!("{} {why}", host_of(url)))
}

fn forbidden(url: &str) -> Error {
    refused(
        url,
        "is an address inside the network, to which a server outside may not lead: if this is right, call \
         `OAuth::allow_private_networks`",
    )
}

fn send_error(url: &str, error: Error) -> Error {
    let mut next: Option<&(dyn std::error::Error + 'static)> = Some(&error);
    while let Some(cause) = next {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<ForbiddenAddress>) {
            return forbidden(url);
        }
        next = cause.source();
    }
    Error::new(ErrorKind::Transport, format!("{} cannot be reached", host_of(url))).caused_by(error)
}

/// The longest time of one request.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The length of the longest reply that is not a set of keys.
pub(crate) const MAX_REPLY: usize = 64 << 10;
const MAX_REDIRECTS: usize = 3;
