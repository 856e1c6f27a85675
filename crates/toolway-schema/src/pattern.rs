//! What does a pattern of JSON Schema, which is one of ECMA 262, look like to our engine?

/// The pattern in the engine's dialect. Only what both write differently is touched: inside brackets, where ECMA
/// takes nearly everything literally.
pub(crate) fn from_ecma(pattern: &str) -> String {
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
            '[' if is_inside => out.push('\\'),
            '[' => is_inside = true,
            ']' => is_inside = false,
            // Set operations elsewhere, characters here.
            '&' | '~' if is_inside && letters.peek() == Some(&letter) => out.push('\\'),
            _ => {}
        }
        out.push(letter);
    }
    out
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
        ] {
            let regex = regex_lite::Regex::new(&from_ecma(pattern)).unwrap();
            assert!(regex.is_match(good) && !regex.is_match(bad), "{pattern}");
        }
    }
}
