//! Printing queries.
//!
//! As in all of `print`, what comes out is read back as the same tree. Words that may be left out (AS, INNER, ALL)
//! have one form, so that queries that mean the same in words print alike.

use super::expr::order_by;
use super::{Print, clause, each, in_parens, list, put, word_if};
use crate::tree::{
    AliasColumn, ClauseOrder, CommonQuery, Distinct, Frame, FrameBound, FrameExclusion, FrameUnit, GroupBy,
    GroupItem, GroupItems, Join, JoinCondition, JoinKind, Limit, Lock, OrderItem, OrderKey, PivotOn,
    PivotStatement, PivotValues, Query, Sample, SampleUnit, Select, SelectItem, SetExpr, SetKind,
    SetOperator, Table, TableAlias, TableKind, TablePivot, TablePivotKind, TableWithJoins, WindowSpec, With,
};

impl Print for Query {
    fn print(&self, out: &mut String) {
        if let Some(with) = &self.with {
            put!(out, with, " ");
        }
        self.body.print(out);
        order_by(out, &self.order_by);
        if let Some(limit) = self.limit.as_ref().filter(|limit| !limit.fetch) {
            limit.print(out);
        }
        clause(out, "OFFSET", self.offset.as_ref());
        if let Some(limit) = self.limit.as_ref().filter(|limit| limit.fetch) {
            limit.print(out);
        }
        for lock in &self.locks {
            lock.print(out);
        }
    }
}

impl Print for With {
    fn print(&self, out: &mut String) {
        out.push_str(if self.recursive { "WITH RECURSIVE " } else { "WITH " });
        list(out, &self.queries);
    }
}

impl Print for CommonQuery {
    fn print(&self, out: &mut String) {
        self.name.print(out);
        in_parens(out, &self.columns);
        if !self.key.is_empty() {
            out.push_str(" USING KEY");
            in_parens(out, &self.key);
        }
        out.push_str(" AS ");
        match self.materialized {
            Some(true) => out.push_str("MATERIALIZED "),
            Some(false) => out.push_str("NOT MATERIALIZED "),
            None => {}
        }
        put!(out, "(", self.statement, ")");
        if let Some(search) = &self.search {
            out.push_str(if search.depth { " SEARCH DEPTH FIRST BY " } else { " SEARCH BREADTH FIRST BY " });
            list(out, &search.by);
            put!(out, " SET ", search.set);
        }
        if let Some(cycle) = &self.cycle {
            out.push_str(" CYCLE ");
            list(out, &cycle.columns);
            put!(out, " SET ", cycle.set);
            if let Some((mark, default)) = &cycle.values {
                put!(out, " TO ", mark, " DEFAULT ", default);
            }
            put!(out, " USING ", cycle.path);
        }
    }
}

impl Print for SetExpr {
    fn print(&self, out: &mut String) {
        match self {
            SetExpr::Select(select) => select.print(out),
            SetExpr::Query(query) => put!(out, "(", query, ")"),
            SetExpr::Values(rows) => {
                out.push_str("VALUES ");
                each(out, rows, ", ", |out, row| {
                    out.push('(');
                    list(out, row);
                    out.push(')');
                });
            }
            SetExpr::Table(path) => put!(out, "TABLE ", path),
            SetExpr::Set(first, rest) => {
                first.print(out);
                for (operator, operand) in rest {
                    put!(out, " ", operator, " ", operand);
                }
            }
            SetExpr::Pivot(pivot) => pivot.print(out),
            SetExpr::Inspect(statement) => statement.print(out),
        }
    }
}

impl Print for SetOperator {
    fn print(&self, out: &mut String) {
        out.push_str(match self.kind {
            SetKind::Union => "UNION",
            SetKind::Intersect => "INTERSECT",
            SetKind::Except => "EXCEPT",
        });
        match self.all {
            Some(true) => out.push_str(" ALL"),
            Some(false) => out.push_str(" DISTINCT"),
            None => {}
        }
        word_if(out, self.by_name, "BY NAME");
    }
}

