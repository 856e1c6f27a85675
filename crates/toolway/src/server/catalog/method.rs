//! Methods and notifications outside the protocol: how does a server get its own?

use std::marker::PhantomData;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use toolway_protocol::{Method, RawJson, Reply, RpcError};

use crate::ground::future::BoxFuture;
use crate::ground::mistakes::BoxError;
use crate::ground::panic::catch;
use crate::server::Server;
use crate::server::call::scope::Scope;
use crate::server::failure::errors::{Failure, Subject, ToolError};
use crate::server::handler::arguments::{Arguments, Rules};
use crate::server::handler::function::{Adapted, Erased, Handler};
use crate::server::respond::tool::Json;

/// What a method outside the protocol may return: it becomes the result as it is.
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
    /// Makes the result.
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

/// An empty object: JSON-RPC wants a result.
impl IntoReply for () {
    fn into_reply(self) -> Result<RawJson, BoxError> {
        Ok(Value::Object(serde_json::Map::new()).into())
    }
}

/// A method of the application's own.
pub(crate) type CustomMethod = Erased<Arguments, RawJson>;

pub(crate) fn custom<P: 'static, H: Handler<P>>(handler: H, rules: Option<Arc<Rules>>) -> CustomMethod
where
    H::Output: IntoReply,
{
    let adapt =
        move |handler: &H, arguments: Arguments, scope| -> BoxFuture<'static, Result<RawJson, BoxError>> {
            let arguments = arguments.ruled_by(rules.clone());
            match handler.run(&arguments, scope) {
                Ok(running) => Box::pin(async move { running.await.into_reply() }),
                Err(error) => Box::pin(std::future::ready(Err(bad_params(error).into()))),
            }
        };
    Erased::new(Adapted { handler, adapt, parameters: PhantomData })
}

/// What a tool would tell the model is an error of the protocol here.
fn bad_params(error: ToolError) -> ToolError {
    match error.0 {
        Failure::Visible(text) => ToolError(Failure::Rpc(RpcError::invalid_params(text))),
        face => ToolError(face),
    }
}

/// Why a name cannot be that of a custom method.
pub(crate) fn wrong_name(name: &str) -> Option<String> {
    if Method::from_name(name).facts().is_some() {
        return Some(format!("`{name}` is a method of the protocol and cannot be defined again"));
    }
    if name.is_empty() || name.starts_with("rpc.") {
        return Some(format!(
            "a method cannot be called {name:?}: JSON-RPC keeps names that begin with `rpc.`"
        ));
    }
    None
}

impl Server {
    /// Calls a method of the application's own.
    pub(crate) async fn call_method(
        &self,
        method: &Method,
        params: Option<&RawJson>,
        scope: Scope,
    ) -> Result<Reply, Failure> {
        let Some(handler) = self.inner.methods.get(method.name()) else {
            return Err(RpcError::method_not_found(method.name()).into());
        };
        let arguments = Arguments::new(params.map(without_meta), None);
        let round = scope.round();
        let face = match catch(|| handler.call(arguments, scope)).await {
            Ok(Ok(result)) => return Ok(Reply::Custom(result)),
            Ok(Err(error)) => ToolError::hidden(error).0,
            Err(panic) => Failure::Hidden(Box::new(panic)),
        };
        let subject = Subject { method: method.name(), kind: "method", name: method.name() };
        Err(self.failed(&round, subject, face).await)
    }

    /// Whether there is a handler for a notification of the application's own.
    pub(crate) fn hears(&self, method: &Method) -> bool {
        self.inner.notifications.contains_key(method.name())
    }

    /// Hands over a notification of the application's own. Nothing is answered, whatever happens.
    pub(crate) async fn hear(&self, method: &Method, params: Option<&RawJson>, scope: Scope) {
        let Some(handler) = self.inner.notifications.get(method.name()) else { return };
        let arguments = Arguments::new(params.map(without_meta), None);
        let round = scope.round();
        let face = match catch(|| handler.call(arguments, scope)).await {
            Ok(Ok(_)) => return,
            Ok(Err(error)) => ToolError::hidden(error).0,
            Err(panic) => Failure::Hidden(Box::new(panic)),
        };
        // For the log and the hook only.
        let subject = Subject { method: method.name(), kind: "notification", name: method.name() };
        let _ = self.failed(&round, subject, face).await;
    }
}

/// The parameters without what the protocol put among them.
fn without_meta(params: &RawJson) -> RawJson {
    match params.decode() {
        Ok(Value::Object(mut members)) if members.contains_key("_meta") => {
            members.remove("_meta");
            Value::Object(members).into()
        }
        _ => params.clone(),
    }
}
