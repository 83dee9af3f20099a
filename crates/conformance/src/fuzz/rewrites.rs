//! What tempts a rewrite: volatile calls, NULLs with and without a type, relations that are no tables, columns of one
//! name, common table expressions that are computed once or copied.
//!
//! A query with a volatile call still has one answer, because such a call stands only where its value does not
//! matter: in conditions that hold for every value (`unshaken`), in numbers that are always zero, and in questions
//! whose answer tells that each call was evaluated once (`QUESTIONS`). `twins` gives the queries without the calls
//! that must have the same answer.

use super::expressions::{Column, Generator};
use super::tree::{Cte, Expr, Family, FromItem, Query, Relation, Select};

/// A whole number from 0 to 99, another one at each evaluation.
const VOLATILE: &str = "CAST(floor(random() * 100) AS INTEGER)";

/// The sequence that `nextval` is asked of.
pub const SEQUENCE: &str = "fuzz_calls";

/// Questions over the rows of any query, `{}`; `V` is a volatile number.
const QUESTIONS: [&str; 39] = [
    // A group key that a filter picks.
    "(SELECT count(*) FILTER (WHERE k IS DISTINCT FROM 1) FROM (SELECT k, count(*) AS n FROM (SELECT V % 3 AS k FROM ({}) AS q) AS s GROUP BY k) AS g WHERE k = 1)",
    "(SELECT sum(n) FROM (SELECT k, count(*) AS n FROM (SELECT V AS k FROM ({}) AS q) AS s GROUP BY k HAVING count(*) > 0) AS g)",
    "(SELECT sum(n) FROM (SELECT k, count(*) AS n FROM (SELECT V % 4 AS k FROM ({}) AS q) AS s GROUP BY ROLLUP (k)) AS g)",
    // What a filter lets through is what is seen above it.
    "(SELECT count(*) FILTER (WHERE v >= 50) FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE v < 50)",
    "(SELECT count(*) FILTER (WHERE v >= 50) FROM (SELECT V AS v FROM ({}) AS q UNION ALL SELECT V FROM (VALUES (1), (2), (3)) AS w(i)) AS s WHERE v < 50)",
    "(SELECT count(*) FILTER (WHERE v >= 50) FROM (SELECT V AS v FROM ({}) AS q) AS s CROSS JOIN (VALUES (1), (2)) AS w(i) WHERE v < 50)",
    // Common table expressions that are used twice.
    "(WITH c AS (SELECT V AS v FROM ({}) AS q) SELECT count(*) FROM (SELECT v FROM c EXCEPT ALL SELECT v FROM c) AS d)",
    "(WITH c AS NOT MATERIALIZED (SELECT V AS v FROM ({}) AS q) SELECT (SELECT count(*) FROM c WHERE v < 50) + (SELECT count(*) FROM c WHERE v >= 50))",
    "(WITH c AS (SELECT V AS v FROM ({}) AS q) SELECT count(*) FROM c WHERE v IN (SELECT v FROM c))",
    "(WITH c AS (SELECT V AS v FROM ({}) AS q) SELECT count(*) FROM c WHERE NOT EXISTS (SELECT 1 FROM c AS d WHERE d.v = c.v))",
    "(WITH c AS (SELECT V AS v FROM ({}) AS q), d AS (SELECT v, v + 1 AS w FROM c) SELECT count(*) FROM d WHERE w - 1 NOT IN (SELECT v FROM c))",
    "(WITH c AS (SELECT row_number() OVER () AS n, V AS v FROM ({}) AS q) SELECT count(*) FROM c AS x JOIN c AS y ON x.n = y.n AND x.v = y.v)",
    // Columns that are used more than once above where they are computed.
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s JOIN (VALUES (1), (2)) AS w(i) ON s.v = s.v)",
    "(SELECT count(*) FROM (SELECT v, v + 1 AS w FROM (SELECT V AS v FROM ({}) AS q) AS s) AS z WHERE w = v + 1)",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s CROSS JOIN LATERAL (SELECT s.v + 1 AS w) AS l WHERE w = v + 1)",
    "(SELECT count(*) FROM (SELECT v, max(v) OVER (PARTITION BY v) AS m FROM (SELECT V AS v FROM ({}) AS q) AS s) AS z WHERE m = v)",
    "(SELECT count(*) FROM (SELECT v, lag(v) OVER (ORDER BY v) AS p FROM (SELECT V AS v FROM ({}) AS q) AS s) AS z WHERE p > v)",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q ORDER BY 1 LIMIT 10) AS s WHERE v <> v)",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q UNION ALL SELECT V FROM (VALUES (1), (2)) AS w(i)) AS s WHERE v BETWEEN v AND v)",
    // Operands that a rewrite could write out more than once.
    "(SELECT count(*) FROM (SELECT NULLIF( V % 3, 1) AS r FROM ({}) AS q) AS s WHERE r = 1)",
    "(SELECT count(*) FROM (SELECT greatest( V % 3, 1) AS r FROM ({}) AS q) AS s WHERE r < 1)",
    "(SELECT count(*) FROM ({}) AS q WHERE V % 3 IN (0, 1, (SELECT 2)))",
    "(SELECT count(*) FROM ({}) AS q WHERE ( V % 2, 1) < (1, 5))",
    "(SELECT count(*) FROM ({}) AS q WHERE V IN (SELECT g FROM generate_series(0, 99) AS s(g)))",
    "(SELECT count(*) FROM ({}) AS q WHERE V % 2 NOT IN (SELECT g FROM generate_series(0, 1) AS s(g)))",
    "(SELECT count(*) - count(DISTINCT k) FROM (SELECT V % 3 AS k FROM ({}) AS q GROUP BY 1) AS s)",
    "(SELECT count(*) - count(DISTINCT v) FROM (SELECT V AS v FROM ({}) AS q UNION SELECT V FROM (VALUES (1), (2)) AS w(i)) AS s)",
    "(SELECT count(*) FROM (SELECT DISTINCT v, v + 0 AS w FROM (SELECT V AS v FROM ({}) AS q) AS s) AS z WHERE v <> w)",
    "(SELECT count(*) FROM (SELECT v, first_value(v) OVER (PARTITION BY v % 2 ORDER BY v DESC) AS f FROM (SELECT V AS v FROM ({}) AS q) AS s) AS z WHERE f < v)",
    "(WITH c AS (SELECT row_number() OVER () AS n, V AS v FROM ({}) AS q) SELECT count(*) FROM c AS x FULL JOIN c AS y ON x.n = y.n AND x.v <= y.v)",
    // Correlated subqueries, whose domain is a copy of the rows around them.
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE v = (SELECT s.v))",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE (SELECT max(s.v + i) FROM (VALUES (1), (2)) AS w(i)) = v + 2)",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE EXISTS (SELECT s.v INTERSECT SELECT s.v))",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s LEFT JOIN LATERAL (SELECT s.v AS w UNION ALL SELECT s.v) AS l ON true WHERE w = v)",
    "(SELECT count(*) FROM (SELECT s.v, (SELECT count(*) FROM (SELECT s.v UNION ALL SELECT s.v) AS u) AS n FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE random() < 0.5) AS z WHERE n IS DISTINCT FROM 2)",
    // One value for all of a scalar subquery's readers, and for all branches of a CASE.
    "(SELECT count(DISTINCT r) FROM (SELECT (SELECT V) AS r FROM ({}) AS q) AS s)",
    "(SELECT count(*) FROM (SELECT CASE V % 2 WHEN 0 THEN 'a' WHEN 1 THEN 'b' END AS r FROM ({}) AS q) AS s WHERE r IS NULL)",
    "(SELECT count(*) FROM (SELECT V AS v FROM ({}) AS q) AS s WHERE (v < 50) = (v >= 50) OR v NOT BETWEEN 0 AND 99)",
    "(WITH RECURSIVE r(n, v) AS (SELECT 1, V UNION ALL SELECT n + 1, v FROM r WHERE n < 4) SELECT count(DISTINCT v) + count(*) FROM r WHERE EXISTS ({}))",
];

