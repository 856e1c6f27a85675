//! Which mistake does a store make, and how does it spoil names, times and bytes?

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use toolway_store::Version;

use crate::list::Mistake::{self, *};

/// The mistake of a store, if it has one.
#[derive(Clone, Copy)]
pub(crate) struct Faults(pub(crate) Option<Mistake>);

impl Faults {
    pub(crate) fn has(self, mistake: Mistake) -> bool {
        self.0 == Some(mistake)
    }

    pub(crate) fn text(self, text: &str) -> String {
        match self.0 {
            Some(NamesAreFolded) => text.to_lowercase(),
            Some(NamesAreTrimmed) => text.trim().to_owned(),
            Some(NamesEndAtNul) => text.split('\0').next().unwrap_or_default().to_owned(),
            Some(NamesAreCut) => text.chars().take(255).collect(),
            _ => text.to_owned(),
        }
    }

    pub(crate) fn id(self, group: &str, name: &str) -> Id {
        let name = self.text(name);
        match self.0 {
            Some(GroupsAreIgnored) => (String::new(), name),
            Some(GroupAndNameHaveNoBorder) => (String::new(), format!("{group}{name}")),
            Some(GroupAndNameHaveABorderThatNamesHave) => (String::new(), format!("{group}:{name}")),
            Some(GroupsAreTrimmed) => (group.trim().to_owned(), name),
            _ => (group.to_owned(), name),
        }
    }

    /// Returns when something expires.
    pub(crate) fn until(self, ttl: Duration) -> Instant {
        let ttl = match self.0 {
            Some(NothingExpires) => HOUR,
            Some(TtlIsInSeconds) => Duration::from_secs(ttl.as_secs()),
            Some(ZeroIsForEver) if ttl.is_zero() => HOUR,
            Some(EndlessOverflows) if ttl == Duration::MAX => Duration::ZERO,
            _ => ttl,
        };
        Instant::now().checked_add(ttl).unwrap_or_else(|| Instant::now() + HOUR)
    }

    pub(crate) fn bytes(self, bytes: &Bytes) -> Bytes {
        match self.0 {
            Some(BytesEndAtNul) => {
                bytes.slice(..bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len()))
            }
            Some(BytesAreText) => String::from_utf8_lossy(bytes).into_owned().into(),
            Some(BytesAreCut) => bytes.slice(..bytes.len().min(65_535)),
            _ => bytes.clone(),
        }
    }

    pub(crate) fn version(self, version: Version) -> Version {
        match self.0 {
            Some(VersionsHave32Bits) => Version(version.0 & 0xffff_ffff),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_precision_loss,
                clippy::cast_sign_loss,
                reason = "this is the mistake"
            )]
            Some(VersionsAreFloats) => Version(version.0 as f64 as u64),
            _ => version,
        }
    }
}

/// A group and a name.
pub(crate) type Id = (String, String);

pub(crate) const HOUR: Duration = Duration::from_secs(3600);
