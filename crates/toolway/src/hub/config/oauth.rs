//! How does a client sign in to a server, as the member `oauth` of its entry says it?
//!
//! | member | meaning |
//! |---|---|
//! | `clientId`, `clientSecret` | the client, if it was registered by hand |
//! | `redirectUri`, or `callbackPort` | the port of this machine to which the browser returns |
//! | `scopes`, or `scope` | the scopes to ask for, as a list or as a text |
//! | `authServerMetadataUrl` | the document of the authorization server; only the name of that server is taken from it |
//!
//! Hosts write further members, which are ignored, unless they look like a misspelling of one of these.

use super::checks::{wrong_text, wrong_url};
use super::entry::{ConfigReader, UnexpandedText, UnresolvedOAuth, url};
use super::error::{format_name, member_path};
use super::oauth_config::OAuthConfig;
use super::resolve::Resolver;
use super::source::Node;
use crate::closest::closest;

impl ConfigReader<'_> {
    /// Reads the member `oauth`.
    pub(super) fn oauth(&mut self, field: &str, value: Node<'_>) -> Option<UnresolvedOAuth> {
        let mut oauth = UnresolvedOAuth::default();
        let mut port = None;
        for (key, value) in self.members(field.to_owned(), value)? {
            let path = member_path(field, &key);
            match &*key {
                _ if value.is_null() => {}
                "clientId" => oauth.client_id = self.text(path, value, filled),
                "clientSecret" => oauth.client_secret = self.text(path, value, filled),
                "redirectUri" => oauth.redirect = self.text(path, value, url),
                "callbackPort" => port = self.text(path, value, redirect_to_port),
                "scopes" | "scope" if value.is_list() => oauth.scopes = Some(self.list(&path, value)),
                "scopes" | "scope" => {
                    oauth.scopes = Some(self.text(path, value, Node::text).into_iter().collect());
                }
                "authServerMetadataUrl" => oauth.metadata_url = self.text(path, value, url),
                _ => {
                    if let Some(meant) = closest(&key, MEMBERS.into_iter()) {
                        let reason =
                            format!("is not known: is `{}` meant to be `{meant}`?", format_name(&key));
                        self.add_mistake(path, value.position(), reason);
                    }
                }
            }
        }
        if let (Some(secret), None) = (&oauth.client_secret, &oauth.client_id) {
            let reason = "is the secret of a client without an id: add `clientId`".to_owned();
            self.add_mistake(secret.field.clone(), secret.position, reason);
        }
        if let (Some(port), Some(_)) = (&port, &oauth.redirect) {
            let reason = "says where the browser returns to, as `redirectUri` does: leave one out".to_owned();
            self.add_mistake(port.field.clone(), port.position, reason);
        }
        oauth.redirect = oauth.redirect.or(port);
        Some(oauth)
    }
}

impl UnresolvedOAuth {
    /// Replaces the variables. Returns the settings, and the texts that are shown for them.
    pub(super) fn resolve(&self, values: &mut Resolver<'_>) -> (OAuthConfig, Vec<(String, String)>) {
        let mut shown = Vec::new();
        let mut one = |name: &str, text: Option<&UnexpandedText>, wrong: fn(&str) -> Option<&'static str>| {
            let expanded = values.resolve(text?, wrong)?;
            shown.push((name.to_owned(), expanded.shown));
            Some(expanded.value)
        };
        let config = OAuthConfig {
            client_id: one("clientId", self.client_id.as_ref(), wrong_text),
            client_secret: one("clientSecret", self.client_secret.as_ref(), wrong_text),
            redirect: one("redirectUri", self.redirect.as_ref(), wrong_url),
            scopes: self.scopes.as_ref().map(|scopes| {
                let scopes = scopes.iter().filter_map(|scope| one("scopes", Some(scope), wrong_text));
                let words = |text: String| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
                scopes.flat_map(words).collect()
            }),
            issuer: one("authServerMetadataUrl", self.metadata_url.as_ref(), wrong_url)
                .map(|url| issuer_of(&url)),
        };
        (config, shown)
    }
}

/// Returns the name of the authorization server whose document is at a URL. The path of the name is behind the
/// well-known part (RFC 8414), or before it (`OpenID` Connect).
fn issuer_of(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let at = WELL_KNOWN.iter().find_map(|known| url.split_once(known));
    if let Some((before, behind)) = at {
        return format!("{before}{behind}");
    }
    let scheme = url.find("://").map_or(0, |at| at + 3);
    let end = url[scheme..].find('/').map_or(url.len(), |at| scheme + at);
    url[..end].to_owned()
}

fn filled(value: Node<'_>) -> Result<String, String> {
    match value.text() {
        Ok(text) if text.is_empty() => Err("is empty: give it a value, or leave it out".to_owned()),
        read => read,
    }
}

