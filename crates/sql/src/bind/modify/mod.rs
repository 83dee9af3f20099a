//! UPDATE and DELETE as queries over the rows they change, and what INSERT ... ON CONFLICT and MERGE share with them:
//! the target with the references of its rows, assignments, RETURNING.
//!
//! ```text
//!  UPDATE t SET a = e FROM x WHERE c RETURNING r        DELETE FROM t USING x WHERE c RETURNING r
//!    Project  action, row, new a, b.., r                  Project  action, row, r
//!      Filter c                                             Filter c
//!        Join                                                 Join
//!          Scan t (with row)   x                                Scan t (with row)   x
//! ```
//! RETURNING reads the new values under the table's name, and those of before as `old.a` (for DELETE both are the
//! same).

pub(crate) mod conflict;
pub(crate) mod generated;
pub(crate) mod merge;
pub(crate) mod retype;

use std::rc::Rc;

use access::{PolicyCommand, Privilege};
use plan::statement::ObjectName;
use plan::{
    ColumnId, Conflict, Expr, ExprKind, JoinKind, LogicalPlan, LogicalQuery, Modification, ModificationKind,
    ROW_REFERENCE, RowAction, RowChange,
};
use syntax::Span;
use syntax::tree::{
    self, Assignment, Expr as Ast, ExprKind as AstKind, Query, SelectItem, TableWithJoins, With,
};
use types::{Error, Result, SqlState, Type, Value};

use crate::RelationInfo;
use crate::bind::decorrelate::{joined, replace};
use crate::bind::expression::{Clause, ExprBinder, coerce, subquery_of};
use crate::bind::from::{ROW_ID, duplicate_alias, shared_alias};
use crate::bind::query::values::is_default;
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation, Used, folded};
use crate::names::Name;

/// The table that a statement changes, as one of its query's relations.
pub(crate) struct Target<'i> {
    /// The table as the catalog has it.
    pub info: &'i RelationInfo,
    /// Its alias, or its own name.
    pub name: Rc<str>,
    /// The schema that expressions may qualify the name with.
    pub schema: Option<Rc<str>>,
    /// The column that holds the reference of each row.
    pub row: ColumnId,
    /// The table's columns in this query, in the table's order.
    pub columns: Vec<ColumnId>,
}

/// What a statement names: its table as the catalog has it, and as the text does.
pub(crate) struct Named<'i> {
    /// The table's full name in the catalog.
    pub name: ObjectName,
    /// Its columns, keys and defaults.
    pub info: &'i RelationInfo,
    /// The alias that the statement gives it.
    pub alias: Option<String>,
}

impl Named<'_> {
    /// The name by which expressions mean the table.
    pub(crate) fn shown(&self) -> Rc<str> {
        self.alias.as_deref().unwrap_or(&self.name.name).into()
    }

    /// The schema that expressions may qualify that name with: none of an alias. The default one fits any entry without
    /// a schema, under both of its names.
    pub(crate) fn schema(&self) -> Option<Rc<str>> {
        let schema = self.name.schema.as_deref().filter(|_| self.alias.is_none())?;
        (schema != "main").then(|| schema.into())
    }
}

/// An UPDATE's parts.
pub(crate) struct UpdateParts<'a> {
    /// The assignments of SET.
    pub assignments: &'a [Assignment],
    /// The relations of FROM, which SET and WHERE may read.
    pub from: &'a [TableWithJoins],
    /// The WHERE condition; `None` changes every row.
    pub selection: Option<&'a Ast>,
    /// The items of RETURNING; none without the clause.
    pub returning: &'a [SelectItem],
}

/// A DELETE's parts.
pub(crate) struct DeleteParts<'a> {
    /// The relations of USING, which WHERE may read.
    pub using: &'a [TableWithJoins],
    /// The WHERE condition; `None` deletes every row.
    pub selection: Option<&'a Ast>,
    /// The items of RETURNING; none without the clause.
    pub returning: &'a [SelectItem],
}

/// A change of a table's rows that has been bound: the statement itself, or one in its WITH.
pub(crate) struct Changing {
    name: ObjectName,
    relation: Relation,
    change: RowChange,
}

/// What a modification's query delivers before RETURNING.
pub(crate) struct Changed {
    /// One row for each change.
    pub plan: LogicalPlan,
    /// The column that says what happens to the row (`RowAction`).
    pub action: ColumnId,
    /// The column with the reference of the target row; NULL where a row is inserted.
    pub row: ColumnId,
    /// The new values, by column of the target table; empty for DELETE.
    pub values: Vec<ColumnId>,
}

