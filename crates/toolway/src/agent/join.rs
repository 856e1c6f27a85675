//! How do many calls run at the same time, without a task for each?
//!
//! They are polled where they are awaited, so that dropping the whole drops them all. Each has a waker of its own: one that
//! has something to do costs nothing to the others.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Runs all of them, and gives their outputs in their order.
pub(super) fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> JoinAll<F> {
    let shared = Arc::new(Shared::default());
    let runs: Vec<_> = futures.into_iter().map(|future| Run::Running(Box::pin(future))).collect();
    let wakers = (0..runs.len()).map(|index| {
        let one = One { index, is_queued: AtomicBool::new(true), shared: Arc::clone(&shared) };
        Arc::new(one)
    });
    let wakers = wakers.collect();
    shared.state().ready = (0..runs.len()).collect();
    JoinAll { left: runs.len(), runs, wakers, shared }
}

/// The future of [`join_all`].
pub(super) struct JoinAll<F: Future> {
    runs: Vec<Run<F>>,
    wakers: Vec<Arc<One>>,
    left: usize,
    shared: Arc<Shared>,
}

enum Run<F: Future> {
    Running(Pin<Box<F>>),
    Done(F::Output),
    Taken,
}

/// What wakers tell the whole.
#[derive(Default)]
struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    /// Those that have something to do.
    ready: Vec<usize>,
    /// Who waits for the whole.
    waiting: Option<Waker>,
}

impl Shared {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct One {
    index: usize,
    is_queued: AtomicBool,
    shared: Arc<Shared>,
}

impl Wake for One {
    fn wake(self: Arc<Self>) {
        if self.is_queued.swap(true, Ordering::AcqRel) {
            return;
        }
        let waiting = {
            let mut state = self.shared.state();
            state.ready.push(self.index);
            state.waiting.take()
        };
        if let Some(waker) = waiting {
            waker.wake();
        }
    }
}

impl<F: Future> Unpin for JoinAll<F> {}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let ready = {
            let mut state = this.shared.state();
            // Before anything is polled: what wakes meanwhile is heard.
            state.waiting = Some(cx.waker().clone());
            std::mem::take(&mut state.ready)
        };
        for index in ready {
            this.wakers[index].is_queued.store(false, Ordering::Release);
            let Run::Running(future) = &mut this.runs[index] else { continue };
            let waker = Waker::from(Arc::clone(&this.wakers[index]));
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                this.runs[index] = Run::Done(output);
                this.left -= 1;
            }
        }
        if this.left > 0 {
            return Poll::Pending;
        }
        let outputs = this.runs.iter_mut().filter_map(|run| match std::mem::replace(run, Run::Taken) {
            Run::Done(output) => Some(output),
            Run::Running(_) | Run::Taken => None,
        });
        Poll::Ready(outputs.collect())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

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
