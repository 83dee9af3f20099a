//! Arithmetic of REAL and DOUBLE PRECISION.
//!
//! A result that is not finite, a product or quotient that vanishes and a division by zero are faults: whether they
//! are errors depends on the operands, and the vectorised evaluator tells.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder};
use plan::Arithmetic;
use types::{Type, Value};

use super::{Cell, Emitter, Mask, Operands};
use crate::functions;

impl Emitter<'_, '_> {
    pub(super) fn floats(&mut self, of: &Operands<'_>, op: Arithmetic, checked: bool) -> Cell {
        let (a, b) = (of.cells[0].value, of.cells[1].value);
        let value = match op {
            Arithmetic::Add => self.builder.ins().fadd(a, b),
            Arithmetic::Subtract => self.builder.ins().fsub(a, b),
            Arithmetic::Multiply => self.builder.ins().fmul(a, b),
            Arithmetic::Divide => self.builder.ins().fdiv(a, b),
            Arithmetic::Modulo => self.call_of_doubles(functions::float_remainder(), &[a, b]),
        };
        let known = |at: usize| of.literal(at).and_then(Value::as_f64).filter(|v| *v != 0.0 && v.is_finite());
        let mut own = None;
        if matches!(op, Arithmetic::Divide | Arithmetic::Modulo) && known(1).is_none() {
            own = Some(self.is_zero(b));
        }
        if checked {
            let infinite = self.is_not_finite(value);
            own = self.either(own, Some(infinite));
            let mut vanished = None;
            if matches!(op, Arithmetic::Multiply | Arithmetic::Divide) {
                let mut small = self.is_zero(value);
                if known(0).is_none() {
                    let zero = self.is_zero(a);
                    small = self.but_not(small, zero);
                }
                // A quotient by infinity vanishes rightly: that row is looked at in vain.
                if op == Arithmetic::Multiply && known(1).is_none() {
                    let zero = self.is_zero(b);
                    small = self.but_not(small, zero);
                }
                vanished = Some(small);
            }
            own = self.either(own, vanished);
        }
        self.strict(of, value, own)
    }

    fn float_constant(&mut self, like: ir::Value, value: f64) -> ir::Value {
        match self.builder.func.dfg.value_type(like) {
            ir::types::F32 => self.builder.ins().f32const(value as f32),
            _ => self.double(value),
        }
    }

    /// Where a number is 0, of either sign.
    fn is_zero(&mut self, value: ir::Value) -> Mask {
        let zero = self.float_constant(value, 0.0);
        self.compare_double(FloatCC::Equal, value, zero)
    }

    /// Where a number is infinite or NaN.
    pub(super) fn is_not_finite(&mut self, value: ir::Value) -> Mask {
        let size = self.builder.ins().fabs(value);
        let infinity = self.float_constant(value, f64::INFINITY);
        self.compare_double(FloatCC::UnorderedOrGreaterThanOrEqual, size, infinity)
    }

    /// Where a number is NaN.
    fn is_nan(&mut self, value: ir::Value) -> Mask {
        self.compare_double(FloatCC::Unordered, value, value)
    }

    /// Where two floats are equal; NaN is equal to itself.
    pub(super) fn floats_equal(&mut self, a: ir::Value, b: ir::Value, known: bool) -> Mask {
        let equal = self.compare_double(FloatCC::Equal, a, b);
        if known {
            return equal;
        }
        let (x, y) = (self.is_nan(a), self.is_nan(b));
        let both = self.and(x, y);
        self.or(equal, both)
    }

    /// Where `a` is less; NaN is above everything.
    pub(super) fn float_less(&mut self, a: ir::Value, b: ir::Value, finite: (bool, bool)) -> Mask {
        match finite {
            // Below a number that is none: no NaN.
            (_, true) => self.compare_double(FloatCC::LessThan, a, b),
            // Above a number: also NaN.
            (true, false) => self.compare_double(FloatCC::UnorderedOrLessThan, a, b),
            (false, false) => {
                let less = self.compare_double(FloatCC::LessThan, a, b);
                let (x, y) = (self.is_nan(a), self.is_nan(b));
                let only_b = self.but_not(y, x);
                self.or(less, only_b)
            }
        }
    }

    /// Whether an operand is a constant that is no NaN.
    pub(super) fn is_number(of: &Operands<'_>, at: usize) -> bool {
        matches!(of.operand_ty(at), Type::Real | Type::Double)
            && of.literal(at).and_then(Value::as_f64).is_some_and(|v| !v.is_nan())
    }
}
