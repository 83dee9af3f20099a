//! Queries: WITH, set operations, VALUES, ORDER BY, LIMIT.
//!
//! SEARCH and CYCLE are kept in the asides by the place of the WITH query's name. A statement that changes rows and
//! stands where a query may becomes a query whose body is the statement. LIMIT with a percentage becomes the call
//! `made::PERCENT`. `text_value`, `marker` and `wrong` serve the other files of this module.

use sqlparser::ast;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::tokenizer::{Token, TokenWithSpan};
use syntax::{Span, tree};
use types::{Error, Result, SqlState};

use super::from::{Behind, named_factor};
use super::{Converter, ident, location, made, object_name, span};
use crate::asides::{Cycle, Marks, Search};
use crate::made::PERCENT;

/// A word that the binder's tree keeps for its place alone.
pub(super) fn attached(at: Span) -> AttachedToken {
    AttachedToken(TokenWithSpan { token: Token::EOF, span: span(at) })
}

/// A name that the binder knows and that SQL can only write in quotes.
pub(super) fn marker(name: &str, at: Span) -> ast::Ident {
    ast::Ident { quote_style: Some('"'), ..made(name, at) }
}

/// A text as a constant.
pub(super) fn text_value(text: &str, at: Span) -> ast::Expr {
    ast::Expr::Value(ast::Value::SingleQuotedString(text.to_owned()).with_span(span(at)))
}

/// A query that is a body alone.
pub(super) fn plain_query(with: Option<ast::With>, body: ast::SetExpr) -> ast::Query {
    ast::Query {
        with,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: vec![],
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: vec![],
    }
}

