//! What does a frame consist of, if a part of it is the same in many frames?

use bytes::Bytes;

/// A frame that was written. The encoded page of a list is kept by the server, and every reply refers to it instead of
/// copying it.
///
/// ```
/// use toolway_protocol::jsonrpc::Frame;
///
/// let frame = Frame::from(b"{}".to_vec());
/// assert_eq!((frame.len(), frame.into_vec()), (2, b"{}".to_vec()));
/// ```
#[derive(Debug, Default)]
pub struct Frame {
    /// The text without the shared part.
    pub text: Vec<u8>,
    pub(crate) shared: Option<SharedPart>,
}

/// A part of a frame that other frames have too.
#[derive(Debug)]
pub(crate) struct SharedPart {
    /// The place of the part in the text of its frame.
    pub(crate) place: usize,
    pub(crate) part: Bytes,
}

impl Frame {
    /// Returns the length of the whole frame.
    pub fn len(&self) -> usize {
        self.text.len() + self.shared.as_ref().map_or(0, |shared| shared.part.len())
    }

    /// Returns whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the frame as one piece. Copies the shared part.
    pub fn into_vec(self) -> Vec<u8> {
        let Some(SharedPart { place, part }) = self.shared else { return self.text };
        let (before, after) = self.text.split_at(place);
        [before, &part, after].concat()
    }

    /// Returns the pieces of the frame in their order: one piece, or three with the shared part in the middle.
    pub fn into_pieces(self) -> Result<Bytes, [Bytes; 3]> {
        let mut text = Bytes::from(self.text);
        match self.shared {
            None => Ok(text),
            Some(SharedPart { place, part }) => {
                let before = text.split_to(place);
                Err([before, part, text])
            }
        }
    }
}

impl From<Vec<u8>> for Frame {
    fn from(text: Vec<u8>) -> Self {
        Self { text, shared: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::{handshake, stateless};
    use crate::messages::Reply;
    use crate::types::{CacheHints, Implementation, Listing, Resource};
    use crate::version::ProtocolVersion;

    fn joined(pieces: Result<Bytes, [Bytes; 3]>) -> Vec<u8> {
        pieces.map_or_else(|pieces| pieces.concat(), |whole| whole.to_vec())
    }

    #[test]
    fn a_frame_with_a_shared_part_is_the_frame_without() {
        let stamp = stateless::EncodedServerInfo::new(&Implementation::new("me", "1"));
        let mut shared = 0;
        for count in [0, 1, 10, 1000] {
            for cursor in [None, Some("next".to_owned())] {
                let items = (0..count).map(|number| Resource::new(format!("a://{number}"), "a resource"));
                let reply = Reply::Resources(Listing::new(items.collect(), cursor).into());
                let id = 7.into();
                let cache = CacheHints::default();
                for _ in 0..2 {
                    let (mut whole, mut frame) = (Vec::new(), Frame::default());
                    stateless::write_reply(&mut whole, &id, &reply, &cache, &stamp);
                    stateless::write_reply_frame(&mut frame, &id, &reply, &cache, &stamp);
                    assert_eq!(frame.len(), whole.len());
                    shared += u32::from(frame.shared.is_some());
                    assert_eq!(frame.into_vec(), whole);
                    let (mut whole, mut frame) = (Vec::new(), Frame::default());
                    let version = ProtocolVersion::LATEST_HANDSHAKE;
                    handshake::write_reply(&mut whole, version, &id, &reply);
                    handshake::write_reply_frame(&mut frame, version, &id, &reply);
                    assert_eq!(joined(frame.into_pieces()), whole);
                }
            }
        }
        assert_eq!(shared, 4, "long pages are shared, short ones are copied");
    }

    #[test]
    fn all_frames_have_the_same_memory_of_a_page() {
        let items = (0..1000).map(|number| Resource::new(format!("a://{number}"), "a resource"));
        let reply = Reply::Resources(Listing::new(items.collect(), None).into());
        let page = || {
            let mut frame = Frame::default();
            handshake::write_reply_frame(&mut frame, ProtocolVersion::LATEST_HANDSHAKE, &7.into(), &reply);
            frame.into_pieces().expect_err("a long page")[1].as_ptr()
        };
        assert_eq!(page(), page());
    }
}
