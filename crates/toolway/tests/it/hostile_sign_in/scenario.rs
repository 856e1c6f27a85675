//! What is wrong in a login, and where must it end?

use std::error::Error as _;

use serde_json::Value;
use toolway::{Chain, Client, Error, ErrorKind};

use super::pair::{Page, Pair, Site, State, sum};

/// The steps of a login. A scenario says which one is the last that the pair sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The client asks the MCP server where to sign in.
    Resource,
    /// It asks the authorization server about itself.
    Server,
    /// It introduces itself.
    Registration,
    /// It opens the browser.
    Browser,
    /// It asks for a token.
    Token,
    /// It sends a token to the MCP server.
    Use,
}

/// One thing that a pair does wrong, and what must be true then.
pub(super) struct Scenario {
    name: &'static str,
    pair: Pair,
    says: &'static str,
    kind: Option<ErrorKind>,
    last: Step,
    shown: Option<Vec<u16>>,
}

impl Scenario {
    pub(super) async fn new(name: &'static str) -> Self {
        Self::of(name, Pair::on_loopback().await)
    }

    /// A scenario with servers that have public addresses.
    pub(super) fn in_public(name: &'static str) -> Self {
        Self::of(name, Pair::in_public())
    }

    fn of(name: &'static str, pair: Pair) -> Self {
        Self { name, pair, says: "", kind: None, last: Step::Use, shown: None }
    }

    fn with(self, change: impl FnOnce(&mut State)) -> Self {
        change(&mut self.pair.state());
        self
    }

    /// Changes members of the document of the MCP server.
    pub(super) fn resource(self, members: Value) -> Self {
        self.with(|state| state.resource = members)
    }

    /// Changes members of the document of the authorization server.
    pub(super) fn server(self, members: Value) -> Self {
        self.with(|state| state.server = members)
    }

    /// Changes members of the reply of the token endpoint.
    pub(super) fn token(self, members: Value) -> Self {
        self.with(|state| state.token = members)
    }

    pub(super) fn page(self, site: Site, path: &str, page: Page) -> Self {
        self.with(|state| drop(state.pages.insert((site, path.to_owned()), page)))
    }

    pub(super) fn challenges(self, challenges: &[&str]) -> Self {
        let challenges = challenges.iter().map(|challenge| self.pair.fill(challenge)).collect();
        self.with(|state| state.challenges = challenges)
    }

    /// The browser comes back with these queries, and is shown pages with these statuses.
    pub(super) fn callbacks(mut self, callbacks: &[(&'static str, u16)]) -> Self {
        self.shown = Some(callbacks.iter().map(|(_, status)| *status).collect());
        self.with(|state| state.callbacks = callbacks.iter().map(|(query, _)| *query).collect())
    }

    /// The login fails with this text after this step.
    pub(super) async fn fails(mut self, kind: ErrorKind, says: &'static str, last: Step) -> Pair {
        (self.kind, self.says, self.last) = (Some(kind), says, last);
        let outcome = self.pair.connect(self.pair.user()).await;
        self.pair.close().await;
        let Self { name, pair, says, kind, .. } = &self;
        let Err(error) = outcome else { panic!("{name}: the client signed in") };
        let text = Chain(&error).to_string();
        assert!(text.contains(says), "{name}: {text}");
        assert_eq!(Some(error.kind()), *kind, "{name}: {text}");
        check_text(name, &error);
        self.check_visits();
        pair.clone()
    }

    /// The client signs in and makes a call, because what is wrong does not count.
    pub(super) async fn signs_in(self) -> Pair {
        let name = self.name;
        let client = self.pair.connect(self.pair.user()).await;
        let client: Client = client.unwrap_or_else(|error| panic!("{name}: {}", Chain(&error)));
        assert_eq!(sum(&client).await.unwrap(), "3", "{name}");
        self.pair.close().await;
        self.check_visits();
        self.pair
    }

    fn check_visits(&self) {
        let Self { name, pair, last, shown, .. } = self;
        assert_eq!(last_step(pair), *last, "{name}: {:#?}", pair.state().visits);
        check_visits(name, pair);
        let state = pair.state();
        if let Some(shown) = shown {
            assert_eq!(state.shown, *shown, "{name}");
        }
        let is_elsewhere = |site| matches!(site, Site::Other | Site::Elsewhere);
        let elsewhere: Vec<_> = state.visits.iter().filter(|visit| is_elsewhere(visit.site)).collect();
        assert!(elsewhere.is_empty(), "{name}: {elsewhere:#?}");
    }
}

/// Returns the last step of a login that the pair has seen.
pub(super) fn last_step(pair: &Pair) -> Step {
    let state = pair.state();
    let has = |path: &str| state.visits.iter().any(|visit| visit.path() == path);
    let is_used =
        state.visits.iter().any(|visit| visit.site == Site::Mcp && visit.header("authorization").is_some());
    match () {
        () if is_used => Step::Use,
        () if has("/token") => Step::Token,
        () if !state.opened.is_empty() => Step::Browser,
        () if has("/register") => Step::Registration,
        () if state.visits.iter().any(|visit| visit.site == Site::Id) => Step::Server,
        () => Step::Resource,
    }
}

/// Checks that no secret went to a place that it is not for.
pub(super) fn check_visits(name: &str, pair: &Pair) {
    let ours = ["{id}/authorize?", "{other}/authorize?"].map(|page| pair.fill(page));
    let state = pair.state();
    for url in &state.opened {
        assert!(ours.iter().any(|page| url.starts_with(page)), "{name} opens {url}");
        assert!(!url.contains("canary"), "{name} opens {url}");
    }
    for visit in &state.visits {
        let is_mcp = visit.site == Site::Mcp && visit.path() == "/mcp";
        let mut target = visit.target.clone();
        if is_mcp {
            target = target.replace("canary-key", "");
        }
        assert!(!target.contains("canary"), "{name}: {visit:#?}");
        for (header, value) in &visit.headers {
            let is_allowed = is_mcp && ["authorization", "x-api-key"].contains(&header.as_str());
            let has_canary = value.contains("canary") || header.contains("canary");
            assert!(is_allowed || !has_canary, "{name}: {visit:#?}");
        }
        assert!(visit.path() == "/token" || !visit.body.contains("canary"), "{name}: {visit:#?}");
        assert!(!visit.body.contains("canary-token"), "{name}: an access token goes only to the MCP server");
    }
}

/// Checks that an error shows nothing of what the pair said.
pub(super) fn check_text(name: &str, error: &Error) {
    let mut texts = vec![Chain(error).to_string(), format!("{error:?}"), format!("{error:#?}")];
    let mut next = error.source();
    while let Some(cause) = next {
        texts.extend([cause.to_string(), format!("{cause:?}")]);
        next = cause.source();
    }
    for text in texts {
        for hidden in ["canary", "\u{1b}", "\\u{1b}", "<html", "<script"] {
            assert!(!text.contains(hidden), "{name}: {text}");
        }
    }
}
