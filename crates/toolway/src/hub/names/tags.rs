//! Which prefix do the elements of a server have, and what replaces a name that cannot be kept?

use std::collections::{BTreeMap, HashMap, HashSet};

use super::rules::NameRules;
use toolway_schema::legal_name::{first_free, fnv1a, with_hash};

/// The tag of each server: a unique text without a separator, so that everything after the first separator of a joined
/// name is the element's name.
///
/// The tag of a server is its name if possible; otherwise it ends with a hash. A tag does not depend on other servers,
/// except in one case: a server has exactly the name that is the hashed tag of another. In that case the name is kept,
/// and the hashed tag gets another hash.
#[derive(Debug, Clone)]
pub(crate) struct Tags {
    rules: NameRules,
    hash: HashFn,
    by_server: BTreeMap<String, String>,
    by_tag: HashMap<String, String>,
}

/// Hashes a text and the number of an attempt.
pub(crate) type HashFn = fn(&str, u32) -> u64;

impl Default for Tags {
    fn default() -> Self {
        Self::new(NameRules::default(), fnv)
    }
}

impl Tags {
    pub(crate) fn new(rules: NameRules, hash: HashFn) -> Self {
        Self { rules, hash, by_server: BTreeMap::new(), by_tag: HashMap::new() }
    }

    pub(crate) fn get(&self, server: &str) -> Option<&str> {
        self.by_server.get(server).map(String::as_str)
    }

    pub(crate) fn server(&self, tag: &str) -> Option<&str> {
        self.by_tag.get(tag).map(String::as_str)
    }

    pub(crate) fn insert(&mut self, server: &str) {
        if !self.by_server.contains_key(server) {
            self.by_server.insert(server.to_owned(), String::new());
            self.assign();
        }
    }

    pub(crate) fn remove(&mut self, server: &str) {
        if self.by_server.remove(server).is_some() {
            self.assign();
        }
    }

    fn assign(&mut self) {
        let room = self.rules.max_tag_len();
        let is_kept = |name: &str| name.len() <= room && self.rules.can_be_tag(name);
        let hashed = |name: &str, attempt| {
            let letters = name.chars().map(|letter| self.rules.tag_letter(letter));
            hashed_name(letters.collect(), room, (self.hash)(name, attempt), self.rules.filler())
        };
        let assigned = assign_names(self.by_server.keys().map(String::as_str), is_kept, hashed);
        self.by_tag = assigned.iter().map(|(server, tag)| (tag.clone(), server.clone())).collect();
        // The same servers, so that this replaces every tag. `collect` would sort, with code of its own.
        self.by_server.extend(assigned);
    }
}

/// Gives each text a unique name: the text itself if it can be kept, or a hashed name. Texts that are kept get their
/// names before the others. `texts` must be sorted, so that the order in which they were added does not matter.
pub(crate) fn assign_names<'t>(
    texts: impl Iterator<Item = &'t str> + Clone,
    is_kept: impl Fn(&str) -> bool,
    hashed: impl Fn(&str, u32) -> String,
) -> Vec<(String, String)> {
    let (mut assigned, mut taken) = (Vec::new(), HashSet::new());
    for text in texts.clone().filter(|text| is_kept(text)) {
        taken.insert(text.to_owned());
        assigned.push((text.to_owned(), text.to_owned()));
    }
    for text in texts.filter(|text| !is_kept(text)) {
        let name = first_free(|attempt| hashed(text, attempt), |name| !taken.contains(name));
        taken.insert(name.clone());
        assigned.push((text.to_owned(), name));
    }
    assigned
}

/// Truncates a text to the available room and appends a hash. The text must be ASCII.
pub(crate) fn hashed_name(mut text: String, room: usize, hash: u64, filler: char) -> String {
    let digits = (0..HASH_LETTERS).map(|digit| (hash >> (digit * 5)) & 31);
    let digits = digits.map(|digit| char::from(DIGITS[usize::try_from(digit).unwrap_or_default()]));
    let hash: String = digits.collect();
    text.truncate(room - HASH_LETTERS - 1);
    text.truncate(text.trim_end_matches(filler).len());
    if text.is_empty() { hash } else { with_hash(text, room, filler, &hash) }
}

/// FNV-1a, followed by a mix of all bits. The hash of a text must be the same in every program and version, because
/// names that contain a hash are remembered. The function does not have to resist crafted collisions: names of two
/// servers never collide, and equal hashes within one server are resolved.
pub(crate) fn fnv(text: &str, attempt: u32) -> u64 {
    let hash = fnv1a(text.bytes().chain(attempt.to_le_bytes()));
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    hash ^ (hash >> 32)
}

/// The number of characters of a hash. Each character holds 5 bits.
const HASH_LETTERS: usize = 8;

const DIGITS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
