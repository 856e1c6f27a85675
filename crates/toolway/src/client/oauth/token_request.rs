//! How is a token endpoint asked for a token?

use std::sync::Arc;

use ::http::StatusCode;
use ::http::header::HeaderValue;
use base64_simd::STANDARD;
use serde_json::json;
use toolway_protocol::oauth::{Found, Scopes, ServerMetadata, TokenError, TokenReply, TokenType, form};

use crate::client::oauth::clock::now;
use crate::client::oauth::context::{Flow, Form, GrantError, refused, token_endpoint};
use crate::client::oauth::crypto::{encode_json, random_text};
use crate::client::oauth::dpop::{ALGORITHM, ProofKey, usable_nonce};
use crate::client::oauth::fetch::{Fetched, Fetcher, Post, host_of};
use crate::client::oauth::records::{ClientRecord, TokenOwner, Tokens};
use crate::ground::error::{Error, ErrorKind, Result};

/// The token that is asked for.
pub(super) struct Wanted<'w> {
    pub(super) scopes: &'w Scopes,
    /// The token that it replaces.
    pub(super) former: Option<&'w Tokens>,
    pub(super) binding: Binding,
}

/// The key that a token is to be bound to.
#[derive(Clone, Default)]
pub(super) struct Binding {
    pub(super) key: Option<Arc<ProofKey>>,
    /// `true` if a token without a key is of no use.
    pub(super) is_needed: bool,
}

