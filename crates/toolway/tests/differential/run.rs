//! How is a program run? Step by step, by a host that can ask, do effects and send messages.

use std::pin::Pin;

use crate::program::{Asked, Effect, Ending, Failing, Level, Program, Step, Times, Together, Words};

pub(crate) type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A host of a program: a handler of a server, or the reference.
pub(crate) trait Host: Send {
    type Failure: Failure;

    fn ask<'a>(&'a mut self, asked: &'a Asked, failing: Failing) -> Doing<'a, Result<u64, Self::Failure>>;

    fn ask_all<'a>(
        &'a mut self,
        shape: Together,
        all: &'a [Asked],
        failing: Failing,
    ) -> Doing<'a, Result<Vec<u64>, Self::Failure>>;

    /// Reads a resource that sends a message and then asks.
    fn read<'a>(&'a mut self, asked: &'a Asked, failing: Failing) -> Doing<'a, Result<u64, Self::Failure>>;

    fn once<'a>(&'a mut self, effect: &'a Effect, note: u64) -> Doing<'a, Result<u64, Self::Failure>>;

    fn remember<'a>(&'a mut self, key: &'a str) -> Doing<'a, Result<u64, Self::Failure>>;

    fn progress(&mut self, done: f64, total: Option<u32>) -> Doing<'_, ()>;

    fn log(&mut self, level: Level, words: Words, note: u64) -> Doing<'_, ()>;
}

pub(crate) trait Failure: Send {
    /// The note for a failure that a function may handle; `None` for failures that it has to pass on.
    fn note(&self) -> Option<u64>;
}

pub(crate) const DECLINED: u64 = 300;
pub(crate) const CANCELLED: u64 = 301;
pub(crate) const MISFIT: u64 = 302;
pub(crate) const BROKEN: u64 = 303;

/// How a program ended, and its notes.
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    pub(crate) notes: Vec<u64>,
}

pub(crate) async fn run<H: Host>(host: &mut H, program: &Program) -> Result<Ended, H::Failure> {
    let mut notes = Vec::new();
    let early = steps(host, &program.steps, &mut notes).await?;
    Ok(Ended { ending: early.unwrap_or(program.ending), notes })
}

/// Runs steps; returns the ending if one of them ends the function.
fn steps<'a, H: Host>(
    host: &'a mut H,
    all: &'a [Step],
    notes: &'a mut Vec<u64>,
) -> Doing<'a, Result<Option<Ending>, H::Failure>> {
    Box::pin(async move {
        for step in all {
            let last = notes.last().copied().unwrap_or_default();
            match step {
                Step::Ask(asked, failing) => keep(notes, *failing, host.ask(asked, *failing).await)?,
                Step::Together(shape, all, failing) => match host.ask_all(*shape, all, *failing).await {
                    Ok(answers) if *failing != Failing::Ignore => notes.extend(answers),
                    Ok(_) => {}
                    Err(failure) => keep(notes, *failing, Err(failure))?,
                },
                Step::Loop(times, asked, failing) => {
                    let times = match times {
                        Times::Always(times) => *times,
                        Times::ByLastNote(limit) => last % limit,
                    };
                    for number in 0..times {
                        let asked = asked.numbered(number);
                        let answer = host.ask(&asked, *failing).await;
                        keep(notes, *failing, answer)?;
                    }
                }
                Step::Branch(even, odd) => {
                    let way = if last % 2 == 0 { even } else { odd };
                    if let Some(ending) = steps(host, way, notes).await? {
                        return Ok(Some(ending));
                    }
                }
                Step::Once(effect) => {
                    let note = if effect.uses_last_note { last } else { 1 };
                    let mut result = host.once(effect, note).await;
                    if effect.failing == Failing::Retry && result.is_err() {
                        result = host.once(effect, note).await;
                    }
                    keep(notes, effect.failing, result)?;
                }
                Step::Remember(key) => keep(notes, Failing::PassOn, host.remember(key).await)?,
                Step::Progress(done, total) => host.progress(*done, *total).await,
                Step::Log(level, words) => host.log(*level, *words, last).await,
                Step::Read(asked, failing) => keep(notes, *failing, host.read(asked, *failing).await)?,
                Step::Return(ending) => return Ok(Some(*ending)),
            }
        }
        Ok(None)
    })
}

/// Notes a result, or handles a failure as the program says.
fn keep<F: Failure>(notes: &mut Vec<u64>, failing: Failing, result: Result<u64, F>) -> Result<(), F> {
    let note = match (result, failing) {
        (_, Failing::Ignore) => return Ok(()),
        (Ok(value), _) => value,
        (Err(failure), Failing::Note) => match failure.note() {
            Some(note) => note,
            None => return Err(failure),
        },
        (Err(failure), _) => return Err(failure),
    };
    notes.push(note);
    Ok(())
}

impl Words {
    pub(crate) fn say(self, note: u64) -> String {
        match self {
            Self::Working => "working".to_owned(),
            Self::StillWorking => "still working".to_owned(),
            Self::LastNote => format!("working on {note}"),
        }
    }
}
