//! Functions of lists, structs and maps (and the names of those of JSON): the types they take, and what they give.
//!
//! `bind` asks groups of functions one after the other (`of_lists`, `of_records`, `of_json` and those of other
//! files). Each group looks at the name and the argument types and returns the call of a kernel, or None for other
//! names and types. Arguments are not evaluated; constants among them may be checked. `NAMES` must list every name,
//! for "did you mean" and `quickstep_functions()`.

use plan::Expr;
use syntax::Span;
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, fold, literal, zones};
use crate::bind::nested::{call, list_of};

/// Every name that is known here, for lists of functions and "did you mean".
pub(crate) const NAMES: &[&str] = &[
    "apply",
    "array_aggr",
    "array_aggregate",
    "array_append",
    "array_apply",
    "array_cat",
    "array_concat",
    "array_contains",
    "array_cosine_distance",
    "array_cosine_similarity",
    "array_distance",
    "array_distinct",
    "array_dot_product",
    "array_extract",
    "array_filter",
    "array_grade_up",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_indexof",
    "array_inner_product",
    "array_intersect",
    "array_length",
    "array_negative_dot_product",
    "array_negative_inner_product",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_prepend",
    "array_push_back",
    "array_push_front",
    "array_reduce",
    "array_resize",
    "array_reverse",
    "array_reverse_sort",
    "array_select",
    "array_slice",
    "array_sort",
    "array_to_json",
    "array_to_string",
    "array_transform",
    "array_unique",
    "array_value",
    "array_where",
    "array_zip",
    "cardinality",
    "element_at",
    "filter",
    "flatten",
    "from_json",
    "from_json_strict",
    "generate_series",
    "grade_up",
    "json",
    "json_array",
    "json_array_length",
    "json_build_array",
    "json_build_object",
    "json_contains",
    "json_deep_merge",
    "json_elements",
    "json_elements_text",
    "json_entries",
    "json_entries_text",
    "json_exists",
    "json_extract",
    "json_extract_path",
    "json_extract_path_text",
    "json_extract_string",
    "json_has_all",
    "json_has_any",
    "json_insert",
    "json_keys",
    "json_merge_patch",
    "json_merge_patch_diff",
    "json_normalize",
    "json_object",
    "json_object_keys",
    "json_pretty",
    "json_quote",
    "json_remove",
    "json_replace",
    "json_set",
    "json_structure",
    "json_transform",
    "json_transform_strict",
    "json_type",
    "json_typeof",
    "json_valid",
    "json_value",
    "jsonb_array_length",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_extract_path",
    "jsonb_extract_path_text",
    "jsonb_object_keys",
    "jsonb_typeof",
    "len",
    "list_aggr",
    "list_aggregate",
    "list_any_value",
    "list_append",
    "list_apply",
    "list_approx_count_distinct",
    "list_avg",
    "list_bit_and",
    "list_bit_or",
    "list_bit_xor",
    "list_bool_and",
    "list_bool_or",
    "list_cat",
    "list_concat",
    "list_contains",
    "list_cosine_distance",
    "list_cosine_similarity",
    "list_count",
    "list_distance",
    "list_distinct",
    "list_dot_product",
    "list_element",
    "list_entropy",
    "list_extract",
    "list_filter",
    "list_first",
    "list_grade_up",
    "list_group_concat",
    "list_has",
    "list_has_all",
    "list_has_any",
    "list_histogram",
    "list_indexof",
    "list_inner_product",
    "list_intersect",
    "list_kurtosis",
    "list_kurtosis_pop",
    "list_last",
    "list_mad",
    "list_max",
    "list_mean",
    "list_median",
    "list_min",
    "list_mode",
    "list_negative_dot_product",
    "list_negative_inner_product",
    "list_pack",
    "list_position",
    "list_prepend",
    "list_product",
    "list_range",
    "list_reduce",
    "list_resize",
    "list_reverse",
    "list_reverse_sort",
    "list_select",
    "list_sem",
    "list_skewness",
    "list_slice",
    "list_sort",
    "list_stddev",
    "list_stddev_pop",
    "list_stddev_samp",
    "list_string_agg",
    "list_sum",
    "list_to_string",
    "list_transform",
    "list_unique",
    "list_value",
    "list_var_pop",
    "list_var_samp",
    "list_variance",
    "list_where",
    "list_zip",
    "map",
    "map_concat",
    "map_contains",
    "map_contains_value",
    "map_contains_key",
    "map_entries",
    "map_extract",
    "map_extract_value",
    "map_from_entries",
    "map_keys",
    "map_values",
    "range",
    "reduce",
    "regexp_match",
    "regexp_split_to_array",
    "row",
    "row_to_json",
    "split",
    "str_split",
    "str_split_regex",
    "string_split",
    "string_split_regex",
    "string_to_array",
    "struct_extract",
    "struct_extract_at",
    "struct_insert",
    "struct_keys",
    "struct_pack",
    "to_json",
    "to_jsonb",
    "union_extract",
    "union_tag",
    "union_value",
    "unnest",
];

