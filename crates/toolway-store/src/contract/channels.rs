//! What does the contract require of channels?

use std::pin::pin;
use std::task::Poll;

use bytes::Bytes;

use super::operations::{LONG_TTL, append, exists, name, put};
use super::trial::{Trial, cases, odd_names};
use crate::step::{Operation, Outcome, Step};
use crate::store::Subscription;

cases! { "channels":
    publishing_without_subscribers_is_not_an_error,
    messages_published_after_subscribing_arrive_in_order,
    messages_published_before_subscribing_do_not_arrive,
    every_subscriber_receives_every_message,
    every_handle_publishes_to_all_subscribers,
    the_name_of_a_channel_is_any_text,
    a_waiting_subscriber_is_woken,
    a_dropped_future_loses_no_message,
    a_subscriber_that_missed_messages_is_told_and_continues,
    a_dropped_subscription_ends_and_others_continue,
    a_message_is_any_bytes,
    a_step_publishes_its_messages_in_order,
    a_step_that_is_not_done_publishes_nothing,
    a_subscriber_finds_what_the_step_has_done,
    channels_belong_to_no_group,
}

/// Returns the next message as text.
async fn next_text(subscription: &mut Box<dyn Subscription>) -> String {
    let message = subscription.next().await.expect("a subscriber must not miss any of so few messages");
    String::from_utf8_lossy(&message).into_owned()
}

async fn publishing_without_subscribers_is_not_an_error(trial: &Trial<'_>) {
    for _ in 0..100 {
        trial.publish("channel", "message").await;
    }
}

