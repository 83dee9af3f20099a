//! Expressions.
//!
//! Made by `parse::expr`; the binder reads it and changes nothing. Operators of one rank are one flat `Chain`,
//! applied from left to right, so that long sums are not deep; brackets are `Nested`, which printing needs.

use super::{IntervalFields, Name, OrderItem, Path, Query, TextLiteral, TypeName, WindowSpec};
use crate::Span;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ExprKind {
    /// A constant.
    Literal(Literal),
    /// `$1`, `?`, `$name`, `:name`.
    Parameter(Parameter),
    /// A column, or a field of it, by its path.
    Column(Path),
    /// `#2`: a column by its place in FROM.
    Position(u32),
    /// `*`, `t.*`, with what is left out of it, as an item of SELECT or an argument.
    Star(Box<Star>),
    /// `COLUMNS(...)`, in front of it a star where it is an argument that becomes several.
    Columns(Box<ColumnsCall>),
    /// `(e)`.
    Nested(Box<Expr>),
    /// `-e`, `NOT e`.
    Prefix(Operator, Box<Expr>),
    /// `e !`: PostgreSQL has no operators behind their operand since 14; kept for `e ISNULL` and the like.
    Is(Box<IsTest>),
    /// `a + b - c`: operators of one rank, which are applied from left to right.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// `e::type`, `CAST(e AS type)`, `TRY_CAST(e AS type)`.
    Cast(Box<CastCall>),
    /// `e COLLATE name`.
    Collate(Box<Expr>, Path),
    /// `e AT TIME ZONE zone`; `None` is AT LOCAL.
    AtTimeZone(Box<Expr>, Option<Box<Expr>>),
    /// `e [NOT] IN ...`.
    In(Box<InTest>),
    /// `e [NOT] BETWEEN a AND b`.
    Between(Box<BetweenTest>),
    /// `e [NOT] LIKE pattern` and its kin.
    Like(Box<LikeTest>),
    /// `e op ANY (...)`.
    Quantified(Box<QuantifiedTest>),
    /// `[NOT] EXISTS (query)`; NOT is a prefix.
    Exists(Box<Query>),
    /// `(query)`.
    Subquery(Box<Query>),
    /// `ARRAY(query)`.
    ArrayOf(Box<Query>),
    /// `[a, b]`, and `ARRAY[a, b]`.
    List {
        /// Written with ARRAY.
        array: bool,
        /// The elements.
        elements: Vec<Expr>,
    },
    /// `[e FOR x, i IN list IF condition]`.
    Comprehension(Box<Comprehension>),
    /// `{'a': 1, b: 2}`.
    Struct(Vec<(Name, Expr)>),
    /// `MAP {'a': 1}`.
    Map(Vec<(Expr, Expr)>),
    /// `ROW(a, b)`, `(a, b)`.
    Row {
        /// Written with ROW.
        row: bool,
        /// The elements.
        elements: Vec<Expr>,
    },
    /// CASE.
    Case(Box<Case>),
    /// A call of a function, of an aggregate or of a window function.
    Call(Box<Call>),
    /// Calls with words in their brackets.
    Special(Box<SpecialCall>),
    /// `e[i]`.
    Index(Box<Expr>, Box<Expr>),
    /// `e[a:b:c]`.
    Slice(Box<SliceStep>),
    /// `(e).field`, `f(x).field`, `(e).*`.
    Field(Box<Expr>, Option<Name>),
    /// `e.function(arguments)`: a call whose first argument stands before the dot.
    Method(Box<Expr>, Box<Call>),
    /// `x -> e`, `(x, y) -> e`, `lambda x, y: e`, as an argument.
    Lambda(Box<Lambda>),
    /// `(a, b) OVERLAPS (c, d)`.
    Overlaps(Box<Expr>, Box<Expr>),
    /// DEFAULT, as a value of INSERT and UPDATE.
    Default,
}

/// A constant as it is written.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Literal {
    /// NULL.
    Null,
    /// TRUE and FALSE.
    Bool(bool),
    /// Digits as written, `1_000` and `0xff` too.
    Number(Box<str>),
    /// A text, its escapes resolved.
    Text(Box<str>),
    /// `B'101'`, the digits.
    Bits(Box<str>),
    /// `X'ff'`, the digits.
    Bytes(Box<str>),
    /// `DATE '2024-01-01'`.
    Typed(Box<TypeName>, TextLiteral),
    /// `INTERVAL '1 day'`, `INTERVAL 5 DAY`, `INTERVAL (e) DAY`.
    Interval(Box<IntervalLiteral>),
}

/// An interval's constant.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IntervalLiteral {
    /// A text, a number, or an expression in brackets.
    pub value: Expr,
    /// What the value counts, or what is kept of the text.
    pub fields: Option<IntervalFields>,
    /// `INTERVAL(3) '...'`.
    pub precision: Option<u32>,
}

