//! What does the compiler say if a program serves over HTTP while the feature is off? The name of the feature.
//!
//! The functions exist but cannot be called: they require a trait that no type implements, and the trait's message is
//! the compiler's error. The bound has a lifetime parameter, because the compiler would reject a bound without one
//! already at the definition.

use std::convert::Infallible;
use std::future::Ready;

use crate::ground::error::Result;
use crate::server::Server;
use crate::server::build::builder::ServerBuilder;

/// Never implemented. Its message names the feature `http`.
#[diagnostic::on_unimplemented(
    message = "HTTP is not built in: switch on the feature `http` of toolway",
    label = "switch on the feature `http`",
    note = "in Cargo.toml: `toolway = {{ version = \"…\", features = [\"http\"] }}`"
)]
pub trait HttpFeature<'a> {}

#[doc(hidden)]
impl ServerBuilder {
    /// Serves over HTTP; requires the feature `http`.
    pub fn serve_http<'a>(self, address: impl Sized) -> Ready<Result<()>>
    where
        Self: HttpFeature<'a>,
    {
        let _ = address;
        unreachable!("no type implements this trait")
    }

    /// Sets keys for states that clients carry; requires the feature `http`. Without it no state leaves the process.
    pub fn seal_keys<'a>(self, keys: impl Sized) -> Self
    where
        Self: HttpFeature<'a> + Sized,
    {
        let _ = keys;
        self
    }

    /// Makes a tower service; requires the feature `http`.
    pub fn http<'a>(self) -> Result<Infallible>
    where
        Self: HttpFeature<'a>,
    {
        unreachable!("no type implements this trait")
    }
}

#[doc(hidden)]
impl Server {
    /// Serves over HTTP; requires the feature `http`.
    pub fn serve_http<'a>(&self, address: impl Sized) -> Ready<Result<()>>
    where
        Self: HttpFeature<'a>,
    {
        let _ = address;
        unreachable!("no type implements this trait")
    }

    /// Makes a tower service; requires the feature `http`.
    pub fn http<'a>(&self) -> Result<Infallible>
    where
        Self: HttpFeature<'a>,
    {
        unreachable!("no type implements this trait")
    }
}
