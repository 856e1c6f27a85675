//! How does a handler of a server run a program?

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use toolway::Form;
use toolway::prelude::*;
use toolway::server::ask::{Ask, AskError, AskErrorKind, OnceError, UserAnswer};
use toolway::server::convert::IntoToolResult;
use toolway::server::{ErrorPolicy, ResourceError, ServerBuilder, ToolEntry};
use toolway::types::{
    CallToolResult, Content, CreateMessageResult, Field, FieldKind, Fields, FormSchema, LogLevel, Root,
};

use crate::program::{Asked, Effect, Ending, Failing, Kind, Level, Program, TUPLES, Together, Words};
use crate::run::{BROKEN, CANCELLED, DECLINED, Doing, Ended, Failure, Host, MISFIT, run};
use crate::world::World;

#[derive(Form)]
struct Amount {
    #[form(minimum = 0, maximum = 99)]
    amount: u64,
    #[form(default = true)]
    is_sure: bool,
}

/// The programs that a server runs, by their seeds.
pub(crate) type Programs = Arc<BTreeMap<u64, Program>>;

/// Run a program.
#[tool]
async fn execute(
    seed: u64,
    programs: State<Programs>,
    world: State<World>,
    ctx: Ctx,
) -> Result<CallToolResult, ToolError> {
    let mut live = Live { ctx, seed, world: World::clone(&world) };
    let Ended { ending, notes } = run(&mut live, &programs[&seed]).await.map_err(|failure| failure.error)?;
    match ending {
        Ending::Text => Ok(CallToolResult::text(format!("{notes:?}"))),
        Ending::Structured => Json(json!({"notes": notes})).into_tool_result(),
        Ending::Error => Err(ToolError::new(format!("enough of {notes:?}"))),
    }
}

/// Reads what the user says.
#[resource("quiz://{seed}/{key}/{wording}")]
async fn quiz(seed: u64, key: String, wording: u8, ctx: Ctx) -> Result<String, ResourceError> {
    ctx.log().warning("reading", json!({"key": key})).await;
    let asked = Asked { key, kind: Kind::Form, wording };
    let Amount { amount, .. } = ctx.question(asked.key.clone(), asked.text(seed)).ask().await?;
    Ok(amount.to_string())
}

pub(crate) fn tool() -> ToolEntry {
    ToolEntry::of::<execute>()
}

pub(crate) fn server(tool: ToolEntry, programs: &Programs, world: &World) -> ServerBuilder {
    Server::new("programs", "1.0.0")
        .tool(tool)
        .resources(resources![quiz])
        .state(programs.clone())
        .state(world.clone())
        .errors(ErrorPolicy::Verbose)
}

struct Live {
    ctx: Ctx,
    seed: u64,
    world: World,
}

struct Failed {
    note: Option<u64>,
    error: ToolError,
}

impl Failure for Failed {
    fn note(&self) -> Option<u64> {
        self.note
    }
}

impl From<AskError> for Failed {
    fn from(error: AskError) -> Self {
        let note = match error.kind() {
            AskErrorKind::Declined => Some(DECLINED),
            AskErrorKind::Cancelled => Some(CANCELLED),
            AskErrorKind::Invalid => Some(MISFIT),
            _ => None,
        };
        Self { note, error: error.into() }
    }
}

impl From<OnceError> for Failed {
    fn from(error: OnceError) -> Self {
        let cause = error.into_inner();
        let note = (!cause.is::<AskError>()).then_some(BROKEN);
        Self { note, error: ToolError::hidden(cause) }
    }
}

impl From<ResourceError> for Failed {
    fn from(error: ResourceError) -> Self {
        Self { note: None, error: error.into() }
    }
}

impl Live {
    fn question(&self, asked: &Asked) -> toolway::server::ask::QuestionBuilder {
        self.ctx.question(asked.key.clone(), asked.text(self.seed))
    }

    fn form(&self, asked: &Asked) -> Ask<Amount> {
        self.question(asked).ask()
    }

    fn answer(&self, asked: &Asked) -> Ask<UserAnswer<Amount>> {
        self.form(asked).answer()
    }

    fn fields(&self, asked: &Asked) -> Ask<BTreeMap<String, Value>> {
        self.question(asked).form(form("amount", FieldKind::Integer))
    }

    fn essay(&self, asked: &Asked) -> Ask<BTreeMap<String, Value>> {
        self.question(asked).form(form("essay", FieldKind::String))
    }

    fn url(&self, asked: &Asked) -> Ask<()> {
        self.question(asked).url("https://example.com/")
    }

    fn sample(&self, asked: &Asked) -> Ask<CreateMessageResult> {
        self.ctx.sample(asked.text(self.seed)).key(asked.key.clone())
    }

    fn roots(&self, asked: &Asked) -> Ask<Vec<Root>> {
        self.ctx.roots().key(asked.key.clone())
    }

    async fn one(&self, asked: &Asked) -> Result<u64, AskError> {
        Ok(match asked.kind {
            Kind::Form => self.form(asked).await?.worth(),
            Kind::Answer => self.answer(asked).await?.worth(),
            Kind::Fields => self.fields(asked).await?.worth(),
            Kind::Essay => self.essay(asked).await?.worth(),
            Kind::Url => self.url(asked).await?.worth(),
            Kind::Sample => self.sample(asked).await?.worth(),
            Kind::Roots => self.roots(asked).await?.worth(),
        })
    }

