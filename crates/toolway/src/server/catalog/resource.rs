//! What is a resource? A definition to list, and optionally a handler that reads it.
//!
//! One type covers both kinds: a resource has a URI, a resource template matches many URIs. The definition determines
//! the kind.

use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::{Icon, ReadResourceResult, Resource, ResourceTemplate};
use toolway_protocol::uri_template::{UriTemplate, Values};

use crate::ground::future::BoxFuture;
use crate::ground::panic::catch_panic_async;
use crate::server::Server;
use crate::server::call::scope::Scope;
use crate::server::call::state::States;
use crate::server::catalog::completion::{Completer, Completers};
use crate::server::catalog::entry::{Entry, Origin};
use crate::server::catalog::tool::MakeEntry;
use crate::server::failure::errors::{Failure, ResourceError};
use crate::server::handler::arguments::Arguments;
use crate::server::handler::function::{DefinedHandler, ErasedHandler, Handler};
use crate::server::handler::parameter::{Missing, Parameter};
use crate::server::respond::resource::{IntoResource, ResourceInfo};

/// The future of a resource that is being read.
pub type ReadFuture = BoxFuture<'static, Result<ReadResourceResult, ResourceError>>;

/// The resource that is being read, as a parameter of the handler that reads it.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::{ReadRequest, ResourceEntry};
/// use toolway::types::ResourceTemplate;
///
/// let anything = ResourceEntry::define(
///     ResourceTemplate::new("echo://{+text}", "echo"),
///     |reading: ReadRequest| async move { format!("{} is {:?}", reading.uri, reading.variables.text("text")) },
/// );
/// let server = Server::new("echo", "1.0.0").resource(anything).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadRequest {
    /// The URI.
    pub uri: String,
    /// The values of the template variables.
    pub variables: Values,
    /// The media type that the server lists.
    pub mime_type: Option<String>,
    /// The maximum size of a message in bytes.
    max_message: usize,
}

impl ReadRequest {
    pub(crate) fn new(uri: String, max_message: usize) -> Self {
        Self { uri, variables: Values::new(), mime_type: None, max_message }
    }

    /// Returns the URI and media type for contents that do not set their own.
    pub fn resource_info(&self) -> ResourceInfo {
        ResourceInfo::new(&self.uri, self.mime_type.clone(), self.max_message)
    }
}

impl Parameter for ReadRequest {
    fn from_scope(scope: &Scope) -> Result<Self, Missing> {
        scope.input::<Self>().cloned().ok_or(Missing)
    }
}

/// The definition of a resource or a resource template, as a server lists it.
#[derive(Debug, Clone, PartialEq)]
pub enum ResourceDefinition {
    /// One resource.
    Resource(Resource),
    /// A template for many resources.
    Template(ResourceTemplate),
}

impl ResourceDefinition {
    /// Returns the name.
    pub fn name(&self) -> &str {
        match self {
            Self::Resource(resource) => &resource.name,
            Self::Template(template) => &template.name,
        }
    }

    /// Returns the URI or the template.
    pub fn uri(&self) -> &str {
        match self {
            Self::Resource(resource) => &resource.uri,
            Self::Template(template) => &template.uri_template,
        }
    }

    pub(crate) fn mime_type(&self) -> Option<&String> {
        match self {
            Self::Resource(resource) => resource.mime_type.as_ref(),
            Self::Template(template) => template.mime_type.as_ref(),
        }
    }
}

impl From<Resource> for ResourceDefinition {
    fn from(resource: Resource) -> Self {
        Self::Resource(resource)
    }
}

impl From<ResourceTemplate> for ResourceDefinition {
    fn from(template: ResourceTemplate) -> Self {
        Self::Template(template)
    }
}

