//! How is a cassette read? A cassette is a text: its first line describes the recording, each further line is a frame.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::client::record::frame::RecordedFrame;
use crate::ground::error::{Error, ErrorKind, Result};

/// The format that this library writes, and the newest one that it reads.
const FORMAT: u64 = 1;

/// The maximum number of characters of a server's name and of its version in the first line.
const MAX_NAME: usize = 60;

/// A recording that was read from a file.
///
/// ```
/// use toolway::client::record::{Cassette, Direction};
///
/// let text = r#"{"cassette":1,"recorded":"2026-11-18T12:01:07Z","by":"toolway 0.1.0","over":"pipe","redacted":0}
/// {"n":1,"t":0.002,"dir":"out","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}
/// "#;
/// let cassette = Cassette::read(text)?;
/// assert_eq!(cassette.frames[0].direction, Direction::Out);
/// assert!(Cassette::read("hello").unwrap_err().to_string().contains("is not a cassette"));
/// # Ok::<(), toolway::Error>(())
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cassette {
    /// The description of the recording.
    pub header: CassetteHeader,
    /// The frames, in order.
    pub frames: Vec<RecordedFrame>,
}

/// The description of a recording.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CassetteHeader {
    /// The version of the format.
    pub cassette: u64,
    /// When the recording began, in UTC.
    #[serde(default)]
    pub recorded: String,
    /// The program that recorded.
    #[serde(default)]
    pub by: String,
    /// The name and the version of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<RecordedServer>,
    /// The protocol revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The transport: `pipe` or `http`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub over: String,
    /// How many different secrets were removed.
    #[serde(default)]
    pub redacted: u32,
}

/// The server of a recording, as it calls itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordedServer {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default)]
    pub version: String,
}

impl CassetteHeader {
    pub(super) fn new(recorded: String) -> Self {
        let by = format!("toolway {}", env!("CARGO_PKG_VERSION"));
        Self { cassette: FORMAT, recorded, by, ..Self::default() }
    }

    /// Sets the server. Its name and version are cut, because the first line has little room.
    pub(super) fn set_server(&mut self, name: &str, version: &str) {
        let cut = |text: &str| text.chars().take(MAX_NAME).collect::<String>();
        self.server = Some(RecordedServer { name: cut(name), version: cut(version) });
    }

    /// Returns the first line of the cassette, without the line break.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl Cassette {
    /// Reads a cassette from a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, and for the reasons of [`read`](Self::read).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let failed = |error: Error| error.context(format!("the recording {} cannot be used", path.display()));
        let bytes = std::fs::read(path).map_err(|error| {
            failed(Error::new(ErrorKind::Misuse, "the file cannot be read").caused_by(error))
        })?;
        let text = String::from_utf8(bytes).map_err(|_| failed(not_a_cassette("it is not text")))?;
        Self::read(&text).map_err(failed)
    }

    /// Reads the text of a cassette. Members that this version does not know are ignored.
    ///
    /// # Errors
    ///
    /// When the text is not a cassette, is of a newer format, or is cut off or damaged in a line; the error names the
    /// line.
    pub fn read(text: &str) -> Result<Self> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let Some((_, first)) = lines.next() else { return Err(not_a_cassette("it is empty")) };
        let header = read_header(first)?;
        let ends_whole = text.ends_with('\n');
        let last = text.lines().count();
        let mut frames = Vec::new();
        for (index, line) in lines {
            let number = index + 1;
            match RecordedFrame::parse(line) {
                Ok(frame) => frames.push(frame),
                Err(error) if number == last && !ends_whole => {
                    let text = format!(
                        "the recording is cut off in line {number}: it may still be written; the lines before it are whole"
                    );
                    return Err(Error::new(ErrorKind::Misuse, text).caused_by(error));
                }
                Err(error) => {
                    let text = format!("line {number} of the recording is not a frame");
                    return Err(Error::new(ErrorKind::Misuse, text).caused_by(error));
                }
            }
        }
        Ok(Self { header, frames })
    }
}

fn read_header(line: &str) -> Result<CassetteHeader> {
    #[derive(Deserialize)]
    struct Format {
        cassette: u64,
    }
    // A newer format may have other members, so its number is read first.
    let Ok(Format { cassette: format }) = serde_json::from_str(line) else {
        return Err(not_a_cassette("its first line does not say so"));
    };
    if format > FORMAT {
        let text = format!(
            "the recording has format {format}, and this version of toolway reads format {FORMAT}: use a newer version"
        );
        return Err(Error::new(ErrorKind::Misuse, text));
    }
    serde_json::from_str(line).map_err(|error| not_a_cassette("its first line is damaged").caused_by(error))
}

fn not_a_cassette(reason: &str) -> Error {
    Error::new(ErrorKind::Misuse, format!("the file is not a cassette: {reason}"))
}
