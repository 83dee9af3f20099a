//! Printing statements that change rows, and COPY.
//!
//! As in all of `print`, what comes out is read back as the same tree. Lists of rows are written on one line: a
//! printed INSERT is for machines.

use super::expr::order_by;
use super::{Print, clause, each, in_parens, list, put};
use crate::tree::{
    Assignment, Copy, CopySource, CopyTarget, Delete, Expr, Insert, InsertOr, Merge, MergeAction,
    MergeClause, MergeCondition, MergeWhen, OnConflict, OrderItem, SelectItem, TableWithJoins, Target,
    Truncate, Update, With,
};

fn with(out: &mut String, with: Option<&With>) {
    if let Some(with) = with {
        put!(out, with, " ");
    }
}

fn returning(out: &mut String, items: &[SelectItem]) {
    if !items.is_empty() {
        out.push_str(" RETURNING ");
        list(out, items);
    }
}

fn tables(out: &mut String, word: &str, tables: &[TableWithJoins]) {
    if !tables.is_empty() {
        put!(out, " ", word, " ");
        list(out, tables);
    }
}

fn ordered(out: &mut String, order: &[OrderItem], limit: Option<&Expr>) {
    order_by(out, order);
    clause(out, "LIMIT", limit);
}

fn by_name(out: &mut String, by_name: Option<bool>) {
    match by_name {
        Some(true) => out.push_str(" BY NAME"),
        Some(false) => out.push_str(" BY POSITION"),
        None => {}
    }
}

fn overriding(out: &mut String, system: Option<bool>) {
    match system {
        Some(true) => out.push_str(" OVERRIDING SYSTEM VALUE"),
        Some(false) => out.push_str(" OVERRIDING USER VALUE"),
        None => {}
    }
}

impl Print for Insert {
    fn print(&self, out: &mut String) {
        with(out, self.with.as_ref());
        out.push_str("INSERT");
        match self.or {
            Some(InsertOr::Replace) => out.push_str(" OR REPLACE"),
            Some(InsertOr::Ignore) => out.push_str(" OR IGNORE"),
            None => {}
        }
        put!(out, " INTO ", self.table);
        clause(out, "AS", self.alias.as_ref());
        by_name(out, self.by_name);
        in_parens(out, &self.columns);
        overriding(out, self.overriding_system);
        match &self.source {
            Some(query) => put!(out, " ", query),
            None => out.push_str(" DEFAULT VALUES"),
        }
        if let Some(conflict) = &self.conflict {
            put!(out, " ", conflict);
        }
        returning(out, &self.returning);
    }
}

impl Print for OnConflict {
    fn print(&self, out: &mut String) {
        out.push_str("ON CONFLICT");
        in_parens(out, &self.target);
        clause(out, "WHERE", self.target_condition.as_ref());
        clause(out, "ON CONSTRAINT", self.constraint.as_ref());
        match &self.update {
            None => out.push_str(" DO NOTHING"),
            Some(update) => {
                out.push_str(" DO UPDATE SET ");
                list(out, &update.set);
                clause(out, "WHERE", update.condition.as_ref());
            }
        }
    }
}

impl Print for Target {
    fn print(&self, out: &mut String) {
        self.path.print(out);
        for place in &self.places {
            put!(out, "[", place, "]");
        }
    }
}

impl Print for Assignment {
    fn print(&self, out: &mut String) {
        if self.row {
            out.push('(');
        }
        list(out, &self.targets);
        if self.row {
            out.push(')');
        }
        put!(out, " = ", self.value);
    }
}

impl Print for Update {
    fn print(&self, out: &mut String) {
        with(out, self.with.as_ref());
        out.push_str("UPDATE ");
        if self.only {
            out.push_str("ONLY ");
        }
        self.table.print(out);
        if let Some(alias) = &self.alias {
            put!(out, " ", alias);
        }
        out.push_str(" SET ");
        list(out, &self.set);
        tables(out, "FROM", &self.from);
        clause(out, "WHERE", self.condition.as_ref());
        ordered(out, &self.order_by, self.limit.as_ref());
        returning(out, &self.returning);
    }
}

