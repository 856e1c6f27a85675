//! How does an element of another server become an entry of this one?

use std::sync::Arc;

use toolway_protocol::uri_template::UriTemplate;

use crate::server::catalog::completion::{Completer, Completers};
use crate::server::catalog::entry::Origin;
use crate::server::catalog::prompt::{PromptEntry, PromptHandler};
use crate::server::catalog::resource::{ResourceDefinition, ResourceEntry, ResourceHandler};

impl Completers {
    /// One for whatever it is asked, arguments that nobody has heard of included.
    pub(crate) fn of_anything(completer: Completer) -> Self {
        Self(Vec::new(), Some(completer))
    }
}

impl PromptEntry {
    /// Makes a handler an entry that passes on what it is asked to whoever the prompt is really of: neither what is filled in
    /// nor what comes of it is looked at.
    pub(crate) fn foreign(handler: impl PromptHandler) -> Self {
        Self { origin: Origin::foreign(), ..Self::new(handler) }
    }
}

impl ResourceEntry {
    /// Makes a handler an entry that passes on what it is asked to whoever the resource is really of: its definition is listed as
    /// it came, whatever its URI or its template looks like.
    pub(crate) fn foreign(handler: impl ResourceHandler) -> Self {
        let definition = handler.definition();
        let template = match &definition {
            ResourceDefinition::One(_) => None,
            // One that cannot be told from a URI is listed all the same.
            ResourceDefinition::Family(template) => UriTemplate::parse(&template.uri_template)
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
