//! What carries messages to a server, and where a server is. The doors (`pipe/`, `process/`, `http/`) implement it.
//!
//! | file | question |
//! |---|---|
//! | `transport.rs` | What must something do to carry messages? |
//! | `outgoing.rs` | What does a transport know of a message that it sends? |
//! | `inbox.rs` | Where does what the server says unasked go? |
//! | `target.rs` | Where is a server, and how does one get there? |
//! | `server_facts.rs` | What does a server say about itself? |
//! | `backoff.rs` | How long is waited before something is tried again? |

pub(crate) mod backoff;
pub(crate) mod inbox;
pub(crate) mod outgoing;
pub(crate) mod server_facts;
pub(crate) mod target;
pub(crate) mod transport;
