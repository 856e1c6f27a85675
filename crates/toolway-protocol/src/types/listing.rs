//! A page of a list. The page is encoded once per revision, and every reply refers to the encoded bytes.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::capability::JsonObject;
use crate::json::{Encode, Encoder, Members};
use crate::jsonrpc::SharedPart;
use crate::version::ProtocolVersion;

/// Items of one kind and the cursor of the next page.
///
/// Servers send the same page many times. The items are encoded when the page is first written in a revision, and the
/// JSON is kept. After that, writing a short page is only a copy of bytes, and a long page is shared by all replies.
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
    encoded: [OnceLock<Bytes>; ProtocolVersion::ALL.len()],
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

    /// Like [`put_body`](Self::put_body), but a long page is not copied: the frame has to insert the returned part.
    pub(crate) fn put_body_around_page(&self, members: &mut Members<'_, '_>) -> Option<SharedPart>
    where
        T: ListItem,
    {
        let items = self.encoded_items(members.encoder().version());
        if items.len() < MIN_SHARED_BYTES {
            self.put_body(members);
            return None;
        }
        let place = members.put_key(T::KEY);
        members.maybe("nextCursor", self.next_cursor.as_ref());
        Some(SharedPart { place, part: items.clone() })
    }

    /// Returns the items as a JSON array in the shape of `version`.
    fn encoded_items(&self, version: ProtocolVersion) -> &Bytes {
        self.encoded[version as usize].get_or_init(|| {
            let mut out = Vec::new();
            self.items.encode(&mut Encoder::new(&mut out, version));
            out.into()
        })
    }
}

/// The shortest page that is not copied. Copying a shorter one costs less than writing one piece more.
const MIN_SHARED_BYTES: usize = 4 << 10;

/// An item of a list result.
pub(crate) trait ListItem {
    /// The member of the result that holds the items.
    const KEY: &'static str;
}
