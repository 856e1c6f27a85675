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
    /// The nodes to which something was posted without a reply.
    pub(crate) silent: Vec<String>,
}

impl AttachedStreams {
    pub(crate) fn take(&mut self, fact: &Fact) {
        match fact {
            Fact::Attached { stream, node, is_conversation, since } => {
                let (node, is_conversation) = (node.clone(), *is_conversation);
                let holder = Holder { node, since: *since, is_conversation, silent: Vec::new() };
                self.0.insert(stream.clone(), holder);
            }
            Fact::Unposted { stream, node } => {
                if let Some(holder) = self.0.get_mut(stream) {
                    holder.silent.push(node.clone());
                }
            }
            _ => {}
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
