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
use syntax::tree::{ConflictUpdate, ExprKind as AstKind, Name, OnConflict, Query, SelectItem};
use types::{Comparison, Error, Result, SqlState, Type};

use crate::RelationInfo;
use crate::bind::decorrelate::{joined, replace};
use crate::bind::expression::{Clause, ExprBinder, fold};
use crate::bind::modify::{
    Changed, Changing, Named, action, case, column_position, entries, in_schema, is_null, only_default,
    something,
};
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation, folded};

/// What is done with rows whose key is there already.
pub(crate) struct Conflicting<'a> {
    keys: Keys<'a>,
    /// `None`: DO NOTHING.
    update: Option<Taking<'a>>,
}

/// The keys that a conflict may be about.
enum Keys<'a> {
    Any,
    Constraint(&'a Name),
    Columns(Vec<&'a Name>),
}

/// What the row that is there takes.
pub(crate) enum Taking<'a> {
    /// DO UPDATE.
    Update(&'a ConflictUpdate),
    /// The values that the new row has for these columns.
    Row(Vec<usize>),
}

impl<'a> Conflicting<'a> {
    /// DO NOTHING, whichever key it is.
    pub fn nothing() -> Self {
        Conflicting { keys: Keys::Any, update: None }
    }
    /// The only key there is.
    pub fn taking(update: Taking<'a>) -> Self {
        Conflicting { keys: Keys::Any, update: Some(update) }
    }
    /// ON CONFLICT, whose target is of plain columns.
    pub fn of(conflict: &'a OnConflict) -> Self {
        let OnConflict { target, target_condition: _, constraint, update, span: _ } = conflict;
        let column = |column: &'a syntax::tree::Expr| match &column.kind {
            AstKind::Column(path) => path.single(),
            _ => None,
        };
        let keys = match constraint {
            Some(name) => Keys::Constraint(name),
            None if target.is_empty() => Keys::Any,
            None => Keys::Columns(target.iter().filter_map(column).collect()),
        };
        Conflicting { keys, update: update.as_ref().map(Taking::Update) }
    }
}