fn redirect_to_port(value: Node<'_>) -> Result<String, String> {
    let is_port = |port: &f64| port.fract() == 0.0 && (1.0..=f64::from(u16::MAX)).contains(port);
    match value.number().filter(is_port) {
        Some(port) => Ok(format!("http://localhost:{port}/callback")),
        None => Err(format!("must be a port of this machine, from 1 to 65535; found {}", value.describe())),
    }
}

const WELL_KNOWN: [&str; 2] =
    ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"];

const MEMBERS: [&str; 6] =
    ["clientId", "clientSecret", "redirectUri", "callbackPort", "scopes", "authServerMetadataUrl"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::config::{Config, ServerKind, ServerPreview, Variables};

    /// The settings, and what is shown of them.
    type Resolved = (Option<OAuthConfig>, Vec<(String, String)>);

    fn resolve(oauth: &str) -> Result<Resolved, String> {
        let text =
            format!(r#"{{"mcpServers": {{"n": {{"url": "https://n.example/mcp", "oauth": {oauth}}}}}}}"#);
        let config = Config::parse(&text).map_err(|error| error.to_string())?;
        assert!(config.servers[0].other.is_empty());
        let variables = Variables::from_fn(|name| (name == "SECRET").then(|| "s3cret".to_owned()));
        let (kind, preview) =
            config.servers[0].resolve_with_preview(&variables).map_err(|error| error.to_string())?;
        match (kind, preview) {
            (ServerKind::Url { oauth, .. }, ServerPreview::Url { oauth: shown, .. }) => Ok((oauth, shown)),
            _ => panic!("a URL"),
        }
    }

    #[test]
    fn all_members_are_read() {
        let (oauth, shown) = resolve(
            r#"{"clientId": "app", "clientSecret": "${SECRET}", "callbackPort": 3118, "scopes": ["a", "b c"],
                "authServerMetadataUrl": "https://id.example/.well-known/oauth-authorization-server/t", "enabled": true}"#,
        )
        .unwrap();
        let oauth = oauth.unwrap();
        assert_eq!(oauth.redirect.as_deref(), Some("http://localhost:3118/callback"));
        assert_eq!(oauth.scopes, Some(["a", "b", "c"].map(str::to_owned).to_vec()));
        assert_eq!(oauth.issuer.as_deref(), Some("https://id.example/t"));
        assert_eq!(oauth.client_secret.as_deref(), Some("s3cret"));
        assert!(!format!("{oauth:?} {shown:?}").contains("s3cret"));
        assert!(shown.contains(&("clientSecret".to_owned(), "${SECRET}".to_owned())));
        let (oauth, _) = resolve(r#"{"scopes": "a b", "redirectUri": "http://127.0.0.1:1/x"}"#).unwrap();
        assert_eq!(oauth.unwrap().scopes, Some(["a", "b"].map(str::to_owned).to_vec()));
        assert_eq!(resolve("null").unwrap().0, None);
    }

    #[test]
    fn mistakes_have_a_place_and_no_values() {
        let rows = [
            (r#""x""#, "oauth must be an object; found a string"),
            (r#"{"clientID": "x"}"#, "oauth.clientID is not known: is `clientID` meant to be `clientId`?"),
            (r#"{"clientId": 5}"#, "oauth.clientId must be a string; found 5"),
            (r#"{"clientId": ""}"#, "oauth.clientId is empty: give it a value, or leave it out"),
            (
                r#"{"clientSecret": "s3cret"}"#,
                "oauth.clientSecret is the secret of a client without an id: add `clientId`",
            ),
            (
                r#"{"callbackPort": 70000}"#,
                "oauth.callbackPort must be a port of this machine, from 1 to 65535; found 70000",
            ),
            (
                r#"{"callbackPort": 1, "redirectUri": "http://localhost:2/"}"#,
                "oauth.callbackPort says where the browser returns to, as `redirectUri` does: leave one out",
            ),
            (r#"{"scopes": [1]}"#, "oauth.scopes[0] must be a string; found 1"),
            (
                r#"{"authServerMetadataUrl": "id.example"}"#,
                "oauth.authServerMetadataUrl must begin with `https://` or `http://`",
            ),
        ];
        for (oauth, expected) in rows {
            let error = resolve(oauth).unwrap_err();
            assert!(error.ends_with(&format!("mcpServers.n.{expected}")), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn an_authorization_server_is_named_by_its_document() {
        for (url, issuer) in [
            ("https://id.example/.well-known/oauth-authorization-server", "https://id.example"),
            ("https://id.example/.well-known/oauth-authorization-server/a/b?x", "https://id.example/a/b"),
            ("https://id.example/a/.well-known/openid-configuration", "https://id.example/a"),
            ("https://id.example:8443/other/place", "https://id.example:8443"),
            ("https://id.example", "https://id.example"),
        ] {
            assert_eq!(issuer_of(url), issuer);
        }
    }
}
