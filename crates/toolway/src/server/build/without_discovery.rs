//! What does the compiler report if a server discovers its elements and the feature `discover` is off? A message that
//! names the feature.

use crate::server::build::builder::ServerBuilder;

/// The trait whose diagnostic names the missing feature `discover`. It has no implementations.
#[diagnostic::on_unimplemented(
    message = "marked functions are not collected: switch on the feature `discover` of toolway",
    label = "switch on the feature `discover`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"discover\"] }}`"
)]
pub trait DiscoverFeature<'a> {}

// The lifetime keeps the compiler from judging the bounds here instead of where the methods are called.
#[doc(hidden)]
impl ServerBuilder {
    pub fn discover<'a>(self) -> Self
    where
        Self: DiscoverFeature<'a>,
    {
        self
    }

    pub fn discover_in<'a>(self, _: &'a str) -> Self
    where
        Self: DiscoverFeature<'a>,
    {
        self
    }
}
