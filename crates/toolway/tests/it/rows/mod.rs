//! One test for each row of `docs/features.md`, in the order of its chapters.

mod agent;
mod client;
mod client_http;
mod completion;
mod hooks;
mod hub;
mod listening;
mod logging;
mod phantom;
mod phantom_resources;
mod process;
mod prompts;
mod registration;
mod resources;
mod ruby;
mod ruby_live;
mod schema;
mod templates;
mod tools;
mod visibility;