/// A place for a value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Parameter {
    /// `$1`.
    Number(u32),
    /// `?`: the number of the question mark in its statement, counted from 1.
    Question(u32),
    /// `$name`.
    Dollar(Box<str>),
    /// `:name`.
    Colon(Box<str>),
}

/// An operator with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Operator {
    /// Which one.
    pub kind: OperatorKind,
    /// Where it stands.
    pub span: Span,
}

/// An operator.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the operators themselves")]
pub enum OperatorKind {
    Or,
    And,
    Not,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Plus,
    Minus,
    Times,
    Divide,
    /// `//`.
    DivideWhole,
    Modulo,
    /// `^`.
    Power,
    /// `**`.
    PowerStars,
    /// Any other, as written.
    Symbol(Box<str>),
    /// `OPERATOR(schema.+)`.
    Qualified(Path, Box<str>),
}

impl OperatorKind {
    /// The operator of a symbol.
    pub fn of_symbol(symbol: &str) -> OperatorKind {
        match symbol {
            "=" | "==" => Self::Equal,
            "<>" | "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterEqual,
            "+" => Self::Plus,
            "-" => Self::Minus,
            "*" => Self::Times,
            "/" => Self::Divide,
            "//" => Self::DivideWhole,
            "%" => Self::Modulo,
            "^" => Self::Power,
            "**" => Self::PowerStars,
            symbol => Self::Symbol(symbol.into()),
        }
    }
}

/// `*` with what is taken from it and put into it.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Star {
    /// `t.*`.
    pub of: Option<Path>,
    /// EXCLUDE and EXCEPT.
    pub exclude: Vec<Path>,
    /// Written as EXCEPT.
    pub except: bool,
    /// REPLACE.
    pub replace: Vec<(Expr, Name)>,
    /// RENAME.
    pub rename: Vec<(Path, Name)>,
    /// `* LIKE 'a%'`.
    pub names: Option<StarPattern>,
}

/// Which names a star stands for.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StarPattern {
    /// The kind of pattern.
    pub kind: LikeKind,
    /// NOT.
    pub negated: bool,
    /// A constant text.
    pub pattern: Expr,
    /// ESCAPE of LIKE and ILIKE: a constant text, too.
    pub escape: Option<Expr>,
}

/// `COLUMNS(...)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ColumnsCall {
    /// `t.COLUMNS(...)`.
    pub of: Option<Path>,
    /// `*COLUMNS(...)`.
    pub unpacked: bool,
    /// A regular expression, a star, a lambda over names, or a list of names.
    pub which: Expr,
}

/// What an expression is tested for by IS.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IsTest {
    /// The operand.
    pub expr: Expr,
    /// IS NOT, NOTNULL.
    pub negated: bool,
    /// The test.
    pub test: IsKind,
}

/// The tests of IS.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum IsKind {
    Null,
    True,
    False,
    Unknown,
    /// DISTINCT FROM.
    DistinctFrom(Expr),
    /// `[form] NORMALIZED`.
    Normalized(Option<Name>),
    /// `JSON [VALUE | SCALAR | ARRAY | OBJECT]`.
    Json(Option<Name>),
}

/// A cast.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CastCall {
    /// How it is written.
    pub style: CastStyle,
    /// What is cast.
    pub expr: Expr,
    /// To which type.
    pub to: TypeName,
}

/// How a cast is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the forms themselves")]
pub enum CastStyle {
    Cast,
    TryCast,
    Colons,
}

/// `e [NOT] IN ...`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct InTest {
    /// The left side.
    pub expr: Expr,
    /// NOT.
    pub negated: bool,
    /// The right side.
    pub set: InSet,
}

/// The right side of IN.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum InSet {
    /// `(a, b)`.
    List(Vec<Expr>),
    /// `(query)`.
    Query(Box<Query>),
    /// A list's expression without brackets.
    Expr(Expr),
}

/// `e [NOT] BETWEEN [SYMMETRIC] low AND high`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BetweenTest {
    /// What lies between.
    pub expr: Expr,
    /// NOT.
    pub negated: bool,
    /// SYMMETRIC.
    pub symmetric: bool,
    /// The lower bound.
    pub low: Expr,
    /// The upper bound.
    pub high: Expr,
}

/// The kinds of patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum LikeKind {
    Like,
    ILike,
    SimilarTo,
    Glob,
    /// RLIKE and REGEXP: a regular expression.
    RLike,
}