/// A handler that can be listed and read as a resource or a resource template. `#[resource]` implements this for a
/// function.
///
/// ```
/// use toolway::BoxFuture;
/// use toolway::prelude::*;
/// use toolway::server::convert::IntoResource;
/// use toolway::server::element::{ResourceDefinition, ResourceHandler};
/// use toolway::server::parameter::Scope;
/// use toolway::server::{ReadRequest, ResourceEntry, ResourceError};
/// use toolway::types::{ReadResourceResult, Resource};
///
/// struct Page {
///     name: &'static str,
///     text: &'static str,
/// }
///
/// impl ResourceHandler for Page {
///     fn definition(&self) -> ResourceDefinition {
///         Resource::new(format!("pages://{}", self.name), self.name).with_mime_type("text/markdown").into()
///     }
///
///     fn read(&self, reading: ReadRequest, _: Scope) -> BoxFuture<'static, Result<ReadResourceResult, ResourceError>> {
///         Box::pin(self.text.into_resource(reading.resource_info()))
///     }
/// }
///
/// let pages = [Page { name: "index", text: "# Index" }, Page { name: "about", text: "# About" }];
/// let server = Server::new("pages", "1.0.0").resources(pages.map(ResourceEntry::new)).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
pub trait ResourceHandler: Send + Sync + 'static {
    /// Returns the definition. Called once, when the resource is registered.
    fn definition(&self) -> ResourceDefinition;

    /// Reads the resource.
    fn read(
        &self,
        reading: ReadRequest,
        scope: Scope,
    ) -> BoxFuture<'static, Result<ReadResourceResult, ResourceError>>;

    /// Returns what the server lacks for this resource, in sentences for its author. Called when the server is built.
    fn check(&self, states: &States) -> Vec<String> {
        let _ = states;
        Vec::new()
    }

    /// Returns the completers of the template variables. Called once.
    fn completers(&self) -> Completers {
        Completers::default()
    }

    /// Returns the scopes that a caller needs. Called once; see [`ResourceEntry::scopes`].
    #[doc(hidden)]
    fn scopes(&self) -> &'static [&'static str] {
        &[]
    }
}

/// A resource or a resource template of a server.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::ResourceEntry;
///
/// /// The message of the day.
/// #[resource("motd://today")]
/// fn motd() -> &'static str {
///     "be kind"
/// }
///
/// let resource = ResourceEntry::of::<motd>().with_name("today").with_description("What to think of today.");
/// assert_eq!(resource.definition().uri(), "motd://today");
/// let server = Server::new("motd", "1.0.0").resource(resource).build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Clone)]
pub struct ResourceEntry {
    pub(super) definition: Arc<ResourceDefinition>,
    /// If this is `None`, the server's `read_resource` handlers read the resource.
    pub(crate) handler: Option<Arc<dyn ResourceHandler>>,
    pub(crate) completers: Completers,
    pub(super) template: Option<Arc<UriTemplate>>,
    pub(crate) origin: Origin,
    pub(super) mistakes: Vec<String>,
}

impl ResourceEntry {
    /// Makes an entry from a handler.
    pub fn new(handler: impl ResourceHandler) -> Self {
        let mut entry = Self::without_handler(handler.definition());
        entry.completers = handler.completers();
        entry.origin = Origin::requiring(handler.scopes());
        entry.handler = Some(Arc::new(handler));
        entry
    }

    /// Returns the resource for a function that is marked `#[resource]`: `ResourceEntry::of::<index>()`, or shorter
    /// `index::entry()`.
    pub fn of<T: MakeEntry<Entry = Self>>() -> Self {
        T::entry()
    }

    /// Makes an entry without a handler: the resource is listed, and a handler of
    /// [`read_resource`](crate::server::ServerBuilder::read_resource) reads it.
    pub fn without_handler(definition: impl Into<ResourceDefinition>) -> Self {
        let mut definition = definition.into();
        let mut mistakes = Vec::new();
        let template = match &mut definition {
            ResourceDefinition::Resource(resource) => {
                mistakes.extend(uri_mistake(&resource.uri));
                None
            }
            ResourceDefinition::Template(template) => match UriTemplate::parse(&template.uri_template) {
                Ok(parsed) => {
                    mistakes.extend(parsed.check_matchable().err().map(|error| error.to_string()));
                    if parsed.variables().next().is_none() {
                        mistakes.push("the template has no variables: make it a resource".to_owned());
                    }
                    mistakes.extend(scheme_mistake(&template.uri_template));
                    // Clients know only the syntax of RFC 6570, so `:name` is listed as `{name}`.
                    parsed.as_str().clone_into(&mut template.uri_template);
                    Some(Arc::new(parsed))
                }
                Err(error) => {
                    mistakes.push(error.to_string());
                    None
                }
            },
        };
        Self {
            definition: Arc::new(definition),
            handler: None,
            completers: Completers::default(),
            template,
            origin: Origin::default(),
            mistakes,
        }
    }

