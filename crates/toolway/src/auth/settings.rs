//! How does the author of a server say which callers it accepts?

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolway_protocol::oauth::{Algorithm, HttpUrl};

use crate::auth::discover::fetcher;
use crate::auth::dpop::ProofChecker;
use crate::auth::gate::{DpopUse, Gate};
use crate::auth::issuer::{IssuerVerifier, KeySource, TrustedIssuer, caller};
use crate::auth::key_set::KeySet;
use crate::auth::verdict_cache::VerdictCache;
use crate::auth::verifications::Verifications;
use crate::auth::verifier::Verifier;
use crate::client::oauth::crypto::hash;
use crate::ground::log_pace::LogPace;
use crate::server::ServerBuilder;
use crate::server::admission::protection::{MakeProtection, MetadataDocument, Protection};
use crate::server::call::required_scopes::RequiredScopes;
use crate::server::call::verified::Verified;
use crate::store::Store;

/// Protects a server: only callers with a valid token reach it over HTTP. See
/// [`ServerBuilder::auth`](crate::server::ServerBuilder::auth).
///
/// ```
/// use toolway::auth::Auth;
/// use toolway::prelude::*;
///
/// /// Search the notes.
/// #[tool]
/// fn search(text: &str) -> String {
///     format!("nothing about {text}")
/// }
///
/// /// Save a note.
/// #[tool(scopes("notes:write"))]
/// fn put(text: String) {}
///
/// let server = Server::new("notes", "1.0.0")
///     .tools(tools![search, put])
///     .auth(Auth::resource("https://notes.example/mcp").issuer("https://id.example").scopes(["notes:read"]))
///     .build()?;
/// # Ok::<(), toolway::Error>(())
/// ```
#[must_use]
pub struct Auth {
    resource: String,
    issuers: Vec<TrustedIssuer>,
    other: Option<Box<dyn Verifier>>,
    tokens: Vec<(String, Verified)>,
    authorization_servers: Vec<String>,
    scopes: RequiredScopes,
    optional_scopes: RequiredScopes,
    implied: HashMap<String, Vec<String>>,
    hides_unscoped: bool,
    dpop: DpopUse,
    needs_nonce: bool,
    leeway: Duration,
    mistakes: Vec<String>,
}

impl Auth {
    /// Protects the server with this URL, as clients know it: tokens must be made for it. Behind a proxy, this is the URL at
    /// the proxy.
    pub fn resource(url: impl Into<String>) -> Self {
        Self {
            resource: url.into(),
            issuers: Vec::new(),
            other: None,
            tokens: Vec::new(),
            authorization_servers: Vec::new(),
            scopes: RequiredScopes::default(),
            optional_scopes: RequiredScopes::default(),
            implied: HashMap::new(),
            hides_unscoped: false,
            dpop: DpopUse::Accepted,
            needs_nonce: false,
            leeway: LEEWAY,
            mistakes: Vec::new(),
        }
    }

    /// Accepts the signed tokens of an issuer, and tells clients to sign in there: a URL, or a [`TrustedIssuer`] with
    /// settings of its own. A token is verified by the issuer that it names, and by no other.
    pub fn issuer(mut self, issuer: impl Into<TrustedIssuer>) -> Self {
        self.issuers.push(issuer.into());
        self
    }

    /// Uses these keys for the issuer that was named last, and fetches none: see [`TrustedIssuer::keys`].
    ///
    /// ```
    /// use serde_json::json;
    /// use toolway::auth::Auth;
    ///
    /// let keys = json!({"keys": [
    ///     {"kty": "OKP", "crv": "Ed25519", "kid": "1", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    /// ]});
    /// let auth = Auth::resource("https://notes.example/mcp").issuer("https://id.example").keys(&keys);
    /// ```
    pub fn keys(mut self, set: &Value) -> Self {
        match self.issuers.pop() {
            Some(issuer) => self.issuers.push(issuer.keys(set)),
            None => self.mistakes.push("`keys` needs an issuer: call `issuer` before".to_owned()),
        }
        self
    }

    /// Verifies tokens that no issuer has signed: [`Introspection`](crate::auth::Introspection), or a [`Verifier`] of your
    /// own.
    pub fn verifier(mut self, verifier: impl Verifier) -> Self {
        self.mistakes.extend(verifier.mistakes());
        self.authorization_servers.extend(verifier.issuer().map(str::to_owned));
        if self.other.replace(Box::new(verifier)).is_some() {
            self.mistakes.push("`verifier` is called twice: a server can have only one".to_owned());
        }
        self
    }

