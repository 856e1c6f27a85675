//! What does a request hold while it runs, and until its reply is sent?

use std::fmt;

use tokio::sync::OwnedSemaphorePermit;

use crate::ground::budget::Charge;

/// A permit to run a request. It is held until the last byte of the reply is sent.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    charge: Option<Charge>,
    running: Option<OwnedSemaphorePermit>,
    claims: Vec<Box<dyn ReplyClaim>>,
}

/// A claim that a request has on its id until its reply is handed over.
pub(crate) trait ReplyClaim: Send + Sync {
    /// The reply is being sent.
    fn mark_sent(&mut self);
}

impl fmt::Debug for dyn ReplyClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a claim")
    }
}

impl RequestPermit {
    pub(super) fn new(charge: Option<Charge>, running: Option<OwnedSemaphorePermit>) -> Self {
        Self { charge, running, claims: Vec::new() }
    }

    /// Adds a claim to the permit of a request.
    pub(crate) fn add_claim(permit: &mut Option<Self>, claim: Box<dyn ReplyClaim>) {
        permit.get_or_insert_with(|| Self::new(None, None)).claims.push(claim);
    }

    /// Marks the reply as handed over.
    pub(crate) fn mark_sent(&mut self) {
        self.claims.iter_mut().for_each(|claim| claim.mark_sent());
    }

    /// Takes the claims, which stay until they are dropped.
    pub(crate) fn take_claims(&mut self) -> Vec<Box<dyn ReplyClaim>> {
        std::mem::take(&mut self.claims)
    }

    /// Adds the permit of another request of the same batch to the permits of the batch.
    pub(crate) fn add(permits: &mut Option<Self>, other: Option<Self>) {
        match (permits, other) {
            (Some(permits), Some(other)) => {
                if let (Some(charge), Some(other)) = (&mut permits.charge, other.charge) {
                    charge.merge(other);
                }
                if let (Some(running), Some(other)) = (&mut permits.running, other.running) {
                    running.merge(other);
                }
                permits.claims.extend(other.claims);
            }
            (permits @ None, other) => *permits = other,
            (Some(_), None) => {}
        }
    }
}