impl Print for Select {
    fn print(&self, out: &mut String) {
        let from = |out: &mut String| {
            out.push_str("FROM ");
            list(out, &self.from);
        };
        match self.order {
            ClauseOrder::FromOnly => from(out),
            ClauseOrder::FromFirst => {
                from(out);
                out.push(' ');
                self.print_list(out);
            }
            ClauseOrder::SelectFirst => {
                self.print_list(out);
                if !self.from.is_empty() {
                    out.push(' ');
                    from(out);
                }
            }
        }
        clause(out, "WHERE", self.condition.as_ref());
        clause(out, "GROUP BY", self.group_by.as_ref());
        clause(out, "HAVING", self.having.as_ref());
        if !self.windows.is_empty() {
            out.push_str(" WINDOW ");
            each(out, &self.windows, ", ", |out, (name, spec)| put!(out, name, " AS ", spec));
        }
        clause(out, "QUALIFY", self.qualify.as_ref());
        clause(out, "USING SAMPLE", self.sample.as_ref());
    }
}

impl Select {
    fn print_list(&self, out: &mut String) {
        out.push_str("SELECT");
        match &self.distinct {
            Distinct::Unsaid => {}
            Distinct::All => out.push_str(" ALL"),
            Distinct::Distinct => out.push_str(" DISTINCT"),
            Distinct::On(keys) => {
                out.push_str(" DISTINCT ON");
                in_parens(out, keys);
            }
        }
        if !self.items.is_empty() {
            out.push(' ');
            list(out, &self.items);
        }
        if let Some(into) = &self.into {
            out.push_str(" INTO");
            word_if(out, into.temporary, "TEMPORARY");
            word_if(out, into.unlogged, "UNLOGGED");
            put!(out, " TABLE ", into.table);
        }
    }
}

impl Print for SelectItem {
    fn print(&self, out: &mut String) {
        match &self.alias {
            Some(alias) if self.alias_first => put!(out, alias, " : ", self.value),
            Some(alias) => put!(out, self.value, " AS ", alias),
            None => self.value.print(out),
        }
    }
}

impl Print for GroupBy {
    fn print(&self, out: &mut String) {
        match self.distinct {
            Some(true) => out.push_str("DISTINCT "),
            Some(false) => out.push_str("ALL "),
            None => {}
        }
        match &self.items {
            GroupItems::All => out.push_str("ALL"),
            GroupItems::List(items) => list(out, items),
        }
    }
}

impl Print for GroupItem {
    fn print(&self, out: &mut String) {
        let sets = |out: &mut String, word: &str, sets: &[Vec<crate::tree::Expr>]| {
            put!(out, word, " (");
            each(out, sets, ", ", |out, set| match set.as_slice() {
                [one] => one.print(out),
                several => {
                    out.push('(');
                    list(out, several);
                    out.push(')');
                }
            });
            out.push(')');
        };
        match self {
            GroupItem::Expr(expr) => expr.print(out),
            GroupItem::Empty(_) => out.push_str("()"),
            GroupItem::Rollup(all, _) => sets(out, "ROLLUP", all),
            GroupItem::Cube(all, _) => sets(out, "CUBE", all),
            GroupItem::Sets(items, _) => {
                out.push_str("GROUPING SETS");
                in_parens(out, items);
            }
        }
    }
}

impl Print for OrderItem {
    fn print(&self, out: &mut String) {
        match &self.key {
            OrderKey::All => out.push_str("ALL"),
            OrderKey::Expr(expr) => expr.print(out),
            OrderKey::Using(expr, operator) => put!(out, expr, " USING ", operator),
        }
        match self.descending {
            Some(true) => out.push_str(" DESC"),
            Some(false) => out.push_str(" ASC"),
            None => {}
        }
        match self.nulls_first {
            Some(true) => out.push_str(" NULLS FIRST"),
            Some(false) => out.push_str(" NULLS LAST"),
            None => {}
        }
    }
}

impl Print for Limit {
    fn print(&self, out: &mut String) {
        if !self.fetch {
            out.push_str(" LIMIT ");
            match &self.count {
                Some(count) => count.print(out),
                None => out.push_str("ALL"),
            }
            word_if(out, self.percent, "PERCENT");
            return;
        }
        out.push_str(" FETCH FIRST");
        if let Some(count) = &self.count {
            put!(out, " ", count);
        }
        word_if(out, self.percent, "PERCENT");
        out.push_str(if self.with_ties { " ROWS WITH TIES" } else { " ROWS ONLY" });
    }
}

impl Print for Lock {
    fn print(&self, out: &mut String) {
        put!(out, " FOR ", self.strength);
        if !self.of.is_empty() {
            out.push_str(" OF ");
            list(out, &self.of);
        }
        if let Some(wait) = &self.wait {
            put!(out, " ", wait);
        }
    }
}

