//! UPDATE, DELETE, MERGE, TRUNCATE, queries with changes in their WITH, and the INSERTs that do more than insert.
//!
//! The statement becomes a query that gives one row for each change (`bind::modify`). WITH queries are bound first,
//! and changes of rows among them run before the main query (`binder_with`). Views cannot be changed. Forms of other
//! systems are refused. Called by `Context::plan`.

use plan::statement::{ObjectName, TableOptions};
use plan::{LogicalQuery, Statement};
use syntax::Span;
use syntax::tree::{
    self, CommonQuery, Delete, Expr as Ast, ExprKind as AstKind, Insert, InsertOr, Merge, Name, OnConflict,
    Path, Query, SelectItem, SetExpr, StatementKind as Kind, TableAlias, Truncate, Update, With,
};
use types::{Error, Result, SqlState};

use super::Context;
use super::load::{fills_in_order, values_of};
use crate::bind::modify::conflict::{Conflicting, InsertParts, Taking};
use crate::bind::modify::merge::{MergeParts, refuse_clauses};
use crate::bind::modify::{Changing, DeleteParts, Named, UpdateParts, always_generated};
pub(crate) use crate::bind::nodes::row_query;
use crate::bind::query::changes_rows;
use crate::bind::{Binder, folded, is_default};
use crate::{RelationInfo, place};

impl<'a> Context<'a> {
    /// A query that is a statement: with INTO it makes a table, and its WITH may change rows.
    pub(super) fn query(&self, query: &'a Query) -> Result<Statement> {
        if let Some(tree::Into { temporary, unlogged: _, table }) = into_of(&query.body) {
            // UNLOGGED tables are written like others.
            let options = TableOptions { temporary: *temporary, ..TableOptions::default() };
            let (name, _) = self.object_name(table)?;
            let mut bare = query.clone();
            take_into(&mut bare.body);
            let planned = self.top_query(self.texts.keep_query(bare))?;
            return self.create_as(name, &[], planned, options, None);
        }
        match self.query_of_changes(query) {
            Some(planned) => Ok(Statement::ChangingQuery(Box::new(planned?))),
            None => Ok(Statement::Query(self.binder().query(query)?)),
        }
    }

    /// The table that a statement changes; a view is an error.
    pub(super) fn changed_table(&self, name: &Path) -> Result<(ObjectName, RelationInfo)> {
        let (named, span) = self.existing_name(name)?;
        if self.relations.view(named.schema.as_deref(), &named.name).is_some() {
            let message = format!("cannot change the rows of view \"{}\"", named.name);
            let error = Error::new(SqlState::WrongObjectType, message)
                .with_hint("change those of the tables that it reads");
            return Err(self.at(error, span));
        }
        self.table(name)
    }

