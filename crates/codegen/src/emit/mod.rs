//! From nodes to instructions: one file a family of operations.
//!
//! A row's values are `Cell`s: the value, whether it is NULL, and whether the row is at fault. Everything is computed
//! without branches and then chosen, as the vectorised evaluator does; a fault under a branch that is not taken is
//! chosen away with its value, so what a row does not need raises nothing. Code that has a fault left says only that
//! it does not vouch for the batch: the vectorised evaluator then computes it again and has the error and its words.
//!
//! Code is emitted for one row, or for two in 128-bit registers where most operations have such instructions; the
//! others are done lane by lane. `Cell`s exist only while compiling: a tuple's fields are registers.

mod calls;
mod casts;
mod choices;
mod dates;
mod exact;
mod floats;
mod routine;
mod rows;
mod truth;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, types as ct};
use cranelift_frontend::FunctionBuilder;
use expr::graph::{Graph, NodeId, Operation};
use plan::{Arithmetic, Function};
use types::{Result, Type, Value};

use crate::kind::Kind;
pub(crate) use routine::{Parts, routine};
pub(crate) use rows::{OutputLayout, SlotLayout};

/// A truth value of each row in flight: a byte of 0 or 1 for one row, a 128-bit register of two masks for two.
type Mask = ir::Value;

/// A row's value while compiling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    /// Any value where the row is NULL or at fault.
    pub value: ir::Value,
    /// The row is NULL; `None` where it never is.
    pub null: Option<Mask>,
    /// The row may be at fault; `None` where it never is.
    pub fault: Option<Mask>,
}

/// The state of emitting one function.
pub(crate) struct Emitter<'f, 'b> {
    builder: &'f mut FunctionBuilder<'b>,
    /// Two rows in flight instead of one.
    two: bool,
}

/// A node's operands in registers, with their types.
pub(crate) struct Operands<'a> {
    pub graph: &'a Graph,
    pub id: NodeId,
    pub cells: Vec<Cell>,
}

impl Operands<'_> {
    fn ty(&self) -> Type {
        self.graph.node(self.id).ty
    }
    fn operand_ty(&self, at: usize) -> Type {
        self.graph.node(self.graph.node(self.id).operands[at]).ty
    }
    fn literal(&self, at: usize) -> Option<&Value> {
        self.graph.literal(self.graph.node(self.id).operands[at])
    }
}

fn plain_bits() -> MemFlagsData {
    MemFlagsData::new().with_endianness(ir::Endianness::Little)
}

impl<'f, 'b> Emitter<'f, 'b> {
    pub(crate) fn new(builder: &'f mut FunctionBuilder<'b>, two: bool) -> Self {
        Emitter { builder, two }
    }

    /// The node's cell from those of its operands.
    pub(crate) fn node(&mut self, of: &Operands<'_>) -> Result<Cell> {
        let node = of.graph.node(of.id);
        Ok(match &node.operation {
            Operation::Literal(value) => self.literal(node.ty, value)?,
            Operation::Compare(op) => self.comparison(of, *op),
            Operation::NotDistinct { negated } => self.not_distinct(of, *negated),
            Operation::And => self.junction(of, true),
            Operation::Or => self.junction(of, false),
            Operation::Not => {
                let value = self.not(of.cells[0].value);
                Cell { value, ..of.cells[0] }
            }
            Operation::IsNull { negated } => self.is_null(of, *negated),
            Operation::IsBoolean { value, negated } => self.is_boolean(of, *value, *negated),
            Operation::Arithmetic { op, checked } => self.arithmetic(of, *op, *checked)?,
            Operation::Negate => self.sign(of, true)?,
            Operation::Function(Function::Absolute) => self.sign(of, false)?,
            Operation::Cast { .. } => self.cast(of)?,
            Operation::Case => self.case(of),
            Operation::Function(Function::Coalesce) => self.coalesce(of),
            Operation::Function(Function::NullIf) => self.null_if(of),
            Operation::Function(part) => self.date_part(of, *part)?,
            Operation::InList { set, has_null, negated } => self.in_list(of, set, *has_null, *negated)?,
            Operation::Library(call) => self.library(of, call.name())?,
            Operation::Input(_) | Operation::Like { .. } => return Err(unexpected(of)),
        })
    }

    fn arithmetic(&mut self, of: &Operands<'_>, op: Arithmetic, checked: bool) -> Result<Cell> {
        let (ty, a, b) = (of.ty(), of.operand_ty(0), of.operand_ty(1));
        match ty {
            _ if a.is_integer() && b.is_integer() => self.integers(of, op, checked),
            Type::Decimal { .. } => self.decimals(of, op, checked),
            Type::Real | Type::Double => Ok(self.floats(of, op, checked)),
            _ => self.moments(of, op),
        }
    }

    fn literal(&mut self, ty: Type, value: &Value) -> Result<Cell> {
        let kind = Kind::of(ty).unwrap_or(Kind::Bool);
        let null = value.is_null().then(|| self.truth(true));
        let value = match value {
            Value::Bool(value) => self.truth(*value),
            Value::I16(v) => self.whole(i64::from(*v)),
            Value::I32(v) => self.whole(i64::from(*v)),
            Value::I64(v) => self.whole(*v),
            Value::I128(v) => self.wide(*v),
            Value::F32(v) => self.builder.ins().f32const(*v),
            Value::F64(v) => self.double(*v),
            _ => self.zero(kind),
        };
        Ok(Cell { value, null, fault: None })
    }

