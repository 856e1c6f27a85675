//! How is a hub mounted? It knows its servers, what they have and what that is called; here it only says so.

use std::sync::Arc;

use super::upstream::{Listed, Naming, Upstream, Upstreams};
use super::{IntoMount, Mount};
use crate::hub::Hub;
use crate::server::Running;

/// All servers of a hub, under the names that it gives them. It goes on looking after them, as long as the server is there.
impl IntoMount for Hub {
    fn into_mount(self) -> Mount {
        Mount::new(self)
    }
}

impl IntoMount for &Hub {
    fn into_mount(self) -> Mount {
        self.clone().into_mount()
    }
}

impl Upstreams for Hub {
    fn now(&self) -> Vec<Upstream> {
        let snapshot = self.snapshot();
        let reached = snapshot.members().filter_map(|member| {
            let (name, client) = (member.name.clone(), member.client().ok()?);
            Some(Upstream { name, client })
        });
        reached.collect()
    }

    fn changed(&self) -> Running<()> {
        let mut changes = self.watch();
        Box::pin(async move {
            if changes.next().await.is_none() {
                std::future::pending::<()>().await;
            }
        })
    }

    fn naming(&self) -> Box<dyn Naming> {
        Box::new(self.clone())
    }

    fn listed(&self, server: &str) -> Option<Listed> {
        let snapshot = self.snapshot();
        let member = snapshot.members().find(|member| &*member.name == server)?;
        let (tools, prompts, resources, templates) = member.listed();
        let completes =
            member.client().is_ok_and(|client| client.server_capabilities().completions.is_some());
        Some(Listed { tools, prompts, resources, templates, completes })
    }

    fn may_grow(&self) -> bool {
        true
    }
}

impl Naming for Hub {
    /// It knows before we do.
    fn set(&mut self, _: &str, _: &Listed) {}

    fn remove(&mut self, _: &str) {}

    fn tool(&self, server: &str, tool: &str) -> Option<String> {
        self.snapshot().tool_name(server, tool).map(str::to_owned)
    }

    fn prompt(&self, server: &str, prompt: &str) -> Option<String> {
        self.snapshot().prompt_name(server, prompt).map(str::to_owned)
    }

    fn uri(&self, server: &str, uri: &str) -> Option<String> {
        self.snapshot().uri(server, uri)
    }

    fn template(&self, server: &str, template: &str) -> Option<String> {
        self.snapshot().template_name(server, template)
    }

    fn route<'u>(&self, uri: &'u str) -> Option<(Arc<str>, &'u str)> {
        let snapshot = self.snapshot();
        let (member, original) = snapshot.resource(uri)?;
        Some((member.name.clone(), original))
    }

    fn logger(&self, server: &str) -> Option<String> {
        Some(server.to_owned())
    }
}