    /// A binder that knows the expressions of a statement's WITH, with the changes of rows among them bound.
    pub(super) fn binder_with(&self, with: Option<&'a With>) -> Result<Binder<'a>> {
        let mut binder = self.binder().with_queries(with)?;
        for (at, common) in with.iter().flat_map(|with| with.queries.iter().enumerate()) {
            let statement = &*common.statement;
            if !changes_rows(statement) {
                continue;
            }
            if with_of(statement).is_some() {
                return Err(Error::unsupported(
                    "WITH in a change of rows that stands in a WITH is not supported",
                )
                .with_hint("write its expressions into the outer WITH, before it"));
            }
            binder.change_in_with(at, |binder| match &statement.kind {
                Kind::Insert(insert) => self.inserting(insert, binder),
                Kind::Update(update) => self.updating(update, binder),
                Kind::Delete(delete) => self.deleting(delete, binder),
                Kind::Merge(merge) => self.merging(merge, binder),
                _ => Err(odd_form("WITH")),
            })?;
        }
        Ok(binder)
    }

    fn modified(
        &self,
        with: Option<&'a With>,
        bind: impl FnOnce(&mut Binder<'a>) -> Result<Changing>,
    ) -> Result<Statement> {
        let mut binder = self.binder_with(with)?;
        let changing = bind(&mut binder)?;
        Ok(Statement::Modify(Box::new(binder.modification(changing)?)))
    }

    /// A query with changes of rows in its WITH; `None` for others.
    fn query_of_changes(&self, query: &'a Query) -> Option<Result<LogicalQuery>> {
        let with = query.with.as_ref()?;
        if !with.queries.iter().any(|common| changes_rows(&common.statement)) {
            return None;
        }
        let bare = self.texts.keep_query(Query { with: None, ..query.clone() });
        Some(self.binder_with(Some(with)).and_then(|binder| binder.query_of_changes(bare)))
    }

    /// A query at the top of a statement that does something with its rows: its WITH may change rows.
    pub(super) fn top_query(&self, query: &'a Query) -> Result<LogicalQuery> {
        self.query_of_changes(query).unwrap_or_else(|| self.binder().query(query))
    }

    /// The query that makes a table.
    pub(super) fn made_of(&self, statement: &'a tree::Statement) -> Result<LogicalQuery> {
        self.top_query(row_query(self.text, statement)?)
    }

    /// The query of COPY TO, or the rows that a change of rows there returns.
    pub(super) fn copied_query(&self, statement: &'a tree::Statement) -> Result<LogicalQuery> {
        let returning = match &statement.kind {
            Kind::Insert(insert) => &insert.returning,
            Kind::Update(update) => &update.returning,
            Kind::Delete(delete) => &delete.returning,
            Kind::Merge(merge) => &merge.returning,
            _ => return row_query(self.text, statement).and_then(|query| self.top_query(query)),
        };
        if returning.is_empty() {
            let error = Error::unsupported("COPY query must have a RETURNING clause");
            return Err(error.at(place::START));
        }
        self.top_query(self.texts.keep_query(rows_of(statement)))
    }

    /// UPDATE, with the WITH in front of it.
    pub(super) fn update(&self, update: &'a Update) -> Result<Statement> {
        self.modified(update.with.as_ref(), |binder| self.updating(update, binder))
    }

    fn updating(&self, update: &'a Update, binder: &mut Binder<'a>) -> Result<Changing> {
        let Update {
            with: _,
            // No table has others that inherit from it.
            only: _,
            table,
            alias,
            set,
            from,
            condition,
            order_by,
            limit,
            returning,
            span: _,
        } = update;
        set.iter().try_for_each(|assignment| self.refuse_places(&assignment.targets))?;
        if !order_by.is_empty() || limit.is_some() {
            return Err(odd_form("UPDATE"));
        }
        let (name, info) = self.changed_table(table)?;
        let alias = self.alias_of(alias.as_ref())?;
        let parts = UpdateParts { assignments: set, from, selection: condition.as_ref(), returning };
        binder.update(Named { name, info: &info, alias }, parts)
    }

    /// DELETE, with the WITH in front of it.
    pub(super) fn delete(&self, delete: &'a Delete) -> Result<Statement> {
        self.modified(delete.with.as_ref(), |binder| self.deleting(delete, binder))
    }

    fn deleting(&self, delete: &'a Delete, binder: &mut Binder<'a>) -> Result<Changing> {
        // No table has others that inherit from it.
        let Delete { with: _, only: _, table, alias, using, condition, order_by, limit, returning, span: _ } =
            delete;
        if !order_by.is_empty() || limit.is_some() {
            return Err(odd_form("DELETE"));
        }
        let (name, info) = self.changed_table(table)?;
        let alias = self.alias_of(alias.as_ref())?;
        let parts = DeleteParts { using, selection: condition.as_ref(), returning };
        binder.delete(Named { name, info: &info, alias }, parts)
    }

    /// The rows of a table for which a condition holds, as those that a DELETE takes away.
    pub(super) fn rows_where(&self, table: &Path, condition: &'a Ast) -> Result<Statement> {
        let (name, info) = self.changed_table(table)?;
        let mut binder = self.binder();
        // Such a condition takes no parameters.
        binder.values = crate::parameters::Given::Nothing;
        let parts = DeleteParts { using: &[], selection: Some(condition), returning: &[] };
        let changing = binder.delete(Named { name, info: &info, alias: None }, parts)?;
        Ok(Statement::Modify(Box::new(binder.modification(changing)?)))
    }

    /// MERGE, with the WITH in front of it.
    pub(super) fn merge(&self, merge: &'a Merge) -> Result<Statement> {
        self.modified(merge.with.as_ref(), |binder| self.merging(merge, binder))
    }

    fn merging(&self, merge: &'a Merge, binder: &mut Binder<'a>) -> Result<Changing> {
        let Merge { with: _, table, alias, source, condition, clauses, returning, span: _ } = merge;
        for clause in clauses {
            match &clause.action {
                tree::MergeAction::Update(set) => {
                    set.iter().try_for_each(|assignment| self.refuse_places(&assignment.targets))?;
                }
                tree::MergeAction::Insert { columns, .. } => self.refuse_places(columns)?,
                _ => {}
            }
        }
        refuse_clauses(self.text, clauses)?;
        if clauses.is_empty() {
            return Err(Error::new(SqlState::SyntaxError, "MERGE needs a WHEN clause").at(place::START));
        }
        let (name, info) = self.changed_table(table)?;
        let parts =
            MergeParts { source, condition, written: alias.as_ref().or(table.last()), clauses, returning };
        let alias = alias.as_ref().map(folded);
        binder.merge(Named { name, info: &info, alias }, parts)
    }

    /// INSERT with RETURNING, ON CONFLICT or WITH in front.
    pub(super) fn insert_and_more(&self, insert: &'a Insert) -> Result<Statement> {
        self.modified(insert.with.as_ref(), |binder| self.inserting(insert, binder))
    }

    fn inserting(&self, insert: &'a Insert, binder: &mut Binder<'a>) -> Result<Changing> {
        if let Some(conflict) = &insert.conflict {
            self.refuse_conflict(conflict)?;
        }
        let (name, info, targets) = self.insert_target(insert)?;
        let conflict = match &insert.conflict {
            Some(conflict) => Some(Conflicting::of(conflict)),
            None => shorthand(insert.or, &info, &targets)?,
        };
        let parts =
            InsertParts { source: insert.source.as_deref(), targets, conflict, returning: &insert.returning };
        let alias = insert.alias.as_ref().map(folded);
        let named = Named { name, info: &info, alias };
        binder.fewer = fills_in_order(insert);
        let changing = binder.insert(named, parts);
        binder.fewer = false;
        changing
    }

    fn refuse_conflict(&self, conflict: &OnConflict) -> Result<()> {
        let OnConflict { target, target_condition, constraint: _, update, span: _ } = conflict;
        if let Some(condition) = target_condition {
            return Err(self.unsupported("WHERE behind the columns of ON CONFLICT", condition.span));
        }
        let odd = |column: &&Ast| !matches!(&column.kind, AstKind::Column(path) if path.single().is_some());
        if let Some(column) = target.iter().find(odd) {
            return Err(self.unsupported("an expression in ON CONFLICT", column.span));
        }
        let mut set = update.iter().flat_map(|update| &update.set);
        set.try_for_each(|assignment| self.refuse_places(&assignment.targets))
    }

    /// An INSERT gives no values for columns that are GENERATED ALWAYS, unless the statement overrides that.
    pub(super) fn refuse_given(&self, insert: &Insert, info: &RelationInfo, targets: &[usize]) -> Result<()> {
        let overriding = insert.overriding_system.is_some();
        let values = values_of(insert.source.as_deref());
        for (place, target) in targets.iter().enumerate() {
            let mut rows = values.iter().flat_map(|rows| rows.iter());
            let defaults = values.is_some() && rows.all(|row| row.get(place).is_none_or(is_default));
            let computed = info.is_generated(*target);
            let kept = computed || (info.is_always_generated(*target) && !overriding);
            if kept && insert.source.is_some() && !defaults {
                return Err(always_generated(info, *target));
            }
        }
        Ok(())
    }

    /// TRUNCATE of one or several tables.
    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Statement> {
        let Truncate { tables: written, restart_identity, cascade } = truncate;
        let mut tables = Vec::with_capacity(written.len());
        // No table has others that inherit from it, with ONLY or without.
        for (_, table) in written {
            let (name, info) = self.changed_table(table)?;
            self.binder().check_write(&info, access::Privilege::Truncate, &[])?;
            tables.push((info.id, name));
        }
        Ok(Statement::Truncate {
            tables,
            cascade: *cascade == Some(true),
            restart_identity: *restart_identity == Some(true),
        })
    }

    /// The name that UPDATE and DELETE give their table.
    fn alias_of(&self, alias: Option<&TableAlias>) -> Result<Option<String>> {
        let Some(TableAlias { name, columns, first: _ }) = alias else { return Ok(None) };
        let Some(name) = name else {
            let at = columns.first().map(|column| column.name.span).unwrap_or_default();
            return Err(self.unsupported("a list of columns without a name before it", at));
        };
        match columns.is_empty() {
            true => Ok(Some(folded(name))),
            false => Err(Error::new(SqlState::SyntaxError, "the table to change has no column aliases")),
        }
    }
}

/// INTO of the first SELECT of a query's body.
fn into_of(body: &SetExpr) -> Option<&tree::Into> {
    match body {
        SetExpr::Set(first, _) => into_of(first),
        SetExpr::Select(select) => select.into.as_ref(),
        _ => None,
    }
}

fn take_into(body: &mut SetExpr) {
    match body {
        SetExpr::Set(first, _) => take_into(first),
        SetExpr::Select(select) => select.into = None,
        _ => {}
    }
}

/// INSERT OR IGNORE and INSERT OR REPLACE as ON CONFLICT has them. The latter leaves what the INSERT has no values for
/// as it is.
fn shorthand<'a>(
    or: Option<InsertOr>,
    info: &RelationInfo,
    targets: &[usize],
) -> Result<Option<Conflicting<'a>>> {
    match or {
        None => return Ok(None),
        Some(InsertOr::Ignore) => return Ok(Some(Conflicting::nothing())),
        Some(InsertOr::Replace) => {}
    }
    let mut keys = info.primary_key.iter().chain(&info.unique);
    let (Some(key), None) = (keys.next(), keys.next()) else {
        let message = "INSERT OR REPLACE is for tables with one primary key or unique constraint";
        let error = Error::new(SqlState::InvalidColumnReference, message).at(place::START);
        return Err(error.with_hint("write ON CONFLICT (column) DO UPDATE SET ..."));
    };
    let taken: Vec<usize> = (0..info.columns.len())
        .filter(|at| targets.contains(at) && !key.contains(at) && !info.is_generated(*at))
        .collect();
    Ok(Some(match taken.is_empty() {
        true => Conflicting::nothing(),
        false => Conflicting::taking(Taking::Row(taken)),
    }))
}

