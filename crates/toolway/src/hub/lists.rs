//! Which elements does one server list, and for how long are the lists valid?

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::config::Choice;
use crate::client::{Change, Client, Pages};
use crate::ground::error::{Chain, Error, ErrorKind, Result};

/// All lists of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub(super) tools: Listed<Tool>,
    pub(super) prompts: Listed<Prompt>,
    pub(super) resources: Listed<Resource>,
    pub(super) templates: Listed<ResourceTemplate>,
    /// The tools that the configuration allows.
    pub(super) wanted: Arc<Choice>,
    pub(super) pace: Pace,
}

/// How often lists are read, and how many items are kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// The minimum time between two reads that are caused by notifications of changes.
    pub(super) between: Duration,
    /// The interval for reading a list again, if the server neither reports changes nor says how long the list is
    /// valid.
    pub(super) unasked: Option<Duration>,
    /// The wait before a failed read of a list is retried. It applies even if the server reports changes.
    pub(super) retry: Option<Duration>,
    /// The maximum number of items in one list.
    pub(super) most: usize,
}

impl Default for Pace {
    fn default() -> Self {
        Self { between: MIN_BETWEEN, unasked: None, retry: None, most: MAX_LISTED }
    }
}

/// One list of a server. Clones share the items.
#[derive(Debug, Clone)]
pub(super) struct Listed<T> {
    pub(super) items: Arc<[T]>,
    /// The reason why the list is not up to date.
    problem: Option<String>,
    /// When to read the list again: at the end of its validity, at the next interval, or to retry a failed read.
    due: Option<Instant>,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Arc::default(), problem: None, due: None }
    }
}

/// The lists whose changes a server can report.
pub(super) const ALL: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

impl Lists {
    /// Reads all lists that the server's capabilities announce.
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
    /// Returns an error only if the server is unreachable. If the server refuses the request, the old items are kept.
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
                // Not every server with resources supports templates, so a failure is not retried.
                let pace = Pace { retry: None, ..pace };
                self.templates.take(outcome, pace, "resource templates", |template| &template.uri_template)
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

    /// Returns whether a list could not be read although the server was reachable.
    pub(super) fn is_refused(&self, list: &Change) -> bool {
        match list {
            Change::Tools => self.tools.problem.is_some(),
            Change::Prompts => self.prompts.problem.is_some(),
            Change::Resources => self.resources.problem.is_some(),
            Change::Resource(_) => false,
        }
    }

    /// Returns when to read a list again if the server does not report its changes, or if the last read failed.
    pub(super) fn due(&self, list: &Change) -> Option<Instant> {
        match list {
            Change::Tools => self.tools.due,
            Change::Prompts => self.prompts.due,
            Change::Resources => self.resources.due.into_iter().chain(self.templates.due).min(),
            Change::Resource(_) => None,
        }
    }

    /// Returns the reasons why lists are not up to date.
    pub(super) fn problems(&self) -> Vec<String> {
        let Self { tools, prompts, resources, templates, .. } = self;
        let problems = [&tools.problem, &prompts.problem, &resources.problem, &templates.problem];
        problems.into_iter().flatten().cloned().collect()
    }
}

impl<T> Listed<T> {
    /// Sets the outcome of reading the list. If two items have the same name, the first one is kept.
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
            // Not every server with resources supports the request for templates.
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

/// Returns whether the error came from a server that is reachable.
fn is_refusal(error: &Error) -> bool {
    error.rpc().is_some()
        || error.is_too_large()
        || (error.kind() == ErrorKind::PeerMisbehaved && error.http_status().is_none())
}

/// Returns whether the error means that the server is unreachable.
fn is_absence(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.is_cancelled()
}

/// Reads a list to its end, or until the maximum is exceeded. Its validity counts from the first request.
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

/// Returns when to read a list again. A validity of zero counts as unknown; a validity below [`MIN_KEEP`] is raised to
/// it.
fn due(asked: Instant, keep: Option<Duration>, pace: Pace) -> Option<Instant> {
    let keep = keep.filter(|keep| !keep.is_zero()).map(|keep| keep.max(MIN_KEEP));
    keep.or(pace.unasked).map(|time| asked + time)
}

/// The minimum time between two reads of a list that are caused by notifications of changes.
const MIN_BETWEEN: Duration = Duration::from_millis(100);

/// The maximum number of items in one list of one server.
const MAX_LISTED: usize = 10_000;

/// The minimum validity of a list; a shorter validity is raised to this. A failed read of a list with a validity is
/// also retried after this time.
const MIN_KEEP: Duration = Duration::from_secs(30);