/// `e [NOT] LIKE [ANY | ALL] pattern [ESCAPE e]`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LikeTest {
    /// What is matched.
    pub expr: Expr,
    /// NOT.
    pub negated: bool,
    /// The kind of pattern.
    pub kind: LikeKind,
    /// ANY, ALL or neither.
    pub quantifier: Option<Quantifier>,
    /// The pattern; with a quantifier a row or list of them, or a subquery.
    pub pattern: Expr,
    /// The letter that takes a pattern's letters their meaning.
    pub escape: Option<Expr>,
}

/// ANY (SOME) and ALL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum Quantifier {
    Any,
    All,
}

/// `e op ANY (...)`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QuantifiedTest {
    /// The left side.
    pub expr: Expr,
    /// The comparison.
    pub operator: Operator,
    /// ANY or ALL.
    pub quantifier: Quantifier,
    /// A query, or a list's expression.
    pub set: InSet,
}

/// `[e FOR x [, i] IN list [IF condition]]`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Comprehension {
    /// What is made of each element.
    pub element: Expr,
    /// The element's name.
    pub name: Name,
    /// The name of its place.
    pub position: Option<Name>,
    /// The list.
    pub list: Expr,
    /// Which elements are taken.
    pub condition: Option<Expr>,
}

/// CASE.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Case {
    /// What is compared with each WHEN, where it is given.
    pub operand: Option<Expr>,
    /// WHEN and THEN.
    pub branches: Vec<(Expr, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    /// The function.
    pub name: Path,
    /// What stands in its brackets; absent for those without brackets, as CURRENT_DATE.
    pub arguments: Option<Arguments>,
    /// WITHIN GROUP (ORDER BY ...).
    pub within_group: Vec<OrderItem>,
    /// FILTER (WHERE ...).
    pub filter: Option<Expr>,
    /// IGNORE NULLS and RESPECT NULLS, behind the brackets or inside them.
    pub nulls: Option<NullTreatment>,
    /// OVER.
    pub over: Option<Over>,
}

/// What stands in the brackets of a call.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Arguments {
    /// DISTINCT (true), ALL (false), or neither.
    pub distinct: Option<bool>,
    /// The arguments.
    pub list: Vec<Argument>,
    /// The ORDER BY of an aggregate.
    pub order_by: Vec<OrderItem>,
    /// The LIMIT of an aggregate.
    pub limit: Option<Expr>,
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Argument {
    /// VARIADIC.
    pub variadic: bool,
    /// `name => e`, `name := e`, `name = e`.
    pub name: Option<(Name, ArgumentSign)>,
    /// The value.
    pub value: Expr,
}

/// What stands between an argument's name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the signs themselves")]
pub enum ArgumentSign {
    Arrow,
    ColonEquals,
    Equals,
}

/// What a window function does with NULLs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum NullTreatment {
    Ignore,
    Respect,
}

/// OVER name, OVER (...).
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Over {
    /// A window of WINDOW.
    Name(Name),
    /// A window of its own.
    Spec(Box<WindowSpec>),
}

/// Calls that have words in their brackets.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SpecialCall {
    /// `EXTRACT(field FROM e)`: a word or a text.
    Extract(Name, Expr),
    /// `POSITION(a IN b)`.
    Position(Expr, Expr),
    /// `SUBSTRING(e FROM a FOR b)`.
    Substring {
        /// The text.
        text: Expr,
        /// FROM: a place, or a pattern.
        from: Option<Expr>,
        /// FOR: a length, or the escape letter.
        length: Option<Expr>,
    },
    /// `SUBSTRING(e SIMILAR pattern ESCAPE e)`.
    SubstringSimilar(Expr, Expr, Expr),
    /// `TRIM([BOTH | LEADING | TRAILING] [characters] FROM e)`.
    Trim {
        /// The side.
        side: Option<TrimSide>,
        /// What is taken away.
        characters: Option<Expr>,
        /// The text, and what follows it behind commas.
        texts: Vec<Expr>,
    },
    /// `OVERLAY(e PLACING a FROM b FOR c)`.
    Overlay(Expr, Expr, Expr, Option<Expr>),
    /// `CEIL(e TO field)`, `FLOOR(e TO field)`.
    RoundTo {
        /// CEIL.
        up: bool,
        /// What is rounded.
        expr: Expr,
        /// To which field.
        field: Name,
    },
    /// `NORMALIZE(e, form)`.
    Normalize(Expr, Name),
    /// `TRY(e)`.
    Try(Expr),
}

/// Where TRIM takes away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the words themselves")]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

/// `e[from:to:step]`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SliceStep {
    /// What is cut.
    pub expr: Expr,
    /// The first place.
    pub from: Option<Expr>,
    /// The last place.
    pub to: Option<Expr>,
    /// The distance.
    pub step: Option<Expr>,
}

/// A lambda.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Lambda {
    /// Written `lambda x: e`.
    pub worded: bool,
    /// The names of what it gets.
    pub parameters: Vec<Name>,
    /// What it gives.
    pub body: Expr,
}
