//! How do requests to a server carry their token?

use std::any::Any;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use ::http::header::{AUTHORIZATION, HeaderMap, WWW_AUTHENTICATE};
use ::http::{Method, Request, Response, StatusCode};
use bytes::Bytes;
use toolway_protocol::oauth::Challenge;

use crate::client::http::request::client::{HttpBody, HttpClient, RequestSigner};
use crate::client::http::request::url::Url;
use crate::client::http::target::{Http, SignIn};
use crate::client::oauth::clock::now;
use crate::client::oauth::context::is_passing;
use crate::client::oauth::dpop::{Nonces, PROOF_HEADER, usable_nonce};
use crate::client::oauth::fetch::{Carrier, Fetcher, host_of};
use crate::client::oauth::flow::KeyDemand;
use crate::client::oauth::login::{Demand, Login};
use crate::client::oauth::records::Tokens;
use crate::client::oauth::secret::Secret;
use crate::client::oauth::settings::OAuth;
use crate::client::record::Recorder;
use crate::ground::error::{Error, ErrorKind, Result};
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;

impl Http {
    /// Signs in when the server asks for it.
    ///
    /// ```no_run
    /// use toolway::client::{Http, OAuth};
    /// use toolway::prelude::*;
    ///
    /// # async fn example() -> toolway::Result<()> {
    /// let server = Http::new("https://notes.example/mcp").oauth(OAuth::browser());
    /// let client = Client::connect_http(server).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn oauth(self, oauth: OAuth) -> Self {
        match oauth.find_mistake() {
            Some(mistake) => self.with_mistake(mistake),
            None => self.with_logins(Arc::new(Logins::new(oauth))),
        }
    }

    pub(crate) fn with_logins(mut self, logins: Arc<Logins>) -> Self {
        self.sign_in = Some(logins);
        self
    }

    /// Returns what the vault knows about the login to this server; `None` if there is none. Nothing is sent.
    ///
    /// ```
    /// use toolway::client::{Http, OAuth};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let server = Http::new("https://notes.example/mcp").oauth(OAuth::browser());
    /// assert!(server.sign_in_status().await?.is_none());
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// If the vault cannot be read, or the server was not given an [`OAuth`].
    pub async fn sign_in_status(&self) -> Result<Option<SignInStatus>> {
        Ok(self.login()?.stored().await?.map(|tokens| SignInStatus::of(&tokens)))
    }

    /// Signs out: forgets the tokens and the registration, and gives the tokens back to the authorization server.
    ///
    /// # Errors
    ///
    /// If the vault cannot be read or written, or the server was not given an [`OAuth`].
    pub async fn sign_out(&self) -> Result<SignedOut> {
        Ok(match self.login()?.sign_out().await? {
            None => SignedOut { was_signed_in: false, is_revoked: false },
            Some((_, is_revoked)) => SignedOut { was_signed_in: true, is_revoked },
        })
    }

    fn login(&self) -> Result<Arc<Login>> {
        let url = self.check()?;
        let sign_in: Option<&dyn Any> = self.sign_in.as_deref().map(|sign_in| sign_in as _);
        let logins = sign_in.and_then(<dyn Any>::downcast_ref::<Logins>);
        let logins = logins.ok_or_else(|| {
            Error::new(ErrorKind::Misuse, "this server has no way to sign in: give it one with `Http::oauth`")
        })?;
        Ok(logins.login(self, &url))
    }
}

/// The login to a server, as the vault knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignInStatus {
    /// The authorization server that has made the token.
    pub issuer: String,
    /// The id of this client there.
    pub client_id: String,
    /// The scopes of the token, separated by spaces.
    pub scope: String,
    /// The time until the token expires; zero if it has. `None` if only the server knows.
    pub expires_in: Option<Duration>,
    /// `true` if the token can be renewed without a user.
    pub can_renew: bool,
    /// `true` if the token is bound to a key (DPoP).
    pub is_bound: bool,
}

