//! Whom does a protected server let in, and can anything but the right key open it?
//!
//! The key is known, and Ed25519 has one signature for each text: what was not signed here is a forgery. An input is a token,
//! or the lines of one: its header, its claims and its signature.

use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use base64_simd::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use ring::digest::{SHA256, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};
use toolway::auth::{Auth, TrustedIssuer, Verified};
use toolway::prelude::*;
use toolway::server::http::HttpService;
use toolway_protocol::oauth::{Algorithm, ClaimRules, Jwk, Jwt, KeyMaterial, MAX_KEYS};

use crate::servers::RUNTIME;
use crate::{Outcome, split_lines};

/// A token is let in only if the issuer has signed it and its claims follow the rules.
pub(crate) fn access_token(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    Outcome::of(is_let_in(token_of(text).trim_matches(' ')))
}

/// Returns a token: the text itself, or, if it has several lines, a token with this header and these claims. The key signs it,
/// unless the third line is a point and a signature.
fn token_of(text: &str) -> String {
    if !text.contains('\n') {
        return text.to_owned();
    }
    let [header, claims, signature] = split_lines(text);
    let signed_part = format!("{}.{}", encode(header), encode(claims));
    if signature.starts_with('.') { format!("{signed_part}{signature}") } else { signed(&signed_part) }
}

/// Returns whether the server lets a token in, which must be right.
fn is_let_in(token: &str) -> bool {
    static SERVICE: LazyLock<HttpService> =
        LazyLock::new(|| protected(Auth::resource(SERVER).issuer(ISSUER).keys(&key_set_of_issuer())));
    let read = Jwt::read(token);
    if let Ok(token) = &read {
        assert!(!format!("{token:?}").contains("sub"), "claims may be personal: {token:?}");
    }
    let audiences = [SERVER.to_owned()];
    let rules = ClaimRules {
        issuer: ISSUER,
        audiences: &audiences,
        client_ids: &[],
        accepts_any_audience: false,
        now: now(),
        leeway: LEEWAY,
    };
    let follows_rules = read.is_ok_and(|token| rules.check(&token).is_ok());
    let is_let_in = send(&SERVICE, &[("authorization", &format!("Bearer {token}"))]);
    if is_let_in {
        let (signed_part, _) = token.rsplit_once('.').unwrap();
        assert_eq!(signed(signed_part), token, "it is not signed");
        assert!(follows_rules, "{token}");
        check_parts(signed_part);
    }
    is_let_in
}

/// Checks a token that was let in, with another reader than the server has.
fn check_parts(signed_part: &str) {
    let [header, claims] = parts_of(signed_part);
    assert!(header["alg"] == "EdDSA" || header["alg"] == "Ed25519", "{header}");
    assert!(header.get("crit").is_none() && header.get("b64").is_none(), "{header}");
    let kind = header.get("typ").map(|kind| kind.as_str().unwrap().to_ascii_lowercase());
    let is_kind = |kind: &str| matches!(kind.trim_start_matches("application/"), "jwt" | "at+jwt");
    assert!(kind.as_deref().is_none_or(is_kind), "{header}");
    let named = header["kid"].as_str();
    assert!(named.is_none_or(|name| name == KEY_ID), "{header}");
    assert_eq!(claims["iss"], ISSUER);
    let is_ours =
        claims["aud"].as_array().map_or(claims["aud"] == SERVER, |names| names.contains(&json!(SERVER)));
    assert!(is_ours, "{claims}");
    assert!(claims["exp"].as_f64().unwrap() > now() - LEEWAY - 10.0, "{claims}");
    for name in ["nbf", "iat"] {
        let time = claims.get(name).map(|time| time.as_f64().unwrap());
        assert!(time.is_none_or(|time| time <= now() + LEEWAY), "{claims}");
    }
    let is_someone = |name: &str| claims[name].as_str().is_some_and(|text| !text.is_empty());
    assert!(["sub", "client_id", "azp"].into_iter().any(is_someone), "{claims}");
    assert!(claims["cnf"].get("jkt").is_none(), "{claims}: a bound token without a proof");
}

fn parts_of(signed_part: &str) -> [Value; 2] {
    let (header, claims) = signed_part.split_once('.').unwrap();
    [header, claims].map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode_to_vec(part).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    })
}

