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

use access::{PolicyCommand, Privilege};
use plan::{ColumnId, Expr, JoinKind, ModificationKind, RowAction};
use syntax::Span;
use syntax::tree::{
    self, Assignment, Expr as Ast, ExprKind as AstKind, MergeAction, MergeClause, MergeCondition, MergeWhen,
    Name, Operator, OperatorKind, Path, SelectItem, SetExpr, TableKind, TableWithJoins, Target as Targeted,
};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::RelationInfo;
use crate::bind::decorrelate::subquery::Pending;
use crate::bind::decorrelate::{joined, replace};
use crate::bind::expression::coerce::{self, Bound};
use crate::bind::expression::{Clause, ExprBinder, fold};
use crate::bind::from::sample::word_before;
use crate::bind::from::{duplicate_alias, shared_alias};
use crate::bind::modify::{
    Changed, Changing, Named, action, always_generated, case, column_position, is_null, something,
    unknown_column,
};
use crate::bind::query::values::is_default;
use crate::bind::refusal::wrong;
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, folded};

/// What a clause without a message says.
const REFUSED: &str = "a row meets MERGE's THEN ERROR";
/// The name of a source that has none of its own.
const SOURCE: &str = "merge source";

/// A MERGE's parts.
pub(crate) struct MergeParts<'a> {
    /// The relation after USING.
    pub source: &'a TableWithJoins,
    /// What makes source rows and target rows match.
    pub condition: &'a MergeCondition,
    /// The name of the target in the statement.
    pub written: Option<&'a Name>,
    /// The WHEN clauses in their order; the first that holds counts.
    pub clauses: &'a [MergeClause],
    /// The items of RETURNING; none without the clause.
    pub returning: &'a [SelectItem],
}

/// The name under which RETURNING finds what `merge_action()` gives.
const MERGE_ACTION: &str = "merge_action";

/// A WHEN clause, bound.
struct When {
    condition: Expr,
    action: RowAction,
    /// By column of the target; absent where it keeps its value.
    values: Vec<Option<Expr>>,
    /// THEN ERROR, in place of the action.
    refusal: Option<Expr>,
}

/// Rows of the source alone are there to be inserted; all others are there already.
fn is_alone(when: MergeWhen) -> bool {
    matches!(when, MergeWhen::NotMatched | MergeWhen::NotMatchedByTarget)
}

/// What no clause says: an action that rows of its kind do not have, and a list of columns for no values.
pub(crate) fn refuse_clauses(text: &str, clauses: &[MergeClause]) -> Result<()> {
    for clause in clauses {
        let alone = is_alone(clause.when);
        let verb = match &clause.action {
            MergeAction::Delete if alone => "DELETE",
            MergeAction::Update(_) | MergeAction::UpdateAll { .. } if alone => "UPDATE",
            MergeAction::Insert { .. } | MergeAction::InsertAll { .. } if !alone => "INSERT",
            MergeAction::Insert { columns, values: None, .. } if !columns.is_empty() => {
                let at = verb_of(text, clause);
                return Err(wrong("DEFAULT VALUES takes no list of columns", text, at));
            }
            _ => continue,
        };
        let when = match clause.when {
            MergeWhen::Matched => "MATCHED",
            MergeWhen::NotMatched => "NOT MATCHED",
            MergeWhen::NotMatchedByTarget => "NOT MATCHED BY TARGET",
            MergeWhen::NotMatchedBySource => "NOT MATCHED BY SOURCE",
        };
        let message = format!("{verb} is not allowed in a {when} merge clause");
        return Err(wrong(message, text, verb_of(text, clause)));
    }
    Ok(())
}

/// From the verb of a clause to its end.
fn verb_of(text: &str, clause: &MergeClause) -> Span {
    let verb = match &clause.action {
        MergeAction::Nothing => "do",
        MergeAction::Delete => "delete",
        MergeAction::Update(_) | MergeAction::UpdateAll { .. } => "update",
        MergeAction::Insert { .. } | MergeAction::InsertAll { .. } => "insert",
        MergeAction::Error(_) => "error",
    };
    let inside = match &clause.action {
        MergeAction::Update(set) => {
            set.first().and_then(|first| first.targets.first()).map(|target| target.path.span())
        }
        MergeAction::Insert { columns, values, overriding_system: _ } => columns
            .first()
            .map(|target| target.path.span())
            .or_else(|| values.as_ref().and_then(|values| values.first()).map(|value| value.span)),
        MergeAction::Error(Some(message)) => Some(message.span),
        _ => None,
    };
    // Before what it is given, which may have the same word in it.
    let before = inside.map_or(clause.span.end, |inside| inside.start);
    Span::new(word_before(text, before, verb).start, clause.span.end)
}

