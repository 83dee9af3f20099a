//! Random queries: FROM and joins, WHERE, grouping, set operations, subqueries, ORDER BY with a total order.
//!
//! The methods extend `Generator`. Every choice comes from its seeded generator. Output columns are named c0, c1 and
//! so on, and an outer query reads them by those names. A query gets LIMIT only if its order is total and no rounding
//! depends on the order of rows, so that it has one answer. Nesting is bounded. Called by `round`, `rules` and
//! `emit`.

use super::expressions::{Column, Generator};
use super::tables::FuzzTable;
use super::tree::{Expr, Family, FromItem, Piece, Query, Relation, Select};
use random::Random;

/// A random query over the tables. The flag says whether rounding may depend on the order of rows.
pub fn random_query(random: &mut Random, tables: &[FuzzTable], portable: bool) -> (Query, bool) {
    query_of(random, tables, portable, false)
}

/// A random query of the rewrite fuzzer.
pub fn rewrite_query(random: &mut Random, tables: &[FuzzTable], portable: bool) -> (Query, bool) {
    query_of(random, tables, portable, true)
}

fn query_of(random: &mut Random, tables: &[FuzzTable], portable: bool, rewrites: bool) -> (Query, bool) {
    // These are judged by other configurations alone.
    let nested = !portable && random.chance(20);
    let mut generator = Generator {
        random,
        tables,
        portable,
        scopes: vec![],
        aliases: 0,
        nesting: 0,
        inexact: false,
        exact_only: false,
        plain: false,
        nested,
        rewrites,
    };
    if rewrites && generator.random.chance(20) {
        return (generator.question(), false);
    }
    let width = 1 + generator.random.below(4);
    let families: Vec<Option<Family>> = vec![None; width];
    let (mut query, _) = generator.query(&families);
    let inexact = generator.inexact;
    generator.order(&mut query, inexact, 45);
    if generator.random.chance(if rewrites { 35 } else { 12 }) {
        generator.as_cte(&mut query);
    }
    (query, inexact)
}

