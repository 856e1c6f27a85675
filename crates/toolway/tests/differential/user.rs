//! What does the user answer? The answer depends only on the text of the question, so it is the same on every wire.

use serde_json::json;
use toolway::client::{Answer, ClientBuilder};
use toolway::prelude::*;
use toolway::types::{Content, CreateMessage, CreateMessageResult, Elicit, Role, Root};

use crate::chance::Chance;
use crate::program::Kind;
use crate::world::World;

/// The size of an essay, in bytes: five of them exceed what a call may remember.
const ESSAY: usize = 9 * 1024;
pub(crate) const ROOTS: u64 = 2;

/// A decision of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mind {
    Amount(u64),
    /// An answer that does not fit the form.
    Nonsense,
    Decline,
    Cancel,
}

impl Mind {
    /// Decides how the user answers a question.
    pub(crate) fn about(text: &str, kind: Kind) -> Self {
        let mut chance = Chance::of(text);
        let amount = chance.below(100);
        match (kind, chance.below(24)) {
            (Kind::Roots, _) => Self::Amount(ROOTS),
            (Kind::Sample, _) => Self::Amount(amount),
            (Kind::Essay, _) => Self::Amount(ESSAY as u64),
            (_, 0 | 1) => Self::Decline,
            (_, 2) => Self::Cancel,
            (Kind::Url, _) => Self::Amount(1),
            (_, 3 | 4) => Self::Nonsense,
            _ => Self::Amount(amount),
        }
    }

    fn into_answer(self, kind: Kind) -> Answer {
        match (self, kind) {
            (Self::Decline, _) => Answer::decline(),
            (Self::Cancel, _) => Answer::cancel(),
            (Self::Nonsense, _) => Answer::accept(json!({"amount": "a lot"})),
            (Self::Amount(_), Kind::Url) => Answer::consent(),
            (Self::Amount(length), Kind::Essay) => {
                Answer::accept(json!({"essay": "x".repeat(length as usize)}))
            }
            (Self::Amount(amount), _) => Answer::accept(json!({"amount": amount})),
        }
    }
}

/// A client whose user records every question in the world.
pub(crate) fn client(world: &World) -> ClientBuilder {
    let (forms, pages, model, roots) = (world.clone(), world.clone(), world.clone(), world.clone());
    Client::builder()
        .on_elicit(move |question| {
            let Elicit::Form(form) = question.params() else {
                panic!("a form was declared, not {question:?}")
            };
            let is_essay = form.requested_schema.properties.0.iter().any(|(name, _)| name == "essay");
            let kind = if is_essay { Kind::Essay } else { Kind::Form };
            forms.asked(question.message());
            let answer = Mind::about(question.message(), kind).into_answer(kind);
            async move { answer }
        })
        .on_elicit_url(move |question| {
            pages.asked(question.message());
            let answer = Mind::about(question.message(), Kind::Url).into_answer(Kind::Url);
            async move { answer }
        })
        .on_sample(move |asked: CreateMessage| {
            let text = asked.messages.iter().flat_map(|message| message.content.as_slice());
            let text: String = text.filter_map(Content::as_text).collect();
            model.asked(&text);
            let Mind::Amount(amount) = Mind::about(&text, Kind::Sample) else {
                unreachable!("models answer")
            };
            let said = Content::text(amount.to_string());
            async move { Ok(CreateMessageResult::new(Role::Assistant, said, "dice")) }
        })
        .on_list_roots(move || {
            roots.asked("roots");
            let folders = (0..ROOTS).map(|number| Root::new(format!("file:///{number}")));
            std::future::ready(Ok(folders.collect()))
        })
}
