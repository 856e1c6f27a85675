//! How do the two servers behave, and what did they get?

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use toolway::client::{Http, HttpBody, HttpClient, OAuth};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway::{BoxFuture, ErrorKind, ProtocolVersion};
use toolway_protocol::oauth::form;
use tower::Service;

#[tool]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// The places where requests arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Site {
    Mcp,
    /// The authorization server.
    Id,
    /// A second authorization server.
    Other,
    /// Every address that does not belong to the pair.
    Elsewhere,
}

/// A request that arrived.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    pub(super) site: Site,
    pub(super) method: String,
    /// The path and the query.
    pub(super) target: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Visit {
    pub(super) fn path(&self) -> &str {
        self.target.split('?').next().unwrap()
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        headers.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns a field of the form in the body.
    pub(super) fn field(&self, name: &str) -> Option<String> {
        field(&self.body, name)
    }
}

/// Returns a field of a form or a query.
pub(super) fn field(text: &str, name: &str) -> Option<String> {
    form::decode(text)?.into_iter().find(|(known, _)| known == name).map(|(_, value)| value)
}

/// A reply. `{mcp}`, `{id}` and `{other}` in it become the origins of the servers.
#[derive(Debug, Clone)]
pub(super) struct Page {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

impl Page {
    pub(super) fn new(status: u16, body: impl Into<String>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "rows of tables are easier to read")]
    pub(super) fn json(status: u16, body: Value) -> Self {
        Self::new(status, body.to_string()).with("content-type", "application/json")
    }

    pub(super) fn html(status: u16) -> Self {
        Self::new(status, HTML).with("content-type", "text/html")
    }

    pub(super) fn redirect(status: u16, to: &str) -> Self {
        Self::html(status).with("location", to)
    }

    /// A request that is never answered. From then on, time jumps to the next time limit when nothing else happens, so only
    /// a pair with public addresses can have this page: a connection takes time in which nothing happens.
    pub(super) fn never() -> Self {
        Self::new(0, "")
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Makes the body this long with spaces.
    pub(super) fn padded(mut self, length: usize) -> Self {
        self.body.push_str(&" ".repeat(length - self.body.len()));
        self
    }
}

/// Decides about a request to the MCP server with this token. `None` lets it pass.
type Gate = Box<dyn FnMut(Option<&str>) -> Option<Page> + Send>;

/// An MCP server and its authorization server.
#[derive(Clone)]
pub(super) struct Pair {
    mcp: HttpService,
    state: Arc<Mutex<State>>,
}

pub(super) struct State {
    pub(super) visits: Vec<Visit>,
    /// The URLs that the client opened in the browser.
    pub(super) opened: Vec<String>,
    /// The statuses of the pages that the browser was shown when it came back.
    pub(super) shown: Vec<u16>,
    browsers: Vec<JoinHandle<()>>,
    /// Where the servers are.
    origins: HashMap<Site, String>,
    /// Members of the two documents that differ.
    pub(super) resource: Value,
    pub(super) server: Value,
    /// Pages that replace those of an honest server.
    pub(super) pages: HashMap<(Site, String), Page>,
    /// The queries with which the browser comes back, one after another.
    pub(super) callbacks: Vec<&'static str>,
    /// Members of the replies of the token endpoint that differ.
    pub(super) token: Value,
    pub(super) challenges: Vec<String>,
    pub(super) gate: Option<Gate>,
    pub(super) valid: HashSet<String>,
    tokens: usize,
    is_paused: bool,
}

impl Pair {
    /// A pair on this machine, with real listeners.
    pub(super) async fn on_loopback() -> Self {
        let pair = Self::new();
        for site in [Site::Mcp, Site::Id, Site::Other] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let origin = format!("http://{}", listener.local_addr().unwrap());
            pair.state().origins.insert(site, origin);
            let pair = pair.clone();
            tokio::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    let pair = pair.clone();
                    tokio::spawn(async move { pair.serve(site, stream).await });
                }
            });
        }
        pair
    }

    /// A pair with public addresses, which the client reaches through an [`HttpClient`] without a network.
    pub(super) fn in_public() -> Self {
        let pair = Self::new();
        pair.state().origins = HashMap::from([
            (Site::Mcp, "https://93.184.216.34".to_owned()),
            (Site::Id, "https://93.184.216.35".to_owned()),
            (Site::Other, "https://93.184.216.36".to_owned()),
        ]);
        pair
    }

    fn new() -> Self {
        let mcp = Server::new("calculator", "1.0.0").tools(tools![add]).build().unwrap().http();
        let mcp = mcp.hosts(["93.184.216.34", "127.0.0.1"]);
        let state = State {
            visits: Vec::new(),
            opened: Vec::new(),
            shown: Vec::new(),
            browsers: Vec::new(),
            origins: HashMap::new(),
            resource: json!({}),
            server: json!({}),
            pages: HashMap::new(),
            callbacks: vec!["code={code}&state={state}"],
            token: json!({}),
            challenges: vec!["Bearer realm=\"x\"".to_owned()],
            gate: None,
            valid: HashSet::new(),
            tokens: 0,
            is_paused: false,
        };
        Self { mcp, state: Arc::new(Mutex::new(state)) }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub(super) fn origin(&self, site: Site) -> String {
        self.state().origins[&site].clone()
    }

    /// A user who signs in whenever a page opens.
    pub(super) fn user(&self) -> OAuth {
        let pair = self.clone();
        OAuth::browser().open_with(move |url| {
            pair.open(url);
            async { Ok(()) }
        })
    }

    pub(super) fn http(&self, oauth: OAuth) -> Http {
        let url = format!("{}/mcp?key=canary-key", self.origin(Site::Mcp));
        let http = Http::new(&url).header("x-api-key", "canary-header").oauth(oauth);
        if url.starts_with("https") { http.with_client(self.clone()) } else { http }
    }

    pub(super) async fn connect(&self, oauth: OAuth) -> toolway::Result<Client> {
        let builder = Client::builder().protocol(ProtocolVersion::LATEST).retries(0);
        builder.connect_http(self.http(oauth)).await
    }

    /// Waits until the browser has shown every page, and lets time go on.
    pub(super) async fn close(&self) {
        if std::mem::take(&mut self.state().is_paused) {
            tokio::time::resume();
        }
        let browsers = std::mem::take(&mut self.state().browsers);
        for browser in browsers {
            browser.await.unwrap();
        }
    }

    pub(super) fn visits_to(&self, site: Site, path: &str) -> Vec<Visit> {
        let state = self.state();
        state.visits.iter().filter(|visit| visit.site == site && visit.path() == path).cloned().collect()
    }

    /// The browser opens a page of the authorization server, which sends it back to the client.
    fn open(&self, url: String) {
        let mut state = self.state();
        let number = state.opened.len() + 1;
        state.opened.push(url.clone());
        let query = url.split_once('?').unwrap().1;
        let redirect = field(query, "redirect_uri").unwrap();
        let callbacks: Vec<_> = state
            .callbacks
            .iter()
            .map(|query_back| {
                query_back
                    .replace("{code}", &format!("canary-code-{number}"))
                    .replace("{state}", &field(query, "state").unwrap())
                    .replace("{iss}", &form::encode_text(&state.origins[&Site::Id]))
            })
            .collect();
        let pair = self.clone();
        state.browsers.push(tokio::spawn(async move {
            let (host, path) = redirect.strip_prefix("http://").unwrap().split_once('/').unwrap();
            for query in callbacks {
                let mut stream = TcpStream::connect(host).await.unwrap();
                let request = format!("GET /{path}?{query} HTTP/1.1\r\nHost: {host}\r\n\r\n");
                stream.write_all(request.as_bytes()).await.unwrap();
                let mut page = Vec::new();
                // A request that is too long is not read to its end, which resets the connection.
                let _ = stream.read_to_end(&mut page).await;
                let page = String::from_utf8(page).unwrap();
                assert!(!page.contains("canary"), "{page}");
                let status = page.split(' ').nth(1).and_then(|status| status.parse().ok());
                pair.state().shown.push(status.unwrap_or_default());
            }
        }));
    }

    /// Serves one request of a connection.
    async fn serve(&self, site: Site, mut stream: TcpStream) {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|end| end == b"\r\n\r\n") {
                break end + 4;
            }
            if !matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let mut words = lines.next().unwrap().split(' ');
        let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap().to_owned());
        let headers = lines.map(|line| line.split_once(": ").unwrap());
        let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut visit = Visit { site, method, target, headers, body: String::new() };
        let length = visit.header("content-length").map_or(0, |length| length.parse().unwrap());
        while bytes.len() < end + length {
            if !matches!(stream.read_buf(&mut bytes).await, Ok(1..)) {
                return;
            }
        }
        visit.body = String::from_utf8(bytes[end..].to_vec()).unwrap();
        let page = self.reply(visit).await;
        let headers = page.headers.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let (status, length, headers) = (page.status, page.body.len(), headers.collect::<String>());
        let reply = format!(
            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{}",
            page.body
        );
        // A client that has seen enough closes the connection.
        let _ = stream.write_all(reply.as_bytes()).await;
        let _ = stream.shutdown().await;
    }

    async fn reply(&self, visit: Visit) -> Page {
        match self.page_for(&visit) {
            Some(page) if page.status == 0 => {
                if !std::mem::replace(&mut self.state().is_paused, true) {
                    tokio::time::pause();
                }
                std::future::pending().await
            }
            Some(mut page) => {
                page.body = self.fill(&page.body);
                for (_, value) in &mut page.headers {
                    *value = self.fill(value);
                }
                page
            }
            None => self.ask_mcp(visit).await,
        }
    }

    /// Replaces the names of the servers by their origins.
    pub(super) fn fill(&self, text: &str) -> String {
        let state = self.state();
        let mut text = text.to_owned();
        for (name, site) in [("mcp", Site::Mcp), ("id", Site::Id), ("other", Site::Other)] {
            let origin = &state.origins[&site];
            let authority = origin.split_once("://").unwrap().1;
            let port = authority.split_once(':').map_or("443", |(_, port)| port);
            text = text.replace(&format!("{{{name}}}"), origin);
            text = text.replace(&format!("{{{name}-authority}}"), authority);
            text = text.replace(&format!("{{{name}-port}}"), port);
        }
        text
    }

    /// Returns the page for a request, or `None` if the MCP server may answer.
    fn page_for(&self, visit: &Visit) -> Option<Page> {
        let mut state = self.state();
        state.visits.push(visit.clone());
        if let Some(page) = state.pages.get(&(visit.site, visit.path().to_owned())) {
            return Some(page.clone());
        }
        let merged = |mut document: Value, changes: &Value| {
            for (name, value) in changes.as_object().unwrap() {
                document[name] = value.clone();
            }
            Some(Page::json(200, document))
        };
        match (visit.site, visit.path()) {
            (Site::Mcp, "/mcp") => {
                let token = visit.header("authorization").and_then(|value| value.strip_prefix("Bearer "));
                if let Some(gate) = &mut state.gate {
                    return gate(token);
                }
                let is_valid = token.is_some_and(|token| state.valid.contains(token));
                (!is_valid).then(|| refusal(401, &state.challenges))
            }
            (Site::Mcp, RESOURCE) => {
                let honest = json!({"resource": "{mcp}/mcp", "authorization_servers": ["{id}"]});
                merged(honest, &state.resource)
            }
            (Site::Id, SERVER) => merged(server_document("{id}"), &state.server),
            (Site::Other, SERVER) => Some(Page::json(200, server_document("{other}"))),
            (Site::Id | Site::Other, "/register") => {
                Some(Page::json(201, json!({"client_id": "registered"})))
            }
            (Site::Id | Site::Other, "/token") => {
                state.tokens += 1;
                let number = state.tokens;
                let token = format!("canary-token-{number}");
                state.valid = HashSet::from([token.clone()]);
                let reply = json!({
                    "access_token": token,
                    "token_type": "Bearer",
                    "refresh_token": format!("canary-refresh-{number}"),
                });
                merged(reply, &state.token)
            }
            _ => Some(Page::html(404)),
        }
    }

    async fn ask_mcp(&self, visit: Visit) -> Page {
        let mut request = Request::builder().method(visit.method.as_str()).uri(visit.target);
        for (name, value) in visit.headers {
            request = request.header(name, value);
        }
        let request = request.body(Full::new(Bytes::from(visit.body))).unwrap();
        let Ok(response) = self.mcp.clone().call(request).await;
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let content_type = head.headers.get("content-type").map_or("", |value| value.to_str().unwrap());
        Page::new(head.status.as_u16(), String::from_utf8(body.to_vec()).unwrap())
            .with("content-type", content_type)
    }
}

