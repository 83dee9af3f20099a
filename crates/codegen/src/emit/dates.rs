//! Dates and moments: sums and differences, and the parts of a date.
//!
//! Year, month and day are computed as the vectorised evaluator does, after C. Neri and L. Schneider (2022), in 64
//! bits. Infinite dates and those a million years away are faults.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, types as ct};
use plan::{Arithmetic, Function};
use types::datetime::{DATE_MAX, DATE_MIN};
use types::{Result, Type};

use super::{Cell, Emitter, Mask, Operands, unexpected};
use crate::functions;

/// Days from 0000-03-01 to 1970-01-01, and whole 400-year cycles so that the sum is never negative.
const CYCLES: i64 = 3670;
const SHIFT: i64 = 719_468 + 146_097 * CYCLES;
const YEARS: i64 = 400 * CYCLES;
/// Days this close to 1970 have parts that fit 32 bits on the way.
const FAST_DAYS: i128 = 536_800_000;

impl Emitter<'_, '_> {
    /// Where a date is one of the infinite ones.
    pub(super) fn infinite_date(&mut self, day: ir::Value) -> Mask {
        let (low, high) = (self.whole(i64::from(i32::MIN)), self.whole(i64::from(i32::MAX)));
        let first = self.compare_whole(IntCC::Equal, day, low);
        let last = self.compare_whole(IntCC::Equal, day, high);
        self.or(first, last)
    }

    pub(super) fn moments(&mut self, of: &Operands<'_>, op: Arithmetic) -> Result<Cell> {
        let (a, b) = (of.cells[0].value, of.cells[1].value);
        let subtract = op == Arithmetic::Subtract;
        let (from, by) = (of.operand_ty(0), of.operand_ty(1));
        let (value, own) = match (from, by) {
            (Type::Date, Type::Date) => {
                let (x, y) = (self.infinite_date(a), self.infinite_date(b));
                (self.builder.ins().isub(a, b), Some(self.or(x, y)))
            }
            (Type::Date, Type::BigInt) => {
                let infinite = self.infinite_date(a);
                let (value, overflow) = self.sum_of_days(a, b, subtract);
                let own = self.either(Some(infinite), Some(overflow));
                let beyond = self.outside(value, i128::from(DATE_MIN), i128::from(DATE_MAX));
                (value, self.either(own, beyond))
            }
            _ => {
                let Some(address) = functions::moved(from, by) else { return Err(unexpected(of)) };
                let [value] = self.each_lane(&[a, b], |e, lane| {
                    let by = if subtract { e.builder.ins().ineg(lane[1]) } else { lane[1] };
                    [e.call(address, vec![AbiParam::new(ct::I64); 2], ct::I64, &[lane[0], by])]
                });
                let none = self.whole(functions::NONE);
                let nothing = self.compare_whole(IntCC::Equal, value, none);
                // The least interval has no opposite.
                let least = self.compare_whole(IntCC::Equal, b, none);
                (value, Some(self.or(nothing, least)))
            }
        };
        Ok(self.strict(of, value, own))
    }

    fn sum_of_days(&mut self, a: ir::Value, b: ir::Value, subtract: bool) -> (ir::Value, Mask) {
        // A number of days beyond 2^40 leads out of the calendar from everywhere.
        let far = self.outside(b, -(1 << 40), 1 << 40);
        let value = if subtract { self.builder.ins().isub(a, b) } else { self.builder.ins().iadd(a, b) };
        let far = far.unwrap_or_else(|| self.truth(false));
        (value, far)
    }

    pub(super) fn date_part(&mut self, of: &Operands<'_>, part: Function) -> Result<Cell> {
        let days = of.cells[0].value;
        let far = self.outside(days, -FAST_DAYS, FAST_DAYS);
        let [value] = self.each_lane(&[days], |e, lane| [e.part_of_day(lane[0], part)]);
        Ok(self.strict(of, value, far))
    }

    /// `value * factor`, and so on, of one lane.
    fn with(&mut self, value: ir::Value, op: Whole, constant: i64) -> ir::Value {
        let constant = self.builder.ins().iconst(ct::I64, constant);
        let ins = self.builder.ins();
        match op {
            Whole::Plus => ins.iadd(value, constant),
            Whole::Times => ins.imul(value, constant),
            Whole::Over => ins.udiv(value, constant),
            Whole::Rest => ins.urem(value, constant),
            Whole::Right => ins.ushr(value, constant),
            Whole::And => ins.band(value, constant),
        }
    }

    fn part_of_day(&mut self, days: ir::Value, part: Function) -> ir::Value {
        use Whole::{And, Over, Plus, Rest, Right, Times};
        let shifted = self.with(days, Plus, SHIFT);
        // Far dates are at fault; their numbers must only not be negative.
        let shifted = self.with(shifted, And, i64::from(u32::MAX));
        let quarter_days = self.with(shifted, Times, 4);
        let quarter_days = self.with(quarter_days, Plus, 3);
        let century = self.with(quarter_days, Over, 146_097);
        let day_of_century = self.with(quarter_days, Rest, 146_097);
        let day_of_century = self.with(day_of_century, Right, 2);
        let product = self.with(day_of_century, Times, 4);
        let product = self.with(product, Plus, 3);
        let product = self.with(product, Times, 2_939_745);
        let year_of_century = self.with(product, Right, 32);
        let day_of_year = self.with(product, And, i64::from(u32::MAX));
        let day_of_year = self.with(day_of_year, Over, 2_939_745);
        let day_of_year = self.with(day_of_year, Right, 2);
        let months = self.with(day_of_year, Times, 2141);
        let months = self.with(months, Plus, 197_913);
        if part == Function::ExtractDay {
            let day = self.with(months, And, 0xFFFF);
            let day = self.with(day, Over, 2141);
            return self.with(day, Plus, 1);
        }
        // January and February belong to the year that began in March before.
        let bound = self.builder.ins().iconst(ct::I64, 306);
        let late = self.builder.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, day_of_year, bound);
        let wraps = self.builder.ins().uextend(ct::I64, late);
        if part == Function::ExtractMonth {
            let month = self.with(months, Right, 16);
            let twelve = self.with(wraps, Times, 12);
            return self.builder.ins().isub(month, twelve);
        }
        let year = self.with(century, Times, 100);
        let year = self.builder.ins().iadd(year, year_of_century);
        let year = self.builder.ins().iadd(year, wraps);
        let year = self.with(year, Plus, -YEARS);
        // There is no year 0: before 1 there is -1.
        let zero = self.builder.ins().iconst(ct::I64, 0);
        let early = self.builder.ins().icmp(IntCC::SignedLessThanOrEqual, year, zero);
        let step = self.builder.ins().uextend(ct::I64, early);
        self.builder.ins().isub(year, step)
    }
}

/// An operation with a constant.
#[derive(Clone, Copy)]
enum Whole {
    Plus,
    Times,
    Over,
    Rest,
    Right,
    And,
}
