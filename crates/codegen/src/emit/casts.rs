//! Casts between numbers, truth values, dates and moments.
//!
//! A value that may not fit is a fault; the vectorised evaluator says which it was. Bounds are looked at before a value is
//! scaled up, so that nothing wraps unseen. Called for the pairs of types that `kind` lists.

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types as ct};
use types::datetime::MICROS_PER_DAY;
use types::{Physical, Result, Type, decimal};

use super::{Cell, Emitter, Mask, Operands, unexpected};
use crate::kind::Kind;

/// Whole numbers below this are exact in a DOUBLE.
const EXACT_IN_DOUBLE: i128 = 1 << 53;

impl Emitter<'_, '_> {
    pub(super) fn cast(&mut self, of: &Operands<'_>) -> Result<Cell> {
        let (from, to, value) = (of.operand_ty(0), of.ty(), of.cells[0].value);
        let exact = |ty: Type| ty.is_integer() || ty.is_decimal();
        let (value, own) = match (from, to) {
            _ if exact(from) && exact(to) => self.between_exact(from, to, value),
            (_, Type::Double) if exact(from) => self.exact_to_double(from, value),
            (Type::Real, Type::Double) => (self.builder.ins().fpromote(ct::F64, value), None),
            (Type::Double, Type::Real) => {
                let narrow = self.builder.ins().fdemote(ct::F32, value);
                let infinite = self.is_not_finite(narrow);
                (narrow, Some(infinite))
            }
            (Type::Double, _) => self.double_to_whole(to, value),
            (Type::Boolean, _) => {
                let (zero, one) = (self.whole(0), self.whole(1));
                (self.choose(value, one, zero), None)
            }
            (_, Type::Boolean) => {
                let zero = self.whole(0);
                (self.compare_whole(IntCC::NotEqual, value, zero), None)
            }
            (Type::Date, Type::Timestamp) => self.midnight(value),
            (Type::Timestamp, Type::Date) => self.day(value),
            _ => return Err(unexpected(of)),
        };
        Ok(self.strict(of, value, own))
    }

    /// Between integers and decimals, with the scale changed.
    fn between_exact(&mut self, from: Type, to: Type, value: ir::Value) -> (ir::Value, Option<Mask>) {
        let (low, high) = match to {
            Type::Decimal { precision, .. } => {
                let max = decimal::power_of_ten(precision) - 1;
                (-max, max)
            }
            _ => to.integer_range().unwrap_or((i128::MIN, i128::MAX)),
        };
        let to_wide = Kind::of(to) == Some(Kind::Wide);
        if from.scale() == to.scale() {
            let needs_none = to.holds_integers_of(from);
            let value = if to_wide { self.widened(value) } else { value };
            let own = if needs_none { None } else { self.outside(value, low, high) };
            return (self.fitted(to_wide, value), own);
        }
        if from.scale() < to.scale() {
            let factor = decimal::power_of_ten(to.scale() - from.scale());
            // What is within the bound before it is multiplied is within the largest after.
            let own = self.outside(value, low / factor, high / factor);
            let value = if to_wide || factor > i128::from(i64::MAX) { self.widened(value) } else { value };
            let wide = self.builder.func.dfg.value_type(value) == ct::I128;
            let factor = if wide { self.wide(factor) } else { self.whole(factor as i64) };
            let product = match wide {
                true => self.builder.ins().imul(value, factor),
                false => {
                    let [product] =
                        self.each_lane(&[value, factor], |e, lane| [e.builder.ins().imul(lane[0], lane[1])]);
                    product
                }
            };
            return (self.fitted(to_wide, product), own);
        }
        self.scaled_down(from, to, value, (low, high))
    }

