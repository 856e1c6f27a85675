//! Is a node alive, frozen or dead?
//!
//! A node that dies does nothing any more that can be seen from outside: its visits to the store fail, its connections
//! break, and its handlers say nothing. What is left of it in memory ends soon.

use std::sync::Mutex;

use tokio::sync::Notify;

use super::history::{Event, Fate, History};

/// The life of one node.
pub(crate) struct NodeLife {
    pub(crate) number: usize,
    history: History,
    state: Mutex<State>,
    /// Wakes in the order of waiting; a watch channel does so in random order.
    changed: Notify,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    Frozen,
    Dead,
}

impl NodeLife {
    pub(crate) fn new(number: usize, history: &History) -> Self {
        let state = Mutex::new(State::Alive);
        Self { number, history: history.clone(), state, changed: Notify::new() }
    }

    fn state(&self) -> State {
        *self.state.lock().unwrap()
    }

    async fn wait_until(&self, is_reached: impl Fn(State) -> bool) {
        loop {
            let changed = self.changed.notified();
            if is_reached(self.state()) {
                return;
            }
            changed.await;
        }
    }

    /// Waits while the node is frozen. Returns `false` if it is dead.
    pub(crate) async fn passes(&self) -> bool {
        self.wait_until(|state| state != State::Frozen).await;
        !self.is_dead()
    }

    /// Waits until the node is dead.
    pub(crate) async fn died(&self) {
        self.wait_until(|state| state == State::Dead).await;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.state() == State::Dead
    }

    pub(crate) fn freeze(&self) {
        self.change(State::Frozen, Fate::Frozen);
    }

    pub(crate) fn thaw(&self) {
        if self.state() == State::Frozen {
            self.change(State::Alive, Fate::Thawed);
        }
    }

    pub(crate) fn kill(&self) {
        self.change(State::Dead, Fate::Killed);
    }

    /// Ends a node that has stopped.
    pub(crate) fn stop(&self) {
        self.change(State::Dead, Fate::Stopped);
    }

    pub(crate) fn note(&self, fate: Fate) {
        self.history.add(Event::Node { node: self.number, fate });
    }

    fn change(&self, state: State, fate: Fate) {
        if !self.is_dead() {
            self.note(fate);
            *self.state.lock().unwrap() = state;
            self.changed.notify_waiters();
        }
    }
}
