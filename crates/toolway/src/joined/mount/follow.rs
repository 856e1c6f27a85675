//! How is it known what one server has? It is listed, and listed again when the server says that it changed, when it was started
//! again, and now and then where a server says nothing.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use toolway_protocol::Notification;
use toolway_protocol::capability::Settings;
use toolway_protocol::types::{Prompt, Resource, ResourceTemplate};

use super::joint::{Common, Uris, Wish};
use super::upstream::{Listed, Upstream};
use crate::at_once::at_once;
use crate::client::calls::watch::Heard;
use crate::client::wire::backoff::backoff;
use crate::client::{Change, Client, News, Tools, Watch};
use crate::error::{Error, ErrorKind, Result};
use crate::server::Offering;

/// How often a server is looked at that does not tell of changes.
const LOOK_AGAIN: Duration = Duration::from_mins(5);

/// How long a server may take to say that it will tell of changes. Without it, it is looked at now and then.
const MAX_WATCHING: Duration = Duration::from_secs(5);

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
        losses: 0,
        heard_since: Instant::now(),
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
    wishes: watch::Receiver<Arc<Uris>>,
    listed: Listed,
    /// How often something that was tried did not work.
    attempt: u32,
    /// How often it has said that it will tell, and did not for long.
    losses: u32,
    heard_since: Instant,
}

/// How the server is listened to.
enum Ear {
    Open(Watch),
    /// It does not tell of changes.
    Mute,
    /// It could not be reached, or has stopped to tell.
    Deaf,
}

/// Why a server is not listened to.
enum Unheard {
    /// It does not want to tell, or does not say whether it will.
    Refused(Error),
    /// It could not be reached.
    Unreachable(Error),
}

