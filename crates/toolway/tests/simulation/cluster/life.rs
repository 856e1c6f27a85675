//! Is a node alive, frozen or dead?
//!
//! A node that dies does nothing any more that can be seen from outside: its visits to the store fail, its connections
//! break, and its handlers say nothing. What is left of it in memory ends soon.

use tokio::sync::watch;

use super::history::{Event, Fate, History};

/// The life of one node.
pub(crate) struct NodeLife {
    pub(crate) number: usize,
    history: History,
    state: watch::Sender<State>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Alive,
    Frozen,
    Dead,
}

impl NodeLife {
    pub(crate) fn new(number: usize, history: &History) -> Self {
        Self { number, history: history.clone(), state: watch::Sender::new(State::Alive) }
    }

    /// Waits while the node is frozen. Returns `false` if it is dead.
    pub(crate) async fn passes(&self) -> bool {
        if *self.state.borrow() == State::Alive {
            return true;
        }
        let mut state = self.state.subscribe();
        let state = state.wait_for(|state| *state != State::Frozen).await;
        state.is_ok_and(|state| *state == State::Alive)
    }

    /// Waits until the node is dead.
    pub(crate) async fn died(&self) {
        let mut state = self.state.subscribe();
        let _ = state.wait_for(|state| *state == State::Dead).await;
    }

    pub(crate) fn is_dead(&self) -> bool {
        *self.state.borrow() == State::Dead
    }

    pub(crate) fn freeze(&self) {
        self.change(State::Frozen, Fate::Frozen);
    }

    pub(crate) fn thaw(&self) {
        if *self.state.borrow() == State::Frozen {
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
            self.state.send_replace(state);
        }
    }
}
