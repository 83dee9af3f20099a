//! Scalar functions of DataFusion's library: found by name, typed by their signatures. Evaluation is crate `expr`'s.
//!
//! The registry of the library's functions is built once for the process. `HIDDEN` names are left out: their
//! semantics differ from PostgreSQL's, or they need types that are missing here. `call` casts the arguments to the
//! function's signature and takes the result type that the library computes. Called for functions that are not typed
//! in this crate.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use arrow_schema::{Field, FieldRef};
use datafusion_common::ScalarValue;
use datafusion_expr::type_coercion::functions::fields_with_udf;
use datafusion_expr::{ReturnFieldArgs, ScalarUDF};
use plan::{Expr, ExprKind};
use syntax::Span;
use types::{Error, Result, SqlState, Type, Value};
use vector::arrow::{arrow_type, type_from_arrow};

use crate::bind::expression::coerce::{Bound, cast, read_literal, widens};
use crate::bind::function::{listing, own};
use crate::bind::scope::nearest;
use crate::place;

type Registry = HashMap<String, Arc<ScalarUDF>>;

/// All functions by name and alias, built once.
fn registry() -> &'static Registry {
    static REGISTRY: OnceLock<Registry> = OnceLock::new();
    REGISTRY.get_or_init(|| {
        let mut by_name = Registry::new();
        for function in datafusion_functions::all_default_functions() {
            for alias in function.aliases() {
                by_name.insert(alias.clone(), function.clone());
            }
            by_name.insert(function.name().to_owned(), function);
        }
        by_name
    })
}

/// Functions that only make sense inside DataFusion, on types we do not have, or otherwise than users expect.
const HIDDEN: [&str; 33] = [
    // Their formats are another library's, not PostgreSQL's.
    "date_format",
    "from_unixtime",
    "to_char",
    "to_date",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
    "arrow_field",
    "file_row_index",
    "input_file_name",
    "regexp_match",
    "try_cast_to_type",
    "arrow_cast",
    "arrow_typeof",
    "arrow_metadata",
    "get_field",
    "named_struct",
    "struct",
    "union_extract",
    "union_tag",
    "version",
    "with_metadata",
    "arrow_try_cast",
    "map",
    "make_array",
    "row",
    "unnest",
    "cast_to_type",
];

/// Names of all functions that can be called.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    registry().keys().map(String::as_str).filter(|n| !HIDDEN.contains(n))
}

fn shown(argument: &Bound) -> String {
    if argument.untyped || argument.is_null() {
        "unknown".into()
    } else {
        argument.ty().sql_name().to_lowercase()
    }
}

/// Functions of other systems that go by another name here, or are no function.
const ELSEWHERE: [(&str, &str); 39] = [
    ("explode", "unnest(list)"),
    ("trim_scale", "a cast to a type of the scale that is wanted: value::DECIMAL(10, 2)"),
    ("setseed", "hash(key) where a random choice has to be the same again; random() has no seed"),
    ("posexplode", "FROM t, unnest(list) WITH ORDINALITY AS u(value, place)"),
    ("flatten_outer", "LEFT JOIN unnest(list) ON true"),
    ("from_unixtime", "to_timestamp(seconds)"),
    ("unix_timestamp", "epoch(moment)"),
    ("getdate", "now()"),
    ("sysdate", "now()"),
    ("iff", "if(condition, a, b), or CASE"),
    ("iif", "if(condition, a, b), or CASE"),
    ("isnull", "value IS NULL, or coalesce(value, other)"),
    ("size", "len(list)"),
    ("date", "value::DATE"),
    ("to_varchar", "value::TEXT, or to_char(value, 'format')"),
    ("tostring", "value::TEXT"),
    ("todate", "value::DATE"),
    ("toint32", "value::INTEGER"),
    ("tofloat64", "value::DOUBLE PRECISION"),
    ("safe_divide", "a / nullif(b, 0)"),
    ("try_divide", "a / nullif(b, 0)"),
    ("charindex", "strpos(text, part)"),
    ("locate", "strpos(text, part)"),
    ("to_json_string", "to_json(value)::TEXT"),
    ("date_format", "to_char(moment, 'YYYY-MM'), or strftime(moment, '%Y-%m')"),
    ("format_date", "to_char(moment, 'YYYY-MM'), or strftime(moment, '%Y-%m')"),
    ("dateadd", "moment + INTERVAL '1 day'"),
    ("timestampadd", "moment + INTERVAL '1 day'"),
    ("collect_list", "list(value)"),
    ("collect_set", "list(DISTINCT value)"),
    ("std", "stddev(value)"),
    ("percentile", "quantile_cont(value, fraction)"),
    ("approx_percentile", "approx_quantile(value, fraction)"),
    ("rlike", "text ~ 'regular expression'"),
    ("string", "value::TEXT"),
    ("timestamp", "value::TIMESTAMP"),
    ("monotonically_increasing_id", "row_number() OVER ()"),
    ("nvl2", "if(value IS NULL, b, a)"),
    ("last_insert_id", "INSERT ... RETURNING id"),
];

