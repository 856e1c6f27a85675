//! What the application answers when a server asks.

pub(crate) mod answers;
