//! How do several servers become one?

use std::sync::Arc;

use crate::server::build::builder::ServerBuilder;
use crate::server::call::layer::stack::CallKind;
use crate::server::catalog::discover;
use crate::server::catalog::tool::ToolEntry;

impl ServerBuilder {
    /// Adds everything that another server has, under the same names. The handlers of the other server use the
    /// [`state`](Self::state) values of that server, and fall back to the values of this server. If the other server is
    /// [`strict`](Self::strict), its tools stay strict. Its [layers](Self::layer) still wrap its elements and methods,
    /// inside the layers of this server.
    ///
    /// Two elements with the same name are a mistake that [`build`](Self::build) reports. The other server's own
    /// description, such as its title, its policies and its limits, is not taken over, and neither are `on_error` and
    /// `on_request_end`: the hooks of this server run for every call. The hooks `on_disconnect` and `on_terminate` of
    /// both servers run.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// struct Unit(&'static str);
    ///
    /// /// Say a length.
    /// #[tool]
    /// fn length(of: f64, unit: State<Unit>) -> String {
    ///     format!("{of} {}", unit.0)
    /// }
    ///
    /// fn lengths() -> toolway::server::ServerBuilder {
    ///     Server::new("lengths", "1.0.0").state(Unit("m")).tools(tools![length])
    /// }
    ///
    /// let server = Server::new("app", "1.0.0").merge(lengths()).build()?;
    /// assert!(server.tool("length").is_some());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn merge(self, other: Self) -> Self {
        self.merge_with_prefix(other, None)
    }

    /// Adds everything that another server has, with `prefix_` before the names of its tools and prompts. URIs stay
    /// unchanged.
    ///
    /// ```
    /// use toolway::prelude::*;
    ///
    /// /// Search.
    /// #[tool]
    /// fn search(query: &str) -> String {
    ///     format!("nothing about {query}")
    /// }
    ///
    /// let [files, mails] = ["files", "mails"].map(|name| Server::new(name, "1.0.0").tools(tools![search]));
    /// let server = Server::new("office", "1.0.0").nest("files", files).nest("mails", mails).build()?;
    /// assert!(server.tool("files_search").is_some() && server.tool("mails_search").is_some());
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn nest(self, prefix: &str, other: Self) -> Self {
        self.merge_with_prefix(other, Some(prefix))
    }

    fn merge_with_prefix(mut self, other: Self, prefix: Option<&str>) -> Self {
        let Self {
            mut elements,
            discovered: found,
            states,
            merged_states: merged,
            read_handlers: mut readers,
            list_handlers: mut listers,
            mut methods,
            mut notifications,
            admission,
            protection,
            merged_with_on_connect: guarded,
            merged_with_auth: protected,
            mut mistakes,
            layers,
            strict,
            info,
            end_hooks: endings,
            mut sources,
            ..
        } = other;
        let mut found = discover::make_entries(found);
        let states = Arc::new(states);
        for elements in [&mut elements, &mut found] {
            elements.bind_states(&states);
            elements.wrap_with(&layers);
            if let Some(prefix) = prefix {
                elements.add_prefix(prefix);
            }
        }
        for source in &mut sources {
            source.wrap_with(&layers);
            if let Some(prefix) = prefix {
                source.add_prefix(prefix);
            }
        }
        self.sources.extend(sources);
        for reader in &mut readers {
            reader.bind_states(&states);
        }
        for lister in &mut listers {
            lister.bind_states(&states);
        }
        for (_, method) in methods.iter_mut().chain(&mut notifications) {
            method.bind_states(&states);
            method.layers.wrap_with(&layers);
        }
        let is_dropped = layers.has_layers_only_for(CallKind::List)
            || layers.has_layers_for(CallKind::Resource) && !readers.is_empty()
            || layers.has_layers_for(CallKind::List) && !listers.is_empty();
        if is_dropped {
            let name = &info.name;
            mistakes.push(format!(
                "the merged server {name:?} has layers around lists, `read_resource` or `list_resources`, which \
                 belong to this server after the merge: add the layers to this server"
            ));
        }
        self.end_hooks.extend(endings, &states);
        elements.extend_missing(found);
        if strict {
            elements.tools.iter_mut().for_each(ToolEntry::make_strict);
        }
        self.elements.extend(elements);
        // A merged server falls back to the state values of the server that it was merged into.
        for inner in merged {
            inner.fall_back_to(&states);
        }
        self.merged_states.push(states);
        self.read_handlers.extend(readers);
        self.list_handlers.extend(listers);
        self.methods.extend(methods);
        self.notifications.extend(notifications);
        self.merged_with_auth.extend(if protection.is_some() { vec![info.name.clone()] } else { protected });
        self.merged_with_on_connect.extend(if admission.is_some() { vec![info.name] } else { guarded });
        self.mistakes.extend(mistakes);
        self
    }
}
