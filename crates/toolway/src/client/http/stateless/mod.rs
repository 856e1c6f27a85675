//! How do messages of the stateless era (revisions from 2026-07-28) travel over HTTP? Each request is independent of
//! the others.

pub(super) mod transport;
