//! What must something do to be a tool of a model?

use std::sync::Arc;

use toolway_protocol::RawJson;
use toolway_protocol::types::ToolAnnotations;

use super::failure::ToolFailure;
use super::output::ToolOutput;
use crate::ground::future::BoxFuture;

/// Something that a model can call: a function of this program, a tool of a server, anything else.
///
/// A call ends in an output or in a failure, and both are for the model to read. Most tools need no implementation by hand:
/// [`tool`](super::tool()) makes one of a function.
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
    /// Its name, unique in a list. Any text; providers get one that they allow.
    fn name(&self) -> &str;

    /// What it does, written for a model; the empty text if nobody said.
    fn description(&self) -> &str;

    /// The JSON Schema of its arguments.
    fn input_schema(&self) -> &RawJson;

    /// Calls it. `arguments` is a JSON object.
    fn call(&self, arguments: RawJson) -> BoxFuture<'_, Result<ToolOutput, ToolFailure>>;

    /// A name for people.
    fn title(&self) -> Option<&str> {
        None
    }

    /// Hints about its behaviour, no better than whoever gave them.
    fn annotations(&self) -> Option<&ToolAnnotations> {
        None
    }

    /// The JSON Schema of its structured result.
    fn output_schema(&self) -> Option<&RawJson> {
        None
    }
}

macro_rules! pointers {
    ($($pointer:ident),*) => {$(
        /// What a pointer points to.
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
pub(super) struct Renamed {
    pub(super) name: String,
    pub(super) tool: Arc<dyn AgentTool>,
}

impl AgentTool for Renamed {
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
