//! What does a reply contain? One message, or a stream of events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::vec::IntoIter;

use ::http::Response;
use ::http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue};
use bytes::Bytes;
use http_body::{Body, SizeHint};
use toolway_protocol::jsonrpc::Frame;

use super::permit::RequestPermit;
use crate::ground::budget::{Account, Charge, Exhausted, Resource};
use crate::ground::mutex::Mutex;
use crate::server::observe::hooks::DisconnectGuard;

/// The body of a reply.
#[derive(Debug)]
pub struct ResponseBody(BodyKind);

#[derive(Debug)]
enum BodyKind {
    Whole(Option<Bytes>, Hold),
    /// Several pieces, which are written without copying them together. There is always a next one until the end.
    Pieces(IntoIter<Bytes>, Hold),
    Streamed(StreamedBody),
    WithHooks(Box<BodyWithHooks>),
}

/// The permit and the charge that a reply holds until its last byte is sent.
#[derive(Debug, Default)]
struct Hold {
    permit: Option<RequestPermit>,
    charge: Option<Charge>,
}

impl Hold {
    /// Attaches everything to the bytes: it is dropped when the connection has sent them.
    fn attach_to(mut self, bytes: Bytes) -> Bytes {
        if let Some(permit) = &mut self.permit {
            permit.mark_sent();
        }
        if self.permit.is_none() && self.charge.is_none() {
            return bytes;
        }
        Bytes::from_owner(HeldBytes { bytes, _hold: self })
    }
}

struct HeldBytes {
    bytes: Bytes,
    _hold: Hold,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// A body that runs hooks when it is dropped.
#[derive(Debug)]
struct BodyWithHooks {
    kind: BodyKind,
    guard: Box<DisconnectGuard>,
}

impl Drop for BodyWithHooks {
    fn drop(&mut self) {
        if self.kind.is_over() {
            self.guard.mark_complete();
        }
    }
}

impl ResponseBody {
    /// Creates a body of one piece.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(BodyKind::Whole(Some(bytes.into()), Hold::default()))
    }

    /// Creates a body of a frame. A part that the frame shares with others is not copied.
    pub(super) fn of_frame(frame: Frame) -> Self {
        match frame.into_pieces() {
            Ok(whole) => Self::whole(whole),
            Err(pieces) => Self(BodyKind::Pieces(Vec::from(pieces).into_iter(), Hold::default())),
        }
    }

    /// Holds the permit of the request until the whole body is sent.
    pub(crate) fn with_permit(mut self, permit: Option<RequestPermit>) -> Self {
        if let BodyKind::Whole(_, hold) | BodyKind::Pieces(_, hold) = &mut self.0 {
            hold.permit = permit;
        }
        self
    }

    /// Charges the memory of the body to the peer until the body is sent. A stream charges its pieces itself.
    pub(crate) fn charge(&mut self, account: &Arc<Account>) -> Result<(), Exhausted> {
        let (length, hold) = match &mut self.0 {
            BodyKind::Whole(Some(bytes), hold) => (bytes.len(), hold),
            BodyKind::Pieces(pieces, hold) => (length_of(pieces), hold),
            BodyKind::Whole(None, _) | BodyKind::Streamed(_) | BodyKind::WithHooks(_) => return Ok(()),
        };
        hold.charge = Some(account.charge(Resource::Replies, length)?);
        Ok(())
    }

    /// Attaches hooks that run when the body is dropped.
    pub(crate) fn with_hooks(self, parting: Box<DisconnectGuard>) -> Self {
        Self(BodyKind::WithHooks(Box::new(BodyWithHooks { kind: self.0, guard: parting })))
    }

    /// Creates a body without content.
    pub fn empty() -> Self {
        Self(BodyKind::Whole(None, Hold::default()))
    }
}

impl ResponseBody {
    /// Creates a body that `work` writes while the client reads it. The work runs only while the body is read, and is
    /// dropped with the connection.
    ///
    /// ```
    /// use toolway::server::http::ResponseBody;
    ///
    /// let body = ResponseBody::streamed(async |writer| writer.write("data: {}\n\n").await);
    /// ```
    pub fn streamed<W>(work: impl FnOnce(StreamWriter) -> W) -> Self
    where
        W: Future<Output = ()> + Send + 'static,
    {
        let slot = Slot::default();
        let work = Box::pin(work(StreamWriter(BodyWriter { slot: slot.clone(), account: None })));
        Self(BodyKind::Streamed(StreamedBody { slot, work: Some(work) }))
    }
}

/// Writes the pieces of a [streamed](ResponseBody::streamed) body.
pub struct StreamWriter(BodyWriter);

impl StreamWriter {
    /// Writes a piece, and waits until the connection takes the next one. The caller bounds what waits to be written.
    pub async fn write(&self, piece: impl Into<Bytes>) {
        self.0.write_charged(piece, None).await;
    }
}

