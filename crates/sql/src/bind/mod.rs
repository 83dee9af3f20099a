//! Binding: from the syntax tree of a query to a `LogicalQuery` of typed expressions over query-wide columns.
//!
//! * `query`: WITH, SELECT, grouping, set operations, ORDER BY and LIMIT, recursion, DESCRIBE and SHOW
//! * `from`: tables, joins, functions in FROM, samples, PIVOT
//! * `expression`: names, operators, tests, casts, literals, intervals, and how types meet (`coerce`, `fold`)
//! * `nested`: lists, structs, maps, lambdas, and paths into them
//! * `function`: calls of functions, macros, aggregates and windows, and the list of them
//! * `modify`: INSERT, UPDATE, DELETE, MERGE, generated columns
//! * `decorrelate`: subqueries in expressions, and joins in place of correlated ones
//! * `scope`: names that are visible; `refusal`: errors at a place
//!
//! Two properties hold throughout. A node that passes a column on keeps its id, so an id means one value wherever it
//! is seen. And an outer reference is nothing but a column that the plan it stands in does not produce.

pub(crate) mod decorrelate;
pub(crate) mod expression;
pub(crate) mod from;
pub(crate) mod function;
pub(crate) mod modify;
pub(crate) mod nested;
pub(crate) mod nodes;
mod parts;
pub(crate) mod query;
pub(crate) mod refusal;
mod scope;
mod uses;

#[cfg(test)]
pub(crate) use function::listing::function_names;
pub use function::listing::functions;
pub(crate) use function::macros::expression_of as only_expression;
pub use function::named::SETVAL_CALLED;
pub(crate) use modify::retype::Retyped;
pub(crate) use nodes::place_of;
pub(crate) use parts::{check_depth, null_of, substitute};
pub(crate) use query::values::is_default;
pub use uses::Used;

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;

use plan::logical::ColumnTable;
use plan::{ColumnId, CommonQuery, Expr, ExprKind, Function, LogicalPlan, LogicalQuery};
use syntax::Span;
use syntax::tree;
use types::stop::{self, Place};
use types::{Error, Result, Type, Value};

use crate::RelationInfo;
use crate::parameters::Given;
use crate::script::StatementText;
use crate::texts::Texts;
pub(crate) use crate::words::folded;
use crate::{Relations, place, stack};
use scope::Scope;

/// Queries, common table expressions and subqueries that one statement may come to, each use counted.
const INSTANCES_MAX: usize = 10_000;

/// A bound relation: a plan and the columns of it that count, with their names.
#[derive(Clone)]
pub(crate) struct Relation {
    /// Produces at least the columns of `columns`.
    pub plan: LogicalPlan,
    /// The visible columns in order, each with its name.
    pub columns: Vec<(Rc<str>, ColumnId)>,
}

/// A common table expression; it is bound anew at every use, so that each use has its own columns, unless its rows
/// are computed once (see `common_queries`).
struct Cte<'a> {
    name: String,
    columns: Vec<String>,
    /// A query, or a change of rows.
    statement: &'a tree::Statement,
    /// How many of the expressions before it are visible inside, and the scope around it.
    visible: usize,
    scope: Option<Rc<Scope>>,
    used: bool,
    /// AS MATERIALIZED, AS NOT MATERIALIZED.
    materialized: Option<bool>,
    /// How often it is named, and how many copies of it there are with each written out where it is named.
    references: usize,
    copies: usize,
    /// Its rows, once it is settled that they are computed once.
    once: Option<query::common_queries::Named>,
    /// Its rows, where they are computed once for each row of a query around it.
    put_off: Option<Relation>,
    /// It is a change of rows, which has been bound.
    changed: bool,
    /// WITH RECURSIVE: it may refer to itself.
    recursive: bool,
    recursion: Option<query::recursion::Recursive>,
    /// USING KEY.
    key: &'a [tree::SelectItem],
    /// SEARCH and CYCLE behind it, if there is one of them.
    marks: Option<query::marks::Marks<'a>>,
    at: Span,
}

/// A key of a scanned table: the rest of its row depends on these columns.
struct Key {
    columns: Vec<ColumnId>,
    row: Vec<ColumnId>,
}

