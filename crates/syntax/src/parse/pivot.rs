//! PIVOT and UNPIVOT, behind a table and as statements.
//!
//! Called by `from` behind a table, and by `query` at the first word. Both forms make the same tree, but for the
//! values, which the statement may leave to be found.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    PivotColumn, PivotOn, PivotStatement, PivotValues, SelectItem, TablePivot, TablePivotKind, Unpivot,
};

impl Parser<'_> {
    /// Whether the word begins a statement and is no name.
    pub(crate) fn begins_pivot_at(&self, ahead: usize) -> bool {
        let next = self.peek_at(ahead + 1);
        match next.kind {
            Kind::Word => !matches!(next.keyword, K::AS | K::FROM | K::IS | K::IN | K::AND | K::OR),
            Kind::QuotedName | Kind::Text => true,
            Kind::LeftParen => self.query_follows(ahead + 1),
            _ => false,
        }
    }

    /// `PIVOT t ON ... USING ... GROUP BY ...`, `UNPIVOT t ON ... INTO NAME n VALUE v`.
    pub(crate) fn pivot_statement(&mut self) -> Parsed<PivotStatement> {
        let start = self.here();
        let unpivot = matches!(self.advance().keyword, K::UNPIVOT | K::PIVOT_LONGER);
        let include = if unpivot { self.include_nulls()? } else { None };
        let source = Box::new(self.table_with_joins()?);
        let mut made = PivotStatement {
            unpivot,
            source,
            on: vec![],
            aggregates: vec![],
            group_by: vec![],
            into: None,
            include_nulls: None,
            span: start,
        };
        made.include_nulls = match (unpivot, include) {
            (true, None) => self.include_nulls()?,
            (_, said) => said,
        };
        if self.eat(K::ON) {
            made.on = self.list(|p| {
                let item = p.pivot_item()?;
                let among = match p.eat(K::IN) {
                    true => Some(p.pivot_values()?),
                    false => None,
                };
                Ok(PivotOn { item, among })
            })?;
        }
        if self.eat(K::USING) {
            made.aggregates = self.select_items()?;
        }
        if self.eat_all(&[K::GROUP, K::BY]) {
            made.group_by = self.exprs()?;
        }
        if self.eat(K::INTO) {
            self.expect(K::NAME)?;
            let name = self.name("a name for the column of names")?;
            if !self.eat(K::VALUE) && !self.eat(K::VALUES) {
                return Err(self.expected("VALUE"));
            }
            made.into = Some((name, self.list(|p| p.name("a name for the column of values"))?));
        }
        made.span = self.span_from(start);
        Ok(made)
    }

    /// An item of ON: IN behind it belongs to the pivot.
    fn pivot_item(&mut self) -> Parsed<SelectItem> {
        let value = self.operand()?;
        Ok(SelectItem { value, alias: self.alias_of_item()?, alias_first: false })
    }

    fn include_nulls(&mut self) -> Parsed<Option<bool>> {
        Ok(match () {
            () if self.eat_all(&[K::INCLUDE, K::NULLS]) => Some(true),
            () if self.eat_all(&[K::EXCLUDE, K::NULLS]) => Some(false),
            () => None,
        })
    }

    /// `(values)`, `(query)`, or the name of an ENUM.
    fn pivot_values(&mut self) -> Parsed<PivotValues> {
        if !self.is_kind(Kind::LeftParen) {
            return Ok(PivotValues::Type(self.path("( or a type")?));
        }
        if self.query_follows(1) {
            return Ok(PivotValues::Query(Box::new(self.query_in_parens()?)));
        }
        Ok(PivotValues::List(self.in_parens(Self::select_item)?))
    }

    /// PIVOT and UNPIVOT behind a table.
    pub(crate) fn table_pivot(&mut self) -> Parsed<Option<TablePivot>> {
        let start = self.here();
        let bracket = |p: &Self, ahead| p.peek_at(ahead).kind == Kind::LeftParen;
        let kind = match self.word() {
            K::PIVOT | K::PIVOT_WIDER if bracket(self, 1) => {
                self.advance();
                self.advance();
                let mut aggregates = vec![self.select_item()?];
                while self.eat_kind(Kind::Comma) {
                    aggregates.push(self.select_item()?);
                }
                self.expect(K::FOR)?;
                let mut columns = Vec::new();
                loop {
                    let value = self.operand()?;
                    self.expect(K::IN)?;
                    columns.push(PivotColumn { value, among: Some(self.pivot_values()?) });
                    // More of them stand without a comma, as in DuckDB, or with one.
                    self.eat_kind(Kind::Comma);
                    if self.is_kind(Kind::RightParen) || self.is(K::GROUP) {
                        break;
                    }
                }
                let group_by = match self.eat_all(&[K::GROUP, K::BY]) {
                    true => self.exprs()?,
                    false => vec![],
                };
                self.expect_kind(Kind::RightParen)?;
                TablePivotKind::Pivot { aggregates, columns, group_by }
            }
            K::UNPIVOT | K::PIVOT_LONGER
                if bracket(self, 1)
                    || (matches!(self.word_at(1), K::INCLUDE | K::EXCLUDE) && bracket(self, 3)) =>
            {
                self.advance();
                let include_nulls = self.include_nulls()?;
                self.expect_kind(Kind::LeftParen)?;
                let values = match self.is_kind(Kind::LeftParen) {
                    true => self.names_in_parens("a name for the column of values")?,
                    false => vec![self.name("a name for the column of values")?],
                };
                self.expect(K::FOR)?;
                let name = self.name("a name for the column of names")?;
                self.expect(K::IN)?;
                let columns = self.in_parens(|p| {
                    let value = p.expr()?;
                    let alias = match p.eat(K::AS) {
                        true if p.at_text() => {
                            let text = p.text_literal("a name")?;
                            Some(crate::tree::Name { text: text.text, quoted: true, span: text.span })
                        }
                        true => Some(p.label("a name")?),
                        false if p.at_name() => Some(p.label("a name")?),
                        false => None,
                    };
                    Ok(SelectItem { value, alias, alias_first: false })
                })?;
                self.expect_kind(Kind::RightParen)?;
                TablePivotKind::Unpivot(Unpivot { include_nulls, values, name, columns })
            }
            _ => return Ok(None),
        };
        let alias = self.table_alias()?;
        Ok(Some(TablePivot { kind, alias, span: self.span_from(start) }))
    }
}
