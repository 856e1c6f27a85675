//! Do only callers with a valid token reach a protected server, and only what their scopes allow?

mod client;
mod dpop;
mod fail_closed;
mod keys;
mod scopes;
mod settings;
mod streams;
mod tokens;
mod world;
