//! Which tokens of an issuer are accepted?

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Map, Value};
use toolway_protocol::oauth::{Algorithm, ClaimRules, HttpUrl, Jwk, Jwt, JwtError, Scopes};

use crate::auth::key_set::{KeyError, KeySet};
use crate::auth::keys::{self, KeyVerdict};
use crate::auth::verifier::Rejected;
use crate::client::oauth::clock::now;
use crate::server::call::verified::Verified;

/// An issuer whose tokens a server accepts: see [`Auth::issuer`](crate::auth::Auth::issuer).
///
/// ```
/// use toolway::auth::{Auth, TrustedIssuer};
///
/// let entra = TrustedIssuer::new("https://login.microsoftonline.com/TENANT/v2.0")
///     .audience("CLIENT-ID-OF-THIS-API")
///     .scope_claim("roles")
///     .algorithms(["RS256"]);
/// let auth = Auth::resource("https://notes.example/mcp").issuer(entra);
/// ```
#[derive(Debug, Clone)]
pub struct TrustedIssuer {
    pub(crate) url: String,
    pub(crate) audiences: Vec<String>,
    pub(crate) client_ids: Vec<String>,
    pub(crate) accepts_any_audience: bool,
    pub(crate) scope_claims: Vec<String>,
    pub(crate) algorithms: Vec<Algorithm>,
    pub(crate) keys: Option<Vec<Jwk>>,
    pub(crate) allows_private: bool,
    pub(crate) mistakes: Vec<String>,
}

impl TrustedIssuer {
    /// An issuer with this URL, which is compared to `iss` as it is written. Its metadata says where its keys are; they are
    /// fetched when the first token comes, and again when they change.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into();
        let is_url =
            HttpUrl::parse(&url).is_some_and(|parts| parts.fragment.is_none() && parts.query.is_none());
        let mistake =
            (!is_url).then(|| format!("the issuer {url:?} is not an http or https URL without query"));
        Self {
            url,
            audiences: Vec::new(),
            client_ids: Vec::new(),
            accepts_any_audience: false,
            scope_claims: Vec::new(),
            algorithms: Algorithm::DEFAULT.to_vec(),
            keys: None,
            allows_private: false,
            mistakes: mistake.into_iter().collect(),
        }
    }

    /// Also accepts tokens whose `aud` has this name, for issuers that do not put the URL of the server there: Entra, Auth0
    /// and Keycloak have names of their own.
    pub fn audience(mut self, name: impl Into<String>) -> Self {
        self.audiences.push(name.into());
        self
    }

    /// Also accepts tokens without `aud` if their `client_id` is one of these, for issuers that have no audiences, such as
    /// Cognito. These clients must be for this server only.
    pub fn client_ids(mut self, ids: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.client_ids.extend(ids.into_iter().map(Into::into));
        self
    }

    /// Accepts tokens that were made for any server. **Every program that gets a token of one of the issuer's users can then
    /// act as this user here**: a server that the user called, or a program of another team.
    pub fn dangerously_any_audience(mut self) -> Self {
        self.accepts_any_audience = true;
        self
    }

    /// Also takes scopes from this claim, besides `scope` and `scp`: `roles`, or `realm_access.roles` for a member inside of
    /// another one, if no claim has this whole name.
    pub fn scope_claim(mut self, path: impl Into<String>) -> Self {
        self.scope_claims.push(path.into());
        self
    }

    /// Sets the algorithms of signatures that are accepted. By default these are RS256, RS384, PS256, PS384, ES256, ES384
    /// and `EdDSA`; RS512 and PS512 are known too.
    pub fn algorithms(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Self {
        self.algorithms.clear();
        for name in names {
            match Algorithm::of_name(name.as_ref()) {
                Some(algorithm) => self.algorithms.push(algorithm),
                None => self.mistakes.push(format!(
                    "the algorithm {:?} is not supported: choose among RS256, RS384, RS512, PS256, PS384, PS512, ES256, \
                     ES384 and EdDSA",
                    name.as_ref()
                )),
            }
        }
        self
    }

    /// Uses these keys, a set as in RFC 7517, and fetches none.
    pub fn keys(mut self, set: &Value) -> Self {
        let keys =
            set.get("keys").and_then(Value::as_array).map(|keys| Jwk::all_of(keys)).unwrap_or_default();
        if keys.is_empty() {
            self.mistakes.push(format!(
                "the keys of {:?} have no public key for signatures: give a set as `{{\"keys\": […]}}`",
                self.url
            ));
        }
        self.keys = Some(keys);
        self
    }

    /// Allows that the metadata of the issuer leads to addresses inside the network, although the issuer itself is outside.
    pub fn allow_private_networks(mut self) -> Self {
        self.allows_private = true;
        self
    }
}

impl<U: Into<String>> From<U> for TrustedIssuer {
    fn from(url: U) -> Self {
        Self::new(url)
    }
}

/// Verifies the tokens of one issuer.
pub(crate) struct IssuerVerifier {
    settings: TrustedIssuer,
    /// All names of this server.
    audiences: Vec<String>,
    leeway: Duration,
    keys: KeySource,
}

pub(crate) enum KeySource {
    Fixed(Vec<Jwk>),
    Fetched(Arc<KeySet>),
}