/// A set of keys has only keys that can be used, and a token is let in only if the key that signed it is among them.
pub(crate) fn key_set(input: &[u8]) -> Outcome {
    let Some(keys) = Jwk::read_set(input) else { return Outcome::Refused };
    assert!(keys.len() <= MAX_KEYS);
    for key in &keys {
        let known: Vec<_> = ALGORITHMS.into_iter().filter(|algorithm| key.fits(*algorithm)).collect();
        assert!(known.len() <= 6, "{key:?} fits {known:?}");
        let text = key.thumbprint_text();
        let again = Jwk::read(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!((&again.material, again.thumbprint_text()), (&key.material, text));
    }
    let set: Value = serde_json::from_slice(input).unwrap();
    // A set without keys is a mistake of its author, so the server with it is not built.
    let issuer = TrustedIssuer::new(ISSUER).keys(&set).algorithms(ALGORITHMS.map(Algorithm::name));
    let service = Server::new("fuzz", "1.0.0").auth(Auth::resource(SERVER).issuer(issuer)).build();
    assert_eq!(service.is_ok(), !keys.is_empty());
    let Ok(service) = service.map(|server| server.http()) else { return Outcome::Refused };
    let claims = json!({"iss": ISSUER, "sub": "ann", "aud": SERVER, "exp": now() + 600.0}).to_string();
    let header = |header: Value| format!("{}.{}", encode(&header.to_string()), encode(&claims));
    let token = signed(&header(json!({"alg": "EdDSA", "kid": KEY_ID})));
    if send(&service, &[("authorization", &format!("Bearer {token}"))]) {
        let ours = KeyMaterial::Ed25519(KEY.public_key().as_ref().to_vec());
        let is_ours = |key: &Jwk| key.material == ours && key.id.as_deref() == Some(KEY_ID);
        assert!(keys.iter().any(is_ours), "{keys:?}");
    }
    for algorithm in ALGORITHMS {
        if let Some(key) = keys.iter().find(|key| key.fits(algorithm)) {
            let length = match &key.material {
                KeyMaterial::Rsa { n, .. } => n.len(),
                KeyMaterial::P384(_) => 96,
                KeyMaterial::P256(_) | KeyMaterial::Ed25519(_) => 64,
            };
            let signature = URL_SAFE_NO_PAD.encode_to_string(vec![0x5a; length]);
            let forged = format!("{}.{signature}", header(json!({"alg": algorithm.name()})));
            assert!(!send(&service, &[("authorization", &format!("Bearer {forged}"))]), "{forged}");
        }
    }
    Outcome::Accepted
}

/// A token that is bound to a key is let in only with a proof of this key, and with each proof once. `NOW` in a proof is the
/// time, and `NEW` an id that was not used before.
pub(crate) fn proof(input: &[u8]) -> Outcome {
    let Ok(text) = std::str::from_utf8(input) else { return Outcome::Refused };
    let (service, id) = server_for_proofs();
    #[expect(clippy::cast_possible_truncation, reason = "the time is in seconds")]
    let text = text.replace("NOW", &(now() as i64).to_string()).replace("NEW", &format!("id-{id}"));
    let proof = token_of(&text);
    if !is_proven(&service, &proof) {
        return Outcome::Refused;
    }
    let (signed_part, _) = proof.rsplit_once('.').unwrap();
    assert_eq!(signed(signed_part), proof, "it is not signed");
    assert!(!is_proven(&service, &proof), "it was used before");
    let [header, claims] = parts_of(signed_part);
    let kind = header["typ"].as_str().unwrap().to_ascii_lowercase();
    assert_eq!(kind.trim_start_matches("application/"), "dpop+jwt");
    assert!(header["alg"] == "EdDSA" || header["alg"] == "Ed25519", "{header}");
    let [key, ours] = [&header["jwk"], &public_key()].map(|key| Jwk::read_public(key).unwrap().material);
    assert_eq!(key, ours);
    assert_eq!(claims["htm"], "POST");
    let url = claims["htu"].as_str().unwrap().to_ascii_lowercase().replacen(":443", "", 1);
    let path = url.strip_prefix("https://notes.example").unwrap().split(['?', '#']).next();
    assert!(matches!(path, Some("/mcp" | "/mcp/")), "{url}");
    assert!((claims["iat"].as_f64().unwrap() - now()).abs() < 310.0, "{claims}");
    assert!(claims["jti"].as_str().is_some_and(|id| !id.is_empty()), "{claims}");
    assert_eq!(claims["ath"], hash(BOUND));
    assert!(claims["nonce"].as_str().is_none_or(str::is_empty), "{claims}: there are no nonces");
    Outcome::Accepted
}

/// Returns whether the server lets the bound token in with this proof.
fn is_proven(service: &HttpService, proof: &str) -> bool {
    send(service, &[("authorization", &format!("DPoP {BOUND}")), ("dpop", proof)])
}

/// Returns a server, and an id that was not used before. A server that has seen many proofs demands nonces, so it is replaced
/// by a new one.
fn server_for_proofs() -> (HttpService, u32) {
    static SERVICE: Mutex<Option<(HttpService, u32)>> = Mutex::new(None);
    let mut service = SERVICE.lock().unwrap_or_else(PoisonError::into_inner);
    let count = service.as_ref().map_or(0, |(_, count)| count + 1);
    let server = match &*service {
        Some((server, _)) if !count.is_multiple_of(MAX_PROOFS) => server.clone(),
        _ => {
            let thumbprint = hash(&Jwk::read(&public_key()).unwrap().thumbprint_text());
            let caller = Verified::new("ann").with_key(thumbprint);
            protected(Auth::resource(SERVER).issuer(ISSUER).tokens([(BOUND, caller)]))
        }
    };
    *service = Some((server.clone(), count));
    (server, count)
}

/// Sends a request with these headers. Returns whether the server has answered it; otherwise it must say what it demands.
fn send(service: &HttpService, headers: &[(&'static str, &str)]) -> bool {
    let mut request = Request::post("http://localhost/mcp")
        .header("host", "localhost")
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "server/discover");
    for (name, value) in headers {
        let Ok(value) = HeaderValue::from_str(value) else { return false };
        request = request.header(*name, value);
    }
    RUNTIME.block_on(async {
        let reply = service.handle(request.body(Full::new(Bytes::from_static(DISCOVER))).unwrap()).await;
        let (head, body) = reply.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        match head.status.as_u16() {
            200 => return true,
            400 | 401 => assert!(head.headers.contains_key("www-authenticate"), "{head:?}"),
            status => panic!("{status} {}", body.escape_ascii()),
        }
        for secret in headers.iter().map(|(_, value)| value.trim_start_matches("Bearer ")) {
            let shown = format!("{:?} {}", head.headers, body.escape_ascii());
            assert!(secret.len() < 40 || !shown.contains(secret), "{shown} shows {secret}");
        }
        false
    })
}

fn protected(auth: Auth) -> HttpService {
    Server::new("fuzz", "1.0.0").auth(auth).build().unwrap().http()
}

/// The key of the issuer, and of the caller. Everyone may know it.
static KEY: LazyLock<Ed25519KeyPair> =
    LazyLock::new(|| Ed25519KeyPair::from_seed_unchecked(b"a key that everyone may know (1)").unwrap());

fn public_key() -> Value {
    let x = URL_SAFE_NO_PAD.encode_to_string(KEY.public_key().as_ref());
    json!({"kty": "OKP", "crv": "Ed25519", "x": x})
}

fn key_set_of_issuer() -> Value {
    let mut key = public_key();
    key["kid"] = KEY_ID.into();
    json!({"keys": [key]})
}

/// Adds the signature.
fn signed(signed_part: &str) -> String {
    let signature = KEY.sign(signed_part.as_bytes());
    format!("{signed_part}.{}", URL_SAFE_NO_PAD.encode_to_string(signature.as_ref()))
}

fn encode(text: &str) -> String {
    URL_SAFE_NO_PAD.encode_to_string(text)
}

fn hash(text: &str) -> String {
    URL_SAFE_NO_PAD.encode_to_string(digest(&SHA256, text.as_bytes()).as_ref())
}

/// The seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs_f64()
}

const SERVER: &str = "https://notes.example/mcp";
const ISSUER: &str = "https://id.example";
const KEY_ID: &str = "1";
/// A fixed token that is bound to the key.
const BOUND: &str = "bound";
/// By how many seconds clocks may differ.
const LEEWAY: f64 = 60.0;
/// How many inputs one server checks.
const MAX_PROOFS: u32 = 20_000;
const DISCOVER: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::Rs256,
    Algorithm::Rs384,
    Algorithm::Rs512,
    Algorithm::Ps256,
    Algorithm::Ps384,
    Algorithm::Ps512,
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::EdDsa,
];
