//! What do layers see of a call?

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::request::{CallTool, Request};

use crate::ground::peer::Peer;
use crate::server::Server;
use crate::server::call::layer::stack::{CallKind, LayerPath};
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;

/// A request that is about to be answered, and everything that is known about it.
/// [Layers](crate::server::layer::Service) receive it and pass it on.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::layer::layer_fn;
///
/// struct Arrived(std::time::SystemTime);
///
/// let stamp = layer_fn(|mut call, next| async move {
///     call.insert(Arrived(std::time::SystemTime::now())); // handlers take it as `Extension<Arrived>`
///     next.run(call).await
/// });
/// let server = Server::new("app", "1.0.0").layer(stamp).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub struct Call {
    pub(crate) server: Server,
    pub(crate) request: Request,
    pub(crate) arrival: Box<Arrival>,
    /// The layers that the call still has to pass through.
    pub(crate) layer_path: LayerPath,
}

impl Call {
    /// Returns the kind of the request.
    pub fn kind(&self) -> CallKind {
        CallKind::of(&self.request)
    }

    /// Returns the name of the method as the client sent it, such as `tools/call`.
    pub fn method(&self) -> String {
        self.request.method().name().to_owned()
    }

    /// Returns the name of the tool to call, as the client sent it. The tool may not exist.
    pub fn tool(&self) -> Option<&str> {
        if let Request::CallTool(call) = &self.request { Some(&call.name) } else { None }
    }

    /// Returns the name of the prompt to fill in, as the client sent it.
    pub fn prompt(&self) -> Option<&str> {
        if let Request::GetPrompt(get) = &self.request { Some(&get.name) } else { None }
    }

    /// Returns the URI of the resource to read, as the client sent it.
    pub fn uri(&self) -> Option<&str> {
        if let Request::ReadResource(read) = &self.request { Some(&read.uri) } else { None }
    }

    /// Returns the arguments of a tool, or the parameters of a custom method.
    pub fn arguments(&self) -> Option<&RawJson> {
        if let Request::CallTool(CallTool { arguments, .. }) | Request::Other(_, arguments) = &self.request {
            arguments.as_ref()
        } else {
            None
        }
    }

    /// Replaces the arguments of a tool or the parameters of a custom method. They are checked as if the client had
    /// sent them. For calls of other kinds this does nothing.
    pub fn set_arguments(&mut self, arguments: impl Into<RawJson>) {
        if let Request::CallTool(CallTool { arguments: own, .. }) | Request::Other(_, own) = &mut self.request
        {
            *own = Some(arguments.into());
        }
    }

    /// Returns facts about the client.
    pub fn peer(&self) -> &Peer {
        &self.arrival.peer
    }

    /// Returns the principal, if [`on_connect`](crate::server::ServerBuilder::on_connect) or the application set one.
    pub fn principal(&self) -> Option<&Principal> {
        self.arrival.principal.as_ref()
    }

    /// Returns the HTTP headers of the request; `None` on a pipe.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.arrival.headers.as_deref()
    }

    /// Returns the value of this type that is attached to the request.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.arrival.extensions.get()
    }

    /// Attaches a value, which handlers get as [`Extension<T>`](crate::server::Extension). It replaces a value of the
    /// same type. Outer layers and [hooks](crate::server::ServerBuilder::on_request_end) do not see the value.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.arrival.extensions.insert(value);
    }

    /// Returns the server that answers.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.request.method()).finish_non_exhaustive()
    }
}
