//! What can be mounted?

use std::fmt;
use std::sync::Arc;

use toolway_protocol::types::{Prompt, Tool};

use super::edits::Edits;
use super::source::MountedHub;
use crate::client::Client;
use crate::hub::{Follower, Hub};
use crate::server::ServerBuilder;

impl ServerBuilder {
    /// Offers what another server has as well: its tools, prompts and resources are listed here, and calls are passed on to
    /// it. So this server stands in front of the other: a gateway.
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
    /// What the other server says about a call passes: results and errors as they are, progress, log messages, and its
    /// questions to the user, which go to the caller. Both sides may speak any revision. What
    /// changes at the other server changes here, and resources can be subscribed to through this one. A call that is given up
    /// here is given up there. While the other server cannot be reached, its elements stay, and calls say so.
    ///
    /// What stands around calls here ([layers](Self::layer), [`on_connect`](Self::on_connect), limits) stands around these as well.
    ///
    /// A server with a handshake was told what it may ask when the client was connected. It is connected to once more, so that
    /// it learns that it may ask; that is left out where a client was made from a transport that cannot be opened again. What
    /// the client's own application answers ([`ClientBuilder::on_elicit`](crate::client::ClientBuilder::on_elicit) and its kin) is never passed on.
    ///
    /// A name that this server has itself is not taken over; [`mount_as`](Self::mount_as) puts another before it, and
    /// [`Mount::of`] renames, describes and leaves out single tools.
    ///
    /// A [`Hub`] is mounted with all its servers, also those that come later:
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
        let Mount { hub, following, edits } = mount.into_mount();
        self.mistakes.extend(edits.mistakes());
        self.source(Arc::new(MountedHub::new(hub, following, edits)))
    }

    /// The same, with `name__` before the names of tools and prompts. URIs stay as they are.
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
                "`mount_as({name:?}, …)`: what stands before names is made of A–Z, a–z, 0–9, `_`, `-` and `.`"
            ));
        }
        let mut mount = Mount::alone(&name, client);
        mount.edits.prefix = Some(name);
        self.mount(mount)
    }
}

/// Something that can be [mounted](ServerBuilder::mount), one server or several, and what is changed about it on the way.
///
/// Names are those under which the tools would be listed: with `server__` before them if they are a hub's. They mean the same in
/// whichever order the methods are called. Calls of a tool that is called something else here still reach the same tool, with
/// progress, log messages and questions.
///
/// ```
/// use toolway::Mount;
/// use toolway::prelude::*;
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
    /// The task that looks after a client that is mounted by itself.
    following: Option<Follower>,
    edits: Edits,
}

impl Mount {
    /// Takes a client or a hub, to change how it is mounted.
    pub fn of(mount: impl IntoMount) -> Self {
        mount.into_mount()
    }

    fn alone(name: &str, client: Client) -> Self {
        let (hub, following) = Hub::alone(name, client);
        Self { hub, following: Some(following), edits: Edits::default() }
    }

    /// Calls a tool something else.
    ///
    /// A name that a tool may not have, or that two tools are given, is a mistake that [`build`](ServerBuilder::build) reports. If
    /// another tool has the name already, one of this server or one that is listed before, this one is left out, and the log says
    /// so. The log also says so if there is no tool to be renamed.
    pub fn rename(mut self, tool: impl Into<String>, name: impl Into<String>) -> Self {
        self.edits.renamed.push((tool.into(), name.into()));
        self
    }

    /// Calls every tool what a function makes of its name, unless [`rename`](Self::rename) says something else. A tool whose
    /// new name is not one that a tool may have is left out, and the log says so.
    ///
    /// ```
    /// use toolway::Mount;
    /// use toolway::prelude::*;
    /// use toolway::testing::connect;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> toolway::Result<()> {
    /// let tool = ToolEntry::from_fn("acme_corp_search", || async { "nothing" }).described("Search.");
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

    /// Says what a tool does, in place of what its own server says.
    pub fn describe(mut self, tool: impl Into<String>, description: impl Into<String>) -> Self {
        self.edits.described.push((tool.into(), description.into()));
        self
    }

    /// Offers only the tools that a function agrees to, of those that are there now and of those that come later. Others are
    /// neither listed nor called. With several filters, all have to agree.
    pub fn filter(mut self, is_offered: impl Fn(&Tool) -> bool + Send + Sync + 'static) -> Self {
        self.edits.tools.push(Arc::new(is_offered));
        self
    }

    /// Offers only the prompts that a function agrees to.
    pub fn filter_prompts(mut self, is_offered: impl Fn(&Prompt) -> bool + Send + Sync + 'static) -> Self {
        self.edits.prompts.push(Arc::new(is_offered));
        self
    }

    /// Offers only the resources that a function agrees to. It gets the name of the server and the URI as that server knows it;
    /// for a family of resources also its template. Others are not listed, cannot be read or subscribed to, whether or not
    /// their server lists them or has a template for them.
    ///
    /// ```
    /// use toolway::Mount;
    /// use toolway::prelude::*;
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
        self.edits.resources.push(Arc::new(is_offered));
        self
    }
}

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.hub.snapshot().upstreams().map(|upstream| upstream.name).collect();
        f.debug_tuple("Mount").field(&names).finish()
    }
}

/// What can be mounted.
pub trait IntoMount {
    /// Makes it ready to be.
    fn into_mount(self) -> Mount;
}

impl IntoMount for Mount {
    fn into_mount(self) -> Mount {
        self
    }
}

/// The server behind a client, its names as they are.
impl IntoMount for Client {
    fn into_mount(self) -> Mount {
        // For people only: nothing is called by it.
        let name = self.server_info().map_or_else(|| "the server".to_owned(), |info| info.name);
        Mount::alone(&name, self)
    }
}

impl IntoMount for &Client {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}

/// All servers of a hub, under the names that it gives them. It goes on looking after them, as long as the server is there.
impl IntoMount for Hub {
    fn into_mount(self) -> Mount {
        Mount { hub: self, following: None, edits: Edits::default() }
    }
}

impl IntoMount for &Hub {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}
