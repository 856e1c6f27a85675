//! Which mistakes in the settings of a protection are found when the server is built?

use serde_json::json;
use toolway::auth::{Auth, Introspection, Rejected, TrustedIssuer, Verified};
use toolway::prelude::*;

use super::world::RESOURCE;

fn mistakes(auth: Auth) -> String {
    Server::new("notes", "1.0.0").auth(auth).build().map(drop).unwrap_err().to_string()
}

#[test]
fn mistakes_are_found_when_the_server_is_built() {
    let auth = || Auth::resource(RESOURCE).issuer("https://id.example");
    let verifier = async |_: String| -> Result<Verified, Rejected> { Err(Rejected::invalid("no")) };
    for (auth, part) in [
        (Auth::resource("notes"), "is not a URL without query"),
        (
            Auth::resource("https://notes.example/mcp#x").issuer("https://id.example"),
            "is not a URL without query",
        ),
        (Auth::resource("http://notes.example/mcp").issuer("https://id.example"), "must begin with https://"),
        (Auth::resource(RESOURCE), "accepts no token"),
        (Auth::resource(RESOURCE).issuer("id.example"), "is not an http or https URL"),
        (auth().issuer("https://id.example"), "is named twice"),
        (auth().scopes(["two scopes"]), "is not valid"),
        (auth().scopes(["offline_access"]), "leave it out"),
        (auth().optional_scopes(["offline_access"]), "leave it out"),
        (auth().keys(&json!({"keys": [{"kty": "oct"}]})), "have no public key"),
        (Auth::resource(RESOURCE).keys(&json!({})), "call `issuer` before"),
        (auth().issuer(TrustedIssuer::new("https://b.example").algorithms(["HS256"])), "is not supported"),
        (auth().tokens([("", "ci")]), "a fixed token is empty"),
        (auth().verifier(verifier).verifier(verifier), "`verifier` is called twice"),
        (
            Auth::resource(RESOURCE).verifier(Introspection::new("id", "a", "b").audience("x")),
            "is not an HTTP URL",
        ),
        (
            Auth::resource(RESOURCE).verifier(Introspection::new("https://id.example", "a", "b")),
            "name this server",
        ),
    ] {
        let shown = format!("{auth:?}");
        let text = mistakes(auth);
        assert!(text.contains(part), "{shown}: {text}");
    }
    let twice = Server::new("notes", "1.0.0").auth(auth()).auth(auth()).build().unwrap_err().to_string();
    assert!(twice.contains("`auth` is called twice"), "{twice}");
    let inner = Server::new("inner", "1.0.0").auth(auth());
    let merged = Server::new("outer", "1.0.0").merge(inner).build().unwrap_err().to_string();
    assert!(merged.contains("has `auth`, which is not merged"), "{merged}");
    let inner = Server::new("inner", "1.0.0").auth(auth());
    assert!(Server::new("outer", "1.0.0").merge(inner).auth(auth()).build().is_ok());
    assert!(
        Server::new("notes", "1.0.0")
            .auth(Auth::resource("http://localhost:8000/mcp").tokens([("t", "ci")]))
            .build()
            .is_ok()
    );
}

#[test]
fn a_scope_that_cannot_be_in_a_token_is_a_mistake() {
    let tool = toolway::server::ToolEntry::from_fn("t", || async { "x" }).scopes(["a b"]);
    let error = Server::new("notes", "1.0.0").tool(tool).build().unwrap_err().to_string();
    assert!(error.contains("tool `t`: the scope \"a b\" is not valid"), "{error}");
}

#[test]
fn secrets_and_claims_are_not_shown() {
    let caller = Verified::new("ann").with_claims(json!({"email": "canary"}));
    let claims = toolway::auth::Claims::new("canary");
    let introspection = Introspection::new("https://id.example", "notes", "canary");
    let shown = format!("{caller:?} {claims:?} {introspection:?}");
    let auth = Auth::resource(RESOURCE).tokens([("canary", caller)]).verifier(introspection);
    let shown = format!("{shown} {auth:?}");
    assert!(
        shown.contains("ann") && shown.contains("https://id.example") && shown.contains(RESOURCE),
        "{shown}"
    );
    assert!(!shown.contains("canary"), "{shown}");
}
