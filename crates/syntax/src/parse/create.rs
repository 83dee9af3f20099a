//! CREATE, DROP and COMMENT.
//!
//! Called by `statement` at the words CREATE, DROP and COMMENT. OR REPLACE, TEMPORARY and IF NOT EXISTS are read for
//! every kind, and refused by the binder for those that do not have them. Tables are in `table_def`.

use super::{Parsed, Parser};
use crate::Span;
use crate::keyword::Keyword as K;
use crate::token::{Kind, Token};
use crate::tree::{
    Comment, CreateFunction, CreateIndex, CreateMacro, CreateSecret, CreateType, CreateTypeKind, CreateView,
    CreateWideTable, Drop, FunctionBody, FunctionReturns, IfThere, MacroBody, MacroForm, MacroParameter,
    Name, ObjectKind, ParameterMode, Path, Query, SequenceOption, SetOption, StatementKind, TypeName,
    WideSource,
};

/// The words between CREATE and the kind of object.
struct Prefix {
    replace: bool,
    temporary: bool,
    persistent: bool,
    unlogged: bool,
}

impl Parser<'_> {
    pub(crate) fn create(&mut self) -> Parsed<StatementKind> {
        let start = self.expect(K::CREATE)?;
        let replace = self.eat_all(&[K::OR, K::REPLACE]);
        if matches!(self.word(), K::LOCAL | K::GLOBAL) && matches!(self.word_at(1), K::TEMPORARY | K::TEMP) {
            self.advance();
        }
        let temporary = self.eat(K::TEMPORARY) || self.eat(K::TEMP);
        let persistent = !temporary && self.eat(K::PERSISTENT);
        let unlogged = self.eat(K::UNLOGGED);
        let prefix = Prefix { replace, temporary, persistent, unlogged };
        match self.word() {
            K::TABLE => self.create_table(start, prefix.replace, prefix.temporary, prefix.unlogged),
            K::VIEW | K::RECURSIVE | K::MATERIALIZED => self.create_view(&prefix, start),
            K::UNIQUE | K::INDEX => self.create_index(&prefix),
            K::SEQUENCE => {
                self.advance();
                let if_there = self.if_there(prefix.replace)?;
                let name = self.path("a sequence's name")?;
                let options = self.sequence_options()?;
                Ok(StatementKind::CreateSequence { if_there, temporary, name, options })
            }
            K::SCHEMA => {
                self.advance();
                let if_there = self.if_there(prefix.replace)?;
                if self.eat(K::AUTHORIZATION) {
                    let owner = self.name("a role")?;
                    let name = Path { names: vec![owner.clone()] };
                    return Ok(StatementKind::CreateSchema { if_there, name, owner: Some(owner) });
                }
                let name = self.path("a schema's name")?;
                let owner = match self.eat(K::AUTHORIZATION) {
                    true => Some(self.name("a role")?),
                    false => None,
                };
                Ok(StatementKind::CreateSchema { if_there, name, owner })
            }
            K::ROLE | K::USER | K::GROUP if !replace && !temporary => self.create_role(),
            K::POLICY if !replace && !temporary => self.policy(false),
            K::TYPE => self.create_type(&prefix),
            K::MACRO | K::FUNCTION => self.create_macro(&prefix),
            K::SECRET => self.create_secret(&prefix, start),
            K::WIDE if self.word_at(1) == K::TABLE => self.create_wide_table(&prefix),
            _ if self.word().is_foreign_object() => self.foreign(start),
            _ => Err(self.expected("TABLE, VIEW, INDEX, SEQUENCE, SCHEMA, TYPE, MACRO or FUNCTION")),
        }
    }

    /// OR REPLACE that was read, or IF NOT EXISTS.
    pub(crate) fn if_there(&mut self, replace: bool) -> Parsed<IfThere> {
        let at = self.here();
        match (replace, self.if_not_exists()) {
            (true, true) => Err(self.wrong("OR REPLACE and IF NOT EXISTS exclude each other", at)),
            (true, false) => Ok(IfThere::Replace),
            (false, true) => Ok(IfThere::Keep),
            (false, false) => Ok(IfThere::Error),
        }
    }

    fn create_view(&mut self, prefix: &Prefix, start: Span) -> Parsed<StatementKind> {
        let recursive = self.eat(K::RECURSIVE);
        let materialized = self.eat(K::MATERIALIZED);
        self.expect(K::VIEW)?;
        let if_there = self.if_there(prefix.replace)?;
        let name = self.path("a view's name")?;
        let columns = self.names_if_parens("a column's name")?;
        let options = match self.is(K::WITH) && self.peek_at(1).kind == Kind::LeftParen {
            true => {
                self.advance();
                self.options_in_parens()?
            }
            false => vec![],
        };
        self.expect(K::AS)?;
        let query_start = self.here();
        let query = Box::new(self.query()?);
        let query_span = self.span_from(query_start);
        let mut check_option = false;
        if self.is(K::WITH) && matches!(self.word_at(1), K::CHECK | K::LOCAL | K::CASCADED) {
            self.advance();
            if !self.eat(K::LOCAL) {
                self.eat(K::CASCADED);
            }
            self.expect(K::CHECK)?;
            self.expect(K::OPTION)?;
            check_option = true;
        }
        if materialized && self.is(K::WITH) {
            self.advance();
            self.eat(K::NO);
            self.expect(K::DATA)?;
        }
        let view = CreateView {
            if_there,
            temporary: prefix.temporary,
            materialized,
            recursive,
            name,
            columns,
            options,
            query,
            query_span,
            check_option,
            span: self.span_from(start),
        };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    fn create_index(&mut self, prefix: &Prefix) -> Parsed<StatementKind> {
        let unique = self.eat(K::UNIQUE);
        self.expect(K::INDEX)?;
        let concurrently = self.eat(K::CONCURRENTLY);
        let if_there = self.if_there(prefix.replace)?;
        let name = match self.is(K::ON) {
            true => None,
            false => Some(self.path("an index's name or ON")?),
        };
        self.expect(K::ON)?;
        self.eat(K::ONLY);
        let table = self.path("a table")?;
        let method = match self.eat(K::USING) {
            true => Some(self.name("a kind of index")?),
            false => None,
        };
        let columns = self.in_parens(Self::order_item)?;
        let include = match self.eat(K::INCLUDE) {
            true => self.names_in_parens("a column")?,
            false => vec![],
        };
        let nulls_distinct = self.nulls_distinct();
        let options = match self.is(K::WITH) {
            true => {
                self.advance();
                self.options_in_parens()?
            }
            false => vec![],
        };
        let condition = match self.eat(K::WHERE) {
            true => Some(self.expr()?),
            false => None,
        };
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex {
            if_there,
            unique,
            concurrently,
            name,
            table,
            method,
            columns,
            include,
            nulls_distinct,
            options,
            condition,
        })))
    }

    /// NULLS [NOT] DISTINCT.
    pub(crate) fn nulls_distinct(&mut self) -> Option<bool> {
        match () {
            () if self.eat_all(&[K::NULLS, K::DISTINCT]) => Some(true),
            () if self.eat_all(&[K::NULLS, K::NOT, K::DISTINCT]) => Some(false),
            () => None,
        }
    }

    pub(crate) fn sequence_options(&mut self) -> Parsed<Vec<SequenceOption>> {
        let mut options = Vec::new();
        loop {
            let option = match self.word() {
                K::AS => {
                    self.advance();
                    SequenceOption::As(self.type_name()?)
                }
                K::INCREMENT => {
                    self.advance();
                    self.eat(K::BY);
                    SequenceOption::Increment(self.signed_number()?)
                }
                K::MINVALUE => {
                    self.advance();
                    SequenceOption::Min(Some(self.signed_number()?))
                }
                K::MAXVALUE => {
                    self.advance();
                    SequenceOption::Max(Some(self.signed_number()?))
                }
                K::NO if self.word_at(1) == K::MINVALUE => {
                    self.at += 2;
                    SequenceOption::Min(None)
                }
                K::NO if self.word_at(1) == K::MAXVALUE => {
                    self.at += 2;
                    SequenceOption::Max(None)
                }
                K::NO if self.word_at(1) == K::CYCLE => {
                    self.at += 2;
                    SequenceOption::Cycle(false)
                }
                K::CYCLE => {
                    self.advance();
                    SequenceOption::Cycle(true)
                }
                K::START => {
                    self.advance();
                    self.eat(K::WITH);
                    SequenceOption::Start(self.signed_number()?)
                }
                K::RESTART => {
                    self.advance();
                    let with = self.eat(K::WITH);
                    let numbered = with || self.is_kind(Kind::Number) || self.is_operator("-");
                    SequenceOption::Restart(if numbered { Some(self.signed_number()?) } else { None })
                }
                K::CACHE => {
                    self.advance();
                    SequenceOption::Cache(self.signed_number()?)
                }
                K::OWNED => {
                    self.advance();
                    self.expect(K::BY)?;
                    let none = self.is(K::NONE) && self.eat(K::NONE);
                    SequenceOption::OwnedBy(if none { None } else { Some(self.path("a column or NONE")?) })
                }
                K::SEQUENCE if self.word_at(1) == K::NAME => {
                    self.at += 2;
                    SequenceOption::Name(self.path("a sequence's name")?)
                }
                _ => return Ok(options),
            };
            options.push(option);
        }
    }

    fn create_type(&mut self, prefix: &Prefix) -> Parsed<StatementKind> {
        self.expect(K::TYPE)?;
        let if_there = self.if_there(prefix.replace)?;
        let name = self.path("a type's name")?;
        self.expect(K::AS)?;
        let kind = match self.peek().kind {
            Kind::LeftParen => CreateTypeKind::Composite(
                self.in_parens(|p| Ok((p.label("a field's name")?, p.type_name()?)))?,
            ),
            _ if self.is(K::ENUM) && self.peek_at(1).kind == Kind::LeftParen => {
                self.advance();
                match self.query_follows(1) {
                    true => CreateTypeKind::EnumOf(Box::new(self.query_in_parens()?)),
                    false => {
                        self.advance();
                        CreateTypeKind::Enum(
                            self.until(Kind::RightParen, |p| p.text_literal("a text in single quotes"))?,
                        )
                    }
                }
            }
            _ => CreateTypeKind::Alias(self.type_name()?),
        };
        let made = CreateType { if_there, temporary: prefix.temporary, name, kind };
        Ok(StatementKind::CreateType(Box::new(made)))
    }

    // Macros and functions.

    fn macro_parameters(&mut self) -> Parsed<Vec<MacroParameter>> {
        self.expect_kind(Kind::LeftParen)?;
        self.until(Kind::RightParen, |p| {
            let mode = p.parameter_mode();
            // A parameter of a function may be a type alone.
            let typed_only = matches!(p.peek_at(1).kind, Kind::LeftParen | Kind::LeftBracket);
            if typed_only {
                let ty = p.type_name()?;
                let name = Name { text: "".into(), quoted: false, span: ty.span };
                return Ok(MacroParameter { mode, name, ty: Some(ty), default: p.parameter_default()? });
            }
            let name = p.label("a parameter's name")?;
            let ends = matches!(
                p.peek().kind,
                Kind::Comma | Kind::RightParen | Kind::ColonEquals | Kind::Arrow | Kind::Operator
            );
            let ty = match ends || p.is(K::DEFAULT) {
                true => None,
                false => Some(p.type_name()?),
            };
            Ok(MacroParameter { mode, name, ty, default: p.parameter_default()? })
        })
    }

    /// IN, OUT, INOUT and VARIADIC, where a name follows: they are names, too.
    fn parameter_mode(&mut self) -> ParameterMode {
        let mode = match self.word() {
            _ if !self.is_label_at(1) || self.word_at(1) == K::DEFAULT => return ParameterMode::In,
            K::IN => ParameterMode::In,
            K::OUT => ParameterMode::Out,
            K::INOUT => ParameterMode::InOut,
            K::VARIADIC => ParameterMode::Variadic,
            _ => return ParameterMode::In,
        };
        self.advance();
        mode
    }

    fn parameter_default(&mut self) -> Parsed<Option<crate::tree::Expr>> {
        let given = self.eat_kind(Kind::ColonEquals)
            || self.eat_kind(Kind::Arrow)
            || self.eat(K::DEFAULT)
            || self.eat_operator("=");
        match given {
            true => Ok(Some(self.expr()?)),
            false => Ok(None),
        }
    }

    fn create_macro(&mut self, prefix: &Prefix) -> Parsed<StatementKind> {
        let function = self.advance().keyword == K::FUNCTION;
        let if_there = self.if_there(prefix.replace)?;
        let name = self.path("a name")?;
        let parameters = self.macro_parameters()?;
        let macro_like = self.is(K::AS) && !super::literal::is_text(self.peek_at(1).kind);
        if function && !macro_like {
            return self.create_function(prefix.temporary, if_there, name, parameters);
        }
        let mut forms = vec![self.macro_form(parameters)?];
        while self.eat_kind(Kind::Comma) {
            let parameters = self.macro_parameters()?;
            forms.push(self.macro_form(parameters)?);
        }
        let made = CreateMacro { if_there, temporary: prefix.temporary, function, name, forms };
        Ok(StatementKind::CreateMacro(Box::new(made)))
    }

    fn macro_form(&mut self, parameters: Vec<MacroParameter>) -> Parsed<MacroForm> {
        self.expect(K::AS)?;
        let table = self.is(K::TABLE) && (self.query_follows(1) || self.word_at(1) == K::WITH);
        if table {
            self.advance();
        }
        let start = self.here();
        let body = match table {
            true => MacroBody::Table(Box::new(self.form_query()?)),
            false => MacroBody::Expr(self.expr()?),
        };
        Ok(MacroForm { parameters, body, body_span: self.span_from(start) })
    }

    /// The query of a form of a macro: the form that follows, `, (a, b) AS TABLE ...`, could be an item of its lists.
    fn form_query(&mut self) -> Parsed<Query> {
        let (mut end, mut depth) = (self.at, 0usize);
        loop {
            let token = self.tokens[end];
            match token.kind {
                Kind::LeftParen | Kind::LeftBracket | Kind::LeftBrace => depth += 1,
                Kind::RightParen | Kind::RightBracket | Kind::RightBrace => depth = depth.saturating_sub(1),
                Kind::End | Kind::Semicolon => return self.query(),
                Kind::Comma if depth == 0 && self.begins_form(end + 1 - self.at) => break,
                _ => {}
            }
            end += 1;
        }
        let mut tokens = self.tokens[self.at..end].to_vec();
        let start = self.tokens[end].span.start;
        let keyword = K::NO_KEYWORD;
        tokens.push(Token { kind: Kind::End, keyword, span: Span::new(start, start) });
        let mut parser = Parser { tokens: &tokens, at: 0, ..*self };
        let query = parser.query()?;
        if !parser.is_kind(Kind::End) {
            return Err(parser.unexpected());
        }
        (self.height, self.questions, self.at) = (parser.height, parser.questions, end);
        Ok(query)
    }

    /// Whether `(a, b) AS TABLE` stands so far ahead.
    fn begins_form(&self, ahead: usize) -> bool {
        if self.peek_at(ahead).kind != Kind::LeftParen {
            return false;
        }
        let close = self.closing_ahead(ahead);
        close.is_some_and(|close| self.word_at(close + 1) == K::AS && self.word_at(close + 2) == K::TABLE)
    }

    fn create_function(
        &mut self,
        temporary: bool,
        if_there: IfThere,
        name: Path,
        parameters: Vec<MacroParameter>,
    ) -> Parsed<StatementKind> {
        let (returns, clauses, body) = (None, vec![], None);
        let mut made = CreateFunction { if_there, temporary, name, parameters, returns, clauses, body };
        loop {
            match self.word() {
                K::RETURNS if made.returns.is_none() && self.word_at(1) != K::NULL => {
                    self.advance();
                    made.returns = Some(self.function_returns()?);
                }
                K::AS if made.body.is_none() => {
                    self.advance();
                    made.body = Some(FunctionBody::Text(self.text_literal("the body in quotes")?));
                }
                K::RETURN if made.body.is_none() => {
                    self.advance();
                    made.body = Some(FunctionBody::Return(self.expr()?));
                }
                K::LANGUAGE | K::COST | K::ROWS | K::PARALLEL => {
                    let name = self.label("a clause")?;
                    let value = Some(self.option_value()?);
                    made.clauses.push(SetOption { name, value });
                }
                K::IMMUTABLE | K::STABLE | K::VOLATILE | K::STRICT | K::LEAKPROOF | K::WINDOW => {
                    made.clauses.push(SetOption { name: self.label("a clause")?, value: None });
                }
                K::CALLED | K::RETURNS | K::SECURITY | K::EXTERNAL | K::NOT => {
                    made.clauses.push(SetOption { name: self.function_behaviour()?, value: None });
                }
                K::SET => {
                    // Settings while the function runs: that they are there is enough to refuse them.
                    made.clauses.push(SetOption { name: self.label("a clause")?, value: None });
                    while !matches!(self.peek().kind, Kind::End | Kind::Semicolon)
                        && !matches!(self.word(), K::AS | K::RETURN | K::LANGUAGE | K::SET)
                    {
                        self.advance();
                    }
                }
                _ => break,
            }
        }
        if made.body.is_none() {
            return Err(self.expected("AS, RETURN or LANGUAGE"));
        }
        Ok(StatementKind::CreateFunction(Box::new(made)))
    }

    /// CALLED ON NULL INPUT, RETURNS NULL ON NULL INPUT, [EXTERNAL] SECURITY DEFINER, NOT LEAKPROOF.
    fn function_behaviour(&mut self) -> Parsed<Name> {
        let mut name = self.label("a clause")?;
        let mut text = name.text.to_string();
        while matches!(
            self.word(),
            K::ON | K::NULL | K::INPUT | K::DEFINER | K::INVOKER | K::SECURITY | K::LEAKPROOF
        ) {
            let token = self.advance();
            text.push(' ');
            text.push_str(self.source(token));
            if matches!(token.keyword, K::INPUT | K::DEFINER | K::INVOKER | K::LEAKPROOF) {
                break;
            }
        }
        name.span = self.span_from(name.span);
        name.text = text.into();
        Ok(name)
    }

    /// What stands behind RETURNS.
    fn function_returns(&mut self) -> Parsed<FunctionReturns> {
        if self.is(K::TABLE) && self.peek_at(1).kind == Kind::LeftParen {
            self.advance();
            let columns = self.in_parens(|p| Ok((p.label("a column's name")?, p.type_name()?)))?;
            return Ok(FunctionReturns::Table(columns));
        }
        let set = self.eat(K::SETOF);
        Ok(FunctionReturns::Type { set, ty: self.type_name()? })
    }

    // Secrets and wide tables.

    fn create_secret(&mut self, prefix: &Prefix, start: Span) -> Parsed<StatementKind> {
        self.expect(K::SECRET)?;
        let if_there = self.if_there(prefix.replace)?;
        let persistent = match (prefix.persistent, prefix.temporary) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        let named = self.at_name() && !self.is(K::IN);
        let name = if named { Some(self.name("a secret's name")?) } else { None };
        let storage = match self.eat(K::IN) {
            true => Some(self.name("a storage")?),
            false => None,
        };
        let options = self.options_in_parens()?;
        let span = self.span_from(start);
        let made = CreateSecret { if_there, persistent, name, storage, options, span };
        Ok(StatementKind::CreateSecret(Box::new(made)))
    }

    fn create_wide_table(&mut self, prefix: &Prefix) -> Parsed<StatementKind> {
        self.advance();
        self.expect(K::TABLE)?;
        let if_there = self.if_there(prefix.replace)?;
        let name = self.path("a wide table's name")?;
        self.expect(K::FROM)?;
        let source = if self.is_kind(Kind::LeftParen) && self.word_at(1) == K::SCHEMA && self.is_label_at(2) {
            self.advance();
            self.advance();
            let schema = self.name("a schema")?;
            self.expect_kind(Kind::RightParen)?;
            WideSource::Schema(schema, true)
        } else if self.is_kind(Kind::LeftParen) {
            WideSource::Tables(self.in_parens(|p| p.path("a table"))?, true)
        } else if self.is(K::SCHEMA) && self.is_label_at(1) {
            self.advance();
            WideSource::Schema(self.name("a schema")?, false)
        } else {
            WideSource::Tables(vec![self.path("a table, tables in parentheses, or SCHEMA")?], false)
        };
        let options = match self.eat(K::WITH) {
            true => self.options_in_parens()?,
            false => vec![],
        };
        let made = CreateWideTable { if_there, name, source, options };
        Ok(StatementKind::CreateWideTable(Box::new(made)))
    }

    // DROP and COMMENT.

    /// The kind of an object by the words here, which are passed.
    fn object_kind(&mut self) -> Option<ObjectKind> {
        let kind = match self.word() {
            K::TABLE => ObjectKind::Table,
            K::WIDE if self.word_at(1) == K::TABLE => {
                self.advance();
                ObjectKind::WideTable
            }
            K::VIEW => ObjectKind::View,
            K::MATERIALIZED if self.word_at(1) == K::VIEW => {
                self.advance();
                ObjectKind::MaterializedView
            }
            K::INDEX => ObjectKind::Index,
            K::SEQUENCE => ObjectKind::Sequence,
            K::SCHEMA => ObjectKind::Schema,
            K::TYPE => ObjectKind::Type,
            K::MACRO if self.word_at(1) == K::TABLE => {
                self.advance();
                ObjectKind::MacroTable
            }
            K::MACRO => ObjectKind::Macro,
            K::FUNCTION => ObjectKind::Function,
            K::SECRET => ObjectKind::Secret,
            K::COLUMN => ObjectKind::Column,
            K::CONSTRAINT => ObjectKind::Constraint,
            K::DATABASE => ObjectKind::Database,
            K::ROLE | K::USER | K::GROUP => ObjectKind::Role,
            K::POLICY => ObjectKind::Policy,
            K::TRIGGER => ObjectKind::Trigger,
            K::DOMAIN => ObjectKind::Domain,
            _ => return None,
        };
        self.advance();
        Some(kind)
    }

    pub(crate) fn drop_statement(&mut self) -> Parsed<StatementKind> {
        let start = self.expect(K::DROP)?;
        let persistent = match self.word() {
            K::PERSISTENT if self.word_at(1) == K::SECRET => Some(true),
            K::TEMPORARY | K::TEMP if self.word_at(1) == K::SECRET => Some(false),
            _ => None,
        };
        if persistent.is_some() {
            self.advance();
        }
        if self.is(K::OWNED) && self.word_at(1) == K::BY {
            return self.drop_owned();
        }
        let kind = match self.object_kind() {
            Some(kind) => kind,
            None if self.word().is_foreign_object() => return self.foreign(start),
            None => return Err(self.expected("TABLE, VIEW, INDEX, SEQUENCE, SCHEMA, TYPE or MACRO")),
        };
        let concurrently = kind == ObjectKind::Index && self.eat(K::CONCURRENTLY);
        let if_exists = self.if_exists();
        let names = self.list(|p| {
            let name = p.path("a name")?;
            let types: Option<Vec<TypeName>> = match p.is_kind(Kind::LeftParen) {
                true => {
                    p.advance();
                    // PostgreSQL lets the parameters have their names, which say nothing.
                    Some(p.until(Kind::RightParen, |p| p.type_field().map(|(_, ty)| ty))?)
                }
                false => None,
            };
            Ok((name, types))
        })?;
        let on = match self.eat(K::ON) {
            true => Some(self.path("a table")?),
            false => None,
        };
        let cascade = self.cascade();
        let made = Drop { kind, if_exists, names, cascade, concurrently, persistent, on };
        Ok(StatementKind::Drop(Box::new(made)))
    }

    pub(crate) fn comment(&mut self) -> Parsed<StatementKind> {
        self.expect(K::COMMENT)?;
        self.expect(K::ON)?;
        let Some(kind) = self.object_kind() else {
            return Err(self.expected("TABLE, COLUMN, VIEW, INDEX, SEQUENCE, SCHEMA, TYPE or MACRO"));
        };
        let if_exists = self.if_exists();
        let name = self.path("a name")?;
        let arguments = match self.is_kind(Kind::LeftParen) {
            true => self.table_arguments()?,
            false => vec![],
        };
        self.expect(K::IS)?;
        let text = match self.eat(K::NULL) {
            true => None,
            false => Some(self.text_literal("a text in single quotes or NULL")?),
        };
        Ok(StatementKind::Comment(Comment { kind, if_exists, name, text, arguments }))
    }
}
