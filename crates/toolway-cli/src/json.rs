//! How is JSON read and shown without changing the order of its members or the spelling of its numbers?

use toolway::RawJson;

/// A string as it is meant, and anything else as it is written.
pub(crate) fn text(value: &RawJson) -> String {
    value.decode().unwrap_or_else(|_| value.as_str().to_owned())
}

/// The value on several lines, for people.
pub(crate) fn pretty(value: &RawJson) -> String {
    let mut shown = String::new();
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    let mut letters = value.as_str().chars().peekable();
    while let Some(letter) = letters.next() {
        if is_text {
            shown.push(letter);
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => is_text = false,
                _ => {}
            }
            continue;
        }
        match letter {
            ' ' | '\t' | '\n' | '\r' => {}
            '{' | '[' => {
                shown.push(letter);
                while letters.next_if(char::is_ascii_whitespace).is_some() {}
                match letters.next_if(|next| matches!(next, '}' | ']')) {
                    Some(end) => shown.push(end),
                    None => {
                        depth += 1;
                        new_line(&mut shown, depth);
                    }
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut shown, depth);
                shown.push(letter);
            }
            ',' => {
                shown.push(letter);
                new_line(&mut shown, depth);
            }
            ':' => shown.push_str(": "),
            _ => {
                is_text = letter == '"';
                shown.push(letter);
            }
        }
    }
    shown
}

fn new_line(text: &mut String, depth: usize) {
    text.push('\n');
    text.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pretty_json_says_the_same() {
        let text = r#"{"z": 1e400, "a":[ ],"b":{},"c":["x\"{,}",{"d":12345678901234567890123}], "z":null}"#;
        let shown = pretty(&RawJson::parse(text).unwrap());
        let lines = "{\n  \"z\": 1e400,\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    \"x\\\"{,}\",\n    {\n      \"d\": 12345678901234567890123\n    }\n  ],\n  \"z\": null\n}";
        assert_eq!(shown, lines);
    }

    #[test]
    fn strings_are_read_and_the_rest_is_kept() {
        for (json, expected) in [(r#""a\nb""#, "a\nb"), ("1e400", "1e400"), (r#"{"z": 1}"#, r#"{"z": 1}"#)] {
            assert_eq!(text(&RawJson::parse(json).unwrap()), expected);
        }
    }
}
