//! Walking a tree: the parts of a node, and all nodes below one.
//!
//! `walk` needs no stack of its own depth, as it keeps the nodes that are still to be seen in a list. What stands in a
//! type's brackets holds no query and is not walked, nor are statements that no query may hold.

use std::ops::ControlFlow;

use super::{
    Arguments, Assignment, Call, ColumnsCall, Delete, Described, Expr, ExprKind, FrameBound, GroupItem,
    GroupItems, InSet, Insert, IsKind, Join, JoinCondition, Literal, Merge, MergeAction, MergeCondition,
    OnConflict, OrderItem, OrderKey, Over, Path, PivotColumn, PivotStatement, PivotValues, Query, Select,
    SelectItem, SetExpr, Show, SpecialCall, Star, Statement, StatementKind, Table, TableKind, TablePivotKind,
    TableWithJoins, Target, Update, WindowSpec, With,
};

/// A node that `walk` can begin at or come to.
#[derive(Clone, Copy, Debug)]
pub enum Node<'t> {
    /// A statement.
    Statement(&'t Statement),
    /// A query with all that stands around its body.
    Query(&'t Query),
    /// A query's body, or an operand of a set operation.
    Body(&'t SetExpr),
    /// An entry of FROM.
    Table(&'t Table),
    /// The name of a table, or of a function in FROM.
    Relation(&'t Path),
    /// An expression.
    Expr(&'t Expr),
}

/// Shows `see` the node and every node below it, each before those below it, in the order of the text where the tree
/// keeps it, until `see` breaks.
pub fn walk<'t, B>(
    from: impl IntoIterator<Item = Node<'t>>,
    see: &mut dyn FnMut(Node<'t>) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut open: Vec<Node<'t>> = from.into_iter().collect();
    open.reverse();
    let mut parts = Parts(Vec::new());
    while let Some(node) = open.pop() {
        see(node)?;
        parts.node(node);
        open.extend(parts.0.drain(..).rev());
    }
    ControlFlow::Continue(())
}

/// The parts of a query apart from its WITH.
pub fn behind_with(query: &Query) -> Vec<Node<'_>> {
    let mut parts = Parts(Vec::new());
    parts.behind_with(query);
    parts.0
}

/// The nodes that are directly below one.
struct Parts<'t>(Vec<Node<'t>>);

impl<'t> Parts<'t> {
    fn node(&mut self, node: Node<'t>) {
        match node {
            Node::Statement(statement) => self.statement(statement),
            Node::Query(query) => {
                self.with(query.with.as_ref());
                self.behind_with(query);
            }
            Node::Body(body) => self.body(body),
            Node::Table(table) => self.table(table),
            Node::Relation(_) => {}
            Node::Expr(expr) => self.expr(expr),
        }
    }

    // Statements.

    fn statement(&mut self, statement: &'t Statement) {
        use StatementKind as K;
        match &statement.kind {
            K::Query(query) => self.query(query),
            K::Insert(insert) => self.insert(insert),
            K::Update(update) => self.update(update),
            K::Delete(delete) => self.delete(delete),
            K::Merge(merge) => self.merge(merge),
            K::Describe { summarize: _, what } => match what {
                Some(Described::Table(name)) => self.relation(name),
                Some(Described::Statement(statement)) => self.0.push(Node::Statement(statement)),
                Some(Described::File(_)) | None => {}
            },
            K::Show(show) => match show {
                Show::Query(statement) => self.0.push(Node::Statement(statement)),
                Show::Name(name) => self.relation(name),
                Show::Nothing | Show::Tables { .. } | Show::All | Show::Listed { .. } => {}
            },
            K::DeclareCursor(cursor) => self.0.push(Node::Statement(&cursor.query)),
            K::Truncate(_)
            | K::Copy(_)
            | K::CopyDatabase { .. }
            | K::CreateTable(_)
            | K::CreateView(_)
            | K::CreateIndex(_)
            | K::CreateSequence { .. }
            | K::CreateSchema { .. }
            | K::CreateType(_)
            | K::CreateMacro(_)
            | K::CreateFunction(_)
            | K::CreateSecret(_)
            | K::CreateWideTable(_)
            | K::RefreshWideTable(_)
            | K::AlterTable(_)
            | K::AlterObject(_)
            | K::Access(_)
            | K::AlterQuery(..)
            | K::Drop(_)
            | K::Comment(_)
            | K::Explain { .. }
            | K::Prepare { .. }
            | K::Execute { .. }
            | K::Deallocate(_)
            | K::FetchCursor { .. }
            | K::CloseCursor(_)
            | K::Discard(_)
            | K::Set(_)
            | K::Reset { .. }
            | K::ResetVariable(_)
            | K::Pragma { .. }
            | K::Call { .. }
            | K::Begin { .. }
            | K::Commit { .. }
            | K::Rollback { .. }
            | K::Savepoint(_)
            | K::Release(_)
            | K::SetTransaction(..)
            | K::Attach { .. }
            | K::Detach { .. }
            | K::Use(_)
            | K::Checkpoint(_)
            | K::CheckDatabase
            | K::BackupDatabase(_)
            | K::ExportDatabase(..)
            | K::ImportDatabase(_)
            | K::Analyze(..)
            | K::Vacuum { .. }
            | K::Lock { .. }
            | K::SteerQuery(..)
            | K::Unsupported(_) => {}
        }
    }

    fn insert(&mut self, insert: &'t Insert) {
        self.with(insert.with.as_ref());
        self.relation(&insert.table);
        self.targets(&insert.columns);
        self.0.extend(insert.source.as_deref().map(Node::Query));
        if let Some(OnConflict { target, target_condition, constraint: _, update, span: _ }) =
            &insert.conflict
        {
            self.several(target);
            self.maybe(target_condition.as_ref());
            if let Some(update) = update {
                self.assignments(&update.set);
                self.maybe(update.condition.as_ref());
            }
        }
        self.items(&insert.returning);
    }

    fn update(&mut self, update: &'t Update) {
        self.with(update.with.as_ref());
        self.relation(&update.table);
        self.assignments(&update.set);
        self.tables(&update.from);
        self.maybe(update.condition.as_ref());
        self.order(&update.order_by);
        self.maybe(update.limit.as_ref());
        self.items(&update.returning);
    }

    fn delete(&mut self, delete: &'t Delete) {
        self.with(delete.with.as_ref());
        self.relation(&delete.table);
        self.tables(&delete.using);
        self.maybe(delete.condition.as_ref());
        self.order(&delete.order_by);
        self.maybe(delete.limit.as_ref());
        self.items(&delete.returning);
    }

    fn merge(&mut self, merge: &'t Merge) {
        self.with(merge.with.as_ref());
        self.relation(&merge.table);
        self.joined(&merge.source);
        match &merge.condition {
            MergeCondition::On(condition) => self.one(condition),
            MergeCondition::Using(_) => {}
        }
        for clause in &merge.clauses {
            self.maybe(clause.condition.as_ref());
            self.merge_action(&clause.action);
        }
        self.items(&merge.returning);
    }

    fn merge_action(&mut self, action: &'t MergeAction) {
        match action {
            MergeAction::Update(set) => self.assignments(set),
            MergeAction::Insert { columns, overriding_system: _, values } => {
                self.targets(columns);
                self.several(values.as_deref().unwrap_or_default());
            }
            MergeAction::Error(message) => self.maybe(message.as_ref()),
            MergeAction::Nothing
            | MergeAction::Delete
            | MergeAction::UpdateAll { .. }
            | MergeAction::InsertAll { .. } => {}
        }
    }

    fn assignments(&mut self, set: &'t [Assignment]) {
        for assignment in set {
            self.targets(&assignment.targets);
            self.one(&assignment.value);
        }
    }

    fn targets(&mut self, targets: &'t [Target]) {
        targets.iter().for_each(|target| self.several(&target.places));
    }

    // Queries.

    fn query(&mut self, query: &'t Query) {
        self.0.push(Node::Query(query));
    }

    fn with(&mut self, with: Option<&'t With>) {
        for query in with.iter().flat_map(|with| &with.queries) {
            self.items(&query.key);
            self.0.push(Node::Statement(&query.statement));
            if let Some((value, default)) = query.cycle.as_ref().and_then(|cycle| cycle.values.as_ref()) {
                self.one(value);
                self.one(default);
            }
        }
    }

    fn behind_with(&mut self, query: &'t Query) {
        let Query { with: _, body, order_by, limit, offset, locks: _, span: _ } = query;
        self.0.push(Node::Body(body));
        self.order(order_by);
        self.maybe(limit.as_ref().and_then(|limit| limit.count.as_ref()));
        self.maybe(offset.as_ref());
    }

    fn body(&mut self, body: &'t SetExpr) {
        match body {
            SetExpr::Select(select) => self.select(select),
            SetExpr::Query(query) => self.query(query),
            SetExpr::Values(rows) => rows.iter().for_each(|row| self.several(row)),
            SetExpr::Table(name) => self.relation(name),
            SetExpr::Set(first, rest) => {
                self.0.push(Node::Body(first));
                self.0.extend(rest.iter().map(|(_, operand)| Node::Body(operand)));
            }
            SetExpr::Pivot(pivot) => self.pivot_statement(pivot),
            SetExpr::Inspect(statement) => self.0.push(Node::Statement(statement)),
        }
    }

    fn select(&mut self, select: &'t Select) {
        let Select {
            distinct,
            items,
            order: _,
            into: _,
            from,
            condition,
            group_by,
            having,
            windows,
            qualify,
            sample,
            span: _,
        } = select;
        if let super::Distinct::On(keys) = distinct {
            self.several(keys);
        }
        self.items(items);
        self.tables(from);
        self.maybe(condition.as_ref());
        if let Some(GroupItems::List(list)) = group_by.as_ref().map(|group_by| &group_by.items) {
            list.iter().for_each(|item| self.group_item(item));
        }
        self.maybe(having.as_ref());
        windows.iter().for_each(|(_, window)| self.window(window));
        self.maybe(qualify.as_ref());
        if let Some(sample) = sample {
            self.one(&sample.amount);
            self.maybe(sample.seed.as_ref());
        }
    }

    fn group_item(&mut self, item: &'t GroupItem) {
        match item {
            GroupItem::Expr(expr) => self.one(expr),
            GroupItem::Empty(_) => {}
            GroupItem::Rollup(elements, _) | GroupItem::Cube(elements, _) => {
                elements.iter().for_each(|element| self.several(element));
            }
            // As deep as brackets stand in each other.
            GroupItem::Sets(items, _) => items.iter().for_each(|item| self.group_item(item)),
        }
    }

    fn window(&mut self, window: &'t WindowSpec) {
        let WindowSpec { base: _, partition_by, order_by, frame, span: _ } = window;
        self.several(partition_by);
        self.order(order_by);
        for bound in frame.iter().flat_map(|frame| std::iter::once(&frame.start).chain(&frame.end)) {
            match bound {
                FrameBound::Preceding(expr) | FrameBound::Following(expr) => self.one(expr),
                FrameBound::UnboundedPreceding | FrameBound::CurrentRow | FrameBound::UnboundedFollowing => {}
            }
        }
    }

    fn order(&mut self, items: &'t [OrderItem]) {
        for item in items {
            match &item.key {
                OrderKey::All => {}
                OrderKey::Expr(expr) | OrderKey::Using(expr, _) => self.one(expr),
            }
        }
    }

    fn items(&mut self, items: &'t [SelectItem]) {
        self.0.extend(items.iter().map(|item| Node::Expr(&item.value)));
    }

    // FROM.

    fn tables(&mut self, tables: &'t [TableWithJoins]) {
        tables.iter().for_each(|table| self.joined(table));
    }

    fn joined(&mut self, table: &'t TableWithJoins) {
        self.0.push(Node::Table(&table.table));
        for Join { natural: _, asof: _, kind: _, outer: _, table, condition, span: _ } in &table.joins {
            self.0.push(Node::Table(table));
            match condition {
                JoinCondition::On(condition) => self.one(condition),
                JoinCondition::None | JoinCondition::Using(..) => {}
            }
        }
    }

    fn table(&mut self, table: &'t Table) {
        let Table { kind, alias: _, sample, pivots, span: _ } = table;
        match kind {
            TableKind::Named { only: _, name } => self.relation(name),
            TableKind::File(_) => {}
            TableKind::Query { lateral: _, query } => self.query(query),
            TableKind::Function { lateral: _, name, arguments, ordinality: _ } => {
                self.relation(name);
                self.0.extend(arguments.iter().map(|argument| Node::Expr(&argument.value)));
            }
            TableKind::RowsFrom { lateral: _, functions, ordinality: _ } => {
                for (name, arguments, _) in functions {
                    self.relation(name);
                    self.0.extend(arguments.iter().map(|argument| Node::Expr(&argument.value)));
                }
            }
            TableKind::Joined(joined) => self.joined(joined),
        }
        if let Some(sample) = sample {
            self.one(&sample.amount);
            self.maybe(sample.seed.as_ref());
        }
        for pivot in pivots {
            match &pivot.kind {
                TablePivotKind::Pivot { aggregates, columns, group_by } => {
                    self.items(aggregates);
                    for PivotColumn { value, among } in columns {
                        self.one(value);
                        self.pivot_values(among.as_ref());
                    }
                    self.several(group_by);
                }
                TablePivotKind::Unpivot(unpivot) => self.items(&unpivot.columns),
            }
        }
    }

    fn pivot_values(&mut self, among: Option<&'t PivotValues>) {
        match among {
            Some(PivotValues::List(items)) => self.items(items),
            Some(PivotValues::Query(query)) => self.query(query),
            Some(PivotValues::Type(_)) | None => {}
        }
    }

    fn pivot_statement(&mut self, pivot: &'t PivotStatement) {
        let PivotStatement {
            unpivot: _,
            source,
            on,
            aggregates,
            group_by,
            into: _,
            include_nulls: _,
            span: _,
        } = pivot;
        self.joined(source);
        for on in on {
            self.one(&on.item.value);
            self.pivot_values(on.among.as_ref());
        }
        self.items(aggregates);
        self.several(group_by);
    }

    fn relation(&mut self, name: &'t Path) {
        self.0.push(Node::Relation(name));
    }

    // Expressions.

    fn one(&mut self, expr: &'t Expr) {
        self.0.push(Node::Expr(expr));
    }

    fn several(&mut self, exprs: &'t [Expr]) {
        self.0.extend(exprs.iter().map(Node::Expr));
    }

    fn maybe(&mut self, expr: Option<&'t Expr>) {
        self.0.extend(expr.map(Node::Expr));
    }

    fn expr(&mut self, expr: &'t Expr) {
        use ExprKind as K;
        match &expr.kind {
            K::Literal(Literal::Interval(interval)) => self.one(&interval.value),
            K::Literal(_) | K::Parameter(_) | K::Column(_) | K::Position(_) | K::Default => {}
            K::Star(star) => self.star(star),
            K::Columns(call) => {
                let ColumnsCall { of: _, unpacked: _, which } = call.as_ref();
                self.one(which);
            }
            K::Nested(inner) | K::Prefix(_, inner) | K::Collate(inner, _) | K::Field(inner, _) => {
                self.one(inner)
            }
            K::Is(test) => {
                self.one(&test.expr);
                match &test.test {
                    IsKind::DistinctFrom(other) => self.one(other),
                    IsKind::Null
                    | IsKind::True
                    | IsKind::False
                    | IsKind::Unknown
                    | IsKind::Normalized(_)
                    | IsKind::Json(_) => {}
                }
            }
            K::Chain(first, rest) => {
                self.one(first);
                self.0.extend(rest.iter().map(|(_, operand)| Node::Expr(operand)));
            }
            K::Cast(call) => self.one(&call.expr),
            K::AtTimeZone(moment, zone) => {
                self.one(moment);
                self.maybe(zone.as_deref());
            }
            K::In(test) => {
                self.one(&test.expr);
                self.set(&test.set);
            }
            K::Between(test) => self.0.extend([&test.expr, &test.low, &test.high].map(Node::Expr)),
            K::Like(test) => {
                self.one(&test.expr);
                self.one(&test.pattern);
                self.maybe(test.escape.as_ref());
            }
            K::Quantified(test) => {
                self.one(&test.expr);
                self.set(&test.set);
            }
            K::Exists(query) | K::Subquery(query) | K::ArrayOf(query) => self.query(query),
            K::List { array: _, elements } | K::Row { row: _, elements } => self.several(elements),
            K::Comprehension(list) => {
                self.one(&list.element);
                self.one(&list.list);
                self.maybe(list.condition.as_ref());
            }
            K::Struct(fields) => self.0.extend(fields.iter().map(|(_, value)| Node::Expr(value))),
            K::Map(entries) => {
                self.0.extend(entries.iter().flat_map(|(key, value)| [key, value]).map(Node::Expr));
            }
            K::Case(case) => {
                self.maybe(case.operand.as_ref());
                self.0.extend(case.branches.iter().flat_map(|(when, then)| [when, then]).map(Node::Expr));
                self.maybe(case.otherwise.as_ref());
            }
            K::Call(call) => self.call(call),
            K::Special(call) => self.special(call),
            K::Index(of, place) => self.0.extend([of, place].map(|e| Node::Expr(e))),
            K::Slice(slice) => {
                self.one(&slice.expr);
                [&slice.from, &slice.to, &slice.step].into_iter().for_each(|e| self.maybe(e.as_ref()));
            }
            K::Method(of, call) => {
                self.one(of);
                self.call(call);
            }
            K::Lambda(lambda) => self.one(&lambda.body),
            K::Overlaps(left, right) => self.0.extend([left, right].map(|e| Node::Expr(e))),
        }
    }

    fn star(&mut self, star: &'t Star) {
        let Star { of: _, exclude: _, except: _, replace, rename: _, names } = star;
        self.0.extend(replace.iter().map(|(value, _)| Node::Expr(value)));
        self.maybe(names.as_ref().map(|names| &names.pattern));
        self.maybe(names.as_ref().and_then(|names| names.escape.as_ref()));
    }

    fn set(&mut self, set: &'t InSet) {
        match set {
            InSet::List(list) => self.several(list),
            InSet::Query(query) => self.query(query),
            InSet::Expr(expr) => self.one(expr),
        }
    }

    fn call(&mut self, call: &'t Call) {
        let Call { name: _, arguments, within_group, filter, nulls: _, over } = call;
        if let Some(Arguments { distinct: _, list, order_by, limit }) = arguments {
            self.0.extend(list.iter().map(|argument| Node::Expr(&argument.value)));
            self.order(order_by);
            self.maybe(limit.as_ref());
        }
        self.order(within_group);
        self.maybe(filter.as_ref());
        match over {
            Some(Over::Spec(window)) => self.window(window),
            Some(Over::Name(_)) | None => {}
        }
    }

    fn special(&mut self, call: &'t SpecialCall) {
        match call {
            SpecialCall::Extract(_, e) | SpecialCall::Normalize(e, _) | SpecialCall::Try(e) => self.one(e),
            SpecialCall::RoundTo { up: _, expr, field: _ } => self.one(expr),
            SpecialCall::Position(a, b) => self.0.extend([a, b].map(Node::Expr)),
            SpecialCall::Substring { text, from, length } => {
                self.one(text);
                self.maybe(from.as_ref());
                self.maybe(length.as_ref());
            }
            SpecialCall::SubstringSimilar(text, pattern, escape) => {
                self.0.extend([text, pattern, escape].map(Node::Expr));
            }
            SpecialCall::Trim { side: _, characters, texts } => {
                self.maybe(characters.as_ref());
                self.several(texts);
            }
            SpecialCall::Overlay(text, placed, from, length) => {
                self.0.extend([text, placed, from].map(Node::Expr));
                self.maybe(length.as_ref());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of relations below a statement, in the order in which they are met.
    fn relations(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        if let Ok(statement) = crate::parse_statement(text) {
            let _ = walk([Node::Statement(&statement)], &mut |node| {
                if let Node::Relation(name) = node {
                    found.extend(name.last().map(|name| name.text.to_string()));
                }
                ControlFlow::<()>::Continue(())
            });
        }
        found
    }

    #[test]
    fn relations_are_found_wherever_a_query_may_stand() {
        assert_eq!(
            relations("SELECT (SELECT 1 FROM a), b FROM c JOIN d ON d.x IN (SELECT 2 FROM e)"),
            ["a", "c", "d", "e"]
        );
        assert_eq!(relations("WITH a AS (SELECT 1 FROM b) TABLE a UNION TABLE c"), ["b", "a", "c"]);
        assert_eq!(
            relations("SELECT sum(x) FILTER (WHERE EXISTS (TABLE a)) OVER (ORDER BY (TABLE b)) FROM f(1)"),
            ["a", "b", "f"]
        );
        assert_eq!(relations("PIVOT a ON k USING sum(x)"), ["a"]);
        assert_eq!(
            relations("WITH x AS (DELETE FROM a USING b RETURNING (TABLE c)) TABLE x LIMIT (TABLE d)"),
            ["a", "b", "c", "x", "d"]
        );
    }

    #[test]
    fn a_walk_ends_where_it_is_told_to() -> Result<(), crate::SyntaxError> {
        let expr = crate::parse_expr("(1 + a) * b")?;
        let mut seen = 0;
        let end = walk([Node::Expr(&expr)], &mut |node| {
            seen += 1;
            match node {
                Node::Expr(Expr { kind: ExprKind::Column(_), .. }) => ControlFlow::Break(()),
                _ => ControlFlow::Continue(()),
            }
        });
        assert!(end.is_break());
        assert_eq!(seen, 5, "the product, the brackets, the sum, 1 and a");
        Ok(())
    }
}
