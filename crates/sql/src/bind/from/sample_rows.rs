//! `test_all_types()` and `test_vector_types(...)`: rows with the ends of every type, for tests of clients and files.
//!
//! Three rows: the least values, the greatest ones, NULLs. Names, order and values are those of DuckDB, so that tests
//! written for it find their columns; left out are `geometry` and `empty_struct`, whose types are not here, and the text
//! with a NUL in it is one without. Arrays of a fixed length are lists.
//!
//! `test_vector_types` gives eleven rows for each type that it is asked for: least, greatest and NULL, three times the
//! least, greatest and NULL again, and the odd numbers from 3 for integers, else the first three. DuckDB varies with
//! them how vectors are laid out; here the layout is the engine's, and `all_flat` is read and means nothing.

use syntax::Span;
use syntax::tree;
use types::nested::encoding::{self, list_of, struct_of};
use types::nested::union;
use types::{Error, Field, Result, SqlState, Type, Value, cast};

use crate::bind::function::arguments;
use crate::bind::{Binder, Relation, folded};

/// A value as a text that a cast reads, or as the integer that holds it.
#[derive(Clone, Copy)]
enum Sample {
    Said(&'static str),
    Held(i64),
}
use Sample::{Held, Said};

/// Name, type, least and greatest value of each column; enums of many labels have no type here.
const COLUMNS: [(&str, &str, Sample, Sample); 57] = [
    ("bool", "BOOLEAN", Said("false"), Said("true")),
    ("tinyint", "TINYINT", Said("-128"), Said("127")),
    ("smallint", "SMALLINT", Said("-32768"), Said("32767")),
    ("int", "INTEGER", Said("-2147483648"), Said("2147483647")),
    ("bigint", "BIGINT", Said("-9223372036854775808"), Said("9223372036854775807")),
    (
        "hugeint",
        "HUGEINT",
        Said("-170141183460469231731687303715884105728"),
        Said("170141183460469231731687303715884105727"),
    ),
    ("uhugeint", "UHUGEINT", Said("0"), Said("340282366920938463463374607431768211455")),
    ("utinyint", "UTINYINT", Said("0"), Said("255")),
    ("usmallint", "USMALLINT", Said("0"), Said("65535")),
    ("uint", "UINTEGER", Said("0"), Said("4294967295")),
    ("ubigint", "UBIGINT", Said("0"), Said("18446744073709551615")),
    (
        "bignum",
        "BIGNUM",
        Said(
            "-179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508455133942304583236903222948165808559332123348274797826204144723168738177180919299881250404026184124858368",
        ),
        Said(
            "179769313486231570814527423731704356798070567525844996598917476803157260780028538760589558632766878171540458953514382464234321326889464182768467546703537516986049910576551282076245490090389328944075868508455133942304583236903222948165808559332123348274797826204144723168738177180919299881250404026184124858368",
        ),
    ),
    ("date", "DATE", Held(-2147483646), Held(2147483646)),
    ("time", "TIME", Said("00:00:00"), Said("24:00:00")),
    ("timestamp", "TIMESTAMP", Held(-9223372022400000000), Held(9223372036854775806)),
    ("timestamp_s", "TIMESTAMP_S", Held(-9223372022400000000), Held(9223372036854000000)),
    ("timestamp_ms", "TIMESTAMP_MS", Held(-9223372022400000000), Held(9223372036854775000)),
    ("timestamp_ns", "TIMESTAMP_NS", Held(-9223286400000000000), Held(9223372036854775806)),
    ("time_tz", "TIMETZ", Said("00:00:00+15:59:59"), Said("24:00:00-15:59:59")),
    ("timestamp_tz", "TIMESTAMPTZ", Held(-9223372022400000000), Held(9223372036854775806)),
    ("timestamp_tz_ns", "TIMESTAMPTZ_NS", Held(-9223286400000000000), Held(9223372036854775806)),
    ("float", "REAL", Said("-3.4028235e38"), Said("3.4028235e38")),
    ("double", "DOUBLE", Said("-1.7976931348623157e308"), Said("1.7976931348623157e308")),
    ("dec_4_1", "DECIMAL(4,1)", Said("-999.9"), Said("999.9")),
    ("dec_9_4", "DECIMAL(9,4)", Said("-99999.9999"), Said("99999.9999")),
    ("dec_18_6", "DECIMAL(18,6)", Said("-999999999999.999999"), Said("999999999999.999999")),
    (
        "dec38_10",
        "DECIMAL(38,10)",
        Said("-9999999999999999999999999999.9999999999"),
        Said("9999999999999999999999999999.9999999999"),
    ),
    (
        "uuid",
        "UUID",
        Said("00000000-0000-0000-0000-000000000000"),
        Said("ffffffff-ffff-ffff-ffff-ffffffffffff"),
    ),
    ("interval", "INTERVAL", Said("00:00:00"), Said("83 years 3 months 999 days 00:16:39.999999")),
    ("varchar", "TEXT", Said("🦆🦆🦆🦆🦆🦆"), Said("goose")),
    (
        "blob",
        "BYTEA",
        Said("\\x746869736973616c6f6e67626c6f6200776974686e756c6c6279746573"),
        Said("\\x00000061"),
    ),
    ("bit", "BIT VARYING", Said("0010001001011100010101011010111"), Said("10101")),
    ("small_enum", "ENUM('DUCK_DUCK_ENUM', 'GOOSE')", Said("DUCK_DUCK_ENUM"), Said("GOOSE")),
    ("medium_enum", "", Said("enum_0"), Said("enum_299")),
    ("large_enum", "", Said("enum_0"), Said("enum_69999")),
    ("int_array", "INTEGER[]", Said("[]"), Said("[42, 999, NULL, NULL, -42]")),
    ("double_array", "DOUBLE[]", Said("[]"), Said("[42.0, NaN, Infinity, -Infinity, NULL, -42.0]")),
    ("date_array", "DATE[]", Said("[]"), Said("[1970-01-01, infinity, -infinity, NULL, 2022-05-12]")),
    (
        "timestamp_array",
        "TIMESTAMP[]",
        Said("[]"),
        Said("['1970-01-01 00:00:00', infinity, -infinity, NULL, '2022-05-12 16:23:45']"),
    ),
    (
        "timestamptz_array",
        "TIMESTAMPTZ[]",
        Said("[]"),
        Said("['1970-01-01 00:00:00+00', infinity, -infinity, NULL, '2022-05-12 16:23:45-07']"),
    ),
    ("varchar_array", "TEXT[]", Said("[]"), Said("[🦆🦆🦆🦆🦆🦆, goose, NULL, \"\"]")),
    (
        "nested_int_array",
        "INTEGER[][]",
        Said("[]"),
        Said("[[], [42, 999, NULL, NULL, -42], NULL, [], [42, 999, NULL, NULL, -42]]"),
    ),
    (
        "struct",
        "STRUCT(a INTEGER, b TEXT)",
        Said("{'a': NULL, 'b': NULL}"),
        Said("{'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}"),
    ),
    (
        "struct_of_arrays",
        "STRUCT(a INTEGER[], b TEXT[])",
        Said("{'a': NULL, 'b': NULL}"),
        Said("{'a': [42, 999, NULL, NULL, -42], 'b': [🦆🦆🦆🦆🦆🦆, goose, NULL, \"\"]}"),
    ),
    (
        "array_of_structs",
        "STRUCT(a INTEGER, b TEXT)[]",
        Said("[]"),
        Said("[{'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, NULL]"),
    ),
    ("map", "MAP(TEXT, TEXT)", Said("{}"), Said("{key1=🦆🦆🦆🦆🦆🦆, key2=goose}")),
    ("union", "UNION(name TEXT, age SMALLINT)", Said("name: Frank"), Said("age: 5")),
    ("fixed_int_array", "INTEGER[]", Said("[NULL, 2, 3]"), Said("[4, 5, 6]")),
    ("fixed_varchar_array", "TEXT[]", Said("[a, NULL, c]"), Said("[d, e, f]")),
    (
        "fixed_nested_int_array",
        "INTEGER[][]",
        Said("[[NULL, 2, 3], NULL, [NULL, 2, 3]]"),
        Said("[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]"),
    ),
    (
        "fixed_nested_varchar_array",
        "TEXT[][]",
        Said("[[a, NULL, c], NULL, [a, NULL, c]]"),
        Said("[[d, e, f], [a, NULL, c], [d, e, f]]"),
    ),
    (
        "fixed_struct_array",
        "STRUCT(a INTEGER, b TEXT)[]",
        Said("[{'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, {'a': NULL, 'b': NULL}]"),
        Said("[{'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}, {'a': NULL, 'b': NULL}, {'a': 42, 'b': 🦆🦆🦆🦆🦆🦆}]"),
    ),
    (
        "struct_of_fixed_array",
        "STRUCT(a INTEGER[], b TEXT[])",
        Said("{'a': [NULL, 2, 3], 'b': [a, NULL, c]}"),
        Said("{'a': [4, 5, 6], 'b': [d, e, f]}"),
    ),
    (
        "fixed_array_of_int_list",
        "INTEGER[][]",
        Said("[[], [42, 999, NULL, NULL, -42], []]"),
        Said("[[42, 999, NULL, NULL, -42], [], [42, 999, NULL, NULL, -42]]"),
    ),
    (
        "list_of_fixed_int_array",
        "INTEGER[][]",
        Said("[[NULL, 2, 3], [4, 5, 6], [NULL, 2, 3]]"),
        Said("[[4, 5, 6], [NULL, 2, 3], [4, 5, 6]]"),
    ),
    ("time_ns", "TIME_NS", Said("00:00:00"), Said("24:00:00")),
    ("tuple", "", Said("(NULL, NULL)"), Said("(42, 🦆🦆🦆🦆🦆🦆)")),
];

/// Labels of the medium and of the large enum.
const MEDIUM_ENUM: u32 = 300;
const LARGE_ENUM: u32 = 70_000;

fn type_of(name: &str, written: &str, large: bool) -> Result<Type> {
    let labels = |numbers: &mut dyn Iterator<Item = u32>| {
        Type::enumeration(None, numbers.map(|number| format!("enum_{number}")).collect())
    };
    match name {
        "medium_enum" => labels(&mut (0..MEDIUM_ENUM)),
        "large_enum" if large => labels(&mut (0..LARGE_ENUM)),
        // Fields without names have no type in words.
        "tuple" => Type::structure(vec![(String::new(), Type::Integer), (String::new(), Type::Text)]),
        "large_enum" => labels(&mut [0, LARGE_ENUM - 1].into_iter()),
        _ => Type::from_sql_name(written).ok_or_else(|| Error::internal("the type of a sample")),
    }
}

fn value_of(sample: Sample, ty: Type) -> Result<Value> {
    match (sample, ty) {
        (Held(held), _) => Value::from_i128(held.into(), ty.physical())
            .ok_or_else(|| Error::internal("the value of a sample")),
        (Said(text), Type::Union(_)) => {
            let (name, text) = text.split_once(": ").unwrap_or_default();
            let members = ty.members().unwrap_or_default();
            let tag =
                union::place_of(members, name).ok_or_else(|| Error::internal("the member of a sample"))?;
            let member = members[tag].1;
            Ok(union::value_of(tag, &cast::cast_value(&Value::text(text), Type::Text, member)?, member))
        }
        (Said(text), _) => cast::cast_value(&Value::text(text), Type::Text, ty),
    }
}

/// The columns and rows of `test_all_types`.
fn all_types(large: bool) -> Result<(Vec<Field>, Vec<Vec<Value>>)> {
    let (mut fields, mut rows) = (Vec::new(), vec![Vec::new(), Vec::new(), Vec::new()]);
    for (name, written, least, greatest) in COLUMNS {
        let ty = type_of(name, written, large)?;
        fields.push(Field::new(name, ty, true));
        rows[0].push(value_of(least, ty)?);
        rows[1].push(value_of(greatest, ty)?);
        rows[2].push(Value::Null);
    }
    Ok((fields, rows))
}

/// Least, greatest and no value of a type, and of nested types what is made of these; `None` for a type without sample.
fn three(ty: Type) -> Result<Option<[Value; 3]>> {
    if let Some(element) = ty.element() {
        let Some([least, greatest, none]) = three(element)? else { return Ok(None) };
        let list = |values: &[Value]| list_of(values, element);
        return Ok(Some([list(&[least, greatest]), list(&[]), list(&[none])]));
    }
    if let Some((key, value)) = ty.entry() {
        let (Some([k1, k2, _]), Some([v1, v2, _])) = (three(key)?, three(value)?) else { return Ok(None) };
        let map = |k: &Value, v: &Value| {
            let mut out = Vec::new();
            encoding::push_slot(k, key, &mut out);
            encoding::push_slot(v, value, &mut out);
            out.push(encoding::END);
            Value::Bytes(out.into())
        };
        return Ok(Some([map(&k1, &v1), Value::Null, map(&k2, &v2)]));
    }
    if let Some(fields) = ty.fields() {
        let mut rows: [Vec<Value>; 3] = Default::default();
        for (_, field) in fields {
            let Some(values) = three(*field)? else { return Ok(None) };
            rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
        }
        return Ok(Some(rows.map(|row| struct_of(&row, ty).unwrap_or(Value::Null))));
    }
    let plain = |ty: Type| if ty.is_text() { Type::Text } else { ty };
    for (name, written, least, greatest) in COLUMNS {
        if type_of(name, written, false)? == plain(ty) {
            return Ok(Some([value_of(least, plain(ty))?, value_of(greatest, plain(ty))?, Value::Null]));
        }
    }
    Ok(None)
}

/// 3, 5 and 7 where the type is an integer or is made of such.
fn sequence(ty: Type) -> Result<Option<[Value; 3]>> {
    if ty.is_integer() && ty != Type::HugeInt {
        let number = |value: i128| Value::from_i128(value, ty.physical()).unwrap_or(Value::Null);
        return Ok(Some([number(3), number(5), number(7)]));
    }
    if let Some(element) = ty.element() {
        let Some([first, second, third]) = sequence(element)? else { return Ok(None) };
        let list = |values: &[Value]| list_of(values, element);
        return Ok(Some([list(&[first, second]), list(&[]), list(&[third])]));
    }
    if let Some(fields) = ty.fields() {
        let mut rows: [Vec<Value>; 3] = Default::default();
        for (_, field) in fields {
            let Some(values) = sequence(*field)? else { return Ok(None) };
            rows.iter_mut().zip(values).for_each(|(row, value)| row.push(value));
        }
        return Ok(Some(rows.map(|row| struct_of(&row, ty).unwrap_or(Value::Null))));
    }
    three(ty)
}

impl<'a> Binder<'a> {
    /// Binds a call of one of these functions; `None` for another name.
    pub(crate) fn sample_rows(
        &mut self,
        function: &str,
        given: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<Relation>> {
        let known: &[&str] = match function {
            "test_all_types" => &["use_large_enum", "use_large_bignum"],
            "test_vector_types" => &["all_flat"],
            _ => return Ok(None),
        };
        let (mut types, mut large) = (Vec::new(), false);
        for argument in given {
            if let Some((name, value)) = arguments::name_and_value(argument) {
                let name = folded(name);
                let (value, _) = self.constant(value)?;
                let Some(value) = value.as_bool().filter(|_| known.contains(&name.as_str())) else {
                    let error = Error::new(
                        SqlState::UndefinedFunction,
                        format!("table function {function} has no argument {name} of that value"),
                    )
                    .with_hint(format!("it takes {} as true or false", known.join(" and ")));
                    return Err(self.error_at(error, span));
                };
                if name == "use_large_bignum" && value {
                    let error = Error::unsupported("use_large_bignum is not supported")
                        .with_hint("a BIGNUM has at most 131072 digits");
                    return Err(self.error_at(error, span));
                }
                large |= value && name == "use_large_enum";
                continue;
            }
            match self.argument_value(argument) {
                Some(value) if function == "test_vector_types" => {
                    let (value, ty) = self.constant(value)?;
                    // A second argument without a name is `all_flat`, too.
                    if ty != Type::Boolean || types.is_empty() || value.is_null() {
                        types.push(ty);
                    }
                }
                _ => {
                    let message = format!("table function {function} takes no such argument");
                    return Err(self.error_at(Error::new(SqlState::UndefinedFunction, message), span));
                }
            }
        }
        if function == "test_all_types" {
            let (fields, rows) = all_types(large)?;
            return Ok(Some(self.constant_rows(&fields, rows)));
        }
        let mut fields = Vec::with_capacity(types.len());
        let mut rows: Vec<Vec<_>> = (0..11).map(|_| Vec::with_capacity(types.len())).collect();
        for (at, ty) in types.iter().enumerate() {
            let (Some(values), Some(last)) = (three(*ty)?, sequence(*ty)?) else {
                let error = Error::unsupported(format!("test_vector_types({ty}) is not supported"));
                return Err(self.error_at(error, span));
            };
            let [first, second, third] = values;
            let all = [&first, &second, &third, &first, &first, &first, &second, &third];
            let all = all.into_iter().cloned().chain(last);
            let number = if at == 0 { String::new() } else { (at + 1).to_string() };
            fields.push(Field::new(format!("test_vector{number}"), *ty, true));
            rows.iter_mut().zip(all).for_each(|(row, value)| row.push(value));
        }
        Ok(Some(self.constant_rows(&fields, rows)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sample_is_a_value_of_its_type() {
        let (fields, rows) = all_types(false).unwrap();
        for (at, field) in fields.iter().enumerate() {
            assert!(!rows[0][at].is_null() && !rows[1][at].is_null(), "{}", field.name);
            assert!(rows[2][at].is_null());
        }
        let list = Type::list(Type::Integer).unwrap();
        let shown = |value: &Value| value.display(list);
        let [first, second, third] = three(list).unwrap().unwrap();
        assert_eq!(shown(&first), "[-2147483648, 2147483647]");
        assert_eq!((shown(&second), shown(&third)), ("[]".to_owned(), "[NULL]".to_owned()));
        let [first, ..] = sequence(list).unwrap().unwrap();
        assert_eq!(shown(&first), "[3, 5]");
    }
}
