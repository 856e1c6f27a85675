//! How do the author's settings become a server, and which mistakes are found?

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::watch;
use toolway_protocol::capability::{JsonObject, ServerCapabilities};
use toolway_protocol::era::stateless::EncodedServerInfo;
use toolway_protocol::json::Limits;

use crate::ground::budget::Ledger;
use crate::ground::error::Result;
use crate::ground::insert_all::insert_all;
use crate::ground::log_pace::LogPace;
use crate::ground::mistakes::misuse_error;
use crate::server::build::builder::ServerBuilder;
use crate::server::build::pin::resolve_revisions;
use crate::server::call::memory_record::MemoryLocks;
use crate::server::call::state::{States, UnavailableValues};
use crate::server::catalog::cursor::CursorKey;
use crate::server::catalog::discover;
use crate::server::catalog::method::{CustomMethod, method_name_mistake};
use crate::server::catalog::registry::{Registry, SnapshotSettings};
use crate::server::catalog::source::Sources;
use crate::server::catalog::tool::ToolEntry;
use crate::server::changes::broadcast::Changes;
use crate::server::handler::parameter::WarnedOnce;
use crate::server::observe::hooks::HookTasks;
use crate::server::observe::otel::Instruments;
use crate::server::observe::store_meter::{MeteredStore, StoreMeter};
use crate::server::stateless::seal::SealKeys;
use crate::server::{Inner, Server};
use crate::store::{Groups, MemoryStore, Store};

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
        self.warn_of_small_budgets();
        let mut mistakes = self.mistakes;
        if self.info.name.is_empty() {
            mistakes.push("the server's name is empty".to_owned());
        }
        let Self { mut elements, discovered: found, .. } = self;
        elements.extend_missing(discover::make_entries(found));
        if self.strict {
            elements.tools.iter_mut().for_each(ToolEntry::make_strict);
        }
        let states = Arc::new(self.states);
        for merged in &self.merged_states {
            merged.fall_back_to(&states);
        }
        for reader in &self.read_handlers {
            reader.check(
                "the handler of `read_resource`",
                &states,
                UnavailableValues::default(),
                &mut mistakes,
            );
        }
        for lister in &self.list_handlers {
            lister.check(
                "the handler of `list_resources`",
                &states,
                UnavailableValues::default(),
                &mut mistakes,
            );
        }
        match &self.admission {
            Some(admission) => admission.check("the handler of `on_connect`", &states, UnavailableValues::default(), &mut mistakes),
            None => mistakes.extend(self.merged_with_on_connect.iter().map(|name| {
                format!(
                    "the merged server {name:?} has `on_connect`, which is not merged: call `on_connect` on this server"
                )
            })),
        }
        if self.protection.is_none() {
            mistakes.extend(self.merged_with_auth.iter().map(|name| {
                format!(
                    "the merged server {name:?} has `auth`, which is not merged: call `auth` on this server"
                )
            }));
        }
        let protection = self.protection.map(|settings| {
            let store = self.store.clone().unwrap_or_else(|| Arc::new(MemoryStore::new()));
            settings.make(store, &self.info.name, &mut mistakes)
        });
        let (era, pinned) = resolve_revisions(self.eras.as_deref(), self.pin, &mut mistakes);
        self.end_hooks.check(&states, &mut mistakes);
        if let Some(reporter) = &self.error_hook {
            reporter.check("the handler of `on_error`", &states, UnavailableValues::default(), &mut mistakes);
        }
        if let Some(counter) = &self.request_end_hook {
            counter.check(
                "the handler of `on_request_end`",
                &states,
                UnavailableValues::default(),
                &mut mistakes,
            );
        }
        let methods = handlers_by_name("method", self.methods, &states, &mut mistakes);
        let methods_have_layers = methods.values().any(|method| !method.layers.is_empty());
        let notifications = handlers_by_name("notification", self.notifications, &states, &mut mistakes);
        let notifications =
            notifications.into_iter().map(|(name, handler)| (name, (handler, LogPace::default()))).collect();
        // Servers that share a store understand each other's cursors and sealed states.
        let secret = self.store.as_ref().map(Store::secret);
        let cursors = self.cursor_key.unwrap_or_else(|| match &secret {
            Some(secret) => CursorKey::from_secret(secret.as_bytes()),
            None => CursorKey::random(),
        });
        let seal = match self.seal_keys.map(Ok).or_else(SealKeys::from_env) {
            Some(Ok(keys)) => keys,
            given => {
                mistakes.extend(given.and_then(Result::err));
                secret.as_ref().map_or_else(SealKeys::random, SealKeys::from_secret)
            }
        };
        let has_resource_handlers = !self.read_handlers.is_empty() || !self.list_handlers.is_empty();
        let mut declared = self.declared;
        if let Some(extension) = protection.as_ref().and_then(|protection| protection.extension) {
            let extensions = declared.extensions.get_or_insert_default();
            extensions.entry(extension.to_owned()).or_insert_with(|| JsonObject::new().into());
        }
        if !self.sources.is_empty() && (has_resource_handlers || !elements.resources.is_empty()) {
            // The capabilities of sources must not limit those of the server's own resources.
            add_capabilities(&mut declared, &resource_capabilities());
        }
        self.sources.iter().for_each(|source| add_capabilities(&mut declared, &source.capabilities()));
        let layout = SnapshotSettings {
            page_size: self.page_size,
            cursor_key: cursors.clone(),
            declared,
            has_resource_handlers,
            has_read_handler: !self.read_handlers.is_empty(),
            omitted: self.omitted,
        };
        let registry = match Registry::new(elements, layout, &states) {
            Ok(registry) if mistakes.is_empty() => registry,
            outcome => {
                mistakes.extend(outcome.err().into_iter().flatten());
                return Err(misuse_error(
                    &format!("the server {:?} cannot be built", self.info.name),
                    &mistakes,
                ));
            }
        };
        let store_meter = self.store.is_some().then(Arc::<StoreMeter>::default);
        let (store, mut changes) = match (self.store, &store_meter) {
            // A store that the author provides may be shared.
            (Some(store), Some(meter)) => {
                let store: Arc<dyn Store> = Arc::new(MeteredStore { store, meter: meter.clone() });
                (store.clone(), Changes::shared(store, &self.info.name))
            }
            _ => (Arc::new(MemoryStore::new()) as Arc<dyn Store>, Changes::default()),
        };
        let groups = Groups::new(&store.secret());
        if !self.sources.is_empty() {
            changes.track_interest();
        }
        let ledger = Ledger::new(self.budgets);
        let server = Server {
            inner: Arc::new(Inner {
                rights: watch::Sender::default(),
                stamp: EncodedServerInfo::new(&self.info),
                info: self.info,
                instructions: self.instructions,
                registry,
                states,
                read_handlers: self.read_handlers,
                list_handlers: self.list_handlers,
                methods,
                notifications,
                admission: self.admission,
                protection,
                era,
                pinned,
                methods_have_layers,
                layers: self.layers,
                error_hook: self.error_hook,
                request_end_hook: self.request_end_hook,
                instruments: Instruments::default(),
                errors: self.errors,
                cache: self.cache,
                cursor_key: cursors,
                seal_keys: seal,
                changes,
                question_timeout: self.question_timeout,
                deadline: self.deadline,
                max_call_time: self.max_call_time,
                common_account: ledger.common_account(),
                ledger,
                strict: self.strict,
                store,
                store_meter,
                groups,
                memory_locks: MemoryLocks::new(self.memory_ttl),
                end_hooks: self.end_hooks,
                hook_tasks: HookTasks::default(),
                sources: Sources::new(self.sources),
                limits: Limits::default(),
                max_message: AtomicUsize::new(self.max_message),
                warned_no_principal: WarnedOnce::default(),
            }),
        };
        ToolEntry::warn_of_undescribed(&server.inner.registry.load().elements.tools);
        server.start_sources();
        Ok(server)
    }
}

/// Adds the capabilities of sources to the declared ones. `JsonObject` that exist already are kept.
fn add_capabilities(declared: &mut ServerCapabilities, source: &ServerCapabilities) {
    let add = |into: &mut Option<JsonObject>, from: &Option<JsonObject>| {
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
fn resource_capabilities() -> ServerCapabilities {
    let settings = ["listChanged", "subscribe"].map(|name| (name.to_owned(), true.into()));
    ServerCapabilities::new().with_resources(insert_all::<JsonObject, _>(settings))
}

fn handlers_by_name(
    kind: &str,
    handlers: Vec<(String, CustomMethod)>,
    states: &States,
    mistakes: &mut Vec<String>,
) -> HashMap<String, CustomMethod> {
    let mut by_name = HashMap::new();
    for (name, handler) in handlers {
        mistakes.extend(method_name_mistake(&name));
        handler.check(&format!("{kind} `{name}`"), states, UnavailableValues::default(), mistakes);
        if by_name.insert(name.clone(), handler).is_some() {
            mistakes.push(format!("two {kind}s have the name `{name}`"));
        }
    }
    by_name
}
