//! What may be written on the command line?

use std::net::SocketAddr;

use clap::{Args, Parser, Subcommand};

/// Run and look at Model Context Protocol servers.
#[derive(Debug, Parser)]
#[command(name = "toolway", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a server, on stdin and stdout unless told otherwise.
    Serve(Serve),
}

#[derive(Debug, Args)]
pub(crate) struct Serve {
    /// The built-in demo server.
    #[arg(long, required = true)]
    pub(crate) demo: bool,
    /// Serve HTTP, at the path `/mcp` of this address, instead of stdin and stdout.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8000")]
    pub(crate) http: Option<SocketAddr>,
}
