//! Where in a list an equal item stands, without comparing it with each: lists of calls and expressions may be long.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Positions in a list kept elsewhere, by the hash of what stands there.
#[derive(Clone, Debug, Default)]
pub struct Places {
    by_hash: HashMap<u64, Vec<usize>>,
}

impl Places {
    /// The position of an item equal to `item`, as `same` judges those whose hash is the same.
    pub fn find<T: Hash + ?Sized>(&self, item: &T, same: impl Fn(usize) -> bool) -> Option<usize> {
        self.by_hash.get(&hash(item))?.iter().copied().find(|at| same(*at))
    }
    /// Remembers that `item` stands at `at`.
    pub fn add<T: Hash + ?Sized>(&mut self, item: &T, at: usize) {
        self.by_hash.entry(hash(item)).or_default().push(at);
    }
}

fn hash<T: Hash + ?Sized>(item: &T) -> u64 {
    let mut hasher = DefaultHasher::new();
    item.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_are_found_without_asking_the_others() {
        let items: Vec<String> = (0..1000).map(|i| format!("item {i}")).collect();
        let mut places = Places::default();
        items.iter().enumerate().for_each(|(at, item)| places.add(item, at));
        let asked = std::cell::Cell::new(0);
        let same = |at: usize| {
            asked.set(asked.get() + 1);
            items[at] == "item 700"
        };
        assert_eq!(places.find("item 700", same), Some(700));
        assert_eq!(asked.get(), 1);
        assert_eq!(places.find("item 1000", |_| true), None);
    }
}
