//! How long may a list of the server be? Each list has a budget of items and bytes, which shrinks while the list is
//! read.

use toolway_protocol::capability::JsonObject;
use toolway_protocol::types::{Annotations, Extra, Icon, Prompt, Resource, ResourceTemplate, Tool};

use crate::client::notifications::footprint::{VALUE_OVERHEAD, of_object, of_unknown};
use crate::ground::error::{Error, ErrorKind};

/// The default of [`ListLimit::items`].
const MAX_LIST_ITEMS: usize = 10_000;

/// The default of [`ListLimit::bytes`].
const MAX_LIST_BYTES: usize = 32 << 20;

/// The maximum length of one list: of the tools, the resources, the resource templates, or the prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ListLimit {
    /// The maximum number of items, over all pages.
    pub(crate) items: usize,
    /// The maximum length of all pages in bytes. The text of the pages counts as it was received. Values that need much
    /// more memory than text count in addition to their text; see [`ListItem::extra_bytes`].
    pub(crate) bytes: usize,
}

impl Default for ListLimit {
    fn default() -> Self {
        Self { items: MAX_LIST_ITEMS, bytes: MAX_LIST_BYTES }
    }
}

/// The rest of the limit of a list that is being read.
pub(crate) struct ListBudget {
    limit: ListLimit,
    left: ListLimit,
    /// The limit that was reached before the end of the list.
    exceeded: Option<ExceededLimit>,
}

/// The limit at which a list was cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExceededLimit {
    Items(usize),
    Bytes(usize),
}

impl ListBudget {
    pub(crate) fn new(limit: ListLimit) -> Self {
        Self { limit, left: limit, exceeded: None }
    }

    pub(crate) fn exceeded(&self) -> Option<ExceededLimit> {
        self.exceeded
    }

    /// Takes the bytes of a page. If they exceed the limit, the page must not be decoded.
    pub(crate) fn take_page(&mut self, bytes: usize) -> Result<(), ExceededLimit> {
        self.take_bytes(bytes);
        self.exceeded.map_or(Ok(()), Err)
    }

    /// Takes a decoded item. Returns `false` if the item exceeds the limit and must not be kept.
    pub(crate) fn take_item(&mut self, item: &impl ListItem) -> bool {
        match self.left.items.checked_sub(1) {
            Some(left) => self.left.items = left,
            None => self.exceeded = Some(ExceededLimit::Items(self.limit.items)),
        }
        self.take_bytes(item.extra_bytes());
        self.exceeded.is_none()
    }

    fn take_bytes(&mut self, bytes: usize) {
        match self.left.bytes.checked_sub(bytes) {
            Some(left) => self.left.bytes = left,
            None => self.exceeded = Some(ExceededLimit::Bytes(self.limit.bytes)),
        }
    }
}

impl ExceededLimit {
    /// Returns the error for a caller that needs the whole list; `list` is its name, such as `tools`.
    pub(crate) fn error(self, list: &str) -> Error {
        let text = match self {
            Self::Items(most) => format!("the server's list of {list} has more than {most} items"),
            Self::Bytes(most) => format!("the server's list of {list} is longer than {most} bytes"),
        };
        Error::new(ErrorKind::TooLarge, format!("{text}: raise `max_list` on the client"))
    }
}

/// An item of a list of the server.
pub(crate) trait ListItem {
    /// Returns how many bytes of memory the item needs in addition to the length of its text; see
    /// `notifications/footprint.rs`. Schemas are kept as text.
    fn extra_bytes(&self) -> usize;
}

/// The memory of an icon, or of an argument of a prompt, without its text.
const PART_OVERHEAD: usize = 256;

impl ListItem for Tool {
    fn extra_bytes(&self) -> usize {
        let annotations = self.annotations.as_ref().map_or(0, |hints| of_unknown(&hints.extra));
        let execution = self.execution.as_ref().map_or(0, |execution| of_unknown(&execution.extra));
        annotations + execution + of_common(self.icons.as_deref(), self.meta.as_ref(), &self.extra)
    }
}

impl ListItem for Resource {
    fn extra_bytes(&self) -> usize {
        of_annotations(self.annotations.as_deref())
            + of_common(self.icons.as_deref(), self.meta.as_ref(), &self.extra)
    }
}

impl ListItem for ResourceTemplate {
    fn extra_bytes(&self) -> usize {
        of_annotations(self.annotations.as_deref())
            + of_common(self.icons.as_deref(), self.meta.as_ref(), &self.extra)
    }
}

impl ListItem for Prompt {
    fn extra_bytes(&self) -> usize {
        let arguments = self.arguments.as_deref().unwrap_or_default();
        arguments.iter().map(|argument| PART_OVERHEAD + of_unknown(&argument.extra)).sum::<usize>()
            + of_common(self.icons.as_deref(), self.meta.as_ref(), &self.extra)
    }
}

/// The members that all items have.
fn of_common(icons: Option<&[Icon]>, meta: Option<&JsonObject>, unknown: &Extra) -> usize {
    let of_icon = |icon: &Icon| {
        PART_OVERHEAD + icon.sizes.as_ref().map_or(0, Vec::len) * VALUE_OVERHEAD + of_unknown(&icon.extra)
    };
    icons.unwrap_or_default().iter().map(of_icon).sum::<usize>()
        + meta.map_or(0, of_object)
        + of_unknown(unknown)
}

fn of_annotations(annotations: Option<&Annotations>) -> usize {
    annotations.map_or(0, |hints| {
        hints.audience.as_ref().map_or(0, Vec::len) * VALUE_OVERHEAD + of_unknown(&hints.extra)
    })
}
