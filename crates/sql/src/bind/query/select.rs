//! One SELECT: FROM, WHERE, GROUP BY, HAVING, the select list, DISTINCT and ORDER BY.
//!
//! `bind_select` binds all clauses before it builds what lies above the aggregation: select list, HAVING, QUALIFY and
//! ORDER BY may add aggregate and window calls. If there are any, expressions above are rewritten over the grouped
//! columns (`aggregate`). The order of the plan from below: FROM, WHERE, aggregation, HAVING, windows, QUALIFY,
//! unnested lists, projection, DISTINCT, sort. Subqueries (`Pending`) are joined below the node that reads them.

use std::collections::HashSet;
use std::rc::Rc;

use plan::{ColumnId, Expr, ExprKind, LogicalPlan, SortKey, WindowCall};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::{Comparison, Error, Result, SqlState, Type, Value};

use crate::bind::decorrelate::subquery::{Membership, Pending, PendingKind};
use crate::bind::decorrelate::unnest::{free_columns, made_columns};
use crate::bind::decorrelate::{Found, replace};
use crate::bind::expression::coerce::Bound;
use crate::bind::expression::{Clause, ExprBinder, fold, operands, strip};
use crate::bind::from::sample::word_before;
use crate::bind::function::aggregate::Aggregates;
use crate::bind::function::window::{BoundWindow, Windows};
use crate::bind::nested::paths::names_of;
use crate::bind::query::columns::{Chosen, is_pattern};
use crate::bind::query::grouped::Grouping;
use crate::bind::query::grouping::Groups;
use crate::bind::query::heading::heading;
use crate::bind::query::{Ordering, order_value};
use crate::bind::scope::{Entry, Scope};
use crate::bind::{Binder, Relation, folded, nested};
use crate::names::Name;

/// A WHERE or HAVING: conditions, and the memberships among its conjuncts.
#[derive(Default)]
pub(crate) struct Conjuncts {
    /// Conditions without memberships; all must be true.
    pub filters: Vec<Expr>,
    /// Conjuncts that become semi and anti joins.
    pub memberships: Vec<Membership>,
    /// Subqueries that `filters` use and that must be joined to the plan first.
    pub pending: Vec<Pending>,
}

/// One item of the select list.
pub(crate) struct Item {
    /// The name of the output column.
    pub name: Rc<str>,
    /// The value, over the columns below the projection.
    pub expr: Expr,
    /// A quoted literal or NULL that takes its type from the context of the query.
    pub untyped: bool,
    /// Where the item stands, for errors.
    pub span: Span,
}

/// A sort key: an item of the select list, or an expression of its own.
enum Order {
    Item(usize),
    Expr(Expr),
}

/// A sort key with its place and what it was written as, which DISTINCT ON has not.
struct Sorted<'a> {
    order: Order,
    span: Span,
    item: Option<&'a tree::OrderItem>,
}

impl Conjuncts {
    /// Puts what was joined to the plan in the place of subqueries.
    fn replace(&mut self, found: &Found) {
        for filter in &mut self.filters {
            let taken = std::mem::replace(filter, Expr::boolean(false));
            *filter = replace(taken, found);
        }
        for membership in &mut self.memberships {
            let computed = membership.computed.iter_mut().map(|(_, e)| e);
            for condition in membership.conditions.iter_mut().chain(computed) {
                let taken = std::mem::replace(condition, Expr::boolean(false));
                *condition = replace(taken, found);
            }
        }
    }
}

/// Subqueries that come after the window calls, and the others.
fn behind_windows(pending: Vec<Pending>, windows: &[BoundWindow]) -> (Vec<Pending>, Vec<Pending>) {
    // A subquery that a window call's value is compared with comes after the call.
    // So does what may use a column that is computed for such a one.
    let mut after = false;
    pending.into_iter().partition(|p| {
        let of_window = |used: &ColumnId| windows.iter().any(|w| w.id == *used);
        match &p.kind {
            PendingKind::Scalar { computed, .. } => {
                let own = computed.iter().any(|(_, e)| e.columns().iter().any(of_window))
                    || free_columns(&p.plan).iter().any(of_window);
                after |= own;
                own
            }
            PendingKind::Mark { conditions, computed } => {
                let mut all = conditions.iter().chain(computed.iter().map(|(_, e)| e));
                after |= all.any(|c| c.columns().iter().any(of_window));
                after
            }
        }
    })
}

