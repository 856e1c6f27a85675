//! Which settings does a client have, and what are their defaults?

use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::ProtocolVersion;
use toolway_protocol::types::Implementation;

use crate::client::answer::answers::AnswerHandlers;
use crate::client::connect::list_limit::ListLimit;
use crate::client::handshake::era_cache::EraCache;
use crate::client::notifications::listeners::Hooks;
use crate::client::record::Recorder;
use crate::client::wire::target::Target;
use crate::ground::error::Result;
use crate::transport::frame::MAX_MESSAGE;

/// The default of [`timeout`](Config::timeout): how long the server may be silent about a request.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The default of [`deadline`](Config::deadline): how long a request may take in total.
const DEADLINE: Duration = Duration::from_secs(3600);

/// The default of [`connect_timeout`](Config::connect_timeout): how long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// The default of [`probe_timeout`](Config::probe_timeout): how long a server on a pipe may take to answer the probe
/// (`server/discover`). After that, the client continues with a handshake.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The default of [`retries`](Config::retries): how often a request is sent again.
const RETRIES: u32 = 6;

/// The settings of a client.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) info: Implementation,
    pub(crate) answers: AnswerHandlers,
    pub(crate) pinned: Option<ProtocolVersion>,
    pub(crate) hooks: Hooks,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) deadline: Option<Duration>,
    pub(crate) connect_timeout: Duration,
    pub(crate) probe_timeout: Duration,
    pub(crate) retries: u32,
    pub(crate) era_cache: EraCache,
    pub(crate) max_message: usize,
    pub(crate) max_list: ListLimit,
    pub(crate) recorder: Option<Recorder>,
    /// Adds settings of the client to the server that it connects to.
    pub(crate) map_target: Option<Arc<MapTarget>>,
}

/// Changes where and how a server is reached.
pub(crate) type MapTarget = dyn Fn(Target) -> Result<Target> + Send + Sync;

impl Default for Config {
    fn default() -> Self {
        Self {
            info: Implementation::new("toolway", env!("CARGO_PKG_VERSION")),
            answers: AnswerHandlers::default(),
            pinned: None,
            hooks: Hooks::default(),
            headers: Vec::new(),
            timeout: Some(TIMEOUT),
            deadline: Some(DEADLINE),
            connect_timeout: CONNECT_TIMEOUT,
            probe_timeout: PROBE_TIMEOUT,
            retries: RETRIES,
            era_cache: EraCache::default(),
            max_message: MAX_MESSAGE,
            max_list: ListLimit::default(),
            recorder: None,
            map_target: None,
        }
    }
}
