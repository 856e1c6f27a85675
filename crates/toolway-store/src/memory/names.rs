//! How is a name of a group found without copying it?

use std::borrow::Borrow;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A group and a name in it.
pub(super) trait GroupName {
    fn parts(&self) -> (&str, &str);
}

impl GroupName for (&str, &str) {
    fn parts(&self) -> (&str, &str) {
        *self
    }
}

impl Hash for dyn GroupName + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for dyn GroupName + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for dyn GroupName + '_ {}

/// A stored name. It hashes and compares as the borrowed pair does, which [`Borrow`] requires.
#[derive(Clone)]
pub(super) struct OwnedName(Arc<(Box<str>, Box<str>)>);

impl OwnedName {
    pub(super) fn new((group, name): (&str, &str)) -> Self {
        Self(Arc::new((group.into(), name.into())))
    }
}

impl GroupName for OwnedName {
    fn parts(&self) -> (&str, &str) {
        (&self.0.0, &self.0.1)
    }
}

impl<'a> Borrow<dyn GroupName + 'a> for OwnedName {
    fn borrow(&self) -> &(dyn GroupName + 'a) {
        self
    }
}

impl Hash for OwnedName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.parts().hash(state);
    }
}

impl PartialEq for OwnedName {
    fn eq(&self, other: &Self) -> bool {
        self.parts() == other.parts()
    }
}

impl Eq for OwnedName {}