    fn zero(&mut self, kind: Kind) -> ir::Value {
        match kind {
            Kind::Bool => self.truth(false),
            Kind::Whole => self.whole(0),
            Kind::Wide => self.wide(0),
            Kind::Single => self.builder.ins().f32const(0.0),
            Kind::Double => self.double(0.0),
        }
    }

    fn whole(&mut self, value: i64) -> ir::Value {
        let one = self.builder.ins().iconst(ct::I64, value);
        if self.two { self.builder.ins().splat(ct::I64X2, one) } else { one }
    }
    fn double(&mut self, value: f64) -> ir::Value {
        let one = self.builder.ins().f64const(value);
        if self.two { self.builder.ins().splat(ct::F64X2, one) } else { one }
    }
    fn wide(&mut self, value: i128) -> ir::Value {
        let low = self.builder.ins().iconst(ct::I64, value as i64);
        let high = self.builder.ins().iconst(ct::I64, (value >> 64) as i64);
        self.builder.ins().iconcat(low, high)
    }
    fn truth(&mut self, value: bool) -> Mask {
        match self.two {
            true => self.whole(-i64::from(value)),
            false => self.builder.ins().iconst(ct::I8, i64::from(value)),
        }
    }

    fn and(&mut self, a: Mask, b: Mask) -> Mask {
        self.builder.ins().band(a, b)
    }
    fn or(&mut self, a: Mask, b: Mask) -> Mask {
        self.builder.ins().bor(a, b)
    }
    fn not(&mut self, a: Mask) -> Mask {
        match self.two {
            true => self.builder.ins().bnot(a),
            false => {
                let one = self.builder.ins().iconst(ct::I8, 1);
                self.builder.ins().bxor(a, one)
            }
        }
    }
    /// `a` and not `b`.
    fn but_not(&mut self, a: Mask, b: Mask) -> Mask {
        let not = self.not(b);
        self.and(a, not)
    }
    /// Either, where one of them can be.
    fn either(&mut self, a: Option<Mask>, b: Option<Mask>) -> Option<Mask> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.or(a, b)),
            (one, None) | (None, one) => one,
        }
    }
    /// The first where it is not masked by the second.
    fn unless(&mut self, a: Option<Mask>, b: Option<Mask>) -> Option<Mask> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.but_not(a, b)),
            (a, _) => a,
        }
    }
    /// `a` where the mask is set, else `b`.
    fn choose(&mut self, mask: Mask, a: ir::Value, b: ir::Value) -> ir::Value {
        if !self.two {
            return self.builder.ins().select(mask, a, b);
        }
        let ty = self.builder.func.dfg.value_type(a);
        let mask = if ty == ct::I64X2 { mask } else { self.builder.ins().bitcast(ty, plain_bits(), mask) };
        self.builder.ins().bitselect(mask, a, b)
    }

    fn compare_whole(&mut self, condition: IntCC, a: ir::Value, b: ir::Value) -> Mask {
        self.builder.ins().icmp(condition, a, b)
    }
    fn compare_double(&mut self, condition: FloatCC, a: ir::Value, b: ir::Value) -> Mask {
        self.builder.ins().fcmp(condition, a, b)
    }

    /// A mask from what a single lane's comparison gave.
    fn mask_of_lane(&mut self, one: ir::Value) -> ir::Value {
        self.builder.ins().bmask(ct::I64, one)
    }

    /// Applies `f` to each lane's values: `results` are the machine types of what it gives for a lane, where a byte
    /// stands for a truth value.
    fn each_lane<const N: usize>(
        &mut self,
        operands: &[ir::Value],
        mut f: impl FnMut(&mut Self, &[ir::Value]) -> [ir::Value; N],
    ) -> [ir::Value; N] {
        if !self.two {
            return f(self, operands);
        }
        let mut lanes: Vec<[ir::Value; N]> = Vec::with_capacity(2);
        for lane in 0..2u8 {
            let singles: Vec<ir::Value> =
                operands.iter().map(|v| self.builder.ins().extractlane(*v, lane)).collect();
            // Inside, one row is in flight.
            self.two = false;
            let results = f(self, &singles);
            self.two = true;
            lanes.push(results);
        }
        std::array::from_fn(|at| {
            let (mut first, mut second) = (lanes[0][at], lanes[1][at]);
            if self.builder.func.dfg.value_type(first) == ct::I8 {
                (first, second) = (self.mask_of_lane(first), self.mask_of_lane(second));
            }
            self.pair(first, second)
        })
    }

    /// Two lanes from two values.
    fn pair(&mut self, first: ir::Value, second: ir::Value) -> ir::Value {
        let ty = match self.builder.func.dfg.value_type(first) {
            ct::F64 => ct::F64X2,
            _ => ct::I64X2,
        };
        let both = self.builder.ins().splat(ty, first);
        self.builder.ins().insertlane(both, second, 1u8)
    }

    /// NULL where an operand is, at fault where an operand is or, in a row that is not NULL, where `own` says so.
    fn strict(&mut self, of: &Operands<'_>, value: ir::Value, own: Option<Mask>) -> Cell {
        let (mut null, mut fault) = (None, None);
        for cell in &of.cells {
            null = self.either(null, cell.null);
            fault = self.either(fault, cell.fault);
        }
        let own = self.unless(own, null);
        Cell { value, null, fault: self.either(fault, own) }
    }
}

/// A node that the list of what compiles should not have let through.
fn unexpected(of: &Operands<'_>) -> types::Error {
    types::Error::internal(format!("no code for {:?}", of.graph.node(of.id).operation))
}
