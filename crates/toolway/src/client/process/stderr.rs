//! Which lines has a server written to its stderr lately?

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use crate::client::pipe::printable::printable;
use crate::client::record::Recorder;
use crate::client::wire::rate::RateLimit;
use crate::ground::mutex::Mutex;
use crate::ground::panic::catch_panic;

/// A function that is called with each line of stderr.
pub(super) type LineHook = Arc<dyn Fn(&str) + Send + Sync>;

/// The last lines of a server's stderr. `Display` joins these lines into one line, which is empty if there are none.
pub(super) struct Stderr {
    tail: Mutex<Tail>,
    hook: Option<LineHook>,
    recorder: Option<Recorder>,
    /// How many lines are logged.
    log_rate: RateLimit,
}

#[derive(Default)]
struct Tail {
    /// The printable form of the lines.
    lines: VecDeque<String>,
    /// The total length of `lines` in bytes.
    bytes: usize,
    /// The raw bytes of the line that has not ended yet.
    partial: Vec<u8>,
}

impl Stderr {
    pub(super) fn new(hook: Option<LineHook>, recorder: Option<Recorder>) -> Self {
        let log_rate = RateLimit::new(MAX_LOGGED_LINES, LOG_PERIOD);
        Self { tail: Mutex::default(), hook, recorder, log_rate }
    }

    /// Reads stderr to its end, so that the server never blocks on a full pipe.
    pub(super) async fn drain(&self, mut reader: impl AsyncRead + Unpin, server: &str) {
        let mut buffer = [0; 8 << 10];
        // A read error also ends the loop, because nothing can be done about it.
        while let Ok(count @ 1..) = reader.read(&mut buffer).await {
            for piece in buffer[..count].split_inclusive(|byte| *byte == b'\n') {
                let (text, ends) = match piece.split_last() {
                    Some((b'\n', text)) => (text, true),
                    _ => (piece, false),
                };
                self.tail.lock().extend(text);
                if ends {
                    self.finish_line(server);
                }
            }
        }
        self.finish_line(server);
    }

    fn finish_line(&self, server: &str) {
        let line = {
            let mut tail = self.tail.lock();
            let line = std::mem::take(&mut tail.partial);
            if line.trim_ascii().is_empty() {
                return;
            }
            let shown = printable(&line, MAX_SHOWN);
            if let Some(skipped) = self.log_rate.allow() {
                if skipped > 0 {
                    tracing::debug!(target: "toolway::stderr", server, skipped, "some lines were not logged");
                }
                tracing::debug!(target: "toolway::stderr", server, "{shown}");
            }
            tail.push(shown);
            line
        };
        if let Some(recorder) = &self.recorder {
            recorder.record_err(String::from_utf8_lossy(&line).trim_end_matches('\r'));
        }
        if let Some(hook) = &self.hook {
            let text = String::from_utf8_lossy(&line);
            if let Err(panic) = catch_panic(|| hook(text.trim_end_matches('\r'))) {
                tracing::warn!(%panic, "the hook for lines of stderr panicked");
            }
        }
    }
}

impl Tail {
    fn extend(&mut self, text: &[u8]) {
        let room = MAX_LINE.saturating_sub(self.partial.len());
        self.partial.extend_from_slice(&text[..text.len().min(room)]);
    }

    fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX_LINES || self.bytes > MAX_TAIL {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }
}

impl fmt::Display for Stderr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tail = self.tail.lock();
        let partial = printable(&tail.partial, MAX_SHOWN);
        let lines = tail.lines.iter().chain((!partial.is_empty()).then_some(&partial));
        for (index, line) in lines.enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            f.write_str(line)?;
        }
        Ok(())
    }
}

/// The maximum length of a line in bytes; the rest of a longer line is dropped. The hook gets up to this length.
const MAX_LINE: usize = 4 << 10;
/// The maximum number of lines that are logged within [`LOG_PERIOD`].
const MAX_LOGGED_LINES: u32 = 1000;
/// The period of [`MAX_LOGGED_LINES`].
const LOG_PERIOD: Duration = Duration::from_secs(10);
/// The maximum number of characters of a line that are logged, and kept for errors.
const MAX_SHOWN: usize = 500;
/// The maximum number of lines that are kept for errors.
const MAX_LINES: usize = 20;
/// The maximum total length in bytes of the lines that are kept for errors.
const MAX_TAIL: usize = 8 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_last_lines_are_kept_and_nothing_grows() {
        let stderr = Stderr::new(None, None);
        let text: String =
            (0..1000).map(|number| format!("line {number}")).collect::<Vec<_>>().join("\r\n\n") + "\r\n";
        stderr.drain(text.as_bytes(), "test").await;
        let expected: Vec<_> = (980..1000).map(|number| format!("line {number}")).collect();
        assert_eq!(stderr.to_string(), expected.join(" | "));
        stderr.drain(&*vec![b'x'; 1 << 20], "test").await;
        let tail = stderr.to_string();
        assert!(tail.ends_with("x…") && tail.len() < 1000, "{tail}");
        for _ in 0..30 {
            stderr.drain("ö".repeat(5000).as_bytes(), "test").await;
        }
        assert!(stderr.to_string().len() <= MAX_TAIL + 3 * MAX_LINES);
        assert!(stderr.tail.lock().partial.capacity() <= 2 * MAX_LINE);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_lines_is_not_logged() {
        use std::sync::atomic::{AtomicU32, Ordering};

        use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

        struct Count(Arc<AtomicU32>);
        impl<S: tracing::Subscriber> Layer<S> for Count {
            fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
                if event.metadata().target() == "toolway::stderr" {
                    self.0.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        let logged = Arc::new(AtomicU32::new(0));
        let log = tracing_subscriber::registry().with(Count(logged.clone()));
        let _log = tracing::subscriber::set_default(log);
        let stderr = Stderr::new(None, None);
        stderr.drain("line\n".repeat(5000).as_bytes(), "test").await;
        assert_eq!(logged.load(Ordering::Relaxed), MAX_LOGGED_LINES);
        tokio::time::advance(LOG_PERIOD).await;
        stderr.drain(&b"line\n"[..], "test").await;
        assert_eq!(
            logged.load(Ordering::Relaxed),
            MAX_LOGGED_LINES + 2,
            "the line, and the number of lost lines"
        );
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_seen_and_a_hook_may_panic() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = lines.clone();
        let hook: LineHook = Arc::new(move |line: &str| {
            seen.lock().push(line.to_owned());
            assert_ne!(line, "one", "a test");
        });
        let stderr = Arc::new(Stderr::new(Some(hook), None));
        let (mut writer, reader) = tokio::io::duplex(64);
        let draining = tokio::spawn({
            let stderr = stderr.clone();
            async move { stderr.drain(reader, "test").await }
        });
        tokio::io::AsyncWriteExt::write_all(&mut writer, b"one\ntwo\nPassword: ").await.unwrap();
        while !stderr.to_string().contains("Password:") {
            tokio::task::yield_now().await;
        }
        assert_eq!(stderr.to_string(), "one | two | Password:");
        drop(writer);
        draining.await.unwrap();
        assert_eq!(*lines.lock(), ["one", "two", "Password: "]);
    }
}
