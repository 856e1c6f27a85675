//! Who may be asked to sign in, and where are tokens kept?

use toolway::client::{FileVault, Http, OAuth};
use toolway::hub::config::OAuthConfig;
use toolway::{Error, ErrorKind};

use super::user::{Opening, ask_user};
use crate::console::Console;
use crate::failure::{Failure, Result, chain};

/// Adds the vault of the user and the settings of a file to a way to sign in.
pub(crate) fn base(oauth: OAuth, config: Option<&OAuthConfig>) -> OAuth {
    let oauth = oauth.vault(FileVault::default());
    match config {
        Some(config) => config.apply_to(oauth),
        None => oauth,
    }
}

/// Returns a server to which a client signs in if the server asks for it.
///
/// Without a user who can be asked, tokens of the vault are used and renewed. If there are none, nothing is tried: a
/// search for the authorization server would only delay the failure, and would leave a registration there.
pub(crate) async fn with_sign_in(
    server: Http,
    config: Option<&OAuthConfig>,
    console: &Console,
) -> Result<Http> {
    let oauth = base(OAuth::browser(), config);
    if console.can_ask {
        let oauth = ask_user(oauth, Opening::Browser, &server, console);
        return Ok(server.oauth(oauth));
    }
    let oauth = oauth.open_with(async |page| Err(no_user(&page)));
    let signed_in = server.clone().oauth(oauth);
    let status = signed_in.sign_in_status().await.map_err(|error| vault_failure(&error))?;
    Ok(if status.is_some() { signed_in } else { server })
}

/// Returns the failure for a vault that cannot be used, or for wrong settings.
pub(crate) fn vault_failure(error: &Error) -> Failure {
    Failure::usage(chain(error))
}

/// Returns the error for a login that needs a user.
fn no_user(page: &str) -> Error {
    let message = match wanted_scopes(page) {
        Some(scopes) => format!(
            "a user must sign in, and no user can be asked here; the scopes of the login are --scope '{scopes}'"
        ),
        None => "a user must sign in, and no user can be asked here".to_owned(),
    };
    Error::new(ErrorKind::NotAdmitted, message)
}

/// Returns the scopes that a page for signing in asks for, if they can be typed without harm. A server names them.
fn wanted_scopes(page: &str) -> Option<String> {
    let query = page.split_once('?')?.1;
    let scope = query.split('&').find_map(|pair| pair.strip_prefix("scope="))?;
    let scope = scope.replace("%3A", ":").replace("%2F", "/").replace('+', " ").replace("%20", " ");
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " :/._-".contains(letter);
    (!scope.is_empty() && scope.chars().all(is_plain)).then_some(scope)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_named_only_if_they_are_harmless() {
        let rows = [
            ("https://id.example/a?state=1&scope=notes%3Aread+b", Some("notes:read b")),
            ("https://id.example/a?scope=a%27%3B+rm", None),
            ("https://id.example/a?scope=", None),
            ("https://id.example/a?state=1", None),
            ("https://id.example/a", None),
        ];
        for (page, scopes) in rows {
            assert_eq!(wanted_scopes(page).as_deref(), scopes, "{page}");
        }
    }
}
