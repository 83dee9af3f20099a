//! Queries as trees that print themselves as SQL, and the smaller trees next to a given one.
//!
//! An expression is text with holes for operands and subqueries, and a family: types that mix freely. That is all the
//! reducer needs: it puts an operand in its parent's place, or a constant, and lets the front end refuse what no
//! longer makes sense.

use std::fmt;

use types::Type;

/// Types that stand in for each other in CASE, set operations and comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// BOOLEAN.
    Boolean,
    /// Integers of all widths.
    Whole,
    /// DECIMAL of any digits.
    Decimal,
    /// REAL and DOUBLE PRECISION.
    Float,
    /// Texts and JSON.
    Text,
    /// DATE.
    Date,
    /// TIMESTAMP.
    Timestamp,
    /// TIMESTAMP WITH TIME ZONE.
    TimestampTz,
    /// TIME.
    Time,
    /// Intervals of years and months.
    Months,
    /// Intervals of days and times.
    Micros,
    /// Intervals of months, days and times.
    Interval,
    /// Byte strings, and nested values.
    Bytes,
    /// UUID.
    Uuid,
    /// The enum of `tables::labels`.
    Label,
    /// TIME WITH TIME ZONE.
    TimeTz,
    /// BIT and BIT VARYING.
    Bits,
}

impl Family {
    /// The family of a type. Nested types count as `Bytes`, a NULL without a type as `Boolean`.
    pub fn of(ty: Type) -> Family {
        match ty {
            Type::Boolean | Type::Null => Family::Boolean,
            Type::SmallInt | Type::Integer | Type::BigInt => Family::Whole,
            Type::TinyInt
            | Type::UTinyInt
            | Type::USmallInt
            | Type::UInteger
            | Type::UBigInt
            | Type::HugeInt
            | Type::UHugeInt
            | Type::BigNum => Family::Whole,
            Type::Decimal { .. } => Family::Decimal,
            Type::Real | Type::Double => Family::Float,
            Type::Char(_)
            | Type::Varchar(_)
            | Type::Text
            | Type::Collated(_)
            | Type::Json
            | Type::Jsonb
            | Type::System(_) => Family::Text,
            Type::Date => Family::Date,
            Type::Timestamp | Type::TimestampS | Type::TimestampMs | Type::TimestampNs => Family::Timestamp,
            Type::TimestampTz | Type::TimestampTzNs => Family::TimestampTz,
            Type::Time | Type::TimeNs => Family::Time,
            Type::IntervalYearMonth => Family::Months,
            Type::IntervalDayTime => Family::Micros,
            Type::Interval => Family::Interval,
            Type::Bytea | Type::List(_) | Type::Struct(_) | Type::Map(_) | Type::Union(_) => Family::Bytes,
            Type::Enum(_) => Family::Label,
            Type::TimeTz => Family::TimeTz,
            Type::Bit(_) | Type::VarBit(_) => Family::Bits,
            Type::Uuid => Family::Uuid,
        }
    }
    /// A type of the family whose random values serve as literals.
    pub fn example(self) -> Type {
        match self {
            Family::Boolean => Type::Boolean,
            Family::Whole => Type::Integer,
            Family::Decimal => Type::Decimal { precision: 5, scale: 2 },
            Family::Float => Type::Double,
            Family::Text => Type::Text,
            Family::Date => Type::Date,
            Family::Timestamp => Type::Timestamp,
            Family::TimestampTz => Type::TimestampTz,
            Family::Time => Type::Time,
            Family::Months => Type::IntervalYearMonth,
            Family::Micros => Type::IntervalDayTime,
            Family::Interval => Type::Interval,
            Family::Bytes => Type::Bytea,
            Family::Uuid => Type::Uuid,
            Family::Label => super::tables::labels(),
            Family::TimeTz => Type::TimeTz,
            Family::Bits => Type::BITS,
        }
    }
    /// The simplest expression of the family.
    fn simplest(self) -> Option<&'static str> {
        Some(match self {
            Family::Boolean => "TRUE",
            Family::Whole => "1",
            Family::Decimal => "1.00",
            Family::Text => "'a'",
            Family::Date => "DATE '2020-02-20'",
            _ => return None,
        })
    }
}

