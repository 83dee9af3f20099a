//! Random typed expressions over the columns in scope.
//!
//! What cannot have one answer is not generated: the order of rows without ORDER BY, LIMIT without a total order, the
//! text of a float. With `portable`, neither is what DuckDB means otherwise: comparisons of rows with NULLs, `/` of
//! whole numbers and decimals, averages of decimals, casts of floats to whole numbers, negative positions in strings,
//! BYTEA, UUID, intervals as values, backslashes in patterns.

use super::tables::{FuzzTable, literal, random_value};
use super::tree::{Expr, Family, Piece};
use random::Random;

/// A column that generated expressions may read.
#[derive(Clone, Debug)]
pub struct Column {
    /// The qualified name, as SQL.
    pub text: String,
    /// The family of the column's type.
    pub family: Family,
    /// Its values are random: only what `rewrites` says may read it.
    pub volatile: bool,
}

/// The state of one query's generation. All choices come from `random`, so that a seed repeats a query exactly.
pub struct Generator<'a> {
    /// The source of every choice.
    pub random: &'a mut Random,
    /// The tables that queries may read.
    pub tables: &'a [FuzzTable],
    /// Leaves out what DuckDB means otherwise (see the head of this file).
    pub portable: bool,
    /// Columns by nesting of queries, the innermost last.
    pub scopes: Vec<Vec<Column>>,
    /// The number of aliases handed out.
    pub aliases: usize,
    /// How many queries are open around what is generated.
    pub nesting: usize,
    /// Rounding may differ with the order of rows: no LIMIT by this result.
    pub inexact: bool,
    /// Inside an aggregate: quotients of floats would make sums inexact.
    pub exact_only: bool,
    /// Subqueries are not wanted here.
    pub plain: bool,
    /// Lists, structs and maps are wanted.
    pub nested: bool,
    /// What tempts a rewrite is wanted.
    pub rewrites: bool,
}

/// Queries inside queries.
const DEPTH_MAX: usize = 4;

const FAMILIES: [Family; 7] = [
    Family::Boolean,
    Family::Whole,
    Family::Decimal,
    Family::Float,
    Family::Text,
    Family::Date,
    Family::Timestamp,
];

