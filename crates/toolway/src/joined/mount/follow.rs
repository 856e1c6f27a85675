//! How is it known what one server has? It is listed, and listed again when the server says that it changed, when it was started
//! again, and now and then where a server says nothing.

use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use toolway_protocol::Notification;
use toolway_protocol::capability::Settings;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate};

use super::joint::{Common, Wish};
use super::upstream::{Listed, Upstream};
use crate::at_once::at_once;
use crate::client::{Change, Client, News, Tools, Watch, backoff};
use crate::error::{Error, Result};
use crate::server::Offering;

/// How often a server is looked at that does not tell of changes.
const LOOK_AGAIN: Duration = Duration::from_mins(5);

/// One server, and whom it is followed for.
pub(super) struct Follow {
    pub(super) upstream: Upstream,
    pub(super) common: Arc<Common>,
    pub(super) offering: Offering,
    /// Which of its resources are to be heard of.
    pub(super) wanted: Arc<Wish>,
    pub(super) lists: Finding,
}

/// Who finds out what a server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Finding {
    Here,
    /// Whoever brought it.
    Elsewhere,
}

/// Which lists are to be read again.
#[derive(Clone, Copy)]
struct Stale {
    tools: bool,
    prompts: bool,
    resources: bool,
}

impl Stale {
    const NOTHING: Self = Self { tools: false, prompts: false, resources: false };
    const EVERYTHING: Self = Self { tools: true, prompts: true, resources: true };

    fn is_nothing(self) -> bool {
        !self.tools && !self.prompts && !self.resources
    }
}

/// Follows a server until it is dropped.
pub(super) async fn follow(of: Follow) {
    let client = &of.upstream.client;
    client.pass_questions();
    if !client.is_connected() {
        // The first caller need not wait until it is connected again.
        let _ = client.ping().await;
    }
    let mut following = Following {
        news: client.news(),
        openings: client.openings(),
        wishes: of.wanted.wanted.subscribe(),
        listed: Listed::default(),
        attempt: 0,
        of,
    };
    loop {
        following.listen_and_look().await;
    }
}

/// A server that is followed.
struct Following {
    of: Follow,
    news: News,
    openings: watch::Receiver<u64>,
    wishes: watch::Receiver<Arc<BTreeSet<String>>>,
    listed: Listed,
    /// How often something that was tried did not work.
    attempt: u32,
}

/// How the server is listened to.
enum Ear {
    Open(Watch),
    /// It does not tell of changes.
    Mute,
    /// It could not be reached.
    Deaf,
}

impl Ear {
    async fn next(&mut self) -> Option<Change> {
        match self {
            Self::Open(watch) => watch.next().await,
            Self::Mute | Self::Deaf => std::future::pending().await,
        }
    }

    fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }
}

impl Following {
    /// Listens, looks, and looks again, until the server has to be listened to anew.
    async fn listen_and_look(&mut self) {
        // Whoever listens before it looks misses nothing.
        let uris = self.wishes.borrow_and_update().clone();
        let mut ear = self.listen(&uris).await;
        self.of.wanted.told.send_replace(Some(uris));
        self.openings.mark_unchanged();
        let mut next = Some(Stale::EVERYTHING);
        while let Some(stale) = next {
            let Follow { upstream, common, offering, lists, .. } = &self.of;
            let mut left = Stale::NOTHING;
            if *lists == Finding::Here {
                left = look(upstream, &mut self.listed, stale).await;
                common.listed(upstream, self.listed.clone(), offering);
            }
            next = self.wait(&mut ear, left).await;
        }
    }

    async fn listen(&self, uris: &BTreeSet<String>) -> Ear {
        if self.of.lists == Finding::Elsewhere && uris.is_empty() {
            return Ear::Mute;
        }
        match heed(&self.of.upstream.client, uris).await {
            Ok(watch) => Ear::Open(watch),
            Err(error) => {
                let server = &*self.of.upstream.name;
                if self.attempt == 0 {
                    tracing::warn!(server, %error, "a mounted server does not tell of changes");
                }
                if error.rpc().is_some() { Ear::Mute } else { Ear::Deaf }
            }
        }
    }

    /// Waits until something has to be looked at; nothing, if the server has to be listened to anew.
    async fn wait(&mut self, ear: &mut Ear, mut stale: Stale) -> Option<Stale> {
        let mut again = pin!(pause(self.patience(ear, stale)));
        loop {
            tokio::select! {
                change = ear.next() => {
                    let is_over = self.note(change, ear, &mut stale).await;
                    if is_over {
                        return None;
                    }
                    if !stale.is_nothing() && self.of.lists == Finding::Here {
                        return Some(stale);
                    }
                }
                uri = next_update(&mut self.news, &self.of.upstream.client) => self.updated(&uri),
                // It may be another program, or speak another revision.
                Ok(()) = self.openings.changed() => return None,
                Ok(()) = self.wishes.changed() => {
                    self.wish(ear).await;
                    if matches!(ear, Ear::Deaf) {
                        return None;
                    }
                }
                () = &mut again => return match (ear.is_open(), stale.is_nothing()) {
                    (false, _) => None,
                    (true, true) => Some(Stale::EVERYTHING),
                    (true, false) => Some(stale),
                },
            }
        }
    }

    /// How long until the server is looked at again for no other reason.
    fn patience(&mut self, ear: &Ear, stale: Stale) -> Option<Duration> {
        let is_well = stale.is_nothing() && !matches!(ear, Ear::Deaf);
        if !is_well {
            self.attempt += 1;
            return Some(backoff(self.attempt - 1, None));
        }
        self.attempt = 0;
        let tells = match self.of.lists {
            Finding::Here => ear.is_open() && tells_all(&self.of.upstream.client),
            // Nothing is looked at here.
            Finding::Elsewhere => true,
        };
        (!tells).then_some(LOOK_AGAIN)
    }

