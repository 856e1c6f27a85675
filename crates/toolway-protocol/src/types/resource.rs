//! Resources: how a server describes them, and what reading one gives.

use super::listing::Listed;
use super::{Annotations, Icon};
use crate::capability::Settings;
use crate::wire::wire;

wire! {
    /// A resource as a server lists it.
    ///
    /// ```
    /// use toolway_protocol::types::Resource;
    ///
    /// let readme = Resource::new("file:///README.md", "readme").with_mime_type("text/markdown");
    /// assert_eq!(readme.display_name(), "readme");
    /// ```
    pub struct Resource {
        /// Where it is.
        uri: String = "uri";
        /// Its name.
        name: String = "name";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What it is.
        description (with_description): Option<String> = "description";
        /// Its media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// Its length in bytes.
        size (with_size): Option<i64> = "size";
        /// Pictures of it.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// For whom it is.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }
}

impl Resource {
    /// The name to show: the title if there is one.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// A family of resources: their URIs follow from a template (RFC 6570).
    ///
    /// ```
    /// use toolway_protocol::types::ResourceTemplate;
    ///
    /// let notes = ResourceTemplate::new("notes://{id}", "note").with_description("One note.");
    /// assert_eq!(notes.uri_template, "notes://{id}");
    /// ```
    pub struct ResourceTemplate {
        /// The template.
        uri_template: String = "uriTemplate";
        /// Its name.
        name: String = "name";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What the resources are.
        description (with_description): Option<String> = "description";
        /// The media type, if all of them have the same.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// Pictures of it.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// For whom they are.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }

    /// What is in a resource: text, or bytes in Base64.
    ///
    /// ```
    /// use toolway_protocol::types::ResourceContents;
    ///
    /// let contents = ResourceContents::new("file:///a.txt").with_text("hello");
    /// assert_eq!(contents.text.as_deref(), Some("hello"));
    /// ```
    pub struct ResourceContents {
        /// Where it is.
        uri: String = "uri";
        /// Its media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The text, if it is text.
        text (with_text): Option<String> = "text";
        /// The bytes in Base64, if it is not.
        blob (with_blob): Option<String> = "blob";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta", since META_EVERYWHERE;
    }

    /// What reading a resource gives.
    ///
    /// ```
    /// use toolway_protocol::types::{ReadResourceResult, ResourceContents};
    ///
    /// let result = ReadResourceResult::new(vec![ResourceContents::new("a://b").with_text("hello")]);
    /// assert_eq!(result.contents.len(), 1);
    /// ```
    pub struct ReadResourceResult {
        /// The contents, one or several.
        contents: Vec<ResourceContents> = "contents";
        /// Anything else.
        meta (with_meta): Option<Settings> = "_meta";
        frame "resultType", "ttlMs", "cacheScope";
    }
}

impl ReadResourceResult {
    /// The text of the first contents that are text.
    pub fn text(&self) -> Option<&str> {
        self.contents.iter().find_map(|contents| contents.text.as_deref())
    }
}

impl Listed for Resource {
    const KEY: &'static str = "resources";
}

impl Listed for ResourceTemplate {
    const KEY: &'static str = "resourceTemplates";
}
