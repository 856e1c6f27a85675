//! The gate: servers report that they live, and tools report that a run has begun. At the chosen moment the gate
//! strikes, and then releases the runs that it holds.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::point::When;

pub(crate) struct Gate {
    shared: Arc<Shared>,
    accepting: tokio::task::AbortHandle,
}

struct Shared {
    state: Mutex<State>,
    /// `true` after the strike, when no run is held any more.
    struck: watch::Sender<bool>,
}

#[derive(Default)]
struct State {
    when: Option<When>,
    strike: Option<Box<dyn FnOnce() + Send>>,
    asked: usize,
    begun: usize,
    ended: usize,
    /// The process that serves now.
    server: Option<Pid>,
    /// The fates of the next servers.
    lots: VecDeque<Lot>,
}

/// The fate of a server that has started.
#[derive(Debug, Clone)]
pub(crate) enum Lot {
    /// It gets instructions how it will die.
    Told(String),
    /// It is killed immediately.
    Killed,
}

/// Returns whether the call with this name is held until the strike.
pub(crate) fn is_held(id: &str) -> bool {
    id.starts_with("held")
}

impl Gate {
    pub(crate) fn open(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let shared = Arc::new(Shared { state: Mutex::default(), struck: watch::Sender::new(false) });
        let of_guests = shared.clone();
        let accepting = tokio::spawn(async move {
            let mut guests = JoinSet::new();
            while let Ok((guest, _)) = listener.accept().await {
                while guests.try_join_next().is_some() {}
                guests.spawn(receive(of_guests.clone(), BufReader::new(guest)));
            }
        });
        Self { shared, accepting: accepting.abort_handle() }
    }

    /// Sets how and when to strike; [`Self::strike`] strikes at the latest.
    pub(crate) fn arm(&self, when: Option<When>, strike: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.state.lock().unwrap();
        *state = State { when, strike: Some(Box::new(strike)), server: state.server, ..State::default() };
    }

    /// Sets what happens to the next servers.
    pub(crate) fn lots(&self, lots: impl IntoIterator<Item = Lot>) {
        self.shared.state.lock().unwrap().lots.extend(lots);
    }

    pub(crate) fn asked(&self) {
        self.shared.count(|state| {
            state.asked += 1;
            When::Asked(state.asked)
        });
    }

    pub(crate) fn ended(&self) {
        self.shared.count(|state| {
            state.ended += 1;
            When::Ended(state.ended)
        });
    }

    pub(crate) fn strike(&self) {
        self.shared.strike();
    }

    /// Kills the process that serves.
    pub(crate) fn killer(&self) -> impl FnOnce() + Send + 'static + use<> {
        let shared = self.shared.clone();
        move || {
            let server = shared.state.lock().unwrap().server.take();
            if let Some(server) = server {
                // It may be dying already.
                let _ = kill_process(server, Signal::KILL);
            }
        }
    }

    /// Reports that the strike has happened elsewhere.
    pub(crate) fn over(&self) -> impl Fn() + Send + Sync + 'static + use<> {
        let shared = self.shared.clone();
        move || shared.over()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    fn count(&self, count: impl FnOnce(&mut State) -> When) {
        let is_time = {
            let mut state = self.state.lock().unwrap();
            let now = count(&mut state);
            state.when == Some(now)
        };
        if is_time {
            self.strike();
        }
    }

    fn over(&self) {
        self.state.lock().unwrap().strike = None;
        self.struck.send_replace(true);
    }

    /// Strikes, only once.
    fn strike(&self) {
        let strike = self.state.lock().unwrap().strike.take();
        if let Some(strike) = strike {
            strike();
            self.struck.send_replace(true);
        }
    }
}

async fn receive(shared: Arc<Shared>, mut guest: BufReader<UnixStream>) {
    let mut words = String::new();
    // A server that is killed sends nothing, or half a line.
    if guest.read_line(&mut words).await.is_err() || !words.ends_with('\n') {
        return;
    }
    match words.trim_end().split_once(' ').unwrap() {
        ("hello", pid) => {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            let lot = {
                let mut state = shared.state.lock().unwrap();
                let lot = state.lots.pop_front();
                state.server = (!matches!(lot, Some(Lot::Killed))).then_some(pid);
                lot
            };
            let told = match lot {
                Some(Lot::Told(told)) => told,
                Some(Lot::Killed) => return kill_process(pid, Signal::KILL).unwrap(),
                None => "live".to_owned(),
            };
            let _ = guest.write_all(format!("{told}\n").as_bytes()).await;
            // Only the end of the connection can follow.
            let _ = guest.read_to_end(&mut Vec::new()).await;
            {
                let mut state = shared.state.lock().unwrap();
                state.server = state.server.filter(|server| *server != pid);
            }
            shared.over();
        }
        ("begun", id) => {
            shared.count(|state| {
                state.begun += 1;
                When::Begun(state.begun)
            });
            if is_held(id) {
                let _ = shared.struck.subscribe().wait_for(|struck| *struck).await;
            }
            let _ = guest.write_all(b"go\n").await;
        }
        other => panic!("{other:?}"),
    }
}
