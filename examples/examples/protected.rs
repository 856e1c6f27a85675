//! A server that only callers with a valid token reach, and a tool that needs one more scope.
//!
//! With an address and the URL of an identity provider, it serves there: `protected 127.0.0.1:8000 https://id.example`.
//! Without them, it shows the same with an authorization server of its own, and a client whose user agrees at once.

#![expect(clippy::print_stdout, reason = "the example prints its results")]

use serde_json::json;
use tokio::net::TcpListener;
use toolway::auth::{Auth, Claims};
use toolway::prelude::*;
use toolway::testing::Issuer;

#[derive(serde::Deserialize)]
struct User {
    sub: String,
}

/// Search the notes.
#[tool]
fn search(user: Claims<User>, text: &str) -> String {
    format!("{} has no notes about {text}", user.sub)
}

/// Save a note.
#[tool(scopes("notes:write"))]
fn put(user: Claims<User>, text: &str) -> String {
    format!("{} has saved {text:?}", user.sub)
}

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [address, issuer] = &arguments[..] {
        let url = format!("http://{address}/mcp");
        return notes(&url, issuer).serve_http(address.as_str()).await;
    }

    let issuer = Issuer::start().await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    tokio::spawn(notes(&url, issuer.url()).http()?.serve(listener));

    let error = Client::connect(&*url).await.map(drop).expect_err("a caller without a token is refused");
    println!("{}", error.challenge().unwrap_or_default());
    let client = Client::builder().oauth(issuer.user()).connect(&*url).await?;
    println!("{}", client.call("search", json!({"text": "milk"})).await?.text()?);
    // This needs one more scope, so the client asks its user once more.
    println!("{}", client.call("put", json!({"text": "buy milk"})).await?.text()?);
    Ok(())
}

fn notes(url: &str, issuer: &str) -> toolway::server::ServerBuilder {
    let auth =
        Auth::resource(url).issuer(issuer).scopes(["notes:read"]).implies("notes:write", ["notes:read"]);
    Server::new("notes", "1.0.0").tools(tools![search, put]).auth(auth)
}
