//! How do several servers become one?

use std::sync::Arc;

use crate::server::build::builder::ServerBuilder;
use crate::server::call::layer::stages::Kind;
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
        self.join(other, None)
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
        self.join(other, Some(prefix))
    }

    fn join(mut self, other: Self, prefix: Option<&str>) -> Self {
        let Self {
            mut elements,
            found,
            states,
            merged,
            mut readers,
            mut listers,
            mut methods,
            mut notifications,
            admission,
            guarded,
            mut mistakes,
            layers,
            strict,
            info,
            endings,
            mut sources,
            ..
        } = other;
        let mut found = discover::make(found);
        let states = Arc::new(states);
        for elements in [&mut elements, &mut found] {
            elements.bind(&states);
            elements.put_inside(&layers);
            if let Some(prefix) = prefix {
                elements.prefix(prefix);
            }
        }
        for source in &mut sources {
            source.put_inside(&layers);
            if let Some(prefix) = prefix {
                source.prefix(prefix);
            }
        }
        self.sources.extend(sources);
        for reader in &mut readers {
            reader.bind(&states);
        }
        for lister in &mut listers {
            lister.bind(&states);
        }
        for (_, method) in methods.iter_mut().chain(&mut notifications) {
            method.bind(&states);
            method.layers.put_inside(&layers);
        }
        let is_dropped = layers.any_only_for(Kind::List)
            || layers.concern(Kind::Resource) && !readers.is_empty()
            || layers.concern(Kind::List) && !listers.is_empty();
        if is_dropped {
            let name = &info.name;
            mistakes.push(format!(
                "the merged server {name:?} has layers around lists, `read_resource` or `list_resources`, which \
                 belong to this server after the merge: add the layers to this server"
            ));
        }
        self.endings.extend(endings, &states);
        elements.extend_missing(found);
        if strict {
            elements.tools.iter_mut().for_each(ToolEntry::strict);
        }
        self.elements.extend(elements);
        // A merged server falls back to the state values of the server that it was merged into.
        for inner in merged {
            inner.fall_back_to(&states);
        }
        self.merged.push(states);
        self.readers.extend(readers);
        self.listers.extend(listers);
        self.methods.extend(methods);
        self.notifications.extend(notifications);
        self.guarded.extend(if admission.is_some() { vec![info.name] } else { guarded });
        self.mistakes.extend(mistakes);
        self
    }
}
