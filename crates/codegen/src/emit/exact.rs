//! Arithmetic of integers and decimals.
//!
//! Integers of at most 32 bits are computed in 64, where nothing overflows, and then looked at for their range; 64 and
//! 128 bits look at signs or the processor's flag. Decimals are integers with a scale that the types know, and a
//! largest magnitude.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, StackSlotData, StackSlotKind, types as ct};
use plan::Arithmetic;
use types::{Physical, Result, Type, Value, decimal};

use super::{Cell, Emitter, Mask, Operands, unexpected};
use crate::functions;
use crate::kind::Kind;

impl Emitter<'_, '_> {
    pub(super) fn integers(&mut self, of: &Operands<'_>, op: Arithmetic, checked: bool) -> Result<Cell> {
        let ty = of.ty();
        let (a, b) = (of.cells[0].value, of.cells[1].value);
        if Kind::of(ty) == Some(Kind::Wide) {
            let (value, overflow) = self.sum(a, b, op == Arithmetic::Subtract);
            let beyond = self.beyond_range(ty, value);
            let own = self.either(Some(overflow), beyond);
            return Ok(self.strict(of, value, own));
        }
        let checked = checked || ty.is_ranged_integer();
        let (value, own) = match op {
            Arithmetic::Divide | Arithmetic::Modulo => {
                let [value, fault] = self.division(of, op, a, b);
                let beyond = self.beyond_range(ty, value);
                (value, self.either(Some(fault), beyond))
            }
            _ if ty.physical() == Physical::I64 && !ty.is_ranged_integer() => {
                let (value, overflow) = self.whole_result(op, a, b, checked);
                (value, overflow)
            }
            _ => {
                let value = match op {
                    Arithmetic::Add => self.builder.ins().iadd(a, b),
                    Arithmetic::Subtract => self.builder.ins().isub(a, b),
                    _ => self.product(a, b),
                };
                match checked {
                    true => (value, self.beyond_range(ty, value)),
                    false => (self.cut(ty, value), None),
                }
            }
        };
        Ok(self.strict(of, value, own))
    }

    /// `+ - *` of 64 bits, and where it overflowed if that is asked for.
    fn whole_result(
        &mut self,
        op: Arithmetic,
        a: ir::Value,
        b: ir::Value,
        checked: bool,
    ) -> (ir::Value, Option<Mask>) {
        match op {
            Arithmetic::Add | Arithmetic::Subtract => {
                let (value, overflow) = self.sum(a, b, op == Arithmetic::Subtract);
                (value, checked.then_some(overflow))
            }
            _ if !checked => (self.product(a, b), None),
            _ => {
                let [value, overflow] = self.each_lane(&[a, b], |e, lane| {
                    let (value, overflow) = e.builder.ins().smul_overflow(lane[0], lane[1]);
                    [value, overflow]
                });
                (value, Some(overflow))
            }
        }
    }

    /// The low bits of the product.
    fn product(&mut self, a: ir::Value, b: ir::Value) -> ir::Value {
        let [value] = self.each_lane(&[a, b], |e, lane| [e.builder.ins().imul(lane[0], lane[1])]);
        value
    }

    /// The sum or difference of 64 or 128 bits, and whether its sign tells of an overflow.
    fn sum(&mut self, a: ir::Value, b: ir::Value, subtract: bool) -> (ir::Value, Mask) {
        let ins = |e: &mut Self| match subtract {
            true => e.builder.ins().isub(a, b),
            false => e.builder.ins().iadd(a, b),
        };
        let value = ins(self);
        let changed = self.builder.ins().bxor(a, value);
        let other = match subtract {
            true => self.builder.ins().bxor(a, b),
            false => self.builder.ins().bxor(b, value),
        };
        let both = self.builder.ins().band(changed, other);
        let wide = self.builder.func.dfg.value_type(a) == ct::I128;
        let zero = if wide { self.wide(0) } else { self.whole(0) };
        let overflow = self.compare_whole(IntCC::SignedLessThan, both, zero);
        (value, overflow)
    }

    /// Where a value lies outside of an integer type that is narrower than its register.
    fn beyond_range(&mut self, ty: Type, value: ir::Value) -> Option<Mask> {
        let (low, high) = ty.integer_range()?;
        self.outside(value, low, high)
    }

