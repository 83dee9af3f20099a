//! SELECT, its clauses, and windows.
//!
//! Called by `query` at SELECT or FROM. Clauses stand in the standard's order, but that FROM may come first and the
//! select list be left out; an alias without AS ends where a word that goes on with the query begins.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    ClauseOrder, Distinct, Expr, Frame, FrameBound, FrameExclusion, FrameUnit, GroupBy, GroupItem,
    GroupItems, Into, Select, SelectItem, WindowSpec,
};

impl Parser<'_> {
    /// SELECT, or FROM with or without one.
    pub(crate) fn select(&mut self) -> Parsed<Select> {
        let start = self.here();
        let mut select = Select {
            distinct: Distinct::Unsaid,
            items: vec![],
            order: ClauseOrder::SelectFirst,
            into: None,
            from: vec![],
            condition: None,
            group_by: None,
            having: None,
            windows: vec![],
            qualify: None,
            sample: None,
            span: Span::default(),
        };
        if self.eat(K::FROM) {
            select.from = self.from_list()?;
            select.order = ClauseOrder::FromOnly;
            if self.is(K::SELECT) {
                select.order = ClauseOrder::FromFirst;
                self.select_list(&mut select)?;
            }
        } else {
            self.select_list(&mut select)?;
            if self.eat(K::FROM) {
                select.from = self.from_list()?;
            }
        }
        self.select_clauses(&mut select)?;
        select.span = self.span_from(start);
        Ok(select)
    }

    fn select_list(&mut self, select: &mut Select) -> Parsed<()> {
        self.expect(K::SELECT)?;
        select.distinct = match () {
            () if self.is(K::ALL) => {
                self.advance();
                Distinct::All
            }
            () if self.eat(K::DISTINCT) => match self.eat(K::ON) {
                true => Distinct::On(self.in_parens(Self::expr)?),
                false => Distinct::Distinct,
            },
            () => Distinct::Unsaid,
        };
        // PostgreSQL lets the list be empty.
        if !self.select_list_ends() {
            select.items = self.select_items()?;
        }
        if self.eat(K::INTO) {
            let temporary = self.eat(K::TEMPORARY) || self.eat(K::TEMP);
            let unlogged = !temporary && self.eat(K::UNLOGGED);
            self.eat(K::TABLE);
            select.into = Some(Into { temporary, unlogged, table: self.path("a table's name")? });
        }
        Ok(())
    }

    /// Whether no item of a list begins here.
    fn select_list_ends(&self) -> bool {
        match self.peek().kind {
            Kind::End | Kind::Semicolon | Kind::RightParen => true,
            _ => matches!(
                self.word(),
                K::FROM
                    | K::WHERE
                    | K::GROUP
                    | K::HAVING
                    | K::UNION
                    | K::INTERSECT
                    | K::EXCEPT
                    | K::ORDER
                    | K::LIMIT
                    | K::OFFSET
                    | K::INTO
                    | K::QUALIFY
            ),
        }
    }

    /// Items of SELECT and RETURNING; a comma behind the last one is let pass.
    pub(crate) fn select_items(&mut self) -> Parsed<Vec<SelectItem>> {
        let mut items = vec![self.select_item()?];
        while self.eat_kind(Kind::Comma) {
            if self.select_list_ends() {
                break;
            }
            items.push(self.select_item()?);
        }
        Ok(items)
    }

    pub(crate) fn select_item(&mut self) -> Parsed<SelectItem> {
        // `name: e`.
        if self.is_label_at(0) && self.peek_at(1).kind == Kind::Colon && !self.peek().keyword.is_reserved() {
            let alias = Some(self.label("a name")?);
            self.advance();
            return Ok(SelectItem { value: self.expr()?, alias, alias_first: true });
        }
        let value = self.expr()?;
        Ok(SelectItem { value, alias: self.alias_of_item()?, alias_first: false })
    }

    /// `AS name`, `name`.
    pub(crate) fn alias_of_item(&mut self) -> Parsed<Option<crate::tree::Name>> {
        if self.eat(K::AS) {
            if self.at_text() {
                let text = self.text_literal("a name")?;
                return Ok(Some(crate::tree::Name { text: text.text, quoted: true, span: text.span }));
            }
            return Ok(Some(self.label("a name")?));
        }
        let token = self.peek();
        match token.kind {
            Kind::QuotedName | Kind::UnicodeName => Ok(Some(self.label("a name")?)),
            Kind::Word if token.keyword.may_be_bare_alias() && !self.sample_follows() => {
                Ok(Some(self.label("a name")?))
            }
            _ => Ok(None),
        }
    }

    /// USING SAMPLE.
    fn sample_follows(&self) -> bool {
        self.is(K::USING) && self.word_at(1) == K::SAMPLE
    }

    fn select_clauses(&mut self, select: &mut Select) -> Parsed<()> {
        if self.sample_follows() {
            self.advance();
            self.advance();
            select.sample = Some(self.sample()?);
        }
        if self.eat(K::WHERE) {
            select.condition = Some(self.expr()?);
        }
        if self.eat_all(&[K::GROUP, K::BY]) {
            select.group_by = Some(self.group_by()?);
        }
        if self.eat(K::HAVING) {
            select.having = Some(self.expr()?);
        }
        // WINDOW and QUALIFY stand in either order.
        loop {
            match self.word() {
                K::WINDOW if select.windows.is_empty() => {
                    self.advance();
                    select.windows = self.list(|p| {
                        let name = p.name("a window's name")?;
                        p.expect(K::AS)?;
                        Ok((name, p.window_spec()?))
                    })?;
                }
                K::QUALIFY if select.qualify.is_none() => {
                    self.advance();
                    select.qualify = Some(self.expr()?);
                }
                K::USING if self.sample_follows() && select.sample.is_none() => {
                    self.advance();
                    self.advance();
                    select.sample = Some(self.sample()?);
                }
                _ => return Ok(()),
            }
        }
    }

    // GROUP BY.

    fn group_by(&mut self) -> Parsed<GroupBy> {
        let distinct = match () {
            () if self.eat(K::DISTINCT) => Some(true),
            () if self.is(K::ALL) && self.group_item_at(1) => {
                self.advance();
                Some(false)
            }
            () => None,
        };
        if (self.is(K::ALL) && self.eat(K::ALL)) || (self.is_operator("*") && self.eat_operator("*")) {
            return Ok(GroupBy { distinct, items: GroupItems::All });
        }
        let mut items = vec![self.group_item()?];
        while self.eat_kind(Kind::Comma) {
            if matches!(self.word(), K::HAVING | K::ORDER | K::LIMIT | K::QUALIFY) {
                break;
            }
            items.push(self.group_item()?);
        }
        Ok(GroupBy { distinct, items: GroupItems::List(items) })
    }

    /// Whether something to group by stands there, rather than what follows GROUP BY ALL.
    fn group_item_at(&self, ahead: usize) -> bool {
        match self.peek_at(ahead).kind {
            Kind::Word => {
                self.is_name_at(ahead) && !matches!(self.word_at(ahead), K::QUALIFY)
                    || matches!(self.word_at(ahead), K::CASE | K::CAST | K::NOT)
            }
            Kind::QuotedName | Kind::Number | Kind::LeftParen | Kind::LeftBracket => true,
            _ => false,
        }
    }

    fn group_item(&mut self) -> Parsed<GroupItem> {
        self.nested(|p| {
            let start = p.here();
            let bracket = p.peek_at(1).kind == Kind::LeftParen;
            match p.word() {
                K::ROLLUP if bracket => {
                    p.advance();
                    let sets = p.in_parens(Self::group_element)?;
                    Ok(GroupItem::Rollup(sets, p.span_from(start)))
                }
                K::CUBE if bracket => {
                    p.advance();
                    let sets = p.in_parens(Self::group_element)?;
                    Ok(GroupItem::Cube(sets, p.span_from(start)))
                }
                K::GROUPING if p.word_at(1) == K::SETS => {
                    p.advance();
                    p.advance();
                    let sets = p.in_parens(Self::group_item)?;
                    Ok(GroupItem::Sets(sets, p.span_from(start)))
                }
                _ if p.is_kind(Kind::LeftParen) && p.peek_at(1).kind == Kind::RightParen => {
                    p.advance();
                    p.advance();
                    Ok(GroupItem::Empty(p.span_from(start)))
                }
                _ => Ok(GroupItem::Expr(p.expr()?)),
            }
        })
    }

    /// One or several expressions of ROLLUP and CUBE.
    fn group_element(&mut self) -> Parsed<Vec<Expr>> {
        let value = self.expr()?;
        Ok(match value.kind {
            crate::tree::ExprKind::Row { row: false, elements } => elements,
            kind => vec![Expr { kind, span: value.span }],
        })
    }

    // Windows.

    /// `(base PARTITION BY ... ORDER BY ... frame)`.
    pub(crate) fn window_spec(&mut self) -> Parsed<WindowSpec> {
        self.nested(|p| {
            let start = p.expect_kind(Kind::LeftParen)?;
            let mut spec =
                WindowSpec { base: None, partition_by: vec![], order_by: vec![], frame: None, span: start };
            let clause = matches!(p.word(), K::PARTITION | K::ORDER | K::ROWS | K::RANGE | K::GROUPS);
            if p.at_name() && !clause {
                spec.base = Some(p.name("a window's name")?);
            }
            if p.eat_all(&[K::PARTITION, K::BY]) {
                spec.partition_by = p.exprs()?;
            }
            if p.eat_all(&[K::ORDER, K::BY]) {
                spec.order_by = p.order_items()?;
            }
            spec.frame = p.frame()?;
            if !p.eat_kind(Kind::RightParen) {
                return Err(p.expected("PARTITION BY, ORDER BY, a frame or )"));
            }
            spec.span = p.span_from(start);
            Ok(spec)
        })
    }

    fn frame(&mut self) -> Parsed<Option<Frame>> {
        let unit = match self.word() {
            K::ROWS => FrameUnit::Rows,
            K::RANGE => FrameUnit::Range,
            K::GROUPS => FrameUnit::Groups,
            _ => return Ok(None),
        };
        self.advance();
        let (start, end) = match self.eat(K::BETWEEN) {
            true => {
                let start = self.frame_bound()?;
                self.expect(K::AND)?;
                (start, Some(self.frame_bound()?))
            }
            false => (self.frame_bound()?, None),
        };
        let exclusion = match self.eat(K::EXCLUDE) {
            true => Some(match () {
                () if self.eat_all(&[K::CURRENT, K::ROW]) => FrameExclusion::CurrentRow,
                () if self.eat(K::GROUP) => FrameExclusion::Group,
                () if self.eat(K::TIES) => FrameExclusion::Ties,
                () if self.eat_all(&[K::NO, K::OTHERS]) => FrameExclusion::NoOthers,
                () => return Err(self.expected("CURRENT ROW, GROUP, TIES or NO OTHERS")),
            }),
            false => None,
        };
        Ok(Some(Frame { unit, start, end, exclusion }))
    }

    fn frame_bound(&mut self) -> Parsed<FrameBound> {
        if self.eat_all(&[K::CURRENT, K::ROW]) {
            return Ok(FrameBound::CurrentRow);
        }
        if self.is(K::UNBOUNDED) && matches!(self.word_at(1), K::PRECEDING | K::FOLLOWING) {
            self.advance();
            return Ok(match self.advance().keyword {
                K::PRECEDING => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        let distance = self.operand()?;
        match () {
            () if self.eat(K::PRECEDING) => Ok(FrameBound::Preceding(distance)),
            () if self.eat(K::FOLLOWING) => Ok(FrameBound::Following(distance)),
            () => Err(self.expected("PRECEDING or FOLLOWING")),
        }
    }
}
