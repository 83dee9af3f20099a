//! Types as they are written, to types.
//!
//! `column_type` resolves a name to a type: built-in names, aliases of other systems, nested types (`type_names`), and
//! types of CREATE TYPE through `Relations`. A type may ask for a limit that the engine's types
//! do not keep, such as TIMESTAMP(3); `limited` splits it off, and casts and CHECKs apply it. Called for casts,
//! columns and parameters.

use std::borrow::Cow;

use syntax::Span;
use syntax::tree::{self, Expr, ExprKind, IntervalField, Literal, TypeKind, TypeName};
use types::bits::BITS_MAX;
use types::interval_text::Unit;
use types::logical::DECIMAL_PRECISION_MAX;
use types::{Error, Result, SqlState, SystemType, Type};

use crate::bind::folded;
use crate::bind::refusal::{unsupported, wrong};
use crate::{Relations, type_names};

/// Longest CHAR(n) and VARCHAR(n), PostgreSQL's.
const CHARACTERS_MAX: u64 = 10_485_760;

/// What stands for PostgreSQL's ranges.
const RANGES: &str = "a pair of columns, or STRUCT(lower, upper)";

/// Types of other systems, by how their names begin, and what takes their values here.
const INSTEAD: [(&str, &str); 11] = [
    ("INT256", "BIGNUM"),
    ("UINT256", "BIGNUM"),
    ("NUMBER", "DECIMAL(precision, scale)"),
    ("VARIANT", "JSON"),
    ("JSONPATH", "TEXT"),
    ("INT4RANGE", RANGES),
    ("INT8RANGE", RANGES),
    ("NUMRANGE", RANGES),
    ("DATERANGE", RANGES),
    ("TSRANGE", RANGES),
    ("TSTZRANGE", RANGES),
];

/// Names that a misspelt type may have meant.
const TYPE_NAMES: [&str; 18] = [
    "BIGINT",
    "BOOLEAN",
    "BYTEA",
    "CHAR",
    "DATE",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INTEGER",
    "INTERVAL",
    "NUMERIC",
    "REAL",
    "SMALLINT",
    "STRING",
    "TEXT",
    "TIMESTAMP",
    "TIMESTAMPTZ",
    "VARCHAR",
];

/// What a written type asks of its values that the type here does not keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many digits of a second.
    Digits(u64),
    /// So many elements of a list.
    Length(u64),
}

/// The type without such a limit, and the limit: a cast keeps it, and so does a column with a CHECK.
pub(crate) fn limited(name: &TypeName) -> (Cow<'_, TypeName>, Option<Limit>) {
    let TypeName { kind, lists, span } = name;
    if let Some((last, inner)) = lists.split_last() {
        let Some(length) = last else { return (Cow::Borrowed(name), None) };
        let lists = inner.iter().copied().chain([None]).collect();
        let plain = TypeName { kind: kind.clone(), lists, span: *span };
        return (Cow::Owned(plain), Some(Limit::Length(*length)));
    }
    let (kind, limit) = match kind {
        TypeKind::Moment { name, precision: Some(digits @ 0..6), zone } => {
            let plain = TypeKind::Moment { name: name.clone(), precision: None, zone: *zone };
            (plain, Some(Limit::Digits(u64::from(*digits))))
        }
        TypeKind::Named { name: path, modifiers } => {
            match (unquoted(path).as_deref(), modifiers.as_slice()) {
                (Some("timestamptz" | "timetz" | "datetime"), [digits]) => match number(digits) {
                    Some(digits @ 0..6) => {
                        let plain = TypeKind::Named { name: path.clone(), modifiers: vec![] };
                        (plain, Some(Limit::Digits(digits.unsigned_abs())))
                    }
                    _ => return (Cow::Borrowed(name), None),
                },
                _ => return (Cow::Borrowed(name), None),
            }
        }
        _ => return (Cow::Borrowed(name), None),
    };
    (Cow::Owned(TypeName { kind, lists: vec![], span: *span }), limit)
}

