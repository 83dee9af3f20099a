//! From bound expressions to nodes. Operands whose physical types differ from what a kernel takes get a cast here,
//! once, so that kernels meet few combinations.
//!
//! Called by `Program` and `Predicate`, once per plan. A subexpression that occurs twice becomes one node, evaluated
//! once a batch. An expression nested deeper than `DEPTH_MAX` is SQLSTATE 54001, which is found without recursion.

use plan::{Arithmetic, Expr, ExprKind, Function};
use types::{Error, Result, SqlState, Type, Value};

use crate::fallback::LibraryCall;
use crate::graph::{Graph, NodeId, Operation};
use crate::kernels::in_list::ValueSet;
use crate::program::Program;

/// Deepest nesting that is accepted. Evaluation recurses with the expression: at under 1 KiB a level this stays well
/// inside the 2 MiB of a worker's stack.
const DEPTH_MAX: usize = 1000;

/// Adds an expression to the graph and returns its node. An error if it is nested too deeply or a function cannot be
/// bound.
pub(crate) fn compile(graph: &mut Graph, expression: &Expr) -> Result<NodeId> {
    check_depth(expression)?;
    add(graph, expression)
}

/// Without recursion, since it guards against it.
fn check_depth(expression: &Expr) -> Result<()> {
    let mut open = vec![(expression, 1)];
    while let Some((expression, depth)) = open.pop() {
        if depth > DEPTH_MAX {
            return Err(Error::new(
                SqlState::StatementTooComplex,
                format!("an expression is nested deeper than {DEPTH_MAX} levels"),
            )
            .with_hint("split the expression, or use IN for long lists of alternatives"));
        }
        open.extend(expression.children().into_iter().map(|c| (c, depth + 1)));
    }
    Ok(())
}

fn add(graph: &mut Graph, expression: &Expr) -> Result<NodeId> {
    use ExprKind as K;
    let ty = expression.ty;
    let mut operands = Vec::new();
    for child in expression.children() {
        operands.push(add(graph, child)?);
    }
    let operation = match &expression.kind {
        K::Column(id) => {
            return Err(Error::internal(format!("column #{} is not bound to an input", id.0)));
        }
        K::ScalarSubquery(id) => {
            return Err(Error::internal(format!("subquery #{} was not replaced by its value", id.0)));
        }
        K::Parameter(parameter) => {
            return Err(Error::internal(format!(
                "parameter ${} was not replaced by its value",
                parameter.number
            )));
        }
        K::Input(position) => Operation::Input(*position),
        K::Literal(value) => Operation::Literal(value.clone()),
        // Stands in for the argument; the call around it has the body.
        K::Lambda(_) => Operation::Literal(Value::Null),
        K::Compare { op, .. } => {
            align(graph, &mut operands);
            Operation::Compare(*op)
        }
        K::NotDistinct { negated, .. } => {
            align(graph, &mut operands);
            Operation::NotDistinct { negated: *negated }
        }
        K::And(_) => Operation::And,
        K::Or(_) => Operation::Or,
        K::Not(_) => Operation::Not,
        K::IsNull { negated, .. } => Operation::IsNull { negated: *negated },
        K::IsBoolean { value, negated, .. } => Operation::IsBoolean { value: *value, negated: *negated },
        K::Arithmetic { op, checked, .. } => {
            align_arithmetic(graph, *op, ty, &mut operands);
            Operation::Arithmetic { op: *op, checked: *checked }
        }
        K::Negate(_) => {
            operands[0] = cast(graph, operands[0], ty);
            Operation::Negate
        }
        K::Cast { lenient, .. } => {
            if graph.node(operands[0]).ty == ty {
                return Ok(operands[0]);
            }
            Operation::Cast { lenient: *lenient }
        }
        K::Case { branches, otherwise } => {
            if otherwise.is_none() {
                operands.push(graph.intern(Operation::Literal(Value::Null), ty, vec![]));
            }
            for (at, operand) in operands.iter_mut().enumerate() {
                if at % 2 == 1 || at == 2 * branches.len() {
                    *operand = cast(graph, *operand, ty);
                }
            }
            Operation::Case
        }
        K::Like { pattern, negated, case_insensitive, .. } => Operation::Like {
            pattern: pattern.clone(),
            negated: *negated,
            case_insensitive: *case_insensitive,
        },
        K::InList { values, has_null, negated, .. } => Operation::InList {
            set: ValueSet::new(values.clone(), graph.node(operands[0]).ty),
            has_null: *has_null,
            negated: *negated,
        },
        K::Function { function, .. } => {
            align_function(graph, *function, ty, &mut operands)?;
            Operation::Function(*function)
        }
        K::External { function, place, .. } => {
            Operation::Library(LibraryCall::external(function, *place, ty))
        }
        K::Library { name, arguments } => {
            let types: Vec<Type> = arguments.iter().map(|a| a.ty).collect();
            let constants: Vec<Option<Value>> = operands.iter().map(|o| graph.literal(*o).cloned()).collect();
            let body =
                arguments.iter().find_map(|a| if let K::Lambda(body) = &a.kind { Some(body) } else { None });
            let call = match body {
                Some(body) => {
                    let compiled = Program::compile(std::slice::from_ref(body))?;
                    LibraryCall::bind_lambda(name, body, Box::new(compiled), ty)?
                }
                None => LibraryCall::bind(name, &types, &constants, ty)?,
            };
            Operation::Library(call)
        }
    };
    Ok(graph.intern(operation, ty, operands))
}

