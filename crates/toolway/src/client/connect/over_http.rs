//! How does a client connect to a URL?

use crate::client::connect::builder::ClientBuilder;
use crate::client::connect::client::Client;
use crate::client::http::target::Http;
use crate::client::wire::target::{IntoTarget, Target};
use crate::ground::error::Result;

pub(super) fn http_target(url: &str) -> Result<Target> {
    Http::new(url).into_target()
}

impl ClientBuilder {
    /// Connects to the server at a URL. Pass an [`Http`] for further settings:
    ///
    /// ```
    /// use toolway::client::Http;
    /// use toolway::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// # let url = format!("http://{}/mcp", listener.local_addr()?);
    /// # let server = Server::new("calculator", "1.0.0").build()?;
    /// # tokio::spawn(async move { server.http().serve(listener).await });
    /// let client = Client::builder().connect_http(&url).await?;
    /// let known = Client::builder().connect_http(Http::new(&url).bearer("s3cret")).await?;
    /// # Ok::<(), toolway::Error>(()) }).unwrap();
    /// ```
    pub async fn connect_http(self, server: impl Into<Http>) -> Result<Client> {
        self.connect(server.into()).await
    }
}

impl Client {
    /// Connects to the server at a URL. See [`ClientBuilder::connect_http`].
    pub async fn connect_http(server: impl Into<Http>) -> Result<Self> {
        Self::builder().connect_http(server).await
    }
}
