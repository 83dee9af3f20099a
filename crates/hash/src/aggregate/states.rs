//! The states of all aggregates of all groups, column by column.
//!
//! Aggregates that share an argument share its states: AVG is a sum and a count, COUNT is the rows of the group less
//! those whose argument is missing (NULL, or left out by FILTER). So a query's aggregates become
//!
//! ```text
//!  rows[group]                                              how many rows, once for all
//!  argument 0:  missing[group] (nothing until one is)       accumulator 0, accumulator 1, ...
//!  argument 1:  ...
//! ```
//! DISTINCT arguments are fed from deduplicated values (`update_distinct`) and count those themselves.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, ToByteSlice};
use types::decimal::power_of_ten;
use types::{Error, Physical, Result, Type, Value};
use vector::{Coded, Data, Meaning, Vector};

use super::arrivals::Arrivals;
use super::collected::{Collected, Values};
use super::counted::{Batch, Counted};
use super::extremes::{Extremes, TextChoice, TextExtremes};
use super::moments::Moment;
use super::pairs::PairMoments;
use super::picked::{Pick, Picked};
use super::pieces::Pieces;
use super::rows::{MaskedGroups, RowGroups};
use super::shape::{BitOperation, HigherMoments};
use super::sketch::Sketches;
use super::sums::{FloatSums, IntegerSums, WideSums, add_counts};

/// What is computed of an argument's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccumulatorKind {
    /// The sum of the values.
    Sum,
    /// The least value.
    Least,
    /// The greatest value.
    Greatest,
    /// Any of the values.
    Any,
    /// Mean and squared distances from it.
    Moments,
    /// The texts put together, with `delimiter` between them; `ordered` texts are ordered rows that carry them.
    Concatenation {
        /// The bytes between two texts.
        delimiter: Arc<str>,
        /// The texts come as ordered rows that carry them.
        ordered: bool,
        /// Of ordered rows, how many first ones of a group are wanted.
        most: Option<u32>,
    },
    /// The value of the first or last row.
    Arrival {
        /// The last row instead of the first.
        last: bool,
    },
    /// Moments of pairs.
    Pairs,
    /// The bits of integers put together.
    Bits(BitOperation),
    /// The product, as a float.
    Product,
    /// Moments up to the fourth, for skewness and kurtosis.
    HigherMoments,
    /// All values, for what depends on their order.
    Collected,
    /// How often each value comes.
    Counted,
    /// A sketch of the values, for about how many there are.
    Sketched,
    /// The value of one row.
    Picked(Pick),
}

/// An argument and what is computed of it.
#[derive(Clone, Debug)]
pub struct ArgumentSpec {
    /// The type of its values.
    pub ty: Type,
    /// DISTINCT: values come deduplicated, by `update_distinct`.
    pub distinct: bool,
    /// What is computed of them; aggregates refer to these by position.
    pub accumulators: Vec<AccumulatorKind>,
}

/// The states a query needs. `rows`: whether rows are counted; arguments that are not DISTINCT need it.
#[derive(Clone, Debug, Default)]
pub struct StateSpec {
    /// Whether the rows of each group are counted.
    pub rows: bool,
    /// The arguments; aggregates refer to these by position.
    pub arguments: Vec<ArgumentSpec>,
}

