//! How does a server get custom methods and notifications outside the protocol?

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolway_protocol::{Method, RawJson, RpcError};

use crate::ground::mistakes::BoxError;
use crate::server::failure::errors::{Failure, ToolError};
use crate::server::handler::arguments::{Arguments, Rules};
use crate::server::handler::function::{ErasedHandler, Handler, run_and_convert};
use crate::server::respond::tool::Json;

/// A type that a custom method may return. Its JSON becomes the result.
///
/// ```
/// use toolway::prelude::*;
///
/// #[derive(serde::Serialize)]
/// struct Health {
///     is_well: bool,
/// }
///
/// let server = Server::new("app", "1.0.0")
///     .method("acme/health", async || Json(Health { is_well: true }))
///     .method("acme/version", async || env!("CARGO_PKG_VERSION"))
///     .build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a method",
    note = "wrap it in `toolway::Json(…)` if it implements `serde::Serialize`"
)]
pub trait IntoReply {
    /// Converts the value to the result.
    fn into_reply(self) -> Result<RawJson, BoxError>;
}

impl<T: Serialize> IntoReply for Json<T> {
    fn into_reply(self) -> Result<RawJson, BoxError> {
        Ok(RawJson::from_value(&self.0)?)
    }
}

impl<T: IntoReply, E: Into<BoxError>> IntoReply for Result<T, E> {
    fn into_reply(self) -> Result<RawJson, BoxError> {
        self.map_err(Into::into)?.into_reply()
    }
}

macro_rules! replies {
    ($($type:ty),*) => {$(
        impl IntoReply for $type {
            fn into_reply(self) -> Result<RawJson, BoxError> {
                Json(self).into_reply()
            }
        }
    )*};
}
replies!(Value, RawJson, String, &str, bool, i32, i64, u32, u64, usize, f64);

/// Returns an empty object, because JSON-RPC requires a result.
impl IntoReply for () {
    fn into_reply(self) -> Result<RawJson, BoxError> {
        Ok(Value::Object(serde_json::Map::new()).into())
    }
}

/// The handler of a custom method.
pub(crate) type CustomMethod = ErasedHandler<Arguments, RawJson>;

pub(crate) fn custom_method<P: 'static, H: Handler<P>>(handler: H, rules: Option<Arc<Rules>>) -> CustomMethod
where
    H::Output: IntoReply,
{
    ErasedHandler::new(handler, move |handler, arguments: Arguments, scope| {
        let arguments = arguments.with_rules(rules.clone());
        run_and_convert(handler, &arguments, scope, |output| output.map_err(bad_params)?.into_reply())
    })
}

/// Converts an error text, which a tool would show to the model, to a protocol error. A custom method has no result for
/// errors.
fn bad_params(error: ToolError) -> ToolError {
    match error.0 {
        Failure::Visible(text) => ToolError(Failure::Rpc(RpcError::invalid_params(text))),
        face => ToolError(face),
    }
}

/// Returns why a name cannot be that of a custom method.
pub(crate) fn method_name_mistake(name: &str) -> Option<String> {
    if Method::from_name(name).facts().is_some() {
        return Some(format!("`{name}` is a method of the protocol and cannot be defined again"));
    }
    if name.is_empty() || name.starts_with("rpc.") {
        return Some(format!(
            "a method cannot have the name {name:?}: JSON-RPC reserves names that begin with `rpc.`"
        ));
    }
    None
}

/// Returns the arguments of a custom method or notification: its parameters without the `_meta` of the protocol.
pub(crate) fn arguments_of(params: Option<&RawJson>) -> Arguments {
    let own = params.map(|params| match params.decode() {
        Ok(Value::Object(mut members)) if members.contains_key("_meta") => {
            members.remove("_meta");
            Value::Object(members).into()
        }
        _ => params.clone(),
    });
    Arguments::new(own, None)
}
