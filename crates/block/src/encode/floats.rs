//! REAL and DOUBLE PRECISION columns. Order is PostgreSQL's: NaN above everything and equal to itself, -0 equal to 0.
//!
//! They are coded by dictionary when few distinct values repeat; a column that holds -0 or a NaN of unusual bits stays
//! plain, because one code could not give both zeros back.

use arrow_buffer::{NullBuffer, ScalarBuffer};
use simd::Float;
use types::value::compare_f64;
use types::{ColumnStatistics, Value};
use vector::{Data, Vector};

use super::plan::{ColumnPlan, bounded_distinct, valid_runs};
use crate::Coding;
use crate::sketch::{Sketch, hash_f64};

pub(super) trait FloatValue: Float + arrow_buffer::ArrowNativeType {
    fn buffer(data: &Data) -> Option<&ScalarBuffer<Self>>;
    fn value(self) -> Value;
    fn wide(self) -> f64;
    fn bits(self) -> u64;
    fn nan() -> Self;
}

impl FloatValue for f32 {
    fn buffer(data: &Data) -> Option<&ScalarBuffer<Self>> {
        if let Data::F32(v) = data { Some(v) } else { None }
    }
    fn value(self) -> Value {
        Value::F32(self)
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
    fn nan() -> Self {
        f32::NAN
    }
}

impl FloatValue for f64 {
    fn buffer(data: &Data) -> Option<&ScalarBuffer<Self>> {
        if let Data::F64(v) = data { Some(v) } else { None }
    }
    fn value(self) -> Value {
        Value::F64(self)
    }
    fn wide(self) -> f64 {
        self
    }
    fn bits(self) -> u64 {
        self.to_bits()
    }
    fn nan() -> Self {
        f64::NAN
    }
}

struct Part<T: FloatValue> {
    values: ScalarBuffer<T>,
    nulls: Option<NullBuffer>,
}

struct FloatPlan<T: FloatValue> {
    parts: Vec<Part<T>>,
    coding: Coding,
    statistics: ColumnStatistics,
    sketch: Sketch,
    rows: usize,
    dictionary: Option<(Vec<T>, Vec<u32>)>,
}

/// Only small dictionaries are tried: floats rarely repeat in between.
const DICTIONARY_MAX: usize = 4096;

pub(super) fn plan<'a, T: FloatValue>(
    vectors: &[&'a Vector],
    rows: usize,
    nulls: usize,
    compress: bool,
) -> Box<dyn ColumnPlan + 'a> {
    let parts: Vec<Part<T>> = vectors
        .iter()
        .map(|v| {
            let flat = v.flatten();
            let values =
                T::buffer(flat.data()).cloned().unwrap_or_else(|| vec![T::default(); flat.len()].into());
            Part { values, nulls: flat.validity().filter(|n| n.null_count() > 0).cloned() }
        })
        .collect();
    let (mut range, mut nan) = (None::<(T, T)>, false);
    let mut sketch = Sketch::default();
    let (mut sorted, mut increasing, mut last) = (nulls == 0, nulls == 0, None::<f64>);
    for part in &parts {
        valid_runs(part.nulls.as_ref(), part.values.len(), |run| {
            let found = simd::float_bounds(&part.values[run.clone()]);
            nan |= found.nan;
            if let Some((low, high)) = found.range {
                range = Some(range.map_or((low, high), |(l, h)| {
                    (if low < l { low } else { l }, if high > h { high } else { h })
                }));
            }
            for value in &part.values[run] {
                let value = value.wide();
                sketch.add_hash(hash_f64(value));
                if sorted {
                    if let Some(last) = last {
                        let order = compare_f64(last, value);
                        sorted = order.is_le();
                        increasing &= order.is_lt();
                    }
                    last = Some(value);
                }
            }
        });
    }
    let present = rows - nulls;
    let unique = (sorted && increasing) || present <= 1;
    let low = range.map(|(low, _)| low).or(nan.then(T::nan));
    let high = if nan { Some(T::nan()) } else { range.map(|(_, high)| high) };
    let statistics = ColumnStatistics {
        min: low.map_or(Value::Null, T::value),
        max: high.map_or(Value::Null, T::value),
        null_count: nulls as u64,
        distinct: if unique { present as u64 } else { bounded_distinct(&sketch, present) },
        unique,
        sorted,
    };
    let mut plan = FloatPlan { parts, coding: Coding::Plain, statistics, sketch, rows, dictionary: None };
    let codes_pay = plan.statistics.distinct as usize <= DICTIONARY_MAX
        && plan.statistics.distinct as usize * 8 <= rows
        && present > 0;
    if compress && codes_pay {
        plan.build_dictionary();
    }
    Box::new(plan)
}