/// A cast to `ty` where the representation differs; other differences of type do not matter to kernels.
fn cast(graph: &mut Graph, id: NodeId, ty: Type) -> NodeId {
    let from = graph.node(id).ty;
    if from == ty || from.same_representation(ty) {
        return id;
    }
    // A literal is cast here and now; what fails is left to fail when it is evaluated.
    if let Some(Ok(value)) = graph.literal(id).map(|v| types::cast::cast_value(v, from, ty)) {
        return graph.intern(Operation::Literal(value), ty, vec![]);
    }
    graph.intern(Operation::Cast { lenient: false }, ty, vec![id])
}

/// Both operands of a comparison in one representation.
fn align(graph: &mut Graph, operands: &mut [NodeId]) {
    let (a, b) = (graph.node(operands[0]).ty, graph.node(operands[1]).ty);
    if a.same_representation(b) {
        return;
    }
    let target = if a == Type::Null {
        b
    } else if b == Type::Null {
        a
    } else if a.is_float() || b.is_float() {
        Type::Double
    } else if a.is_decimal() || b.is_decimal() {
        let scale = a.scale().max(b.scale());
        let whole = |t: Type| match t {
            Type::Decimal { precision, scale } => precision.saturating_sub(scale),
            ty => ty.integer_digits().unwrap_or(19),
        };
        Type::Decimal { precision: (whole(a).max(whole(b)) + scale).min(38), scale }
    } else if a.is_integer() && b.is_integer() {
        a.common_integer(b).unwrap_or(a)
    } else if a.physical() == b.physical() {
        return;
    } else if matches!(a, Type::Timestamp | Type::TimestampTz) || b == Type::Date {
        a
    } else {
        b
    };
    for operand in operands {
        *operand = cast(graph, *operand, target);
    }
}

fn align_arithmetic(graph: &mut Graph, op: Arithmetic, ty: Type, operands: &mut [NodeId]) {
    for operand in operands.iter_mut() {
        let from = graph.node(*operand).ty;
        let target = match ty {
            _ if from == Type::Null => ty,
            // DATE - DATE keeps its operands.
            _ if ty.is_integer() && from.is_integer() => ty,
            Type::Real | Type::Double if from.is_numeric() => ty,
            Type::Decimal { .. } if from.is_integer() => {
                Type::Decimal { precision: from.integer_digits().unwrap_or(19), scale: 0 }
            }
            Type::Decimal { scale, .. } if from.is_float() => Type::Decimal { precision: 38, scale },
            // DATE + INTEGER; INTERVAL * number.
            Type::Date if from.is_integer() => Type::BigInt,
            Type::IntervalYearMonth | Type::IntervalDayTime if from.is_numeric() => Type::Double,
            Type::IntervalDayTime if from == Type::Date => Type::Timestamp,
            Type::Timestamp | Type::TimestampTz if from == Type::Date => ty,
            _ => from,
        };
        *operand = cast(graph, *operand, target);
    }
    // Sums and remainders of decimals are computed at the result's scale.
    if let Type::Decimal { scale, .. } = ty
        && matches!(op, Arithmetic::Add | Arithmetic::Subtract | Arithmetic::Modulo)
    {
        for operand in operands {
            if let Type::Decimal { precision, scale: from } = graph.node(*operand).ty
                && from != scale
            {
                let precision = (precision - from + scale).min(38).max(scale);
                *operand = cast(graph, *operand, Type::Decimal { precision, scale });
            }
        }
    }
}

fn align_function(graph: &mut Graph, function: Function, ty: Type, operands: &mut [NodeId]) -> Result<()> {
    match function {
        Function::Substring => {
            for operand in &mut operands[1..] {
                *operand = cast(graph, *operand, Type::BigInt);
            }
        }
        Function::Coalesce | Function::Absolute => {
            for operand in operands.iter_mut() {
                *operand = cast(graph, *operand, ty);
            }
        }
        Function::NullIf => {
            align(graph, operands);
            operands[0] = cast(graph, operands[0], ty);
        }
        Function::Concatenate => {
            for operand in operands.iter_mut() {
                if graph.node(*operand).ty != Type::Bytea {
                    *operand = cast(graph, *operand, Type::Text);
                }
            }
        }
        _ => {}
    }
    let wanted = match function {
        Function::Substring => 2..=3,
        Function::NullIf | Function::SamplePlace => 2..=2,
        Function::Coalesce | Function::Concatenate => 1..=usize::MAX,
        _ => 1..=1,
    };
    if wanted.contains(&operands.len()) {
        Ok(())
    } else {
        Err(Error::new(
            SqlState::UndefinedFunction,
            format!("function {} does not take {} arguments", function.name(), operands.len()),
        ))
    }
}
