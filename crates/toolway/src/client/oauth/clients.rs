//! Which client is this at an authorization server?

use toolway_protocol::oauth::{Registration, RegistrationReply, ServerMetadata};

use crate::client::oauth::context::{Flow, refused};
use crate::client::oauth::fetch::{Post, host_of};
use crate::client::oauth::grants::Grant;
use crate::client::oauth::records::{ClientRecord, TokenOwner};
use crate::client::oauth::secret::Secret;
use crate::client::oauth::vault::VaultKey;
use crate::ground::error::{Error, ErrorKind, Result};

impl Flow<'_> {
    /// Returns the id of this client at an authorization server, which it may have to ask for.
    pub(super) async fn client(
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
        // A registration for another redirect is not good for this login: a client for browsers gets no codes for devices.
        let fits = |client: &ClientRecord| {
            !client.is_expired() && client.redirect_uri.as_deref() == Some(redirect_uri)
        };
        if let Some(known) = known.filter(fits) {
            return Ok(known);
        }
        self.register(server, redirect_uri).await
    }

    /// Returns the client that the application has registered by hand.
    pub(super) fn own_client(&self, server: &ServerMetadata) -> Result<ClientRecord> {
        self.check_issuer(server)?;
        let identity = &self.oauth.identity;
        let id = identity
            .id
            .clone()
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "give a client id with `OAuth::client_id`"))?;
        Ok(ClientRecord::own(id, identity.secret.clone()))
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
        let registration = Registration {
            client_name,
            redirect_uri,
            has_device_grant: matches!(self.oauth.grant, Grant::Device(_)),
        };
        let (content_type, body) = ("application/json", registration.to_json().to_string());
        let reply =
            self.fetcher.post(Post { url, content_type, body, authorization: None, proof: None }).await?;
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
            is_own: false,
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
    pub(super) async fn stored_client(&self, issuer: &str) -> Result<Option<ClientRecord>> {
        let stored = self.oauth.vault.get(&self.client_key(issuer)).await?;
        Ok(stored.and_then(|stored| ClientRecord::from_bytes(&stored)))
    }

    /// Returns the client that a token was made for.
    pub(super) async fn known_client(&self, issuer: &str, owner: &TokenOwner) -> Result<ClientRecord> {
        let (identity, id) = (&self.oauth.identity, &owner.client_id);
        if identity.id.as_ref() == Some(id) {
            return Ok(ClientRecord::own(id.clone(), identity.secret.clone()));
        }
        let stored = self.stored_client(issuer).await?.filter(|client| client.id == *id);
        Ok(stored.unwrap_or_else(|| ClientRecord {
            auth_method: owner.client_auth_method.clone(),
            is_dynamic: self.is_dynamic(id),
            ..ClientRecord::new(id.clone(), owner.client_secret.clone())
        }))
    }

    /// Returns whether a client with this id has registered itself, because the application did not name it.
    pub(super) fn is_dynamic(&self, id: &str) -> bool {
        let identity = &self.oauth.identity;
        identity.id.as_deref() != Some(id) && identity.document.as_deref() != Some(id)
    }

    /// Forgets a client, unless another process has registered anew.
    pub(super) async fn forget_client(&self, issuer: &str, client: &ClientRecord) -> Result<()> {
        self.oauth.vault.swap(&self.client_key(issuer), Some(client.to_bytes()), None).await.map(drop)
    }
}
