//! What does a program read that serves over HTTP while the feature is off? The name of the feature.
//!
//! The functions can be named and not called: a trait that nothing implements is asked for, and its message is what the
//! compiler says. A bound without a lifetime of the caller would be refused here already.

use std::convert::Infallible;
use std::future::Ready;

use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

/// Is there when the feature `http` is on.
#[diagnostic::on_unimplemented(
    message = "HTTP is not built in: switch on the feature `http` of toolway",
    label = "switch on the feature `http`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"http\"] }}`"
)]
pub trait HttpFeature<'a> {}

#[doc(hidden)]
impl ServerBuilder {
    /// Serves over HTTP; it needs the feature `http`.
    pub fn serve_http<'a>(self, address: impl Sized) -> Ready<Result<()>>
    where
        Self: HttpFeature<'a>,
    {
        let _ = address;
        unreachable!("nothing implements what it asks for")
    }

    /// Makes it a tower service; it needs the feature `http`.
    pub fn http<'a>(self) -> Result<Infallible>
    where
        Self: HttpFeature<'a>,
    {
        unreachable!("nothing implements what it asks for")
    }
}

#[doc(hidden)]
impl Server {
    /// Serves over HTTP; it needs the feature `http`.
    pub fn serve_http<'a>(&self, address: impl Sized) -> Ready<Result<()>>
    where
        Self: HttpFeature<'a>,
    {
        let _ = address;
        unreachable!("nothing implements what it asks for")
    }

    /// Makes it a tower service; it needs the feature `http`.
    pub fn http<'a>(&self) -> Result<Infallible>
    where
        Self: HttpFeature<'a>,
    {
        unreachable!("nothing implements what it asks for")
    }
}
