//! Which tokens are accepted, and what does a caller learn about one that is not?

use base64_simd::URL_SAFE_NO_PAD;
use http::Method;
use serde_json::{Value, json};
use toolway::auth::{Auth, Rejected, TrustedIssuer, Verified};
use toolway::server::{Extensions, Principal};
use toolway::testing::Issuer;

use super::world::{METADATA, RESOURCE, World, bearer, notes, request, send, stateless, with};

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn a_valid_token_is_accepted_and_names_the_caller() {
    let world = World::new().await;
    let token = world.token(json!({"email": "ann@example.org", "scope": "notes:write"}));
    let reply = world.call("whoami", &token).await;
    assert_eq!((reply.status.as_u16(), reply.text().as_str()), (200, "ann ann@example.org"), "{reply:?}");
    // The second request finds the verdict of the first one.
    assert_eq!(world.call("put", &token).await.text(), format!("saved by {}#ann", world.issuer.url()));
}

#[tokio::test]
async fn a_caller_without_a_token_is_told_where_to_sign_in() {
    let world = World::with(|auth| auth.scopes(["notes:read"])).await;
    let expected = format!("Bearer resource_metadata=\"{METADATA}\", scope=\"notes:read\"");
    let requests = [
        stateless("tools/list", json!({}), &[]),
        stateless("tools/list", json!({}), &[("authorization", "Basic YTpi".to_owned())]),
        request(Method::POST, "/mcp", "not even JSON", &[]),
        request(Method::GET, "/mcp", "", &[]),
        request(Method::DELETE, "/mcp", "", &[("mcp-session-id", "x".to_owned())]),
        request(Method::PUT, "/mcp", "", &[]),
        // A token in the URL or in the body is none.
        request(Method::POST, &format!("/mcp?access_token={}", world.scoped("notes:read")), "{}", &[]),
        request(Method::POST, "/mcp", &format!("access_token={}", world.scoped("notes:read")), &[]),
    ];
    for request in requests {
        let method = request.method().clone();
        let reply = send(&world.service, request).await;
        assert_eq!(reply.status, 401, "{method}: {reply:?}");
        assert_eq!(reply.challenges(), [expected.as_str()], "{method}");
        assert_eq!(reply.headers["cache-control"], "no-store");
        assert!(reply.json()["error"]["message"] == "authentication is required", "{reply:?}");
    }
}

