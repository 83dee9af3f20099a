//! Keys and states as plain vectors, for files: taken apart, and put together again by the same process.
//!
//! The vectors stand in the order of the layout or the spec, and need not be of one length. What can be made anew is
//! left out: hashes, slots, orders.

use types::{Error, Result, Type};
use vector::{Data, Vector};

use super::arrivals::Arrivals;
use super::collected::{Collected, Values};
use super::counted::{Column, Counted, Tally};
use super::extremes::Extremes;
use super::keys::KeyStore;
use super::layout::KeyLayout;
use super::moments::Moment;
use super::pairs::PairMoments;
use super::picked::{Kept, Keys, Picked};
use super::shape::HigherMoments;
use super::sketch::Sketches;
use super::states::{Accumulator, StateSpec, States};
use super::text::TextColumn;

/// The vectors of a key store or of states, taken one by one.
pub struct Columns<'a>(pub &'a mut dyn Iterator<Item = Vector>);

fn damaged() -> Error {
    Error::internal("columns of a spilled aggregation have another form than they were written in")
}

pub(super) fn integers(values: Vec<i64>) -> Vector {
    Vector::from_i64(Type::BigInt, values)
}

pub(super) fn words(values: &[u64]) -> Vector {
    integers(values.iter().map(|word| *word as i64).collect())
}

fn numbers(values: &[u32]) -> Vector {
    Vector::new(Type::Integer, Data::I32(values.iter().map(|n| *n as i32).collect()), None)
}

fn wide(values: Vec<i128>) -> Vector {
    Vector::new(Type::Decimal { precision: 38, scale: 0 }, Data::I128(values.into()), None)
}

fn floats(values: Vec<f64>) -> Vector {
    Vector::new(Type::Double, Data::F64(values.into()), None)
}

fn tallied<C: Column>(tally: Tally<C>, of_values: impl Fn(C) -> Vector, out: &mut Vec<Vector>) {
    let (groups, counts): (Vec<u32>, Vec<u32>) =
        tally.entries.iter().map(|entry| (entry.group, entry.count)).unzip();
    out.extend([numbers(&groups), numbers(&counts), of_values(tally.values)]);
}

fn parts<const N: usize>(states: impl Iterator<Item = [f64; N]>) -> Vector {
    floats(states.flatten().collect())
}

fn flags(first: bool, second: bool) -> Vector {
    integers(vec![i64::from(first), i64::from(second)])
}

impl Columns<'_> {
    fn next(&mut self) -> Result<Vector> {
        self.0.next().ok_or_else(damaged)
    }
    pub(super) fn integers(&mut self) -> Result<Vec<i64>> {
        if let Data::I64(values) = self.next()?.data() { Ok(values.to_vec()) } else { Err(damaged()) }
    }
    pub(super) fn words(&mut self) -> Result<Vec<u64>> {
        Ok(self.integers()?.into_iter().map(|word| word as u64).collect())
    }
    fn numbers(&mut self) -> Result<Vec<u32>> {
        match self.next()?.data() {
            Data::I32(values) => Ok(values.iter().map(|n| *n as u32).collect()),
            _ => Err(damaged()),
        }
    }
    fn wide(&mut self) -> Result<Vec<i128>> {
        if let Data::I128(values) = self.next()?.data() { Ok(values.to_vec()) } else { Err(damaged()) }
    }
    fn floats(&mut self) -> Result<Vec<f64>> {
        if let Data::F64(values) = self.next()?.data() { Ok(values.to_vec()) } else { Err(damaged()) }
    }
    fn parts<const N: usize>(&mut self) -> Result<Vec<[f64; N]>> {
        Ok(self.floats()?.as_chunks::<N>().0.to_vec())
    }
    fn flags(&mut self) -> Result<(bool, bool)> {
        match self.integers()?.as_slice() {
            [first, second] => Ok((*first != 0, *second != 0)),
            _ => Err(damaged()),
        }
    }
    fn texts(&mut self) -> Result<TextColumn> {
        let vector = self.next()?;
        let Data::Bytes(strings) = vector.data() else { return Err(damaged()) };
        let mut texts = TextColumn::default();
        for row in 0..vector.len() {
            if vector.is_null(row) { texts.resize(row + 1) } else { texts.push(strings.get(row)) }
        }
        Ok(texts)
    }
}

