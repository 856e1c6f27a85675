//! Which revision brought which member? The whole list, so that "what does 2025-06-18 do here?" is one look.

use crate::version::ProtocolVersion::{self, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// An addition to the protocol: revisions before it do not know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since(ProtocolVersion);

impl Since {
    pub(crate) fn includes(self, version: ProtocolVersion) -> bool {
        version >= self.0
    }
}

/// Hints about what a tool does.
pub const TOOL_ANNOTATIONS: Since = Since(V2025_03_26);
/// Names for people.
pub const TITLE: Since = Since(V2025_06_18);
/// Output schemas and structured content, objects only.
pub const STRUCTURED_OUTPUT: Since = Since(V2025_06_18);
/// `_meta` on everything that is listed.
pub const META_EVERYWHERE: Since = Since(V2025_06_18);
/// What a program is for and where to read more.
pub const IDENTITY: Since = Since(V2025_11_25);
/// Structured content may be any JSON.
pub const STRUCTURED_ANYTHING: Since = Since(V2026_07_28);
