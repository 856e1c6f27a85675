//! How is a model told what is wrong?
//!
//! | file | question |
//! |---|---|
//! | `problem.rs` | What is wrong with an argument? |
//! | `closest.rs` | Which known name was probably meant? |

pub mod closest;
pub mod legal_name;
pub(crate) mod problem;
