//! MERGE: the source joined with the target, and for each pair the first WHEN clause that holds.
//!
//! ```text
//!  Project  new values, by clause
//!    Filter action <> nothing
//!      Project  action = CASE clause ...
//!        Project  clause = CASE WHEN matched AND c1 THEN 1 WHEN not matched AND c2 THEN 2 ... ELSE 0 END
//!          Join, outer on the side whose lone rows have a clause
//!            source   Scan target (with row)
//! ```

use std::rc::Rc;

use plan::{ColumnId, Expr, JoinKind, ModificationKind, RowAction};
use sqlparser::ast::{
    Assignment, AssignmentTarget, Expr as Ast, Ident, MergeAction, MergeClause, MergeClauseKind,
    MergeInsertKind, ObjectName, SelectItem, TableFactor,
};
use sqlparser::tokenizer::Location;
use types::{Comparison, Error, Result, SqlState, Type, Value};

use super::coerce::{self, Bound};
use super::decorrelate::{joined, replace};
use super::expression::{Clause, ExprBinder};
use super::from::{duplicate_alias, shared_alias};
use super::modify::{
    Changed, Changing, Named, action, always_generated, case, column_position, entries, is_null, name_span,
    something, unknown_column,
};
use super::scope::{Entry, Scope};
use super::values::is_default;
use super::{Binder, fold, folded};
use crate::RelationInfo;
use crate::made::{EVERY, EVERY_BY_NAME, REFUSAL};

/// A MERGE's parts.
pub(crate) struct MergeParts<'a> {
    /// The relation after USING.
    pub source: &'a TableFactor,
    /// The condition that matches source rows with target rows.
    pub on: &'a Ast,
    /// The WHEN clauses in their order; the first that holds counts.
    pub clauses: &'a [MergeClause],
    /// The items of RETURNING; `None` without the clause.
    pub returning: Option<&'a [SelectItem]>,
    /// Places of the clauses that do nothing, which the parser took for others.
    pub nothing: &'a [Location],
    /// OVERRIDING SYSTEM VALUE.
    pub overriding: bool,
}

/// The name under which RETURNING finds what `merge_action()` gives.
pub(crate) const MERGE_ACTION: &str = "merge_action";

/// A WHEN clause, bound.
struct When {
    condition: Expr,
    action: RowAction,
    /// By column of the target; absent where it keeps its value.
    values: Vec<Option<Expr>>,
    /// THEN ERROR, in place of the action.
    refusal: Option<Expr>,
}