impl Converter<'_> {
    /// A query that is not a statement.
    pub(crate) fn query(&self, query: &tree::Query) -> Result<ast::Query> {
        let tree::Query { with, body, order_by, limit, offset, locks, span } = query;
        if let tree::SetExpr::Pivot(pivot) = body {
            // What stands behind it is part of its text.
            let whole = Span::new(pivot.span.start, span.end);
            let before = Span::new(span.start, pivot.span.start);
            let before = if with.is_some() { self.text_of(before) } else { "" };
            let body = self.pivot_of(pivot, whole, before);
            return Ok(plain_query(with.as_ref().map(|with| self.with(with)).transpose()?, body));
        }
        let with = with.as_ref().map(|with| self.with(with)).transpose()?;
        let mut made = plain_query(with, self.set_expr(body)?);
        made.order_by = self.order_by(order_by)?;
        made.limit_clause = self.limit_clause(limit.as_ref(), offset.as_ref())?;
        made.fetch = match limit {
            Some(tree::Limit { count, percent, with_ties, fetch: true }) => Some(ast::Fetch {
                with_ties: *with_ties,
                percent: *percent,
                quantity: self.optional(count.as_ref())?,
            }),
            _ => None,
        };
        made.locks = locks.iter().flat_map(lock_clauses).collect();
        Ok(made)
    }

    /// A query that is a statement: with INTO it makes a table.
    pub(crate) fn query_statement(&self, query: &tree::Query) -> Result<ast::Statement> {
        let mut query = self.query(query)?;
        let Some(ast::SelectInto { temporary, unlogged: _, table: _, name }) = take_into(&mut query.body)
        else {
            return Ok(ast::Statement::Query(Box::new(query)));
        };
        // UNLOGGED tables are written like others.
        let create = ast::helpers::stmt_create_table::CreateTableBuilder::new(name);
        let create = create.temporary(temporary).query(Some(Box::new(query)));
        Ok(create.build().into())
    }

    /// A statement that gives rows, where a query may stand.
    pub(crate) fn row_query(&self, statement: &tree::Statement) -> Result<ast::Query> {
        let changed = match &statement.kind {
            tree::StatementKind::Query(query) => return self.query(query),
            tree::StatementKind::Insert(insert) => self.insert(insert)?,
            tree::StatementKind::Update(update) => self.update(update)?,
            tree::StatementKind::Delete(delete) => self.delete(delete)?,
            tree::StatementKind::Merge(merge) => self.merge(merge)?,
            _ => return Err(self.unsupported("this statement in the place of a query", statement.span)),
        };
        Ok(match changed {
            ast::Statement::Query(query) => *query,
            statement => plain_query(None, changing(statement)),
        })
    }

    /// The expression, where there is one.
    pub(super) fn optional(&self, expr: Option<&tree::Expr>) -> Result<Option<ast::Expr>> {
        expr.map(|expr| self.expr(expr)).transpose()
    }

    /// Several expressions, in order.
    pub(super) fn exprs(&self, exprs: &[tree::Expr]) -> Result<Vec<ast::Expr>> {
        exprs.iter().map(|expr| self.expr(expr)).collect()
    }

    /// What an INSERT and its kin are where WITH may stand before them.
    pub(super) fn behind_with(
        &self,
        with: Option<&tree::With>,
        statement: ast::Statement,
    ) -> Result<ast::Statement> {
        let Some(with) = with else { return Ok(statement) };
        let with = Some(self.with(with)?);
        Ok(ast::Statement::Query(Box::new(plain_query(with, changing(statement)))))
    }

    /// A WITH clause with all its queries.
    pub(crate) fn with(&self, with: &tree::With) -> Result<ast::With> {
        let tree::With { recursive, queries } = with;
        let at = queries.first().map(|query| query.name.span).unwrap_or_default();
        Ok(ast::With {
            with_token: attached(at),
            recursive: *recursive,
            cte_tables: queries.iter().map(|query| self.common_query(query)).collect::<Result<_>>()?,
        })
    }

    fn common_query(&self, query: &tree::CommonQuery) -> Result<ast::Cte> {
        let tree::CommonQuery { name, columns, key, materialized, statement, search, cycle } = query;
        if let Some(first) = key.first() {
            return Err(self.unsupported("USING KEY", first.value.span));
        }
        if search.is_some() || cycle.is_some() {
            let marks = Marks {
                at: location(name.span.start),
                search: search.as_ref().map(|search| self.search(search)),
                cycle: cycle.as_ref().map(|cycle| self.cycle(cycle)),
            };
            self.asides.borrow_mut().marks.push(marks);
        }
        let columns = columns.iter().map(|c| ast::TableAliasColumnDef { name: ident(c), data_type: None });
        Ok(ast::Cte {
            alias: ast::TableAlias {
                explicit: false,
                name: ident(name),
                columns: columns.collect(),
                at: None,
            },
            query: Box::new(self.row_query(statement)?),
            from: None,
            materialized: materialized.map(|yes| match yes {
                true => ast::CteAsMaterialized::Materialized,
                false => ast::CteAsMaterialized::NotMaterialized,
            }),
            closing_paren_token: attached(statement.span),
        })
    }

    fn search(&self, search: &tree::Search) -> Search {
        let tree::Search { depth, by, set } = search;
        let first = by.first().map_or(set.span, |name| name.span);
        Search {
            breadth: !depth,
            by: by.iter().map(ident).collect(),
            set: ident(set),
            span: span(self.word_before(first.start, "search")),
        }
    }

    fn cycle(&self, cycle: &tree::Cycle) -> Cycle {
        let tree::Cycle { columns, set, values, path } = cycle;
        let first = columns.first().map_or(set.span, |name| name.span);
        let (value, default) = match values {
            Some((value, default)) => (self.text_of(value.span), self.text_of(default.span)),
            None => ("true", "false"),
        };
        Cycle {
            by: columns.iter().map(ident).collect(),
            mark: ident(set),
            value: value.to_owned(),
            default: default.to_owned(),
            path: ident(path),
            span: span(self.word_before(first.start, "cycle")),
        }
    }

    /// The last place before `offset` where a word stands, for words whose place the tree does not keep.
    pub(super) fn word_before(&self, offset: u32, word: &str) -> Span {
        let before = self.text.as_bytes().get(..offset as usize).unwrap_or_default();
        let found = before.windows(word.len()).rposition(|part| part.eq_ignore_ascii_case(word.as_bytes()));
        match found.and_then(|at| u32::try_from(at).ok()) {
            Some(at) => Span::new(at, at + word.len() as u32),
            None => Span::new(offset, offset),
        }
    }

    fn order_by(&self, items: &[tree::OrderItem]) -> Result<Option<ast::OrderBy>> {
        let kind = match items {
            [] => return Ok(None),
            [tree::OrderItem { key: tree::OrderKey::All, descending, nulls_first, span: _ }] => {
                let asc = descending.map(|descending| !descending);
                ast::OrderByKind::All(ast::OrderByOptions { asc, nulls_first: *nulls_first })
            }
            items => {
                let items = items.iter().map(|item| self.order_item(item));
                ast::OrderByKind::Expressions(items.collect::<Result<_>>()?)
            }
        };
        Ok(Some(ast::OrderBy { kind, interpolate: None }))
    }

    fn limit_clause(
        &self,
        limit: Option<&tree::Limit>,
        offset: Option<&tree::Expr>,
    ) -> Result<Option<ast::LimitClause>> {
        let limit = match limit {
            Some(tree::Limit { count: Some(count), percent, with_ties: _, fetch: false }) => {
                let value = self.expr(count)?;
                Some(if *percent { percent_of(value, count.span) } else { value })
            }
            _ => None,
        };
        let offset = self.optional(offset)?.map(|value| ast::Offset { value, rows: ast::OffsetRows::None });
        Ok(match (&limit, &offset) {
            (None, None) => None,
            _ => Some(ast::LimitClause::LimitOffset { limit, offset, limit_by: vec![] }),
        })
    }

    fn set_expr(&self, body: &tree::SetExpr) -> Result<ast::SetExpr> {
        Ok(match body {
            tree::SetExpr::Select(select) => ast::SetExpr::Select(Box::new(self.select(select)?)),
            tree::SetExpr::Query(query) => ast::SetExpr::Query(Box::new(self.query(query)?)),
            tree::SetExpr::Values(rows) => ast::SetExpr::Values(self.values(rows)?),
            tree::SetExpr::Table(path) => whole_table(path),
            tree::SetExpr::Pivot(pivot) => self.pivot_statement(pivot)?,
            tree::SetExpr::Inspect(statement) => {
                let rows = self.rows_of(statement.span, Behind::default());
                ast::SetExpr::Select(Box::new(everything(rows, statement.span)))
            }
            tree::SetExpr::Set(first, rest) => {
                let mut left = self.set_expr(first)?;
                for (operator, right) in rest {
                    let tree::SetOperator { kind, all, by_name, span: _ } = operator;
                    left = ast::SetExpr::SetOperation {
                        left: Box::new(left),
                        op: match kind {
                            tree::SetKind::Union => ast::SetOperator::Union,
                            tree::SetKind::Intersect => ast::SetOperator::Intersect,
                            tree::SetKind::Except => ast::SetOperator::Except,
                        },
                        set_quantifier: quantifier(*all, *by_name),
                        right: Box::new(self.set_expr(right)?),
                    };
                }
                left
            }
        })
    }

    /// The rows of VALUES.
    pub(super) fn values(&self, rows: &[Vec<tree::Expr>]) -> Result<ast::Values> {
        let rows = rows.iter().map(|row| {
            let at = row.first().map(|first| self.opening(first.span)).unwrap_or_default();
            self.exprs(row).map(|content| in_parens(content, at))
        });
        Ok(ast::Values { explicit_row: false, value_keyword: false, rows: rows.collect::<Result<_>>()? })
    }

    /// The bracket before what stands first in it.
    pub(super) fn opening(&self, first: Span) -> Span {
        let before = self.text.as_bytes().get(..first.start as usize).unwrap_or_default().trim_ascii_end();
        match before.last() {
            Some(b'(') => Span::new(before.len() as u32 - 1, before.len() as u32),
            _ => first,
        }
    }

    /// A syntax error at a place.
    pub(super) fn wrong(&self, message: impl Into<String>, at: Span) -> Error {
        self.at(Error::new(SqlState::SyntaxError, message.into()), at)
    }
}