/// `name(a, b)` as the library's function of that name, arguments cast as its signature asks.
pub(crate) fn call(name: &str, arguments: Vec<Bound>, text: &str, span: Span) -> Result<Expr> {
    if let Some(expr) = own::call(name, &arguments, text)? {
        return Ok(expr);
    }
    let undefined = || {
        let types: Vec<String> = arguments.iter().map(shown).collect();
        let missing = match name {
            plan::functions::GLOB => format!("operator does not exist: {}", types.join(" GLOB ")),
            _ => format!("function {name}({}) does not exist", types.join(", ")),
        };
        Error::new(SqlState::UndefinedFunction, missing)
    };
    let Some(function) = registry().get(name).filter(|_| !HIDDEN.contains(&name)) else {
        let error = undefined();
        if expr::functions::named(name).is_some() {
            let bare = matches!(name, "date_diff" | "date_sub")
                && matches!(arguments.as_slice(), [unit, _, _] if !unit.untyped && !unit.ty().is_text());
            let hint = match bare {
                true => "the unit is a text: date_diff('day', from, to)",
                false => "no function of that name takes these types; a cast may help",
            };
            return Err(place::at(error.with_hint(hint), text, span));
        }
        if let Some((_, here)) = ELSEWHERE.iter().find(|(theirs, _)| *theirs == name) {
            return Err(place::at(error.with_hint(format!("write {here}")), text, span));
        }
        let known = listing::function_names();
        let known = known.iter().filter(|(_, kind)| *kind != "table").map(|(name, _)| name.as_str());
        let error = match nearest(name, known) {
            Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
            None => error,
        };
        return Err(place::at(error, text, span));
    };
    let swapped = matches!(name, "date_trunc" | "date_part" | "datetrunc")
        && matches!(arguments.as_slice(), [moment, _] if !moment.untyped && !moment.ty().is_text());
    let hint = match swapped {
        true => "the unit comes first: date_trunc('month', moment)",
        false => "no function takes these types; a cast may help",
    };
    let no_match = || place::at(undefined().with_hint(hint), text, span);
    // The library knows no ranges below those of its types.
    let given: Vec<Bound> = arguments.iter().cloned().map(of_plain_type).collect();
    let fields: Vec<FieldRef> =
        given.iter().map(|a| Arc::new(Field::new("argument", arrow_type(a.ty()), true))).collect();
    let fields = fields_with_udf(&fields, function.as_ref()).map_err(|_| no_match())?;
    let mut exprs = Vec::with_capacity(arguments.len());
    for (argument, field) in given.iter().zip(&fields) {
        let to = type_from_arrow(field.data_type()).ok_or_else(no_match)?;
        let from = argument.ty();
        exprs.push(if argument.untyped && !to.is_text() {
            cast(read_literal(argument, to, text)?, to)
        } else if argument.is_null() {
            Expr::literal(Value::Null, to)
        } else if from == to || (from.is_text() && to.is_text()) {
            argument.expr.clone()
        } else if widens(from, to) || (from.is_integer() && to.is_integer()) {
            cast(argument.expr.clone(), to)
        } else {
            return Err(no_match());
        });
    }
    let scalars: Vec<Option<ScalarValue>> = exprs.iter().map(scalar).collect();
    let scalars: Vec<Option<&ScalarValue>> = scalars.iter().map(Option::as_ref).collect();
    let result = function
        .return_field_from_args(ReturnFieldArgs { arg_fields: &fields, scalar_arguments: &scalars })
        .map_err(|_| no_match())?;
    let Some(ty) = type_from_arrow(result.data_type()) else {
        let error = Error::unsupported(format!(
            "function {name} gives {}, a type that is not supported",
            result.data_type()
        ));
        return Err(place::at(error, text, span));
    };
    Ok(Expr::new(ExprKind::Library { name: function.name().into(), arguments: exprs }, ty))
}

/// An integer of a ranged type as one of the plain type, or the DECIMAL, that holds all its values; an enum as text.
fn of_plain_type(argument: Bound) -> Bound {
    let plain = match argument.ty() {
        Type::TinyInt | Type::UTinyInt => Type::SmallInt,
        Type::USmallInt => Type::Integer,
        Type::UInteger => Type::BigInt,
        Type::UBigInt => Type::Decimal { precision: 20, scale: 0 },
        Type::HugeInt => Type::Decimal { precision: 38, scale: 0 },
        Type::UHugeInt | Type::BigNum => Type::Double,
        Type::TimeNs => Type::Time,
        Type::Enum(_) => Type::Text,
        _ => return argument,
    };
    Bound::typed(cast(argument.expr, plain), argument.span)
}

/// Constant arguments, which decide some result types.
fn scalar(expr: &Expr) -> Option<ScalarValue> {
    Some(match (expr.as_literal()?, expr.ty) {
        (Value::Bool(b), _) => ScalarValue::Boolean(Some(*b)),
        (Value::I16(v), _) => ScalarValue::Int16(Some(*v)),
        (Value::I32(v), Type::Integer) => ScalarValue::Int32(Some(*v)),
        (Value::I64(v), Type::BigInt) => ScalarValue::Int64(Some(*v)),
        (Value::F32(v), _) => ScalarValue::Float32(Some(*v)),
        (Value::F64(v), _) => ScalarValue::Float64(Some(*v)),
        (value, Type::Decimal { precision, scale }) => {
            ScalarValue::Decimal128(Some(value.as_i128()?), precision, scale as i8)
        }
        (value, ty) if ty.is_text() => ScalarValue::Utf8View(Some(value.as_text()?.to_owned())),
        _ => return None,
    })
}
