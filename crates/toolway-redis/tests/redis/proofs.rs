//! Is a proof of a key that one node has accepted refused by the next one?

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::net::TcpListener;
use toolway::auth::Auth;
use toolway::client::Http;
use toolway::prelude::*;
use toolway::server::{Admit, ConnectRequest};
use toolway::testing::Issuer;

use crate::server::{Server as Redis, is_missing};
use crate::steps::connect;

/// Say hello.
#[tool]
fn hello() -> &'static str {
    "hello"
}

#[tokio::test]
async fn a_proof_is_accepted_once_by_all_nodes() {
    if is_missing() {
        return;
    }
    let redis = Redis::start(&[]);
    let issuer = Issuer::start().await.unwrap();
    let listeners =
        [TcpListener::bind("127.0.0.1:0").await.unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap()];
    let urls = listeners.each_ref().map(|listener| format!("http://{}/mcp", listener.local_addr().unwrap()));
    let seen = Arc::new(Mutex::new(None));
    for listener in listeners {
        // Both nodes are the same server to their callers, who reach them through a load balancer.
        let auth = Auth::resource(&urls[0]).issuer(issuer.url()).require_dpop();
        let seen = seen.clone();
        let server =
            Server::new("notes", "1.0.0").tools(tools![hello]).store(connect(redis.url()).await).auth(auth);
        let server = server.on_connect(move |connecting: ConnectRequest| {
            *seen.lock().unwrap() = Some(connecting.headers().clone());
            async { Admit::anyone() }
        });
        tokio::spawn(server.http().unwrap().serve(listener));
    }
    let client = Client::builder().oauth(issuer.user()).connect(&*urls[0]).await.unwrap();
    assert_eq!(client.call("hello", json!({})).await.unwrap().first_text(), Some("hello"));
    let stolen = seen.lock().unwrap().take().unwrap();
    let header = |name: &str| stolen[name].to_str().unwrap().to_owned();
    for url in &urls {
        let thief =
            Http::new(url).header("authorization", header("authorization")).header("dpop", header("dpop"));
        let error = Client::builder().retries(0).connect_http(thief).await.map(drop).unwrap_err();
        let challenge = error.challenge().unwrap();
        assert!(challenge.contains("invalid_dpop_proof") && challenge.contains("used before"), "{challenge}");
    }
    assert_eq!(client.call("hello", json!({})).await.unwrap().first_text(), Some("hello"));
}