/// A part of an expression: text as it stands, or a hole with what fills it.
#[derive(Clone, Debug)]
pub enum Piece {
    /// SQL as it stands.
    Text(String),
    /// An operand.
    Expr(Expr),
    /// A subquery, without its brackets.
    Query(Box<Query>),
}

impl From<Expr> for Piece {
    fn from(expr: Expr) -> Self {
        Piece::Expr(expr)
    }
}
impl From<Query> for Piece {
    fn from(query: Query) -> Self {
        Piece::Query(Box::new(query))
    }
}

/// An expression that prints as its pieces, one after the other.
#[derive(Clone, Debug)]
pub struct Expr {
    /// The family of the result.
    pub family: Family,
    /// Text and operands, in the order of printing.
    pub pieces: Vec<Piece>,
}

impl Expr {
    /// An expression without operands.
    pub fn text(family: Family, text: impl Into<String>) -> Expr {
        Expr { family, pieces: vec![Piece::Text(text.into())] }
    }
    /// `template` with its `{}` filled by `holes`, in order.
    pub fn new(family: Family, template: &str, holes: Vec<Piece>) -> Expr {
        let mut pieces = Vec::new();
        let mut holes = holes.into_iter();
        for (at, text) in template.split("{}").enumerate() {
            if at > 0 {
                pieces.extend(holes.next());
            }
            if !text.is_empty() {
                pieces.push(Piece::Text(text.to_owned()));
            }
        }
        Expr { family, pieces }
    }
}

/// What stands for a table in FROM.
#[derive(Clone, Debug)]
pub enum Relation {
    /// A table or a WITH query, by its name.
    Table(String),
    /// A subquery.
    Query(Box<Query>),
    /// A subquery that may read the relations before it.
    Lateral(Box<Query>),
    /// Text in parentheses with holes, such as VALUES, and how many columns it has.
    Text(Expr, usize),
}

/// One relation of FROM, and how it joins those before it.
#[derive(Clone, Debug)]
pub struct FromItem {
    /// How it joins what stands before it; nothing for the first.
    pub join: &'static str,
    /// The rows.
    pub relation: Relation,
    /// The alias by which expressions name its columns.
    pub alias: String,
    /// The ON condition.
    pub on: Option<Expr>,
    /// The column both sides are joined by, in place of `on`.
    pub using: Option<&'static str>,
}

/// One SELECT without ORDER BY and LIMIT.
#[derive(Clone, Debug, Default)]
pub struct Select {
    /// SELECT DISTINCT.
    pub distinct: bool,
    /// Named c0, c1, ...
    pub items: Vec<Expr>,
    /// All of them are named c0; the query that reads them renames them.
    pub same_names: bool,
    /// The relations of FROM; empty for a SELECT without FROM.
    pub from: Vec<FromItem>,
    /// The WHERE condition.
    pub filter: Option<Expr>,
    /// The GROUP BY expressions.
    pub groups: Vec<Expr>,
    /// `ROLLUP`, `CUBE` or `GROUPING SETS` of the groups, or nothing.
    pub sets: &'static str,
    /// The HAVING condition.
    pub having: Option<Expr>,
}

/// A query of the WITH clause.
#[derive(Clone, Debug)]
pub struct Cte {
    /// The name that FROM uses.
    pub name: String,
    /// `MATERIALIZED `, `NOT MATERIALIZED ` or nothing.
    pub how: &'static str,
    /// The query that computes its rows.
    pub query: Query,
}

/// A whole query.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The queries of WITH.
    pub ctes: Vec<Cte>,
    /// The first SELECT; it decides the names of the columns.
    pub first: Select,
    /// Further SELECTs, each with the set operation that combines it with the rows before.
    pub rest: Vec<(&'static str, Select)>,
    /// Output positions from 0 with direction and place of NULLs; all of them or none.
    pub order: Vec<(usize, &'static str)>,
    /// LIMIT and OFFSET.
    pub limit: Option<(u64, u64)>,
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => f.write_str(text)?,
                Piece::Expr(expr) => expr.fmt(f)?,
                Piece::Query(query) => query.fmt(f)?,
            }
        }
        Ok(())
    }
}

