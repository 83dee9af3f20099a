//! FROM: tables, joins, aliases, samples.
//!
//! Called by `select`, and by statements that change rows, behind their words. Joins are a list from left to right; a
//! bracket is a join, a query or a table, which what is in it decides.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    AliasColumn, Argument, Expr, Join, JoinCondition, JoinKind, Name, Path, Query, Sample, SampleUnit,
    SetExpr, Table, TableAlias, TableKind, TableWithJoins,
};

/// What a parenthesis in FROM turned out to hold.
enum InParens {
    Query(Query),
    Joined(TableWithJoins),
}

impl Parser<'_> {
    /// Entries of FROM; a comma behind the last one is let pass.
    pub(crate) fn from_list(&mut self) -> Parsed<Vec<TableWithJoins>> {
        let mut entries = vec![self.table_with_joins()?];
        while self.eat_kind(Kind::Comma) {
            let ends = matches!(self.peek().kind, Kind::End | Kind::Semicolon | Kind::RightParen)
                || matches!(self.word(), K::WHERE | K::GROUP | K::HAVING | K::ORDER | K::LIMIT | K::QUALIFY);
            if ends {
                break;
            }
            entries.push(self.table_with_joins()?);
        }
        Ok(entries)
    }

    pub(crate) fn table_with_joins(&mut self) -> Parsed<TableWithJoins> {
        let table = self.table()?;
        self.joins_behind(table)
    }

    fn joins_behind(&mut self, table: Table) -> Parsed<TableWithJoins> {
        let mut joins = Vec::new();
        while let Some(join) = self.join()? {
            joins.push(join);
        }
        Ok(TableWithJoins { table, joins })
    }

    /// A join, if its words stand here.
    fn join(&mut self) -> Parsed<Option<Join>> {
        let start = self.here();
        let mut at = 0;
        let natural = self.word_at(at) == K::NATURAL;
        at += usize::from(natural);
        let asof = self.word_at(at) == K::ASOF;
        at += usize::from(asof);
        let kind = match self.word_at(at) {
            K::JOIN => JoinKind::Plain,
            K::INNER => JoinKind::Inner,
            K::LEFT => JoinKind::Left,
            K::RIGHT => JoinKind::Right,
            K::FULL => JoinKind::Full,
            K::CROSS => JoinKind::Cross,
            K::SEMI => JoinKind::Semi,
            K::ANTI => JoinKind::Anti,
            K::POSITIONAL => JoinKind::Positional,
            _ if at > 0 => {
                self.at += at;
                return Err(self.expected("JOIN"));
            }
            _ => return Ok(None),
        };
        at += usize::from(kind != JoinKind::Plain);
        let outer = self.word_at(at) == K::OUTER;
        at += usize::from(outer);
        if matches!(self.word_at(at), K::APPLY) {
            let error = self.wrong("APPLY is not supported", self.here());
            return Err(error.with_hint("write CROSS JOIN LATERAL, or LEFT JOIN LATERAL ... ON true"));
        }
        if self.word_at(at) != K::JOIN {
            self.at += at;
            return Err(self.expected("JOIN"));
        }
        self.at += at + 1;
        let span = self.span_from(start);
        let table = self.table()?;
        let mut join = Join { natural, asof, kind, outer, table, condition: JoinCondition::None, span };
        // Joins that are nested without brackets: `a JOIN b JOIN c ON ... ON ...`.
        let conditioned = !natural && !matches!(kind, JoinKind::Cross | JoinKind::Positional);
        if conditioned && !matches!(self.word(), K::ON | K::USING) && self.at_join() {
            let inner = self.nested(|p| {
                let mut joins = Vec::new();
                while !matches!(p.word(), K::ON | K::USING)
                    && let Some(join) = p.join()?
                {
                    joins.push(join);
                }
                Ok(joins)
            })?;
            if !matches!(self.word(), K::ON | K::USING)
                && inner.iter().all(|j| j.condition == JoinCondition::None)
            {
                return Err(self.expected("ON or USING"));
            }
            let table = std::mem::replace(&mut join.table, empty_table(span));
            let whole = self.span_from(table.span);
            let joined = TableKind::Joined(Box::new(TableWithJoins { table, joins: inner }));
            join.table = Table { kind: joined, alias: None, sample: None, pivots: vec![], span: whole };
        }
        join.condition = self.join_condition()?;
        Ok(Some(join))
    }

    fn at_join(&self) -> bool {
        matches!(
            self.word(),
            K::JOIN
                | K::INNER
                | K::LEFT
                | K::RIGHT
                | K::FULL
                | K::CROSS
                | K::SEMI
                | K::ANTI
                | K::NATURAL
                | K::ASOF
        )
    }

    fn join_condition(&mut self) -> Parsed<JoinCondition> {
        if self.eat(K::ON) {
            return Ok(JoinCondition::On(self.expr()?));
        }
        if self.is(K::USING) && self.peek_at(1).kind == Kind::LeftParen {
            self.advance();
            let columns = self.names_in_parens("a column")?;
            let alias = match self.is(K::AS) {
                true => {
                    self.advance();
                    Some(self.name("a name")?)
                }
                false => None,
            };
            return Ok(JoinCondition::Using(columns, alias));
        }
        Ok(JoinCondition::None)
    }

    /// One entry with its alias, sample and pivots.
    pub(crate) fn table(&mut self) -> Parsed<Table> {
        self.nested(|p| {
            let start = p.here();
            // `name: table`.
            let first = match p.at_name() && p.peek_at(1).kind == Kind::Colon {
                true => {
                    let name = p.name("a name")?;
                    p.advance();
                    Some(name)
                }
                false => None,
            };
            let kind = p.table_kind()?;
            p.table_end(kind, first, start)
        })
    }

    fn table_end(&mut self, kind: TableKind, first: Option<Name>, start: Span) -> Parsed<Table> {
        let mut table = Table { kind, alias: None, sample: None, pivots: vec![], span: start };
        if self.is(K::TABLESAMPLE) {
            table.sample = Some(self.table_sample()?);
        }
        table.alias = match first {
            Some(name) => Some(TableAlias { name: Some(name), columns: vec![], first: true }),
            None => self.table_alias()?,
        };
        if table.sample.is_none() && self.is(K::TABLESAMPLE) {
            table.sample = Some(self.table_sample()?);
        }
        while let Some(pivot) = self.table_pivot()? {
            table.pivots.push(pivot);
            self.wrapped()?;
        }
        table.span = self.span_from(start);
        Ok(table)
    }

    fn table_kind(&mut self) -> Parsed<TableKind> {
        let lateral = self.eat(K::LATERAL);
        if self.is_kind(Kind::LeftParen) {
            return match self.table_in_parens()? {
                InParens::Query(query) => Ok(TableKind::Query { lateral, query: Box::new(query) }),
                InParens::Joined(joined) => Ok(TableKind::Joined(Box::new(joined))),
            };
        }
        if self.at_text() {
            return Ok(TableKind::File(self.text_literal("a file's name")?));
        }
        if self.is(K::VALUES) && self.peek_at(1).kind == Kind::LeftParen {
            let start = self.here();
            let body = self.values_of_from()?;
            let query = self.plain_query(body, start);
            return Ok(TableKind::Query { lateral, query: Box::new(query) });
        }
        if self.are(&[K::ROWS, K::FROM]) && self.peek_at(2).kind == Kind::LeftParen {
            return self.rows_from(lateral);
        }
        let only = self.is(K::ONLY) && (self.is_name_at(1) || self.peek_at(1).kind == Kind::LeftParen);
        if only {
            self.advance();
            if self.is_kind(Kind::LeftParen) {
                self.advance();
                let name = self.path("a table")?;
                self.expect_kind(Kind::RightParen)?;
                return Ok(TableKind::Named { only, name });
            }
        }
        let called = self.peek_at(1).kind == Kind::LeftParen;
        if !self.at_name() && !(called && self.word().names_function()) {
            return Err(self.expected("a table, a function or a query in parentheses"));
        }
        let mut names = vec![self.label("a table")?];
        self.further_names(&mut names, "a table")?;
        let name = Path { names };
        if self.is_kind(Kind::LeftParen) {
            let arguments = self.table_arguments()?;
            let ordinality = self.ordinality()?;
            return Ok(TableKind::Function { lateral, name, arguments, ordinality });
        }
        // PostgreSQL's `table *`.
        if self.is_operator("*") && !only {
            self.advance();
        }
        Ok(TableKind::Named { only, name })
    }

    fn ordinality(&mut self) -> Parsed<bool> {
        Ok(self.eat_all(&[K::WITH, K::ORDINALITY]))
    }

    /// VALUES of FROM without parentheses, whose rows end at a comma that no row follows.
    fn values_of_from(&mut self) -> Parsed<SetExpr> {
        self.expect(K::VALUES)?;
        let mut rows = vec![self.row_of_values()?];
        while self.is_kind(Kind::Comma) && self.row_of_values_at(1) {
            self.advance();
            rows.push(self.row_of_values()?);
        }
        Ok(SetExpr::Values(rows))
    }

    fn plain_query(&self, body: SetExpr, start: Span) -> Query {
        Query {
            with: None,
            body,
            order_by: vec![],
            limit: None,
            offset: None,
            locks: vec![],
            span: self.span_from(start),
        }
    }

    fn rows_from(&mut self, lateral: bool) -> Parsed<TableKind> {
        self.advance();
        self.advance();
        let functions = self.in_parens(|p| {
            let name = p.path("a function")?;
            let arguments: Vec<Argument> = p.table_arguments()?;
            let columns = match p.eat(K::AS) {
                true => p.in_parens(Self::alias_column)?,
                false => vec![],
            };
            Ok((name, arguments, columns))
        })?;
        let ordinality = self.ordinality()?;
        Ok(TableKind::RowsFrom { lateral, functions, ordinality })
    }

    /// What stands in a parenthesis of FROM: a query or joined tables. Read once, whatever it is.
    fn table_in_parens(&mut self) -> Parsed<InParens> {
        self.nested(|p| {
            p.expect_kind(Kind::LeftParen)?;
            if p.begins_query_at(0) && !(p.is(K::FROM) && p.peek_at(1).kind == Kind::End) {
                let query = p.query()?;
                p.close_table()?;
                return Ok(InParens::Query(query));
            }
            if !p.is_kind(Kind::LeftParen) {
                let joined = p.table_with_joins()?;
                p.close_table()?;
                return Ok(InParens::Joined(joined));
            }
            let inner_start = p.here();
            match p.table_in_parens()? {
                InParens::Query(query) if p.query_goes_on() => {
                    let inner = SetExpr::Query(Box::new(query));
                    let query = p.query_from(inner, inner_start)?;
                    p.close_table()?;
                    Ok(InParens::Query(query))
                }
                inner => {
                    let kind = match inner {
                        InParens::Query(query) => TableKind::Query { lateral: false, query: Box::new(query) },
                        InParens::Joined(joined) => TableKind::Joined(Box::new(joined)),
                    };
                    let table = p.table_end(kind, None, inner_start)?;
                    let joined = p.joins_behind(table)?;
                    p.close_table()?;
                    Ok(InParens::Joined(joined))
                }
            }
        })
    }

    fn close_table(&mut self) -> Parsed<()> {
        match self.eat_kind(Kind::RightParen) {
            true => Ok(()),
            false => Err(self.expected(")")),
        }
    }

    // Aliases.

    /// `AS t(a, b)`, `t(a, b)`, `AS (a INTEGER)`.
    pub(crate) fn table_alias(&mut self) -> Parsed<Option<TableAlias>> {
        let said = self.eat(K::AS);
        if said && self.is_kind(Kind::LeftParen) {
            let columns = self.in_parens(Self::alias_column)?;
            return Ok(Some(TableAlias { name: None, columns, first: false }));
        }
        let name = match said {
            true if self.at_text() => {
                let text = self.text_literal("a name")?;
                Name { text: text.text, quoted: true, span: text.span }
            }
            true => self.label("a name")?,
            false if self.may_be_table_alias() => self.label("a name")?,
            false => return Ok(None),
        };
        let columns = match self.is_kind(Kind::LeftParen) && self.is_label_at(1) {
            true => self.in_parens(Self::alias_column)?,
            false => vec![],
        };
        Ok(Some(TableAlias { name: Some(name), columns, first: false }))
    }

    fn may_be_table_alias(&self) -> bool {
        let token = self.peek();
        match token.kind {
            Kind::QuotedName | Kind::UnicodeName => true,
            Kind::Word if matches!(token.keyword, K::PIVOT | K::UNPIVOT) => false,
            Kind::Word => token.keyword.may_be_table_alias(),
            _ => false,
        }
    }

    fn alias_column(&mut self) -> Parsed<AliasColumn> {
        let name = self.label("a column's name")?;
        let ty = match self.peek().kind {
            Kind::Comma | Kind::RightParen => None,
            _ => Some(self.type_name()?),
        };
        Ok(AliasColumn { name, ty })
    }

    // Samples.

    fn table_sample(&mut self) -> Parsed<Sample> {
        self.expect(K::TABLESAMPLE)?;
        self.sample()
    }

    /// `method (amount [unit]) [REPEATABLE (seed)]`, `amount [unit] [(method [, seed])]`.
    pub(crate) fn sample(&mut self) -> Parsed<Sample> {
        let start = self.here();
        let called = self.at_name() && self.peek_at(1).kind == Kind::LeftParen;
        let mut method = match called {
            true => Some(self.name("a method")?),
            false => None,
        };
        let bracket = self.eat_kind(Kind::LeftParen);
        let amount = self.amount()?;
        let unit = match () {
            () if self.eat(K::ROWS) => Some(SampleUnit::Rows),
            () if self.eat(K::PERCENT) || self.eat_operator("%") => Some(SampleUnit::Percent),
            () => None,
        };
        let mut seed = None;
        if bracket {
            self.expect_kind(Kind::RightParen)?;
        } else if self.eat_kind(Kind::LeftParen) {
            method = Some(self.name("a method")?);
            if self.eat_kind(Kind::Comma) {
                seed = Some(self.signed_number()?);
            }
            self.expect_kind(Kind::RightParen)?;
        }
        if self.eat(K::REPEATABLE) {
            self.expect_kind(Kind::LeftParen)?;
            seed = Some(self.expr()?);
            self.expect_kind(Kind::RightParen)?;
        }
        Ok(Sample { method, amount, unit, in_parens: bracket, seed, span: self.span_from(start) })
    }

    /// A number or a parameter, before a unit that could be an operator.
    fn amount(&mut self) -> Parsed<Expr> {
        match self.peek().kind {
            Kind::Number | Kind::Parameter | Kind::Question | Kind::NamedParameter => self.primary(),
            _ => self.operand(),
        }
    }
}

fn empty_table(span: Span) -> Table {
    let name = Path { names: vec![] };
    Table { kind: TableKind::Named { only: false, name }, alias: None, sample: None, pivots: vec![], span }
}
