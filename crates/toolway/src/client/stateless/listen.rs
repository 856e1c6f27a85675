//! How does a server of the stateless era report changes? The client subscribes with one request, which stays open for
//! as long as the subscription lasts.

use toolway_protocol::capability::JsonObject;
use toolway_protocol::meta::Key;
use toolway_protocol::request::Listen;
use toolway_protocol::types::SubscriptionFilter;
use toolway_protocol::{Id, Notification, Request};

use crate::client::wire::era_link::WatchRequest;
use crate::ground::error::Result;

/// Subscribes to changes, then waits until the connection ends or the server ends the subscription.
pub(super) async fn listen(watch: WatchRequest<'_>) -> Result<()> {
    let WatchRequest { requester, filter, on_begun: begun, connection_ended: over, .. } = watch;
    if *filter == SubscriptionFilter::new() {
        // The filter is empty: the server cannot report any of the changes.
        begun();
        over.await;
        return Ok(());
    }
    let id = requester.next_id();
    let mut news = requester.notifications().add_reader();
    let listening = requester.send_request(id.clone(), Request::Listen(Listen::new(filter.clone())), None);
    let hearing = async {
        while let Some(news) = news.next().await {
            if let Notification::SubscriptionAcknowledged(told) = news
                && belongs_to(told.meta.as_ref(), &id)
            {
                begun();
                break;
            }
        }
        // The other notifications are not needed here.
        drop(news);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        biased;
        () = hearing => Ok(()),
        outcome = listening => outcome.map(drop),
        () = over => Ok(()),
    }
}

/// Returns whether a notification with this `_meta` belongs to the subscription `id`.
fn belongs_to(meta: Option<&JsonObject>, id: &Id) -> bool {
    let named = meta.and_then(|meta| meta.get(Key::SubscriptionId.name()));
    named.is_some_and(|named| match id {
        Id::Number(number) => named.as_i64() == Some(*number),
        Id::String(id) => named.as_str() == Some(id),
    })
}
