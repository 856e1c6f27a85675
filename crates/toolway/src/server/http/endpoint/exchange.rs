//! Does a request send notifications before its response? If it does, the reply is a stream; if not, it is one message.

use std::sync::Arc;
use std::task::Poll;

use ::http::{Response, StatusCode};
use tokio::sync::mpsc;
use toolway_protocol::Id;
use toolway_protocol::jsonrpc::{Frame, write_error};

use super::body::{BodyWriter, KEEP_ALIVE_INTERVAL, ResponseBody, event_stream};
use super::permit::RequestPermit;
use super::reply::{UNREAD, reply};
use crate::ground::abort_on_drop::AbortOnDrop;
use crate::ground::budget::Account;
use crate::ground::outbound::{Outbound, OutboundFrame, OutboundItem};
use crate::ground::poll_once::poll_once;
use crate::server::call::scope::Arrival;
use crate::server::failure::errors::busy;
use crate::transport::sse;

/// How many notifications of one request may be queued until the client reads them.
const MAX_QUEUED_ITEMS: usize = 256;

/// Runs the work of a request that may send notifications. `start` gets `arrival` with an outbound queue; the future
/// that it creates returns a frame and a status. The status is used only if no notification was sent; a stream always
/// has the status 200. The work is cancelled when the reply is dropped. If the result of the request `id` finds no room
/// in memory because the client does not read, the stream ends with an error in its place.
pub(crate) async fn exchange<W>(
    id: Option<Id>,
    permit: Option<RequestPermit>,
    mut arrival: Box<Arrival>,
    max_message: usize,
    start: impl FnOnce(Box<Arrival>) -> W,
) -> Response<ResponseBody>
where
    W: Future<Output = (Frame, StatusCode)> + Send + 'static,
{
    let account = arrival.account.clone();
    let (outbound, said) = Outbound::new(MAX_QUEUED_ITEMS, max_message, account.clone());
    arrival.outbound = outbound;
    let mut work = Box::pin(start(arrival));
    // Most requests finish in the first poll, before anything is sent, and need no queue.
    if let Poll::Ready((frame, status)) = poll_once(work.as_mut()).await {
        if said.is_unused() {
            return reply(status, frame).map(|body| body.with_permit(permit));
        }
        return finished_reply(id, permit, account, said.into_queue(), frame, status);
    }
    let mut said = said.into_queue();
    let first = tokio::select! {
        biased;
        Some(first) = said.recv() => first,
        (frame, status) = &mut work => return finished_reply(id, permit, account, said, frame, status),
    };
    // From here on the reply advances only as fast as the client reads. The work is spawned as a task, so that it also
    // runs while the body is not polled.
    stream_reply(id, permit, account, first, said, async move { work.await.0.into_vec() })
}

/// Creates the reply of work that has finished: a stream if it has sent notifications.
fn finished_reply(
    id: Option<Id>,
    permit: Option<RequestPermit>,
    account: Option<Arc<Account>>,
    mut said: mpsc::Receiver<OutboundItem>,
    frame: Frame,
    status: StatusCode,
) -> Response<ResponseBody> {
    match said.try_recv() {
        Ok(first) => stream_reply(id, permit, account, first, said, async move { frame.into_vec() }),
        Err(_) => reply(status, frame).map(|body| body.with_permit(permit)),
    }
}

/// Creates a stream of `first`, the further notifications, and the result of `work`.
fn stream_reply(
    id: Option<Id>,
    permit: Option<RequestPermit>,
    account: Option<Arc<Account>>,
    first: OutboundItem,
    mut said: mpsc::Receiver<OutboundItem>,
    work: impl Future<Output = Vec<u8>> + Send + 'static,
) -> Response<ResponseBody> {
    let mut work = AbortOnDrop(tokio::spawn(work));
    event_stream(account, move |pen| async move {
        write_item(&pen, first).await;
        loop {
            tokio::select! {
                biased;
                Some(next) = said.recv() => write_item(&pen, next).await,
                answer = &mut work.0 => {
                    // Notifications that were queued in the meantime come before the response.
                    while let Ok(next) = said.try_recv() {
                        write_item(&pen, next).await;
                    }
                    // The task panicked outside of user code: a bug of this crate. The stream ends without a response.
                    if let Ok(frame) = answer
                        && pen.write_last(event(&frame), permit).await.is_err()
                    {
                        let mut frame = Vec::new();
                        write_error(&mut frame, id.as_ref(), &busy(UNREAD));
                        pen.write_charged(event(&frame), None).await;
                    }
                    return;
                }
                () = tokio::time::sleep(KEEP_ALIVE_INTERVAL) => pen.write_keep_alive().await,
            }
        }
    })
}

async fn write_item(pen: &BodyWriter, said: OutboundItem) {
    if let Some(OutboundFrame { bytes, charge }) = said.into_frame() {
        pen.write_charged(event(&bytes), charge).await;
    }
}

/// Returns a message as an event of a stream that cannot be resumed.
fn event(frame: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.len() + 32);
    sse::write_message(&mut bytes, None, frame);
    bytes
}