/// `TABLE t`, which says `SELECT * FROM t`.
fn whole_table(path: &tree::Path) -> ast::SetExpr {
    let table = named_factor(object_name(path), None, false, Behind::default());
    ast::SetExpr::Select(Box::new(everything(table, path.span())))
}

/// A row of VALUES.
pub(super) fn in_parens(content: Vec<ast::Expr>, at: Span) -> ast::Parens<Vec<ast::Expr>> {
    ast::Parens { opening_token: attached(at), content, closing_token: attached(at) }
}

/// `SELECT * FROM table`.
pub(super) fn everything(table: ast::TableFactor, at: Span) -> ast::Select {
    let star = ast::WildcardAdditionalOptions { wildcard_token: attached(at), ..Default::default() };
    let mut select = bare_select(at);
    select.projection = vec![ast::SelectItem::Wildcard(star)];
    select.from = vec![ast::TableWithJoins { relation: table, joins: vec![] }];
    select
}

/// A SELECT of nothing.
pub(super) fn bare_select(at: Span) -> ast::Select {
    ast::Select {
        select_token: attached(at),
        optimizer_hints: vec![],
        distinct: None,
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection: vec![],
        exclude: None,
        into: None,
        from: vec![],
        lateral_views: vec![],
        prewhere: None,
        selection: None,
        connect_by: vec![],
        group_by: ast::GroupByExpr::Expressions(vec![], vec![]),
        cluster_by: vec![],
        distribute_by: vec![],
        sort_by: vec![],
        having: None,
        named_window: vec![],
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: ast::SelectFlavor::Standard,
    }
}