impl KeyStore {
    /// The keys as vectors.
    pub fn into_columns(self, out: &mut Vec<Vector>) {
        out.push(integers(vec![self.len() as i64]));
        out.push(words(&self.words));
        out.extend(self.texts.into_iter().map(TextColumn::into_vector));
    }
    /// The keys again, of the layout that they had.
    pub fn from_columns(layout: &KeyLayout, columns: &mut Columns<'_>) -> Result<KeyStore> {
        let len = columns.integers()?.first().copied().ok_or_else(damaged)? as usize;
        let words = columns.words()?;
        let texts = (0..layout.texts).map(|_| columns.texts()).collect::<Result<Vec<_>>>()?;
        if words.len() != len * layout.width || texts.iter().any(|t| t.len() != len) {
            return Err(damaged());
        }
        Ok(KeyStore::from_parts(layout, words, texts, len))
    }
}

impl States {
    /// The states as vectors.
    pub fn into_columns(self, out: &mut Vec<Vector>) {
        out.push(integers(vec![self.groups as i64]));
        out.extend(self.rows.map(integers));
        for argument in self.arguments {
            out.push(integers(argument.missing));
            out.extend(argument.counts.map(integers));
            argument.accumulators.into_iter().for_each(|accumulator| accumulator.into_columns(out));
        }
    }
    /// The states again, of the spec that they had.
    pub fn from_columns(spec: &StateSpec, columns: &mut Columns<'_>) -> Result<States> {
        let mut states = States::new(spec);
        states.groups = columns.integers()?.first().copied().ok_or_else(damaged)? as usize;
        if states.rows.is_some() {
            states.rows = Some(columns.integers()?);
        }
        for argument in &mut states.arguments {
            argument.missing = columns.integers()?;
            if argument.counts.is_some() {
                argument.counts = Some(columns.integers()?);
            }
            for accumulator in &mut argument.accumulators {
                accumulator.fill(columns)?;
            }
        }
        Ok(states)
    }
}

impl Picked {
    fn into_columns(self, out: &mut Vec<Vector>) {
        out.push(match self.keys {
            Keys::Narrow(keys) => integers(keys),
            Keys::Wide(keys) => wide(keys),
        });
        out.push(numbers(&self.states.iter().map(|state| u32::from(*state)).collect::<Vec<_>>()));
        out.push(match self.values {
            Kept::Bits(v) => words(&v),
            Kept::Wide(v) => wide(v.into_iter().map(|bits| bits as i128).collect()),
            Kept::Texts(v) => v.into_vector(),
        });
    }
    fn fill(&mut self, columns: &mut Columns<'_>) -> Result<()> {
        match &mut self.keys {
            Keys::Narrow(keys) => *keys = columns.integers()?,
            Keys::Wide(keys) => *keys = columns.wide()?,
        }
        self.states = columns.numbers()?.into_iter().map(|state| state as u8).collect();
        match &mut self.values {
            Kept::Bits(v) => *v = columns.words()?,
            Kept::Wide(v) => *v = columns.wide()?.into_iter().map(|bits| bits as u128).collect(),
            Kept::Texts(v) => *v = columns.texts()?,
        }
        Ok(())
    }
}

