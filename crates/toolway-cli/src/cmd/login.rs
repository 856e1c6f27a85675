//! How does a user sign in to a server, and out again?

use std::path::Path;
use std::pin::pin;

use serde_json::{Value, json};
use toolway::client::{Connector, Http, OAuth, SignInStatus};
use toolway::hub::config::OAuthConfig;

use crate::args::{ConnectionArgs, LocationArgs, Login, SignInTarget};
use crate::console::Console;
use crate::failure::{Failure, Fault, Result};
use crate::location::{Address, CLOSE_TIMEOUT, Endpoint, Find, ServerLocation, builder, interrupted};
use crate::sign_in::{self, Opening, status, vault_failure};

/// Signs in, and says as whom.
pub(crate) async fn login(login: Login) -> Result<()> {
    let console = Console::new(false, login.target.no_input);
    let place = login.target.find(&console).await?;
    let address = address(&place)?;
    let config = login.settings(address.oauth.clone())?;
    let server = login.server(address, &config, &console);
    let name = server.name();
    let known = server.sign_in_status().await.map_err(|error| vault_failure(&error))?;
    if known.is_some_and(|known| !fits(&known, &config)) {
        // Other scopes or another client are wanted, so the tokens of the vault must not be used.
        server.sign_out().await.map_err(|error| vault_failure(&error))?;
    }
    let builder = builder(&login.target.connection(), &place, &console);
    let mut stop = pin!(interrupted());
    let client = tokio::select! {
        biased;
        () = &mut stop => return Err(Failure::interrupted()),
        client = builder.connect(server.clone()) => client,
    };
    let client = client.map_err(|error| failed(place.failure(&error), &address.login))?;
    let status = server.sign_in_status().await.map_err(|error| vault_failure(&error))?;
    let _ = tokio::time::timeout(CLOSE_TIMEOUT, client.close()).await;
    match &status {
        _ if login.target.json => print_json(&console, &status::to_json(&name, status.as_ref())),
        Some(status) => console.write_result(&status::to_text(&name, status)),
        None => console.write_result(&format!("{name} did not ask to sign in: it can be used as it is.\n")),
    }
}

/// Forgets a login.
pub(crate) async fn logout(target: SignInTarget) -> Result<()> {
    let console = Console::new(false, target.no_input);
    let place = target.find(&console).await?;
    let address = address(&place)?;
    let server = address.http().oauth(sign_in::base(OAuth::browser(), address.oauth.as_ref()));
    let name = server.name();
    let done = tokio::select! {
        done = server.sign_out() => done.map_err(|error| vault_failure(&error))?,
        () = interrupted() => return Err(Failure::interrupted()),
    };
    if target.json {
        let report = json!({"server": name, "wasSignedIn": done.was_signed_in, "isRevoked": done.is_revoked});
        return print_json(&console, &report);
    }
    console.write_result(&match (done.was_signed_in, done.is_revoked) {
        (false, _) => format!("You were not signed in to {name}: nothing was done.\n"),
        (true, true) => format!(
            "You are signed out of {name}. The token and the registration of this client are forgotten, and the \
             authorization server has taken the token back.\n"
        ),
        (true, false) => format!(
            "You are signed out of {name}. The token and the registration of this client are forgotten. The authorization \
             server has not taken the token back: a copy of it can be used until it expires.\n"
        ),
    })
}

/// Says as whom the user is signed in. Nothing is sent.
pub(crate) async fn whoami(target: SignInTarget) -> Result<()> {
    let console = Console::new(false, target.no_input);
    let place = target.find(&console).await?;
    let address = address(&place)?;
    let server = address.http().oauth(sign_in::base(OAuth::browser(), address.oauth.as_ref()));
    let name = server.name();
    let problem = match server.sign_in_status().await.map_err(|error| vault_failure(&error))? {
        None => format!("you are not signed in to {name}"),
        Some(status) if status::is_over(&status) => format!("your login to {name} has expired"),
        Some(status) if target.json => return print_json(&console, &status::to_json(&name, Some(&status))),
        Some(status) => return console.write_result(&status::to_text(&name, &status)),
    };
    Err(Failure::new(Fault::AuthNeeded, problem).hint(format!("sign in with `{}`", address.login)))
}