    /// Makes a resource from a function or a closure, which takes [`ReadRequest`] and any other parameter of a handler.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{ReadRequest, ResourceEntry};
    /// use toolway::types::{Resource, ResourceTemplate};
    ///
    /// let motd = ResourceEntry::define(Resource::new("motd://today", "motd"), || async { "be kind" });
    /// let user = ResourceEntry::define(ResourceTemplate::new("users://{id}", "user"), |reading: ReadRequest| async move {
    ///     format!("user {}", reading.variables.text("id").unwrap_or_default())
    /// });
    /// ```
    pub fn define<P: 'static, H: Handler<P>>(definition: impl Into<ResourceDefinition>, handler: H) -> Self
    where
        H::Output: IntoResource,
    {
        let mut entry = Self::without_handler(definition);
        let definition = ResourceDefinition::clone(&entry.definition);
        entry.handler = Some(Arc::new(DefinedHandler::new(definition, handler)));
        entry
    }

    /// Returns the definition that is listed.
    pub fn definition(&self) -> &ResourceDefinition {
        &self.definition
    }

    /// Sets the name.
    pub fn with_name(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.edit(|definition| match definition {
            ResourceDefinition::Resource(resource) => resource.name = name,
            ResourceDefinition::Template(template) => template.name = name,
        })
    }

    /// Sets the description.
    pub fn with_description(self, description: impl Into<String>) -> Self {
        let description = Some(description.into());
        self.edit(|definition| match definition {
            ResourceDefinition::Resource(resource) => resource.description = description,
            ResourceDefinition::Template(template) => template.description = description,
        })
    }

    /// Adds an icon.
    pub fn with_icon(self, icon: Icon) -> Self {
        self.edit(|definition| match definition {
            ResourceDefinition::Resource(resource) => resource.icons.get_or_insert_default().push(icon),
            ResourceDefinition::Template(template) => template.icons.get_or_insert_default().push(icon),
        })
    }

    /// Changes the definition that is listed. The URI must stay the same, because the resource is found by it.
    pub fn edit(mut self, change: impl FnOnce(&mut ResourceDefinition)) -> Self {
        let uri = self.definition.uri().to_owned();
        change(Arc::make_mut(&mut self.definition));
        if self.definition.uri() != uri {
            self.mistakes
                .push(format!("its URI was changed from {uri:?}: register another resource instead"));
        }
        self
    }

    /// Sets the completer of a template variable.
    pub fn with_completer(mut self, variable: impl Into<String>, completer: Completer) -> Self {
        self.completers.set(variable.into(), completer);
        self
    }

    pub(crate) fn template(&self) -> Option<&UriTemplate> {
        self.template.as_deref()
    }

    /// Reads the resource, if it has a handler.
    pub(crate) async fn read(
        &self,
        reading: ReadRequest,
        scope: &Scope,
    ) -> Result<ReadResourceResult, Failure> {
        let Some(handler) = &self.handler else { return Err(Failure::NotFound) };
        let scope = scope.with_states(self.origin.states.as_ref()).with_input(reading.clone());
        catch_panic_async(|| handler.read(reading, scope)).await?.map_err(|error| error.0)
    }
}

impl Entry for ResourceEntry {
    const KIND: &'static str = "resource";

    fn key(&self) -> &str {
        self.definition.uri()
    }

    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn mistakes(&self, states: &States) -> Vec<String> {
        let mut found = self.mistakes.clone();
        if self.definition.name().is_empty() {
            found.push("it has no name".to_owned());
        }
        found.extend(self.handler.iter().flat_map(|handler| handler.check(states)));
        found.extend(self.completers.check(states));
        for name in self.completers.names() {
            if self.template().is_none_or(|template| template.variables().all(|known| known != name)) {
                found.push(format!("`{name}` has a completion, but the URI has no such variable"));
            }
        }
        found
    }
}

