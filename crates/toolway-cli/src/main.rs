//! The command `toolway`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    toolway_cli::toolway().await
}
