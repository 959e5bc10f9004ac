//! Maps and sets: in the order of the text, equal whatever the order.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use super::value::Value;

/// A map whose entries keep the order they were written in. Keys are distinct if it was read.
#[derive(Debug, Clone, Default)]
pub struct Map<'a>(Vec<(Value<'a>, Value<'a>)>);

/// A set whose elements keep the order they were written in. They are distinct if it was read.
#[derive(Debug, Clone, Default)]
pub struct Set<'a>(Vec<Value<'a>>);

/// Up to this many elements are compared one by one, which is faster than hashing them. Beyond it
/// they are hashed, so that no input makes the reader take quadratic time.
const SMALL: usize = 12;

impl<'a> Map<'a> {
    /// What is stored under a keyword, named without its colon.
    pub fn get(&self, keyword: &str) -> Option<&Value<'a>> {
        self.iter()
            .find(|(key, _)| key.as_keyword() == Some(keyword))
            .map(|(_, value)| value)
    }

    /// What is stored under a string key.
    pub fn get_str(&self, key: &str) -> Option<&Value<'a>> {
        self.iter()
            .find(|(each, _)| each.as_str() == Some(key))
            .map(|(_, value)| value)
    }

    /// What is stored under any key.
    pub fn get_value(&self, key: &Value<'_>) -> Option<&Value<'a>> {
        self.iter()
            .find(|(each, _)| *each == key)
            .map(|(_, value)| value)
    }

    /// Adds an entry behind the others. Whether the key is new is the caller's to know.
    pub fn push(&mut self, key: Value<'a>, value: Value<'a>) {
        self.0.push((key, value));
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Value<'a>, &Value<'a>)> + Clone {
        self.0.iter().map(|(key, value)| (key, value))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_duplicate_key(&self) -> bool {
        has_duplicate(self.iter().map(|(key, _)| key))
    }
}

impl<'a> Set<'a> {
    pub fn contains(&self, value: &Value<'_>) -> bool {
        self.iter().any(|each| each == value)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Value<'a>> + Clone {
        self.0.iter()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has_duplicate(&self) -> bool {
        has_duplicate(self.iter())
    }
}

fn has_duplicate<'v, 'a: 'v>(
    mut values: impl ExactSizeIterator<Item = &'v Value<'a>> + Clone,
) -> bool {
    if values.len() <= SMALL {
        let mut rest = values.clone();
        return values.any(|value| {
            rest.next();
            rest.clone().any(|later| later == value)
        });
    }
    let mut seen = HashSet::with_capacity(values.len());
    !values.all(|value| seen.insert(HashedValue(value)))
}

/// A value as a key of a hash table. NaN is not equal to itself; a table then merely holds it
/// twice.
#[derive(PartialEq, Hash)]
struct HashedValue<'v, 'a>(&'v Value<'a>);

impl Eq for HashedValue<'_, '_> {}

impl PartialEq for Map<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        if self.len() <= SMALL {
            return self
                .iter()
                .all(|(key, value)| other.get_value(key) == Some(value));
        }
        let others: HashMap<_, _> = other
            .iter()
            .map(|(key, value)| (HashedValue(key), value))
            .collect();
        self.iter().all(|(key, value)| {
            others
                .get(&HashedValue(key))
                .is_some_and(|other| *other == value)
        })
    }
}

impl PartialEq for Set<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.len() != other.len() {
            return false;
        }
        if self.len() <= SMALL {
            return self.iter().all(|value| other.contains(value));
        }
        let others: HashSet<_> = other.iter().map(HashedValue).collect();
        self.iter()
            .all(|value| others.contains(&HashedValue(value)))
    }
}

impl Hash for Map<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_unordered(self.iter(), state);
    }
}

impl Hash for Set<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        hash_unordered(self.iter(), state);
    }
}

/// A sum does not depend on the order of its terms.
fn hash_unordered<T: Hash>(items: impl ExactSizeIterator<Item = T>, state: &mut impl Hasher) {
    items.len().hash(state);
    let sum = items.fold(0u64, |sum, item| {
        let mut hasher = DefaultHasher::new();
        item.hash(&mut hasher);
        sum.wrapping_add(hasher.finish())
    });
    sum.hash(state);
}

impl<'a> FromIterator<(Value<'a>, Value<'a>)> for Map<'a> {
    fn from_iter<I: IntoIterator<Item = (Value<'a>, Value<'a>)>>(entries: I) -> Self {
        Map(entries.into_iter().collect())
    }
}

impl<'a> FromIterator<Value<'a>> for Set<'a> {
    fn from_iter<I: IntoIterator<Item = Value<'a>>>(values: I) -> Self {
        Set(values.into_iter().collect())
    }
}

impl<'a> IntoIterator for Map<'a> {
    type Item = (Value<'a>, Value<'a>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for Set<'a> {
    type Item = Value<'a>;
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
