//! Roots: which folders does a client work in?

use crate::capability::Settings;
use crate::wire::wire;

wire! {
    /// A folder that a client works in.
    ///
    /// ```
    /// use toolway_protocol::types::Root;
    ///
    /// assert_eq!(Root::new("file:///home/ada/project").with_name("project").name.as_deref(), Some("project"));
    /// ```
    pub struct Root {
        /// Where it is; a `file` URI.
        uri: String = "uri";
        /// A name for people.
        name (with_name): Option<String> = "name";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }

    /// The folders.
    ///
    /// ```
    /// use toolway_protocol::types::{ListRootsResult, Root};
    ///
    /// assert_eq!(ListRootsResult::new(vec![Root::new("file:///a")]).roots.len(), 1);
    /// ```
    pub struct ListRootsResult {
        /// The folders.
        roots: Vec<Root> = "roots";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since ANSWERS_ARE_RESULTS;
    }
}
