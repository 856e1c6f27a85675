//! What does a client receive on a stream of `subscriptions/listen`?
//!
//! First an acknowledgement, then each change that the client wants. Every message carries the id of the request that
//! opened the stream. The request is answered only when the server ends the stream; a client that no longer wants the
//! stream cancels the request.

use tokio_util::sync::CancellationToken;
use toolway_protocol::era::stateless as codec;
use toolway_protocol::request::Listen;
use toolway_protocol::types::{SubscriptionAcknowledged, SubscriptionFilter};
use toolway_protocol::{Id, Method, Notification, RpcError};

use crate::ground::budget::Resource;
use crate::ground::outbound::Outbound;
use crate::server::Server;
use crate::server::admission::notification_filter::NotificationFilter;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::next_verdict;
use crate::server::changes::listeners::{Listener, has_setting, promised_lists};
use crate::server::failure::errors::busy;

/// Sends changes until the server shuts down. Then writes the answer to `frame`.
pub(super) async fn listen(
    server: &Server,
    id: &Id,
    wanted: Listen,
    arrival: Box<Arrival>,
    frame: &mut Vec<u8>,
) -> Result<(), RpcError> {
    let Some(budget) = arrival.stream_budget.filter(|_| arrival.outbound.is_open()) else {
        return Err(RpcError::method_not_found(Method::Listen.name()));
    };
    let charge = arrival.account.as_ref().map(|account| account.charge_within(budget, Resource::Streams, 1));
    let _charge = charge.transpose().map_err(|_| busy("too many streams of changes are open"))?;
    let honoured = supported_filter(server, wanted.notifications);
    let is_wanted = |flag: Option<bool>| flag == Some(true);
    let listener = server.inner.changes.listen_to([
        is_wanted(honoured.tools_list_changed),
        is_wanted(honoured.prompts_list_changed),
        is_wanted(honoured.resources_list_changed),
    ]);
    for uri in honoured.resource_subscriptions.iter().flatten() {
        listener.subscribe(uri.clone())?;
    }
    server.wait_for_subscriptions().await;
    // An item that the caller may not see is acknowledged like an item that does not exist. Neither causes
    // notifications.
    let mut sight = NotificationFilter::new(server, arrival.stream_view());
    let heard = Notification::SubscriptionAcknowledged(SubscriptionAcknowledged::new(honoured));
    arrival.outbound.send(notification_frame(id, &heard)).await;
    let mut rights = arrival.stream_rights();
    loop {
        tokio::select! {
            biased;
            () = wait_for_shutdown(arrival.shutdown_token.as_deref()) => break,
            verdict = next_verdict(rights.as_mut()) => sight.set_view(verdict?),
            () = wait_for_changes(&listener, &arrival.outbound) => {
                for news in listener.take_for(|news| sight.allows(news)) {
                    arrival.outbound.send(notification_frame(id, &news)).await;
                }
            }
        }
    }
    codec::write_listen_end(frame, id, None, &server.inner.stamp);
    Ok(())
}

/// Waits until there are changes and the outbound queue is empty. So several changes of one item become a single
/// notification if the peer reads slowly.
async fn wait_for_changes(listener: &Listener, outbound: &Outbound) {
    listener.changed().await;
    outbound.wait_until_empty().await;
}

/// Waits until the server shuts down. Without a token, waits forever.
async fn wait_for_shutdown(token: Option<&CancellationToken>) {
    match token {
        Some(token) => token.cancelled().await,
        None => std::future::pending().await,
    }
}

fn notification_frame(id: &Id, news: &Notification) -> Vec<u8> {
    let mut frame = Vec::with_capacity(128);
    codec::write_change(&mut frame, id, news);
    frame
}

/// Returns the part of the wanted notifications that the server supports. The rest is left out of the acknowledgement.
fn supported_filter(server: &Server, wanted: SubscriptionFilter) -> SubscriptionFilter {
    let capabilities = server.capabilities();
    let [tools, prompts, resources] = promised_lists(&capabilities);
    let can_subscribe = has_setting(capabilities.resources.as_ref(), "subscribe");
    let mut honoured = SubscriptionFilter::new();
    honoured.tools_list_changed = wanted.tools_list_changed.filter(|_| tools);
    honoured.prompts_list_changed = wanted.prompts_list_changed.filter(|_| prompts);
    honoured.resources_list_changed = wanted.resources_list_changed.filter(|_| resources);
    honoured.resource_subscriptions = wanted.resource_subscriptions.filter(|_| can_subscribe);
    honoured
}
