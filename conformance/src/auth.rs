//! How the client signs in, in the scenarios about authorization.

use serde::Deserialize;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolway::client::{Idp, OAuth};
use toolway::prelude::*;
use toolway::{Chain, ProtocolVersion};

/// What the suite tells the client in some scenarios.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Context {
    client_id: String,
    client_secret: String,
    issuer: Option<String>,
    private_key_pem: String,
    valid_jwt: String,
    idp_client_id: String,
    idp_id_token: String,
    idp_issuer: String,
}

/// Lists the tools of a server that asks the client to sign in, and calls one.
pub(crate) async fn play(
    scenario: &str,
    version: ProtocolVersion,
    url: &str,
    context: Option<&str>,
) -> Result<(), String> {
    let context: Context = serde_json::from_str(context.unwrap_or("{}"))
        .map_err(|error| format!("MCP_CONFORMANCE_CONTEXT: {error}"))?;
    let Context { client_id, client_secret, issuer, private_key_pem, valid_jwt, .. } = context;
    let Context { idp_client_id, idp_id_token, idp_issuer, .. } = context;
    let oauth = match scenario {
        "auth/pre-registration" => {
            let oauth = browser().client_id(client_id).client_secret(client_secret);
            match issuer {
                Some(issuer) => oauth.for_issuer(issuer),
                None => oauth.for_any_issuer(),
            }
        }
        "auth/client-credentials-basic" => {
            OAuth::client_credentials(client_id, client_secret).for_any_issuer()
        }
        "auth/client-credentials-jwt" => OAuth::private_key(client_id, private_key_pem).for_any_issuer(),
        "auth/wif-jwt-bearer" => OAuth::workload(move |_| {
            let token = valid_jwt.clone();
            async { Ok(token) }
        })
        .client_id(client_id),
        "auth/enterprise-managed-authorization" => {
            OAuth::enterprise(Idp::public(idp_issuer, idp_client_id), move || {
                let token = idp_id_token.clone();
                async { Ok(token) }
            })
            .client_id(client_id)
            .client_secret(client_secret)
            .for_any_issuer()
        }
        _ => browser().client_metadata_url("https://conformance-test.local/client-metadata.json"),
    };
    use_server(version, url, oauth).await.map_err(|error| format!("{scenario}: {}", Chain(&error)))
}

async fn use_server(version: ProtocolVersion, url: &str, oauth: OAuth) -> toolway::Result<()> {
    let client = Client::builder()
        .info("toolway-conformance", env!("CARGO_PKG_VERSION"))
        .protocol(version)
        .oauth(oauth)
        .connect(url)
        .await?;
    client.tools().await?;
    client.call("test-tool", json!({})).await?;
    client.close().await
}

/// A client whose user agrees to everything.
fn browser() -> OAuth {
    OAuth::browser().open_with(|url| async move {
        tokio::spawn(async move {
            if let Err(error) = visit(url).await {
                eprintln!("the browser: {error}");
            }
        });
        Ok(())
    })
}

/// Visits a page, and the one that it leads to.
async fn visit(url: String) -> Result<(), String> {
    let mut next = Some(url);
    while let Some(url) = next.take() {
        let failed = |error: std::io::Error| format!("{url}: {error}");
        let rest = url.strip_prefix("http://").ok_or_else(|| format!("{url} is not http"))?;
        let (host, target) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(host).await.map_err(failed)?;
        let request = format!("GET /{target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.map_err(failed)?;
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).await.map_err(failed)?;
        let reply = String::from_utf8_lossy(&reply).into_owned();
        let is_location = |line: &&str| line.to_ascii_lowercase().starts_with("location:");
        next = reply
            .lines()
            .find(is_location)
            .and_then(|line| line.split_once(':'))
            .map(|(_, url)| url.trim().to_owned());
    }
    Ok(())
}
