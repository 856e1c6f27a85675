//! With which settings is a store opened?

use std::fmt;
use std::time::Duration;

use crate::connector::Connector;
use crate::durability::Durability;
use crate::error::SetupError;
use crate::format::FORMAT;
use crate::keys::Keys;
use crate::store::Redis;
use crate::url::{Credentials, Target};

impl Redis {
    /// Opens the store at a URL with the default settings:
    ///
    /// - `redis://[user:password@]host[:port][/database]`, with TLS `rediss://`
    /// - `redis+sentinel://[user:password@]host[:port],…/name[/database]`
    /// - `redis+cluster://[user:password@]host[:port],…`
    ///
    /// # Errors
    ///
    /// The error names the setting that is wrong, here or on the server, and what to do.
    pub async fn connect(url: impl Into<String>) -> Result<Self, SetupError> {
        Self::builder(url).connect().await
    }

    /// Starts the settings of a store at a URL.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }
}

/// The settings of a store. [`Redis::builder`] starts one.
pub struct Builder {
    url: String,
    prefix: String,
    durability: Durability,
    timeout: Duration,
    format: u32,
    sentinel: Option<Credentials>,
    #[cfg(feature = "tls")]
    root_certificate: Option<Vec<u8>>,
    #[cfg(feature = "tls")]
    client_certificate: Option<(Vec<u8>, Vec<u8>)>,
}

impl Builder {
    pub(crate) fn new(url: String) -> Self {
        Self {
            url,
            prefix: DEFAULT_PREFIX.to_owned(),
            durability: Durability::default(),
            timeout: DEFAULT_TIMEOUT,
            format: FORMAT,
            sentinel: None,
            #[cfg(feature = "tls")]
            root_certificate: None,
            #[cfg(feature = "tls")]
            client_certificate: None,
        }
    }

    /// Sets the text that all keys and channels begin with; `tw1:` if it is not set. Servers with different prefixes
    /// share nothing, even in the same database.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Sets when a change is done; [`Durability::Written`] if it is not set.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Sets the time limit of a visit to the store, with all its attempts; 500 ms if it is not set.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Makes the store one of another version of this crate, which has this format of the data. For tests: only the number
    /// differs.
    #[cfg(feature = "test-format")]
    #[doc(hidden)]
    #[must_use]
    pub fn format(mut self, number: u32) -> Self {
        self.format = number;
        self
    }

    /// Sets the credentials for the Sentinels. The credentials of the URL are those for Redis itself. The user may be
    /// empty.
    #[cfg(feature = "sentinel")]
    #[cfg_attr(docsrs, doc(cfg(feature = "sentinel")))]
    #[must_use]
    pub fn sentinel_credentials(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        let user = Some(user.into()).filter(|user| !user.is_empty());
        self.sentinel = Some(Credentials { user, password: Some(password.into()) });
        self
    }

    /// Trusts the certificates of this authority, in PEM, instead of those that the operating system trusts.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    #[must_use]
    pub fn root_certificate(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.root_certificate = Some(pem.into());
        self
    }

    /// Identifies this server by a certificate and its private key, both in PEM.
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    #[must_use]
    pub fn client_certificate(
        mut self,
        certificate_pem: impl Into<Vec<u8>>,
        key_pem: impl Into<Vec<u8>>,
    ) -> Self {
        self.client_certificate = Some((certificate_pem.into(), key_pem.into()));
        self
    }

    /// Connects, checks the settings of the servers, and opens the store.
    ///
    /// # Errors
    ///
    /// The error names the setting that is wrong, here or on the server, and what to do.
    pub async fn connect(self) -> Result<Redis, SetupError> {
        let target = Target::parse(&self.url)?;
        if self.prefix.is_empty() || self.prefix.len() > MAX_PREFIX || self.prefix.contains(is_forbidden) {
            return Err(SetupError::new(
                "prefix",
                format!(
                    "it must have 1 to {MAX_PREFIX} characters, without braces, spaces and control characters"
                ),
            ));
        }
        if !(MIN_TIMEOUT..=MAX_TIMEOUT).contains(&self.timeout) {
            return Err(SetupError::new("timeout", format!("it must be {MIN_TIMEOUT:?} to {MAX_TIMEOUT:?}")));
        }
        if self.durability == Durability::Replicated(0) {
            return Err(SetupError::new("durability", "`Replicated(0)` waits for nothing: use `Written`"));
        }
        let connector = Connector {
            credentials: target.credentials.clone(),
            database: target.database,
            has_tls: target.has_tls,
            #[cfg(feature = "tls")]
            certificates: self.certificates(),
            timeout: self.timeout,
        };
        let sentinel =
            Connector { credentials: self.sentinel.unwrap_or_default(), database: 0, ..connector.clone() };
        #[cfg(feature = "tls")]
        if target.has_tls {
            // Two providers of cryptography in one program leave rustls undecided; the choice of the program stays.
            _ = rustls::crypto::ring::default_provider().install_default();
        }
        let keys = Keys::new(self.prefix);
        Redis::open(&target, &connector, &sentinel, keys, self.durability, self.format).await
    }

    #[cfg(feature = "tls")]
    fn certificates(&self) -> Option<redis::TlsCertificates> {
        if self.root_certificate.is_none() && self.client_certificate.is_none() {
            return None;
        }
        let client_tls = self.client_certificate.clone();
        Some(redis::TlsCertificates {
            client_tls: client_tls
                .map(|(client_cert, client_key)| redis::ClientTlsConfig { client_cert, client_key }),
            root_cert: self.root_certificate.clone(),
        })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("prefix", &self.prefix)
            .field("durability", &self.durability)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

fn is_forbidden(character: char) -> bool {
    matches!(character, '{' | '}' | '*' | '?' | '[' | ']' | '\\')
        || character.is_whitespace()
        || character.is_control()
}

const DEFAULT_PREFIX: &str = "tw1:";
const MAX_PREFIX: usize = 100;
const DEFAULT_TIMEOUT: Duration = Duration::from_millis(500);
const MIN_TIMEOUT: Duration = Duration::from_millis(10);
const MAX_TIMEOUT: Duration = Duration::from_secs(60);
