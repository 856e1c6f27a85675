//! What each side says it can do.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::json::{Encode, Encoder};

/// An open set of settings; an empty one means "yes, without further ado".
pub type Settings = Map<String, Value>;

/// What a client can do.
///
/// Unknown members are tolerated. A known one that is not an object is an error, because a peer that sends
/// `"sampling": true` means something that no revision defines.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ClientCapabilities {
    /// Its model can be asked.
    pub sampling: Option<Settings>,
    /// Its user can be asked.
    pub elicitation: Option<Settings>,
    /// It tells its roots.
    pub roots: Option<Settings>,
    /// Anything outside the standard.
    pub experimental: Option<Settings>,
    /// Extensions and their settings.
    pub extensions: Option<BTreeMap<String, Value>>,
}

impl Encode for ClientCapabilities {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.maybe("sampling", self.sampling.as_ref());
            members.maybe("elicitation", self.elicitation.as_ref());
            members.maybe("roots", self.roots.as_ref());
            members.maybe("experimental", self.experimental.as_ref());
            members.maybe("extensions", self.extensions.as_ref());
        });
    }
}

/// What a server can do.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ServerCapabilities {
    /// It has tools.
    pub tools: Option<Settings>,
    /// It has resources.
    pub resources: Option<Settings>,
    /// It has prompts.
    pub prompts: Option<Settings>,
    /// It completes arguments.
    pub completions: Option<Settings>,
    /// It sends log messages.
    pub logging: Option<Settings>,
    /// Anything outside the standard.
    pub experimental: Option<Settings>,
    /// Extensions and their settings.
    pub extensions: Option<BTreeMap<String, Value>>,
}

impl Encode for ServerCapabilities {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.object(|members| {
            members.maybe("tools", self.tools.as_ref());
            members.maybe("resources", self.resources.as_ref());
            members.maybe("prompts", self.prompts.as_ref());
            members.maybe("completions", self.completions.as_ref());
            members.maybe("logging", self.logging.as_ref());
            members.maybe("experimental", self.experimental.as_ref());
            members.maybe("extensions", self.extensions.as_ref());
        });
    }
}

impl Encode for Settings {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.serde(self);
    }
}

impl Encode for BTreeMap<String, Value> {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.serde(self);
    }
}
