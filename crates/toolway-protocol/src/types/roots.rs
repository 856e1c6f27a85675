//! Roots: which directories does a client work in?

use crate::capability::JsonObject;
use crate::wire::wire;

wire! {
    /// A directory that a client works in.
    ///
    /// ```
    /// use toolway_protocol::types::Root;
    ///
    /// assert_eq!(Root::new("file:///home/ada/project").with_name("project").name.as_deref(), Some("project"));
    /// ```
    pub struct Root {
        /// The URI of the directory, with the scheme `file`.
        uri: String = "uri";
        /// The display name.
        name (with_name): Option<String> = "name";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// The result of `roots/list`.
    ///
    /// ```
    /// use toolway_protocol::types::{ListRootsResult, Root};
    ///
    /// assert_eq!(ListRootsResult::new(vec![Root::new("file:///a")]).roots.len(), 1);
    /// ```
    pub struct ListRootsResult {
        /// The directories.
        roots: Vec<Root> = "roots";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since ANSWER_META;
    }
}
