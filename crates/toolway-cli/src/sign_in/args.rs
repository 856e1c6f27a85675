//! What do the commands `login`, `logout` and `whoami` accept?

use std::path::PathBuf;

use clap::Args;

use crate::args::{ConnectionArgs, LocationArgs};

#[derive(Args)]
pub(crate) struct Login {
    /// Show the URL of the page to sign in, and do not open a browser. If the browser is on another machine, forward the
    /// port of --redirect to this one, or paste the URL at which the browser ends.
    #[arg(long, conflicts_with = "device")]
    pub(crate) no_browser: bool,
    /// Sign in on another device, with a code.
    #[arg(long)]
    pub(crate) device: bool,
    /// The id of a client that you have registered at the authorization server.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// A file with the secret of that client.
    #[arg(long, value_name = "FILE", requires = "client_id", requires = "issuer")]
    pub(crate) client_secret_file: Option<PathBuf>,
    /// The authorization server to use. The id and the secret of a client are sent to no other one.
    #[arg(long, value_name = "URL")]
    pub(crate) issuer: Option<String>,
    /// The URL of this machine to which the browser returns, such as `http://localhost:3118/callback`.
    #[arg(long, value_name = "URL", conflicts_with = "device")]
    pub(crate) redirect: Option<String>,
    /// A scope to ask for, instead of those that the server names. The option can be repeated.
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    #[command(flatten)]
    pub(crate) target: SignInTarget,
}

/// A server to which a user signs in.
#[derive(Args)]
pub(crate) struct SignInTarget {
    /// The URL of the server, or its name in an mcp.json file.
    pub(crate) target: String,
    /// Print JSON: the result on stdout, errors as one line on stderr.
    #[arg(long)]
    pub(crate) json: bool,
    /// Do not ask the user anything on the terminal.
    #[arg(long)]
    pub(crate) no_input: bool,
    /// Look up server names in this file only.
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Send this header with every request to the server.
    #[arg(long, value_name = "NAME: VALUE")]
    pub(crate) header: Vec<String>,
}

impl SignInTarget {
    pub(crate) fn location(&self) -> LocationArgs {
        LocationArgs { header: self.header.clone(), config: self.config.clone(), ..LocationArgs::default() }
    }

    pub(crate) fn connection(&self) -> ConnectionArgs {
        ConnectionArgs { json: self.json, no_input: self.no_input, ..ConnectionArgs::default() }
    }
}
