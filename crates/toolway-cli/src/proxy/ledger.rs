//! What must a server know that takes the place of another, and who waits for an answer?

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::json;

use super::line::Message;

/// The maximum number of requests, questions and subscriptions that are remembered, each. A host that has more open gets
/// no answer to the others when the server ends.
const MAX_OPEN: usize = 10_000;

/// A record of the messages between a host and its server, as far as a restart needs them.
#[derive(Default)]
pub(super) struct Ledger {
    /// The host's `initialize`, as a line, and whether it was answered.
    initialize: Option<(Vec<u8>, bool)>,
    /// The host's `notifications/initialized`.
    initialized: Option<Vec<u8>>,
    /// The request that has set the log level last.
    log_level: Option<Vec<u8>>,
    /// The requests that have subscribed to resources, by URI.
    subscriptions: BTreeMap<String, Vec<u8>>,
    /// The requests of the host that wait for an answer: the text of the id, and what to do without one.
    open: HashMap<String, Open>,
    /// The requests of the server that wait for an answer of the host, by the id that the host has seen.
    questions: HashMap<String, Question>,
    /// The ids of requests of servers that have ended. The host may still answer them.
    stale: HashSet<String>,
    /// The ids of requests of the proxy itself.
    own: HashSet<String>,
    next_own: u64,
}

enum Open {
    /// The answer is an error if the server ends.
    Fails,
    /// The request is sent to the next server.
    IsSentAgain(Vec<u8>),
}

struct Question {
    /// The id that the server has given it.
    server_id: String,
}

/// The decision about a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is passed on as it is.
    Pass,
    /// Another line takes its place.
    Instead(Vec<u8>),
    Drop,
}

impl Ledger {
    /// Takes note of a line of the host, before it is passed on.
    pub(super) fn note_host_line(&mut self, line: &[u8]) -> Verdict {
        let messages = Message::read(line);
        let is_single = messages.len() == 1;
        for message in &messages {
            if let Some((id, method)) = message.request() {
                self.note_request(id, method, message, line, is_single);
            } else if message.method.as_deref() == Some("notifications/initialized") {
                self.initialized = Some(line.to_owned());
            } else if message.method.as_deref() == Some("notifications/cancelled") {
                // A request that was cancelled gets no answer, and a subscription is not requested again.
                if let Some(id) = message.param("requestId") {
                    self.open.remove(id.get());
                }
            } else if let Some(id) = message.response().filter(|_| is_single) {
                if let Some(question) = self.questions.remove(id) {
                    let is_renamed = question.server_id != id;
                    return if is_renamed {
                        Verdict::Instead(message.with_id(&question.server_id))
                    } else {
                        Verdict::Pass
                    };
                }
                if self.stale.remove(id) {
                    return Verdict::Drop;
                }
            }
        }
        Verdict::Pass
    }

    fn note_request(&mut self, id: &str, method: &str, message: &Message<'_>, line: &[u8], is_single: bool) {
        let mut open = Open::Fails;
        if is_single {
            match method {
                "initialize" => {
                    // A new conversation: nothing of an earlier one matters to the server.
                    self.initialize = Some((line.to_owned(), false));
                    self.initialized = None;
                    self.log_level = None;
                    self.subscriptions.clear();
                    open = Open::IsSentAgain(line.to_owned());
                }
                "logging/setLevel" => self.log_level = Some(line.to_owned()),
                "resources/subscribe" if self.subscriptions.len() < MAX_OPEN => {
                    if let Some(uri) = message.text_param("uri") {
                        self.subscriptions.insert(uri, line.to_owned());
                    }
                }
                "resources/unsubscribe" => {
                    if let Some(uri) = message.text_param("uri") {
                        self.subscriptions.remove(&uri);
                    }
                }
                "subscriptions/listen" => open = Open::IsSentAgain(line.to_owned()),
                _ => {}
            }
        }
        if self.open.len() < MAX_OPEN {
            self.open.insert(id.to_owned(), open);
        }
    }

    /// Takes note of a line of the server, before it is passed on.
    pub(super) fn note_server_line(&mut self, line: &[u8]) -> Verdict {
        let messages = Message::read(line);
        let is_single = messages.len() == 1;
        for message in &messages {
            if let Some(id) = message.response() {
                if self.own.remove(id) {
                    return Verdict::Drop;
                }
                let answered = self.open.remove(id);
                if let (Some(Open::IsSentAgain(request)), Some((line, is_answered))) =
                    (answered, &mut self.initialize)
                    && request == *line
                    && message.has_result()
                {
                    *is_answered = true;
                }
            } else if let Some((id, _)) = message.request().filter(|_| is_single) {
                if self.stale.contains(id) {
                    // The host has not answered the request of an earlier server with this id, so it needs another one.
                    let host_id = self.next_own_id();
                    let renamed = message.with_id(&host_id);
                    self.questions.insert(host_id, Question { server_id: id.to_owned() });
                    return Verdict::Instead(renamed);
                }
                if self.questions.len() < MAX_OPEN {
                    self.questions.insert(id.to_owned(), Question { server_id: id.to_owned() });
                }
            }
        }
        Verdict::Pass
    }