impl StateSpec {
    /// Nothing but counts and sums of integers of at most 64 bits: what `States::update_masked` can do.
    pub fn is_sums(&self) -> bool {
        let narrow = |ty: Type| matches!(ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
        self.arguments
            .iter()
            .all(|a| !a.distinct && a.accumulators.iter().all(|k| *k == AccumulatorKind::Sum && narrow(a.ty)))
    }
}

pub(super) enum Accumulator {
    /// For a type that has no values: only its counts matter.
    Nothing,
    Integers(IntegerSums),
    WideIntegers(WideSums),
    Floats(FloatSums),
    LeastOrGreatest(Extremes<i64>),
    WideLeastOrGreatest(Extremes<i128>),
    FloatLeastOrGreatest(Extremes<f64>),
    Text(TextExtremes),
    Moments {
        states: Vec<Moment>,
        /// Decimals are divided by this.
        unit: f64,
    },
    Pieces(Pieces),
    Arrivals(Arrivals),
    Pairs(Vec<PairMoments>),
    Bits {
        states: Vec<i64>,
        operation: BitOperation,
    },
    Products(Vec<f64>),
    HigherMoments(Vec<HigherMoments>),
    Collected(Collected),
    Counted(Counted),
    Sketched(Sketches),
    Picked(Picked),
}

impl Accumulator {
    fn new(kind: &AccumulatorKind, ty: Type, distinct: bool) -> Self {
        use AccumulatorKind as K;
        let physical = ty.physical();
        if ty == Type::Null {
            return Accumulator::Nothing;
        }
        match (kind, physical) {
            (K::Sum, Physical::F32 | Physical::F64) => Accumulator::Floats(FloatSums::default()),
            (K::Sum, Physical::I128) => Accumulator::WideIntegers(WideSums::default()),
            (K::Sum, Physical::Bytes) => Accumulator::Nothing,
            (K::Sum, _) => Accumulator::Integers(IntegerSums::default()),
            (K::Moments, _) => Accumulator::Moments { states: vec![], unit: power_of_ten(ty.scale()) as f64 },
            (K::Concatenation { delimiter, ordered, most }, _) => {
                Accumulator::Pieces(Pieces::new(delimiter.clone(), distinct, *ordered).of_first(*most))
            }
            (K::Arrival { last }, _) => Accumulator::Arrivals(Arrivals::new(*last)),
            (K::Pairs, _) => Accumulator::Pairs(vec![]),
            (K::Bits(operation), _) => Accumulator::Bits { states: vec![], operation: *operation },
            (K::Product, _) => Accumulator::Products(vec![]),
            (K::HigherMoments, _) => Accumulator::HigherMoments(vec![]),
            (K::Collected, _) => Accumulator::Collected(Collected::new(Values::of(physical))),
            (K::Picked(pick), _) => Accumulator::Picked(Picked::new(*pick)),
            (K::Counted, _) => Accumulator::Counted(Counted::new(physical)),
            (K::Sketched, _) => Accumulator::Sketched(Sketches::default()),
            (K::Least, Physical::Bytes) => Accumulator::Text(TextExtremes::new(TextChoice::Least)),
            (K::Greatest, Physical::Bytes) => Accumulator::Text(TextExtremes::new(TextChoice::Greatest)),
            (K::Any, Physical::Bytes) => Accumulator::Text(TextExtremes::new(TextChoice::Any)),
            // The least of the values is one of them.
            (K::Least | K::Greatest | K::Any, _) => {
                let greatest = *kind == K::Greatest;
                match physical {
                    Physical::F32 | Physical::F64 => {
                        Accumulator::FloatLeastOrGreatest(Extremes::new(greatest))
                    }
                    Physical::I128 => Accumulator::WideLeastOrGreatest(Extremes::new(greatest)),
                    _ => Accumulator::LeastOrGreatest(Extremes::new(greatest)),
                }
            }
        }
    }
    fn resize(&mut self, groups: usize) {
        match self {
            Accumulator::Nothing
            | Accumulator::Pieces(_)
            | Accumulator::Collected(_)
            | Accumulator::Counted(_) => {}
            Accumulator::Bits { states, operation } => states.resize(groups, operation.neutral()),
            Accumulator::Arrivals(s) => s.resize(groups),
            Accumulator::Picked(s) => s.resize(groups),
            Accumulator::Sketched(s) => s.resize(groups),
            Accumulator::Pairs(s) => s.resize(groups, PairMoments::default()),
            Accumulator::Products(s) => s.resize(groups, 1.0),
            Accumulator::HigherMoments(s) => s.resize(groups, HigherMoments::default()),
            Accumulator::Integers(s) => s.resize(groups),
            Accumulator::WideIntegers(s) => s.resize(groups),
            Accumulator::Floats(s) => s.sums.resize(groups, 0.0),
            Accumulator::LeastOrGreatest(s) => s.resize(groups),
            Accumulator::WideLeastOrGreatest(s) => s.resize(groups),
            Accumulator::FloatLeastOrGreatest(s) => s.resize(groups),
            Accumulator::Text(s) => s.values.resize(groups),
            Accumulator::Moments { states, .. } => states.resize(groups, Moment::default()),
        }
    }
    fn bytes(&self) -> usize {
        match self {
            Accumulator::Nothing => 0,
            Accumulator::Integers(s) => s.bytes(),
            Accumulator::WideIntegers(s) => s.bytes(),
            Accumulator::Floats(s) => s.sums.capacity() * 8,
            Accumulator::LeastOrGreatest(s) => s.bytes(),
            Accumulator::WideLeastOrGreatest(s) => s.bytes(),
            Accumulator::FloatLeastOrGreatest(s) => s.bytes(),
            Accumulator::Text(s) => s.values.bytes_held(),
            Accumulator::Moments { states, .. } => states.capacity() * size_of::<Moment>(),
            Accumulator::Pieces(s) => s.bytes(),
            Accumulator::Bits { states, .. } => states.capacity() * 8,
            Accumulator::Arrivals(s) => s.bytes(),
            Accumulator::Picked(s) => s.bytes(),
            Accumulator::Pairs(s) => s.capacity() * size_of::<PairMoments>(),
            Accumulator::Products(s) => s.capacity() * 8,
            Accumulator::HigherMoments(s) => s.capacity() * size_of::<HigherMoments>(),
            Accumulator::Collected(s) => s.bytes(),
            Accumulator::Counted(s) => s.bytes(),
            Accumulator::Sketched(s) => s.bytes(),
        }
    }
    /// Values without NULLs.
    fn update(&mut self, groups: RowGroups<'_>, vector: &Vector, tag: u64) -> Result<()> {
        match self {
            Accumulator::Nothing => {}
            Accumulator::Integers(s) => s.update(groups, &integers(vector)?),
            Accumulator::LeastOrGreatest(s) => s.update(groups, &integers(vector)?),
            Accumulator::WideIntegers(s) => s.update(groups, wide_integers(vector)?),
            Accumulator::WideLeastOrGreatest(s) => s.update(groups, wide_integers(vector)?),
            Accumulator::Floats(s) => s.update(groups, &floats(vector)?),
            Accumulator::FloatLeastOrGreatest(s) => s.update(groups, &floats(vector)?),
            Accumulator::Text(s) => s.update(groups, strings(vector)?),
            // Values that are states of other groups.
            Accumulator::Moments { states, .. } if vector.ty() == Type::Bytea => {
                each_state(groups, strings(vector)?, |g, parts| states[g].merge(&Moment::from_parts(parts)));
            }
            Accumulator::HigherMoments(states) if vector.ty() == Type::Bytea => {
                each_state(groups, strings(vector)?, |g, parts| {
                    states[g].merge(&HigherMoments::from_parts(parts));
                });
            }
            Accumulator::Moments { states, unit } => {
                let values = numbers(vector)?;
                each_value(groups, values.iter().map(|v| *v / *unit), |g, v| states[g].add(v));
            }
            Accumulator::Bits { states, operation } => {
                let values = integers(vector)?;
                each_value(groups, values.iter(), |g, v| states[g] = operation.apply(states[g], *v));
            }
            Accumulator::Arrivals(s) => s.update(groups, strings(vector)?, tag),
            Accumulator::Picked(_) => return Err(mismatch(vector)),
            Accumulator::Sketched(s) => s.update(groups, vector)?,
            Accumulator::Pairs(states) => {
                let pairs = strings(vector)?;
                each_value(groups, 0..groups.rows(), |g, row| states[g].add_bytes(pairs.get(row)));
            }
            Accumulator::Products(states) => {
                each_value(groups, numbers(vector)?.iter(), |g, v| states[g] *= *v);
            }
            Accumulator::HigherMoments(states) => {
                each_value(groups, numbers(vector)?.iter(), |g, v| states[g].add(*v));
            }
            Accumulator::Collected(s) => {
                match &mut s.values {
                    Values::Integers(all) => all.extend_from_slice(&integers(vector)?),
                    Values::Wide(all) => all.extend_from_slice(wide_integers(vector)?),
                    Values::Floats(all) => all.extend_from_slice(&floats(vector)?),
                    Values::Texts(all) => {
                        let text = strings(vector)?;
                        (0..groups.rows()).for_each(|row| all.push(text.get(row)));
                    }
                }
                s.add_groups(groups);
            }
            Accumulator::Counted(s) => match s {
                Counted::Integers(_) => s.update(groups, &Batch::Integers(&integers(vector)?)),
                Counted::Wide(_) => s.update(groups, &Batch::Wide(wide_integers(vector)?)),
                Counted::Floats(_) => s.update(groups, &Batch::Floats(&floats(vector)?)),
                Counted::Texts(_) => s.update(groups, &Batch::Texts(strings(vector)?)),
            },
            Accumulator::Pieces(s) => s.extend(groups, tag, strings(vector)?),
        }
        Ok(())
    }
    fn merge(&mut self, other: &Accumulator, rows: Option<&[u32]>, groups: &[u32]) {
        use Accumulator as A;
        match (self, other) {
            (A::Nothing, A::Nothing) => {}
            (A::Integers(a), A::Integers(b)) => a.merge(b, rows, groups),
            (A::WideIntegers(a), A::WideIntegers(b)) => a.merge(b, rows, groups),
            (A::Floats(a), A::Floats(b)) => a.merge(b, rows, groups),
            (A::LeastOrGreatest(a), A::LeastOrGreatest(b)) => a.merge(b, rows, groups),
            (A::WideLeastOrGreatest(a), A::WideLeastOrGreatest(b)) => a.merge(b, rows, groups),
            (A::FloatLeastOrGreatest(a), A::FloatLeastOrGreatest(b)) => a.merge(b, rows, groups),
            (A::Text(a), A::Text(b)) => a.merge(b, rows, groups),
            (A::Moments { states: a, .. }, A::Moments { states: b, .. }) => {
                super::sums::merge_each(a, b, rows, groups, |a, b| a.merge(&b));
            }
            (A::Pieces(a), A::Pieces(b)) => a.merge(b, rows, groups),
            (A::Bits { states: a, operation }, A::Bits { states: b, .. }) => {
                super::sums::merge_each(a, b, rows, groups, |a, b| *a = operation.apply(*a, b));
            }
            (A::Arrivals(a), A::Arrivals(b)) => a.merge(b, rows, groups),
            (A::Pairs(a), A::Pairs(b)) => {
                super::sums::merge_each(a, b, rows, groups, |a, b| a.merge(&b));
            }
            (A::Products(a), A::Products(b)) => {
                super::sums::merge_each(a, b, rows, groups, |a, b| *a *= b);
            }
            (A::HigherMoments(a), A::HigherMoments(b)) => {
                super::sums::merge_each(a, b, rows, groups, |a, b| a.merge(&b));
            }
            (A::Collected(a), A::Collected(b)) => a.merge(b, rows, groups),
            (A::Counted(a), A::Counted(b)) => a.merge(b, rows, groups),
            (A::Sketched(a), A::Sketched(b)) => a.merge(b, rows, groups),
            (A::Picked(a), A::Picked(b)) => a.merge(b, rows, groups),
            _ => panic!("states of one query have one form"),
        }
    }
}

/// Calls `add` with each value and its group.
#[inline]
fn each_value<V>(groups: RowGroups<'_>, values: impl Iterator<Item = V>, mut add: impl FnMut(usize, V)) {
    match groups {
        RowGroups::Single(_) => values.for_each(|v| add(0, v)),
        RowGroups::Each(each) => each.iter().zip(values).for_each(|(g, v)| add(*g as usize, v)),
        RowGroups::Runs(runs) => runs.each().iter().zip(values).for_each(|(g, v)| add(*g as usize, v)),
    }
}

/// Calls `merge` with each state among the values and its group.
fn each_state<const N: usize>(
    groups: RowGroups<'_>,
    values: &vector::Strings,
    mut merge: impl FnMut(usize, [f64; N]),
) {
    each_value(groups, 0..groups.rows(), |group, row| {
        if let Some(parts) = super::state_bytes::read(values.get(row)) {
            merge(group, parts);
        }
    });
}

fn mismatch(vector: &Vector) -> Error {
    Error::internal(format!("an aggregate's argument of type {} has another form", vector.ty()))
}

fn integers(vector: &Vector) -> Result<Cow<'_, [i64]>> {
    Ok(match vector.data() {
        Data::I64(v) => Cow::Borrowed(v),
        Data::I32(v) => Cow::Owned(v.iter().map(|v| i64::from(*v)).collect()),
        Data::I16(v) => Cow::Owned(v.iter().map(|v| i64::from(*v)).collect()),
        Data::Bool(v) => Cow::Owned(v.iter().map(i64::from).collect()),
        _ => return Err(mismatch(vector)),
    })
}