/// The table's columns as names of a scope; `plain` names need no qualifier.
pub(crate) fn entries(table: &str, names: &RelationInfo, ids: &[ColumnId], plain: bool) -> Vec<Entry> {
    let table: Rc<str> = table.into();
    let named = names.columns.fields().iter().zip(ids);
    let entry = |(field, id): (&types::Field, &ColumnId)| Entry {
        table: Some(table.clone()),
        schema: None,
        name: field.name.as_str().into(),
        id: *id,
        plain,
        hidden: false,
    };
    named.map(entry).collect()
}

/// The entries with a schema that may qualify them.
pub(crate) fn in_schema(mut entries: Vec<Entry>, schema: Option<&Rc<str>>) -> Vec<Entry> {
    entries.iter_mut().for_each(|entry| entry.schema = schema.cloned());
    entries
}

impl Target<'_> {
    /// The table's columns as names of a scope.
    pub(crate) fn entries(&self, ids: &[ColumnId]) -> Vec<Entry> {
        in_schema(entries(&self.name, self.info, ids, true), self.schema.as_ref())
    }
}

impl<'a> Binder<'a> {
    /// Makes the WITH queries of a statement known to what is bound next.
    pub(crate) fn with_queries(mut self, with: Option<&'a With>) -> Result<Self> {
        if let Some(with) = with {
            // However often it names them: those that must not be computed twice are computed once.
            let named: Vec<String> = with.queries.iter().map(|common| folded(&common.name)).collect();
            self.bind_with(with, &[named.clone(), named].concat(), &None)?;
        }
        Ok(self)
    }

