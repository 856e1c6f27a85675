//! What does a line say that matters to a proxy? Everything else is passed on unread.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of a message.
#[derive(Deserialize)]
pub(super) struct Message<'l> {
    #[serde(borrow)]
    pub(super) id: Option<&'l RawValue>,
    #[serde(borrow)]
    pub(super) method: Option<Cow<'l, str>>,
    #[serde(borrow)]
    pub(super) params: Option<&'l RawValue>,
    #[serde(borrow)]
    result: Option<&'l RawValue>,
    #[serde(borrow)]
    error: Option<&'l RawValue>,
}

impl<'l> Message<'l> {
    /// Reads the messages of a line: one, or those of a batch. A line that cannot be read has none.
    pub(super) fn read(line: &'l [u8]) -> Vec<Self> {
        match line.trim_ascii_start().first() {
            Some(b'{') => serde_json::from_slice(line).into_iter().collect(),
            Some(b'[') => serde_json::from_slice(line).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// Returns the text of the id; `None` for a notification.
    pub(super) fn id(&self) -> Option<&'l str> {
        self.id.map(RawValue::get)
    }

    /// Returns the id and the method of a request.
    pub(super) fn request(&self) -> Option<(&'l str, &str)> {
        Some((self.id()?, self.method.as_deref()?))
    }

    /// Returns the id of a response.
    pub(super) fn response(&self) -> Option<&'l str> {
        if self.method.is_some() { None } else { self.id() }
    }

    /// Returns whether this is a response with a result.
    pub(super) fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Returns a text among the parameters.
    pub(super) fn text_param(&self, name: &str) -> Option<String> {
        let params: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(self.params?.get()).ok()?;
        Some(params.get(name)?.as_str()?.to_owned())
    }

    /// Returns the line of the same message with another id.
    pub(super) fn with_id(&self, id: &str) -> Vec<u8> {
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