/// The rows that a MERGE goes over: the columns of those with a source, a target or both, and which rows these are.
struct MergeRows {
    both: Vec<Entry>,
    source: Vec<Entry>,
    own: Vec<Entry>,
    has_target: Expr,
    has_source: Expr,
    no_target: Expr,
    no_source: Expr,
    /// There may be rows without a target, and rows without a source.
    lone_sources: bool,
    lone_targets: bool,
}

impl<'a> Binder<'a> {
    /// The source, by a name that USING can tell, and what makes its rows match.
    fn merge_source(&self, parts: &MergeParts<'a>) -> Result<(&'a tree::Table, &'a Ast)> {
        let source = parts.source;
        let table = &source.table;
        let (alone, plain) = (source.joins.is_empty(), table.pivots.is_empty());
        let columns = match parts.condition {
            MergeCondition::On(condition) if alone => return Ok((table, condition)),
            MergeCondition::On(condition) => return Ok((self.kept_table(joined_tables(source))?, condition)),
            MergeCondition::Using(columns) => columns,
        };
        let at = columns.first().map_or(table.span, |column| column.span);
        let named = match (&table.alias, &table.kind) {
            _ if !alone || !plain => None,
            (Some(tree::TableAlias { name: Some(name), .. }), _) => Some(name),
            (None, TableKind::Named { name, .. } | TableKind::Function { name, .. }) => name.last(),
            _ => None,
        };
        let (table, named) = match named {
            Some(name) => (table, name.clone()),
            None => {
                let name = Name { text: SOURCE.into(), quoted: true, span: at };
                let alias = tree::TableAlias { name: Some(name.clone()), columns: vec![], first: false };
                let mut made = if alone { table.clone() } else { joined_tables(source) };
                let given = made.pivots.last_mut().map_or(&mut made.alias, |pivot| &mut pivot.alias);
                if given.is_some() {
                    let message = "the source of MERGE with USING needs a name";
                    return Err(wrong(message, self.text, table.span));
                }
                *given = Some(alias);
                (self.kept_table(made)?, name)
            }
        };
        let Some(target) = parts.written else {
            return Err(wrong("MERGE needs a table", self.text, at));
        };
        let mut conditions = columns.iter().map(|column| equal(column, target, &named));
        let Some(first) = conditions.next() else { return Err(wrong("USING needs a column", self.text, at)) };
        let and = |condition: Ast| (Operator { kind: OperatorKind::And, span: condition.span }, condition);
        let others: Vec<(Operator, Ast)> = conditions.map(and).collect();
        let condition = match others.is_empty() {
            true => first,
            false => Ast { span: first.span, kind: AstKind::Chain(Box::new(first), others) },
        };
        Ok((table, self.texts.keep_expr(condition)))
    }

