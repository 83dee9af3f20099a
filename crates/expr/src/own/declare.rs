//! What declarations of functions are written with.

pub(super) use types::Type;

use super::{Batch, Code, Evaluate};
pub(super) use crate::functions::{Gives, Page, ScalarFunction, Signature, Takes};
use crate::nested::Kernel;

/// A function of one row's values.
pub(super) const fn own(
    name: &'static str,
    signatures: &'static [Signature],
    page: Page,
    evaluate: Evaluate,
) -> ScalarFunction {
    ScalarFunction { name, signatures, page: Some(page), code: Code::Values(evaluate), batch: None }
}

/// A function of one row's values that only binding calls.
pub(super) const fn internal(
    name: &'static str,
    signatures: &'static [Signature],
    evaluate: Evaluate,
) -> ScalarFunction {
    ScalarFunction { name, signatures, page: None, code: Code::Values(evaluate), batch: None }
}

/// A function of whole vectors that only binding calls.
pub(super) const fn kernel(
    name: &'static str,
    signatures: &'static [Signature],
    kernel: Kernel,
) -> ScalarFunction {
    ScalarFunction { name, signatures, page: None, code: Code::Vectors(kernel), batch: None }
}

/// The function with code that takes whole batches of common forms.
pub(super) const fn in_batches(batch: Batch, function: ScalarFunction) -> ScalarFunction {
    ScalarFunction { batch: Some(batch), ..function }
}

/// A function's page: category, usage, description, example and the example's result.
pub(super) const fn page(
    category: &'static str,
    usage: &'static str,
    description: &'static str,
    example: &'static str,
    result: &'static str,
) -> Page {
    Page { category, usage, description, example, result }
}

pub(super) const TEXT: Takes = Takes::Is(Type::Text);
pub(super) const BYTES: Takes = Takes::Is(Type::Bytea);
pub(super) const BIG: Takes = Takes::Is(Type::BigInt);
pub(super) const DOUBLE: Takes = Takes::Is(Type::Double);
pub(super) const DATE: Takes = Takes::Is(Type::Date);
pub(super) const TIME: Takes = Takes::Is(Type::Time);
pub(super) const TIME_TZ: Takes = Takes::Is(Type::TimeTz);
pub(super) const STAMP: Takes = Takes::Is(Type::Timestamp);
pub(super) const ZONED: Takes = Takes::Is(Type::TimestampTz);
pub(super) const SPAN: Takes = Takes::Is(Type::IntervalDayTime);
pub(super) const WIDE: Type = Type::Decimal { precision: 38, scale: 0 };
pub(super) const MONTHS: Takes = Takes::Is(Type::IntervalYearMonth);
pub(super) const INTERVAL: Takes = Takes::Is(Type::Interval);

pub(super) const fn is(takes: &'static [Takes], gives: Type) -> Signature {
    Signature { takes, optional: 0, rest: None, gives: Gives::Is(gives), strict: true }
}

pub(super) const fn first(takes: &'static [Takes]) -> Signature {
    Signature { takes, optional: 0, rest: None, gives: Gives::First, strict: true }
}

pub(super) const fn optional(signature: Signature, optional: usize) -> Signature {
    Signature { optional, ..signature }
}

pub(super) const fn variadic(takes: &'static [Takes], gives: Type) -> Signature {
    let gives = Gives::Is(gives);
    Signature { takes, optional: 0, rest: Some(Takes::Any), gives, strict: false }
}