impl SignInStatus {
    fn of(tokens: &Tokens) -> Self {
        let left = |at: u64| Duration::from_millis(at.saturating_sub(now()));
        Self {
            issuer: tokens.owner.issuer.clone(),
            client_id: tokens.owner.client_id.clone(),
            scope: tokens.granted.to_string(),
            expires_in: tokens.expires_at.map(left),
            can_renew: tokens.refresh.is_some(),
            is_bound: tokens.proof_key.is_some(),
        }
    }
}

/// The outcome of [`Http::sign_out`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedOut {
    /// `true` if there was a token.
    pub was_signed_in: bool,
    /// `true` if the authorization server has taken the token back, so that it cannot be renewed any more. Without this, a
    /// copy of the token can be used and renewed.
    pub is_revoked: bool,
}

/// The logins of one [`OAuth`], by the URL of the server.
pub(crate) struct Logins {
    oauth: OAuth,
    by_server: Mutex<HashMap<String, Arc<Login>>>,
}

impl Logins {
    pub(crate) fn new(oauth: OAuth) -> Self {
        Self { oauth, by_server: Mutex::default() }
    }

    fn login(&self, server: &Http, url: &Url) -> Arc<Login> {
        let whole = url.uri().to_string();
        let name = whole.split('?').next().unwrap_or_default().to_owned();
        let mut by_server = self.by_server.lock();
        let login = by_server.entry(name.clone()).or_insert_with(|| {
            let carrier = match &server.client {
                Some(client) => Carrier::Application(client.clone()),
                None => Carrier::BuiltIn { tls: server.tls.clone(), connect_timeout: server.connect_timeout },
            };
            let fetcher = Fetcher::new(url.clone(), self.oauth.allows_private_networks, carrier);
            Login::new(self.oauth.clone(), fetcher, name)
        });
        login.clone()
    }
}

impl SignIn for Logins {
    fn signer(&self, server: &Http, url: &Url) -> Arc<dyn RequestSigner> {
        Arc::new(SignedIn { login: self.login(server, url), recorder: server.recorder.clone() })
    }

    fn user_time(&self) -> Duration {
        self.by_server.lock().values().map(|login| login.user_clock.total()).sum()
    }

    fn extensions(&self) -> Vec<&'static str> {
        self.oauth.extensions()
    }
}

/// Adds the token of a login to requests, and gets one when the server asks for it.
struct SignedIn {
    login: Arc<Login>,
    recorder: Option<Recorder>,
}

impl RequestSigner for SignedIn {
    fn sign(&self, request: &mut Request<Bytes>) -> Result<bool> {
        let Some(tokens) = self.login.fresh() else { return Ok(false) };
        self.add_token(request, &tokens)?;
        Ok(true)
    }

    fn prepare<'a>(&'a self, request: &'a mut Request<Bytes>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async {
            match self.login.current(may_ask_user(request)).await? {
                Some(tokens) => self.add_token(request, &tokens),
                None => Ok(()),
            }
        })
    }

    fn note(&self, request: &Request<Bytes>, headers: &HeaderMap) {
        if self.login.nonces.are_used() {
            self.login.nonces.note(request.uri(), headers);
        }
    }

    fn sign_in<'a>(
        &'a self,
        client: &'a dyn HttpClient,
        request: &'a mut Request<Bytes>,
        refusal: Response<HttpBody>,
    ) -> BoxFuture<'a, Result<Response<HttpBody>>> {
        Box::pin(self.send_until_accepted(client, request, refusal))
    }

    fn user_time(&self) -> Duration {
        self.login.user_clock.total()
    }
}

