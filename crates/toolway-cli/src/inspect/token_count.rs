//! About how many tokens is a text? An estimate without a vocabulary, fitted to the tokenizers of today's models.

use serde_json::{Map, Value};

/// Letters of one word that make a single token.
const WORD: usize = 13;

/// Further letters of a word for one more token.
const WORD_PART: usize = 8;

/// Returns about how many tokens a text has. A count in tenths is rounded up.
pub(super) fn estimate_tokens(text: &str) -> usize {
    let mut tenths = 0usize;
    let mut letters = text.chars().peekable();
    while let Some(first) = letters.next() {
        let mut take = |is_same: fn(char) -> bool| {
            let mut length = 1usize;
            while letters.next_if(|letter| is_same(*letter)).is_some() {
                length += 1;
            }
            length
        };
        tenths += match first {
            ' ' if take(|letter| letter == ' ') == 1 => 1,
            letter if letter.is_whitespace() => {
                take(char::is_whitespace);
                10
            }
            letter if letter.is_ascii_digit() => 10 * take(|letter| letter.is_ascii_digit()).div_ceil(3),
            letter if letter.is_ascii_alphabetic() => {
                // A capital begins a word.
                let length = take(|letter| letter.is_ascii_lowercase());
                10 * (1 + length.saturating_sub(WORD).div_ceil(WORD_PART))
            }
            letter if letter.is_ascii_punctuation() => {
                let length = take(|letter| letter.is_ascii_punctuation());
                (length * 100 / 35).max(10)
            }
            _ => 10,
        };
    }
    tenths.div_ceil(10)
}

/// Adds the counts of an object, one for each provider, to sums.
pub(super) fn add_tokens(sums: &mut Map<String, Value>, counts: &Value) {
    for (provider, count) in counts.as_object().into_iter().flatten() {
        let former = sums.get(provider).and_then(Value::as_u64).unwrap_or(0);
        sums.insert(provider.clone(), (former + count.as_u64().unwrap_or(0)).into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_and_punctuation_count() {
        for (text, tokens) in
            [("", 0), ("hello", 1), ("hello world", 3), ("1234567", 3), ("{\"a\":", 3), ("日本", 2)]
        {
            assert_eq!(estimate_tokens(text), tokens, "{text:?}");
        }
    }
}
