//! Scalar functions of our own that are evaluated over single values: their names and the types they take.
//!
//! Binding finds a call's signature here, evaluation finds its code by the name (crate `expr`, `own`); a test there
//! holds the two against each other. Functions in hot paths have kernels instead (`Function`).

use types::Type;

/// What a parameter takes; an argument of another type is cast where that loses nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Is(Type),
    /// SMALLINT, INTEGER or BIGINT, as it is.
    Integer,
    /// A number of any type, as it is.
    Number,
    /// A value of any type, as it is.
    Any,
}

/// The result's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    Is(Type),
    /// The type of the first argument.
    First,
}

/// A function's parameters and result.
#[derive(Clone, Copy, Debug)]
pub struct Signature {
    /// The name that binding and evaluation look it up by; names with blanks cannot be called from SQL.
    pub name: &'static str,
    /// The parameters, in order.
    pub takes: &'static [Takes],
    /// How many of `takes`, from the end, may be left out.
    pub optional: usize,
    /// What any number of further arguments must be.
    pub rest: Option<Takes>,
    /// The result's type.
    pub gives: Gives,
    /// NULL as soon as an argument is.
    pub strict: bool,
}

const TEXT: Takes = Takes::Is(Type::Text);
const BYTES: Takes = Takes::Is(Type::Bytea);
const BIG: Takes = Takes::Is(Type::BigInt);
const DOUBLE: Takes = Takes::Is(Type::Double);
const DATE: Takes = Takes::Is(Type::Date);
const TIME: Takes = Takes::Is(Type::Time);
const TIME_TZ: Takes = Takes::Is(Type::TimeTz);
const STAMP: Takes = Takes::Is(Type::Timestamp);
const ZONED: Takes = Takes::Is(Type::TimestampTz);
const SPAN: Takes = Takes::Is(Type::IntervalDayTime);
const WIDE: Type = Type::Decimal { precision: 38, scale: 0 };
const MONTHS: Takes = Takes::Is(Type::IntervalYearMonth);
const INTERVAL: Takes = Takes::Is(Type::Interval);

const fn is(name: &'static str, takes: &'static [Takes], gives: Type) -> Signature {
    Signature { name, takes, optional: 0, rest: None, gives: Gives::Is(gives), strict: true }
}

const fn first(name: &'static str, takes: &'static [Takes]) -> Signature {
    Signature { name, takes, optional: 0, rest: None, gives: Gives::First, strict: true }
}

const fn optional(signature: Signature, optional: usize) -> Signature {
    Signature { optional, ..signature }
}

const fn variadic(name: &'static str, takes: &'static [Takes], gives: Type) -> Signature {
    let gives = Gives::Is(gives);
    Signature { name, takes, optional: 0, rest: Some(Takes::Any), gives, strict: false }
}