/// Where a limit cannot be kept.
pub(crate) fn refuse_limit(name: &TypeName, limit: Limit) -> Error {
    let name = shown(name);
    match limit {
        Limit::Digits(digits) => Error::unsupported(format!(
            "{name}: a column keeps microseconds, not {digits} digits of a second"
        ))
        .with_hint("leave the precision of the column out, and cast what it is given: a cast rounds"),
        Limit::Length(length) => {
            Error::unsupported(format!("{name}: the length {length} of a list is not kept here"))
                .with_hint(format!("leave the length out; CHECK (len(column) = {length}) keeps it"))
        }
    }
}

/// Whether a type is written BOOLEAN or BOOL.
pub(crate) fn is_boolean(name: &TypeName) -> bool {
    match &name.kind {
        TypeKind::Named { name: path, .. } => {
            name.lists.is_empty() && matches!(unquoted(path).as_deref(), Some("boolean" | "bool"))
        }
        _ => false,
    }
}

/// Whether a type is written JSONPATH, which casts alone know.
pub(crate) fn is_jsonpath(name: &TypeName) -> bool {
    match &name.kind {
        TypeKind::Named { name: path, modifiers } => {
            let last = path.names.last().map(folded).unwrap_or_default();
            let of_catalog = match path.names.as_slice() {
                [_] => true,
                [schema, _] => folded(schema) == crate::PG_CATALOG,
                _ => false,
            };
            of_catalog && last == "jsonpath" && modifiers.is_empty() && name.lists.is_empty()
        }
        _ => false,
    }
}

/// The type that a name says; `text` is what it stands in, and `relations` know those of CREATE TYPE.
pub(crate) fn column_type(text: &str, name: &TypeName, relations: &dyn Relations) -> Result<Type> {
    if let (_, Some(limit)) = limited(name) {
        return Err(refuse_limit(name, limit));
    }
    let TypeName { kind, lists, span } = name;
    if let Some((_, inner)) = lists.split_last() {
        let element = TypeName { kind: kind.clone(), lists: inner.to_vec(), span: *span };
        return Type::list(column_type(text, &element, relations)?);
    }
    Ok(match kind {
        TypeKind::Named { name: path, modifiers } => {
            let word = unquoted(path).map(|word| word.to_ascii_uppercase()).unwrap_or_default();
            let numbers = Modifiers { text, name: &word, list: modifiers, at: *span };
            match own_type(&word, &numbers, name)? {
                Some(ty) => ty,
                None => return other_type(path, &numbers, relations),
            }
        }
        TypeKind::Moment { name: word, precision, zone } => {
            fraction(precision.map(i64::from), name)?;
            match (word.text.eq_ignore_ascii_case("time"), zone == &Some(true)) {
                (true, false) => Type::Time,
                (true, true) => Type::TimeTz,
                (false, false) => Type::Timestamp,
                (false, true) => Type::TimestampTz,
            }
        }
        TypeKind::Interval { fields, precision } => {
            let range = interval_range(fields.as_ref(), text, *span)?;
            let digits = precision.or(fields.and_then(|fields| fields.precision));
            fraction(digits.map(i64::from), name)?;
            match range {
                None => Type::Interval,
                Some((Unit::Year | Unit::Month, Unit::Month)) => Type::IntervalYearMonth,
                Some((Unit::Day | Unit::Second, Unit::Second)) => Type::IntervalDayTime,
                // No type keeps to these; a cast cuts the value (`bind/expression/intervals.rs`).
                Some(_) => {
                    let message = format!("no column is restricted to {}", shown(name));
                    return Err(Error::unsupported(message)
                        .with_hint("INTERVAL, INTERVAL YEAR TO MONTH and INTERVAL DAY TO SECOND are types"));
                }
            }
        }
        TypeKind::Struct { .. } | TypeKind::Map(..) | TypeKind::List(_) | TypeKind::Union(_) => {
            type_names::nested(text, name, relations)?
        }
        TypeKind::Enum(labels) => {
            Type::enumeration(None, labels.iter().map(|label| label.text.to_string()).collect())?
        }
    })
}