    /// Fewer places behind the point: half the divisor away from zero, then truncated.
    fn scaled_down(
        &mut self,
        from: Type,
        to: Type,
        value: ir::Value,
        (low, high): (i128, i128),
    ) -> (ir::Value, Option<Mask>) {
        const ROOM: i128 = 1 << 61;
        let divisor = decimal::power_of_ten(from.scale() - to.scale());
        let mut own = self.outside(value, -ROOM, ROOM);
        let narrow = match self.builder.func.dfg.value_type(value) {
            ct::I128 => self.builder.ins().ireduce(ct::I64, value),
            _ => value,
        };
        let Ok(divisor) = i64::try_from(divisor) else {
            // Every value with room is rounded to 0 or is left to the vectorised evaluator.
            let always = self.truth(true);
            let zero = if Kind::of(to) == Some(Kind::Wide) { self.wide(0) } else { self.whole(0) };
            return (zero, Some(always));
        };
        let [rounded] = self.each_lane(&[narrow], |e, lane| {
            let (half, minus_half, zero) = (e.whole(divisor / 2), e.whole(-(divisor / 2)), e.whole(0));
            let negative = e.compare_whole(IntCC::SignedLessThan, lane[0], zero);
            let away = e.choose(negative, minus_half, half);
            let sum = e.builder.ins().iadd(lane[0], away);
            let divisor = e.whole(divisor);
            [e.builder.ins().sdiv(sum, divisor)]
        });
        let beyond = self.outside(rounded, low, high);
        own = self.either(own, beyond);
        let to_wide = Kind::of(to) == Some(Kind::Wide);
        (if to_wide { self.widened(rounded) } else { rounded }, own)
    }

    fn fitted(&mut self, to_wide: bool, value: ir::Value) -> ir::Value {
        let wide = self.builder.func.dfg.value_type(value) == ct::I128;
        if wide && !to_wide { self.builder.ins().ireduce(ct::I64, value) } else { value }
    }

    /// Exact below 2^53, and one division rounds once.
    fn exact_to_double(&mut self, from: Type, value: ir::Value) -> (ir::Value, Option<Mask>) {
        let fits = from
            .integer_range()
            .is_some_and(|(low, high)| low >= -EXACT_IN_DOUBLE && high <= EXACT_IN_DOUBLE);
        let plain = fits || from.scale() == 0;
        let own = if plain { None } else { self.outside(value, 1 - EXACT_IN_DOUBLE, EXACT_IN_DOUBLE - 1) };
        let [double] = self.each_lane(&[value], |e, lane| [e.builder.ins().fcvt_from_sint(ct::F64, lane[0])]);
        if from.scale() == 0 {
            return (double, own);
        }
        let divisor = self.double(decimal::power_of_ten(from.scale()) as f64);
        (self.builder.ins().fdiv(double, divisor), own)
    }

    /// The nearest whole number, halves to even.
    fn double_to_whole(&mut self, to: Type, value: ir::Value) -> (ir::Value, Option<Mask>) {
        let limit = match to.physical() {
            Physical::I16 => 32_768.0,
            Physical::I32 => 2_147_483_648.0,
            _ => 9_223_372_036_854_775_808.0,
        };
        let rounded = self.builder.ins().nearest(value);
        let (low, high) = (self.double(-limit), self.double(limit));
        let below = self.compare_double(FloatCC::UnorderedOrLessThan, rounded, low);
        let above = self.compare_double(FloatCC::GreaterThanOrEqual, rounded, high);
        let own = self.or(below, above);
        let [whole] =
            self.each_lane(&[rounded], |e, lane| [e.builder.ins().fcvt_to_sint_sat(ct::I64, lane[0])]);
        (whole, Some(own))
    }

    /// The moment at which a day begins. The ends of 32 bits are infinity: the vectorised evaluator's.
    fn midnight(&mut self, day: ir::Value) -> (ir::Value, Option<Mask>) {
        let bound = i128::from(i64::MAX / MICROS_PER_DAY);
        let beyond = self.outside(day, -bound, bound);
        let ends = self.infinite_date(day);
        let [value] = self.each_lane(&[day], |e, lane| {
            let factor = e.whole(MICROS_PER_DAY);
            [e.builder.ins().imul(lane[0], factor)]
        });
        (value, self.either(beyond, Some(ends)))
    }

    /// The day of a moment.
    fn day(&mut self, moment: ir::Value) -> (ir::Value, Option<Mask>) {
        // Every other moment's day is a DATE's: the infinite ones are left to vectors.
        let own = self.outside(moment, i128::from(i64::MIN) + 1, i128::from(i64::MAX) - 1);
        let [value] = self.each_lane(&[moment], |e, lane| {
            let (divisor, zero, one) = (e.whole(MICROS_PER_DAY), e.whole(0), e.whole(1));
            let quotient = e.builder.ins().sdiv(lane[0], divisor);
            let back = e.builder.ins().imul(quotient, divisor);
            let rest = e.builder.ins().isub(lane[0], back);
            let below = e.compare_whole(IntCC::SignedLessThan, rest, zero);
            let step = e.choose(below, one, zero);
            [e.builder.ins().isub(quotient, step)]
        });
        (value, own)
    }
}
