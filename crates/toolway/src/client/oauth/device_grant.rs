//! How does a user sign in on another device? RFC 8628.

use std::time::Duration;

use tokio::time::{Instant, sleep};
use toolway_protocol::oauth::{DeviceReply, Found};

use crate::client::oauth::context::{Flow, GrantError, add_scopes, is_passing, lacks, refused};
use crate::client::oauth::fetch::host_of;
use crate::client::oauth::grants::{DeviceCode, ShowCode};
use crate::client::oauth::records::Tokens;
use crate::client::oauth::token_request::Wanted;
use crate::ground::error::{Error, ErrorKind};

impl Flow<'_> {
    /// Shows a code to the user, and waits until the user has entered it elsewhere.
    pub(super) async fn device(
        &self,
        found: &Found,
        wanted: &Wanted<'_>,
        show: &ShowCode,
    ) -> Result<Tokens, GrantError> {
        let server = &found.server;
        let host = host_of(&server.issuer);
        let endpoint = server.device_authorization_endpoint.as_deref();
        let endpoint = endpoint.ok_or_else(|| lacks(server, "device_authorization_endpoint"))?;
        let known = self.stored_client(&server.issuer).await?;
        let client = self.client(server, known, NO_REDIRECT).await?;
        let mut form = Vec::new();
        add_scopes(&mut form, wanted.scopes);
        form.extend(self.resource(found).map(|resource| ("resource", resource)));
        let reply = self.post(self.fetcher, server, endpoint, &client, &form, None).await?;
        if !reply.status.is_success() {
            return Err(GrantError::Failed(refused(format!(
                "the authorization server {host} gives no code for another device ({})",
                reply.status.as_u16()
            ))));
        }
        let reply = DeviceReply::read(&reply.body).ok_or_else(|| {
            Error::new(ErrorKind::PeerMisbehaved, format!("{host} gives a code that cannot be shown"))
        })?;
        let limit = Duration::from_secs(reply.expires_in).min(self.oauth.login_timeout);
        let until = Instant::now() + limit;
        let mut interval = Duration::from_secs(reply.interval);
        show(DeviceCode {
            user_code: reply.user_code,
            page: reply.verification_uri,
            page_with_code: reply.verification_uri_complete,
        })
        .await;
        let form = vec![("grant_type", DEVICE_CODE.to_owned()), ("device_code", reply.device_code)];
        while Instant::now() + interval < until {
            sleep(interval).await;
            match self.token(found, &client, &form, wanted).await {
                Err(GrantError::Refused { code, .. }) if code == "authorization_pending" => {}
                Err(GrantError::Refused { code, .. }) if code == "slow_down" => interval += SLOW_DOWN,
                Err(GrantError::Refused { code, .. }) if code == "access_denied" => {
                    return Err(GrantError::Failed(refused("the login was declined".to_owned())));
                }
                Err(GrantError::Refused { code, .. }) if code == "expired_token" => break,
                // The server or the way to it is away for a while.
                Err(GrantError::Failed(error)) if is_passing(&error) => interval += SLOW_DOWN,
                outcome => return outcome,
            }
        }
        let message = format!("no one entered the code within {} s: try again", limit.as_secs());
        Err(GrantError::Failed(Error::new(ErrorKind::Timeout, message)))
    }
}

const DEVICE_CODE: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// A client that registers must name a URL to return to, which is not used.
const NO_REDIRECT: &str = "http://localhost/callback";
/// How much longer a client waits if it asks too often (RFC 8628).
const SLOW_DOWN: Duration = Duration::from_secs(5);
