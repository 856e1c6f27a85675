//! How does a server notice that it has missed a message to all servers?
//!
//! A server numbers such messages, and its mark in the store says up to which number it has sent them. The other servers read
//! the marks every few seconds, so they notice a message that did not arrive, although no connection was lost. They need not
//! look at their sessions at intervals then.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::message::{MessageNumber, News, NodeMessage};
use crate::ground::mutex::Mutex;

/// The messages of this server to all servers.
#[derive(Default)]
pub(super) struct SentMessages(Mutex<SentState>);

#[derive(Default)]
struct SentState {
    /// The last number that was given out.
    last: u64,
    /// The numbers of messages that are being sent.
    open: BTreeSet<u64>,
    /// The numbers of messages that were not sent, or perhaps not: the other servers must not wait for them.
    unused: BTreeSet<u64>,
}

impl SentMessages {
    /// Gives out the next number.
    pub(super) fn begin(self: &Arc<Self>) -> OpenNumber {
        let mut state = self.0.lock();
        state.last += 1;
        let number = state.last;
        state.open.insert(number);
        OpenNumber { sent: self.clone(), number }
    }

    /// Returns what the next mark says.
    pub(super) fn progress(&self) -> SentProgress {
        let state = self.0.lock();
        let before_open = state.open.first().map_or(state.last, |first| first - 1);
        let mut unused: Vec<_> = state.unused.iter().copied().take(MAX_UNUSED + 1).collect();
        // The rest of them is for the next mark.
        let before_rest = (unused.len() > MAX_UNUSED).then(|| unused.pop()).flatten().map(|next| next - 1);
        SentProgress { last: before_open.min(before_rest.unwrap_or(u64::MAX)), unused }
    }

    /// Forgets the unused numbers that all servers were told.
    pub(super) fn forget_unused(&self, told: &[u64]) {
        let mut state = self.0.lock();
        for number in told {
            state.unused.remove(number);
        }
    }
}

/// The number of a message that is being sent. Dropping it says that the message was not sent.
pub(super) struct OpenNumber {
    sent: Arc<SentMessages>,
    number: u64,
}

impl OpenNumber {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Records that the message was sent.
    pub(super) fn mark_sent(self) {
        self.sent.0.lock().open.remove(&self.number);
    }
}

impl Drop for OpenNumber {
    fn drop(&mut self) {
        let mut state = self.sent.0.lock();
        if state.open.remove(&self.number) {
            state.unused.insert(self.number);
        }
    }
}

/// How far a server has sent its messages.
pub(super) struct SentProgress {
    /// All messages up to this number were sent, or are not used.
    pub(super) last: u64,
    /// The unused numbers that the others were not told yet.
    pub(super) unused: Vec<u64>,
}

impl SentProgress {
    /// Writes the value of the mark.
    pub(super) fn write(&self) -> Bytes {
        self.last.to_string().into()
    }

    /// Writes the message that tells the unused numbers, if there are some.
    pub(super) fn unused_message(&self, node: &str) -> Option<Bytes> {
        if self.unused.is_empty() {
            return None;
        }
        let news = News::Unused { node: node.to_owned(), numbers: self.unused.clone() };
        Some(NodeMessage::write("", news))
    }
}

/// The messages of other servers that have arrived here.
#[derive(Default)]
pub(super) struct ReceivedMessages {
    /// `true` once the marks were read after the subscription began, or had a gap.
    has_begun: bool,
    nodes: HashMap<String, NodeProgress>,
}

/// The messages of one server.
#[derive(Default)]
struct NodeProgress {
    /// Everything up to this number has arrived, or is not waited for.
    arrived: u64,
    /// The numbers of messages that have arrived before others.
    early: BTreeSet<u64>,
    /// The last number that the mark named, and when it was read: if a message up to it is missing after a while, it is lost.
    expected: Option<(u64, Instant)>,
}

impl ReceivedMessages {
    /// Messages may have been missed. Those that were sent before the next look at the marks are not waited for.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    pub(super) fn arrived(&mut self, message: &MessageNumber) {
        self.node(&message.node).arrive(message.number);
    }

    pub(super) fn unused(&mut self, node: &str, numbers: &[u64]) {
        let progress = self.node(node);
        for number in numbers {
            progress.arrive(*number);
        }
    }

    fn node(&mut self, node: &str) -> &mut NodeProgress {
        self.nodes.entry(node.to_owned()).or_default()
    }

    /// Compares the messages with the marks of other servers. Returns whether something has to be looked up, because messages
    /// may have been missed.
    pub(super) fn compare<'m>(
        &mut self,
        now: Instant,
        marks: impl Iterator<Item = (&'m str, &'m [u8])>,
    ) -> bool {
        let is_start = !std::mem::replace(&mut self.has_begun, true);
        let mut is_missing = is_start;
        let mut nodes = HashMap::new();
        for (node, mark) in marks {
            let mut progress = self.nodes.remove(node).unwrap_or_default();
            let last = std::str::from_utf8(mark).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            if is_start {
                progress.skip_to(last);
            } else {
                is_missing |= progress.expect(last, now);
            }
            nodes.insert(node.to_owned(), progress);
        }
        // The others have died.
        self.nodes = nodes;
        is_missing
    }
}

