//! The protected server that clients on other SDKs sign in to.

use std::net::Ipv4Addr;
use std::time::Duration;

use serde::Deserialize;
use toolway::auth::{Auth, Claims};
use toolway::prelude::*;
use toolway::server::Headers;

/// The claims of a token.
#[derive(Deserialize)]
struct Caller {
    sub: String,
    jti: String,
    scope: String,
}

/// Return the name of the caller, that of the token, the revision of the request, and the scopes.
#[tool(read_only)]
fn whoami(caller: Claims<Caller>, headers: Headers) -> String {
    let Caller { sub, jti, scope } = &*caller;
    format!("{sub} {jti} {} {scope}", headers.text("mcp-protocol-version").unwrap_or("?"))
}

/// Search the notes.
#[tool(read_only)]
fn search(text: &str) -> String {
    format!("nothing about {text}")
}

/// Save a note.
#[tool(scopes("notes:write"))]
fn put(caller: Claims<Caller>, text: String) -> String {
    format!("{} saved {text}", caller.sub)
}

/// Serves on 127.0.0.1, for callers with a token of the issuer, until the process is ended.
pub(crate) async fn serve(port: u16, issuer: &str) -> toolway::Result<()> {
    let auth = Auth::resource(format!("http://127.0.0.1:{port}/mcp"))
        .issuer(issuer)
        .scopes(["notes:read"])
        .leeway(LEEWAY);
    let server = Server::new("notes", "1.0.0").tools(tools![whoami, search, put]).auth(auth);
    server.serve_http((Ipv4Addr::LOCALHOST, port)).await
}

/// A token that has expired must be refused soon, but not before the client knows: it counts from the moment at which it got
/// the token, and not from the beginning of the second in which the token was made.
const LEEWAY: Duration = Duration::from_secs(3);
