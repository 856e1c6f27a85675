//! What does the compiler say if a program serves over stdin and stdout while the feature is off? The name of the
//! feature.
//!
//! The functions exist but cannot be called: they require a trait that no type implements, and the trait's message is
//! the compiler's error. The bound has a lifetime parameter, because the compiler would reject a bound without one
//! already at the definition.

use std::future::Ready;

use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

/// Never implemented. Its message names the feature `stdio`.
#[diagnostic::on_unimplemented(
    message = "stdio is not built in: switch on the feature `stdio` of toolway",
    label = "switch on the feature `stdio`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"stdio\"] }}`"
)]
pub trait StdioFeature<'a> {}

#[doc(hidden)]
impl ServerBuilder {
    /// Serves over stdin and stdout; requires the feature `stdio`.
    pub fn serve_stdio<'a>(self) -> Ready<Result<()>>
    where
        Self: StdioFeature<'a>,
    {
        unreachable!("no type implements this trait")
    }
}

#[doc(hidden)]
impl Server {
    /// Serves over stdin and stdout; requires the feature `stdio`.
    pub fn serve_stdio<'a>(&self) -> Ready<Result<()>>
    where
        Self: StdioFeature<'a>,
    {
        unreachable!("no type implements this trait")
    }
}
