//! A client that signs in by itself, and remembers it.
//!
//! With the URL of a server, it opens the browser when the server asks for it. Without one, it shows the same with a server
//! and an authorization server of its own, whose user agrees at once.

#![expect(clippy::print_stdout, reason = "the example prints its results")]

use serde_json::json;
use toolway::client::{FileVault, Http, OAuth};
use toolway::prelude::*;
use toolway::testing::Issuer;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    if let Some(url) = std::env::args().nth(1) {
        let oauth = OAuth::browser().vault(FileVault::default());
        let client = Client::builder().oauth(oauth).connect(&*url).await?;
        for tool in client.tools().await? {
            println!("{}: {}", tool.name, tool.description());
        }
        return Ok(());
    }

    let issuer = Issuer::start().await?;
    let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    let notes = Http::new(issuer.protect(&server).await?).oauth(issuer.user());

    // The first request is refused, and leads to a login.
    let client = Client::connect_http(notes.clone()).await?;
    println!("2 + 3 = {}", client.call("add", json!({"a": 2, "b": 3})).await?.text()?);
    if let Some(login) = notes.sign_in_status().await? {
        println!("signed in at {}", login.issuer);
    }

    // A token that has expired is renewed, without the user.
    issuer.expire_tokens();
    println!("3 + 4 = {}", client.call("add", json!({"a": 3, "b": 4})).await?.text()?);
    for request in issuer.requests() {
        println!("{request}");
    }

    println!("revoked: {}", notes.sign_out().await?.is_revoked);
    Ok(())
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}
