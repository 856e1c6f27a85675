//! What does a line say that matters to a proxy? Everything else is passed on unread.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use toolway_protocol::RawJson;

/// The members of a message.
#[derive(Deserialize)]
pub(crate) struct Message<'l> {
    #[serde(borrow)]
    pub(crate) id: Option<&'l RawValue>,
    #[serde(borrow)]
    pub(crate) method: Option<Cow<'l, str>>,
    #[serde(borrow)]
    pub(crate) params: Option<&'l RawValue>,
    #[serde(borrow)]
    result: Option<&'l RawValue>,
    #[serde(borrow)]
    error: Option<&'l RawValue>,
}

impl<'l> Message<'l> {
    /// Reads the messages of a line: one, or those of a batch. A line that cannot be read has none.
    pub(crate) fn read(line: &'l [u8]) -> Vec<Self> {
        match line.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice(line).into_iter().collect(),
            Some(b'[') => serde_json::from_slice(line).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Returns the texts of the messages of a line. A line that cannot be read is one text.
    pub(crate) fn split(line: &[u8]) -> Vec<Vec<u8>> {
        let batch: Option<Vec<&RawValue>> = match line.trim_ascii_start().first() {
            Some(b'[') => serde_json::from_slice(line).ok(),
            _ => None,
        };
        match batch {
            Some(texts) => texts.into_iter().map(|text| text.get().as_bytes().to_owned()).collect(),
            None => vec![line.trim_ascii().to_owned()],
        }
    }

    /// Returns the text of the id; `None` for a notification.
    pub(crate) fn id(&self) -> Option<&'l str> {
        self.id.map(RawValue::get)
    }

    /// Returns the id and the method of a request.
    pub(crate) fn request(&self) -> Option<(&'l str, &str)> {
        Some((self.id()?, self.method.as_deref()?))
    }

    /// Returns the id of a response.
    pub(crate) fn response(&self) -> Option<&'l str> {
        if self.method.is_some() { None } else { self.id() }
    }

    /// Returns whether this is a response with a result.
    pub(crate) fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Returns the code of an error.
    pub(crate) fn error_code(&self) -> Option<i64> {
        #[derive(Deserialize)]
        struct Refusal {
            code: i64,
        }
        Some(serde_json::from_str::<Refusal>(self.error?.get()).ok()?.code)
    }

    /// Returns a text in the result.
    pub(crate) fn result_text(&self, name: &str) -> Option<String> {
        let result: HashMap<Cow<'l, str>, &'l RawValue> = serde_json::from_str(self.result?.get()).ok()?;
        serde_json::from_str(result.get(name)?.get()).ok()
    }

    /// Returns one of the parameters.
    pub(crate) fn param(&self, name: &str) -> Option<&'l RawValue> {
        let params: HashMap<Cow<'l, str>, &'l RawValue> = serde_json::from_str(self.params?.get()).ok()?;
        params.get(name).copied()
    }

    /// Returns a text among the parameters.
    pub(crate) fn text_param(&self, name: &str) -> Option<String> {
        serde_json::from_str(self.param(name)?.get()).ok()
    }

    /// Returns a member of the parameter `_meta`.
    pub(crate) fn meta(&self, name: &str) -> Option<&'l RawValue> {
        let meta: HashMap<Cow<'l, str>, &'l RawValue> =
            serde_json::from_str(self.param("_meta")?.get()).ok()?;
        meta.get(name).copied()
    }

    /// Returns whether the request describes itself, as requests of the stateless era do.
    pub(crate) fn is_stateless(&self) -> bool {
        self.meta("io.modelcontextprotocol/protocolVersion").is_some()
    }

    /// Returns the line of the same message with another id.
    ///
    /// Unlike [`replace`], this is for messages whose other members are those of JSON-RPC.
    pub(crate) fn with_id(&self, id: &str) -> Vec<u8> {
        let mut line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id}");
        if let Some(method) = &self.method {
            line.push_str(",\"method\":");
            line.push_str(&serde_json::Value::from(&**method).to_string());
        }
        for (name, value) in [("params", self.params), ("result", self.result), ("error", self.error)] {
            if let Some(value) = value {
                for part in [",\"", name, "\":", value.get()] {
                    line.push_str(part);
                }
            }
        }
        line.push_str("}\n");
        line.into_bytes()
    }
}

/// Returns the text of an object in which one member, named by its path, has another value. `None` if there is no such
/// member. All other members stay as they are, in their order.
pub(crate) fn replace(object: &str, path: &[&str], value: &str) -> Option<String> {
    let (name, rest) = path.split_first()?;
    let members = RawJson::parse(object).ok()?.members()?;
    let mut text = String::with_capacity(object.len() + value.len());
    let mut is_found = false;
    for (member, old) in members {
        text.push(if text.is_empty() { '{' } else { ',' });
        text.push_str(&serde_json::Value::from(&*member).to_string());
        text.push(':');
        if member != *name {
            text.push_str(old.as_str());
            continue;
        }
        is_found = true;
        match rest {
            [] => text.push_str(value),
            rest => text.push_str(&replace(old.as_str(), rest, value)?),
        }
    }
    text.push('}');
    is_found.then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_is_replaced_and_the_others_stay() {
        let text = r#"{"id":1, "big":12345678901234567890123,"params":{"z":1.0e2,"_meta":{"progressToken":"a","\u0061":2}}}"#;
        let replaced = replace(text, &["params", "_meta", "progressToken"], "7").unwrap();
        let expected = r#"{"id":1,"big":12345678901234567890123,"params":{"z":1.0e2,"_meta":{"progressToken":7,"a":2}}}"#;
        assert_eq!(replaced, expected);
        assert_eq!(replace(text, &["params", "other"], "7"), None);
    }
}
