//! Which argument was being read when a type refused it? `serde` does not tell, so it is overheard.

use serde::de::{DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Something that reads an object, or a part of it; `current` is the member that is being read.
pub(crate) struct Placed<'c, T> {
    pub(crate) inner: T,
    pub(crate) current: &'c mut Option<String>,
}

macro_rules! pass_on {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.inner.$method($($argument,)* Placed { inner: visitor, current: self.current })
        }
    )*};
}

macro_rules! every_type {
    ($macro:ident) => {
        $macro! {
            deserialize_any(); deserialize_bool(); deserialize_i8(); deserialize_i16(); deserialize_i32();
            deserialize_i64(); deserialize_i128(); deserialize_u8(); deserialize_u16(); deserialize_u32();
            deserialize_u64(); deserialize_u128(); deserialize_f32(); deserialize_f64(); deserialize_char();
            deserialize_str(); deserialize_string(); deserialize_bytes(); deserialize_byte_buf();
            deserialize_option(); deserialize_unit(); deserialize_seq(); deserialize_map();
            deserialize_identifier(); deserialize_ignored_any();
            deserialize_unit_struct(name: &'static str);
            deserialize_newtype_struct(name: &'static str);
            deserialize_tuple(length: usize);
            deserialize_tuple_struct(name: &'static str, length: usize);
            deserialize_struct(name: &'static str, fields: &'static [&'static str]);
            deserialize_enum(name: &'static str, variants: &'static [&'static str]);
        }
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Placed<'_, D> {
    type Error = D::Error;

    every_type!(pass_on);
}

macro_rules! visits {
    ($($method:ident: $type:ty;)*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

macro_rules! scalars {
    () => {
        visits! {
            visit_bool: bool; visit_i64: i64; visit_i128: i128; visit_u64: u64; visit_u128: u128; visit_f64: f64;
        }

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.inner.expecting(f)
        }

        fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
            self.inner.visit_unit()
        }

        fn visit_none<E: Error>(self) -> Result<V::Value, E> {
            self.inner.visit_none()
        }

        fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
            self.inner.visit_seq(items)
        }

        fn visit_enum<A: EnumAccess<'de>>(self, choice: A) -> Result<V::Value, A::Error> {
            self.inner.visit_enum(choice)
        }
    };
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Placed<'_, V> {
    type Value = V::Value;

    scalars!();
    visits! { visit_str: &str; visit_borrowed_str: &'de str; visit_string: String; }

    fn visit_some<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Placed { inner: value, current: self.current })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, value: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Placed { inner: value, current: self.current })
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Placed { inner: members, current: self.current })
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Placed<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        *self.current = None;
        self.inner.next_key_seed(Key(Placed { inner: seed, current: &mut *self.current }))
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let value = self.inner.next_value_seed(seed)?;
        *self.current = None;
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

/// Something that reads a key, which is then the current one.
struct Key<'c, T>(Placed<'c, T>);

macro_rules! pass_key_on {
    ($($method:ident($($argument:ident: $type:ty),*);)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            let Placed { inner, current } = self.0;
            inner.$method($($argument,)* KeyVisitor { inner: visitor, current })
        }
    )*};
}

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, key: D) -> Result<K::Value, D::Error> {
        let Placed { inner, current } = self.0;
        inner.deserialize(Key(Placed { inner: key, current }))
    }
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Key<'_, D> {
    type Error = D::Error;

    every_type!(pass_key_on);
}

struct KeyVisitor<'c, V> {
    inner: V,
    current: &'c mut Option<String>,
}

impl<'de, V: Visitor<'de>> Visitor<'de> for KeyVisitor<'_, V> {
    type Value = V::Value;

    scalars!();

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        *self.current = Some(name.to_owned());
        self.inner.visit_str(name)
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<V::Value, E> {
        *self.current = Some(name.to_owned());
        self.inner.visit_borrowed_str(name)
    }

    fn visit_string<E: Error>(self, name: String) -> Result<V::Value, E> {
        *self.current = Some(name.clone());
        self.inner.visit_string(name)
    }

    fn visit_some<D: Deserializer<'de>>(self, key: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(key)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, key: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(key)
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(members)
    }
}