/// The first and the last part of what an interval is restricted to.
pub(crate) fn interval_range(
    fields: Option<&tree::IntervalFields>,
    text: &str,
    at: Span,
) -> Result<Option<(Unit, Unit)>> {
    use IntervalField as F;
    let Some(tree::IntervalFields { from, to, precision: _ }) = fields else { return Ok(None) };
    Ok(Some(match (from, to) {
        (F::Year, None) => (Unit::Year, Unit::Year),
        (F::Month, None) => (Unit::Month, Unit::Month),
        (F::Day, None) => (Unit::Day, Unit::Day),
        (F::Hour, None) => (Unit::Hour, Unit::Hour),
        (F::Minute, None) => (Unit::Minute, Unit::Minute),
        (F::Second, None) => (Unit::Second, Unit::Second),
        (F::Year, Some(F::Month)) => (Unit::Year, Unit::Month),
        (F::Day, Some(F::Hour)) => (Unit::Day, Unit::Hour),
        (F::Day, Some(F::Minute)) => (Unit::Day, Unit::Minute),
        (F::Day, Some(F::Second)) => (Unit::Day, Unit::Second),
        (F::Hour, Some(F::Minute)) => (Unit::Hour, Unit::Minute),
        (F::Hour, Some(F::Second)) => (Unit::Hour, Unit::Second),
        (F::Minute, Some(F::Second)) => (Unit::Minute, Unit::Second),
        _ => return Err(unsupported("an interval of these fields", text, at)),
    }))
}

/// A type under a name that the grammar of types knows; `None` of other names.
fn own_type(word: &str, numbers: &Modifiers<'_>, name: &TypeName) -> Result<Option<Type>> {
    let none = |given: Option<u64>, ty: Type| match given {
        None => Ok(ty),
        Some(_) => Err(no_type(name)),
    };
    Ok(Some(match word {
        "FLOAT" => match numbers.exact()? {
            Exact::Unsaid | Exact::Precision(25..=53) => Type::Double,
            Exact::Precision(1..=24) => Type::Real,
            _ => return Err(no_type(name)),
        },
        "DOUBLE" => numbers.exact().map(|_| Type::Double)?,
        "NUMERIC" | "DECIMAL" | "DEC" => decimal(numbers.exact()?)?,
        "TINYINT" => none(numbers.precision()?, Type::TinyInt)?,
        "INT2" | "SMALLINT" => numbers.precision().map(|_| Type::SmallInt)?,
        "INT" | "INT4" | "INTEGER" => numbers.precision().map(|_| Type::Integer)?,
        "INT8" | "BIGINT" => numbers.precision().map(|_| Type::BigInt)?,
        "VARCHAR" | "NVARCHAR" | "CHARACTER VARYING" | "CHAR VARYING" => match numbers.characters()? {
            None => Type::Text,
            length => Type::Varchar(characters(length, 1)?),
        },
        "CHARACTER" | "CHAR" => Type::Char(characters(numbers.characters()?, 1)?),
        "BLOB" => none(numbers.precision()?, Type::Bytea)?,
        "BIT" => Type::Bit(bits(numbers.precision()?, 1)?),
        "BIT VARYING" | "VARBIT" => Type::VarBit(bits(numbers.precision()?, 0)?),
        "DATETIME" => none(numbers.precision()?, Type::Timestamp)?,
        "TIMESTAMPTZ" | "TIMETZ" => {
            fraction(numbers.precision()?.and_then(|digits| i64::try_from(digits).ok()), name)?;
            if word == "TIMETZ" { Type::TimeTz } else { Type::TimestampTz }
        }
        "STRING" => none(numbers.precision()?, Type::Text)?,
        "BIGNUMERIC" | "BIGDECIMAL" => {
            numbers.exact()?;
            return Err(no_type(name));
        }
        "MEDIUMINT" | "CLOB" | "BINARY" | "BYTES" | "TIMESTAMP_NTZ" => {
            numbers.precision()?;
            return Err(no_type(name));
        }
        "VARBINARY" => {
            numbers.characters()?;
            return Err(no_type(name));
        }
        _ => return without_numbers(word, numbers, name),
    }))
}