impl Accumulator {
    fn into_columns(self, out: &mut Vec<Vector>) {
        use Accumulator as A;
        match self {
            A::Nothing => {}
            A::Integers(s) => match s.into_parts() {
                (Ok(narrow), bound) => {
                    out.extend([integers(narrow), wide(vec![]), wide(vec![bound as i128])])
                }
                (Err(sums), bound) => out.extend([integers(vec![]), wide(sums), wide(vec![bound as i128])]),
            },
            A::WideIntegers(s) => out.extend([flags(s.overflowed, false), wide(s.sums)]),
            A::Floats(s) => out.extend([flags(s.not_finite, false), floats(s.sums)]),
            A::LeastOrGreatest(s) => out.push(integers(s.values)),
            A::WideLeastOrGreatest(s) => out.push(wide(s.values)),
            A::FloatLeastOrGreatest(s) => out.push(floats(s.values)),
            A::Text(s) => out.push(s.values.into_vector()),
            A::Moments { states, .. } => {
                out.push(parts(states.iter().map(Moment::parts)));
            }
            A::Pieces(s) => {
                let (groups, tags, texts) = s.into_parts();
                out.extend([numbers(&groups), words(&tags), texts.into_vector()]);
            }
            A::Arrivals(s) => out.extend([words(&s.tags), s.values.into_vector()]),
            A::Picked(s) => s.into_columns(out),
            A::Sketched(s) => out.push(s.into_vector()),
            A::Pairs(states) => out.push(parts(states.iter().map(PairMoments::parts))),
            A::Bits { states, .. } => out.push(integers(states)),
            A::Products(states) => out.push(floats(states)),
            A::HigherMoments(states) => out.push(parts(states.iter().map(HigherMoments::parts))),
            A::Collected(Collected { groups, values, .. }) => {
                out.push(numbers(&groups));
                out.push(match values {
                    Values::Integers(v) => integers(v),
                    Values::Wide(v) => wide(v),
                    Values::Floats(v) => floats(v),
                    Values::Texts(v) => v.into_vector(),
                });
            }
            A::Counted(Counted::Integers(tally)) => tallied(tally, integers, out),
            A::Counted(Counted::Wide(tally)) => tallied(tally, wide, out),
            A::Counted(Counted::Floats(tally)) => tallied(tally, floats, out),
            A::Counted(Counted::Texts(tally)) => tallied(tally, TextColumn::into_vector, out),
        }
    }

    /// Fills a new accumulator.
    fn fill(&mut self, columns: &mut Columns<'_>) -> Result<()> {
        use Accumulator as A;
        match self {
            A::Nothing => {}
            A::Integers(s) => {
                let (narrow, sums, bound) = (columns.integers()?, columns.wide()?, columns.wide()?);
                *s = super::sums::IntegerSums::from_parts(
                    narrow,
                    sums,
                    bound.first().map_or(0, |bound| *bound as u128),
                );
            }
            A::WideIntegers(s) => (s.overflowed, s.sums) = (columns.flags()?.0, columns.wide()?),
            A::Floats(s) => (s.not_finite, s.sums) = (columns.flags()?.0, columns.floats()?),
            A::LeastOrGreatest(Extremes { values, .. }) => *values = columns.integers()?,
            A::WideLeastOrGreatest(Extremes { values, .. }) => *values = columns.wide()?,
            A::FloatLeastOrGreatest(Extremes { values, .. }) => *values = columns.floats()?,
            A::Text(s) => s.values = columns.texts()?,
            A::Moments { states, .. } => {
                *states = columns.parts()?.into_iter().map(Moment::from_parts).collect();
            }
            A::Pieces(s) => s.fill(columns.numbers()?, columns.words()?, columns.texts()?),
            A::Arrivals(Arrivals { tags, values, .. }) => {
                (*tags, *values) = (columns.words()?, columns.texts()?)
            }
            A::Picked(s) => s.fill(columns)?,
            A::Sketched(s) => *s = Sketches::from_vector(&columns.next()?).ok_or_else(damaged)?,
            A::Pairs(states) => *states = columns.parts()?.into_iter().map(PairMoments::from_parts).collect(),
            A::Bits { states, .. } => *states = columns.integers()?,
            A::Products(states) => *states = columns.floats()?,
            A::HigherMoments(states) => {
                *states = columns.parts()?.into_iter().map(HigherMoments::from_parts).collect();
            }
            A::Collected(Collected { groups, values, .. }) => {
                *groups = columns.numbers()?;
                match values {
                    Values::Integers(v) => *v = columns.integers()?,
                    Values::Wide(v) => *v = columns.wide()?,
                    Values::Floats(v) => *v = columns.floats()?,
                    Values::Texts(v) => *v = columns.texts()?,
                }
            }
            A::Counted(s) => {
                let (groups, counts) = (columns.numbers()?, columns.numbers()?);
                match s {
                    Counted::Integers(t) => *t = Tally::from_parts(groups, counts, columns.integers()?),
                    Counted::Wide(t) => *t = Tally::from_parts(groups, counts, columns.wide()?),
                    Counted::Floats(t) => *t = Tally::from_parts(groups, counts, columns.floats()?),
                    Counted::Texts(t) => *t = Tally::from_parts(groups, counts, columns.texts()?),
                }
            }
        }
        Ok(())
    }
}
