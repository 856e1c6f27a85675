//! Which frames are kept, who can read them, and when are they written?

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Instant, SystemTime};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;
use toolway_protocol::RawJson;

use crate::client::record::cassette::CassetteHeader;
use crate::client::record::cassette_file::CassetteFile;
use crate::client::record::frame::{Direction, FrameBody, HttpPart, RecordedFrame};
use crate::client::record::redact::redact_json;
use crate::client::record::secrets::Secrets;
use crate::client::record::text_secrets::{header_secrets, is_secret_header, redact_text};
use crate::client::record::timestamp::timestamp;
use crate::ground::mutex::Mutex;
use crate::ground::operator::print_without_subscriber;

/// The maximum number of frames that are kept in memory.
const MAX_FRAMES: usize = 10_000;

/// The maximum total size in bytes of the frames that are kept in memory.
const MAX_BYTES: usize = 64 << 20;

/// The maximum size in bytes of the content of one frame. The content of a longer frame is left out.
pub(crate) const MAX_CONTENT: usize = 16 << 20;

/// How many frames of a server are searched for its name.
const MAX_SEARCHED: u32 = 50;

/// Records the frames of clients. Clones share the recording.
///
/// Give it to a client with [`ClientBuilder::recorder`](crate::client::ClientBuilder::recorder). The recording goes on
/// when the client reconnects. In memory, the last 10,000 frames are kept, at most 64 MiB; a [file](Self::to_file) gets
/// all of them.
///
/// **Secrets** are removed before a frame is kept, written or shown. Each is replaced by a number, such as `«1»`; the
/// same secret always gets the same number, so that frames can still be compared. Secrets are
///
/// - the values of `Authorization`, `Cookie` and similar headers, of the headers that the application has set, and of
///   all headers and JSON members whose names contain *token*, *secret*, *password* or *key*;
/// - the user and the query of URLs, also within texts;
/// - the bearer tokens, headers and tokens of a sign-in that the client uses;
/// - the variables of the environment that a child process gets, except those that every program gets, such as `PATH`,
///   and paths that exist on this machine.
///
/// Values of at least eight bytes from the last two groups, and from headers and members, are removed wherever they
/// occur later. Schemas (`inputSchema`, `outputSchema`, `requestedSchema`) only lose values that are known: a schema
/// describes a member `password` but does not contain passwords. What is secret for other reasons stays: look at a
/// recording before you share it, and use [`hide`](Self::hide) for what you know.
///
/// ```
/// use toolway::client::record::Recorder;
///
/// let recorder = Recorder::new();
/// recorder.hide("the name of the project");
/// recorder.record_err("starting the name of the project");
/// assert_eq!(recorder.frames(0)[0].to_line().split_once("raw").unwrap().1, "\":\"starting «1»\"}");
/// ```
#[derive(Clone)]
pub struct Recorder(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) state: Mutex<State>,
    /// The number of the last frame.
    last: watch::Sender<u64>,
    /// The number of the next HTTP request.
    pub(super) next_stream: AtomicU64,
    started: Instant,
}

pub(super) struct State {
    /// The frames that are kept, without gaps.
    frames: VecDeque<Arc<RecordedFrame>>,
    bytes: usize,
    next: u64,
    pub(super) secrets: Secrets,
    header: CassetteHeader,
    /// How many frames of the server were searched for its name.
    searched: u32,
    file: Option<CassetteFile>,
    path: PathBuf,
    problem: Option<String>,
}

impl Default for Recorder {
    fn default() -> Self {
        Self::new()
    }
}

impl Recorder {
    /// Creates a recorder that keeps frames in memory only.
    pub fn new() -> Self {
        let header = CassetteHeader::new(timestamp(SystemTime::now()));
        let state = State {
            frames: VecDeque::new(),
            bytes: 0,
            next: 1,
            secrets: Secrets::default(),
            header,
            searched: 0,
            file: None,
            path: PathBuf::new(),
            problem: None,
        };
        Self(Arc::new(Shared {
            state: Mutex::new(state),
            last: watch::Sender::new(0),
            next_stream: AtomicU64::new(1),
            started: Instant::now(),
        }))
    }