    /// Takes all changes that are told by now: however often something has changed, it is looked at once. Whether nothing will be
    /// told any more.
    async fn note(&self, first: Option<Change>, ear: &mut Ear, stale: &mut Stale) -> bool {
        let mut change = first;
        loop {
            match change {
                Some(Change::Tools) => stale.tools = true,
                Some(Change::Prompts) => stale.prompts = true,
                Some(Change::Resources) => stale.resources = true,
                Some(Change::Resource(uri)) => self.updated(&uri),
                None => return true,
            }
            match at_once(pin!(ear.next())).await {
                Poll::Ready(next) => change = next,
                Poll::Pending => return false,
            }
        }
    }

    /// Others want to hear of other resources.
    async fn wish(&mut self, ear: &mut Ear) {
        let uris = self.wishes.borrow_and_update().clone();
        let Follow { upstream, wanted, .. } = &self.of;
        if upstream.client.is_subscribed_to() {
            let before = wanted.told.borrow().clone().unwrap_or_default();
            subscribe_to(&upstream.client, &before, &uris).await;
        } else {
            *ear = self.listen(&uris).await;
        }
        self.of.wanted.told.send_replace(Some(uris));
    }

    /// Passes on that a resource has changed. A server may tell of something below what is watched: then that has changed.
    fn updated(&self, uri: &str) {
        let wanted = self.wishes.borrow().clone();
        let about: Vec<&str> = if wanted.contains(uri) {
            vec![uri]
        } else {
            wanted.iter().map(String::as_str).filter(|wanted| uri.starts_with(wanted)).collect()
        };
        let Follow { upstream, common, offering, .. } = &self.of;
        for uri in about {
            if let Some(uri) = common.uri(&upstream.name, uri) {
                offering.resource_updated(&uri);
            }
        }
    }
}

/// Waits for so long, or for ever.
async fn pause(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => std::future::pending().await,
    }
}

/// Hears of all lists, and of these resources.
async fn heed(client: &Client, uris: &BTreeSet<String>) -> Result<Watch> {
    if client.is_subscribed_to() {
        // The client remembers them, and says them again to a server that was started again.
        let none: [&str; 0] = [];
        let watch = client.watch(none).await?;
        for uri in uris {
            subscribe(client, uri).await;
        }
        return Ok(watch);
    }
    client.watch(uris.iter().cloned()).await
}

/// Subscribes to these resources in place of others.
async fn subscribe_to(client: &Client, before: &BTreeSet<String>, uris: &BTreeSet<String>) {
    for uri in uris.difference(before) {
        subscribe(client, uri).await;
    }
    for uri in before.difference(uris) {
        if let Err(error) = client.unsubscribe(uri).await {
            tracing::debug!(%error, "a subscription could not be taken back");
        }
    }
}

async fn subscribe(client: &Client, uri: &str) {
    if let Err(error) = client.subscribe(uri).await {
        tracing::debug!(%error, uri, "a resource of a mounted server cannot be subscribed to");
    }
}

/// The next resource that has changed, where the server tells of them one by one.
async fn next_update(news: &mut News, client: &Client) -> String {
    loop {
        match news.next().await {
            Some(Notification::ResourceUpdated(updated)) if client.is_subscribed_to() => return updated.uri,
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

/// Reads the lists that are stale; those that could not be read stay so.
async fn look(upstream: &Upstream, listed: &mut Listed, stale: Stale) -> Stale {
    let client = &upstream.client;
    let mut left = Stale::NOTHING;
    let failed = |error: &Error| {
        tracing::warn!(server = &*upstream.name, %error, "a mounted server could not be asked what it has");
        true
    };
    if stale.tools {
        match tools(client).await {
            Ok(tools) => listed.tools = tools.to_vec().into(),
            Err(error) => left.tools = failed(&error),
        }
    }
    if stale.prompts {
        match prompts(client).await {
            Ok(prompts) => listed.prompts = prompts.into(),
            Err(error) => left.prompts = failed(&error),
        }
    }
    if stale.resources {
        match resources(client).await {
            Ok((resources, templates)) => {
                listed.resources = resources.into();
                listed.templates = templates.into();
            }
            Err(error) => left.resources = failed(&error),
        }
    }
    listed.completes = client.server_capabilities().completions.is_some();
    left
}

async fn tools(client: &Client) -> Result<Tools> {
    match client.server_capabilities().tools {
        Some(_) => {
            client.forget_tools();
            client.tools().await
        }
        None => Ok(Tools::default()),
    }
}

async fn prompts(client: &Client) -> Result<Vec<Prompt>> {
    match client.server_capabilities().prompts {
        Some(_) => client.prompts().await,
        None => Ok(Vec::new()),
    }
}

async fn resources(client: &Client) -> Result<(Vec<Resource>, Vec<ResourceTemplate>)> {
    if client.server_capabilities().resources.is_none() {
        return Ok((Vec::new(), Vec::new()));
    }
    let resources = client.resources().await?;
    // Not every server that has resources knows of families.
    match client.resource_templates().await {
        Ok(templates) => Ok((resources, templates)),
        Err(error) if error.rpc().is_some() => Ok((resources, Vec::new())),
        Err(error) => Err(error),
    }
}

/// Whether the server says of everything it has when it changes.
fn tells_all(client: &Client) -> bool {
    let can = client.server_capabilities();
    let tells = |settings: &Option<Settings>| {
        settings.as_ref().is_none_or(|settings| settings.get("listChanged") == Some(&true.into()))
    };
    tells(&can.tools) && tells(&can.prompts) && tells(&can.resources)
}
