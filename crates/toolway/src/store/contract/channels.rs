//! What does the contract require of channels?

use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;

use super::trial::{ODD_NAMES, Trial, cases};
use crate::ground::poll_once::poll_once;
use crate::store::backend::Subscription;

cases! { "channels":
    publishing_to_nobody_is_no_error,
    what_is_published_after_subscribing_is_heard_in_order,
    what_was_published_before_is_not_heard,
    every_subscriber_hears_everything,
    other_channels_are_not_heard,
    who_waits_is_woken,
    a_dropped_future_loses_no_message,
    who_falls_behind_is_told_and_goes_on,
    a_dropped_subscription_ends_and_others_go_on,
    a_message_is_any_bytes,
}

/// Returns the next message as text.
async fn next_text(subscription: &mut Box<dyn Subscription>) -> String {
    let message = subscription.next().await.expect("a subscriber must not miss any of so few messages");
    String::from_utf8_lossy(&message).into_owned()
}

async fn publishing_to_nobody_is_no_error(trial: &Trial<'_>) {
    for _ in 0..100 {
        trial.publish("channel", "message").await;
    }
}

async fn what_is_published_after_subscribing_is_heard_in_order(trial: &Trial<'_>) {
    for round in 0..10 {
        let channel = round.to_string();
        let mut subscription = trial.subscribe(&channel).await;
        for number in 0..10 {
            trial.publish(&channel, number.to_string()).await;
        }
        for number in 0..10 {
            assert_eq!(next_text(&mut subscription).await, number.to_string());
        }
    }
}

async fn what_was_published_before_is_not_heard(trial: &Trial<'_>) {
    let mut early = trial.subscribe("channel").await;
    trial.publish("channel", "before").await;
    let mut late = trial.subscribe("channel").await;
    trial.publish("channel", "after").await;
    assert_eq!(next_text(&mut late).await, "after");
    assert_eq!(next_text(&mut early).await, "before");
    assert_eq!(next_text(&mut early).await, "after");
}

async fn every_subscriber_hears_everything(trial: &Trial<'_>) {
    let mut subscriptions = Vec::new();
    for _ in 0..5 {
        subscriptions.push(trial.subscribe("channel").await);
    }
    for number in 0..5 {
        trial.publish("channel", number.to_string()).await;
    }
    for subscription in &mut subscriptions {
        for number in 0..5 {
            assert_eq!(next_text(subscription).await, number.to_string());
        }
    }
}

async fn other_channels_are_not_heard(trial: &Trial<'_>) {
    let mut subscriptions = Vec::new();
    for channel in ODD_NAMES {
        subscriptions.push(trial.subscribe(channel).await);
    }
    // Each subscriber receives its own name twice. A message on the wrong channel would come in between.
    for channel in ODD_NAMES.into_iter().chain(ODD_NAMES.into_iter().rev()) {
        trial.publish(channel, channel).await;
    }
    for (channel, subscription) in ODD_NAMES.into_iter().zip(&mut subscriptions) {
        assert_eq!(next_text(subscription).await, channel);
        assert_eq!(next_text(subscription).await, channel);
    }
}

async fn who_waits_is_woken(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    for number in 0..10 {
        let mut next = pin!(subscription.next());
        let is_pending = std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx).is_pending())).await;
        assert!(is_pending, "`next` must wait until a message is published");
        trial.publish("channel", number.to_string()).await;
        assert_eq!(next.await, Some(Bytes::from(number.to_string())));
    }
}

async fn a_dropped_future_loses_no_message(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    let mut heard = 0;
    for number in 0..10 {
        // The future is dropped once before a message is published, and then after zero to three polls that may receive
        // the message.
        heard += poll_and_drop(&mut subscription, 1, heard).await;
        trial.publish("channel", number.to_string()).await;
        for polls in 0..4 {
            heard += poll_and_drop(&mut subscription, polls, heard).await;
        }
    }
    for number in heard..10 {
        assert_eq!(next_text(&mut subscription).await, number.to_string());
    }
}

/// Polls for the next message this many times and then drops the future. Returns how many messages came: 0 or 1.
async fn poll_and_drop(subscription: &mut Box<dyn Subscription>, polls: usize, expected: u32) -> u32 {
    let mut next = subscription.next();
    for _ in 0..polls {
        let now = poll_once(next.as_mut()).await;
        if let Poll::Ready(message) = now {
            assert_eq!(message, Some(Bytes::from(expected.to_string())));
            return 1;
        }
        tokio::task::yield_now().await;
    }
    0
}

async fn who_falls_behind_is_told_and_goes_on(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    // A backend may drop some of these messages, but then it must report that.
    let mut published = 2000_u64;
    for number in 1..=published {
        trial.publish("channel", number.to_string()).await;
    }
    let (mut heard, mut was_told, mut has_heard) = (0, false, true);
    while heard < published {
        match subscription.next().await {
            None => {
                was_told = true;
                // The last message may be among the missed ones, so publish one more for a subscriber that continues.
                // Publish only one between two received messages: each one may push another message out of the queue.
                if std::mem::take(&mut has_heard) {
                    published += 1;
                    trial.publish("channel", published.to_string()).await;
                }
            }
            Some(message) => {
                let number: u64 =
                    String::from_utf8_lossy(&message).parse().expect("a message must be a number");
                let follows = if was_told { number > heard } else { number == heard + 1 };
                assert!(
                    follows,
                    "{number} came after {heard}, but `next` did not return `None` for the missed messages"
                );
                (heard, was_told, has_heard) = (number, false, true);
            }
        }
    }
}

async fn a_dropped_subscription_ends_and_others_go_on(trial: &Trial<'_>) {
    let mut stays = trial.subscribe("channel").await;
    let goes = trial.subscribe("channel").await;
    trial.publish("channel", "one").await;
    drop(goes);
    trial.publish("channel", "two").await;
    assert_eq!(next_text(&mut stays).await, "one");
    assert_eq!(next_text(&mut stays).await, "two");
    drop(stays);
    trial.publish("channel", "to nobody").await;
    let mut again = trial.subscribe("channel").await;
    trial.publish("channel", "three").await;
    assert_eq!(next_text(&mut again).await, "three");
}

async fn a_message_is_any_bytes(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    let all: Bytes = (0..=255).rev().collect::<Vec<u8>>().into();
    for message in [Bytes::new(), all, Bytes::from_static(b"\r\n\0"), Bytes::from(vec![0xff; 1 << 16])] {
        trial.publish("channel", message.clone()).await;
        assert!(
            subscription.next().await == Some(message),
            "`next` must return the bytes that were published"
        );
    }
}
