//! Which tools, resources and prompts does the server have? An immutable snapshot: entries are found by name or URI,
//! and listed as pages that are encoded once for each revision. A change creates the next snapshot; calls that already
//! use the old snapshot keep it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arc_swap::{ArcSwap, Guard};
use toolway_protocol::RpcError;
use toolway_protocol::capability::{JsonObject, ServerCapabilities};
use toolway_protocol::json::Encode;
use toolway_protocol::types::{Listing, Prompt, Resource, ResourceTemplate, Tool};
use toolway_protocol::uri_template::{UriTemplate, Values};

use crate::ground::insert_all::insert_all;
use crate::ground::mutex::Mutex;
use crate::ground::small_sort::sorted_places;
use crate::server::call::state::{States, UnavailableValues};
use crate::server::call::visibility::Visibility;
use crate::server::catalog::cursor::CursorKey;
use crate::server::catalog::elements::Elements;
use crate::server::catalog::entry::Entry;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::{ResourceDefinition, ResourceEntry};
use crate::server::catalog::tool::ToolEntry;

/// The current snapshot.
#[derive(Debug)]
pub(crate) struct Registry {
    current: ArcSwap<Snapshot>,
    /// Held while the next snapshot is created, so that concurrent changes are not lost.
    change_lock: Mutex<()>,
    /// `true` if any element has a layer. Read with every call, and `false` for most servers.
    has_layers: AtomicBool,
    /// `true` if any element needs scopes.
    has_scopes: AtomicBool,
    settings: SnapshotSettings,
}

/// The settings that all snapshots of a server share.
#[derive(Debug, Clone)]
pub(crate) struct SnapshotSettings {
    pub(crate) page_size: Option<usize>,
    pub(crate) cursor_key: CursorKey,
    /// Capabilities that are declared whatever elements exist.
    pub(crate) declared: ServerCapabilities,
    /// `true` if the author added a handler with `list_resources` or `read_resource`.
    pub(crate) has_resource_handlers: bool,
    pub(crate) has_read_handler: bool,
    /// Capabilities that the author leaves out whatever elements exist.
    pub(crate) omitted: OmittedCapabilities,
}

/// Capabilities that an author leaves out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OmittedCapabilities {
    pub(crate) logging: bool,
    pub(crate) subscriptions: bool,
}

impl Registry {
    pub(crate) fn new(
        elements: Elements,
        layout: SnapshotSettings,
        states: &States,
    ) -> Result<Self, Vec<String>> {
        let first = Snapshot::new(elements, &layout, states)?;
        let has_layers = AtomicBool::new(first.elements.have_layers());
        let has_scopes = AtomicBool::new(first.elements.have_scopes());
        Ok(Self {
            current: ArcSwap::from_pointee(first),
            change_lock: Mutex::new(()),
            has_layers,
            has_scopes,
            settings: layout,
        })
    }

    pub(crate) fn has_layers(&self) -> bool {
        self.has_layers.load(Ordering::Acquire)
    }

    pub(crate) fn has_scopes(&self) -> bool {
        self.has_scopes.load(Ordering::Acquire)
    }

    pub(crate) fn load(&self) -> Guard<Arc<Snapshot>> {
        self.current.load()
    }

    /// Returns the snapshot, to keep it across an `.await`.
    pub(crate) fn load_full(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// Creates the next snapshot, or returns the mistakes in it and changes nothing.
    pub(crate) fn change<T>(
        &self,
        states: &States,
        edit: impl FnOnce(&mut Elements) -> T,
    ) -> Result<T, Vec<String>> {
        let _changing = self.change_lock.lock();
        let current = self.current.load_full();
        let mut elements = current.elements.clone();
        let outcome = edit(&mut elements);
        // Keep the capabilities of the last snapshot, even if a list is now empty: clients already know them.
        let layout = SnapshotSettings { declared: current.capabilities.clone(), ..self.settings.clone() };
        let next = Snapshot::new(elements, &layout, states)?;
        // Set before the new snapshot is stored, so that a call cannot find a new tool and skip its layers or scopes.
        self.has_layers.fetch_or(next.elements.have_layers(), Ordering::Release);
        self.has_scopes.fetch_or(next.elements.have_scopes(), Ordering::Release);
        self.current.store(Arc::new(next));
        Ok(outcome)
    }
}

/// All entries of a server at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) elements: Elements,
    tools: HashMap<String, usize>,
    prompts: HashMap<String, usize>,
    /// Resources with a URI, by their URI.
    resources: HashMap<String, usize>,
    /// Resource templates, in the order in which they are tried.
    templates: Vec<usize>,
    pub(crate) tool_pages: Pages<Tool>,
    pub(crate) prompt_pages: Pages<Prompt>,
    pub(crate) resource_pages: Pages<Resource>,
    pub(crate) template_pages: Pages<ResourceTemplate>,
    pub(crate) capabilities: ServerCapabilities,
}

