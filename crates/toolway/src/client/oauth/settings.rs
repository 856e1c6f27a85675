//! How does an application say in which way its clients sign in?

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolway_protocol::oauth::{HttpUrl, Scopes};

use crate::client::oauth::crypto::SigningKey;
use crate::client::oauth::grants::{
    Browser, DeviceCode, Dpop, Enterprise, Grant, Idp, TokenSource, WorkloadTarget,
};
use crate::client::oauth::secret::Secret;
use crate::client::oauth::vault::{MemoryVault, Vault};
use crate::client::process::browser::open_browser;
use crate::ground::error::Result;

/// The way in which a client signs in to servers that ask for it.
///
/// ```no_run
/// use toolway::client::{Http, OAuth};
/// use toolway::prelude::*;
///
/// # async fn example() -> toolway::Result<()> {
/// // Opens the browser when the server asks for it.
/// let server = Http::new("https://notes.example/mcp").oauth(OAuth::browser());
/// let client = Client::connect_http(server).await?;
/// # Ok(())
/// # }
/// ```
///
/// The client finds out where to sign in, introduces itself, and renews its token when it expires. A clone shares the vault.
#[derive(Clone)]
pub struct OAuth {
    pub(super) grant: Grant,
    pub(super) identity: Identity,
    pub(super) scopes: Option<Scopes>,
    pub(super) sends_resource: bool,
    pub(super) dpop: Dpop,
    /// The name that MCP servers use, and the name that the authorization server uses.
    pub(super) accepted_issuers: Vec<(String, String)>,
    pub(super) preferred_issuer: Option<String>,
    pub(super) allows_private_networks: bool,
    pub(super) vault: Arc<dyn Vault>,
    pub(super) profile: String,
    pub(super) login_timeout: Duration,
    /// A description of the first invalid setting.
    pub(super) mistake: Option<String>,
}

/// The facts that identify a client.
#[derive(Clone, Default)]
pub(super) struct Identity {
    pub(super) id: Option<String>,
    pub(super) secret: Option<Secret>,
    pub(super) key: Option<Arc<SigningKey>>,
    pub(super) issuer: Option<String>,
    pub(super) is_for_any_issuer: bool,
    pub(super) document: Option<String>,
    pub(super) name: Option<String>,
}

impl OAuth {
    fn new(grant: Grant) -> Self {
        Self {
            grant,
            identity: Identity::default(),
            scopes: None,
            sends_resource: true,
            dpop: Dpop::Auto,
            accepted_issuers: Vec::new(),
            preferred_issuer: None,
            allows_private_networks: false,
            vault: Arc::new(MemoryVault::new()),
            profile: String::new(),
            login_timeout: LOGIN_TIMEOUT,
            mistake: None,
        }
    }

    /// A user signs in with a browser on this machine. The browser comes back to a port of this machine.
    pub fn browser() -> Self {
        Self::new(Grant::Browser(Browser {
            open: Arc::new(|url| Box::pin(open_browser(url))),
            redirect: None,
            paste: None,
        }))
    }

    /// The client is a program that the authorization server knows by an id and a secret. The secret must be bound to an
    /// authorization server with [`for_issuer`](Self::for_issuer): otherwise any MCP server could have it sent to a server
    /// of its own.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::client_credentials("reports", "s3cret").for_issuer("https://id.example");
    /// ```
    pub fn client_credentials(id: impl Into<String>, secret: impl Into<String>) -> Self {
        Self::new(Grant::ClientCredentials).client_id(id).client_secret(secret)
    }

    /// The client is a program that the authorization server knows by an id and a key (P-256, in PEM).
    pub fn private_key(id: impl Into<String>, pem: impl Into<String>) -> Self {
        let mut oauth = Self::new(Grant::ClientCredentials).client_id(id);
        match SigningKey::from_pem(&Secret::new(pem)) {
            Ok(key) => oauth.identity.key = Some(Arc::new(key)),
            Err(error) => oauth.add_mistake(error.to_string()),
        }
        oauth
    }

    /// The client is a program whose platform says what it is: the function returns a token (JWT) of the platform for the
    /// authorization server. It is called each time that a token is needed.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::workload(async |target| {
    ///     println!("a token for {}", target.issuer);
    ///     Ok(std::fs::read_to_string("/var/run/secrets/token")?)
    /// })
    /// .for_issuer("https://id.example");
    /// ```
    ///
    /// With [`for_issuer`](Self::for_issuer), no other authorization server gets the token. Without it, the MCP server names
    /// the authorization server, and the token is sent only if it is for that one alone: its `aud` must be
    /// [`issuer`](WorkloadTarget::issuer) or [`token_endpoint`](WorkloadTarget::token_endpoint).
    pub fn workload<F, W>(token: F) -> Self
    where
        F: Fn(WorkloadTarget) -> W + Send + Sync + 'static,
        W: Future<Output = Result<String>> + Send + 'static,
    {
        Self::new(Grant::Workload(Arc::new(move |target| Box::pin(token(target)))))
    }