#[tokio::test]
async fn each_rule_refuses_a_token_and_says_so_without_showing_it() {
    let world = World::new().await;
    let other = Issuer::start().await.unwrap();
    let token = |claims: Value| world.token(claims);
    let header = |header: Value| {
        let claims = json!({"sub": "ann", "aud": RESOURCE});
        world.issuer.sign_with_header(header, claims)
    };
    let part = |text: &str| URL_SAFE_NO_PAD.encode_to_string(text);
    let fine = token(json!({}));
    let (head, signature) = fine.rsplit_once('.').unwrap();
    let (head, claims) = head.split_once('.').unwrap();
    let time = now();
    for (token, text) in [
        (token(json!({"exp": time - 61})), "the token has expired"),
        (token(json!({"exp": null})), "the token does not say when it expires"),
        (token(json!({"exp": (time + 600).to_string()})), "the token does not say when it expires"),
        (token(json!({"nbf": time + 120})), "the token is not valid yet"),
        (token(json!({"iat": time + 120})), "the token is not valid yet"),
        (token(json!({"nbf": "soon"})), "a time in the token is not a number"),
        (token(json!({"aud": "https://notes.example"})), "the token is for another server"),
        (token(json!({"aud": "https://notes.example/mcp/"})), "the token is for another server"),
        (token(json!({"aud": null})), "the token is for another server"),
        (token(json!({"aud": [RESOURCE.to_uppercase()]})), "the token is for another server"),
        (token(json!({"sub": null})), "the token names neither a user nor a client"),
        (token(json!({"iss": "https://evil.example"})), "the issuer of the token is not trusted"),
        (token(json!({"iss": format!("{}/", world.issuer.url())})), "the issuer of the token is not trusted"),
        (other.sign(json!({"sub": "ann", "aud": RESOURCE})), "the issuer of the token is not trusted"),
        (
            other.sign(json!({"iss": world.issuer.url(), "sub": "ann", "aud": RESOURCE})),
            "the signature of the token is not valid",
        ),
        (header(json!({"typ": "dpop+jwt"})), "the token is not an access token"),
        (header(json!({"typ": "oauth-id-jag+jwt"})), "the token is not an access token"),
        (header(json!({"alg": "RS256"})), "the signature of the token is not valid"),
        (header(json!({"alg": "HS256"})), "the algorithm of the token is not accepted"),
        (header(json!({"crit": ["exp"]})), "the token has extensions that are not supported"),
        (header(json!({"b64": false})), "the token has extensions that are not supported"),
        (
            // The key of the attacker, in the token.
            other.sign_with_header(
                json!({"jwk": other.key_set()["keys"][0], "jku": "https://evil.example/keys", "x5u": "https://evil.example"}),
                json!({"iss": world.issuer.url(), "sub": "ann", "aud": RESOURCE}),
            ),
            "the signature of the token is not valid",
        ),
        (
            format!("{}.{claims}.", part(r#"{"alg":"none"}"#)),
            "the algorithm of the token is not accepted",
        ),
        (format!("{head}.{claims}."), "the signature of the token is not valid"),
        (format!("{head}.{claims}"), "the token is not three parts in Base64"),
        (format!("{head}.{}.{signature}", part(r#"{"sub":"ann","sub":"bob"}"#)), "a part of the token is not a JSON object with unique keys"),
        (format!("{head}.{}.{signature}", part(&json!({"iss": world.issuer.url(), "sub": "bob", "aud": RESOURCE, "exp": time + 600}).to_string())), "the signature of the token is not valid"),
        (format!("{head}!.{claims}.{signature}"), "the token is not three parts in Base64"),
        (format!("{fine}="), "the token is not three parts in Base64"),
        ("opaque".to_owned(), "the token is not three parts in Base64"),
        ("x".repeat(1 << 20), "the token is too long"),
    ] {
        let reply = world.call("search", &token).await;
        let shown = format!("{reply:?}");
        assert_eq!(reply.status, 401, "{text}: {shown:.300}");
        let expected =
            format!("Bearer error=\"invalid_token\", error_description=\"{text}\", resource_metadata=\"{METADATA}\"");
        assert_eq!(reply.challenges(), [expected.as_str()], "{text}");
        assert_eq!(reply.json()["error"]["message"], text);
        assert!(!shown.contains(&*token), "the token is shown");
    }
    assert_eq!(world.call("search", &fine).await.status, 200);
    assert_eq!(
        world.call("search", &token(json!({"exp": time - 30}))).await.status,
        200,
        "clocks may differ"
    );
}

#[tokio::test]
async fn more_than_one_credential_is_a_bad_request() {
    let world = World::new().await;
    let token = world.token(json!({}));
    let two = "the request has more than one Authorization header";
    let malformed = "the Authorization header is malformed";
    let cases = [
        (vec![format!("Bearer {token}"), format!("Bearer {token}")], two),
        (vec![format!("Bearer {token}"), "Basic YTpi".to_owned()], two),
        (vec![format!("Bearer {token}, Bearer {token}")], malformed),
        (vec![format!("Bearer {token},{token}")], malformed),
        (vec!["Bearer".to_owned()], malformed),
        (vec!["Bearer ".to_owned()], malformed),
        (vec![format!("Bearer {token} {token}")], malformed),
        (vec![format!("Bearer \t{token}")], malformed),
    ];
    // The token is not known at first, and was verified a moment ago the second time.
    for _ in 0..2 {
        for (lines, text) in &cases {
            let headers: Vec<_> = lines.iter().map(|line| ("authorization", line.clone())).collect();
            let reply = send(&world.service, stateless("tools/list", json!({}), &headers)).await;
            assert_eq!(reply.status, 400, "{headers:?}: {reply:?}");
            let expected = format!(
                "Bearer error=\"invalid_request\", error_description=\"{text}\", resource_metadata=\"{METADATA}\""
            );
            assert_eq!(reply.challenges(), [expected.as_str()]);
        }
        assert_eq!(world.call("search", &token).await.status, 200);
    }
    for line in [format!("bearer {token}"), format!("BEARER   {token}")] {
        let reply =
            send(&world.service, stateless("tools/list", json!({}), &[("authorization", line)])).await;
        assert_eq!(reply.status, 200, "{reply:?}");
    }
}

#[tokio::test]
async fn each_issuer_decides_about_its_own_tokens_alone() {
    let (one, two) = (Issuer::start().await.unwrap(), Issuer::start().await.unwrap());
    let strict = TrustedIssuer::new(two.url()).audience("api://notes").algorithms(["RS256"]);
    let auth = Auth::resource(RESOURCE).issuer(one.url()).issuer(strict);
    let service = notes().auth(auth).build().unwrap().http();
    let status = async |token: String| {
        let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(&token));
        send(&service, call).await.status.as_u16()
    };
    let claims = |changes: Value| with(json!({"sub": "ann", "aud": RESOURCE}), changes);
    assert_eq!(status(one.sign(claims(json!({})))).await, 200);
    assert_eq!(
        status(one.sign(claims(json!({"aud": "api://notes"})))).await,
        401,
        "a name for the other issuer"
    );
    assert_eq!(status(two.sign(claims(json!({})))).await, 401, "an algorithm for the other issuer");
    // The other issuer's key signs as this one.
    assert_eq!(status(two.sign(claims(json!({"iss": one.url()})))).await, 401);
}

#[tokio::test]
async fn a_verifier_is_not_asked_about_tokens_of_issuers_and_about_long_ones() {
    let issuer = Issuer::start().await.unwrap();
    let verifier = async |_: String| -> Result<Verified, Rejected> { Ok(Verified::new("anyone")) };
    let auth = Auth::resource(RESOURCE).issuer(issuer.url()).verifier(verifier);
    let service = notes().auth(auth).build().unwrap().http();
    let status = async |token: &str| {
        let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(token));
        send(&service, call).await.status.as_u16()
    };
    let claims = |changes: Value| with(json!({"sub": "ann", "aud": RESOURCE}), changes);
    // The issuer that a token names decides alone, also if it refuses the token.
    assert_eq!(status(&issuer.sign(claims(json!({})))).await, 200);
    assert_eq!(status(&issuer.sign(claims(json!({"exp": 1})))).await, 401);
    assert_eq!(status(&issuer.sign(claims(json!({"aud": "https://mail.example"})))).await, 401);
    assert_eq!(status(&issuer.sign_with_header(json!({"typ": "dpop+jwt"}), claims(json!({})))).await, 401);
    for other in
        [&*issuer.sign(claims(json!({"iss": "https://id.example"}))), "opaque", &"x".repeat(16 << 10)]
    {
        assert_eq!(status(other).await, 200);
    }
    assert_eq!(status(&"x".repeat((16 << 10) + 1)).await, 401);
}

#[tokio::test]
async fn values_of_the_application_do_not_replace_the_token_of_a_caller() {
    let world = World::new().await;
    let call = |tool: &str, headers: &[(&'static str, String)]| {
        let mut call = stateless("tools/call", json!({"name": tool, "arguments": {}}), headers);
        let root = Verified::new("root").with_scopes(["notes:write"]).with_claims(json!({"sub": "root"}));
        call.extensions_mut().insert(Extensions::new().with(root).with(Principal::new("root")));
        call
    };
    assert_eq!(send(&world.service, call("search", &[])).await.status, 401);
    let ann = bearer(&world.token(json!({})));
    assert_eq!(send(&world.service, call("whoami", &ann)).await.text(), "ann ?");
    assert_eq!(send(&world.service, call("put", &ann)).await.status, 403);
    let writer = bearer(&world.scoped("notes:write"));
    let saved = send(&world.service, call("put", &writer)).await;
    assert_eq!(saved.text(), format!("saved by {}#ann", world.issuer.url()));
}

#[tokio::test]
async fn issuers_without_audiences_are_configured() {
    let issuer = Issuer::start().await.unwrap();
    let status = async |trusted: TrustedIssuer, claims: Value| {
        let service = notes().auth(Auth::resource(RESOURCE).issuer(trusted)).build().unwrap().http();
        let token = issuer.sign(with(json!({"sub": "ann"}), claims));
        let call = stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(&token));
        send(&service, call).await.status.as_u16()
    };
    let trusted = || TrustedIssuer::new(issuer.url());
    assert_eq!(status(trusted().audience("api://notes"), json!({"aud": ["x", "api://notes"]})).await, 200);
    assert_eq!(status(trusted().audience("api://notes"), json!({"aud": "api://mail"})).await, 401);
    assert_eq!(status(trusted().client_ids(["app"]), json!({"client_id": "app"})).await, 200);
    assert_eq!(status(trusted().client_ids(["app"]), json!({"client_id": "other"})).await, 401);
    assert_eq!(status(trusted().client_ids(["app"]), json!({"client_id": "app", "aud": "x"})).await, 401);
    assert_eq!(status(trusted().dangerously_any_audience(), json!({"aud": "api://mail"})).await, 200);
}

#[tokio::test]
async fn fixed_tokens_are_for_scripts() {
    let auth = Auth::resource(RESOURCE).tokens([("s3cret", "ci")]).scopes(["notes:read"]);
    let service = notes().auth(auth).build().unwrap().http();
    let call =
        |token: &str| stateless("tools/call", json!({"name": "search", "arguments": {}}), &bearer(token));
    assert_eq!(send(&service, call("s3cret")).await.status, 200);
    for wrong in ["s3cre", "s3crets", "S3CRET", "ci"] {
        assert_eq!(send(&service, call(wrong)).await.status, 401, "{wrong}");
    }
    let put = stateless("tools/call", json!({"name": "put", "arguments": {}}), &bearer("s3cret"));
    assert_eq!(send(&service, put).await.status, 403);
}

#[tokio::test]
async fn the_document_says_where_to_sign_in() {
    let world = World::with(|auth| auth.scopes(["notes:read"]).optional_scopes(["notes:write"])).await;
    let mut service = world.service.well_known();
    let paths: Vec<_> = service.paths().map(str::to_owned).collect();
    assert_eq!(paths, ["/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"]);
    let mut answer = async |method: Method| {
        let request = http::Request::builder().method(method).uri(&*paths[0]).body(()).unwrap();
        let (head, body) = tower_service_call(&mut service, request).await.into_parts();
        let body = http_body_util::BodyExt::collect(body).await.unwrap().to_bytes();
        (head, body)
    };
    let (head, body) = answer(Method::GET).await;
    assert_eq!(head.status, 200);
    assert_eq!(head.headers["access-control-allow-origin"], "*");
    assert_eq!(head.headers["content-type"], "application/json");
    let document: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(
        document,
        json!({
            "resource": RESOURCE,
            "authorization_servers": [world.issuer.url()],
            "scopes_supported": ["notes:read", "notes:write"],
            "bearer_methods_supported": ["header"],
        })
    );
    assert_eq!(answer(Method::OPTIONS).await.0.status, 204);
    assert_eq!(answer(Method::POST).await.0.status, 405);
}

async fn tower_service_call<S: tower::Service<http::Request<()>>>(
    service: &mut S,
    request: http::Request<()>,
) -> S::Response
where
    S::Error: std::fmt::Debug,
{
    service.call(request).await.unwrap()
}