/// `(c0, c1, ...)`.
fn names(width: usize) -> String {
    let names: Vec<String> = (0..width).map(|at| format!("c{at}")).collect();
    format!("({})", names.join(", "))
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.distinct { "SELECT DISTINCT " } else { "SELECT " })?;
        for (at, item) in self.items.iter().enumerate() {
            let name = if self.same_names { 0 } else { at };
            write!(f, "{}{item} AS c{name}", if at == 0 { "" } else { ", " })?;
        }
        for (at, item) in self.from.iter().enumerate() {
            if at == 0 {
                f.write_str(" FROM ")?
            } else {
                f.write_str(item.join)?
            }
            match &item.relation {
                Relation::Table(name) => write!(f, "{name} AS {}", item.alias)?,
                Relation::Query(query) => {
                    write!(f, "({query}) AS {}{}", item.alias, query.names_given())?;
                }
                Relation::Lateral(query) => {
                    write!(f, "LATERAL ({query}) AS {}{}", item.alias, query.names_given())?;
                }
                Relation::Text(text, width) => write!(f, "{text} AS {}{}", item.alias, names(*width))?,
            }
            if let (Some(on), 1..) = (&item.on, at) {
                write!(f, " ON {on}")?;
            }
            if let (Some(column), 1..) = (item.using, at) {
                write!(f, " USING ({column})")?;
            }
        }
        if let Some(filter) = &self.filter {
            write!(f, " WHERE {filter}")?;
        }
        if !self.groups.is_empty() {
            f.write_str(" GROUP BY ")?;
            f.write_str(self.sets)?;
            f.write_str(if self.sets.is_empty() { "" } else { " (" })?;
            list(f, &self.groups)?;
            f.write_str(match self.sets {
                "" => "",
                "GROUPING SETS" => ", ())",
                _ => ")",
            })?;
        }
        if let Some(having) = &self.having {
            write!(f, " HAVING {having}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Cte { name, how, query }) in self.ctes.iter().enumerate() {
            let names = query.names_given();
            write!(f, "{}{name}{names} AS {how}({query})", if at == 0 { "WITH " } else { ", " })?;
        }
        if !self.ctes.is_empty() {
            f.write_str(" ")?;
        }
        self.first.fmt(f)?;
        for (operator, select) in &self.rest {
            write!(f, " {operator} {select}")?;
        }
        if !self.order.is_empty() {
            let keys: Vec<String> = self.order.iter().map(|(at, how)| format!("{} {how}", at + 1)).collect();
            write!(f, " ORDER BY {}", keys.join(", "))?;
        }
        if let Some((count, offset)) = self.limit {
            write!(f, " LIMIT {count} OFFSET {offset}")?;
        }
        Ok(())
    }
}

impl Expr {
    /// Expressions one step smaller.
    pub fn smaller(&self) -> Vec<Expr> {
        let mut out = Vec::new();
        if let Some(text) = self.family.simplest()
            && self.to_string() != text
        {
            out.push(Expr::text(self.family, text));
        }
        for (at, piece) in self.pieces.iter().enumerate() {
            let mut with = |piece: Piece| {
                let mut copy = self.clone();
                copy.pieces[at] = piece;
                out.push(copy);
            };
            match piece {
                Piece::Text(_) => {}
                Piece::Query(query) => query.smaller().into_iter().for_each(|q| with(q.into())),
                Piece::Expr(expr) => {
                    expr.smaller().into_iter().for_each(|e| with(e.into()));
                    if expr.family == self.family {
                        out.push(expr.clone());
                    }
                }
            }
        }
        out
    }
}

