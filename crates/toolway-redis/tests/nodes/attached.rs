//! Which streams are bound to their nodes, and may they end?

use std::collections::HashMap;

use crate::history::Fact;

/// The streams of conversations of 2024-11-05, and of `subscriptions/listen`.
#[derive(Debug, Default)]
pub(crate) struct AttachedStreams(HashMap<String, Holder>);

/// The node of a stream.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) node: String,
    pub(crate) since: u64,
    pub(crate) is_conversation: bool,
}

impl AttachedStreams {
    pub(crate) fn take(&mut self, at: u64, fact: &Fact) {
        if let Fact::Attached { stream, node, is_conversation } = fact {
            let holder = Holder { node: node.clone(), since: at, is_conversation: *is_conversation };
            self.0.insert(stream.clone(), holder);
        }
    }

    pub(crate) fn holder(&self, stream: &str) -> Option<&Holder> {
        self.0.get(stream)
    }

    /// Returns the node with the stream of a conversation of 2024-11-05, if a session is one.
    pub(crate) fn conversation(&self, session: &str) -> Option<&Holder> {
        self.holder(session).filter(|holder| holder.is_conversation)
    }
}