/// In order of preference where a name has several.
pub const SIGNATURES: &[Signature] = &[
    // Operators.
    first("&", &[Takes::Integer, Takes::Integer]),
    first("|", &[Takes::Integer, Takes::Integer]),
    first("#", &[Takes::Integer, Takes::Integer]),
    first("<<", &[Takes::Integer, BIG]),
    first(">>", &[Takes::Integer, BIG]),
    first(BITWISE_NOT, &[Takes::Integer]),
    // Text.
    is("md5", &[TEXT], Type::Text),
    is("md5", &[BYTES], Type::Text),
    is("sha1", &[TEXT], Type::Text),
    is("sha224", &[BYTES], Type::Bytea),
    is("sha256", &[TEXT], Type::Text),
    is("sha256", &[BYTES], Type::Bytea),
    is("sha384", &[BYTES], Type::Bytea),
    is("sha512", &[BYTES], Type::Bytea),
    variadic("format", &[TEXT], Type::Text),
    variadic("printf", &[TEXT], Type::Text),
    is("quote_ident", &[TEXT], Type::Text),
    is("quote_literal", &[TEXT], Type::Text),
    Signature { strict: false, ..is("quote_nullable", &[TEXT], Type::Text) },
    is("hex", &[TEXT], Type::Text),
    is("hex", &[BYTES], Type::Text),
    is("hex", &[BIG], Type::Text),
    is("unhex", &[TEXT], Type::Bytea),
    is("bin", &[TEXT], Type::Text),
    is("bin", &[BYTES], Type::Text),
    is("bin", &[BIG], Type::Text),
    is("unbin", &[TEXT], Type::Bytea),
    is("nfc_normalize", &[TEXT], Type::Text),
    is("strip_accents", &[TEXT], Type::Text),
    is("length_grapheme", &[TEXT], Type::BigInt),
    is("left_grapheme", &[TEXT, BIG], Type::Text),
    is("right_grapheme", &[TEXT, BIG], Type::Text),
    optional(is("substring_grapheme", &[TEXT, BIG, BIG], Type::Text), 1),
    optional(is("bar", &[DOUBLE, DOUBLE, DOUBLE, BIG], Type::Text), 1),
    optional(is("parse_filename", &[TEXT, Takes::Is(Type::Boolean), TEXT], Type::Text), 2),
    is("parse_filename", &[TEXT, TEXT], Type::Text),
    optional(is("parse_dirname", &[TEXT, TEXT], Type::Text), 1),
    optional(is("parse_dirpath", &[TEXT, TEXT], Type::Text), 1),
    is("format_decimal_bytes", &[BIG], Type::Text),
    is("to_base64", &[BYTES], Type::Text),
    is("from_base64", &[TEXT], Type::Bytea),
    is("encode", &[BYTES, TEXT], Type::Text),
    is("encode", &[TEXT, TEXT], Type::Text),
    is("decode", &[TEXT, TEXT], Type::Bytea),
    is("chr", &[BIG], Type::Text),
    is("to_hex", &[Takes::Is(Type::Integer)], Type::Text),
    is("to_hex", &[BIG], Type::Text),
    is("url_encode", &[TEXT], Type::Text),
    is("url_decode", &[TEXT], Type::Text),
    is("damerau_levenshtein", &[TEXT, TEXT], Type::BigInt),
    is("levenshtein", &[TEXT, TEXT], Type::Integer),
    is("hamming", &[TEXT, TEXT], Type::BigInt),
    is("jaccard", &[TEXT, TEXT], Type::Double),
    is(GLOB, &[TEXT, TEXT], Type::Boolean),
    is("jaro_similarity", &[TEXT, TEXT], Type::Double),
    is("jaro_winkler_similarity", &[TEXT, TEXT], Type::Double),
    is("regexp_escape", &[TEXT], Type::Text),
    is("format_bytes", &[BIG], Type::Text),
    is("pg_size_pretty", &[BIG], Type::Text),
    is("get_byte", &[BYTES, BIG], Type::Integer),
    is("get_bit", &[BYTES, BIG], Type::Integer),
    is("set_byte", &[BYTES, BIG, BIG], Type::Bytea),
    is("set_bit", &[BYTES, BIG, BIG], Type::Bytea),
    is("convert_from", &[BYTES, TEXT], Type::Text),
    is("convert_to", &[TEXT, TEXT], Type::Bytea),
    // Numbers.
    is("round", &[DOUBLE], Type::Double),
    is("round", &[DOUBLE, BIG], Type::Double),
    is("trunc", &[DOUBLE, BIG], Type::Double),
    is("factorial", &[BIG], Type::BigInt),
    is("bit_count", &[Takes::Integer], Type::BigInt),
    is("bit_count", &[BYTES], Type::BigInt),
    is("width_bucket", &[DOUBLE, DOUBLE, DOUBLE, BIG], Type::Integer),
    is("even", &[DOUBLE], Type::Double),
    is("round_even", &[DOUBLE, BIG], Type::Double),
    is("gamma", &[DOUBLE], Type::Double),
    is("lgamma", &[DOUBLE], Type::Double),
    is("fdiv", &[DOUBLE, DOUBLE], Type::Double),
    is("fmod", &[DOUBLE, DOUBLE], Type::Double),
    is("isfinite", &[DOUBLE], Type::Boolean),
    is("isinf", &[DOUBLE], Type::Boolean),
    is("signbit", &[DOUBLE], Type::Boolean),
    is("sind", &[DOUBLE], Type::Double),
    is("cosd", &[DOUBLE], Type::Double),
    is("tand", &[DOUBLE], Type::Double),
    is("cotd", &[DOUBLE], Type::Double),
    is("asind", &[DOUBLE], Type::Double),
    is("acosd", &[DOUBLE], Type::Double),
    is("atand", &[DOUBLE], Type::Double),
    is("atan2d", &[DOUBLE, DOUBLE], Type::Double),
    is("nextafter", &[Takes::Is(Type::Real), Takes::Is(Type::Real)], Type::Real),
    is("nextafter", &[DOUBLE, DOUBLE], Type::Double),
    is("scale", &[Takes::Number], Type::Integer),
    is("min_scale", &[Takes::Number], Type::Integer),
    // Where the digits of the numbers may be more than 128 bits have; binding gives the results their types.
    is(WHOLE_QUOTIENT, &[Takes::Number, Takes::Number], WIDE),
    is(EXACT_REMAINDER, &[Takes::Number, Takes::Number], WIDE),
    is(ROUND_TO, &[Takes::Number, BIG], WIDE),
    is(TRUNC_TO, &[Takes::Number, BIG], WIDE),
    is("to_number", &[TEXT, TEXT], WIDE),
    // Over bytes what other functions are over texts; binding calls them.
    optional(is("bytes substring", &[BYTES, BIG, BIG], Type::Bytea), 1),
    optional(is("bytes overlay", &[BYTES, BYTES, BIG, BIG], Type::Bytea), 1),
    is("bytes position", &[BYTES, BYTES], Type::Integer),
    is("bytes btrim", &[BYTES, BYTES], Type::Bytea),
    is("bytes ltrim", &[BYTES, BYTES], Type::Bytea),
    is("bytes rtrim", &[BYTES, BYTES], Type::Bytea),
    is(FLOAT_REMAINDER, &[DOUBLE, DOUBLE], Type::Double),
    // Moments.
    is("date_trunc", &[TEXT, STAMP], Type::Timestamp),
    optional(is("date_trunc", &[TEXT, ZONED, TEXT], Type::TimestampTz), 1),
    is("date_trunc", &[TEXT, INTERVAL], Type::Interval),
    optional(is("date_bin", &[INTERVAL, STAMP, STAMP], Type::Timestamp), 1),
    optional(is("date_bin", &[INTERVAL, ZONED, ZONED], Type::TimestampTz), 1),
    optional(is("time_bucket", &[INTERVAL, STAMP, STAMP], Type::Timestamp), 1),
    is("time_bucket", &[INTERVAL, STAMP, INTERVAL], Type::Timestamp),
    optional(is("time_bucket", &[INTERVAL, ZONED, ZONED], Type::TimestampTz), 1),
    is("time_bucket", &[INTERVAL, ZONED, INTERVAL], Type::TimestampTz),
    is("time_bucket", &[INTERVAL, ZONED, TEXT], Type::TimestampTz),
    // Fields of moments have kernels (crate `expr`, `kernels/fields.rs`).
    is("date_field", &[TEXT, DATE], Type::BigInt),
    is("date_field", &[TEXT, STAMP], Type::BigInt),
    is("date_field", &[TEXT, TIME], Type::BigInt),
    is("any_field", &[TEXT, DATE], Type::Double),
    is("any_field", &[TEXT, STAMP], Type::Double),
    is("any_field", &[TEXT, TIME], Type::Double),
    is("any_field", &[TEXT, INTERVAL], Type::Double),
    is("interval_field", &[TEXT, SPAN], Type::BigInt),
    is("interval_field", &[TEXT, MONTHS], Type::BigInt),
    is("interval_field", &[TEXT, INTERVAL], Type::BigInt),
    is("age", &[STAMP, STAMP], Type::Interval),
    is("justify_days", &[INTERVAL], Type::Interval),
    is("justify_hours", &[INTERVAL], Type::Interval),
    is("justify_interval", &[INTERVAL], Type::Interval),
    optional(is("make_interval", &[BIG, BIG, BIG, BIG, BIG, BIG, DOUBLE], Type::Interval), 7),
    is("isfinite", &[INTERVAL], Type::Boolean),
    // Made by binding (`sql`, `bind/expression/intervals.rs`).
    is(INTERVAL_KEY, &[INTERVAL], Type::Decimal { precision: 38, scale: 0 }),
    is(INTERVAL_PART, &[TEXT, INTERVAL], Type::BigInt),
    is(INTERVAL_ADD, &[INTERVAL, INTERVAL], Type::Interval),
    is(INTERVAL_ADD, &[STAMP, INTERVAL], Type::Timestamp),
    is(INTERVAL_ADD, &[ZONED, INTERVAL], Type::TimestampTz),
    is(INTERVAL_MULTIPLY, &[INTERVAL, DOUBLE], Type::Interval),
    is(INTERVAL_DIVIDE, &[INTERVAL, DOUBLE], Type::Interval),
    variadic(INTERVAL_GREATEST, &[], Type::Interval),
    variadic(INTERVAL_LEAST, &[], Type::Interval),
    optional(is(INTERVAL_OF_SUMS, &[BIG, BIG, BIG, BIG], Type::Interval), 1),
    is("date_diff", &[TEXT, STAMP, STAMP], Type::BigInt),
    is("date_sub", &[TEXT, STAMP, STAMP], Type::BigInt),
    is("last_day", &[STAMP], Type::Date),
    is("dayname", &[STAMP], Type::Text),
    is("monthname", &[STAMP], Type::Text),
    is("make_date", &[BIG, BIG, BIG], Type::Date),
    is("make_date", &[BIG], Type::Date),
    is("make_time", &[BIG, BIG, DOUBLE], Type::Time),
    is("make_timestamp", &[BIG, BIG, BIG, BIG, BIG, DOUBLE], Type::Timestamp),
    is("make_timestamp", &[BIG], Type::Timestamp),
    is("epoch_ms", &[STAMP], Type::BigInt),
    is("epoch_ms", &[ZONED], Type::BigInt),
    is("epoch_ms", &[BIG], Type::Timestamp),
    is("epoch_us", &[STAMP], Type::BigInt),
    is("epoch_us", &[ZONED], Type::BigInt),
    is("epoch_ns", &[STAMP], Type::BigInt),
    is("epoch_ns", &[ZONED], Type::BigInt),
    is("julian", &[STAMP], Type::Double),
    is("to_timestamp", &[DOUBLE], Type::TimestampTz),
    is("to_timestamp", &[TEXT, TEXT], Type::TimestampTz),
    is("to_date", &[TEXT, TEXT], Type::Date),
    is("to_char", &[STAMP, TEXT], Type::Text),
    optional(is("to_char", &[ZONED, TEXT, TEXT], Type::Text), 1),
    is("to_char", &[TIME, TEXT], Type::Text),
    is("to_char", &[INTERVAL, TEXT], Type::Text),
    is("to_char", &[Takes::Number, TEXT], Type::Text),
    is("strftime", &[STAMP, TEXT], Type::Text),
    is("strftime", &[TEXT, STAMP], Type::Text),
    optional(is("strftime", &[ZONED, TEXT, TEXT], Type::Text), 1),
    optional(is("strftime", &[TEXT, ZONED, TEXT], Type::Text), 1),
    is("strptime", &[TEXT, TEXT], Type::Timestamp),
    is("try_strptime", &[TEXT, TEXT], Type::Timestamp),
    is("to_microseconds", &[BIG], Type::Interval),
    is("to_milliseconds", &[DOUBLE], Type::Interval),
    is("to_seconds", &[DOUBLE], Type::Interval),
    is("to_minutes", &[BIG], Type::Interval),
    is("to_hours", &[BIG], Type::Interval),
    is("to_days", &[BIG], Type::Interval),
    is("to_weeks", &[BIG], Type::Interval),
    is("to_months", &[BIG], Type::Interval),
    is("to_quarters", &[BIG], Type::Interval),
    is("to_years", &[BIG], Type::Interval),
    is("to_decades", &[BIG], Type::Interval),
    is("to_centuries", &[BIG], Type::Interval),
    is("to_millennia", &[BIG], Type::Interval),
    is("isfinite", &[DATE], Type::Boolean),
    is("isfinite", &[STAMP], Type::Boolean),
    is("isfinite", &[ZONED], Type::Boolean),
    // Time zones; those with a blank are made by binding, in the session's zone.
    is("timezone", &[TEXT, STAMP], Type::TimestampTz),
    is("timezone", &[TEXT, ZONED], Type::Timestamp),
    is(OFFSET_IN_ZONE, &[TEXT, ZONED], Type::BigInt),
    is(ADD_IN_ZONE, &[TEXT, ZONED, SPAN], Type::TimestampTz),
    is(ADD_IN_ZONE, &[TEXT, ZONED, MONTHS], Type::TimestampTz),
    is(ADD_IN_ZONE, &[TEXT, ZONED, INTERVAL], Type::TimestampTz),
    variadic(CAST_IN_ZONE, &[TEXT], Type::Null),
    variadic(TRY_CAST_IN_ZONE, &[TEXT], Type::Null),
    // The system.
    is("error", &[TEXT], Type::Text),
    variadic("hash", &[Takes::Any], Type::BigInt),
    first(BITS_AND, &[Takes::Any, Takes::Any]),
    first(BITS_OR, &[Takes::Any, Takes::Any]),
    first(BITS_XOR, &[Takes::Any, Takes::Any]),
    first(BITS_NOT, &[Takes::Any]),
    first(BITS_LEFT, &[Takes::Any, BIG]),
    first(BITS_RIGHT, &[Takes::Any, BIG]),
    is(BITS_JOINED, &[Takes::Any, Takes::Any], Type::BITS),
    is(BITS_RESIZED, &[Takes::Any], Type::BITS),
    is(BITS_GET, &[Takes::Any, BIG], Type::Integer),
    first(BITS_SET, &[Takes::Any, BIG, BIG]),
    is(BITS_COUNT, &[Takes::Any], Type::BigInt),
    is(TIME_TZ_ADD, &[TIME_TZ, INTERVAL], Type::TimeTz),
    is(TIME_TZ_ON, &[TIME_TZ, DATE], Type::TimestampTz),
    is(TIME_TZ_EAST, &[TIME_TZ], Type::BigInt),
    is(TIME_TZ_UTC, &[TIME_TZ], Type::BigInt),
    is("timezone", &[TEXT, TIME_TZ], Type::TimeTz),
    is("enum_code", &[Takes::Any], Type::Integer),
    variadic(ENUM_RANGE, &[Takes::Any, Takes::Any], Type::Null),
    first(SECOND_DIGITS, &[INTERVAL, BIG]),
    first(SECOND_DIGITS, &[STAMP, BIG]),
    first(SECOND_DIGITS, &[ZONED, BIG]),
    first(SECOND_DIGITS, &[TIME, BIG]),
    first(SECOND_DIGITS, &[TIME_TZ, BIG]),
    first(LIST_OF_LENGTH, &[Takes::Any, BIG]),
    first(TRY_LIST_OF_LENGTH, &[Takes::Any, BIG]),
    variadic("num_nulls", &[], Type::Integer),
    variadic("num_nonnulls", &[], Type::Integer),
    // Rows as bytes that are in the order of their keys (crate `expr`, `own/rows.rs`); not to be called by name.
    variadic(ORDERED_ROW, &[TEXT], Type::Bytea),
    is(PAIR, &[DOUBLE, DOUBLE], Type::Bytea),
    is(ROW_VALUE, &[BYTES], Type::Null),
    is(FITTED_VARCHAR, &[TEXT, BIG], Type::Text),
    is(FITTED_CHAR, &[TEXT, BIG], Type::Text),
];

