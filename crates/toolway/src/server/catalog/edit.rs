//! What may change while a server runs? Its tools, resources and prompts. Clients that listen are notified
//! automatically.

use crate::ground::error::Result;
use crate::ground::mistakes::misuse_error;
use crate::server::Server;
use crate::server::catalog::elements::Elements;
use crate::server::catalog::entry::Entry;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;
use crate::server::changes::listeners::ListKind;

impl Server {
    /// Adds a tool and notifies the clients that listen.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::ToolEntry;
    ///
    /// let server = Server::new("app", "1.0.0").build()?;
    /// server.add_tool(ToolEntry::from_fn("hello", || async { "hello" }))?;
    /// assert!(server.remove_tool("hello"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the tool has mistakes, or if a tool with this name exists. Nothing is changed then.
    pub fn add_tool(&self, mut tool: ToolEntry) -> Result<()> {
        if self.inner.strict {
            tool.make_strict();
        }
        let added = tool.clone();
        self.add(ListKind::Tools, tool, |elements| &mut elements.tools)?;
        ToolEntry::warn_of_undescribed([&added]);
        Ok(())
    }

    /// Removes a tool and notifies the clients that listen. Returns whether it existed.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(ListKind::Tools, name, |elements| &mut elements.tools)
    }

    /// Adds a prompt and notifies the clients that listen.
    ///
    /// # Errors
    ///
    /// Fails if the prompt has mistakes, or if a prompt with this name exists. Nothing is changed then.
    ///
    /// ```
    /// use toolway::prelude::*;
    /// use toolway::server::PromptEntry;
    ///
    /// /// Review code.
    /// #[prompt]
    /// fn review(code: &str) -> String {
    ///     format!("Review this: {code}")
    /// }
    ///
    /// let server = Server::new("app", "1.0.0").build()?;
    /// server.add_prompt(PromptEntry::of::<review>())?;
    /// assert!(server.remove_prompt("review"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn add_prompt(&self, prompt: PromptEntry) -> Result<()> {
        self.add(ListKind::Prompts, prompt, |elements| &mut elements.prompts)
    }

    /// Removes a prompt and notifies the clients that listen. Returns whether it existed.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(ListKind::Prompts, name, |elements| &mut elements.prompts)
    }

    /// Adds a resource or a resource template and notifies the clients that listen.
    ///
    /// # Errors
    ///
    /// Fails if the resource has mistakes, or if a resource with this URI exists. Nothing is changed then.
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
    /// let server = Server::new("app", "1.0.0").build()?;
    /// server.add_resource(ResourceEntry::of::<motd>())?;
    /// assert!(server.remove_resource("motd://today"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn add_resource(&self, resource: ResourceEntry) -> Result<()> {
        self.add(ListKind::Resources, resource, |elements| &mut elements.resources)
    }

    /// Removes the resource with this URI, or the resource template with this text, and notifies the clients that
    /// listen. Returns whether it existed.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(ListKind::Resources, uri, |elements| &mut elements.resources)
    }

    /// Notifies the clients that subscribed to a resource that its contents changed.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Set the message of the day.
    /// #[tool]
    /// fn set_motd(text: String, ctx: &Ctx) {
    ///     let _ = text; // kept somewhere
    ///     ctx.server().resource_updated("motd://today");
    /// }
    /// ```
    pub fn resource_updated(&self, uri: impl AsRef<str>) {
        self.inner.changes.announce_resource(uri.as_ref());
    }

    /// Notifies the clients that listen that the resource list changed. Adding and removing resources on the server
    /// does this automatically; call it for resources that a handler lists.
    pub fn resources_changed(&self) {
        self.inner.changes.announce_list(ListKind::Resources);
    }

    /// Notifies the clients that listen that the tool list changed.
    pub fn tools_changed(&self) {
        self.inner.changes.announce_list(ListKind::Tools);
    }

    /// Notifies the clients that listen that the prompt list changed.
    pub fn prompts_changed(&self) {
        self.inner.changes.announce_list(ListKind::Prompts);
    }

    /// Runs [`on_connect`](crate::server::ServerBuilder::on_connect) again for every open notification stream over HTTP,
    /// with the request that opened it. A stream whose caller is refused now, or admitted as another principal, ends;
    /// otherwise the new rights apply to it. Call it after an account was disabled or its rights were changed. Without a
    /// call, the same happens to each stream once a minute.
    ///
    /// Requests need no call: `on_connect` decides about each of them.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Disable an account.
    /// #[tool]
    /// fn disable(account: String, ctx: &Ctx) {
    ///     let _ = account; // marked as disabled where `on_connect` looks
    ///     ctx.server().rights_changed();
    /// }
    /// ```
    pub fn rights_changed(&self) {
        self.inner.rights.send_replace(());
    }

    fn add<E: Entry>(
        &self,
        list: ListKind,
        entry: E,
        entries: fn(&mut Elements) -> &mut Vec<E>,
    ) -> Result<()> {
        let what = format!("the {} `{}` cannot be added", E::KIND, entry.key());
        let changed =
            self.inner.registry.change(&self.inner.states, |elements| entries(elements).push(entry));
        changed.map_err(|mistakes| misuse_error(&what, &mistakes))?;
        self.inner.changes.announce_list(list);
        Ok(())
    }

    fn remove<E: Entry>(&self, list: ListKind, key: &str, entries: fn(&mut Elements) -> &mut Vec<E>) -> bool {
        let removed = self.inner.registry.change(&self.inner.states, |elements| {
            entries(elements).extract_if(.., |entry| entry.key() == key).count() > 0
        });
        // This cannot fail: the remaining entries were valid before.
        let is_removed = removed.unwrap_or_default();
        if is_removed {
            self.inner.changes.announce_list(list);
        }
        is_removed
    }
}
