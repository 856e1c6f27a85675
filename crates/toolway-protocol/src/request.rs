//! What is being asked, and what is the answer? Typed, and the same in every era.

use std::sync::Arc;

use crate::json::{Members, RawJson};
use crate::jsonrpc::{Params, RpcError};
use crate::method::Method;
use crate::types::{CallToolResult, Listing, Tool};

/// A request that the application answers. What only keeps a conversation going (handshake, ping, discovery)
/// is answered by the era's adapter and does not appear here.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Request {
    /// Which tools are there?
    ListTools(Page),
    /// Call this tool.
    CallTool(CallTool),
}

/// Which page of a list is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Where the page before ended; the first page has none.
    pub cursor: Option<String>,
}

/// A tool call. The arguments are text until the tool, which alone knows their type, reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallTool {
    /// Which tool.
    pub name: String,
    /// With which arguments; nothing means `{}`.
    pub arguments: Option<RawJson>,
}

impl CallTool {
    /// A call with arguments.
    pub fn new(name: impl Into<String>, arguments: Option<RawJson>) -> Self {
        Self { name: name.into(), arguments }
    }
}

impl Request {
    /// Reads a request by its method. `Ok(None)`: the application does not answer this method.
    pub fn decode(method: &Method, params: &Params) -> Result<Option<Self>, RpcError> {
        let request = match method {
            Method::ListTools => Self::ListTools(Page { cursor: params.cursor()?.map(String::from) }),
            Method::CallTool => {
                let name =
                    params.name()?.ok_or_else(|| RpcError::invalid_params("`params.name` is missing"))?;
                Self::CallTool(CallTool { name: name.into_owned(), arguments: params.arguments()? })
            }
            _ => return Ok(None),
        };
        Ok(Some(request))
    }

    /// The request's method.
    pub fn method(&self) -> Method {
        match self {
            Self::ListTools(_) => Method::ListTools,
            Self::CallTool(_) => Method::CallTool,
        }
    }

    /// Writes the members of `params`; the codec adds what its era wants around them.
    pub fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::ListTools(page) => members.maybe("cursor", page.cursor.as_ref()),
            Self::CallTool(call) => {
                members.put("name", &call.name);
                members.maybe("arguments", call.arguments.as_ref());
            }
        }
    }
}

/// How a request ended well. Failures are `Err`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Outcome {
    /// Here is the answer.
    Complete(Reply),
}

/// The answer to a request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Reply {
    /// A page of tools.
    Tools(Arc<Listing<Tool>>),
    /// What the tool gave back.
    ToolCalled(CallToolResult),
}

impl Reply {
    /// Writes the members of the result that every era shares.
    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        match self {
            Self::Tools(page) => {
                members.put_raw("tools", page.written(members.encoder().version()));
                members.maybe("nextCursor", page.next_cursor().as_ref());
            }
            Self::ToolCalled(result) => result.put(members),
        }
    }

    /// The result's own `_meta`.
    pub(crate) fn meta(&self) -> Option<&crate::capability::Settings> {
        match self {
            Self::Tools(_) => None,
            Self::ToolCalled(result) => result.meta.as_ref(),
        }
    }

    /// Whether the result says how long it may be kept (stateless era).
    pub(crate) fn is_cacheable(&self) -> bool {
        match self {
            Self::Tools(_) => true,
            Self::ToolCalled(_) => false,
        }
    }
}
