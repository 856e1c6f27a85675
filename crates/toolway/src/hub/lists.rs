//! Which elements does one server list, and for how long are the lists valid?

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate, Tool};

use super::config::ToolFilter;
use crate::client::connect::list_limit::ExceededLimit;
use crate::client::connect::tool_cache::ListedTools;
use crate::client::{Change, Client, Pages};
use crate::ground::error::{Chain, Error, ErrorKind, Result};

/// All lists of a server.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    pub(super) tools: CachedList<Tool>,
    pub(super) prompts: CachedList<Prompt>,
    pub(super) resources: CachedList<Resource>,
    pub(super) templates: CachedList<ResourceTemplate>,
    /// The tools that the configuration allows.
    pub(super) tool_filter: Arc<ToolFilter>,
    pub(super) policy: ListPolicy,
}

/// When lists are read again.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ListPolicy {
    /// The interval for reading a list again, if the server neither reports changes nor says how long the list is
    /// valid.
    pub(super) poll_interval: Option<Duration>,
    /// The wait before a failed read of a list is retried. It applies even if the server reports changes.
    pub(super) retry_delay: Option<Duration>,
}

/// One list of a server. Clones share the items.
#[derive(Debug, Clone)]
pub(super) struct CachedList<T> {
    pub(super) items: Arc<[T]>,
    /// The reason why the list is not up to date, or not complete.
    problem: Option<String>,
    /// `true` once a problem was logged. Later problems of the list are not logged, because a server that reports many
    /// changes would fill the log; the status of the server shows them.
    has_logged: bool,
    /// When to read the list again: at the end of its validity, at the next interval, or to retry a failed read.
    due: Option<Instant>,
}

impl<T> Default for CachedList<T> {
    fn default() -> Self {
        Self { items: Arc::default(), problem: None, has_logged: false, due: None }
    }
}

/// A list as it was read.
struct ReadList<T> {
    items: Vec<T>,
    /// The limit of the client at which the list was cut off, if it was.
    exceeded: Option<ExceededLimit>,
    due: Option<Instant>,
}

/// The lists whose changes a server can report.
pub(super) const ALL_LISTS: [Change; 3] = [Change::Tools, Change::Prompts, Change::Resources];

impl Lists {
    /// Reads all lists that the capabilities of this server announce.
    pub(super) async fn read_all(&mut self, server: &str, client: &Client) -> Result<()> {
        let has = client.server_capabilities();
        let has = [has.tools.is_some(), has.prompts.is_some(), has.resources.is_some()];
        for (list, has) in ALL_LISTS.into_iter().zip(has) {
            if has {
                self.read(server, client, &list).await?;
            } else {
                self.clear(&list);
            }
        }
        Ok(())
    }

    /// Reads a list of this server again.
    ///
    /// # Errors
    ///
    /// Returns an error only if the server is unreachable. If the server refuses the request, the old items are kept.
    pub(super) async fn read(&mut self, server: &str, client: &Client, list: &Change) -> Result<()> {
        let pace = self.policy;
        match list {
            Change::Tools => {
                let outcome = client.listed_tools().await.map(|ListedTools { tools, exceeded }| {
                    let now = Instant::now();
                    let keep = client.tools_expire_at().map(|until| until.saturating_duration_since(now));
                    let wanted = tools.iter().filter(|tool| self.tool_filter.allows(&tool.name));
                    ReadList { items: wanted.cloned().collect(), exceeded, due: due(now, keep, pace) }
                });
                self.tools.update(outcome, pace, (server, "tools"), |tool| &tool.name)
            }
            Change::Prompts => {
                let outcome = read(client.list_prompts(), pace).await;
                self.prompts.update(outcome, pace, (server, "prompts"), |prompt| &prompt.name)
            }
            Change::Resources => {
                let outcome = read(client.list_resources(), pace).await;
                self.resources.update(outcome, pace, (server, "resources"), |resource| &resource.uri)?;
                let outcome = read(client.list_resource_templates(), pace).await;
                // Not every server with resources supports templates, so a failure is not retried.
                let pace = ListPolicy { retry_delay: None, ..pace };
                let what = (server, "resource templates");
                self.templates.update(outcome, pace, what, |template| &template.uri_template)
            }
            Change::Resource(_) => Ok(()),
        }
    }

