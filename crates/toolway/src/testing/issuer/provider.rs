//! Which reply does an authorization server give to a request?

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, LOCATION};
use ::http::{Method, Response, StatusCode};
use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};
use toolway_protocol::oauth::{Jwk, Jwt, form};

use crate::auth::keys::{KeyVerdict, verify};
use crate::client::HttpBody;
use crate::client::oauth::crypto::{SigningKey, encode_json, hash, random_text};
use crate::client::oauth::dpop::PROOF_HEADER;
use crate::ground::mutex::Mutex;

/// A way in which an [`Issuer`](super::Issuer) misbehaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IssuerFault {
    /// Its metadata is that of another issuer.
    WrongName,
    /// Its metadata does not say that it supports PKCE.
    NoPkce,
    /// It does not register clients.
    NoRegistration,
    /// The browser returns with the state of another login.
    WrongState,
    /// The browser returns with the name of another issuer.
    WrongIssuer,
    /// The user declines.
    Declined,
    /// Refresh tokens are refused.
    RefusedRefresh,
    /// Token requests are answered with 503.
    Unavailable,
    /// Tokens are made, and the reply is lost: the client gets a 502.
    LostReply,
    /// Tokens are for another server.
    WrongAudience,
}

/// The state of an authorization server.
pub(super) struct Provider {
    pub(super) url: String,
    /// The keys and their names. The last one signs.
    keys: Mutex<Vec<(String, SigningKey)>>,
    state: Mutex<State>,
}

struct State {
    token_life: Duration,
    faults: HashSet<IssuerFault>,
    /// The secrets of clients that have one, by the id of the client.
    clients: HashMap<String, String>,
    /// The ids of clients that were registered by a request.
    registered: HashSet<String>,
    codes: HashMap<String, Code>,
    /// The refresh tokens; `false` if one was used.
    refresh: HashMap<String, (Grant, bool)>,
    /// Logins that have ended.
    ended: HashSet<u64>,
    /// The number of the last token.
    made: u64,
    /// Tokens up to this number are not valid any more.
    revoked: u64,
    requests: Vec<String>,
}

struct Code {
    grant: Grant,
    challenge: String,
    redirect: String,
}

/// The rights of a token.
#[derive(Clone)]
struct Grant {
    login: u64,
    client: String,
    subject: String,
    scope: String,
    audience: Option<String>,
}

type Form = Vec<(String, String)>;

impl Provider {
    pub(super) fn new(url: String) -> Self {
        let state = State {
            token_life: Duration::from_secs(300),
            faults: HashSet::new(),
            clients: HashMap::new(),
            registered: HashSet::new(),
            codes: HashMap::new(),
            refresh: HashMap::new(),
            ended: HashSet::new(),
            made: 0,
            revoked: 0,
            requests: Vec::new(),
        };
        let provider = Self { url, keys: Mutex::default(), state: Mutex::new(state) };
        provider.rotate_keys();
        provider
    }

    /// Makes a new key, which signs from now on. The former keys stay in the set.
    pub(super) fn rotate_keys(&self) {
        let key = SigningKey::generate().ok().and_then(|key| SigningKey::from_pkcs8(&key));
        let mut keys = self.keys.lock();
        let name = format!("key-{}", keys.len() + 1);
        keys.push((name, key.expect("a key can be made")));
    }

    pub(super) fn set_token_life(&self, life: Duration) {
        self.state.lock().token_life = life;
    }

    pub(super) fn set_faults(&self, faults: HashSet<IssuerFault>) {
        self.state.lock().faults = faults;
    }

    pub(super) fn add_client(&self, id: String, secret: String) {
        self.state.lock().clients.insert(id, secret);
    }

    pub(super) fn forget_clients(&self) {
        self.state.lock().registered.clear();
    }

    pub(super) fn expire_tokens(&self) {
        let mut state = self.state.lock();
        state.revoked = state.made;
    }

