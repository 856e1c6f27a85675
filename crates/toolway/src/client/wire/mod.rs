//! What carries messages to a server, and where a server is. The doors (`pipe/`, `process/`, `http/`) implement it.
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | What must something do to carry messages? |
//! | `outgoing.rs` | What does a transport know of a message that it sends? |
//! | `inbox.rs` | Where does what the server says unasked go? |
//! | `target.rs` | Where is a server, and how does one get there? |
//! | `opening.rs` | What does an era need to open a connection, and what does it give back? |
//! | `era_link.rs` | What does an era decide about the requests of a connection? |
//! | `forward_link.rs`, `no_forward_link.rs` | What does an era decide about requests that are made for another caller? |
//! | `terms.rs` | What goes for one request, whichever era writes it? |
//! | `backoff.rs` | How long is waited before something is tried again? |

pub(crate) mod backoff;
pub(crate) mod era_link;
#[cfg(feature = "server")]
pub(crate) mod forward_link;
#[cfg(not(feature = "server"))]
#[path = "no_forward_link.rs"]
pub(crate) mod forward_link;
pub(crate) mod inbox;
pub(crate) mod opening;
pub(crate) mod outgoing;
pub(crate) mod target;
pub(crate) mod terms;
pub(crate) mod transport;