/// Types that have no numbers in brackets.
fn without_numbers(word: &str, numbers: &Modifiers<'_>, name: &TypeName) -> Result<Option<Type>> {
    let ty = match word {
        "BOOLEAN" | "BOOL" => Some(Type::Boolean),
        "REAL" | "FLOAT4" | "FLOAT32" => Some(Type::Real),
        "DOUBLE PRECISION" | "FLOAT8" | "FLOAT64" => Some(Type::Double),
        "INT16" => Some(Type::SmallInt),
        "INT32" => Some(Type::Integer),
        "INT64" => Some(Type::BigInt),
        "INT128" | "HUGEINT" => Some(Type::HugeInt),
        "UINT128" | "UHUGEINT" => Some(Type::UHugeInt),
        "UTINYINT" | "UINT8" => Some(Type::UTinyInt),
        "USMALLINT" | "UINT16" => Some(Type::USmallInt),
        "UINT32" => Some(Type::UInteger),
        "UBIGINT" | "UINT64" => Some(Type::UBigInt),
        "UUID" => Some(Type::Uuid),
        "DATE" => Some(Type::Date),
        "TIMESTAMP_S" => Some(Type::TimestampS),
        "TIMESTAMP_MS" => Some(Type::TimestampMs),
        "TIMESTAMP_US" => Some(Type::Timestamp),
        "TIMESTAMP_NS" => Some(Type::TimestampNs),
        "TIMESTAMPTZ_NS" => Some(Type::TimestampTzNs),
        "JSON" => Some(Type::Json),
        "JSONB" => Some(Type::Jsonb),
        // With numbers it is a name that nothing has.
        "TEXT" if numbers.list.is_empty() => Some(Type::Text),
        "BYTEA" => Some(Type::Bytea),
        "INT256" | "UINT256" | "TINYBLOB" | "MEDIUMBLOB" | "LONGBLOB" | "DATE32" | "TINYTEXT"
        | "MEDIUMTEXT" | "LONGTEXT" | "TRIGGER" | "SIGNED" | "UNSIGNED" | "TSVECTOR" | "TSQUERY" => None,
        _ => return Ok(None),
    };
    if !numbers.list.is_empty() {
        let message = format!("type modifier is not allowed for type \"{}\"", word.to_lowercase());
        return Err(wrong(message, numbers.text, numbers.at));
    }
    ty.map(Some).ok_or_else(|| no_type(name))
}

