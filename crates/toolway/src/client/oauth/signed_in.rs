//! How do requests to a server carry their token?

use std::collections::HashMap;
use std::sync::Arc;

use ::http::header::{AUTHORIZATION, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use ::http::{Request, Response, StatusCode};
use bytes::Bytes;
use toolway_protocol::oauth::Challenge;

use crate::client::http::request::client::{HttpBody, HttpClient};
use crate::client::http::request::url::Url;
use crate::client::http::target::{Http, SignIn};
use crate::client::oauth::fetch::{Carrier, Fetcher};
use crate::client::oauth::login::Login;
use crate::client::oauth::records::Tokens;
use crate::client::oauth::settings::OAuth;
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
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        if let Some(mistake) = oauth.find_mistake() {
            return self.with_mistake(mistake);
        }
        self.sign_in = Some(Arc::new(Logins { oauth, by_server: Mutex::default() }));
        self
    }
}

/// The logins of one [`OAuth`], by the URL of the server.
struct Logins {
    oauth: OAuth,
    by_server: Mutex<HashMap<String, Arc<Login>>>,
}

impl SignIn for Logins {
    fn wrap(&self, server: &Http, url: &Url, client: Arc<dyn HttpClient>) -> Arc<dyn HttpClient> {
        let whole = url.uri().to_string();
        let name = whole.split('?').next().unwrap_or_default().to_owned();
        let mut by_server = self.by_server.lock();
        let login = by_server.entry(name.clone()).or_insert_with(|| {
            let carrier = match &server.client {
                Some(client) => Carrier::Application(client.clone()),
                None => Carrier::BuiltIn {
                    trusted_roots: server.trusted_roots.clone(),
                    connect_timeout: server.connect_timeout,
                },
            };
            let fetcher = Fetcher::new(url.clone(), self.oauth.allows_private_networks, carrier);
            Login::new(self.oauth.clone(), fetcher, name)
        });
        Arc::new(SignedIn { client, login: login.clone() })
    }
}

/// Adds a token to requests, and gets one when the server asks for it.
struct SignedIn {
    client: Arc<dyn HttpClient>,
    login: Arc<Login>,
}

impl HttpClient for SignedIn {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'_, Result<Response<HttpBody>>> {
        // The application knows better.
        if request.headers().contains_key(AUTHORIZATION) {
            return self.client.send(request);
        }
        Box::pin(async move {
            let mut tokens = self.login.current().await?;
            let (mut logins, mut step_ups) = (0, 0);
            loop {
                let response = self.client.send(with_token(&request, tokens.as_deref())?).await?;
                match response.status() {
                    StatusCode::UNAUTHORIZED if logins < MAX_LOGINS => {
                        logins += 1;
                        let challenge = find_challenge(response.headers(), |_| true);
                        // A new token that is refused at once is not renewed again and again.
                        tokens = Some(self.login.renew(tokens, challenge).await?);
                    }
                    StatusCode::FORBIDDEN => {
                        let lacks_scope =
                            |challenge: &Challenge| challenge.get("error") == Some("insufficient_scope");
                        let challenge = find_challenge(response.headers(), lacks_scope);
                        let (Some(challenge), Some(used)) = (challenge, tokens.clone()) else {
                            return Ok(response);
                        };
                        let wanted = challenge.scopes().unwrap_or_default();
                        if step_ups == MAX_STEP_UPS {
                            self.login.note_refused(wanted);
                            return Ok(response);
                        }
                        step_ups += 1;
                        match self.login.step_up(used, challenge).await? {
                            Some(more) => tokens = Some(more),
                            None => {
                                self.login.note_refused(wanted);
                                return Ok(response);
                            }
                        }
                    }
                    _ => return Ok(response),
                }
            }
        })
    }
}

fn with_token(request: &Request<Bytes>, tokens: Option<&Tokens>) -> Result<Request<Bytes>> {
    let mut request = request.clone();
    if let Some(tokens) = tokens {
        let mut value =
            HeaderValue::from_str(&format!("Bearer {}", tokens.access.reveal())).map_err(|_| {
                Error::new(
                    ErrorKind::PeerMisbehaved,
                    "the authorization server made a token that cannot be sent",
                )
            })?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    Ok(request)
}

/// Returns the first challenge for bearer tokens that fits.
fn find_challenge(headers: &HeaderMap, fits: impl Fn(&Challenge) -> bool) -> Option<Challenge> {
    let lines = headers.get_all(WWW_AUTHENTICATE).into_iter().filter_map(|line| line.to_str().ok());
    Challenge::read(lines).into_iter().find(|challenge| challenge.is("Bearer") && fits(challenge))
}

/// How often one request may lead to a login.
const MAX_LOGINS: usize = 2;
/// How often one request may lead to a login for more scopes.
const MAX_STEP_UPS: usize = 2;