    /// Keeps a table that the text does not have in so many words.
    fn kept_table(&self, table: tree::Table) -> Result<&'a tree::Table> {
        let span = table.span;
        let select = tree::Select {
            distinct: tree::Distinct::Unsaid,
            items: vec![],
            order: tree::ClauseOrder::FromOnly,
            into: None,
            from: vec![TableWithJoins { table, joins: vec![] }],
            condition: None,
            group_by: None,
            having: None,
            windows: vec![],
            qualify: None,
            sample: None,
            span,
        };
        let query = self.texts.keep_query(tree::Query {
            with: None,
            body: SetExpr::Select(Box::new(select)),
            order_by: vec![],
            limit: None,
            offset: None,
            locks: vec![],
            span,
        });
        match &query.body {
            SetExpr::Select(select) => select.from.first().map(|item| &item.table),
            _ => None,
        }
        .ok_or_else(|| Error::internal("a table that is not kept"))
    }

    /// The changes of a MERGE, as a query over source and target.
    pub(crate) fn merge(&mut self, named: Named<'_>, parts: MergeParts<'a>) -> Result<Changing> {
        use MergeWhen as K;
        let info = named.info;
        check_reachable(parts.clauses)?;
        let by_source = |kind: K| kind == K::NotMatchedBySource;
        let (table, on) = self.merge_source(&parts)?;
        let (target, scan) = self.target(&named, PolicyCommand::Update)?;
        let own = target.entries(&target.columns);
        let source = self.bind_factor(table, &Scope::new(None), false)?;
        if let Some(twice) = shared_alias(&own, &source.entries) {
            return Err(duplicate_alias(&twice)
                .with_detail("The name is used both as MERGE target table and data source."));
        }
        // Tells source rows from the NULLs that stand for none.
        let marker = self.columns.add("source row", Type::BigInt, false);
        let lone_targets = parts.clauses.iter().any(|c| by_source(c.when));
        let lone_sources = parts.clauses.iter().any(|c| is_alone(c.when));
        let mut from = source.plan;
        if lone_targets {
            from = self.beside(from, vec![(marker, Expr::literal(Value::I64(1), Type::BigInt))]);
        }
        let mut both = Scope::new(None);
        both.entries = source.entries.iter().chain(&own).cloned().collect();
        let both = Rc::new(both);
        let matches = self.merge_condition(on, &both)?;
        let kind = match (lone_sources, lone_targets) {
            (false, false) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (true, true) => JoinKind::Full,
        };
        let plan = joined(from, scan, matches, kind);
        if lone_sources {
            self.make_nullable(&own);
            self.columns.get_mut(target.row).nullable = true;
        }
        if lone_targets {
            self.make_nullable(&source.entries);
            self.columns.get_mut(marker).nullable = true;
        }
        let rows = MergeRows {
            both: both.entries.clone(),
            source: source.entries.clone(),
            own: own.clone(),
            has_target: is_null(self.column(target.row), true),
            has_source: is_null(self.column(marker), true),
            no_target: is_null(self.column(target.row), false),
            no_source: is_null(self.column(marker), false),
            lone_sources,
            lone_targets,
        };
        let (whens, pending) = self.merge_whens(parts.clauses, &rows, &named)?;
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
            let branches = whens.iter().enumerate().filter_map(|(place, when)| {
                let value = when.values.get(at)?.as_ref()?;
                Some((is(self, place), replace(value.clone(), &found)))
            });
            let expr = case(branches.collect(), self.passed(*old));
            let value = self.new_value(info, at, &expr);
            computed.push((value, expr));
            values.push(value);
        }
        let told = self.columns.add(MERGE_ACTION, Type::Text, false);
        computed.push((told, self.merge_action_told(done)));
        let plan = self.beside(plan, computed);
        let plan = self.generated_values(plan, info, &mut values)?;
        let mut scope = Scope::new(None);
        scope.entries = source.entries;
        scope.entries.extend(target.entries(&values));
        self.versions(&mut scope, info, Some(&target.columns), Some(&values));
        let (table, name) = (Some(MERGE_ACTION.into()), MERGE_ACTION.into());
        scope.entries.push(Entry { table, schema: None, name, id: told, plain: true, hidden: true });
        let changed = Changed { plan, action: done, row: target.row, values };
        self.changing(ModificationKind::Merge, named, changed, scope, parts.returning, None)
    }

    /// What ON asks of source and target, conjunct by conjunct.
    fn merge_condition(&mut self, on: &'a Ast, both: &Rc<Scope>) -> Result<Vec<Expr>> {
        let conjuncts = self.conjuncts(on, both, Clause::On, &mut None, &[])?;
        if !conjuncts.pending.is_empty() || !conjuncts.memberships.is_empty() {
            return Err(Error::unsupported("a subquery in MERGE's ON is not supported")
                .with_hint("compute it in a subquery in USING"));
        }
        Ok(conjuncts.filters)
    }

    /// The WHEN clauses, each with the condition under which it is the one, and subqueries that they use.
    fn merge_whens(
        &mut self,
        clauses: &'a [MergeClause],
        rows: &MergeRows,
        named: &Named<'_>,
    ) -> Result<(Vec<When>, Vec<Pending>)> {
        use MergeWhen as K;
        let overriding = clauses
            .iter()
            .any(|clause| matches!(clause.action, MergeAction::Insert { overriding_system: Some(_), .. }));
        let mut pending = Vec::new();
        let mut whens = Vec::with_capacity(clauses.len());
        for clause in clauses {
            let mut scope = Scope::new(None);
            let mut conditions = Vec::new();
            match clause.when {
                K::Matched => {
                    scope.entries.clone_from(&rows.both);
                    if rows.lone_sources {
                        conditions.push(rows.has_target.clone());
                    }
                    if rows.lone_targets {
                        conditions.push(rows.has_source.clone());
                    }
                }
                K::NotMatched | K::NotMatchedByTarget => {
                    scope.entries.clone_from(&rows.source);
                    conditions.push(rows.no_target.clone());
                }
                K::NotMatchedBySource => {
                    scope.entries.clone_from(&rows.own);
                    conditions.push(rows.no_source.clone());
                }
            }
            let mut binder = ExprBinder::new(self, Rc::new(scope), Clause::Merge);
            if let Some(condition) = &clause.condition {
                conditions.push(binder.condition(condition, "MERGE WHEN")?);
            }
            if let MergeAction::Error(message) = &clause.action {
                let refusal = Some(binder.merge_refusal(message.as_ref())?);
                pending.append(&mut binder.pending);
                let (condition, action) = (fold::and(conditions), RowAction::Nothing);
                whens.push(When { condition, action, values: vec![], refusal });
                continue;
            }
            let (done, values) = binder.merge_action(clause, named, &rows.source, overriding)?;
            let privilege = match done {
                RowAction::Insert => Some(Privilege::Insert),
                RowAction::Update => Some(Privilege::Update),
                RowAction::Delete => Some(Privilege::Delete),
                RowAction::Nothing => None,
            };
            if let Some(privilege) = privilege {
                let given = values.iter().enumerate().filter(|(_, value)| value.is_some());
                let places: Vec<usize> = given.map(|(at, _)| at).collect();
                binder.binder.check_write(named.info, privilege, &places)?;
            }
            pending.append(&mut binder.pending);
            whens.push(When { condition: fold::and(conditions), action: done, values, refusal: None });
        }
        Ok((whens, pending))
    }

    /// The name of the action of a row, as merge_action() tells it.
    fn merge_action_told(&self, done: ColumnId) -> Expr {
        let names = [(RowAction::Insert, "INSERT"), (RowAction::Update, "UPDATE")];
        let names = names.map(|(which, word)| {
            let is = Expr::compare(Comparison::Equal, self.column(done), action(which));
            (is, Expr::literal(Value::text(word), Type::Text))
        });
        case(names.to_vec(), Expr::literal(Value::text("DELETE"), Type::Text))
    }
}

