//! A page of a list. The page is encoded once per revision, and the encoded bytes are reused.

use std::sync::OnceLock;

use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, Members};
use crate::version::ProtocolVersion;

/// Items of one kind and the cursor of the next page.
///
/// Servers send the same page many times. The items are encoded when the page is first written in a revision, and the
/// JSON is kept. After that, writing the page is only a copy of bytes.
///
/// ```
/// use toolway_protocol::types::{Listing, Root};
///
/// let page = Listing::new(vec![Root::new("file:///a")], Some("next".to_owned()));
/// assert_eq!(page.next_cursor(), Some("next"));
/// ```
#[derive(Debug)]
pub struct Listing<T> {
    items: Vec<T>,
    next_cursor: Option<String>,
    pub(crate) meta: Option<JsonObject>,
    encoded: [OnceLock<Vec<u8>>; ProtocolVersion::ALL.len()],
}

impl<T: Encode> Listing<T> {
    /// Creates a page with the cursor of the next page.
    pub fn new(items: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { items, next_cursor, meta: None, encoded: Default::default() }
    }

    /// Sets additional metadata.
    pub fn with_meta(mut self, meta: JsonObject) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Returns additional metadata.
    pub fn meta(&self) -> Option<&JsonObject> {
        self.meta.as_ref()
    }

    /// Returns the items.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// Returns the cursor of the next page.
    pub fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    /// Writes the page as members of a result, without `_meta`.
    pub(crate) fn put_body(&self, members: &mut Members<'_, '_>)
    where
        T: ListItem,
    {
        members.put_raw(T::KEY, self.encoded_items(members.encoder().version()));
        members.maybe("nextCursor", self.next_cursor.as_ref());
    }

    /// Returns the items as a JSON array in the shape of `version`.
    fn encoded_items(&self, version: ProtocolVersion) -> &[u8] {
        self.encoded[version as usize].get_or_init(|| {
            let mut out = Vec::new();
            self.items.encode(&mut Encoder::new(&mut out, version));
            out
        })
    }
}

/// An item of a list result.
pub(crate) trait ListItem {
    /// The member of the result that holds the items.
    const KEY: &'static str;
}
