//! Does a request speak before it is answered? If it does, the reply is a stream; if not, it is one message.

use ::http::{Response, StatusCode};
use tokio::sync::mpsc;

use super::body::{HttpBody, stream};
use super::reply;
use crate::outbound::Outbound;
use crate::server::context::Arrival;

/// How many notifications of one request may wait for a reader.
const MAX_SAID: usize = 256;

/// Runs the work of a request that may speak. It gets the way to its peer, and gives back a frame and a status; the status
/// counts only if nothing was said before.
pub(super) async fn exchange<W>(mut arrival: Arrival, start: impl FnOnce(Arrival) -> W) -> Response<HttpBody>
where
    W: Future<Output = (Vec<u8>, StatusCode)> + Send + 'static,
{
    let (sender, mut said) = mpsc::channel(MAX_SAID);
    arrival.outbound = Outbound::to(sender);
    let mut work = Box::pin(start(arrival));
    let first = tokio::select! {
        biased;
        Some(first) = said.recv() => first,
        (frame, status) = &mut work => match said.try_recv() {
            // It spoke and was done in one go.
            Ok(first) => return stream(first, said, async move { frame }),
            Err(_) => return reply(status, frame),
        },
    };
    // From here on the reader sets the pace, and a request must not depend on how its connection is polled.
    stream(first, said, async move { work.await.0 })
}
