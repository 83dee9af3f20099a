//! Iterative MapReduce in memory (Myers 2016, 2.5.2): map over inputs, pairs pushed to the locale of their key, reduce over
//! keys; in a loop of the caller's. A *combiner* merges a mapper's pairs of one key before they travel.
//!
//! Pairs travel as one batch a mapper's locale and reducer's locale. Not fault tolerant; within one process.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::ops::Range;
use std::sync::Arc;

use crate::error::GlobalError;
use crate::here::Here;
use crate::symmetric::Symmetric;

/// What is mapped and reduced.
pub trait MapReduce: Send + Sync + 'static {
    /// A key.
    type Key: Hash + Eq + Send + 'static;
    /// A value.
    type Value: Send + 'static;
    /// What a key's values become.
    type Output: Send + 'static;
    /// Gives the pairs of an input, by its number.
    fn map(&self, input: u64, emit: &mut dyn FnMut(Self::Key, Self::Value));
    /// Whether `combine` is used.
    fn combines(&self) -> bool {
        false
    }
    /// Merges a value into another one of its key.
    fn combine(&self, _into: &mut Self::Value, _value: Self::Value) {}
    /// What the values of a key become; one value where they were combined at one locale.
    fn reduce(&self, key: &Self::Key, values: Vec<Self::Value>) -> Self::Output;
}

/// Results in no order, and how many pairs travelled.
pub type Reduced<M> = (Vec<(<M as MapReduce>::Key, <M as MapReduce>::Output)>, u64);

type Mapped<M> = HashMap<<M as MapReduce>::Key, Vec<<M as MapReduce>::Value>>;

/// One round over inputs 0 to `inputs` − 1.
pub async fn map_reduce<M: MapReduce>(
    here: &Here,
    job: &Arc<M>,
    inputs: u64,
) -> Result<Reduced<M>, GlobalError> {
    let mapped: Symmetric<Mapped<M>> = Symmetric::new(here, |_| HashMap::new())?;
    let (job_of, to) = (Arc::clone(job), mapped.clone());
    let map = move |here: &Here, range: Range<u64>| {
        to.with(here, |pairs| {
            let mut emit = |key: M::Key, value: M::Value| {
                let values = pairs.entry(key).or_default();
                match values.first_mut() {
                    Some(first) if job_of.combines() => job_of.combine(first, value),
                    _ => values.push(value),
                }
            };
            range.for_each(|input| job_of.map(input, &mut emit));
        });
    };
    here.forall(0..inputs, 0, map).await;

    let received: Symmetric<(Mapped<M>, u64)> = Symmetric::new(here, |_| (HashMap::new(), 0))?;
    let (hasher, event) = (RandomState::new(), here.event());
    let (id, to) = (event.id(), received.clone());
    let push = move |here: &Here| {
        let locales: Vec<_> = here.own_locales().collect();
        let mut batches: Vec<Vec<(M::Key, Vec<M::Value>)>> = locales.iter().map(|_| Vec::new()).collect();
        for (key, values) in mapped.with(here, std::mem::take) {
            let at = hasher.hash_one(&key) as usize % locales.len();
            batches[at].push((key, values));
        }
        for (locale, batch) in locales.into_iter().zip(batches) {
            to.send(here, id, locale, move |(pairs, travelled)| {
                for (key, values) in batch {
                    *travelled += values.len() as u64;
                    pairs.entry(key).or_default().extend(values);
                }
            });
        }
    };
    here.on_each(push).await;
    event.wait().await;

    let reduced: Symmetric<Vec<(M::Key, M::Output)>> = Symmetric::new(here, |_| Vec::new())?;
    let (job_of, to, from) = (Arc::clone(job), reduced.clone(), received.clone());
    let reduce = move |here: &Here| {
        let pairs = from.with(here, |(pairs, _)| std::mem::take(pairs));
        let reduced = pairs.into_iter().map(|(key, values)| {
            let output = job_of.reduce(&key, values);
            (key, output)
        });
        let reduced: Vec<_> = reduced.collect();
        to.with(here, |results| results.extend(reduced));
    };
    here.on_each(reduce).await;
    let travelled = received.each(|(_, travelled)| *travelled).into_iter().sum();
    Ok((reduced.each(std::mem::take).into_iter().flatten().collect(), travelled))
}
