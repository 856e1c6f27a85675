//! How is the endpoint configured, and how is a request admitted?

use std::net::{IpAddr, SocketAddr};
use std::pin::pin;
use std::sync::{Arc, LazyLock, OnceLock};
use std::task::Poll;

use ::http::header::{HeaderMap, HeaderName};
use ::http::request::Parts;
use ::http::{Method as HttpMethod, Response, StatusCode};
use bytes::Bytes;
use http_body::Body;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use toolway_protocol::http::header::MirroredHeaders;
use toolway_protocol::jsonrpc::Params;
use toolway_protocol::{Method, RpcError};

use super::body::ResponseBody;
use super::client_address::TrustedProxies;
use super::collect::{BodyError, collect_body};
use super::guard::{self, Hosts, MediaMistake, Origins};
use super::header_lines::lines_of;
use super::limits::Limits;
use super::permit::RequestPermit;
use super::recall::recalled_caller;
use super::recheck::admit_for_stream;
use super::reply::{error_reply_without_id, refusal_reply, unavailable};
use crate::ground::budget::{Account, Charge, Resource};
use crate::ground::error::Result;
use crate::ground::extensions::Extensions;
use crate::ground::future::BoxFuture;
use crate::ground::peer_map::PeerName;
use crate::ground::poll_once::poll_once;
use crate::server::Server;
use crate::server::admission::admit::Refuse;
use crate::server::admission::connect_request::{ConnectRequest, MCP_METHOD, MCP_NAME, mirrored};
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;
use crate::server::call::verified::Verified;
use crate::server::catalog::tool::ToolEntry;
use crate::server::failure::errors::busy;

pub(crate) type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The address that a request came from. [`HttpService::serve`](super::super::HttpService::serve) puts the address into
/// the extensions of each request. A web application that mounts the service can insert it itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteAddr(pub SocketAddr);

/// The configuration of the endpoint, and its state while it is open.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) server: Server,
    pub(crate) hosts: Hosts,
    pub(crate) origins: Origins,
    pub(crate) trusted_proxies: TrustedProxies,
    pub(crate) limits: Limits,
    state: OnceLock<Arc<EndpointState>>,
}

/// The peer at the other end of a connection to the server's own socket.
#[derive(Debug, Clone)]
pub(crate) struct SocketPeer {
    pub(crate) remote: SocketAddr,
    pub(crate) account: Arc<Account>,
}

/// The decision about the caller of a request.
pub(crate) enum Admission<'e> {
    /// The request is admitted.
    Known(Box<Arrival>),
    /// The request is refused.
    Refused(Box<Response<ResponseBody>>),
    /// Credentials or hooks have to be waited for.
    Checking(BoxFuture<'e, Result<Box<Arrival>, Response<ResponseBody>>>),
}

/// More than the number of requests that can run, which the budgets limit.
const RUNNING: u32 = 1 << 28;

/// The state of an open endpoint.
struct EndpointState {
    /// Has one permit less for each running request. A server that shuts down waits for all permits.
    running: Arc<Semaphore>,
    /// Cancelled when the server is about to shut down, but still serves.
    stop_announcement: CancellationToken,
    /// Cancelled when the server shuts down.
    shutdown_token: Arc<CancellationToken>,
}

impl Endpoint {
    pub(crate) fn new(server: &Server) -> Self {
        Self {
            server: server.clone(),
            hosts: Hosts::default(),
            origins: Origins::default(),
            trusted_proxies: TrustedProxies::default(),
            limits: Limits::new(server.max_message(), server.inner.changes.bridge.is_some()),
            state: OnceLock::new(),
        }
    }

    /// Discards the open state after a change of the configuration.
    pub(crate) fn reset(&mut self) {
        self.state = OnceLock::new();
    }

    fn state(&self) -> &EndpointState {
        self.state.get_or_init(|| {
            Arc::new(EndpointState {
                running: Arc::new(Semaphore::new(RUNNING as usize)),
                stop_announcement: CancellationToken::new(),
                shutdown_token: Arc::default(),
            })
        })
    }