async fn messages_published_after_subscribing_arrive_in_order(trial: &Trial<'_>) {
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

async fn messages_published_before_subscribing_do_not_arrive(trial: &Trial<'_>) {
    let mut early = trial.subscribe("channel").await;
    trial.publish("channel", "before").await;
    assert_eq!(next_text(&mut early).await, "before");
    let mut late = trial.subscribe("channel").await;
    trial.publish("channel", "after").await;
    assert_eq!(next_text(&mut late).await, "after");
    assert_eq!(next_text(&mut early).await, "after");
}

async fn every_subscriber_receives_every_message(trial: &Trial<'_>) {
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

async fn every_handle_publishes_to_all_subscribers(trial: &Trial<'_>) {
    let channel = trial.channel("channel");
    let mut subscriptions = Vec::new();
    for handle in trial.handles() {
        subscriptions.push(handle.subscribe(&channel).await.expect("`subscribe` must succeed"));
    }
    for (number, handle) in trial.handles().iter().enumerate() {
        handle.publish(&channel, number.to_string().into()).await.expect("`publish` must succeed");
        for subscription in &mut subscriptions {
            assert_eq!(next_text(subscription).await, number.to_string());
        }
    }
}

async fn the_name_of_a_channel_is_any_text(trial: &Trial<'_>) {
    let names = odd_names();
    let mut subscriptions = Vec::new();
    for channel in &names {
        subscriptions.push(trial.subscribe(channel).await);
    }
    // Each subscriber receives its own name twice. A message on the wrong channel would come in between.
    for channel in names.iter().chain(names.iter().rev()) {
        trial.publish(channel, channel.clone()).await;
    }
    for (channel, subscription) in names.iter().zip(&mut subscriptions) {
        assert_eq!(next_text(subscription).await, *channel);
        assert_eq!(next_text(subscription).await, *channel);
    }
}

async fn a_waiting_subscriber_is_woken(trial: &Trial<'_>) {
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
    let mut received = 0;
    for number in 0..10 {
        // The future is dropped once before a message is published, and then after zero to three polls that may receive
        // the message.
        received += poll_and_drop(&mut subscription, 1, received).await;
        trial.publish("channel", number.to_string()).await;
        for polls in 0..4 {
            received += poll_and_drop(&mut subscription, polls, received).await;
        }
    }
    for number in received..10 {
        assert_eq!(next_text(&mut subscription).await, number.to_string());
    }
}

/// Polls for the next message this many times and then drops the future. Returns how many messages came: 0 or 1.
async fn poll_and_drop(subscription: &mut Box<dyn Subscription>, polls: usize, expected: u32) -> u32 {
    let mut next = subscription.next();
    for _ in 0..polls {
        let now = std::future::poll_fn(|cx| Poll::Ready(next.as_mut().poll(cx))).await;
        if let Poll::Ready(message) = now {
            assert_eq!(message, Some(Bytes::from(expected.to_string())));
            return 1;
        }
        tokio::task::yield_now().await;
    }
    0
}

async fn a_subscriber_that_missed_messages_is_told_and_continues(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    // A store may drop some of these messages, but then it must report that.
    let mut published = 1000_u64;
    for number in 1..=published {
        trial.publish("channel", number.to_string()).await;
    }
    let (mut received, mut was_told, mut has_received) = (0, false, true);
    while received < published {
        match subscription.next().await {
            None => {
                was_told = true;
                // The last message may be among the missed ones, so publish one more for a subscriber that continues.
                // Publish only one between two received messages: each one may push another message out of the queue.
                if std::mem::take(&mut has_received) {
                    published += 1;
                    trial.publish("channel", published.to_string()).await;
                }
            }
            Some(message) => {
                let number: u64 =
                    String::from_utf8_lossy(&message).parse().expect("a message must be a number");
                let follows = if was_told { number > received } else { number == received + 1 };
                assert!(
                    follows,
                    "{number} came after {received}, but `next` did not return `None` for the missed messages"
                );
                (received, was_told, has_received) = (number, false, true);
            }
        }
    }
}

async fn a_dropped_subscription_ends_and_others_continue(trial: &Trial<'_>) {
    let mut stays = trial.subscribe("channel").await;
    let goes = trial.subscribe("channel").await;
    trial.publish("channel", "one").await;
    drop(goes);
    trial.publish("channel", "two").await;
    assert_eq!(next_text(&mut stays).await, "one");
    assert_eq!(next_text(&mut stays).await, "two");
    drop(stays);
    trial.publish("channel", "unheard").await;
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

fn publish(trial: &Trial<'_>, channel: &str, message: &'static str) -> Operation {
    Operation::Publish { channel: trial.channel(channel).into(), message: message.into() }
}

async fn a_step_publishes_its_messages_in_order(trial: &Trial<'_>) {
    let mut one = trial.subscribe("one").await;
    let mut two = trial.subscribe("two").await;
    let step = Step::new()
        .then(publish(trial, "one", "1"))
        .then(publish(trial, "two", "2"))
        .then(put("key", "value", LONG_TTL))
        .then(publish(trial, "one", "3"));
    for _ in 0..5 {
        trial.done(&step).await;
        assert_eq!(next_text(&mut one).await, "1");
        assert_eq!(next_text(&mut one).await, "3");
        assert_eq!(next_text(&mut two).await, "2");
    }
}

async fn a_step_that_is_not_done_publishes_nothing(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    trial.append(append("ended", &["end"]).ending()).await;
    let wrong = || Step::new().then(publish(trial, "channel", "wrong"));
    for step in [
        wrong().when(exists("never")),
        wrong().then(append("behind", &["entry"]).numbered(2)),
        wrong().then(append("ended", &["entry"])),
    ] {
        assert!(!matches!(trial.run(&step).await, Outcome::Done(_)), "{step:?} must not be done");
    }
    trial.done(&Step::new().then(publish(trial, "channel", "right"))).await;
    assert_eq!(next_text(&mut subscription).await, "right");
}

async fn a_subscriber_finds_what_the_step_has_done(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    for number in 1..=20_u64 {
        // The message is published before the operations that it is about.
        let (store, group) = (trial.store(), trial.group.clone());
        let step = Step::new()
            .then(publish(trial, "channel", "look"))
            .then(put("key", number.to_string(), LONG_TTL))
            .then(append("log", &["entry"]));
        let task = tokio::spawn(async move { store.run(&group, &step).await.map(drop) });
        assert_eq!(next_text(&mut subscription).await, "look");
        assert_eq!(trial.get("key").await, Some(number.to_string().into()), "the step must be done by now");
        assert_eq!(trial.log("log").await.last, number);
        task.await.expect("the task must not panic").expect("`run` must succeed");
    }
}

async fn channels_belong_to_no_group(trial: &Trial<'_>) {
    let mut subscription = trial.subscribe("channel").await;
    for group in ["a", "b"] {
        trial.run_in(group, &Step::new().then(publish(trial, "channel", "message"))).await;
        assert_eq!(next_text(&mut subscription).await, "message", "published by a step of group {group}");
    }
    // A value, a map and a log of the same name do not disturb the channel.
    let same = trial.channel("channel");
    trial.put(&same, "value", LONG_TTL).await;
    trial.enter(&same, "key", "value", LONG_TTL).await;
    trial.say(&same, &["entry"]).await;
    trial.op(Operation::DeleteLog(name(&same))).await;
    trial.publish("channel", "last").await;
    assert_eq!(next_text(&mut subscription).await, "last");
}
