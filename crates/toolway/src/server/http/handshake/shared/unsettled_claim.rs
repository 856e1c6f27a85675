//! What happens to a claim if it is not known whether the store has it?
//!
//! The answer of the store may be lost, or the client may disconnect before the answer is there. The request does not run
//! then, and the client may send it again. So the claim is taken back, as soon as the store can be reached.

use std::sync::Arc;
use std::time::Duration;

use super::claim_entry::ClaimEntry;
use super::node::Node;
use crate::store::Step;

/// A claim that may be in the store. Dropping it takes the claim back.
pub(super) struct UnsettledClaim(Option<Withdrawal>);

impl UnsettledClaim {
    pub(super) fn new(node: Arc<Node>, group: String, entry: &ClaimEntry) -> Self {
        Self(Some(Withdrawal { node, group, step: Step::new().then(entry.leave()) }))
    }

    /// Records that the outcome is known.
    pub(super) fn settle(mut self) {
        self.0 = None;
    }
}

impl Drop for UnsettledClaim {
    fn drop(&mut self) {
        let (Some(withdrawal), Ok(runtime)) = (self.0.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        runtime.spawn(withdrawal.run());
    }
}

struct Withdrawal {
    node: Arc<Node>,
    group: String,
    step: Step,
}

impl Withdrawal {
    async fn run(self) {
        for _ in 0..MAX_ATTEMPTS {
            match self.node.store.run(&self.group, &self.step).await {
                Ok(_) => return,
                Err(error) => tracing::debug!(%error, "a claim could not be taken back"),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// A claim that cannot be taken back for a minute is left to expire.
const MAX_ATTEMPTS: usize = 240;
const PAUSE: Duration = Duration::from_millis(250);