    pub(super) fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }

    fn has(&self, fault: IssuerFault) -> bool {
        self.state.lock().faults.contains(&fault)
    }

    pub(super) fn key_set(&self) -> Value {
        let publish = |(name, key): &(String, SigningKey)| {
            merged(key.public_jwk(), &json!({"kid": name, "alg": "ES256", "use": "sig"}))
        };
        json!({"keys": self.keys.lock().iter().map(publish).collect::<Vec<_>>()})
    }

    /// Signs claims. Members of `header` and `claims` replace the usual ones, and `null` removes them.
    pub(super) fn sign(&self, header: &Value, claims: &Value) -> String {
        let (life, number) = {
            let mut state = self.state.lock();
            state.made += 1;
            (state.token_life.as_secs(), state.made)
        };
        let now = now();
        let usual = json!({"iss": self.url, "iat": now, "exp": now + life, "jti": number.to_string()});
        let keys = self.keys.lock();
        let (name, key) = keys.last().expect("there is always a key");
        let header = merged(json!({"alg": "ES256", "typ": "at+jwt", "kid": name}), header);
        key.sign(&encode_json(&header), &merged(usual, claims)).expect("the claims can be signed")
    }

    /// Returns the claims of a token, if it is one of this issuer for `audience`, and valid.
    pub(super) fn verify(&self, token: &str, audience: &str) -> Option<Value> {
        let claims = self.claims_of(token)?;
        let is_for = match &claims["aud"] {
            Value::Array(all) => all.iter().any(|one| one == audience),
            one => one == audience,
        };
        is_for.then_some(claims)
    }

    /// Returns the claims of a token, if it is one of this issuer, and valid.
    fn claims_of(&self, token: &str) -> Option<Value> {
        let token = Jwt::read(token).ok()?;
        let keys = self.key_set()["keys"].as_array().map(|keys| Jwk::all_of(keys))?;
        let is_signed = verify(&keys, &token) == KeyVerdict::Signed;
        let claims = Value::Object(token.into_claims());
        let number: u64 = claims["jti"].as_str()?.parse().ok()?;
        let is_valid = is_signed
            && claims["iss"] == self.url.as_str()
            && claims["exp"].as_u64().is_some_and(|end| now() < end)
            && number > self.state.lock().revoked;
        is_valid.then_some(claims)
    }

    /// Says if a token is valid, to a client that has a secret (RFC 7662).
    fn introspect(&self, sent: &Form, headers: &HeaderMap) -> Response<HttpBody> {
        let is_client =
            basic(headers).is_some_and(|(id, secret)| self.state.lock().clients.get(&id) == Some(&secret));
        if !is_client {
            return refusal("invalid_client");
        }
        let claims = find(sent, "token").and_then(|token| self.claims_of(token));
        let answer = claims
            .map_or_else(|| json!({"active": false}), |claims| merged(claims, &json!({"active": true})));
        reply(StatusCode::OK, &answer)
    }

    pub(super) fn reply(
        &self,
        method: &Method,
        path: &str,
        query: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Response<HttpBody> {
        let text = String::from_utf8_lossy(body);
        let sent = form::decode(if *method == Method::GET { query } else { &text }).unwrap_or_default();
        let grant = find(&sent, "grant_type").map(|grant| format!(" {grant}")).unwrap_or_default();
        self.state.lock().requests.push(format!("{method} {path}{grant}"));
        match (method.as_str(), path) {
            ("GET", "/.well-known/oauth-authorization-server" | "/.well-known/openid-configuration") => {
                reply(StatusCode::OK, &self.metadata())
            }
            ("GET", "/jwks") => reply(StatusCode::OK, &self.key_set()),
            ("GET", "/authorize") => self.authorize(&sent),
            ("POST", "/register") => self.register(),
            ("POST", "/token") => self.token(&sent, headers),
            ("POST", "/revoke") => self.revoke(&sent),
            ("POST", "/introspect") => self.introspect(&sent, headers),
            _ => reply(StatusCode::NOT_FOUND, &json!({})),
        }
    }

    fn metadata(&self) -> Value {
        let endpoint = |name: &str| format!("{}/{name}", self.url);
        let mut metadata = json!({
            "issuer": self.url,
            "authorization_endpoint": endpoint("authorize"),
            "token_endpoint": endpoint("token"),
            "registration_endpoint": endpoint("register"),
            "revocation_endpoint": endpoint("revoke"),
            "introspection_endpoint": endpoint("introspect"),
            "jwks_uri": endpoint("jwks"),
            "dpop_signing_alg_values_supported": ["ES256"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic", "client_secret_post"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        });
        for (fault, change) in [
            (IssuerFault::WrongName, json!({"issuer": OTHER_ISSUER})),
            (IssuerFault::NoPkce, json!({"code_challenge_methods_supported": null})),
            (IssuerFault::NoRegistration, json!({"registration_endpoint": null})),
        ] {
            if self.has(fault) {
                metadata = merged(metadata, &change);
            }
        }
        metadata
    }

    fn register(&self) -> Response<HttpBody> {
        if self.has(IssuerFault::NoRegistration) {
            return refusal("access_denied");
        }
        let id = format!("client-{}", random_text());
        self.state.lock().registered.insert(id.clone());
        reply(StatusCode::CREATED, &json!({"client_id": id, "token_endpoint_auth_method": "none"}))
    }

    /// Signs the user in, and sends the browser back.
    fn authorize(&self, sent: &Form) -> Response<HttpBody> {
        let value = |name| find(sent, name).unwrap_or_default().to_owned();
        let mut state = self.state.lock();
        let client = value("client_id");
        let is_known = state.registered.contains(&client) || state.clients.contains_key(&client);
        let has_challenge = value("code_challenge_method") == "S256" && !value("code_challenge").is_empty();
        if !is_known || !has_challenge || value("response_type") != "code" {
            return refusal("invalid_request");
        }
        state.made += 1;
        let grant = Grant {
            login: state.made,
            client,
            subject: USER.to_owned(),
            scope: value("scope"),
            audience: find(sent, "resource").map(str::to_owned),
        };
        let (code, redirect) = (random_text(), value("redirect_uri"));
        let known = Code { grant, challenge: value("code_challenge"), redirect: redirect.clone() };
        state.codes.insert(code.clone(), known);
        let has = |fault| state.faults.contains(&fault);
        let outcome = if has(IssuerFault::Declined) { ("error", "access_denied") } else { ("code", &*code) };
        let of_login = value("state");
        let login = if has(IssuerFault::WrongState) { "another" } else { &*of_login };
        let issuer = if has(IssuerFault::WrongIssuer) { OTHER_ISSUER } else { &*self.url };
        let query = form::encode([outcome, ("state", login), ("iss", issuer)]);
        let join = if redirect.contains('?') { '&' } else { '?' };
        let mut reply = reply(StatusCode::FOUND, &json!({}));
        match HeaderValue::from_str(&format!("{redirect}{join}{query}")) {
            Ok(target) => drop(reply.headers_mut().insert(LOCATION, target)),
            Err(_) => return refusal("invalid_request"),
        }
        reply
    }

    fn token(&self, sent: &Form, headers: &HeaderMap) -> Response<HttpBody> {
        if self.has(IssuerFault::Unavailable) {
            return reply(StatusCode::SERVICE_UNAVAILABLE, &json!({}));
        }
        let answer = match self.grant(sent, headers) {
            Ok(grant) => self.make_tokens(grant, headers),
            Err(error) => refusal(error),
        };
        if self.has(IssuerFault::LostReply) { reply(StatusCode::BAD_GATEWAY, &json!({})) } else { answer }
    }

    fn grant(&self, sent: &Form, headers: &HeaderMap) -> Result<Grant, &'static str> {
        let value = |name| find(sent, name).unwrap_or_default();
        let (client, secret) = basic(headers)
            .unwrap_or_else(|| (value("client_id").to_owned(), value("client_secret").to_owned()));
        let mut state = self.state.lock();
        let is_known = match state.clients.get(&client) {
            Some(expected) => *expected == secret,
            None => state.registered.contains(&client) && value("grant_type") != "client_credentials",
        };
        if !is_known {
            return Err("invalid_client");
        }
        match value("grant_type") {
            "authorization_code" => {
                let code = state.codes.remove(value("code")).ok_or("invalid_grant")?;
                let is_proven = hash(value("code_verifier")) == code.challenge;
                let is_same = code.redirect == value("redirect_uri") && code.grant.client == client;
                if is_proven && is_same { Ok(code.grant) } else { Err("invalid_grant") }
            }
            "refresh_token" if state.faults.contains(&IssuerFault::RefusedRefresh) => Err("invalid_grant"),
            "refresh_token" => {
                let known = state.refresh.get_mut(value("refresh_token")).ok_or("invalid_grant")?;
                let (grant, was_unused) = (known.0.clone(), std::mem::replace(&mut known.1, false));
                // A refresh token that is used twice was stolen: the login ends.
                if !was_unused {
                    state.ended.insert(grant.login);
                }
                let is_alive = !state.ended.contains(&grant.login) && grant.client == client;
                if is_alive { Ok(grant) } else { Err("invalid_grant") }
            }
            "client_credentials" => Ok(Grant {
                login: 0,
                subject: client.clone(),
                client,
                scope: value("scope").to_owned(),
                audience: find(sent, "resource").map(str::to_owned),
            }),
            _ => Err("unsupported_grant_type"),
        }
    }

    /// Makes tokens. They are bound to a key if the request has a proof of it.
    fn make_tokens(&self, grant: Grant, headers: &HeaderMap) -> Response<HttpBody> {
        let is_wrong = self.has(IssuerFault::WrongAudience);
        let audience = if is_wrong { Some("https://another.example/mcp") } else { grant.audience.as_deref() };
        let mut claims =
            json!({"sub": grant.subject, "client_id": grant.client, "scope": grant.scope, "aud": audience});
        let proof = headers.get(PROOF_HEADER).and_then(|proof| Jwt::read(proof.to_str().ok()?).ok());
        let key = proof.as_ref().and_then(|proof| Jwk::read_public(proof.header("jwk")?));
        if let Some(key) = &key {
            claims["cnf"] = json!({"jkt": hash(&key.thumbprint_text())});
        }
        let access = self.sign(&json!({}), &claims);
        let mut state = self.state.lock();
        let mut tokens = json!({
            "access_token": access,
            "token_type": if key.is_some() { "DPoP" } else { "Bearer" },
            "expires_in": state.token_life.as_secs(),
            "scope": grant.scope,
        });
        if grant.login > 0 {
            let refresh = random_text();
            tokens["refresh_token"] = refresh.as_str().into();
            state.refresh.insert(refresh, (grant, true));
        }
        reply(StatusCode::OK, &tokens)
    }

    fn revoke(&self, sent: &Form) -> Response<HttpBody> {
        let mut state = self.state.lock();
        let login =
            find(sent, "token").and_then(|token| state.refresh.get(token)).map(|(grant, _)| grant.login);
        state.ended.extend(login);
        reply(StatusCode::OK, &json!({}))
    }
}

/// Returns the first value of a name.
fn find<'f>(form: &'f Form, name: &str) -> Option<&'f str> {
    form.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Returns the id and the secret in an `Authorization` header.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let pair = headers.get(AUTHORIZATION)?.to_str().ok()?.strip_prefix("Basic ")?;
    let pair = String::from_utf8(base64_simd::STANDARD.decode_to_vec(pair).ok()?).ok()?;
    // Both are encoded as in a form (RFC 6749, 2.3.1).
    let decoded = form::decode(&pair.replacen(':', "=", 1))?;
    decoded.into_iter().next()
}

/// Replaces members, and removes those that are `null`.
fn merged(mut object: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().into_iter().flatten() {
        match (value, object.as_object_mut()) {
            (Value::Null, Some(members)) => drop(members.remove(name)),
            (value, _) => object[name] = value.clone(),
        }
    }
    object
}

pub(super) fn reply(status: StatusCode, body: &Value) -> Response<HttpBody> {
    let mut reply = Response::new(HttpBody::new(Full::new(Bytes::from(body.to_string()))));
    *reply.status_mut() = status;
    reply.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

fn refusal(error: &str) -> Response<HttpBody> {
    let status = if error == "invalid_client" { StatusCode::UNAUTHORIZED } else { StatusCode::BAD_REQUEST };
    reply(status, &json!({"error": error}))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

const OTHER_ISSUER: &str = "https://another.example";
/// The subject of tokens for users.
const USER: &str = "alice";
