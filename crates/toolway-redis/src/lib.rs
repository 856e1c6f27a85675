//! How do several servers share one store on Redis or Valkey?
//!
//! [`Redis`] is a [`toolway_store::Store`]. Each step is one call of one script, so it is one round trip and atomic. A
//! store connects to a single server, to the primary that Sentinel names, or to a Redis Cluster, and reconnects by
//! itself.
//!
//! ```no_run
//! use std::time::Duration;
//! use toolway_redis::Redis;
//! use toolway_store::{Operation, Step, Store, Version};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let store = Redis::connect("redis://localhost").await?;
//! let put = Operation::Put {
//!     key: "greeting".into(),
//!     value: "hello".into(),
//!     version: Version(1),
//!     ttl: Duration::from_secs(60),
//! };
//! store.run("group", &Step::new().then(put)).await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Failures
//!
//! A visit ends within its [time limit](Builder::timeout). While Redis is away, visits fail with
//! [`NotDone`](toolway_store::StoreFailure::NotDone), and after five failures in a row they fail at once until a probe
//! has connected. A step whose reply was lost is sent again only if it is
//! [repeatable](toolway_store::Step::is_repeatable). When messages may have been missed, every subscription gets a
//! `None`.
//!
//! # Features
//!
//! `sentinel` and `cluster` (both on by default) accept `redis+sentinel://` and `redis+cluster://` URLs, `tls` accepts
//! `rediss://` URLs.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backoff;
mod builder;
#[cfg(feature = "cluster")]
mod cluster;
mod connector;
mod decode;
mod durability;
mod encode;
mod error;
mod format;
mod keys;
mod link;
mod locate;
mod messages;
mod node;
mod refusal;
mod repeat;
#[cfg(feature = "sentinel")]
mod sentinel;
mod servers;
mod start;
mod store;
mod task;
mod url;
mod visit;

pub use builder::Builder;
pub use durability::Durability;
pub use error::SetupError;
pub use store::Redis;

/// Compiles the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Compiles the program of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/operate-on-redis.md")]
struct OperateOnRedis;
