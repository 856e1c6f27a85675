//! Typed messages, the same in every era: requests with their replies, and notifications.
//!
//! | file | question |
//! |---|---|
//! | [`request`] | Which requests are there, and which replies? |
//! | [`notification`] | Which notifications are there? |

pub mod notification;
pub mod request;

pub use notification::Notification;
pub use request::{Outcome, Reply, Request};
