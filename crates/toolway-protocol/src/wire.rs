//! How is a protocol type read from JSON and written as JSON? One macro generates the code for all protocol types.
//!
//! `wire!` generates a struct with public members, a constructor that takes the required members, a `with_…` method for
//! each optional member, and the code that reads and writes JSON. Reading accepts only an object, with its members in
//! any order, and keeps unknown members in `extra`. Writing leaves out members that the revision does not have.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, Visitor};

use crate::json::tag::Text;
use crate::json::{Members, RawJson};

/// Members that this crate does not know, kept in order so that a gateway can pass them on.
///
/// ```
/// use toolway_protocol::{RawJson, types::Root};
///
/// let root: Root = RawJson::parse(r#"{"uri":"file:///a","acme":7}"#)?.decode()?;
/// assert_eq!(root.extra.get("acme").unwrap().as_str(), "7");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
// Nearly always empty, and a part of each type. An `Arc` is one word, and the code that drops its contents exists once
// instead of once in each place that drops a type.
pub struct Extra(Option<Arc<Vec<UnknownMember>>>);

type UnknownMember = (Box<str>, RawJson);

impl Extra {
    /// Returns the value of an unknown member.
    pub fn get(&self, name: &str) -> Option<&RawJson> {
        self.members().iter().find(|(key, _)| **key == *name).map(|(_, value)| value)
    }

    /// Returns the number of unknown members.
    pub fn len(&self) -> usize {
        self.members().len()
    }

    /// Returns whether no unknown member was kept.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Adds a member. The members that the protocol defines belong in their own fields.
    pub fn insert(&mut self, name: impl Into<Box<str>>, value: RawJson) {
        Arc::make_mut(self.0.get_or_insert_default()).push((name.into(), value));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        let Some(members) = &mut self.0 else { return };
        let members = Arc::make_mut(members);
        members.retain(|(key, _)| **key != *name);
        if members.is_empty() {
            self.0 = None;
        }
    }

    fn members(&self) -> &[UnknownMember] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    pub(crate) fn put(&self, members: &mut Members<'_, '_>) {
        for (name, value) in self.members() {
            members.put_escaped(name, value);
        }
    }
}

impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Extra").field(&self.members()).finish()
    }
}

/// A struct that can be read member by member.
pub(crate) trait Wire: Sized {
    /// The name of the type in the error for a value that is not an object.
    const NAME: &'static str;
    /// The members that were read so far.
    type Draft: Default;

    /// Reads the value of one member.
    fn read<'de, A: MapAccess<'de>>(draft: &mut Self::Draft, name: &str, map: &mut A)
    -> Result<(), A::Error>;

    /// Builds the struct, if no required member is missing.
    fn finish<E: serde::de::Error>(draft: Self::Draft) -> Result<Self, E>;
}

/// Reads one member into its slot.
pub(crate) fn once<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    name: &'static str,
    map: &mut A,
) -> Result<(), A::Error> {
    if slot.replace(map.next_value()?).is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    Ok(())
}

/// Stores an unknown member.
pub(crate) fn keep<'de, A: MapAccess<'de>>(
    extra: &mut Extra,
    name: &str,
    map: &mut A,
) -> Result<(), A::Error> {
    let value = map.next_value()?;
    extra.insert(name, value);
    Ok(())
}

/// Reads a struct from an object.
pub(crate) fn decode<'de, T: Wire, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_map(WireVisitor(std::marker::PhantomData))
}

struct WireVisitor<T>(std::marker::PhantomData<T>);

impl<'de, T: Wire> Visitor<'de> for WireVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object ({})", T::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut draft = T::Draft::default();
        while let Some(Text(name)) = map.next_key()? {
            T::read(&mut draft, &name, &mut map)?;
        }
        T::finish(draft)
    }
}

/// A wrapper for the few members where `null` is a value. A member that is present is read as `Some`, even if it is
/// `null`.
#[derive(serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct Present<T>(pub(crate) T);

