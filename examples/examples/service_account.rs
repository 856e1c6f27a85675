//! A program that signs in without a user, with an id and a secret.
//!
//! `service_account URL ISSUER` takes the id and the secret from the variables `CLIENT_ID` and `CLIENT_SECRET`. Without
//! arguments, it shows the same with a server and an authorization server of its own.

#![expect(clippy::print_stdout, reason = "the example prints its results")]

use serde_json::json;
use toolway::client::OAuth;
use toolway::prelude::*;
use toolway::testing::Issuer;

#[tokio::main]
async fn main() -> toolway::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [url, issuer] = &arguments[..] {
        let variable = |name| std::env::var(name).unwrap_or_default();
        let (id, secret) = (variable("CLIENT_ID"), variable("CLIENT_SECRET"));
        // The secret goes to this authorization server only, whatever the MCP server says.
        let oauth = OAuth::client_credentials(id, secret).for_issuer(issuer);
        let client = Client::builder().oauth(oauth).connect(&**url).await?;
        println!("{} tools", client.tools().await?.len());
        return Ok(());
    }

    let issuer = Issuer::start().await?;
    issuer.add_client("reports", "s3cret");
    let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    let url = issuer.protect(&server).await?;

    let oauth = OAuth::client_credentials("reports", "s3cret").for_issuer(issuer.url());
    let client = Client::builder().oauth(oauth).connect(&*url).await?;
    println!("2 + 3 = {}", client.call("add", json!({"a": 2, "b": 3})).await?.text()?);

    // Nothing is sent to an authorization server that the secret is not for.
    let oauth = OAuth::client_credentials("reports", "s3cret").for_issuer("https://id.example");
    if let Err(error) = Client::builder().oauth(oauth).connect(&*url).await {
        println!("{}", toolway::Chain(&error));
    }
    Ok(())
}

/// Add two numbers.
#[tool]
fn add(a: i64, b: i64) -> i64 {
    a + b
}
