//! How does the identity provider of a company vouch for a user? Enterprise-managed authorization.
//!
//! The identity provider exchanges the identity token of the user for a grant (ID-JAG) for one authorization server, which
//! makes a token from it. The grant is neither kept nor shown.

use toolway_protocol::oauth::{Discovery, Found, TokenType};

use crate::client::oauth::context::{Flow, GrantError, add_scopes, refused};
use crate::client::oauth::fetch::host_of;
use crate::client::oauth::grants::Enterprise;
use crate::client::oauth::records::{ClientRecord, Tokens};
use crate::client::oauth::token_request::Wanted;
use crate::ground::error::{Error, ErrorKind};

impl Flow<'_> {
    /// Gets a token with the help of an identity provider.
    pub(super) async fn enterprise(
        &self,
        found: &Found,
        wanted: &Wanted<'_>,
        enterprise: &Enterprise,
    ) -> Result<Tokens, GrantError> {
        let server = &found.server;
        if server.grant_profiles.as_ref().is_some_and(|known| !known.iter().any(|profile| profile == PROFILE))
        {
            return Err(GrantError::Failed(refused(format!(
                "the authorization server {} takes no grants of identity providers",
                host_of(&server.issuer)
            ))));
        }
        let client = match self.oauth.identity.id {
            Some(_) => self.own_client(server)?,
            None => self.client(server, None, "").await?,
        };
        let idp = &enterprise.idp;
        let fetcher = self.fetcher.for_named(&idp.issuer)?;
        let search = Discovery::of_issuer(&idp.issuer)
            .map_err(|refusal| Error::new(ErrorKind::Misuse, format!("the identity provider: {refusal}")))?;
        let provider = self.search(search, &fetcher).await?.server;
        let identity_token = (enterprise.identity_token)().await?;
        let mut form = vec![
            ("grant_type", TOKEN_EXCHANGE.to_owned()),
            ("requested_token_type", ID_JAG.to_owned()),
            ("subject_token", identity_token.trim().to_owned()),
            ("subject_token_type", ID_TOKEN.to_owned()),
            ("audience", server.issuer.clone()),
        ];
        form.extend(found.resource.as_ref().map(|resource| ("resource", resource.resource.clone())));
        add_scopes(&mut form, wanted.scopes);
        let known_there = ClientRecord::new(idp.client_id.clone(), idp.secret.clone());
        let grant = self.ask(&fetcher, &provider, &known_there, &form, None).await;
        let grant = grant.map_err(|error| GrantError::Failed(error.into_error(&idp.issuer)))?;
        if grant.token_type != TokenType::NotApplicable || grant.issued_token_type.as_deref() != Some(ID_JAG)
        {
            return Err(GrantError::Failed(Error::new(
                ErrorKind::PeerMisbehaved,
                format!(
                    "{} makes something else than a grant for {}",
                    host_of(&idp.issuer),
                    host_of(&server.issuer)
                ),
            )));
        }
        let mut form = vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", grant.access_token)];
        add_scopes(&mut form, grant.scopes.as_ref().unwrap_or(wanted.scopes));
        self.token(found, &client, &form, wanted).await
    }
}

const PROFILE: &str = "urn:ietf:params:oauth:grant-profile:id-jag";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
pub(super) const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
