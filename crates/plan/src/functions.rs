//! Names of functions that only binding calls: most have blanks, so that no text can call them.
//!
//! Binding puts them into calls, evaluation declares them (crate `expr`, `own`).

/// `whole quotient(a, b)` of exact numbers.
pub const WHOLE_QUOTIENT: &str = "whole quotient";
/// `exact remainder(a, b)` of exact numbers.
pub const EXACT_REMAINDER: &str = "exact remainder";
/// `decimal quotient(a, b)` of exact numbers, cut at the scale of the call's type.
pub const DECIMAL_QUOTIENT: &str = "decimal quotient";
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
/// What texts of a collation are compared by, in bytes: the collation's name, and the text.
pub const COLLATION_KEY: &str = "collation key";
/// A text in the forms of a collation, without regard to its language: the collation's name, and the text.
pub const COLLATION_FOLD: &str = "collation fold";
/// What comparisons see of a list, struct, map or union that holds intervals: a value of its type, whose bytes are those
/// of all that equal it.
pub const EQUAL_VALUE: &str = "equal value";
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
/// `+` of two integers of one type, UHUGEINT or BIGNUM. This and the following are evaluated in crate `expr`, `own/wide.rs`.
pub const WIDE_ADD: &str = "add wide";
/// `-` of two of them.
pub const WIDE_SUBTRACT: &str = "subtract wide";
/// `*` of two of them.
pub const WIDE_MULTIPLY: &str = "multiply wide";
/// The quotient of two of them without its fraction.
pub const WIDE_DIVIDE: &str = "divide wide";
/// `%` of two of them, with the sign of the dividend.
pub const WIDE_REMAINDER: &str = "remainder wide";
/// `&` of two of them.
pub const WIDE_AND: &str = "and wide";
/// `|` of two of them.
pub const WIDE_OR: &str = "or wide";
/// Exclusive or of two of them.
pub const WIDE_XOR: &str = "xor wide";
/// `left wide(number, places)`: its bits moved to the left.
pub const WIDE_LEFT: &str = "left wide";
/// `right wide(number, places)`: its bits moved to the right.
pub const WIDE_RIGHT: &str = "right wide";
/// The number with the other sign.
pub const WIDE_NEGATE: &str = "negate wide";
/// The number without its sign.
pub const WIDE_ABSOLUTE: &str = "absolute wide";
/// -1, 0 or 1.
pub const WIDE_SIGN: &str = "sign wide";
/// Every bit turned.
pub const WIDE_NOT: &str = "not wide";
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
/// `bins of equal width(least, greatest, count, round)`: the upper bounds of bins.
pub const EQUAL_BINS: &str = "bins of equal width";
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
/// A text that is assigned to VARCHAR(n), n the second argument: an error where it does not fit.
pub const FITTED_VARCHAR: &str = "text that fits varchar";
/// A text that is assigned to CHAR(n).
pub const FITTED_CHAR: &str = "text that fits char";
/// Whether a text is as a pattern of a shell says: what `text GLOB pattern` is.
pub const GLOB: &str = "text like glob";