/// One call that is being bound.
pub(crate) struct Call<'c, 'b, 'a> {
    /// The binder of the call's clause.
    pub(crate) binder: &'c ExprBinder<'b, 'a>,
    /// The function's name in lower case.
    pub(crate) name: &'c str,
    /// The bound arguments, in order.
    pub(crate) arguments: &'c [Bound],
}

/// The call as an expression; `None` when no function of these takes arguments of these types.
pub(crate) fn bind(
    binder: &ExprBinder<'_, '_>,
    name: &str,
    arguments: &[Bound],
    _: Span,
) -> Result<Option<Expr>> {
    let call = Call { binder, name, arguments };
    let of_others = [call.of_json_paths()?, call.of_files()?, call.of_bins()?, call.of_rows()?];
    for bound in [call.of_json()?, call.of_patterns()?, call.of_arrays()?].into_iter().chain(of_others) {
        if bound.is_some() {
            return Ok(bound);
        }
    }
    if let Some(expr) = call.of_lists()? {
        return Ok(Some(expr));
    }
    if let Some(expr) = call.of_records()? {
        return Ok(Some(expr));
    }
    // A NULL without a type has no list, struct or map type to derive the result from: the result is NULL.
    let of_nothing = arguments.first().is_some_and(Bound::is_null)
        && ["map_", "list_", "array_", "struct_"].iter().any(|family| name.starts_with(family))
        && NAMES.contains(&name);
    Ok((of_nothing || (name == "cardinality" && arguments.len() == 1 && arguments[0].is_null()))
        .then(|| crate::bind::null_of(Type::Null)))
}

