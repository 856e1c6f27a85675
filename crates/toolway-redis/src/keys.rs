//! Under which keys is the data of a group?

/// The keys of one prefix.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    prefix: String,
}

/// The kinds of data that have a namespace of their own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind {
    Value,
    Map,
    Log,
}

impl Keys {
    pub(crate) fn new(prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into() }
    }

    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the part of a key that all keys of a group begin with. A Redis Cluster places them by what is in the
    /// braces, so all of them are in one slot.
    pub(crate) fn of_group(&self, group: &str) -> String {
        let mut key = String::with_capacity(self.prefix.len() + group.len() + 2);
        key.push_str(&self.prefix);
        key.push('{');
        push_tag(&mut key, group);
        key.push('}');
        key
    }

    pub(crate) fn channel(&self, channel: &str) -> String {
        format!("{}{channel}", self.prefix)
    }

    pub(crate) fn format(&self) -> String {
        format!("{}{{{OWN_GROUP}}}format", self.prefix)
    }

    /// The key of the servers that share the store, with their formats.
    pub(crate) fn servers(&self) -> String {
        format!("{}{{{OWN_GROUP}}}servers", self.prefix)
    }

    pub(crate) fn secret(&self) -> String {
        format!("{}{{{OWN_GROUP}}}secret", self.prefix)
    }
}

impl Kind {
    /// Returns the key of a name, given what the keys of its group begin with.
    pub(crate) fn key(self, group: &str, name: &str) -> String {
        let kind = match self {
            Self::Value => "v/",
            Self::Map => "m/",
            Self::Log => "l/",
        };
        [group, kind, name].concat()
    }
}

/// Returns the slot of a Redis Cluster that has the keys of a group.
#[cfg(feature = "cluster")]
pub(crate) fn slot(group: &str) -> u16 {
    let mut tag = String::new();
    push_tag(&mut tag, group);
    crc16(tag.as_bytes()) % SLOTS
}

/// Adds a group as the tag of a key: never empty and without braces, because Redis reads such tags differently.
fn push_tag(key: &mut String, group: &str) {
    if group.is_empty() {
        key.push('%');
    }
    for character in group.chars() {
        match character {
            '{' => key.push_str("%7B"),
            '}' => key.push_str("%7D"),
            '%' => key.push_str("%25"),
            other => key.push(other),
        }
    }
}

/// CRC-16/XMODEM, which the specification of Redis Cluster names.
#[cfg(feature = "cluster")]
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |mut crc, byte| {
        crc ^= u16::from(*byte) << 8;
        for _ in 0..8 {
            crc = if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 };
        }
        crc
    })
}

/// The group of what belongs to the store itself.
pub(crate) const OWN_GROUP: &str = "c";
/// The number of slots of a Redis Cluster.
#[cfg(feature = "cluster")]
pub(crate) const SLOTS: u16 = 16_384;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_different_groups_and_kinds_differ() {
        let keys = Keys::new("tw1:");
        assert_eq!(Kind::Log.key(&keys.of_group("s/1"), "a b"), "tw1:{s/1}l/a b");
        let groups = ["", "%", "{", "}", "%7B", "%25", "a{b}c"].map(|group| keys.of_group(group));
        assert_eq!(groups[6], "tw1:{a%7Bb%7Dc}");
        for (at, group) in groups.iter().enumerate() {
            assert!(!groups[at + 1..].contains(group), "{group}");
            assert_eq!((group.matches('{').count(), group.matches('}').count()), (1, 1));
        }
    }

    #[cfg(feature = "cluster")]
    #[test]
    fn the_checksum_is_the_one_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31C3);
    }
}
