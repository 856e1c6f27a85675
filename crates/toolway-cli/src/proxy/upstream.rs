//! Where do the messages of a host go: to a command or to a URL?

use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use toolway::client::Command;
use toolway::client::record::Recorder;

use super::pipe;
use super::url::{self, UrlServer};
use crate::failure::Result;

/// A server behind the proxy.
#[derive(Clone)]
pub(crate) enum Upstream {
    /// Each host gets a process of its own.
    Command(Arc<Command>, Option<Recorder>),
    /// Each host gets a session of its own.
    Url(Arc<UrlServer>),
}

impl Upstream {
    /// Passes lines on between a host and the server, until the host closes its input.
    pub(crate) async fn relay(
        &self,
        host_input: impl AsyncRead + Send + Unpin,
        host_output: impl AsyncWrite + Send + Unpin,
    ) -> Result<()> {
        match self {
            Self::Command(command, recorder) => {
                pipe::relay(command, recorder.as_ref(), host_input, host_output).await
            }
            Self::Url(server) => url::relay(server.clone(), host_input, host_output).await,
        }
    }
}
