//! One test for each row of `docs/features.md`, in the order of its chapters.

mod completion;
mod hooks;
mod listening;
mod logging;
mod phantom;
mod phantom_resources;
mod prompts;
mod registration;
mod resources;
mod ruby;
mod ruby_live;
mod schema;
mod templates;
mod tools;
mod visibility;
