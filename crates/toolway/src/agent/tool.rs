//! What must a type implement to be a tool of a model?

use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::ToolAnnotations;

use super::failure::ToolFailure;
use super::output::ToolOutput;
use crate::ground::future::BoxFuture;

/// A tool that a model can call: a function of this program, a tool of a server, or anything else.
///
/// A call ends in an output or in a failure, and the model reads both. Most programs do not implement this trait:
/// [`native_tool`](super::native_tool) makes a tool from a function.
///
/// ```
/// use toolway::agent::{AgentTool, ToolFailure, ToolOutput, ToolSet};
/// use toolway::{BoxFuture, RawJson};
///
/// struct Clock {
///     schema: RawJson,
/// }
///
/// impl AgentTool for Clock {
///     fn name(&self) -> &str {
///         "clock"
///     }
///
///     fn description(&self) -> &str {
///         "Seconds since the epoch."
///     }
///
///     fn input_schema(&self) -> &RawJson {
///         &self.schema
///     }
///
///     fn call(&self, _arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
///         Box::pin(async { Ok(ToolOutput::from("1767225600")) })
///     }
/// }
///
/// let tools = ToolSet::new().with(Clock { schema: RawJson::parse(r#"{"type":"object"}"#)? });
/// assert_eq!(tools.get("clock").unwrap().description(), "Seconds since the epoch.");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub trait AgentTool: Send + Sync + 'static {
    /// Returns the name of the tool, which should be unique in a list. It may be any text; each provider gets a name
    /// that it allows.
    fn name(&self) -> &str;

    /// Returns the description, written for a model. It may be empty.
    fn description(&self) -> &str;

    /// Returns the JSON Schema of the arguments.
    fn input_schema(&self) -> &RawJson;

    /// Calls the tool. `arguments` is a JSON object.
    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>>;

    /// Returns the title of the tool, a name for display.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Returns hints about the tool's behaviour. Trust them only as much as the server or program that they come from.
    fn annotations(&self) -> Option<&ToolAnnotations> {
        None
    }

    /// Returns the JSON Schema of the structured result.
    fn output_schema(&self) -> Option<&RawJson> {
        None
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        /// Forwards to the tool behind the pointer.
        impl<T: AgentTool + ?Sized> AgentTool for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn description(&self) -> &str {
                (**self).description()
            }

            fn input_schema(&self) -> &RawJson {
                (**self).input_schema()
            }

            fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
                (**self).call(arguments)
            }

            fn title(&self) -> Option<&str> {
                (**self).title()
            }

            fn annotations(&self) -> Option<&ToolAnnotations> {
                (**self).annotations()
            }

            fn output_schema(&self) -> Option<&RawJson> {
                (**self).output_schema()
            }
        }
    )*};
}
pointers!(Arc, Box);

/// A tool under another name.
pub(super) struct RenamedTool {
    pub(super) name: String,
    pub(super) tool: Arc<dyn AgentTool>,
}

impl AgentTool for RenamedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn input_schema(&self) -> &RawJson {
        self.tool.input_schema()
    }

    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>> {
        self.tool.call(arguments)
    }

    fn title(&self) -> Option<&str> {
        self.tool.title()
    }

    fn annotations(&self) -> Option<&ToolAnnotations> {
        self.tool.annotations()
    }

    fn output_schema(&self) -> Option<&RawJson> {
        self.tool.output_schema()
    }
}
