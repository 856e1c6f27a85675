//! What does our server say?

use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use toolway::auth::Auth;
use toolway::server::Server;
use toolway::server::http::HttpService;

pub(crate) const ISSUER: &str = "https://id.example";
pub(crate) const AUDIENCE: &str = "https://notes.example/mcp";
/// The algorithms that our server accepts by default, with both names of the last one.
const ALGORITHMS: [&str; 8] = ["RS256", "RS384", "PS256", "PS384", "ES256", "ES384", "EdDSA", "Ed25519"];
/// By how many seconds clocks may differ, by default.
const LEEWAY: u64 = 60;

/// What the other libraries are told, so that they decide by the same rules.
pub(crate) fn settings(now: u64, keys: &Value) -> Value {
    json!({
        "issuer": ISSUER,
        "audience": AUDIENCE,
        "algorithms": ALGORITHMS,
        "leeway": LEEWAY,
        "now": now,
        "keys": keys,
    })
}

/// A server that accepts the tokens of one issuer.
pub(crate) struct OurServer(HttpService);

impl OurServer {
    pub(crate) fn new(keys: &Value) -> Result<Self, String> {
        let auth = Auth::resource(AUDIENCE).issuer(ISSUER).keys(keys);
        let server =
            Server::new("verdicts", "1.0.0").auth(auth).build().map_err(|error| error.to_string())?;
        Ok(Self(server.http()))
    }

    /// Returns the text with which the server refuses a token; `None` if it accepts it.
    pub(crate) async fn reason_to_refuse(&self, token: &str) -> Result<Option<String>, String> {
        let Ok(value) = HeaderValue::from_bytes(format!("Bearer {token}").as_bytes()) else {
            return Ok(Some("the token cannot be in a header".to_owned()));
        };
        let request = Request::post("http://localhost/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", "2026-07-28")
            .header("mcp-method", "server/discover")
            .header("authorization", value)
            .body(Full::new(Bytes::from_static(REQUEST)))
            .map_err(|error| error.to_string())?;
        let (head, body) = self.0.handle(request).await.into_parts();
        let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
        let shown = || format!("the server replied {} {}", head.status, body.escape_ascii());
        match head.status.as_u16() {
            200 => Ok(None),
            400 | 401 => {
                let reply: Value = serde_json::from_slice(&body).map_err(|_| shown())?;
                reply["error"]["message"].as_str().map(|text| Some(text.to_owned())).ok_or_else(shown)
            }
            _ => Err(shown()),
        }
    }
}

const REQUEST: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