    fn clear(&mut self, list: &Change) {
        match list {
            Change::Tools => self.tools = CachedList::default(),
            Change::Prompts => self.prompts = CachedList::default(),
            Change::Resources => {
                self.resources = CachedList::default();
                self.templates = CachedList::default();
            }
            Change::Resource(_) => {}
        }
    }

    /// Returns whether a list could not be read although the server was reachable.
    pub(super) fn has_problem(&self, list: &Change) -> bool {
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

    /// Returns the reasons why lists are not up to date, or not complete.
    pub(super) fn problems(&self) -> Vec<String> {
        let Self { tools, prompts, resources, templates, .. } = self;
        let problems = [&tools.problem, &prompts.problem, &resources.problem, &templates.problem];
        problems.into_iter().flatten().cloned().collect()
    }
}

impl<T> CachedList<T> {
    /// Sets the outcome of reading the list of a server. If two items have the same name, the first one is kept.
    fn update(
        &mut self,
        outcome: Result<ReadList<T>>,
        pace: ListPolicy,
        (server, what): (&str, &str),
        name: impl Fn(&T) -> &String,
    ) -> Result<()> {
        match outcome {
            Ok(ReadList { mut items, exceeded, due }) => {
                let mut names = HashSet::new();
                let is_first: Vec<_> = items.iter().map(|item| names.insert(name(item))).collect();
                let mut is_first = is_first.into_iter();
                items.retain(|_| is_first.next() == Some(true));
                let problem = exceeded.map(|limit| match limit {
                    ExceededLimit::Items(most) => {
                        format!("it has more than {most} {what}: the rest is left out (raise `max_list`)")
                    }
                    ExceededLimit::Bytes(most) => format!(
                        "the list of its {what} is longer than {most} bytes: the rest is left out (raise `max_list`)"
                    ),
                });
                *self = Self { items: items.into(), problem, due, ..*self };
            }
            // Not every server with resources supports the request for templates.
            Err(error) if error.code() == Some(Code::METHOD_NOT_FOUND) => {
                *self = Self { has_logged: self.has_logged, ..Self::default() };
            }
            Err(error) if is_refusal(&error) || (pace.poll_interval.is_some() && !is_unreachable(&error)) => {
                self.problem = Some(format!("its {what} cannot be listed: {}", Chain(&error)));
                let retry = pace.retry_delay.or(self.due.map(|_| MIN_VALIDITY));
                self.due = retry.map(|retry| Instant::now() + retry);
            }
            Err(error) => return Err(error),
        }
        if let Some(problem) = &self.problem
            && !std::mem::replace(&mut self.has_logged, true)
        {
            tracing::warn!(server, "a list of a server is not complete or not up to date: {problem}");
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
fn is_unreachable(error: &Error) -> bool {
    error.kind() == ErrorKind::Transport
        || error.is_unsent()
        || error.is_session_ended()
        || error.is_cancelled()
}

/// Reads a list to its end, or up to the limit of the client. Its validity counts from the first request.
async fn read<T>(mut pages: Pages<T>, pace: ListPolicy) -> Result<ReadList<T>> {
    let asked = Instant::now();
    let mut items = Vec::new();
    while let Some(outcome) = pages.next_page().await {
        match outcome {
            Ok(more) => items.extend(more),
            Err(_) if pages.exceeded().is_some() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(ReadList { items, exceeded: pages.exceeded(), due: due(asked, pages.ttl, pace) })
}

/// Returns when to read a list again. A validity of zero counts as unknown; a validity below [`MIN_VALIDITY`] is raised
/// to it.
fn due(asked: Instant, keep: Option<Duration>, pace: ListPolicy) -> Option<Instant> {
    let keep = keep.filter(|keep| !keep.is_zero()).map(|keep| keep.max(MIN_VALIDITY));
    keep.or(pace.poll_interval).map(|time| asked + time)
}

/// The minimum validity of a list; a shorter validity is raised to this. A failed read of a list with a validity is
/// also retried after this time.
const MIN_VALIDITY: Duration = Duration::from_secs(30);
