//! Is a token that is bound to a key worthless without the key?

use serde_json::{Value, json};
use toolway::auth::{Auth, Verified};
use toolway::server::http::HttpService;

use super::world::{METADATA, RESOURCE, Reply, notes, send, stateless};

fn service(change: impl FnOnce(Auth) -> Auth) -> HttpService {
    let bound = Verified::new("ann").with_key("the thumbprint of a key");
    let auth = Auth::resource(RESOURCE)
        .issuer("https://id.example")
        .tokens([("bound", bound), ("free", Verified::new("bob"))]);
    notes().auth(change(auth)).build().unwrap().http()
}

async fn call(service: &HttpService, authorization: &str) -> Reply {
    let headers = [("authorization", authorization.to_owned())];
    send(service, stateless("tools/call", json!({"name": "search", "arguments": {}}), &headers)).await
}

#[tokio::test]
async fn a_bound_token_without_its_proof_is_refused() {
    let service = service(|auth| auth);
    for (authorization, text) in [
        ("Bearer bound", "the token is bound to a key: send it with the scheme DPoP and a proof"),
        ("DPoP free", "the token is not bound to a key"),
    ] {
        let reply = call(&service, authorization).await;
        assert_eq!((reply.status.as_u16(), reply.json()["error"]["message"].as_str()), (401, Some(text)));
        assert!(reply.challenges()[0].starts_with("Bearer error=\"invalid_token\""), "{reply:?}");
    }
    let reply = call(&service, "DPoP bound").await;
    assert_eq!(reply.status, 401);
    let challenge = &reply.challenges()[0];
    assert!(challenge.starts_with("DPoP error=\"invalid_dpop_proof\""), "{challenge}");
    assert!(challenge.contains("algs=\"RS256 ") && challenge.contains(METADATA), "{challenge}");
    assert!(reply.headers.contains_key("dpop-nonce"));
    assert_eq!(call(&service, "Bearer free").await.status, 200);
}

#[tokio::test]
async fn clients_are_told_about_proofs() {
    let reply = call(&service(Auth::offer_dpop), "Bearer x").await;
    let schemes: Vec<_> =
        reply.challenges().iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(schemes, ["Bearer", "DPoP"]);
    let required = service(Auth::require_dpop);
    let reply = call(&required, "Bearer x").await;
    assert!(reply.challenges().len() == 1 && reply.challenges()[0].starts_with("DPoP "), "{reply:?}");
    let reply = call(&required, "Bearer free").await;
    assert_eq!(reply.json()["error"]["message"], "the token must be bound to a key");
    let document = http_body_util::BodyExt::collect(document(&required).await).await.unwrap().to_bytes();
    let document: Value = serde_json::from_slice(&document).unwrap();
    assert_eq!(document["dpop_bound_access_tokens_required"], true);
    assert!(document["dpop_signing_alg_values_supported"].as_array().unwrap().contains(&json!("ES256")));
}

async fn document(service: &HttpService) -> toolway::server::http::ResponseBody {
    use tower::Service;
    let mut service = service.well_known();
    service.call(http::Request::new(())).await.unwrap().into_body()
}
