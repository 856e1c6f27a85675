//! Stdin and stdout on systems where descriptors cannot be moved safely. They are used as they are, so the program must
//! not print to stdout.

use std::io;

use tokio::io::{AsyncRead, AsyncWrite};

pub(crate) fn take() -> io::Result<(impl AsyncRead + Unpin + Send, impl AsyncWrite + Unpin + Send)> {
    Ok((tokio::io::stdin(), tokio::io::stdout()))
}
