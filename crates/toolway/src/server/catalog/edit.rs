//! What may change while a server runs? What it has. Those who listen are told by themselves.

use crate::ground::error::Result;
use crate::ground::mistakes::mistaken;
use crate::server::Server;
use crate::server::catalog::elements::Elements;
use crate::server::catalog::prompt::PromptEntry;
use crate::server::catalog::resource::ResourceEntry;
use crate::server::catalog::tool::ToolEntry;
use crate::server::changes::listeners::List;

impl Server {
    /// Adds a tool and tells everybody who listens.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// let server = Server::new("app", "1.0.0").build()?;
    /// server.add_tool(ToolEntry::from_fn("hello", || async { "hello" }))?;
    /// assert!(server.remove_tool("hello"));
    /// # Ok::<(), toolway::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the tool is wrong, or one of its name is there already. Nothing is changed then.
    pub fn add_tool(&self, mut tool: ToolEntry) -> Result<()> {
        if self.inner.strict {
            tool.strict();
        }
        let what = format!("the tool `{}` cannot be added", tool.definition().name);
        let added = tool.clone();
        self.change(&what, List::Tools, |elements| elements.tools.push(tool))?;
        ToolEntry::warn_of_undescribed([&added]);
        Ok(())
    }

    /// Removes a tool and tells everybody who listens; whether it was there.
    pub fn remove_tool(&self, name: &str) -> bool {
        self.remove(List::Tools, |elements| {
            remove(&mut elements.tools, |tool| tool.definition().name == name)
        })
    }

    /// Adds a prompt and tells everybody who listens.
    ///
    /// # Errors
    ///
    /// When the prompt is wrong, or one of its name is there already. Nothing is changed then.
    ///
    /// ```
    /// use toolway::prelude::*;
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
        let what = format!("the prompt `{}` cannot be added", prompt.definition().name);
        self.change(&what, List::Prompts, |elements| elements.prompts.push(prompt))
    }

    /// Removes a prompt and tells everybody who listens; whether it was there.
    pub fn remove_prompt(&self, name: &str) -> bool {
        self.remove(List::Prompts, |elements| {
            remove(&mut elements.prompts, |prompt| prompt.definition().name == name)
        })
    }

    /// Adds a resource or a family of them and tells everybody who listens.
    ///
    /// # Errors
    ///
    /// When the resource is wrong, or one of its URI is there already. Nothing is changed then.
    ///
    /// ```
    /// use toolway::prelude::*;
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
        let what = format!("the resource `{}` cannot be added", resource.definition().uri());
        self.change(&what, List::Resources, |elements| elements.resources.push(resource))
    }

    /// Removes the resource with this URI, or the family with this template, and tells everybody who listens; whether it
    /// was there.
    pub fn remove_resource(&self, uri: &str) -> bool {
        self.remove(List::Resources, |elements| {
            remove(&mut elements.resources, |resource| resource.definition().uri() == uri)
        })
    }

    /// Tells those who subscribed to a resource that it has another content now.
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
    pub fn resource_updated(&self, uri: &str) {
        self.inner.changes.resource(uri);
    }

    /// Tells everybody who listens that the list of resources is another one now. What is added and removed here tells
    /// that by itself; this is for resources that a handler lists.
    pub fn resources_changed(&self) {
        self.inner.changes.list(List::Resources);
    }

    /// Tells everybody who listens that the list of tools is another one now.
    pub fn tools_changed(&self) {
        self.inner.changes.list(List::Tools);
    }

    /// Tells everybody who listens that the list of prompts is another one now.
    pub fn prompts_changed(&self) {
        self.inner.changes.list(List::Prompts);
    }

    fn change(&self, what: &str, list: List, edit: impl FnOnce(&mut Elements)) -> Result<()> {
        let Err(mistakes) = self.inner.registry.change(&self.inner.states, edit) else {
            self.inner.changes.list(list);
            return Ok(());
        };
        Err(mistaken(what, &mistakes))
    }

    fn remove(&self, list: List, edit: impl FnOnce(&mut Elements) -> bool) -> bool {
        // What is left was right before.
        let removed = self.inner.registry.change(&self.inner.states, edit).unwrap_or_default();
        if removed {
            self.inner.changes.list(list);
        }
        removed
    }
}

fn remove<T>(entries: &mut Vec<T>, is_meant: impl Fn(&T) -> bool) -> bool {
    let before = entries.len();
    entries.retain(|entry| !is_meant(entry));
    entries.len() < before
}