/// The state of binding one statement: the columns and subqueries made so far, what is visible, and the counts that
/// bound the work. `query`, `query_into` and `finish` consume it.
pub(crate) struct Binder<'a> {
    /// The text that spans refer to: the statement's, or that of the view or macro which is being bound.
    pub text: &'a str,
    /// The catalog and the session.
    pub relations: &'a dyn Relations,
    /// Type, name and nullability of every column of the statement, by id.
    pub columns: ColumnTable,
    /// Uncorrelated subqueries that run before the query, in order.
    pub subqueries: Vec<LogicalPlan>,
    ctes: Vec<Cte<'a>>,
    keys: Vec<Key>,
    /// Columns of tables that may hold NULL and do not now.
    without_nulls: HashSet<ColumnId>,
    /// Columns that are quoted literals whose context may still give them a type.
    untyped: HashSet<ColumnId>,
    /// The statement's place in its script.
    pub begins: Option<&'a StatementText>,
    instances: usize,
    /// How often an alias of a select list was used in another expression.
    alias_uses: usize,
    /// Columns that stand in no `*`: those of SEARCH and CYCLE inside their recursion.
    unlisted: HashSet<ColumnId>,
    /// The random seed of samples without a seed of their own, drawn at the first such sample.
    seed: OnceCell<u64>,
    /// Microseconds since 1970, once something has asked for the time.
    moment: Option<i64>,
    /// What is known of `$1`, `$2` and so on.
    pub values: Given<'a>,
    /// Constructs around what is bound that are planned by the values of parameters in them.
    pub by_value: usize,
    texts: &'a Texts,
    /// Arguments of the macros that are being bound, innermost last.
    arguments: Vec<Vec<(String, expression::coerce::Bound)>>,
    /// Views and macros that are being bound: one inside itself would never end.
    inside: Vec<String>,
    /// The queries around the one that is being bound whose expressions it stands in, innermost last.
    levels: Vec<decorrelate::subquery::Level<'a>>,
    /// Queries that run before, in order.
    common: Vec<CommonQuery>,
    materialized: usize,
    /// Rows that are computed once, when the columns of queries around are known.
    deferred: Vec<decorrelate::deferred::DeferredRows>,
    /// An INSERT without a list of columns: a query of fewer columns fills the first ones.
    pub fewer: bool,
    /// How many copies there will be of what is being bound.
    copies: usize,
    /// What second parts of recursive queries that are being bound read, by number: they run more than once.
    steps: Vec<usize>,
    /// What is read of which relation.
    uses: uses::Uses,
    /// While an expression is bound that may hold COLUMNS.
    chosen: Option<query::columns::Chosen<'a>>,
}

impl<'a> Binder<'a> {
    /// Whether a view or macro is being bound, whose text is another one.
    pub fn is_inside(&self) -> bool {
        !self.inside.is_empty()
    }
    /// A binder for one statement; `texts` keeps what it parses on the way.
    pub fn new(text: &'a str, relations: &'a dyn Relations, texts: &'a Texts) -> Self {
        Binder {
            text,
            relations,
            columns: ColumnTable::default(),
            subqueries: Vec::new(),
            ctes: Vec::new(),
            keys: Vec::new(),
            without_nulls: HashSet::new(),
            untyped: HashSet::new(),
            begins: None,
            instances: 0,
            alias_uses: 0,
            unlisted: HashSet::new(),
            seed: OnceCell::new(),
            moment: None,
            values: Given::Nothing,
            by_value: 0,
            texts,
            arguments: Vec::new(),
            inside: Vec::new(),
            levels: Vec::new(),
            common: Vec::new(),
            materialized: 0,
            deferred: Vec::new(),
            fewer: false,
            copies: 1,
            steps: Vec::new(),
            uses: uses::Uses::default(),
            chosen: None,
        }
    }

    /// A whole query, with its result's headings.
    pub fn query(mut self, query: &'a tree::Query) -> Result<LogicalQuery> {
        let relation = self.bind_query(query, None)?;
        self.finish(relation)
    }

    /// A query whose rows are assigned to a table's columns: `targets[i]` is the query column's target.
    pub fn query_into(
        mut self,
        query: &'a tree::Query,
        info: &RelationInfo,
        targets: &[usize],
    ) -> Result<LogicalQuery> {
        let relation = self.bind_assigned(query, info, targets)?;
        self.finish(relation)
    }

    /// The query, once every expression finds its columns in the nodes below it.
    pub fn finish(self, relation: Relation) -> Result<LogicalQuery> {
        relation.columns.iter().for_each(|(_, id)| self.mark(*id));
        self.finish_change(relation)
    }

