//! Which layers does a call pass, and in which order? Those of the server, then those of what is asked for.

use std::fmt;
use std::sync::Arc;

use toolway_protocol::Method;
use toolway_protocol::request::{Outcome, Request};

use crate::ground::future::BoxFuture;
use crate::server::call::layer::answer::{Answer, CallError};
use crate::server::call::layer::call::Call;
use crate::server::call::layer::service::Service;

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A tool is to be called.
    Tool,
    /// A resource is to be read.
    Resource,
    /// A prompt is to be filled in.
    Prompt,
    /// An argument is to be completed.
    Completion,
    /// Something is to be listed.
    List,
    /// A method outside the protocol.
    Method,
}

impl Kind {
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

    /// Whether an outcome is one that the peer can read as the answer to a method. Questions may be asked anywhere.
    pub(crate) fn is_answered_by(method: &Method, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Complete(reply) => reply.answers(method),
            Outcome::NeedInput(_) => true,
        }
    }
}

/// Layers, the outermost first. Cheap to clone, and nothing while there are none.
#[derive(Clone, Default)]
pub(crate) struct Stages(Option<Arc<[Stage]>>);

#[derive(Clone)]
struct Stage {
    /// Calls of another kind pass by.
    kind: Option<Kind>,
    layer: Arc<dyn Service>,
}

impl Stages {
    /// Adds one inside of the others.
    pub(crate) fn push(&mut self, kind: Option<Kind>, layer: impl Service) {
        let layer: Arc<dyn Service> = Arc::new(layer);
        self.0 = Some(self.iter().cloned().chain([Stage { kind, layer }]).collect());
    }

    /// Puts others around these.
    pub(crate) fn put_inside(&mut self, outer: &Self) {
        if !outer.is_empty() {
            self.0 = Some(outer.iter().chain(self.iter()).cloned().collect());
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether calls of this kind pass any of them.
    pub(crate) fn concern(&self, kind: Kind) -> bool {
        self.iter().any(|stage| stage.kind.is_none_or(|only| only == kind))
    }

    /// Whether any of them is for calls of this kind and no others.
    pub(crate) fn any_only_for(&self, kind: Kind) -> bool {
        self.iter().any(|stage| stage.kind == Some(kind))
    }

    fn iter(&self) -> impl Iterator<Item = &Stage> {
        self.0.iter().flat_map(|stages| stages.iter())
    }
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} layers", self.iter().count())
    }
}

/// The layers that a call has yet to pass, and what runs after the last of them.
pub(crate) struct Path {
    server: Stages,
    element: Stages,
    passed: usize,
    pub(crate) end: End,
}

/// Answers a call that has passed all its layers.
pub(crate) type End = fn(Call) -> BoxFuture<'static, Result<Answer, CallError>>;

impl Path {
    pub(crate) fn new(server: Stages, element: Stages, end: End) -> Self {
        Self { server, element, passed: 0, end }
    }

    /// The next layer for calls of this kind.
    pub(crate) fn step(&mut self, kind: Kind) -> Option<Arc<dyn Service>> {
        loop {
            let stage = self.server.iter().chain(self.element.iter()).nth(self.passed)?;
            self.passed += 1;
            if stage.kind.is_none_or(|only| only == kind) {
                return Some(stage.layer.clone());
            }
        }
    }
}