/// The calls of a sequence are as many as rows, and no two give the same.
const CALLS: [&str; 3] = [
    "(SELECT count(*) + count(DISTINCT v) * 1000 + (max(v) - min(v)) * 1000000 FROM (SELECT N AS v FROM ({}) AS q) AS s)",
    "(WITH c AS (SELECT N AS v FROM ({}) AS q) SELECT count(*) + 1000 * count(DISTINCT x.v) FROM c AS x JOIN c AS y ON x.v = y.v)",
    "(SELECT max(v) - min(v) FROM (SELECT v FROM (SELECT N AS v FROM ({}) AS q) AS s WHERE v = v AND v > 0) AS t)",
];

/// The queries that have the answer of a query with volatile calls; `None` where it has no such call. Two, so that a
/// query whose answer the calls do change (one that the reducer made) is known by their difference.
pub fn twins(sql: &str) -> Option<[String; 2]> {
    let calls = format!("nextval('{SEQUENCE}')");
    if !sql.contains("random()") && !sql.contains(&calls) {
        return None;
    }
    let numbered = sql.replace(&calls, "(7 + row_number() OVER ())");
    let with = |value: &str| numbered.replace("random()", &format!("CAST({value} AS DOUBLE PRECISION)"));
    Some([with("0.5"), with("0.03")])
}

