//! How long may an answer be kept, and by whom? (stateless era)

use crate::json::Members;
use crate::wire::{names, wire};

wire! {
    /// How long an answer may be kept.
    ///
    /// ```
    /// use toolway_protocol::types::{CacheHints, CacheScope};
    ///
    /// let hour = CacheHints::new(3_600_000_u64, CacheScope::Public);
    /// assert_eq!(hour.ttl_ms, 3_600_000);
    /// assert_eq!(CacheHints::default().ttl_ms, 0, "who says nothing wants nothing kept");
    /// ```
    pub struct CacheHints {
        /// For so many milliseconds; 0 is "not at all".
        ttl_ms: u64 = "ttlMs";
        /// By whom.
        cache_scope: CacheScope = "cacheScope";
    }
}

names! {
    /// By whom an answer may be kept.
    ///
    /// ```
    /// use toolway_protocol::types::CacheScope;
    ///
    /// assert_eq!(CacheScope::from("public"), CacheScope::Public);
    /// ```
    pub enum CacheScope {
        /// By anyone: it is the same for all callers.
        Public = "public",
        /// By the one who asked.
        Private = "private",
    }
}

/// Do not keep, do not share.
impl Default for CacheHints {
    fn default() -> Self {
        Self::new(0_u64, CacheScope::Private)
    }
}

impl CacheHints {
    /// Writes the hints among the members of a result.
    pub(crate) fn put_hints(&self, members: &mut Members<'_, '_>) {
        members.put("ttlMs", &self.ttl_ms);
        members.put("cacheScope", &self.cache_scope);
    }
}