    /// A scan of the statement's table that also gives each row's reference.
    pub(crate) fn target<'i>(
        &mut self,
        named: &Named<'i>,
        command: PolicyCommand,
    ) -> Result<(Target<'i>, LogicalPlan)> {
        let relation = self.scan(named.info.clone());
        self.note_use(Used::Table(named.info.id), &relation, false);
        let Relation { mut plan, columns } = relation;
        let row = self.columns.add("row", Type::BigInt, false);
        if let LogicalPlan::Scan { columns, .. } = &mut plan {
            columns.push((row, ROW_REFERENCE));
        }
        let Relation { plan, columns } =
            self.rows_let_pass(named.info, Relation { plan, columns }, command)?;
        let columns = columns.into_iter().map(|(_, id)| id).collect();
        Ok((Target { info: named.info, name: named.shown(), schema: named.schema(), row, columns }, plan))
    }

    /// Asks whether columns of a table may be written, or with none whether its rows may.
    pub(crate) fn check_write(
        &self,
        info: &RelationInfo,
        privilege: Privilege,
        places: &[usize],
    ) -> Result<()> {
        let fields = info.columns.fields();
        let columns: Vec<&str> = places.iter().map(|at| fields[*at].name.as_str()).collect();
        self.relations.check_use(&Used::Table(info.id), privilege, &columns, None)
    }

    /// The plan with more columns after its own.
    pub(crate) fn beside(&self, plan: LogicalPlan, more: Vec<(ColumnId, Expr)>) -> LogicalPlan {
        let mut expressions: Vec<(ColumnId, Expr)> =
            plan.output().into_iter().map(|id| (id, self.passed(id))).collect();
        expressions.extend(more);
        LogicalPlan::Project { input: Box::new(plan), expressions }
    }

    /// A new column for the `RowAction` of each row.
    pub(crate) fn action_column(&mut self) -> ColumnId {
        self.columns.add("action", Type::SmallInt, false)
    }

    /// The target joined with what FROM or USING lists, and their names; the target's come first.
    fn target_and(
        &mut self,
        target: &Target<'_>,
        scan: LogicalPlan,
        others: &'a [TableWithJoins],
    ) -> Result<(LogicalPlan, Scope)> {
        let mut scope = Scope::new(None);
        scope.entries = target.entries(&target.columns);
        let named = scope.entries.iter().any(|e| e.name.eq_ignore_ascii_case(ROW_ID));
        let row = (!named).then(|| Entry {
            table: Some(target.name.clone()),
            schema: None,
            name: ROW_ID.into(),
            id: target.row,
            plain: true,
            hidden: true,
        });
        if others.is_empty() {
            scope.entries.extend(row);
            return Ok((scan, scope));
        }
        let (plan, other) = self.bind_from(others, None)?;
        if let Some(twice) = shared_alias(&scope.entries, &other.entries) {
            return Err(duplicate_alias(&twice));
        }
        scope.entries.extend(other.entries);
        scope.entries.extend(row);
        Ok((joined(scan, plan, vec![], JoinKind::Inner), scope))
    }

    /// The changes of an UPDATE.
    pub(crate) fn update(&mut self, named: Named<'_>, parts: UpdateParts<'a>) -> Result<Changing> {
        let (target, scan) = self.target(&named, PolicyCommand::Update)?;
        let (mut plan, scope) = self.target_and(&target, scan, parts.from)?;
        let scope = Rc::new(scope);
        if let Some(condition) = parts.selection {
            let conjuncts = self.conjuncts(condition, &scope, Clause::Where, &mut None, &[])?;
            plan = self.apply_conjuncts(plan, conjuncts)?;
        }
        let mut binder = ExprBinder::new(self, scope.clone(), Clause::Update);
        let assigned = binder.assignments(parts.assignments, target.info)?;
        let places: Vec<usize> = assigned.iter().map(|(at, _)| *at).collect();
        binder.binder.check_write(target.info, Privilege::Update, &places)?;
        let pending = std::mem::take(&mut binder.pending);
        let (plan, found) = self.attach(plan, pending)?;
        let mut places: Vec<usize> = assigned.iter().map(|(at, _)| *at).collect();
        let mut values = target.columns.clone();
        let mut computed = Vec::with_capacity(assigned.len() + 1);
        for (at, expr) in assigned {
            let expr = replace(expr, &found);
            values[at] = self.new_value(target.info, at, &expr);
            computed.push((values[at], expr));
        }
        let action = self.action_column();
        computed.push((action, Expr::literal(RowAction::Update.as_value(), Type::SmallInt)));
        let plan = self.beside(plan, computed);
        let plan = self.generated_values(plan, target.info, &mut values)?;
        places.extend((0..values.len()).filter(|at| target.info.is_generated(*at)));
        let mut names = Scope::new(None);
        names.entries = target.entries(&values);
        let own = target.columns.len();
        names.entries.extend(scope.entries[own..].iter().cloned());
        self.versions(&mut names, target.info, Some(&target.columns), Some(&values));
        let changed = Changed { plan, action, row: target.row, values };
        let mut changing =
            self.changing(ModificationKind::Update, named, changed, names, parts.returning, None)?;
        changing.change.assigned = Some(places);
        Ok(changing)
    }

    /// The changes of a DELETE.
    pub(crate) fn delete(&mut self, named: Named<'_>, parts: DeleteParts<'a>) -> Result<Changing> {
        self.check_write(named.info, Privilege::Delete, &[])?;
        let (target, scan) = self.target(&named, PolicyCommand::Delete)?;
        let (mut plan, mut scope) = self.target_and(&target, scan, parts.using)?;
        if let Some(condition) = parts.selection {
            let scope = Rc::new(scope.clone());
            let conjuncts = self.conjuncts(condition, &scope, Clause::Where, &mut None, &[])?;
            plan = self.apply_conjuncts(plan, conjuncts)?;
        }
        let action = self.action_column();
        let done = Expr::literal(RowAction::Delete.as_value(), Type::SmallInt);
        let plan = self.beside(plan, vec![(action, done)]);
        self.versions(&mut scope, target.info, Some(&target.columns), None);
        let changed = Changed { plan, action, row: target.row, values: vec![] };
        self.changing(ModificationKind::Delete, named, changed, scope, parts.returning, None)
    }

    /// A column for a value that the table's column `at` gets.
    pub(crate) fn new_value(&mut self, info: &RelationInfo, at: usize, expr: &Expr) -> ColumnId {
        let field = &info.columns.fields()[at];
        let nullable = self.nullable(expr);
        self.columns.add(field.name.clone(), field.ty, nullable)
    }

    /// `old.a` and `new.a` of RETURNING, where the statement's tables have no such names.
    pub(crate) fn versions(
        &mut self,
        scope: &mut Scope,
        info: &RelationInfo,
        old: Option<&[ColumnId]>,
        new: Option<&[ColumnId]>,
    ) {
        for (name, ids) in [("old", old), ("new", new)] {
            if let (Some(ids), false) = (ids, scope.has_table(name)) {
                scope.entries.extend(entries(name, info, ids, false));
            }
        }
    }

    /// Puts RETURNING on top and names what the engine is to look at.
    pub(crate) fn changing(
        &mut self,
        kind: ModificationKind,
        named: Named<'_>,
        changed: Changed,
        scope: Scope,
        returning: &'a [SelectItem],
        conflict: Option<Conflict>,
    ) -> Result<Changing> {
        let Changed { mut plan, action, row, values } = changed;
        let mut columns: Vec<(Rc<str>, ColumnId)> = vec![("action".into(), action), ("row".into(), row)];
        columns.extend(values.iter().map(|id| (self.columns.get(*id).name.as_str().into(), *id)));
        let mut returned = None;
        if !returning.is_empty() {
            let before = columns.len();
            // The row's columns have other ids by now, and those of an INSERT are of no scan: what RETURNING reads of
            // them is counted by itself.
            let fields = named.info.columns.fields();
            let of_table = |e: &&Entry| fields.iter().any(|field| field.name == *e.name);
            let read = scope.entries.iter().filter(of_table).map(|e| (e.name.clone(), e.id)).collect();
            let around = self.enter_part();
            let row = Relation { plan: LogicalPlan::placeholder(), columns: read };
            self.note_use(Used::Table(named.info.id), &row, false);
            plan = self.returning(plan, scope, returning, &mut columns)?;
            self.leave_view(around);
            returned = Some(columns.len() - before);
        }
        let (table, name) = (named.info.id, named.name);
        let change = RowChange { kind, table, returning: returned, conflict, assigned: None };
        Ok(Changing { name, relation: Relation { plan, columns }, change })
    }

    /// The change as a statement.
    pub(crate) fn modification(mut self, changing: Changing) -> Result<Modification> {
        self.check_unused_ctes()?;
        self.refuse_second_change(&changing.change, &changing.name)?;
        let Changing { name, relation, change } = changing;
        Ok(Modification { name, query: self.finish_change(relation)?, change })
    }

    /// A query, after the changes in its WITH.
    pub(crate) fn query_of_changes(mut self, query: &'a Query) -> Result<LogicalQuery> {
        let relation = self.bind_query(query, None)?;
        self.check_unused_ctes()?;
        self.finish(relation)
    }

    /// A common table expression that is never used is checked all the same.
    fn check_unused_ctes(&mut self) -> Result<()> {
        for at in 0..self.ctes.len() {
            if !self.ctes[at].used {
                let before = self.before();
                self.bind_cte(at)?;
                self.go_back(before);
            }
        }
        Ok(())
    }

    /// Binds the change that the common table expression number `at` is: it sees those before it, and its rows are
    /// those of RETURNING.
    pub(crate) fn change_in_with(
        &mut self,
        at: usize,
        bind: impl FnOnce(&mut Self) -> Result<Changing>,
    ) -> Result<()> {
        let later = self.ctes.split_off(at);
        let bound = bind(self);
        self.ctes.extend(later);
        let Changing { name, relation, change } = bound?;
        self.refuse_second_change(&change, &name)?;
        let first = relation.columns.len() - change.returning.unwrap_or(0);
        let ids: Vec<ColumnId> = relation.columns.iter().map(|(_, id)| *id).collect();
        let mut returned = Relation { plan: LogicalPlan::placeholder(), columns: relation.columns };
        returned.columns.drain(..first);
        let names = self.ctes[at].columns.clone();
        let returns = change.returning.is_some();
        if returns {
            self.rename_columns(&mut returned, &names)?;
        }
        let rows = self.keep_changed(self.ctes[at].name.clone(), relation.plan, ids, change, &returned);
        let cte = &mut self.ctes[at];
        (cte.used, cte.changed, cte.once) = (true, true, returns.then_some(rows));
        Ok(())
    }

    /// All changes of a statement are made to the rows as they were before it, so that none can be made to rows that
    /// another one of them has put in the place of those.
    fn refuse_second_change(&self, change: &RowChange, name: &ObjectName) -> Result<()> {
        let adds = change.kind == ModificationKind::Insert && change.conflict.is_none();
        let mut before = self.common.iter().filter_map(|query| query.change.as_deref());
        if adds || !before.any(|other| other.table == change.table) {
            return Ok(());
        }
        let message = format!("the rows of \"{}\" are changed twice by one statement", name.name);
        Err(Error::unsupported(message).with_hint("make the changes one after the other, in a transaction"))
    }

    fn returning(
        &mut self,
        plan: LogicalPlan,
        scope: Scope,
        list: &'a [SelectItem],
        columns: &mut Vec<(Rc<str>, ColumnId)>,
    ) -> Result<LogicalPlan> {
        let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Returning);
        let mut items = Vec::with_capacity(list.len());
        for item in list {
            binder.bind_item(item, &mut items)?;
        }
        let pending = std::mem::take(&mut binder.pending);
        let (plan, found) = self.attach(plan, pending)?;
        let mut computed = Vec::new();
        for item in items {
            let mut expr = replace(item.expr, &found);
            if expr.ty == Type::Null {
                expr = crate::bind::null_of(Type::Text);
            }
            let id = self.column_for(&item.name, &expr);
            if expr.as_column() != Some(id) {
                computed.push((id, expr));
            }
            columns.push((item.name, id));
        }
        Ok(if computed.is_empty() { plan } else { self.beside(plan, computed) })
    }
}

