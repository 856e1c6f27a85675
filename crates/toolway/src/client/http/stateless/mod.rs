//! How do messages of the stateless era travel over HTTP? Each stands alone.

pub(super) mod transport;
