//! How does a server offer what other servers have? It lists what they list, passes calls on to them, and passes back what comes
//! of them: results, errors, progress, log messages and questions.
//!
//! Ids and tokens do not pass: each side has its own. [docs/design/0009](https://github.com/toolway/toolway/blob/main/docs/design/0009-gateway.md)
//! says what else was decided.
//!
//! | file | question |
//! |---|---|
//! | `mod.rs` | What can be mounted? |
//! | `upstream.rs` | Which servers are there, and what are their elements called here? |
//! | `hub.rs` | How is a hub mounted? |
//! | `joint.rs` | What have they listed, and whose is a URI? |
//! | `follow.rs` | How is it known what one of them has? |
//! | `element.rs` | How do a tool, a prompt and a resource of another server become entries? |
//! | `call.rs` | How is one call passed on, and what comes of it? |
//! | `said.rs` | What does the other server say and ask meanwhile? |
//! | `parked.rs` | Where is a call while its caller is asked something? |
//! | `failure.rs` | What is told of a call that could not be passed on? |

mod call;
mod element;
mod failure;
mod follow;
mod hub;
mod joint;
mod parked;
mod said;
mod upstream;

use std::fmt;
use std::sync::Arc;

use self::joint::Joint;
use self::upstream::{One, Upstreams};
use crate::client::Client;
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
    /// questions to the user, which go to whoever has called. Both sides may speak any revision. What
    /// changes at the other server changes here, and resources can be subscribed to through this one. A call that is given up
    /// here is given up there. While the other server cannot be reached, its elements stay, and calls say so.
    ///
    /// What stands around calls here ([layers](Self::layer), [`on_connect`](Self::on_connect), limits) stands around these as well.
    ///
    /// A server with a handshake was told what it may ask when the client was connected. It is connected to once more, so that
    /// it learns that it may ask; that is left out where a client was made from a transport that cannot be opened again. What
    /// the client's own application answers ([`ClientBuilder::on_elicit`](crate::client::ClientBuilder::on_elicit) and its kin) is never passed on.
    ///
    /// A name that this server has itself is not taken over; [`mount_as`](Self::mount_as) puts another before it.
    ///
    /// A [`Hub`](crate::Hub) is mounted with all its servers, also those that come later:
    ///
    /// ```no_run
    /// use toolway::prelude::*;
    ///
    /// # async fn example() -> toolway::Result<()> {
    /// let hub = Hub::from_file("mcp.json").await?;
    /// Server::new("gateway", "1.0.0").mount(hub).serve_stdio().await
    /// # }
    /// ```
    pub fn mount(self, mount: impl IntoMount) -> Self {
        self.source(Arc::new(Joint::new(mount.into_mount().0)))
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
        self.check_mount(&name);
        self.mount(Mount(Arc::new(One::named(name, client))))
    }

    fn check_mount(&mut self, name: &str) {
        let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
        if name.is_empty() || !name.chars().all(is_allowed) {
            self.mistake(format!(
                "`mount_as({name:?}, …)`: what stands before names is made of A–Z, a–z, 0–9, `_`, `-` and `.`"
            ));
        }
    }
}

/// Something that can be [mounted](ServerBuilder::mount): one server or several.
pub struct Mount(Arc<dyn Upstreams>);

impl fmt::Debug for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.now().into_iter().map(|upstream| upstream.name).collect();
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
        Mount(Arc::new(One::unnamed(self)))
    }
}

impl IntoMount for &Client {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}