impl<'a> Binder<'a> {
    /// The rows of a SELECT, in the order of `order`.
    pub(crate) fn bind_select(
        &mut self,
        select: &'a tree::Select,
        order: Ordering<'a>,
        outer: Option<Rc<Scope>>,
    ) -> Result<Relation> {
        self.refuse_into(select)?;
        let listed: &'a [tree::SelectItem] = match select.order {
            tree::ClauseOrder::FromOnly => self.texts.keep_items(vec![whole_star(select.span)]),
            tree::ClauseOrder::SelectFirst | tree::ClauseOrder::FromFirst => &select.items,
        };
        let (plan, scope) = self.bind_from(&select.from, outer)?;
        let mut plan = self.using_sample(plan, select.sample.as_ref())?;
        let scope = Rc::new(scope);
        if let Some(condition) = &select.condition {
            let conjuncts = self.conjuncts(condition, &scope, Clause::Where, &mut None, listed)?;
            plan = self.apply_conjuncts(plan, conjuncts)?;
        }
        let mut grouped = Vec::new();
        let groups = self.bind_groups(&mut plan, select, listed, &scope, &mut grouped)?;
        let written = groups.is_some();
        let mut groups = groups.unwrap_or_default();

        let mut aggregates =
            Some(Aggregates { grouped, groups: Rc::new(groups.clone()), ..Aggregates::default() });
        let having = match &select.having {
            Some(condition) => self.conjuncts(condition, &scope, Clause::Having, &mut aggregates, listed)?,
            None => Conjuncts::default(),
        };
        let mut binder = ExprBinder::new(self, scope.clone(), Clause::Select);
        binder.aggregates = aggregates;
        binder.binder.windows_once(&select.windows)?;
        binder.windows = Some(Windows { named: &select.windows, calls: vec![] });
        binder.unnests = Some(vec![]);
        let mut items = Vec::with_capacity(listed.len());
        for (at, item) in listed.iter().enumerate() {
            binder.listed = &listed[..at];
            binder.bind_item(item, &mut items)?;
        }
        binder.listed = listed;
        binder.clause = Clause::OrderBy;
        let keys = binder.sort_keys(order, &items)?;
        let on = binder.distinct_on(&select.distinct, &items)?;
        let qualify = match &select.qualify {
            Some(condition) => binder.qualify(condition, &items)?,
            None => Conjuncts::default(),
        };
        let pending = std::mem::take(&mut binder.pending);
        let aggregates = binder.aggregates.take().unwrap_or_default();
        let windows = binder.windows.take().unwrap_or_default().calls;
        let unnests = binder.unnests.take().unwrap_or_default();