/// `whole quotient(a, b)` of exact numbers.
pub const WHOLE_QUOTIENT: &str = "whole quotient";
/// `exact remainder(a, b)` of exact numbers.
pub const EXACT_REMAINDER: &str = "exact remainder";
/// `%` of floats.
pub const FLOAT_REMAINDER: &str = "float remainder";
/// `round to(number, digits)` of a decimal.
pub const ROUND_TO: &str = "round to";
/// `trunc to(number, digits)` of a decimal.
pub const TRUNC_TO: &str = "trunc to";

/// `~`, whose name is that of a match as well.
pub const BITWISE_NOT: &str = "bitwise not";

/// `offset in zone(zone, instant)`: seconds east of Greenwich.
pub const OFFSET_IN_ZONE: &str = "offset in zone";
/// `add in zone(zone, instant, interval)`: whole days and months by the zone's calendar, the rest exactly.
pub const ADD_IN_ZONE: &str = "add in zone";
/// What comparisons see of an interval.
pub const INTERVAL_KEY: &str = "interval key";
/// `interval part(part, interval)`: its months, days or microseconds, as it is held.
pub const INTERVAL_PART: &str = "interval part";
/// A moment or an interval, and an interval that is added.
pub const INTERVAL_ADD: &str = "add interval";
/// `greatest interval(interval, ...)`; NULL is left out.
pub const INTERVAL_GREATEST: &str = "greatest interval";
/// `least interval(interval, ...)`; NULL is left out.
pub const INTERVAL_LEAST: &str = "least interval";
/// `multiply interval(interval, factor)`.
pub const INTERVAL_MULTIPLY: &str = "multiply interval";
/// `divide interval(interval, divisor)`.
pub const INTERVAL_DIVIDE: &str = "divide interval";
/// The sums of months, days and microseconds as an interval, divided by a count where one is given.
pub const INTERVAL_OF_SUMS: &str = "interval of sums";
/// `cast in zone(zone, value)`: the cast to the call's type, with instants read and written in that zone.
pub const CAST_IN_ZONE: &str = "cast in zone";
/// As `CAST_IN_ZONE`; what cannot be cast is NULL.
pub const TRY_CAST_IN_ZONE: &str = "try cast in zone";

