//! How is the server of a hub started?

use std::sync::Arc;

use super::breaker::Breaker;
use super::config::ServerConfig;
use super::follower::{Follower, Reach};
use super::lists::Lists;
use super::member::{Hope, Member, Phase};
use super::shared::Shared;
use super::target::configured;
use crate::client::{ClientBuilder, Target};
use crate::ground::error::Result;

impl Shared {
    /// Adds a server, and starts the task that looks after it.
    pub(super) fn start(self: &Arc<Self>, name: &str, target: Target) -> Result<Arc<Member>> {
        self.start_with(name, target, self.settings.client_of(name), Lists::default())
    }

    fn start_with(
        self: &Arc<Self>,
        name: &str,
        target: Target,
        builder: ClientBuilder,
        lists: Lists,
    ) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let place = target.connector().name();
        let (member, orders) = Member::new(name, place, breaker, Phase::Connecting, lists, None);
        self.insert(&member)?;
        let reach = Some(Reach { target, builder });
        let follower = Follower::new(self.clone(), member.clone(), reach, orders);
        member.kept_by(tokio::spawn(follower.run()).abort_handle());
        Ok(member)
    }

    /// Adds a server as a file describes it. One that is described wrongly is there, and cannot be used.
    pub(super) fn start_configured(self: &Arc<Self>, config: &ServerConfig) -> Result<Arc<Member>> {
        if config.disabled {
            return self.idle(config, Phase::Disabled);
        }
        match configured(config, &self.settings.variables) {
            Ok(target) => {
                let builder = self.settings.client_of(&config.name);
                let builder = match config.timeout {
                    Some(timeout) => builder.timeout(timeout),
                    None => builder,
                };
                let builder = match config.max_message {
                    Some(bytes) => builder.max_message(bytes),
                    None => builder,
                };
                let lists = Lists::choosing(config.tools().clone());
                self.start_with(&config.name, target, builder, lists)
            }
            Err(error) => {
                let since = tokio::time::Instant::now();
                self.idle(config, Phase::Unavailable { error, since, hope: Hope::None })
            }
        }
    }

    /// Adds a server that no task looks after.
    fn idle(&self, config: &ServerConfig, phase: Phase) -> Result<Arc<Member>> {
        let breaker = Arc::new(Breaker::new(self.settings.attempts));
        let (member, _) = Member::new(&config.name, config.place(), breaker, phase, Lists::default(), None);
        self.insert(&member)?;
        Ok(member)
    }
}