    /// Creates a recorder that also writes all frames to a file, line by line as they go by. An existing file is
    /// replaced. On Unix, only its owner can read a new file.
    ///
    /// If the file cannot be written, the recording continues in memory, and calls are not affected. The problem is an
    /// error in the log (on stderr, if the program has no log), and [`problem`](Self::problem) returns it.
    pub fn to_file(path: impl AsRef<Path>) -> Self {
        let recorder = Self::new();
        {
            let mut state = recorder.0.state.lock();
            path.as_ref().clone_into(&mut state.path);
            match CassetteFile::create(path.as_ref(), &state.header) {
                Ok(file) => state.file = Some(file),
                Err(error) => state.fail(&error),
            }
        }
        recorder
    }

    /// Returns why the file could not be written; `None` if it is written, or there is none.
    pub fn problem(&self) -> Option<String> {
        self.0.state.lock().problem.clone()
    }

    /// Removes a value from everything that is recorded from now on. Values of less than eight bytes are ignored,
    /// because they occur in other words.
    pub fn hide(&self, secret: &str) {
        self.0.state.lock().secrets.learn_own(secret);
    }

    /// Returns a text in which the secrets that are known so far have their marks. Use it for what is shown beside the
    /// frames, such as results and logs.
    ///
    /// ```
    /// use toolway::client::record::Recorder;
    ///
    /// let recorder = Recorder::new();
    /// recorder.hide("correct horse");
    /// assert_eq!(recorder.redact("the battery of the correct horse"), "the battery of the «1»");
    /// ```
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.0.state.lock().secrets.replace(text)
    }

    /// Hides the value of a header, if its name says that it is secret.
    pub(crate) fn hide_header(&self, name: &str, value: &str) {
        if is_secret_header(name) {
            let mut state = self.0.state.lock();
            for secret in header_secrets(name, value) {
                state.secrets.learn_own(&secret);
            }
        }
    }

    /// Sets the transport, for the first line of the cassette.
    pub(crate) fn set_transport(&self, over: &str) {
        let mut state = self.0.state.lock();
        if state.header.over.is_empty() {
            over.clone_into(&mut state.header.over);
            state.update_file_header();
        }
    }

    /// Records a message that was sent to a server.
    pub fn record_out(&self, frame: &[u8]) {
        self.record(Direction::Out, None, Content::of(frame));
    }

    /// Records a message that came from a server, or a line that should be one.
    pub fn record_in(&self, frame: &[u8]) {
        self.record(Direction::In, None, Content::of(frame));
    }

    /// Records a line that a server has written to stderr.
    pub fn record_err(&self, line: &str) {
        self.record(Direction::Err, None, Content::Text(line));
    }

    /// Adds a frame of another recording: its number becomes the next one of this recording, the rest stays as it is.
    ///
    /// ```
    /// use toolway::client::record::{Cassette, Recorder};
    ///
    /// let text = "{\"cassette\":1}\n{\"n\":9,\"t\":0.5,\"dir\":\"err\",\"raw\":\"ready\"}\n";
    /// let recorder = Recorder::new();
    /// for frame in Cassette::read(text)?.frames {
    ///     recorder.replay(frame);
    /// }
    /// assert_eq!(recorder.frames(0)[0].number, 1);
    /// # Ok::<(), toolway::Error>(())
    /// ```
    pub fn replay(&self, frame: RecordedFrame) {
        self.add(|_| frame);
    }

    pub(crate) fn record(&self, direction: Direction, http: Option<HttpPart>, content: Content<'_>) {
        let time = self.0.started.elapsed();
        self.add(|state| {
            let body = state.redacted(content);
            RecordedFrame { number: 0, time, direction, http, body }
        });
    }

    /// Gives a frame the next number, and keeps it.
    fn add(&self, make: impl FnOnce(&mut State) -> RecordedFrame) {
        let number = {
            let mut state = self.0.state.lock();
            let mut frame = make(&mut state);
            let number = state.next;
            state.next += 1;
            frame.number = number;
            state.note_server(&frame);
            state.write(&frame);
            state.keep(frame);
            number
        };
        self.0.last.send_if_modified(|last| {
            let is_later = number > *last;
            *last = number.max(*last);
            is_later
        });
    }

    /// Returns the frames after the frame with this number, as far as they are kept; `0` returns all.
    pub fn frames(&self, after: u64) -> Vec<Arc<RecordedFrame>> {
        let state = self.0.state.lock();
        let skipped = state.frames.partition_point(|frame| frame.number <= after);
        state.frames.range(skipped..).cloned().collect()
    }

    /// Returns a reader of all frames after the frame with this number: first of those that are kept, then of each new
    /// one.
    ///
    /// ```
    /// use toolway::client::record::Recorder;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let recorder = Recorder::new();
    /// let mut reader = recorder.follow(0);
    /// recorder.record_err("ready");
    /// assert_eq!(reader.next().await.number, 1);
    /// # });
    /// ```
    pub fn follow(&self, after: u64) -> FrameReader {
        FrameReader { recorder: self.clone(), last: self.0.last.subscribe(), after }
    }

    /// Returns the frames that are kept as the text of a cassette.
    pub fn cassette(&self) -> String {
        let (header, frames) = {
            let mut state = self.0.state.lock();
            state.header.redacted = state.secrets.replaced();
            (state.header.clone(), state.frames.iter().cloned().collect::<Vec<_>>())
        };
        let mut text = header.to_line();
        text.push('\n');
        for frame in frames {
            text.push_str(&frame.to_line());
            text.push('\n');
        }
        text
    }
}

