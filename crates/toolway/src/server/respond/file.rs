//! How does a file become a resource? Which media type does it have, and is it text?

use std::path::{Path, PathBuf};

use toolway_protocol::types::ReadResourceResult;

use super::resource::{IntoResource, ResourceInfo};
use crate::server::failure::errors::ResourceError;

/// The contents of a file: text if it is UTF-8 and the name does not suggest a binary type, otherwise a blob. The media
/// type is the one that the resource lists; if the resource lists none, the media type follows from the file's name. If
/// the file does not exist, the client gets the error for a resource that does not exist.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::File;
///
/// #[resource(uri = "config://app")]
/// fn config() -> File {
///     File::new("/etc/app.toml")
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    name: PathBuf,
    /// The contents, if they are known already.
    bytes: Option<Vec<u8>>,
}

impl File {
    /// Uses the file at this path. It is opened when the resource is read.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { name: path.into(), bytes: None }
    }

    /// Uses contents that were read already. No file is opened; the name only determines the media type.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::File;
    ///
    /// /// A picture or a text of this program.
    /// #[resource(uri = "assets://{name}")]
    /// fn asset(name: &str) -> Option<File> {
    ///     match name {
    ///         "about.md" => Some(File::from_bytes(name, "# About")),
    ///         "dot.gif" => Some(File::from_bytes(name, *b"GIF89a")),
    ///         _ => None,
    ///     }
    /// }
    /// ```
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { name: name.into(), bytes: Some(bytes.into()) }
    }
}

impl IntoResource for File {
    async fn into_resource(self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
        let Self { name, bytes } = self;
        let mime_type = media_type_of(&name);
        let bytes = match bytes {
            Some(bytes) => bytes,
            // `tokio::fs` would do the same, but needs an additional feature of tokio.
            None => {
                let most = about.read_limit();
                tokio::task::spawn_blocking(move || read(&name, most)).await??
            }
        };
        about.check_size("file", bytes.len())?;
        let contents = match (String::from_utf8(bytes), mime_type) {
            (Ok(text), None) => about.text(text, "text/plain"),
            (Ok(text), Some(mime_type)) if is_text(mime_type) => about.text(text, mime_type),
            (Ok(text), Some(mime_type)) => about.blob(text.as_bytes(), mime_type),
            (Err(bytes), mime_type) => {
                about.blob(bytes.as_bytes(), mime_type.unwrap_or("application/octet-stream"))
            }
        };
        Ok(ReadResourceResult::new(vec![contents]))
    }
}

/// Reads at most `most` bytes.
fn read(path: &Path, most: u64) -> Result<Vec<u8>, ResourceError> {
    use std::io::{ErrorKind, Read};

    let file = std::fs::File::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ResourceError::not_found(),
        _ => error.into(),
    })?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns whether the media type is a text format.
fn is_text(mime_type: &str) -> bool {
    mime_type.starts_with("text/")
        || mime_type.ends_with("+xml")
        || mime_type.ends_with("+json")
        || ["application/json", "application/xml", "application/toml", "application/yaml", "application/sql"]
            .contains(&mime_type)
        || ["application/javascript", "application/x-sh", "application/x-ndjson", "application/graphql"]
            .contains(&mime_type)
}

/// Returns the media type that a file's name suggests.
pub(crate) fn media_type_of(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    MEDIA_TYPES.iter().find(|(known, _)| *known == extension).map(|(_, mime_type)| *mime_type)
}

/// The media types of common file extensions. For any other extension, the media type depends on whether the bytes are
/// UTF-8.
const MEDIA_TYPES: [(&str, &str); 72] = [
    ("7z", "application/x-7z-compressed"),
    ("avif", "image/avif"),
    ("bmp", "image/bmp"),
    ("bz2", "application/x-bzip2"),
    ("c", "text/x-c"),
    ("cpp", "text/x-c++"),
    ("css", "text/css"),
    ("csv", "text/csv"),
    ("doc", "application/msword"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("epub", "application/epub+zip"),
    ("flac", "audio/flac"),
    ("gif", "image/gif"),
    ("go", "text/x-go"),
    ("graphql", "application/graphql"),
    ("gz", "application/gzip"),
    ("h", "text/x-c"),
    ("htm", "text/html"),
    ("html", "text/html"),
    ("ico", "image/x-icon"),
    ("ics", "text/calendar"),
    ("ini", "text/plain"),
    ("java", "text/x-java"),
    ("jpeg", "image/jpeg"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript"),
    ("json", "application/json"),
    ("jsonl", "application/x-ndjson"),
    ("jsx", "text/javascript"),
    ("log", "text/plain"),
    ("m4a", "audio/mp4"),
    ("markdown", "text/markdown"),
    ("md", "text/markdown"),
    ("mjs", "text/javascript"),
    ("mov", "video/quicktime"),
    ("mp3", "audio/mpeg"),
    ("mp4", "video/mp4"),
    ("ndjson", "application/x-ndjson"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("ogg", "audio/ogg"),
    ("opus", "audio/opus"),
    ("otf", "font/otf"),
    ("pdf", "application/pdf"),
    ("php", "text/x-php"),
    ("png", "image/png"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("py", "text/x-python"),
    ("rb", "text/x-ruby"),
    ("rs", "text/x-rust"),
    ("rtf", "application/rtf"),
    ("sh", "application/x-sh"),
    ("sql", "application/sql"),
    ("svg", "image/svg+xml"),
    ("tar", "application/x-tar"),
    ("tif", "image/tiff"),
    ("tiff", "image/tiff"),
    ("toml", "application/toml"),
    ("ts", "text/x-typescript"),
    ("tsv", "text/tab-separated-values"),
    ("tsx", "text/x-typescript"),
    ("txt", "text/plain"),
    ("wasm", "application/wasm"),
    ("wav", "audio/wav"),
    ("webm", "video/webm"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
    ("xhtml", "application/xhtml+xml"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("zip", "application/zip"),
];
