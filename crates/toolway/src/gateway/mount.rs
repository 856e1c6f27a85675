//! What can be mounted?

use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::{Prompt, Tool};

use super::caller_clients::CallerClients;
use super::edits::Edits;
use super::source::MountedHub;
use crate::client::Client;
use crate::ground::error::Result;
use crate::ground::future::BoxFuture;
use crate::hub::{Follower, Hub};
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::{Principal, ServerBuilder};

impl ServerBuilder {
    /// Mounts another server, which makes this server a gateway: it also lists the tools, prompts and resources of the
    /// other server, and forwards calls to the other server.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// /// Add two numbers.
    /// #[tool]
    /// fn add(a: f64, b: f64) -> f64 {
    ///     a + b
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let other = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
    /// let client = Client::connect(&other).await?; // or a URL, or a command line
    /// let gateway = Server::new("gateway", "1.0.0").mount(client).build()?;
    ///
    /// let caller = connect(&gateway).await;
    /// let sum = caller.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
    /// assert_eq!(sum.text()?, "5");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Everything that the other server sends during a call is passed on: results and errors unchanged, progress, log
    /// messages, and its questions to the user, which go to the caller. The two sides may use different protocol
    /// revisions. Changes of the other server's lists are visible on this server, and its resources can be subscribed
    /// to through this server. Cancelling a call on this server also cancels it on the other server. While the other
    /// server cannot be reached, its elements stay listed, and calls fail with an error that says so.
    ///
    /// [Layers](Self::layer), [`on_connect`](Self::on_connect) and limits of this server also apply to forwarded calls.
    ///
    /// In protocol revisions up to 2025-11-25, a server learns from the `initialize` request which questions it may
    /// ask. The client therefore connects once more, to announce that questions are passed on. A client made from a
    /// transport that cannot be reopened does not reconnect. A question for which the client has a handler of its own
    /// ([`ClientBuilder::on_elicit`](crate::client::ClientBuilder::on_elicit) and similar) goes to that handler, never
    /// to the caller.
    ///
    /// An element whose name this server already has is left out. [`mount_as`](Self::mount_as) adds a prefix to the
    /// names, and [`Mount::of`] renames, describes and leaves out single tools.
    ///
    /// Mounting a [`Hub`] mounts all its servers, including those that are added later:
    ///
    /// ```no_run
    /// use toolway::prelude::*;
    ///
    /// # async fn example() -> toolway::Result<()> {
    /// let hub = Hub::from_file("mcp.json").await?;
    /// Server::new("gateway", "1.0.0").mount(hub).serve_stdio().await
    /// # }
    /// ```
    pub fn mount(mut self, mount: impl IntoMount) -> Self {
        let Mount { hub, follower: following, edits, scopes, caller_clients } = mount.into_mount();
        self.mistakes.extend(edits.mistakes());
        self.mistakes.extend(scopes.mistake());
        self.source(Arc::new(MountedHub::new(hub, following, edits, caller_clients)), scopes)
    }

    /// Mounts a server with `name__` before the names of its tools and prompts. URIs do not change.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// /// Search.
    /// #[tool]
    /// fn search(query: &str) -> String {
    ///     format!("nothing about {query}")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let mut gateway = Server::new("gateway", "1.0.0");
    /// for name in ["files", "mails"] {
    ///     let other = Server::new(name, "1.0.0").tools(tools![search]).build()?;
    ///     gateway = gateway.mount_as(name, Client::connect(&other).await?);
    /// }
    /// let caller = connect(&gateway.build()?).await;
    /// let found = caller.call("mails__search", serde_json::json!({"query": "rust"})).await?;
    /// assert_eq!(found.text()?, "nothing about rust");
    /// # Ok(())
    /// # }
    /// ```
    pub fn mount_as(mut self, name: impl Into<String>, client: Client) -> Self {
        let name = name.into();
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if name.is_empty() || !name.chars().all(is_allowed) {
            self.mistakes.push(format!(
                "`mount_as({name:?}, …)`: the prefix must consist of A–Z, a–z, 0–9, `_`, `-` and `.`"
            ));
        }
        let mut mount = Mount::from_client(&name, client);
        mount.edits.prefix = Some(name);
        self.mount(mount)
    }
}

