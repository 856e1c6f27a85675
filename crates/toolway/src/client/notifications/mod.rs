//! What a server tells unasked, and who hears it.

pub(crate) mod changes;
pub(crate) mod listeners;
pub(crate) mod news;