impl Generator<'_> {
    /// A family that a column in scope has, or one of the usual ones.
    pub fn any_family(&mut self) -> Family {
        let own: Vec<Family> =
            self.scopes.last().into_iter().flatten().filter(|c| !c.volatile).map(|c| c.family).collect();
        if !own.is_empty() && self.random.chance(75) {
            *self.random.pick(&own)
        } else {
            *self.random.pick(&FAMILIES)
        }
    }

    /// A random constant of the family.
    pub fn literal_of(&mut self, family: Family) -> Expr {
        let ty = family.example();
        let value = random_value(self.random, ty, self.portable, false);
        let mut text = literal(&value, ty);
        if family == Family::Float && !text.starts_with("CAST") {
            text = format!("CAST({text} AS DOUBLE PRECISION)");
        }
        if text.starts_with('-') {
            text = format!("({text})");
        }
        Expr::text(family, text)
    }

    /// A column of the family: of this query, sometimes of one around it; `None` when there is none.
    pub fn column(&mut self, family: Family) -> Option<Expr> {
        let depth = self.scopes.len();
        // An aggregate over outer columns alone would belong to the outer query.
        let outer = depth > 1 && !self.exact_only && self.random.chance(30);
        let level = if outer { self.random.below(depth - 1) } else { depth.checked_sub(1)? };
        let fitting: Vec<&Column> =
            self.scopes[level].iter().filter(|c| c.family == family && !c.volatile).collect();
        if fitting.is_empty() {
            return None;
        }
        let text = fitting[self.random.below(fitting.len())].text.clone();
        Some(Expr::text(family, text))
    }

    /// An expression without operands: mostly a column, else a constant, a NULL or, for conditions, a comparison.
    pub fn leaf(&mut self, family: Family) -> Expr {
        if self.rewrites {
            match self.random.below(100) {
                0..4 => return self.null_of(family),
                4..14 if family == Family::Boolean => return self.unshaken(),
                4..6 if family == Family::Whole => return self.zero(),
                _ => {}
            }
        }
        if self.random.chance(85)
            && let Some(column) = self.column(family)
        {
            return column;
        }
        if family == Family::Boolean && self.random.chance(92) {
            // A constant condition says little.
            let compared = self.any_family();
            if let Some(column) = self.column(compared) {
                let other = self.column(compared).filter(|_| self.random.chance(25));
                let other = other.unwrap_or_else(|| self.literal_of(compared));
                let operator = *self.random.pick(&["=", "<>", "<", "<=", ">", ">="]);
                let holes = vec![column.into(), other.into()];
                return Expr::new(family, &format!("({{}} {operator} {{}})"), holes);
            }
        }
        if self.random.chance(6) {
            return Expr::text(family, format!("CAST(NULL AS {})", family.example()));
        }
        self.literal_of(family)
    }

    fn hole(&mut self, family: Family, depth: usize) -> Piece {
        Piece::Expr(self.expr(family, depth))
    }

    /// `template` with holes of the given families.
    fn fill(&mut self, family: Family, template: &str, holes: &[Family], depth: usize) -> Expr {
        let holes = holes.iter().map(|f| self.hole(*f, depth)).collect();
        Expr::new(family, template, holes)
    }

    /// A random expression of the family, with operands nested up to `depth` levels, subqueries not counted.
    pub fn expr(&mut self, family: Family, depth: usize) -> Expr {
        if depth == 0 || self.random.chance(25) {
            return self.leaf(family);
        }
        let below = depth - 1;
        if self.random.chance(18) {
            return self.choice(family, below);
        }
        if !self.plain && self.nesting < DEPTH_MAX && self.random.chance(4) {
            return self.scalar_subquery(family);
        }
        if self.nested
            && self.random.chance(25)
            && let Some(expr) = self.nested_expr(family, below)
        {
            return expr;
        }
        match family {
            Family::Boolean => self.condition(below),
            Family::Whole => self.whole(below),
            Family::Decimal => self.decimal(below),
            Family::Float => self.float(below),
            Family::Text => self.text(below),
            Family::Date => match self.random.below(if self.portable { 2 } else { 3 }) {
                0 => {
                    let days = self.random.between(-3, 10);
                    self.fill(family, &format!("({{}} + ({days}))"), &[Family::Date], below)
                }
                1 => self.fill(family, "CAST({} AS DATE)", &[Family::Timestamp], below),
                _ => self.fill(family, "({} - 2)", &[Family::Date], below),
            },
            Family::Timestamp => match self.random.below(if self.portable { 4 } else { 5 }) {
                0 => self.fill(family, "CAST({} AS TIMESTAMP)", &[Family::Date], below),
                1 => {
                    let unit = *self.random.pick(&["MONTH", "DAY", "YEAR", "HOUR"]);
                    let count = self.random.between(1, 14);
                    let sign = *self.random.pick(&["+", "-"]);
                    let from = *self.random.pick(&[Family::Date, Family::Timestamp]);
                    self.fill(family, &format!("({{}} {sign} INTERVAL '{count}' {unit})"), &[from], below)
                }
                2 => {
                    let unit = *self.random.pick(&["year", "quarter", "month", "week", "day"]);
                    self.fill(family, &format!("date_trunc('{unit}', {{}})"), &[Family::Timestamp], below)
                }
                3 if !self.portable => self.in_zone(family, Family::TimestampTz, below),
                _ => self.leaf(family),
            },
            Family::TimestampTz if !self.portable && self.random.chance(70) => match self.random.below(3) {
                0 => self.in_zone(family, Family::Timestamp, below),
                1 => self.fill(family, "CAST({} AS TIMESTAMPTZ)", &[Family::Timestamp], below),
                _ => {
                    let unit = *self.random.pick(&["MONTH", "DAY", "HOUR"]);
                    let count = self.random.between(1, 14);
                    self.fill(family, &format!("({{}} + INTERVAL '{count}' {unit})"), &[family], below)
                }
            },
            Family::Micros if self.random.chance(50) => {
                self.fill(family, "({} - {})", &[Family::Timestamp, Family::Timestamp], below)
            }
            Family::Months | Family::Micros if self.random.chance(40) => {
                self.fill(family, "({} + {})", &[family; 2], below)
            }
            _ => self.leaf(family),
        }
    }

    /// What a clock shows at a moment, or the moment at which it shows that: zones whose clocks change, on either
    /// side of the equator, by half an hour, and that never do.
    fn in_zone(&mut self, family: Family, from: Family, below: usize) -> Expr {
        let zones =
            ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "+05:30", "UTC"];
        let zone = *self.random.pick(&zones);
        self.fill(family, &format!("({{}} AT TIME ZONE '{zone}')"), &[from], below)
    }

    /// CASE, COALESCE, NULLIF: they take any family.
    fn choice(&mut self, family: Family, depth: usize) -> Expr {
        match self.random.below(6) {
            0 => self.fill(family, "CASE WHEN {} THEN {} END", &[Family::Boolean, family], depth),
            1 => self.fill(
                family,
                "CASE WHEN {} THEN {} ELSE {} END",
                &[Family::Boolean, family, family],
                depth,
            ),
            2 => {
                let by = self.any_family();
                self.fill(family, "CASE {} WHEN {} THEN {} ELSE {} END", &[by, by, family, family], depth)
            }
            3 => self.fill(family, "COALESCE({}, {})", &[family; 2], depth),
            4 if family != Family::Boolean && family != Family::Bytes => {
                let name = *self.random.pick(&["greatest", "least"]);
                self.fill(family, &format!("{name}({{}}, {{}})"), &[family; 2], depth)
            }
            _ => self.fill(family, "NULLIF({}, {})", &[family; 2], depth),
        }
    }

    fn condition(&mut self, depth: usize) -> Expr {
        let b = Family::Boolean;
        let subqueries = !self.plain && self.nesting < DEPTH_MAX;
        match self.random.weighted(&[30, 12, 10, 10, 8, 8, 8, 6, 3, 3, if subqueries { 14 } else { 0 }]) {
            0 => self.comparison(depth),
            1 => {
                let operator = *self.random.pick(&["AND", "OR"]);
                self.fill(b, &format!("({{}} {operator} {{}})"), &[b, b], depth)
            }
            2 => {
                let family = self.any_family();
                let not = *self.random.pick(&["", " NOT"]);
                self.fill(b, &format!("({{}} IS{not} NULL)"), &[family], depth)
            }
            3 => {
                let family = self.any_family();
                let not = *self.random.pick(&["", "NOT "]);
                self.fill(b, &format!("({{}} {not}BETWEEN {{}} AND {{}})"), &[family; 3], depth)
            }
            4 => self.in_list(depth),
            5 => {
                let pattern = *self
                    .random
                    .pick(&["a%", "%b", "%an%", "_", "%", "a_b", "", "%_b%", "%g%r%", "abc", "B%"]);
                let operator = *self.random.pick(&["LIKE", "NOT LIKE", "LIKE", "ILIKE"]);
                self.fill(b, &format!("({{}} {operator} '{pattern}')"), &[Family::Text], depth)
            }
            6 => self.fill(b, "(NOT {})", &[b], depth),
            7 => {
                let what = *self.random.pick(&["IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE"]);
                self.fill(b, &format!("({{}} {what})"), &[b], depth)
            }
            8 => {
                let family = self.any_family();
                let not = *self.random.pick(&["", "NOT "]);
                self.fill(b, &format!("({{}} IS {not}DISTINCT FROM {{}})"), &[family; 2], depth)
            }
            9 => self.fill(b, "starts_with({}, {})", &[Family::Text; 2], depth),
            _ => self.membership(depth),
        }
    }

    /// A comparison of two random operands of families that can be compared.
    pub fn comparison(&mut self, depth: usize) -> Expr {
        let left = self.any_family();
        let numbers = [Family::Whole, Family::Decimal, Family::Float];
        let right = match left {
            Family::Whole | Family::Decimal | Family::Float if self.random.chance(25) => {
                *self.random.pick(&numbers)
            }
            Family::Date if self.random.chance(15) => Family::Timestamp,
            _ => left,
        };
        let operator = *self.random.pick(&["=", "=", "<>", "<", "<=", ">", ">="]);
        self.fill(Family::Boolean, &format!("({{}} {operator} {{}})"), &[left, right], depth)
    }

    fn in_list(&mut self, depth: usize) -> Expr {
        let family = self.any_family();
        if self.random.chance(15) {
            // Items that are no constants: a disjunction.
            let not = *self.random.pick(&["", "NOT "]);
            return self.fill(
                Family::Boolean,
                &format!("({{}} {not}IN ({{}}, {{}}))"),
                &[family; 3],
                depth.min(1),
            );
        }
        if !self.portable && self.random.chance(8) {
            let other = self.any_family();
            let operator = *self.random.pick(&["=", "<>"]);
            let template = format!("(({{}}, {{}}) {operator} ({{}}, {{}}))");
            return self.fill(Family::Boolean, &template, &[family, other, family, other], 0);
        }
        let mut values: Vec<String> =
            (0..1 + self.random.below(4)).map(|_| self.literal_of(family).to_string()).collect();
        if self.random.chance(12) {
            values.push("NULL".into());
        }
        if self.rewrites && self.random.chance(25) {
            let at = self.random.below(values.len() + 1);
            values.insert(at, self.null_of(family).to_string());
        }
        let not = *self.random.pick(&["", "NOT "]);
        let template = format!("({{}} {not}IN ({}))", values.join(", ").replace("{}", ""));
        self.fill(Family::Boolean, &template, &[family], depth)
    }

    fn whole(&mut self, depth: usize) -> Expr {
        let w = Family::Whole;
        match self.random.below(15) {
            0 | 1 => self.fill(w, "({} + {})", &[w, w], depth),
            2 => self.fill(w, "({} - {})", &[w, w], depth),
            3 => self.fill(w, "({} * {})", &[w, w], depth),
            4 if !self.portable => {
                let divisor = *self.random.pick(&["NULLIF({}, 0)", "{}", "2", "(-3)"]);
                let operator = *self.random.pick(&["/", "%"]);
                self.fill(w, &format!("({{}} {operator} {divisor})"), &[w, w], depth)
            }
            4 => self.fill(w, "({} % NULLIF({}, 0))", &[w, w], depth),
            5 => self.fill(w, "abs({})", &[w], depth),
            6 => self.fill(w, "(- {})", &[w], depth),
            7 => {
                let field = *self.random.pick(&["year", "month", "day", "quarter", "dow", "doy"]);
                let from = *self.random.pick(&[Family::Date, Family::Timestamp]);
                self.fill(w, &format!("extract({field} FROM {{}})"), &[from], depth)
            }
            8 => self.fill(w, "length({})", &[Family::Text], depth),
            9 => self.fill(w, "CAST({} AS BIGINT)", &[Family::Decimal], depth),
            10 if !self.portable => self.fill(w, "CAST({} AS INTEGER)", &[Family::Float], depth),
            11 => self.fill(w, "({} - {})", &[Family::Date, Family::Date], depth),
            12 => self.fill(w, "strpos({}, {})", &[Family::Text; 2], depth),
            13 => self.fill(w, "CAST({} AS INTEGER)", &[Family::Boolean], depth),
            _ => {
                let ty = *self.random.pick(&["SMALLINT", "INTEGER", "BIGINT"]);
                self.fill(w, &format!("CAST({{}} AS {ty})"), &[w], depth)
            }
        }
    }

    fn decimal(&mut self, depth: usize) -> Expr {
        let d = Family::Decimal;
        match self.random.below(9) {
            0 => self.fill(d, "({} + {})", &[d, d], depth),
            1 => self.fill(d, "({} - {})", &[d, Family::Whole], depth),
            2 => self.fill(d, "({} * {})", &[d, d], depth),
            3 => self.fill(d, "({} * {})", &[Family::Whole, d], depth),
            4 if !self.portable => {
                let divisor = *self.random.pick(&["NULLIF({}, 0)", "{}"]);
                let operator = *self.random.pick(&["/", "/", "%"]);
                self.fill(d, &format!("({{}} {operator} {divisor})"), &[d, d], depth)
            }
            5 => self.fill(d, "abs({})", &[d], depth),
            6 => {
                let digits = self.random.below(3);
                self.fill(d, &format!("round({{}}, {digits})"), &[d], depth)
            }
            7 => self.fill(d, "(- {})", &[d], depth),
            _ => {
                let from = if self.random.chance(70) { Family::Whole } else { d };
                self.fill(d, "CAST({} AS DECIMAL(14,2))", &[from], depth)
            }
        }
    }

    fn float(&mut self, depth: usize) -> Expr {
        let x = Family::Float;
        match self.random.below(8) {
            0 => self.fill(x, "({} + {})", &[x, x], depth),
            1 => self.fill(x, "({} - {})", &[x, x], depth),
            2 => self.fill(x, "({} * {})", &[x, x], depth),
            3 if !self.exact_only => {
                self.inexact = true;
                self.fill(x, "({} / NULLIF({}, 0))", &[x, x], depth)
            }
            4 => self.fill(x, "abs({})", &[x], depth),
            5 => {
                let name = *self.random.pick(&["floor", "ceil"]);
                self.fill(x, &format!("{name}(CAST({{}} AS DOUBLE PRECISION))"), &[x], depth)
            }
            6 => self.fill(x, "(- {})", &[x], depth),
            _ => self.fill(x, "CAST({} AS DOUBLE PRECISION)", &[Family::Whole], depth),
        }
    }

    fn text(&mut self, depth: usize) -> Expr {
        let t = Family::Text;
        match self.random.below(10) {
            0 | 1 => self.fill(t, "({} || {})", &[t, t], depth),
            2 => self.fill(t, "lower({})", &[t], depth),
            3 => self.fill(t, "upper({})", &[t], depth),
            4 => {
                let from = self.random.between(if self.portable { 1 } else { -2 }, 5);
                let length = self.random.below(6);
                self.fill(t, &format!("substring({{}} FROM {from} FOR {length})"), &[t], depth)
            }
            5 => {
                let side = *self.random.pick(&["btrim", "ltrim", "rtrim"]);
                self.fill(t, &format!("{side}({{}}, 'ab')"), &[t], depth)
            }
            6 => self.fill(t, "replace({}, 'a', {})", &[t, t], depth),
            7 => {
                let name = *self.random.pick(&["left", "right"]);
                let count = self.random.between(if self.portable { 0 } else { -2 }, 5);
                self.fill(t, &format!("{name}({{}}, {count})"), &[t], depth)
            }
            8 => self.fill(t, "reverse({})", &[t], depth),
            _ => {
                let from = *self.random.pick(&[Family::Whole, Family::Date]);
                self.fill(t, "CAST({} AS TEXT)", &[from], depth)
            }
        }
    }
}