impl Print for TableWithJoins {
    fn print(&self, out: &mut String) {
        self.table.print(out);
        for join in &self.joins {
            put!(out, " ", join);
        }
    }
}

impl Print for Join {
    fn print(&self, out: &mut String) {
        if self.natural {
            out.push_str("NATURAL ");
        }
        if self.asof {
            out.push_str("ASOF ");
        }
        out.push_str(match self.kind {
            JoinKind::Plain => "",
            JoinKind::Inner => "INNER ",
            JoinKind::Left => "LEFT ",
            JoinKind::Right => "RIGHT ",
            JoinKind::Full => "FULL ",
            JoinKind::Cross => "CROSS ",
            JoinKind::Semi => "SEMI ",
            JoinKind::Anti => "ANTI ",
            JoinKind::Positional => "POSITIONAL ",
        });
        if self.outer {
            out.push_str("OUTER ");
        }
        put!(out, "JOIN ", self.table);
        match &self.condition {
            JoinCondition::None => {}
            JoinCondition::On(condition) => put!(out, " ON ", condition),
            JoinCondition::Using(columns, alias) => {
                out.push_str(" USING");
                in_parens(out, columns);
                clause(out, "AS", alias.as_ref());
            }
        }
    }
}

impl Print for Table {
    fn print(&self, out: &mut String) {
        if let Some(alias) = self.alias.as_ref().filter(|alias| alias.first)
            && let Some(name) = &alias.name
        {
            put!(out, name, " : ");
        }
        self.kind.print(out);
        if let Some(alias) = self.alias.as_ref().filter(|alias| !alias.first) {
            put!(out, " ", alias);
        }
        clause(out, "TABLESAMPLE", self.sample.as_ref());
        for pivot in &self.pivots {
            put!(out, " ", pivot);
        }
    }
}

impl Print for TableKind {
    fn print(&self, out: &mut String) {
        let lateral = |out: &mut String, lateral: bool| {
            if lateral {
                out.push_str("LATERAL ");
            }
        };
        match self {
            TableKind::Named { only, name } => {
                if *only {
                    out.push_str("ONLY ");
                }
                name.print(out);
            }
            TableKind::File(text) => text.print(out),
            TableKind::Query { lateral: is, query } => {
                lateral(out, *is);
                put!(out, "(", query, ")");
            }
            TableKind::Function { lateral: is, name, arguments, ordinality } => {
                lateral(out, *is);
                put!(out, name, "(");
                list(out, arguments);
                out.push(')');
                word_if(out, *ordinality, "WITH ORDINALITY");
            }
            TableKind::RowsFrom { lateral: is, functions, ordinality } => {
                lateral(out, *is);
                out.push_str("ROWS FROM (");
                each(out, functions, ", ", |out, (name, arguments, columns)| {
                    put!(out, name, "(");
                    list(out, arguments);
                    out.push(')');
                    if !columns.is_empty() {
                        out.push_str(" AS");
                        in_parens(out, columns);
                    }
                });
                out.push(')');
                word_if(out, *ordinality, "WITH ORDINALITY");
            }
            TableKind::Joined(joined) => put!(out, "(", joined, ")"),
        }
    }
}

impl Print for TableAlias {
    fn print(&self, out: &mut String) {
        out.push_str("AS");
        if let Some(name) = &self.name {
            put!(out, " ", name);
        }
        in_parens(out, &self.columns);
    }
}

impl Print for AliasColumn {
    fn print(&self, out: &mut String) {
        self.name.print(out);
        if let Some(ty) = &self.ty {
            put!(out, " ", ty);
        }
    }
}

impl Print for Sample {
    fn print(&self, out: &mut String) {
        let unit = |out: &mut String| match self.unit {
            Some(SampleUnit::Rows) => out.push_str(" ROWS"),
            Some(SampleUnit::Percent) => out.push_str(" PERCENT"),
            None => {}
        };
        if self.in_parens {
            if let Some(method) = &self.method {
                method.print(out);
            }
            put!(out, "(", self.amount);
            unit(out);
            out.push(')');
            if let Some(seed) = &self.seed {
                put!(out, " REPEATABLE (", seed, ")");
            }
            return;
        }
        self.amount.print(out);
        unit(out);
        if let Some(method) = &self.method {
            put!(out, " (", method, ")");
        }
        if let Some(seed) = &self.seed {
            put!(out, " REPEATABLE (", seed, ")");
        }
    }
}

