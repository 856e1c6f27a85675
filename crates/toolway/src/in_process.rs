//! How does a client talk to a server in the same process? A request is a function call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use tokio::task::JoinSet;
use toolway_protocol::jsonrpc::{OversizedMessage, OversizedMessageReader};
use toolway_protocol::{Id, Message, ProtocolVersion, RpcError};

use crate::client::record::Recorder;
use crate::client::wire::transport::reply_too_long_error;
use crate::client::{AnswerFrame, Connector, Inbox, IntoTarget, OutgoingMessage, Target, Transport};
use crate::ground::budget::Budget;
use crate::ground::extensions::Extensions;
use crate::ground::future::BoxFuture;
use crate::ground::mutex::Mutex;
use crate::ground::outbound::Outbound;
use crate::server::{Arrival, ConnectRequest, Conversation, Refuse, Server};
use crate::transport::frame::MAX_MESSAGE;

/// Connects to a server in this process, without a transport in between. The server admits the client as it would on a
/// pipe.
///
/// ```
/// # use toolway::prelude::*;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let server = Server::new("calculator", "1.0.0").build()?;
/// let client = Client::connect(&server).await?;
/// client.ping().await?;
/// # Ok::<(), toolway::Error>(()) }).unwrap();
/// ```
impl IntoTarget for &Server {
    fn into_target(self) -> crate::Result<Target> {
        Ok(Target::new(self.clone()))
    }
}

impl IntoTarget for Server {
    fn into_target(self) -> crate::Result<Target> {
        Ok(Target::new(self))
    }
}

impl Connector for Server {
    fn connect(&self) -> BoxFuture<'_, crate::Result<Box<dyn Transport>>> {
        Box::pin(async {
            Ok(Box::new(InProcessTransport::new(self, Extensions::new()).await) as Box<dyn Transport>)
        })
    }

    fn recorded(&self, recorder: &Recorder) -> Option<Target> {
        recorder.set_transport("pipe");
        Some(Target::new(RecordedServer { server: self.clone(), recorder: recorder.clone() }))
    }

    fn name(&self) -> String {
        format!("{} in this process", self.info().name)
    }
}

/// A server in this process whose messages are recorded.
struct RecordedServer {
    server: Server,
    recorder: Recorder,
}

impl Connector for RecordedServer {
    fn connect(&self) -> BoxFuture<'_, crate::Result<Box<dyn Transport>>> {
        Box::pin(async {
            let mut transport = InProcessTransport::new(&self.server, Extensions::new()).await;
            transport.recorder = Some(self.recorder.clone());
            let _ = transport.deliverer.recorder.set(self.recorder.clone());
            Ok(Box::new(transport) as Box<dyn Transport>)
        })
    }

    fn name(&self) -> String {
        self.server.name()
    }
}

/// A transport that calls the server directly.
pub(crate) struct InProcessTransport {
    /// The server's decision to admit the client, made as for a client on a pipe.
    admission: Result<Box<Arrival>, Refuse>,
    /// The maximum size of a reply in bytes.
    max_message: AtomicUsize,
    deliverer: Arc<Deliverer>,
    recorder: Option<Recorder>,
}

/// Delivers the messages that the server sends besides replies.
struct Deliverer {
    conversation: Arc<Conversation>,
    inbox: OnceLock<Inbox>,
    recorder: OnceLock<Recorder>,
    /// One task that delivers notifications of changes, and one for each question being answered.
    tasks: Mutex<JoinSet<()>>,
}

impl Deliverer {
    /// Delivers a message that the server sent during a request or, if `during` is `None`, outside of requests.
    fn deliver(&self, frame: Option<Vec<u8>>, during: Option<&Id>) {
        let Some(frame) = frame else { return };
        if let Some(recorder) = self.recorder.get() {
            recorder.record_in(&frame);
        }
        let (Some(inbox), Ok(message)) = (self.inbox.get(), self.conversation.read_one(&frame.into())) else {
            return;
        };
        let inbox = during.map_or_else(|| inbox.clone(), |request| inbox.for_request(request));
        inbox.deliver(&message);
        if let Some(answering) = inbox.answer(&message) {
            let answer = forward_answer(self.conversation.clone(), answering, self.recorder.get().cloned());
            let mut all = self.tasks.lock();
            while all.try_join_next().is_some() {}
            all.spawn(answer);
        }
    }
}

/// Sends the client's answer to a question to the server.
async fn forward_answer(conversation: Arc<Conversation>, answering: AnswerFrame, recorder: Option<Recorder>) {
    let frame = answering.frame().await;
    if let (Some(recorder), Some(frame)) = (&recorder, &frame) {
        recorder.record_out(frame);
    }
    if let Some(frame) = frame
        && let Some(message) = read_answer(&conversation, &frame)
    {
        conversation.serve(message, Box::default()).await;
    }
}