impl fmt::Debug for StreamWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamWriter").finish_non_exhaustive()
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        self.0.poll(cx).map(|piece| piece.map(|bytes| Ok(http_body::Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

impl BodyKind {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        match self {
            Self::Whole(bytes, hold) => {
                Poll::Ready(bytes.take().map(|bytes| std::mem::take(hold).attach_to(bytes)))
            }
            Self::Pieces(pieces, hold) => {
                let next = pieces.next();
                let is_last = pieces.as_slice().is_empty();
                Poll::Ready(
                    next.map(|next| if is_last { std::mem::take(hold).attach_to(next) } else { next }),
                )
            }
            Self::Streamed(pieces) => pieces.poll(cx),
            Self::WithHooks(watched) => watched.kind.poll(cx),
        }
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Whole(bytes, _) => bytes.is_none(),
            Self::Pieces(pieces, _) => pieces.as_slice().is_empty(),
            Self::Streamed(pieces) => pieces.work.is_none(),
            Self::WithHooks(watched) => watched.kind.is_over(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes, _) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Pieces(pieces, _) => SizeHint::with_exact(length_of(pieces) as u64),
            Self::Streamed(_) => SizeHint::default(),
            Self::WithHooks(watched) => watched.kind.size_hint(),
        }
    }
}

fn length_of(pieces: &IntoIter<Bytes>) -> usize {
    pieces.as_slice().iter().map(Bytes::len).sum()
}

/// How long a stream may be silent before a keep-alive comment is sent.
pub(crate) const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The keep-alive comment of an event stream, which clients ignore.
const KEEP_ALIVE_COMMENT: &[u8] = b": alive\n\n";

/// A body that is produced while it is read. `work` runs only while the body is polled, and is dropped with the body.
struct StreamedBody {
    slot: Slot,
    work: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

type Slot = Arc<Mutex<Option<Bytes>>>;

impl StreamedBody {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let Some(work) = &mut self.work else { return Poll::Ready(None) };
        if work.as_mut().poll(cx).is_ready() {
            self.work = None;
        }
        match (self.slot.lock().take(), &self.work) {
            (Some(piece), _) => Poll::Ready(Some(piece)),
            (None, Some(_)) => Poll::Pending,
            (None, None) => Poll::Ready(None),
        }
    }
}

impl fmt::Debug for StreamedBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a stream")
    }
}

/// Passes pieces from the producer of a body to the body.
pub(crate) struct BodyWriter {
    slot: Slot,
    account: Option<Arc<Account>>,
}

impl BodyWriter {
    /// Hands a piece to the body, and waits until the body is polled for the next piece. Fails if the peer leaves too
    /// much unread; then the stream must end.
    pub(crate) async fn write(&self, piece: impl Into<Bytes>) -> Result<(), Exhausted> {
        self.write_last(piece, None).await
    }

    /// Like [`write`](Self::write), for the last piece, which holds the permit of its request until it is sent.
    pub(crate) async fn write_last(
        &self,
        piece: impl Into<Bytes>,
        permit: Option<RequestPermit>,
    ) -> Result<(), Exhausted> {
        let piece = piece.into();
        let charge = self.account.as_ref().map(|account| account.charge(Resource::Replies, piece.len()));
        let hold = Hold { permit, charge: charge.transpose()? };
        self.hand_over(hold.attach_to(piece)).await;
        Ok(())
    }

    /// Like [`write`](Self::write), for a piece whose memory is charged already, or is too small to count.
    pub(crate) async fn write_charged(&self, piece: impl Into<Bytes>, charge: Option<Charge>) {
        self.hand_over(Hold { permit: None, charge }.attach_to(piece.into())).await;
    }

    async fn hand_over(&self, piece: Bytes) {
        *self.slot.lock() = Some(piece);
        // The body takes the piece, and polls again when it wants more.
        std::future::poll_fn(|_| if self.slot.lock().is_some() { Poll::Pending } else { Poll::Ready(()) })
            .await;
    }

    /// Writes the comment that keeps a silent stream open.
    pub(crate) async fn write_keep_alive(&self) {
        self.write_charged(KEEP_ALIVE_COMMENT, None).await;
    }
}

/// Creates a reply that is a stream of events, written by `work`.
pub(crate) fn event_stream<W>(
    account: Option<Arc<Account>>,
    work: impl FnOnce(BodyWriter) -> W,
) -> Response<ResponseBody>
where
    W: Future<Output = ()> + Send + 'static,
{
    let slot = Slot::default();
    let work = Box::pin(work(BodyWriter { slot: slot.clone(), account }));
    let mut response =
        Response::new(ResponseBody(BodyKind::Streamed(StreamedBody { slot, work: Some(work) })));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Asks proxies not to buffer the reply.
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;
    use tokio::sync::Semaphore;
    use toolway_protocol::era::stateless::{EncodedServerInfo, write_reply_frame};
    use toolway_protocol::types::{CacheHints, Implementation, Listing, Resource};
    use toolway_protocol::{Id, Reply};

    use super::*;

    #[tokio::test]
    async fn a_body_of_several_pieces_is_counted_as_one_and_holds_its_permit_to_the_end() {
        let items = (0..1000).map(|number| Resource::new(format!("a://{number}"), "a resource"));
        let reply = Reply::Resources(Listing::new(items.collect(), None).into());
        let stamp = EncodedServerInfo::new(&Implementation::new("me", "1"));
        let mut frame = Frame::default();
        write_reply_frame(&mut frame, &Id::from(7), &reply, &CacheHints::default(), &stamp);
        let length = frame.len();
        let running = Arc::new(Semaphore::new(1));
        let permit = RequestPermit::new(None, running.clone().try_acquire_owned().ok());
        let mut body = ResponseBody::of_frame(frame).with_permit(Some(permit));
        let (mut pieces, mut received) = (Vec::new(), 0);
        while received < length {
            assert_eq!(body.size_hint().exact(), Some((length - received) as u64));
            assert!(!body.is_end_stream());
            let piece = body.frame().await.expect("more").expect("no error").into_data().expect("data");
            received += piece.len();
            pieces.push(piece);
        }
        assert!(body.is_end_stream());
        assert!(body.frame().await.is_none());
        assert_eq!((pieces.len(), received), (3, length));
        drop(body);
        // The connection writes the pieces in their order, and drops each when it is written.
        for piece in pieces {
            assert_eq!(running.available_permits(), 0);
            drop(piece);
        }
        assert_eq!(running.available_permits(), 1);
    }
}
