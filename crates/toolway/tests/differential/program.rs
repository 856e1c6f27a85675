//! What does a generated program look like?

use crate::chance::Chance;

/// A function that asks, as data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Program {
    pub(crate) seed: u64,
    pub(crate) steps: Vec<Step>,
    pub(crate) ending: Ending,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// One question; its answer is noted unless it is ignored.
    Ask(Asked, Failing),
    /// Several questions in one round.
    Together(Together, Vec<Asked>, Failing),
    /// A question for each number, with numbered keys.
    Loop(Times, Asked, Failing),
    /// Chooses one branch if the last note is even, the other if it is odd.
    Branch(Vec<Step>, Vec<Step>),
    Once(Effect),
    Remember(String),
    Progress(f64, Option<u32>),
    Log(Level, Words),
    /// Reads a resource that asks.
    Read(Asked, Failing),
    /// Ends the function here.
    Return(Ending),
}

/// A question. Its text consists of the seed, the key and the wording.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// The same key with another wording is another question, which is a mistake.
    pub(crate) wording: u8,
}

impl Asked {
    pub(crate) fn text(&self, seed: u64) -> String {
        format!("{seed}/{}/{}", self.key, self.wording)
    }

    pub(crate) fn numbered(&self, number: u64) -> Self {
        Self { key: format!("{}-{number}", self.key), ..self.clone() }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A derived form.
    Form,
    /// A derived form, where declining is a value.
    Answer,
    /// A form built by hand.
    Fields,
    /// A form built by hand, with a long answer.
    Essay,
    Url,
    Sample,
    Roots,
}

/// The reaction of the function to a missing answer or a failed effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failing {
    /// `?`
    PassOn,
    /// `let _ =`, for success and failure.
    Ignore,
    /// Notes the reason, and continues.
    Note,
    /// Tries once more (effects only).
    Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    Tuple,
    Vec,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Times {
    Always(u64),
    /// The last note modulo this number.
    ByLastNote(u64),
}

/// An effect that is done once.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Effect {
    pub(crate) key: String,
    /// `true` if the first attempt fails.
    pub(crate) fails_first: bool,
    pub(crate) failing: Failing,
    /// `true` if its result depends on the last note.
    pub(crate) uses_last_note: bool,
    /// A log message that it sends while it works.
    pub(crate) says: Option<Words>,
    /// A question that must be answered before it can begin.
    pub(crate) asks: Option<Asked>,
    /// The number of additional bytes in its result.
    pub(crate) bulk: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    Debug,
    Warning,
    Error,
}

/// Few different messages, so that a program often repeats one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Words {
    Working,
    StillWorking,
    LastNote,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Text,
    Structured,
    Error,
}

impl Program {
    /// Generates the program of a seed.
    pub(crate) fn generate(seed: u64) -> Self {
        let mut author = Author { chance: Chance::new(seed), asks: 0, effects: 0, done: 0.0 };
        let length = 4 + author.chance.below(8);
        let steps = author.steps(length, 2);
        let ending = author.ending();
        Self { seed, steps, ending }
    }

    pub(crate) fn has(&self, wanted: Kind) -> bool {
        fn any(steps: &[Step], wanted: Kind) -> bool {
            steps.iter().any(|step| match step {
                Step::Ask(asked, _) | Step::Loop(_, asked, _) | Step::Read(asked, _) => asked.kind == wanted,
                Step::Together(_, all, _) => all.iter().any(|asked| asked.kind == wanted),
                Step::Branch(even, odd) => any(even, wanted) || any(odd, wanted),
                Step::Once(effect) => effect.asks.as_ref().is_some_and(|asked| asked.kind == wanted),
                _ => false,
            })
        }
        any(&self.steps, wanted)
    }
}

/// The kinds that are asked together as a tuple.
pub(crate) const TUPLES: [[Kind; 3]; 2] =
    [[Kind::Form, Kind::Answer, Kind::Sample], [Kind::Fields, Kind::Url, Kind::Roots]];

/// Generates programs.
struct Author {
    chance: Chance,
    asks: u32,
    effects: u32,
    done: f64,
}

impl Author {
    fn steps(&mut self, number: u64, depth: u32) -> Vec<Step> {
        (0..number).map(|_| self.step(depth)).collect()
    }

