//! What is on one page of a list? The items are counted while they are decoded, so a page never becomes more than the
//! list may hold.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use toolway_protocol::RawJson;

use crate::client::connect::list_limit::{ListBudget, ListItem};

/// One page of a list.
pub(super) struct ListPage<T> {
    /// The items that the budget of the list allows.
    pub(super) items: Vec<T>,
    pub(super) next_cursor: Option<String>,
    /// How long the page is valid.
    pub(super) ttl: Duration,
}

/// Decodes a page; `key` is the name of the member that contains the items, such as `tools`.
pub(super) fn decode<T: ListItem + DeserializeOwned>(
    text: &RawJson,
    key: &'static str,
    budget: &mut ListBudget,
) -> Result<ListPage<T>, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text.as_bytes());
    let page = reader.deserialize_map(PageVisitor { key, budget, items: PhantomData })?;
    reader.end()?;
    Ok(page)
}

struct PageVisitor<'b, T> {
    key: &'static str,
    budget: &'b mut ListBudget,
    items: PhantomData<T>,
}

impl<'de, T: ListItem + DeserializeOwned> Visitor<'de> for PageVisitor<'_, T> {
    type Value = ListPage<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ListPage<T>, A::Error> {
        let (mut items, mut next_cursor, mut ttl) = (None, None, Duration::ZERO);
        while let Some(Text(name)) = map.next_key()? {
            match &*name {
                name if name == self.key => {
                    let seed = ItemsSeed { budget: &mut *self.budget, items: PhantomData };
                    if items.replace(map.next_value_seed(seed)?).is_some() {
                        return Err(A::Error::duplicate_field(self.key));
                    }
                }
                "nextCursor" => next_cursor = map.next_value()?,
                "ttlMs" => ttl = read_ttl(&map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let items = items.ok_or_else(|| A::Error::missing_field(self.key))?;
        Ok(ListPage { items, next_cursor, ttl })
    }
}

/// A text, borrowed unless it contains escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Text<'t>(#[serde(borrow)] Cow<'t, str>);

/// Decodes items as long as the budget allows. The rest is skipped.
struct ItemsSeed<'b, T> {
    budget: &'b mut ListBudget,
    items: PhantomData<T>,
}

impl<'de, T: ListItem + Deserialize<'de>> DeserializeSeed<'de> for ItemsSeed<'_, T> {
    type Value = Vec<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<T>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de, T: ListItem + Deserialize<'de>> Visitor<'de> for ItemsSeed<'_, T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            if !self.budget.take_item(&item) {
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            items.push(item);
        }
        Ok(items)
    }
}

/// The maximum time that a list is valid, even if the server states a longer time.
const MAX_TTL: Duration = Duration::from_secs(24 * 3600);

/// Returns how long a page is valid, from its `ttlMs`. An invalid value counts as zero.
fn read_ttl(ttl: &Value) -> Duration {
    let millis = ttl.as_f64().filter(|millis| *millis > 0.0).unwrap_or_default();
    Duration::try_from_secs_f64(millis / 1000.0).unwrap_or(MAX_TTL).min(MAX_TTL)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_time_is_none() {
        for (said, meant) in [
            (json!(60_000), Duration::from_secs(60)),
            (json!(1500.0), Duration::from_millis(1500)),
            (json!(1e300), MAX_TTL),
            (json!(u64::MAX), MAX_TTL),
            (json!(-1), Duration::ZERO),
            (json!(null), Duration::ZERO),
            (json!("a while"), Duration::ZERO),
        ] {
            assert_eq!(read_ttl(&said), meant, "{said}");
        }
    }
}
