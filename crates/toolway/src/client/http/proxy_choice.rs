//! Which proxy does the application choose, besides that of the environment?

use crate::client::http::request::proxy::{ProxyRules, ProxySetting};
use crate::client::http::target::Http;

impl Http {
    /// Connects through this proxy, whatever the environment says. It applies to URLs that begin with `https://`, also to
    /// those at which the client signs in.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("https://notes.example/mcp").proxy("http://me:s3cret@proxy.example:3128");
    /// assert_eq!(server.proxy_address().as_deref(), Some("proxy.example:3128"));
    /// ```
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        let proxy = ProxySetting::At(url.into());
        if let Err(error) = ProxyRules::new(&proxy) {
            return self.with_mistake(error.to_string());
        }
        self.tls.proxy = proxy;
        self.reset_client();
        self
    }

    /// Connects without a proxy, whatever the environment says.
    ///
    /// ```
    /// use toolway::client::Http;
    ///
    /// let server = Http::new("https://notes.example/mcp").without_proxy();
    /// ```
    pub fn without_proxy(mut self) -> Self {
        self.tls.proxy = ProxySetting::Never;
        self.reset_client();
        self
    }
}
