//! What does a program read that uses a client while the feature is off? The name of the feature, wherever it names one.
//!
//! The names stand for types that do not exist: a trait that nothing implements would have them, and its message is what
//! the compiler says at each use.

/// Has the types of the feature `client`, when it is on.
#[diagnostic::on_unimplemented(
    message = "clients and hubs are not built in: switch on the feature `client` of toolway",
    label = "switch on the feature `client`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"client\"] }}`, and `\"http\"` for servers on the network"
)]
pub trait ClientFeature {
    /// Stands for `Client`.
    type Client;
    /// Stands for `Hub`.
    type Hub;
}

/// The other end of a conversation; it needs the feature `client`.
#[doc(hidden)]
pub type Client = <() as ClientFeature>::Client;

/// Many servers as one; it needs the feature `client`.
#[doc(hidden)]
pub type Hub = <() as ClientFeature>::Hub;
