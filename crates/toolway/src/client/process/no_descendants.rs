//! The counterpart of `descendants.rs` for systems other than Linux, which do not list processes as files. A process that
//! has left the group of the server stays.

use rustix::process::{Pid, Signal};
use tokio::process::Command;

use crate::client::process::environment::InheritedEnv;

/// A descendant that was found, which never happens.
pub(super) enum Descendant {}

impl Descendant {
    pub(super) fn signal(&self, _signal: Signal) {
        match *self {}
    }

    pub(super) fn is(&self, _other: &Self) -> bool {
        match *self {}
    }

    pub(super) fn is_running(&self) -> bool {
        match *self {}
    }
}

pub(super) fn mark(_command: &mut Command, _inherit: InheritedEnv) -> Option<String> {
    None
}

pub(super) fn outside_of_group(_leader: Pid, _mark: Option<&str>) -> Vec<Descendant> {
    Vec::new()
}
