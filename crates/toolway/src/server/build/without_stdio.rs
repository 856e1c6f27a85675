//! What does a program read that serves over stdin and stdout while the feature is off? The name of the feature.
//!
//! The functions can be named and not called: a trait that nothing implements is asked for, and its message is what the
//! compiler says. A bound without a lifetime of the caller would be refused here already.

use std::future::Ready;

use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

/// Is there when the feature `stdio` is on.
#[diagnostic::on_unimplemented(
    message = "stdio is not built in: switch on the feature `stdio` of toolway",
    label = "switch on the feature `stdio`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"stdio\"] }}`"
)]
pub trait StdioFeature<'a> {}

#[doc(hidden)]
impl ServerBuilder {
    /// Serves over stdin and stdout; it needs the feature `stdio`.
    pub fn serve_stdio<'a>(self) -> Ready<Result<()>>
    where
        Self: StdioFeature<'a>,
    {
        unreachable!("nothing implements what it asks for")
    }
}

#[doc(hidden)]
impl Server {
    /// Serves over stdin and stdout; it needs the feature `stdio`.
    pub fn serve_stdio<'a>(&self) -> Ready<Result<()>>
    where
        Self: StdioFeature<'a>,
    {
        unreachable!("nothing implements what it asks for")
    }
}
