//! What can wrap a handler? Layers: each gets the [`Call`](crate::server::layer::Call), passes it on, and gets the
//! answer of the layers inside.
//!
//! | file | question |
//! |---|---|
//! | `call.rs`, `stack.rs` | Which layers does a call pass through, and in which order? |
//! | `service.rs` | What is a layer, and how does it call the next one? |
//! | `reply.rs` | What is returned through the layers? |
//! | `function.rs`, `tower.rs` | How does a closure or a layer of tower become a layer? |

pub(crate) mod call;
pub(crate) mod function;
pub(crate) mod reply;
pub(crate) mod service;
pub(crate) mod stack;
#[cfg(feature = "tower")]
pub(crate) mod tower;
#[cfg(not(feature = "tower"))]
#[path = "without_tower.rs"]
pub(crate) mod tower;
