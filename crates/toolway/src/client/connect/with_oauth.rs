//! How does a client sign in to the server that it connects to?

use std::any::Any;
use std::sync::Arc;

use crate::client::connect::builder::ClientBuilder;
use crate::client::http::target::Http;
use crate::client::oauth::settings::OAuth;
use crate::client::oauth::signed_in::Logins;
use crate::client::wire::target::Target;
use crate::ground::error::{Error, ErrorKind};

impl ClientBuilder {
    /// Signs in when the server asks for it. Servers that are not reached over HTTP do not ask, and an [`Http`] with an
    /// [`OAuth`] of its own keeps it.
    ///
    /// ```no_run
    /// use toolway::client::{FileVault, OAuth};
    /// use toolway::prelude::*;
    ///
    /// # async fn example() -> toolway::Result<()> {
    /// // Opens the browser when the server asks for it, and remembers.
    /// let oauth = OAuth::browser().vault(FileVault::default());
    /// let client = Client::builder().oauth(oauth).connect("https://notes.example/mcp").await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn oauth(mut self, oauth: OAuth) -> Self {
        let mistake = oauth.find_mistake();
        let logins = Arc::new(Logins::new(oauth));
        self.config.map_target = Some(Arc::new(move |target| match (as_http(&target), &mistake) {
            (None, _) => Ok(target),
            (Some(server), _) if server.sign_in.is_some() => Ok(target),
            (Some(_), Some(mistake)) => Err(Error::new(ErrorKind::Misuse, mistake.clone())),
            (Some(server), None) => Ok(Target::new(server.clone().with_logins(logins.clone()))),
        }));
        self
    }
}

fn as_http(target: &Target) -> Option<&Http> {
    let connector: &dyn Any = target.connector();
    connector.downcast_ref()
}