/// A type under another name: that of another system, or one of CREATE TYPE.
fn other_type(name: &tree::Path, numbers: &Modifiers<'_>, relations: &dyn Relations) -> Result<Type> {
    numbers.texts()?;
    if let Some(ty) = catalog_type(name, numbers) {
        return Ok(ty);
    }
    let plain = numbers.list.is_empty();
    if plain && let Some(ty) = other_name(name) {
        return Ok(ty);
    }
    if let Some(ty) = user_type(name, relations)? {
        if !plain {
            let message = format!("type modifier is not allowed for type \"{name}\"");
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        return Ok(ty);
    }
    let error = Error::new(SqlState::UndefinedObject, format!("type \"{name}\" does not exist"));
    let shown = name.to_string().to_uppercase();
    if let Some(ours) = instead(&shown) {
        return Err(error.with_hint(ours));
    }
    let own = relations.type_names(None);
    let near = types::names::nearest(&shown, TYPE_NAMES).map(str::to_owned).or_else(|| {
        types::names::nearest(&name.to_string(), own.iter().map(String::as_str)).map(str::to_owned)
    });
    Err(match near {
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    })
}

/// The error for a type that the grammar knows and this engine has not.
fn no_type(name: &TypeName) -> Error {
    let shown = shown(name);
    let error = Error::unsupported(format!("type {shown} is not supported"));
    match instead(&shown.to_uppercase()) {
        Some(ours) => error.with_hint(ours),
        None => error,
    }
}

/// What takes the values of a type of another system.
fn instead(shown: &str) -> Option<String> {
    let (_, ours) = INSTEAD.iter().find(|(theirs, _)| shown.starts_with(theirs))?;
    Some(format!("{ours} holds its values"))
}

/// A type as messages have it: words in their usual case, numbers behind them.
pub(crate) fn shown(name: &TypeName) -> String {
    let TypeName { kind, lists, span } = name;
    let digits = |digits: Option<u32>| digits.map(|digits| format!("({digits})")).unwrap_or_default();
    let mut shown = match kind {
        TypeKind::Named { name: path, modifiers } => {
            let word = path.to_string();
            let known = unquoted(path).map(|word| word.to_ascii_uppercase()).filter(|word| is_word(word));
            let word = match known.as_deref() {
                Some("INT16") => "Int16",
                Some("INT32") => "Int32",
                Some("INT128") => "Int128",
                Some("INT256") => "Int256",
                Some("UINT8") => "UInt8",
                Some("UINT16") => "UInt16",
                Some("UINT32") => "UInt32",
                Some("UINT64") => "UInt64",
                Some("UINT128") => "UInt128",
                Some("UINT256") => "UInt256",
                Some("FLOAT32") => "Float32",
                Some("DATE32") => "Date32",
                Some(known) => known,
                None => &word,
            };
            let between = if known.is_some() { "," } else { ", " };
            let modifiers: Vec<String> = modifiers.iter().map(Expr::to_string).collect();
            match modifiers.is_empty() {
                true => word.to_owned(),
                false => format!("{word}({})", modifiers.join(between)),
            }
        }
        TypeKind::Moment { name, precision, zone } => {
            let zone = match zone {
                None => "",
                Some(true) => " WITH TIME ZONE",
                Some(false) => " WITHOUT TIME ZONE",
            };
            format!("{}{}{zone}", name.text.to_uppercase(), digits(*precision))
        }
        TypeKind::Interval { fields, precision } => {
            let precision = precision.or(fields.and_then(|fields| fields.precision));
            let fields = fields.map(|fields| tree::IntervalFields { precision: None, ..fields });
            let kind = TypeKind::Interval { fields, precision: None };
            let plain = TypeName { kind, lists: vec![], span: *span };
            format!("{plain}{}", digits(precision))
        }
        TypeKind::Struct { .. } | TypeKind::Map(..) | TypeKind::List(_) | TypeKind::Union(_) => {
            let plain = TypeName { kind: kind.clone(), lists: vec![], span: *span };
            types::quote::name(&plain.to_string())
        }
        TypeKind::Enum(_) => TypeName { kind: kind.clone(), lists: vec![], span: *span }.to_string(),
    };
    for length in lists {
        shown.push_str(&length.map_or("[]".to_owned(), |length| format!("[{length}]")));
    }
    shown
}

/// Whether a name in upper case is one that the grammar of types knows.
fn is_word(word: &str) -> bool {
    let none = Modifiers { text: "", name: word, list: &[], at: Span::default() };
    let kind = TypeKind::Union(vec![]);
    let name = TypeName { kind, lists: vec![], span: Span::default() };
    !matches!(own_type(word, &none, &name), Ok(None))
}

/// What stands in the brackets of a type.
struct Modifiers<'t> {
    text: &'t str,
    /// The type, in upper case.
    name: &'t str,
    list: &'t [Expr],
    at: Span,
}

/// Digits and scale of a number.
enum Exact {
    Unsaid,
    Precision(u64),
    Scale(u64, i64),
}

/// The length of a text.
#[derive(Clone, Copy)]
enum Characters {
    Max,
    Count(u64),
}

impl Modifiers<'_> {
    fn wrong(&self) -> Error {
        let message = format!("invalid type modifier of \"{}\"", self.name.to_lowercase());
        wrong(message, self.text, self.list.first().map_or(self.at, |first| first.span))
    }

    fn unsigned(&self, e: &Expr) -> Result<u64> {
        number(e).and_then(|number| u64::try_from(number).ok()).ok_or_else(|| self.wrong())
    }

    /// None, or one.
    fn precision(&self) -> Result<Option<u64>> {
        match self.list {
            [] => Ok(None),
            [one] => Ok(Some(self.unsigned(one)?)),
            _ => Err(self.wrong()),
        }
    }

    fn exact(&self) -> Result<Exact> {
        match self.list {
            [] => Ok(Exact::Unsaid),
            [precision] => Ok(Exact::Precision(self.unsigned(precision)?)),
            [precision, scale] => {
                let precision = self.unsigned(precision)?;
                Ok(Exact::Scale(precision, number(scale).ok_or_else(|| self.wrong())?))
            }
            _ => Err(self.wrong()),
        }
    }

    fn characters(&self) -> Result<Option<Characters>> {
        match self.list {
            [] => Ok(None),
            [one] if one.span.of(self.text).eq_ignore_ascii_case("max") => Ok(Some(Characters::Max)),
            [one] => Ok(Some(Characters::Count(self.unsigned(one)?))),
            _ => Err(self.wrong()),
        }
    }

    /// Numbers, texts and words.
    fn texts(&self) -> Result<()> {
        let fits = |e: &Expr| match &e.kind {
            ExprKind::Literal(Literal::Number(_) | Literal::Text(_)) => true,
            ExprKind::Column(path) => path.single().is_some(),
            _ => false,
        };
        if self.list.iter().all(fits) { Ok(()) } else { Err(self.wrong()) }
    }
}