/// One or more servers to [mount](ServerBuilder::mount), and changes to their elements.
///
/// The methods refer to elements by their names before any change. For a hub, these names include the prefix
/// `server__`. The order in which the methods are called does not matter. A renamed tool can still send progress, log
/// messages and questions during a call.
///
/// ```
/// use toolway::prelude::*;
/// use toolway::server::Mount;
/// use toolway::testing::connect;
///
/// /// Search.
/// #[tool]
/// fn search(query: &str) -> String {
///     format!("nothing about {query}")
/// }
///
/// /// Delete everything.
/// #[tool(destructive)]
/// fn wipe() {}
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> toolway::Result<()> {
/// let files = Server::new("files", "1.0.0").tools(tools![search, wipe]).build()?;
/// let hub = Hub::new();
/// hub.connect("files", &files).await?;
/// let mount = Mount::of(&hub)
///     .filter(|tool| tool.annotations.as_ref().is_none_or(|hints| hints.destructive_hint != Some(true)))
///     .rename("files__search", "find_file")
///     .describe("files__search", "Find files of this project by a word in them.");
/// let gateway = Server::new("gateway", "1.0.0").mount(mount).build()?;
///
/// let caller = connect(&gateway).await;
/// let tools = caller.tools().await?;
/// assert_eq!(tools.len(), 1);
/// assert_eq!(tools[0].description(), "Find files of this project by a word in them.");
/// let found = caller.call("find_file", serde_json::json!({"query": "rust"})).await?;
/// assert_eq!(found.text()?, "nothing about rust");
/// # Ok(())
/// # }
/// ```
pub struct Mount {
    hub: Hub,
    /// The task that follows the server of a client that is mounted by itself.
    follower: Option<Follower>,
    edits: Edits,
    /// The scopes that the elements need.
    scopes: RequiredScopes,
    caller_clients: Option<CallerClients>,
}

impl Mount {
    /// Creates a mount from a client or a hub, whose elements can then be renamed, described and filtered.
    pub fn of(mount: impl IntoMount) -> Self {
        mount.into_mount()
    }

    fn new(hub: Hub, follower: Option<Follower>) -> Self {
        let (edits, scopes) = (Edits::default(), RequiredScopes::default());
        Self { hub, follower, edits, scopes, caller_clients: None }
    }

    fn from_client(name: &str, client: Client) -> Self {
        let (hub, following) = Hub::from_client(name, client);
        Self::new(hub, Some(following))
    }

    /// Requires scopes for every element: a caller whose token lacks one is refused, as with
    /// [`ToolEntry::scopes`](crate::server::ToolEntry::scopes).
    ///
    /// ```
    /// # use toolway::prelude::*;
    /// use toolway::server::Mount;
    ///
    /// # async fn example(mails: Client) {
    /// let gateway = Server::new("gateway", "1.0.0").mount(Mount::of(mails).scopes(["mail"]));
    /// # }
    /// ```
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.add(scopes);
        self
    }

    /// Uses a client of its own for the calls of each caller, so that the other server gets the token of the caller and
    /// not that of the gateway. The function gets the name of the mounted server and the caller's principal, and is called
    /// when the caller calls first; the client is kept while it is used. Callers without a principal are refused. The lists
    /// and the updates of resources come through the mounted client.
    ///
    /// The token that a caller has sent to the gateway is for the gateway, and is never passed on.
    ///
    /// ```
    /// use toolway::client::{Http, OAuth, StoreVault};
    /// use toolway::prelude::*;
    /// use toolway::server::Mount;
    ///
    /// # async fn example(vault: StoreVault) -> toolway::Result<()> {
    /// let url = "https://mail.example/mcp";
    /// let shared = Client::builder().oauth(OAuth::client_credentials("gateway", "…").for_issuer("https://id.example"));
    /// let mount = Mount::of(shared.connect(url).await?).client_for(move |_, caller| {
    ///     let oauth = OAuth::browser().vault(vault.clone()).profile(caller.as_str());
    ///     async move { Client::builder().connect_http(Http::new(url).oauth(oauth)).await }
    /// });
    /// let gateway = Server::new("gateway", "1.0.0").mount(mount).build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn client_for<F, Fut>(mut self, make: F) -> Self
    where
        F: Fn(String, Principal) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Client>> + Send + 'static,
    {
        let make = move |server, caller| Box::pin(make(server, caller)) as BoxFuture<'static, _>;
        self.caller_clients = Some(CallerClients::new(Box::new(make)));
        self
    }

    /// Renames a tool.
    ///
    /// A name that is not valid for a tool, or that is given to two tools, is a mistake that
    /// [`build`](ServerBuilder::build) reports. If another tool already has the name, on this server or listed before,
    /// the renamed tool is left out and a warning is logged. A warning is also logged if the tool to rename does not
    /// exist.
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.edits.renames.push((tool.into(), name.into()));
        self
    }

    /// Renames every tool with a function, except those that [`rename`](Self::rename) names. A tool whose new name is
    /// not valid is left out, and a warning is logged.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Mount, ToolEntry};
    /// use toolway::testing::connect;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let tool = ToolEntry::from_fn("acme_corp_search", || async { "nothing" }).with_description("Search.");
    /// let other = Client::connect(&Server::new("acme", "1.0.0").tool(tool).build()?).await?;
    /// let mount = Mount::of(other).rename_with(|name| name.trim_start_matches("acme_corp_").to_owned());
    /// let caller = connect(&Server::new("gateway", "1.0.0").mount(mount).build()?).await;
    /// assert_eq!(caller.tools().await?[0].name, "search");
    /// # Ok(())
    /// # }
    /// ```
    pub fn rename_with(mut self, name: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        self.edits.rename_with(Arc::new(name));
        self
    }

    /// Replaces the description of a tool.
    pub fn describe(mut self, tool: impl Into<String>, description: impl Into<String>) -> Self {
        self.edits.descriptions.push((tool.into(), description.into()));
        self
    }

    /// Offers only the tools for which the function returns `true`, including tools that are added later. Other tools
    /// are neither listed nor callable. If there are several filters, all of them must return `true`.
    pub fn filter(mut self, is_offered: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> Self {
        self.edits.tool_filters.push(Arc::new(is_offered));
        self
    }

    /// Offers only the prompts for which the function returns `true`.
    pub fn filter_prompts(mut self, is_offered: impl Fn(&Prompt) -> bool + Send + Sync + 'static) -> Self {
        self.edits.prompt_filters.push(Arc::new(is_offered));
        self
    }

    /// Offers only the resources for which the function returns `true`. Its arguments are the name of the server and
    /// the URI on that server, or the URI template of a resource template. Other resources are not listed and can be
    /// neither read nor subscribed to, even if a template of their server matches them.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::{Mount, ResourceEntry};
    /// use toolway::testing::connect;
    /// use toolway::types::Resource;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let file = |uri: &'static str| ResourceEntry::define(Resource::new(uri, uri), move || async move { uri });
    /// let files = [file("file:///src/main.rs"), file("file:///.env")];
    /// let files = Server::new("files", "1.0.0").resources(files).build()?;
    /// let mount = Mount::of(Client::connect(&files).await?).filter_resources(|_, uri| uri.starts_with("file:///src/"));
    /// let caller = connect(&Server::new("gateway", "1.0.0").mount(mount).build()?).await;
    /// assert_eq!(caller.resources().await?.len(), 1);
    /// assert!(caller.read_resource("file:///.env").await.is_err());
    /// # Ok(())
    /// # }
    /// ```
    pub fn filter_resources(
        mut self,
        is_offered: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.edits.resource_filters.push(Arc::new(is_offered));
        self
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.hub.snapshot().upstreams().map(|upstream| upstream.name).collect();
        f.debug_tuple("Mount").field(&names).finish()
    }
}

/// A type that can be mounted.
pub trait IntoMount {
    /// Converts the value to a mount.
    fn into_mount(self) -> Mount;
}

impl IntoMount for Mount {
    fn into_mount(self) -> Mount {
        self
    }
}

/// Mounts the server of a client. The elements keep their original names.
impl IntoMount for Client {
    fn into_mount(self) -> Mount {
        // This name appears in messages and is passed to filters of resources. The names of elements do not contain it.
        let name = self.server_info().map_or_else(|| "the server".to_owned(), |info| info.name);
        Mount::from_client(&name, self)
    }
}

impl IntoMount for &Client {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}

/// Mounts all servers of a hub, under the names that the hub gives them. The hub keeps following them as long as this
/// server exists.
impl IntoMount for Hub {
    fn into_mount(self) -> Mount {
        Mount::new(self, None)
    }
}

impl IntoMount for &Hub {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}
