//! What should a program do? The same as when it runs in one pass, with the answers available and without rounds.
//!
//! The only thing the reference knows about rounds is their maximum number.

use std::collections::BTreeMap;
use std::future::ready;

use serde_json::{Value, json};

use crate::program::{Asked, Effect, Ending, Failing, Kind, Level, Program, Together, Words};
use crate::run::{BROKEN, CANCELLED, DECLINED, Doing, Ended, Failure, Host, MISFIT, run};
use crate::user::Mind;
use crate::world::{Seen, World, said_log, said_progress};

const MAX_ROUNDS: u32 = 10;

/// The expected observations of a program.
pub(crate) struct Expected {
    pub(crate) seen: Seen,
    /// `true` if the reference can predict the result. A failed effect is retried when the function runs again, so what
    /// follows depends on the rounds; such a program only has to behave the same on every wire.
    pub(crate) is_certain: bool,
}

/// Runs a program in one pass.
pub(crate) async fn expect(program: &Program) -> Expected {
    let mut reference = Reference {
        seed: program.seed,
        world: World::default(),
        news: Vec::new(),
        told: f64::NEG_INFINITY,
        answers: BTreeMap::new(),
        open: Vec::new(),
        rounds: 0,
        done: BTreeMap::new(),
        has_failed: false,
        is_certain: true,
    };
    let outcome = match run(&mut reference, program).await {
        Ok(Ended { ending: Ending::Text, notes }) => result(false, &format!("{notes:?}"), None),
        Ok(Ended { ending: Ending::Structured, notes }) => {
            let notes = json!({"notes": notes});
            result(false, &notes.to_string(), Some(notes))
        }
        Ok(Ended { ending: Ending::Error, notes }) => result(true, &format!("enough of {notes:?}"), None),
        Err(Why { kind: Reason::Misfit | Reason::MisfitInside, text }) => {
            json!({"code": -32602, "message": text})
        }
        Err(Why { text, .. }) => result(true, &text, None),
    };
    let Reference { world, news, is_certain, .. } = reference;
    Expected { seen: world.close(outcome, news), is_certain }
}

fn result(is_error: bool, text: &str, structured: Option<Value>) -> Value {
    json!({"is_error": is_error, "text": text, "structured": structured})
}

struct Reference {
    seed: u64,
    world: World,
    news: Vec<String>,
    told: f64,
    /// The answers, by key, with their questions.
    answers: BTreeMap<String, (Asked, Mind)>,
    /// The questions that are sent in the same round as the next one.
    open: Vec<String>,
    rounds: u32,
    done: BTreeMap<String, u64>,
    /// `true` if an effect failed that may be retried.
    has_failed: bool,
    is_certain: bool,
}

/// The reason why a program stops.
struct Why {
    kind: Reason,
    text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reason {
    Declined,
    Cancelled,
    Misfit,
    Broken,
    /// A misfit that the function sees only as some failure.
    MisfitInside,
    Other,
}

impl Failure for Why {
    fn note(&self) -> Option<u64> {
        match self.kind {
            Reason::Declined => Some(DECLINED),
            Reason::Cancelled => Some(CANCELLED),
            Reason::Misfit => Some(MISFIT),
            Reason::Broken => Some(BROKEN),
            Reason::MisfitInside | Reason::Other => None,
        }
    }
}

fn why<T>(kind: Reason, text: impl Into<String>) -> Result<T, Why> {
    Err(Why { kind, text: text.into() })
}

impl Reference {
    fn find(&mut self, asked: &Asked) -> Result<u64, Why> {
        let key = &asked.key;
        let mind = match self.answers.get(key) {
            Some((known, mind)) if is_same(known, asked) => *mind,
            Some(_) => {
                let text = format!(
                    "the tool `execute` failed: two different questions have the key `{key}`: give one of them \
                     another key"
                );
                return why(Reason::Other, text);
            }
            None => self.put(asked)?,
        };
        match mind {
            Mind::Amount(amount) => Ok(amount),
            Mind::Decline if asked.kind == Kind::Answer => Ok(DECLINED),
            Mind::Cancel if asked.kind == Kind::Answer => Ok(CANCELLED),
            Mind::Decline => why(Reason::Declined, format!("the user declined to answer `{key}`")),
            Mind::Cancel => {
                why(Reason::Cancelled, format!("the user closed the question `{key}` without an answer"))
            }
            Mind::Nonsense => why(Reason::Misfit, format!("the answer to `{key}` does not fit")),
        }
    }

