//! Are sessions, streams and states of a caller out of reach for others?

use http::Method;
use serde_json::json;

use super::world::{World, bearer, send};
use crate::raw_http::Raw;

#[tokio::test]
async fn a_session_belongs_to_its_principal_not_to_who_knows_its_id() {
    let world = World::new().await;
    let (ann, eve) = (world.token(json!({"sub": "ann"})), world.token(json!({"sub": "eve"})));
    // Another issuer may have a user of the same name; a token of ann that is renewed is still ann's.
    let again = world.token(json!({"sub": "ann", "scope": "more"}));
    let raw = Raw::open_with(&world.service, "2025-11-25", bearer(&ann)).await;
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {}}});
    for (token, status) in [(&ann, 200), (&eve, 404), (&again, 200)] {
        let raw = Raw { headers: bearer(token), ..raw.clone() };
        assert_eq!(send(&world.service, raw.request(Method::POST, &call.to_string())).await.status, status);
    }
    let stolen = Raw { headers: bearer(&eve), ..raw.clone() };
    assert_eq!(stolen.get(None).await.status(), 404);
    assert_eq!(stolen.delete().await.status(), 404);
    // Without a token, or with one that is not valid, the id is worth nothing either.
    let nameless = Raw { headers: Vec::new(), ..raw.clone() };
    assert_eq!(nameless.get(None).await.status(), 401);
    assert_eq!(raw.delete().await.status(), 202);
}
