//! How does a server offer the elements (tools, prompts and resources) of other servers? It lists the elements,
//! forwards calls, and passes on everything that the other servers send: results, errors, progress, log messages and
//! questions (requests for elicitation, sampling and roots).
//!
//! The other servers are also called upstream servers. They always belong to a [hub](crate::hub), which keeps their
//! lists up to date. A client that is mounted by itself becomes a hub with one server. Request ids and progress tokens
//! are not forwarded: each side has its own.
//! [docs/design/0009](https://github.com/toolway/toolway/blob/main/docs/design/0009-gateway.md) explains the other
//! decisions.
//!
//! | file | question |
//! |---|---|
//! | `mount.rs` | What can be mounted? |
//! | `edits.rs` | What does the author of a gateway change about the mounted elements? |
//! | `source.rs` | How do the elements of a hub become elements of a server? |
//! | `subscriptions.rs` | How does the gateway receive updates of the resources that its clients subscribe to? |
//! | `element.rs` | How do tools, prompts and resources of another server become entries of this one? |
//! | `call.rs` | How is one call forwarded, and what is its result? |
//! | `caller_clients.rs` | Which client carries the calls of one caller? |
//! | `upstreams.rs` | Which server has a URI, and what is the URI on each side? |
//! | `upstream_event.rs` | What does the other server send and ask during a call? |
//! | `parked.rs` | Where is a call while its caller answers a question? |
//! | `failure.rs` | What is the caller told about a call that could not be forwarded? |

mod call;
mod caller_clients;
mod edits;
mod element;
mod failure;
mod mount;
mod parked;
mod source;
mod subscriptions;
mod upstream_event;
mod upstreams;

pub use mount::{IntoMount, Mount};
