//! When is a request sent again? When the server has not begun to execute it, or when it is safe to repeat.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};
use toolway_protocol::jsonrpc::Code;
use toolway_protocol::{RawJson, Request};

use crate::client::connect::connection::Connection;
use crate::client::connect::shared::ClientState;
use crate::client::wire::backoff::backoff;
use crate::client::wire::request_options::{RequestOptions, RequestRounds};
use crate::ground::error::{Error, ErrorKind, Result};

/// How long a request without a timeout may be retried.
const MAX_RETRY_TIME: Duration = Duration::from_secs(60);

impl ClientState {
    /// Sends a request and returns the result unchanged, over as many connections as needed.
    pub(crate) async fn request_with_retries(
        self: &Arc<Self>,
        request: &Request,
        mut terms: RequestOptions,
        safe: Option<bool>,
    ) -> Result<RawJson> {
        let own_headers = terms.headers.len();
        let mut course = RequestRounds::new(request);
        let mut trying = RetryState::new(self.reconnector.retries(), terms.timeout);
        loop {
            let error = match self.connection_until(trying.deadline).await {
                Ok(connection) => {
                    terms.headers.truncate(own_headers);
                    self.add_argument_headers(&connection, request, &mut terms.headers);
                    let outcome = connection.request(&mut course, &terms).await;
                    match outcome.inspect(|_| self.subscriptions.note(request)) {
                        Ok(result) => return Ok(result),
                        Err(error)
                            if self
                                .refresh_tools_after_mismatch(&connection, request, &error, &mut trying)
                                .await =>
                        {
                            continue;
                        }
                        Err(error) => error,
                    }
                }
                Err(error) => error,
            };
            if self.is_closed() {
                return Err(error);
            }
            let safe = safe.unwrap_or_else(|| self.is_safe_to_repeat(request));
            trying.wait_for_retry(error, safe).await?;
        }
    }

    /// Waits for a usable connection, at most until `until`.
    async fn connection_until(self: &Arc<Self>, until: Instant) -> Result<Arc<Connection>> {
        if let Some(current) = self.open_connection()? {
            return Ok(current);
        }
        timeout_at(until, self.connection()).await.unwrap_or_else(|_| {
            let message = format!("{} could not be reached in time", self.reconnector.name());
            Err(Error::new(ErrorKind::Timeout, message).unsent())
        })
    }

    /// Adds a header for each tool argument that must also be sent in a header.
    fn add_argument_headers(
        &self,
        connection: &Connection,
        request: &Request,
        headers: &mut Vec<(String, String)>,
    ) {
        if let Request::CallTool(call) = request
            && connection.mirrors_arguments()
        {
            self.tools.add_argument_headers(&call.name, call.arguments.as_ref(), headers);
        }
    }

    /// Fetches the tool list again if a call was refused because its headers did not match the tool. Returns whether
    /// the call should be sent again. The list is fetched at most once for each request.
    async fn refresh_tools_after_mismatch(
        self: &Arc<Self>,
        connection: &Arc<Connection>,
        request: &Request,
        error: &Error,
        trying: &mut RetryState,
    ) -> bool {
        let Request::CallTool(_) = request else { return false };
        if error.code() != Some(Code::HEADER_MISMATCH)
            || !connection.mirrors_arguments()
            || std::mem::replace(&mut trying.has_refreshed_tools, true)
        {
            return false;
        }
        self.notifications.invalidate_tools();
        Box::pin(self.listed_tools()).await.is_ok()
    }

    /// Returns whether it is safe if the server executes a request twice.
    fn is_safe_to_repeat(&self, request: &Request) -> bool {
        if let Request::CallTool(call) = request {
            return self.tools.is_safe_to_repeat(&call.name);
        }
        request.facts().is_some_and(|facts| !facts.effectful)
    }
}

/// The number of attempts so far, and the limits for more.
struct RetryState {
    attempt: u32,
    retries: u32,
    deadline: Instant,
    /// `true` once the tool list was fetched again for this request.
    has_refreshed_tools: bool,
    /// `true` once the server has broken the protocol.
    has_misbehaved: bool,
}

impl RetryState {
    fn new(retries: u32, timeout: Option<Duration>) -> Self {
        let now = Instant::now();
        // A very long timeout may exceed what the clock can represent.
        let until = now.checked_add(timeout.unwrap_or(MAX_RETRY_TIME)).unwrap_or(now + MAX_RETRY_TIME);
        Self { attempt: 0, retries, deadline: until, has_refreshed_tools: false, has_misbehaved: false }
    }

    /// Waits until the next attempt may start. Returns `error` if no further attempt should be made.
    async fn wait_for_retry(&mut self, error: Error, safe: bool) -> Result<()> {
        let harmless = error.is_unsent() || error.is_session_ended() || (safe && error.is_reply_lost());
        if !harmless || error.is_timeout() || self.attempt == self.retries {
            return Err(error);
        }
        // A server that broke the protocol would probably do so again, and each attempt may start a new process. But
        // one more attempt is made, because the malformed reply may have belonged to another call.
        if error.kind() == ErrorKind::PeerMisbehaved && std::mem::replace(&mut self.has_misbehaved, true) {
            return Err(error);
        }
        // If only the session has ended, the server is running, so the first retry is immediate. Otherwise the server
        // may still be starting.
        let wait = match (error.is_session_ended(), self.attempt) {
            (true, 0) => Duration::ZERO,
            _ => backoff(self.attempt, error.retry_after()),
        };
        if Instant::now() + wait >= self.deadline {
            return Err(error);
        }
        self.attempt += 1;
        tracing::debug!(%error, attempt = self.attempt, ?wait, "a request is sent again");
        sleep(wait).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_server_that_breaks_the_protocol_is_tried_once_more() {
        let mut trying = RetryState::new(6, None);
        let broken = || Error::new(ErrorKind::PeerMisbehaved, "the line is too long").reply_lost();
        assert!(trying.wait_for_retry(broken(), true).await.is_ok());
        assert!(trying.wait_for_retry(broken(), true).await.is_err());
    }
}