    /// Accepts fixed tokens, each for a caller: a name, or a [`Verified`] with scopes. A caller without
    /// scopes has those that every request needs. For tests and for scripts on trusted machines: such a token never expires.
    ///
    /// ```
    /// use toolway::auth::Auth;
    ///
    /// # let secret = "…";
    /// let auth = Auth::resource("http://localhost:8000/mcp").tokens([(secret, "ci")]);
    /// ```
    pub fn tokens(
        mut self,
        tokens: impl IntoIterator<Item = (impl Into<String>, impl Into<Verified>)>,
    ) -> Self {
        self.tokens.extend(tokens.into_iter().map(|(token, caller)| (token.into(), caller.into())));
        self
    }

    /// Tells clients to sign in at this authorization server, for a [`verifier`](Self::verifier) that does not say it.
    pub fn authorization_server(mut self, url: impl Into<String>) -> Self {
        self.authorization_servers.push(url.into());
        self
    }

    /// Requires these scopes for every request. Clients ask for them when they sign in.
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.scopes.add(scopes);
        self
    }

    /// Tells clients about further scopes, which only some elements need.
    pub fn optional_scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.optional_scopes.add(scopes);
        self
    }

    /// Says that a scope stands for others too: a token with `notes:write` may also do what needs `notes:read`.
    ///
    /// ```
    /// use toolway::auth::Auth;
    ///
    /// let auth = Auth::resource("https://notes.example/mcp")
    ///     .issuer("https://id.example")
    ///     .implies("notes:admin", ["notes:write"])
    ///     .implies("notes:write", ["notes:read"]);
    /// ```
    pub fn implies(
        mut self,
        scope: impl Into<String>,
        others: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        self.implied.entry(scope.into()).or_default().extend(others.into_iter().map(Into::into));
        self
    }

    /// Hides elements from callers that lack their scopes. By default such elements are listed, and a call is refused with
    /// the scopes that it needs: the client can then ask its user for them. What is hidden cannot be asked for.
    pub fn hide_unscoped(mut self) -> Self {
        self.hides_unscoped = true;
        self
    }

    /// Tells clients that tokens may be bound to a key of the client (DPoP). Such tokens are accepted in any case, and always
    /// need a proof; a stolen one is worthless.
    pub fn offer_dpop(mut self) -> Self {
        self.dpop = DpopUse::Offered;
        self
    }

    /// Requires that tokens are bound to a key of the client (DPoP).
    pub fn require_dpop(mut self) -> Self {
        self.dpop = DpopUse::Required;
        self
    }

    /// Requires that proofs have a nonce of this server, so that none can be made in advance. Clients need one more round
    /// trip every five minutes.
    pub fn require_dpop_nonce(mut self) -> Self {
        self.needs_nonce = true;
        self
    }

    /// Sets by how much the clock of an issuer may differ from the clock of this machine; by default one minute. Tokens are
    /// accepted this much longer.
    pub fn leeway(mut self, time: Duration) -> Self {
        self.leeway = time;
        self
    }

    /// Adds the mistakes in the settings.
    fn check(&mut self, mistakes: &mut Vec<String>) {
        mistakes.append(&mut self.mistakes);
        let url = HttpUrl::parse(&self.resource).filter(|url| url.fragment.is_none() && url.query.is_none());
        match url {
            None => mistakes.push(format!(
                "the resource {:?} is not a URL without query: write the URL at which clients reach the server",
                self.resource
            )),
            Some(url) if !url.is_encrypted && !is_loopback(url.host) => mistakes.push(format!(
                "the resource {:?} must begin with https://, because tokens are sent to it: if a proxy decrypts, write \
                 the URL at the proxy",
                self.resource
            )),
            Some(_) => {}
        }
        for issuer in &mut self.issuers {
            mistakes.append(&mut issuer.mistakes);
        }
        let mut urls: Vec<&str> = self.issuers.iter().map(|issuer| issuer.url.as_str()).collect();
        urls.sort_unstable();
        mistakes.extend(
            urls.windows(2)
                .filter(|pair| pair[0] == pair[1])
                .map(|pair| format!("the issuer {:?} is named twice", pair[0])),
        );
        if self.issuers.is_empty() && self.other.is_none() && self.tokens.is_empty() {
            mistakes.push("`auth` accepts no token: call `issuer`, `verifier` or `tokens`".to_owned());
        }
        for scopes in [&self.scopes, &self.optional_scopes] {
            mistakes.extend(scopes.mistake());
            if scopes.iter().any(|scope| scope == "offline_access") {
                mistakes.push(
                    "the scope `offline_access` is between a client and its authorization server: leave it out".to_owned(),
                );
            }
        }
        if self.tokens.iter().any(|(token, _)| token.is_empty()) {
            mistakes.push("a fixed token is empty: anyone could send it".to_owned());
        }
    }

    /// Writes the document that tells clients where to sign in.
    fn document(&self, servers: &[String]) -> Value {
        let mut document = json!({"resource": self.resource, "bearer_methods_supported": ["header"]});
        if !servers.is_empty() {
            document["authorization_servers"] = json!(servers);
        }
        let scopes: Vec<&str> = self.scopes.iter().chain(self.optional_scopes.iter()).collect();
        if !scopes.is_empty() {
            document["scopes_supported"] = json!(scopes);
        }
        if self.dpop != DpopUse::Accepted {
            document["dpop_signing_alg_values_supported"] = json!(Algorithm::DEFAULT.map(Algorithm::name));
        }
        if self.dpop == DpopUse::Required {
            document["dpop_bound_access_tokens_required"] = true.into();
        }
        document
    }
}

