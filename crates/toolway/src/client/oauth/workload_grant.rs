//! How does a program sign in with a token of its platform?

use std::slice;

use base64_simd::URL_SAFE_NO_PAD;
use serde_json::Value;
use toolway_protocol::oauth::{Found, HttpUrl, ServerMetadata, is_same_issuer};

use crate::client::oauth::context::{Flow, GrantError, add_scopes, refused, token_endpoint};
use crate::client::oauth::enterprise_grant::JWT_BEARER;
use crate::client::oauth::fetch::host_of;
use crate::client::oauth::grants::{PlatformToken, WorkloadTarget};
use crate::client::oauth::records::{ClientRecord, Tokens};
use crate::client::oauth::settings::Identity;
use crate::client::oauth::token_request::Wanted;

impl Flow<'_> {
    /// Exchanges a token of the platform for a token for the MCP server.
    pub(super) async fn workload(
        &self,
        found: &Found,
        wanted: &Wanted<'_>,
        platform: &PlatformToken,
    ) -> Result<Tokens, GrantError> {
        let server = &found.server;
        let token_endpoint = token_endpoint(server)?.to_owned();
        let platform_token =
            platform(WorkloadTarget { issuer: server.issuer.clone(), token_endpoint }).await?;
        let platform_token = platform_token.trim();
        let Identity { id, issuer, is_for_any_issuer, .. } = &self.oauth.identity;
        // The MCP server names the authorization server. If that one is hostile, it could use a token for another
        // authorization server there.
        if issuer.is_none() && !is_for_any_issuer && !is_for(platform_token, server) {
            return Err(GrantError::Failed(refused(format!(
                "the token of the platform is not for {}, which the server names: get a token with this audience, or \
                 name the authorization server that may have it with `OAuth::for_issuer`",
                host_of(&server.issuer)
            ))));
        }
        let mut form = vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", platform_token.to_owned())];
        add_scopes(&mut form, wanted.scopes);
        let client = ClientRecord::new(id.clone().unwrap_or_default(), None);
        self.token(found, &client, &form, wanted).await
    }
}

/// Returns whether a token (JWT) is for an authorization server and for no other one.
fn is_for(token: &str, server: &ServerMetadata) -> bool {
    let claims = token.split('.').nth(1).and_then(|claims| URL_SAFE_NO_PAD.decode_to_vec(claims).ok());
    let claims: Value = claims.and_then(|claims| serde_json::from_slice(&claims).ok()).unwrap_or_default();
    let audiences = match &claims["aud"] {
        Value::Array(audiences) => audiences,
        audience => slice::from_ref(audience),
    };
    // A server could name the token endpoint of another authorization server as its own.
    let own_endpoint = server.token_endpoint.as_deref().filter(|url| {
        let parts = (HttpUrl::parse(url), HttpUrl::parse(&server.issuer));
        matches!(parts, (Some(url), Some(issuer)) if url.is_same_origin(&issuer))
    });
    let is_server =
        |audience: &str| is_same_issuer(audience, &server.issuer) || Some(audience) == own_endpoint;
    !audiences.is_empty() && audiences.iter().all(|audience| audience.as_str().is_some_and(is_server))
}