/// An INSERT's parts.
pub(crate) struct InsertParts<'a> {
    /// `None`: DEFAULT VALUES.
    pub source: Option<&'a Query>,
    /// Which column each of the source's fills.
    pub targets: Vec<usize>,
    /// ON CONFLICT, or what INSERT OR says.
    pub conflict: Option<Conflicting<'a>>,
    /// The items of RETURNING; none without the clause.
    pub returning: &'a [SelectItem],
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
            let more = vec![(done, action(RowAction::Insert)), (row, crate::bind::null_of(Type::BigInt))];
            let plan = self.beside(relation.plan, more);
            let changed = Changed { plan, action: done, row, values: ids };
            return self.inserted(named, changed, parts.returning, None);
        };
        let keys = self.arbiters(info, &conflict.keys)?;
        let Some(update) = conflict.update else {
            return self.or_nothing(named, relation, ids, keys, parts.returning);
        };
        // Without a target it is the only key there is.
        let only = !matches!(conflict.keys, Keys::Any) || keys.len() == 1;
        let Some(key) = keys.into_iter().next().filter(|_| only) else {
            return Err(Error::new(
                SqlState::SyntaxError,
                "ON CONFLICT DO UPDATE requires inference specification or constraint name",
            )
            .with_hint("for example, ON CONFLICT (column_name)"));
        };
        self.or_update(named, relation, ids, key, update, parts.returning)
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
        let plan = LogicalPlan::Project { input: Box::new(crate::bind::single_row()), expressions };
        self.generated(Relation { plan, columns }, info)
    }

    fn inserted(
        &mut self,
        named: Named<'_>,
        changed: Changed,
        returning: &'a [SelectItem],
        conflict: Option<Conflict>,
    ) -> Result<Changing> {
        let mut scope = Scope::new(None);
        let own = entries(&named.shown(), named.info, &changed.values, true);
        scope.entries = in_schema(own, named.schema().as_ref());
        self.versions(&mut scope, named.info, None, Some(&changed.values));
        self.changing(ModificationKind::Insert, named, changed, scope, returning, conflict)
    }

    /// The keys that a conflict may be about.
    fn arbiters(&self, info: &RelationInfo, said: &Keys<'_>) -> Result<Vec<Vec<usize>>> {
        let keys: Vec<Vec<usize>> = info.primary_key.iter().chain(&info.unique).cloned().collect();
        match said {
            Keys::Any => Ok(keys),
            Keys::Columns(names) => {
                let mut places = Vec::with_capacity(names.len());
                for name in names {
                    places.push(column_position(info, name).map_err(|e| self.error_at(e, name.span))?);
                }
                let same = |key: &&Vec<usize>| {
                    key.iter().all(|c| places.contains(c)) && places.iter().all(|c| key.contains(c))
                };
                let Some(key) = keys.iter().find(same) else {
                    let message =
                        "there is no unique or exclusion constraint matching the ON CONFLICT specification";
                    let error = Error::new(SqlState::InvalidColumnReference, message);
                    return Err(match names.first() {
                        Some(name) => self.error_at(error, name.span),
                        None => error,
                    });
                };
                Ok(vec![key.clone()])
            }
            Keys::Constraint(name) => {
                let known = folded(name);
                match self.relations.unique_constraint(info.id, &known) {
                    Some(key) => Ok(vec![key]),
                    None => {
                        let message =
                            format!("constraint \"{known}\" for table \"{}\" does not exist", info.name);
                        Err(self.error_at(Error::new(SqlState::UndefinedObject, message), name.span))
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
    ) -> Result<(LogicalPlan, ColumnId, Vec<ColumnId>)> {
        // A key that is taken by a row which may not be seen is taken: the statement says so in the end.
        let (target, scan) = self.target(named, access::PolicyCommand::Update)?;
        let same = |at: &usize| {
            Expr::compare(Comparison::Equal, self.column(ids[*at]), self.column(target.columns[*at]))
        };
        let conditions = key.iter().map(same).collect();
        let plan = joined(plan, scan, conditions, JoinKind::Left);
        for id in target.columns.iter().chain([&target.row]) {
            self.columns.get_mut(*id).nullable = true;
        }
        Ok((plan, target.row, target.columns))
    }

    fn or_nothing(
        &mut self,
        named: Named<'_>,
        relation: Relation,
        ids: Vec<ColumnId>,
        keys: Vec<Vec<usize>>,
        returning: &'a [SelectItem],
    ) -> Result<Changing> {
        let mut plan = relation.plan;
        let mut free = Vec::with_capacity(keys.len());
        for key in &keys {
            let (with, holder, _) = self.with_holder(plan, &named, &ids, key)?;
            plan = with;
            free.push(is_null(self.column(holder), false));
        }
        if !free.is_empty() {
            plan = LogicalPlan::Filter { input: Box::new(plan), predicate: fold::and(free) };
        }
        let (done, row) = (self.action_column(), self.columns.add("row", Type::BigInt, true));
        let more = vec![(done, action(RowAction::Insert)), (row, crate::bind::null_of(Type::BigInt))];
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
        update: Taking<'a>,
        returning: &'a [SelectItem],
    ) -> Result<Changing> {
        let info = named.info;
        let (mut plan, row, old) = self.with_holder(relation.plan, &named, &ids, &key)?;
        let mut scope = Scope::new(None);
        scope.entries = in_schema(entries(&named.shown(), info, &old, true), named.schema().as_ref());
        // An alias of that name is the user's, as it is in PostgreSQL.
        if !scope.has_table("excluded") {
            scope.entries.extend(entries("excluded", info, &ids, true));
        }
        let scope = Rc::new(scope);
        let mut binder = ExprBinder::new(self, scope, Clause::Update);
        let (assigned, condition) = match update {
            Taking::Update(ConflictUpdate { set, condition }) => {
                let assigned = binder.assignments(set, info)?;
                let condition = condition.as_ref().map(|c| binder.condition(c, "WHERE")).transpose()?;
                (assigned, condition)
            }
            Taking::Row(places) => {
                if let Some(at) = places.iter().find(|at| info.is_always_generated(**at)) {
                    return Err(only_default(info, *at));
                }
                let taken = |at: usize| (at, binder.binder.column(ids[at]));
                (places.into_iter().map(taken).collect(), None)
            }
        };
        let places: Vec<usize> = assigned.iter().map(|(at, _)| *at).collect();
        binder.binder.check_write(info, access::Privilege::Update, &places)?;
        let pending = std::mem::take(&mut binder.pending);
        let (attached, found) = self.attach(plan, pending)?;
        plan = attached;
        let filtered = condition.is_some();
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
        plan = self.beside(plan, vec![(done, case(branches, otherwise))]);
        if filtered {
            plan = something(plan, self.column(done));
        }
        let mut values = Vec::with_capacity(ids.len());
        let mut computed = Vec::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            let updated = match assigned.iter().find(|(place, _)| *place == at) {
                Some((_, expr)) => replace(expr.clone(), &found),
                None => self.passed(old[at]),
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
