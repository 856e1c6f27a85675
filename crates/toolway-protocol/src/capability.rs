//! What each side says it can do.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::wire::wire;

/// An open set of settings; an empty one means "yes, without further ado".
pub type Settings = Map<String, Value>;

wire! {
    /// What a client can do.
    ///
    /// Unknown members are kept. A known one that is not an object is an error, because a peer that sends
    /// `"sampling": true` means something that no revision defines.
    ///
    /// ```
    /// use toolway_protocol::capability::{ClientCapabilities, Settings};
    ///
    /// let capabilities = ClientCapabilities::new().with_elicitation(Settings::new());
    /// assert!(capabilities.elicitation.is_some());
    /// ```
    pub struct ClientCapabilities {
        /// Its model can be asked.
        sampling (with_sampling): Option<Settings> = "sampling";
        /// Its user can be asked.
        elicitation (with_elicitation): Option<Settings> = "elicitation", since ELICITATION;
        /// It tells its roots.
        roots (with_roots): Option<Settings> = "roots";
        /// It can run requests as tasks.
        tasks (with_tasks): Option<Settings> = "tasks", since CORE_TASKS;
        /// Anything outside the standard.
        experimental (with_experimental): Option<BTreeMap<String, Value>> = "experimental";
        /// Extensions and their settings.
        extensions (with_extensions): Option<BTreeMap<String, Value>> = "extensions";
    }

    /// What a server can do.
    ///
    /// ```
    /// use toolway_protocol::capability::{ServerCapabilities, Settings};
    ///
    /// let capabilities = ServerCapabilities::new().with_tools(Settings::new());
    /// assert!(capabilities.tools.is_some());
    /// ```
    pub struct ServerCapabilities {
        /// It has tools.
        tools (with_tools): Option<Settings> = "tools";
        /// It has resources.
        resources (with_resources): Option<Settings> = "resources";
        /// It has prompts.
        prompts (with_prompts): Option<Settings> = "prompts";
        /// It completes arguments.
        completions (with_completions): Option<Settings> = "completions", since COMPLETIONS;
        /// It sends log messages.
        logging (with_logging): Option<Settings> = "logging";
        /// It can run requests as tasks.
        tasks (with_tasks): Option<Settings> = "tasks", since CORE_TASKS;
        /// Anything outside the standard.
        experimental (with_experimental): Option<BTreeMap<String, Value>> = "experimental";
        /// Extensions and their settings.
        extensions (with_extensions): Option<BTreeMap<String, Value>> = "extensions";
    }
}
