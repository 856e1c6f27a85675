//! The protected server that clients on other SDKs sign in to.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Number, Value};
use toolway::auth::{Auth, Claims, Introspection, TrustedIssuer};
use toolway::prelude::*;
use toolway::server::Headers;

/// The claims of a token. A program without a user has no `sub`.
#[derive(Deserialize)]
struct Caller {
    sub: Option<String>,
    client_id: Option<String>,
    jti: Option<String>,
    iat: Option<Number>,
    #[serde(default)]
    scope: String,
}

impl Caller {
    fn name(&self) -> &str {
        self.sub.as_deref().or(self.client_id.as_deref()).unwrap_or("?")
    }

    /// Returns the name of the token, or the time at which it was made if it has none.
    fn token(&self) -> String {
        let time = || self.iat.as_ref().map(Number::to_string);
        self.jti.clone().or_else(time).unwrap_or_else(|| "?".to_owned())
    }
}

/// Return the name of the caller, that of the token, the revision of the request, and the scopes.
#[tool(read_only)]
fn whoami(caller: Claims<Caller>, headers: Headers) -> String {
    let revision = headers.text("mcp-protocol-version").unwrap_or("?");
    format!("{} {} {revision} {}", caller.name(), caller.token(), caller.scope)
}

/// Search the notes.
#[tool(read_only)]
fn search(text: &str) -> String {
    format!("nothing about {text}")
}

/// Save a note.
#[tool(scopes("notes:write"))]
fn put(caller: Claims<Caller>, text: String) -> String {
    format!("{} saved {text}", caller.name())
}

/// The claims of the token.
#[resource("notes://claims", mime = "application/json")]
fn claims(caller: Claims<Value>) -> String {
    (*caller).to_string()
}

/// How the server finds out that a token is valid, and which tokens are for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// By its signature. The token is for the URL of the server, and has scopes.
    Resource,
    /// By its signature. The token is for the name of the server, and its only scopes are the groups of the user.
    Groups,
    /// By asking the issuer. The token is for the name of the server.
    Introspection,
}

impl Trust {
    pub(crate) fn named(name: &str) -> Result<Self, String> {
        match name {
            "resource" => Ok(Self::Resource),
            "groups" => Ok(Self::Groups),
            "introspection" => Ok(Self::Introspection),
            other => Err(format!("`{other}` is not a way to trust an issuer")),
        }
    }

    fn auth(self, resource: String, issuer: &str) -> Auth {
        let auth = Auth::resource(resource).leeway(LEEWAY);
        match self {
            Self::Resource => auth.issuer(issuer).scopes(["notes:read"]),
            Self::Groups => {
                let issuer = TrustedIssuer::new(issuer).audience(SERVER).scope_claim("groups");
                // Without the first, a token does not name the user.
                auth.issuer(issuer).optional_scopes(["openid", "groups"])
            }
            Self::Introspection => {
                let verifier = Introspection::new(issuer, SERVER, SECRET).audience(SERVER);
                auth.verifier(verifier).scopes(["notes:read"])
            }
        }
    }
}

/// Serves on 127.0.0.1, for callers with a token of the issuer, until the process is ended.
pub(crate) async fn serve(port: u16, issuer: &str, trust: Trust) -> toolway::Result<()> {
    let auth = trust.auth(format!("http://127.0.0.1:{port}/mcp"), issuer);
    let server = Server::new("notes", "1.0.0")
        .tools(tools![whoami, search, put])
        .resources(resources![claims])
        .auth(auth);
    server.serve_http((Ipv4Addr::LOCALHOST, port)).await
}

/// The name and the secret of this server at `interop/idp_canaille.py`.
const SERVER: &str = "notes-server";
const SECRET: &str = "a b+c/d:e%é";
/// A token that has expired must be refused soon, but not before the client knows: it counts from the moment at which it got
/// the token, and not from the beginning of the second in which the token was made.
const LEEWAY: Duration = Duration::from_secs(3);