    fn step(&mut self, depth: u32) -> Step {
        match self.chance.below(20) {
            0..=5 => Step::Ask(self.asked(), self.failing()),
            6 | 7 => {
                let shape = self.chance.one(&[Together::Tuple, Together::Vec]);
                let kinds = match shape {
                    Together::Tuple => self.chance.one(&TUPLES).to_vec(),
                    Together::Vec => vec![self.kind(); 1 + self.chance.below(4) as usize],
                };
                let all = kinds.into_iter().map(|kind| Asked { kind, ..self.asked() }).collect();
                Step::Together(shape, all, self.failing())
            }
            8 => {
                let times = [Times::Always(2), Times::Always(3), Times::ByLastNote(4)];
                Step::Loop(self.chance.one(&times), self.asked(), self.failing())
            }
            9 | 10 if depth > 0 => {
                let (even, odd) = (1 + self.chance.below(3), self.chance.below(3));
                Step::Branch(self.steps(even, depth - 1), self.steps(odd, depth - 1))
            }
            9..=12 => Step::Once(self.effect()),
            13 => Step::Remember(self.effect_key()),
            14 | 15 => self.progress(),
            16 | 17 => {
                let level = self.chance.one(&[Level::Debug, Level::Warning, Level::Error]);
                Step::Log(level, self.words())
            }
            18 => {
                let asked = Asked { kind: Kind::Form, ..self.asked() };
                Step::Read(asked, self.failing())
            }
            _ if depth < 2 && self.chance.is_one_in(2) => Step::Return(self.ending()),
            _ => Step::Log(Level::Warning, Words::Working),
        }
    }

    /// Sometimes repeats an earlier question; rarely uses its key for another question.
    fn asked(&mut self) -> Asked {
        let kind = self.kind();
        if self.asks > 0 && self.chance.is_one_in(12) {
            let key = format!("q{}", self.chance.below(u64::from(self.asks)));
            // The key determines the kind, so that only the wording can differ.
            let kind = kind_of(&key);
            return Asked { key, kind, wording: u8::from(self.chance.is_one_in(4)) };
        }
        let key = format!("q{}", self.asks);
        self.asks += 1;
        Asked { kind: if self.chance.is_one_in(2) { kind_of(&key) } else { kind }, key, wording: 0 }
    }

    fn asked_inside(&mut self) -> Asked {
        self.asks += 1;
        Asked { key: format!("inside-{}", self.asks), kind: self.kind(), wording: 0 }
    }

    fn kind(&mut self) -> Kind {
        let kinds =
            [Kind::Form, Kind::Form, Kind::Answer, Kind::Fields, Kind::Url, Kind::Sample, Kind::Roots];
        self.chance.one(&kinds)
    }

    fn failing(&mut self) -> Failing {
        self.chance.one(&[Failing::PassOn, Failing::Note, Failing::Note, Failing::Note, Failing::Ignore])
    }

    fn effect(&mut self) -> Effect {
        // Uses a key of its own: the question of an effect is not asked again once the effect is done.
        let asks = self.chance.is_one_in(5).then(|| self.asked_inside());
        let fails_first = self.chance.is_one_in(2);
        let failing = match self.chance.below(8) {
            // A failure of an effect that asks must not be ignored: later effects would run before it.
            _ if asks.is_some() => Failing::PassOn,
            0..=3 => Failing::Retry,
            4 => Failing::PassOn,
            5 => Failing::Ignore,
            _ => Failing::Note,
        };
        Effect {
            key: self.effect_key(),
            fails_first: fails_first && asks.is_none(),
            failing,
            uses_last_note: self.chance.is_one_in(2),
            says: self.chance.is_one_in(2).then(|| self.words()),
            asks,
            bulk: 0,
        }
    }

    /// Sometimes repeats an earlier key: then the effect is not done again.
    fn effect_key(&mut self) -> String {
        if self.effects > 0 && self.chance.is_one_in(8) {
            return format!("e{}", self.chance.below(u64::from(self.effects)));
        }
        self.effects += 1;
        format!("e{}", self.effects - 1)
    }

    /// Progress mostly grows; sometimes it repeats or shrinks.
    fn progress(&mut self) -> Step {
        match self.chance.below(6) {
            0 => self.done -= 1.5,
            1 => {}
            _ => self.done += [0.5, 1.0, 2.0][self.chance.below(3) as usize],
        }
        Step::Progress(self.done, self.chance.is_one_in(2).then_some(20))
    }

    fn words(&mut self) -> Words {
        self.chance.one(&[Words::Working, Words::Working, Words::StillWorking, Words::LastNote])
    }

    fn ending(&mut self) -> Ending {
        self.chance.one(&[Ending::Text, Ending::Structured, Ending::Structured, Ending::Error])
    }
}

fn kind_of(key: &str) -> Kind {
    if key.len().is_multiple_of(2) { Kind::Form } else { Kind::Fields }
}
