//! Which members does the body of a request have? It is an object of JSON, and read without a type of its own for each request:
//! code that reads a type is two kilobytes of machine code.

use std::collections::HashSet;

use serde_json::Value;
use toolway::RawJson;

use super::web::Refusal;

/// The members of an object in a request, each with a name of its own.
pub(super) struct RequestMembers(Vec<(String, RawJson)>);

impl RequestMembers {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        let text = std::str::from_utf8(body).map_err(|error| not_understood(&error.to_string()))?;
        let object = RawJson::parse(text).map_err(|error| not_understood(&error.to_string()))?;
        Self::of(&object)?.ok_or_else(|| not_understood("it is not an object"))
    }

    /// Returns the members of an object; `None` for any other value.
    fn of(object: &RawJson) -> Result<Option<Self>, Refusal> {
        let Some(members) = object.members() else { return Ok(None) };
        let mut names = HashSet::new();
        match members.iter().find(|(name, _)| !names.insert(name.as_str())) {
            Some((name, _)) => Err(not_understood(&format!("duplicate field `{name}`"))),
            None => Ok(Some(Self(members))),
        }
    }

    /// Takes a member. `null` stands for a member that is not there.
    fn take_raw(&mut self, name: &str) -> Option<RawJson> {
        let place = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.swap_remove(place).1).filter(|value| value.as_str() != "null")
    }

    fn take(&mut self, name: &str) -> Result<Option<Value>, Refusal> {
        let Some(value) = self.take_raw(name) else { return Ok(None) };
        value.decode().map(Some).map_err(|error| not_understood(&error.to_string()))
    }

    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(wrong(name, "a text")),
        }
    }

    pub(super) fn text(&mut self, name: &str) -> Result<String, Refusal> {
        self.optional_text(name)?.ok_or_else(|| missing(name))
    }

    /// Takes a text, which is empty if there is none.
    pub(super) fn text_or_empty(&mut self, name: &str) -> Result<String, Refusal> {
        Ok(self.optional_text(name)?.unwrap_or_default())
    }

    pub(super) fn optional_number(&mut self, name: &str) -> Result<Option<u64>, Refusal> {
        match self.take(name)? {
            None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong(name, "a whole number")),
        }
    }

    pub(super) fn number(&mut self, name: &str) -> Result<u64, Refusal> {
        self.optional_number(name)?.ok_or_else(|| missing(name))
    }

    /// Takes the number of a server.
    pub(super) fn server(&mut self) -> Result<usize, Refusal> {
        Ok(usize::try_from(self.number("server")?).unwrap_or(usize::MAX))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        let value = self.take(name)?.ok_or_else(|| missing(name))?;
        value.as_bool().ok_or_else(|| wrong(name, "true or false"))
    }

    /// Takes a list of pairs of texts.
    pub(super) fn pairs(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, Refusal> {
        let mut pairs = Vec::new();
        match self.take(name)? {
            None => return Ok(None),
            Some(Value::Array(items)) => {
                for item in items {
                    let Value::Array(mut pair) = item else { return Err(wrong(name, "a list of pairs")) };
                    match (pair.pop(), pair.pop(), pair.is_empty()) {
                        (Some(Value::String(value)), Some(Value::String(name)), true) => {
                            pairs.push((name, value));
                        }
                        _ => return Err(wrong(name, "a list of pairs of texts")),
                    }
                }
            }
            Some(_) => return Err(wrong(name, "a list")),
        }
        Ok(Some(pairs))
    }

    /// Takes a list of objects, which is empty if there is none.
    pub(super) fn objects(&mut self, name: &str) -> Result<Vec<Self>, Refusal> {
        let Some(list) = self.take_raw(name) else { return Ok(Vec::new()) };
        let items: Vec<RawJson> = list.decode().map_err(|_| wrong(name, "a list"))?;
        let mut objects = Vec::new();
        for item in &items {
            objects.push(Self::of(item)?.ok_or_else(|| wrong(name, "a list of objects"))?);
        }
        Ok(objects)
    }
}

fn missing(name: &str) -> Refusal {
    not_understood(&format!("missing field `{name}`"))
}

fn wrong(name: &str, expected: &str) -> Refusal {
    not_understood(&format!("`{name}` is not {expected}"))
}

fn not_understood(reason: &str) -> Refusal {
    Refusal::usage(format!("the request is not understood: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(text: &str) -> RequestMembers {
        RequestMembers::parse(text.as_bytes()).ok().unwrap()
    }

    #[test]
    fn members_have_the_type_that_is_asked_for() {
        let mut all = members(
            r#"{"text": "a", "number": 3, "flag": true, "null": null, "pairs": [["a", "1"]], "objects": [{"x": "y"}]}"#,
        );
        assert_eq!(all.number("number").ok(), Some(3));
        assert_eq!(all.flag("flag").ok(), Some(true));
        assert_eq!(all.optional_text("null").ok(), Some(None));
        assert_eq!(all.text("text").ok().as_deref(), Some("a"));
        assert_eq!(all.pairs("pairs").ok(), Some(Some(vec![("a".to_owned(), "1".to_owned())])));
        let mut objects = all.objects("objects").ok().unwrap();
        assert_eq!(objects[0].text("x").ok().as_deref(), Some("y"));
    }

    #[test]
    fn what_is_missing_or_of_another_type_is_refused() {
        for text in ["[]", "1", "", "{", "\u{fffd}", r#"{"x": 1, "x": 1}"#, r#"{"x": 1, "\u0078": 1}"#] {
            assert!(RequestMembers::parse(text.as_bytes()).is_err(), "{text}");
        }
        for value in
            ["null", "1.5", "-1", "[]", "{}", "[[\"a\"]]", "[[\"a\", 1]]", "[[\"a\", \"b\", \"c\"]]", "1e999"]
        {
            let read = || members(&format!("{{\"x\": {value}}}"));
            assert!(read().text("x").is_err(), "{value}");
            assert!(read().number("x").is_err(), "{value}");
            assert!(read().flag("x").is_err(), "{value}");
            assert!(read().server().is_err(), "{value}");
            assert_eq!(read().pairs("x").is_err(), !matches!(value, "null" | "[]"), "{value}");
            assert_eq!(read().objects("x").is_err(), !matches!(value, "null" | "[]"), "{value}");
        }
    }
}