impl MakeProtection for Auth {
    fn make(
        mut self: Box<Self>,
        store: Arc<dyn Store>,
        server: &str,
        mistakes: &mut Vec<String>,
    ) -> Protection {
        self.check(mistakes);
        let mut servers: Vec<String> = self.issuers.iter().map(|issuer| issuer.url.clone()).collect();
        servers.append(&mut self.authorization_servers);
        let json = self.document(&servers).to_string().into();
        let (origin, path) = HttpUrl::parse(&self.resource).map_or(("", ""), |url| (url.origin, url.path));
        let paths =
            [format!("{WELL_KNOWN}{}", path.strip_suffix('/').unwrap_or(path)), WELL_KNOWN.to_owned()];
        let metadata_url = (!servers.is_empty()).then(|| format!("{origin}{}", paths[0]));
        let mut issuers = Vec::new();
        for mut issuer in std::mem::take(&mut self.issuers) {
            let keys = match issuer.keys.take() {
                Some(keys) => KeySource::Fixed(keys),
                None => match fetcher(&issuer.url, issuer.allows_private) {
                    Ok(fetcher) => KeySource::Fetched(Arc::new(KeySet::new(issuer.url.clone(), fetcher))),
                    Err(error) => {
                        mistakes.push(error.to_string());
                        continue;
                    }
                },
            };
            issuers.push(IssuerVerifier::new(issuer, &self.resource, self.leeway, keys));
        }
        let tokens = self.tokens.into_iter().map(|(token, caller)| {
            let is_named = caller.scopes().next().is_none();
            let caller = if is_named { caller.with_scopes(self.scopes.iter()) } else { caller };
            (hash(&token), Arc::new(caller))
        });
        let gate = Gate {
            issuers,
            other: self.other,
            tokens: tokens.collect(),
            implied: self.implied,
            cache: VerdictCache::new(),
            verifications: Verifications::default(),
            proofs: ProofChecker::new(self.resource.clone(), store, server, self.needs_nonce),
            dpop: self.dpop,
            metadata_url,
            scope: self.scopes.iter().collect::<Vec<_>>().join(" "),
            refusal_pace: LogPace::default(),
            outage_pace: LogPace::default(),
        };
        Protection {
            authenticator: Arc::new(gate),
            required: self.scopes,
            hides_unscoped: self.hides_unscoped,
            extension: (self.dpop != DpopUse::Accepted).then_some(DPOP_EXTENSION),
            document: MetadataDocument { json, paths },
        }
    }
}

impl ServerBuilder {
    /// Protects the server: over HTTP, only callers whose token is accepted reach it. All others get the status 401 and are
    /// told where to sign in. `on_connect` runs afterwards, and may refuse more callers or hide elements. A pipe is not
    /// affected.
    ///
    /// Handlers take the claims of the token as [`Claims<T>`](crate::auth::Claims), and the caller as
    /// [`Principal`](crate::server::Principal). See [`Auth`] for an example, and `scopes` of `#[tool]` to protect single
    /// tools.
    pub fn auth(mut self, auth: Auth) -> Self {
        if self.protection.replace(Box::new(auth)).is_some() {
            self.mistakes.push("`auth` is called twice: a server can have only one".to_owned());
        }
        self
    }
}

impl From<&str> for Verified {
    fn from(subject: &str) -> Self {
        Self::new(subject)
    }
}

/// Reads the claims of a token, for tests: `sub`, `iss`, `client_id`, `scope` and `scp` have their usual meaning.
impl From<Value> for Verified {
    fn from(claims: Value) -> Self {
        let Value::Object(claims) = claims else { return Self::new("").with_claims(claims) };
        let issuer = claims.get("iss").and_then(Value::as_str).unwrap_or("https://issuer.example").to_owned();
        caller(claims, &issuer, &[], Duration::ZERO)
    }
}

impl fmt::Debug for Auth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Auth")
            .field("resource", &self.resource)
            .field("issuers", &self.issuers)
            .field("scopes", &self.scopes)
            .finish_non_exhaustive()
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// By how much clocks may differ.
const LEEWAY: Duration = Duration::from_secs(60);
/// The path of the document about the whole host.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";
/// The capability of servers that accept tokens which are bound to a key.
const DPOP_EXTENSION: &str = "io.modelcontextprotocol/auth/dpop";