    /// A user signs in on another device, such as a phone: the function shows a code, which the user enters there.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::device(async |code| println!("{code}"));
    /// ```
    pub fn device<F, W>(show: F) -> Self
    where
        F: Fn(DeviceCode) -> W + Send + Sync + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        Self::new(Grant::Device(Arc::new(move |code| Box::pin(show(code)))))
    }

    /// The identity provider of a company vouches for the user, who has signed in to it already. The function returns the
    /// identity token of the user. The client must be known to the authorization server of the MCP server, too:
    /// [`client_id`](Self::client_id).
    ///
    /// ```
    /// use toolway::client::{Idp, OAuth};
    ///
    /// let idp = Idp::new("https://sso.example", "my-app", "s3cret");
    /// let oauth = OAuth::enterprise(idp, async || Ok("the identity token".to_owned()))
    ///     .client_id("my-app-at-notes")
    ///     .client_secret("0ther")
    ///     .for_issuer("https://id.notes.example");
    /// ```
    pub fn enterprise<F, W>(idp: Idp, identity_token: F) -> Self
    where
        F: Fn() -> W + Send + Sync + 'static,
        W: Future<Output = Result<String>> + Send + 'static,
    {
        let identity_token = Box::new(move || Box::pin(identity_token()) as _);
        Self::new(Grant::Enterprise(Arc::new(Enterprise { idp, identity_token })))
    }

    /// Tokens come from the application. They are not kept in the vault.
    pub fn tokens(source: impl TokenSource) -> Self {
        Self::new(Grant::Source(Arc::new(source)))
    }

    /// Sets the id with which the client was registered by hand.
    pub fn client_id(mut self, id: impl Into<String>) -> Self {
        self.identity.id = Some(id.into());
        self
    }

    /// Sets the secret of a client that was registered by hand. It must be bound to an authorization server with
    /// [`for_issuer`](Self::for_issuer).
    pub fn client_secret(mut self, secret: impl Into<String>) -> Self {
        self.identity.secret = Some(Secret::new(secret));
        self
    }

    /// Names the authorization server that the id and the secret are for. They are sent to no other one.
    pub fn for_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.identity.issuer = Some(issuer.into());
        self
    }

    /// Sends the id and the secret to whichever authorization server the MCP server names. Use it only with MCP servers
    /// that you trust with the secret.
    pub fn for_any_issuer(mut self) -> Self {
        self.identity.is_for_any_issuer = true;
        self
    }

    /// Sets the URL of a public document about the client, which authorization servers that support it take as its id.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::browser().client_metadata_url("https://app.example/client.json");
    /// ```
    pub fn client_metadata_url(mut self, url: impl Into<String>) -> Self {
        let url = url.into();
        let is_valid = HttpUrl::parse(&url)
            .is_some_and(|parts| parts.is_encrypted && parts.fragment.is_none() && parts.path.len() > 1);
        if !is_valid || url.split('/').any(|segment| segment == "." || segment == "..") {
            self.add_mistake(
                "the URL of the document about the client must begin with https:// and have a path"
                    .to_owned(),
            );
        }
        self.identity.document = Some(url);
        self
    }

    /// Sets the name of the client that users see when they sign in.
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.identity.name = Some(name.into());
        self
    }

    /// Sets the URL to which the browser comes back, for a client that was registered with it. It is a port of this
    /// machine, such as `http://localhost:3118/callback`.
    pub fn redirect(mut self, url: impl Into<String>) -> Self {
        let url = url.into();
        let is_local = |parts: &HttpUrl<'_>| ["localhost", "127.0.0.1", "[::1]"].contains(&parts.host);
        if !HttpUrl::parse(&url).is_some_and(|parts| !parts.is_encrypted && is_local(&parts)) {
            self.add_mistake(format!("{url:?} cannot be a redirect: it must be a port of this machine, such as http://localhost:3118/callback"));
        }
        if let Grant::Browser(browser) = &mut self.grant {
            browser.redirect = Some(url);
        }
        self
    }

    /// Shows the URL at which the user signs in with this function, instead of opening a browser.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::browser().open_with(async |url| {
    ///     println!("sign in at {url}");
    ///     Ok(())
    /// });
    /// ```
    pub fn open_with<F, W>(mut self, show: F) -> Self
    where
        F: Fn(String) -> W + Send + Sync + 'static,
        W: Future<Output = Result<()>> + Send + 'static,
    {
        if let Grant::Browser(browser) = &mut self.grant {
            browser.open = Arc::new(move |url| Box::pin(show(url)));
        }
        self
    }

    /// Also takes the URL to which a browser on another machine could not return. The function waits until the user
    /// pastes it, and returns `None` if the user cannot. It is called again if the URL belongs to another login.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::browser().paste_with(async || {
    ///     let mut line = String::new();
    ///     let read = tokio::task::spawn_blocking(move || std::io::stdin().read_line(&mut line).map(|_| line));
    ///     read.await.ok()?.ok()
    /// });
    /// ```
    pub fn paste_with<F, W>(mut self, paste: F) -> Self
    where
        F: Fn() -> W + Send + Sync + 'static,
        W: Future<Output = Option<String>> + Send + 'static,
    {
        if let Grant::Browser(browser) = &mut self.grant {
            browser.paste = Some(Arc::new(move || Box::pin(paste())));
        }
        self
    }

    /// Asks for these scopes instead of those that the server names.
    pub fn scopes<'s>(mut self, scopes: impl IntoIterator<Item = &'s str>) -> Self {
        self.scopes = Some(scopes.into_iter().collect());
        self
    }

    /// Does not name the MCP server to the authorization server. A few of them refuse the parameter `resource`.
    pub fn without_resource(mut self) -> Self {
        self.sends_resource = false;
        self
    }

    /// Prefers this authorization server, if the MCP server names several.
    pub fn issuer(mut self, issuer: impl Into<String>) -> Self {
        self.preferred_issuer = Some(issuer.into());
        self
    }

    /// Accepts that the authorization server which the MCP server calls `named` calls itself `own`. Otherwise both names must
    /// be the same, because another server could have put its documents there.
    ///
    /// ```
    /// use toolway::client::OAuth;
    ///
    /// let oauth = OAuth::browser().accept_issuer("https://mcp.example", "https://id.example");
    /// ```
    pub fn accept_issuer(mut self, named: impl Into<String>, own: impl Into<String>) -> Self {
        self.accepted_issuers.push((named.into(), own.into()));
        self
    }

    /// Lets a server on the Internet name an authorization server in a private network.
    pub fn allow_private_networks(mut self) -> Self {
        self.allows_private_networks = true;
        self
    }

    /// Decides whether tokens are bound to a key of the client, so that a stolen token is worthless.
    ///
    /// ```
    /// use toolway::client::{Dpop, OAuth};
    ///
    /// let oauth = OAuth::browser().dpop(Dpop::Always);
    /// ```
    pub fn dpop(mut self, dpop: Dpop) -> Self {
        self.dpop = dpop;
        self
    }

    /// Keeps tokens and registrations in this vault. By default they are kept in memory.
    pub fn vault(mut self, vault: impl Vault) -> Self {
        self.vault = Arc::new(vault);
        self
    }

    /// Keeps the tokens of several users of one vault apart.
    pub fn profile(mut self, profile: impl Into<String>) -> Self {
        self.profile = profile.into();
        self
    }

    /// Sets how long a user may take to sign in; by default five minutes.
    pub fn login_timeout(mut self, limit: Duration) -> Self {
        self.login_timeout = limit;
        self
    }

    /// Names the extensions of the protocol that the application has chosen. `Dpop::Auto` is the default and not a choice,
    /// and an application is asked before an extension is used.
    pub(super) fn extensions(&self) -> Vec<&'static str> {
        let is_bound = self.dpop == Dpop::Always && !matches!(self.grant, Grant::Source(_));
        let dpop = is_bound.then_some("io.modelcontextprotocol/auth/dpop");
        self.grant.extension().into_iter().chain(dpop).collect()
    }

    fn add_mistake(&mut self, mistake: String) {
        self.mistake.get_or_insert(mistake);
    }

    /// Returns a description of the first invalid setting.
    pub(crate) fn find_mistake(&self) -> Option<String> {
        let Identity { secret, key, issuer, is_for_any_issuer, .. } = &self.identity;
        let is_unbound = (secret.is_some() || key.is_some()) && issuer.is_none() && !is_for_any_issuer;
        let unbound = "a client secret or key is for one authorization server: name it with `OAuth::for_issuer`, so that no \
                       other server gets it";
        self.mistake.clone().or_else(|| is_unbound.then(|| unbound.to_owned()))
    }
}

