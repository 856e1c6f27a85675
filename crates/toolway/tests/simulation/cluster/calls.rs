//! What happened to one call of a cluster?

use std::collections::BTreeSet;

/// The runs and the ends of a call.
#[derive(Default)]
pub(crate) struct CallStory {
    pub(crate) session: Option<usize>,
    pub(crate) runs: Vec<Run>,
    /// The ends that clients got: with a stream or with a reply of its own, and the hash of the message.
    pub(crate) ends: BTreeSet<((bool, usize), u64)>,
    pub(crate) handed_over_at: Option<u64>,
    pub(crate) is_cancelled: bool,
    /// When the cancellation of a run was accepted.
    pub(crate) cancelled_at: Option<u64>,
    pub(crate) answered_at: Option<u64>,
}

/// A handler that ran.
pub(crate) struct Run {
    pub(crate) node: usize,
    pub(crate) at: u64,
    pub(crate) left_at: Option<u64>,
}

impl CallStory {
    /// Records that a handler begins. Returns whether it may. A handler that asks runs once more with the answer, which
    /// `has_rounds` says.
    pub(crate) fn run(&mut self, at: u64, node: usize, has_rounds: bool) -> bool {
        if has_rounds
            && let Some(last) = self.runs.last_mut()
            && last.node == node
            && last.left_at.is_some()
            && self.handed_over_at.is_none()
        {
            last.left_at = None;
            return true;
        }
        let may_run = self.runs.is_empty() || self.handed_over_at.take().is_some();
        self.runs.push(Run { node, at, left_at: None });
        may_run
    }

    pub(crate) fn leave(&mut self, at: u64, node: usize) {
        let open = |run: &&mut Run| run.node == node && run.left_at.is_none();
        if let Some(run) = self.runs.iter_mut().find(open) {
            run.left_at = Some(at);
        }
    }
}
