//! IN over constant lists. The list is arranged once, when the program is compiled:
//!
//! | values | test |
//! | --- | --- |
//! | up to 8 fixed-width ones | compared with each, unrolled |
//! | integers within 65536 of each other | one bit of a map |
//! | longer lists of integers | binary search without branches |
//! | strings | their views when short, hashed when long |

use std::collections::HashSet;
use std::sync::Arc;

use arrow_buffer::{BooleanBuffer, NullBuffer};
use types::{Physical, Type, Value};
use vector::strings::{INLINE_BYTES, inline_view, view_length};
use vector::{Strings, Vector};

use crate::bits;
use crate::operand::{Native, Operand, Text, Whole, boolean_bits, constant_bits, test};

/// Most values compared one by one.
const FEW: usize = 8;
/// Widest range that gets a map of bits: 8 KiB of it.
const MAP_BITS: i128 = 1 << 16;

/// The values of an IN list, arranged for the physical type of its input.
#[derive(Debug)]
pub struct ValueSet {
    values: Arc<[Value]>,
    lookup: Lookup,
}

#[derive(Debug)]
enum Lookup {
    Empty,
    Booleans {
        has_true: bool,
        has_false: bool,
    },
    /// The list padded with repetitions.
    Few([i128; FEW]),
    Map {
        base: i128,
        words: Vec<u64>,
    },
    Sorted(Vec<i64>),
    SortedWide(Vec<i128>),
    Floats(Vec<f64>),
    Text(TextSet),
}

#[derive(Debug)]
struct TextSet {
    /// Views of the short values, sorted.
    short: Vec<u128>,
    long: HashSet<Box<[u8]>>,
}

impl ValueSet {
    /// `values` as the plan has them: sorted, distinct, not NULL.
    pub(crate) fn new(values: Arc<[Value]>, ty: Type) -> Self {
        let lookup = if values.is_empty() {
            Lookup::Empty
        } else {
            match ty.physical() {
                Physical::Bool => Lookup::Booleans {
                    has_true: values.contains(&Value::Bool(true)),
                    has_false: values.contains(&Value::Bool(false)),
                },
                Physical::F32 | Physical::F64 => {
                    Lookup::Floats(values.iter().filter_map(Value::as_f64).collect())
                }
                Physical::Bytes => Lookup::Text(TextSet::new(&values)),
                _ => integers(values.iter().filter_map(Value::as_i128).collect()),
            }
        };
        ValueSet { values, lookup }
    }
    /// The list's values.
    pub fn values(&self) -> &[Value] {
        &self.values
    }
}

fn integers(mut list: Vec<i128>) -> Lookup {
    list.sort_unstable();
    list.dedup();
    let (Some(first), Some(last)) = (list.first().copied(), list.last().copied()) else {
        return Lookup::Empty;
    };
    if list.len() <= FEW {
        let mut few = [first; FEW];
        few[..list.len()].copy_from_slice(&list);
        return Lookup::Few(few);
    }
    match last.checked_sub(first) {
        Some(span) if span < MAP_BITS => {
            let mut words = vec![0u64; span as usize / 64 + 1];
            for value in list {
                let at = (value - first) as usize;
                words[at / 64] |= 1 << (at % 64);
            }
            Lookup::Map { base: first, words }
        }
        // The input is as wide as the widest value, or wider.
        _ => match list.iter().map(|v| i64::try_from(*v)).collect() {
            Ok(list) => Lookup::Sorted(list),
            Err(_) => Lookup::SortedWide(list),
        },
    }
}

