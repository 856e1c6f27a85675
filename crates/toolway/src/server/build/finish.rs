//! How do the author's settings become a server, and which mistakes are found?

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::Semaphore;
use toolway_protocol::capability::{ServerCapabilities, Settings};
use toolway_protocol::era::stateless::Stamp;
use toolway_protocol::json::Limits;

use crate::ground::error::Result;
use crate::ground::mistakes::mistaken;
use crate::server::build::builder::ServerBuilder;
use crate::server::build::pin::settled;
use crate::server::call::place::Memories;
use crate::server::call::state::{Absent, States};
use crate::server::catalog::cursor::CursorKey;
use crate::server::catalog::discover;
use crate::server::catalog::method::{CustomMethod, wrong_name};
use crate::server::catalog::registry::{Layout, Registry};
use crate::server::catalog::source::Sources;
use crate::server::catalog::tool::ToolEntry;
use crate::server::changes::broadcast::Changes;
use crate::server::handler::parameter::Told;
use crate::server::observe::hooks::HookTasks;
use crate::server::observe::otel::Instruments;
use crate::server::stateless::seal::keys::SealKeys;
use crate::server::{Inner, Server};
use crate::store::{Memory, Store};

impl ServerBuilder {
    /// Checks everything and builds the server.
    ///
    /// # Errors
    ///
    /// One error that lists every mistake found.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// struct Database;
    ///
    /// /// Count the rows.
    /// #[tool]
    /// fn count(_database: State<Database>) -> u32 {
    ///     0
    /// }
    ///
    /// let error = Server::new("app", "1.0.0").tools(tools![count, count]).build().unwrap_err();
    /// assert!(error.to_string().contains("two tools have the name `count`"));
    /// assert!(error.to_string().contains("call `.state(…)`"));
    /// ```
    pub fn build(self) -> Result<Server> {
        let mut mistakes = self.mistakes;
        if self.info.name.is_empty() {
            mistakes.push("the server's name is empty".to_owned());
        }
        let Self { mut elements, found, .. } = self;
        elements.extend_missing(discover::make(found));
        if self.strict {
            elements.tools.iter_mut().for_each(ToolEntry::strict);
        }
        let states = Arc::new(self.states);
        for merged in &self.merged {
            merged.fall_back_to(&states);
        }
        for reader in &self.readers {
            reader.check("the handler of `read_resource`", &states, Absent::default(), &mut mistakes);
        }
        for lister in &self.listers {
            lister.check("the handler of `list_resources`", &states, Absent::default(), &mut mistakes);
        }
        match &self.admission {
            Some(admission) => admission.check("the handler of `on_connect`", &states, Absent::default(), &mut mistakes),
            None => mistakes.extend(self.guarded.iter().map(|name| {
                format!(
                    "the merged server {name:?} has `on_connect`, which is not merged: call `on_connect` on this server"
                )
            })),
        }
        let (era, pinned) = settled(self.eras.as_deref(), self.pin, &mut mistakes);
        self.endings.check(&states, &mut mistakes);
        if let Some(reporter) = &self.reporter {
            reporter.check("the handler of `on_error`", &states, Absent::default(), &mut mistakes);
        }
        if let Some(counter) = &self.counter {
            counter.check("the handler of `on_request_end`", &states, Absent::default(), &mut mistakes);
        }
        let methods = named("method", self.methods, &states, &mut mistakes);
        let methods_have_layers = methods.values().any(|method| !method.layers.is_empty());
        let notifications = named("notification", self.notifications, &states, &mut mistakes);
        let cursors = self.cursors.unwrap_or_else(CursorKey::random);
        let seal = match self.seal.map(Ok).or_else(SealKeys::from_env) {
            Some(Ok(keys)) => keys,
            given => {
                mistakes.extend(given.and_then(Result::err));
                SealKeys::random()
            }
        };
        let has_resource_handlers = !self.readers.is_empty() || !self.listers.is_empty();
        let mut declared = self.declared;
        if !self.sources.is_empty() && (has_resource_handlers || !elements.resources.is_empty()) {
            // The capabilities of sources must not limit those of the server's own resources.
            declare(&mut declared, &own_resources());
        }
        self.sources.iter().for_each(|source| declare(&mut declared, &source.capabilities()));
        let layout = Layout {
            page_size: self.page_size,
            cursors: cursors.clone(),
            declared,
            has_resource_handlers,
            has_read_handler: !self.readers.is_empty(),
            without: self.without,
        };
        let registry = match Registry::new(elements, layout, &states) {
            Ok(registry) if mistakes.is_empty() => registry,
            outcome => {
                mistakes.extend(outcome.err().into_iter().flatten());
                return Err(mistaken(&format!("the server {:?} cannot be built", self.info.name), &mistakes));
            }
        };
        let (store, mut changes) = match self.store {
            // A store that the author provides may be shared.
            Some(store) => (store.clone(), Changes::shared(store, &self.info.name)),
            None => (Arc::new(Memory::new()) as Arc<dyn Store>, Changes::default()),
        };
        if !self.sources.is_empty() {
            changes.note_interest();
        }
        let server = Server {
            inner: Arc::new(Inner {
                stamp: Stamp::new(&self.info),
                info: self.info,
                instructions: self.instructions,
                registry,
                states,
                readers: self.readers,
                listers: self.listers,
                methods,
                notifications,
                admission: self.admission,
                era,
                pinned,
                methods_have_layers,
                layers: self.layers,
                reporter: self.reporter,
                counter: self.counter,
                instruments: Instruments::default(),
                errors: self.errors,
                cache: self.cache,
                cursors,
                seal,
                changes,
                question_timeout: self.question_timeout,
                deadline: self.deadline,
                places: Semaphore::new(self.places.min(Semaphore::MAX_PERMITS)),
                places_of_one: self.places_of_one,
                strict: self.strict,
                store,
                memories: Memories::new(self.memory_for),
                endings: self.endings,
                hook_tasks: HookTasks::default(),
                sources: Sources::new(self.sources),
                limits: Limits::default(),
                max_message: AtomicUsize::new(self.max_message),
                told: Told::default(),
            }),
        };
        ToolEntry::warn_of_undescribed(&server.inner.registry.load().elements.tools);
        server.begin_sources();
        Ok(server)
    }
}

