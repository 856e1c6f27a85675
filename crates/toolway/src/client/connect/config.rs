//! What was said about a client before it connects?

use std::time::Duration;

use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::Implementation;

use crate::client::answer::answers::Answers;
use crate::client::handshake::era_cache::EraCache;
use crate::client::notifications::listeners::Hooks;
use crate::transport::frame::MAX_MESSAGE;

/// How long nothing may be heard of a request, unless somebody says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a server may take until it is connected, unless somebody says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a server may be silent about a question that older servers do not know, before it is taken for one of them.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often a request is sent again, unless somebody says otherwise.
const RETRIES: u32 = 6;

/// Everything that can be said about a client.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) info: Implementation,
    pub(crate) answers: Answers,
    pub(crate) pinned: Option<ProtocolVersion>,
    pub(crate) hooks: Hooks,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) eras: EraCache,
    pub(crate) max_message: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            info: Implementation::new("toolway", env!("CARGO_PKG_VERSION")),
            answers: Answers::default(),
            pinned: None,
            hooks: Hooks::default(),
            headers: Vec::new(),
            timeout: Some(TIMEOUT),
            connect_timeout: CONNECT_TIMEOUT,
            probe_timeout: PROBE_TIMEOUT,
            retries: RETRIES,
            eras: EraCache::default(),
            max_message: MAX_MESSAGE,
        }
    }
}