/// Shows no secrets.
impl fmt::Debug for OAuth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuth")
            .field("grant", &self.grant.name())
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}

const LOGIN_TIMEOUT: Duration = Duration::from_secs(5 * 60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_must_be_bound_and_is_not_shown() {
        let unbound = OAuth::client_credentials("id", "hidden");
        assert!(unbound.find_mistake().unwrap().contains("for_issuer"));
        assert!(!format!("{unbound:?}").contains("hidden"));
        assert_eq!(unbound.clone().for_issuer("https://id.example").find_mistake(), None);
        assert_eq!(unbound.for_any_issuer().find_mistake(), None);
        assert_eq!(OAuth::browser().client_id("id").find_mistake(), None);
    }

    #[test]
    fn urls_are_checked() {
        for url in [
            "http://app.example/client.json",
            "https://app.example",
            "https://app.example/#x",
            "https://app.example/../x",
            "x",
        ] {
            assert!(OAuth::browser().client_metadata_url(url).find_mistake().is_some(), "{url}");
        }
        for url in ["https://localhost/cb", "http://evil.example/cb", "myapp://cb", ""] {
            assert!(OAuth::browser().redirect(url).find_mistake().is_some(), "{url}");
        }
        let good = OAuth::browser()
            .redirect("http://127.0.0.1:3118/cb")
            .client_metadata_url("https://a.example/c.json");
        assert_eq!(good.find_mistake(), None);
    }
}
