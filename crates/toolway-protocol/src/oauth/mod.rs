//! OAuth as MCP uses it, without I/O: how does a client find out where and how to sign in, what does each reply mean, and
//! which tokens does a server accept?
//!
//! | file | question |
//! |---|---|
//! | `form.rs` | How are forms and queries read and written? |
//! | `url.rs` | Which parts does a URL have? |
//! | `scope.rs` | Which scopes are named? |
//! | `challenge.rs` | What does a server demand in `WWW-Authenticate`? |
//! | `document.rs` | Which members does a document of a server have? |
//! | `metadata.rs` | What do the resource server and the authorization server say about themselves? |
//! | `resource.rs` | Does a document speak of this server? |
//! | `refusal.rs` | Why does a search for an authorization server fail? |
//! | `discovery.rs` | Which documents are fetched, in which order, and which are refused? |
//! | `callback.rs` | What did the browser bring back, and may it be used? |
//! | `registration.rs` | How does a client introduce itself? |
//! | `token.rs` | What does the token endpoint answer? |
//! | `device.rs` | Which code does a user enter on another device? |
//! | `jwt.rs` | What does a signed token say, and is it for this server? |
//! | `jwk.rs` | Which public keys does a document have, and what may each verify? |
//! | `introspection.rs` | What does an authorization server say about a token that it was asked about? |
//!
//! A file uses only the files before it.

mod callback;
mod challenge;
mod device;
mod discovery;
mod document;
pub mod form;
mod introspection;
mod jwk;
mod jwt;
mod metadata;
mod refusal;
mod registration;
mod resource;
mod scope;
mod token;
mod url;

pub use callback::{Callback, CallbackError};
pub use challenge::Challenge;
pub use device::DeviceReply;
pub use discovery::{Answer, Discovery, Found, Next};
pub use introspection::IntrospectionReply;
pub use jwk::{Jwk, KeyMaterial, MAX_KEYS};
pub use jwt::{Algorithm, ClaimRules, Jwt, JwtError, MAX_JWT};
pub use metadata::{ResourceMetadata, ServerMetadata};
pub use refusal::Refusal;
pub use registration::{Registration, RegistrationReply};
pub use resource::{is_resource_of, is_same_issuer, resource_of};
pub use scope::Scopes;
pub use token::{TokenError, TokenReply, TokenType};
pub use url::HttpUrl;
