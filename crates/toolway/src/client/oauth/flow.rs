//! Which requests lead to a token?

use ::http::HeaderMap;
use ::http::header::{HeaderName, HeaderValue};
use base64_simd::STANDARD;
use serde_json::json;
use toolway_protocol::ProtocolVersion;
use toolway_protocol::oauth::{
    Answer, Challenge, Discovery, Found, HttpUrl, Next, Registration, RegistrationReply, Scopes,
    ServerMetadata, TokenError, TokenReply, TokenType, form,
};

use crate::client::oauth::crypto::{hash, random_text};
use crate::client::oauth::fetch::{Fetcher, Post, host_of};
use crate::client::oauth::loopback::Loopback;
use crate::client::oauth::records::{ClientRecord, TokenOwner, Tokens, now};
use crate::client::oauth::secret::Secret;
use crate::client::oauth::settings::{Grant, OAuth, Opener, WorkloadTarget};
use crate::client::oauth::vault::VaultKey;
use crate::ground::error::{Error, ErrorKind, Result};

/// The requests of one login.
pub(super) struct Flow<'f> {
    pub(super) oauth: &'f OAuth,
    pub(super) fetcher: &'f Fetcher,
    /// The URL of the MCP server.
    pub(super) server: &'f str,
}

/// The fields of a request to the token endpoint.
type Form = Vec<(&'static str, String)>;

/// The reasons why no token was made.
pub(super) enum GrantError {
    /// The authorization server refuses. The code is that of OAuth.
    Refused(String),
    Failed(Error),
}

impl From<Error> for GrantError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl GrantError {
    pub(super) fn into_error(self, issuer: &str) -> Error {
        match self {
            Self::Failed(error) => error,
            Self::Refused(code) => {
                let code = if code.is_empty() { "no reason".to_owned() } else { code };
                refused(format!("the authorization server {} gives no token: {code}", host_of(issuer)))
            }
        }
    }
}

impl Flow<'_> {
    /// Finds the authorization server of the MCP server.
    pub(super) async fn discover(&self, challenge: Option<&Challenge>) -> Result<Found> {
        let document = challenge.and_then(|challenge| challenge.get("resource_metadata"));
        let mut discovery = Discovery::new(self.server, document)
            .map_err(|refusal| Error::new(ErrorKind::Misuse, refusal.to_string()))?
            .prefer(self.oauth.preferred_issuer.iter().chain(&self.oauth.identity.issuer).cloned())
            .accept(self.oauth.accepted_issuers.iter().cloned());
        loop {
            let url = match discovery.next() {
                Next::Fetch(url) => url.to_owned(),
                Next::Found(found) => return Ok(found.clone()),
                Next::Refused(refusal) => return Err(refused(refusal.to_string())),
            };
            let mut headers = HeaderMap::new();
            if discovery.is_legacy() {
                let name = HeaderName::from_static("mcp-protocol-version");
                headers.insert(name, HeaderValue::from_static(ProtocolVersion::DEFAULT_HTTP.as_str()));
            }
            match self.fetcher.get(&url, headers).await {
                Ok(reply) => discovery.take(Answer::of(reply.status.as_u16(), &reply.body)),
                // The server leads to a place where it must not.
                Err(error) if error.kind() == ErrorKind::PeerMisbehaved => return Err(error),
                Err(_) => discovery.take(Answer::NoAnswer),
            }
        }
    }

    /// Checks that the credentials of the application are for this authorization server.
    pub(super) fn check_issuer(&self, server: &ServerMetadata) -> Result<()> {
        match &self.oauth.identity.issuer {
            Some(issuer) if *issuer != server.issuer && issuer.strip_suffix('/') != Some(&server.issuer) => {
                Err(refused(format!(
                    "the server wants tokens of {}, and the credentials are for {}: nothing was sent",
                    host_of(&server.issuer),
                    host_of(issuer)
                )))
            }
            _ => Ok(()),
        }
    }

    /// Returns the scopes to ask for at first.
    pub(super) fn first_scopes(&self, found: &Found, challenge: Option<&Challenge>) -> Scopes {
        let of_server = || found.resource.as_ref().and_then(|resource| resource.scopes.clone());
        let wanted =
            self.oauth.scopes.clone().or_else(|| challenge.and_then(Challenge::scopes)).or_else(of_server);
        let wanted = wanted.unwrap_or_default();
        let is_offered = found.server.scopes.as_ref().is_some_and(|scopes| scopes.contains(OFFLINE));
        if is_offered && matches!(self.oauth.grant, Grant::Browser { .. }) && self.oauth.scopes.is_none() {
            return wanted.union(&Scopes::parse(OFFLINE));
        }
        wanted
    }

    /// Gets a token, with the help of a user if it must be.
    pub(super) async fn authorize(&self, found: &Found, scopes: &Scopes) -> Result<Tokens> {
        self.check_issuer(&found.server)?;
        let tokens = match &self.oauth.grant {
            Grant::Browser { open, redirect } => {
                let (client, form) = self.sign_in(found, scopes, &**open, redirect.as_deref()).await?;
                match self.token(found, &client, form, scopes, None).await {
                    // The authorization server has forgotten a client that introduced itself.
                    Err(GrantError::Refused(code)) if client.is_dynamic && is_about_client(&code) => {
                        self.forget_client(&found.server.issuer, &client).await?;
                        let (client, form) =
                            self.sign_in(found, scopes, &**open, redirect.as_deref()).await?;
                        self.token(found, &client, form, scopes, None).await
                    }
                    outcome => outcome,
                }
            }
            Grant::ClientCredentials => {
                let client = self.own_client(&found.server)?;
                let mut form = vec![("grant_type", "client_credentials".to_owned())];
                add_scopes(&mut form, scopes);
                self.token(found, &client, form, scopes, None).await
            }
            Grant::Workload(platform) => {
                let token_endpoint = token_endpoint(&found.server)?.to_owned();
                let target = WorkloadTarget { issuer: found.server.issuer.clone(), token_endpoint };
                let assertion = platform(target).await?;
                let mut form =
                    vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion.trim().to_owned())];
                add_scopes(&mut form, scopes);
                let client = ClientRecord::new(self.oauth.identity.id.clone().unwrap_or_default(), None);
                self.token(found, &client, form, scopes, None).await
            }
        };
        tokens.map_err(|error| error.into_error(&found.server.issuer))
    }

    /// Gets a new token for one that has expired.
    pub(super) async fn refresh(&self, found: &Found, old: &Tokens) -> Result<Tokens, GrantError> {
        self.check_issuer(&found.server)?;
        let Some(refresh) = &old.refresh else {
            return Err(GrantError::Refused("no_refresh_token".to_owned()));
        };
        let client = self.known_client(&found.server.issuer, &old.owner.client_id).await?;
        let request = |scopes: Option<&Scopes>| {
            let mut form = vec![
                ("grant_type", "refresh_token".to_owned()),
                ("refresh_token", refresh.reveal().to_owned()),
            ];
            if let Some(scopes) = scopes {
                add_scopes(&mut form, scopes);
            }
            form
        };
        let first = self.token(found, &client, request(Some(&old.granted)), &old.requested, Some(old)).await;
        match first {
            Err(GrantError::Refused(code)) if code == "invalid_scope" => {
                self.token(found, &client, request(None), &old.requested, Some(old)).await
            }
            first => first,
        }
    }

    /// Lets a user sign in. Returns the client, and the form that exchanges the code for a token.
    async fn sign_in(
        &self,
        found: &Found,
        scopes: &Scopes,
        open: &Opener,
        redirect: Option<&str>,
    ) -> Result<(ClientRecord, Form)> {
        let server = &found.server;
        let host = host_of(&server.issuer);
        if !server.has_pkce() && found.resource.is_some() {
            return Err(refused(format!(
                "the authorization server {host} does not protect logins with PKCE (S256), so the login was not begun"
            )));
        }
        let page = server.authorization_endpoint.as_deref();
        let page = page.filter(|page| HttpUrl::parse(page).is_some_and(|parts| parts.fragment.is_none()));
        let page = page.ok_or_else(|| lacks(server, "authorization_endpoint"))?;
        let known = self.stored_client(&server.issuer).await?;
        let loopback = match redirect {
            Some(pinned) => Loopback::open(Some(pinned)).await?,
            None => {
                let registered = known.as_ref().and_then(|client| client.redirect_uri.as_deref());
                match Loopback::open(registered).await {
                    Ok(loopback) => loopback,
                    // The port of the registration is taken, so the client registers again.
                    Err(_) => Loopback::open(None).await?,
                }
            }
        };
        let redirect_uri = loopback.redirect_uri.clone();
        let known = known.filter(|client| client.redirect_uri.as_ref() == Some(&redirect_uri));
        let client = self.client(server, known, &redirect_uri).await?;
        let (state, verifier) = (random_text(), random_text());
        let challenge = hash(&verifier);
        let mut query = vec![
            ("response_type", "code"),
            ("client_id", &client.id),
            ("redirect_uri", &redirect_uri),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("state", &state),
        ];
        let resource = self.resource(found);
        query.extend(resource.iter().map(|resource| ("resource", resource.as_str())));
        let text = scopes.to_string();
        if !text.is_empty() {
            query.push(("scope", &text));
        }
        let separator = if page.contains('?') { '&' } else { '?' };
        open(format!("{page}{separator}{}", form::encode(query))).await?;
        let callback = loopback.wait(&state, self.oauth.login_timeout).await?;
        let outcome = callback.outcome(&server.issuer, server.names_itself);
        let code = match outcome.map_err(|error| refused(error.to_string()))? {
            Ok(code) => code,
            Err(error) if error == "access_denied" => {
                return Err(refused("the login was declined".to_owned()));
            }
            Err(_) => return Err(refused(format!("the authorization server {host} ended the login"))),
        };
        let form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ];
        Ok((client, form))
    }

    /// Asks the token endpoint.
    async fn token(
        &self,
        found: &Found,
        client: &ClientRecord,
        mut form: Form,
        requested: &Scopes,
        former: Option<&Tokens>,
    ) -> Result<Tokens, GrantError> {
        let server = &found.server;
        let resource = self.resource(found);
        form.extend(resource.clone().map(|resource| ("resource", resource)));
        let authorization = self.prove(server, client, &mut form)?;
        let body = form::encode(form.iter().map(|(name, value)| (*name, value.as_str())));
        let url = token_endpoint(server)?;
        let post = Post { url, content_type: "application/x-www-form-urlencoded", body, authorization };
        let reply = self.fetcher.post(post).await?;
        if reply.status.is_server_error() || reply.status.as_u16() == 429 {
            let message =
                format!("{} cannot make a token now ({}): try again later", host_of(url), reply.status);
            return Err(GrantError::Failed(Error::new(ErrorKind::Transport, message)));
        }
        let reply = match TokenReply::read(&reply.body) {
            Ok(reply) if reply.token_type == TokenType::Bearer => reply,
            Ok(_) => {
                return Err(GrantError::Failed(refused(format!(
                    "{} makes a token of a type that this client does not use",
                    host_of(url)
                ))));
            }
            Err(TokenError::Refused { code }) => return Err(GrantError::Refused(code)),
            Err(error) => {
                return Err(GrantError::Failed(Error::new(
                    ErrorKind::PeerMisbehaved,
                    format!("{}: {error}", host_of(url)),
                )));
            }
        };
        let owner = TokenOwner { issuer: server.issuer.clone(), resource, client_id: client.id.clone() };
        Ok(Tokens::new(reply, requested.clone(), former, owner))
    }

    /// Adds to a form, or returns as a header, what proves who the client is.
    fn prove(
        &self,
        server: &ServerMetadata,
        client: &ClientRecord,
        form: &mut Form,
    ) -> Result<Option<HeaderValue>> {
        if let Some(key) = &self.oauth.identity.key {
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
            form.push(("client_assertion", key.sign(&json!({"alg": "ES256", "typ": "JWT"}), &claims)?));
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

    /// Returns the id of this client at an authorization server, which it may have to ask for.
    async fn client(
        &self,
        server: &ServerMetadata,
        known: Option<ClientRecord>,
        redirect_uri: &str,
    ) -> Result<ClientRecord> {
        if self.oauth.identity.id.is_some() {
            return self.own_client(server);
        }
        if let Some(document) =
            self.oauth.identity.document.clone().filter(|_| server.accepts_client_documents)
        {
            return Ok(ClientRecord {
                auth_method: Some("none".to_owned()),
                ..ClientRecord::new(document, None)
            });
        }
        if let Some(known) = known.filter(|client| !client.is_expired()) {
            return Ok(known);
        }
        self.register(server, redirect_uri).await
    }

    /// Returns the client that the application has registered by hand.
    fn own_client(&self, server: &ServerMetadata) -> Result<ClientRecord> {
        self.check_issuer(server)?;
        let identity = &self.oauth.identity;
        let id = identity
            .id
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "give a client id with `OAuth::client_id`"))?;
        Ok(ClientRecord::new(id, identity.secret.clone()))
    }

    async fn register(&self, server: &ServerMetadata, redirect_uri: &str) -> Result<ClientRecord> {
        let host = host_of(&server.issuer);
        let Some(url) = &server.registration_endpoint else {
            return Err(refused(format!(
                "the authorization server {host} does not let clients register themselves: register this client there, and \
                 give its id with `OAuth::client_id`"
            )));
        };
        let client_name = self.oauth.identity.name.as_deref().unwrap_or("Toolway");
        let registration = Registration { client_name, redirect_uri, has_device_grant: false };
        let (content_type, body) = ("application/json", registration.to_json().to_string());
        let reply = self.fetcher.post(Post { url, content_type, body, authorization: None }).await?;
        let client = match reply.status.as_u16() {
            200 | 201 => RegistrationReply::read(&reply.body),
            401 | 403 => {
                return Err(refused(format!(
                    "registration at {host} is closed: register this client there by hand, and give its id with \
                     `OAuth::client_id`"
                )));
            }
            status => {
                return Err(refused(format!(
                    "the authorization server {host} refuses to register this client ({status})"
                )));
            }
        };
        let client = client.ok_or_else(|| {
            refused(format!("the authorization server {host} registers clients without an id"))
        })?;
        let record = ClientRecord {
            id: client.client_id,
            secret: client.client_secret.map(Secret::new),
            auth_method: client.auth_method,
            expires_at: client.secret_expires_at,
            redirect_uri: Some(redirect_uri.to_owned()),
            is_dynamic: true,
        };
        let key = self.client_key(&server.issuer);
        let former = self.oauth.vault.get(&key).await?;
        self.oauth.vault.swap(&key, former, Some(record.to_bytes())).await?;
        Ok(record)
    }

    fn client_key(&self, issuer: &str) -> VaultKey {
        VaultKey::new("client", &[&self.oauth.profile, issuer])
    }

    /// Returns the client that has registered itself.
    async fn stored_client(&self, issuer: &str) -> Result<Option<ClientRecord>> {
        let stored = self.oauth.vault.get(&self.client_key(issuer)).await?;
        Ok(stored.and_then(|stored| ClientRecord::from_bytes(&stored)))
    }

    /// Returns the client that a token was made for.
    async fn known_client(&self, issuer: &str, id: &str) -> Result<ClientRecord> {
        let identity = &self.oauth.identity;
        if identity.id.as_deref() == Some(id) {
            return Ok(ClientRecord::new(id.to_owned(), identity.secret.clone()));
        }
        let stored = self.stored_client(issuer).await?.filter(|client| client.id == id);
        Ok(stored.unwrap_or_else(|| ClientRecord::new(id.to_owned(), None)))
    }

    /// Forgets a client, unless another process has registered anew.
    async fn forget_client(&self, issuer: &str, client: &ClientRecord) -> Result<()> {
        self.oauth.vault.swap(&self.client_key(issuer), Some(client.to_bytes()), None).await.map(drop)
    }

    /// Returns the name of the MCP server that tokens are for.
    pub(super) fn resource(&self, found: &Found) -> Option<String> {
        let resource = found.resource.as_ref().map(|resource| resource.resource.clone());
        resource.filter(|_| self.oauth.sends_resource)
    }
}

fn add_scopes(form: &mut Form, scopes: &Scopes) {
    if !scopes.is_empty() {
        form.push(("scope", scopes.to_string()));
    }
}

/// Returns whether an error says that the client is not known.
fn is_about_client(code: &str) -> bool {
    matches!(code, "invalid_client" | "unauthorized_client")
}

fn token_endpoint(server: &ServerMetadata) -> Result<&str> {
    server.token_endpoint.as_deref().ok_or_else(|| lacks(server, "token_endpoint"))
}

fn lacks(server: &ServerMetadata, member: &str) -> Error {
    refused(format!(
        "the document of the authorization server {} has no usable `{member}`",
        host_of(&server.issuer)
    ))
}

fn refused(message: String) -> Error {
    Error::new(ErrorKind::PeerRefused, message)
}

/// The scope for tokens that live on when the user is away.
const OFFLINE: &str = "offline_access";
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const CLIENT_ASSERTION: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// The life of an assertion, in seconds.
const ASSERTION_LIFE: u64 = 300;
