//! How long may a result be cached, and by which caches? (stateless era)

use crate::json::Members;
use crate::wire::{names, wire};

wire! {
    /// Hints for how long a result may be cached, and by which caches.
    ///
    /// ```
    /// use toolway_protocol::types::{CacheHints, CacheScope};
    ///
    /// let hour = CacheHints::new(3_600_000_u64, CacheScope::Public);
    /// assert_eq!(hour.ttl_ms, 3_600_000);
    /// assert_eq!(CacheHints::default().ttl_ms, 0, "who says nothing wants nothing kept");
    /// ```
    pub struct CacheHints {
        /// The lifetime in milliseconds; 0 means that the result must not be cached.
        ttl_ms: u64 = "ttlMs";
        /// The caches that may store the result.
        cache_scope: CacheScope = "cacheScope";
    }
}

names! {
    /// The caches that may store a result.
    ///
    /// ```
    /// use toolway_protocol::types::CacheScope;
    ///
    /// assert_eq!(CacheScope::from("public"), CacheScope::Public);
    /// ```
    pub enum CacheScope {
        /// Any cache: the result is the same for all callers.
        Public = "public",
        /// Only the cache of the caller.
        Private = "private",
    }
}

/// The default allows neither caching nor sharing.
impl Default for CacheHints {
    fn default() -> Self {
        Self::new(0_u64, CacheScope::Private)
    }
}

impl CacheHints {
    /// Writes the hints as members of a result.
    pub(crate) fn put_hints(&self, members: &mut Members<'_, '_>) {
        members.put("ttlMs", &self.ttl_ms);
        members.put("cacheScope", &self.cache_scope);
    }
}
