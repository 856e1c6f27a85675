//! When is a change done?

/// Determines when a change is done.
///
/// The level holds for values, entries of maps, deletions and the ends of logs. Entries of logs are confirmed by the
/// primary alone, because their writer writes them again if they are lost. No level is a consensus: during a split of
/// the network two primaries may accept two changes that exclude each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The primary has it. A fail-over may lose the last changes.
    #[default]
    Written,
    /// This many replicas have it as well. It costs a round trip between the servers.
    Replicated(u32),
    /// It is on the disk of the primary and of this many replicas. It costs an fsync, and needs Valkey, or Redis 7.2 or
    /// newer, with `appendonly yes`.
    Synced(u32),
}