impl SignedIn {
    /// Adds a token to a request. A recorder does not record what belongs to the token.
    fn add_token(&self, request: &mut Request<Bytes>, tokens: &Tokens) -> Result<()> {
        if let Some(recorder) = &self.recorder {
            let others = [tokens.refresh.as_ref(), tokens.owner.client_secret.as_ref()];
            for secret in others.into_iter().flatten().chain([&tokens.access]) {
                recorder.hide(Secret::reveal(secret));
            }
        }
        add_token(request, tokens, &self.login.nonces)
    }

    /// Sends a request again, with another token or another proof.
    async fn send_with(
        &self,
        client: &dyn HttpClient,
        request: &mut Request<Bytes>,
        tokens: &Tokens,
    ) -> Result<Response<HttpBody>> {
        request.headers_mut().remove(PROOF_HEADER);
        self.add_token(request, tokens)?;
        client.send(request.clone()).await
    }

    /// Does what a server asks for that has refused a request, and sends the request again.
    async fn send_until_accepted(
        &self,
        client: &dyn HttpClient,
        request: &mut Request<Bytes>,
        mut response: Response<HttpBody>,
    ) -> Result<Response<HttpBody>> {
        let (login, may_ask_user) = (&self.login, may_ask_user(request));
        let sent = request.headers().get(AUTHORIZATION);
        let mut tokens = login.known().filter(|_| sent.is_some());
        // The token was replaced while the request was under way.
        if let Some(newer) = tokens.as_ref().filter(|tokens| tokens.authorization.as_ref() != sent) {
            response = self.send_with(client, request, newer).await?;
        }
        let (mut logins, mut step_ups, mut nonces, mut expiries) = (0, 0, 0, 0);
        loop {
            login.nonces.note(request.uri(), response.headers());
            let has_nonce = usable_nonce(response.headers()).is_some();
            let challenges = read_challenges(response.headers());
            match response.status() {
                StatusCode::UNAUTHORIZED if has_nonce && nonces < MAX_NONCES && wants_nonce(&challenges) => {
                    nonces += 1;
                }
                // A new token that expired under way says nothing about the next one.
                StatusCode::UNAUTHORIZED
                    if logins > 0 && expiries < MAX_EXPIRIES && has_expired(tokens.as_deref()) =>
                {
                    expiries += 1;
                    match login.renew(tokens, demand(challenges), false).await? {
                        Some(other) => tokens = Some(other),
                        None => return Ok(response),
                    }
                }
                // A new token that is refused at once is not renewed again and again.
                StatusCode::UNAUTHORIZED if logins < MAX_LOGINS && logins + step_ups < MAX_ATTEMPTS => {
                    logins += 1;
                    match login.renew(tokens, demand(challenges), may_ask_user).await? {
                        Some(other) => tokens = Some(other),
                        None => return Ok(response),
                    }
                }
                StatusCode::FORBIDDEN => {
                    let lacks_scope =
                        |challenge: &Challenge| challenge.get("error") == Some("insufficient_scope");
                    let challenge = challenges.into_iter().find(lacks_scope);
                    let (Some(challenge), Some(used)) = (challenge, tokens.clone()) else {
                        return Ok(response);
                    };
                    let wanted = challenge.scopes().unwrap_or_default();
                    if step_ups == MAX_STEP_UPS || logins + step_ups == MAX_ATTEMPTS {
                        login.note_refused(wanted);
                        return Ok(response);
                    }
                    step_ups += 1;
                    match login.step_up(used, challenge, may_ask_user).await {
                        Ok(Some(more)) => tokens = Some(more),
                        Ok(None) if !may_ask_user => return Ok(response),
                        Ok(None) => {
                            login.note_refused(wanted);
                            return Ok(response);
                        }
                        Err(error) => {
                            if !is_passing(&error) {
                                login.note_refused(wanted);
                            }
                            return Err(error);
                        }
                    }
                }
                StatusCode::UNAUTHORIZED => {
                    return match tokens.filter(|_| logins > 0) {
                        Some(tokens) => Err(refused_token(request, &tokens, challenges.first())),
                        None => Ok(response),
                    };
                }
                _ => return Ok(response),
            }
            response = match &tokens {
                Some(tokens) => self.send_with(client, request, tokens).await?,
                None => client.send(request.clone()).await?,
            };
        }
    }
}

