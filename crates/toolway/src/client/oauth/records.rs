//! What is kept in the vault?

use std::sync::Arc;

use ::http::header::HeaderValue;
use bytes::Bytes;
use serde_json::{Value, json};
use toolway_protocol::oauth::{Scopes, TokenReply};

use crate::client::oauth::clock::now;
use crate::client::oauth::dpop::ProofKey;
use crate::client::oauth::grants::AccessToken;
use crate::client::oauth::secret::Secret;

/// The tokens of a client for one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// When the access token expires, in milliseconds since 1970.
    pub(super) expires_at: Option<u64>,
    /// How long the access token lives.
    life: Option<u64>,
    pub(super) granted: Scopes,
    pub(super) requested: Scopes,
    pub(super) owner: TokenOwner,
    /// The key that the token is bound to.
    pub(super) proof_key: Option<Arc<ProofKey>>,
    /// The value of the header, made once; `None` if the token cannot be sent.
    pub(super) authorization: Option<HeaderValue>,
}

/// The parties that tokens belong to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TokenOwner {
    pub(super) issuer: String,
    /// `None` for a server of 2025-03-26.
    pub(super) resource: Option<String>,
    pub(super) client_id: String,
    /// The URL of the document of the MCP server. Older entries of a vault have none.
    pub(super) document: Option<String>,
    /// The secret of a client that has registered itself, and how it is sent. The record of the client may be gone before the
    /// tokens: other logins share it.
    pub(super) client_secret: Option<Secret>,
    pub(super) client_auth_method: Option<String>,
}

impl Tokens {
    /// Counts the life of the token from `asked_at`, when it was asked for: the reply may have taken long.
    pub(super) fn new(
        reply: TokenReply,
        asked_at: u64,
        requested: Scopes,
        former: Option<&Self>,
        owner: TokenOwner,
        proof_key: Option<Arc<ProofKey>>,
    ) -> Self {
        let life = reply.expires_in.map(|seconds| seconds.saturating_mul(1000));
        let granted = reply.scopes.or_else(|| former.map(|former| former.granted.clone()));
        let access = Secret::new(reply.access_token);
        Self {
            authorization: authorization(&access, proof_key.is_some()),
            access,
            // A server that sends no new one lets the old one live.
            refresh: reply
                .refresh_token
                .map(Secret::new)
                .or_else(|| former.and_then(|former| former.refresh.clone())),
            expires_at: life.map(|life| asked_at.saturating_add(life)),
            life,
            granted: granted.unwrap_or_else(|| requested.clone()),
            requested,
            owner,
            proof_key,
        }
    }

    /// A token that the application has got in its own way.
    pub(super) fn of_application(token: AccessToken, requested: Scopes) -> Self {
        let life = token.life.map(|life| u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
        Self {
            authorization: authorization(&token.token, false),
            access: token.token,
            refresh: None,
            expires_at: life.map(|life| now().saturating_add(life)),
            life,
            granted: requested.clone(),
            requested,
            owner: TokenOwner::default(),
            proof_key: None,
        }
    }

    /// Returns whether the token can be used for a while.
    pub(super) fn is_fresh(&self) -> bool {
        let margin = self.life.map_or(MAX_MARGIN, |life| (life / 10).min(MAX_MARGIN));
        self.expires_at.is_none_or(|at| now().saturating_add(margin) < at)
    }

    /// Returns whether the token has not expired yet.
    pub(super) fn is_alive(&self) -> bool {
        self.expires_at.is_none_or(|at| now() < at)
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        let TokenOwner { issuer, resource, client_id, document, client_secret, client_auth_method } =
            &self.owner;
        json!({
            "access": self.access.reveal(),
            "refresh": self.refresh.as_ref().map(Secret::reveal),
            "expires_at": self.expires_at,
            "life": self.life,
            "granted": self.granted.iter().collect::<Vec<_>>(),
            "requested": self.requested.iter().collect::<Vec<_>>(),
            "issuer": issuer,
            "resource": resource,
            "client_id": client_id,
            "document": document,
            "client_secret": client_secret.as_ref().map(Secret::reveal),
            "client_auth_method": client_auth_method,
            "dpop_key": self.proof_key.as_ref().map(|key| key.secret().reveal()),
        })
        .to_string()
        .into()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        let access = Secret::new(text("access")?);
        Some(Self {
            authorization: authorization(&access, text("dpop_key").is_some()),
            access,
            refresh: text("refresh").map(Secret::new),
            expires_at: value["expires_at"].as_u64(),
            life: value["life"].as_u64(),
            granted: Scopes::from_json(&value["granted"])?,
            requested: Scopes::from_json(&value["requested"])?,
            owner: TokenOwner {
                issuer: text("issuer")?,
                resource: text("resource"),
                client_id: text("client_id")?,
                document: text("document"),
                client_secret: text("client_secret").map(Secret::new),
                client_auth_method: text("client_auth_method"),
            },
            proof_key: match text("dpop_key") {
                Some(key) => Some(Arc::new(ProofKey::from_secret(Secret::new(key))?)),
                None => None,
            },
        })
    }
}

/// Returns the value of the header with a token.
fn authorization(token: &Secret, has_key: bool) -> Option<HeaderValue> {
    let scheme = if has_key { "DPoP" } else { "Bearer" };
    let mut value = HeaderValue::from_str(&format!("{scheme} {}", token.reveal())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// A client that has registered, or was registered by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ClientRecord {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    /// The way in which the client proves who it is.
    pub(super) auth_method: Option<String>,
    /// When the secret expires, in seconds since 1970.
    pub(super) expires_at: Option<u64>,
    pub(super) redirect_uri: Option<String>,
    /// `true` if the client has registered itself.
    pub(super) is_dynamic: bool,
    /// `true` if the application has registered the client, and may have a key for it.
    pub(super) is_own: bool,
}

impl ClientRecord {
    /// A client that did not register itself.
    pub(super) fn new(id: String, secret: Option<Secret>) -> Self {
        Self {
            id,
            secret,
            auth_method: None,
            expires_at: None,
            redirect_uri: None,
            is_dynamic: false,
            is_own: false,
        }
    }

    /// A client that the application has registered.
    pub(super) fn own(id: String, secret: Option<Secret>) -> Self {
        Self { is_own: true, ..Self::new(id, secret) }
    }

    pub(super) fn is_expired(&self) -> bool {
        self.expires_at.is_some_and(|at| at.saturating_mul(1000) <= now())
    }

    pub(super) fn to_bytes(&self) -> Bytes {
        json!({
            "id": self.id,
            "secret": self.secret.as_ref().map(Secret::reveal),
            "auth_method": self.auth_method,
            "expires_at": self.expires_at,
            "redirect_uri": self.redirect_uri,
        })
        .to_string()
        .into()
    }

    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Some(Self {
            id: text("id")?,
            secret: text("secret").map(Secret::new),
            auth_method: text("auth_method"),
            expires_at: value["expires_at"].as_u64(),
            redirect_uri: text("redirect_uri"),
            is_dynamic: true,
            is_own: false,
        })
    }
}

/// A token is renewed at most this long before it expires, in milliseconds.
const MAX_MARGIN: u64 = 60_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(reply: &str) -> Tokens {
        let owner = TokenOwner {
            issuer: "i".to_owned(),
            client_id: "c".to_owned(),
            document: Some("https://s.example/custom".to_owned()),
            client_secret: Some(Secret::new("hidden3")),
            client_auth_method: Some("client_secret_post".to_owned()),
            ..TokenOwner::default()
        };
        Tokens::new(
            TokenReply::read(reply.as_bytes()).unwrap(),
            now(),
            Scopes::parse("a b"),
            None,
            owner,
            None,
        )
    }

