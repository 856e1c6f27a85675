//! How is an input changed into another one that gets as far?
//!
//! Most random changes break the grammar of a text, and then only the first line of defence is tested. So half of the
//! changes replace a whole word, or a whole value in brackets, by one that occurs in the corpus.

use std::ops::Range;

/// A repeatable source of random numbers (xorshift64*).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// Creates a source. Neighbouring seeds give unrelated numbers.
    pub fn new(seed: u64) -> Self {
        let state = seed.wrapping_add(0x9e37_79b9_7f4a_7c15).wrapping_mul(0xd6e8_feb8_6659_fd93);
        // 0 is the only state that xorshift never leaves.
        Self((state ^ (state >> 32)).max(1))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number below `limit`, which must not be 0.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from((self.next() >> 32) % limit as u64).unwrap_or_default()
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }

    fn byte(&mut self) -> u8 {
        self.next().to_be_bytes()[0]
    }

    /// Returns a short range within `length`.
    fn range(&mut self, length: usize) -> Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(24)).min(length)
    }
}

/// The inputs that a target starts from.
#[derive(Debug)]
pub struct Corpus {
    /// The inputs, in the order of their names.
    pub inputs: Vec<Vec<u8>>,
}

impl Corpus {
    /// Returns an input with up to four changes.
    pub fn mutated(&self, random: &mut Random) -> Vec<u8> {
        let mut input = random.pick(&self.inputs).clone();
        for _ in 0..=random.below(4) {
            self.mutate(&mut input, random);
        }
        input
    }

    /// Changes an input once.
    pub fn mutate(&self, input: &mut Vec<u8>, random: &mut Random) {
        let part = random.range(input.len());
        let other = random.pick(&self.inputs);
        match random.below(12) {
            0 if !input.is_empty() => {
                let at = random.below(input.len());
                input[at] ^= 1 << random.below(8);
            }
            0 | 1 => drop(input.splice(part, [random.byte()])),
            2 => drop(input.drain(part)),
            3 => {
                let copy = input[part.clone()].to_vec();
                input.splice(part.end..part.end, copy);
            }
            4 => drop(input.splice(part, other[random.range(other.len())].iter().copied())),
            5 => drop(input.splice(part, random.pick(&PIECES).bytes())),
            // The remaining changes mostly keep the grammar.
            6 => {
                let (from, to) = (random_line(other, random), random_line(input, random));
                input.splice(to, other[from].iter().copied());
            }
            7 => {
                let (from, to) = (random_line(other, random), random_line(input, random).start);
                let line = [&other[from], b"\n"].concat();
                input.splice(to..to, line);
            }
            8 => {
                let (from, to) = (random_value(other, random), random_value(input, random));
                input.splice(to, other[from].iter().copied());
            }
            _ => {
                let (from, to) = (random_word(other, random), random_word(input, random));
                input.splice(to, other[from].iter().copied());
            }
        }
        input.truncate(MAX_INPUT);
    }
}

/// Returns a line, without its line break.
fn random_line(input: &[u8], random: &mut Random) -> Range<usize> {
    let at = random.below(input.len() + 1);
    let start = input[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let end = input[at..].iter().position(|byte| *byte == b'\n').map_or(input.len(), |length| at + length);
    start..end
}

/// Returns a number, a name, a string with its quotes, or any other byte.
fn random_word(input: &[u8], random: &mut Random) -> Range<usize> {
    let is_letter = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-$/".contains(byte);
    let at = random.below(input.len() + 1);
    match input.get(at) {
        None => at..at,
        Some(b'"') => at..end_of_string(input, at),
        Some(byte) if is_letter(byte) => {
            let start = input[..at].iter().rposition(|byte| !is_letter(byte)).map_or(0, |end| end + 1);
            let length = input[at..].iter().position(|byte| !is_letter(byte));
            start..length.map_or(input.len(), |length| at + length)
        }
        Some(_) => at..at + 1,
    }
}

/// Returns a value of JSON: from an opening bracket to the closing one, or a word.
fn random_value(input: &[u8], random: &mut Random) -> Range<usize> {
    let word = random_word(input, random);
    if !matches!(input.get(word.start), Some(b'{' | b'[')) {
        return word;
    }
    let (mut at, mut depth) = (word.start, 0_usize);
    while let Some(byte) = input.get(at) {
        match byte {
            b'"' => at = end_of_string(input, at) - 1,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            break;
        }
    }
    word.start..at
}

/// Returns the place after the quote that closes the string at `start`.
fn end_of_string(input: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = input.get(at) {
        at += 1 + usize::from(*byte == b'\\');
        if *byte == b'"' {
            break;
        }
    }
    at.min(input.len())
}

/// Longer inputs find nothing that shorter ones do not, and take longer.
const MAX_INPUT: usize = 4096;

/// Pieces of text that often decide how the rest is read.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\r",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\u{1b}[",
    "\u{feff}",
    "\u{202e}",
    "é",
    "😀",
    "\\ud800",
    "0",
    "-0",
    "1e999",
    "9007199254740993",
    "18446744073709551616",
    "null",
    "true",
    "..",
    "//",
    "%2e",
    "@",
    "#",
    "?",
    "$",
    "${",
    "$${",
    "__",
    "*/",
    "=",
    "--",
];
