//! UPDATE, DELETE, MERGE, TRUNCATE, and the INSERTs that do more than insert.
//!
//! The statement becomes a query that gives one row for each change (`bind::modify`). WITH queries are bound first,
//! and changes of rows among them run before the main query (`binder_with`). Views cannot be changed. Forms of other
//! systems that have no node here are refused. Called by `Context::plan`, with the WITH in front if there is one.

use plan::statement::ObjectName;
use plan::{LogicalQuery, Statement};
use sqlparser::ast::{
    Assignment, AssignmentTarget, CascadeOption, ConflictTarget, Delete, DoUpdate, Expr as Ast, FromTable,
    Ident, Insert, Merge, ObjectName as NameSyntax, OnConflict, OnConflictAction, OnInsert, OutputClause,
    Query, SelectItem, SetExpr, SqliteOnConflict, Statement as Syntax, TableAlias, TableFactor,
    TableWithJoins, Truncate, TruncateIdentityOption, Update, UpdateTableFromKind, With,
};
use types::{Error, Result, SqlState};

use super::Context;
use crate::asides::InsertBy;
use crate::asides::Overriding;
use crate::bind::Binder;
use crate::bind::conflict::InsertParts;
use crate::bind::folded;
use crate::bind::is_default;
use crate::bind::merge::MergeParts;
use crate::bind::modify::{Changing, DeleteParts, Named, UpdateParts, always_generated};
use crate::bind::query::changes_rows;
use crate::{RelationInfo, place};

