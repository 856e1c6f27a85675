//! What are the values of variables?

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// The values of a template's variables by name, in the order of insertion.
///
/// Two sets are equal if the same names have the same values, in any order.
///
/// ```
/// use toolway_protocol::uri_template::{Value, Values};
///
/// let mut values = Values::from([("user", "fred"), ("page", "2")]);
/// values.insert("tags", ["red", "green"]);
/// assert_eq!(values.text("user"), Some("fred"));
/// assert_eq!(values.get("tags"), Some(&Value::from(["red", "green"])));
/// assert_eq!(values.get("missing"), None);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Values(Vec<(String, Value)>);

/// The value of one variable.
///
/// ```
/// use toolway_protocol::uri_template::Value;
///
/// assert_eq!(Value::from("fred").as_text(), Some("fred"));
/// assert_eq!(Value::from(["red", "green"]).as_text(), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// One decoded text.
    Text(String),
    /// Several texts; an empty list counts as undefined (RFC 6570, section 2.3).
    List(Vec<String>),
}

impl Values {
    /// Creates an empty set of values.
    ///
    /// ```
    /// assert!(toolway_protocol::uri_template::Values::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable and returns its previous value.
    ///
    /// ```
    /// use toolway_protocol::uri_template::{Value, Values};
    ///
    /// let mut values = Values::new();
    /// assert_eq!(values.insert("id", "1"), None);
    /// assert_eq!(values.insert("id", "2"), Some(Value::from("1")));
    /// ```
    pub fn insert(&mut self, name: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        let (name, value) = (name.into(), value.into());
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, slot)) => Some(std::mem::replace(slot, value)),
            None => {
                self.0.push((name, value));
                None
            }
        }
    }

    /// Returns the value of a variable, or `None` if it is undefined.
    ///
    /// ```
    /// use toolway_protocol::uri_template::{Value, Values};
    ///
    /// assert_eq!(Values::from([("id", "7")]).get("id"), Some(&Value::from("7")));
    /// ```
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Returns the text of a variable, or `None` if it is undefined or a list.
    ///
    /// ```
    /// use toolway_protocol::uri_template::Values;
    ///
    /// assert_eq!(Values::from([("id", "7")]).text("id"), Some("7"));
    /// ```
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_text()
    }

    /// Returns names and values, in order.
    ///
    /// ```
    /// use toolway_protocol::uri_template::Values;
    ///
    /// let values = Values::from([("b", "1"), ("a", "2")]);
    /// assert_eq!(values.iter().map(|(name, _)| name).collect::<Vec<_>>(), ["b", "a"]);
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// Returns the number of defined variables.
    ///
    /// ```
    /// assert_eq!(toolway_protocol::uri_template::Values::from([("id", "7")]).len(), 1);
    /// ```
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether no variable is defined.
    ///
    /// ```
    /// assert!(!toolway_protocol::uri_template::Values::from([("id", "7")]).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl Eq for Values {}

impl IntoIterator for Values {
    type Item = (String, Value);
    type IntoIter = std::vec::IntoIter<(String, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Values {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        // A name may occur several times, and there may be very many names. A linear search for each name would take
        // quadratic time.
        let mut places: HashMap<String, usize> = HashMap::new();
        let mut values: Vec<Value> = Vec::new();
        for (name, value) in pairs {
            match places.entry(name.into()) {
                Entry::Occupied(place) => values[*place.get()] = value.into(),
                Entry::Vacant(place) => {
                    place.insert(values.len());
                    values.push(value.into());
                }
            }
        }
        let mut names = vec![String::new(); values.len()];
        for (name, place) in places {
            names[place] = name;
        }
        Self(names.into_iter().zip(values).collect())
    }
}

impl<N: Into<String>, V: Into<Value>, const LENGTH: usize> From<[(N, V); LENGTH]> for Values {
    fn from(pairs: [(N, V); LENGTH]) -> Self {
        pairs.into_iter().collect()
    }
}

impl Value {
    /// Returns the text, if the value is not a list.
    ///
    /// ```
    /// assert_eq!(toolway_protocol::uri_template::Value::from("a").as_text(), Some("a"));
    /// ```
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::List(_) => None,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<String>> for Value {
    fn from(list: Vec<String>) -> Self {
        Self::List(list)
    }
}

impl<const LENGTH: usize> From<[&str; LENGTH]> for Value {
    fn from(list: [&str; LENGTH]) -> Self {
        Self::List(list.map(str::to_owned).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_comes_again_keeps_its_place_and_takes_the_last_value() {
        let values = Values::from([("b", "1"), ("a", "2"), ("b", "3"), ("c", "4")]);
        let pairs: Vec<_> = values.iter().map(|(name, value)| (name, value.as_text())).collect();
        assert_eq!(pairs, [("b", Some("3")), ("a", Some("2")), ("c", Some("4"))]);
    }

    #[test]
    fn a_hundred_thousand_names_are_no_work() {
        // A comparison of all pairs would need ten billion steps.
        let values: Values = (0..100_000).map(|number| (format!("{number:08}"), "")).collect();
        assert_eq!(values.len(), 100_000);
    }
}
