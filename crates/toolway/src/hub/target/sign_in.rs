//! How does a client sign in to a configured server?

use std::ffi::OsStr;
use std::path::Path;

use crate::client::process::command_line::format_line;
use crate::client::{Connector as _, FileVault, Http, OAuth};
use crate::ground::error::{Error, ErrorKind};
use crate::hub::config::{OAuthConfig, ServerConfig};

impl OAuthConfig {
    /// Adds the settings of the file to those of an application.
    ///
    /// ```
    /// use toolway::client::OAuth;
    /// use toolway::hub::config::OAuthConfig;
    ///
    /// let mut config = OAuthConfig::default();
    /// config.client_id = Some("notes-app".to_owned());
    /// let oauth = config.apply_to(OAuth::browser());
    /// ```
    pub fn apply_to(&self, mut oauth: OAuth) -> OAuth {
        let Self { client_id, client_secret, redirect, scopes, issuer } = self;
        if let Some(id) = client_id {
            oauth = oauth.client_id(id);
        }
        if let Some(secret) = client_secret {
            oauth = oauth.client_secret(secret);
        }
        if let Some(redirect) = redirect {
            oauth = oauth.redirect(redirect);
        }
        if let Some(scopes) = scopes {
            oauth = oauth.scopes(scopes.iter().map(String::as_str));
        }
        match issuer {
            Some(issuer) if client_id.is_some() => oauth.issuer(issuer).for_issuer(issuer),
            Some(issuer) => oauth.issuer(issuer),
            // The entry names the server and gives it the secret: its author trusts this server to name the
            // authorization server. A secret from elsewhere must be bound.
            None if client_secret.is_some() => oauth.for_any_issuer(),
            None => oauth,
        }
    }
}

/// Uses and renews the tokens of the user's vault. A hub connects in the background, where no browser may open.
pub(super) fn with_sign_in(server: Http, oauth: &OAuthConfig, config: Option<&ServerConfig>) -> Http {
    let entry = config.and_then(|config| Some((config.name.as_str(), config.file()?)));
    let message = format!("a user must sign in first: type `{}`", login_command(&server, entry));
    let signed_in = OAuth::browser().vault(FileVault::default()).open_with(move |_| {
        let error = Error::new(ErrorKind::NotAdmitted, message.clone());
        async { Err(error) }
    });
    server.oauth(oauth.apply_to(signed_in))
}

/// Returns the command that signs in with the settings of the entry: another client would get other tokens.
fn login_command(server: &Http, entry: Option<(&str, &Path)>) -> String {
    match entry {
        Some((name, file)) => format_line(
            ["toolway", "login", name, "--config"].map(OsStr::new).into_iter().chain([file.as_os_str()]),
        ),
        None => format!("toolway login {}", server.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_to_type_uses_the_settings_of_the_entry() {
        let server = Http::new("https://notes.example/mcp");
        assert_eq!(login_command(&server, None), "toolway login https://notes.example/mcp");
        let entry = Some(("my notes", Path::new("/home/ann/mcp.json")));
        assert_eq!(login_command(&server, entry), "toolway login 'my notes' --config /home/ann/mcp.json");
    }

    #[test]
    fn a_secret_of_the_file_is_bound_if_the_file_says_to_what() {
        let mut config = OAuthConfig {
            client_id: Some("a".into()),
            client_secret: Some("b".into()),
            ..Default::default()
        };
        assert_eq!(config.apply_to(OAuth::browser()).find_mistake(), None);
        config.issuer = Some("https://id.example".into());
        assert_eq!(config.apply_to(OAuth::browser()).find_mistake(), None);
    }
}