    /// Returns the token that is cancelled when the server shuts down.
    pub(crate) fn shutdown_token(&self) -> &Arc<CancellationToken> {
        &self.state().shutdown_token
    }

    /// Returns the token that is cancelled when the server is about to shut down, but still serves.
    pub(crate) fn stop_announcement(&self) -> &CancellationToken {
        &self.state().stop_announcement
    }

    /// Returns whether the server shuts down, or is about to.
    pub(crate) fn is_stopping(&self) -> bool {
        let open = self.state();
        open.stop_announcement.is_cancelled() || open.shutdown_token.is_cancelled()
    }

    /// Starts the shutdown and waits for running requests, for at most the grace period.
    pub(crate) async fn close(&self) {
        let open = self.state();
        open.shutdown_token.cancel();
        let _ = tokio::time::timeout(self.limits.grace, open.running.acquire_many(RUNNING)).await;
    }

    /// Returns the account of the peer at an address.
    pub(crate) fn account_at(&self, address: IpAddr) -> Arc<Account> {
        self.server.inner.ledger.account_of(PeerName::at(address))
    }

    /// Returns a permit to run a request, or `None` for methods that need no permit: those that are answered
    /// immediately, and `subscriptions/listen`.
    pub(crate) fn permit(
        &self,
        method: &Method,
        account: Option<&Arc<Account>>,
    ) -> Result<Option<RequestPermit>, RpcError> {
        if matches!(method, Method::Ping | Method::Initialize | Method::Discover | Method::Listen) {
            return Ok(None);
        }
        let charge = account.map(|account| account.charge(Resource::Requests, 1)).transpose();
        let charge = charge.map_err(|_| busy("too many requests are running"))?;
        let running = self.state().running.clone().try_acquire_owned().ok();
        Ok(Some(RequestPermit::new(charge, running)))
    }

    /// Counts a notification stream of a peer.
    pub(crate) fn stream_charge(&self, account: Option<&Arc<Account>>) -> Result<Option<Charge>, RpcError> {
        let budget = self.limits.stream_budget();
        let charge = account.map(|account| account.charge_within(budget, Resource::Streams, 1));
        charge.transpose().map_err(|_| busy("too many streams are open"))
    }

    /// Checks `Host` and `Origin`. If the request is refused, returns the response. Called for every request, on every
    /// route and with every method.
    pub(crate) fn refusal(&self, parts: &Parts) -> Option<Response<ResponseBody>> {
        let refusal = guard::check(parts, &self.hosts, &self.origins).err()?;
        Some(error_reply_without_id(StatusCode::FORBIDDEN, &RpcError::invalid_request(refusal)))
    }