fn has_expired(tokens: Option<&Tokens>) -> bool {
    tokens.is_some_and(|tokens| !tokens.is_alive())
}

/// Calls of the application are sent with POST. Streams, the end of a session and subscriptions, which begin again in the
/// background, must not open a browser.
fn may_ask_user(request: &Request<Bytes>) -> bool {
    let method = request.headers().get("mcp-method");
    request.method() == Method::POST && method.is_none_or(|method| method.as_bytes() != SUBSCRIBE.as_bytes())
}

fn add_token(request: &mut Request<Bytes>, tokens: &Tokens, nonces: &Nonces) -> Result<()> {
    let authorization = tokens.authorization.clone().ok_or_else(|| {
        let message = "the authorization server made a token that cannot be sent";
        Error::new(ErrorKind::PeerMisbehaved, message)
    })?;
    request.headers_mut().insert(AUTHORIZATION, authorization);
    let Some(key) = &tokens.proof_key else { return Ok(()) };
    let url = request.uri().to_string();
    let nonce = nonces.get(&url);
    let proof = key.prove(request.method().as_str(), &url, Some(&tokens.access), nonce.as_deref())?;
    request.headers_mut().insert(PROOF_HEADER, proof);
    Ok(())
}

/// Returns the error for a server that refuses a new token.
fn refused_token(request: &Request<Bytes>, tokens: &Tokens, challenge: Option<&Challenge>) -> Error {
    let server = host_of(&request.uri().to_string());
    let issuer = match &*tokens.owner.issuer {
        "" => "the application".to_owned(),
        issuer => host_of(issuer),
    };
    let text = format!(
        "{server} refuses the token that {issuer} has just made for it: the operator of the server must find out why"
    );
    let challenge = challenge.map_or_else(|| "Bearer".to_owned(), Challenge::to_string);
    Error::new(ErrorKind::PeerRefused, text)
        .with_http_status(StatusCode::UNAUTHORIZED.as_u16())
        .with_challenge(challenge)
}

/// Returns the challenges for tokens.
fn read_challenges(headers: &HeaderMap) -> Vec<Challenge> {
    let lines = headers.get_all(WWW_AUTHENTICATE).into_iter().filter_map(|line| line.to_str().ok());
    let is_known = |challenge: &Challenge| challenge.is("Bearer") || challenge.is("DPoP");
    Challenge::read(lines).into_iter().filter(is_known).collect()
}

fn wants_nonce(challenges: &[Challenge]) -> bool {
    challenges.iter().any(|challenge| challenge.get("error") == Some("use_dpop_nonce"))
}

/// Reads what a server demands.
fn demand(challenges: Vec<Challenge>) -> Demand {
    let (with_key, without): (Vec<_>, Vec<_>) =
        challenges.into_iter().partition(|challenge| challenge.is("DPoP"));
    let key = match (with_key.is_empty(), without.is_empty()) {
        (true, _) => KeyDemand::None,
        (false, false) => KeyDemand::Offered,
        (false, true) => KeyDemand::Needed,
    };
    Demand { challenge: without.into_iter().chain(with_key).next(), key }
}

/// The method of a subscription, which is a POST in revisions without sessions.
const SUBSCRIBE: &str = "subscriptions/listen";
/// How many new tokens may expire before the server has read them.
const MAX_EXPIRIES: usize = 4;
/// How often one request may lead to a login.
const MAX_LOGINS: usize = 2;
/// How often one request may lead to a login for more scopes.
const MAX_STEP_UPS: usize = 2;
/// How often one request may lead to a login of any kind.
const MAX_ATTEMPTS: usize = 3;
/// How often one request is sent again because the server wants another nonce.
const MAX_NONCES: usize = 2;