        if groups.all {
            self.group_by_all(&mut groups, &items, &aggregates, &windows, &pending)?;
        }
        let grouped = written || select.having.is_some() || !aggregates.calls.is_empty();
        let mut above = Above { having, qualify, items, keys, on, windows, unnests, pending };
        if grouped {
            plan = self.aggregate(plan, groups, aggregates, &scope, &mut above)?;
        }
        let Above { having, mut qualify, mut items, keys, on, mut windows, unnests, pending } = above;
        plan = self.apply_conjuncts(plan, having)?;
        let (late, early) = behind_windows(pending, &windows);
        let (mut plan, mut found) = self.attach(plan, early)?;
        for expr in windows.iter_mut().flat_map(BoundWindow::expressions_mut) {
            let taken = std::mem::replace(expr, Expr::boolean(false));
            *expr = replace(taken, &found);
        }
        plan = self.windows(plan, windows);
        if !late.is_empty() {
            let (joined, more) = self.attach(plan, late)?;
            plan = joined;
            found.extend(more);
        }
        qualify.replace(&found);
        let mut plan = self.apply_conjuncts(plan, qualify)?;
        if !unnests.is_empty() {
            let lists = unnests.into_iter().map(|(id, list)| (id, replace(list, &found))).collect();
            plan = LogicalPlan::Unnest { input: Box::new(plan), lists, ordinality: None, outer: false };
        }
        for item in &mut items {
            let expr = std::mem::replace(&mut item.expr, Expr::boolean(false));
            item.expr = replace(expr, &found);
        }
        let distinct = match &select.distinct {
            tree::Distinct::Unsaid | tree::Distinct::All | tree::Distinct::On(_) => false,
            tree::Distinct::Distinct => true,
        };
        // Only inside a query can a bare column be one that this plan does not make.
        let made = scope.parent.is_some().then(|| made_columns(&plan));
        self.project(plan, made.as_ref(), items, (keys, on), distinct, &found)
    }

    fn refuse_into(&self, select: &tree::Select) -> Result<()> {
        if select.into.is_none() {
            return Ok(());
        }
        let error = Error::unsupported("SELECT INTO is not supported").with_hint("use CREATE TABLE AS");
        Err(self.error_at(error, word_of(self.text, select)))
    }

    /// Binds a condition conjunct by conjunct. `aggregates` is there for HAVING; `listed` is the select list whose
    /// aliases it may use.
    pub(crate) fn conjuncts(
        &mut self,
        condition: &'a Ast,
        scope: &Rc<Scope>,
        clause: Clause,
        aggregates: &mut Option<Aggregates<'a>>,
        listed: &'a [tree::SelectItem],
    ) -> Result<Conjuncts> {
        let mut parts = Vec::new();
        operands(condition, true, &mut parts);
        let mut binder = ExprBinder::new(self, scope.clone(), clause);
        binder.aggregates = aggregates.take();
        binder.listed = listed;
        let mut out = Conjuncts::default();
        for part in parts {
            let around = binder.binder.chosen.replace(Chosen::default());
            let result = binder.conjunct(part, clause, &mut out);
            binder.binder.chosen = around;
            result?;
        }
        out.pending = std::mem::take(&mut binder.pending);
        *aggregates = binder.aggregates.take();
        Ok(out)
    }

    /// Plain conditions first, then those with subqueries, then semi and anti joins.
    pub(crate) fn apply_conjuncts(&mut self, plan: LogicalPlan, conjuncts: Conjuncts) -> Result<LogicalPlan> {
        let Conjuncts { filters, memberships, pending } = conjuncts;
        let placeholders: Vec<ColumnId> = pending.iter().map(|p| p.placeholder).collect();
        let (late, early): (Vec<Expr>, Vec<Expr>) =
            filters.into_iter().partition(|f| f.columns().iter().any(|c| placeholders.contains(c)));
        let plan = filtered(plan, early);
        let (plan, found) = self.attach(plan, pending)?;
        let mut plan = filtered(plan, late.into_iter().map(|f| replace(f, &found)).collect());
        for membership in memberships {
            plan = self.attach_membership(plan, membership, &found)?;
        }
        Ok(plan)
    }

    /// Puts the aggregation on top of `plan` and rewrites what stands above it.
    fn aggregate(
        &mut self,
        plan: LogicalPlan,
        groups: Groups,
        mut aggregates: Aggregates<'a>,
        scope: &Scope,
        above: &mut Above<'a>,
    ) -> Result<LogicalPlan> {
        let below = std::mem::take(&mut aggregates.below);
        let (plan, found) = self.attach(plan, below)?;
        for (_, call) in &mut aggregates.calls {
            call.argument = call.argument.take().map(|e| replace(e, &found));
            call.filter = call.filter.take().map(|e| replace(e, &found));
        }
        let made = scope.parent.is_some().then(|| made_columns(&plan));
        let input = scope.entries.iter().rev().map(|e| (e.id, e.name.clone()));
        let grouping = match groups.number {
            Some(set) => self.set_keys(&groups, set, input),
            None => {
                let mut keyed = Vec::with_capacity(groups.keys.len());
                for expr in groups.keys.iter().cloned() {
                    keyed.push((self.own_column_for(made.as_ref(), "group", &expr), expr));
                }
                Grouping::new(keyed, input)
            }
        };
        let mut rewrite = |binder: &Self, expr: &mut Expr, span: Span| -> Result<()> {
            let taken = std::mem::replace(expr, Expr::boolean(false));
            *expr = grouping.rewrite(binder, &mut aggregates, taken).map_err(|e| binder.error_at(e, span))?;
            Ok(())
        };
        for item in &mut above.items {
            rewrite(self, &mut item.expr, item.span)?;
        }
        for (_, list) in &mut above.unnests {
            rewrite(self, list, Span::default())?;
        }
        for Sorted { order, span, .. } in above.keys.iter_mut().chain(&mut above.on) {
            if let Order::Expr(expr) = order {
                rewrite(self, expr, *span)?;
            }
        }
        for filter in above.having.filters.iter_mut().chain(&mut above.qualify.filters) {
            rewrite(self, filter, Span::default())?;
        }
        for expr in above.windows.iter_mut().flat_map(BoundWindow::expressions_mut) {
            rewrite(self, expr, Span::default())?;
        }
        for membership in above.having.memberships.iter_mut().chain(&mut above.qualify.memberships) {
            let computed = membership.computed.iter_mut().map(|(_, e)| e);
            for condition in membership.conditions.iter_mut().chain(computed) {
                rewrite(self, condition, Span::default())?;
            }
        }
        let mut subqueries: Vec<&LogicalPlan> =
            above.having.memberships.iter().chain(&above.qualify.memberships).map(|m| &m.plan).collect();
        for pending in above.pending.iter_mut().chain(&mut above.having.pending) {
            if let PendingKind::Mark { conditions, computed } = &mut pending.kind {
                for condition in conditions.iter_mut().chain(computed.iter_mut().map(|(_, e)| e)) {
                    rewrite(self, condition, Span::default())?;
                }
            }
            subqueries.push(&pending.plan);
        }
        // What subqueries use of this query must be there above the aggregation as well.
        for subquery in subqueries {
            for id in free_columns(subquery) {
                grouping.admit(self, &mut aggregates, id)?;
            }
        }
        if let Some(set) = groups.number {
            // A query inside another may use its columns, which one aggregation over another would have to pass on.
            let alone = scope.parent.is_none();
            return Ok(self.aggregate_sets(plan, &groups, set, grouping.groups, aggregates, alone));
        }
        Ok(LogicalPlan::Aggregate {
            input: Box::new(plan),
            groups: grouping.groups,
            aggregates: aggregates.calls,
        })
    }

    /// A column for an expression over a plan that makes the columns `made`. An outer column becomes one of this
    /// query's own: under its own id it would seem to be made here as well as further out.
    fn own_column_for(&mut self, made: Option<&HashSet<ColumnId>>, name: &str, expr: &Expr) -> ColumnId {
        match (expr.as_column(), made) {
            (Some(id), Some(made)) if !made.contains(&id) => {
                let nullable = self.nullable(expr);
                self.columns.add(name, expr.ty, nullable)
            }
            _ => self.column_for(name, expr),
        }
    }

    /// The select list, DISTINCT and ORDER BY on top of `plan`.
    #[allow(clippy::too_many_arguments)]
    fn project(
        &mut self,
        plan: LogicalPlan,
        made: Option<&HashSet<ColumnId>>,
        items: Vec<Item>,
        (keys, on): (Vec<Sorted<'a>>, Vec<Sorted<'a>>),
        distinct: bool,
        found: &Found,
    ) -> Result<Relation> {
        let mut expressions: Vec<(ColumnId, Expr)> = Vec::with_capacity(items.len());
        let mut columns = Vec::with_capacity(items.len());
        let mut known = HashSet::with_capacity(items.len());
        for item in &items {
            let id = self.own_column_for(made, &item.name, &item.expr);
            if item.untyped {
                self.untyped.insert(id);
            }
            if known.insert(id) {
                expressions.push((id, item.expr.clone()));
            }
            columns.push((item.name.clone(), id));
        }
        let mut sort: Vec<SortKey> = Vec::with_capacity(keys.len());
        let mut sorted = HashSet::with_capacity(keys.len());
        let mut parts = Vec::with_capacity(on.len());
        for Sorted { order, span, item } in keys.into_iter().chain(on) {
            let id = match order {
                Order::Item(at) => columns[at].1,
                Order::Expr(expr) => {
                    let expr = replace(expr, found);
                    match items.iter().position(|i| i.expr.is_like(&expr)) {
                        Some(at) => columns[at].1,
                        None if distinct => {
                            let error = Error::new(
                                SqlState::InvalidColumnReference,
                                "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
                            );
                            return Err(self.error_at(error, span));
                        }
                        None => {
                            let id = self.own_column_for(made, "sort key", &expr);
                            if known.insert(id) {
                                expressions.push((id, expr));
                            }
                            id
                        }
                    }
                }
            };
            match item {
                None => parts.push(self.column(id)),
                // Sorting twice by one column changes nothing.
                Some(item) if sorted.insert(id) => sort.push(self.sort_key(self.column(id), item)),
                Some(_) => {}
            }
        }
        let mut plan = plan;
        if expressions.iter().any(|(id, e)| e.as_column() != Some(*id)) {
            plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        }
        if distinct {
            let mut seen = HashSet::with_capacity(columns.len());
            let groups = columns
                .iter()
                .filter(|(_, id)| seen.insert(*id))
                .map(|(_, id)| (*id, self.column(*id)))
                .collect();
            plan = LogicalPlan::Aggregate { input: Box::new(plan), groups, aggregates: vec![] };
        }
        if !parts.is_empty() {
            // DISTINCT ON: the first row of each part.
            let id = self.columns.add("row_number", Type::BigInt, false);
            let calls = vec![(id, WindowCall::row_number())];
            let input = Box::new(plan);
            let numbered = LogicalPlan::Window { input, partition: parts, order: sort.clone(), calls };
            let first =
                Expr::compare(Comparison::Equal, self.column(id), Expr::literal(Value::I64(1), Type::BigInt));
            plan = filtered(numbered, vec![first]);
        }
        // A constant orders nothing.
        if !sort.is_empty() {
            plan = LogicalPlan::Sort { input: Box::new(plan), keys: sort, limit: None };
        }
        Ok(Relation { plan, columns })
    }
}