impl TextSet {
    fn new(values: &[Value]) -> Self {
        let mut short = Vec::new();
        let mut long = HashSet::new();
        for value in values.iter().filter_map(Value::as_bytes) {
            if value.len() <= INLINE_BYTES {
                short.push(inline_view(value));
            } else {
                long.insert(value.into());
            }
        }
        short.sort_unstable();
        short.dedup();
        TextSet { short, long }
    }
    fn test(&self, strings: &Strings) -> BooleanBuffer {
        let views = strings.views();
        if self.long.is_empty() && self.short.len() <= FEW {
            let mut few = [self.short.first().copied().unwrap_or(u128::MAX); FEW];
            few[..self.short.len()].copy_from_slice(&self.short);
            return bits::from_slice(views, |view| few.iter().fold(false, |hit, v| hit | (*v == view)));
        }
        bits::from_rows(views.len(), |row| {
            let view = views[row];
            if view_length(view) <= INLINE_BYTES {
                self.short.binary_search(&view).is_ok()
            } else {
                !self.long.is_empty() && self.long.contains(strings.get(row))
            }
        })
    }
    fn contains(&self, value: &[u8]) -> bool {
        if value.len() <= INLINE_BYTES {
            self.short.binary_search(&inline_view(value)).is_ok()
        } else {
            self.long.contains(value)
        }
    }
}

/// NULL for a NULL input, and for a miss when the list has a NULL.
pub(crate) fn in_list(
    input: &Vector,
    set: &ValueSet,
    has_null: bool,
    negated: bool,
    validity: Option<NullBuffer>,
    rows: usize,
) -> Vector {
    let hits = match &set.lookup {
        Lookup::Empty => constant_bits(false, rows),
        Lookup::Booleans { has_true, has_false } => {
            let bits = boolean_bits(input);
            match (has_true, has_false) {
                (true, true) => constant_bits(true, rows),
                (true, false) => bits,
                _ => !&bits,
            }
        }
        Lookup::Floats(list) => match input.ty().physical() {
            Physical::F32 => test(&f32::operand(input), rows, |v| float_among(list, f64::from(v))),
            _ => test(&f64::operand(input), rows, |v| float_among(list, v)),
        },
        Lookup::Text(set) => match Text::of(input) {
            Text::Flat(strings) => set.test(strings),
            Text::Constant(value) => constant_bits(set.contains(value), rows),
        },
        lookup => match input.ty().physical() {
            Physical::I16 => whole::<i16>(lookup, &i16::operand(input), rows),
            Physical::I32 => whole::<i32>(lookup, &i32::operand(input), rows),
            Physical::I64 => whole::<i64>(lookup, &i64::operand(input), rows),
            _ => whole::<i128>(lookup, &i128::operand(input), rows),
        },
    };
    let validity = if has_null {
        // A miss might equal the unknown value.
        NullBuffer::union(validity.as_ref(), Some(&NullBuffer::new(hits.clone())))
    } else {
        validity
    };
    Vector::from_bool(if negated { !&hits } else { hits }, validity.filter(|v| v.null_count() > 0))
}

fn float_among(list: &[f64], value: f64) -> bool {
    list.iter().fold(false, |hit, v| hit | (*v == value) | (v.is_nan() & value.is_nan()))
}

fn whole<T: Whole>(lookup: &Lookup, input: &Operand<'_, T>, rows: usize) -> BooleanBuffer {
    let fits = |v: &i128| T::narrow(*v).widen() == *v;
    match lookup {
        Lookup::Few(few) => {
            // Values outside the input's range cannot be met; one that can stands in for them.
            let Some(any) = few.iter().copied().find(|v| fits(v)) else { return constant_bits(false, rows) };
            let few = few.map(|v| T::narrow(if fits(&v) { v } else { any }));
            if few[1..].iter().all(|v| few[..4].contains(v)) {
                let four = [few[0], few[1], few[2], few[3]];
                return test(input, rows, |v| four.iter().fold(false, |hit, x| hit | (*x == v)));
            }
            test(input, rows, |v| few.iter().fold(false, |hit, x| hit | (*x == v)))
        }
        Lookup::Map { base, words } => {
            let base = *base;
            test(input, rows, |v| {
                let at = v.widen().wrapping_sub(base) as u128;
                let word = usize::try_from(at / 64).ok().and_then(|w| words.get(w)).copied().unwrap_or(0);
                (word >> (at % 64)) & 1 == 1
            })
        }
        Lookup::Sorted(list) => {
            test(input, rows, |v| i64::try_from(v.widen()).is_ok_and(|v| list.binary_search(&v).is_ok()))
        }
        Lookup::SortedWide(list) => test(input, rows, |v| list.binary_search(&v.widen()).is_ok()),
        _ => constant_bits(false, rows),
    }
}