impl Flow<'_> {
    /// Asks for a token for the MCP server.
    pub(super) async fn token(
        &self,
        found: &Found,
        client: &ClientRecord,
        form: &Form,
        wanted: &Wanted<'_>,
    ) -> Result<Tokens, GrantError> {
        let server = &found.server;
        let resource = self.resource(found);
        let mut form = form.clone();
        form.extend(resource.clone().map(|resource| ("resource", resource)));
        let Binding { key, is_needed } = &wanted.binding;
        let asked_at = now();
        let reply = self.ask(self.fetcher, server, client, &form, key.as_deref()).await?;
        let url = token_endpoint(server)?;
        let key = match reply.token_type {
            TokenType::Dpop if key.is_some() => key.clone(),
            TokenType::Bearer if !is_needed => None,
            TokenType::Bearer => {
                return Err(GrantError::Failed(refused(format!(
                    "{} makes tokens that are not bound to a key, and the server takes only those that are",
                    host_of(url)
                ))));
            }
            _ => {
                return Err(GrantError::Failed(refused(format!(
                    "{} makes a token of a type that this client does not use",
                    host_of(url)
                ))));
            }
        };
        let owner = TokenOwner {
            issuer: server.issuer.clone(),
            resource,
            client_id: client.id.clone(),
            document: found.document.clone(),
            client_secret: client.secret.clone().filter(|_| client.is_dynamic),
            client_auth_method: client.auth_method.clone().filter(|_| client.is_dynamic),
        };
        Ok(Tokens::new(reply, asked_at, wanted.scopes.clone(), wanted.former, owner, key))
    }

    /// Asks a token endpoint, again if it wants a nonce.
    pub(super) async fn ask(
        &self,
        fetcher: &Fetcher,
        server: &ServerMetadata,
        client: &ClientRecord,
        form: &Form,
        key: Option<&ProofKey>,
    ) -> Result<TokenReply, GrantError> {
        let url = token_endpoint(server)?;
        let mut reply = self.post(fetcher, server, url, client, form, key).await?;
        let mut outcome = TokenReply::read(&reply.body);
        let wants_nonce = |outcome: &Result<_, TokenError>| matches!(outcome, Err(TokenError::Refused { code }) if code == "use_dpop_nonce");
        self.nonces.note(url, &reply.headers);
        if usable_nonce(&reply.headers).is_some() && key.is_some() && wants_nonce(&outcome) {
            reply = self.post(fetcher, server, url, client, form, key).await?;
            self.nonces.note(url, &reply.headers);
            outcome = TokenReply::read(&reply.body);
        }
        if reply.status.is_server_error() || reply.status.as_u16() == 429 {
            let message =
                format!("{} cannot make a token now ({}): try again later", host_of(url), reply.status);
            return Err(GrantError::Failed(Error::new(ErrorKind::Transport, message)));
        }
        let is_made = matches!(reply.status, StatusCode::OK | StatusCode::CREATED);
        let outcome = outcome.and_then(|token| if is_made { Ok(token) } else { Err(TokenError::Unreadable) });
        outcome.map_err(|error| match error {
            TokenError::Refused { code } => GrantError::Refused { code, status: reply.status },
            error => GrantError::Failed(Error::new(
                ErrorKind::PeerMisbehaved,
                format!("{}: {error}", host_of(url)),
            )),
        })
    }

    /// Posts a form to an endpoint of an authorization server, with proofs of the client and of its key.
    pub(super) async fn post(
        &self,
        fetcher: &Fetcher,
        server: &ServerMetadata,
        url: &str,
        client: &ClientRecord,
        form: &Form,
        key: Option<&ProofKey>,
    ) -> Result<Fetched> {
        let mut form = form.clone();
        let authorization = self.prove(server, client, &mut form)?;
        let body = form::encode(form.iter().map(|(name, value)| (*name, value.as_str())));
        let proof = match key {
            Some(key) => Some(key.prove("POST", url, None, self.nonces.get(url).as_deref())?),
            None => None,
        };
        let content_type = "application/x-www-form-urlencoded";
        fetcher.post(Post { url, content_type, body, authorization, proof }).await
    }

    /// Adds to a form, or returns as a header, what proves who the client is.
    pub(super) fn prove(
        &self,
        server: &ServerMetadata,
        client: &ClientRecord,
        form: &mut Form,
    ) -> Result<Option<HeaderValue>> {
        if let Some(key) = self.oauth.identity.key.as_ref().filter(|_| client.is_own) {
            let seconds = now() / 1000;
            let claims = json!({
                "iss": client.id,
                "sub": client.id,
                "aud": server.issuer,
                "iat": seconds,
                "exp": seconds + ASSERTION_LIFE,
                "jti": random_text(),
            });
            form.push(("client_assertion_type", CLIENT_ASSERTION.to_owned()));
            let header = encode_json(&json!({"alg": ALGORITHM, "typ": "JWT"}));
            form.push(("client_assertion", key.sign(&header, &claims)?));
            return Ok(None);
        }
        let Some(secret) = &client.secret else {
            if !client.id.is_empty() {
                form.push(("client_id", client.id.clone()));
            }
            return Ok(None);
        };
        let supported = |method: &str| {
            let methods = server.token_endpoint_auth_methods.as_ref();
            methods.is_some_and(|methods| methods.iter().any(|known| known == method))
        };
        let method = match client.auth_method.as_deref() {
            Some(method) => method,
            None if supported("client_secret_post") && !supported("client_secret_basic") => {
                "client_secret_post"
            }
            None => "client_secret_basic",
        };
        match method {
            "none" => form.push(("client_id", client.id.clone())),
            "client_secret_post" => {
                form.push(("client_id", client.id.clone()));
                form.push(("client_secret", secret.reveal().to_owned()));
            }
            _ => {
                let pair =
                    format!("{}:{}", form::encode_text(&client.id), form::encode_text(secret.reveal()));
                let mut value = HeaderValue::from_str(&format!("Basic {}", STANDARD.encode_to_string(pair)))
                    .map_err(|_| Error::new(ErrorKind::Misuse, "the client secret cannot be sent"))?;
                value.set_sensitive(true);
                return Ok(Some(value));
            }
        }
        Ok(None)
    }
}

const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The life of an assertion, in seconds.
const ASSERTION_LIFE: u64 = 300;