impl<'a> Binder<'a> {
    /// The changes of a MERGE, as a query over source and target.
    pub(crate) fn merge(&mut self, named: Named<'_>, parts: MergeParts<'a>) -> Result<Changing> {
        use MergeClauseKind as K;
        let info = named.info;
        let unreachable = |kinds: &dyn Fn(K) -> bool| {
            let mut of_kind = parts.clauses.iter().filter(|c| kinds(c.clause_kind));
            of_kind.any(|c| c.predicate.is_none()) && of_kind.next().is_some()
        };
        let by_target = |kind: K| matches!(kind, K::NotMatched | K::NotMatchedByTarget);
        let by_source = |kind: K| kind == K::NotMatchedBySource;
        if unreachable(&|k| k == K::Matched) || unreachable(&by_target) || unreachable(&by_source) {
            let message = "unreachable WHEN clause specified after unconditional WHEN clause";
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        let (target, scan) = self.target(&named);
        let own = entries(&target.name, info, &target.columns, true);
        let source = self.bind_factor(parts.source, &Scope::new(None), false)?;
        if let Some(twice) = shared_alias(&own, &source.entries) {
            return Err(duplicate_alias(&twice)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        // Tells source rows from the NULLs that stand for none.
        let marker = self.columns.add("source row", Type::BigInt, false);
        let lone_targets = parts.clauses.iter().any(|c| by_source(c.clause_kind));
        let lone_sources = parts.clauses.iter().any(|c| by_target(c.clause_kind));
        let mut from = source.plan;
        if lone_targets {
            from = self.beside(from, vec![(marker, Expr::literal(Value::I64(1), Type::BigInt))]);
        }
        let mut both = Scope::new(None);
        both.entries = source.entries.iter().chain(&own).cloned().collect();
        let both = Rc::new(both);
        let conjuncts = self.conjuncts(parts.on, &both, Clause::On, &mut None, &[])?;
        if !conjuncts.pending.is_empty() || !conjuncts.memberships.is_empty() {
            return Err(Error::unsupported("a subquery in MERGE's ON is not supported")
                .with_hint("compute it in a subquery in USING"));
        }
        let kind = match (lone_sources, lone_targets) {
            (false, false) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (true, true) => JoinKind::Full,
        };
        let plan = joined(from, scan, conjuncts.filters, kind);
        if lone_sources {
            self.make_nullable(&own);
            self.columns.get_mut(target.row).nullable = true;
        }
        if lone_targets {
            self.make_nullable(&source.entries);
            self.columns.get_mut(marker).nullable = true;
        }
        let has_target = is_null(self.column(target.row), true);
        let has_source = is_null(self.column(marker), true);
        let mut pending = Vec::new();
        let mut whens = Vec::with_capacity(parts.clauses.len());
        for clause in parts.clauses {
            let mut scope = Scope::new(None);
            let mut conditions = Vec::new();
            match clause.clause_kind {
                K::Matched => {
                    scope.entries.clone_from(&both.entries);
                    if lone_sources {
                        conditions.push(has_target.clone());
                    }
                    if lone_targets {
                        conditions.push(has_source.clone());
                    }
                }
                K::NotMatched | K::NotMatchedByTarget => {
                    scope.entries.clone_from(&source.entries);
                    conditions.push(is_null(self.column(target.row), false));
                }
                K::NotMatchedBySource => {
                    scope.entries.clone_from(&own);
                    conditions.push(is_null(self.column(marker), false));
                }
            }
            let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Merge);
            if let Some(predicate) = &clause.predicate {
                conditions.push(binder.condition(predicate, "MERGE WHEN")?);
            }
            let refusal = binder.merge_refusal(&clause.action)?;
            if let Some(refusal) = refusal {
                pending.append(&mut binder.pending);
                let (condition, action) = (fold::and(conditions), RowAction::Nothing);
                whens.push(When { condition, action, values: vec![], refusal: Some(refusal) });
                continue;
            }
            let (done, values) = binder.merge_action(
                &clause.action,
                &named,
                &source.entries,
                parts.nothing,
                parts.overriding,
            )?;
            pending.append(&mut binder.pending);
            whens.push(When { condition: fold::and(conditions), action: done, values, refusal: None });
        }
        let (plan, found) = self.attach(plan, pending)?;
        let number = |at: usize| Expr::literal(Value::I32(at as i32), Type::Integer);
        let clause = self.columns.add("clause", Type::Integer, false);
        let branches = whens.iter().enumerate();
        let branches = branches.map(|(at, w)| (replace(w.condition.clone(), &found), number(at + 1)));
        let chosen = case(branches.collect(), number(0));
        let plan = self.beside(plan, vec![(clause, chosen)]);
        let is = |binder: &Self, at: usize| {
            Expr::compare(Comparison::Equal, binder.column(clause), number(at + 1))
        };
        let done = self.action_column();
        let actions = whens.iter().enumerate().map(|(at, w)| {
            let done = match &w.refusal {
                Some(refusal) => replace(refusal.clone(), &found),
                None => action(w.action),
            };
            (is(self, at), done)
        });
        let chosen = case(actions.collect(), action(RowAction::Nothing));
        let plan = self.beside(plan, vec![(done, chosen)]);
        let plan = something(plan, self.column(done));
        let mut computed = Vec::with_capacity(target.columns.len() + 1);
        let mut values: Vec<ColumnId> = Vec::with_capacity(target.columns.len());
        for (at, old) in target.columns.iter().enumerate() {
            let mut branches = Vec::new();
            for (place, when) in whens.iter().enumerate() {
                if let Some(Some(expr)) = when.values.get(at) {
                    branches.push((is(self, place), replace(expr.clone(), &found)));
                }
            }
            let expr = case(branches, self.column(*old));
            let value = self.new_value(info, at, &expr);
            computed.push((value, expr));
            values.push(value);
        }
        let told = self.columns.add(MERGE_ACTION, Type::Text, false);
        let names = [(RowAction::Insert, "INSERT"), (RowAction::Update, "UPDATE")];
        let names = names.map(|(which, word)| {
            let is = Expr::compare(Comparison::Equal, self.column(done), action(which));
            (is, Expr::literal(Value::text(word), Type::Text))
        });
        computed.push((told, case(names.to_vec(), Expr::literal(Value::text("DELETE"), Type::Text))));
        let plan = self.beside(plan, computed);
        let plan = self.generated_values(plan, info, &mut values)?;
        let mut scope = Scope::new(None);
        scope.entries = source.entries;
        scope.entries.extend(entries(&target.name, info, &values, true));
        self.versions(&mut scope, info, Some(&target.columns), Some(&values));
        let (table, name) = (Some(MERGE_ACTION.into()), MERGE_ACTION.into());
        scope.entries.push(Entry { table, schema: None, name, id: told, plain: false, hidden: false });
        let changed = Changed { plan, action: done, row: target.row, values };
        self.changing(ModificationKind::Merge, named, changed, scope, parts.returning, None)
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// THEN ERROR: an action that fails with its message.
    fn merge_refusal(&mut self, merge: &'a MergeAction) -> Result<Option<Expr>> {
        let refuses = |name: &ObjectName| matches!(name.0.as_slice(), [part] if part.as_ident().is_some_and(|i| i.value == REFUSAL));
        let message = match merge {
            MergeAction::Update(update) => match update.assignments.as_slice() {
                [Assignment { target: AssignmentTarget::ColumnName(name), value }] if refuses(name) => value,
                _ => return Ok(None),
            },
            MergeAction::Insert(insert) => match (insert.columns.as_slice(), &insert.kind) {
                ([name], MergeInsertKind::Values(list)) if refuses(name) => {
                    match list.rows.first().map(|row| row.content.as_slice()) {
                        Some([message]) => message,
                        _ => return Err(Error::new(SqlState::SyntaxError, "THEN ERROR takes one message")),
                    }
                }
                _ => return Ok(None),
            },
            MergeAction::Delete { .. } => return Ok(None),
        };
        let bound = self.bind(message)?;
        super::check_depth(&bound.expr)?;
        let text = coerce::cast(bound.expr, Type::Text);
        let refusal = super::nested::call("error", vec![text], Type::Text);
        Ok(Some(coerce::cast(refusal, Type::SmallInt)))
    }

    fn merge_action(
        &mut self,
        merge: &'a MergeAction,
        named: &Named<'_>,
        source: &[Entry],
        nothing: &[Location],
        overriding: bool,
    ) -> Result<(RowAction, Vec<Option<Expr>>)> {
        let info = named.info;
        let width = info.columns.len();
        match merge {
            MergeAction::Delete { delete_token } => {
                let none = nothing.contains(&delete_token.0.span.start);
                Ok((if none { RowAction::Nothing } else { RowAction::Delete }, vec![]))
            }
            MergeAction::Update(update) => {
                if update.update_predicate.is_some() || update.delete_predicate.is_some() {
                    let message = "WHERE in a WHEN clause of MERGE is not supported";
                    return Err(Error::unsupported(message).with_hint("write WHEN MATCHED AND condition"));
                }
                let mut values = vec![None; width];
                if let [Assignment { target: AssignmentTarget::ColumnName(name), .. }] = &*update.assignments
                    && let Some(every) = self.every_column(name, info, source)?
                {
                    return Ok((RowAction::Update, every));
                }
                for (at, expr) in self.assignments(&update.assignments, info)? {
                    values[at] = Some(expr);
                }
                Ok((RowAction::Update, values))
            }
            MergeAction::Insert(insert) => {
                if nothing.contains(&insert.insert_token.0.span.start) {
                    return Ok((RowAction::Nothing, vec![]));
                }
                let MergeInsertKind::Values(list) = &insert.kind else {
                    return Err(Error::unsupported("INSERT ROW is not supported"));
                };
                if insert.insert_predicate.is_some() {
                    let message = "WHERE in a WHEN clause of MERGE is not supported";
                    return Err(Error::unsupported(message).with_hint("write WHEN NOT MATCHED AND condition"));
                }
                let [row] = list.rows.as_slice() else {
                    return Err(Error::new(SqlState::SyntaxError, "INSERT of MERGE has one row of VALUES"));
                };
                if let [name] = insert.columns.as_slice()
                    && let Some(mut every) = self.every_column(name, info, source)?
                {
                    for (at, value) in every.iter_mut().enumerate() {
                        if value.is_none() {
                            *value = Some(self.binder.default_of(info, at)?);
                        }
                    }
                    return Ok((RowAction::Insert, every));
                }
                let mut targets = self.insert_columns(&insert.columns, named)?;
                let given = &row.content;
                // A generated column has DEFAULT in its place, or nothing.
                let computed = info.given_columns();
                if insert.columns.is_empty() && given.len() <= computed.len() {
                    targets = computed;
                }
                let fewer = insert.columns.is_empty() && given.len() < targets.len();
                if given.len() != targets.len() && !fewer {
                    let more = if given.len() > targets.len() { "expressions" } else { "target columns" };
                    let message = format!("INSERT has more {more}: {} for {}", given.len(), targets.len());
                    return Err(Error::new(SqlState::SyntaxError, message));
                }
                let mut values = vec![None; width];
                for (ast, at) in given.iter().zip(&targets) {
                    let computed = info.is_generated(*at);
                    if (computed || (info.is_always_generated(*at) && !overriding)) && !is_default(ast) {
                        return Err(always_generated(info, *at));
                    }
                    values[*at] = Some(self.assigned_value(ast, info, *at)?);
                }
                for (at, value) in values.iter_mut().enumerate() {
                    if value.is_none() {
                        *value = Some(self.binder.default_of(info, at)?);
                    }
                }
                Ok((RowAction::Insert, values))
            }
        }
    }

    /// The source's columns as the target's, where that is what the clause says: by their places or by their names.
    fn every_column(
        &mut self,
        name: &ObjectName,
        info: &RelationInfo,
        source: &[Entry],
    ) -> Result<Option<Vec<Option<Expr>>>> {
        let by_name = match name.0.as_slice() {
            [part] => match part.as_ident().map(|i| i.value.as_str()) {
                Some(EVERY) => false,
                Some(EVERY_BY_NAME) => true,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        let fields = info.columns.fields();
        let given: Vec<&Entry> = source.iter().filter(|e| e.plain && !e.hidden).collect();
        let mut values = vec![None; fields.len()];
        let targets = info.given_columns();
        if !by_name && given.len() != targets.len() {
            let message = format!("the source has {} columns, the target {}", given.len(), targets.len());
            return Err(
                Error::new(SqlState::SyntaxError, message).with_hint("write BY NAME, or name the columns")
            );
        }
        for (place, entry) in given.iter().enumerate() {
            let at = if by_name { info.columns.position(&entry.name) } else { Some(targets[place]) };
            let Some(at) = at else {
                return Err(unknown_column(info, &entry.name));
            };
            if info.is_generated(at) {
                return Err(always_generated(info, at));
            }
            let bound = Bound::typed(self.binder.column(entry.id), sqlparser::tokenizer::Span::empty());
            values[at] = Some(coerce::assign(bound, fields[at].ty, &fields[at].name, self.binder.text)?);
        }
        Ok(Some(values))
    }

    fn insert_columns(&self, names: &[ObjectName], named: &Named<'_>) -> Result<Vec<usize>> {
        let info = named.info;
        if names.is_empty() {
            return Ok((0..info.columns.len()).collect());
        }
        let mut places = Vec::with_capacity(names.len());
        for name in names {
            let idents: Vec<&Ident> = name.0.iter().filter_map(|p| p.as_ident()).collect();
            let found = match idents.as_slice() {
                [column] => column_position(info, column),
                [.., column] => Err(unknown_column(info, &folded(column))),
                [] => Err(unknown_column(info, "")),
            };
            let error = match found {
                Err(error) => error,
                Ok(place) if places.contains(&place) => {
                    let column = &info.columns.fields()[place].name;
                    let message = format!("column \"{column}\" specified more than once");
                    Error::new(SqlState::DuplicateColumn, message)
                }
                Ok(place) => {
                    places.push(place);
                    continue;
                }
            };
            return Err(self.binder.error_at(error, name_span(name)));
        }
        Ok(places)
    }
}