/// The content of a frame before secrets are removed.
pub(crate) enum Content<'c> {
    /// A message, or something else in its place.
    Message(&'c [u8]),
    /// A text.
    Text(&'c str),
    /// A text of this library, which is recorded as it is.
    Note(String),
    Nothing,
}

impl<'c> Content<'c> {
    /// Returns the content of a frame with these bytes.
    pub(crate) fn of(bytes: &'c [u8]) -> Self {
        if bytes.is_empty() { Self::Nothing } else { Self::Message(bytes) }
    }
}

impl State {
    fn redacted(&mut self, content: Content<'_>) -> FrameBody {
        let secrets = &mut self.secrets;
        match content {
            Content::Message(bytes) if bytes.len() > MAX_CONTENT => too_long(bytes.len()),
            Content::Message(bytes) => {
                let json = std::str::from_utf8(bytes).ok().and_then(|text| redact_json(text, secrets));
                match json.and_then(|text| RawJson::parse(&text).ok()) {
                    Some(text) => FrameBody::Json(text),
                    None => FrameBody::Raw(raw_text(&String::from_utf8_lossy(bytes), secrets)),
                }
            }
            Content::Text(text) if text.len() > MAX_CONTENT => too_long(text.len()),
            Content::Text(text) => FrameBody::Raw(raw_text(text, secrets)),
            Content::Note(text) => FrameBody::Raw(text),
            Content::Nothing => FrameBody::Empty,
        }
    }

    /// Takes the name of the server and the revision from the server's first answers.
    fn note_server(&mut self, frame: &RecordedFrame) {
        let FrameBody::Json(text) = &frame.body else { return };
        if frame.direction != Direction::In || self.searched >= MAX_SEARCHED {
            return;
        }
        self.searched += 1;
        let Some(found) = read_server(text.as_str()) else { return };
        if let Some((name, version)) = &found.server {
            self.header.set_server(name, version);
        }
        if found.revision.is_some() {
            self.header.revision = found.revision;
        }
    }

    fn write(&mut self, frame: &RecordedFrame) {
        self.update_file_header();
        if let Some(file) = &mut self.file
            && let Err(error) = file.write_line(&frame.to_line())
        {
            self.fail(&error);
        }
    }

    fn update_file_header(&mut self) {
        self.header.redacted = self.secrets.replaced();
        if let Some(file) = &mut self.file
            && let Err(error) = file.set_header(&self.header)
        {
            self.fail(&error);
        }
    }

    /// Gives the file up.
    fn fail(&mut self, error: &std::io::Error) {
        self.file = None;
        let problem = format!("the recording {} cannot be written: {error}", self.path.display());
        tracing::error!("{problem}");
        print_without_subscriber(format_args!("{problem}"));
        self.problem = Some(problem);
    }

    fn keep(&mut self, frame: RecordedFrame) {
        self.bytes += frame.size();
        self.frames.push_back(Arc::new(frame));
        while self.frames.len() > MAX_FRAMES || self.bytes > MAX_BYTES {
            let Some(oldest) = self.frames.pop_front() else { break };
            self.bytes -= oldest.size();
        }
    }
}

fn raw_text(text: &str, secrets: &mut Secrets) -> String {
    // A text that is not a message may have been cut off, within a secret too.
    let text = redact_text(text, secrets);
    secrets.trim_cut_end(&text).to_owned()
}

fn too_long(bytes: usize) -> FrameBody {
    FrameBody::Raw(format!(
        "{bytes} bytes are left out: a recording holds at most {MAX_CONTENT} of one message"
    ))
}

/// The facts about the server in a frame.
struct ServerFacts {
    server: Option<(String, String)>,
    revision: Option<String>,
}

/// Reads what an answer says about the server, in either era.
fn read_server(frame: &str) -> Option<ServerFacts> {
    #[derive(Deserialize)]
    struct Reply<'r> {
        #[serde(borrow)]
        result: Opening<'r>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Opening<'r> {
        #[serde(borrow)]
        server_info: Option<&'r RawValue>,
        protocol_version: Option<String>,
        supported_versions: Option<Vec<String>>,
        #[serde(rename = "_meta")]
        meta: Option<Meta>,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(rename = "io.modelcontextprotocol/serverInfo")]
        server_info: Option<Named>,
    }
    #[derive(Deserialize)]
    struct Named {
        name: String,
        #[serde(default)]
        version: String,
    }
    let Reply { result } = serde_json::from_str(frame).ok()?;
    let named = result.server_info.and_then(|info| serde_json::from_str::<Named>(info.get()).ok());
    let named = named.or_else(|| result.meta.and_then(|meta| meta.server_info));
    let revision = result.protocol_version.or_else(|| result.supported_versions?.into_iter().max());
    let server = named.map(|named| (named.name, named.version));
    (server.is_some() || revision.is_some()).then_some(ServerFacts { server, revision })
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.0.state.lock();
        f.debug_struct("Recorder")
            .field("frames", &state.frames.len())
            .field("bytes", &state.bytes)
            .field("requests", &(self.0.next_stream.load(Ordering::Relaxed) - 1))
            .field("problem", &state.problem)
            .finish_non_exhaustive()
    }
}

/// Reads the frames of a [`Recorder`]. Made by [`Recorder::follow`].
#[derive(Debug)]
pub struct FrameReader {
    recorder: Recorder,
    last: watch::Receiver<u64>,
    after: u64,
}

impl FrameReader {
    /// Waits for the next frame. If the reader is so slow that frames are no longer kept, it continues with the oldest
    /// that is: then the [number](RecordedFrame::number) of the frame is more than one greater than that of the frame
    /// before. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Arc<RecordedFrame> {
        loop {
            if let Some(frame) = self.try_next() {
                return frame;
            }
            let after = self.after;
            // This cannot fail: the reader holds the recorder, which holds the sender.
            let _ = self.last.wait_for(|last| *last > after).await;
        }
    }

    /// Returns the next frame if it is there.
    pub fn try_next(&mut self) -> Option<Arc<RecordedFrame>> {
        let state = self.recorder.0.state.lock();
        let at = state.frames.partition_point(|frame| frame.number <= self.after);
        let frame = state.frames.get(at)?.clone();
        self.after = frame.number;
        Some(frame)
    }
}
