//! Completion: who suggests values for an argument, and what is asked and answered?
//!
//! | file | question |
//! |---|---|
//! | `providers.rs` | How are values suggested, and what do they depend on? |
//! | `requests.rs` | Who is asked to complete an argument, what does it get, and how much is sent? |

mod providers;
mod requests;
