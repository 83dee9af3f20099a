//! CREATE, ALTER and DROP SEQUENCE, read from the statement's words: the parser knows the first only, and its clauses in
//! one order only.

use plan::Statement;
use plan::modification::{AlterSequence, CreateSequence, Identity, SequenceOptions};
use plan::statement::ObjectName;
use sqlparser::ast::DataType;
use sqlparser::tokenizer::Token;
use types::{Error, Result, SqlState, Type};

use crate::{Relations, parse, place};

/// A walk over the words of a statement.
struct Words<'r> {
    tokens: Vec<Token>,
    at: usize,
    /// For names; options have none.
    relations: Option<&'r dyn Relations>,
}

impl Words<'_> {
    /// Takes these words if they come next.
    fn take(&mut self, words: &str) -> bool {
        let mut at = self.at;
        for word in words.split(' ') {
            match self.tokens.get(at) {
                Some(Token::Word(w)) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word) => {
                    at += 1;
                }
                _ => return false,
            }
        }
        self.at = at;
        true
    }
    fn sign(&mut self, sign: &Token) -> bool {
        let found = self.tokens.get(self.at) == Some(sign);
        self.at += usize::from(found);
        found
    }
    fn ended(&self) -> bool {
        self.tokens[self.at.min(self.tokens.len())..]
            .iter()
            .all(|t| matches!(t, Token::SemiColon | Token::EOF))
    }
    fn name(&mut self) -> Result<String> {
        match self.tokens.get(self.at) {
            Some(Token::Word(w)) => {
                self.at += 1;
                Ok(if w.quote_style.is_some() { w.value.clone() } else { w.value.to_lowercase() })
            }
            _ => Err(self.unexpected()),
        }
    }
    fn object_name(&mut self) -> Result<ObjectName> {
        let first = self.name()?;
        if !self.sign(&Token::Period) {
            return Ok(ObjectName { schema: None, name: first });
        }
        let second = self.name()?;
        let placed = |error: Error| error.at(place::START);
        if !self.sign(&Token::Period) {
            let key = self.relations.map(|relations| relations.schema_key(None, &first));
            let schema = key.unwrap_or_else(|| Ok(first)).map_err(placed)?;
            return Ok(ObjectName { schema: Some(schema), name: second });
        }
        let key = self.relations.map(|relations| relations.schema_key(Some(&first), &second));
        let schema = key.unwrap_or_else(|| Ok(second)).map_err(placed)?;
        Ok(ObjectName { schema: Some(schema), name: self.name()? })
    }
    fn number(&mut self) -> Result<i64> {
        let negative = self.sign(&Token::Minus);
        if !negative {
            self.sign(&Token::Plus);
        }
        let Some(Token::Number(text, _)) = self.tokens.get(self.at) else { return Err(self.unexpected()) };
        let signed = if negative { format!("-{text}") } else { text.clone() };
        let number = signed.parse().map_err(|_| {
            let message = format!("value \"{signed}\" is out of range for type bigint");
            Error::new(SqlState::NumericValueOutOfRange, message)
        })?;
        self.at += 1;
        Ok(number)
    }
    fn unexpected(&self) -> Error {
        let message = match self.tokens.get(self.at) {
            None | Some(Token::EOF | Token::SemiColon) => "syntax error at end of input".to_owned(),
            Some(token) => format!("syntax error at or near \"{token}\""),
        };
        Error::new(SqlState::SyntaxError, message).at(place::START)
    }
}

/// The statement, if it is one about sequences.
pub(crate) fn sequence(text: &str, relations: &dyn Relations) -> Result<Option<Statement>> {
    let first = text.trim_start().get(..4).unwrap_or_default();
    if !["crea", "alte", "drop"].iter().any(|verb| first.eq_ignore_ascii_case(verb)) {
        return Ok(None);
    }
    let Some(tokens) = parse::tokens(text) else { return Ok(None) };
    let mut words = Words { tokens, at: 0, relations: Some(relations) };
    if words.take("create") {
        let temporary = words.take("temporary") || words.take("temp");
        if !words.take("sequence") {
            return Ok(None);
        }
        let if_not_exists = words.take("if not exists");
        let name = words.object_name()?;
        let (mut options, mut owner) = (SequenceOptions::default(), None);
        while !words.ended() {
            option(&mut words, &mut options, &mut owner)?;
        }
        if options.restart.is_some() {
            return Err(Error::new(SqlState::SyntaxError, "a new sequence cannot be restarted"));
        }
        return Ok(Some(Statement::CreateSequence(CreateSequence {
            name,
            options,
            owner,
            temporary,
            if_not_exists,
        })));
    }
    if words.take("alter sequence") {
        let if_exists = words.take("if exists");
        let name = words.object_name()?;
        let (mut options, mut owner) = (SequenceOptions::default(), None);
        let mut rename = None;
        if words.take("rename to") {
            rename = Some(words.name()?);
        } else if words.ended() {
            return Err(words.unexpected());
        }
        while !words.ended() {
            if rename.is_some() {
                return Err(words.unexpected());
            }
            option(&mut words, &mut options, &mut owner)?;
        }
        let alter = AlterSequence { name, options, owner, rename, if_exists };
        return Ok(Some(Statement::AlterSequence(alter)));
    }
    if words.take("drop sequence") {
        let if_exists = words.take("if exists");
        let mut names = vec![words.object_name()?];
        while words.sign(&Token::Comma) {
            names.push(words.object_name()?);
        }
        let cascade = words.take("cascade");
        if !cascade {
            words.take("restrict");
        }
        if !words.ended() {
            return Err(words.unexpected());
        }
        return Ok(Some(Statement::DropSequence { names, if_exists, cascade }));
    }
    Ok(None)
}

