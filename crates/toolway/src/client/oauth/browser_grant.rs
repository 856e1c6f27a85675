//! How does a user sign in with a browser?

use toolway_protocol::oauth::{Callback, Found, Scopes, form};

use crate::client::oauth::context::{Flow, Form, OFFLINE, lacks, refused};
use crate::client::oauth::crypto::{hash, random_text};
use crate::client::oauth::fetch::host_of;
use crate::client::oauth::grants::{Browser, Paster};
use crate::client::oauth::loopback::Loopback;
use crate::client::oauth::records::ClientRecord;
use crate::ground::error::Result;

impl Flow<'_> {
    /// Lets a user sign in. Returns the client, and the form that exchanges the code for a token.
    pub(super) async fn sign_in(
        &self,
        found: &Found,
        scopes: &Scopes,
        browser: &Browser,
    ) -> Result<(ClientRecord, Form)> {
        let server = &found.server;
        let host = host_of(&server.issuer);
        if !server.has_pkce() && found.resource.is_some() {
            return Err(refused(format!(
                "the authorization server {host} does not protect logins with PKCE (S256), so the login was not begun"
            )));
        }
        let page = server.authorization_endpoint.as_deref();
        let page = page.ok_or_else(|| lacks(server, "authorization_endpoint"))?;
        // The user types a password there.
        if !self.fetcher.allows(page).await {
            return Err(lacks(server, "authorization_endpoint"));
        }
        let known = self.stored_client(&server.issuer).await?;
        let loopback = match browser.redirect.as_deref() {
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
        if scopes.contains(OFFLINE) {
            // Without it, OpenID Connect lets servers ignore the scope.
            query.push(("prompt", "consent"));
        }
        let separator = if page.contains('?') { '&' } else { '?' };
        (browser.open)(format!("{page}{separator}{}", form::encode(query))).await?;
        let callback = tokio::select! {
            callback = loopback.wait(&state, self.oauth.login_timeout) => callback?,
            callback = pasted_callback(browser.paste.as_deref(), &state) => callback,
        };
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
}

/// Waits until the user pastes the URL of this login to which the browser could not return.
async fn pasted_callback(paste: Option<&Paster>, state: &str) -> Callback {
    if let Some(paste) = paste {
        while let Some(url) = paste().await {
            let query =
                url.trim().split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default());
            if let Some(callback) = query.and_then(|query| Callback::read(query).ok())
                && callback.state() == state
            {
                return callback;
            }
        }
    }
    std::future::pending().await
}