impl Call<'_, '_, '_> {
    /// The text that spans refer to.
    pub(crate) fn text(&self) -> &str {
        self.binder.binder.text
    }
    /// The argument at this position; it must exist.
    pub(crate) fn argument(&self, at: usize) -> Bound {
        self.arguments[at].clone()
    }
    /// The element type of the argument at this position; `None` for other types.
    pub(crate) fn list_at(&self, at: usize) -> Option<Type> {
        self.arguments.get(at).and_then(|a| a.ty().element())
    }
    /// The argument in the type, if it goes there by itself.
    pub(crate) fn to(&self, at: usize, ty: Type) -> Result<Expr> {
        let given = self.argument(at);
        let shown = given.ty();
        match coerce::implicit(given, ty, self.text())? {
            Some(expr) => Ok(cast(expr, ty)),
            None => Err(Error::new(
                SqlState::DatatypeMismatch,
                format!("{} takes {ty} as argument {}, not {shown}", self.name, at + 1),
            )),
        }
    }
    /// A list and a value that is, or becomes, one of its elements, both in the wider type.
    pub(crate) fn with_element(&self, list: usize, value: usize) -> Result<(Expr, Expr, Type)> {
        let element = self.list_at(list).unwrap_or(Type::Null);
        let (given, of) = (self.argument(value), self.argument(list).expr);
        if given.untyped && element != Type::Null {
            let read = coerce::read_literal(&given, element, self.text())?;
            return Ok((of, cast(read, element), element));
        }
        let Some(common) = coerce::common_type(element, given.ty()) else {
            return Err(Error::new(
                SqlState::DatatypeMismatch,
                format!("{}: the list has elements of type {element}, not {}", self.name, given.ty()),
            )
            .with_hint("cast the value or the list"));
        };
        // What is nested is compared by its bytes.
        if common.collation().is_some() {
            return Ok((cast(of, Type::list(Type::Text)?), given.expr.cast(Type::Text), Type::Text));
        }
        Ok((cast(of, Type::list(common)?), cast(given.expr, common), common))
    }
    /// Lists of one element type; NULL is a list of it too.
    fn lists(&self) -> Result<(Vec<Expr>, Type)> {
        let mut common = Type::Null;
        for argument in self.arguments {
            let Some(next) = coerce::common_type(common, argument.ty()) else {
                return Err(Error::new(
                    SqlState::DatatypeMismatch,
                    format!("{} of {common} and {} is not possible", self.name, argument.ty()),
                )
                .with_hint("cast one of them"));
            };
            common = next;
        }
        let exprs = self.arguments.iter().map(|a| cast(a.expr.clone(), common)).collect();
        Ok((exprs, common))
    }

    fn of_lists(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let list = self.arguments.first().map(Bound::ty).filter(|ty| matches!(ty, Type::List(_)));
        let element = list.and_then(Type::element).unwrap_or(Type::Null);
        let is_list = |at: usize| self.list_at(at).is_some();
        let null = |at: usize| self.arguments[at].is_null();
        let first = || self.argument(0).expr;
        Ok(Some(match (self.name, count) {
            ("list_value" | "list_pack" | "array_value", _) => {
                let (exprs, element) = coerce::unify(self.arguments.to_vec(), self.name, self.text())?;
                list_of(exprs, element)?
            }
            ("len" | "length" | "array_length" | "cardinality", 1) if list.is_some() => {
                call("list_length", vec![first()], Type::BigInt)
            }
            ("list_extract" | "list_element" | "array_extract", 2) if list.is_some() => {
                call("list_extract", vec![first(), self.binder.whole(self.argument(1))?], element)
            }
            ("list_slice" | "array_slice", 3 | 4) => {
                let Some(list) = list else { return Ok(None) };
                let mut arguments = vec![first()];
                for at in 1..count {
                    arguments.push(self.binder.whole(self.argument(at))?);
                }
                let bounds = arguments[1..].to_vec();
                crate::bind::decorrelate::packing::where_known(bounds, call("list_slice", arguments, list))
            }
            ("list_contains" | "list_has" | "array_contains" | "array_has", 2) if is_list(0) => {
                let (list, value, _) = self.with_element(0, 1)?;
                call("list_contains", vec![list, value], Type::Boolean)
            }
            ("list_position" | "list_indexof" | "array_position" | "array_indexof", 2) if is_list(0) => {
                let (list, value, _) = self.with_element(0, 1)?;
                call("list_position", vec![list, value], Type::BigInt)
            }
            ("list_append" | "array_append" | "array_push_back", 2) if is_list(0) || null(0) => {
                let (list, value, element) = self.with_element(0, 1)?;
                call("list_append", vec![list, value], Type::list(element)?)
            }
            ("list_prepend" | "array_prepend", 2) if is_list(1) || null(1) => {
                let (list, value, element) = self.with_element(1, 0)?;
                call("list_prepend", vec![value, list], Type::list(element)?)
            }
            ("array_push_front", 2) if is_list(0) => {
                let (list, value, element) = self.with_element(0, 1)?;
                call("list_prepend", vec![value, list], Type::list(element)?)
            }
            ("array_pop_back" | "array_pop_front", 1) => {
                let Some(list) = list else { return Ok(None) };
                let bounds = if self.name == "array_pop_back" { [1, -2] } else { [2, -1] };
                let bound = |n: i64| Expr::literal(Value::I64(n), Type::BigInt);
                call("list_slice", vec![first(), bound(bounds[0]), bound(bounds[1])], list)
            }
            ("list_concat" | "list_cat" | "array_concat" | "array_cat", 1..) if (0..count).any(is_list) => {
                let (exprs, ty) = self.lists()?;
                call("list_concat", exprs, ty)
            }
            _ => return self.of_whole_lists(),
        }))
    }

    /// Functions that take lists as sets, sort them, choose from them or put them together.
    fn of_whole_lists(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let list = self.arguments.first().map(Bound::ty).filter(|ty| matches!(ty, Type::List(_)));
        let element = list.and_then(Type::element).unwrap_or(Type::Null);
        let is_list = |at: usize| self.list_at(at).is_some();
        let null = |at: usize| self.arguments[at].is_null();
        let first = || self.argument(0).expr;
        Ok(Some(match (self.name, count) {
            ("list_distinct" | "array_distinct", 1) => call("list_distinct", vec![first()], some(list)?),
            ("list_unique" | "array_unique", 1) if list.is_some() => {
                call("list_unique", vec![first()], Type::BigInt)
            }
            ("list_reverse" | "array_reverse", 1) if list.is_some() => {
                call("list_reverse", vec![first()], some(list)?)
            }
            ("list_sort" | "array_sort" | "list_reverse_sort" | "array_reverse_sort", 1..=3)
                if list.is_some() =>
            {
                self.sort("list_sort", some(list)?)?
            }
            ("list_contains_all" | "list_overlaps", 2) if is_list(0) || is_list(1) => {
                call(self.name, self.lists()?.0, Type::Boolean)
            }
            ("list_has_any" | "array_has_any" | "list_has_all" | "array_has_all", 2)
                if is_list(0) || is_list(1) =>
            {
                let (exprs, _) = self.lists()?;
                let name = if self.name.ends_with("any") { "list_has_any" } else { "list_has_all" };
                call(name, exprs, Type::Boolean)
            }
            ("list_intersect" | "array_intersect", 2) if is_list(0) || is_list(1) => {
                let (exprs, ty) = self.lists()?;
                call("list_intersect", exprs, ty)
            }
            ("list_where" | "array_where", 2) if is_list(0) && (is_list(1) || null(1)) => {
                let chosen = self.to(1, Type::list(Type::Boolean)?)?;
                call("list_where", vec![first(), chosen], some(list)?)
            }
            ("list_resize" | "array_resize", 2 | 3) if is_list(0) => {
                let size = self.binder.whole(self.argument(1))?;
                match count {
                    2 => call("list_resize", vec![first(), size], some(list)?),
                    _ => {
                        let (list, value, element) = self.with_element(0, 2)?;
                        call("list_resize", vec![list, size, value], Type::list(element)?)
                    }
                }
            }
            ("list_zip" | "array_zip", 1..) if (0..count - 1).all(is_list) => {
                let flagged = count > 1 && self.arguments[count - 1].ty() == Type::Boolean;
                let lists = if flagged { count - 1 } else { count };
                if !is_list(lists - 1) {
                    return Ok(None);
                }
                let fields = (0..lists).map(|at| (String::new(), self.list_at(at).unwrap_or(Type::Null)));
                let row = Type::structure(fields.collect())?;
                let truncates = if flagged { self.argument(lists).expr } else { Expr::boolean(false) };
                let mut exprs = vec![truncates];
                exprs.extend(self.arguments[..lists].iter().map(|a| a.expr.clone()));
                call("list_zip", exprs, Type::list(row)?)
            }
            ("list_select" | "array_select", 2) if is_list(0) && (is_list(1) || null(1)) => {
                let places = self.to(1, Type::list(Type::BigInt)?)?;
                call("list_select", vec![first(), places], some(list)?)
            }
            ("list_grade_up" | "array_grade_up" | "grade_up", 1..=3) if list.is_some() => {
                self.sort("list_grade_up", Type::list(Type::BigInt)?)?
            }
            (name, 2) if distance(name).is_some() && (is_list(0) || is_list(1)) => {
                let ty = Type::list(match (self.list_at(0), self.list_at(1)) {
                    (Some(Type::Real), Some(Type::Real)) => Type::Real,
                    _ => Type::Double,
                })?;
                // Lists of numbers of 64 bits at most are read as they lie.
                let numbers = |at: usize| match self.list_at(at) {
                    Some(of) if of.is_plain_integer() || of.is_float() => Ok(self.argument(at).expr),
                    _ => self.to(at, ty),
                };
                call(distance(name).unwrap_or(name), vec![numbers(0)?, numbers(1)?], Type::Double)
            }
            ("flatten", 1) if matches!(element, Type::List(_)) || element == Type::Null && list.is_some() => {
                match element {
                    // Absent lists add nothing.
                    Type::Null => call("list_resize", vec![first(), literal_of(0)], some(list)?),
                    inner => call("flatten", vec![first()], inner),
                }
            }
            _ => return self.of_ranges_and_texts(),
        }))
    }

    /// Functions that make lists of ranges and texts, or one value of a list.
    fn of_ranges_and_texts(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let list = self.arguments.first().map(Bound::ty).filter(|ty| matches!(ty, Type::List(_)));
        let element = list.and_then(Type::element).unwrap_or(Type::Null);
        let first = || self.argument(0).expr;
        Ok(Some(match (self.name, count) {
            ("range" | "generate_series" | "list_range", 1..=3) if (0..count).all(|at| self.number(at)) => {
                let number = |at: usize| self.binder.whole(self.argument(at));
                let mut arguments = match count {
                    1 => vec![literal_of(0), number(0)?],
                    _ => vec![number(0)?, number(1)?],
                };
                arguments.push(if count == 3 { number(2)? } else { literal_of(1) });
                arguments.push(Expr::boolean(self.name == "generate_series"));
                call("list_range", arguments, Type::list(Type::BigInt)?)
            }
            ("range" | "generate_series", 3) if self.of_moments() => {
                let instants = (0..2).any(|at| self.arguments[at].ty() == Type::TimestampTz);
                let ty = if instants { Type::TimestampTz } else { Type::Timestamp };
                let mut arguments = vec![self.to(0, ty)?, self.to(1, ty)?];
                arguments.push(self.to(2, Type::Interval)?);
                arguments.push(Expr::boolean(self.name == "generate_series"));
                // Days and months of instants are those of the session's calendar.
                arguments.extend(zones::session().filter(|_| instants));
                call("list_of_moments", arguments, Type::list(ty)?)
            }
            ("array_to_string" | "list_to_string", 2 | 3) if list.is_some() => {
                let mut arguments = vec![zones::written(first())?];
                for at in 1..count {
                    arguments.push(self.to(at, Type::Text)?);
                }
                call("list_to_text", arguments, Type::Text)
            }
            ("string_split" | "str_split" | "split", 2) => call(
                "text_split",
                vec![self.to(0, Type::Text)?, self.to(1, Type::Text)?],
                Type::list(Type::Text)?,
            ),
            ("regexp_match", 2 | 3) => {
                let arguments = (0..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                call("regexp_match", arguments, Type::list(Type::Text)?)
            }
            ("string_split_regex" | "regexp_split_to_array" | "str_split_regex", 2 | 3) => {
                let arguments = (0..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                call("text_split_regex", arguments, Type::list(Type::Text)?)
            }
            ("list_aggregate" | "array_aggregate" | "list_aggr" | "array_aggr", 2..) if list.is_some() => {
                let Some(function) = self.arguments[1].expr.as_literal().and_then(Value::as_text) else {
                    return Err(Error::unsupported("the aggregate's name must be a constant"));
                };
                let rest: Vec<Expr> = (2..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                match self.aggregate(&function.to_lowercase(), element, rest)? {
                    Some(expr) => expr,
                    None => {
                        let error = format!("list_aggregate does not know the aggregate \"{function}\"");
                        return Err(Error::new(SqlState::UndefinedFunction, error)
                            .with_hint("it knows sum, avg, min, max, count, median, string_agg and others"));
                    }
                }
            }
            (name, 1 | 2) if list.is_some() => match name.strip_prefix("list_") {
                Some(function) => {
                    // A name that is misspelt is told so, whatever its arguments.
                    if self.aggregate(function, element, vec![])?.is_none() {
                        return Ok(None);
                    }
                    let rest: Vec<Expr> =
                        (1..count).map(|at| self.to(at, Type::Text)).collect::<Result<_>>()?;
                    return self.aggregate(function, element, rest);
                }
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn number(&self, at: usize) -> bool {
        let ty = self.arguments[at].ty();
        ty.is_integer() || ty == Type::Null
    }

    /// Whether the first two arguments are moments of the clock, or NULL, and the third is the step between them.
    fn of_moments(&self) -> bool {
        let moment = |at: usize| {
            let given = &self.arguments[at];
            matches!(given.ty(), Type::Date | Type::Timestamp | Type::TimestampTz) || given.is_null()
        };
        let step = &self.arguments[2];
        moment(0)
            && moment(1)
            && !(self.arguments[0].is_null() && self.arguments[1].is_null())
            && (step.ty().is_interval() || step.is_null())
    }

    /// `list_sort(l, 'DESC', 'NULLS FIRST')`; without more, ascending and NULL last.
    fn sort(&self, function: &str, list: Type) -> Result<Expr> {
        let word = |at: usize| {
            let word = self.arguments.get(at).map(|a| a.expr.as_literal().and_then(Value::as_text));
            word.map(|w| w.unwrap_or_default().to_uppercase())
        };
        let reverse = self.name.contains("reverse");
        let (order, nulls) = if reverse { (None, word(1)) } else { (word(1), word(2)) };
        let wrong = |word: &str, hint: &str| {
            Error::new(SqlState::InvalidParameterValue, format!("{}: unknown order \"{word}\"", self.name))
                .with_hint(hint.to_owned())
        };
        let descending = match order.as_deref() {
            None | Some("ASC") => reverse,
            Some("DESC") => true,
            Some(other) => return Err(wrong(other, "write 'ASC' or 'DESC'")),
        };
        let nulls_first = match nulls.as_deref() {
            None | Some("NULLS LAST") => false,
            Some("NULLS FIRST") => true,
            Some(other) => return Err(wrong(other, "write 'NULLS FIRST' or 'NULLS LAST'")),
        };
        let arguments = vec![self.argument(0).expr, Expr::boolean(descending), Expr::boolean(nulls_first)];
        Ok(call(function, arguments, list))
    }

    /// An aggregate of the first argument's elements.
    fn aggregate(&self, function: &str, element: Type, mut rest: Vec<Expr>) -> Result<Option<Expr>> {
        let numeric = element.is_numeric() || element == Type::Null;
        let (name, ty, of) = match function {
            "min" | "max" | "any_value" | "first" | "last" | "mode" => (function, element, element),
            "arbitrary" => ("first", element, element),
            "list" | "array_agg" => return Ok(Some(self.argument(0).expr)),
            "histogram" => {
                let map = Type::map(element, Type::BigInt)?;
                return Ok(rest.is_empty().then(|| call("list_histogram", vec![self.argument(0).expr], map)));
            }
            "count" => (function, Type::BigInt, element),
            "approx_count_distinct" => ("unique", Type::BigInt, element),
            "entropy" => (function, Type::Double, element),
            "bit_and" | "bit_or" | "bit_xor"
                if element.is_integer() || element.is_bits() || element == Type::Null =>
            {
                (function, element, element)
            }
            "fsum" | "kahan_sum" | "sumkahan" if numeric => ("fsum", Type::Double, Type::Double),
            "favg" if numeric => ("favg", Type::Double, Type::Double),
            "sem" | "skewness" | "kurtosis" | "kurtosis_pop" if numeric => (function, Type::Double, element),
            "sum" if numeric => {
                let ty = match element {
                    Type::Null => Type::BigInt,
                    Type::BigInt => Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale: 0 },
                    Type::UBigInt | Type::HugeInt => Type::HugeInt,
                    ty if ty.is_integer() => Type::BigInt,
                    Type::Decimal { scale, .. } => Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale },
                    float => float,
                };
                (function, ty, element)
            }
            "avg" | "mean" if numeric => ("avg", Type::Double, element),
            "product" | "median" | "var_samp" | "var_pop" | "stddev_samp" | "stddev_pop" if numeric => {
                (function, Type::Double, element)
            }
            "mad" => match crate::bind::decorrelate::packing::deviation_type(element) {
                Some(ty) => (function, ty, element),
                None => return Ok(None),
            },
            "variance" if numeric => ("var_samp", Type::Double, element),
            "stddev" if numeric => ("stddev_samp", Type::Double, element),
            "bool_and" | "bool_or" if matches!(element, Type::Boolean | Type::Null) => {
                (function, Type::Boolean, Type::Boolean)
            }
            "string_agg" | "group_concat" => ("string_agg", Type::Text, element),
            _ => return Ok(None),
        };
        if rest.len() > usize::from(name == "string_agg") {
            return Ok(None);
        }
        let list = cast(self.argument(0).expr, Type::list(of)?);
        let mut arguments = vec![list];
        arguments.append(&mut rest);
        Ok(Some(call(&format!("list_{name}"), arguments, ty)))
    }

    fn of_records(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let of = self.arguments.first().map_or(Type::Null, Bound::ty);
        let first = || self.argument(0).expr;
        let entry = of.entry();
        Ok(Some(match (self.name, count, entry) {
            ("map", 0, _) => Expr::literal(
                Value::Bytes([types::nested::encoding::END][..].into()),
                Type::map(Type::Null, Type::Null)?,
            ),
            ("map", 2, _) => {
                // A NULL of no type is that of a list of them.
                let element =
                    |at: usize| self.list_at(at).or(self.arguments[at].is_null().then_some(Type::Null));
                let (Some(key), Some(value)) = (element(0), element(1)) else { return Ok(None) };
                if self.arguments.iter().any(Bound::is_null) {
                    return Ok(Some(crate::bind::null_of(Type::map(key, value)?)));
                }
                call("map", vec![first(), self.argument(1).expr], Type::map(key, value)?)
            }
            ("map_keys", 1, Some((key, _))) => call("map_keys", vec![first()], Type::list(key)?),
            ("map_values", 1, Some((_, value))) => call("map_values", vec![first()], Type::list(value)?),
            ("map_contains_value", 2, Some((_, value))) => {
                let values = call("map_values", vec![first()], Type::list(value)?);
                let arguments = [Bound::typed(values, Span::default()), self.argument(1)];
                return self.binder.nested_call("list_contains", &arguments, Span::default());
            }
            ("map_entries", 1, Some((key, value))) => {
                let row = Type::structure(vec![("key".into(), key), ("value".into(), value)])?;
                call("map_entries", vec![first()], Type::list(row)?)
            }
            ("map_from_entries", 1, _) => match self.list_at(0).and_then(Type::fields) {
                Some([(_, key), (_, value)]) => {
                    call("map_from_entries", vec![first()], Type::map(*key, *value)?)
                }
                _ => return Ok(None),
            },
            ("element_at" | "map_extract", 2, Some((key, value))) => {
                let (map, key) = self.binder.with_key(self.argument(0), self.argument(1), key)?;
                call("map_extract", vec![map, key], Type::list(value)?)
            }
            ("map_extract_value", 2, Some((key, value))) => {
                let (map, key) = self.binder.with_key(self.argument(0), self.argument(1), key)?;
                call("map_extract_value", vec![map, key], value)
            }
            ("map_contains" | "map_contains_key", 2, Some((key, _))) => {
                let (map, key) = self.binder.with_key(self.argument(0), self.argument(1), key)?;
                call("map_contains", vec![map, key], Type::Boolean)
            }
            ("map_concat", 1.., Some(_)) => {
                let (exprs, ty) = self.lists()?;
                call("map_concat", exprs, ty)
            }
            ("cardinality" | "len" | "length", 1, Some(_)) => call("map_length", vec![first()], Type::BigInt),
            ("struct_extract" | "struct_extract_at", 2, _) if of.fields().is_some() => {
                self.binder.struct_part(self.argument(0), self.argument(1))?.expr
            }
            ("struct_extract" | "union_extract", 2, _) if of.members().is_some() => {
                self.binder.struct_part(self.argument(0), self.argument(1))?.expr
            }
            ("union_tag", 1, _) => {
                let Some(members) = of.members() else { return Ok(None) };
                let names = members.iter().map(|(name, _)| name.clone()).collect();
                fold::fold(call("union_tag", vec![first()], Type::enumeration(None, names)?))
            }
            ("struct_keys", 1, _) => {
                let Some(fields) = of.fields() else { return Ok(None) };
                let names = fields.iter().map(|(name, _)| Expr::literal(Value::text(name), Type::Text));
                list_of(names.collect(), Type::Text)?
            }
            _ => return Ok(None),
        }))
    }
}

/// The function of two vectors that a name stands for.
fn distance(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("list_").or_else(|| name.strip_prefix("array_"))?;
    Some(match name {
        "distance" => "list_distance",
        "cosine_distance" => "list_cosine_distance",
        "cosine_similarity" => "list_cosine_similarity",
        "inner_product" | "dot_product" => "list_inner_product",
        "negative_inner_product" | "negative_dot_product" => "list_negative_inner_product",
        _ => return None,
    })
}

fn some(list: Option<Type>) -> Result<Type> {
    list.ok_or_else(|| Error::new(SqlState::DatatypeMismatch, "the function takes a list"))
}

fn literal_of(number: i64) -> Expr {
    cast(literal::integer(number), Type::BigInt)
}