impl<T: FloatValue> FloatPlan<T> {
    fn build_dictionary(&mut self) {
        let mut ids = std::collections::HashMap::new();
        let mut distinct: Vec<T> = Vec::new();
        let mut codes: Vec<u32> = Vec::with_capacity(self.rows);
        let (negative_zero, nan) = ((-0.0f64), T::nan().bits());
        for part in &self.parts {
            for (row, value) in part.values.iter().enumerate() {
                if part.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                    codes.push(u32::MAX);
                    continue;
                }
                let wide = value.wide();
                if wide.to_bits() == negative_zero.to_bits() || (value.is_nan() && value.bits() != nan) {
                    return;
                }
                let next = distinct.len() as u32;
                let id = *ids.entry(value.bits()).or_insert_with(|| {
                    distinct.push(*value);
                    next
                });
                if distinct.len() > DICTIONARY_MAX {
                    return;
                }
                codes.push(id);
            }
        }
        let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
        order
            .sort_unstable_by(|a, b| compare_f64(distinct[*a as usize].wide(), distinct[*b as usize].wide()));
        let mut rank = vec![0u32; distinct.len()];
        for (code, id) in order.iter().enumerate() {
            rank[*id as usize] = code as u32;
        }
        for code in &mut codes {
            *code = rank.get(*code as usize).copied().unwrap_or(0);
        }
        let width = if distinct.len() <= 256 { 1 } else { 2 };
        self.coding = Coding::Dictionary { width, size: distinct.len() as u32 };
        self.statistics.distinct = distinct.len() as u64;
        self.dictionary = Some((order.iter().map(|id| distinct[*id as usize]).collect(), codes));
    }
}

impl<T: FloatValue> ColumnPlan for FloatPlan<T> {
    fn coding(&self) -> Coding {
        self.coding
    }
    fn statistics(&self) -> &ColumnStatistics {
        &self.statistics
    }
    fn sketch(&mut self) -> Sketch {
        std::mem::take(&mut self.sketch)
    }
    fn lengths(&self) -> [usize; 3] {
        let width = self.coding.code_width().map_or(size_of::<T>(), usize::from);
        [self.rows * width, self.dictionary.as_ref().map_or(0, |(d, _)| d.len() * size_of::<T>()), 0]
    }
    fn write_values(&self, out: &mut [u8]) {
        match &self.dictionary {
            Some((distinct, codes)) if distinct.len() <= 256 => {
                out.iter_mut().zip(codes).for_each(|(out, code)| *out = *code as u8);
            }
            Some((_, codes)) => {
                let Some(out) = simd::typed_mut::<u16>(out) else { unreachable!("extents are aligned") };
                out.iter_mut().zip(codes).for_each(|(out, code)| *out = *code as u16);
            }
            None => {
                let Some(out) = simd::typed_mut::<T>(out) else { unreachable!("extents are aligned") };
                let mut at = 0;
                for part in &self.parts {
                    let target = &mut out[at..at + part.values.len()];
                    target.copy_from_slice(&part.values);
                    if let Some(nulls) = &part.nulls {
                        for (row, value) in target.iter_mut().enumerate() {
                            if nulls.is_null(row) {
                                *value = T::default();
                            }
                        }
                    }
                    at += part.values.len();
                }
            }
        }
    }
    fn write_dictionary(&self, out: &mut [u8]) {
        if let Some((distinct, _)) = &self.dictionary {
            out.copy_from_slice(simd::as_bytes(distinct));
        }
    }
}
