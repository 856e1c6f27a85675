//! Recordings of what a client and a server say to each other.
//!
//! A [`Recorder`] gets every frame of a client, as the bytes that went by: the lines of a pipe, the requests, replies and
//! streams of HTTP, and the lines that a process writes to stderr. It keeps the last of them for readers in this
//! process, and can write all of them to a file, a *cassette*. [`Cassette`] reads such a file again.
//!
//! Secrets are removed before a frame is kept or written. [`Recorder`] says which.
//!
//! ```
//! use toolway::client::record::Recorder;
//! use toolway::prelude::*;
//!
//! # #[tool] fn add(a: f64, b: f64) -> f64 { a + b }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let server = Server::new("calculator", "1.0.0").tools(tools![add]).build()?;
//! let recorder = Recorder::new();
//! let client = Client::builder().recorder(&recorder).connect(&server).await?;
//! client.call("add", serde_json::json!({"a": 2, "b": 3})).await?;
//! for frame in recorder.frames(0) {
//!     println!("{}", frame.to_line());
//! }
//! # assert!(recorder.cassette().contains("tools/call"));
//! # Ok::<(), toolway::Error>(()) }).unwrap();
//! ```
//!
//! | file | question |
//! |---|---|
//! | `recorder.rs` | Which frames are kept, who can read them, and when are they written? |
//! | `frame.rs` | What is a recorded frame, and how is it written as a line? |
//! | `cassette.rs` | How is a cassette read? |
//! | `cassette_file.rs` | How is a cassette written while the recording goes on? |
//! | `redact.rs` | Which parts of a frame are secret? |
//! | `text_secrets.rs` | Which parts of a text that is not JSON are secret? |
//! | `secrets.rs` | Which values are known to be secret, and where do they occur? |
//! | `over_http.rs` | Which parts of a request and a reply are secret? |
//! | `timestamp.rs` | How is the time of a recording written? |

mod cassette;
mod cassette_file;
mod frame;
#[cfg(feature = "http")]
mod over_http;
mod recorder;
mod redact;
mod secrets;
mod text_secrets;
mod timestamp;

pub use cassette::{Cassette, CassetteHeader, RecordedServer};
pub use frame::{Direction, FrameBody, HttpPart, RecordedFrame, StreamEnd};
pub(crate) use recorder::Content;
#[cfg(feature = "http")]
pub(crate) use recorder::MAX_CONTENT;
pub use recorder::{FrameReader, Recorder};
