//! Does a gateway protect the servers behind it, and does it call them with the rights of its callers?

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use toolway::auth::{Auth, Verified};
use toolway::prelude::*;
use toolway::server::{Admit, Mount, Principal, ReadRequest, ResourceEntry, ResourceError};
use toolway::testing::{Issuer, connect, connect_as};
use toolway::types::Resource;

use super::world::{RESOURCE, bearer, send, stateless};
use crate::raw_http::Events;

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

/// The message of the day.
#[resource("gateway://motd")]
fn motd() -> &'static str {
    "hello"
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
async fn a_mounted_server_that_lists_nothing_needs_the_scopes_of_the_mount() {
    let issuer = Issuer::start().await.unwrap();
    let read = async |_: ReadRequest| -> Result<&'static str, ResourceError> { Ok("unlisted") };
    let silent = Server::new("silent", "1.0.0").read_resource(read).build().unwrap();
    let mount = Mount::of(connect(&silent).await).scopes(["mail"]);
    let auth = Auth::resource(RESOURCE).issuer(issuer.url());
    let service = Server::new("gateway", "1.0.0").mount(mount).auth(auth).build().unwrap().http();
    for (grant, status) in [("", 403), ("mail", 200)] {
        let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE, "scope": grant})));
        let read = stateless("resources/read", json!({"uri": "mail://unlisted"}), &token);
        let reply = send(&service, read).await;
        assert_eq!(reply.status, status, "{reply:?}");
    }
}

#[tokio::test]
async fn an_element_without_a_handler_does_not_hide_the_scopes_of_a_mount() {
    let issuer = Issuer::start().await.unwrap();
    let mount = Mount::of(connect_as(&mails(), "gateway").await).scopes(["mail"]);
    let own = ResourceEntry::without_handler(Resource::new("mail://unlisted", "own"));
    let read = async |reading: ReadRequest| -> Result<&'static str, ResourceError> {
        if reading.uri == "gateway://motd" { Ok("hello") } else { Err(ResourceError::not_found()) }
    };
    let motd = ResourceEntry::without_handler(Resource::new("gateway://motd", "motd"));
    let auth = Auth::resource(RESOURCE).issuer(issuer.url());
    let gateway = Server::new("gateway", "1.0.0").resource(own).resource(motd).read_resource(read);
    let service = gateway.mount(mount).auth(auth).build().unwrap().http();
    for (grant, is_allowed) in [("", false), ("mail", true)] {
        let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE, "scope": grant})));
        let read = async |uri: &str| {
            send(&service, stateless("resources/read", json!({"uri": uri}), &token)).await.json()
        };
        let mail = read("mail://unlisted").await;
        assert_eq!(mail["result"].is_object(), is_allowed, "{mail}");
        // The gateway answers for it, so the scopes of the mount do not count.
        assert!(read("gateway://motd").await["result"].is_object());
    }
}

#[tokio::test]
async fn a_resource_that_two_mounts_claim_needs_the_scopes_of_both() {
    for is_hiding in [false, true] {
        let issuer = Issuer::start().await.unwrap();
        let (one, other) = (mails(), mails());
        let auth = Auth::resource(RESOURCE).issuer(issuer.url());
        let auth = if is_hiding { auth.hide_unscoped() } else { auth };
        let gateway = Server::new("gateway", "1.0.0")
            .resources(resources![motd])
            .mount(Mount::of(connect_as(&one, "gateway").await).scopes(["one"]))
            .mount(Mount::of(connect_as(&other, "gateway").await).scopes(["other"]))
            .auth(auth)
            .build()
            .unwrap();
        let service = gateway.http();
        let listen = async |grant: &str| {
            let wanted = json!({"resourceSubscriptions": ["mail://unlisted", "gateway://motd"]});
            let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE, "scope": grant})));
            let listen = stateless("subscriptions/listen", json!({"notifications": wanted}), &token);
            service.handle(listen).await
        };
        let refused = listen("one").await;
        if !is_hiding {
            assert_eq!(refused.status(), 403);
            continue;
        }
        let (mut hidden, mut granted) = (Events::of(refused), Events::of(listen("one other").await));
        for events in [&mut hidden, &mut granted] {
            assert_eq!(events.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
        }
        one.resource_updated("mail://unlisted");
        assert_eq!(granted.message().await.unwrap()["params"]["uri"], "mail://unlisted");
        // It would have come before this one.
        gateway.resource_updated("gateway://motd");
        assert_eq!(hidden.message().await.unwrap()["params"]["uri"], "gateway://motd");
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

#[tokio::test]
async fn a_caller_does_not_hear_of_resources_of_mounted_servers_that_are_hidden_from_it() {
    let issuer = Issuer::start().await.unwrap();
    let mails = mails();
    let mount = Mount::of(connect(&mails).await).scopes(["mail"]);
    let auth = Auth::resource(RESOURCE).issuer(issuer.url()).hide_unscoped();
    let gateway = Server::new("gateway", "1.0.0").resources(resources![motd]).mount(mount).auth(auth);
    let gateway = gateway.build().unwrap();
    let service = gateway.http();
    let listen = async |grant: &str| {
        let uris = ["mail://inbox/1", "mail://unlisted", "gateway://motd"];
        let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
        let token = bearer(&issuer.sign(json!({"sub": "ann", "aud": RESOURCE, "scope": grant})));
        let mut events = Events::of(service.handle(stateless("subscriptions/listen", wanted, &token)).await);
        assert_eq!(events.message().await.unwrap()["method"], "notifications/subscriptions/acknowledged");
        events
    };
    let (mut granted, mut other) = (listen("mail").await, listen("").await);
    for uri in ["mail://inbox/1", "mail://unlisted"] {
        mails.resource_updated(uri);
        assert_eq!(granted.message().await.unwrap()["params"]["uri"], uri);
    }
    // It would have come before this one.
    gateway.resource_updated("gateway://motd");
    assert_eq!(other.message().await.unwrap()["params"]["uri"], "gateway://motd");
}