    /// Where a value is below `low` or above `high`.
    pub(super) fn outside(&mut self, value: ir::Value, low: i128, high: i128) -> Option<Mask> {
        let wide = self.builder.func.dfg.value_type(value) == ct::I128;
        let (least, greatest) = match wide {
            true => (i128::MIN, i128::MAX),
            false => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let constant = |e: &mut Self, bound: i128| if wide { e.wide(bound) } else { e.whole(bound as i64) };
        let below = (low > least).then(|| {
            let bound = constant(self, low);
            self.compare_whole(IntCC::SignedLessThan, value, bound)
        });
        let above = (high < greatest).then(|| {
            let bound = constant(self, high);
            self.compare_whole(IntCC::SignedGreaterThan, value, bound)
        });
        self.either(below, above)
    }

    /// The low bits of the type's width, as a register holds them.
    fn cut(&mut self, ty: Type, value: ir::Value) -> ir::Value {
        let narrow = match ty.physical() {
            Physical::I16 => ct::I16,
            Physical::I32 => ct::I32,
            _ => return value,
        };
        let [value] = self.each_lane(&[value], |e, lane| {
            let low = e.builder.ins().ireduce(narrow, lane[0]);
            [e.builder.ins().sextend(ct::I64, low)]
        });
        value
    }

    /// Quotient or remainder of 64 bits, and where the divisor is 0 or the quotient does not fit.
    fn division(&mut self, of: &Operands<'_>, op: Arithmetic, a: ir::Value, b: ir::Value) -> [ir::Value; 2] {
        let known = of.literal(1).and_then(Value::as_i128).filter(|b| !matches!(*b, 0 | -1));
        let modulo = op == Arithmetic::Modulo;
        self.each_lane(&[a, b], |e, lane| {
            let (a, b) = (lane[0], lane[1]);
            let never = e.truth(false);
            if known.is_some() {
                let value = if modulo { e.builder.ins().srem(a, b) } else { e.builder.ins().sdiv(a, b) };
                return [value, never];
            }
            // 0 and -1 are the divisors that a processor traps on: 1 takes their place.
            let (zero, one, minus) = (e.whole(0), e.whole(1), e.whole(-1));
            let by_zero = e.compare_whole(IntCC::Equal, b, zero);
            let by_minus = e.compare_whole(IntCC::Equal, b, minus);
            let odd = e.or(by_zero, by_minus);
            let divisor = e.choose(odd, one, b);
            if modulo {
                return [e.builder.ins().srem(a, divisor), by_zero];
            }
            let quotient = e.builder.ins().sdiv(a, divisor);
            let negative = e.builder.ins().ineg(a);
            let value = e.choose(by_minus, negative, quotient);
            let least = e.whole(i64::MIN);
            let is_least = e.compare_whole(IntCC::Equal, a, least);
            let overflow = e.and(by_minus, is_least);
            [value, e.or(by_zero, overflow)]
        })
    }

    pub(super) fn decimals(&mut self, of: &Operands<'_>, op: Arithmetic, checked: bool) -> Result<Cell> {
        let Type::Decimal { precision, scale } = of.ty() else { return Err(unexpected(of)) };
        let max = decimal::power_of_ten(precision) - 1;
        let wide = Kind::of(of.ty()) == Some(Kind::Wide);
        let narrow_operands = (0..2).all(|at| Kind::of(of.operand_ty(at)) == Some(Kind::Whole));
        let (a, b) = (of.cells[0].value, of.cells[1].value);
        let (value, own) = match op {
            Arithmetic::Divide => {
                let shift = i64::from(scale) - i64::from(of.operand_ty(0).scale())
                    + i64::from(of.operand_ty(1).scale());
                let (quotient, fault) = self.wide_call(functions::decimal_quotient(), a, b, Some(shift));
                (quotient, Some(fault))
            }
            Arithmetic::Modulo => {
                let [value, fault] = self.division(of, op, a, b);
                return Ok(self.strict(of, value, Some(fault)));
            }
            Arithmetic::Multiply if narrow_operands && !wide => self.whole_result(op, a, b, checked),
            Arithmetic::Multiply if narrow_operands => {
                let low = self.builder.ins().imul(a, b);
                let high = self.builder.ins().smulhi(a, b);
                (self.builder.ins().iconcat(low, high), None)
            }
            Arithmetic::Multiply => {
                let (product, fault) = self.wide_call(functions::wide_product(), a, b, None);
                (product, Some(fault))
            }
            _ if narrow_operands && !wide => self.whole_result(op, a, b, checked),
            _ => {
                let (a, b) = (self.widened(a), self.widened(b));
                let (value, overflow) = self.sum(a, b, op == Arithmetic::Subtract);
                (value, (!narrow_operands).then_some(overflow))
            }
        };
        // What a register holds of a narrower result is looked at below, or was computed at that width.
        let is_wide = self.builder.func.dfg.value_type(value) == ct::I128;
        let bound = match checked || op == Arithmetic::Divide {
            true => max,
            false => i128::MAX,
        };
        // Factors of 64 bits have a product below 2^126.
        let within = narrow_operands && op == Arithmetic::Multiply && is_wide && precision >= 38;
        let beyond = if within { None } else { self.outside(value, -bound, bound) };
        let own = self.either(own, beyond);
        let (value, own) = match (is_wide, wide) {
            (true, false) => {
                let beyond = self.outside(value, i128::from(i64::MIN), i128::from(i64::MAX));
                (self.builder.ins().ireduce(ct::I64, value), self.either(own, beyond))
            }
            _ => (value, own),
        };
        Ok(self.strict(of, value, own))
    }

    /// The number in 128 bits.
    pub(super) fn widened(&mut self, value: ir::Value) -> ir::Value {
        match self.builder.func.dfg.value_type(value) {
            ct::I128 => value,
            _ => self.builder.ins().sextend(ct::I128, value),
        }
    }

    /// A call that takes two 128-bit numbers and gives one, and whether it is at fault.
    fn wide_call(
        &mut self,
        address: usize,
        a: ir::Value,
        b: ir::Value,
        shift: Option<i64>,
    ) -> (ir::Value, Mask) {
        let (a, b) = (self.widened(a), self.widened(b));
        let slot =
            self.builder.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, 16, 3));
        let out = self.builder.ins().stack_addr(ct::I64, slot, 0);
        let ((a_low, a_high), (b_low, b_high)) = (self.builder.ins().isplit(a), self.builder.ins().isplit(b));
        let mut arguments = vec![a_low, a_high, b_low, b_high];
        if let Some(shift) = shift {
            arguments.push(self.builder.ins().iconst(ct::I64, shift));
        }
        arguments.push(out);
        let parameters = vec![AbiParam::new(ct::I64); arguments.len()];
        let fault = self.call(address, parameters, ct::I64, &arguments);
        let low = self.builder.ins().stack_load(ct::I64, ct::I64, slot, 0);
        let high = self.builder.ins().stack_load(ct::I64, ct::I64, slot, 8);
        let zero = self.builder.ins().iconst(ct::I64, 0);
        let fault = self.builder.ins().icmp(IntCC::NotEqual, fault, zero);
        (self.builder.ins().iconcat(low, high), fault)
    }

    /// The value with the other sign, or without a sign.
    pub(super) fn sign(&mut self, of: &Operands<'_>, negate: bool) -> Result<Cell> {
        let (ty, value) = (of.ty(), of.cells[0].value);
        let (result, own) = match Kind::of(ty) {
            Some(Kind::Single | Kind::Double) => match negate {
                true => (self.builder.ins().fneg(value), None),
                false => (self.builder.ins().fabs(value), None),
            },
            Some(kind @ (Kind::Whole | Kind::Wide)) => {
                let least = match ty.physical() {
                    Physical::I16 => i128::from(i16::MIN),
                    Physical::I32 => i128::from(i32::MIN),
                    Physical::I64 => i128::from(i64::MIN),
                    _ => i128::MIN,
                };
                let (zero, bound) = match kind {
                    Kind::Wide => (self.wide(0), self.wide(least)),
                    _ => (self.whole(0), self.whole(least as i64)),
                };
                let is_least = self.compare_whole(IntCC::Equal, value, bound);
                let negative = self.builder.ins().isub(zero, value);
                let result = match negate {
                    true => negative,
                    false => {
                        let below = self.compare_whole(IntCC::SignedLessThan, value, zero);
                        self.choose(below, negative, value)
                    }
                };
                let beyond = if ty.is_ranged_integer() { self.beyond_range(ty, result) } else { None };
                (result, self.either(Some(is_least), beyond))
            }
            _ => return Err(unexpected(of)),
        };
        Ok(self.strict(of, result, own))
    }
}
