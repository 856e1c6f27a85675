//! Which part of the server answers a request? The one match, the same for every era and every door.

use toolway_protocol::request::{CallTool, Outcome, Page, Reply, Request};
use toolway_protocol::{Method, RpcError};

use super::Server;
use super::arguments::closest;
use super::context::Scope;

impl Server {
    /// Whether this server has anything behind a method. A method that is not offered does not exist.
    pub(super) fn offers(&self, method: &Method) -> bool {
        match method {
            Method::ListTools | Method::CallTool => !self.inner.registry.is_empty(),
            _ => false,
        }
    }

    /// Answers a request.
    pub(super) async fn answer(&self, request: Request, scope: Scope) -> Result<Outcome, RpcError> {
        let reply = match request {
            Request::ListTools(page) => self.list_tools(&page)?,
            Request::CallTool(call) => self.call_tool(call, scope).await?,
            request => return Err(RpcError::method_not_found(request.method().name())),
        };
        Ok(Outcome::Complete(reply))
    }

    fn list_tools(&self, page: &Page) -> Result<Reply, RpcError> {
        // Everything fits one page, so no cursor was ever given out.
        match page.cursor {
            None => Ok(Reply::Tools(self.inner.registry.page())),
            Some(_) => Err(RpcError::invalid_params("`params.cursor` is not one that this server gave out")),
        }
    }

    async fn call_tool(&self, call: CallTool, scope: Scope) -> Result<Reply, RpcError> {
        let Some(tool) = self.inner.registry.tool(&call.name) else {
            let hint = match closest(&call.name, self.inner.registry.names()) {
                Some(name) => format!(", did you mean `{name}`?"),
                None => String::new(),
            };
            return Err(RpcError::invalid_params(format!("no such tool: `{}`{hint}", call.name)));
        };
        Ok(Reply::ToolCalled(tool.call(call.arguments, scope).await))
    }
}