    /// Asks the user a new question.
    fn put(&mut self, asked: &Asked) -> Result<Mind, Why> {
        if self.open.is_empty() {
            if self.rounds == MAX_ROUNDS {
                let text = format!("this call has asked in {MAX_ROUNDS} rounds, which is the maximum");
                return why(Reason::Other, text);
            }
            self.rounds += 1;
        }
        self.is_certain &= !self.has_failed;
        self.open.push(asked.key.clone());
        let text = asked.text(self.seed);
        self.world.asked(if asked.kind == Kind::Roots { "roots" } else { &text });
        let mind = Mind::about(&text, asked.kind);
        self.answers.insert(asked.key.clone(), (asked.clone(), mind));
        Ok(mind)
    }

    /// Ends the round if an unanswered question is needed to continue.
    fn wait(&mut self, all: &[Asked], failing: Failing) {
        if failing != Failing::Ignore && all.iter().any(|asked| self.open.contains(&asked.key)) {
            self.open.clear();
        }
    }

    fn one(&mut self, asked: &Asked, failing: Failing) -> Result<u64, Why> {
        let found = self.find(asked);
        self.wait(std::slice::from_ref(asked), failing);
        found
    }

    fn say(&mut self, level: &str, text: &str) {
        self.news.push(said_log(level, &json!({"message": text})));
    }

    fn work(&mut self, effect: &Effect, note: u64) -> Result<u64, Why> {
        if let Some(result) = self.done.get(&effect.key) {
            return Ok(*result);
        }
        if let Some(words) = effect.says {
            self.say("warning", &words.say(note));
        }
        let mut note = note;
        if let Some(asked) = &effect.asks {
            let answer = self.one(asked, effect.failing);
            note += answer.map_err(|why| Why { kind: why.kind.inside(), ..why })?;
        }
        match self.world.attempt(&effect.key, note, effect.fails_first) {
            Ok(result) => {
                self.done.insert(effect.key.clone(), result);
                Ok(result)
            }
            Err(text) => {
                if effect.failing != Failing::Retry {
                    self.has_failed = true;
                    self.is_certain &= self.open.is_empty();
                }
                why(Reason::Broken, text)
            }
        }
    }
}

impl Reason {
    /// The reason as seen through a resource or an effect: the same for the caller, but not known to the function.
    fn inside(self) -> Self {
        if self == Self::Misfit { Self::MisfitInside } else { Self::Other }
    }
}

/// Returns whether two questions are the same. How declining is handled does not matter, and a question for roots has
/// no text.
fn is_same(known: &Asked, asked: &Asked) -> bool {
    let kind = |kind| if kind == Kind::Answer { Kind::Form } else { kind };
    kind(known.kind) == kind(asked.kind) && (known.wording == asked.wording || asked.kind == Kind::Roots)
}

impl Host for Reference {
    type Failure = Why;

    fn ask<'a>(&'a mut self, asked: &'a Asked, failing: Failing) -> Doing<'a, Result<u64, Why>> {
        Box::pin(ready(self.one(asked, failing)))
    }

    fn ask_all<'a>(
        &'a mut self,
        _: Together,
        all: &'a [Asked],
        failing: Failing,
    ) -> Doing<'a, Result<Vec<u64>, Why>> {
        // All are asked, even if one fails.
        let found: Vec<_> = all.iter().map(|asked| self.find(asked)).collect();
        self.wait(all, failing);
        Box::pin(ready(found.into_iter().collect()))
    }

    fn read<'a>(&'a mut self, asked: &'a Asked, failing: Failing) -> Doing<'a, Result<u64, Why>> {
        self.news.push(said_log("warning", &json!({"message": "reading", "key": asked.key})));
        let found = self.one(asked, failing).map_err(|why| Why { kind: why.kind.inside(), ..why });
        Box::pin(ready(found))
    }

    fn once<'a>(&'a mut self, effect: &'a Effect, note: u64) -> Doing<'a, Result<u64, Why>> {
        Box::pin(ready(self.work(effect, note)))
    }

    fn remember<'a>(&'a mut self, key: &'a str) -> Doing<'a, Result<u64, Why>> {
        let made = match self.done.get(key) {
            Some(made) => *made,
            None => {
                let ticket = self.world.ticket(key);
                self.done.insert(key.to_owned(), ticket);
                ticket
            }
        };
        Box::pin(ready(Ok(made)))
    }

    fn progress(&mut self, done: f64, total: Option<u32>) -> Doing<'_, ()> {
        if done > self.told {
            self.told = done;
            self.news.push(said_progress(done, total.map(|total| total.to_string()), None));
        }
        Box::pin(ready(()))
    }

    fn log(&mut self, level: Level, words: Words, note: u64) -> Doing<'_, ()> {
        let level = match level {
            Level::Debug => "debug",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        self.say(level, &words.say(note));
        Box::pin(ready(()))
    }
}
