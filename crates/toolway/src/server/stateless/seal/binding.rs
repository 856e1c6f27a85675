//! Which call does a state belong to?

use std::fmt;

use toolway_protocol::RawJson;

use super::canonical;

/// The longest sealed state, in bytes of text. The length is limited because the server has to decrypt the whole text
/// before it can trust it.
pub(crate) const MAX_STATE: usize = 64 * 1024;

/// The call that a state belongs to. The state cannot be opened for another call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Binding<'b> {
    /// The principal of the caller. `None` differs from an empty name.
    pub(crate) principal: Option<&'b str>,
    /// The name of the server.
    pub(crate) server: &'b str,
    /// The method that is called.
    pub(crate) method: &'b str,
    /// The name of the tool or prompt, or the URI of the resource.
    pub(crate) target: &'b str,
    /// The arguments, compared by value and not by spelling.
    pub(crate) arguments: Option<&'b RawJson>,
}

/// A state that was opened.
#[derive(PartialEq, Eq)]
pub(crate) struct OpenedState {
    /// The content that was sealed.
    pub(crate) plain: Vec<u8>,
    /// An id that is unique to this state, for callers that accept each state only once.
    pub(crate) id: String,
    /// When the state expires, in seconds since the Unix epoch.
    pub(crate) expires: u64,
}

/// Why a state cannot be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenError {
    /// The state was not issued for this call, or not with one of these keys.
    Foreign,
    /// The state was issued for this call, but has expired.
    Expired,
    /// The state expires later than it may. Otherwise a state from a server whose clock is a day ahead would be valid
    /// for a day.
    TooLong,
}

/// Returns the bytes that identify a call, after `head`. Each part has a length prefix, so that no byte can move from one
/// part into the next.
pub(super) fn associated_data(head: &[u8], bound: &Binding<'_>) -> Vec<u8> {
    let Binding { principal, server, method, target, arguments } = *bound;
    let mut out = b"toolway/state".to_vec();
    out.extend_from_slice(head);
    let mut put = |part: &[u8]| {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(part);
    };
    match principal {
        None => put(b"nobody"),
        Some(name) => {
            put(b"somebody");
            put(name.as_bytes());
        }
    }
    for part in [server, method, target] {
        put(part.as_bytes());
    }
    put(&canonical::arguments(arguments));
    out
}

/// Leaves out the state, which is confidential.
impl fmt::Debug for OpenedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenedState")
            .field("id", &self.id)
            .field("expires", &self.expires)
            .finish_non_exhaustive()
    }
}
