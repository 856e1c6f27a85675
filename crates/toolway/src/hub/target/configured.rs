//! How does a configured server become a target to connect to?

use super::over_http;
use crate::client::{Command, IntoTarget, Target};
use crate::ground::error::Result;
use crate::hub::config::{ServerConfig, ServerKind, Variables};

/// A server from a configuration, with the values of variables filled in.
impl IntoTarget for ServerKind {
    fn into_target(self) -> Result<Target> {
        target(self, None, None)
    }
}

/// A server from a configuration, with variables from the environment.
impl IntoTarget for &ServerConfig {
    fn into_target(self) -> Result<Target> {
        resolve_target(self, &Variables::default())
    }
}

/// Creates the target for a configured server. Messages show the text of the file, without the values of variables.
pub(crate) fn resolve_target(config: &ServerConfig, variables: &Variables) -> Result<Target> {
    target(config.resolve(variables)?, config.written_command(), Some(config))
}

fn target(kind: ServerKind, written: Option<Vec<&str>>, config: Option<&ServerConfig>) -> Result<Target> {
    match kind {
        ServerKind::Command { program, args, env, cwd } => {
            let mut command = Command::new(program).args(args).envs(env);
            if let Some(folder) = cwd {
                command = command.cwd(folder);
            }
            if let Some(written) = written {
                command = command.display_as(written);
            }
            command.into_target()
        }
        ServerKind::Url { url, headers, oauth, .. } => {
            over_http::target(url, headers, oauth.as_ref(), config)
        }
    }
}
