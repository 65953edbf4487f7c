//! Hash maps and sets as the hot paths use them: with a hash that is several times faster than the one of the standard
//! library for short names, and seeded at random as well. A tenth of a plan went to hashing.

use foldhash::fast::RandomState;

pub type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
pub type HashSet<T> = std::collections::HashSet<T, RandomState>;
pub type IndexMap<K, V> = indexmap::IndexMap<K, V, RandomState>;
