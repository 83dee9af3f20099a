//! The forms that values have in registers, and which nodes of a graph become code.
//!
//! Integers, dates, moments and decimals of up to 64 bits are 64-bit numbers whatever their width in memory, so one
//! family of instructions serves them all and a narrower type's overflow is a look at its range. A node that is not
//! in this list becomes a column that the vectorised evaluator computes: a call, never a refusal.

use expr::graph::{Graph, Node, NodeId, Operation};
use plan::{Arithmetic, Function};
use types::{Physical, Type, Value};

use crate::functions;

/// How a value is held in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A truth value.
    Bool,
    /// A whole number of at most 64 bits, sign-extended.
    Whole,
    /// A whole number of 128 bits.
    Wide,
    /// REAL.
    Single,
    /// DOUBLE PRECISION.
    Double,
}

impl Kind {
    /// The form of a type's values; `None` for those that are bytes.
    pub(crate) fn of(ty: Type) -> Option<Kind> {
        Some(match ty.physical() {
            Physical::Bool => Kind::Bool,
            Physical::I16 | Physical::I32 | Physical::I64 => Kind::Whole,
            Physical::I128 => Kind::Wide,
            Physical::F32 => Kind::Single,
            Physical::F64 => Kind::Double,
            Physical::Bytes => return None,
        })
    }
}

/// Values of an IN list that are compared one by one; longer lists are looked up by the vectorised evaluator.
const IN_LIST_MAX: usize = 16;

/// Whether the node's operation becomes code, given that its operands are values in registers. One that evaluates operands
/// only for the rows that need them does where all of these become code, too: what vectors compute is computed for every
/// row, which may fail, or take any time and memory, where no row asks for it.
pub(crate) fn compiles(graph: &Graph, id: NodeId) -> bool {
    let guarded = match graph.node(id).operation {
        Operation::And | Operation::Or => 0,
        Operation::Case | Operation::Function(Function::Coalesce) => 1,
        _ => usize::MAX,
    };
    let mut open: Vec<NodeId> = graph.node(id).operands.iter().skip(guarded).copied().collect();
    let mut seen = vec![false; if open.is_empty() { 0 } else { graph.len() }];
    while let Some(below) = open.pop() {
        let node = graph.node(below);
        if std::mem::replace(&mut seen[below], true) || matches!(node.operation, Operation::Input(_)) {
            continue;
        }
        if !becomes_code(graph, below) {
            return false;
        }
        open.extend(&node.operands);
    }
    becomes_code(graph, id)
}

fn becomes_code(graph: &Graph, id: NodeId) -> bool {
    let node = graph.node(id);
    let operand = |at: usize| node.operands.get(at).map(|id| graph.node(*id).ty);
    let Some(kind) = Kind::of(node.ty) else { return false };
    let Some(kinds) = node.operands.iter().map(|id| Kind::of(graph.node(*id).ty)).collect::<Option<Vec<_>>>()
    else {
        return false;
    };
    let alike = kinds.windows(2).all(|pair| pair[0] == pair[1]);
    match &node.operation {
        Operation::Input(_) => false,
        Operation::Literal(value) => literal_fits(kind, value),
        Operation::Compare(_) | Operation::NotDistinct { .. } => {
            kinds.len() == 2 && alike && !has_null_type(graph, node)
        }
        Operation::And | Operation::Or | Operation::Not | Operation::IsBoolean { .. } => {
            kinds.iter().all(|kind| *kind == Kind::Bool)
        }
        Operation::IsNull { .. } => true,
        Operation::Arithmetic { op, .. } => match (operand(0), operand(1)) {
            (Some(a), Some(b)) => arithmetic(*op, node.ty, a, b),
            _ => false,
        },
        Operation::Negate | Operation::Function(Function::Absolute) => {
            kinds.first() == Some(&kind)
                && kind != Kind::Bool
                && !matches!(node.ty, Type::Interval | Type::Uuid)
        }
        Operation::Cast { lenient } => !lenient && operand(0).is_some_and(|from| cast(from, node.ty)),
        Operation::Case => node
            .operands
            .iter()
            .enumerate()
            .all(|(at, _)| at % 2 == 0 && at + 1 != kinds.len() || kinds[at] == kind),
        Operation::Function(Function::Coalesce) => kinds.iter().all(|of| *of == kind),
        Operation::Function(Function::NullIf) => kinds.len() == 2 && alike && kinds[0] == kind,
        Operation::Function(Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay) => {
            operand(0) == Some(Type::Date) && node.ty == Type::BigInt
        }
        Operation::Function(_) | Operation::Like { .. } => false,
        Operation::InList { set, .. } => kinds == [Kind::Whole] && set.values().len() <= IN_LIST_MAX,
        Operation::Library(call) => {
            let types: Vec<Type> = node.operands.iter().map(|id| graph.node(*id).ty).collect();
            !call.is_volatile() && functions::known(call.name(), &types, node.ty).is_some()
        }
    }
}