/// Carries the requests to a pair with public addresses.
impl HttpClient for Pair {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, toolway::Result<Response<HttpBody>>> {
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let whole = head.uri.to_string();
            let known = self.state().origins.clone();
            let known = known.into_iter().find(|(_, origin)| {
                whole
                    .strip_prefix(origin.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            });
            let site = known.as_ref().map_or(Site::Elsewhere, |(site, _)| *site);
            let target = match &known {
                Some((_, origin)) => whole[origin.len()..].to_owned(),
                None => whole.clone(),
            };
            let headers = head.headers.iter();
            let mut headers: Vec<_> =
                headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
            headers.push(("host".to_owned(), head.uri.authority().unwrap().to_string()));
            let body = String::from_utf8(body.to_vec()).unwrap();
            let visit = Visit { site, method: head.method.to_string(), target, headers, body };
            if site == Site::Elsewhere {
                self.state().visits.push(visit);
                return Err(toolway::Error::new(ErrorKind::Transport, "there is no such server"));
            }
            let page = self.reply(visit).await;
            let mut response = Response::builder().status(page.status);
            for (name, value) in page.headers {
                response = response.header(name, value);
            }
            Ok(response.body(HttpBody::new(Full::new(Bytes::from(page.body)))).unwrap())
        })
    }
}

