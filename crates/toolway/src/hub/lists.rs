//! What does one server have, and how long is that true?

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::config::Choice;
use crate::client::{Change, Client, Pages};
use crate::ground::error::{Chain, Error, ErrorKind, Result};

/// Everything that a server lists.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub(super) tools: Listed<Tool>,
    pub(super) prompts: Listed<Prompt>,
    pub(super) resources: Listed<Resource>,
    pub(super) templates: Listed<ResourceTemplate>,
    /// Which of the tools are wanted.
    pub(super) wanted: Arc<Choice>,
    pub(super) pace: Pace,
}

/// How often lists are read, and how much of them is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The least time between two readings because the server says that a list has changed.
    pub(super) between: Duration,
    /// When a list is read again of which the server says neither that it has changed nor how long it is true.
    pub(super) unasked: Option<Duration>,
    /// When a list is read again that could not be read, whatever the server says.
    pub(super) retry: Option<Duration>,
    /// How many items of one list are kept.
    pub(super) most: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { between: MIN_BETWEEN, unasked: None, retry: None, most: MAX_LISTED }
    }
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
        Self { items: Arc::default(), problem: None, due: None }
    }
}

/// The lists that a server tells of.
pub(super) const ALL: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

impl Lists {
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
        let pace = self.pace;
        match list {
            Change::Tools => {
                let outcome = client.tools().await.map(|tools| {
                    let now = Instant::now();
                    let keep = client.tools_until().map(|until| until.saturating_duration_since(now));
                    let wanted = tools.iter().filter(|tool| self.wanted.takes(&tool.name));
                    (wanted.cloned().collect(), due(now, keep, pace))
                });
                self.tools.take(outcome, pace, "tools", |tool| &tool.name)
            }
            Change::Prompts => {
                let outcome = read(client.list_prompts(), pace).await;
                self.prompts.take(outcome, pace, "prompts", |prompt| &prompt.name)
            }
            Change::Resources => {
                let outcome = read(client.list_resources(), pace).await;
                self.resources.take(outcome, pace, "resources", |resource| &resource.uri)?;
                let outcome = read(client.list_resource_templates(), pace).await;
                // Not every server that has resources knows of families: that is no reason to ask again.
                let pace = Pace { retry: None, ..pace };
                self.templates.take(outcome, pace, "families of resources", |template| &template.uri_template)
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

    /// Whether a list could not be read, although the server was there.
    pub(super) fn is_refused(&self, list: &Change) -> bool {
        match list {
            Change::Tools => self.tools.problem.is_some(),
            Change::Prompts => self.prompts.problem.is_some(),
            Change::Resources => self.resources.problem.is_some(),
            Change::Resource(_) => false,
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
        pace: Pace,
        what: &str,
        name: impl Fn(&T) -> &String,
    ) -> Result<()> {
        match outcome {
            Ok((mut items, due)) => {
                let mut names = HashSet::new();
                let is_first: Vec<_> = items.iter().map(|item| names.insert(name(item))).collect();
                let mut is_first = is_first.into_iter();
                items.retain(|_| is_first.next() == Some(true));
                let most = pace.most;
                let more = items.len().saturating_sub(most);
                items.truncate(most);
                let problem =
                    (more > 0).then(|| format!("it has more than {most} {what}: the rest is left out"));
                *self = Self { items: items.into(), problem, due };
            }
            // Not every server that has resources has families of them, and knows the question.
            Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => *self = Self::default(),
            Err(error) if is_refusal(&error) || (pace.unasked.is_some() && !is_absence(&error)) => {
                self.problem = Some(format!("its {what} cannot be listed: {}", Chain(&error)));
                let retry = pace.retry.or(self.due.map(|_| MIN_KEEP));
                self.due = retry.map(|retry| Instant::now() + retry);
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

/// Whether an error says that the server is not there.
fn is_absence(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.is_cancelled()
}

/// Reads a list to its end, or until there is more than is kept. It is as fresh as its oldest page.
async fn read<T>(mut pages: Pages<T>, pace: Pace) -> Result<(Vec<T>, Option<Instant>)> {
    let asked = Instant::now();
    let mut items = Vec::new();
    while let Some(page) = pages.next_page().await {
        items.extend(page?);
        if items.len() > pace.most {
            break;
        }
    }
    Ok((items, due(asked, pages.keep, pace)))
}

/// When a list is to be read again. One that is never true for long is not read all the time.
fn due(asked: Instant, keep: Option<Duration>, pace: Pace) -> Option<Instant> {
    let keep = keep.filter(|keep| !keep.is_zero()).map(|keep| keep.max(MIN_KEEP));
    keep.or(pace.unasked).map(|time| asked + time)
}

/// The least time between two readings of a list because the server says that it has changed.
const MIN_BETWEEN: Duration = Duration::from_millis(100);

/// How many items of one list of one server are kept.
const MAX_LISTED: usize = 10_000;

/// The least time after which a list is read again because it is not true any more.
const MIN_KEEP: Duration = Duration::from_secs(30);