impl<'a> ExprBinder<'_, 'a> {
    /// SET's right sides by the places of their columns, each of its column's type.
    pub(crate) fn assignments(
        &mut self,
        list: &'a [Assignment],
        info: &RelationInfo,
    ) -> Result<Vec<(usize, Expr)>> {
        let mut assigned: Vec<(usize, Expr)> = Vec::with_capacity(list.len());
        for Assignment { targets, row, value } in list {
            let mut places = Vec::with_capacity(targets.len());
            for target in targets {
                let place = self.assigned_column(&target.path, info)?;
                if places.contains(&place) || assigned.iter().any(|(at, _)| *at == place) {
                    let column = &info.columns.fields()[place].name;
                    let message = format!("multiple assignments to same column \"{column}\"");
                    let error = Error::new(SqlState::SyntaxError, message);
                    return Err(self.binder.error_at(error, target.path.span()));
                }
                places.push(place);
            }
            let computed = |at: &usize| info.is_generated(*at);
            let given = match places.as_slice() {
                [at] if !row => (computed(at) || info.is_always_generated(*at)) && !is_default(value),
                several => several.iter().any(computed),
            };
            if given {
                let place = if *row { places.iter().position(computed).unwrap_or(0) } else { 0 };
                let span = targets.get(place).map(|target| target.path.span()).unwrap_or_default();
                return Err(self.binder.error_at(only_default(info, places[place]), span));
            }
            match places.as_slice() {
                // DEFAULT is what it gets anyway.
                [at] if !row && computed(at) => {}
                [at] if !row => {
                    let expr = self.assigned_value(value, info, *at)?;
                    assigned.push((*at, expr));
                }
                _ => {
                    let values = self.assigned_row(value, info, &places)?;
                    assigned.extend(places.into_iter().zip(values));
                }
            }
        }
        Ok(assigned)
    }

    fn assigned_column(&self, path: &tree::Path, info: &RelationInfo) -> Result<usize> {
        let Some(first) = path.names.first() else { return Err(unknown_column(info, "")) };
        let found = column_position(info, first);
        let error = match (path.names.len(), found) {
            (1, Ok(place)) => return Ok(place),
            (1, Err(error)) => error,
            (_, Ok(_)) => Error::unsupported("fields of a column are not assigned one by one"),
            (_, Err(error)) => {
                error.with_hint("SET target columns cannot be qualified with the relation name")
            }
        };
        Err(self.binder.error_at(error, path.span()))
    }

    /// The value of one column: DEFAULT, or an expression.
    pub(crate) fn assigned_value(&mut self, ast: &'a Ast, info: &RelationInfo, at: usize) -> Result<Expr> {
        let field = &info.columns.fields()[at];
        if is_default(ast) {
            return self.binder.default_of(info, at);
        }
        let bound = self.bind(ast)?;
        crate::bind::check_depth(&bound.expr)?;
        coerce::assign(bound, field.ty, &field.name, self.binder.text)
    }

    /// `(a, b) = (x, y)`, `(a, b) = ROW(x, y)` and `(a, b) = (SELECT x, y ...)`.
    fn assigned_row(&mut self, ast: &'a Ast, info: &RelationInfo, places: &[usize]) -> Result<Vec<Expr>> {
        if let Some(query) = subquery_of(ast) {
            return self.assigned_query(query, info, places);
        }
        let items: Vec<&'a Ast> = match &ast.kind {
            AstKind::Row { row: _, elements } => elements.iter().collect(),
            AstKind::Nested(_) if places.len() == 1 => vec![ast],
            _ => {
                let message =
                    "source for a multiple-column UPDATE item must be a sub-SELECT or ROW() expression";
                return Err(Error::unsupported(message));
            }
        };
        if items.len() != places.len() {
            return Err(other_number());
        }
        items.into_iter().zip(places).map(|(item, at)| self.assigned_value(item, info, *at)).collect()
    }

    fn assigned_query(
        &mut self,
        query: &'a Query,
        info: &RelationInfo,
        places: &[usize],
    ) -> Result<Vec<Expr>> {
        let mut values = Vec::with_capacity(places.len());
        for (column, at) in places.iter().enumerate() {
            let bound = self.subquery_column(query, column, places.len())?.ok_or_else(other_number)?;
            let field = &info.columns.fields()[*at];
            values.push(coerce::assign(bound, field.ty, &field.name, self.binder.text)?);
        }
        Ok(values)
    }
}

