//! Queries: WITH, set operations, ORDER BY, LIMIT.
//!
//! Called by `statement`, by `primary` and `from` for subqueries. Set operations of one precedence are a list,
//! INTERSECT binds closer. A bracket that began as something else goes on here (`query_goes_on`).

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    CommonQuery, Cycle, Expr, Limit, Lock, OrderItem, OrderKey, Query, Search, SetExpr, SetKind, SetOperator,
    Statement, StatementKind, With,
};

impl Parser<'_> {
    /// Whether a query begins so far ahead, parentheses not counted.
    pub(crate) fn begins_query_at(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead + 1);
        match self.word_at(ahead) {
            K::SELECT | K::WITH | K::FROM => true,
            K::TABLE => self.is_label_at(ahead + 1),
            K::VALUES => self.row_of_values_at(ahead + 1),
            K::PIVOT | K::UNPIVOT | K::PIVOT_WIDER | K::PIVOT_LONGER => self.begins_pivot_at(ahead),
            K::DESCRIBE | K::DESC | K::SHOW | K::SUMMARIZE => {
                // As names, an operator, a comma or a bracket follows them.
                matches!(next.kind, Kind::Word | Kind::QuotedName | Kind::Text)
                    && !matches!(
                        next.keyword,
                        K::AND
                            | K::OR
                            | K::IS
                            | K::IN
                            | K::LIKE
                            | K::NOT
                            | K::BETWEEN
                            | K::AS
                            | K::COLLATE
                            | K::AT
                            | K::ILIKE
                    )
            }
            _ => false,
        }
    }

    /// Whether what stands behind a query's first parenthesis makes the parenthesis a part of a longer query, or its end.
    pub(crate) fn query_goes_on(&self) -> bool {
        match self.peek().kind {
            Kind::RightParen => true,
            _ => matches!(
                self.word(),
                K::UNION | K::EXCEPT | K::INTERSECT | K::ORDER | K::LIMIT | K::OFFSET | K::FETCH | K::FOR
            ),
        }
    }

    /// A query, its WITH included.
    pub(crate) fn query(&mut self) -> Parsed<Query> {
        self.nested(|p| {
            let start = p.here();
            let with = p.with_if_there()?;
            p.query_behind_with(with, start)
        })
    }

    /// The query behind a WITH that was read.
    pub(crate) fn query_behind_with(&mut self, with: Option<With>, start: Span) -> Parsed<Query> {
        let body = self.set_expr(0)?;
        self.query_end(with, body, start)
    }

    /// A query that begins with an operand that was read.
    pub(crate) fn query_from(&mut self, first: SetExpr, start: Span) -> Parsed<Query> {
        let body = self.set_expr_from(first, 0)?;
        self.query_end(None, body, start)
    }

    fn query_end(&mut self, with: Option<With>, body: SetExpr, start: Span) -> Parsed<Query> {
        let mut query = Query {
            with,
            body,
            order_by: vec![],
            limit: None,
            offset: None,
            locks: vec![],
            span: Span::default(),
        };
        if self.eat_all(&[K::ORDER, K::BY]) {
            query.order_by = self.order_items()?;
        }
        // LIMIT, OFFSET and FETCH stand in any order, each once.
        loop {
            match self.word() {
                K::LIMIT if query.limit.is_none() => query.limit = Some(self.limit()?),
                K::OFFSET if query.offset.is_none() => {
                    self.advance();
                    query.offset = Some(self.expr()?);
                    if !self.eat(K::ROWS) {
                        self.eat(K::ROW);
                    }
                }
                K::FETCH if query.limit.is_none() => query.limit = Some(self.fetch()?),
                K::FOR => query.locks.push(self.lock()?),
                _ => break,
            }
        }
        query.span = self.span_from(start);
        Ok(query)
    }

    fn limit(&mut self) -> Parsed<Limit> {
        self.expect(K::LIMIT)?;
        if self.eat(K::ALL) {
            return Ok(Limit { count: None, percent: false, with_ties: false, fetch: false });
        }
        if self.is(K::NULL) && self.peek_at(1).kind != Kind::DoubleColon {
            let count = Some(self.expr()?);
            return Ok(Limit { count, percent: false, with_ties: false, fetch: false });
        }
        // A `%` that nothing follows is the unit.
        let count = match self.peek().kind {
            Kind::Number | Kind::Parameter | Kind::Question | Kind::LeftParen if self.percent_follows() => {
                Some(self.primary()?)
            }
            _ => Some(self.expr()?),
        };
        let percent = self.eat(K::PERCENT) || self.eat_operator("%");
        Ok(Limit { count, percent, with_ties: false, fetch: false })
    }

    fn percent_follows(&self) -> bool {
        let behind = match self.is_kind(Kind::LeftParen) {
            true => self.closing_ahead(0).map_or(0, |close| close + 1),
            false => 1,
        };
        if self.word_at(behind) == K::PERCENT {
            return true;
        }
        self.is_operator_at(behind, "%")
            && (matches!(self.peek_at(behind + 1).kind, Kind::RightParen | Kind::Semicolon | Kind::End)
                || matches!(
                    self.word_at(behind + 1),
                    K::OFFSET | K::UNION | K::INTERSECT | K::EXCEPT | K::ORDER | K::FOR
                ))
    }

    fn fetch(&mut self) -> Parsed<Limit> {
        self.expect(K::FETCH)?;
        if !self.eat(K::FIRST) && !self.eat(K::NEXT) {
            return Err(self.expected("FIRST or NEXT"));
        }
        let rows = |p: &Self| matches!(p.word(), K::ROW | K::ROWS);
        let count = match rows(self) {
            true => None,
            false => Some(self.operand()?),
        };
        let percent = self.eat(K::PERCENT);
        if !rows(self) {
            return Err(self.expected("ROW or ROWS"));
        }
        self.advance();
        let with_ties = match self.word() {
            K::ONLY => {
                self.advance();
                false
            }
            K::WITH => {
                self.advance();
                self.expect(K::TIES)?;
                true
            }
            _ => return Err(self.expected("ONLY or WITH TIES")),
        };
        Ok(Limit { count, percent, with_ties, fetch: true })
    }

    fn lock(&mut self) -> Parsed<Lock> {
        let start = self.expect(K::FOR)?;
        let strength: Box<str> = match self.word() {
            K::UPDATE => "UPDATE".into(),
            K::SHARE => "SHARE".into(),
            K::KEY => {
                self.advance();
                "KEY SHARE".into()
            }
            K::NO => {
                self.advance();
                self.expect(K::KEY)?;
                "NO KEY UPDATE".into()
            }
            _ => return Err(self.expected("UPDATE or SHARE")),
        };
        match strength.ends_with("SHARE") {
            true => self.expect(K::SHARE)?,
            false => self.expect(K::UPDATE)?,
        };
        let of = match self.eat(K::OF) {
            true => self.list(|p| p.path("a table"))?,
            false => vec![],
        };
        let wait: Option<Box<str>> = if self.eat(K::NOWAIT) {
            Some("NOWAIT".into())
        } else if self.eat_all(&[K::SKIP, K::LOCKED]) {
            Some("SKIP LOCKED".into())
        } else {
            None
        };
        Ok(Lock { strength, of, wait, span: self.span_from(start) })
    }

    // WITH.

    pub(crate) fn with_if_there(&mut self) -> Parsed<Option<With>> {
        if !self.eat(K::WITH) {
            return Ok(None);
        }
        let recursive = self.eat(K::RECURSIVE);
        let mut queries = vec![self.common_query()?];
        while self.eat_kind(Kind::Comma) {
            // A comma behind the last one is let pass.
            if matches!(
                self.word(),
                K::SELECT | K::INSERT | K::UPDATE | K::DELETE | K::MERGE | K::VALUES | K::FROM
            ) {
                break;
            }
            queries.push(self.common_query()?);
        }
        Ok(Some(With { recursive, queries }))
    }

    fn common_query(&mut self) -> Parsed<CommonQuery> {
        let name = self.name("a name for the query")?;
        let columns = self.names_if_parens("a column's name")?;
        let mut key = Vec::new();
        if self.eat(K::USING) {
            self.expect(K::KEY)?;
            key = self.in_parens(Self::select_item)?;
        }
        self.expect(K::AS)?;
        let materialized = match () {
            () if self.eat(K::MATERIALIZED) => Some(true),
            () if self.eat_all(&[K::NOT, K::MATERIALIZED]) => Some(false),
            () => None,
        };
        self.expect_kind(Kind::LeftParen)?;
        let statement = self.nested(Self::row_statement)?;
        if !self.eat_kind(Kind::RightParen) {
            return Err(self.expected(")"));
        }
        let mut made = CommonQuery {
            name,
            columns,
            key,
            materialized,
            statement: Box::new(statement),
            search: None,
            cycle: None,
        };
        if self.eat(K::SEARCH) {
            let depth = match () {
                () if self.eat(K::DEPTH) => true,
                () if self.eat(K::BREADTH) => false,
                () => return Err(self.expected("DEPTH or BREADTH")),
            };
            const FORM: &str = "write SEARCH DEPTH FIRST BY column SET column, or SEARCH BREADTH";
            self.expect(K::FIRST).map_err(|error| error.with_hint(FORM))?;
            self.expect(K::BY).map_err(|error| error.with_hint(FORM))?;
            let by = self.list(|p| p.name("a column's name"))?;
            self.expect(K::SET).map_err(|error| error.with_hint(FORM))?;
            made.search = Some(Search { depth, by, set: self.name("a column's name")? });
        }
        if self.eat(K::CYCLE) {
            let columns = self.list(|p| p.name("a column's name"))?;
            self.expect(K::SET)?;
            let set = self.name("a column's name")?;
            let values = match self.eat(K::TO) {
                true => {
                    let mark = self.expr()?;
                    self.expect(K::DEFAULT)?;
                    Some((mark, self.expr()?))
                }
                false => None,
            };
            self.expect(K::USING)?;
            made.cycle = Some(Cycle { columns, set, values, path: self.name("a column's name")? });
        }
        Ok(made)
    }

    /// A statement that gives rows: a query, or one that changes some and returns them.
    pub(crate) fn row_statement(&mut self) -> Parsed<Statement> {
        let start = self.here();
        let with = self.with_if_there()?;
        self.row_statement_behind(with, start)
    }

    /// The same behind a WITH that was read.
    pub(crate) fn row_statement_behind(&mut self, with: Option<With>, start: Span) -> Parsed<Statement> {
        let kind = match self.word() {
            K::INSERT => StatementKind::Insert(Box::new(self.insert(with, start)?)),
            K::UPDATE => StatementKind::Update(Box::new(self.update(with, start)?)),
            K::DELETE => StatementKind::Delete(Box::new(self.delete(with, start)?)),
            K::MERGE => StatementKind::Merge(Box::new(self.merge(with, start)?)),
            _ => {
                let query = self.query_behind_with(with, start)?;
                StatementKind::Query(Box::new(query))
            }
        };
        Ok(Statement { kind, span: self.span_from(start) })
    }

    // Set operations.

    /// Operands and set operations: 0 are UNION and EXCEPT, 1 is INTERSECT, which binds tighter.
    fn set_expr(&mut self, rank: u8) -> Parsed<SetExpr> {
        let first = self.set_operand()?;
        self.set_expr_from(first, rank)
    }

    fn set_expr_from(&mut self, first: SetExpr, rank: u8) -> Parsed<SetExpr> {
        let first = match rank {
            0 => self.set_expr_from(first, 1)?,
            _ => first,
        };
        let mut rest = Vec::new();
        loop {
            let kind = match (rank, self.word()) {
                (0, K::UNION) => SetKind::Union,
                (0, K::EXCEPT) => SetKind::Except,
                (1, K::INTERSECT) => SetKind::Intersect,
                _ => break,
            };
            let start = self.advance().span;
            let all = match () {
                () if self.eat(K::ALL) => Some(true),
                () if self.eat(K::DISTINCT) => Some(false),
                () => None,
            };
            let by_name = self.eat_all(&[K::BY, K::NAME]);
            let operator = SetOperator { kind, all, by_name, span: self.span_from(start) };
            let operand = match rank {
                0 => self.set_expr(1)?,
                _ => self.set_operand()?,
            };
            rest.push((operator, operand));
        }
        Ok(match rest.is_empty() {
            true => first,
            false => SetExpr::Set(Box::new(first), rest),
        })
    }

    fn set_operand(&mut self) -> Parsed<SetExpr> {
        match self.word() {
            K::SELECT | K::FROM => Ok(SetExpr::Select(Box::new(self.select()?))),
            K::VALUES => {
                self.advance();
                let mut rows = vec![self.row_of_values()?];
                while self.is_kind(Kind::Comma) && self.row_of_values_at(1) {
                    self.advance();
                    rows.push(self.row_of_values()?);
                }
                // A comma behind the last row is let pass where the statement ends.
                if self.is_kind(Kind::Comma)
                    && (matches!(self.peek_at(1).kind, Kind::End | Kind::Semicolon | Kind::RightParen)
                        || matches!(self.word_at(1), K::ON | K::RETURNING | K::ORDER | K::LIMIT))
                {
                    self.advance();
                }
                Ok(SetExpr::Values(rows))
            }
            K::TABLE => {
                self.advance();
                Ok(SetExpr::Table(self.path("a table")?))
            }
            K::PIVOT | K::UNPIVOT | K::PIVOT_WIDER | K::PIVOT_LONGER if self.begins_pivot_at(0) => {
                Ok(SetExpr::Pivot(Box::new(self.pivot_statement()?)))
            }
            K::DESCRIBE | K::DESC | K::SHOW | K::SUMMARIZE if self.begins_query_at(0) => {
                Ok(SetExpr::Inspect(Box::new(self.inspection()?)))
            }
            _ if self.is_kind(Kind::LeftParen) => Ok(SetExpr::Query(Box::new(self.query_in_parens()?))),
            _ => Err(self.expected("SELECT, VALUES, FROM, TABLE or a query in parentheses")),
        }
    }

    /// A row in parentheses, MySQL's ROW before it or not.
    pub(crate) fn row_of_values_at(&self, ahead: usize) -> bool {
        match self.word_at(ahead) == K::ROW {
            true => self.peek_at(ahead + 1).kind == Kind::LeftParen,
            false => self.peek_at(ahead).kind == Kind::LeftParen,
        }
    }

    pub(crate) fn row_of_values(&mut self) -> Parsed<Vec<Expr>> {
        self.eat(K::ROW);
        self.expect_kind(Kind::LeftParen)?;
        if self.is_kind(Kind::RightParen) {
            return Err(self.expected("an expression"));
        }
        self.pace()?;
        let mut row = Vec::with_capacity(self.row_length);
        self.until_into(Kind::RightParen, &mut row, Self::expr)?;
        self.row_length = row.len();
        Ok(row)
    }

    // ORDER BY.

    /// What stands behind ORDER BY.
    pub(crate) fn order_items(&mut self) -> Parsed<Vec<OrderItem>> {
        self.list(Self::order_item)
    }

    pub(crate) fn order_item(&mut self) -> Parsed<OrderItem> {
        let start = self.here();
        let all = (self.is(K::ALL) && self.peek_at(1).kind != Kind::LeftParen)
            || (self.is_operator("*") && !self.is_name_at(1));
        let key = if all {
            self.advance();
            OrderKey::All
        } else {
            let value = self.expr()?;
            match self.is(K::USING) && self.peek_at(1).kind == Kind::Operator {
                true => {
                    self.advance();
                    let token = self.advance();
                    OrderKey::Using(value, self.source(token).into())
                }
                false => OrderKey::Expr(value),
            }
        };
        let descending = match () {
            () if self.eat(K::ASC) => Some(false),
            () if self.eat(K::DESC) => Some(true),
            () => None,
        };
        let mut nulls_first = None;
        if self.is(K::NULLS) && matches!(self.word_at(1), K::FIRST | K::LAST) {
            self.advance();
            nulls_first = Some(self.advance().keyword == K::FIRST);
        }
        Ok(OrderItem { key, descending, nulls_first, span: self.span_from(start) })
    }
}
