//! The commands, a file each.

pub(crate) mod serve;