    #[test]
    fn records_survive_the_trip_and_show_no_secrets() {
        let mut tokens = tokens(
            r#"{"access_token":"hidden1","refresh_token":"hidden2","token_type":"bearer","expires_in":60,"scope":["a","b,c"]}"#,
        );
        assert_eq!(Tokens::from_bytes(&tokens.to_bytes()), Some(tokens.clone()));
        tokens.proof_key = Some(Arc::new(ProofKey::generate().unwrap()));
        tokens.authorization = authorization(&tokens.access, true);
        assert_eq!(Tokens::from_bytes(&tokens.to_bytes()), Some(tokens.clone()));
        assert!(!format!("{tokens:?}").contains("hidden"));
        let client = ClientRecord {
            id: "c".to_owned(),
            secret: Some(Secret::new("hidden")),
            auth_method: None,
            expires_at: Some(1),
            redirect_uri: Some("http://localhost/".to_owned()),
            is_dynamic: true,
            is_own: false,
        };
        assert!(client.is_expired());
        assert_eq!(ClientRecord::from_bytes(&client.to_bytes()), Some(client.clone()));
        assert!(!format!("{client:?}").contains("hidden"));
        assert_eq!(Tokens::from_bytes(b"{}"), None);
        let old = br#"{"access":"t","granted":[],"requested":[],"issuer":"i","client_id":"c"}"#;
        assert_eq!(Tokens::from_bytes(old).map(|tokens| tokens.owner.document), Some(None));
    }

    #[test]
    fn a_token_is_renewed_before_it_expires() {
        for (life, is_fresh) in [("3600", true), ("2", true), ("0", false)] {
            let reply = format!(r#"{{"access_token":"t","token_type":"bearer","expires_in":{life}}}"#);
            assert_eq!(tokens(&reply).is_fresh(), is_fresh, "{life}");
        }
        assert!(tokens(r#"{"access_token":"t","token_type":"bearer"}"#).is_fresh(), "only the server knows");
        let mut old = tokens(r#"{"access_token":"t","token_type":"bearer","expires_in":3600}"#);
        old.expires_at = Some(now() + 59_000);
        assert!(!old.is_fresh());
    }

    #[test]
    fn an_old_refresh_token_lives_on() {
        let old = tokens(r#"{"access_token":"t","refresh_token":"r","token_type":"bearer","scope":"a"}"#);
        let reply = TokenReply::read(br#"{"access_token":"u","token_type":"bearer"}"#).unwrap();
        let new = Tokens::new(reply, now(), Scopes::parse("a b"), Some(&old), old.owner.clone(), None);
        assert_eq!((new.refresh, new.granted.to_string()), (Some(Secret::new("r")), "a".to_owned()));
    }
}