/// What is evaluated above an aggregation.
struct Above<'a> {
    having: Conjuncts,
    qualify: Conjuncts,
    items: Vec<Item>,
    keys: Vec<Sorted<'a>>,
    /// DISTINCT ON.
    on: Vec<Sorted<'a>>,
    windows: Vec<BoundWindow>,
    unnests: Vec<(ColumnId, Expr)>,
    pending: Vec<Pending>,
}

/// The `*` that FROM alone selects.
pub(crate) fn whole_star(span: Span) -> tree::SelectItem {
    let star =
        tree::Star { of: None, exclude: vec![], except: false, replace: vec![], rename: vec![], names: None };
    let value = Ast { kind: AstKind::Star(Box::new(star)), span };
    tree::SelectItem { value, alias: None, alias_first: false }
}

/// The place of the word SELECT, or of FROM where it stands alone.
pub(crate) fn word_of(text: &str, select: &tree::Select) -> Span {
    if select.order != tree::ClauseOrder::FromFirst {
        return select.span;
    }
    let listed = match &select.distinct {
        tree::Distinct::On(keys) => keys.first(),
        _ => None,
    };
    let first = listed.or(select.items.first().map(|item| &item.value));
    first.map_or(select.span, |first| word_before(text, first.span.start, "select"))
}

