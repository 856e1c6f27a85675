//! Sixteen callers, their calls, and the allowed outcomes.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::task::JoinSet;
use toolway::ErrorKind;
use toolway::prelude::*;

use crate::gate::Gate;
use crate::point::Random;

const CALLERS: usize = 16;
const CALLS_EACH: usize = 2;
/// Callers whose first call is held until the strike, so that it is in flight then.
const HELD: usize = 6;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tool {
    Plain,
    Tell,
    Look,
    Set,
}

impl Tool {
    const ALL: [Self; 4] = [Self::Plain, Self::Tell, Self::Look, Self::Set];

    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Tell => "tell",
            Self::Look => "look",
            Self::Set => "set",
        }
    }

    /// Returns whether it may run more than once.
    fn is_safe(self) -> bool {
        matches!(self, Self::Look | Self::Set)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    id: String,
    tool: Tool,
    text: String,
}

impl Call {
    fn draw(caller: usize, number: usize, random: &mut Random) -> Self {
        let is_held = caller < HELD && number == 0;
        // The held calls cover every tool.
        let tool = if is_held { Tool::ALL[caller % 4] } else { Tool::ALL[random.below(4)] };
        let size = [0, 0, 100, 2_000, 20_000][random.below(5)];
        Self {
            id: format!("{}-{caller}-{number}", if is_held { "held" } else { "free" }),
            tool,
            text: "x".repeat(size),
        }
    }

    /// A single call outside of the load.
    pub(crate) fn alone(id: &str, is_safe: bool) -> Self {
        let tool = if is_safe { Tool::Look } else { Tool::Plain };
        Self { id: id.to_owned(), tool, text: "alone".to_owned() }
    }

    pub(crate) async fn make(self, client: &Client, open: &Open, sent: impl FnOnce()) -> Outcome {
        open.0.lock().unwrap().insert(self.id.clone());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let told = heard.clone();
        let arguments = json!({"id": self.id, "text": self.text});
        let call = client
            .call(self.tool.name(), arguments)
            .on_progress(move |progress| told.lock().unwrap().push(progress.progress.to_string()));
        let mut call = std::pin::pin!(call);
        let mut sent = Some(sent);
        let result = std::future::poll_fn(|cx| {
            let polled = call.as_mut().poll(cx);
            if let Some(sent) = sent.take() {
                sent();
            }
            polled
        })
        .await;
        open.0.lock().unwrap().remove(&self.id);
        let heard = heard.lock().unwrap().clone();
        Outcome { call: self, result: result.and_then(|result| result.text()), heard }
    }
}

/// The calls that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Open(Mutex<BTreeSet<String>>);

/// How a call ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    call: Call,
    result: toolway::Result<String>,
    heard: Vec<String>,
}

impl Outcome {
    pub(crate) fn is_done(&self) -> bool {
        self.result.is_ok()
    }
}

/// Counts of how calls ended.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) done: usize,
    /// Done, and run more than once.
    pub(crate) again: usize,
    pub(crate) broken_off: usize,
    /// Broken off, and never run.
    pub(crate) unrun: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.done += other.done;
        self.again += other.again;
        self.broken_off += other.broken_off;
        self.unrun += other.unrun;
    }
}

/// Makes all calls. The calls of one caller come one after the other.
pub(crate) async fn load(
    client: &Client,
    gate: &Arc<Gate>,
    open: &Arc<Open>,
    random: &mut Random,
) -> Vec<Outcome> {
    let mut callers = JoinSet::new();
    for caller in 0..CALLERS {
        let calls: Vec<_> = (0..CALLS_EACH).map(|number| Call::draw(caller, number, random)).collect();
        let (client, gate, open) = (client.clone(), gate.clone(), open.clone());
        callers.spawn(async move {
            let mut outcomes = Vec::new();
            for call in calls {
                outcomes.push(call.make(&client, &open, || gate.asked()).await);
                gate.ended();
            }
            (caller, outcomes)
        });
    }
    let mut outcomes = Vec::new();
    let mut free = CALLERS - HELD;
    while let Some(ended) = callers.join_next().await {
        let (caller, mut ended) = ended.unwrap();
        outcomes.append(&mut ended);
        free -= usize::from(caller >= HELD);
        if free == 0 {
            // All remaining callers wait for a held call, which only the strike releases.
            gate.strike();
        }
    }
    outcomes
}

/// Checks that each call ended in an allowed way, given how often each was run.
pub(crate) fn judge(outcomes: &[Outcome], runs: &[String]) -> Tally {
    let mut counts = HashMap::<&str, usize>::new();
    for run in runs {
        *counts.entry(run).or_default() += 1;
    }
    let mut tally = Tally::default();
    for Outcome { call, result, heard } in outcomes {
        let runs = counts.get(call.id.as_str()).copied().unwrap_or_default();
        let about = || format!("{} ({}) was run {runs} times: {result:?}", call.id, call.tool.name());
        assert!(call.tool.is_safe() || runs <= 1, "{}", about());
        match result {
            Ok(text) => {
                assert!(runs >= 1, "{}", about());
                assert!(
                    *text == format!("{}: {}", call.id, call.text),
                    "another answer than its own: {}",
                    about()
                );
                if call.tool == Tool::Tell {
                    assert_eq!(*heard, ["1", "2", "3", "4"], "{}", about());
                }
                tally.done += 1;
                tally.again += usize::from(runs > 1);
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Transport, "{}", about());
                // The server restarts immediately, so calls that had not begun are done, and calls that are safe to
                // repeat as well.
                assert!(error.is_reply_lost() && !call.tool.is_safe(), "{}", about());
                tally.broken_off += 1;
                tally.unrun += usize::from(runs == 0);
            }
        }
    }
    let known: BTreeSet<_> = outcomes.iter().map(|outcome| outcome.call.id.as_str()).collect();
    assert!(counts.keys().all(|run| known.contains(run)), "somebody else called: {counts:?}");
    assert_eq!(known.len(), outcomes.len(), "a call ended twice");
    tally
}
