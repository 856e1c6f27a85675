//! Protected servers: only callers that an identity provider vouches for reach them over HTTP.
//!
//! [`Auth`] says which tokens a server accepts, [`ServerBuilder::auth`](crate::server::ServerBuilder::auth) protects a
//! server with it, and `#[tool(scopes("…"))]` protects a tool. Handlers take [`Claims<T>`](Claims).
//!
//! # Inside
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | How does the author of a server say which callers it accepts? |
//! | `gate.rs` | Who sends a request, by its credentials? |
//! | `introspection.rs`, `issuer.rs` | How is an authorization server asked about a token, and which tokens of an issuer are accepted? |
//! | `key_set.rs` over `keys.rs` | Which keys does an issuer have at the moment, and which of them has signed a token? |
//! | `discover.rs` | What does an issuer say about itself? |
//! | `dpop.rs` over `proof_rate.rs` | Does the caller have the key that its token is bound to, and how often may it prove it? |
//! | `verifications.rs`, `verdict_cache.rs` | Which tokens are being verified, and which were verified a moment ago? |
//! | `verifier.rs`, `claims.rs` | What is a verifier, and how does a handler take the claims of its caller? |
//!
//! A file uses only the files below it. The folder belongs to both sides: a server that fetches keys is a client.

mod claims;
mod discover;
mod dpop;
mod gate;
mod introspection;
mod issuer;
mod key_set;
pub(crate) mod keys;
mod proof_rate;
mod settings;
mod verdict_cache;
mod verifications;
mod verifier;

pub use claims::Claims;
pub use introspection::Introspection;
pub use issuer::TrustedIssuer;
pub use settings::Auth;
pub use verifier::{Rejected, Verified, Verifier};
