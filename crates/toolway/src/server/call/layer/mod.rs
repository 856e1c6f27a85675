//! What may stand between a request and its handler? Layers: each gets the [`Call`](crate::server::Call), and what the rest made of it.
//!
//! | file | question |
//! |---|---|
//! | `call.rs`, `stages.rs` | Which layers does a call pass, and in which order? |
//! | `service.rs` | What is a layer, and what is the rest of the way to it? |
//! | `answer.rs` | What comes back through them? |
//! | `function.rs`, `tower.rs` | How does a closure become a layer, and how a layer of tower? |

pub(crate) mod answer;
pub(crate) mod call;
pub(crate) mod function;
pub(crate) mod service;
pub(crate) mod stages;
pub(crate) mod tower;