    async fn many<T: Worth + Send + 'static>(
        &self,
        all: &[Asked],
        ask: impl Fn(&Self, &Asked) -> Ask<T>,
    ) -> Result<Vec<u64>, AskError> {
        let questions: Vec<_> = all.iter().map(|asked| ask(self, asked)).collect();
        Ok(self.ctx.ask_all(questions).await?.into_iter().map(Worth::worth).collect())
    }

    async fn tuple(&self, all: &[Asked]) -> Result<Vec<u64>, AskError> {
        let [first, second, third] = all else { panic!("a tuple has three questions") };
        if first.kind == TUPLES[0][0] {
            let questions = (self.form(first), self.answer(second), self.sample(third));
            let (first, second, third) = self.ctx.ask_all(questions).await?;
            return Ok(vec![first.worth(), second.worth(), third.worth()]);
        }
        let questions = (self.fields(first), self.url(second), self.roots(third));
        let (first, second, third) = self.ctx.ask_all(questions).await?;
        Ok(vec![first.worth(), second.worth(), third.worth()])
    }
}

impl Host for Live {
    type Failure = Failed;

    fn ask<'a>(&'a mut self, asked: &'a Asked, _: Failing) -> Doing<'a, Result<u64, Failed>> {
        Box::pin(async move { Ok(self.one(asked).await?) })
    }

    fn ask_all<'a>(
        &'a mut self,
        shape: Together,
        all: &'a [Asked],
        _: Failing,
    ) -> Doing<'a, Result<Vec<u64>, Failed>> {
        Box::pin(async move {
            if shape == Together::Tuple {
                return Ok(self.tuple(all).await?);
            }
            Ok(match all[0].kind {
                Kind::Form => self.many(all, Self::form).await?,
                Kind::Answer => self.many(all, Self::answer).await?,
                Kind::Fields => self.many(all, Self::fields).await?,
                Kind::Essay => self.many(all, Self::essay).await?,
                Kind::Url => self.many(all, Self::url).await?,
                Kind::Sample => self.many(all, Self::sample).await?,
                Kind::Roots => self.many(all, Self::roots).await?,
            })
        })
    }

    fn read<'a>(&'a mut self, asked: &'a Asked, _: Failing) -> Doing<'a, Result<u64, Failed>> {
        Box::pin(async move {
            let uri = format!("quiz://{}", asked.text(self.seed));
            let read = self.ctx.read_resource(uri).await?;
            Ok(read.text().and_then(|text| text.parse().ok()).expect("the quiz gives a number"))
        })
    }

    fn once<'a>(&'a mut self, effect: &'a Effect, note: u64) -> Doing<'a, Result<u64, Failed>> {
        Box::pin(async move {
            let live = &*self;
            let work = || async move {
                if let Some(words) = effect.says {
                    live.ctx.log().warning(&words.say(note), Value::Null).await;
                }
                let mut note = note;
                if let Some(asked) = &effect.asks {
                    note += live.one(asked).await?;
                }
                let result = live.world.attempt(&effect.key, note, effect.fails_first);
                Ok::<_, ToolError>((result.map_err(ToolError::new)?, "x".repeat(effect.bulk)))
            };
            let (value, _): (u64, String) = live.ctx.once(effect.key.clone(), work).await?;
            Ok(value)
        })
    }

    fn remember<'a>(&'a mut self, key: &'a str) -> Doing<'a, Result<u64, Failed>> {
        Box::pin(async move {
            let (ticket, _): (u64, String) =
                self.ctx.remember(key, || (self.world.ticket(key), String::new()))?;
            Ok(ticket)
        })
    }

    fn progress(&mut self, done: f64, total: Option<u32>) -> Doing<'_, ()> {
        Box::pin(async move { self.ctx.progress(done, total, "").await })
    }

    fn log(&mut self, level: Level, words: Words, note: u64) -> Doing<'_, ()> {
        let level = match level {
            Level::Debug => LogLevel::Debug,
            Level::Warning => LogLevel::Warning,
            Level::Error => LogLevel::Error,
        };
        Box::pin(async move { self.ctx.log().write(level, &words.say(note), Value::Null).await })
    }
}

fn form(field: &str, kind: FieldKind) -> FormSchema {
    FormSchema::new(Fields(vec![(field.to_owned(), Field::new(kind))])).with_required(vec![field.to_owned()])
}

/// Converts an answer to a number.
trait Worth {
    fn worth(self) -> u64;
}

impl Worth for Amount {
    fn worth(self) -> u64 {
        self.amount + u64::from(!self.is_sure)
    }
}

impl Worth for UserAnswer<Amount> {
    fn worth(self) -> u64 {
        match self {
            Self::Accepted(amount) => amount.worth(),
            Self::Declined => DECLINED,
            _ => CANCELLED,
        }
    }
}

impl Worth for BTreeMap<String, Value> {
    fn worth(self) -> u64 {
        let length = |value: &Value| value.as_str().map(|text| text.len() as u64);
        self.values()
            .find_map(|value| value.as_u64().or_else(|| length(value)))
            .expect("a field is filled in")
    }
}

impl Worth for () {
    fn worth(self) -> u64 {
        1
    }
}

impl Worth for CreateMessageResult {
    fn worth(self) -> u64 {
        let said = self.content.as_slice().iter().find_map(Content::as_text);
        said.and_then(|text| text.parse().ok()).expect("the model gives a number")
    }
}

impl Worth for Vec<Root> {
    fn worth(self) -> u64 {
        self.len() as u64
    }
}
