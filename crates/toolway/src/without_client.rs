//! What does the compiler report if a program uses a client and the feature `client` is off? A message that names the
//! feature.
//!
//! The names below are aliases of types that do not exist: they are associated types of a trait that has no
//! implementation. The trait's diagnostic message appears at each use.

/// The trait whose diagnostic names the missing feature `client`. It has no implementations.
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

/// A client; it needs the feature `client`.
#[doc(hidden)]
pub type Client = <() as ClientFeature>::Client;

/// A client of many servers; it needs the feature `client`.
#[doc(hidden)]
pub type Hub = <() as ClientFeature>::Hub;