/// A whole number, with or without a sign.
fn number(e: &Expr) -> Option<i64> {
    let digits = |e: &Expr| match &e.kind {
        ExprKind::Literal(Literal::Number(digits)) => digits.parse::<i64>().ok(),
        _ => None,
    };
    match &e.kind {
        ExprKind::Prefix(operator, operand) => match operator.kind {
            tree::OperatorKind::Minus => digits(operand).map(|number| -number),
            tree::OperatorKind::Plus => digits(operand),
            _ => None,
        },
        _ => digits(e),
    }
}

/// The schema that stands before a type's name, if one does, and the name.
fn schema_of<'n>(
    name: &'n tree::Path,
    relations: &dyn Relations,
) -> Result<Option<(Option<String>, &'n tree::Name)>> {
    Ok(match name.names.as_slice() {
        [last] => Some((None, last)),
        [schema, last] => Some((Some(relations.schema_key(None, &folded(schema))?), last)),
        [database, schema, last] => {
            Some((Some(relations.schema_key(Some(&folded(database)), &folded(schema))?), last))
        }
        _ => None,
    })
}

/// The type that CREATE TYPE has given this name.
fn user_type(name: &tree::Path, relations: &dyn Relations) -> Result<Option<Type>> {
    let Some((schema, last)) = schema_of(name, relations)? else { return Ok(None) };
    let schema = schema.as_deref();
    if let Some(ty) = relations.type_named(schema, &folded(last)) {
        return Ok(Some(ty));
    }
    // As other names: one that is not quoted matches in any case where nothing is spelled in lower case.
    let names = relations.type_names(schema);
    let alike: Vec<&String> =
        names.iter().filter(|own| !last.quoted && own.eq_ignore_ascii_case(&last.text)).collect();
    match alike.as_slice() {
        [] => Ok(None),
        [one] => Ok(relations.type_named(schema, one)),
        [first, second, ..] => {
            let message = format!("type \"{}\" may be \"{first}\" or \"{second}\"", last.text);
            Err(Error::new(SqlState::AmbiguousAlias, message).with_hint("put the name in double quotes"))
        }
    }
}

/// A name of one word that is not quoted, in lower case.
fn unquoted(name: &tree::Path) -> Option<String> {
    name.single().filter(|name| !name.quoted).map(|name| name.text.to_ascii_lowercase())
}

/// A type under its name in PostgreSQL's catalog, with the schema before it or without: `pg_catalog.int4`, `oid`,
/// `"char"`, `_text`.
fn catalog_type(name: &tree::Path, numbers: &Modifiers<'_>) -> Option<Type> {
    let (last, in_catalog) = match name.names.as_slice() {
        [last] => (last, false),
        // Types of the system are in every schema that has those of the database, as in DuckDB.
        [schema, last] if [crate::PG_CATALOG, "main"].contains(&folded(schema).as_str()) => (last, true),
        [schema, last] if folded(schema) == "information_schema" => {
            return of_information_schema(&folded(last));
        }
        _ => return None,
    };
    let word = folded(last);
    if word == "char" && (last.quoted || in_catalog) {
        return Some(Type::System(SystemType::Char));
    }
    if let Some(element) = word.strip_prefix('_') {
        let element =
            if element == "char" { Type::System(SystemType::Char) } else { plain_name(element, "")? };
        return Type::list(element).ok();
    }
    let modifiers = numbers.list.iter().map(Expr::to_string).collect::<Vec<_>>().join(",");
    // Words of the grammar are read before, unless they are in quotes or have a schema.
    let ours = in_catalog || last.quoted || SystemType::named(&word).is_some() || word.ends_with("vector");
    if ours || word == "bpchar" { plain_name(&word, &modifiers) } else { None }
}

