//! How does an element of another server become an entry of this one?

use std::sync::Arc;

use toolway_protocol::uri_template::UriTemplate;

use crate::server::catalog::completion::{Completer, Completers};
use crate::server::catalog::entry::Origin;
use crate::server::catalog::prompt::{PromptEntry, PromptHandler};
use crate::server::catalog::resource::{ResourceDefinition, ResourceEntry, ResourceHandler};

impl Completers {
    /// Makes one completer handle every argument, including unknown ones.
    pub(crate) fn for_any_argument(completer: Completer) -> Self {
        Self(Vec::new(), Some(completer))
    }
}

impl PromptEntry {
    /// Makes an entry that forwards calls to the server that owns the prompt: neither the arguments nor the result are
    /// checked.
    pub(crate) fn foreign(handler: impl PromptHandler) -> Self {
        Self { origin: Origin::foreign(), ..Self::new(handler) }
    }
}

impl ResourceEntry {
    /// Makes an entry that forwards calls to the server that owns the resource: its definition is listed unchanged,
    /// even if its URI or template is invalid.
    pub(crate) fn foreign(handler: impl ResourceHandler) -> Self {
        let definition = handler.definition();
        let template = match &definition {
            ResourceDefinition::Resource(_) => None,
            // A template that cannot be matched against URIs is still listed.
            ResourceDefinition::Template(template) => UriTemplate::parse(&template.uri_template)
                .ok()
                .filter(|template| template.check_matchable().is_ok())
                .map(Arc::new),
        };
        Self {
            definition: Arc::new(definition),
            completers: handler.completers(),
            handler: Some(Arc::new(handler)),
            template,
            origin: Origin::foreign(),
            mistakes: Vec::new(),
        }
    }
}
