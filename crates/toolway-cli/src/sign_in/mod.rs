//! How does a command sign in to a server that asks for it?
//!
//! | file | question |
//! |---|---|
//! | `settings.rs` | Who may be asked to sign in, and where are tokens kept? |
//! | `user.rs` | What does a user see, and type, while signing in? |
//! | `status.rs` | How is a login described? |

mod settings;
pub(crate) mod status;
mod user;

pub(crate) use settings::{base, vault_failure, with_sign_in};
pub(crate) use user::{Opening, ask_device_user, ask_user};
