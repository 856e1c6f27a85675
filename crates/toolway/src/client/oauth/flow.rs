//! Which requests lead to a token?

use std::sync::Arc;

use toolway_protocol::oauth::{Challenge, Found, Scopes, ServerMetadata};

use crate::client::oauth::context::{Flow, GrantError, OFFLINE, add_scopes, refused};
use crate::client::oauth::dpop::{ALGORITHM, ProofKey};
use crate::client::oauth::fetch::host_of;
use crate::client::oauth::grants::{Dpop, Grant};
use crate::client::oauth::records::{ClientRecord, Tokens};
use crate::client::oauth::token_request::{Binding, Wanted};
use crate::ground::error::Result;

/// The words of the MCP server about keys that tokens are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyDemand {
    /// It takes tokens without a key.
    None,
    /// It takes both.
    Offered,
    /// It takes only tokens with a key.
    Needed,
}

impl Flow<'_> {
    /// Returns the scopes to ask for at first.
    pub(super) fn first_scopes(&self, found: &Found, challenge: Option<&Challenge>) -> Scopes {
        let of_server = || found.resource.as_ref().and_then(|resource| resource.scopes.clone());
        let wanted =
            self.oauth.scopes.clone().or_else(|| challenge.and_then(Challenge::scopes)).or_else(of_server);
        let wanted = wanted.unwrap_or_default();
        let is_offered = found.server.scopes.as_ref().is_some_and(|scopes| scopes.contains(OFFLINE));
        if is_offered && self.oauth.grant.needs_user() && self.oauth.scopes.is_none() {
            return wanted.union(&Scopes::parse(OFFLINE));
        }
        wanted
    }

    /// Returns whether a token without a key is of no use.
    pub(super) fn needs_key(&self, found: &Found, demand: KeyDemand) -> bool {
        let is_declared = || found.resource.as_ref().is_some_and(|resource| resource.needs_dpop);
        match self.oauth.dpop {
            Dpop::Never => false,
            Dpop::Always => true,
            Dpop::Auto => demand == KeyDemand::Needed || is_declared(),
        }
    }

    /// Decides whether a new token is bound to a key.
    pub(super) fn binding(&self, found: &Found, demand: KeyDemand) -> Result<Binding> {
        if self.oauth.dpop == Dpop::Never {
            return Ok(Binding::default());
        }
        let is_needed = self.needs_key(found, demand);
        let algorithms = found.server.dpop_algorithms.as_ref();
        let fits = algorithms.map(|known| known.iter().any(|algorithm| algorithm == ALGORITHM));
        match fits {
            Some(false) if is_needed => Err(refused(format!(
                "the authorization server {} binds tokens to keys, but not to those of this client ({ALGORITHM})",
                host_of(&found.server.issuer)
            ))),
            Some(true) if is_needed || demand == KeyDemand::Offered => {
                Ok(Binding { key: Some(Arc::new(ProofKey::generate()?)), is_needed })
            }
            None if is_needed => Ok(Binding { key: Some(Arc::new(ProofKey::generate()?)), is_needed }),
            _ => Ok(Binding::default()),
        }
    }

    /// Gets a token, with the help of a user if it must be.
    pub(super) async fn authorize(&self, found: &Found, scopes: &Scopes, binding: Binding) -> Result<Tokens> {
        self.check_issuer(&found.server)?;
        let wanted = Wanted { scopes, former: None, binding };
        let tokens = match &self.oauth.grant {
            Grant::Browser(browser) => {
                let (client, form) = self.sign_in(found, scopes, browser).await?;
                match self.token(found, &client, &form, &wanted).await {
                    // The authorization server has forgotten a client that introduced itself.
                    Err(error) if client.is_dynamic && error.is_about_client() => {
                        self.forget_client(&found.server.issuer, &client).await?;
                        let (client, form) = self.sign_in(found, scopes, browser).await?;
                        self.token(found, &client, &form, &wanted).await
                    }
                    outcome => outcome,
                }
            }
            Grant::Device(show) => self.device(found, &wanted, &**show).await,
            Grant::ClientCredentials => {
                let client = self.own_client(&found.server)?;
                let mut form = vec![("grant_type", "client_credentials".to_owned())];
                add_scopes(&mut form, scopes);
                self.token(found, &client, &form, &wanted).await
            }
            Grant::Workload(platform) => self.workload(found, &wanted, &**platform).await,
            Grant::Enterprise(enterprise) => self.enterprise(found, &wanted, enterprise).await,
            // A source is asked without any of these requests.
            Grant::Source(_) => return Err(refused("the login was ended".to_owned())),
        };
        tokens.map_err(|error| error.into_error(&found.server.issuer))
    }

    /// Gets a new token for one that has expired.
    pub(super) async fn refresh(&self, found: &Found, old: &Tokens) -> Result<Tokens, GrantError> {
        self.check_issuer(&found.server)?;
        let Some(refresh) = &old.refresh else {
            return Err(GrantError::Failed(refused("the login was ended".to_owned())));
        };
        let client = self.known_client(&found.server.issuer, &old.owner).await?;
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
        // A token that is bound to a key stays bound to it.
        let binding = Binding { key: old.proof_key.clone(), is_needed: old.proof_key.is_some() };
        let wanted = Wanted { scopes: &old.requested, former: Some(old), binding };
        let first = self.token(found, &client, &request(Some(&old.granted)), &wanted).await;
        match first {
            Err(GrantError::Refused { code, .. }) if code == "invalid_scope" => {
                self.token(found, &client, &request(None), &wanted).await
            }
            first => first,
        }
    }

    /// Gives tokens back to the authorization server. Returns whether it has taken them.
    pub(super) async fn revoke(&self, found: &Found, old: &Tokens) -> Result<bool> {
        self.check_issuer(&found.server)?;
        let Some(url) = found.server.revocation_endpoint.as_deref() else { return Ok(false) };
        let mut client = self.known_client(&found.server.issuer, &old.owner).await?;
        client.auth_method = revocation_method(&found.server, &client);
        let refresh = old.refresh.iter().map(|token| (token, "refresh_token"));
        let mut is_taken = None;
        for (token, kind) in refresh.chain([(&old.access, "access_token")]) {
            let form = vec![("token", token.reveal().to_owned()), ("token_type_hint", kind.to_owned())];
            let reply = self.post(self.fetcher, &found.server, url, &client, &form, None).await?;
            // Many servers cannot take back an access token. It ends soon, if it cannot be renewed.
            is_taken.get_or_insert(reply.status.is_success());
        }
        Ok(is_taken.unwrap_or_default())
    }
}

/// Returns the way in which a client proves who it is when it gives tokens back. Some servers give a secret to a client that
/// wants none, and need it only there.
fn revocation_method(server: &ServerMetadata, client: &ClientRecord) -> Option<String> {
    let own = client.auth_method.as_deref();
    let methods = server.revocation_endpoint_auth_methods.as_deref().unwrap_or_default();
    let is_known = |method: &&str| methods.iter().any(|known| known == method);
    let with_secret = || ["client_secret_basic", "client_secret_post"].into_iter().find(is_known);
    let method = match own {
        Some(own) if is_known(&own) => Some(own),
        own if client.secret.is_some() => with_secret().or(own),
        own => own,
    };
    method.map(str::to_owned)
}
