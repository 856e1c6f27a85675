//! How is a recording shown without its server? Its frames are put into a recorder of their own, so that everything that
//! reads frames works as with a server.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolway::client::record::{Cassette, CassetteHeader, Recorder};

use super::elements::Elements;
use super::object::{SetMember, object};
use super::spawn::spawn;
use crate::failure::{Failure, Result, chain};

/// How often a recording that grows is read.
const LOOK_INTERVAL: Duration = Duration::from_millis(200);

/// A recording that is shown.
pub(super) struct Recording {
    header: CassetteHeader,
    frames: Recorder,
    elements: Arc<Elements>,
}

impl Recording {
    /// Reads the text of a cassette.
    pub(super) fn read(text: &str) -> Result<Self> {
        let cassette = Cassette::read(text).map_err(|error| Failure::usage(chain(&error)))?;
        let frames = Recorder::new();
        for frame in cassette.frames {
            frames.replay(frame);
        }
        let elements = Arc::new(Elements::of_recording(&frames.frames(0)));
        Ok(Self { header: cassette.header, frames, elements })
    }

    /// Reads the file of a cassette. If it grows, further frames are added as they are written.
    pub(super) fn open(path: &Path, is_followed: bool) -> Result<Self> {
        let text = std::fs::read(path)
            .map_err(|error| Failure::usage(format!("{} cannot be read: {error}", path.display())))?;
        let text = String::from_utf8(text)
            .map_err(|_| Failure::usage(format!("{} is not a cassette: it is not text", path.display())))?;
        // The last line of a file that grows may be there in part.
        let whole = if is_followed { text.rfind('\n').map_or(0, |end| end + 1) } else { text.len() };
        let recording = Self::read(&text[..whole])
            .map_err(|failure| Failure::usage(format!("{}: {}", path.display(), failure.message)))?;
        if is_followed {
            let (path, frames) = (path.to_owned(), recording.frames.clone());
            spawn(Box::pin(follow(path, whole as u64, frames, recording.header.to_line())));
        }
        Ok(recording)
    }

    pub(super) fn name(&self) -> String {
        self.header.server.as_ref().map_or_else(|| "recording".to_owned(), |server| server.name.clone())
    }

    pub(super) fn recorder(&self) -> &Recorder {
        &self.frames
    }

    pub(super) fn elements(&self) -> Arc<Elements> {
        self.elements.clone()
    }

    pub(super) fn cassette(&self) -> String {
        let mut text = self.header.to_line();
        text.push('\n');
        for frame in self.frames.frames(0) {
            text.push_str(&frame.to_line());
            text.push('\n');
        }
        text
    }

    pub(super) fn describe(&self) -> Value {
        let mut state = object! {
            "can": object! {"cut": false, "restart": false, "call": false},
            "connection": object! {"state": "closed", "since_ms": 0.0, "took_ms": Value::Null, "error": Value::Null},
            "era": Value::Null, "wanted": Value::Null, "instructions": Value::Null, "capabilities": Value::Null, "hidden": Value::Array(Vec::new()), "watched": Value::Array(Vec::new()),
        };
        let server = self.header.server.as_ref();
        state.set("target", &format!("recorded {} by {}", self.header.recorded, self.header.by));
        state.set("over", &"recording");
        state.set("recorded_over", &self.header.over);
        state.set("revision", &self.header.revision);
        state.set("info", &server.map(|server| object! {"name": server.name, "version": server.version}));
        state
    }
}

/// Adds the frames that are written to a file. Each line is read once it is complete.
async fn follow(path: PathBuf, mut at: u64, frames: Recorder, header: String) {
    loop {
        tokio::time::sleep(LOOK_INTERVAL).await;
        let path = path.clone();
        let read = tokio::task::spawn_blocking(move || read_lines(&path, at)).await;
        let Ok(Ok((lines, end))) = read else { continue };
        at = end;
        for line in lines {
            // A line that is not a frame is left out: the file is another program's to write.
            if let Ok(cassette) = Cassette::read(&format!("{header}\n{line}\n")) {
                for frame in cassette.frames {
                    frames.replay(frame);
                }
            }
        }
    }
}

/// Returns the complete lines of a file from a position on, and the position after them.
fn read_lines(path: &Path, from: u64) -> std::io::Result<(Vec<String>, u64)> {
    use std::io::{Seek, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    file.seek(SeekFrom::Start(from))?;
    let mut reader = BufReader::new(file);
    let (mut lines, mut at) = (Vec::new(), from);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if !line.ends_with(b"\n") {
            break;
        }
        at += line.len() as u64;
        lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
        line.clear();
    }
    Ok((lines, at))
}