fn wide_integers(vector: &Vector) -> Result<&[i128]> {
    if let Data::I128(v) = vector.data() { Ok(v) } else { Err(mismatch(vector)) }
}

fn floats(vector: &Vector) -> Result<Cow<'_, [f64]>> {
    Ok(match vector.data() {
        Data::F64(v) => Cow::Borrowed(v),
        Data::F32(v) => Cow::Owned(v.iter().map(|v| f64::from(*v)).collect()),
        _ => return Err(mismatch(vector)),
    })
}

fn numbers(vector: &Vector) -> Result<Cow<'_, [f64]>> {
    Ok(match vector.data() {
        Data::F32(_) | Data::F64(_) => floats(vector)?,
        Data::I128(v) => Cow::Owned(v.iter().map(|v| *v as f64).collect()),
        _ => Cow::Owned(integers(vector)?.iter().map(|v| *v as f64).collect()),
    })
}

fn strings(vector: &Vector) -> Result<&vector::Strings> {
    if let Data::Bytes(s) = vector.data() { Ok(s) } else { Err(mismatch(vector)) }
}

pub(super) struct Argument {
    /// The type of its values.
    pub ty: Type,
    /// Rows of a group without a value; empty while there is none in any group. Not for DISTINCT.
    pub(super) missing: Vec<i64>,
    /// Values of a group; DISTINCT only.
    pub(super) counts: Option<Vec<i64>>,
    /// One for each `AccumulatorKind` of the spec, in its order.
    pub accumulators: Vec<Accumulator>,
}

