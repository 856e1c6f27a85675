//! Content blocks, the parts of results, prompts and sampling messages.

use serde::de::{self, Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::{Annotations, Resource, ResourceContents};
use crate::capability::JsonObject;
use crate::json::tag::find_tag;
use crate::json::{Encode, Encoder, RawJson};
use crate::version::since;
use crate::wire::wire;

wire! {
    /// A block of text.
    ///
    /// ```
    /// use toolway_protocol::types::TextContent;
    ///
    /// assert_eq!(TextContent::new("hello").text, "hello");
    /// ```
    pub struct TextContent {
        "type": "text";
        /// The text.
        text: String = "text";
        /// The audience and importance.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// An image.
    ///
    /// ```
    /// use toolway_protocol::types::ImageContent;
    ///
    /// assert_eq!(ImageContent::new("AAAA", "image/png").mime_type, "image/png");
    /// ```
    pub struct ImageContent {
        "type": "image";
        /// The image, in Base64.
        data: String = "data";
        /// The media type.
        mime_type: String = "mimeType";
        /// The audience and importance.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// A piece of audio.
    ///
    /// ```
    /// use toolway_protocol::types::AudioContent;
    ///
    /// assert_eq!(AudioContent::new("AAAA", "audio/wav").mime_type, "audio/wav");
    /// ```
    pub struct AudioContent {
        "type": "audio";
        /// The audio data, in Base64.
        data: String = "data";
        /// The media type.
        mime_type: String = "mimeType";
        /// The audience and importance.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// A resource with its contents.
    ///
    /// ```
    /// use toolway_protocol::types::{EmbeddedResource, ResourceContents};
    ///
    /// let embedded = EmbeddedResource::new(ResourceContents::new("a://b").with_text("hello"));
    /// assert_eq!(embedded.resource.uri, "a://b");
    /// ```
    pub struct EmbeddedResource {
        "type": "resource";
        /// The resource.
        resource: ResourceContents = "resource";
        /// The audience and importance.
        annotations (with_annotations): Option<Box<Annotations>> = "annotations";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta", since META_EVERYWHERE;
    }

    /// A tool call that a model requests (sampling).
    ///
    /// ```
    /// use toolway_protocol::types::ToolUseContent;
    /// use toolway_protocol::capability::JsonObject;
    ///
    /// assert_eq!(ToolUseContent::new("1", "add", JsonObject::new()).name, "add");
    /// ```
    pub struct ToolUseContent {
        "type": "tool_use";
        /// The id that the result must refer to.
        id: String = "id";
        /// The name of the tool.
        name: String = "name";
        /// The arguments of the call.
        input: JsonObject = "input";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }

    /// The result of a tool call that a model requested (sampling).
    ///
    /// ```
    /// use toolway_protocol::types::{Content, ToolResultContent};
    ///
    /// let result = ToolResultContent::new("1", vec![Content::text("5")]);
    /// assert_eq!(result.tool_use_id, "1");
    /// ```
    pub struct ToolResultContent {
        "type": "tool_result";
        /// The id of the tool call.
        tool_use_id: String = "toolUseId";
        /// The content blocks.
        content: Vec<Content> = "content";
        /// The result as JSON.
        structured_content (with_structured_content): Option<RawJson> = "structuredContent" or null, if value_fits;
        /// `true` if the blocks describe a failure.
        is_error (with_is_error): Option<bool> = "isError";
        /// Additional metadata.
        meta (with_meta): Option<JsonObject> = "_meta";
    }
}

/// Returns whether the revision allows this structured result. Older revisions allow only objects. A client of such a
/// revision gets any other value only as a text block.
pub(super) fn value_fits(value: &RawJson, to: &Encoder<'_>) -> bool {
    to.supports(since::ANY_STRUCTURED_CONTENT) || value.is_object()
}

/// A content block.
///
/// ```
/// use toolway_protocol::types::Content;
/// use toolway_protocol::RawJson;
///
/// let text = RawJson::parse(r#"{"type":"hologram","data":7}"#)?;
/// assert!(matches!(text.decode()?, Content::Other(_)), "an unknown kind is kept");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// An image.
    Image(ImageContent),
    /// Audio.
    Audio(AudioContent),
    /// A resource with its contents.
    Resource(Box<EmbeddedResource>),
    /// A link to a resource.
    Link(Box<Resource>),
    /// A tool call that a model requests (sampling only).
    ToolUse(Box<ToolUseContent>),
    /// The result of a tool call that a model requested (sampling only).
    ToolResult(Box<ToolResultContent>),
    /// A kind of block that this crate does not know, kept as received.
    Other(RawJson),
}

impl Content {
    /// Creates a block of text.
    ///
    /// ```
    /// use toolway_protocol::types::Content;
    ///
    /// assert_eq!(Content::text("hello").as_text(), Some("hello"));
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent::new(text))
    }

    /// Returns the text, if this is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            _ => None,
        }
    }
}

impl Encode for Content {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Text(content) => content.encode(to),
            Self::Image(content) => content.encode(to),
            // A revision without audio or links gets text instead: an unknown kind of block breaks older clients.
            Self::Audio(content) if !to.supports(since::AUDIO) => {
                TextContent::new(format!("[audio, {}]", content.mime_type)).encode(to);
            }
            Self::Audio(content) => content.encode(to),
            Self::Resource(content) => content.encode(to),
            Self::Link(link) if !to.supports(since::RESOURCE_LINK) => {
                TextContent::new(format!("[{}]({})", link.display_name(), link.uri)).encode(to);
            }
            Self::Link(link) => to.object(|members| {
                members.put("type", "resource_link");
                link.put(members);
            }),
            Self::ToolUse(content) => content.encode(to),
            Self::ToolResult(content) => content.encode(to),
            Self::Other(text) => text.encode(to),
        }
    }
}

/// Reads a block by its `type`, never by its shape. A block with an unknown `type` is kept; a block without one is an
/// error.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let block = Box::<RawValue>::deserialize(deserializer)?;
        let text = block.get();
        let kind = find_tag(text.as_bytes(), "type").map_err(de::Error::custom)?;
        let kind = kind.ok_or_else(|| de::Error::missing_field("type"))?;
        let read = match &*kind {
            "text" => serde_json::from_str(text).map(Self::Text),
            "image" => serde_json::from_str(text).map(Self::Image),
            "audio" => serde_json::from_str(text).map(Self::Audio),
            "resource" => serde_json::from_str(text).map(Self::Resource),
            "resource_link" => serde_json::from_str(text).map(|mut link: Box<Resource>| {
                link.extra.remove("type");
                Self::Link(link)
            }),
            "tool_use" => serde_json::from_str(text).map(Self::ToolUse),
            "tool_result" => serde_json::from_str(text).map(Self::ToolResult),
            _ => return Ok(Self::Other(RawJson::from_raw(block))),
        };
        read.map_err(de::Error::custom)
    }
}
