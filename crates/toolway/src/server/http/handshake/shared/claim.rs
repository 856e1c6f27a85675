//! How is a request kept from running twice, if copies of it reach several servers?
//!
//! The server that begins a request enters a claim for its id in the store. The claim is released when the reply was
//! handed over. A reply that could not be handed over leaves its claim until it expires: a copy of the request is
//! refused, not run.

use std::sync::Arc;

use super::super::super::endpoint::permit::ReplyClaim;
use super::claim_entry::ClaimEntry;
use super::session::SharedSession;
use crate::store::Step;

/// A claimed request. Dropping it releases the claim, if the reply was handed over.
pub(in crate::server) struct Claim {
    pub(in crate::server) entry: ClaimEntry,
    session: Arc<SharedSession>,
    is_sent: bool,
}

impl Claim {
    pub(in crate::server) fn new(entry: ClaimEntry, session: Arc<SharedSession>) -> Self {
        Self { entry, session, is_sent: false }
    }

    /// Releases the claim of a request that did not run.
    pub(in crate::server) fn release(mut self) {
        self.is_sent = true;
    }
}

impl ReplyClaim for Claim {
    fn mark_sent(&mut self) {
        self.is_sent = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.is_sent {
            return;
        }
        let (session, leave) = (self.session.clone(), self.entry.leave());
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(async move {
            // A claim that could not be released expires.
            if let Err(error) = session.run(&Step::new().then(leave)).await {
                tracing::debug!(%error, "a claim could not be released");
            }
        });
    }
}
