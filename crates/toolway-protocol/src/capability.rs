//! The capabilities that clients and servers declare.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::wire;

/// The settings of one capability. An empty map declares the capability without any settings.
pub type JsonObject = Map<String, Value>;

wire! {
    /// The capabilities that a client declares.
    ///
    /// Unknown members are kept. A known member that is not an object is an error: no revision defines what
    /// `"sampling": true` means.
    ///
    /// ```
    /// use toolway_protocol::capability::{ClientCapabilities, JsonObject};
    ///
    /// let capabilities = ClientCapabilities::new().with_elicitation(JsonObject::new());
    /// assert!(capabilities.elicitation.is_some());
    /// ```
    pub struct ClientCapabilities {
        /// The server may request sampling from the client's model.
        sampling (with_sampling): Option<JsonObject> = "sampling";
        /// The server may ask the client's user for input.
        elicitation (with_elicitation): Option<JsonObject> = "elicitation", since ELICITATION;
        /// The client can list its roots.
        roots (with_roots): Option<JsonObject> = "roots";
        /// The client can run requests as tasks.
        tasks (with_tasks): Option<JsonObject> = "tasks", since CORE_TASKS;
        /// Capabilities outside the standard.
        experimental (with_experimental): Option<BTreeMap<String, Value>> = "experimental";
        /// Extensions and their settings.
        extensions (with_extensions): Option<BTreeMap<String, Value>> = "extensions";
    }

    /// The capabilities that a server declares.
    ///
    /// ```
    /// use toolway_protocol::capability::{JsonObject, ServerCapabilities};
    ///
    /// let capabilities = ServerCapabilities::new().with_tools(JsonObject::new());
    /// assert!(capabilities.tools.is_some());
    /// ```
    pub struct ServerCapabilities {
        /// The server has tools.
        tools (with_tools): Option<JsonObject> = "tools";
        /// The server has resources.
        resources (with_resources): Option<JsonObject> = "resources";
        /// The server has prompts.
        prompts (with_prompts): Option<JsonObject> = "prompts";
        /// The server completes arguments.
        completions (with_completions): Option<JsonObject> = "completions", since COMPLETIONS;
        /// The server sends log messages.
        logging (with_logging): Option<JsonObject> = "logging";
        /// The server can run requests as tasks.
        tasks (with_tasks): Option<JsonObject> = "tasks", since CORE_TASKS;
        /// Capabilities outside the standard.
        experimental (with_experimental): Option<BTreeMap<String, Value>> = "experimental";
        /// Extensions and their settings.
        extensions (with_extensions): Option<BTreeMap<String, Value>> = "extensions";
    }
}
