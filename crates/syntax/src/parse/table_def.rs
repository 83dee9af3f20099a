//! CREATE TABLE: columns, constraints, partitions.
//!
//! Called by `create` and `alter`. Clauses of a column are a list in the order of the text, constraints of the table
//! as well: which exclude each other is for the binder.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    ColumnClause, ColumnClauseKind, ColumnDef, Constraint, ConstraintKind, CreateTable, Name, OnCommit,
    PartitionBy, ReferenceAction, References, SetOption, StatementKind, TableElement, Timing,
};

impl Parser<'_> {
    pub(crate) fn create_table(
        &mut self,
        start: Span,
        replace: bool,
        temporary: bool,
        unlogged: bool,
    ) -> Parsed<StatementKind> {
        self.expect(K::TABLE)?;
        let if_there = self.if_there(replace)?;
        let name = self.path("a table's name")?;
        let mut table = CreateTable {
            if_there,
            temporary,
            unlogged,
            name,
            elements: vec![],
            names: vec![],
            partition: None,
            options: vec![],
            on_commit: None,
            query: None,
            with_data: None,
            span: start,
        };
        let bracket = self.eat_kind(Kind::LeftParen);
        if bracket {
            table.elements = self.until(Kind::RightParen, Self::table_element)?;
            if let Some(names) = only_names(&table.elements) {
                table.names = names;
                table.elements = vec![];
            }
        }
        self.table_clauses(&mut table)?;
        if self.eat(K::AS) {
            let statement = match self.is(K::EXECUTE) {
                true => self.statement()?,
                false => self.row_statement()?,
            };
            table.query = Some(Box::new(statement));
            table.with_data = match () {
                () if self.eat_all(&[K::WITH, K::DATA]) => Some(true),
                () if self.eat_all(&[K::WITH, K::NO, K::DATA]) => Some(false),
                () => None,
            };
        } else if !bracket {
            return Err(self.expected("( or AS"));
        } else if !table.names.is_empty() {
            return Err(self.expected("AS: the columns have no types"));
        }
        table.span = self.span_from(start);
        Ok(StatementKind::CreateTable(Box::new(table)))
    }

    fn table_clauses(&mut self, table: &mut CreateTable) -> Parsed<()> {
        loop {
            match self.word() {
                K::PARTITION if self.word_at(1) == K::BY => table.partition = Some(self.partition_by()?),
                K::PARTITIONED | K::SORTED if self.word_at(1) == K::BY => {
                    // DuckLake's words, refused by name.
                    let name = self.label("a clause")?;
                    self.advance();
                    let value = Some(self.option_value()?);
                    table.options.push(SetOption { name, value });
                }
                K::WITH if self.peek_at(1).kind == Kind::LeftParen => {
                    self.advance();
                    let mut options = self.options_in_parens()?;
                    table.options.append(&mut options);
                }
                K::WITHOUT if self.is_label_at(1) => {
                    let mut name = self.label("a clause")?;
                    let second = self.label("a clause")?;
                    name.text = format!("without {}", second.text).into();
                    table.options.push(SetOption { name, value: None });
                }
                K::ON if self.word_at(1) == K::COMMIT => {
                    self.advance();
                    self.advance();
                    table.on_commit = Some(match () {
                        () if self.eat(K::DROP) => OnCommit::Drop,
                        () if self.eat_all(&[K::DELETE, K::ROWS]) => OnCommit::DeleteRows,
                        () if self.eat_all(&[K::PRESERVE, K::ROWS]) => OnCommit::PreserveRows,
                        () => return Err(self.expected("DROP, DELETE ROWS or PRESERVE ROWS")),
                    });
                }
                K::TABLESPACE | K::USING | K::INHERITS => {
                    let name = self.label("a clause")?;
                    let value = Some(self.option_value()?);
                    table.options.push(SetOption { name, value });
                }
                _ => return Ok(()),
            }
        }
    }

    fn table_element(&mut self) -> Parsed<TableElement> {
        if self.is(K::LIKE) {
            self.advance();
            let table = self.path("a table")?;
            let mut parts = Vec::new();
            while matches!(self.word(), K::INCLUDING | K::EXCLUDING) {
                let including = self.advance().keyword == K::INCLUDING;
                parts.push((including, self.label("what is taken along")?));
            }
            return Ok(TableElement::Like(table, parts));
        }
        let constraint = match self.word() {
            K::CONSTRAINT | K::FOREIGN => true,
            K::PRIMARY => self.word_at(1) == K::KEY,
            K::UNIQUE | K::CHECK => true,
            _ => false,
        };
        match constraint {
            true => Ok(TableElement::Constraint(self.constraint()?)),
            false => Ok(TableElement::Column(self.column_def()?)),
        }
    }

    pub(crate) fn column_def(&mut self) -> Parsed<ColumnDef> {
        let name = self.name("a column's name")?;
        self.column_def_of(name)
    }

    /// What stands behind a column's name.
    pub(crate) fn column_def_of(&mut self, name: Name) -> Parsed<ColumnDef> {
        let start = name.span;
        let typed = match self.peek().kind {
            Kind::Comma | Kind::RightParen | Kind::End | Kind::Semicolon => false,
            _ => !matches!(
                self.word(),
                K::GENERATED
                    | K::AS
                    | K::PRIMARY
                    | K::NOT
                    | K::NULL
                    | K::DEFAULT
                    | K::UNIQUE
                    | K::CHECK
                    | K::REFERENCES
                    | K::CONSTRAINT
                    | K::COLLATE
            ),
        };
        let ty = if typed { Some(self.type_name()?) } else { None };
        let mut clauses = Vec::new();
        while let Some(clause) = self.column_clause()? {
            clauses.push(clause);
        }
        Ok(ColumnDef { name, ty, clauses, span: self.span_from(start) })
    }

    fn column_clause(&mut self) -> Parsed<Option<ColumnClause>> {
        let start = self.here();
        let name = match self.eat(K::CONSTRAINT) {
            true => Some(self.name("a constraint's name")?),
            false => None,
        };
        let kind = match self.word() {
            K::NULL => {
                self.advance();
                ColumnClauseKind::Null
            }
            K::NOT => {
                self.advance();
                self.expect(K::NULL)?;
                ColumnClauseKind::NotNull
            }
            K::DEFAULT => {
                self.advance();
                // Constraints follow, so that NOT and IS do not belong to the value.
                ColumnClauseKind::Default(self.operand()?)
            }
            K::PRIMARY => {
                self.advance();
                self.expect(K::KEY)?;
                ColumnClauseKind::PrimaryKey(self.timing()?)
            }
            K::UNIQUE => {
                self.advance();
                let nulls_distinct = self.nulls_distinct();
                ColumnClauseKind::Unique { nulls_distinct, timing: self.timing()? }
            }
            K::CHECK => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let condition = self.expr()?;
                self.expect_kind(Kind::RightParen)?;
                ColumnClauseKind::Check(condition)
            }
            K::REFERENCES => ColumnClauseKind::References(self.references()?),
            K::COLLATE => {
                self.advance();
                ColumnClauseKind::Collate(self.path("a collation")?)
            }
            K::GENERATED | K::AS => self.generated()?,
            K::AUTO_INCREMENT | K::AUTOINCREMENT => {
                self.advance();
                ColumnClauseKind::AutoIncrement
            }
            K::USING if self.word_at(1) == K::COMPRESSION => {
                self.advance();
                self.advance();
                ColumnClauseKind::Compression(self.label("a compression")?)
            }
            K::COMPRESSION => {
                self.advance();
                ColumnClauseKind::Compression(self.label("a compression")?)
            }
            K::COMMENT => {
                self.advance();
                ColumnClauseKind::Comment(self.text_literal("a text in single quotes")?)
            }
            _ if name.is_some() => {
                return Err(self.expected("NOT NULL, PRIMARY KEY, UNIQUE, CHECK, DEFAULT or REFERENCES"));
            }
            _ => return Ok(None),
        };
        Ok(Some(ColumnClause { name, kind, span: self.span_from(start) }))
    }

    /// `GENERATED ALWAYS AS (e) STORED`, `GENERATED ... AS IDENTITY (...)`, `AS (e)`.
    fn generated(&mut self) -> Parsed<ColumnClauseKind> {
        let mut always = true;
        if self.eat(K::GENERATED) && !self.eat(K::ALWAYS) {
            if !self.eat_all(&[K::BY, K::DEFAULT]) {
                return Err(self.expected("ALWAYS or BY DEFAULT"));
            }
            always = false;
        }
        self.expect(K::AS)?;
        if self.eat(K::IDENTITY) {
            return Ok(ColumnClauseKind::Identity { always, options: self.identity_options()? });
        }
        self.expect_kind(Kind::LeftParen)?;
        let value = self.expr()?;
        self.expect_kind(Kind::RightParen)?;
        let stored = match () {
            () if self.eat(K::STORED) => Some(true),
            () if self.eat(K::VIRTUAL) => Some(false),
            () => None,
        };
        Ok(ColumnClauseKind::Generated { value, stored })
    }

    pub(crate) fn identity_options(&mut self) -> Parsed<Vec<crate::tree::SequenceOption>> {
        if !self.is_kind(Kind::LeftParen) {
            return Ok(vec![]);
        }
        self.advance();
        let options = self.sequence_options()?;
        self.expect_kind(Kind::RightParen)?;
        Ok(options)
    }

    /// DEFERRABLE and INITIALLY.
    fn timing(&mut self) -> Parsed<Timing> {
        let mut timing = Timing::default();
        loop {
            match self.word() {
                K::DEFERRABLE => {
                    self.advance();
                    timing.deferrable = Some(true);
                }
                K::NOT if self.word_at(1) == K::DEFERRABLE => {
                    self.advance();
                    self.advance();
                    timing.deferrable = Some(false);
                }
                K::INITIALLY => {
                    self.advance();
                    timing.deferred = Some(match () {
                        () if self.eat(K::DEFERRED) => true,
                        () if self.eat(K::IMMEDIATE) => false,
                        () => return Err(self.expected("DEFERRED or IMMEDIATE")),
                    });
                }
                _ => return Ok(timing),
            }
        }
    }

    fn references(&mut self) -> Parsed<References> {
        self.expect(K::REFERENCES)?;
        let table = self.path("a table")?;
        let columns = self.names_if_parens("a column")?;
        let mut made = References {
            table,
            columns,
            matching: None,
            on_delete: None,
            on_update: None,
            timing: Timing::default(),
        };
        loop {
            match self.word() {
                K::MATCH => {
                    self.advance();
                    made.matching = Some(self.label("FULL, PARTIAL or SIMPLE")?);
                }
                K::ON if self.word_at(1) == K::DELETE => {
                    self.advance();
                    self.advance();
                    made.on_delete = Some(self.reference_action()?);
                }
                K::ON if self.word_at(1) == K::UPDATE => {
                    self.advance();
                    self.advance();
                    made.on_update = Some(self.reference_action()?);
                }
                _ => break,
            }
        }
        made.timing = self.timing()?;
        Ok(made)
    }

    fn reference_action(&mut self) -> Parsed<ReferenceAction> {
        Ok(match self.word() {
            K::NO => {
                self.advance();
                self.expect(K::ACTION)?;
                ReferenceAction::NoAction
            }
            K::RESTRICT => {
                self.advance();
                ReferenceAction::Restrict
            }
            K::CASCADE => {
                self.advance();
                ReferenceAction::Cascade
            }
            K::SET if self.word_at(1) == K::NULL => {
                self.at += 2;
                ReferenceAction::SetNull(self.names_if_parens("a column")?)
            }
            K::SET if self.word_at(1) == K::DEFAULT => {
                self.at += 2;
                ReferenceAction::SetDefault(self.names_if_parens("a column")?)
            }
            _ => return Err(self.expected("NO ACTION, RESTRICT, CASCADE, SET NULL or SET DEFAULT")),
        })
    }

    pub(crate) fn constraint(&mut self) -> Parsed<Constraint> {
        let start = self.here();
        let name = match self.eat(K::CONSTRAINT) {
            true => Some(self.name("a constraint's name")?),
            false => None,
        };
        let kind = match self.word() {
            K::PRIMARY => {
                self.advance();
                self.expect(K::KEY)?;
                ConstraintKind::PrimaryKey(self.names_in_parens("a column")?)
            }
            K::UNIQUE => {
                self.advance();
                let nulls_distinct = self.nulls_distinct();
                ConstraintKind::Unique { nulls_distinct, columns: self.names_in_parens("a column")? }
            }
            K::CHECK => {
                self.advance();
                self.expect_kind(Kind::LeftParen)?;
                let condition = self.expr()?;
                self.expect_kind(Kind::RightParen)?;
                ConstraintKind::Check(condition, self.eat_all(&[K::NO, K::INHERIT]))
            }
            K::FOREIGN => {
                self.advance();
                self.expect(K::KEY)?;
                let columns = self.names_in_parens("a column")?;
                let mut references = self.references()?;
                let timing = std::mem::take(&mut references.timing);
                let not_valid = self.eat_all(&[K::NOT, K::VALID]);
                let kind = ConstraintKind::ForeignKey(columns, references);
                return Ok(Constraint { name, kind, timing, not_valid, span: self.span_from(start) });
            }
            _ => return Err(self.expected("PRIMARY KEY, UNIQUE, CHECK or FOREIGN KEY")),
        };
        let timing = self.timing()?;
        let not_valid = self.eat_all(&[K::NOT, K::VALID]);
        Ok(Constraint { name, kind, timing, not_valid, span: self.span_from(start) })
    }

    fn partition_by(&mut self) -> Parsed<PartitionBy> {
        self.advance();
        self.advance();
        match self.word() {
            K::HASH => {
                self.advance();
                let columns = self.names_in_parens("a column")?;
                self.expect(K::PARTITIONS)?;
                Ok(PartitionBy::Hash { columns, partitions: self.signed_number()? })
            }
            K::RANGE => {
                self.advance();
                let columns = self.names_in_parens("a column")?;
                let partitions = self.in_parens(|p| {
                    p.expect(K::PARTITION)?;
                    let name = p.name("a partition's name")?;
                    p.expect(K::VALUES)?;
                    p.expect(K::LESS)?;
                    p.expect(K::THAN)?;
                    if p.eat(K::MAXVALUE) {
                        return Ok((name, None));
                    }
                    p.expect_kind(Kind::LeftParen)?;
                    let bound = match p.eat(K::MAXVALUE) {
                        true => None,
                        false => Some(p.expr()?),
                    };
                    p.expect_kind(Kind::RightParen)?;
                    Ok((name, bound))
                })?;
                Ok(PartitionBy::Range { columns, partitions })
            }
            _ => Err(self.expected("HASH or RANGE")),
        }
    }
}

/// The names of columns of which nothing else is said: those that the query behind AS gets.
fn only_names(elements: &[TableElement]) -> Option<Vec<Name>> {
    let name = |element: &TableElement| match element {
        TableElement::Column(ColumnDef { name, ty: None, clauses, .. }) if clauses.is_empty() => {
            Some(name.clone())
        }
        _ => None,
    };
    (!elements.is_empty()).then(|| elements.iter().map(name).collect()).flatten()
}
