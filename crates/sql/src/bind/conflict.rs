//! INSERT with ON CONFLICT or RETURNING: the new rows, joined with the rows of the table that have their keys.
//!
//! ```text
//!  DO NOTHING, for each key               DO UPDATE SET a = e WHERE c
//!    Filter action <> nothing               Filter action <> nothing
//!      Project  action                        Project  action, row, new or updated values
//!        Join left, on the key                  Join left, on the key
//!          new rows   Scan t (with row)           new rows (excluded)   Scan t (with row)
//! ```
//! New rows that agree with each other are the engine's business, which sees them one after the other.

use std::rc::Rc;

use plan::{ColumnId, Conflict, Expr, JoinKind, LogicalPlan, ModificationKind, RowAction};
use sqlparser::ast::{ConflictTarget, DoUpdate, OnConflict, OnConflictAction, Query, SelectItem};
use types::{Comparison, Error, Result, SqlState, Type};

use super::decorrelate::{joined, replace};
use super::expression::{Clause, ExprBinder};
use super::fold;
use super::modify::{
    Changed, Changing, Named, action, case, column_position, entries, is_null, name_span, something,
};
use super::scope::Scope;
use super::{Binder, Relation, folded};
use crate::RelationInfo;

/// An INSERT's parts.
pub(crate) struct InsertParts<'a> {
    /// `None`: DEFAULT VALUES.
    pub source: Option<&'a Query>,
    /// Which column each of the source's fills.
    pub targets: Vec<usize>,
    /// The ON CONFLICT clause.
    pub conflict: Option<&'a OnConflict>,
    /// The items of RETURNING; `None` without the clause.
    pub returning: Option<&'a [SelectItem]>,
}

impl<'a> Binder<'a> {
    /// The rows of an INSERT as changes, with ON CONFLICT and RETURNING.
    pub(crate) fn insert(&mut self, named: Named<'_>, parts: InsertParts<'a>) -> Result<Changing> {
        let info = named.info;
        let relation = match parts.source {
            Some(query) => self.bind_assigned(query, info, &parts.targets)?,
            None => self.default_row(info)?,
        };
        let ids: Vec<ColumnId> = relation.columns.iter().map(|(_, id)| *id).collect();
        let Some(conflict) = parts.conflict else {
            let (done, row) = (self.action_column(), self.columns.add("row", Type::BigInt, true));
            let more = vec![(done, action(RowAction::Insert)), (row, super::null_of(Type::BigInt))];
            let plan = self.beside(relation.plan, more);
            let changed = Changed { plan, action: done, row, values: ids };
            return self.inserted(named, changed, parts.returning, None);
        };
        let keys = self.arbiters(info, conflict)?;
        match &conflict.action {
            OnConflictAction::DoNothing => self.or_nothing(named, relation, ids, keys, parts.returning),
            OnConflictAction::DoUpdate(update) => {
                // Without a target it is the only key there is.
                let only = conflict.conflict_target.is_some() || keys.len() == 1;
                let Some(key) = keys.into_iter().next().filter(|_| only) else {
                    return Err(Error::new(
                        SqlState::SyntaxError,
                        "ON CONFLICT DO UPDATE requires inference specification or constraint name",
                    )
                    .with_hint("for example, ON CONFLICT (column_name)"));
                };
                self.or_update(named, relation, ids, key, update, parts.returning)
            }
        }
    }

    /// The row of DEFAULT VALUES.
    pub(crate) fn default_row(&mut self, info: &RelationInfo) -> Result<Relation> {
        let mut expressions = Vec::with_capacity(info.columns.len());
        let mut columns = Vec::with_capacity(info.columns.len());
        for (at, field) in info.columns.fields().iter().enumerate() {
            let expr = self.default_of(info, at)?;
            let id = self.new_value(info, at, &expr);
            expressions.push((id, expr));
            columns.push((field.name.as_str().into(), id));
        }
        let plan = LogicalPlan::Project { input: Box::new(super::single_row()), expressions };
        self.generated(Relation { plan, columns }, info)
    }

    fn inserted(
        &mut self,
        named: Named<'_>,
        changed: Changed,
        returning: Option<&'a [SelectItem]>,
        conflict: Option<Conflict>,
    ) -> Result<Changing> {
        let mut scope = Scope::new(None);
        scope.entries = entries(&named.shown(), named.info, &changed.values, true);
        self.versions(&mut scope, named.info, None, Some(&changed.values));
        self.changing(ModificationKind::Insert, named, changed, scope, returning, conflict)
    }

