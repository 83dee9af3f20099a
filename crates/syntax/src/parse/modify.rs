//! INSERT, UPDATE, DELETE, MERGE and TRUNCATE.
//!
//! Called by `statement`, and by `query` for changes in a WITH, at the first word. Which columns a target has and
//! whether values fit is for the binder.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    Assignment, ConflictUpdate, Delete, Expr, Insert, InsertOr, Merge, MergeAction, MergeClause,
    MergeCondition, MergeWhen, OnConflict, OrderItem, SelectItem, StatementKind, Target, Truncate, Update,
    With,
};

impl Parser<'_> {
    pub(crate) fn insert(&mut self, with: Option<With>, start: Span) -> Parsed<Insert> {
        self.expect(K::INSERT)?;
        let or = match () {
            () if self.eat_all(&[K::OR, K::REPLACE]) => Some(InsertOr::Replace),
            () if self.eat_all(&[K::OR, K::IGNORE]) => Some(InsertOr::Ignore),
            () => None,
        };
        self.expect(K::INTO)?;
        let table = self.path("a table")?;
        let alias = match self.is(K::AS) {
            true => {
                self.advance();
                Some(self.name("a name")?)
            }
            false => None,
        };
        let mut by_name = self.by_name();
        let columns = match self.is_kind(Kind::LeftParen) && !self.query_follows(0) {
            true => self.in_parens(Self::target)?,
            false => vec![],
        };
        if by_name.is_none() {
            by_name = self.by_name();
        }
        let overriding_system = self.overriding()?;
        let source = match self.eat_all(&[K::DEFAULT, K::VALUES]) {
            true => None,
            false => Some(Box::new(self.query()?)),
        };
        let conflict = match self.is(K::ON) {
            true => Some(self.on_conflict()?),
            false => None,
        };
        let returning = self.returning()?;
        Ok(Insert {
            with,
            or,
            table,
            alias,
            by_name,
            columns,
            overriding_system,
            source,
            conflict,
            returning,
            span: self.span_from(start),
        })
    }

    fn by_name(&mut self) -> Option<bool> {
        match () {
            () if self.eat_all(&[K::BY, K::NAME]) => Some(true),
            () if self.eat_all(&[K::BY, K::POSITION]) => Some(false),
            () => None,
        }
    }

    fn overriding(&mut self) -> Parsed<Option<bool>> {
        if !self.eat(K::OVERRIDING) {
            return Ok(None);
        }
        let system = match () {
            () if self.eat(K::SYSTEM) => true,
            () if self.eat(K::USER) => false,
            () => return Err(self.expected("SYSTEM or USER")),
        };
        self.expect(K::VALUE)?;
        Ok(Some(system))
    }

    /// A column with fields and places behind it.
    fn target(&mut self) -> Parsed<Target> {
        let path = self.path("a column")?;
        let mut places = Vec::new();
        while self.eat_kind(Kind::LeftBracket) {
            places.push(self.expr()?);
            self.expect_kind(Kind::RightBracket)?;
        }
        Ok(Target { path, places })
    }

    fn on_conflict(&mut self) -> Parsed<OnConflict> {
        let start = self.expect(K::ON)?;
        self.expect(K::CONFLICT)?;
        let mut made = OnConflict {
            target: vec![],
            target_condition: None,
            constraint: None,
            update: None,
            span: start,
        };
        if self.is_kind(Kind::LeftParen) {
            made.target = self.in_parens(Self::expr)?;
            if self.eat(K::WHERE) {
                made.target_condition = Some(self.expr()?);
            }
        } else if self.eat_all(&[K::ON, K::CONSTRAINT]) {
            made.constraint = Some(self.name("a constraint's name")?);
        }
        self.expect(K::DO)?;
        if !self.eat(K::NOTHING) {
            if !self.eat(K::UPDATE) {
                return Err(self.expected("NOTHING or UPDATE"));
            }
            self.expect(K::SET)?;
            let set = self.assignments()?;
            let condition = match self.eat(K::WHERE) {
                true => Some(self.expr()?),
                false => None,
            };
            made.update = Some(ConflictUpdate { set, condition });
        }
        made.span = self.span_from(start);
        Ok(made)
    }

    /// What stands behind SET.
    fn assignments(&mut self) -> Parsed<Vec<Assignment>> {
        let mut all = vec![self.assignment()?];
        while self.eat_kind(Kind::Comma) {
            // A comma behind the last one is let pass.
            if matches!(self.word(), K::FROM | K::WHERE | K::RETURNING) || self.is_kind(Kind::End) {
                break;
            }
            all.push(self.assignment()?);
        }
        Ok(all)
    }

    fn assignment(&mut self) -> Parsed<Assignment> {
        let row = self.is_kind(Kind::LeftParen);
        let targets = match row {
            true => self.in_parens(Self::target)?,
            false => vec![self.target()?],
        };
        if !self.eat_operator("=") && !self.eat_operator("==") {
            return Err(self.expected("="));
        }
        Ok(Assignment { targets, row, value: self.expr()? })
    }

    fn returning(&mut self) -> Parsed<Vec<SelectItem>> {
        match self.eat(K::RETURNING) {
            true => self.select_items(),
            false => Ok(vec![]),
        }
    }

    pub(crate) fn only(&mut self) -> bool {
        let only = self.is(K::ONLY) && self.is_name_at(1);
        if only {
            self.advance();
        }
        only
    }

    /// ORDER BY and LIMIT of UPDATE and DELETE.
    fn order_and_limit(&mut self) -> Parsed<(Vec<OrderItem>, Option<Expr>)> {
        let order = match self.eat_all(&[K::ORDER, K::BY]) {
            true => self.order_items()?,
            false => vec![],
        };
        let limit = match self.eat(K::LIMIT) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok((order, limit))
    }

    pub(crate) fn update(&mut self, with: Option<With>, start: Span) -> Parsed<Update> {
        self.expect(K::UPDATE)?;
        let only = self.only();
        let table = self.path("a table")?;
        let alias = self.table_alias()?;
        self.expect(K::SET)?;
        let set = self.assignments()?;
        let from = match self.eat(K::FROM) {
            true => self.from_list()?,
            false => vec![],
        };
        let condition = match self.eat(K::WHERE) {
            true => Some(self.expr()?),
            false => None,
        };
        let (order_by, limit) = self.order_and_limit()?;
        let returning = self.returning()?;
        let span = self.span_from(start);
        Ok(Update { with, only, table, alias, set, from, condition, order_by, limit, returning, span })
    }

    pub(crate) fn delete(&mut self, with: Option<With>, start: Span) -> Parsed<Delete> {
        self.expect(K::DELETE)?;
        self.expect(K::FROM)?;
        let only = self.only();
        let table = self.path("a table")?;
        let alias = self.table_alias()?;
        let using = match self.eat(K::USING) {
            true => self.from_list()?,
            false => vec![],
        };
        let condition = match self.eat(K::WHERE) {
            true => Some(self.expr()?),
            false => None,
        };
        let (order_by, limit) = self.order_and_limit()?;
        let returning = self.returning()?;
        let span = self.span_from(start);
        Ok(Delete { with, only, table, alias, using, condition, order_by, limit, returning, span })
    }

    // MERGE.

    pub(crate) fn merge(&mut self, with: Option<With>, start: Span) -> Parsed<Merge> {
        self.expect(K::MERGE)?;
        self.expect(K::INTO)?;
        let table = self.path("a table")?;
        let alias = match self.eat(K::AS) {
            true => Some(self.name("a name")?),
            false if self.at_name() && !self.is(K::USING) => Some(self.name("a name")?),
            false => None,
        };
        self.expect(K::USING)?;
        let source = Box::new(self.table_with_joins()?);
        let condition = match () {
            () if self.eat(K::ON) => MergeCondition::On(self.expr()?),
            () if self.eat(K::USING) => MergeCondition::Using(self.names_in_parens("a column")?),
            () => return Err(self.expected("ON or USING")),
        };
        let mut clauses = Vec::new();
        while self.is(K::WHEN) {
            clauses.push(self.merge_clause()?);
        }
        if clauses.is_empty() {
            return Err(self.expected("WHEN"));
        }
        let returning = self.returning()?;
        Ok(Merge { with, table, alias, source, condition, clauses, returning, span: self.span_from(start) })
    }

    fn merge_clause(&mut self) -> Parsed<MergeClause> {
        let start = self.expect(K::WHEN)?;
        let not = self.eat(K::NOT);
        self.expect(K::MATCHED)?;
        let when = match not {
            false => MergeWhen::Matched,
            true if self.eat_all(&[K::BY, K::TARGET]) => MergeWhen::NotMatchedByTarget,
            true if self.eat_all(&[K::BY, K::SOURCE]) => MergeWhen::NotMatchedBySource,
            true => MergeWhen::NotMatched,
        };
        let condition = match self.eat(K::AND) {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect(K::THEN)?;
        let action = self.merge_action()?;
        Ok(MergeClause { when, condition, action, span: self.span_from(start) })
    }

    fn merge_action(&mut self) -> Parsed<MergeAction> {
        match self.word() {
            K::DO => {
                self.advance();
                self.expect(K::NOTHING)?;
                Ok(MergeAction::Nothing)
            }
            K::DELETE => {
                self.advance();
                Ok(MergeAction::Delete)
            }
            K::ERROR => {
                self.advance();
                let says = !self.merge_action_ends();
                Ok(MergeAction::Error(if says { Some(self.expr()?) } else { None }))
            }
            K::UPDATE => {
                self.advance();
                if self.eat(K::SET) {
                    if self.eat_operator("*") {
                        return Ok(MergeAction::UpdateAll { by_name: None });
                    }
                    return Ok(MergeAction::Update(self.assignments()?));
                }
                let by_name = self.by_name();
                Ok(MergeAction::UpdateAll { by_name })
            }
            K::INSERT => {
                self.advance();
                self.merge_insert()
            }
            _ => Err(self.expected("UPDATE, INSERT, DELETE, DO NOTHING or ERROR")),
        }
    }

    fn merge_insert(&mut self) -> Parsed<MergeAction> {
        if self.eat_operator("*") {
            return Ok(MergeAction::InsertAll { by_name: None });
        }
        let by_name = self.by_name();
        if by_name.is_some() {
            self.eat_operator("*");
        }
        if self.merge_action_ends() {
            return Ok(MergeAction::InsertAll { by_name });
        }
        let columns = match self.is_kind(Kind::LeftParen) {
            true => self.in_parens(Self::target)?,
            false => vec![],
        };
        let overriding_system = self.overriding()?;
        if self.eat_all(&[K::DEFAULT, K::VALUES]) {
            return Ok(MergeAction::Insert { columns, overriding_system, values: None });
        }
        self.expect(K::VALUES)?;
        let values = Some(self.in_parens(Self::expr)?);
        Ok(MergeAction::Insert { columns, overriding_system, values })
    }

    fn merge_action_ends(&self) -> bool {
        matches!(self.peek().kind, Kind::End | Kind::Semicolon | Kind::RightParen)
            || matches!(self.word(), K::WHEN | K::RETURNING)
    }

    pub(crate) fn truncate(&mut self) -> Parsed<StatementKind> {
        self.expect(K::TRUNCATE)?;
        self.eat(K::TABLE);
        let tables = self.list(|p| {
            let only = p.only();
            let table = p.path("a table")?;
            p.eat_operator("*");
            Ok((only, table))
        })?;
        let restart_identity = match () {
            () if self.eat_all(&[K::RESTART, K::IDENTITY]) => Some(true),
            () if self.eat_all(&[K::CONTINUE, K::IDENTITY]) => Some(false),
            () => None,
        };
        Ok(StatementKind::Truncate(Truncate { tables, restart_identity, cascade: self.cascade() }))
    }
}