impl fmt::Debug for ResourceEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceEntry").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// Returns why a text is not a URI (RFC 3986), in words for the author.
pub(crate) fn uri_mistake(uri: &str) -> Option<String> {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#[]@!$&'()*+,;=%".contains(&byte);
    if let Some(wrong) = uri.chars().find(|character| !character.is_ascii() || !legal(*character as u8)) {
        let hint = if wrong == '{' || wrong == '}' {
            "; for a template use `ResourceTemplate`"
        } else {
            "; encode it with `%`"
        };
        return Some(format!("{uri:?} is not a URI: it holds {wrong:?}{hint}"));
    }
    let broken = uri.as_bytes().iter().enumerate().any(|(at, byte)| {
        *byte == b'%'
            && !uri.as_bytes().get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    if broken {
        return Some(format!("{uri:?} is not a URI: a `%` needs two hexadecimal digits"));
    }
    if uri.matches('#').count() > 1 {
        return Some(format!("{uri:?} is not a URI: the fragment holds a `#`; encode it with `%`"));
    }
    if has_stray_bracket(uri) {
        return Some(format!(
            "{uri:?} is not a URI: `[` and `]` are allowed only around the IP address of a host; encode them with `%`"
        ));
    }
    scheme_mistake(uri)
}

/// Returns whether square brackets occur outside the IP address of a host, which RFC 3986, section 3.2.2, does not
/// allow.
fn has_stray_bracket(uri: &str) -> bool {
    let rest = uri.split_once(':').and_then(|(_, rest)| rest.strip_prefix("//")).unwrap_or_default();
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let is_address = host
        .strip_prefix('[')
        .and_then(|host| host.split_once(']'))
        .is_some_and(|(address, port)| !address.is_empty() && (port.is_empty() || port.starts_with(':')));
    uri.matches(['[', ']']).count() > if is_address { 2 } else { 0 }
}

/// Returns why a URI does not start with a scheme; any scheme is accepted.
fn scheme_mistake(uri: &str) -> Option<String> {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    match uri.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme) && !rest.is_empty() => None,
        _ => Some(format!("{uri:?} is not a URI: it must begin with a scheme, as in `notes://index`")),
    }
}

impl<P: 'static, H: Handler<P>> ResourceHandler for DefinedHandler<ResourceDefinition, P, H>
where
    H::Output: IntoResource,
{
    fn definition(&self) -> ResourceDefinition {
        self.definition.clone()
    }

    fn read(&self, reading: ReadRequest, scope: Scope) -> ReadFuture {
        read_with(&self.handler, reading, scope)
    }

    fn check(&self, states: &States) -> Vec<String> {
        self.handler.check(states)
    }
}

/// A handler of `read_resource`. It reads resources that do not have their own handler.
pub(crate) type ReadHandler = ErasedHandler<ReadRequest, ReadResourceResult>;

pub(crate) fn read_handler<P: 'static, H: Handler<P>>(handler: H) -> ReadHandler
where
    H::Output: IntoResource,
{
    ErasedHandler::new(handler, |handler, reading, scope| {
        let reading = read_with(handler, reading, scope);
        Box::pin(async move { reading.await.map_err(Into::into) })
    })
}

/// Reads a resource with any handler.
fn read_with<P, H: Handler<P>>(handler: &H, reading: ReadRequest, scope: Scope) -> ReadFuture
where
    H::Output: IntoResource,
{
    let about = reading.resource_info();
    match handler.run(&Arguments::new(None, None), scope.with_input(reading)) {
        Ok(running) => Box::pin(async move { running.await.into_resource(about).await }),
        Err(error) => Box::pin(std::future::ready(Err(ResourceError(error.0)))),
    }
}

impl Server {
    /// Returns the URI of the resource with this name. For a resource template, the variables are filled in.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// One note.
    /// #[resource(uri = "notes://{id}/{section}")]
    /// fn note(id: u64, section: String) -> String {
    ///     format!("{section} of {id}")
    /// }
    ///
    /// let server = Server::new("notes", "1.0.0").resources(resources![note]).build()?;
    /// let uri = server.resource_uri("note", [("id", "7"), ("section", "body")]);
    /// assert_eq!(uri.as_deref(), Some("notes://7/body"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn resource_uri(&self, name: &str, variables: impl Into<Values>) -> Option<String> {
        let snapshot = self.inner.registry.load();
        let entry = snapshot.resource_named(name)?;
        Some(match entry.template() {
            Some(template) => template.expand(&variables.into()),
            None => entry.definition().uri().to_owned(),
        })
    }

    /// Returns a description of the resource at a URI, from its entry if there is one.
    pub(crate) fn describe_resource(&self, uri: String) -> Resource {
        let snapshot = self.inner.registry.load();
        match snapshot.find(&uri).map(|(entry, _)| entry.definition()) {
            Some(ResourceDefinition::Resource(resource)) => resource.clone(),
            Some(ResourceDefinition::Template(template)) => {
                let mut resource = Resource::new(uri, &template.name);
                resource.title.clone_from(&template.title);
                resource.description.clone_from(&template.description);
                resource.mime_type.clone_from(&template.mime_type);
                resource.annotations.clone_from(&template.annotations);
                resource.icons.clone_from(&template.icons);
                resource
            }
            None => {
                let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&uri).to_owned();
                Resource::new(uri, name)
            }
        }
    }
}
