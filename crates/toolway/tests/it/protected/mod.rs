//! Do only callers with a valid token reach a protected server, and only what their scopes allow?

mod client;
mod dpop;
mod fail_closed;
mod gateway;
mod keys;
mod log;
mod scopes;
mod sessions;
mod settings;
mod streams;
mod tokens;
mod world;