/// The document of an honest authorization server.
pub(super) fn server_document(origin: &str) -> Value {
    json!({
        "issuer": origin,
        "authorization_endpoint": format!("{origin}/authorize"),
        "token_endpoint": format!("{origin}/token"),
        "registration_endpoint": format!("{origin}/register"),
        "code_challenge_methods_supported": ["S256"],
    })
}

/// A refusal of the MCP server. An error of the client quotes it, so it has no canary.
pub(super) fn refusal(status: u16, challenges: &[impl AsRef<str>]) -> Page {
    let page = Page::new(status, "\u{1b}[31mno");
    challenges.iter().fold(page, |page, challenge| page.with("www-authenticate", challenge.as_ref()))
}

pub(super) async fn sum(client: &Client) -> toolway::Result<String> {
    Ok(client.call("add", json!({"a": 1, "b": 2})).await?.first_text().unwrap().to_owned())
}

/// A page with all that must not reach a terminal or a user.
const HTML: &str =
    "<html><script>canary()</script>canary-page access_token=canary-token \u{1b}[31mcanary\u{7}";
/// The places of the documents.
pub(super) const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";
pub(super) const SERVER: &str = "/.well-known/oauth-authorization-server";
pub(super) const OPENID: &str = "/.well-known/openid-configuration";