    /// Verifies the caller, calls the `on_connect` hook, if there is one, and collects the facts about the request.
    /// `session_id` reads the id of the session from the headers.
    pub(crate) fn admit(
        &self,
        mut parts: Parts,
        session_id: fn(&HeaderMap) -> Option<&str>,
    ) -> Admission<'_> {
        let open = self.state();
        if open.shutdown_token.is_cancelled() {
            return Admission::Refused(Box::new(unavailable(None, &busy("the server is shutting down"))));
        }
        let extensions: Extensions = parts.extensions.remove().unwrap_or_default();
        let socket: Option<SocketPeer> = parts.extensions.remove();
        let remote = socket.as_ref().map(|peer| peer.remote);
        let remote =
            remote.or_else(|| parts.extensions.get::<RemoteAddr>().map(|RemoteAddr(address)| *address));
        let forwarded = remote.and_then(|remote| self.trusted_proxies.client_of(remote.ip(), &parts.headers));
        let remote = forwarded.map(|address| SocketAddr::new(address, 0)).or(remote);
        let connection = socket.filter(|_| forwarded.is_none()).map(|socket| socket.account);
        let headers = Arc::new(std::mem::take(&mut parts.headers));
        let checks_callers = self.server.checks_callers();
        let opens_stream = checks_callers && (parts.method == HttpMethod::GET || is_listen(&headers));
        // A stream needs the request once more: its caller is checked again while it is open.
        let recalled = if opens_stream { None } else { recalled_caller(&self.server, &headers) };
        let mut arrival = if let Some(caller) = recalled {
            Box::new(self.server.arrival_of(Some(caller), extensions))
        } else if checks_callers {
            let session_id = session_id(&headers).map(str::to_owned);
            let query = parts.uri.query().map(str::to_owned);
            let http_method = Some(parts.method.clone());
            let connecting =
                ConnectRequest { headers: Some(headers.clone()), query, session_id, remote, http_method };
            return Admission::Checking(Box::pin(async move {
                let admission = if opens_stream {
                    Box::pin(admit_for_stream(&self.server, connecting, extensions)) as BoxFuture<'_, _>
                } else {
                    Box::pin(self.server.admit(connecting, extensions))
                };
                let mut arrival = admission.await.map_err(|refuse| refusal_reply(None, &refuse))?;
                self.complete(&mut arrival, headers, remote, connection);
                Ok(arrival)
            }));
        } else {
            Box::new(Arrival { extensions, ..Arrival::default() })
        };
        self.complete(&mut arrival, headers, remote, connection);
        Admission::Known(arrival)
    }

    /// Calls the `on_connect` hook, if there is one, for a request that another server has passed on.
    pub(crate) async fn admit_passed_on(
        &self,
        connecting: ConnectRequest,
        extensions: Extensions,
    ) -> Result<Box<Arrival>, Refuse> {
        let (headers, remote) = (connecting.headers.clone().unwrap_or_default(), connecting.remote);
        let mut arrival = self.server.admit(connecting, extensions).await?;
        self.complete(&mut arrival, headers, remote, None);
        Ok(arrival)
    }

    /// Adds the facts about an admitted request. `connection` is the account of the peer on the server's own socket.
    fn complete(
        &self,
        arrival: &mut Arrival,
        headers: Arc<HeaderMap>,
        remote: Option<SocketAddr>,
        connection: Option<Arc<Account>>,
    ) {
        // A web application that has authenticated the caller may pass it in the extensions.
        if arrival.caller.is_none() {
            arrival.caller = arrival.extensions.get::<Verified>();
        }
        if arrival.principal.is_none() {
            arrival.principal = arrival.extensions.get::<Principal>().as_deref().cloned();
        }
        if let (None, Some(caller)) = (&arrival.principal, &arrival.caller) {
            arrival.principal = Some(caller.principal().clone());
        }
        let ledger = &self.server.inner.ledger;
        arrival.account.get_or_insert_with(|| match (&arrival.principal, connection, remote) {
            (Some(principal), ..) => ledger.account_of(PeerName::Principal(principal.0.clone())),
            (None, Some(account), _) => account,
            (None, None, Some(remote)) => self.account_at(remote.ip()),
            (None, None, None) => self.server.common_account(),
        });
        arrival.headers = Some(headers);
        arrival.remote = remote;
        arrival.stream_budget = Some(self.limits.stream_budget());
        arrival.shutdown_token = Some(self.shutdown_token().clone());
    }

    /// Checks the arguments that the tool's schema marks for copying into headers: each must equal its copy.
    /// `is_required` says whether the copies may be left out.
    pub(crate) fn check_param_headers(
        &self,
        arrival: &Arrival,
        method: &Method,
        params: &Params,
        is_required: bool,
    ) -> Result<(), RpcError> {
        let has_copies = || headers(arrival).keys().any(|name| name.as_str().starts_with(PARAM_PREFIX));
        if *method != Method::CallTool || (!is_required && !has_copies()) {
            return Ok(());
        }
        let snapshot = self.server.inner.registry.load();
        // A tool that is hidden from the caller is not checked, so that its schema stays hidden too.
        let is_seen =
            |tool: &&ToolEntry| arrival.visibility.as_ref().is_none_or(|allowed| allowed.allows_tool(tool));
        let tool = params.name()?.and_then(|name| snapshot.tool(&name)).filter(is_seen);
        let Some(tool) = tool else { return Ok(()) };
        if tool.param_headers().is_empty() {
            return Ok(());
        }
        let arguments: Value = params.arguments()?.and_then(|text| text.decode().ok()).unwrap_or_default();
        tool.param_headers().check(&arguments, is_required, |name| mirrored(headers(arrival), name))
    }

    /// Checks the media types of a POST and reads its body. The memory of the body is charged to its sender until the
    /// returned bytes are dropped.
    pub(crate) async fn read_body<B>(
        &self,
        arrival: &Arrival,
        body: B,
    ) -> Result<Bytes, Response<ResponseBody>>
    where
        B: Body + Send,
        B::Data: Send,
        B::Error: Into<BoxError>,
    {
        let headers = headers(arrival);
        let refusal = |status, text| error_reply_without_id(status, &RpcError::invalid_request(text));
        guard::check_media(headers).map_err(|mistake| match mistake {
            MediaMistake::ContentType => {
                refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json")
            }
            MediaMistake::ContentEncoding => {
                let text = "a body with a Content-Encoding is not accepted";
                refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
            }
            MediaMistake::Accept => {
                let text = "the Accept header must allow application/json and text/event-stream";
                refusal(StatusCode::NOT_ACCEPTABLE, text)
            }
        })?;
        let limits = &self.limits;
        let mut reading = pin!(collect_body(body, limits.body, arrival.account.as_ref()));
        // Most bodies are already complete and need no timer.
        let outcome = match poll_once(reading.as_mut()).await {
            Poll::Ready(outcome) => Ok(outcome),
            Poll::Pending => tokio::time::timeout(limits.body_timeout, reading).await,
        };
        match outcome {
            Ok(Ok(body)) => Ok(body),
            Ok(Err(BodyError::TooLarge)) => Err(too_large(limits.body)),
            Ok(Err(BodyError::NoRoom)) => {
                Err(unavailable(None, &busy("too many bytes of requests are being received")))
            }
            Ok(Err(BodyError::Broken)) => {
                Err(refusal(StatusCode::BAD_REQUEST, "the body could not be read to its end"))
            }
            Err(_) => Err(refusal(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time")),
        }
    }
}

fn too_large(max: usize) -> Response<ResponseBody> {
    let error = RpcError::invalid_request(format!(
        "the body is longer than {max} bytes: send less, or raise `max_message` on the server, or `max_body` where it is set"
    ));
    error_reply_without_id(StatusCode::PAYLOAD_TOO_LARGE, &error.with_max_message(max))
}

/// Returns the headers of a request, or an empty map if they are unknown.
pub(crate) fn headers(arrival: &Arrival) -> &HeaderMap {
    static NONE: LazyLock<HeaderMap> = LazyLock::new(HeaderMap::new);
    arrival.headers.as_deref().unwrap_or(&NONE)
}

/// Returns whether a request says that it opens a stream of changes. It is refused later if its message differs.
fn is_listen(headers: &HeaderMap) -> bool {
    let method = headers.get(&MCP_METHOD).map(|method| method.as_bytes().trim_ascii());
    method == Some(Method::Listen.name().as_bytes())
}

/// Returns whether the client accepts an event stream.
pub(crate) fn accepts_events(arrival: &Arrival) -> bool {
    guard::accepts_events(headers(arrival))
}

pub(crate) static PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// How the names of the headers begin that repeat arguments.
const PARAM_PREFIX: &str = "mcp-param-";

pub(crate) fn mirrored_headers(arrival: &Arrival) -> MirroredHeaders<'_> {
    let [version, method, name] = lines_of(headers(arrival), [&PROTOCOL_VERSION, &MCP_METHOD, &MCP_NAME]);
    MirroredHeaders { protocol_version: version.mirrored(), method: method.mirrored(), name: name.mirrored() }
}
