//! How is a login described, to people and to programs?

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};
use toolway::client::SignInStatus;

use crate::terminal::escape_to_line;

/// Returns whether the login is of no more use.
pub(crate) fn is_over(status: &SignInStatus) -> bool {
    status.expires_in == Some(Duration::ZERO) && !status.can_renew
}

/// Describes a login for people, on several lines.
pub(crate) fn to_text(server: &str, status: &SignInStatus) -> String {
    let mut text = format!("You are signed in to {server}.\n");
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "  {name:20}  {}", escape_to_line(value));
    };
    line("authorization server", &status.issuer);
    line("client id", &status.client_id);
    line("scopes", if status.scope.is_empty() { "not known" } else { &status.scope });
    line("token expires", &expiry(status));
    if status.is_bound {
        line("bound", "the token is bound to a key of this client (DPoP)");
    }
    text
}

fn expiry(status: &SignInStatus) -> String {
    let when = match status.expires_in {
        None => "at a time that only the server knows".to_owned(),
        Some(Duration::ZERO) => "now".to_owned(),
        Some(left) => format!("in {}", format_time(left)),
    };
    let then = if status.can_renew { "it is renewed without you" } else { "then you must sign in again" };
    format!("{when}; {then}")
}

/// Formats a time such as `59 minutes`, rounded down.
fn format_time(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0..120 => (seconds, "second"),
        120..7_200 => (seconds / 60, "minute"),
        7_200..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    format!("{number} {unit}{}", if number == 1 { "" } else { "s" })
}

/// Describes a login for programs; `None` if there is none.
pub(crate) fn to_json(server: &str, status: Option<&SignInStatus>) -> Value {
    let Some(status) = status else { return json!({"server": server, "signedIn": false}) };
    json!({
        "server": server,
        "signedIn": true,
        "issuer": status.issuer,
        "clientId": status.client_id,
        "scope": status.scope,
        "expiresIn": status.expires_in.map(|left| left.as_secs()),
        "canRenew": status.can_renew,
        "isBound": status.is_bound,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_to_one_unit() {
        for (seconds, text) in [
            (1, "1 second"),
            (119, "119 seconds"),
            (3_599, "59 minutes"),
            (7_200, "2 hours"),
            (172_800, "2 days"),
        ] {
            assert_eq!(format_time(Duration::from_secs(seconds)), text);
        }
    }
}
