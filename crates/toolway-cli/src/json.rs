//! How is JSON read and shown without changing the order of its members or the spelling of its numbers?

use toolway::RawJson;

/// The text of a string; nothing, if it is something else.
pub(crate) fn text(value: &RawJson) -> Option<String> {
    value.decode().ok()
}

/// The items of an array; nothing, if it is none.
pub(crate) fn items(array: &RawJson) -> Option<Vec<RawJson>> {
    array.decode().ok()
}

/// An object of these members.
pub(crate) fn object<'m>(members: impl IntoIterator<Item = (&'m str, &'m str)>) -> String {
    let mut text = String::from("{");
    for (index, (name, value)) in members.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&quoted(name));
        text.push(':');
        text.push_str(value);
    }
    text.push('}');
    text
}

/// A text as JSON.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
    fn members_keep_their_order() {
        let object = RawJson::parse(r#"{"z":1,"a":"x","m":[1,2]}"#).unwrap();
        let names: Vec<_> = object.members().unwrap().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["z", "a", "m"]);
        let values: Vec<_> = object.members().unwrap().into_iter().map(|(_, value)| value).collect();
        assert_eq!(text(&values[1]).as_deref(), Some("x"));
        assert_eq!(items(&values[2]).unwrap().len(), 2);
        assert!(RawJson::parse("[1]").unwrap().members().is_none());
    }
}