impl SignInTarget {
    fn location(&self) -> LocationArgs {
        LocationArgs { header: self.header.clone(), config: self.config.clone(), ..LocationArgs::default() }
    }

    fn connection(&self) -> ConnectionArgs {
        ConnectionArgs { json: self.json, no_input: self.no_input, ..ConnectionArgs::default() }
    }

    /// Finds the server, and asks for the user's consent if that is needed.
    async fn find(&self, console: &Console) -> Result<ServerLocation> {
        let mut place = self.location().find(&mut vec![self.target.clone()], None)?;
        if let Endpoint::Url(address) = &mut place.endpoint {
            // A token in the environment is for the other commands.
            address.bearer = None;
        }
        place.ask_consent(console).await?;
        Ok(place)
    }
}

/// Returns the address of a server to which users can sign in.
fn address(place: &ServerLocation) -> Result<&Address> {
    let Endpoint::Url(address) = &place.endpoint else {
        return Err(Failure::usage(format!(
            "{} is a program on this machine: users sign in only to servers with a URL",
            place.name()
        )));
    };
    if !address.has_authorization_header() {
        return Ok(address);
    }
    let by = place.file.as_ref().map_or_else(|| "--header".to_owned(), |file| file.display().to_string());
    Err(Failure::usage(format!("{by} gives the header Authorization for this server, so there is no login"))
        .hint("remove the header to sign in"))
}

impl Login {
    /// Returns the settings of the file, with those of the command line in their place.
    fn settings(&self, from_file: Option<OAuthConfig>) -> Result<OAuthConfig> {
        let mut config = from_file.unwrap_or_default();
        if let Some(id) = &self.client_id {
            config.client_id = Some(id.clone());
            config.client_secret = self.client_secret_file.as_deref().map(read_secret).transpose()?;
        }
        config.issuer = self.issuer.clone().or(config.issuer);
        config.redirect = self.redirect.clone().or(config.redirect);
        if !self.scope.is_empty() {
            let words = self.scope.iter().flat_map(|scope| scope.split_whitespace());
            config.scopes = Some(words.map(str::to_owned).collect());
        }
        Ok(config)
    }

    fn server(&self, address: &Address, config: &OAuthConfig, console: &Console) -> Http {
        let server = address.http();
        let oauth = if self.device {
            sign_in::base(sign_in::ask_device_user(console), Some(config))
        } else {
            let opening = if self.no_browser { Opening::UrlOnly } else { Opening::Browser };
            let oauth = sign_in::base(OAuth::browser(), Some(config));
            sign_in::ask_user(oauth, opening, &server, console)
        };
        server.oauth(oauth)
    }
}

/// Returns whether a login is what the settings ask for.
fn fits(known: &SignInStatus, config: &OAuthConfig) -> bool {
    let has = |scope: &String| known.scope.split(' ').any(|known| known == scope);
    config.scopes.iter().flatten().all(has)
        && config.client_id.as_ref().is_none_or(|id| *id == known.client_id)
        && config
            .issuer
            .as_ref()
            .is_none_or(|issuer| issuer.trim_end_matches('/') == known.issuer.trim_end_matches('/'))
}

fn read_secret(file: &Path) -> Result<String> {
    let shown = file.display();
    let text = std::fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("{shown} cannot be read: {error}")))?;
    match text.trim() {
        "" => Err(Failure::usage(format!("{shown} is empty: write the client secret into it"))),
        secret => Ok(secret.to_owned()),
    }
}

/// Adds advice to a login that failed.
fn failed(failure: Failure, login: &str) -> Failure {
    match failure.fault {
        Fault::AuthNeeded => {
            let doctor = login.replacen("login", "doctor", 1);
            failure.hint(format!("run `{doctor}` to see which step of the login fails"))
        }
        _ => failure,
    }
}

fn print_json(console: &Console, value: &Value) -> Result<()> {
    console.write_result(&format!("{value}\n"))
}