/// Reads the answer. An answer longer than the server's limit is replaced by an error.
fn read_answer(conversation: &Conversation, frame: &Bytes) -> Option<Message> {
    let max = conversation.server.max_message();
    if frame.len() <= max {
        return conversation.read_one(frame).ok();
    }
    let mut skimmer = OversizedMessageReader::default();
    skimmer.push(frame);
    match skimmer.finish() {
        OversizedMessage::Reply(id) => {
            Some(Message::Response { id: Some(id), outcome: Err(RpcError::too_large(max)) })
        }
        _ => None,
    }
}

impl InProcessTransport {
    pub(crate) async fn new(server: &Server, extensions: Extensions) -> Self {
        let admission = server.admit(ConnectRequest::over_pipe(), extensions).await;
        let conversation = Arc::new(Conversation::new(server.clone()));
        let hearing = Arc::new(Deliverer {
            conversation,
            inbox: OnceLock::new(),
            recorder: OnceLock::new(),
            tasks: Mutex::default(),
        });
        let heard = hearing.clone();
        let view = admission.as_ref().map(|admitted| admitted.stream_view()).unwrap_or_default();
        let view = Arc::new(Mutex::new(view));
        hearing.tasks.lock().spawn(async move {
            loop {
                for frame in heard.conversation.changes(&view).await {
                    heard.deliver(Some(frame), None);
                }
            }
        });
        let max_message = AtomicUsize::new(MAX_MESSAGE);
        Self { admission, max_message, deliverer: hearing, recorder: None }
    }

    async fn serve_request(&self, outgoing: OutgoingMessage) -> crate::Result<Option<Message>> {
        let admitted = self.admission.as_ref().map_err(Refuse::error)?;
        let conversation = &self.deliverer.conversation;
        let during = outgoing.id.as_ref();
        if let Some(recorder) = &self.recorder {
            recorder.record_out(&outgoing.frame);
        }
        let message =
            conversation.refuse_long(&outgoing.frame).and_then(|()| conversation.read_one(&outgoing.frame));
        let message = message.map_err(|rejected| rejected.error)?;
        let (outbound, said) = Outbound::new(16, conversation.server.max_message(), None);
        let mut said = said.into_queue();
        let account = Some(conversation.server.common_account());
        let stream_budget = Some(Budget { total: usize::MAX, share: usize::MAX });
        let arrival = Box::new(Arrival { outbound, account, stream_budget, ..(**admitted).clone() });
        let mut work = conversation.clone().serve(message, arrival);
        let reply = loop {
            tokio::select! {
                biased;
                Some(said) = said.recv() => self.deliverer.deliver(said.into_frame().map(|frame| frame.bytes), during),
                reply = &mut work => break reply,
            }
        };
        // Messages that the server sent during the request are delivered before the reply.
        while let Ok(said) = said.try_recv() {
            self.deliverer.deliver(said.into_frame().map(|frame| frame.bytes), during);
        }
        if let (Some(recorder), Some(frame)) = (&self.recorder, &reply) {
            recorder.record_in(frame);
        }
        let max = self.max_message.load(Ordering::Relaxed);
        match reply {
            Some(frame) if frame.len() > max => Err(reply_too_long_error(max)),
            Some(frame) => Ok(Some(conversation.read_one(&frame.into()).map_err(|rejected| rejected.error)?)),
            None => Ok(None),
        }
    }
}

impl Transport for InProcessTransport {
    fn send(&self, outgoing: OutgoingMessage) -> BoxFuture<'_, crate::Result<Option<Message>>> {
        Box::pin(self.serve_request(outgoing))
    }

    fn set_inbox(&self, inbox: Inbox) {
        let _ = self.deliverer.inbox.set(inbox);
    }

    fn set_max_message(&self, bytes: usize) -> usize {
        self.max_message.store(bytes, Ordering::Relaxed);
        bytes
    }

    /// Dropping the future drops the call itself.
    fn cancels_by_dropping(&self, _version: ProtocolVersion) -> bool {
        true
    }
}

impl Drop for InProcessTransport {
    fn drop(&mut self) {
        self.deliverer.tasks.lock().abort_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::{Answer, Client};

    #[tokio::test]
    async fn a_server_that_is_called_directly_may_ask() {
        let server = Server::new("app", "1.0.0").build().expect("a server");
        let (sender, mut asked) = tokio::sync::mpsc::unbounded_channel();
        let builder = Client::builder().on_elicit(move |question| {
            let _ = sender.send(question.message().to_owned());
            async { Answer::decline() }
        });
        let direct = InProcessTransport::new(&server, Extensions::new()).await;
        let hearing = direct.deliverer.clone();
        let builder = builder.protocol(ProtocolVersion::LATEST_HANDSHAKE);
        let client = builder.connect(direct).await.expect("a client");
        let question = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}"#;
        hearing.deliver(Some(question.into()), None);
        assert_eq!(asked.recv().await.as_deref(), Some("Who?"));
        client.ping().await.expect("a server");
        // Finished tasks are removed.
        for _ in 0..100 {
            hearing.deliver(Some(question.into()), None);
            assert_eq!(asked.recv().await.as_deref(), Some("Who?"));
            client.ping().await.expect("a server");
        }
        let kept = hearing.tasks.lock().len();
        assert!(kept < 50, "{kept} of 101 are kept");
    }
}