fn has_null_type(graph: &Graph, node: &Node) -> bool {
    node.operands.iter().any(|id| graph.node(*id).ty == Type::Null)
}

fn literal_fits(kind: Kind, value: &Value) -> bool {
    matches!(
        (kind, value),
        (_, Value::Null)
            | (Kind::Bool, Value::Bool(_))
            | (Kind::Whole, Value::I16(_) | Value::I32(_) | Value::I64(_))
            | (Kind::Wide, Value::I128(_))
            | (Kind::Single, Value::F32(_))
            | (Kind::Double, Value::F64(_))
    )
}

/// Arithmetic that is emitted in place or is one call of a function of this crate.
fn arithmetic(op: Arithmetic, ty: Type, a: Type, b: Type) -> bool {
    let kinds = (Kind::of(a), Kind::of(b), Kind::of(ty));
    if a.is_integer() && b.is_integer() {
        let whole = kinds == (Some(Kind::Whole), Some(Kind::Whole), Some(Kind::Whole));
        let wide = kinds == (Some(Kind::Wide), Some(Kind::Wide), Some(Kind::Wide));
        return ty.is_integer() && (whole || wide && matches!(op, Arithmetic::Add | Arithmetic::Subtract));
    }
    match ty {
        Type::Decimal { scale, .. }
            if (a.is_decimal() || a.is_integer()) && (b.is_decimal() || b.is_integer()) =>
        {
            let aligned = a.scale() == scale && b.scale() == scale;
            match op {
                Arithmetic::Add | Arithmetic::Subtract => aligned,
                Arithmetic::Multiply => a.scale() + b.scale() == scale,
                Arithmetic::Modulo => {
                    aligned && kinds == (Some(Kind::Whole), Some(Kind::Whole), Some(Kind::Whole))
                }
                // Rounded to the result's scale: a call.
                Arithmetic::Divide => true,
            }
        }
        Type::Double => a == Type::Double && b == Type::Double,
        Type::Real => a == Type::Real && b == Type::Real && op != Arithmetic::Modulo,
        Type::Date => {
            a == Type::Date && b == Type::BigInt && matches!(op, Arithmetic::Add | Arithmetic::Subtract)
        }
        Type::BigInt => a == Type::Date && b == Type::Date && op == Arithmetic::Subtract,
        _ => false,
    }
}

/// Casts that are emitted in place.
fn cast(from: Type, to: Type) -> bool {
    let exact = |ty: Type| (ty.is_integer() || ty.is_decimal()) && Kind::of(ty).is_some();
    if exact(from) && exact(to) {
        // Ranged integers of another scale are rounded with care.
        return !to.is_ranged_integer() || from.scale() == to.scale();
    }
    if exact(from) && to == Type::Double {
        return Kind::of(from) == Some(Kind::Whole) && from.scale() <= 22;
    }
    match (from, to) {
        (Type::Real, Type::Double) | (Type::Double, Type::Real) => true,
        (Type::Double, to) => to.is_plain_integer(),
        (Type::Boolean, to) => to.is_plain_integer(),
        (from, Type::Boolean) => from.is_plain_integer(),
        (Type::Date, Type::Timestamp) => true,
        (Type::Timestamp, Type::Date) => true,
        _ => false,
    }
}