    /// As `finish`, for a change of rows: the values that a row keeps are not read by being handed on.
    pub fn finish_change(mut self, mut relation: Relation) -> Result<LogicalQuery> {
        self.check_uses()?;
        let common = self.common.iter().flat_map(|query| {
            std::iter::once(&query.base).chain(query.step.iter().flat_map(plan::Step::plans))
        });
        if !std::iter::once(&relation.plan)
            .chain(&self.subqueries)
            .chain(common)
            .all(decorrelate::unnest::is_closed)
        {
            return Err(Error::unsupported("this form of correlated subquery is not supported")
                .with_hint("rewrite it as a join, or leave unused outer columns out of its select list"));
        }
        let common = self.common.iter_mut().flat_map(|query| {
            [&mut query.base].into_iter().chain(query.step.iter_mut().flat_map(plan::Step::plans_mut))
        });
        for plan in std::iter::once(&mut relation.plan).chain(&mut self.subqueries).chain(common) {
            expression::intervals::compare_by_keys(plan, &mut self.columns);
        }
        let output = relation.columns.into_iter().map(|(name, id)| (id, name.to_string())).collect();
        Ok(LogicalQuery {
            plan: relation.plan,
            columns: self.columns,
            subqueries: self.subqueries,
            common: self.common,
            materialized: self.materialized,
            output,
        })
    }

    /// Counts one more query bound; nested uses of common table expressions double quickly.
    fn count_instance(&mut self) -> Result<()> {
        stop::check(Place::BindQuery)?;
        self.instances += 1;
        if self.instances > INSTANCES_MAX { Err(stack::too_deep()) } else { Ok(()) }
    }

    /// The error with a place in the current text, unless it has one.
    pub fn error_at(&self, error: Error, span: Span) -> Error {
        place::at(error, self.text, span)
    }

    /// A new column for an expression, or the column itself where the expression is one.
    pub fn column_for(&mut self, name: &str, expr: &Expr) -> ColumnId {
        match expr.as_column() {
            Some(id) => id,
            None => {
                let nullable = self.nullable(expr);
                self.columns.add(name, expr.ty, nullable)
            }
        }
    }

    /// Whether an expression can be NULL.
    pub fn nullable(&self, expr: &Expr) -> bool {
        nullable(expr, &|id| self.columns.get(id).nullable)
    }

    /// Whether an expression is NULL for a row that is there now: a statement is planned for its snapshot.
    pub fn is_ever_null(&self, expr: &Expr) -> bool {
        nullable(expr, &|id| self.columns.get(id).nullable && !self.without_nulls.contains(&id))
    }
}

fn nullable(expr: &Expr, column: &dyn Fn(ColumnId) -> bool) -> bool {
    use ExprKind as K;
    match &expr.kind {
        K::Column(id) => column(*id),
        K::Literal(value) => value.is_null(),
        K::IsNull { .. } | K::NotDistinct { .. } | K::IsBoolean { .. } => false,
        K::InList { has_null: true, .. } => true,
        K::Case { branches, otherwise } => {
            otherwise.is_none()
                || branches
                    .iter()
                    .map(|(_, then)| then)
                    .chain(otherwise.as_deref())
                    .any(|e| nullable(e, column))
        }
        K::Function { function: Function::Coalesce, arguments } => {
            arguments.iter().all(|a| nullable(a, column))
        }
        K::Function { function: Function::NullIf | Function::Try, .. }
        | K::Library { .. }
        | K::External { .. }
        | K::ScalarSubquery(_)
        | K::Parameter(_)
        | K::Input(_) => true,
        K::Cast { lenient: true, .. } => true,
        // An infinite timestamp has no field and no time of day.
        K::Function {
            function: Function::ExtractYear | Function::ExtractMonth | Function::ExtractDay,
            ..
        } => true,
        K::Cast { input, .. }
            if matches!(expr.ty, Type::Time | Type::TimeTz)
                && matches!(input.ty, Type::Timestamp | Type::TimestampTz) =>
        {
            true
        }
        _ => expr.children().into_iter().any(|c| nullable(c, column)),
    }
}

/// One row without columns: what SELECT without FROM selects from.
fn single_row() -> LogicalPlan {
    LogicalPlan::Values { columns: vec![], rows: vec![vec![]] }
}

/// 0 in the form that values of an exact numeric type have.
fn zero_of(ty: Type) -> Value {
    Value::from_i128(0, ty.physical()).unwrap_or(Value::Null)
}