/// An error for a clause behind one of its kind that always holds.
fn check_reachable(clauses: &[MergeClause]) -> Result<()> {
    use MergeWhen as K;
    let unreachable = |kinds: &dyn Fn(K) -> bool| {
        let mut of_kind = clauses.iter().filter(|c| kinds(c.when));
        of_kind.any(|c| c.condition.is_none()) && of_kind.next().is_some()
    };
    let by_source = |kind: K| kind == K::NotMatchedBySource;
    if unreachable(&|k| k == K::Matched) || unreachable(&is_alone) || unreachable(&by_source) {
        let message = "unreachable WHEN clause specified after unconditional WHEN clause";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    Ok(())
}

/// `target.column = source.column`; what is wrong with a column is told where it stands.
fn equal(column: &Name, target: &Name, source: &Name) -> Ast {
    let span = column.span;
    let of = |table: &Name| {
        let path = Path { names: vec![Name { span, ..table.clone() }, column.clone()] };
        Ast { kind: AstKind::Column(path), span }
    };
    let equal = Operator { kind: OperatorKind::Equal, span };
    Ast { kind: AstKind::Chain(Box::new(of(target)), vec![(equal, of(source))]), span }
}

/// Several tables in brackets.
fn joined_tables(tables: &TableWithJoins) -> tree::Table {
    let kind = TableKind::Joined(Box::new(tables.clone()));
    tree::Table { kind, alias: None, sample: None, pivots: vec![], span: tables.table.span }
}

impl<'a> ExprBinder<'_, 'a> {
    /// `merge_action()`, where MERGE's RETURNING is bound; `None` for every other call.
    pub(crate) fn merge_action_call(&mut self, call: &tree::Call) -> Result<Option<Bound>> {
        let is_action = |name: &&Name| !name.quoted && name.text.eq_ignore_ascii_case(MERGE_ACTION);
        let Some(name) = call.name.single().filter(is_action) else { return Ok(None) };
        if call.arguments.as_ref().is_none_or(|arguments| !arguments.list.is_empty()) {
            return Ok(None);
        }
        let name = Name { text: MERGE_ACTION.into(), quoted: true, span: name.span };
        self.column(&[name.clone(), name])
    }

    /// THEN ERROR: an action that fails with its message.
    fn merge_refusal(&mut self, message: Option<&'a Ast>) -> Result<Expr> {
        let message = match message {
            Some(message) => self.bind(message)?.expr,
            None => Expr::literal(Value::text(REFUSED), Type::Text),
        };
        crate::bind::check_depth(&message)?;
        let text = coerce::cast(message, Type::Text);
        let refusal = crate::bind::nested::call("error", vec![text], Type::Text);
        Ok(coerce::cast(refusal, Type::SmallInt))
    }

    fn merge_action(
        &mut self,
        clause: &'a MergeClause,
        named: &Named<'_>,
        source: &[Entry],
        overriding: bool,
    ) -> Result<(RowAction, Vec<Option<Expr>>)> {
        let info = named.info;
        match &clause.action {
            MergeAction::Nothing | MergeAction::Error(_) => Ok((RowAction::Nothing, vec![])),
            MergeAction::Delete => Ok((RowAction::Delete, vec![])),
            MergeAction::Update(set) => Ok((RowAction::Update, self.merge_update(set, info)?)),
            MergeAction::UpdateAll { by_name } => {
                let by_name = by_name.unwrap_or_else(|| self.ends_with_star(clause));
                Ok((RowAction::Update, self.every_column(by_name, info, source)?))
            }
            MergeAction::InsertAll { by_name } => {
                let by_name = by_name.unwrap_or_else(|| self.ends_with_star(clause));
                let values = self.every_column(by_name, info, source)?;
                Ok((RowAction::Insert, self.with_defaults(values, info)?))
            }
            MergeAction::Insert { columns, overriding_system: _, values } => {
                let values = match values {
                    Some(given) => self.merge_insert(columns, given, named, overriding)?,
                    None => vec![None; info.columns.len()],
                };
                Ok((RowAction::Insert, self.with_defaults(values, info)?))
            }
        }
    }

    /// A star means every column by name.
    fn ends_with_star(&self, clause: &MergeClause) -> bool {
        clause.span.of(self.binder.text).trim_end().ends_with('*')
    }

    fn merge_update(&mut self, set: &'a [Assignment], info: &RelationInfo) -> Result<Vec<Option<Expr>>> {
        let mut values = vec![None; info.columns.len()];
        for (at, expr) in self.assignments(set, info)? {
            values[at] = Some(expr);
        }
        Ok(values)
    }

    fn merge_insert(
        &mut self,
        columns: &[Targeted],
        given: &'a [Ast],
        named: &Named<'_>,
        overriding: bool,
    ) -> Result<Vec<Option<Expr>>> {
        let info = named.info;
        let mut targets = self.insert_columns(columns, named)?;
        // A generated column has DEFAULT in its place, or nothing.
        let computed = info.given_columns();
        if columns.is_empty() && given.len() <= computed.len() {
            targets = computed;
        }
        let fewer = columns.is_empty() && given.len() < targets.len();
        if given.len() != targets.len() && !fewer {
            let more = if given.len() > targets.len() { "expressions" } else { "target columns" };
            let message = format!("INSERT has more {more}: {} for {}", given.len(), targets.len());
            return Err(Error::new(SqlState::SyntaxError, message));
        }
        let mut values = vec![None; info.columns.len()];
        for (ast, at) in given.iter().zip(&targets) {
            let computed = info.is_generated(*at);
            if (computed || (info.is_always_generated(*at) && !overriding)) && !is_default(ast) {
                return Err(always_generated(info, *at));
            }
            values[*at] = Some(self.assigned_value(ast, info, *at)?);
        }
        Ok(values)
    }

    /// Columns that are given nothing have their defaults.
    fn with_defaults(
        &mut self,
        mut values: Vec<Option<Expr>>,
        info: &RelationInfo,
    ) -> Result<Vec<Option<Expr>>> {
        for (at, value) in values.iter_mut().enumerate() {
            if value.is_none() {
                *value = Some(self.binder.default_of(info, at)?);
            }
        }
        Ok(values)
    }

    /// The source's columns as the target's, by their places or by their names.
    fn every_column(
        &mut self,
        by_name: bool,
        info: &RelationInfo,
        source: &[Entry],
    ) -> Result<Vec<Option<Expr>>> {
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
            let bound = Bound::typed(self.binder.column(entry.id), Span::default());
            values[at] = Some(coerce::assign(bound, fields[at].ty, &fields[at].name, self.binder.text)?);
        }
        Ok(values)
    }

    fn insert_columns(&self, targets: &[Targeted], named: &Named<'_>) -> Result<Vec<usize>> {
        let info = named.info;
        if targets.is_empty() {
            return Ok((0..info.columns.len()).collect());
        }
        let mut places = Vec::with_capacity(targets.len());
        for Targeted { path, places: _ } in targets {
            let found = match path.names.as_slice() {
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
            return Err(self.binder.error_at(error, path.span()));
        }
        Ok(places)
    }
}
