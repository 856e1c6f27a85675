//! What does one server have, and how long is that true?

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::config::Choice;
use crate::client::{Change, Client, Pages};
use crate::error::{Chain, Error, ErrorKind, Result};

/// Everything that a server lists.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub(super) tools: Listed<Tool>,
    pub(super) prompts: Listed<Prompt>,
    pub(super) resources: Listed<Resource>,
    pub(super) templates: Listed<ResourceTemplate>,
    /// Which of the tools are wanted.
    wanted: Arc<Choice>,
}

/// One list of it. Clones share the items.
#[derive(Debug, Clone)]
pub(super) struct Listed<T> {
    pub(super) items: Arc<[T]>,
    /// Why it is not the list of now.
    problem: Option<String>,
    /// When it is to be read again, if the server said how long it is true.
    due: Option<Instant>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Arc::new([]), problem: None, due: None }
    }
}

/// The lists that a server tells of.
pub(super) const ALL: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

impl Lists {
    /// Those of a server of which only some tools are wanted.
    pub(super) fn choosing(wanted: Arc<Choice>) -> Self {
        Self { wanted, ..Self::default() }
    }

    /// Reads all lists that the server says it has.
    pub(super) async fn read_all(&mut self, client: &Client) -> Result<()> {
        let has = client.server_capabilities();
        let has = [has.tools.is_some(), has.prompts.is_some(), has.resources.is_some()];
        for (list, has) in ALL.into_iter().zip(has) {
            if has {
                self.read(client, &list).await?;
            } else {
                self.forget(&list);
            }
        }
        Ok(())
    }

    /// Reads a list again.
    ///
    /// # Errors
    ///
    /// Only when the server is not there: a list that it does not give stays what it was.
    pub(super) async fn read(&mut self, client: &Client, list: &Change) -> Result<()> {
        match list {
            Change::Tools => {
                let outcome = client.tools().await.map(|tools| {
                    let now = Instant::now();
                    let keep = client.tools_until().map(|until| until.saturating_duration_since(now));
                    let wanted = tools.iter().filter(|tool| self.wanted.takes(&tool.name));
                    (wanted.cloned().collect(), due(now, keep))
                });
                self.tools.take(outcome, "tools", |tool| &tool.name)
            }
            Change::Prompts => {
                let outcome = read(client.list_prompts()).await;
                self.prompts.take(outcome, "prompts", |prompt| &prompt.name)
            }
            Change::Resources => {
                let outcome = read(client.list_resources()).await;
                self.resources.take(outcome, "resources", |resource| &resource.uri)?;
                let outcome = read(client.list_resource_templates()).await;
                self.templates.take(outcome, "families of resources", |template| &template.uri_template)
            }
            Change::Resource(_) => Ok(()),
        }
    }

    fn forget(&mut self, list: &Change) {
        match list {
            Change::Tools => self.tools = Listed::default(),
            Change::Prompts => self.prompts = Listed::default(),
            Change::Resources => {
                self.resources = Listed::default();
                self.templates = Listed::default();
            }
            Change::Resource(_) => {}
        }
    }

    /// When a list is to be read again, if the server does not tell of its changes.
    pub(super) fn due(&self, list: &Change) -> Option<Instant> {
        match list {
            Change::Tools => self.tools.due,
            Change::Prompts => self.prompts.due,
            Change::Resources => self.resources.due.into_iter().chain(self.templates.due).min(),
            Change::Resource(_) => None,
        }
    }

    /// The lists that are not those of now, and why.
    pub(super) fn problems(&self) -> Vec<String> {
        let Self { tools, prompts, resources, templates, .. } = self;
        let problems = [&tools.problem, &prompts.problem, &resources.problem, &templates.problem];
        problems.into_iter().flatten().cloned().collect()
    }
}

impl<T> Listed<T> {
    /// Takes what came of reading it. Of two items with one name, the first counts.
    fn take(
        &mut self,
        outcome: Result<(Vec<T>, Option<Instant>)>,
        what: &str,
        name: impl Fn(&T) -> &String,
    ) -> Result<()> {
        match outcome {
            Ok((mut items, due)) => {
                let mut names = HashSet::new();
                let is_first: Vec<_> = items.iter().map(|item| names.insert(name(item))).collect();
                let mut is_first = is_first.into_iter();
                items.retain(|_| is_first.next() == Some(true));
                let more = items.len().saturating_sub(MAX_LISTED);
                items.truncate(MAX_LISTED);
                let problem =
                    (more > 0).then(|| format!("it has more than {MAX_LISTED} {what}: the rest is left out"));
                *self = Self { items: items.into(), problem, due };
            }
            // Not every server that has resources has families of them, and knows the question.
            Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => *self = Self::default(),
            Err(error) if is_refusal(&error) => {
                self.problem = Some(format!("its {what} cannot be listed: {}", Chain(&error)));
                self.due = self.due.map(|_| Instant::now() + MIN_KEEP);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Whether a server is there that answers so.
fn is_refusal(error: &Error) -> bool {
    error.rpc().is_some()
        || error.is_too_large()
        || (error.kind() == ErrorKind::PeerMisbehaved && error.http_status().is_none())
}

/// Reads a list to its end, or until there is more than anybody looks at. It is as fresh as its oldest page.
async fn read<T>(mut pages: Pages<T>) -> Result<(Vec<T>, Option<Instant>)> {
    let asked = Instant::now();
    let mut items = Vec::new();
    let mut keep: Option<Duration> = None;
    while let Some(page) = pages.next_page().await {
        items.extend(page?);
        keep = Some(keep.map_or(pages.keep(), |keep| keep.min(pages.keep())));
        if items.len() > MAX_LISTED {
            break;
        }
    }
    Ok((items, due(asked, keep)))
}

/// When a list is to be read again. One that is never true for long is not: nobody wants to be asked all the time.
fn due(asked: Instant, keep: Option<Duration>) -> Option<Instant> {
    keep.filter(|keep| !keep.is_zero()).map(|keep| asked + keep.max(MIN_KEEP))
}

/// How many items of one list of one server are kept.
const MAX_LISTED: usize = 10_000;

/// The least time after which a list is read again because it is not true any more.
const MIN_KEEP: Duration = Duration::from_secs(30);