impl Generator<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    /// A total order over all output columns, sometimes with LIMIT.
    fn order(&mut self, query: &mut Query, inexact: bool, percent: usize) {
        if !self.random.chance(percent) {
            return;
        }
        let width = query.first.items.len();
        let first = self.random.below(width);
        for step in 0..width {
            let position = (first + step) % width;
            let how = ["ASC NULLS FIRST", "ASC NULLS LAST", "DESC NULLS FIRST", "DESC NULLS LAST"];
            query.order.push((position, *self.random.pick(&how)));
        }
        if !inexact && self.random.chance(60) {
            let count = *self.random.pick(&[0, 1, 2, 5, 10, 100, 3000]);
            query.limit = Some((count, if self.random.chance(30) { self.random.below(8) as u64 } else { 0 }));
        }
    }

    /// Moves the first relation of a query to a WITH clause, and sometimes uses it twice.
    fn as_cte(&mut self, query: &mut Query) {
        let Some(item) = query.first.from.first_mut() else { return };
        let Relation::Query(inner) = &item.relation else { return };
        let name = format!("w{}", self.nesting);
        let common = self.common(name.clone(), (**inner).clone());
        query.ctes.push(common);
        item.relation = Relation::Table(name.clone());
        if self.random.chance(50) {
            let alias = self.alias();
            let on = Some(Expr::new(
                Family::Boolean,
                "({} = {})",
                vec![
                    Expr::text(Family::Whole, format!("{}.c0", query.first.from[0].alias)).into(),
                    Expr::text(Family::Whole, format!("{alias}.c0")).into(),
                ],
            ));
            query.first.from.push(FromItem {
                join: " LEFT JOIN ",
                relation: Relation::Table(name),
                alias,
                on,
                using: None,
            });
        }
    }

    /// A query with columns of the given families; those not given are chosen. Returns the families it has.
    pub fn query(&mut self, families: &[Option<Family>]) -> (Query, Vec<Family>) {
        self.nesting += 1;
        let (first, found) = self.select(families);
        let mut query = Query { first, ..Query::default() };
        if self.random.chance(if self.nesting == 1 { 18 } else { 8 }) {
            let wanted: Vec<Option<Family>> = found.iter().map(|f| Some(*f)).collect();
            for _ in 0..1 + self.random.below(2) {
                let operators = ["UNION ALL", "UNION", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"];
                let operator = *self.random.pick(&operators);
                query.rest.push((operator, self.select(&wanted).0));
            }
        }
        // In a subquery too, hiding that of the query around it.
        if self.nesting > 1 && query.rest.is_empty() && self.random.chance(if self.rewrites { 15 } else { 6 })
        {
            self.as_cte(&mut query);
        }
        self.nesting -= 1;
        (query, found)
    }

    fn select(&mut self, families: &[Option<Family>]) -> (Select, Vec<Family>) {
        self.scopes.push(vec![]);
        let mut select = Select { from: self.from(), ..Select::default() };
        if self.random.chance(65) {
            let depth = 1 + self.random.below(3);
            select.filter = Some(self.expr(Family::Boolean, depth));
        }
        let found = if self.random.chance(if self.nesting == 1 { 40 } else { 25 }) {
            self.grouped(&mut select, families)
        } else {
            self.plain_items(&mut select, families)
        };
        self.scopes.pop();
        (select, found)
    }

    fn plain_items(&mut self, select: &mut Select, families: &[Option<Family>]) -> Vec<Family> {
        let mut found = Vec::new();
        for family in families {
            let family = family.unwrap_or_else(|| self.any_family());
            found.push(family);
            let level = if self.rewrites { 2 } else { 1 };
            let item = if self.nesting <= level && !self.plain && self.random.chance(12) {
                self.window(family)
            } else {
                self.expr(family, 2)
            };
            select.items.push(item);
        }
        select.distinct = self.random.chance(15);
        select.same_names = self.rewrites && self.random.chance(12);
        found
    }

    fn grouped(&mut self, select: &mut Select, families: &[Option<Family>]) -> Vec<Family> {
        let mut keys = Vec::new();
        for _ in 0..self.random.below(3) {
            let family = self.any_family();
            let plain = std::mem::replace(&mut self.plain, true);
            let depth = usize::from(self.random.chance(30));
            let key = self.expr(family, depth);
            self.plain = plain;
            // A constant in GROUP BY would be a position.
            if key.to_string().contains('.') && key.to_string().contains('x') {
                keys.push(key);
            }
        }
        select.groups = keys.clone();
        if !keys.is_empty() && (self.nesting == 1 || self.rewrites) && self.random.chance(20) {
            let sets = ["ROLLUP", "CUBE", "GROUPING SETS"];
            select.sets = sets[self.random.below(if self.rewrites { 3 } else { 2 })];
        }
        let mut found = Vec::new();
        for family in families {
            let fitting: Vec<&Expr> = keys.iter().filter(|k| family.is_none_or(|f| f == k.family)).collect();
            let item = if !fitting.is_empty() && self.random.chance(45) {
                fitting[self.random.below(fitting.len())].clone()
            } else {
                self.aggregate_item(*family)
            };
            found.push(item.family);
            select.items.push(item);
        }
        if self.random.chance(30) {
            let (left, right) = (self.aggregate(Family::Whole), self.literal_of(Family::Whole));
            let operator = *self.random.pick(&["=", "<>", "<", ">", ">="]);
            let mut having = Expr::new(
                Family::Boolean,
                &format!("({{}} {operator} {{}})"),
                vec![left.into(), right.into()],
            );
            if self.random.chance(20) {
                let more = self.aggregate(Family::Boolean);
                having = Expr::new(Family::Boolean, "({} OR {})", vec![having.into(), more.into()]);
            }
            select.having = Some(having);
        }
        found
    }

    fn aggregate_item(&mut self, family: Option<Family>) -> Expr {
        let family =
            family.unwrap_or_else(|| if self.random.chance(50) { Family::Whole } else { self.any_family() });
        let call = self.aggregate(family);
        match family {
            Family::Whole if self.random.chance(20) => Expr::new(family, "({} + 1)", vec![call.into()]),
            _ if self.random.chance(10) => {
                let other = self.literal_of(family);
                Expr::new(family, "COALESCE({}, {})", vec![call.into(), other.into()])
            }
            _ => call,
        }
    }

    /// An aggregate call of the family.
    fn aggregate(&mut self, family: Family) -> Expr {
        let (plain, exact) =
            (std::mem::replace(&mut self.plain, true), std::mem::replace(&mut self.exact_only, true));
        let distinct = if self.random.chance(25) { "DISTINCT " } else { "" };
        if !self.portable && self.random.chance(12) {
            let call = self.ordered_aggregate(family);
            (self.plain, self.exact_only) = (plain, exact);
            return call;
        }
        if self.nested
            && self.random.chance(20)
            && let Some(call) = self.nested_aggregate(family)
        {
            (self.plain, self.exact_only) = (plain, exact);
            return call;
        }
        let (template, argument) = match family {
            Family::Whole => match self.random.below(6) {
                0 | 1 => ("count(*)".to_owned(), None),
                2 | 3 => (format!("count({distinct}{{}})"), Some(self.any_family())),
                _ => (format!("sum({distinct}{{}})"), Some(Family::Whole)),
            },
            Family::Decimal => match self.random.below(if self.portable { 2 } else { 3 }) {
                0 => (format!("sum({distinct}{{}})"), Some(family)),
                1 => (format!("{}({{}})", self.random.pick(&["min", "max"])), Some(family)),
                _ => (format!("avg({distinct}{{}})"), Some(family)),
            },
            Family::Float => {
                self.inexact = true;
                match self.random.below(6) {
                    0 | 1 => (format!("sum({distinct}{{}})"), Some(family)),
                    2 => (
                        format!("avg({distinct}{{}})"),
                        Some(*self.random.pick(&[Family::Whole, Family::Float])),
                    ),
                    3 if !self.portable => {
                        let name = *self.random.pick(&["stddev_samp", "stddev_pop", "var_samp", "var_pop"]);
                        (format!("{name}({{}})"), Some(*self.random.pick(&[Family::Whole, Family::Float])))
                    }
                    _ => (format!("{}({{}})", self.random.pick(&["min", "max"])), Some(family)),
                }
            }
            Family::Boolean => {
                (format!("{}({{}})", self.random.pick(&["bool_and", "bool_or"])), Some(family))
            }
            _ => (format!("{}({{}})", self.random.pick(&["min", "max"])), Some(family)),
        };
        let depth = if self.random.chance(40) { 1 } else { 0 };
        let mut holes: Vec<Piece> = argument.map(|f| self.expr(f, depth).into()).into_iter().collect();
        let mut template = template;
        if self.random.chance(15) {
            template.push_str(" FILTER (WHERE {})");
            holes.push(self.expr(Family::Boolean, 1).into());
        }
        (self.plain, self.exact_only) = (plain, exact);
        Expr::new(family, &template, holes)
    }

    /// The FROM clause; its columns go to the innermost scope.
    fn from(&mut self) -> Vec<FromItem> {
        let count = match self.nesting {
            1 => 1 + self.random.weighted(&[30, 38, 22, 10]),
            2 => 1 + self.random.weighted(&[65, 28, 7]),
            _ => 1,
        };
        let mut items: Vec<FromItem> = Vec::new();
        for at in 0..count {
            let alias = self.alias();
            let (relation, columns) = if self.rewrites && self.random.chance(12) {
                self.text_relation(&alias)
            } else {
                self.relation(&alias, at > 0)
            };
            let lateral = matches!(relation, Relation::Lateral(_));
            let mut join = match self.random.weighted(&[30, 25, 12, 10, 4, 4]) {
                0 => " JOIN ",
                1 => " LEFT JOIN ",
                2 => " RIGHT JOIN ",
                3 => " FULL JOIN ",
                4 => " CROSS JOIN ",
                _ => ", ",
            };
            if lateral {
                join = *self.random.pick(&[" LEFT JOIN ", " CROSS JOIN ", " JOIN "]);
            }
            if self.rewrites && !self.portable && !lateral && self.random.chance(10) {
                join = *self.random.pick(&[" SEMI JOIN ", " ANTI JOIN "]);
            }
            let kept = at == 0 || !matches!(join, " SEMI JOIN " | " ANTI JOIN ");
            let conditional = at > 0 && !matches!(join, " CROSS JOIN " | ", ");
            // Two plain tables share the column `a`; with more of them it would be ambiguous.
            let plain = matches!(relation, Relation::Table(_))
                && items.iter().all(|i| matches!(i.relation, Relation::Table(_)));
            let using = conditional && at == 1 && plain && self.random.chance(8);
            let on = (conditional && !using)
                .then(|| self.on(&columns, items.last().is_some_and(|l| l.join == ", ")));
            if let Some(scope) = self.scopes.last_mut()
                && kept
            {
                scope.extend(columns);
            }
            let using = using.then_some("a");
            items.push(FromItem { join: if at == 0 { "" } else { join }, relation, alias, on, using });
        }
        // An ON clause sees only its own side of a comma.
        for item in &mut items {
            if item.join == ", " {
                item.join = " CROSS JOIN ";
            }
        }
        items
    }

    fn relation(&mut self, alias: &str, may_be_lateral: bool) -> (Relation, Vec<Column>) {
        if self.nesting < 3 && self.random.chance(22) {
            let lateral = may_be_lateral && self.random.chance(30);
            // Without LATERAL the query sees none of its neighbours, nor what is further out through them.
            let hidden = if lateral { None } else { self.scopes.pop() };
            let width = 1 + self.random.below(3);
            let (mut query, families) = self.query(&vec![None; width]);
            self.scopes.extend(hidden);
            let inexact = self.inexact;
            self.order(&mut query, inexact, if self.rewrites { 25 } else { 8 });
            let named = families.iter().enumerate();
            let mut columns: Vec<Column> = named
                .map(|(at, f)| Column { text: format!("{alias}.c{at}"), family: *f, volatile: false })
                .collect();
            if self.rewrites && self.random.chance(35) {
                columns.extend(self.with_volatile(&mut query, alias));
            }
            let query = Box::new(query);
            return (if lateral { Relation::Lateral(query) } else { Relation::Query(query) }, columns);
        }
        let table = self.random.pick(self.tables);
        let columns = table.fields.iter().enumerate();
        let columns = columns
            .map(|(at, f)| Column {
                text: format!("{alias}.{}", f.name),
                family: table.family(at),
                volatile: false,
            })
            .collect();
        (Relation::Table(table.name.clone()), columns)
    }

    /// A join condition between the columns so far and the new ones: mostly equalities.
    fn on(&mut self, new: &[Column], _after_comma: bool) -> Expr {
        let old = self.scopes.last().cloned().unwrap_or_default();
        let pairs: Vec<(&Column, &Column)> = old
            .iter()
            .flat_map(|o| new.iter().map(move |n| (o, n)))
            .filter(|(o, n)| o.family == n.family && !o.volatile && !n.volatile)
            .collect();
        let mut parts: Vec<Expr> = Vec::new();
        let compare = |operator: &str, (o, n): (&Column, &Column)| {
            let holes = vec![Expr::text(o.family, &*o.text).into(), Expr::text(n.family, &*n.text).into()];
            Expr::new(Family::Boolean, &format!("({{}} {operator} {{}})"), holes)
        };
        if !pairs.is_empty() && self.random.chance(88) {
            for _ in 0..1 + self.random.below(2) {
                parts.push(compare("=", *self.random.pick(&pairs)));
            }
        }
        if !pairs.is_empty() && (parts.is_empty() || self.random.chance(25)) {
            let operator = *self.random.pick(&["<", ">=", "<>"]);
            parts.push(compare(operator, *self.random.pick(&pairs)));
        }
        if self.random.chance(15) {
            // Any condition over both sides, without subqueries.
            let added = new.len();
            if let Some(scope) = self.scopes.last_mut() {
                scope.extend(new.iter().cloned());
            }
            let plain = std::mem::replace(&mut self.plain, true);
            parts.push(self.expr(Family::Boolean, 2));
            self.plain = plain;
            if let Some(scope) = self.scopes.last_mut() {
                scope.truncate(scope.len() - added);
            }
        }
        let mut parts = parts.into_iter();
        let first = parts.next().unwrap_or_else(|| Expr::text(Family::Boolean, "TRUE"));
        parts
            .fold(first, |all, part| Expr::new(Family::Boolean, "({} AND {})", vec![all.into(), part.into()]))
    }

    /// A subquery with one aggregate, which mostly gives exactly one row.
    pub(super) fn scalar_subquery(&mut self, family: Family) -> Expr {
        // An aggregate without groups has exactly one row; a few others may have more, which is an error.
        self.nesting += 1;
        self.scopes.push(vec![]);
        let mut select = Select { from: self.from(), ..Select::default() };
        if self.random.chance(70) {
            select.filter = Some(self.expr(Family::Boolean, 2));
        }
        let item = self.aggregate_item(Some(family));
        select.items.push(item);
        self.scopes.pop();
        self.nesting -= 1;
        let query = Query { first: select, ..Query::default() };
        Expr::new(family, "({})", vec![query.into()])
    }

    /// EXISTS, IN, ANY and ALL.
    pub(super) fn membership(&mut self, depth: usize) -> Expr {
        let b = Family::Boolean;
        let not = *self.random.pick(&["", "NOT "]);
        if self.random.chance(35) {
            let (query, _) = self.query(&[None]);
            return Expr::new(b, &format!("({not}EXISTS ({{}}))"), vec![query.into()]);
        }
        let family = self.any_family();
        let left = self.expr(family, depth.min(1));
        if self.random.chance(12) {
            let other = self.any_family();
            let second = self.expr(other, 0);
            let (query, _) = self.query(&[Some(family), Some(other)]);
            let holes = vec![left.into(), second.into(), query.into()];
            return Expr::new(b, &format!("(({{}}, {{}}) {not}IN ({{}}))"), holes);
        }
        let (query, _) = self.query(&[Some(family)]);
        let template = if self.random.chance(75) {
            format!("({{}} {not}IN ({{}}))")
        } else {
            let operator = *self.random.pick(&["=", "<", ">=", "<>"]);
            let quantifier = *self.random.pick(&["ANY", "ALL"]);
            format!("({{}} {operator} {quantifier} ({{}}))")
        };
        Expr::new(b, &template, vec![left.into(), query.into()])
    }
}