impl Binder<'_> {
    /// The default of a table's column as the value it has now.
    pub(crate) fn default_of(&mut self, info: &RelationInfo, at: usize) -> Result<Expr> {
        let field = &info.columns.fields()[at];
        match info.defaults.get(at).and_then(Option::as_deref) {
            Some(text) => self.default_value(text, field, Span::default()),
            None => Ok(crate::bind::null_of(field.ty)),
        }
    }
}

fn other_number() -> Error {
    Error::new(SqlState::SyntaxError, "number of columns does not match number of values")
}

/// The error for a value given to a GENERATED column.
pub(crate) fn always_generated(info: &RelationInfo, at: usize) -> Error {
    let column = &info.columns.fields()[at].name;
    let message = format!("cannot insert a non-DEFAULT value into column \"{column}\"");
    let error = Error::new(SqlState::GeneratedAlways, message).with_detail(why_generated(info, at));
    match info.is_generated(at) {
        true => error.with_hint("leave it out: it is computed from the other columns"),
        false => error.with_hint("Use OVERRIDING SYSTEM VALUE to override."),
    }
}

fn why_generated(info: &RelationInfo, at: usize) -> String {
    let column = &info.columns.fields()[at].name;
    match info.is_generated(at) {
        true => format!("Column \"{column}\" is a generated column."),
        false => format!("Column \"{column}\" is an identity column defined as GENERATED ALWAYS."),
    }
}

