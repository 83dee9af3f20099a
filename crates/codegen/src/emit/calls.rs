//! Calls of plain functions, and the library's functions that are instructions.

use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, Signature, types as ct};
use types::{Physical, Result, Type};

use super::{Cell, Emitter, Operands, unexpected};
use crate::functions::{self, Bits, Known, Rounding};

impl Emitter<'_, '_> {
    /// Calls the function at an address of this process.
    pub(super) fn call(
        &mut self,
        address: usize,
        parameters: Vec<AbiParam>,
        result: ir::Type,
        arguments: &[ir::Value],
    ) -> ir::Value {
        let mut signature = Signature::new(self.builder.func.signature.call_conv);
        signature.params = parameters;
        signature.returns.push(AbiParam::new(result));
        let signature = self.builder.import_signature(signature);
        let address = self.builder.ins().iconst(ct::I64, address as i64);
        let call = self.builder.ins().call_indirect(signature, address, arguments);
        self.builder.inst_results(call)[0]
    }

    /// Calls a function of DOUBLEs for each row in flight.
    pub(super) fn call_of_doubles(&mut self, address: usize, arguments: &[ir::Value]) -> ir::Value {
        let [value] = self.each_lane(arguments, |e, lane| {
            [e.call(address, vec![AbiParam::new(ct::F64); lane.len()], ct::F64, lane)]
        });
        value
    }

    pub(super) fn library(&mut self, of: &Operands<'_>, name: &str) -> Result<Cell> {
        let types: Vec<Type> = (0..of.cells.len()).map(|at| of.operand_ty(at)).collect();
        let values: Vec<ir::Value> = of.cells.iter().map(|cell| cell.value).collect();
        let Some(known) = functions::known(name, &types, of.ty()) else { return Err(unexpected(of)) };
        let (value, own) = match known {
            Known::SquareRoot => {
                let value = self.builder.ins().sqrt(values[0]);
                let odd = self.is_not_finite(value);
                (value, Some(odd))
            }
            Known::Round(rounding) => {
                let ins = self.builder.ins();
                let value = match rounding {
                    Rounding::Down => ins.floor(values[0]),
                    Rounding::Up => ins.ceil(values[0]),
                    Rounding::NearestEven => ins.nearest(values[0]),
                };
                // What NaN becomes is the library's choice.
                let nan = self.compare_double(FloatCC::Unordered, value, value);
                (value, Some(nan))
            }
            Known::Call { address, partial } | Known::CallOfTwo { address, partial } => {
                let value = self.call_of_doubles(address, &values);
                let odd = partial.then(|| self.is_not_finite(value));
                (value, odd)
            }
            Known::Bits(bits) => (self.bits(of.ty(), bits, &values), None),
        };
        Ok(self.strict(of, value, own))
    }

    fn bits(&mut self, ty: Type, bits: Bits, values: &[ir::Value]) -> ir::Value {
        let a = values[0];
        let b = values.get(1).copied().unwrap_or(a);
        let places = match ty.physical() {
            Physical::I64 => 63,
            _ => 31,
        };
        match bits {
            Bits::And => self.builder.ins().band(a, b),
            Bits::Or => self.builder.ins().bor(a, b),
            Bits::Xor => self.builder.ins().bxor(a, b),
            Bits::Not => self.builder.ins().bnot(a),
            Bits::Left | Bits::Right => {
                let [value] = self.each_lane(&[a, b], |e, lane| {
                    let last = e.builder.ins().iconst(ct::I64, places);
                    let by = e.builder.ins().band(lane[1], last);
                    let value = match bits {
                        Bits::Left => e.builder.ins().ishl(lane[0], by),
                        _ => e.builder.ins().sshr(lane[0], by),
                    };
                    let narrow = match ty.physical() {
                        Physical::I16 => ct::I16,
                        Physical::I32 => ct::I32,
                        _ => return [value],
                    };
                    let low = e.builder.ins().ireduce(narrow, value);
                    [e.builder.ins().sextend(ct::I64, low)]
                });
                value
            }
        }
    }
}