fn option(
    words: &mut Words<'_>,
    options: &mut SequenceOptions,
    owner: &mut Option<Vec<String>>,
) -> Result<()> {
    if words.take("as") {
        options.range = Some(range(words)?);
    } else if words.take("increment") {
        words.take("by");
        once(&mut options.increment, words.number()?)?;
    } else if words.take("no minvalue") {
        once(&mut options.min, None)?;
    } else if words.take("minvalue") {
        once(&mut options.min, Some(words.number()?))?;
    } else if words.take("no maxvalue") {
        once(&mut options.max, None)?;
    } else if words.take("maxvalue") {
        once(&mut options.max, Some(words.number()?))?;
    } else if words.take("start") {
        words.take("with");
        once(&mut options.start, words.number()?)?;
    } else if words.take("restart") {
        let with = words.take("with");
        let numbered = with || matches!(words.tokens.get(words.at), Some(Token::Number(..) | Token::Minus));
        let to = if numbered { Some(words.number()?) } else { None };
        once(&mut options.restart, to)?;
    } else if words.take("no cycle") {
        once(&mut options.cycle, false)?;
    } else if words.take("cycle") {
        once(&mut options.cycle, true)?;
    } else if words.take("cache") {
        // Numbers are handed out one by one; nothing is kept back.
        if words.number()? < 1 {
            return Err(Error::new(SqlState::InvalidParameterValue, "CACHE must be greater than zero"));
        }
    } else if words.take("owned by") {
        let mut names = Vec::new();
        if !words.take("none") {
            names.push(words.name()?);
            while words.sign(&Token::Period) {
                names.push(words.name()?);
            }
        }
        once(owner, names)?;
    } else {
        return Err(words.unexpected());
    }
    Ok(())
}

/// The range of a sequence's type.
fn range(words: &mut Words<'_>) -> Result<(i64, i64)> {
    let name = words.name()?;
    Ok(match name.as_str() {
        "smallint" | "int2" => (i64::from(i16::MIN), i64::from(i16::MAX)),
        "integer" | "int" | "int4" => (i64::from(i32::MIN), i64::from(i32::MAX)),
        "bigint" | "int8" => (i64::MIN, i64::MAX),
        _ => {
            let message = "sequence type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    })
}

fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
    if slot.is_some() {
        return Err(Error::new(SqlState::SyntaxError, "conflicting or redundant options"));
    }
    *slot = Some(value);
    Ok(())
}

/// The type that SERIAL and its kin stand for.
pub(super) fn serial(name: &DataType) -> Option<Type> {
    let DataType::Custom(name, modifiers) = name else { return None };
    if !modifiers.is_empty() {
        return None;
    }
    match name.to_string().to_lowercase().as_str() {
        "smallserial" | "serial2" => Some(Type::SmallInt),
        "serial" | "serial4" => Some(Type::Integer),
        "bigserial" | "serial8" => Some(Type::BigInt),
        _ => None,
    }
}

/// A column's sequence, with the options that the parser has read.
pub(super) fn identity(
    column: &str,
    ty: Type,
    given: Option<&[sqlparser::ast::SequenceOptions]>,
    always: bool,
) -> Result<Identity> {
    let text: String = given.unwrap_or_default().iter().map(ToString::to_string).collect();
    let tokens = parse::tokens(&text).unwrap_or_default();
    let mut words = Words { tokens, at: 0, relations: None };
    let (mut options, mut owner) = (SequenceOptions::default(), None);
    while !words.ended() {
        option(&mut words, &mut options, &mut owner)?;
    }
    if owner.is_some() {
        let message = "OWNED BY is not said of a column's own sequence: the column owns it";
        return Err(Error::new(SqlState::SyntaxError, message));
    }
    options.range = Some(match ty {
        Type::SmallInt => (i64::from(i16::MIN), i64::from(i16::MAX)),
        Type::Integer => (i64::from(i32::MIN), i64::from(i32::MAX)),
        Type::BigInt => (i64::MIN, i64::MAX),
        _ => {
            let message = "identity column type must be smallint, integer, or bigint";
            return Err(Error::new(SqlState::InvalidParameterValue, message));
        }
    });
    Ok(Identity { column: column.to_owned(), options, always })
}