/// A statement that changes rows as the body of a query.
fn changing(statement: ast::Statement) -> ast::SetExpr {
    match statement {
        ast::Statement::Update(_) => ast::SetExpr::Update(statement),
        ast::Statement::Delete(_) => ast::SetExpr::Delete(statement),
        ast::Statement::Merge(_) => ast::SetExpr::Merge(statement),
        _ => ast::SetExpr::Insert(statement),
    }
}

/// INTO of the first SELECT of a query's body.
fn take_into(body: &mut ast::SetExpr) -> Option<ast::SelectInto> {
    let mut first = body;
    while let ast::SetExpr::SetOperation { left, .. } = first {
        first = left;
    }
    match first {
        ast::SetExpr::Select(select) => select.into.take(),
        _ => None,
    }
}

/// `LIMIT 10%`.
fn percent_of(value: ast::Expr, at: Span) -> ast::Expr {
    ast::Expr::Function(ast::Function {
        name: ast::ObjectName(vec![ast::ObjectNamePart::Identifier(marker(PERCENT, at))]),
        uses_odbc_syntax: false,
        parameters: ast::FunctionArguments::None,
        args: ast::FunctionArguments::List(ast::FunctionArgumentList {
            duplicate_treatment: None,
            args: vec![ast::FunctionArg::Unnamed(ast::FunctionArgExpr::Expr(value))],
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}

fn quantifier(all: Option<bool>, by_name: bool) -> ast::SetQuantifier {
    match (all, by_name) {
        (None, false) => ast::SetQuantifier::None,
        (None, true) => ast::SetQuantifier::ByName,
        (Some(true), false) => ast::SetQuantifier::All,
        (Some(true), true) => ast::SetQuantifier::AllByName,
        (Some(false), false) => ast::SetQuantifier::Distinct,
        (Some(false), true) => ast::SetQuantifier::DistinctByName,
    }
}

/// One clause for each table.
fn lock_clauses(lock: &tree::Lock) -> Vec<ast::LockClause> {
    let tree::Lock { strength, of, wait, span: _ } = lock;
    let clause = |of: Option<&tree::Path>| ast::LockClause {
        lock_type: match strength.ends_with("SHARE") {
            true => ast::LockType::Share,
            false => ast::LockType::Update,
        },
        of: of.map(object_name),
        nonblock: wait.as_deref().map(|wait| match wait {
            "NOWAIT" => ast::NonBlock::Nowait,
            _ => ast::NonBlock::SkipLocked,
        }),
    };
    match of.is_empty() {
        true => vec![clause(None)],
        false => of.iter().map(|table| clause(Some(table))).collect(),
    }
}
