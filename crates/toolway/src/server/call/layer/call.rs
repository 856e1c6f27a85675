//! What is one call to everybody who stands around it?

use std::fmt;
use std::sync::Arc;

use http::HeaderMap;
use toolway_protocol::RawJson;
use toolway_protocol::request::{CallTool, Request};

use crate::ground::peer::Peer;
use crate::server::Server;
use crate::server::call::layer::stages::{Kind, Path};
use crate::server::call::principal::Principal;
use crate::server::call::scope::Arrival;

/// A request that is about to be answered, and everything that is known about it. [Layers](crate::server::Service) get it and hand it
/// on.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::layer_fn;
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
    /// The layers that it has yet to pass.
    pub(crate) path: Path,
}

impl Call {
    /// What kind of thing is asked for.
    pub fn kind(&self) -> Kind {
        Kind::of(&self.request)
    }

    /// The name of the method, as the peer sent it: `tools/call`.
    pub fn method(&self) -> String {
        self.request.method().name().to_owned()
    }

    /// The name of the tool to call, as the peer sent it. There may be no such tool.
    pub fn tool(&self) -> Option<&str> {
        if let Request::CallTool(call) = &self.request { Some(&call.name) } else { None }
    }

    /// The name of the prompt to fill in, as the peer sent it.
    pub fn prompt(&self) -> Option<&str> {
        if let Request::GetPrompt(get) = &self.request { Some(&get.name) } else { None }
    }

    /// The URI of the resource to read, as the peer sent it.
    pub fn uri(&self) -> Option<&str> {
        if let Request::ReadResource(read) = &self.request { Some(&read.uri) } else { None }
    }

    /// The arguments of a tool, or the parameters of a method outside the protocol.
    pub fn arguments(&self) -> Option<&RawJson> {
        if let Request::CallTool(CallTool { arguments, .. }) | Request::Other(_, arguments) = &self.request {
            arguments.as_ref()
        } else {
            None
        }
    }

    /// Puts others in their place. They are checked as if the peer had sent them; a call that has none stays as it is.
    pub fn set_arguments(&mut self, arguments: impl Into<RawJson>) {
        if let Request::CallTool(CallTool { arguments: own, .. }) | Request::Other(_, own) = &mut self.request
        {
            *own = Some(arguments.into());
        }
    }

    /// Facts about the caller.
    pub fn peer(&self) -> &Peer {
        &self.arrival.peer
    }

    /// Who the caller is, if [`on_connect`](crate::server::ServerBuilder::on_connect) has said so.
    pub fn principal(&self) -> Option<&Principal> {
        self.arrival.principal.as_ref()
    }

    /// The headers that the request came with; none on a pipe.
    pub fn headers(&self) -> Option<&HeaderMap> {
        self.arrival.headers.as_deref()
    }

    /// The value of this type that came with the request.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.arrival.extensions.get()
    }

    /// Adds a value, which handlers get as [`Extension<T>`](crate::server::Extension). One of the same type is replaced. Whoever stands
    /// further outside, [hooks](crate::server::ServerBuilder::on_request_end) among them, does not see it.
    pub fn insert<T: Send + Sync + 'static>(&mut self, value: T) {
        self.arrival.extensions.insert(value);
    }

    /// The server that is to answer.
    pub fn server(&self) -> &Server {
        &self.server
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("method", &self.request.method()).finish_non_exhaustive()
    }
}
