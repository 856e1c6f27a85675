//! Which revision has which member? This file is the complete list.

use super::ProtocolVersion::{self, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// The revisions that have a part of the protocol, from the first to the last one.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
/// use toolway_protocol::json::Encoder;
/// use toolway_protocol::version::since;
///
/// let mut out = Vec::new();
/// assert!(Encoder::new(&mut out, ProtocolVersion::LATEST).supports(since::ICONS));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VersionRange {
    first: ProtocolVersion,
    last: ProtocolVersion,
}

impl VersionRange {
    const fn starting_at(first: ProtocolVersion) -> Self {
        Self { first, last: ProtocolVersion::LATEST }
    }

    const fn only(version: ProtocolVersion) -> Self {
        Self { first: version, last: version }
    }

    const fn until(last: ProtocolVersion) -> Self {
        Self { first: ProtocolVersion::ALL[0], last }
    }

    pub(crate) fn includes(self, version: ProtocolVersion) -> bool {
        self.first <= version && version <= self.last
    }
}

/// Hints about the behavior of tools.
pub const TOOL_ANNOTATIONS: VersionRange = VersionRange::starting_at(V2025_03_26);
/// Audio blocks.
pub const AUDIO: VersionRange = VersionRange::starting_at(V2025_03_26);
/// The `message` of a progress notification.
pub const PROGRESS_MESSAGE: VersionRange = VersionRange::starting_at(V2025_03_26);
/// The server capability `completions`. Older revisions have completion without the capability.
pub const COMPLETIONS: VersionRange = VersionRange::starting_at(V2025_03_26);
/// Display names.
pub const TITLE: VersionRange = VersionRange::starting_at(V2025_06_18);
/// Output schemas and structured content, restricted to objects.
pub const STRUCTURED_OUTPUT: VersionRange = VersionRange::starting_at(V2025_06_18);
/// `_meta` on all listed items.
pub const META_EVERYWHERE: VersionRange = VersionRange::starting_at(V2025_06_18);
/// Links to resources as content blocks.
pub const RESOURCE_LINK: VersionRange = VersionRange::starting_at(V2025_06_18);
/// The time of the last change (`lastModified`).
pub const LAST_MODIFIED: VersionRange = VersionRange::starting_at(V2025_06_18);
/// The context of a completion: arguments that are already known.
pub const COMPLETION_CONTEXT: VersionRange = VersionRange::starting_at(V2025_06_18);
/// Elicitation: questions to the user.
pub const ELICITATION: VersionRange = VersionRange::starting_at(V2025_06_18);
/// Icons of programs, tools, prompts and resources.
pub const ICONS: VersionRange = VersionRange::starting_at(V2025_11_25);
/// The description and website of a program.
pub const IDENTITY: VersionRange = VersionRange::starting_at(V2025_11_25);
/// Defaults of form fields other than booleans.
pub const FORM_DEFAULTS: VersionRange = VersionRange::starting_at(V2025_11_25);
/// Named and multiple choices in a form, and the `mode` that distinguishes forms from URLs.
pub const FORM_CHOICES: VersionRange = VersionRange::starting_at(V2025_11_25);
/// Tools in sampling requests, and several blocks in one message.
pub const SAMPLING_TOOLS: VersionRange = VersionRange::starting_at(V2025_11_25);
/// Ids of URL elicitations, which the user completes outside the client.
pub const ELICITATION_ID: VersionRange = VersionRange::only(V2025_11_25);
/// Tasks as a part of the core protocol.
pub const CORE_TASKS: VersionRange = VersionRange::only(V2025_11_25);
/// `_meta` on the answers to questions. Up to 2025-11-25 an answer is a JSON-RPC result.
pub const ANSWER_META: VersionRange = VersionRange::until(V2025_11_25);
/// Structured content of any JSON type, not only objects.
pub const ANY_STRUCTURED_CONTENT: VersionRange = VersionRange::starting_at(V2026_07_28);