impl IssuerVerifier {
    pub(crate) fn new(settings: TrustedIssuer, resource: &str, leeway: Duration, keys: KeySource) -> Self {
        let audiences = std::iter::once(resource.to_owned()).chain(settings.audiences.clone()).collect();
        Self { settings, audiences, leeway, keys }
    }

    pub(crate) fn url(&self) -> &str {
        &self.settings.url
    }

    /// Verifies a token that names this issuer.
    pub(crate) async fn verify(&self, token: Jwt<'_>) -> Result<Verified, Rejected> {
        self.check_claims(&token).map_err(rejected)?;
        match &self.keys {
            KeySource::Fixed(keys) => match keys::verify(keys, &token) {
                KeyVerdict::Signed => {}
                KeyVerdict::Forged | KeyVerdict::Unknown => return Err(rejected(JwtError::Signature)),
            },
            KeySource::Fetched(keys) => keys.verify(&token).await.map_err(|error| match error {
                KeyError::Forged => rejected(JwtError::Signature),
                KeyError::Unavailable(cause) => Rejected::unavailable(cause),
            })?,
        }
        Ok(caller(token.into_claims(), self.url(), &self.settings.scope_claims, self.leeway))
    }

    /// Checks what is cheap, before the signature.
    fn check_claims(&self, token: &Jwt<'_>) -> Result<(), JwtError> {
        if !self.settings.algorithms.contains(&token.algorithm) {
            return Err(JwtError::Algorithm);
        }
        #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are exact")]
        let now = now() as f64 / 1000.0;
        let rules = ClaimRules {
            issuer: self.url(),
            audiences: &self.audiences,
            client_ids: &self.settings.client_ids,
            accepts_any_audience: self.settings.accepts_any_audience,
            now,
            leeway: self.leeway.as_secs_f64(),
        };
        rules.check(token)
    }
}

pub(crate) fn rejected(error: JwtError) -> Rejected {
    Rejected::invalid(error.to_string())
}

/// Describes the caller whom the claims of a valid token are about.
pub(crate) fn caller(
    claims: Map<String, Value>,
    issuer: &str,
    scope_claims: &[String],
    leeway: Duration,
) -> Verified {
    let text = |name: &str| claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let client = text("client_id").or_else(|| text("azp"));
    let subject = text("sub").or(client).unwrap_or_default().to_owned();
    let mut scopes = BTreeSet::new();
    for path in ["scope", "scp"].into_iter().chain(scope_claims.iter().map(String::as_str)) {
        let found = claim_at(&claims, path).and_then(Scopes::from_json).unwrap_or_default();
        scopes.extend(found.iter().map(str::to_owned));
    }
    let key = claims.get("cnf").map(|confirmed| {
        // A binding that cannot be checked, such as to a certificate, must not be ignored: no key has this thumbprint.
        confirmed.get("jkt").and_then(Value::as_str).unwrap_or_default().to_owned()
    });
    let expiry = claims.get("exp").and_then(Value::as_f64).filter(|time| (0.0..1e11).contains(time));
    let expiry = expiry.map(|time| UNIX_EPOCH + Duration::from_secs_f64(time) + leeway);
    let mut caller = Verified::new(subject).with_issuer(issuer).with_scopes(scopes);
    if let Some(client) = client {
        caller = caller.with_client_id(client);
    }
    if let Some(key) = key {
        caller = caller.with_key(key);
    }
    if let Some(expiry) = expiry {
        caller = caller.with_expiry(expiry);
    }
    caller.with_claims(Value::Object(claims))
}

/// Returns the claim with this name or, if there is none, the member at this path of names.
fn claim_at<'c>(claims: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    claims.get(path).or_else(|| {
        let mut names = path.split('.');
        let first = claims.get(names.next()?)?;
        names.try_fold(first, |inside, name| inside.get(name))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_caller_is_made_of_claims() {
        let claims = json!({
            "sub": "ann", "client_id": "app", "scope": "notes:read", "scp": ["mail"],
            "realm_access": {"roles": ["admin"]}, "https://notes.example/roles": "editor", "exp": 1000,
            "cnf": {"jkt": "thumb"},
        });
        let Value::Object(claims) = claims else { panic!() };
        let made = caller(
            claims,
            "https://id.example",
            &["realm_access.roles".to_owned(), "https://notes.example/roles".to_owned(), "a.b".to_owned()],
            Duration::from_secs(60),
        );
        assert_eq!(made.principal().as_str(), "https://id.example#ann");
        assert_eq!(made.client_id(), Some("app"));
        assert_eq!(made.scopes().collect::<Vec<_>>(), ["admin", "editor", "mail", "notes:read"]);
        assert_eq!(made.expiry(), Some(UNIX_EPOCH + Duration::from_secs(1060)));
        assert_eq!(made.key.as_deref(), Some("thumb"));
        let machine = json!({"client_id": "app", "cnf": {"jkt": 7}, "exp": 1e300});
        let Value::Object(claims) = machine else { panic!() };
        let made = caller(claims, "https://id.example", &[], Duration::ZERO);
        assert_eq!(made.subject(), "app");
        assert_eq!(made.key.as_deref(), Some(""), "a binding that cannot be read is not ignored");
        let certified = Map::from_iter([("cnf".to_owned(), json!({"x5t#S256": "certificate"}))]);
        assert_eq!(caller(certified, "", &[], Duration::ZERO).key.as_deref(), Some(""));
        assert_eq!(made.expiry(), None);
    }
}
