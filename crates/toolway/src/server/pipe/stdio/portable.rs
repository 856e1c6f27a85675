//! Stdin and stdout on systems where descriptors cannot be moved safely. They are used as they are, so the program must
//! not print to stdout.

use std::io;
use std::pin::Pin;

use tokio::io::{AsyncRead, AsyncWrite};

type BoxReader = Pin<Box<dyn AsyncRead + Send>>;
type BoxWriter = Pin<Box<dyn AsyncWrite + Send>>;

pub(crate) fn take() -> io::Result<(BoxReader, BoxWriter)> {
    Ok((Box::pin(tokio::io::stdin()), Box::pin(tokio::io::stdout())))
}