/// The plan under a filter, unless the conditions are constantly true.
pub(crate) fn filtered(plan: LogicalPlan, conditions: Vec<Expr>) -> LogicalPlan {
    if conditions.is_empty() {
        return plan;
    }
    match fold::and(conditions) {
        Expr { kind: ExprKind::Literal(Value::Bool(true)), .. } => plan,
        predicate => LogicalPlan::Filter { input: Box::new(plan), predicate },
    }
}

/// The fields of a struct as items of the select list; `None` of other values.
fn fields_of(whole: &Bound, span: Span) -> Option<Vec<Item>> {
    let fields = whole.ty().fields()?.iter().enumerate().map(|(at, (name, _))| {
        let expr = nested::extract(whole.expr.clone(), at);
        let name = if name.is_empty() { format!("element{}", at + 1) } else { name.clone() };
        Item { name: name.as_str().into(), expr, untyped: false, span }
    });
    Some(fields.collect())
}

impl<'a> ExprBinder<'_, 'a> {
    /// One conjunct; with COLUMNS in it, one for each column.
    fn conjunct(&mut self, part: &'a Ast, clause: Clause, out: &mut Conjuncts) -> Result<()> {
        loop {
            match self.membership(part)? {
                Some(membership) => out.memberships.push(membership),
                None => {
                    self.positive = true;
                    out.filters.push(self.condition(part, clause.name())?);
                }
            }
            if !self.binder.chosen.as_mut().is_some_and(|c| c.is_used() && c.next()) {
                return Ok(());
            }
        }
    }

    /// Adds the columns of a select item: one, or several for stars, COLUMNS and unnested structs.
    pub(crate) fn bind_item(&mut self, item: &'a tree::SelectItem, items: &mut Vec<Item>) -> Result<()> {
        let ast = &item.value;
        if let AstKind::Star(star) = &ast.kind
            && !is_pattern(star)
        {
            let all = match &star.of {
                None => self.everything(ast.span)?,
                Some(of) => self.qualified_star(of, ast.span)?,
            };
            if item.alias.is_some() {
                let error = Error::unsupported("an alias of * is not supported");
                return Err(self.binder.error_at(error, ast.span));
            }
            items.extend(self.apply_options(all, star, ast.span)?);
            return Ok(());
        }
        let alias = item.alias.as_ref().map(folded);
        if let (AstKind::Field(value, None), None) = (&ast.kind, &alias) {
            items.extend(self.all_fields(value, ast.span)?);
            return Ok(());
        }
        if alias.is_none()
            && let Some(opened) = self.unnested_items(ast)?
        {
            items.extend(opened);
            return Ok(());
        }
        // Once, or for COLUMNS once a column.
        let around = self.binder.chosen.replace(Chosen::default());
        let bound = self.bind_each(ast, alias.as_deref(), items);
        self.binder.chosen = around;
        bound
    }

    fn bind_each(&mut self, ast: &'a Ast, alias: Option<&str>, items: &mut Vec<Item>) -> Result<()> {
        loop {
            let bound = self.bind(ast)?;
            crate::bind::check_depth(&bound.expr)?;
            let plain = match alias {
                Some(_) => None,
                None => self.spelling(ast),
            };
            let chosen = self.binder.chosen.as_mut().filter(|c| c.is_used());
            let name = match (&chosen, alias, plain) {
                (Some(chosen), ..) => chosen.heading(alias),
                (None, Some(alias), _) => alias.to_owned(),
                (None, None, Some(spelled)) => spelled.to_string(),
                (None, None, None) => heading(ast),
            };
            let (untyped, span) = (bound.untyped, bound.span);
            items.push(Item { name: name.as_str().into(), expr: bound.expr, untyped, span });
            if !chosen.is_some_and(Chosen::next) {
                return Ok(());
            }
        }
    }

    /// The columns of `*`.
    fn everything(&self, span: Span) -> Result<Vec<Item>> {
        if self.scope.entries.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "SELECT * with no tables specified is not valid");
            return Err(self.binder.error_at(error, span));
        }
        Ok(self.scope.star().map(|e| self.star_item(e, span)).collect())
    }

    /// The columns of `table.*`.
    pub(crate) fn qualified_star(&mut self, of: &tree::Path, span: Span) -> Result<Vec<Item>> {
        let names: Vec<Name> = of.names.iter().map(Name::of).collect();
        let place = of.names.first().map_or(span, |name| name.span);
        let (schema, table) = match names.as_slice() {
            [table] => (None, table),
            [schema, table] => (Some(schema), table),
            [_, _, table] => (None, table),
            _ => return Err(self.binder.error_at(Error::unsupported("too many qualifiers"), place)),
        };
        if names.len() < 3 {
            let star: Vec<Item> =
                self.scope.star_of(schema, table).map(|e| self.star_item(e, place)).collect();
            if !star.is_empty() {
                return Ok(star);
            }
        }
        // A database may stand before it, or a schema.
        if let [_, .., _] = names.as_slice()
            && let Ok((Some(schema), table)) = self.binder.placed(&names)
        {
            let star: Vec<Item> =
                self.scope.star_of(Some(&schema), &table).map(|e| self.star_item(e, place)).collect();
            if !star.is_empty() {
                return Ok(star);
            }
        }
        // A struct's column: its fields.
        let whole = self.column(&of.names)?.and_then(|whole| fields_of(&whole, place));
        whole.ok_or_else(|| self.binder.error_at(self.scope.unknown(Some(table), "*"), place))
    }

    /// `(value).*`: the fields of a struct, or of a table's row.
    fn all_fields(&mut self, value: &'a Ast, span: Span) -> Result<Vec<Item>> {
        let bound = self.bind(value)?;
        crate::bind::check_depth(&bound.expr)?;
        fields_of(&bound, span).ok_or_else(|| {
            let message = format!("type {} is not composite", bound.ty());
            self.binder.error_at(Error::new(SqlState::WrongObjectType, message), span)
        })
    }

    /// QUALIFY: a condition over window calls and the select list's names. Its subqueries go with the others.
    fn qualify(&mut self, condition: &'a Ast, items: &[Item]) -> Result<Conjuncts> {
        self.clause = Clause::Qualify;
        self.aliases = items
            .iter()
            .map(|i| {
                let bound = Bound { expr: i.expr.clone(), untyped: i.untyped, span: i.span };
                (i.name.clone(), bound)
            })
            .collect();
        let mut parts = Vec::new();
        operands(condition, true, &mut parts);
        let mut out = Conjuncts::default();
        for part in parts {
            match self.membership(part)? {
                Some(membership) => out.memberships.push(membership),
                None => {
                    self.positive = true;
                    out.filters.push(self.condition(part, "QUALIFY")?);
                }
            }
        }
        Ok(out)
    }

    /// A column of a star as an item of the select list.
    pub(crate) fn star_item(&self, entry: &Entry, span: Span) -> Item {
        Item { name: entry.name.clone(), expr: self.binder.column(entry.id), untyped: false, span }
    }

    fn sort_keys(&mut self, order: Ordering<'a>, items: &[Item]) -> Result<Vec<Sorted<'a>>> {
        let mut keys = Vec::new();
        match order {
            Ordering::List(list) => {
                for key in list {
                    let value = order_value(self.binder.text, key)?;
                    for (order, span) in self.bind_targets(value, items, "ORDER BY")? {
                        keys.push(Sorted { order, span, item: Some(key) });
                    }
                }
            }
            Ordering::All(all) => keys.extend(items.iter().enumerate().map(|(at, i)| Sorted {
                order: Order::Item(at),
                span: i.span,
                item: Some(all),
            })),
        }
        Ok(keys)
    }

    fn distinct_on(&mut self, distinct: &'a tree::Distinct, items: &[Item]) -> Result<Vec<Sorted<'a>>> {
        let mut on = Vec::new();
        if let tree::Distinct::On(list) = distinct {
            for ast in list {
                for (order, span) in self.bind_targets(ast, items, "DISTINCT ON")? {
                    on.push(Sorted { order, span, item: None });
                }
            }
        }
        Ok(on)
    }

    /// What a sort key or a part of DISTINCT ON means: one value, with COLUMNS in it one for each column.
    fn bind_targets(&mut self, ast: &'a Ast, items: &[Item], clause: &str) -> Result<Vec<(Order, Span)>> {
        let around = self.binder.chosen.replace(Chosen::default());
        let mut targets = Vec::with_capacity(1);
        let bound = loop {
            match self.bind_target(ast, items, clause) {
                Ok(target) => targets.push(target),
                Err(error) => break Err(error),
            }
            if !self.binder.chosen.as_mut().is_some_and(|c| c.is_used() && c.next()) {
                break Ok(());
            }
        };
        self.binder.chosen = around;
        bound.map(|()| targets)
    }

    /// Whether an item goes by a column's name only because it is a TRY_CAST of it: the name is the column's, as in
    /// DuckDB, since rows are to be sorted by what could not be cast as well.
    fn hides_its_column(&self, item: &Expr, name: &Name) -> bool {
        let tried = matches!(&item.kind, ExprKind::Cast { lenient: true, .. });
        let alias = |item: &tree::SelectItem| item.alias.as_ref().is_some_and(|a| name.is(&folded(a)));
        tried && !self.listed.iter().any(alias)
    }

    /// A position, a name of the select list, or an expression over the input.
    fn bind_target(&mut self, ast: &'a Ast, items: &[Item], clause: &str) -> Result<(Order, Span)> {
        if let Some(at) = self.binder.output_position(ast, items.len())? {
            return Ok((Order::Item(at), items[at].span));
        }
        self.binder.no_constant(ast, clause)?;
        if let Some([ident]) = names_of(strip(ast)) {
            let name = Name::of(ident);
            for fits in [Name::is, Name::resembles] {
                let mut matches = items.iter().enumerate().filter(|(_, i)| fits(&name, &i.name));
                let Some((at, first)) = matches.next() else { continue };
                if self.hides_its_column(&first.expr, &name) {
                    break;
                }
                if matches.any(|(_, other)| other.expr != first.expr) {
                    let message = format!("ORDER BY \"{}\" is ambiguous", name.text);
                    let error = Error::new(SqlState::AmbiguousColumn, message);
                    return Err(self.binder.error_at(error, ident.span));
                }
                return Ok((Order::Item(at), ident.span));
            }
        }
        let bound = self.bind(ast)?;
        crate::bind::check_depth(&bound.expr)?;
        Ok((Order::Expr(bound.expr), bound.span))
    }
}
