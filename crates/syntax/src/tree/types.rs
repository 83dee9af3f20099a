//! Types as they are written.

use super::{Expr, Name, Path};
use crate::Span;

/// A type's name with all that belongs to it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TypeName {
    /// The type without its brackets for lists.
    pub kind: TypeKind,
    /// `[]` and `[3]` behind it, outermost last; `None` is `[]`.
    pub lists: Vec<Option<u64>>,
    /// Where it stands.
    pub span: Span,
}

/// What a type is made of.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TypeKind {
    /// A name of one or more words with numbers in brackets: `DECIMAL(10, 2)`, `DOUBLE PRECISION`, `schema.mood`.
    Named {
        /// Words that belong together, such as DOUBLE PRECISION, are one name with a blank.
        name: Path,
        /// What stands in the brackets.
        modifiers: Vec<Expr>,
    },
    /// TIME and TIMESTAMP with what stands behind them.
    Moment {
        /// `TIME` or `TIMESTAMP`, as written.
        name: Name,
        /// `(3)`.
        precision: Option<u32>,
        /// WITH TIME ZONE, WITHOUT TIME ZONE, or neither.
        zone: Option<bool>,
    },
    /// INTERVAL with its fields.
    Interval {
        /// `DAY TO SECOND`, with its precision.
        fields: Option<IntervalFields>,
        /// `INTERVAL(3)`.
        precision: Option<u32>,
    },
    /// `STRUCT(a INTEGER, b TEXT)`, and `ROW(...)`.
    Struct {
        /// Written as ROW.
        row: bool,
        /// Names, absent in a row of types only, and types.
        fields: Vec<(Option<Name>, TypeName)>,
    },
    /// `MAP(TEXT, INTEGER)`.
    Map(Box<TypeName>, Box<TypeName>),
    /// `LIST(TEXT)`.
    List(Box<TypeName>),
    /// `UNION(number INTEGER, word TEXT)`.
    Union(Vec<(Name, TypeName)>),
    /// `ENUM('a', 'b')`.
    Enum(Vec<TextLiteral>),
}

/// A text in quotes where the grammar wants nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TextLiteral {
    /// What it says.
    pub text: Box<str>,
    /// Where it stands.
    pub span: Span,
}

/// One of the fields of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum IntervalField {
    Millennium,
    Century,
    Decade,
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

/// `YEAR`, `DAY TO SECOND(3)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IntervalFields {
    /// The first.
    pub from: IntervalField,
    /// The last, where a range is given.
    pub to: Option<IntervalField>,
    /// Digits behind the second.
    pub precision: Option<u32>,
}
