//! Which layers does a call pass through, and in which order? Those of the server, then those of the requested element.

use std::fmt;
use std::sync::Arc;

use toolway_protocol::Method;
use toolway_protocol::request::{Outcome, Request};

use crate::ground::future::BoxFuture;
use crate::server::call::layer::call::Call;
use crate::server::call::layer::reply::{CallError, CallReply};
use crate::server::call::layer::service::Service;

/// The kind of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CallKind {
    /// A request to call a tool.
    Tool,
    /// A request to read a resource.
    Resource,
    /// A request to fill in a prompt.
    Prompt,
    /// A request to complete an argument.
    Completion,
    /// A request for a list of tools, resources, templates or prompts.
    List,
    /// A request with a custom method.
    Method,
}

impl CallKind {
    pub(crate) fn of(request: &Request) -> Self {
        match request {
            Request::CallTool(_) => Self::Tool,
            Request::ReadResource(_) => Self::Resource,
            Request::GetPrompt(_) => Self::Prompt,
            Request::Complete(_) => Self::Completion,
            Request::ListTools(_)
            | Request::ListResources(_)
            | Request::ListResourceTemplates(_)
            | Request::ListPrompts(_) => Self::List,
            Request::Subscribe(_)
            | Request::Unsubscribe(_)
            | Request::SetLogLevel(_)
            | Request::Listen(_)
            | Request::Other(..) => Self::Method,
        }
    }

    /// Returns whether an outcome is a valid answer to a method. Questions are always valid.
    pub(crate) fn is_valid_answer(method: &Method, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Complete(reply) => reply.answers(method),
            Outcome::NeedInput(_) => true,
        }
    }
}

/// A list of layers, the outermost first. Cheap to clone; an empty list needs no allocation.
#[derive(Clone, Default)]
pub(crate) struct LayerStack(Option<Arc<[LayerEntry]>>);

#[derive(Clone)]
struct LayerEntry {
    /// If set, calls of other kinds skip the layer.
    kind: Option<CallKind>,
    layer: Arc<dyn Service>,
}

impl LayerStack {
    /// Adds a layer inside the others.
    pub(crate) fn push(&mut self, kind: Option<CallKind>, layer: impl Service) {
        let layer: Arc<dyn Service> = Arc::new(layer);
        self.0 = Some(self.iter().cloned().chain([LayerEntry { kind, layer }]).collect());
    }

    /// Puts the layers of `outer` around these.
    pub(crate) fn wrap_with(&mut self, outer: &Self) {
        if !outer.is_empty() {
            self.0 = Some(outer.iter().chain(self.iter()).cloned().collect());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns whether calls of this kind pass through any of the layers.
    pub(crate) fn has_layers_for(&self, kind: CallKind) -> bool {
        self.iter().any(|stage| stage.kind.is_none_or(|only| only == kind))
    }

    /// Returns whether any layer is only for calls of this kind.
    pub(crate) fn has_layers_only_for(&self, kind: CallKind) -> bool {
        self.iter().any(|stage| stage.kind == Some(kind))
    }

    fn iter(&self) -> impl Iterator<Item = &LayerEntry> {
        self.0.iter().flat_map(|stages| stages.iter())
    }
}

impl fmt::Debug for LayerStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} layers", self.iter().count())
    }
}

/// The layers that a call still has to pass through, and the function that runs after the last one.
pub(crate) struct LayerPath {
    server: LayerStack,
    element: LayerStack,
    position: usize,
    pub(crate) final_handler: FinalHandler,
}

/// Answers a call that has passed through all its layers.
pub(crate) type FinalHandler = fn(Call) -> BoxFuture<'static, Result<CallReply, CallError>>;

impl LayerPath {
    pub(crate) fn new(server: LayerStack, element: LayerStack, end: FinalHandler) -> Self {
        Self { server, element, position: 0, final_handler: end }
    }

    /// Returns the next layer for calls of this kind.
    pub(crate) fn next_layer(&mut self, kind: CallKind) -> Option<Arc<dyn Service>> {
        loop {
            let stage = self.server.iter().chain(self.element.iter()).nth(self.position)?;
            self.position += 1;
            if stage.kind.is_none_or(|only| only == kind) {
                return Some(stage.layer.clone());
            }
        }
    }
}