impl Print for Delete {
    fn print(&self, out: &mut String) {
        with(out, self.with.as_ref());
        out.push_str("DELETE FROM ");
        if self.only {
            out.push_str("ONLY ");
        }
        self.table.print(out);
        if let Some(alias) = &self.alias {
            put!(out, " ", alias);
        }
        tables(out, "USING", &self.using);
        clause(out, "WHERE", self.condition.as_ref());
        ordered(out, &self.order_by, self.limit.as_ref());
        returning(out, &self.returning);
    }
}

impl Print for Merge {
    fn print(&self, out: &mut String) {
        with(out, self.with.as_ref());
        put!(out, "MERGE INTO ", self.table);
        clause(out, "AS", self.alias.as_ref());
        put!(out, " USING ", self.source);
        match &self.condition {
            MergeCondition::On(condition) => put!(out, " ON ", condition),
            MergeCondition::Using(columns) => {
                out.push_str(" USING");
                in_parens(out, columns);
            }
        }
        for clause in &self.clauses {
            put!(out, " ", clause);
        }
        returning(out, &self.returning);
    }
}

impl Print for MergeClause {
    fn print(&self, out: &mut String) {
        out.push_str(match self.when {
            MergeWhen::Matched => "WHEN MATCHED",
            MergeWhen::NotMatched => "WHEN NOT MATCHED",
            MergeWhen::NotMatchedByTarget => "WHEN NOT MATCHED BY TARGET",
            MergeWhen::NotMatchedBySource => "WHEN NOT MATCHED BY SOURCE",
        });
        clause(out, "AND", self.condition.as_ref());
        put!(out, " THEN ", self.action);
    }
}

impl Print for MergeAction {
    fn print(&self, out: &mut String) {
        match self {
            MergeAction::Nothing => out.push_str("DO NOTHING"),
            MergeAction::Delete => out.push_str("DELETE"),
            MergeAction::Update(set) => {
                out.push_str("UPDATE SET ");
                list(out, set);
            }
            MergeAction::UpdateAll { by_name: named } => {
                out.push_str("UPDATE");
                by_name(out, *named);
            }
            MergeAction::Insert { columns, overriding_system, values } => {
                out.push_str("INSERT");
                in_parens(out, columns);
                overriding(out, *overriding_system);
                match values {
                    None => out.push_str(" DEFAULT VALUES"),
                    Some(values) => {
                        out.push_str(" VALUES");
                        in_parens(out, values);
                    }
                }
            }
            MergeAction::InsertAll { by_name: named } => {
                out.push_str("INSERT");
                by_name(out, *named);
            }
            MergeAction::Error(message) => {
                out.push_str("ERROR");
                if let Some(message) = message {
                    put!(out, " ", message);
                }
            }
        }
    }
}

impl Print for Truncate {
    fn print(&self, out: &mut String) {
        out.push_str("TRUNCATE TABLE ");
        each(out, &self.tables, ", ", |out, (only, table)| {
            if *only {
                out.push_str("ONLY ");
            }
            table.print(out);
        });
        match self.restart_identity {
            Some(true) => out.push_str(" RESTART IDENTITY"),
            Some(false) => out.push_str(" CONTINUE IDENTITY"),
            None => {}
        }
        super::create::cascade(out, self.cascade);
    }
}

impl Print for Copy {
    fn print(&self, out: &mut String) {
        out.push_str("COPY ");
        match &self.source {
            CopySource::Table(table, columns) => {
                table.print(out);
                in_parens(out, columns);
            }
            CopySource::Statement(statement) => put!(out, "(", statement, ")"),
        }
        out.push_str(if self.to { " TO " } else { " FROM " });
        match &self.target {
            CopyTarget::File(file) => file.print(out),
            CopyTarget::Standard(_) => out.push_str(if self.to { "STDOUT" } else { "STDIN" }),
            CopyTarget::Program(command) => put!(out, "PROGRAM ", command),
        }
        in_parens(out, &self.options);
        clause(out, "WHERE", self.condition.as_ref());
    }
}
