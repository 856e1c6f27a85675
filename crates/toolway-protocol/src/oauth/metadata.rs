//! What do the resource server and the authorization server say about themselves?

use super::document::Document;
use super::scope::Scopes;

/// The document of a protected MCP server (RFC 9728).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceMetadata {
    /// The name of the server, which tokens are made for.
    pub resource: String,
    /// The authorization servers whose tokens it accepts.
    pub authorization_servers: Vec<String>,
    /// The scopes that it knows.
    pub scopes: Option<Scopes>,
    /// `true` if its tokens must be bound to a key (DPoP).
    pub needs_dpop: bool,
    /// The algorithms that it accepts in proofs of the key.
    pub dpop_algorithms: Option<Vec<String>>,
}

impl ResourceMetadata {
    /// Reads a document. Returns `None` if it is not an object with a `resource`.
    ///
    /// ```
    /// use toolway_protocol::oauth::ResourceMetadata;
    ///
    /// let document = br#"{"resource": "https://notes.example/mcp", "authorization_servers": ["https://id.example"]}"#;
    /// assert_eq!(ResourceMetadata::read(document).unwrap().authorization_servers, ["https://id.example"]);
    /// assert!(ResourceMetadata::read(b"<!doctype html>").is_none());
    /// ```
    pub fn read(document: &[u8]) -> Option<Self> {
        let document = Document::read(document)?;
        Some(Self {
            resource: document.text("resource")?,
            authorization_servers: document.list("authorization_servers").unwrap_or_default(),
            scopes: document.scopes("scopes_supported").filter(|scopes| !scopes.is_empty()),
            needs_dpop: document.flag("dpop_bound_access_tokens_required"),
            dpop_algorithms: document.list("dpop_signing_alg_values_supported"),
        })
    }
}

/// The document of an authorization server (RFC 8414, OpenID Connect Discovery).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerMetadata {
    /// The name of the server.
    pub issuer: String,
    /// The URL at which users sign in.
    pub authorization_endpoint: Option<String>,
    /// The URL at which tokens are made.
    pub token_endpoint: Option<String>,
    /// The URL at which clients introduce themselves.
    pub registration_endpoint: Option<String>,
    /// The URL at which tokens are given back.
    pub revocation_endpoint: Option<String>,
    /// The URL at which a device asks for a code that its user enters elsewhere.
    pub device_authorization_endpoint: Option<String>,
    /// The URL at which a server asks if a token is valid.
    pub introspection_endpoint: Option<String>,
    /// The keys of the server.
    pub jwks_uri: Option<String>,
    /// The scopes that it knows.
    pub scopes: Option<Scopes>,
    /// The ways to hide a code from those who see it pass.
    pub code_challenge_methods: Option<Vec<String>>,
    /// The ways in which clients prove who they are at the token endpoint.
    pub token_endpoint_auth_methods: Option<Vec<String>>,
    /// The ways in which clients prove who they are when they give tokens back.
    pub revocation_endpoint_auth_methods: Option<Vec<String>>,
    /// The ways to get a token.
    pub grant_types: Option<Vec<String>>,
    /// The profiles of these ways.
    pub grant_profiles: Option<Vec<String>>,
    /// The algorithms that it accepts in proofs of a key.
    pub dpop_algorithms: Option<Vec<String>>,
    /// `true` if it names itself when it sends the browser back (RFC 9207).
    pub names_itself: bool,
    /// `true` if the id of a client can be the URL of a document about it.
    pub accepts_client_documents: bool,
}

impl ServerMetadata {
    /// Reads a document. Returns `None` if it is not an object with an `issuer`.
    pub fn read(document: &[u8]) -> Option<Self> {
        let document = Document::read(document)?;
        Some(Self {
            issuer: document.text("issuer")?,
            authorization_endpoint: document.text("authorization_endpoint"),
            token_endpoint: document.text("token_endpoint"),
            registration_endpoint: document.text("registration_endpoint"),
            revocation_endpoint: document.text("revocation_endpoint"),
            device_authorization_endpoint: document.text("device_authorization_endpoint"),
            introspection_endpoint: document.text("introspection_endpoint"),
            jwks_uri: document.text("jwks_uri"),
            scopes: document.scopes("scopes_supported"),
            code_challenge_methods: document.list("code_challenge_methods_supported"),
            token_endpoint_auth_methods: document.list("token_endpoint_auth_methods_supported"),
            revocation_endpoint_auth_methods: document.list("revocation_endpoint_auth_methods_supported"),
            grant_types: document.list("grant_types_supported"),
            grant_profiles: document.list("authorization_grant_profiles_supported"),
            dpop_algorithms: document.list("dpop_signing_alg_values_supported"),
            names_itself: document.flag("authorization_response_iss_parameter_supported"),
            accepts_client_documents: document.flag("client_id_metadata_document_supported"),
        })
    }

    /// The endpoints of an MCP server of 2025-03-26 that describes none: it is its own authorization server.
    pub fn of_origin(origin: &str) -> Self {
        let endpoint = |name: &str| Some(format!("{origin}/{name}"));
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: endpoint("authorize"),
            token_endpoint: endpoint("token"),
            registration_endpoint: endpoint("register"),
            code_challenge_methods: Some(vec!["S256".to_owned()]),
            ..Self::default()
        }
    }

    /// Returns whether the server says that it hides codes by SHA-256. A client must not sign in without it.
    pub fn has_pkce(&self) -> bool {
        self.code_challenge_methods
            .as_ref()
            .is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_the_wrong_type_are_absent() {
        let document = br#"{"issuer": "https://id.example", "token_endpoint": 7, "scopes_supported": "a b",
            "code_challenge_methods_supported": "S256", "authorization_response_iss_parameter_supported": "true"}"#;
        let metadata = ServerMetadata::read(document).unwrap();
        assert_eq!(metadata.token_endpoint, None);
        assert_eq!(metadata.scopes, Some(Scopes::parse("a b")));
        assert!(!metadata.has_pkce() && !metadata.names_itself);
        assert_eq!(ServerMetadata::read(br#"{"issuer": ["https://id.example"]}"#), None);
        assert_eq!(ResourceMetadata::read(br#"{"resource": ""}"#), None);
    }
}
