//! What may a resource return?

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use toolway_protocol::types::{ReadResourceResult, ResourceContents};
use toolway_protocol::{RawJson, RpcError};

use super::Json;
use super::content::base64;
use crate::server::failure::errors::{IntoFailure, ResourceError};

/// The resource that is being read. Its URI and media type apply to contents that do not set their own.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ResourceError;
/// use toolway::server::convert::{IntoResource, ResourceInfo};
/// use toolway::types::ReadResourceResult;
///
/// /// A page that is kept in Markdown and may be read as it is.
/// struct Page(String);
///
/// impl IntoResource for Page {
///     async fn into_resource(self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
///         format!("<!-- {} -->\n{}", about.uri, self.0).into_resource(about).await
///     }
/// }
///
/// #[resource("pages://index", mime = "text/markdown")]
/// fn index() -> Page {
///     Page("# Index".into())
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResourceInfo {
    /// The requested URI.
    pub uri: String,
    /// The media type that the server lists.
    pub mime_type: Option<String>,
    /// The maximum size of a message in bytes.
    max_message: usize,
}

impl ResourceInfo {
    pub(crate) fn new(uri: impl Into<String>, mime_type: Option<String>, max_message: usize) -> Self {
        Self { uri: uri.into(), mime_type, max_message }
    }

    /// Returns the number of bytes to read from a file or stream: one more than can be sent, to detect longer contents.
    pub(super) fn read_limit(&self) -> u64 {
        self.max_message as u64 + 1
    }

    /// Refuses contents that are too long to be sent. The size is checked before the contents are encoded, because
    /// encoding makes a blob a third larger.
    pub(super) fn check_size(&self, what: &str, bytes: usize) -> Result<(), ResourceError> {
        let max = self.max_message;
        if bytes <= max {
            return Ok(());
        }
        let text = format!(
            "the {what} is longer than {max} bytes, which is the limit of the server: read a part of it, or raise \
             `max_message` on the server"
        );
        tracing::warn!(uri = self.uri, max_message = max, "{text}");
        Err(RpcError::internal(text).with_max_message(max).into())
    }

    pub(super) fn text(&self, text: String, mime_type: &str) -> ResourceContents {
        self.empty_contents(mime_type).with_text(text)
    }

    pub(super) fn blob(&self, bytes: &[u8], mime_type: &str) -> ResourceContents {
        self.empty_contents(mime_type).with_blob(base64(bytes))
    }

    fn empty_contents(&self, mime_type: &str) -> ResourceContents {
        let mime_type = self.mime_type.as_deref().unwrap_or(mime_type);
        ResourceContents::new(&self.uri).with_mime_type(mime_type)
    }
}

/// A type that a resource may return.
///
/// | returned | the reader gets |
/// |---|---|
/// | text | text, with the resource's own URI and media type |
/// | `Vec<u8>`, `Bytes` | a blob |
/// | [`Json<T>`] | JSON text |
/// | `serde_json::Value` | the contents in its member `text` or `blob`; without these members, the value as JSON text |
/// | [`File`](super::File) | text or a blob, with a media type derived from the file's name |
/// | [`Reader`] | a blob, read to its end |
/// | [`ResourceContents`], a `Vec` of it | those contents, unchanged |
/// | `None` | the error for a resource that does not exist |
/// | `Result<any of these, E>` | the contents, or an error: see [`ResourceError`] |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a resource",
    label = "not contents",
    note = "wrap it in `toolway::Json(…)` if it implements `serde::Serialize`"
)]
pub trait IntoResource: Sized {
    /// Converts the value to the contents.
    fn into_resource(
        self,
        about: ResourceInfo,
    ) -> impl Future<Output = Result<ReadResourceResult, ResourceError>> + Send;
}

fn one(contents: ResourceContents) -> ReadResourceResult {
    ReadResourceResult::new(vec![contents])
}

macro_rules! contents {
    ($($type:ty, |$value:ident, $about:ident| $made:expr;)*) => {$(
        impl IntoResource for $type {
            async fn into_resource(self, $about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
                let $value = self;
                $made
            }
        }
    )*};
}
contents! {
    String, |text, about| Ok(one(about.text(text, "text/plain")));
    &str, |text, about| Ok(one(about.text(text.to_owned(), "text/plain")));
    Vec<u8>, |bytes, about| Ok(one(about.blob(&bytes, "application/octet-stream")));
    &[u8], |bytes, about| Ok(one(about.blob(bytes, "application/octet-stream")));
    Bytes, |bytes, about| Ok(one(about.blob(&bytes, "application/octet-stream")));
    Value, |value, about| contents_from_json(value, &about);
    ResourceContents, |contents, _about| Ok(one(contents));
    Vec<ResourceContents>, |contents, _about| Ok(ReadResourceResult::new(contents));
    ReadResourceResult, |result, _about| Ok(result);
}

impl<T: Serialize + Send> IntoResource for Json<T> {
    async fn into_resource(self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
        let json = RawJson::from_value(&self.0)?;
        Ok(one(about.text(json.as_str().to_owned(), "application/json")))
    }
}

impl<T: IntoResource + Send> IntoResource for Option<T> {
    async fn into_resource(self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
        match self {
            Some(value) => value.into_resource(about).await,
            None => Err(ResourceError::not_found()),
        }
    }
}

impl<T: IntoResource + Send, E: IntoFailure<ResourceError> + Send> IntoResource for Result<T, E> {
    async fn into_resource(self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
        match self {
            Ok(value) => value.into_resource(about).await,
            Err(error) => Err(ResourceError::hidden(error.into_box())),
        }
    }
}

/// Converts a JSON value: its member `text` or `blob` holds the contents. Without these members, the value itself is
/// the contents.
fn contents_from_json(value: Value, about: &ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
    let text_of = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mime_type =
        |usual: &str| text_of("mimeType").or_else(|| about.mime_type.clone()).unwrap_or(usual.to_owned());
    let contents = || ResourceContents::new(text_of("uri").unwrap_or_else(|| about.uri.clone()));
    if let Some(text) = text_of("text") {
        return Ok(one(contents().with_mime_type(mime_type("text/plain")).with_text(text)));
    }
    if let Some(blob) = text_of("blob") {
        base64_simd::STANDARD
            .decode_to_vec(&blob)
            .map_err(|_| ResourceError::hidden("the key `blob` of a resource must hold Base64"))?;
        let mime_type = mime_type("application/octet-stream");
        return Ok(one(contents().with_mime_type(mime_type).with_blob(blob)));
    }
    Ok(one(about.text(value.to_string(), "application/json")))
}

/// A reader whose bytes become a blob. It is read to its end.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Reader;
///
/// #[resource(uri = "data://noise")]
/// fn noise() -> Reader<&'static [u8]> {
///     Reader(&[1, 2, 3])
/// }
/// ```
#[derive(Debug)]
pub struct Reader<R>(pub R);

impl<R: AsyncRead + Send + Unpin> IntoResource for Reader<R> {
    async fn into_resource(mut self, about: ResourceInfo) -> Result<ReadResourceResult, ResourceError> {
        let mut bytes = Vec::new();
        (&mut self.0).take(about.read_limit()).read_to_end(&mut bytes).await?;
        about.check_size("resource", bytes.len())?;
        bytes.into_resource(about).await
    }
}
