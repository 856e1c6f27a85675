//! Which members does the body of a request have? It is an object of JSON, and read without a type of its own for each request:
//! code that reads a type is two kilobytes of machine code.

use serde_json::{Map, Value};

use super::web::Refusal;

/// The members of an object in a request.
pub(super) struct RequestMembers(Map<String, Value>);

impl RequestMembers {
    pub(super) fn parse(body: &[u8]) -> Result<Self, Refusal> {
        serde_json::from_slice(body).map(Self).map_err(|error| not_understood(&error.to_string()))
    }

    /// Takes a member. `null` stands for a member that is not there.
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }

    pub(super) fn optional_text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.take(name) {
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
        match self.take(name) {
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
        let value = self.take(name).ok_or_else(|| missing(name))?;
        value.as_bool().ok_or_else(|| wrong(name, "true or false"))
    }

    /// Takes a list of pairs of texts.
    pub(super) fn pairs(&mut self, name: &str) -> Result<Option<Vec<(String, String)>>, Refusal> {
        let mut pairs = Vec::new();
        match self.take(name) {
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
        let mut objects = Vec::new();
        match self.take(name) {
            None => {}
            Some(Value::Array(items)) => {
                for item in items {
                    let Value::Object(members) = item else { return Err(wrong(name, "a list of objects")) };
                    objects.push(Self(members));
                }
            }
            Some(_) => return Err(wrong(name, "a list")),
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
        for text in ["[]", "1", "", "{", "\u{fffd}"] {
            assert!(RequestMembers::parse(text.as_bytes()).is_err(), "{text}");
        }
        for value in ["null", "1.5", "-1", "[]", "{}", "[[\"a\"]]", "[[\"a\", 1]]", "[[\"a\", \"b\", \"c\"]]"]
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