    /// The keys that a conflict may be about.
    fn arbiters(&self, info: &RelationInfo, conflict: &OnConflict) -> Result<Vec<Vec<usize>>> {
        let keys: Vec<Vec<usize>> = info.primary_key.iter().chain(&info.unique).cloned().collect();
        match &conflict.conflict_target {
            None => Ok(keys),
            Some(ConflictTarget::Columns(names)) => {
                let mut places = Vec::with_capacity(names.len());
                for ident in names {
                    places.push(column_position(info, ident).map_err(|e| self.error_at(e, ident.span))?);
                }
                let same = |key: &&Vec<usize>| {
                    key.iter().all(|c| places.contains(c)) && places.iter().all(|c| key.contains(c))
                };
                let Some(key) = keys.iter().find(same) else {
                    let message =
                        "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                    let error = Error::new(SqlState::InvalidColumnReference, message);
                    return Err(match names.first() {
                        Some(ident) => self.error_at(error, ident.span),
                        None => error,
                    });
                };
                Ok(vec![key.clone()])
            }
            Some(ConflictTarget::OnConstraint(name)) => {
                let span = name_span(name);
                let known = name.0.last().and_then(|p| p.as_ident()).map(folded).unwrap_or_default();
                match self.relations.unique_constraint(info.id, &known) {
                    Some(key) => Ok(vec![key]),
                    None => {
                        let message =
                            format!("constraint \"{known}\" for table \"{}\" does not exist", info.name);
                        Err(self.error_at(Error::new(SqlState::UndefinedObject, message), span))
                    }
                }
            }
        }
    }

    /// New rows joined with the row of the table that has their key, if any.
    fn with_holder(
        &mut self,
        plan: LogicalPlan,
        named: &Named<'_>,
        ids: &[ColumnId],
        key: &[usize],
    ) -> (LogicalPlan, ColumnId, Vec<ColumnId>) {
        let (target, scan) = self.target(named);
        let same = |at: &usize| {
            Expr::compare(Comparison::Equal, self.column(ids[*at]), self.column(target.columns[*at]))
        };
        let conditions = key.iter().map(same).collect();
        let plan = joined(plan, scan, conditions, JoinKind::Left);
        for id in target.columns.iter().chain([&target.row]) {
            self.columns.get_mut(*id).nullable = true;
        }
        (plan, target.row, target.columns)
    }

    fn or_nothing(
        &mut self,
        named: Named<'_>,
        relation: Relation,
        ids: Vec<ColumnId>,
        keys: Vec<Vec<usize>>,
        returning: Option<&'a [SelectItem]>,
    ) -> Result<Changing> {
        let mut plan = relation.plan;
        let mut free = Vec::with_capacity(keys.len());
        for key in &keys {
            let (with, holder, _) = self.with_holder(plan, &named, &ids, key);
            plan = with;
            free.push(is_null(self.column(holder), false));
        }
        if !free.is_empty() {
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate: fold::and(free) };
        }
        let (done, row) = (self.action_column(), self.columns.add("row", Type::BigInt, true));
        let more = vec![(done, action(RowAction::Insert)), (row, super::null_of(Type::BigInt))];
        let plan = self.beside(plan, more);
        let changed = Changed { plan, action: done, row, values: ids };
        let conflict = Some(Conflict { keys, update: false });
        self.inserted(named, changed, returning, conflict)
    }

    fn or_update(
        &mut self,
        named: Named<'_>,
        relation: Relation,
        ids: Vec<ColumnId>,
        key: Vec<usize>,
        update: &'a DoUpdate,
        returning: Option<&'a [SelectItem]>,
    ) -> Result<Changing> {
        let info = named.info;
        let (mut plan, row, old) = self.with_holder(relation.plan, &named, &ids, &key);
        let mut scope = Scope::new(None);
        scope.entries = entries(&named.shown(), info, &old, true);
        // An alias of that name is the user's, as it is in PostgreSQL.
        if !scope.has_table("excluded") {
            scope.entries.extend(entries("excluded", info, &ids, true));
        }
        let scope = Rc::new(scope);
        let mut binder = ExprBinder::new(self, scope, Clause::Update);
        let assigned = binder.assignments(&update.assignments, info)?;
        let condition = match &update.selection {
            Some(condition) => Some(binder.condition(condition, "WHERE")?),
            None => None,
        };
        let pending = std::mem::take(&mut binder.pending);
        let (attached, found) = self.attach(plan, pending)?;
        plan = attached;
        let fresh = is_null(self.column(row), false);
        let mut branches = vec![(fresh.clone(), action(RowAction::Insert))];
        let otherwise = match condition {
            Some(condition) => {
                branches.push((replace(condition, &found), action(RowAction::Update)));
                action(RowAction::Nothing)
            }
            None => action(RowAction::Update),
        };
        let done = self.action_column();
        let filtered = update.selection.is_some();
        plan = self.beside(plan, vec![(done, case(branches, otherwise))]);
        if filtered {
            plan = something(plan, self.column(done));
        }
        let mut values = Vec::with_capacity(ids.len());
        let mut computed = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let updated = match assigned.iter().find(|(place, _)| *place == at) {
                Some((_, expr)) => replace(expr.clone(), &found),
                None => self.column(old[at]),
            };
            let expr = case(vec![(fresh.clone(), self.column(*id))], updated);
            let value = self.new_value(info, at, &expr);
            computed.push((value, expr));
            values.push(value);
        }
        let plan = self.beside(plan, computed);
        let plan = self.generated_values(plan, info, &mut values)?;
        let changed = Changed { plan, action: done, row, values };
        let conflict = Some(Conflict { keys: vec![key], update: true });
        self.inserted(named, changed, returning, conflict)
    }
}