impl NodeProgress {
    fn arrive(&mut self, number: u64) {
        if number > self.arrived {
            self.early.insert(number);
            // Something is missing before them, and has to be looked up in any case.
            if self.early.len() > MAX_EARLY {
                self.early.pop_first();
            }
        }
        self.advance();
    }

    fn advance(&mut self) {
        while self.early.first().is_some_and(|first| *first <= self.arrived + 1) {
            self.arrived = self.arrived.max(self.early.pop_first().unwrap_or(0));
        }
    }

    fn skip_to(&mut self, number: u64) {
        self.arrived = self.arrived.max(number);
        self.advance();
    }

    /// Takes what the mark says. Returns whether something is missing that it said a while ago.
    fn expect(&mut self, last: u64, now: Instant) -> bool {
        let Some((expected, since)) = self.expected else {
            self.expected = Some((last, now));
            return false;
        };
        if now.duration_since(since) < ON_ITS_WAY {
            return false;
        }
        let is_missing = self.arrived < expected;
        self.skip_to(expected);
        self.expected = Some((last, now));
        is_missing
    }
}

/// How long a message may be on its way.
const ON_ITS_WAY: Duration = Duration::from_secs(2);
/// How many unused numbers one message tells.
const MAX_UNUSED: usize = 256;
/// How many messages of one server are remembered that have arrived before others.
const MAX_EARLY: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    const NODE: &str = "one";

    fn arrive(received: &mut ReceivedMessages, number: u64) {
        received.arrived(&MessageNumber { node: NODE.to_owned(), number });
    }

    fn compare(received: &mut ReceivedMessages, now: Instant, mark: &str) -> bool {
        received.compare(now, [(NODE, mark.as_bytes())].into_iter())
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_does_not_arrive_is_missed() {
        let (mut received, mut now) = (ReceivedMessages::default(), Instant::now());
        assert!(compare(&mut received, now, "7"), "what happened before has to be looked up");
        let mut after = |mark: &str, numbers: &[u64]| {
            for number in numbers {
                arrive(&mut received, *number);
            }
            now += ON_ITS_WAY;
            compare(&mut received, now, mark)
        };
        assert!(!after("7", &[]));
        assert!(!after("10", &[9, 8, 9]), "the tenth may be on its way");
        assert!(!after("10", &[10]));
        assert!(!after("12", &[12]));
        assert!(after("12", &[]), "the eleventh is missing");
        assert!(!after("12", &[]), "once");
        assert!(!after("13", &[13]));
        assert!(!after("13", &[]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_has_time_to_arrive_however_often_marks_are_read() {
        let (mut received, now) = (ReceivedMessages::default(), Instant::now());
        compare(&mut received, now, "0");
        for _ in 0..5 {
            assert!(!compare(&mut received, now, "1"));
        }
        assert!(compare(&mut received, now + ON_ITS_WAY, "1"));
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_messages_of_a_new_server_are_not_missed_unseen() {
        let (mut received, now) = (ReceivedMessages::default(), Instant::now());
        received.compare(now, std::iter::empty());
        assert!(!compare(&mut received, now, "1"));
        assert!(compare(&mut received, now + ON_ITS_WAY, "1"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_message_that_was_not_sent_is_not_missed() {
        let (sent, mut received) = (Arc::new(SentMessages::default()), ReceivedMessages::default());
        let now = Instant::now();
        compare(&mut received, now, "0");
        let [first, second, third] = [(); 3].map(|()| sent.begin());
        assert_eq!(sent.progress().last, 0, "the first is being sent");
        arrive(&mut received, second.number());
        arrive(&mut received, third.number());
        second.mark_sent();
        third.mark_sent();
        drop(first);
        let progress = sent.progress();
        assert_eq!((progress.last, &progress.unused[..]), (3, &[1][..]));
        let message = progress.unused_message(NODE).unwrap();
        let Some(News::Unused { node, numbers }) = NodeMessage::read(&message).map(|read| read.news) else {
            panic!("{message:?}")
        };
        received.unused(&node, &numbers);
        sent.forget_unused(&numbers);
        assert!(sent.progress().unused.is_empty());
        for seconds in 1..=3 {
            assert!(!compare(&mut received, now + ON_ITS_WAY * seconds, "3"));
        }
    }

    #[test]
    fn a_mark_says_no_more_than_the_unused_numbers_that_fit() {
        let sent = Arc::new(SentMessages::default());
        (0..=MAX_UNUSED).for_each(|_| drop(sent.begin()));
        let progress = sent.progress();
        assert_eq!((progress.unused.len(), progress.last), (MAX_UNUSED, MAX_UNUSED as u64));
        sent.forget_unused(&progress.unused);
        assert_eq!(sent.progress().last, MAX_UNUSED as u64 + 1);
    }
}
