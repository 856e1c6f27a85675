//! How do messages of the stateless era travel over HTTP? Each request is independent of the others.

pub(super) mod transport;