impl Print for WindowSpec {
    fn print(&self, out: &mut String) {
        let mut parts: Vec<String> = Vec::new();
        if let Some(base) = &self.base {
            parts.push(base.to_string());
        }
        if !self.partition_by.is_empty() {
            let mut part = String::from("PARTITION BY ");
            list(&mut part, &self.partition_by);
            parts.push(part);
        }
        if !self.order_by.is_empty() {
            let mut part = String::from("ORDER BY ");
            list(&mut part, &self.order_by);
            parts.push(part);
        }
        if let Some(frame) = &self.frame {
            let mut part = String::new();
            frame.print(&mut part);
            parts.push(part);
        }
        put!(out, "(", parts.join(" ").as_str(), ")");
    }
}

impl Print for Frame {
    fn print(&self, out: &mut String) {
        out.push_str(match self.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        match &self.end {
            Some(end) => put!(out, "BETWEEN ", self.start, " AND ", end),
            None => self.start.print(out),
        }
        if let Some(exclusion) = &self.exclusion {
            out.push_str(match exclusion {
                FrameExclusion::CurrentRow => " EXCLUDE CURRENT ROW",
                FrameExclusion::Group => " EXCLUDE GROUP",
                FrameExclusion::Ties => " EXCLUDE TIES",
                FrameExclusion::NoOthers => " EXCLUDE NO OTHERS",
            });
        }
    }
}

impl Print for FrameBound {
    fn print(&self, out: &mut String) {
        match self {
            FrameBound::UnboundedPreceding => out.push_str("UNBOUNDED PRECEDING"),
            FrameBound::Preceding(distance) => put!(out, distance, " PRECEDING"),
            FrameBound::CurrentRow => out.push_str("CURRENT ROW"),
            FrameBound::Following(distance) => put!(out, distance, " FOLLOWING"),
            FrameBound::UnboundedFollowing => out.push_str("UNBOUNDED FOLLOWING"),
        }
    }
}

impl Print for PivotValues {
    fn print(&self, out: &mut String) {
        match self {
            PivotValues::List(items) => {
                out.push('(');
                list(out, items);
                out.push(')');
            }
            PivotValues::Query(query) => put!(out, "(", query, ")"),
            PivotValues::Type(path) => path.print(out),
        }
    }
}

impl Print for TablePivot {
    fn print(&self, out: &mut String) {
        match &self.kind {
            TablePivotKind::Pivot { aggregates, columns, group_by } => {
                out.push_str("PIVOT (");
                list(out, aggregates);
                out.push_str(" FOR ");
                each(out, columns, " ", |out, column| {
                    column.value.print(out);
                    clause(out, "IN", column.among.as_ref());
                });
                if !group_by.is_empty() {
                    out.push_str(" GROUP BY ");
                    list(out, group_by);
                }
                out.push(')');
            }
            TablePivotKind::Unpivot(unpivot) => {
                out.push_str("UNPIVOT");
                include_nulls(out, unpivot.include_nulls);
                out.push_str(" (");
                match unpivot.values.as_slice() {
                    [value] => value.print(out),
                    values => {
                        out.push('(');
                        list(out, values);
                        out.push(')');
                    }
                }
                put!(out, " FOR ", unpivot.name, " IN");
                in_parens(out, &unpivot.columns);
                out.push(')');
            }
        }
        if let Some(alias) = &self.alias {
            put!(out, " ", alias);
        }
    }
}

fn include_nulls(out: &mut String, include: Option<bool>) {
    match include {
        Some(true) => out.push_str(" INCLUDE NULLS"),
        Some(false) => out.push_str(" EXCLUDE NULLS"),
        None => {}
    }
}

impl Print for PivotStatement {
    fn print(&self, out: &mut String) {
        out.push_str(if self.unpivot { "UNPIVOT" } else { "PIVOT" });
        include_nulls(out, self.include_nulls);
        put!(out, " ", self.source);
        if !self.on.is_empty() {
            out.push_str(" ON ");
            list(out, &self.on);
        }
        if !self.aggregates.is_empty() {
            out.push_str(" USING ");
            list(out, &self.aggregates);
        }
        if !self.group_by.is_empty() {
            out.push_str(" GROUP BY ");
            list(out, &self.group_by);
        }
        if let Some((name, values)) = &self.into {
            put!(out, " INTO NAME ", name, " VALUE ");
            list(out, values);
        }
    }
}

impl Print for PivotOn {
    fn print(&self, out: &mut String) {
        self.item.print(out);
        clause(out, "IN", self.among.as_ref());
    }
}
