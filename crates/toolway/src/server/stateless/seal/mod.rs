//! How does a call that asks its client get its state back, when the client calls again with the answers?
//!
//! In the stateless era the client repeats the call, with a text that the server gave it. The text must
//! be useless for another call, for another caller, and after it has expired.
//!
//! | file | question |
//! |---|---|
//! | `binding.rs` | Which call does a state belong to? |
//! | `sealed.rs` | How does the state travel through the client, which can neither read nor change it? With the feature `http` |
//! | `keys.rs` | Where do the keys for it come from? |
//! | `kept.rs` | How does the server keep the state, where all calls come to this process? Without `http` |
//! | `canonical.rs` | When are the arguments of two calls the same? |

mod binding;
mod canonical;
#[cfg(any(test, not(feature = "http")))]
mod kept;
#[cfg(feature = "http")]
mod keys;
#[cfg(feature = "http")]
mod sealed;

pub(crate) use binding::{Binding, OpenError};
#[cfg(test)]
pub(crate) use binding::{MAX_STATE, OpenedState};
/// Gives calls their states back. Without `http` it has no keys: a state never leaves the process.
#[cfg(not(feature = "http"))]
pub(crate) use kept::KeptStates as SealKeys;
#[cfg(feature = "http")]
pub(crate) use keys::SealKeys;

#[cfg(test)]
#[cfg(feature = "http")]
mod tests;