    /// Takes note that the proxy itself answers a request of the host. Returns `false` if the host does not wait for an answer:
    /// it has one, or has cancelled the request.
    pub(super) fn end_request(&mut self, id: &str) -> bool {
        self.open.remove(id).is_some()
    }

    /// Returns the lines for the host after the server has ended: an error for each open request, and the end of each
    /// question.
    pub(super) fn end_server(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        self.open.retain(|id, open| {
            if matches!(open, Open::Fails) {
                lines.push(lost_answer(id));
            }
            matches!(open, Open::IsSentAgain(_))
        });
        lines.extend(self.end_questions());
        lines
    }

    /// Returns the lines that take back the questions of a server that has ended.
    pub(super) fn end_questions(&mut self) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for (id, _) in self.questions.drain() {
            lines.push(format!(
                "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{{\"requestId\":{id},\"reason\":\"the server ended\"}}}}\n"
            ).into_bytes());
            if self.stale.len() < MAX_OPEN {
                self.stale.insert(id);
            }
        }
        self.own.clear();
        lines
    }

    /// Returns whether the host has opened a conversation.
    pub(super) fn has_session(&self) -> bool {
        self.initialize.as_ref().is_some_and(|(_, is_answered)| *is_answered)
    }

    /// Returns the line that opens the conversation with the next server, and the id of the proxy's own request; `None` if
    /// nothing has to be said first.
    pub(super) fn opening(&mut self) -> Option<(Vec<u8>, String)> {
        let (line, is_answered) = self.initialize.clone()?;
        if !is_answered {
            // The host waits for the answer itself; the request is among those that are sent again.
            return None;
        }
        let id = self.next_own_id();
        let line = Message::read(&line).first()?.with_id(&id);
        Some((line, id))
    }

    /// Returns the lines that follow the opening: what an earlier server was told, and the requests that are sent again.
    pub(super) fn replayed(&mut self) -> Vec<Vec<u8>> {
        let mut lines = self.settings();
        lines.extend(self.open.values().filter_map(|open| match open {
            Open::IsSentAgain(line) => Some(line.clone()),
            Open::Fails => None,
        }));
        lines
    }

    /// Returns what an earlier server was told, as far as it lasts.
    pub(super) fn settings(&mut self) -> Vec<Vec<u8>> {
        let mut lines: Vec<_> = self.initialized.iter().cloned().collect();
        let settings: Vec<_> = self.log_level.iter().chain(self.subscriptions.values()).cloned().collect();
        for line in settings {
            let id = self.next_own_id();
            if let Some(message) = Message::read(&line).first() {
                lines.push(message.with_id(&id));
                self.own.insert(id);
            }
        }
        lines
    }

    fn next_own_id(&mut self) -> String {
        self.next_own += 1;
        format!("\"toolway-proxy-{}\"", self.next_own)
    }
}

/// The answer to a request whose server has ended.
fn lost_answer(id: &str) -> Vec<u8> {
    let text = "the server ended before it answered, and is started again: whether it has done the work is not known";
    error_line(id, text, "serverEnded")
}

/// The answer of the proxy to a request that the server does not answer. `reason` is for programs.
pub(crate) fn error_line(id: &str, text: &str, reason: &str) -> Vec<u8> {
    let error = json!({"code": -32603, "message": text, "data": {"reason": reason}});
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{error}}}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subscription_that_was_cancelled_is_not_requested_again() {
        let listen = |id: u32| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{}}}}"#)
        };
        let mut ledger = Ledger::default();
        for id in [1, 2] {
            assert_eq!(ledger.note_host_line(listen(id).as_bytes()), Verdict::Pass);
        }
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
        assert_eq!(ledger.note_host_line(cancel.as_bytes()), Verdict::Pass);
        assert_eq!(ledger.end_server(), Vec::<Vec<u8>>::new());
        assert_eq!(ledger.replayed(), [listen(2).into_bytes()]);
    }

    #[test]
    fn a_request_that_was_cancelled_or_answered_gets_no_answer_of_the_proxy() {
        let mut ledger = Ledger::default();
        for id in 1..=3 {
            ledger.note_host_line(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#).as_bytes());
        }
        ledger.note_host_line(
            br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        );
        ledger.note_server_line(br#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
        assert_eq!(["1", "2", "3", "3"].map(|id| ledger.end_request(id)), [false, false, true, false]);
    }
}
