//! What is the content of a quoted string?

use std::borrow::Cow;

/// Returns the content of a quoted string (`"tools\/call"` is `tools/call`), or `None` if an escape is not a
/// character (a lone surrogate).
pub(crate) fn unescape(quoted: &[u8]) -> Option<Cow<'_, str>> {
    let inner = quoted.get(1..quoted.len().checked_sub(1)?)?;
    if inner.contains(&b'\\') {
        // From a text, as everything else is decoded: so this code exists once.
        serde_json::from_str::<String>(std::str::from_utf8(quoted).ok()?).ok().map(Cow::Owned)
    } else {
        std::str::from_utf8(inner).ok().map(Cow::Borrowed)
    }
}