fn plain_name(word: &str, modifiers: &str) -> Option<Type> {
    let word = match (word, modifiers) {
        ("bpchar", "") => "text",
        ("bpchar", _) => "char",
        (word, _) => word,
    };
    Type::from_sql_name(&if modifiers.is_empty() { word.to_owned() } else { format!("{word}({modifiers})") })
}

/// The standard's types of the information schema, as PostgreSQL defines them.
fn of_information_schema(word: &str) -> Option<Type> {
    Some(match word {
        "sql_identifier" => Type::NAME,
        "cardinal_number" => Type::Integer,
        "character_data" => Type::Text,
        "yes_or_no" => Type::Varchar(3),
        "time_stamp" => Type::TimestampTz,
        _ => return None,
    })
}

/// Types of other systems under names that are no words of the grammar.
fn other_name(name: &tree::Path) -> Option<Type> {
    Some(match unquoted(name)?.as_str() {
        "int1" => Type::TinyInt,
        "timestamp_us" => Type::Timestamp,
        "bitstring" => Type::BITS,
        "short" => Type::SmallInt,
        "long" => Type::BigInt,
        "uinteger" => Type::UInteger,
        "bignum" => Type::BigNum,
        "time_ns" => Type::TimeNs,
        _ => return None,
    })
}

/// Fractions of a second are microseconds throughout.
fn fraction(precision: Option<i64>, name: &TypeName) -> Result<()> {
    match precision {
        None | Some(6) => Ok(()),
        Some(digits @ 0..6) => Err(refuse_limit(name, Limit::Digits(digits.unsigned_abs()))),
        Some(_) => Err(Error::unsupported(format!("{}: a second has at most 6 digits", shown(name)))
            .with_hint("a precision of 6, which holds without a word, is the largest")),
    }
}

fn decimal(info: Exact) -> Result<Type> {
    let (precision, scale) = match info {
        // PostgreSQL's NUMERIC without digits keeps whatever scale comes; ours is fixed, with half of the digits.
        Exact::Unsaid => return Ok(Type::Decimal { precision: DECIMAL_PRECISION_MAX, scale: 10 }),
        Exact::Precision(precision) => (precision, 0),
        Exact::Scale(precision, scale) => (precision, scale),
    };
    if !(1..=u64::from(DECIMAL_PRECISION_MAX)).contains(&precision) {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("DECIMAL precision {precision} must be between 1 and {DECIMAL_PRECISION_MAX}"),
        ));
    }
    if scale < 0 || scale as u64 > precision {
        return Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("DECIMAL scale {scale} must be between 0 and precision {precision}"),
        ));
    }
    Ok(Type::Decimal { precision: precision as u8, scale: scale as u8 })
}

fn bits(length: Option<u64>, absent: u32) -> Result<u32> {
    match length {
        None => Ok(absent),
        Some(length) if (1..=u64::from(BITS_MAX)).contains(&length) => Ok(length as u32),
        Some(length) => Err(Error::new(
            SqlState::InvalidParameterValue,
            format!("length {length} of a type of bits must be between 1 and {BITS_MAX}"),
        )),
    }
}

fn characters(length: Option<Characters>, absent: u32) -> Result<u32> {
    let shown = match length {
        None => return Ok(absent),
        Some(Characters::Count(length)) if (1..=CHARACTERS_MAX).contains(&length) => return Ok(length as u32),
        Some(Characters::Count(length)) => length.to_string(),
        Some(Characters::Max) => "MAX".to_owned(),
    };
    Err(Error::new(
        SqlState::InvalidParameterValue,
        format!("length {shown} of a character type must be between 1 and {CHARACTERS_MAX}"),
    ))
}
