//! What has changed in a list?

use serde_json::Value;
use toolway::RawJson;

use super::difference::differences;
use super::object::object;

/// An element of a list: its name, and what the server says about it.
pub(super) type NamedElement = (String, RawJson);

/// The length to which a value is shown in the words about a change.
const MAX_SHOWN: usize = 200;

/// Returns what has changed in a list; `None` if nothing has.
pub(super) fn changes(was: &[NamedElement], is: &[NamedElement]) -> Option<Value> {
    let find = |list: &[NamedElement], name: &str| list.iter().find(|(known, _)| known == name).cloned();
    let missing = |from: &[NamedElement], to: &[NamedElement]| -> Vec<String> {
        from.iter().filter(|(name, _)| find(to, name).is_none()).map(|(name, _)| name.clone()).collect()
    };
    let (added, removed) = (missing(is, was), missing(was, is));
    let changed: Vec<Value> = is
        .iter()
        .filter_map(|(name, now)| {
            let (_, before) = find(was, name)?;
            let found = differences(Some(&before), Some(now));
            if found.is_empty() {
                return None;
            }
            let words: Vec<String> = found
                .iter()
                .map(|difference| {
                    let path = difference.path.trim_start_matches('/');
                    match (&difference.was, &difference.is) {
                        (Some(was), Some(is)) => format!("{path}: {} → {}", shorten(was), shorten(is)),
                        (None, Some(is)) => format!("{path} is new: {}", shorten(is)),
                        (Some(was), None) => format!("{path} was removed: {}", shorten(was)),
                        (None, None) => path.to_owned(),
                    }
                })
                .collect();
            Some(object! {"name": name, "was": before.as_str(), "is": now.as_str(), "words": words})
        })
        .collect();
    let is_same = added.is_empty() && removed.is_empty() && changed.is_empty();
    (!is_same).then(|| object! {"added": added, "removed": removed, "changed": changed})
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list(elements: &[(&str, &str)]) -> Vec<NamedElement> {
        elements.iter().map(|(name, text)| ((*name).to_owned(), RawJson::parse(text).unwrap())).collect()
    }

    #[test]
    fn a_change_is_told_in_words() {
        let was = list(&[("a", r#"{"description":"x"}"#), ("b", "{}")]);
        let is = list(&[("a", r#"{"description":"y"}"#), ("c", "{}")]);
        let told = changes(&was, &is).unwrap();
        assert_eq!(told["added"], json!(["c"]));
        assert_eq!(told["removed"], json!(["b"]));
        assert_eq!(told["changed"][0]["words"], json!(["description: \"x\" → \"y\""]));
        assert_eq!(changes(&was, &was), None);
    }
}
