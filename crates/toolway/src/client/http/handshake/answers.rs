//! How are the server's questions answered? A question is a request of the server, such as `ping` or a request for user
//! input.

use std::sync::Arc;

use ::http::{HeaderMap, StatusCode};
use bytes::Bytes;
use tokio::time::{sleep, timeout};
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};
use toolway_protocol::{Id, RpcError};

use crate::client::http::handshake::http_session::{BACKGROUND_TIMEOUT, HttpSession};
use crate::client::http::request::events::ReceivedMessage;
use crate::client::wire::backoff::backoff;
use crate::client::wire::inbox::{AnswerFrame, MAX_PENDING_ANSWERS};
use crate::client::wire::outgoing::error_frame;
use crate::ground::error::{Error, ErrorKind, Result};

/// The maximum number of attempts to send one answer.
const MAX_TRIES: u32 = 10;

impl HttpSession {
    /// Handles a message that arrived on a stream and is not the reply that the reader of the stream waits for.
    /// `during` is the request that the stream belongs to.
    ///
    /// If the message is a question whose answer is ready at once, the answer is sent before the next message is read,
    /// so that a server cannot make the client accumulate answers. An answer that takes time is sent in a task of its
    /// own. If an answer does not reach the server, such a task sends it again.
    pub(super) async fn handle_message(
        self: &Arc<Self>,
        received: ReceivedMessage,
        of_caller: &HeaderMap,
        during: Option<&Id>,
    ) {
        let Some(received) = self.pending.deliver(received) else { return };
        if let Some(relay) = self.endpoint.relay() {
            // This waits while the other end does not read, so the server has to wait too.
            let _ = relay.send(received.text).await;
            return;
        }
        let message = received.message;
        let Some(inbox) = self.endpoint.inbox(during) else { return };
        inbox.deliver(&message);
        match inbox.answer(&message) {
            Some(AnswerFrame::Now(frame)) => {
                let headers = self.headers(of_caller);
                match self.post_answer(headers.clone(), frame.clone()).await {
                    Err(error) if may_be_lost(&error) => self.spawn_answer(headers, async { Some(frame) }, 1),
                    Err(error) => tracing::debug!(%error, "an answer did not reach the server"),
                    Ok(()) => {}
                }
            }
            Some(AnswerFrame::Later(frame)) => self.spawn_answer(self.headers(of_caller), frame, 0),
            None => {}
        }
    }

    /// Sends an answer that came from elsewhere, in a task of its own.
    pub(crate) fn pass_on_answer(self: &Arc<Self>, frame: Bytes) {
        self.spawn_answer(self.headers(&HeaderMap::new()), async { Some(frame) }, 0);
    }

    /// Starts a task that sends an answer as soon as it is ready. The task retries while the answer does not reach the
    /// server, up to [`MAX_TRIES`] attempts and until the conversation ends. `tried` is the number of attempts that
    /// were already made.
    fn spawn_answer(
        self: &Arc<Self>,
        headers: HeaderMap,
        frame: impl Future<Output = Option<Bytes>> + Send + 'static,
        tried: u32,
    ) {
        let conversation = self.clone();
        let mut answering = self.answer_tasks.lock();
        while answering.try_join_next().is_some() {}
        if answering.len() >= MAX_PENDING_ANSWERS {
            tracing::debug!("an answer is dropped, because too many answers are waiting to be sent");
            return;
        }
        // The task holds a reference to the conversation. `close` and `detach` abort the task, so that the task does
        // not keep the conversation alive.
        answering.spawn(async move {
            let Some(frame) = frame.await else { return };
            let mut attempt = tried;
            let mut wait = (tried > 0).then(|| backoff(tried, None));
            loop {
                if let Some(wait) = wait {
                    sleep(wait).await;
                }
                attempt += 1;
                match conversation.post_answer(headers.clone(), frame.clone()).await {
                    Err(error) if may_be_lost(&error) && attempt < MAX_TRIES && !conversation.has_ended() => {
                        wait = Some(backoff(attempt, error.retry_after()));
                    }
                    Err(error) => return tracing::debug!(%error, "an answer did not reach the server"),
                    Ok(()) => return,
                }
            }
        });
    }

    /// Sends the answer to a question of the server. If the server replies that the answer is too large, sends an error
    /// in its place, because the server waits for a reply.
    async fn post_answer(&self, headers: HeaderMap, frame: Bytes) -> Result<()> {
        match self.post_answer_once(headers.clone(), frame.clone()).await {
            Err(error) if error.is_too_large() => match too_large_error_frame(&frame, &error) {
                Some(frame) => self.post_answer_once(headers, frame).await,
                None => Err(error),
            },
            outcome => outcome,
        }
    }

    async fn post_answer_once(&self, headers: HeaderMap, frame: Bytes) -> Result<()> {
        let saying = async {
            let response = match self.post_url.get() {
                Some(url) => self.endpoint.post_to(url.clone(), headers, frame).await?,
                None => self.endpoint.post(headers, frame).await?,
            };
            let has_name = self.session_id.get().is_some() || self.post_url.get().is_some();
            if response.status() == StatusCode::NOT_FOUND && has_name {
                self.end();
            }
            self.endpoint.check_accepted(response).await
        };
        timeout(BACKGROUND_TIMEOUT, saying).await.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Timeout, "the server did not accept an answer in time"))
        })
    }
}

/// Returns whether the server may not have the answer. If it has, it ignores the second one: the question is answered.
fn may_be_lost(error: &Error) -> bool {
    let is_lost_by_proxy = matches!(error.http_status(), Some(502 | 504));
    error.is_unsent() || error.is_reply_lost() || error.is_timeout() || is_lost_by_proxy
}

/// Makes an error to send in place of an answer that is too large for the server. Returns `None` if `frame` is not a
/// reply.
fn too_large_error_frame(frame: &[u8], error: &Error) -> Option<Bytes> {
    let mut skimmer = OversizedMessageReader::default();
    skimmer.push(frame);
    let OversizedMessage::Reply(id) = skimmer.finish() else { return None };
    tracing::warn!(%error, bytes = frame.len(), "the answer to a question of the server is too large for the server");
    let text = match error.rpc() {
        Some(refusal) => refusal.message.to_string(),
        None => format!("the answer is {} bytes long, which is more than the server accepts", frame.len()),
    };
    Some(error_frame(&id, &RpcError::internal(text)))
}
