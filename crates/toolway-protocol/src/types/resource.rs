//! Resources: how does a server describe a resource, and what is the result of reading one?

use super::listing::ListItem;
use super::{Annotations, Icon};
use crate::capability::JsonObject;
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
        /// The URI of the resource.
        uri: String = "uri";
        /// The name of the resource.
        name: String = "name";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description of the resource.
        description (with_description): Option<String> = "description";
        /// The media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The size in bytes.
        size (with_size): Option<i64> = "size";
        /// The icons to display.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// The audience and importance.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }
}

impl Resource {
    /// Returns the name to display: the title if present, otherwise the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// A set of resources whose URIs match a template (RFC 6570).
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
        /// The name of the template.
        name: String = "name";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description of the resources.
        description (with_description): Option<String> = "description";
        /// The media type, if all resources have the same one.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The icons to display.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// The audience and importance of the resources.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// The contents of a resource: text, or bytes in Base64.
    ///
    /// ```
    /// use toolway_protocol::types::ResourceContents;
    ///
    /// let contents = ResourceContents::new("file:///a.txt").with_text("hello");
    /// assert_eq!(contents.text.as_deref(), Some("hello"));
    /// ```
    pub struct ResourceContents {
        /// The URI of the resource.
        uri: String = "uri";
        /// The media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The text, if the resource is text.
        text (with_text): Option<String> = "text";
        /// The bytes in Base64, if the resource is binary.
        blob (with_blob): Option<String> = "blob";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// The result of reading a resource.
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
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
        frame "resultType", "ttlMs", "cacheScope";
    }
}

impl ReadResourceResult {
    /// Returns the first text among the contents.
    pub fn text(&self) -> Option<&str> {
        self.contents.iter().find_map(|contents| contents.text.as_deref())
    }
}

impl ListItem for Resource {
    const KEY: &'static str = "resources";
}

impl ListItem for ResourceTemplate {
    const KEY: &'static str = "resourceTemplates";
}
