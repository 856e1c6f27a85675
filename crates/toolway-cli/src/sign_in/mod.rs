//! How does a command sign in to a server that asks for it?
//!
//! | file | question |
//! |---|---|
//! | `args.rs` | What do the commands `login`, `logout` and `whoami` accept? |
//! | `settings.rs` | Who may be asked to sign in, and where are tokens kept? |
//! | `user.rs` | What does a user see, and type, while signing in? |
//! | `browser.rs` | How is a page opened in the browser? |
//! | `status.rs` | How is a login described? |

pub(crate) mod args;
mod browser;
mod settings;
pub(crate) mod status;
mod user;

pub(crate) use settings::{base, vault_failure, with_sign_in};
pub(crate) use user::{Opening, ask_device_user, ask_user};