impl Snapshot {
    fn new(elements: Elements, layout: &SnapshotSettings, states: &States) -> Result<Self, Vec<String>> {
        let mut mistakes = elements.check(states, |_| UnavailableValues::default());
        let tools = index_by_name(&elements.tools, &mut mistakes);
        let prompts = index_by_name(&elements.prompts, &mut mistakes);
        let (resources, templates) = index_resources(&elements.resources, &mut mistakes);
        if !layout.has_read_handler {
            let unread = elements.resources.iter().filter(|resource| resource.handler.is_none());
            mistakes.extend(unread.map(|resource| {
                let uri = resource.key();
                format!("resource `{uri}`: it has no handler; add one, or call `.read_resource(…)`")
            }));
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        let capabilities = capabilities(&elements, layout);
        let (mut plain, mut families) = (Vec::new(), Vec::new());
        for resource in &elements.resources {
            match resource.definition() {
                ResourceDefinition::Resource(definition) => plain.push(definition.clone()),
                ResourceDefinition::Template(definition) => families.push(definition.clone()),
            }
        }
        Ok(Self {
            tool_pages: Pages::new("tools", definitions(&elements.tools, ToolEntry::definition), layout),
            prompt_pages: Pages::new(
                "prompts",
                definitions(&elements.prompts, PromptEntry::definition),
                layout,
            ),
            resource_pages: Pages::new("resources", plain, layout),
            template_pages: Pages::new("templates", families, layout),
            elements,
            tools,
            prompts,
            resources,
            templates,
            capabilities,
        })
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&ToolEntry> {
        self.tools.get(name).map(|place| &self.elements.tools[*place])
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&PromptEntry> {
        self.prompts.get(name).map(|place| &self.elements.prompts[*place])
    }

    pub(crate) fn tool_names(&self) -> impl Iterator<Item = &str> {
        self.elements.tools.iter().map(Entry::key)
    }

    pub(crate) fn prompt_names(&self) -> impl Iterator<Item = &str> {
        self.elements.prompts.iter().map(Entry::key)
    }

    /// Returns the entry that answers for a URI.
    pub(crate) fn entry_for(&self, uri: &str) -> Option<&ResourceEntry> {
        self.find(uri).map(|(entry, _)| entry)
    }

    /// Returns the entry that answers for a URI, and the values of its template variables.
    pub(crate) fn find(&self, uri: &str) -> Option<(&ResourceEntry, Values)> {
        if let Some(place) = self.resources.get(uri) {
            return Some((&self.elements.resources[*place], Values::new()));
        }
        self.templates.iter().find_map(|place| {
            let entry = &self.elements.resources[*place];
            Some((entry, entry.template()?.match_uri(uri)?))
        })
    }

    /// Returns the resource or template with this name.
    pub(crate) fn resource_named(&self, name: &str) -> Option<&ResourceEntry> {
        self.elements.resources.iter().find(|resource| resource.definition().name() == name)
    }

    /// Returns the resource or template with exactly this URI or template text.
    pub(crate) fn resource_at(&self, uri: &str) -> Option<&ResourceEntry> {
        self.elements.resources.iter().find(|resource| resource.key() == uri)
    }
}

fn index_by_name<E: Entry>(entries: &[E], mistakes: &mut Vec<String>) -> HashMap<String, usize> {
    let kind = E::KIND;
    let mut places = HashMap::new();
    for (place, name) in entries.iter().map(E::key).enumerate() {
        if name.is_empty() {
            mistakes.push(format!("a {kind} has no name"));
        }
        if places.insert(name.to_owned(), place).is_some() {
            mistakes.push(format!("two {kind}s have the name `{name}`"));
        }
    }
    places
}

fn definitions<E, D: Clone>(entries: &[E], definition: fn(&E) -> &D) -> Vec<D> {
    entries.iter().map(|entry| definition(entry).clone()).collect()
}

/// Sorts resources into those with a URI and those with a template. If two templates match the same URI, the more
/// literal one is tried first, then the one with fewer `{+…}`, then the one that was registered first.
fn index_resources(
    resources: &[ResourceEntry],
    mistakes: &mut Vec<String>,
) -> (HashMap<String, usize>, Vec<usize>) {
    let mut plain = HashMap::new();
    let mut families: Vec<(usize, &UriTemplate)> = Vec::new();
    let mut shapes = HashMap::new();
    for (place, resource) in resources.iter().enumerate() {
        let uri = resource.key();
        match resource.template() {
            Some(template) => {
                if let Some(twin) = shapes.insert(template.shape(), uri) {
                    mistakes.push(format!("the templates `{twin}` and `{uri}` match the same URIs"));
                }
                families.push((place, template));
            }
            // A template that cannot be matched, which only sources can have, is listed but never found by a URI.
            None if matches!(resource.definition(), ResourceDefinition::Template(_)) => {}
            None => {
                if plain.insert(uri.to_owned(), place).is_some() {
                    mistakes.push(format!("two resources have the URI `{uri}`"));
                }
            }
        }
    }
    let specificity = |family: usize| families[family].1.specificity();
    let order = sorted_places(families.len(), &|one, other| specificity(other).cmp(&specificity(one)));
    (plain, order.into_iter().map(|family| families[family].0).collect())
}

/// Derives the capabilities from the elements of the server.
fn capabilities(elements: &Elements, layout: &SnapshotSettings) -> ServerCapabilities {
    let changing = || -> JsonObject { insert_all([("listChanged".to_owned(), true.into())]) };
    let mut capabilities = layout.declared.clone();
    if !elements.tools.is_empty() {
        capabilities.tools.get_or_insert_with(changing);
    }
    if !elements.prompts.is_empty() {
        capabilities.prompts.get_or_insert_with(changing);
    }
    if !elements.resources.is_empty() || layout.has_resource_handlers {
        capabilities.resources.get_or_insert_with(|| {
            let mut settings = changing();
            settings.insert("subscribe".to_owned(), true.into());
            settings
        });
    }
    let completes = elements.prompts.iter().any(|prompt| !prompt.completers.is_empty())
        || elements.resources.iter().any(|resource| !resource.completers.is_empty());
    if completes {
        capabilities.completions.get_or_insert_default();
    }
    capabilities.logging.get_or_insert_default();
    if layout.omitted.logging {
        capabilities.logging = None;
    }
    if let Some(settings) = capabilities.resources.as_mut().filter(|_| layout.omitted.subscriptions) {
        settings.remove("subscribe");
    }
    capabilities
}

/// A list, split into pages.
#[derive(Debug)]
pub(crate) struct Pages<T> {
    list: &'static str,
    pages: Vec<Arc<Listing<T>>>,
}

impl<T: Encode> Pages<T> {
    fn new(list: &'static str, items: Vec<T>, layout: &SnapshotSettings) -> Self {
        let size = layout.page_size.unwrap_or(usize::MAX).max(1);
        let count = items.len().div_ceil(size).max(1);
        let mut items = items.into_iter();
        let pages = (0..count).map(|place| {
            let next = (place + 1 < count).then(|| layout.cursor_key.sign(list, &(place + 1).to_string()));
            Arc::new(Listing::new(items.by_ref().take(size).collect(), next))
        });
        Self { list, pages: pages.collect() }
    }

    /// Returns the page at a verified position, or `None` after the end of the list.
    pub(crate) fn at(&self, place: usize) -> Option<&Arc<Listing<T>>> {
        self.pages.get(place)
    }

    pub(crate) fn is_last(&self, place: usize) -> bool {
        place + 1 >= self.pages.len()
    }

    /// Returns the position of a cursor. A position that is not a number counts as the end of the list.
    pub(crate) fn position(&self, cursor: Option<&str>, cursors: &CursorKey) -> Result<usize, RpcError> {
        let Some(cursor) = cursor else { return Ok(0) };
        Ok(cursors.verify(self.list, cursor)?.parse().unwrap_or(usize::MAX))
    }
}

impl<T: Encode + Clone> Pages<T> {
    /// Returns a page of the list for a caller that may not see everything, and whether more items follow. Positions
    /// count in the filtered list, so a cursor reveals nothing about hidden items, and the cursor of another caller
    /// does not give access to them.
    pub(crate) fn visible_page(&self, place: usize, is_seen: impl Fn(&T) -> bool) -> (Vec<T>, bool) {
        // A list of one page stays one page.
        let size = if self.pages.len() > 1 { self.pages[0].items().len() } else { usize::MAX };
        let all = self.pages.iter().flat_map(|page| page.items());
        let mut seen = all.filter(|item| is_seen(item)).skip(place.saturating_mul(size));
        let page = seen.by_ref().take(size).cloned().collect();
        (page, seen.next().is_some())
    }

    /// Returns the page at a cursor, with the items that the caller may see.
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        cursors: &CursorKey,
        allowed: Option<&Visibility>,
        is_seen: impl Fn(&Visibility, &T) -> bool,
    ) -> Result<Arc<Listing<T>>, RpcError> {
        let place = self.position(cursor, cursors)?;
        let Some(allowed) = allowed else {
            // If the list has become shorter, nothing follows after the pages that the client has.
            let page = self.pages.get(place).cloned();
            return Ok(page.unwrap_or_else(|| Arc::new(Listing::new(Vec::new(), None))));
        };
        let (items, has_more) = self.visible_page(place, |item| is_seen(allowed, item));
        let next = has_more.then(|| cursors.sign(self.list, &(place + 1).to_string()));
        Ok(Arc::new(Listing::new(items, next)))
    }
}
