//! How is an object of JSON for the page made? With a call of an ordinary function for each member.
//!
//! `serde_json::json!` writes four times as much machine code for a member: a serializer for its type, an insertion, and what
//! happens if either fails. The page has hundreds of members.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

/// A value that has a form in JSON.
pub(super) trait ToJson {
    fn to_json(&self) -> Value;

    /// Adds the value to an object. One function for each type, which callers do not repeat.
    #[inline(never)]
    fn add_to(&self, members: &mut Members, name: &'static str) {
        members.add(name, self.to_json());
    }
}

/// The members of an object.
#[derive(Default)]
pub(super) struct Members(Map<String, Value>);

impl Members {
    #[inline(never)]
    pub(super) fn new() -> Self {
        Self::default()
    }

    #[inline(never)]
    fn add(&mut self, name: &'static str, value: Value) {
        self.0.insert(name.to_owned(), value);
    }

    #[inline(never)]
    pub(super) fn into_object(self) -> Value {
        Value::Object(self.0)
    }
}

/// Makes an object of JSON from names and values, of any types with [`ToJson`].
macro_rules! object {
    () => {
        ::serde_json::Value::Object(::serde_json::Map::new())
    };
    ($($name:literal: $value:expr),+ $(,)?) => {{
        let mut members = $crate::inspect::object::Members::new();
        $($crate::inspect::object::ToJson::add_to(&$value, &mut members, $name);)+
        members.into_object()
    }};
}
pub(super) use object;

/// Sets members of an object that is there.
pub(super) trait SetMember {
    /// Sets a member. Does nothing if the value is not an object.
    fn set(&mut self, name: &'static str, value: &impl ToJson);
}

impl SetMember for Value {
    fn set(&mut self, name: &'static str, value: &impl ToJson) {
        set_member(self, name, value.to_json());
    }
}

#[inline(never)]
fn set_member(object: &mut Value, name: &'static str, value: Value) {
    if let Value::Object(members) = object {
        members.insert(name.to_owned(), value);
    }
}

macro_rules! to_json {
    ($($type:ty: $value:pat => $json:expr,)+) => {$(
        impl ToJson for $type {
            #[inline(never)]
            fn to_json(&self) -> Value {
                let $value = self;
                $json
            }
        }
    )+};
}

to_json! {
    str: text => Value::String(text.to_owned()),
    bool: is_true => Value::Bool(*is_true),
    u16: number => Value::from(*number),
    u32: number => Value::from(*number),
    u64: number => Value::from(*number),
    usize: number => Value::from(*number),
    i32: number => Value::from(*number),
    i64: number => Value::from(*number),
    f64: number => Value::from(*number),
    Number: number => Value::Number(number.clone()),
    Value: value => value.clone(),
    Map<String, Value>: members => Value::Object(members.clone()),
    BTreeMap<String, String>: members => {
        let mut object = Map::new();
        object.extend(members.iter().map(|(name, text)| (name.clone(), text.to_json())));
        Value::Object(object)
    },
}

impl ToJson for String {
    fn to_json(&self) -> Value {
        self.as_str().to_json()
    }

    fn add_to(&self, members: &mut Members, name: &'static str) {
        self.as_str().add_to(members, name);
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn to_json(&self) -> Value {
        (**self).to_json()
    }

    fn add_to(&self, members: &mut Members, name: &'static str) {
        (**self).add_to(members, name);
    }
}

impl<T: ToJson> ToJson for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToJson::to_json)
    }
}

impl<T: ToJson> ToJson for [T] {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(ToJson::to_json).collect())
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

impl<T: ToJson, const COUNT: usize> ToJson for [T; COUNT] {
    fn to_json(&self) -> Value {
        self.as_slice().to_json()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_those_of_serde_json() {
        let (text, none, list) = ("a\"b".to_owned(), None::<f64>, vec!["x".to_owned()]);
        let headers = BTreeMap::from([("b".to_owned(), "2".to_owned()), ("a".to_owned(), "1".to_owned())]);
        let made = object! {
            "text": text, "str": "s", "some": Some(&text), "none": none, "list": list, "pair": [1, 2],
            "number": 1.5, "infinite": f64::INFINITY, "true": true, "inner": object! {"null": Value::Null},
            "headers": headers,
        };
        let known = json!({
            "text": text, "str": "s", "some": text, "none": none, "list": list, "pair": [1, 2],
            "number": 1.5, "infinite": f64::INFINITY, "true": true, "inner": {"null": null},
            "headers": headers,
        });
        assert_eq!(made, known);
    }

    #[test]
    fn members_are_set_in_objects_only() {
        let mut value = object! {"a": 1};
        value.set("a", &2);
        value.set("b", &"x");
        assert_eq!(value, json!({"a": 2, "b": "x"}));
        let mut list = json!([1]);
        list.set("a", &1);
        assert_eq!(list, json!([1]));
    }
}
