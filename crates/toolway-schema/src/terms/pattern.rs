//! Is a text a valid pattern of JSON Schema, which uses the syntax of ECMA-262, and how is it translated for our regex
//! engine (the crate `regex-lite`)?
//!
//! For patterns that are passed on to a provider, only the syntax is checked: because of one broken pattern, a provider
//! refuses the whole request with all its tools.

use std::iter::Peekable;
use std::str::Chars;

use regex_lite::{Regex, RegexBuilder};

use crate::terms::work::MAX_WORK;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct CompiledPattern {
    regex: Regex,
    /// The approximate size of the program in bytes. Our engine visits every part of the program for every character
    /// of a text, if the text is chosen well.
    size: usize,
}

/// The reason why a pattern cannot be compiled.
#[derive(Debug)]
pub(crate) enum PatternError {
    /// The pattern may be valid, but our engine does not know its syntax.
    Unsupported(regex_lite::Error),
    TooLarge,
}

impl CompiledPattern {
    pub(crate) fn compile(source: &str) -> Result<Self, PatternError> {
        if source.len() > MAX_SOURCE {
            return Err(PatternError::TooLarge);
        }
        let translated = from_ecma(source);
        let build = |limit: usize| RegexBuilder::new(&translated).size_limit(limit).build();
        let regex = build(MAX_PROGRAM).map_err(|error| {
            let is_too_large = error.to_string().contains("size limit");
            if is_too_large { PatternError::TooLarge } else { PatternError::Unsupported(error) }
        })?;
        // The engine does not tell the size of a program, only whether it exceeds a limit.
        let (mut too_small, mut size) = (0, MAX_PROGRAM);
        while size - too_small > size / 8 {
            let middle = usize::midpoint(too_small, size);
            if build(middle).is_ok() { size = middle } else { too_small = middle }
        }
        Ok(Self { regex, size })
    }

    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// Returns the work of matching a text of this length.
    pub(crate) fn work(&self, characters: u64) -> u64 {
        (self.size as u64).saturating_mul(characters.saturating_add(1))
    }

    /// Returns the length of the longest text that can be matched.
    pub(crate) fn max_characters(&self) -> u64 {
        MAX_WORK / self.size as u64 - 1
    }
}

/// The maximum length of a pattern, in bytes.
const MAX_SOURCE: usize = 64 * 1024;

/// The maximum size of a compiled pattern. `x{1,1000}` takes about 70 KiB.
const MAX_PROGRAM: usize = 1024 * 1024;

/// Translates a pattern into the syntax of our regex engine. Characters inside brackets are escaped, where ECMA-262
/// takes nearly every character literally. Groups do not capture: our engine allocates memory for every group in every
/// state of its program.
fn from_ecma(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut letters = pattern.chars().peekable();
    let mut is_inside = false;
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => {
                out.push('\\');
                out.extend(letters.next());
                continue;
            }
            '(' if !is_inside => {
                out.push_str(open_group(&mut letters));
                continue;
            }
            '[' if is_inside => out.push('\\'),
            '[' => is_inside = true,
            ']' => is_inside = false,
            // `&&` and `~~` are set operations in our engine, and plain characters in ECMA-262.
            '&' | '~' if is_inside && letters.peek() == Some(&letter) => out.push('\\'),
            _ => {}
        }
        out.push(letter);
    }
    out
}

/// Skips the name of a group that has just begun. Returns the beginning of a group that does not capture, if the group
/// captures.
fn open_group(letters: &mut Peekable<Chars<'_>>) -> &'static str {
    let mut ahead = letters.clone();
    if ahead.next() != Some('?') {
        return "(?:";
    }
    // Our engine also knows the spelling `(?P<name>`.
    ahead.next_if_eq(&'P');
    let is_named = ahead.next_if_eq(&'<').is_some();
    if !is_named || matches!(ahead.peek(), Some('=' | '!')) || !ahead.any(|letter| letter == '>') {
        return "(";
    }
    *letters = ahead;
    "(?:"
}

/// Returns whether a text has the syntax of a regular expression of ECMA-262.
pub(crate) fn is_valid(pattern: &str) -> bool {
    let letters: Vec<char> = pattern.chars().collect();
    let mut at = 0;
    let mut groups = 0_usize;
    // `true` if the previous element can be repeated.
    let mut is_repeatable = false;
    while let Some(letter) = letters.get(at) {
        at += 1;
        match letter {
            '\\' => {
                let Some(escaped) = letters.get(at) else { return false };
                at += 1;
                is_repeatable = true;
                // `\p{Letter}`, `\u{1f600}`.
                if matches!(escaped, 'p' | 'P' | 'u') && letters.get(at) == Some(&'{') {
                    let Some(length) = letters[at..].iter().position(|letter| *letter == '}') else {
                        return false;
                    };
                    at += length + 1;
                }
            }
            '[' => match class_end(&letters, at) {
                Some(end) => {
                    at = end;
                    is_repeatable = true;
                }
                None => return false,
            },
            '(' => {
                groups += 1;
                is_repeatable = false;
                if letters.get(at) == Some(&'?') {
                    match letters.get(at + 1) {
                        Some(':' | '=' | '!' | '<') => at += 2,
                        _ => return false,
                    }
                }
            }
            ')' => {
                let Some(left) = groups.checked_sub(1) else { return false };
                groups = left;
                is_repeatable = true;
            }
            '*' | '+' | '?' => {
                if !is_repeatable {
                    return false;
                }
                is_repeatable = false;
                at += usize::from(letters.get(at) == Some(&'?'));
            }
            '{' => match counts_end(&letters, at) {
                Some(end) if is_repeatable => {
                    is_repeatable = false;
                    at = end + usize::from(letters.get(end) == Some(&'?'));
                }
                _ => return false,
            },
            '}' | ']' => return false,
            '|' | '^' | '$' => is_repeatable = false,
            _ => is_repeatable = true,
        }
    }
    groups == 0
}

/// Returns whether a pattern has neither look-around nor back-references, which streaming engines do not support.
pub(crate) fn is_simple(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let has_back_reference = bytes
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (pair[1] == b'k' || (b'1'..=b'9').contains(&pair[1])));
    !has_back_reference && !["(?=", "(?!", "(?<=", "(?<!"].iter().any(|look| pattern.contains(look))
}

