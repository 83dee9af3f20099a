//! What arguments of aggregates are packed into, and the values that are made of the results: rows in the order of
//! their keys, and the pieces of lists, maps and JSON.
//!
//! `AggregateArguments` is a call and what `Packed` makes of its result; `function::aggregate` and `function::window`
//! put both in their places. `where_known` and `where_there` guard an expression against NULLs.

use plan::functions::{ORDERED_ROW, ROW_VALUE};
use plan::{AggregateCall, Expr, ExprKind, SortKey};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::cast;
use crate::bind::expression::collation_keys;
use crate::bind::nested::call;

/// A call, and what its result is.
pub(crate) struct AggregateArguments {
    /// The aggregate that runs.
    pub call: AggregateCall,
    /// Further calls that the result is made of.
    pub others: Vec<AggregateCall>,
    /// How the value is made from the results of `call` and `others`.
    pub result: Packed,
}

/// What an aggregate's result holds.
#[derive(Clone, Copy)]
pub(crate) enum Packed {
    /// The value itself.
    Nothing,
    /// A row of `ordered_row` that carries a value of the type.
    Row(Type),
    /// The slots of a list of the type.
    List(Type),
    /// The slots of a list in order, of which so many are wanted.
    Firsts { list: Type, count: i64 },
    /// The slots of a list, whose elements are counted in a map of the type.
    Histogram { list: Type, map: Type },
    /// The slots of a list of the type, in whose order the first of its most frequent elements is asked for.
    Mode(Type),
    /// The slots of a list, of which a function makes a value of the type; further results are its other arguments.
    Fold { list: Type, function: &'static str, ty: Type },
    /// As `Fold`, of the list with each value once; of no rows it is the function of an empty list.
    Once { list: Type, function: &'static str, ty: Type },
    /// The deviation of a mean's values, whose count is a further result: the error of the mean.
    ErrorOfMean,
    /// A logarithm.
    Exponential,
    /// A sum that is divided by a further result; by zero it is not a number.
    Quotient,
    /// The pieces of an array or of an object.
    Json { object: bool, ty: Type },
    /// The months of an interval; its other parts, and a count for an average, are in further results.
    Interval,
}

impl Packed {
    /// The value that the result holds.
    pub(crate) fn unpacked(self, result: Expr, others: Vec<Expr>) -> Expr {
        match self {
            Packed::Nothing => result,
            Packed::Row(ty) => call(ROW_VALUE, vec![result], ty),
            Packed::List(ty) => call("list_of_slots", vec![result], ty),
            Packed::Firsts { list, count } => {
                let bound = |at: i64| Expr::literal(Value::I64(at), Type::BigInt);
                call(
                    "list_slice",
                    vec![call("list_of_slots", vec![result], list), bound(1), bound(count)],
                    list,
                )
            }
            Packed::Histogram { list, map } => {
                call("list_histogram", vec![call("list_of_slots", vec![result], list)], map)
            }
            Packed::Mode(list) => {
                let element = list.element().unwrap_or(Type::Null);
                call("list_first_mode", vec![call("list_of_slots", vec![result], list)], element)
            }
            Packed::Fold { list, function, ty } => {
                let mut arguments = vec![call("list_of_slots", vec![result], list)];
                arguments.extend(others);
                call(function, arguments, ty)
            }
            Packed::Once { list, function, ty } => {
                let mut values = call("list_of_slots", vec![result], list);
                if function == "list_count" {
                    let none = Expr::literal(types::nested::encoding::list_of([], Type::Null), list);
                    let kind = ExprKind::Function {
                        function: plan::Function::Coalesce,
                        arguments: vec![values, none],
                    };
                    values = Expr::new(kind, list);
                }
                let mut arguments = vec![call("list_each_once", vec![values], list)];
                arguments.extend(others);
                call(function, arguments, ty)
            }
            Packed::ErrorOfMean => {
                let count = others.into_iter().next().unwrap_or_else(|| crate::bind::null_of(Type::BigInt));
                let root = call(
                    "sqrt",
                    vec![crate::bind::expression::coerce::cast(count, Type::Double)],
                    Type::Double,
                );
                where_there(vec![is_there(result.clone())], quotient(result, root))
            }
            Packed::Exponential => call("exp", vec![result], Type::Double),
            Packed::Quotient => {
                let by = others.into_iter().next().unwrap_or_else(|| crate::bind::null_of(Type::Double));
                let nothing = Expr::literal(Value::F64(0.0), Type::Double);
                let none = Expr::compare(types::Comparison::Equal, by.clone(), nothing);
                let undefined = where_there(
                    vec![is_there(result.clone())],
                    Expr::literal(Value::F64(f64::NAN), Type::Double),
                );
                let otherwise = Some(Box::new(quotient(result, by)));
                let kind = ExprKind::Case { branches: vec![(none, undefined)], otherwise };
                Expr::new(kind, Type::Double)
            }
            Packed::Interval => {
                let sums = std::iter::once(result).chain(others).collect();
                call(plan::functions::INTERVAL_OF_SUMS, sums, Type::Interval)
            }
            Packed::Json { object, ty } => {
                let brackets = Expr::literal(Value::text(if object { "{}" } else { "[]" }), Type::Text);
                crate::bind::expression::coerce::cast(
                    call("json_of_pieces", vec![result, brackets], Type::Json),
                    ty,
                )
            }
        }
    }
}

fn quotient(left: Expr, right: Expr) -> Expr {
    let (left, right) = (Box::new(left), Box::new(right));
    let kind = ExprKind::Arithmetic { op: plan::Arithmetic::Divide, left, right, checked: true };
    Expr::new(kind, Type::Double)
}

impl AggregateArguments {
    /// A call whose result is the value.
    pub(crate) fn plain(call: AggregateCall) -> Self {
        AggregateArguments::of(call, Packed::Nothing)
    }

    /// A single call whose result is unpacked as `result` says.
    pub(crate) fn of(call: AggregateCall, result: Packed) -> Self {
        AggregateArguments { call, others: Vec::new(), result }
    }
}

/// Aggregates that make a list, a map or JSON of all values: pieces of bytes, put together as `string_agg` does it,
/// and made a value of when the group is complete.
pub(crate) fn gathers(name: &str) -> bool {
    matches!(name, "array_agg" | "list" | "histogram" | "mad") || name.starts_with("json")
}

/// Those that make an object of keys and values.
pub(crate) fn gathers_pairs(name: &str) -> bool {
    gathers(name) && name.contains("object")
}

/// The type of a distance between values of a type.
pub(crate) fn deviation_type(of: Type) -> Option<Type> {
    Some(match of {
        Type::Date | Type::Timestamp | Type::TimestampTz | Type::Time => Type::Interval,
        Type::Real | Type::Decimal { .. } => of,
        Type::Double | Type::Null => Type::Double,
        of if of.is_integer() => Type::Double,
        _ => return None,
    })
}

/// A row's piece, which is never NULL, and what the pieces of a group are.
pub(crate) fn piece(name: &str, value: Expr, second: Option<Expr>) -> Result<(Expr, Packed)> {
    if name.starts_with("json") {
        let object = second.is_some();
        let function = if object { "json_pair" } else { "json_piece" };
        let arguments = [value].into_iter().chain(second).collect();
        let ty = if name.starts_with("jsonb") { Type::Jsonb } else { Type::Json };
        return Ok((call(function, arguments, Type::Text), Packed::Json { object, ty }));
    }
    let list = Type::list(value.ty)?;
    let packed = match name {
        "mode" => Packed::Mode(list),
        "histogram" => Packed::Histogram { list, map: Type::map(value.ty, Type::BigInt)? },
        "mad" => {
            let given = value.ty;
            let Some(ty) = deviation_type(given) else {
                let message = format!("function mad({given}) does not exist");
                return Err(Error::new(SqlState::UndefinedFunction, message)
                    .with_hint("it takes numbers, dates and times"));
            };
            Packed::Fold { list, function: "list_mad", ty }
        }
        _ => Packed::List(list),
    };
    Ok((call("list_slot", vec![value], Type::Bytea), packed))
}

/// The value in a row whose bytes are in the order of the keys.
pub(crate) fn ordered_row(keys: Vec<SortKey>, value: Expr) -> Expr {
    let direction = |key: &SortKey| match (key.descending, key.nulls_first) {
        (false, false) => 'a',
        (false, true) => 'A',
        (true, false) => 'd',
        (true, true) => 'D',
    };
    let directions: String = keys.iter().map(direction).collect();
    let mut arguments = vec![Expr::literal(Value::text(&directions), Type::Text)];
    arguments.extend(keys.into_iter().map(|key| collation_keys::key(typed_null(key.expr))));
    arguments.push(value);
    call(ORDERED_ROW, arguments, Type::Bytea)
}

/// A value of some type: NULL is TEXT where nothing says otherwise.
pub(crate) fn typed_null(expr: Expr) -> Expr {
    if expr.ty == Type::Null { cast(expr, Type::Text) } else { expr }
}

/// `expr IS NOT NULL`.
pub(crate) fn is_there(expr: Expr) -> Expr {
    Expr::new(ExprKind::IsNull { input: Box::new(expr), negated: true }, Type::Boolean)
}

/// The value where none of the others is NULL, else NULL.
pub(crate) fn where_known(others: Vec<Expr>, value: Expr) -> Expr {
    if others.iter().any(|e| e.as_literal().is_some_and(Value::is_null)) {
        return crate::bind::null_of(value.ty);
    }
    let others = others.into_iter().filter(|e| e.as_literal().is_none());
    where_there(others.map(is_there).collect(), value)
}

/// The value where all conditions hold, else NULL.
pub(crate) fn where_there(conditions: Vec<Expr>, value: Expr) -> Expr {
    if conditions.is_empty() {
        return value;
    }
    let ty = value.ty;
    Expr::new(ExprKind::Case { branches: vec![(Expr::and(conditions), value)], otherwise: None }, ty)
}
