//! What was said about a hub?

use std::sync::Arc;
use std::time::Duration;

use super::breaker::Attempts;
use super::config::Variables;
use super::name_rules::NameRules;
use crate::client::{Client, ClientBuilder};

/// What was said about a hub.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) client: ClientBuilder,
    pub(super) each: Option<Arc<Each>>,
    pub(super) names: NameRules,
    pub(super) start_timeout: Duration,
    pub(super) attempts: Attempts,
    pub(super) variables: Variables,
    pub(super) max_message: Option<usize>,
}

/// Says more about the client of one server.
type Each = dyn Fn(&str, ClientBuilder) -> ClientBuilder + Send + Sync;

impl Default for Settings {
    fn default() -> Self {
        Self {
            client: Client::builder(),
            each: None,
            names: NameRules::default(),
            start_timeout: START_TIMEOUT,
            attempts: Attempts::default(),
            variables: Variables::default(),
            max_message: None,
        }
    }
}

impl Settings {
    pub(super) fn client_of(&self, name: &str) -> ClientBuilder {
        let client = match self.max_message {
            Some(bytes) => self.client.clone().max_message(bytes),
            None => self.client.clone(),
        };
        match &self.each {
            Some(each) => each(name, client),
            None => client,
        }
    }
}

/// How long starting waits for servers that are slow, unless the builder says otherwise.
const START_TIMEOUT: Duration = Duration::from_secs(30);