/// The error for a value given to a GENERATED column by SET.
pub(crate) fn only_default(info: &RelationInfo, at: usize) -> Error {
    let column = &info.columns.fields()[at].name;
    let message = format!("column \"{column}\" can only be updated to DEFAULT");
    Error::new(SqlState::GeneratedAlways, message).with_detail(why_generated(info, at))
}

/// The table's column that a statement names.
pub(crate) fn column_position(info: &RelationInfo, ident: &tree::Name) -> Result<usize> {
    let name = Name::of(ident);
    let known = info.columns.fields().iter().map(|f| f.name.as_str());
    name.position(known, "column")?.ok_or_else(|| unknown_column(info, &name.text))
}

/// The error for a column that the table does not have, with the nearest name as a hint.
pub(crate) fn unknown_column(info: &RelationInfo, name: &str) -> Error {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", info.name);
    let error = Error::new(SqlState::UndefinedColumn, message);
    match crate::bind::scope::nearest(name, info.columns.fields().iter().map(|f| f.name.as_str())) {
        Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
        None => error,
    }
}

/// The first of the values whose condition holds, or the last.
pub(crate) fn case(branches: Vec<(Expr, Expr)>, otherwise: Expr) -> Expr {
    if branches.is_empty() {
        return otherwise;
    }
    let ty = otherwise.ty;
    Expr::new(ExprKind::Case { branches, otherwise: Some(Box::new(otherwise)) }, ty)
}

/// `expr IS NULL`, or `IS NOT NULL` if `negated`.
pub(crate) fn is_null(expr: Expr, negated: bool) -> Expr {
    Expr::new(ExprKind::IsNull { input: Box::new(expr), negated }, Type::Boolean)
}

/// An action as a literal.
pub(crate) fn action(action: RowAction) -> Expr {
    Expr::literal(action.as_value(), Type::SmallInt)
}

/// Rows to which something is done.
pub(crate) fn something(plan: LogicalPlan, action: Expr) -> LogicalPlan {
    let nothing = Expr::literal(Value::I16(RowAction::Nothing.number()), Type::SmallInt);
    let predicate = Expr::compare(types::Comparison::NotEqual, action, nothing);
    LogicalPlan::Filter { input: Box::new(plan), predicate }
}
