//! In which order are the fields of a type declared? `schemars` sorts them; `serde` keeps the order.

use serde::de::value::Error as ValueError;
use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the fields of a struct in declared order. A type with flattened fields gives an empty list, because `serde`
/// does not report them.
pub(super) fn declared_fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut fields: &[&str] = &[];
    // This always fails for lack of input. The `Deserialize` impl names its fields before it reads any.
    let _ = T::deserialize(FieldRecorder(&mut fields));
    fields
}

/// A deserializer that records the fields of the requested struct and then fails.
struct FieldRecorder<'f>(&'f mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldRecorder<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        Err(ValueError::custom("there is nothing to read"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Fields {
        zebra: u8,
        #[serde(rename = "apple")]
        pear: u8,
    }

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Wrapper(Fields);

    #[test]
    fn fields_come_as_declared() {
        assert_eq!(declared_fields::<Fields>(), ["zebra", "apple"]);
        assert_eq!(declared_fields::<Wrapper>(), ["zebra", "apple"]);
        assert!(declared_fields::<String>().is_empty());
    }
}
