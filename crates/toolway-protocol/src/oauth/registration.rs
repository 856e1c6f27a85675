//! How does a client introduce itself?

use std::fmt;

use serde_json::{Value, json};

use super::document::Document;

/// The request of a client that registers (RFC 7591).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration<'a> {
    /// The name that users see.
    pub client_name: &'a str,
    /// The URL to which the browser is sent back.
    pub redirect_uri: &'a str,
    /// `true` if the client wants device codes, too.
    pub has_device_grant: bool,
}

impl Registration<'_> {
    /// Writes the request. It names no scope: a server may bind the client to it for ever.
    ///
    /// ```
    /// use toolway_protocol::oauth::Registration;
    ///
    /// let redirect_uri = "http://localhost:3118/callback";
    /// let request = Registration { client_name: "Notes", redirect_uri, has_device_grant: false }.to_json();
    /// assert_eq!(request["application_type"], "native");
    /// assert_eq!(request["grant_types"][1], "refresh_token");
    /// ```
    pub fn to_json(&self) -> Value {
        let is_native = !self.redirect_uri.starts_with("https://");
        let mut grants = vec!["authorization_code", "refresh_token"];
        if self.has_device_grant {
            grants.push("urn:ietf:params:oauth:grant-type:device_code");
        }
        json!({
            "client_name": self.client_name,
            "redirect_uris": [self.redirect_uri],
            "grant_types": grants,
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "application_type": if is_native { "native" } else { "web" },
        })
    }
}

/// The reply of an authorization server to a client that registers.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RegistrationReply {
    /// The id of the client.
    pub client_id: String,
    /// The secret of the client. Servers give one although the client asked for none.
    pub client_secret: Option<String>,
    /// The time at which the secret expires, in seconds since 1970; `None` if it does not.
    pub secret_expires_at: Option<u64>,
    /// The way in which the client proves who it is.
    pub auth_method: Option<String>,
    /// The redirect URIs that the server has accepted.
    pub redirect_uris: Option<Vec<String>>,
    /// The URL at which the registration can be changed or deleted.
    pub registration_uri: Option<String>,
    /// The token for that.
    pub registration_token: Option<String>,
}

impl RegistrationReply {
    /// Reads a reply. Returns `None` if it has no client id.
    pub fn read(reply: &[u8]) -> Option<Self> {
        let reply = Document::read(reply)?;
        Some(Self {
            client_id: reply.text("client_id")?,
            client_secret: reply.text("client_secret"),
            secret_expires_at: reply.seconds("client_secret_expires_at").filter(|at| *at > 0),
            auth_method: reply.text("token_endpoint_auth_method"),
            redirect_uris: reply.list("redirect_uris"),
            registration_uri: reply.text("registration_client_uri"),
            registration_token: reply.text("registration_access_token"),
        })
    }
}

impl fmt::Debug for RegistrationReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationReply").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_read_and_does_not_show_its_secrets() {
        let reply = br#"{"client_id": "c", "client_secret": "hidden", "client_secret_expires_at": 0,
            "registration_access_token": "hidden", "redirect_uris": ["http://localhost/callback"]}"#;
        let reply = RegistrationReply::read(reply).unwrap();
        assert_eq!((reply.client_secret.as_deref(), reply.secret_expires_at), (Some("hidden"), None));
        assert!(!format!("{reply:?}").contains("hidden"));
        assert_eq!(RegistrationReply::read(br#"{"client_secret": "x"}"#), None);
    }

    #[test]
    fn a_client_on_the_web_says_so() {
        let registration =
            Registration { client_name: "n", redirect_uri: "https://app.example/cb", has_device_grant: true };
        let request = registration.to_json();
        assert_eq!(request["application_type"], "web");
        assert_eq!(request["grant_types"].as_array().unwrap().len(), 3);
        assert_eq!(request.get("scope"), None);
    }
}