/// `&` of two bit strings of one length. This and the following are evaluated in crate `expr`, `own/bits.rs`.
pub const BITS_AND: &str = "bits and";
/// `|` of two bit strings of one length.
pub const BITS_OR: &str = "bits or";
/// Exclusive or of two bit strings of one length.
pub const BITS_XOR: &str = "bits xor";
/// Every bit inverted.
pub const BITS_NOT: &str = "bits not";
/// `bits to the left(bits, places)`: the length stays, zeros move in.
pub const BITS_LEFT: &str = "bits to the left";
/// `bits to the right(bits, places)`: the length stays, zeros move in.
pub const BITS_RIGHT: &str = "bits to the right";
/// Two bit strings, one after the other.
pub const BITS_JOINED: &str = "bits joined";
/// `bits resized(value)`: what an explicit cast makes of bits, of a text or of an integer.
pub const BITS_RESIZED: &str = "bits resized";
/// `bit at(bits, index)`: 0 or 1.
pub const BITS_GET: &str = "bit at";
/// `bits with(bits, index, bit)`: the bits with one of them replaced; the new bit must be 0 or 1.
pub const BITS_SET: &str = "bits with";
/// How many bits are 1.
pub const BITS_COUNT: &str = "bits set";
/// `move clock(time, interval)` of a TIME WITH TIME ZONE.
pub const TIME_TZ_ADD: &str = "move clock";
/// `time on day(time, date)`: an instant.
pub const TIME_TZ_ON: &str = "time on day";
/// Seconds that the zone of a TIME WITH TIME ZONE is east of Greenwich.
pub const TIME_TZ_EAST: &str = "zone of time";
/// Microseconds since midnight in Greenwich.
pub const TIME_TZ_UTC: &str = "time in greenwich";
/// `range of labels(first, last)`: the values of an enum between two, of all from or up to where one is NULL.
pub const ENUM_RANGE: &str = "range of labels";
/// `seconds to digits(value, digits)`: a moment, a time or an interval rounded, as a precision asks.
pub const SECOND_DIGITS: &str = "seconds to digits";
/// `list of length(list, length)`: the list, where it has so many elements.
pub const LIST_OF_LENGTH: &str = "list of length";
/// As `LIST_OF_LENGTH`; another list is NULL.
pub const TRY_LIST_OF_LENGTH: &str = "list of length, or null";

/// `ordered row(directions, key, ..., value)`: bytes whose order is that of the keys, the value behind them.
pub const ORDERED_ROW: &str = "ordered row";
/// The value that an ordered row carries.
pub const ROW_VALUE: &str = "row value";
/// Two floats as 16 bytes, for aggregates of two arguments.
pub const PAIR: &str = "two numbers";

/// Every signature of that name, in order of preference.
pub fn signatures(name: &str) -> impl Iterator<Item = &'static Signature> {
    SIGNATURES.iter().filter(move |s| s.name == name)
}

/// The names that a text can call.
pub fn names() -> impl Iterator<Item = &'static str> {
    let callable = |name: &&str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    SIGNATURES.iter().map(|s| s.name).filter(callable).filter(|n| !n.ends_with("_field"))
}
/// A text that is assigned to VARCHAR(n), n the second argument: an error where it does not fit.
pub const FITTED_VARCHAR: &str = "text that fits varchar";
/// A text that is assigned to CHAR(n).
pub const FITTED_CHAR: &str = "text that fits char";
/// Whether a text is as a pattern of a shell says: what `text GLOB pattern` is.
pub const GLOB: &str = "text like glob";
