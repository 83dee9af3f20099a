//! Statements by their first words.
//!
//! `whole_statement` reads one to its semicolon or the end. After an error `skip_statement` finds the next one,
//! brackets and texts passed over, so that a script shows all its errors. Statements of other systems are known by
//! their words, and refused by name.

use super::{Parsed, Parser};
use crate::keyword::Keyword as K;
use crate::token::Kind;
use crate::tree::{
    Described, Name, SetOption, Show, Statement, StatementKind, SteerVerb, TransactionMode, Unsupported,
};

impl Parser<'_> {
    /// One statement, up to a semicolon or the end.
    pub(crate) fn whole_statement(&mut self) -> Parsed<Statement> {
        self.questions = 0;
        let statement = self.statement()?;
        match self.peek().kind {
            Kind::Semicolon | Kind::End => Ok(statement),
            _ => Err(self.unexpected()),
        }
    }

    /// Passes everything up to behind the next semicolon, after an error.
    pub(crate) fn skip_statement(&mut self) {
        self.depth = 0;
        self.height = 0;
        while !matches!(self.peek().kind, Kind::Semicolon | Kind::End) {
            self.advance();
        }
    }

    /// A statement.
    pub(crate) fn statement(&mut self) -> Parsed<Statement> {
        self.nested(|p| {
            let start = p.here();
            let kind = p.statement_kind()?;
            Ok(Statement { kind, span: p.span_from(start) })
        })
    }

    fn checkpoint(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let named = self.is_label_at(0);
        Ok(StatementKind::Checkpoint(if named { Some(self.name("a database's name")?) } else { None }))
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if self.is_kind(Kind::LeftParen) || self.begins_rows() {
            return self.row_statement().map(|s| s.kind);
        }
        match self.word() {
            K::CREATE => self.create(),
            K::DROP => self.drop_statement(),
            K::ALTER => self.alter(),
            K::COMMENT => self.comment(),
            K::COPY => self.copy(),
            K::TRUNCATE => self.truncate(),
            K::EXPLAIN => self.explain(),
            K::DESCRIBE | K::DESC | K::SUMMARIZE | K::SHOW => self.inspection().map(|s| s.kind),
            K::SET => self.set(),
            K::RESET => self.reset(),
            K::PRAGMA => self.pragma(),
            K::CALL => self.call_statement(),
            K::PREPARE => self.prepare(),
            K::EXECUTE => self.execute(),
            K::DEALLOCATE => self.deallocate(),
            K::DECLARE => self.declare_cursor(),
            K::FETCH | K::MOVE => self.fetch_cursor(),
            K::CLOSE => self.close_cursor(),
            K::DISCARD => self.discard(),
            K::BEGIN | K::START => self.begin(),
            K::COMMIT | K::END => {
                self.advance();
                self.work();
                Ok(StatementKind::Commit { chain: self.chained_on()? })
            }
            K::ROLLBACK | K::ABORT => self.rollback(),
            K::SAVEPOINT => {
                self.advance();
                Ok(StatementKind::Savepoint(self.name("a savepoint's name")?))
            }
            K::RELEASE => {
                self.advance();
                self.eat(K::SAVEPOINT);
                Ok(StatementKind::Release(self.name("a savepoint's name")?))
            }
            K::ATTACH => self.attach(),
            K::DETACH => {
                self.advance();
                self.eat(K::DATABASE);
                let if_exists = self.if_exists();
                Ok(StatementKind::Detach { if_exists, name: self.name("a database's name")? })
            }
            K::USE => {
                self.advance();
                Ok(StatementKind::Use(self.path("a schema's or a database's name")?))
            }
            // A checkpoint waits for no transaction: FORCE says nothing more.
            K::FORCE if self.word_at(1) == K::CHECKPOINT => {
                self.advance();
                self.checkpoint()
            }
            K::CHECKPOINT => self.checkpoint(),
            K::CHECK if self.word_at(1) == K::DATABASE => {
                self.advance();
                self.advance();
                Ok(StatementKind::CheckDatabase)
            }
            K::BACKUP | K::EXPORT | K::IMPORT => self.whole_database(),
            K::REFRESH if self.word_at(1) == K::WIDE => {
                self.advance();
                self.advance();
                self.expect(K::TABLE)?;
                Ok(StatementKind::RefreshWideTable(self.path("a wide table's name")?))
            }
            K::PAUSE | K::RESUME | K::CANCEL if self.word_at(1) == K::QUERY => {
                let verb = match self.advance().keyword {
                    K::PAUSE => SteerVerb::Pause,
                    K::RESUME => SteerVerb::Resume,
                    _ => SteerVerb::Cancel,
                };
                self.advance();
                Ok(StatementKind::SteerQuery(verb, self.signed_number()?))
            }
            K::ANALYZE | K::ANALYSE => {
                self.advance();
                self.eat(K::VERBOSE);
                let named = self.at_name();
                let table = if named { Some(self.path("a table")?) } else { None };
                Ok(StatementKind::Analyze(table, self.names_if_parens("a column")?))
            }
            K::GRANT | K::REVOKE => self.grant(),
            K::REASSIGN => self.reassign_owned(),
            K::VACUUM => self.vacuum(),
            K::LOCK => self.lock_table(),
            _ if self.is_kind(Kind::Word) && self.word().begins_foreign_statement() => {
                self.foreign(self.here())
            }
            _ => Err(self.expected("a statement")),
        }
    }

    /// `DEALLOCATE [PREPARE] name | ALL`.
    fn deallocate(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.eat(K::PREPARE);
        let all = self.eat(K::ALL);
        let name = if all { None } else { Some(self.name("a statement's name or ALL")?) };
        Ok(StatementKind::Deallocate(name))
    }

    /// Whether a query or a statement that changes rows begins here.
    fn begins_rows(&self) -> bool {
        match self.word() {
            K::SELECT
            | K::WITH
            | K::FROM
            | K::VALUES
            | K::TABLE
            | K::INSERT
            | K::UPDATE
            | K::DELETE
            | K::MERGE => true,
            K::PIVOT | K::UNPIVOT | K::PIVOT_WIDER | K::PIVOT_LONGER => true,
            _ => false,
        }
    }

    /// A statement that others have: everything up to its end, for the error that says what does the same here. Its verb
    /// and other words may have been read, from `start` on.
    pub(crate) fn foreign(&mut self, start: crate::Span) -> Parsed<StatementKind> {
        while !matches!(self.peek().kind, Kind::End | Kind::Semicolon) {
            self.advance();
        }
        let span = self.span_from(start);
        let from = self.tokens.partition_point(|t| t.span.start < span.start);
        let read = self.tokens[from..self.at].iter().take(4).filter(|t| t.kind == Kind::Word);
        let words = read.map(|t| self.name_of(*t)).collect::<Parsed<_>>()?;
        Ok(StatementKind::Unsupported(Unsupported { words, text: span.of(self.text).into() }))
    }

    fn explain(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let (mut analyze, mut verbose, mut options) = (false, false, vec![]);
        if self.is_kind(Kind::LeftParen) && !self.query_follows(0) {
            options = self.options_in_parens()?;
        } else {
            // DuckDB's EXPLAIN ANALYZE (FORMAT ...), too.
            loop {
                match self.word() {
                    K::ANALYZE | K::ANALYSE if !analyze => {
                        self.advance();
                        analyze = true;
                    }
                    K::VERBOSE if !verbose => {
                        self.advance();
                        verbose = true;
                    }
                    _ => break,
                }
            }
            if self.is_kind(Kind::LeftParen) && !self.query_follows(0) {
                options = self.options_in_parens()?;
            } else if self.is(K::FORMAT) {
                let name = self.label("an option")?;
                let value = Some(self.option_value()?);
                options.push(SetOption { name, value });
            }
        }
        let statement = Box::new(self.statement()?);
        Ok(StatementKind::Explain { analyze, verbose, options, statement })
    }

    /// DESCRIBE, SUMMARIZE and SHOW.
    pub(crate) fn inspection(&mut self) -> Parsed<Statement> {
        self.nested(|p| {
            let start = p.here();
            let kind = match p.word() {
                K::SHOW => p.show()?,
                _ => {
                    let summarize = p.advance().keyword == K::SUMMARIZE;
                    let what = match p.peek().kind {
                        Kind::End | Kind::Semicolon | Kind::RightParen => None,
                        _ => Some(p.described()?),
                    };
                    StatementKind::Describe { summarize, what }
                }
            };
            Ok(Statement { kind, span: p.span_from(start) })
        })
    }

    fn described(&mut self) -> Parsed<Described> {
        if self.at_text() {
            return Ok(Described::File(self.text_literal("a file's name")?));
        }
        if self.query_follows(0) || matches!(self.word(), K::INSERT | K::UPDATE | K::DELETE | K::MERGE) {
            let statement = self.row_statement()?;
            return Ok(Described::Statement(Box::new(statement)));
        }
        if self.is(K::TABLE) {
            self.advance();
        }
        if self.is_name_at(0) && self.peek_at(1).kind == Kind::LeftParen {
            // DESCRIBE of a function's rows.
            return Err(self.expected("a table or a query"));
        }
        Ok(Described::Table(self.path("a table or a query")?))
    }

    fn show(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let show = match self.word() {
            _ if matches!(self.peek().kind, Kind::End | Kind::Semicolon | Kind::RightParen) => Show::Nothing,
            K::ALL if self.word_at(1) == K::TABLES => {
                self.advance();
                self.advance();
                Show::Tables { all: true, from: self.show_from()?, like: self.show_like()? }
            }
            K::ALL => {
                self.advance();
                Show::All
            }
            K::TABLES => {
                self.advance();
                Show::Tables { all: false, from: self.show_from()?, like: self.show_like()? }
            }
            _ if self.query_follows(0) => Show::Query(Box::new(self.row_statement()?)),
            _ if self.lists_things() => {
                let what = self.label("VIEWS, FUNCTIONS or COLUMNS")?;
                Show::Listed { what, from: self.show_from()?, like: self.show_like()? }
            }
            K::TIME if self.word_at(1) == K::ZONE => {
                let name = self.label("a setting")?;
                self.advance();
                let name = Name { text: "timezone".into(), ..name };
                Show::Name(crate::tree::Path { names: vec![name] })
            }
            K::TRANSACTION if self.word_at(1) == K::ISOLATION => {
                let name = self.label("a setting")?;
                self.advance();
                self.expect(K::LEVEL)?;
                let name = Name { text: "transaction_isolation".into(), ..name };
                Show::Name(crate::tree::Path { names: vec![name] })
            }
            _ => {
                let mut names = vec![self.label("a setting, a table or TABLES")?];
                self.further_names(&mut names, "a name")?;
                Show::Name(crate::tree::Path { names })
            }
        };
        Ok(StatementKind::Show(show))
    }

    /// VIEWS, FUNCTIONS and COLUMNS before FROM or LIKE.
    fn lists_things(&self) -> bool {
        let word = self.source(self.peek());
        let known = ["views", "functions", "columns"].iter().any(|known| word.eq_ignore_ascii_case(known));
        known && matches!(self.word_at(1), K::FROM | K::IN | K::LIKE)
    }

    fn show_from(&mut self) -> Parsed<Option<crate::tree::Path>> {
        match self.eat(K::FROM) || self.eat(K::IN) {
            true => Ok(Some(self.path("a schema")?)),
            false => Ok(None),
        }
    }

    fn show_like(&mut self) -> Parsed<Option<crate::tree::TextLiteral>> {
        match self.eat(K::LIKE) {
            true => Ok(Some(self.text_literal("a pattern in single quotes")?)),
            false => Ok(None),
        }
    }

    fn prepare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("a name for the statement")?;
        let types = match self.is_kind(Kind::LeftParen) {
            true => self.in_parens(Self::type_name)?,
            false => vec![],
        };
        self.expect(K::AS)?;
        let statement = Box::new(self.statement()?);
        Ok(StatementKind::Prepare { name, types, statement })
    }

    fn execute(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.name("a statement's name")?;
        let values = match self.is_kind(Kind::LeftParen) {
            true => self.table_arguments()?,
            false => vec![],
        };
        Ok(StatementKind::Execute { name, values })
    }

    fn call_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.path("a procedure")?;
        let arguments = match self.is_kind(Kind::LeftParen) {
            true => self.table_arguments()?,
            false => vec![],
        };
        Ok(StatementKind::Call { name, arguments })
    }

    // Transactions.

    fn work(&mut self) {
        if !self.eat(K::WORK) {
            self.eat(K::TRANSACTION);
        }
    }

    /// AND [NO] CHAIN.
    fn chained_on(&mut self) -> Parsed<Option<bool>> {
        if !self.eat(K::AND) {
            return Ok(None);
        }
        let no = self.eat(K::NO);
        self.expect(K::CHAIN)?;
        Ok(Some(!no))
    }

    fn begin(&mut self) -> Parsed<StatementKind> {
        let start = self.advance().keyword == K::START;
        match start {
            true => {
                self.expect(K::TRANSACTION)?;
            }
            false => self.work(),
        }
        Ok(StatementKind::Begin { start, modes: self.transaction_modes(false)? })
    }

    fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.work();
        let chain = self.chained_on()?;
        let to = match chain.is_none() && self.eat(K::TO) {
            true => {
                self.eat(K::SAVEPOINT);
                Some(self.name("a savepoint's name")?)
            }
            false => None,
        };
        Ok(StatementKind::Rollback { chain, to })
    }

    /// Modes with or without commas between them.
    pub(crate) fn transaction_modes(&mut self, needed: bool) -> Parsed<Vec<TransactionMode>> {
        let mut modes = Vec::new();
        loop {
            let mode = match self.word() {
                K::ISOLATION => {
                    self.advance();
                    self.expect(K::LEVEL)?;
                    match () {
                        () if self.eat_all(&[K::READ, K::UNCOMMITTED]) => TransactionMode::ReadUncommitted,
                        () if self.eat_all(&[K::READ, K::COMMITTED]) => TransactionMode::ReadCommitted,
                        () if self.eat_all(&[K::REPEATABLE, K::READ]) => TransactionMode::RepeatableRead,
                        () if self.eat(K::SERIALIZABLE) => TransactionMode::Serializable,
                        () if self.eat(K::SNAPSHOT) => TransactionMode::Snapshot,
                        () => {
                            let what = "READ UNCOMMITTED, READ COMMITTED, REPEATABLE READ or SERIALIZABLE";
                            return Err(self.expected(what));
                        }
                    }
                }
                K::READ if self.word_at(1) == K::ONLY => {
                    self.advance();
                    self.advance();
                    TransactionMode::ReadOnly
                }
                K::READ if self.word_at(1) == K::WRITE => {
                    self.advance();
                    self.advance();
                    TransactionMode::ReadWrite
                }
                K::DEFERRABLE => {
                    self.advance();
                    TransactionMode::Deferrable
                }
                K::NOT if self.word_at(1) == K::DEFERRABLE => {
                    self.advance();
                    self.advance();
                    TransactionMode::NotDeferrable
                }
                _ if modes.is_empty() && !needed => return Ok(modes),
                _ => return Err(self.expected("ISOLATION LEVEL, READ ONLY or READ WRITE")),
            };
            modes.push(mode);
            let comma = self.eat_kind(Kind::Comma);
            let more = matches!(self.word(), K::ISOLATION | K::READ | K::DEFERRABLE | K::NOT);
            if !comma && !more {
                return Ok(modes);
            }
        }
    }
}
