//! Does the store keep its promises on real servers, and when they fail?
//!
//! Every server is a child of its test. Without `redis-server` the tests say so and pass, unless the environment variable
//! `TOOLWAY_REQUIRE_REDIS` is set.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod beds;
mod cluster;
mod contract;
mod events;
mod fake_sentinel;
mod faults;
#[cfg(feature = "test-format")]
mod formats;
mod logs;
mod messages;
mod network;
mod proofs;
mod proxy;
mod random;
mod replicas;
mod sentinel;
mod server;
mod setup;
mod steps;
#[cfg(feature = "tls")]
mod tls;
