//! What does the compiler say if a server discovers its elements while the feature is off? The name of the feature.
//!
//! See `without_http.rs` for how this works.

use crate::server::build::builder::ServerBuilder;

/// Never implemented. Its message names the feature `discover`.
#[diagnostic::on_unimplemented(
    message = "marked functions are not collected: switch on the feature `discover` of toolway",
    label = "switch on the feature `discover`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"discover\"] }}`"
)]
pub trait DiscoverFeature<'a> {}

#[doc(hidden)]
impl ServerBuilder {
    /// Adds the marked functions of the caller's package; requires the feature `discover`.
    pub fn discover<'a>(self) -> Self
    where
        Self: DiscoverFeature<'a>,
    {
        self
    }

    /// Adds the marked functions of a module; requires the feature `discover`.
    pub fn discover_in<'a>(self, module: &str) -> Self
    where
        Self: DiscoverFeature<'a>,
    {
        let _ = module;
        self
    }
}

/// Registers nothing. The macros call this for each marked function or type.
#[doc(hidden)]
#[macro_export]
macro_rules! __register {
    ($($item:tt)*) => {};
}
