//! A page of a list, written once for each revision and then only copied.

use std::sync::OnceLock;

use crate::capability::Settings;
use crate::json::{Encode, Encoder, Members};
use crate::version::ProtocolVersion;

/// Items of one kind and where the next ones are.
///
/// Servers answer the same page over and over. The JSON of the items is made when a revision first asks for it
/// and kept; from then on a page costs a copy of bytes.
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
    pub(crate) meta: Option<Settings>,
    written: [OnceLock<Vec<u8>>; ProtocolVersion::ALL.len()],
}

impl<T: Encode> Listing<T> {
    /// A page, and the cursor of the page after it.
    pub fn new(items: Vec<T>, next_cursor: Option<String>) -> Self {
        Self { items, next_cursor, meta: None, written: Default::default() }
    }

    /// Adds anything else.
    pub fn with_meta(mut self, meta: Settings) -> Self {
        self.meta = Some(meta);
        self
    }

    /// Anything else.
    pub fn meta(&self) -> Option<&Settings> {
        self.meta.as_ref()
    }

    /// The items.
    pub fn items(&self) -> &[T] {
        &self.items
    }

    /// The cursor of the next page.
    pub fn next_cursor(&self) -> Option<&str> {
        self.next_cursor.as_deref()
    }

    /// Writes the page as members of a result, without `_meta`.
    pub(crate) fn put_body(&self, members: &mut Members<'_, '_>)
    where
        T: Listed,
    {
        members.put_raw(T::KEY, self.written(members.encoder().version()));
        members.maybe("nextCursor", self.next_cursor.as_ref());
    }

    /// The items as a JSON array in the shape of `version`.
    fn written(&self, version: ProtocolVersion) -> &[u8] {
        self.written[version as usize].get_or_init(|| {
            let mut out = Vec::new();
            self.items.encode(&mut Encoder::new(&mut out, version));
            out
        })
    }
}

/// An item that a result lists.
pub(crate) trait Listed {
    /// The member of the result that holds the items.
    const KEY: &'static str;
}