/// The WITH of a statement that changes rows.
fn with_of(statement: &tree::Statement) -> Option<&With> {
    match &statement.kind {
        Kind::Insert(insert) => insert.with.as_ref(),
        Kind::Update(update) => update.with.as_ref(),
        Kind::Delete(delete) => delete.with.as_ref(),
        Kind::Merge(merge) => merge.with.as_ref(),
        _ => None,
    }
}

/// `WITH own, name AS (statement) SELECT * FROM name`: a change of rows goes into a WITH, behind its own.
fn rows_of(statement: &tree::Statement) -> Query {
    let span = Span::default();
    let name = Name { text: "copied rows".into(), quoted: true, span };
    let mut bare = statement.clone();
    let own = match &mut bare.kind {
        Kind::Insert(insert) => insert.with.take(),
        Kind::Update(update) => update.with.take(),
        Kind::Delete(delete) => delete.with.take(),
        Kind::Merge(merge) => merge.with.take(),
        _ => None,
    };
    let mut with = own.unwrap_or(With { recursive: false, queries: vec![] });
    with.queries.push(CommonQuery {
        name: name.clone(),
        columns: vec![],
        key: vec![],
        materialized: None,
        statement: Box::new(bare),
        search: None,
        cycle: None,
    });
    let star =
        tree::Star { of: None, exclude: vec![], except: false, replace: vec![], rename: vec![], names: None };
    let value = Ast { kind: AstKind::Star(Box::new(star)), span };
    let kind = tree::TableKind::Named { only: false, name: Path { names: vec![name] } };
    let table = tree::Table { kind, alias: None, sample: None, pivots: vec![], span };
    let select = tree::Select {
        distinct: tree::Distinct::Unsaid,
        items: vec![SelectItem { value, alias: None, alias_first: false }],
        order: tree::ClauseOrder::SelectFirst,
        into: None,
        from: vec![tree::TableWithJoins { table, joins: vec![] }],
        condition: None,
        group_by: None,
        having: None,
        windows: vec![],
        qualify: None,
        sample: None,
        span,
    };
    Query {
        with: Some(with),
        body: SetExpr::Select(Box::new(select)),
        order_by: vec![],
        limit: None,
        offset: None,
        locks: vec![],
        span,
    }
}

fn odd_form(statement: &str) -> Error {
    Error::unsupported(format!("this form of {statement} is not supported")).at(place::START)
}
