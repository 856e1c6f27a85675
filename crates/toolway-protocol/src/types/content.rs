//! The blocks that a result is made of.

use serde::Deserialize;
use serde::de::{self, Deserializer};

use crate::json::{Encode, Encoder, RawJson};

/// One block of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(TextContent),
    /// A kind of block that this crate does not know, kept as it came.
    Other(RawJson),
}

/// A block of text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct TextContent {
    /// The text.
    pub text: String,
}

impl Content {
    /// A block of text.
    ///
    /// ```
    /// use toolway_protocol::types::Content;
    ///
    /// assert_eq!(Content::text("hello").as_text(), Some("hello"));
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextContent { text: text.into() })
    }

    /// The text, if this is a block of text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(content) => Some(&content.text),
            Self::Other(_) => None,
        }
    }
}

impl Encode for Content {
    fn encode(&self, to: &mut Encoder<'_>) {
        match self {
            Self::Text(content) => to.object(|members| {
                members.put("type", "text");
                members.put("text", &content.text);
            }),
            Self::Other(text) => text.encode(to),
        }
    }
}

/// The tag decides, never the shape: a block with an unknown `type` is kept, one without is an error.
impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Tag<'t> {
            #[serde(borrow, rename = "type")]
            tag: std::borrow::Cow<'t, str>,
        }
        let text = RawJson::deserialize(deserializer)?;
        let Tag { tag } = text.decode().map_err(de::Error::custom)?;
        match &*tag {
            "text" => text.decode().map(Self::Text).map_err(de::Error::custom),
            _ => Ok(Self::Other(text)),
        }
    }
}