impl Ear {
    async fn next(&mut self) -> Heard {
        match self {
            Self::Open(watch) => watch.next_or_lost().await,
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

    /// Listens for the first time, or once more. A server that does not want to tell of so many resources may still tell of
    /// its lists.
    async fn listen(&mut self, uris: &Uris) -> Ear {
        if self.needs_no_ear(uris) {
            return Ear::Mute;
        }
        self.heard_since = Instant::now();
        let mut outcome = self.heed(uris).await;
        if let Err(Unheard::Refused(error)) = &outcome
            && error.rpc().is_some()
            && !uris.is_empty()
        {
            self.warn(error, "a mounted server does not tell of these resources");
            outcome = self.heed(&Uris::new()).await;
        }
        match outcome {
            Ok(watch) => Ear::Open(watch),
            Err(Unheard::Refused(error)) => {
                self.warn(&error, "a mounted server does not tell of changes");
                Ear::Mute
            }
            Err(Unheard::Unreachable(error)) => {
                self.warn(&error, "a mounted server cannot be listened to");
                Ear::Deaf
            }
        }
    }

    fn warn(&self, error: &Error, what: &str) {
        if self.attempt == 0 {
            tracing::warn!(server = &*self.of.upstream.name, %error, "{what}");
        }
    }

    /// Whether there is nothing that would have to be heard.
    fn needs_no_ear(&self, uris: &Uris) -> bool {
        self.of.lists == Finding::Elsewhere && uris.is_empty()
    }

    /// Hears of all lists, and of these resources.
    async fn heed(&self, uris: &Uris) -> Result<Watch, Unheard> {
        let client = &self.of.upstream.client;
        let is_subscribed_to = client.is_subscribed_to();
        let told = uris.keys().filter(|_| !is_subscribed_to).cloned();
        let watch = match timeout(MAX_WATCHING, client.watch(told)).await {
            Ok(Ok(watch)) => watch,
            // A server that is busy has refused nothing.
            Ok(Err(error))
                if error.rpc().is_some() && !error.is_unsent() && error.http_status().is_none() =>
            {
                return Err(Unheard::Refused(error));
            }
            Ok(Err(error)) => return Err(Unheard::Unreachable(error)),
            Err(_) => {
                let text = "the server does not say whether it will tell of changes";
                return Err(Unheard::Refused(Error::new(ErrorKind::Timeout, text)));
            }
        };
        if is_subscribed_to {
            // The client remembers them, and says them again to a server that was started again.
            subscribe_to(client, &Uris::new(), uris).await;
        }
        Ok(watch)
    }

    /// Waits until something has to be looked at; nothing, if the server has to be listened to anew.
    async fn wait(&mut self, ear: &mut Ear, mut stale: Stale) -> Option<Stale> {
        let mut again = pin!(pause(self.patience(ear, stale)));
        loop {
            let was_open = ear.is_open();
            tokio::select! {
                heard = ear.next() => {
                    if matches!(self.note(heard, ear, &mut stale).await, Heard::Over) {
                        return None;
                    }
                }
                uri = next_update(&mut self.news, &self.of.upstream.client) => self.updated(&uri),
                // It may be another program, or speak another revision.
                Ok(()) = self.openings.changed() => return None,
                Ok(()) = self.wishes.changed() => {
                    self.wish(ear, &mut stale).await;
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
            match self.of.lists {
                Finding::Here if !stale.is_nothing() => return Some(stale),
                Finding::Here => {}
                Finding::Elsewhere => stale = Stale::NOTHING,
            }
            if ear.is_open() != was_open {
                again.set(pause(self.patience(ear, stale)));
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

    /// Takes all changes that are told by now: however often something has changed, it is looked at once. Gives back what ended
    /// that, if anything did.
    async fn note(&mut self, first: Heard, ear: &mut Ear, stale: &mut Stale) -> Heard {
        let mut heard = first;
        loop {
            match &heard {
                Heard::Changed(Change::Tools) => stale.tools = true,
                Heard::Changed(Change::Prompts) => stale.prompts = true,
                Heard::Changed(Change::Resources) => stale.resources = true,
                Heard::Changed(Change::Resource(uri)) => self.updated(uri),
                Heard::Lost => {
                    self.lose(ear);
                    return heard;
                }
                Heard::Over => return heard,
            }
            match at_once(pin!(ear.next())).await {
                Poll::Ready(next) => heard = next,
                Poll::Pending => return heard,
            }
        }
    }

    /// The server does not tell any more, and may do so again when it is asked, later. One that never tells for long is asked less
    /// and less often.
    fn lose(&mut self, ear: &mut Ear) {
        let is_old = self.heard_since.elapsed() >= LOOK_AGAIN;
        self.losses = if is_old { 0 } else { self.losses.saturating_add(1) };
        self.attempt = self.losses;
        *ear = Ear::Deaf;
    }

    /// Others want to hear of other resources.
    async fn wish(&mut self, ear: &mut Ear, stale: &mut Stale) {
        let uris = self.wishes.borrow_and_update().clone();
        let before = self.of.wanted.told.borrow().clone().unwrap_or_default();
        let client = &self.of.upstream.client;
        if uris.keys().eq(before.keys()) {
            // They are called otherwise, and the server does not care.
        } else if self.needs_no_ear(&uris) {
            *ear = Ear::Mute;
        } else if client.is_subscribed_to() && ear.is_open() {
            subscribe_to(client, &before, &uris).await;
        } else {
            match self.heed(&uris).await {
                Ok(watch) => {
                    // Whoever did not hear before may have missed anything; else nothing is missed that the old ear has heard.
                    let is_new = !ear.is_open();
                    let unread = at_once(pin!(ear.next())).await;
                    if is_new {
                        *stale = Stale::EVERYTHING;
                    } else if let Poll::Ready(heard) = unread {
                        self.note(heard, ear, stale).await;
                    }
                    self.heard_since = Instant::now();
                    *ear = Ear::Open(watch);
                }
                // What was heard until now is heard on, and nobody but those who want more is the worse for it.
                Err(Unheard::Refused(error)) => {
                    self.warn(&error, "a mounted server does not tell of more resources");
                    if !ear.is_open() {
                        *ear = Ear::Mute;
                    }
                }
                Err(Unheard::Unreachable(_)) => *ear = Ear::Deaf,
            }
        }
        self.of.wanted.told.send_replace(Some(uris));
    }

    /// Passes on that a resource has changed, to all who want to hear of it, as they call it. A server may tell of something
    /// below what is watched: then that has changed.
    fn updated(&self, uri: &str) {
        let wanted = self.wishes.borrow().clone();
        let about: Vec<_> = match wanted.get(uri) {
            Some(names) => vec![names],
            None => {
                wanted.iter().filter(|(wanted, _)| uri.starts_with(*wanted)).map(|(_, names)| names).collect()
            }
        };
        for name in about.into_iter().flatten() {
            self.of.offering.resource_updated(name);
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

/// Subscribes to these resources in place of others. A server that does not answer is not asked for more.
async fn subscribe_to(client: &Client, before: &Uris, uris: &Uris) {
    for uri in uris.keys().filter(|uri| !before.contains_key(*uri)) {
        match timeout(MAX_WATCHING, client.subscribe(uri)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::debug!(%error, uri, "a resource of a mounted server cannot be subscribed to");
            }
            Err(_) => {
                tracing::warn!(uri, "a mounted server does not answer whether it tells of a resource");
                return;
            }
        }
    }
    for uri in before.keys().filter(|uri| !uris.contains_key(*uri)) {
        match timeout(MAX_WATCHING, client.unsubscribe(uri)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a subscription could not be taken back"),
            Err(_) => return,
        }
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
