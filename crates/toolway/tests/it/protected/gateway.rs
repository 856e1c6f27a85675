//! Does a gateway protect the servers behind it, and does it call them with the rights of its callers?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolway::auth::{Auth, Verified};
use toolway::prelude::*;
use toolway::server::{Admit, Mount, Principal, ReadRequest, ResourceError};
use toolway::testing::{Issuer, connect_as};

use super::world::{RESOURCE, bearer, send, stateless};

/// Say who calls.
#[tool]
fn whoami(caller: Principal) -> String {
    caller.to_string()
}

/// A mail.
#[resource("mail://inbox/{id}")]
fn mail(id: String) -> String {
    id
}

fn mails() -> Server {
    // Reads resources that it does not list, too.
    let read = async |reading: ReadRequest| -> Result<String, ResourceError> {
        match reading.uri.as_str() {
            "mail://unlisted" => Ok("unlisted".to_owned()),
            _ => Err(ResourceError::not_found()),
        }
    };
    Server::new("mails", "1.0.0")
        .tools(tools![whoami])
        .resources(resources![mail])
        .read_resource(read)
        .build()
        .unwrap()
}

#[tokio::test]
async fn elements_of_mounted_servers_need_the_scopes_of_the_mount() {
    for is_hiding in [false, true] {
        let issuer = Issuer::start().await.unwrap();
        let auth = Auth::resource(RESOURCE).issuer(issuer.url());
        let auth = if is_hiding { auth.hide_unscoped() } else { auth };
        let mount = Mount::of(connect_as(&mails(), "gateway").await).scopes(["mail"]);
        let gateway = Server::new("gateway", "1.0.0").mount(mount).auth(auth).build().unwrap();
        let service = gateway.http();
        for (grant, is_allowed) in [("", false), ("mail", true)] {
            let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE, "scope": grant})));
            for (method, params) in [
                ("tools/call", json!({"name": "whoami", "arguments": {}})),
                ("resources/read", json!({"uri": "mail://inbox/1"})),
                ("resources/read", json!({"uri": "mail://unlisted"})),
            ] {
                let reply = send(&service, stateless(method, params.clone(), &token)).await;
                if is_allowed {
                    assert!(reply.json()["result"].is_object(), "{params}: {reply:?}");
                } else if is_hiding {
                    assert!(reply.status != 403 && reply.json()["error"].is_object(), "{params}: {reply:?}");
                } else {
                    assert_eq!(reply.status, 403, "{params}: {reply:?}");
                    assert!(reply.challenges()[0].ends_with("scope=\"mail\""), "{reply:?}");
                }
            }
            let listed = send(&service, stateless("tools/list", json!({}), &token)).await.json();
            let expected = usize::from(is_allowed || !is_hiding);
            assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), expected);
        }
    }
}

#[tokio::test]
async fn each_caller_has_a_client_of_its_own() {
    let (mails, made) = (mails(), Arc::new(AtomicUsize::new(0)));
    let (upstream, counter) = (mails.clone(), made.clone());
    let mount = Mount::of(connect_as(&mails, "gateway").await).client_for(move |server, caller| {
        assert_eq!(server, "mails");
        counter.fetch_add(1, Ordering::SeqCst);
        let upstream = upstream.clone();
        async move { Ok(connect_as(&upstream, Verified::new(caller.as_str())).await) }
    });
    let gateway = Server::new("gateway", "1.0.0").mount(mount).on_connect(async |ctx: Ctx| {
        // Rules by claims: a guest may not use the tool.
        match ctx.verified() {
            Some(caller) if caller.claims()["role"] == "guest" => Admit::anyone().only_tools([""; 0]),
            _ => Admit::anyone(),
        }
    });
    let gateway = gateway.build().unwrap();
    let call = async |caller: Verified| {
        let client = connect_as(&gateway, caller).await;
        client.call("whoami", json!({})).await.map(|result| result.text().unwrap_or_default())
    };
    for name in ["ann", "bob", "ann"] {
        assert_eq!(call(Verified::new(name)).await.unwrap(), name);
    }
    assert_eq!(made.load(Ordering::SeqCst), 2);
    let guest = call(Verified::new("eve").with_claims(json!({"role": "guest"}))).await;
    assert!(guest.unwrap_err().to_string().contains("no such tool"));
    // A caller that is not known does not get the rights of the gateway.
    let nameless = toolway::testing::connect(&gateway).await.call("whoami", json!({})).await.unwrap();
    assert!(nameless.is_error() && nameless.first_text().unwrap().contains("unavailable"), "{nameless:?}");
    assert_eq!(made.load(Ordering::SeqCst), 2);
}
