//! Which rules does the history of a run have to follow?

use std::collections::BTreeMap;

use crate::harness::PANIC;
use crate::history::{End, Event};
use crate::load::Call;
use crate::world::done;

/// A client repeats a call that is safe to repeat at most this often.
const RETRIES: usize = 6;

/// A handler whose caller has given up is dropped within this many milliseconds, unless something goes wrong. Readers
/// stall for less.
const PROMPT: u128 = 40_000;

/// What happened to one call.
#[derive(Default)]
struct Story {
    heard: Vec<u64>,
    ends: Vec<End>,
    heard_after_end: bool,
    runs: usize,
    left: usize,
    effects: usize,
    /// When it ended for its caller, in milliseconds.
    ended_at: u128,
    /// A run left long after the end, though nothing was wrong.
    left_late: bool,
    /// Something had gone wrong on the way of its client before it ended.
    is_disturbed: bool,
}

/// Returns the rules that the events break.
pub(crate) fn check(events: &[(u128, Event)]) -> Vec<String> {
    let mut calls = BTreeMap::<&str, &Call>::new();
    let mut stories = BTreeMap::<&str, Story>::new();
    let mut disturbed = [false; 8];
    let mut broken = Vec::new();
    for (millis, event) in events {
        match event {
            Event::Called(call) => {
                calls.insert(&call.key, call);
                stories.entry(&call.key).or_default();
            }
            Event::Heard { key, step } => {
                let story = stories.entry(key).or_default();
                story.heard_after_end |= !story.ends.is_empty();
                story.heard.push(*step);
            }
            Event::Ended { key, end } => {
                let is_disturbed = calls.get(key.as_str()).is_some_and(|call| disturbed[call.client]);
                let story = stories.entry(key).or_default();
                story.is_disturbed = is_disturbed;
                story.ended_at = *millis;
                story.ends.push(end.clone());
            }
            Event::Ran { key } => stories.entry(key).or_default().runs += 1,
            Event::Left { key, .. } => {
                let is_disturbed = calls.get(key.as_str()).is_some_and(|call| disturbed[call.client]);
                let story = stories.entry(key).or_default();
                story.left += 1;
                story.left_late |=
                    !is_disturbed && !story.ends.is_empty() && *millis > story.ended_at + PROMPT;
            }
            Event::Effect { key } => stories.entry(key).or_default().effects += 1,
            Event::Disturbed { client, .. } => disturbed[*client] = true,
            Event::Broken(rule) => broken.push(rule.clone()),
            Event::Connected { client, is_ok, .. } => {
                if !is_ok && !disturbed[*client] {
                    broken.push(format!("client {client} cannot connect, though nothing is wrong"));
                }
            }
            // Every call that ran there may have lost its reply.
            Event::Restarted => disturbed = [true; 8],
            Event::Saw { .. } | Event::Sent { .. } => {}
        }
    }
    for (key, story) in &stories {
        match calls.get(key) {
            Some(call) => broken.extend(story.check(call).map(|rule| format!("{key}: {rule}"))),
            None => broken.push(format!("{key} was never called")),
        }
    }
    broken
}

impl Story {
    fn check(&self, call: &Call) -> impl Iterator<Item = String> {
        let most_runs = match call.tool {
            "look" => RETRIES + 1,
            // The function runs once for each round.
            "ask" => 2,
            _ => 1,
        };
        let end = self.ends.first();
        let is_unsent = matches!(end, Some(End::Unsent)) && call.tool != "ask";
        let rules = [
            (self.ends.len() == 1, format!("it ended {} times", self.ends.len())),
            (self.runs <= most_runs, format!("it ran {} times", self.runs)),
            (self.effects <= 1, format!("its effect happened {} times", self.effects)),
            (self.runs == self.left, format!("it ran {} times and left {} times", self.runs, self.left)),
            (!is_unsent || self.runs == 0, "it was not sent, and ran".to_owned()),
            (!self.left_late, "it ran on after its end".to_owned()),
            (!self.heard_after_end, "progress came after its end".to_owned()),
            (self.is_in_order(call), format!("progress came as {:?}", self.heard)),
            (end.is_none_or(|end| self.may_end_with(call, end)), format!("it ended with {end:?}")),
        ];
        rules.into_iter().filter(|(holds, _)| !holds).map(|(_, text)| text)
    }

    /// Returns whether progress comes in order, from the first step; for a call that may be repeated, each time. What
    /// has a result has all its steps.
    fn is_in_order(&self, call: &Call) -> bool {
        let mut last = 0;
        for step in &self.heard {
            if *step == 1 && call.tool == "look" {
                last = 0;
            }
            if *step != last + 1 {
                return false;
            }
            last = *step;
        }
        let is_answered = matches!(self.ends.first(), Some(End::Result(_) | End::ToolFailed(_)));
        let has_steps = matches!(call.tool, "work" | "look");
        !is_answered || !has_steps || last == call.steps
    }

    fn may_end_with(&self, call: &Call, end: &End) -> bool {
        let finish = if matches!(call.tool, "ask" | "announce") { "ok" } else { call.finish };
        let is_last = call.key.ends_with("last");
        match end {
            End::Result(text) => {
                matches!(finish, "ok" | "release") && *text == done(&call.key, call.pad) && self.runs > 0
            }
            End::ToolFailed(text) if finish == "fail" => text.ends_with(&format!("failed {}", call.key)),
            End::ToolFailed(text) => {
                // A question stays unanswered if its connection breaks.
                (finish == "panic" && !text.contains(PANIC)) || (call.tool == "ask" && self.is_disturbed)
            }
            End::Dropped => call.drop_after.is_some(),
            End::TimedOut => call.timeout.is_some() || (self.is_disturbed && !is_last),
            End::Unsent | End::ReplyLost | End::Refused => self.is_disturbed && !is_last,
            End::Unexpected(_) => false,
        }
    }
}