impl Context<'_> {
    /// `WITH ... UPDATE` and its kin, which the parser takes for queries.
    pub(super) fn modifying_query(&self, query: &Query) -> Option<Result<Statement>> {
        let with = query.with.as_ref();
        let statement = match query.body.as_ref() {
            SetExpr::Insert(statement)
            | SetExpr::Update(statement)
            | SetExpr::Delete(statement)
            | SetExpr::Merge(statement) => statement,
            _ => return None,
        };
        Some(match statement {
            Syntax::Insert(insert) => self.insert_with(insert, with),
            Syntax::Update(update) => self.update(update, with),
            Syntax::Delete(delete) => self.delete(delete, with),
            Syntax::Merge(merge) => self.merge(merge, with),
            _ => Err(Error::unsupported("this form of query is not supported").at(place::START)),
        })
    }

    /// The table that a statement changes.
    fn changed_table(&self, name: &NameSyntax) -> Result<(ObjectName, RelationInfo)> {
        let (named, span) = self.existing_name(name)?;
        if self.relations.view(named.schema.as_deref(), &named.name).is_some() {
            let message = format!("cannot change the rows of view \"{}\"", named.name);
            let error = Error::new(SqlState::WrongObjectType, message)
                .with_hint("change those of the tables that it reads");
            return Err(self.at(error, span));
        }
        self.table(name)
    }

    /// A table with its alias, as UPDATE, DELETE and MERGE name it.
    fn target(&self, factor: &TableFactor) -> Result<(ObjectName, RelationInfo, Option<String>)> {
        match factor {
            TableFactor::Table { name, alias, args: None, sample: None, .. } => {
                let (name, info) = self.changed_table(name)?;
                Ok((name, info, alias_of(alias.as_ref())?))
            }
            _ => Err(Error::unsupported("only rows of tables are changed").at(place::START)),
        }
    }

    /// A binder that knows the expressions of a statement's WITH, with the changes of rows among them bound.
    pub(super) fn binder_with<'s>(&'s self, with: Option<&'s With>) -> Result<Binder<'s>> {
        let mut binder = self.binder().with_queries(with)?;
        for (at, cte) in with.iter().flat_map(|with| with.cte_tables.iter().enumerate()) {
            let query = &*cte.query;
            if !changes_rows(query) {
                continue;
            }
            if query.with.is_some() {
                return Err(Error::unsupported(
                    "WITH in a change of rows that stands in a WITH is not supported",
                )
                .with_hint("write its expressions into the outer WITH, before it"));
            }
            binder.change_in_with(at, |binder| match query.body.as_ref() {
                SetExpr::Insert(Syntax::Insert(insert)) => self.inserting(insert, None, binder),
                SetExpr::Update(Syntax::Update(update)) => self.updating(update, binder),
                SetExpr::Delete(Syntax::Delete(delete)) => self.deleting(delete, binder),
                SetExpr::Merge(Syntax::Merge(merge)) => self.merging(merge, binder),
                _ => Err(odd_form("WITH")),
            })?;
        }
        Ok(binder)
    }

    fn modified<'s>(
        &'s self,
        with: Option<&'s With>,
        bind: impl FnOnce(&mut Binder<'s>) -> Result<Changing>,
    ) -> Result<Statement> {
        let mut binder = self.binder_with(with)?;
        let changing = bind(&mut binder)?;
        Ok(Statement::Modify(Box::new(binder.modification(changing)?)))
    }

    /// A query with changes of rows in its WITH; `None` for others.
    pub(super) fn changing_query(&self, query: &Query) -> Option<Result<Statement>> {
        let planned = self.query_of_changes(query)?;
        Some(planned.map(|query| Statement::ChangingQuery(Box::new(query))))
    }

    fn query_of_changes(&self, query: &Query) -> Option<Result<LogicalQuery>> {
        let with = query.with.as_ref()?;
        if !with.cte_tables.iter().any(|cte| changes_rows(&cte.query)) {
            return None;
        }
        let bare = Query { with: None, ..query.clone() };
        Some(self.binder_with(Some(with)).and_then(|binder| binder.query_of_changes(&bare)))
    }

    /// A query at the top of a statement that does something with its rows: its WITH may change rows.
    pub(super) fn top_query(&self, query: &Query) -> Result<LogicalQuery> {
        self.query_of_changes(query).unwrap_or_else(|| self.binder().query(query))
    }

    /// The query of COPY TO, or the rows that a change of rows there returns.
    pub(super) fn copied_query(&self, query: &Query) -> Result<LogicalQuery> {
        const NAME: &str = "copied rows";
        if !changes_rows(query) {
            return self.top_query(query);
        }
        let returns = match query.body.as_ref() {
            SetExpr::Insert(Syntax::Insert(insert)) => insert.returning.is_some(),
            SetExpr::Update(Syntax::Update(update)) => update.returning.is_some(),
            SetExpr::Delete(Syntax::Delete(delete)) => delete.returning.is_some(),
            SetExpr::Merge(Syntax::Merge(merge)) => merge.output.is_some(),
            _ => return Err(odd_form("COPY")),
        };
        if !returns {
            let error = Error::unsupported("COPY query must have a RETURNING clause");
            return Err(error.at(place::START));
        }
        // The change goes into a WITH, behind its own.
        let text = format!("WITH \"{NAME}\" AS (SELECT 1) SELECT * FROM \"{NAME}\"");
        let Syntax::Query(mut around) = crate::parse::statement(&text)?.statement else {
            return Err(Error::internal("a query is a query"));
        };
        let Query { with: own, .. } = query;
        let with = around.with.as_mut().ok_or_else(|| Error::internal("a WITH without its queries"))?;
        for cte in &mut with.cte_tables {
            *cte.query = Query { with: None, ..query.clone() };
        }
        if let Some(own) = own {
            with.recursive = own.recursive;
            with.cte_tables.splice(0..0, own.cte_tables.iter().cloned());
        }
        self.top_query(&around)
    }

    /// UPDATE, with the WITH in front of it.
    pub(super) fn update(&self, update: &Update, with: Option<&With>) -> Result<Statement> {
        self.modified(with, |binder| self.updating(update, binder))
    }

    fn updating<'s>(&'s self, update: &'s Update, binder: &mut Binder<'s>) -> Result<Changing> {
        let odd = update.or.is_some()
            || update.output.is_some()
            || !update.order_by.is_empty()
            || update.limit.is_some();
        let from: &[TableWithJoins] = match &update.from {
            None => &[],
            Some(UpdateTableFromKind::AfterSet(list)) => list,
            Some(UpdateTableFromKind::BeforeSet(_)) => return Err(odd_form("UPDATE")),
        };
        if odd || !update.table.joins.is_empty() {
            return Err(odd_form("UPDATE"));
        }
        let (name, info, alias) = self.target(&update.table.relation)?;
        let parts = UpdateParts {
            assignments: &update.assignments,
            from,
            selection: update.selection.as_ref(),
            returning: update.returning.as_deref(),
        };
        let named = Named { name, info: &info, alias };
        binder.update(named, parts)
    }

    /// DELETE, with the WITH in front of it.
    pub(super) fn delete(&self, delete: &Delete, with: Option<&With>) -> Result<Statement> {
        self.modified(with, |binder| self.deleting(delete, binder))
    }

    fn deleting<'s>(&'s self, delete: &'s Delete, binder: &mut Binder<'s>) -> Result<Changing> {
        let odd = !delete.tables.is_empty()
            || delete.output.is_some()
            || !delete.order_by.is_empty()
            || delete.limit.is_some();
        let FromTable::WithFromKeyword(tables) = &delete.from else { return Err(odd_form("DELETE")) };
        let [table] = tables.as_slice() else { return Err(odd_form("DELETE")) };
        if odd || !table.joins.is_empty() {
            return Err(odd_form("DELETE"));
        }
        let (name, info, alias) = self.target(&table.relation)?;
        let parts = DeleteParts {
            using: delete.using.as_deref().unwrap_or_default(),
            selection: delete.selection.as_ref(),
            returning: delete.returning.as_deref(),
        };
        let named = Named { name, info: &info, alias };
        binder.delete(named, parts)
    }

    /// MERGE, with the WITH in front of it.
    pub(super) fn merge(&self, merge: &Merge, with: Option<&With>) -> Result<Statement> {
        self.modified(with, |binder| self.merging(merge, binder))
    }

    fn merging<'s>(&'s self, merge: &'s Merge, binder: &mut Binder<'s>) -> Result<Changing> {
        let returning: Option<&[SelectItem]> = match &merge.output {
            None => None,
            Some(OutputClause::Returning { select_items, .. }) => Some(select_items),
            Some(OutputClause::Output { .. }) => return Err(odd_form("MERGE")),
        };
        if merge.clauses.is_empty() {
            return Err(Error::new(SqlState::SyntaxError, "MERGE needs a WHEN clause").at(place::START));
        }
        let (name, info, alias) = self.target(&merge.table)?;
        let parts = MergeParts {
            source: &merge.source,
            on: &merge.on,
            clauses: &merge.clauses,
            returning,
            nothing: &self.parsed.nothing,
            overriding: self.parsed.overriding != Overriding::Nothing,
        };
        let named = Named { name, info: &info, alias };
        binder.merge(named, parts)
    }

    /// INSERT with RETURNING, ON CONFLICT or WITH in front.
    pub(super) fn insert_and_more(&self, insert: &Insert, with: Option<&With>) -> Result<Statement> {
        self.modified(with, |binder| self.inserting(insert, with, binder))
    }

    fn inserting<'s>(
        &'s self,
        insert: &'s Insert,
        with: Option<&With>,
        binder: &mut Binder<'s>,
    ) -> Result<Changing> {
        let (name, info, targets) = self.insert_target(insert, with)?;
        let shorthand =
            self.on_conflict(insert, &info, &targets)?.map(|conflict| self.texts.keep_conflict(conflict));
        let conflict = match &insert.on {
            None => shorthand,
            Some(OnInsert::OnConflict(conflict)) => Some(conflict),
            Some(_) => {
                return Err(odd_form("INSERT").with_hint("write ON CONFLICT (column) DO UPDATE SET ..."));
            }
        };
        let parts = InsertParts {
            source: insert.source.as_deref(),
            targets,
            conflict,
            returning: insert.returning.as_deref(),
        };
        let alias = insert.table_alias.as_ref().map(|alias| folded(&alias.alias));
        let named = Named { name, info: &info, alias };
        binder.fewer = insert.columns.is_empty() && self.parsed.insert_by == InsertBy::Position;
        let changing = binder.insert(named, parts);
        binder.fewer = false;
        changing
    }

    /// INSERT OR IGNORE and INSERT OR REPLACE as ON CONFLICT has them. The latter leaves what the INSERT has no
    /// values for as it is.
    fn on_conflict(
        &self,
        insert: &Insert,
        info: &RelationInfo,
        targets: &[usize],
    ) -> Result<Option<OnConflict>> {
        let nothing = |conflict_target| OnConflict { conflict_target, action: OnConflictAction::DoNothing };
        match insert.or {
            None => return Ok(None),
            Some(SqliteOnConflict::Ignore) => return Ok(Some(nothing(None))),
            _ => {}
        }
        let mut keys = info.primary_key.iter().chain(&info.unique);
        let (Some(key), None) = (keys.next(), keys.next()) else {
            let message = "INSERT OR REPLACE is for tables with one primary key or unique constraint";
            let error = Error::new(SqlState::InvalidColumnReference, message).at(place::START);
            return Err(error.with_hint("write ON CONFLICT (column) DO UPDATE SET ..."));
        };
        let names: Vec<Ident> =
            info.columns.fields().iter().map(|field| Ident::with_quote('"', &field.name)).collect();
        let target = Some(ConflictTarget::Columns(key.iter().map(|at| names[*at].clone()).collect()));
        let excluded = |name: &Ident| Ast::CompoundIdentifier(vec![Ident::new("excluded"), name.clone()]);
        let assignments: Vec<Assignment> = (0..names.len())
            .filter(|at| targets.contains(at) && !key.contains(at) && !info.is_generated(*at))
            .map(|at| Assignment {
                target: AssignmentTarget::ColumnName(vec![names[at].clone()].into()),
                value: excluded(&names[at]),
            })
            .collect();
        if assignments.is_empty() {
            return Ok(Some(nothing(target)));
        }
        let action = OnConflictAction::DoUpdate(DoUpdate { assignments, selection: None });
        Ok(Some(OnConflict { conflict_target: target, action }))
    }

    /// The columns that an INSERT gives values for: none that is GENERATED ALWAYS, unless the statement overrides
    /// that.
    pub(super) fn given(
        &self,
        insert: &Insert,
        info: &RelationInfo,
        targets: Vec<usize>,
    ) -> Result<Vec<usize>> {
        let overriding = self.parsed.overriding != Overriding::Nothing;
        let values = insert.source.as_ref().and_then(|query| match query.body.as_ref() {
            SetExpr::Values(values) => Some(values),
            _ => None,
        });
        for (place, target) in targets.iter().enumerate() {
            let mut rows = values.iter().flat_map(|values| &values.rows);
            let defaults = values.is_some() && rows.all(|row| row.content.get(place).is_none_or(is_default));
            let computed = info.is_generated(*target);
            let kept = computed || (info.is_always_generated(*target) && !overriding);
            if kept && insert.source.is_some() && !defaults {
                return Err(always_generated(info, *target));
            }
        }
        Ok(targets)
    }

    /// TRUNCATE of one or several tables.
    pub(super) fn truncate(&self, truncate: &Truncate) -> Result<Statement> {
        if truncate.partitions.is_some() || truncate.on_cluster.is_some() || truncate.if_exists {
            return Err(odd_form("TRUNCATE"));
        }
        let mut tables = Vec::with_capacity(truncate.table_names.len());
        for target in &truncate.table_names {
            let (name, info) = self.changed_table(&target.name)?;
            tables.push((info.id, name));
        }
        Ok(Statement::Truncate {
            tables,
            cascade: matches!(truncate.cascade, Some(CascadeOption::Cascade)),
            restart_identity: matches!(truncate.identity, Some(TruncateIdentityOption::Restart)),
        })
    }

    /// The table that INSERT adds rows to; a view is an error.
    pub(super) fn changed_or_made(&self, name: &NameSyntax) -> Result<(ObjectName, RelationInfo)> {
        self.changed_table(name)
    }
}

fn odd_form(statement: &str) -> Error {
    Error::unsupported(format!("this form of {statement} is not supported")).at(place::START)
}

fn alias_of(alias: Option<&TableAlias>) -> Result<Option<String>> {
    match alias {
        None => Ok(None),
        Some(alias) if alias.columns.is_empty() => Ok(Some(folded(&alias.name))),
        Some(_) => Err(Error::new(SqlState::SyntaxError, "the table to change has no column aliases")),
    }
}