impl Select {
    fn smaller(&self) -> Vec<Select> {
        let mut out = Vec::new();
        let mut with = |change: &dyn Fn(&mut Select)| {
            let mut copy = self.clone();
            change(&mut copy);
            out.push(copy);
        };
        if self.distinct {
            with(&|s| s.distinct = false);
        }
        if self.same_names {
            with(&|s| s.same_names = false);
        }
        if let Some(filter) = &self.filter {
            with(&|s| s.filter = None);
            filter.smaller().into_iter().for_each(|e| with(&|s| s.filter = Some(e.clone())));
        }
        if let Some(having) = &self.having {
            with(&|s| s.having = None);
            having.smaller().into_iter().for_each(|e| with(&|s| s.having = Some(e.clone())));
        }
        if !self.sets.is_empty() {
            with(&|s| s.sets = "");
        }
        for at in 0..self.groups.len() {
            with(&|s| drop(s.groups.remove(at)));
        }
        for at in 0..self.from.len() {
            if self.from.len() > 1 {
                with(&|s| {
                    s.from.remove(at);
                    if at == 0 {
                        (s.from[0].on, s.from[0].using) = (None, None);
                    }
                });
            }
            if let Some(on) = &self.from[at].on {
                on.smaller().into_iter().for_each(|e| with(&|s| s.from[at].on = Some(e.clone())));
            }
            if let Relation::Text(text, width) = &self.from[at].relation {
                for smaller in text.smaller() {
                    with(&|s| s.from[at].relation = Relation::Text(smaller.clone(), *width));
                }
            }
            if let Relation::Query(query) | Relation::Lateral(query) = &self.from[at].relation {
                let lateral = matches!(self.from[at].relation, Relation::Lateral(_));
                for smaller in query.smaller() {
                    with(&|s| {
                        let query = Box::new(smaller.clone());
                        s.from[at].relation =
                            if lateral { Relation::Lateral(query) } else { Relation::Query(query) };
                    });
                }
            }
        }
        for (at, item) in self.items.iter().enumerate() {
            item.smaller().into_iter().for_each(|e| with(&|s| s.items[at] = e.clone()));
        }
        out
    }
}

impl Query {
    /// The names by which another query reads this one's columns, where it does not name them so itself.
    fn names_given(&self) -> String {
        if self.first.same_names { names(self.first.items.len()) } else { String::new() }
    }

    /// Queries one step smaller.
    pub fn smaller(&self) -> Vec<Query> {
        let mut out = Vec::new();
        let mut with = |change: &dyn Fn(&mut Query)| {
            let mut copy = self.clone();
            change(&mut copy);
            out.push(copy);
        };
        for at in 0..self.rest.len() {
            with(&|q| drop(q.rest.remove(at)));
            with(&|q| q.first = q.rest.remove(at).1);
        }
        if self.limit.is_some() {
            with(&|q| q.limit = None);
        } else if !self.order.is_empty() {
            with(&|q| q.order.clear());
        }
        for at in 0..self.ctes.len() {
            with(&|q| drop(q.ctes.remove(at)));
            let Cte { how, query, .. } = &self.ctes[at];
            if !how.is_empty() {
                with(&|q| q.ctes[at].how = "");
            }
            query.smaller().into_iter().for_each(|c| with(&|q| q.ctes[at].query = c.clone()));
        }
        // An output column less, in every branch.
        for at in 0..self.first.items.len() {
            if self.first.items.len() > 1 {
                with(&|q| {
                    q.first.items.remove(at);
                    q.rest
                        .iter_mut()
                        .for_each(|(_, s)| drop((at < s.items.len()).then(|| s.items.remove(at))));
                    q.order.retain(|(position, _)| *position != at);
                    q.order.iter_mut().for_each(|(position, _)| *position -= usize::from(*position > at));
                });
            }
        }
        self.first.smaller().into_iter().for_each(|s| with(&|q| q.first = s.clone()));
        for at in 0..self.rest.len() {
            self.rest[at].1.smaller().into_iter().for_each(|s| with(&|q| q.rest[at].1 = s.clone()));
        }
        out
    }
}
