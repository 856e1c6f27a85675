//! Which characters must not reach a person unchanged, and how are they written instead?
//!
//! A text of a peer may contain characters that a terminal executes, and characters that a reader does not see. Both can
//! make a text look like a different text. This is the only list of such characters.

/// Returns whether a character is executed by a terminal, changes the direction of the text around it, or is invisible.
/// Spaces are printable; line breaks and tabs are not.
pub(crate) fn is_unprintable(letter: char) -> bool {
    // Nearly all letters are ASCII, and need no search.
    if letter.is_ascii() {
        return letter.is_ascii_control();
    }
    letter.is_control() || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&letter))
}

/// Appends the escape for a character, as in `\u001b`. The escape is valid in a JSON string, so that an escaped JSON text
/// still means the same.
pub(crate) fn push_escape(text: &mut String, letter: char) {
    use std::fmt::Write;

    for unit in letter.encode_utf16(&mut [0; 2]) {
        let _ = write!(text, "\\u{unit:04x}");
    }
}

/// The ranges of characters that are not visible. Most of them are those that Unicode calls *default ignorable*, which
/// includes the controls of text direction.
const INVISIBLE: [(char, char); 21] = [
    // The soft hyphen, the grapheme joiner and the Arabic letter mark.
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    // Fillers and vowels without a shape, in Hangul, Khmer and Mongolian.
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    // Zero-width spaces and joiners; marks of direction.
    ('\u{200b}', '\u{200f}'),
    // Separators of lines and paragraphs; embeddings and overrides of direction.
    ('\u{2028}', '\u{202e}'),
    // The word joiner, invisible operators, isolates of direction, and controls that Unicode has deprecated.
    ('\u{2060}', '\u{206f}'),
    // The blank pattern of Braille.
    ('\u{2800}', '\u{2800}'),
    ('\u{3164}', '\u{3164}'),
    // Variation selectors, the byte order mark, another filler of Hangul.
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    // Reserved, and the marks of annotations.
    ('\u{fff0}', '\u{fffb}'),
    // Format controls of Egyptian hieroglyphs, of shorthand and of music.
    ('\u{13430}', '\u{1343f}'),
    ('\u{1bca0}', '\u{1bca3}'),
    ('\u{1d159}', '\u{1d159}'),
    ('\u{1d173}', '\u{1d17a}'),
    // Tags, which can spell any ASCII text, and more variation selectors.
    ('\u{e0000}', '\u{e007f}'),
    ('\u{e0080}', '\u{e0fff}'),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_reader_does_not_see_is_unprintable() {
        let unseen = "\0\t\n\r\u{1b}\u{7f}\u{9b}\u{ad}\u{61c}\u{180e}\u{200b}\u{200d}\u{200f}\u{2028}\u{202e}\u{2060}\u{2064}\
                      \u{2066}\u{2069}\u{3164}\u{fe0f}\u{feff}\u{fff9}\u{e0041}\u{e0100}\u{e01ef}";
        for letter in unseen.chars() {
            assert!(is_unprintable(letter), "{letter:?}");
        }
        for letter in "aZ ~ößé\u{a0}日本\u{3000}א ع\u{301}😀\u{fffd}".chars() {
            assert!(!is_unprintable(letter), "{letter:?}");
        }
        assert!(INVISIBLE.is_sorted(), "a range that stands where a reader does not look for it");
    }
}
