//! Does a client sign in to a protected server by itself, and ask for more scopes when it needs them?

use serde_json::json;
use toolway::ProtocolVersion;
use toolway::auth::Auth;
use toolway::prelude::*;
use toolway::testing::Issuer;

use super::world::notes;

/// Serves a protected server on a socket of its own. Returns its URL.
async fn serve(issuer: &Issuer, change: impl FnOnce(Auth) -> Auth) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let auth = change(Auth::resource(&url).issuer(issuer.url()).scopes(["notes:read"]));
    let service = notes().auth(auth).build().unwrap().http();
    tokio::spawn(service.serve(listener));
    url
}

#[tokio::test]
async fn a_client_signs_in_renews_its_token_and_asks_for_more_scopes() {
    for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
        let issuer = Issuer::start().await.unwrap();
        let url = serve(&issuer, |auth| auth).await;
        let error = Client::builder().protocol(version).connect(&*url).await.map(drop).unwrap_err();
        assert!(error.needs_sign_in(), "{error}");
        let client = Client::builder().protocol(version).oauth(issuer.user()).connect(&*url).await.unwrap();
        assert_eq!(client.call("search", json!({})).await.unwrap().first_text(), Some("found"));
        assert_eq!(logins(&issuer), 1);
        // A tool that needs more: the user is asked once.
        let saved = client.call("put", json!({})).await.unwrap();
        assert_eq!(saved.first_text(), Some(&*format!("saved by {}#alice", issuer.url())));
        assert_eq!(logins(&issuer), 2);
        assert_eq!(client.call("search", json!({})).await.unwrap().first_text(), Some("found"));
        assert_eq!(client.read_resource("notes://note/7").await.unwrap().contents.len(), 1);
        assert_eq!(logins(&issuer), 2, "the new token has the former scopes too");
    }
}

fn logins(issuer: &Issuer) -> usize {
    issuer.requests().iter().filter(|request| *request == "GET /authorize").count()
}

#[tokio::test]
async fn a_client_proves_that_it_has_the_key_of_its_token() {
    for change in [Auth::require_dpop as fn(Auth) -> Auth, |auth| auth.require_dpop().require_dpop_nonce()] {
        for version in [ProtocolVersion::LATEST, ProtocolVersion::LATEST_HANDSHAKE] {
            let issuer = Issuer::start().await.unwrap();
            let url = serve(&issuer, change).await;
            let client =
                Client::builder().protocol(version).oauth(issuer.user()).connect(&*url).await.unwrap();
            for _ in 0..3 {
                assert_eq!(client.call("search", json!({})).await.unwrap().first_text(), Some("found"));
            }
            assert_eq!(logins(&issuer), 1);
        }
    }
}
