//! Typed messages, the same in every era: requests with their replies, and notifications.
//!
//! | file | question |
//! |---|---|
//! | [`request`] | What is being asked, and what is the answer? |
//! | [`notification`] | What is told without being asked? |

pub mod notification;
pub mod request;

pub use notification::Notification;
pub use request::{Outcome, Reply, Request};
