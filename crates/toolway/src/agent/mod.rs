//! Tools for a model: native functions and tools of servers in one list, in the format of each provider.
//!
//! A program that talks to a model repeats four steps: it offers tools, reads the tool calls in the model's reply,
//! makes the calls, and sends the results back. Each step is one call of a function in this module. Only the requests
//! to the model are sent by the program itself.
//!
//! ```
//! use serde::Deserialize;
//! use serde_json::json;
//! use toolway::agent::{self, ToolCall, ToolSet};
//!
//! #[derive(Deserialize)]
//! struct Addends {
//!     a: f64,
//!     b: f64,
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let numbers = json!({"a": {"type": "number"}, "b": {"type": "number"}});
//! let schema = json!({"type": "object", "properties": numbers, "required": ["a", "b"]});
//! let add = agent::native_tool("add", "Add two numbers.", schema, async |of: Addends| (of.a + of.b).to_string());
//! let tools = ToolSet::new().with(add);
//!
//! // The message of a model that was offered these tools.
//! let message = json!({"role": "assistant", "content": null, "tool_calls": [
//!     {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{\"a\":2,\"b\":3}"}},
//!     {"id": "call_2", "type": "function", "function": {"name": "ad", "arguments": "{}"}},
//! ]});
//! let answers = tools.call_all(ToolCall::from_openai(&message)).await;
//! assert_eq!(answers[0].to_openai(), json!({"role": "tool", "tool_call_id": "call_1", "content": "5"}));
//! assert_eq!(answers[1].result.as_ref().unwrap_err().for_model(), "no such tool: `ad`, did you mean `add`?");
//! # });
//! ```
//!
//! | file | question |
//! |---|---|
//! | `tool.rs` | What must a type implement to be a tool of a model? |
//! | `native.rs` | How does a function of this program become a tool? |
//! | `set.rs` | Which tools does a model have, and how are its calls made? |
//! | `name.rs` | Which name does a tool get if a provider does not allow its own name? |
//! | `call.rs` | Which calls does a model's reply contain? |
//! | `answer.rs` | How is the model told the result? |
//! | `render.rs`, `schema.rs` | How is a list of tools written for a provider? |
//! | `output.rs`, `failure.rs` | What is the result of a call? |
//! | `join.rs` | How do many calls run concurrently? |

mod answer;
mod call;
mod failure;
mod join;
mod name;
mod native;
mod output;
mod render;
pub mod schema;
mod set;
mod tool;

pub use answer::ToolAnswer;
pub use call::ToolCall;
pub use failure::{FailureKind, ToolFailure};
pub use native::{IntoOutput, NativeTool, native_tool};
pub use output::ToolOutput;
pub use render::RenderedTools;
pub use schema::{Effect, Loss};
pub use set::{DuplicateName, ToolSet};
pub use tool::AgentTool;
#[doc(inline)]
pub use toolway_schema::dialects::Provider;
