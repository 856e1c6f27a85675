//! How do many calls run concurrently without a task for each?
//!
//! The calls are futures that one joined future polls, so dropping the joined future drops all of them. Each call has
//! its own waker, so only the calls that were woken are polled.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use crate::ground::mutex::Mutex;

/// Runs all futures concurrently and returns their outputs in order.
pub(super) fn join_all<F: Future>(
    futures: impl IntoIterator<Item = F>,
) -> impl Future<Output = Vec<F::Output>> {
    let mut runs: Vec<_> = futures.into_iter().map(|future| JoinSlot::Pending(Box::pin(future))).collect();
    let mut left = runs.len();
    let shared = Arc::<Mutex<JoinState>>::default();
    shared.lock().ready = (0..left).collect();
    let wakers = (0..left).map(|index| Arc::new(SlotWaker { index, shared: Arc::clone(&shared) }).into());
    let wakers: Vec<Waker> = wakers.collect();
    poll_fn(move |cx| {
        let ready = {
            let mut state = shared.lock();
            // Store the waker before any future is polled, so that a wake during the polls is not lost.
            state.waker = Some(cx.waker().clone());
            std::mem::take(&mut state.ready)
        };
        for index in ready {
            let JoinSlot::Pending(future) = &mut runs[index] else { continue };
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&wakers[index])) {
                runs[index] = JoinSlot::Done(output);
                left -= 1;
            }
        }
        if left > 0 {
            return Poll::Pending;
        }
        let outputs = std::mem::take(&mut runs).into_iter().filter_map(|run| match run {
            JoinSlot::Done(output) => Some(output),
            JoinSlot::Pending(_) => None,
        });
        Poll::Ready(outputs.collect())
    })
}

enum JoinSlot<F: Future> {
    Pending(Pin<Box<F>>),
    Done(F::Output),
}

/// The state that the wakers share with the joined future.
#[derive(Default)]
struct JoinState {
    /// The indices of the futures to poll.
    ready: BTreeSet<usize>,
    /// The waker of the joined future.
    waker: Option<Waker>,
}

struct SlotWaker {
    index: usize,
    shared: Arc<Mutex<JoinState>>,
}

impl Wake for SlotWaker {
    fn wake(self: Arc<Self>) {
        let mut state = self.shared.lock();
        state.ready.insert(self.index);
        let waiting = state.waker.take();
        drop(state);
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tokio::sync::{Semaphore, oneshot};

    use super::*;

    #[tokio::test]
    async fn outputs_come_in_order_whoever_is_first() {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..100).map(|_| oneshot::channel()).unzip();
        let all = tokio::spawn(join_all(receivers));
        for (index, sender) in senders.into_iter().enumerate().rev() {
            sender.send(index).unwrap();
            tokio::task::yield_now().await;
        }
        let outputs: Vec<_> = all.await.unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(outputs, (0..100).collect::<Vec<_>>());
        assert!(join_all(Vec::<std::future::Ready<()>>::new()).await.is_empty());
    }

    #[tokio::test]
    async fn who_wakes_itself_while_it_is_polled_is_polled_again() {
        let work = (0..10).map(|rounds| async move {
            for _ in 0..rounds {
                tokio::task::yield_now().await;
            }
            rounds
        });
        assert_eq!(join_all(work).await, (0..10).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn one_that_wakes_leaves_the_others_alone_and_dropping_drops_all() {
        let polls = Arc::new(AtomicUsize::new(0));
        let gate = Arc::new(Semaphore::new(0));
        let work = (0..100).map(|_| {
            let (polls, gate) = (Arc::clone(&polls), Arc::clone(&gate));
            async move {
                let mut waiting = Box::pin(gate.acquire());
                std::future::poll_fn(|cx| {
                    polls.fetch_add(1, Ordering::Relaxed);
                    waiting.as_mut().poll(cx).map(|permit| permit.unwrap().forget())
                })
                .await;
            }
        });
        let mut all = join_all(work);
        let mut poll =
            std::pin::pin!(std::future::poll_fn(|cx| Poll::Ready(Pin::new(&mut all).poll(cx).is_ready())));
        assert!(!poll.as_mut().await);
        for _ in 0..50 {
            gate.add_permits(1);
            assert!(!poll.as_mut().await);
        }
        assert_eq!(polls.load(Ordering::Relaxed), 150, "each once, and each that was let through once more");
        drop(all);
        assert_eq!(Arc::strong_count(&gate), 1, "nothing is left");
    }
}