/// Returns the end of a character class that has just begun.
fn class_end(letters: &[char], mut at: usize) -> Option<usize> {
    at += usize::from(letters.get(at) == Some(&'^'));
    // Engines disagree about an empty class.
    if letters.get(at) == Some(&']') {
        return None;
    }
    loop {
        match letters.get(at)? {
            '\\' => at += 2,
            ']' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the end of `3}`, `3,}` or `3,5}`. Engines disagree about any other brace.
fn counts_end(letters: &[char], at: usize) -> Option<usize> {
    let length = letters.get(at..)?.iter().position(|letter| *letter == '}')?;
    let counts: String = letters[at..at + length].iter().collect();
    let (least, most) = counts.split_once(',').unwrap_or((&counts, &counts));
    let least = least.parse::<u16>().ok()?;
    let most = if most.is_empty() { u16::MAX } else { most.parse().ok()? };
    (least <= most).then_some(at + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_hold_characters() {
        for (pattern, good, bad) in [
            ("^[[]$", "[", "]"),
            ("^[a&&b]+$", "a&b", "c"),
            (r"^\d{3}-\w+\/$", "123-ab/", "12-ab/"),
            ("b", "abc", "ac"),
            (r"^[\]\w.+-]+$", "a]b.c", "a b"),
            (r"^(a|\(b)(?:c)(?<year>\d)(?P<day>[(])$", "(bc1(", "(bc1"),
        ] {
            let regex = CompiledPattern::compile(pattern).unwrap();
            assert!(regex.is_match(good) && !regex.is_match(bad), "{pattern}");
            assert!(!from_ecma(pattern).contains("(?<"), "{pattern}");
        }
        for (pattern, translated) in
            [("(?=a)", "(?=a)"), ("(?<!a)", "(?<!a)"), ("(?<a", "(?<a"), ("(", "(?:")]
        {
            assert_eq!(from_ecma(pattern), translated);
        }
    }

    #[test]
    fn the_size_of_a_program_is_measured() {
        let size = |pattern: &str| CompiledPattern::compile(pattern).unwrap().size;
        assert!((100..400).contains(&size("^[a-z]+$")));
        let (one, ten) = (size("a{1,100}"), size("a{1,1000}"));
        assert!((7 * one..13 * ten).contains(&ten), "{one} and {ten}");
        for large in [r"(?:\w{1,1000}){1,1000}", "(?:(?:(?:){1000}){1000}){1000}", &"(a)".repeat(30_000)] {
            assert!(matches!(CompiledPattern::compile(large), Err(PatternError::TooLarge)));
        }
        assert!(matches!(CompiledPattern::compile("(?=a)"), Err(PatternError::Unsupported(_))));
    }

    /// With capturing groups, the first match would allocate 2 GB.
    #[test]
    fn groups_take_no_memory() {
        let pattern = CompiledPattern::compile(&"(a)?".repeat(6_000)).unwrap();
        assert!(pattern.is_match("a"));
    }

    #[test]
    fn form() {
        for sound in [
            "",
            "^a+$",
            "[a-z]{2,3}?",
            r"\d{4}-\d{2}",
            "(?:a|b)*",
            "(?<year>x)",
            "(?=a)b",
            r"\(",
            "[^a]",
            r"[\]]",
            "a||b",
            r"\p{L}+",
            r"\u{1f600}",
            "a{3}",
            "a{3,}",
        ] {
            assert!(is_valid(sound), "{sound}");
        }
        for broken in [
            "(", r"\p{L", ")", "[a", "*a", "a**", r"\", "a{2", "a{3,2}", "{", "(?a)", "[]", "a)(", "x{1}{2}",
            "^*", "}",
        ] {
            assert!(!is_valid(broken), "{broken}");
        }
    }

    #[test]
    fn looking_around_is_not_simple() {
        assert!(is_simple(r"^[a-z]+\d(?:x)$"));
        for pattern in ["(?=a)b", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1", r"(?<n>a)\k<n>"] {
            assert!(!is_simple(pattern), "{pattern}");
        }
    }
}
