//! What does a request hold while it runs, and until its reply is sent?

use tokio::sync::OwnedSemaphorePermit;

use crate::ground::budget::Charge;

/// A permit to run a request. It is held until the last byte of the reply is sent.
#[derive(Debug)]
pub(crate) struct RequestPermit {
    charge: Option<Charge>,
    running: Option<OwnedSemaphorePermit>,
}

impl RequestPermit {
    pub(super) fn new(charge: Option<Charge>, running: Option<OwnedSemaphorePermit>) -> Self {
        Self { charge, running }
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
            }
            (permits @ None, other) => *permits = other,
            (Some(_), None) => {}
        }
    }
}