/// Generates protocol types, one row per member.
///
/// | row | member |
/// |---|---|
/// | `"type": "text";` | a tag that is always written with this value |
/// | `frame "resultType";` | written by the codec of the era, and skipped when the type is read |
/// | `name: String = "name";` | required, and an argument of `new` |
/// | `title (with_title): Option<String> = "title";` | optional |
///
/// For an optional member, `or null` distinguishes a `null` in the JSON from a missing member, `since` names the
/// addition (`version::since`) that introduced the member, and `if` names a function that decides whether the value is
/// written.
macro_rules! wire {
    ($($(#[$meta:meta])* pub struct $struct:ident { $($rows:tt)* })+) => {
        $($crate::wire::wire! { @sort [$(#[$meta])*] $struct [] [] [] [] $($rows)* })+
    };
    (
        @sort $meta:tt $struct:ident [$($fixed:tt)*] $frame:tt $required:tt $optional:tt
        $key:literal: $value:literal; $($rows:tt)*
    ) => {
        $crate::wire::wire! { @sort $meta $struct [$($fixed)* $key: $value;] $frame $required $optional $($rows)* }
    };
    (
        @sort $meta:tt $struct:ident $fixed:tt [$($frame:tt)*] $required:tt $optional:tt
        frame $($key:literal),*; $($rows:tt)*
    ) => {
        $crate::wire::wire! { @sort $meta $struct $fixed [$($frame)* $($key;)*] $required $optional $($rows)* }
    };
    (
        @sort $meta:tt $struct:ident $fixed:tt $frame:tt [$($required:tt)*] $optional:tt
        $(#[$doc:meta])* $member:ident: $type:ty = $key:literal; $($rows:tt)*
    ) => {
        $crate::wire::wire! {
            @sort $meta $struct $fixed $frame [$($required)* $(#[$doc])* $member: $type = $key;] $optional $($rows)*
        }
    };
    (
        @sort $meta:tt $struct:ident $fixed:tt $frame:tt $required:tt [$($optional:tt)*]
        $(#[$doc:meta])* $member:ident ($with:ident): Option<$type:ty> = $key:literal
            $(or $null:ident)? $(, since $since:ident)? $(, if $fits:path)?; $($rows:tt)*
    ) => {
        $crate::wire::wire! {
            @sort $meta $struct $fixed $frame $required
            [$($optional)* $(#[$doc])* $member ($with): $type = $key $(or $null)? $(, since $since)? $(, if $fits)?;]
            $($rows)*
        }
    };
    (
        @sort [$(#[$struct_meta:meta])*] $struct:ident
        [$($fixed_key:literal: $fixed_value:literal;)*]
        [$($frame_key:literal;)*]
        [$($(#[$required_doc:meta])* $required:ident: $required_type:ty = $required_key:literal;)*]
        [$($(#[$optional_doc:meta])* $optional:ident ($with:ident): $optional_type:ty
            = $optional_key:literal $(or $null:ident)? $(, since $since:ident)? $(, if $fits:path)?;)*]
    ) => {
        $(#[$struct_meta])*
        #[derive(Debug, Clone, PartialEq)]
        #[non_exhaustive]
        pub struct $struct {
            $($(#[$required_doc])* pub $required: $required_type,)*
            $($(#[$optional_doc])* pub $optional: Option<$optional_type>,)*
            /// The members that this crate does not know.
            pub extra: $crate::wire::Extra,
        }

        impl $struct {
            /// Creates a value from the required members.
            pub fn new($($required: impl Into<$required_type>),*) -> Self {
                Self { $($required: $required.into(),)* $($optional: None,)* extra: Default::default() }
            }

            $(
                $(#[$optional_doc])*
                pub fn $with(mut self, value: impl Into<$optional_type>) -> Self {
                    self.$optional = Some(value.into());
                    self
                }
            )*

            /// Writes the members of the object.
            #[allow(dead_code, reason = "not every type is written as a part of another object")]
            pub(crate) fn put(&self, members: &mut $crate::json::Members<'_, '_>) {
                self.put_all::<true>(members);
            }

            /// Writes the members except `_meta`. The codec writes `_meta` itself, because it adds members to it.
            #[allow(dead_code, reason = "only results are stamped")]
            pub(crate) fn put_body(&self, members: &mut $crate::json::Members<'_, '_>) {
                self.put_all::<false>(members);
            }

            fn put_all<const META: bool>(&self, members: &mut $crate::json::Members<'_, '_>) {
                $(members.put_raw($fixed_key, concat!("\"", $fixed_value, "\"").as_bytes());)*
                $(members.put($required_key, &self.$required);)*
                $(if META || $optional_key != "_meta" {
                    $crate::wire::wire!(@put members, self.$optional, $optional_key $(, since $since)? $(, if $fits)?);
                })*
                self.extra.put(members);
            }
        }

        $crate::wire::wire!(@default $struct [$($required)*]);

        impl $crate::json::Encode for $struct {
            fn encode(&self, to: &mut $crate::json::Encoder<'_>) {
                to.object(|members| self.put(members));
            }
        }

        const _: () = {
            #[derive(Default)]
            pub(crate) struct Draft {
                $($required: Option<$required_type>,)*
                $($optional: Option<$crate::wire::wire!(@slot [$($null)?] $optional_type)>,)*
                extra: $crate::wire::Extra,
            }

            impl $crate::wire::Wire for $struct {
                const NAME: &'static str = stringify!($struct);
                type Draft = Draft;

                fn read<'de, A: serde::de::MapAccess<'de>>(
                    draft: &mut Draft,
                    name: &str,
                    map: &mut A,
                ) -> Result<(), A::Error> {
                    match name {
                        $($required_key => $crate::wire::once(&mut draft.$required, $required_key, map),)*
                        $($optional_key => $crate::wire::once(&mut draft.$optional, $optional_key, map),)*
                        // The codec of the era handles these members.
                        $($frame_key => map.next_value::<serde::de::IgnoredAny>().map(drop),)*
                        // The caller has already chosen the type by this tag.
                        $($fixed_key => map.next_value::<serde::de::IgnoredAny>().map(drop),)*
                        _ => $crate::wire::keep(&mut draft.extra, name, map),
                    }
                }

                fn finish<E: serde::de::Error>(draft: Draft) -> Result<Self, E> {
                    Ok(Self {
                        $($required: draft.$required.ok_or_else(|| E::missing_field($required_key))?,)*
                        $($optional: $crate::wire::wire!(@take [$($null)?] draft.$optional),)*
                        extra: draft.extra,
                    })
                }
            }

            impl<'de> serde::Deserialize<'de> for $struct {
                fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    $crate::wire::decode(deserializer)
                }
            }
        };
    };
    (@default $struct:ident []) => {
        impl Default for $struct {
            fn default() -> Self {
                Self::new()
            }
        }
    };
    (@default $struct:ident [$($required:ident)+]) => {};
    (@slot [] $type:ty) => { Option<$type> };
    (@slot [null] $type:ty) => { $crate::wire::Present<$type> };
    (@take [] $slot:expr) => { $slot.flatten() };
    (@take [null] $slot:expr) => { $slot.map(|present| present.0) };
    (@put $members:ident, $value:expr, $key:literal $(, since $since:ident)? $(, if $fits:path)?) => {
        let value = $value.as_ref()$(.filter(|value| $fits(value, $members.encoder())))?;
        $crate::wire::wire!(@write $members, value, $key $(, $since)?)
    };
    (@write $members:ident, $value:ident, $key:literal) => { $members.maybe($key, $value) };
    (@write $members:ident, $value:ident, $key:literal, $since:ident) => {
        $members.since($crate::version::since::$since, $key, $value)
    };
}
pub(crate) use wire;

/// Generates an enum of names. A name that this crate does not know is kept.
macro_rules! names {
    (
        $(#[$enum_meta:meta])*
        pub enum $enum:ident { $($(#[doc = $doc:literal])* $variant:ident = $name:literal,)* }
    ) => {
        $(#[$enum_meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum $enum {
            $($(#[doc = $doc])* $variant,)*
            /// A name that this crate does not know.
            Other(Box<str>),
        }

        impl $enum {
            /// Returns the name as it is written in JSON.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)*
                    Self::Other(name) => name,
                }
            }
        }

        impl From<&str> for $enum {
            fn from(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)*
                    _ => Self::Other(name.into()),
                }
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl $crate::json::Encode for $enum {
            fn encode(&self, to: &mut $crate::json::Encoder<'_>) {
                to.serde(self.as_str());
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::wire::name(deserializer, |name| Self::from(name))
            }
        }
    };
}
pub(crate) use names;

/// Reads a string and converts it with `make`.
pub(crate) fn name<'de, T, D: Deserializer<'de>>(
    deserializer: D,
    make: impl Fn(&str) -> T,
) -> Result<T, D::Error> {
    Text::deserialize(deserializer).map(|Text(name)| make(&name))
}
