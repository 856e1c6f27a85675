//! What are the blocks of a result made from? Text, images, audio, resources and links.

use toolway_protocol::types::{
    Annotations, AudioContent, Content, EmbeddedResource, ImageContent, Resource, ResourceContents,
    TextContent,
};

/// A type that converts to one block of content.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a block of content",
    note = "a block is text, `Text`, `Image`, `Audio`, `Embedded`, a link or `Content`"
)]
pub trait IntoContent {
    /// Converts the value to a block.
    fn into_content(self) -> Content;
}

/// A block of text.
///
/// ```
/// use toolway::server::Text;
/// use toolway::server::convert::IntoContent;
///
/// let block = Text::code("fn main() {}", "rust").into_content();
/// assert_eq!(block.as_text(), Some("```rust\nfn main() {}\n```"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Text(TextContent);

impl Text {
    /// Creates a block of text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(TextContent::new(text))
    }

    /// Creates a block of source code, fenced for Markdown. The fence is longer than any fence in the source.
    pub fn code(source: impl AsRef<str>, language: &str) -> Self {
        let source = source.as_ref();
        let mut fence = "```".to_owned();
        while source.contains(&fence) {
            fence.push('`');
        }
        let end = if source.ends_with('\n') { "" } else { "\n" };
        Self::new(format!("{fence}{language}\n{source}{end}{fence}"))
    }

    /// Sets the annotations, such as the audience.
    pub fn with_annotations(mut self, annotations: Annotations) -> Self {
        self.0.annotations = Some(Box::new(annotations));
        self
    }
}

macro_rules! media {
    ($($(#[$meta:meta])* $name:ident: $content:ident { $($(#[$doc:meta])* $kind:ident = $mime:literal),* $(,)? })*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name($content);

        impl $name {
            /// Creates a block from bytes of any media type. The bytes are encoded as Base64.
            pub fn new(bytes: impl AsRef<[u8]>, mime_type: impl Into<String>) -> Self {
                Self($content::new(base64(bytes.as_ref()), mime_type))
            }

            $($(#[$doc])*
            pub fn $kind(bytes: impl AsRef<[u8]>) -> Self {
                Self::new(bytes, $mime)
            })*

            /// Sets the annotations, such as the audience.
            pub fn with_annotations(mut self, annotations: Annotations) -> Self {
                self.0.annotations = Some(Box::new(annotations));
                self
            }
        }
    )*};
}
media! {
    /// An image.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Image;
    ///
    /// /// Draw a dot.
    /// #[tool]
    /// fn dot() -> Image {
    ///     Image::png(b"not really a picture")
    /// }
    /// ```
    Image: ImageContent {
        /// A PNG image.
        png = "image/png",
        /// A JPEG image.
        jpeg = "image/jpeg",
        /// A GIF image.
        gif = "image/gif",
        /// A WebP image.
        webp = "image/webp",
        /// An SVG image.
        svg = "image/svg+xml",
    }
    /// An audio recording.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::Audio;
    ///
    /// /// Make a noise.
    /// #[tool]
    /// fn noise() -> Audio {
    ///     Audio::wav(b"not really a sound")
    /// }
    /// ```
    Audio: AudioContent {
        /// WAV audio.
        wav = "audio/wav",
        /// MPEG (MP3) audio.
        mpeg = "audio/mpeg",
        /// Ogg audio.
        ogg = "audio/ogg",
        /// FLAC audio.
        flac = "audio/flac",
    }
}

/// A resource inside a result, with its contents.
///
/// ```
/// use toolway::server::Embedded;
///
/// let readme = Embedded::text("file:///README.md", "# Hello").with_mime_type("text/markdown");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded(ResourceContents);

impl Embedded {
    /// Embeds any contents.
    pub fn new(contents: ResourceContents) -> Self {
        Self(contents)
    }

    /// Embeds a text resource.
    pub fn text(uri: impl Into<String>, text: impl Into<String>) -> Self {
        Self(ResourceContents::new(uri).with_text(text))
    }

    /// Embeds a binary resource.
    pub fn blob(uri: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self(ResourceContents::new(uri).with_blob(base64(bytes.as_ref())))
    }

    /// Sets the media type.
    pub fn with_mime_type(mut self, mime_type: impl Into<String>) -> Self {
        self.0.mime_type = Some(mime_type.into());
        self
    }
}

macro_rules! blocks {
    ($($(#[$doc:meta])* $type:ty => |$value:ident| $content:expr;)*) => {$(
        $(#[$doc])*
        impl IntoContent for $type {
            fn into_content(self) -> Content {
                let $value = self;
                $content
            }
        }
    )*};
}
blocks! {
    Content => |content| content;
    String => |text| Content::text(text);
    &str => |text| Content::text(text);
    Text => |text| Content::Text(text.0);
    Image => |image| Content::Image(image.0);
    Audio => |audio| Content::Audio(audio.0);
    /// A link to the resource.
    Resource => |link| Content::Link(Box::new(link));
    ResourceContents => |contents| Content::Resource(Box::new(EmbeddedResource::new(contents)));
    Embedded => |embedded| embedded.0.into_content();
}

/// Encodes bytes for JSON.
pub(super) fn base64(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}
