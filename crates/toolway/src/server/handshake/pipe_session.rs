//! The session of a pipe, before and after its handshake.

use std::sync::{Arc, OnceLock};

use toolway_protocol::era::batch;
use toolway_protocol::era::lifecycle::Lifecycle;
use toolway_protocol::jsonrpc::{Params, ParsedFrame, Rejection, write_error};
use toolway_protocol::{Era, Id, Message, Method, Notification, RawJson, RpcError};

use crate::ground::mutex::Mutex;
use crate::server::Server;
use crate::server::admission::notification_filter::NotificationFilter;
use crate::server::call::scope::Arrival;
use crate::server::call::stream_rights::SharedView;
use crate::server::changes::listeners::Listener;
use crate::server::handshake::{self, Session};

/// The session of a pipe: at most one handshake, and the session that it opened.
#[derive(Debug)]
pub(crate) struct PipeSession {
    opened: OnceLock<Session>,
    /// Serves requests that arrive without a handshake, or before it.
    without_handshake: Session,
    lifecycle: Mutex<Lifecycle>,
    listener: Option<Arc<Listener>>,
}

impl PipeSession {
    pub(crate) fn new(server: &Server, listener: Option<Arc<Listener>>) -> Self {
        let version = server.inner.pinned.unwrap_or(Lifecycle::default().version());
        // A client without a handshake gets no change notifications.
        let unopened = Session::without_handshake(version, None);
        Self { opened: OnceLock::new(), without_handshake: unopened, lifecycle: Mutex::default(), listener }
    }

    fn current(&self) -> &Session {
        self.opened.get().unwrap_or(&self.without_handshake)
    }

    /// Returns whether the peer has opened the session with a handshake.
    pub(crate) fn is_opened(&self) -> bool {
        self.opened.get().is_some()
    }

    /// Waits for changes, and returns a notification for each. Until the client has confirmed the handshake with
    /// `notifications/initialized`, the list is empty and the changes are kept.
    pub(crate) async fn changes(&self, server: &Server, view: &SharedView) -> Vec<Vec<u8>> {
        let Some(listener) = &self.listener else { return std::future::pending().await };
        listener.changed().await;
        let Some(session) = self.opened.get() else { return Vec::new() };
        if !self.lifecycle.lock().may_send(&Method::ToolsChanged) {
            return Vec::new();
        }
        let filter = NotificationFilter::new(server, view.lock().clone());
        let frame = |change: Notification| {
            let mut frame = Vec::new();
            change.write(&mut frame, session.version());
            frame
        };
        listener.take_for(|change| filter.allows(change)).map(frame).collect()
    }

    /// Checks a batch against the revision: only some revisions allow batches.
    pub(crate) fn check_batch(
        &self,
        server: &Server,
        messages: Vec<Result<Message, Rejection>>,
    ) -> Result<ParsedFrame, Rejection> {
        let messages = if server.serves(Era::Handshake) {
            batch::check(self.current().version(), messages)
        } else {
            Err(batch::unsupported_error())
        };
        messages.map(ParsedFrame::Batch).map_err(|error| Rejection { id: None, error })
    }

    /// Answers a request.
    pub(crate) async fn serve(
        &self,
        server: &Server,
        id: &Id,
        method: &Method,
        params: &Params,
        arrival: Box<Arrival>,
    ) -> Vec<u8> {
        if *method == Method::Initialize {
            return self.open(server, id, params);
        }
        handshake::serve(server, self.current(), id, method, params, arrival).await.into_vec()
    }

    fn open(&self, server: &Server, id: &Id, params: &Params) -> Vec<u8> {
        let mut lifecycle = self.lifecycle.lock();
        match handshake::initialize(server, &mut lifecycle, id, params, self.listener.clone()) {
            Ok((frame, session)) => {
                self.opened.get_or_init(|| session);
                frame
            }
            Err(error) => {
                let mut frame = Vec::new();
                write_error(&mut frame, Some(id), &error);
                frame
            }
        }
    }

    /// Handles a notification: `notifications/initialized`, or one for the application.
    pub(crate) async fn handle_notification(
        &self,
        server: &Server,
        method: &Method,
        params: &Params,
        arrival: Box<Arrival>,
    ) {
        if *method == Method::Initialized {
            self.lifecycle.lock().initialized();
            if let Some(listener) = &self.listener {
                listener.wake();
            }
        } else {
            handshake::handle_notification(server, self.current(), method, params, arrival).await;
        }
    }

    /// Takes the client's answer to a question.
    pub(crate) fn deliver_answer(&self, id: Option<&Id>, outcome: Result<RawJson, RpcError>) {
        // An answer that comes too late is ignored.
        let _ = self.current().deliver_answer(id, outcome);
    }

    /// Ends all open questions, because the peer will send no more answers.
    pub(crate) fn end_questions(&self) {
        self.current().end_questions();
    }
}
