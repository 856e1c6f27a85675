//! The handshake era.

pub(crate) mod link;
pub(crate) mod questions;

pub(crate) use link::{Link, open};
