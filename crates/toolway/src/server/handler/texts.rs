//! How does text become the parameters of a function? Prompts receive their arguments as text, resources receive the
//! variables of a URI. The parameters may still be numbers, enums or lists.

use schemars::JsonSchema;
use serde::de::value::{Error, MapDeserializer, StrDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, EnumAccess, Error as _, IntoDeserializer, VariantAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use toolway_protocol::uri_template::{Value, Values};

use crate::schema::not_one_of;
use crate::server::handler::arguments::{Slots, StartError, read_slots, read_whole, read_whole_texts};

/// Reads named texts into the slots of a function.
pub fn read_texts<'t, S: Slots>(
    texts: impl IntoIterator<Item = (&'t str, &'t Value)>,
) -> Result<S, StartError> {
    read_slots(texts_as_map(texts)).map_err(StartError::BadArguments)
}

/// Reads named texts into the fields of a struct.
pub fn read_struct<T: DeserializeOwned>(texts: &Values) -> Result<T, StartError> {
    read_whole(texts_as_map(texts.iter())).map_err(StartError::BadArguments)
}

/// Reads named texts into the fields of a struct whose schema names the format of each field.
pub fn read_described_struct<T: DeserializeOwned + JsonSchema>(texts: &Values) -> Result<T, StartError> {
    read_whole_texts(texts_as_map(texts.iter())).map_err(StartError::BadArguments)
}

/// Presents named texts as an object.
fn texts_as_map<'de, 't>(
    texts: impl IntoIterator<Item = (&'t str, &'t Value)>,
) -> impl Deserializer<'de, Error = Error> {
    MapDeserializer::new(texts.into_iter().map(|(name, value)| (name, TextDeserializer::of(value))))
}

/// Text that is read as the type that the visitor requests.
#[derive(Clone, Copy)]
pub(crate) enum TextDeserializer<'t> {
    One(&'t str),
    Many(&'t [String]),
}

impl<'t> TextDeserializer<'t> {
    fn of(value: &'t Value) -> Self {
        match value {
            Value::Text(text) => Self::One(text),
            Value::List(items) => Self::Many(items),
        }
    }

    fn text(self) -> Result<&'t str, Error> {
        match self {
            Self::One(text) => Ok(text),
            Self::Many(_) => Err(Error::custom("expected one value, got a list")),
        }
    }
}

impl IntoDeserializer<'_, Error> for TextDeserializer<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! parsed {
    ($($method:ident, $visit:ident, $type:ty, $expected:literal $(, $is_value:path)?;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
            let text = self.text()?;
            match text.parse::<$type>().ok()$(.filter(|value| $is_value(*value)))? {
                Some(value) => visitor.$visit(value),
                None => Err(Error::custom(format_args!(concat!("expected ", $expected, ", got {:?}"), text))),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for TextDeserializer<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::One(text) => visitor.visit_str(text),
            Self::Many(_) => self.deserialize_seq(visitor),
        }
    }

    parsed! {
        deserialize_bool, visit_bool, bool, "`true` or `false`";
        deserialize_i8, visit_i8, i8, "an integer from -128 to 127";
        deserialize_i16, visit_i16, i16, "an integer from -32768 to 32767";
        deserialize_i32, visit_i32, i32, "an integer";
        deserialize_i64, visit_i64, i64, "an integer";
        deserialize_i128, visit_i128, i128, "an integer";
        deserialize_u8, visit_u8, u8, "an integer from 0 to 255";
        deserialize_u16, visit_u16, u16, "an integer from 0 to 65535";
        deserialize_u32, visit_u32, u32, "an integer that is not negative";
        deserialize_u64, visit_u64, u64, "an integer that is not negative";
        deserialize_u128, visit_u128, u128, "an integer that is not negative";
        deserialize_f32, visit_f32, f32, "a number", f32::is_finite;
        deserialize_f64, visit_f64, f64, "a number", f64::is_finite;
        deserialize_char, visit_char, char, "one character";
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match self.text()? {
            // An enum with data can only be sent as JSON.
            text if text.starts_with('{') => {
                json(text)?.deserialize_enum(name, variants, visitor).map_err(Error::custom)
            }
            text if variants.contains(&text) => visitor.visit_enum(UnitVariant(text)),
            text => {
                let variants: Vec<_> = variants.iter().map(|name| serde_json::Value::from(*name)).collect();
                Err(Error::custom(not_one_of(&variants.iter().collect::<Vec<_>>(), &text.into())))
            }
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self {
            Self::One(text) => json(text)?.deserialize_seq(visitor).map_err(Error::custom),
            Self::Many(items) => {
                let items = items.iter().map(|item| TextDeserializer::One(item));
                serde::de::value::SeqDeserializer::new(items).deserialize_any(visitor)
            }
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        json(self.text()?)?.deserialize_map(visitor).map_err(Error::custom)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        json(self.text()?)?.deserialize_struct(name, fields, visitor).map_err(Error::custom)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.deserialize_seq(visitor)
    }

    forward_to_deserialize_any! { str string bytes byte_buf unit unit_struct identifier ignored_any }
}

/// Parses a structured value, which is sent as JSON inside the text.
fn json(text: &str) -> Result<serde_json::Value, Error> {
    serde_json::from_str(text).map_err(|_| Error::custom("expected JSON in the text"))
}

/// The name of a variant without data.
struct UnitVariant<'t>(&'t str);

impl<'de> EnumAccess<'de> for UnitVariant<'_> {
    type Error = Error;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self), Error> {
        Ok((seed.deserialize(StrDeserializer::new(self.0))?, self))
    }
}

impl<'de> VariantAccess<'de> for UnitVariant<'_> {
    type Error = Error;

    fn unit_variant(self) -> Result<(), Error> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, _: S) -> Result<S::Value, Error> {
        Err(data_error())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Error> {
        Err(data_error())
    }

    fn struct_variant<V: Visitor<'de>>(self, _: &'static [&'static str], _: V) -> Result<V::Value, Error> {
        Err(data_error())
    }
}

fn data_error() -> Error {
    Error::custom("expected JSON in the text: this choice comes with data")
}
