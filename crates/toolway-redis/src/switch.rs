//! When has Sentinel made another server the primary?
//!
//! Sentinel closes the connections of the former primary if it can reach it. If it cannot, only Sentinel itself says so.

use std::sync::Arc;
use std::time::Duration;

use redis::{PushKind, Value};

use crate::backoff::{Backoff, shuffled};
use crate::connector::{Connector, Opened};
use crate::link::LinkState;
use crate::node::Node;
use crate::task::Task;
use crate::url::{Target, TargetKind};

/// Listens to the Sentinels of a target, if it has some, and gives up connections to a former primary.
pub(crate) fn watch_switches(target: &Target, connector: &Connector, node: &Arc<Node>) -> Option<Task> {
    let TargetKind::Sentinel { name } = &target.kind else { return None };
    let (sentinels, name) = (target.addresses.clone(), name.clone());
    let (connector, node) = (connector.clone(), Arc::downgrade(node));
    Some(Task::spawn(async move {
        let mut backoff = Backoff::default();
        loop {
            for sentinel in shuffled(sentinels.clone()) {
                let Ok(mut opened) = connector.open(&sentinel).await else { continue };
                if opened.connection.subscribe(SWITCH).await.is_err() {
                    continue;
                }
                backoff = Backoff::default();
                while let Some(switch) = next_switch(&mut opened).await {
                    let Some(node) = node.upgrade() else { return };
                    if is_about(&switch, &name) {
                        node.leave_former_primary(&switch);
                    }
                }
            }
            tokio::time::sleep(backoff.next_attempt()).await;
        }
    }))
}

/// Waits for the next message of a Sentinel: the name, the former host and port, the new host and port. Returns nothing
/// when the Sentinel is gone.
async fn next_switch(opened: &mut Opened) -> Option<String> {
    loop {
        let Ok(push) = tokio::time::timeout(SILENCE, opened.pushes.recv()).await else {
            let mut probe = opened.connection.clone();
            let reply = tokio::time::timeout(SILENCE, probe.send_packed_command(&redis::cmd("PING"))).await;
            if matches!(reply, Ok(Ok(_))) {
                continue;
            }
            return None;
        };
        let push = push?;
        match push.kind {
            PushKind::Disconnection => return None,
            PushKind::Message => {
                if let Some(Value::BulkString(text)) = push.data.into_iter().nth(1) {
                    return String::from_utf8(text).ok();
                }
            }
            _ => {}
        }
    }
}

fn is_about(switch: &str, name: &str) -> bool {
    switch.split(' ').next() == Some(name)
}

impl Node {
    /// Gives up the connections to a server that a message names as the former primary.
    fn leave_former_primary(&self, switch: &str) {
        let mut words = switch.split(' ').skip(1);
        let (Some(host), Some(port)) = (words.next(), words.next()) else { return };
        for link in self.links() {
            if let LinkState::Up(lease) = &*link.states().borrow()
                && lease.address.host == host
                && lease.address.port.to_string() == port
            {
                link.lost(lease);
            }
        }
    }
}

const SWITCH: &str = "+switch-master";
/// A Sentinel that says nothing for this long is asked whether it is there.
const SILENCE: Duration = Duration::from_secs(5);