/// Adds the capabilities of sources to the declared ones. Settings that exist already are kept.
fn declare(declared: &mut ServerCapabilities, source: &ServerCapabilities) {
    let add = |into: &mut Option<Settings>, from: &Option<Settings>| {
        for (name, value) in from.iter().flatten() {
            into.get_or_insert_default().entry(name).or_insert_with(|| value.clone());
        }
        if from.is_some() {
            into.get_or_insert_default();
        }
    };
    add(&mut declared.tools, &source.tools);
    add(&mut declared.prompts, &source.prompts);
    add(&mut declared.resources, &source.resources);
    add(&mut declared.completions, &source.completions);
}

/// Returns the capabilities that the server's own resources need.
fn own_resources() -> ServerCapabilities {
    let settings = ["listChanged", "subscribe"].map(|name| (name.to_owned(), true.into()));
    ServerCapabilities::new().with_resources(Settings::from_iter(settings))
}

fn named(
    kind: &str,
    handlers: Vec<(String, CustomMethod)>,
    states: &States,
    mistakes: &mut Vec<String>,
) -> HashMap<String, CustomMethod> {
    let mut by_name = HashMap::new();
    for (name, handler) in handlers {
        mistakes.extend(wrong_name(&name));
        handler.check(&format!("{kind} `{name}`"), states, Absent::default(), mistakes);
        if by_name.insert(name.clone(), handler).is_some() {
            mistakes.push(format!("two {kind}s have the name `{name}`"));
        }
    }
    by_name
}