impl Generator<'_> {
    /// A NULL with or without a type.
    pub(super) fn null_of(&mut self, family: Family) -> Expr {
        if self.random.chance(50) {
            return Expr::text(family, "NULL");
        }
        Expr::text(family, format!("CAST(NULL AS {})", family.example()))
    }

    /// A condition that holds (or is NULL in rows that an outer join adds) whatever a volatile call gives.
    pub(super) fn unshaken(&mut self) -> Expr {
        let columns: Vec<String> =
            self.scopes.iter().flatten().filter(|c| c.volatile).map(|c| c.text.clone()).collect();
        let text = if columns.is_empty() || self.random.chance(25) {
            (*self.random.pick(&[
                "(random() >= 0)",
                "(random() < 2)",
                "(random() IS NOT NULL)",
                "(VOLATILE BETWEEN 0 AND 99)",
                "NOT (VOLATILE = -1)",
                "(CASE WHEN random() < 0 THEN NULL ELSE TRUE END)",
            ]))
            .replace("VOLATILE", VOLATILE)
        } else {
            let column = self.random.pick(&columns).clone();
            (*self.random.pick(&[
                "(@ = @)",
                "(@ IS NOT DISTINCT FROM @)",
                "(@ IS NOT NULL)",
                "(@ BETWEEN 0 AND 99)",
                "((@ < 50) <> (@ >= 50))",
                "(@ IN (@, NULL))",
                "(@ + 1 > @)",
                "(CASE WHEN @ < 50 THEN @ ELSE @ END = @)",
                "(CASE @ WHEN 5 THEN @ = 5 ELSE @ <> 5 END)",
                "(COALESCE(NULL, @) = @)",
                "(NULLIF(@, @) IS NULL)",
                "EXISTS (SELECT 1 WHERE @ = @)",
                "(@ = (SELECT @))",
                "(@ IN (SELECT @))",
            ]))
            .replace('@', &column)
        };
        Expr::text(Family::Boolean, text)
    }

    /// A whole number that is always zero, or a column that is there to tempt.
    pub(super) fn zero(&mut self) -> Expr {
        let text = *self.random.pick(&[
            "CAST(floor(random()) AS INTEGER)",
            "CASE WHEN random() < 2 THEN 0 ELSE 1 END",
            "(0 * CAST(floor(random() * 100) AS INTEGER))",
        ]);
        Expr::text(Family::Whole, text)
    }

    /// Adds a column of unpredictable values, which only the conditions of `unshaken` read.
    pub(super) fn with_volatile(&mut self, query: &mut Query, alias: &str) -> Option<Column> {
        if query.first.distinct || !query.rest.is_empty() {
            return None;
        }
        query.first.items.push(Expr::text(Family::Uuid, VOLATILE));
        let text = format!("{alias}.c{}", query.first.items.len() - 1);
        Some(Column { text, family: Family::Whole, volatile: true })
    }

    /// A query that asks one of the questions.
    pub(super) fn question(&mut self) -> Query {
        let calls = self.random.chance(15);
        let template = if calls { *self.random.pick(&CALLS) } else { *self.random.pick(&QUESTIONS) };
        let template = template
            .replace(" V", &format!(" {VOLATILE}"))
            .replace("SELECT N AS", &format!("SELECT nextval('{SEQUENCE}') AS"));
        self.nesting += 1;
        let (mut inner, _) = self.query(&[None, None]);
        self.nesting -= 1;
        // A name that the question uses would mean the question's.
        inner.first.same_names = false;
        let text = Expr::new(Family::Uuid, &template, vec![inner.into()]);
        let item = FromItem {
            join: "",
            relation: Relation::Text(text, 1),
            alias: "x0".into(),
            on: None,
            using: None,
        };
        let first =
            Select { items: vec![Expr::text(Family::Whole, "x0.c0")], from: vec![item], ..Select::default() };
        Query { first, ..Query::default() }
    }

    /// A relation that is neither a table nor a SELECT: VALUES with NULLs of every kind, a recursion, a series.
    pub(super) fn text_relation(&mut self, alias: &str) -> (Relation, Vec<Column>) {
        // Rows of VALUES see no neighbours.
        let hidden = std::mem::take(&mut self.scopes);
        let families: Vec<Family> = (0..1 + self.random.below(3)).map(|_| self.any_family()).collect();
        let (text, families) = match self.random.below(5) {
            0 => self.recursion(families[0]),
            1 => {
                let last = self.random.between(-1, 6);
                let text = Expr::text(
                    Family::Uuid,
                    format!("(SELECT CAST(g AS INTEGER) FROM generate_series(0, {last}) AS s(g))"),
                );
                (text, vec![Family::Whole])
            }
            _ => {
                let rows = 1 + self.random.below(4);
                let mut holes = Vec::new();
                for _ in 0..rows {
                    for family in &families {
                        let value = if self.random.chance(30) {
                            self.null_of(*family)
                        } else {
                            self.literal_of(*family)
                        };
                        holes.push(value.into());
                    }
                }
                let row = format!("({})", vec!["{}"; families.len()].join(", "));
                let template = format!("(VALUES {})", vec![row; rows].join(", "));
                (Expr::new(Family::Uuid, &template, holes), families)
            }
        };
        self.scopes = hidden;
        let named = families.iter().enumerate();
        let columns = named
            .map(|(at, f)| Column { text: format!("{alias}.c{at}"), family: *f, volatile: false })
            .collect();
        (Relation::Text(text, families.len()), columns)
    }

    fn recursion(&mut self, family: Family) -> (Expr, Vec<Family>) {
        let (last, all) = (self.random.between(0, 5), *self.random.pick(&["", " ALL"]));
        let second = if self.random.chance(25) { self.null_of(family) } else { self.literal_of(family) };
        let other = if self.random.chance(25) { self.null_of(family) } else { self.literal_of(family) };
        let step = *self.random.pick(&[
            "v",
            "COALESCE(v, {})",
            "CASE WHEN n > 1 THEN v ELSE {} END",
            "NULLIF(v, {})",
        ]);
        let template = format!(
            "(WITH RECURSIVE r(n, v) AS (SELECT 0, {{}} UNION{all} SELECT n + 1, {step} FROM r WHERE n < {last}) SELECT n, v FROM r)"
        );
        let mut holes = vec![second.into()];
        if step.contains("{}") {
            holes.push(other.into());
        }
        (Expr::new(Family::Uuid, &template, holes), vec![Family::Whole, family])
    }

    /// How a common table expression is to be computed.
    pub(super) fn common(&mut self, name: String, query: Query) -> Cte {
        let how =
            if self.rewrites { *self.random.pick(&["", "MATERIALIZED ", "NOT MATERIALIZED "]) } else { "" };
        Cte { name, how, query }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::queries::rewrite_query;
    use crate::fuzz::tables::rewrite_tables;
    use random::Random;

    #[test]
    fn twins_have_no_volatile_call() {
        assert_eq!(twins("SELECT 1"), None);
        let [one, other] = twins("SELECT nextval('fuzz_calls'), random() < 2").unwrap();
        assert_eq!(one, "SELECT (7 + row_number() OVER ()), CAST(0.5 AS DOUBLE PRECISION) < 2");
        assert_ne!(one, other);
    }

    /// Everything that the head promises comes up within some hundred queries.
    #[test]
    fn every_kind_is_generated() {
        let mut all = String::new();
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let tables = rewrite_tables(&mut random, false);
            for _ in 0..40 {
                all.push_str(&rewrite_query(&mut random, &tables, false).0.to_string());
                all.push('\n');
            }
        }
        let kinds = [
            "random()",
            "nextval(",
            "NULL AS c0",
            "CAST(NULL AS",
            "NOT IN (",
            ", NULL)",
            "COALESCE(",
            "NULLIF(",
            "CASE ",
            " LATERAL (",
            " SEMI JOIN ",
            " ANTI JOIN ",
            " FULL JOIN ",
            " USING (",
            "EXISTS (",
            "GROUPING SETS (",
            "ROLLUP (",
            "CUBE (",
            " HAVING ",
            " FILTER (",
            "SELECT DISTINCT ",
            " OVER (",
            "UNION ALL",
            "INTERSECT ",
            "EXCEPT ",
            "AS MATERIALIZED (",
            "AS NOT MATERIALIZED (",
            "WITH RECURSIVE",
            "VALUES (",
            " LIMIT ",
            " OFFSET ",
            "INTERVAL '",
            "JSONB",
            "struct_extract(",
            "list_",
            "AS c0, NULL AS c0",
        ];
        let missing: Vec<&str> = kinds.into_iter().filter(|kind| !all.contains(kind)).collect();
        assert!(missing.is_empty(), "never generated: {missing:?}");
    }
}
