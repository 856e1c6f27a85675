//! Which revision has which member? The whole list, so that "what does 2025-06-18 do here?" is one look.

use super::ProtocolVersion::{self, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};

/// An addition to the protocol: revisions before it do not know it, and some later ones dropped it again.
///
/// ```
/// use toolway_protocol::ProtocolVersion;
/// use toolway_protocol::json::Encoder;
/// use toolway_protocol::version::since;
///
/// let mut out = Vec::new();
/// assert!(Encoder::new(&mut out, ProtocolVersion::LATEST).knows(since::ICONS));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Since {
    first: ProtocolVersion,
    last: ProtocolVersion,
}

impl Since {
    const fn added(first: ProtocolVersion) -> Self {
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

/// Hints about what a tool does.
pub const TOOL_ANNOTATIONS: Since = Since::added(V2025_03_26);
/// Blocks of sound.
pub const AUDIO: Since = Since::added(V2025_03_26);
/// Words beside a progress.
pub const PROGRESS_MESSAGE: Since = Since::added(V2025_03_26);
/// The capability to complete arguments, which was taken for granted before.
pub const COMPLETIONS: Since = Since::added(V2025_03_26);
/// Names for people.
pub const TITLE: Since = Since::added(V2025_06_18);
/// Output schemas and structured content, objects only.
pub const STRUCTURED_OUTPUT: Since = Since::added(V2025_06_18);
/// `_meta` on everything that is listed.
pub const META_EVERYWHERE: Since = Since::added(V2025_06_18);
/// Links to resources as blocks.
pub const RESOURCE_LINK: Since = Since::added(V2025_06_18);
/// When something changed last.
pub const LAST_MODIFIED: Since = Since::added(V2025_06_18);
/// Earlier arguments beside the one to complete.
pub const COMPLETION_CONTEXT: Since = Since::added(V2025_06_18);
/// Questions to the user.
pub const ELICITATION: Since = Since::added(V2025_06_18);
/// Pictures of programs, tools, prompts and resources.
pub const ICONS: Since = Since::added(V2025_11_25);
/// What a program is for and where to read more.
pub const IDENTITY: Since = Since::added(V2025_11_25);
/// Defaults of form fields other than yes-or-no.
pub const FORM_DEFAULTS: Since = Since::added(V2025_11_25);
/// Several kinds of choice in a form, and forms told apart from links.
pub const FORM_CHOICES: Since = Since::added(V2025_11_25);
/// Tools for the model that is asked, and several blocks in one message.
pub const SAMPLING_TOOLS: Since = Since::added(V2025_11_25);
/// Ids of questions that are answered elsewhere.
pub const ELICITATION_ID: Since = Since::only(V2025_11_25);
/// Tasks as a part of the core.
pub const CORE_TASKS: Since = Since::only(V2025_11_25);
/// Roots that can announce changes, and `_meta` on answers to questions.
pub const ANSWERS_ARE_RESULTS: Since = Since::until(V2025_11_25);
/// Structured content may be any JSON.
pub const STRUCTURED_ANYTHING: Since = Since::added(V2026_07_28);