/// The states of groups `0..groups()`.
pub struct States {
    pub(super) groups: usize,
    pub(super) rows: Option<Vec<i64>>,
    pub(super) arguments: Vec<Argument>,
}

impl States {
    /// States of no groups.
    pub fn new(spec: &StateSpec) -> Self {
        let arguments = spec
            .arguments
            .iter()
            .map(|a| Argument {
                ty: a.ty,
                missing: vec![],
                counts: a.distinct.then(Vec::new),
                accumulators: a.accumulators.iter().map(|k| Accumulator::new(k, a.ty, a.distinct)).collect(),
            })
            .collect();
        States { groups: 0, rows: spec.rows.then(Vec::new), arguments }
    }
    /// Number of groups; the states of each exist.
    pub fn groups(&self) -> usize {
        self.groups
    }
    /// Forgets all groups; `spec` is the one the states were made with. Room for common ones is kept.
    pub fn reset(&mut self, spec: &StateSpec) {
        self.groups = 0;
        if let Some(rows) = &mut self.rows {
            rows.clear();
        }
        for (argument, spec) in self.arguments.iter_mut().zip(&spec.arguments) {
            argument.missing.clear();
            if let Some(counts) = &mut argument.counts {
                counts.clear();
            }
            for (accumulator, kind) in argument.accumulators.iter_mut().zip(&spec.accumulators) {
                match accumulator {
                    Accumulator::Integers(sums) => sums.clear(),
                    other => *other = Accumulator::new(kind, spec.ty, spec.distinct),
                }
            }
        }
    }
    /// Names the pieces of memory of counts, sums, and least and greatest values.
    pub fn each_piece(&self, name: &mut dyn FnMut(&[u8])) {
        self.rows.iter().for_each(|rows| name(rows.to_byte_slice()));
        for argument in &self.arguments {
            name(argument.missing.to_byte_slice());
            argument.counts.iter().for_each(|counts| name(counts.to_byte_slice()));
            for accumulator in &argument.accumulators {
                match accumulator {
                    Accumulator::Integers(sums) => sums.each_piece(name),
                    Accumulator::Floats(sums) => name(sums.sums.to_byte_slice()),
                    Accumulator::LeastOrGreatest(values) => name(values.values().to_byte_slice()),
                    Accumulator::WideLeastOrGreatest(values) => name(values.values().to_byte_slice()),
                    Accumulator::FloatLeastOrGreatest(values) => name(values.values().to_byte_slice()),
                    _ => {}
                }
            }
        }
    }
    /// Bytes held, for the memory budget.
    pub fn bytes(&self) -> usize {
        let rows = self.rows.as_ref().map_or(0, |r| r.capacity() * 8);
        rows + self
            .arguments
            .iter()
            .map(|a| {
                a.missing.capacity() * 8
                    + a.counts.as_ref().map_or(0, |c| c.capacity() * 8)
                    + a.accumulators.iter().map(Accumulator::bytes).sum::<usize>()
            })
            .sum::<usize>()
    }
    /// Adds groups, empty, up to `groups` of them.
    pub fn resize(&mut self, groups: usize) {
        debug_assert!(groups >= self.groups);
        if groups == self.groups {
            return;
        }
        self.groups = groups;
        if let Some(rows) = &mut self.rows {
            rows.resize(groups, 0);
        }
        for argument in &mut self.arguments {
            if !argument.missing.is_empty() {
                argument.missing.resize(groups, 0);
            }
            if let Some(counts) = &mut argument.counts {
                counts.resize(groups, 0);
            }
            for accumulator in &mut argument.accumulators {
                accumulator.resize(groups);
            }
        }
    }
    /// Counts a batch's rows; to be called once a batch.
    pub fn count_rows(&mut self, groups: RowGroups<'_>) {
        if let Some(rows) = &mut self.rows {
            add_counts(groups, rows);
        }
    }
    /// Adds a batch of values of `argument`; rows for which `filter` is not TRUE have none. `tag` orders batches.
    pub fn update(
        &mut self,
        argument: usize,
        groups: RowGroups<'_>,
        values: Option<&Vector>,
        filter: Option<&Vector>,
        tag: u64,
    ) -> Result<()> {
        let present = present(values, filter);
        if let (Some(present), Some(values)) = (&present, values)
            && self.update_zeroed(argument, groups, values, present)?
        {
            return Ok(());
        }
        self.update_present(argument, groups, present, |argument, groups, kept| match kept {
            None => argument.add(groups, values, tag),
            Some(kept) => {
                let values = values.map(|v| v.gather(kept).with_validity(None));
                argument.add(groups, values.as_ref(), tag)
            }
        })
    }
    /// Sums of integers where most rows have a value: those without are added as zeros, in their places. False where
    /// rows must be left out.
    fn update_zeroed(
        &mut self,
        argument: usize,
        groups: RowGroups<'_>,
        values: &Vector,
        present: &BooleanBuffer,
    ) -> Result<bool> {
        let argument = &mut self.arguments[argument];
        let are_sums = argument.accumulators.iter().all(|a| matches!(a, Accumulator::Integers(_)));
        let mostly_there = present.count_set_bits() * 2 >= present.len();
        if !are_sums || !mostly_there || !matches!(values.data(), Data::I64(_) | Data::I32(_) | Data::I16(_))
        {
            return Ok(false);
        }
        argument.missing.resize(self.groups, 0);
        let absent = !present;
        match groups {
            RowGroups::Single(_) => argument.missing[0] += absent.count_set_bits() as i64,
            RowGroups::Each(each) => argument.count_missing(&absent, each),
            RowGroups::Runs(runs) => argument.count_missing(&absent, runs.each()),
        }
        if argument.accumulators.is_empty() {
            return Ok(true);
        }
        let mut numbers = integers(values)?.into_owned();
        absent.set_indices().for_each(|row| numbers[row] = 0);
        for accumulator in &mut argument.accumulators {
            if let Accumulator::Integers(sums) = accumulator {
                sums.update(groups, &numbers);
            }
        }
        Ok(true)
    }
    /// As `update`, for an argument of one `AccumulatorKind::Picked`, whose rows are picked by `key`.
    pub fn update_picked(
        &mut self,
        argument: usize,
        groups: RowGroups<'_>,
        key: Option<&Vector>,
        values: &Vector,
        filter: Option<&Vector>,
        tag: u64,
    ) -> Result<()> {
        let Some(Accumulator::Picked(picked)) = self.arguments[argument].accumulators.first() else {
            return Err(mismatch(values));
        };
        let pick = picked.pick();
        let of_key = present(key.filter(|_| pick.key.is_some_and(|key| key.keys_only)), filter);
        let of_value = present(Some(values).filter(|_| pick.values_only), None);
        let present = match (of_key, of_value) {
            (Some(a), Some(b)) => Some(&a & &b),
            (a, b) => a.or(b),
        };
        self.update_present(argument, groups, present, |argument, groups, kept| {
            let Some(Accumulator::Picked(picked)) = argument.accumulators.first_mut() else {
                return Err(mismatch(values));
            };
            let kept = |vector: &Vector| match kept {
                Some(kept) => vector.gather(kept).flatten(),
                None => vector.flatten(),
            };
            picked.update(groups, key.map(kept).as_ref(), &kept(values), tag)
        })
    }
    /// Calls `add` with the rows that have a value and their groups; without rows: all have one.
    fn update_present(
        &mut self,
        argument: usize,
        groups: RowGroups<'_>,
        present: Option<BooleanBuffer>,
        add: impl FnOnce(&mut Argument, RowGroups<'_>, Option<&[u32]>) -> Result<()>,
    ) -> Result<()> {
        let count = self.groups;
        let argument = &mut self.arguments[argument];
        let Some(present) = present else {
            return add(argument, groups, None);
        };
        let mut missing = std::mem::take(&mut argument.missing);
        missing.resize(count, 0);
        let absent = !&present;
        let kept: Vec<u32> = present.set_indices().map(|row| row as u32).collect();
        let each: Option<&[u32]> = match groups {
            RowGroups::Single(_) => None,
            RowGroups::Each(each) => Some(each),
            RowGroups::Runs(runs) => Some(runs.each()),
        };
        match each {
            None => missing[0] += absent.count_set_bits() as i64,
            Some(each) => absent.set_indices().for_each(|row| missing[each[row] as usize] += 1),
        }
        argument.missing = missing;
        if kept.is_empty() || argument.accumulators.is_empty() {
            return Ok(());
        }
        match each {
            None => add(argument, RowGroups::Single(kept.len()), Some(&kept)),
            Some(each) => {
                let groups: Vec<u32> = kept.iter().map(|row| each[*row as usize]).collect();
                add(argument, RowGroups::Each(&groups), Some(&kept))
            }
        }
    }
    /// Counts a batch's selected rows; to be called once a batch.
    pub fn count_masked(&mut self, masks: &MaskedGroups) {
        let Some(rows) = &mut self.rows else { return };
        for part in &masks.parts {
            for (group, count) in part.groups.iter().zip(&part.counts) {
                rows[*group as usize] += count;
            }
        }
    }
    /// Whether `update_masked` can take this vector as a value of any argument that the spec allows.
    pub fn takes_masked(values: &Vector) -> bool {
        let suits = match values.data() {
            Data::Coded(coded) => matches!(coded.meaning, Meaning::Line { .. }),
            Data::I16(_) | Data::I32(_) | Data::I64(_) => true,
            _ => false,
        };
        suits && !values.has_nulls()
    }
    /// Adds the values of a batch's selected rows; all of them have one, of a form that `takes_masked` accepts.
    pub fn update_masked(&mut self, argument: usize, masks: &MaskedGroups, values: &Vector) -> Result<()> {
        for accumulator in &mut self.arguments[argument].accumulators {
            let Accumulator::Integers(sums) = accumulator else { return Err(mismatch(values)) };
            match values.data() {
                Data::Coded(Coded { meaning: Meaning::Line { base, step }, .. }) => {
                    if let Data::Coded(coded) = values.data() {
                        sums.update_masked_codes(masks, coded, *base, *step);
                    }
                }
                _ => sums.update_masked(masks, &integers(values)?),
            }
        }
        Ok(())
    }
    /// Counts rows of `groups`; to be called once for rows whose values come by `add_sums`.
    pub fn add_rows(&mut self, groups: &[u32], counts: &[u64]) {
        let Some(rows) = &mut self.rows else { return };
        for (group, count) in groups.iter().zip(counts) {
            rows[*group as usize] += *count as i64;
        }
    }
    /// Adds sums made elsewhere to those of `groups`: the sum of each, and how many of its rows had no value. No group
    /// is there twice. `bound`: on the sum of the magnitudes of all values.
    pub fn add_sums(
        &mut self,
        argument: usize,
        groups: &[u32],
        sums: &[i128],
        missing: &[u64],
        bound: u128,
    ) -> Result<()> {
        let count = self.groups;
        let argument = &mut self.arguments[argument];
        if missing.iter().any(|rows| *rows > 0) {
            argument.missing.resize(count, 0);
            for (group, rows) in groups.iter().zip(missing) {
                argument.missing[*group as usize] += *rows as i64;
            }
        }
        for accumulator in &mut argument.accumulators {
            let Accumulator::Integers(own) = accumulator else {
                return Err(Error::internal("an aggregate other than a sum of integers was summed by cells"));
            };
            own.add_sums(groups, sums, bound);
        }
        Ok(())
    }
    /// Adds values of a DISTINCT argument, each new for its group and not NULL.
    pub fn update_distinct(&mut self, argument: usize, groups: RowGroups<'_>, values: &Vector) -> Result<()> {
        let argument = &mut self.arguments[argument];
        if let Some(counts) = &mut argument.counts {
            add_counts(groups, counts);
        }
        argument.add(groups, Some(values), 0)
    }
    /// Adds the groups `rows` of `other` (all when `None`) to `groups` here, one by one.
    pub fn merge(&mut self, other: &States, rows: Option<&[u32]>, groups: &[u32]) {
        let count = self.groups;
        if let (Some(a), Some(b)) = (&mut self.rows, &other.rows) {
            super::sums::merge_each(a, b, rows, groups, |a, b| *a += b);
        }
        for (mine, theirs) in self.arguments.iter_mut().zip(&other.arguments) {
            if !theirs.missing.is_empty() {
                mine.missing.resize(count, 0);
                super::sums::merge_each(&mut mine.missing, &theirs.missing, rows, groups, |a, b| *a += b);
            }
            if let (Some(a), Some(b)) = (&mut mine.counts, &theirs.counts) {
                super::sums::merge_each(a, b, rows, groups, |a, b| *a += b);
            }
            for (a, b) in mine.accumulators.iter_mut().zip(&theirs.accumulators) {
                a.merge(b, rows, groups);
            }
        }
    }
    pub(super) fn row_count(&self, group: usize) -> i64 {
        self.rows.as_ref().map_or(0, |r| r[group])
    }
    /// Rows of a group that have a value of the argument.
    pub(super) fn value_count(&self, argument: usize, group: usize) -> i64 {
        let argument = &self.arguments[argument];
        match &argument.counts {
            Some(counts) => counts[group],
            None => self.row_count(group) - argument.missing.get(group).copied().unwrap_or(0),
        }
    }
    /// False when every group of at least one row has a value: nothing was missing.
    pub(super) fn may_lack_values(&self, argument: usize) -> bool {
        let argument = &self.arguments[argument];
        argument.counts.is_some() || !argument.missing.is_empty()
    }
}

impl Argument {
    /// Counts the rows without a value by the group of each row.
    fn count_missing(&mut self, absent: &BooleanBuffer, each: &[u32]) {
        absent.set_indices().for_each(|row| self.missing[each[row] as usize] += 1);
    }
    fn add(&mut self, groups: RowGroups<'_>, values: Option<&Vector>, tag: u64) -> Result<()> {
        if self.accumulators.is_empty() || groups.rows() == 0 {
            return Ok(());
        }
        let Some(values) = values else { return Ok(()) };
        let flat = if values.is_flat() { None } else { Some(values.flatten()) };
        let values = flat.as_ref().unwrap_or(values);
        for accumulator in &mut self.accumulators {
            accumulator.update(groups, values, tag)?;
        }
        Ok(())
    }
}

/// The rows that have a value; `None` when all do.
fn present(values: Option<&Vector>, filter: Option<&Vector>) -> Option<BooleanBuffer> {
    let valid = values.filter(|v| v.has_nulls()).map(|v| match (v.validity(), v.data()) {
        (Some(validity), data) if !matches!(data, Data::Constant(Value::Null)) => validity.inner().clone(),
        _ => BooleanBuffer::new_unset(v.len()),
    });
    let passed = filter.and_then(|f| {
        let flat = f.flatten();
        let Data::Bool(bits) = flat.data() else { return Some(BooleanBuffer::new_unset(f.len())) };
        let passed = match flat.validity() {
            Some(validity) => bits & validity.inner(),
            None => bits.clone(),
        };
        (passed.count_set_bits() < passed.len()).then_some(passed)
    });
    match (valid, passed) {
        (Some(a), Some(b)) => Some(&a & &b),
        (a, b) => a.or(b),
    }
}
