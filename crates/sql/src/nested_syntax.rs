//! Nested types and lambdas as they are written, which the parser knows in other dialects only.
//!
//! `STRUCT(a INTEGER)`, `LIST(TEXT)` and `MAP(TEXT, INTEGER)` become one quoted name where a type stands, and that name
//! is read here; a lambda `x -> ...` gets a mark before it where it is an argument of a function that takes one, so
//! that `->` means JSON everywhere else.

use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer};
use types::{Error, Result, SqlState, Type, json};

use crate::bind::nested::takes_lambda;
use crate::data_type::column_type;
use crate::dialect::Grammar;
use crate::parse::is_word;
use crate::{Relations, place, stack};

/// Stands before a lambda; no word that can be written.
pub(crate) const LAMBDA: &str = "a lambda follows";
const TYPES: [&str; 4] = ["struct", "map", "list", "row"];
/// Words before a ROW that is a value.
const BEFORE_VALUES: [&str; 7] = ["select", "distinct", "all", "using", "default", "not", "set"];

fn solid(tokens: &[TokenWithSpan]) -> Vec<usize> {
    (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF)).collect()
}

/// Refuses more brackets in a row, `INTEGER[][]...` and `x[1][1]...`, than any nested value has levels: each is a level
/// of the parser's tree.
pub(crate) fn refuse_deep(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    let mut rows = vec![0u32];
    let order = solid(tokens);
    for (place, at) in order.iter().enumerate() {
        match tokens[*at].token {
            Token::LBracket => rows.push(0),
            Token::RBracket => {
                rows.pop();
                let goes_on = order.get(place + 1).is_some_and(|at| tokens[*at].token == Token::LBracket);
                let Some(row) = rows.last_mut() else { return Ok(()) };
                *row = if goes_on { *row + 1 } else { 0 };
                if *row > types::nested::NESTING_MAX {
                    return Err(place::at(stack::too_deep(), text, tokens[*at].span));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Makes one quoted word of each nested type.
pub(crate) fn take_types(text: &str, tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| TYPES.iter().any(|w| is_word(t, w))) {
        return;
    }
    let order = solid(tokens);
    let is = |place: usize, word: &str| order.get(place).is_some_and(|at| is_word(&tokens[*at], word));
    let creates_table = is(0, "create") && (1..5).any(|p| is(p, "table"));
    let alters = is(0, "alter");
    let mut depth = 0usize;
    let mut found: Vec<(usize, usize)> = Vec::new();
    let mut place = 0;
    while place < order.len() {
        let token = &tokens[order[place]].token;
        match token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        let named = TYPES.iter().any(|w| is(place, w))
            && order.get(place + 1).is_some_and(|at| tokens[*at].token == Token::LParen);
        if !named || place == 0 {
            place += 1;
            continue;
        }
        let before = &tokens[order[place - 1]];
        if is(place, "row") && BEFORE_VALUES.iter().any(|word| is_word(before, word)) {
            place += 1;
            continue;
        }
        let column = |place: usize| {
            matches!(tokens[order[place - 1]].token, Token::Word(_))
                && place >= 2
                && matches!(tokens[order[place - 2]].token, Token::LParen | Token::Comma)
        };
        let stands = before.token == Token::DoubleColon
            || (is_word(before, "as") && depth > 0)
            || (is_word(before, "type") && alters)
            || (creates_table && depth == 1 && column(place))
            || (alters && depth == 0 && matches!(before.token, Token::Word(_)));
        let end = if stands { closing(tokens, &order, place + 1) } else { None };
        match end {
            Some(end) => {
                found.push((order[place], order[end]));
                place = end + 1;
            }
            None => place += 1,
        }
    }
    for (begin, end) in found.into_iter().rev() {
        let offset = |at: Location| place::location(text, at).map(|p| p.offset as usize);
        let range = offset(tokens[begin].span.start).zip(offset(tokens[end].span.end));
        let Some(written) = range.and_then(|(from, to)| text.get(from..to)) else { continue };
        let span = Span::new(tokens[begin].span.start, tokens[end].span.end);
        let word = Token::make_word(written, Some('"'));
        tokens.splice(begin..=end, [TokenWithSpan { token: word, span }]);
    }
}

/// The place of the bracket that closes the one at `open`.
fn closing(tokens: &[TokenWithSpan], order: &[usize], open: usize) -> Option<usize> {
    let mut depth = 0usize;
    (open..order.len()).find(|place| {
        match tokens[order[*place]].token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0
    })
}

/// Puts a mark before each lambda.
pub(crate) fn take_lambdas(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| t.token == Token::Arrow) {
        return;
    }
    let order = solid(tokens);
    // For each open bracket, whether it is that of a function that takes a lambda.
    let mut open: Vec<bool> = Vec::new();
    let mut marks: Vec<usize> = Vec::new();
    for (place, at) in order.iter().enumerate() {
        let token = |offset: usize| order.get(place + offset).map(|at| &tokens[*at].token);
        match &tokens[*at].token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                let called = place.checked_sub(1).map(|before| &tokens[order[before]].token);
                let takes = match called {
                    Some(Token::Word(word)) => takes_lambda(&word.value.to_lowercase()).is_some(),
                    _ => false,
                };
                open.push(takes && tokens[*at].token == Token::LParen);
                let columns =
                    matches!(called, Some(Token::Word(word)) if word.value.eq_ignore_ascii_case("columns"));
                if columns && matches!((token(1), token(2)), (Some(Token::Word(_)), Some(Token::Arrow))) {
                    marks.push(order[place + 1]);
                }
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                open.pop();
            }
            Token::Comma if open.last() == Some(&true) => {
                let single = matches!((token(1), token(2)), (Some(Token::Word(_)), Some(Token::Arrow)));
                let several = token(1) == Some(&Token::LParen) && {
                    let mut next = 2;
                    while matches!(token(next), Some(Token::Word(_) | Token::Comma)) {
                        next += 1;
                    }
                    token(next) == Some(&Token::RParen) && token(next + 1) == Some(&Token::Arrow)
                };
                if single || several {
                    marks.push(order[place + 1]);
                }
            }
            _ => {}
        }
    }
    for at in marks.into_iter().rev() {
        let span = tokens[at].span;
        tokens.insert(at, TokenWithSpan { token: Token::make_word(LAMBDA, Some('"')), span });
    }
}

/// A type by the name that `take_types` made, or that another text has: `STRUCT(a INTEGER[], b MAP(TEXT, DATE))`.
pub(crate) fn named(text: &str, relations: &dyn Relations) -> Result<Type> {
    let wrong = |detail: String| {
        Error::new(SqlState::SyntaxError, format!("invalid type: {text}"))
            .with_detail(detail)
            .with_hint("nested types are written INTEGER[], STRUCT(a INTEGER, b TEXT) and MAP(TEXT, INTEGER)")
    };
    let tokens = Tokenizer::new(&Grammar::new(), text).tokenize().map_err(|e| wrong(e.message))?;
    let tokens = tokens.into_iter().filter(|t| !matches!(t, Token::Whitespace(_) | Token::EOF)).collect();
    let mut reader = Reader { tokens, at: 0, wrong: &wrong, relations };
    let ty = reader.any(0)?;
    match reader.peek() {
        None => Ok(ty),
        Some(token) => Err(wrong(format!("\"{token}\" is not expected"))),
    }
}

struct Reader<'w> {
    tokens: Vec<Token>,
    at: usize,
    wrong: &'w dyn Fn(String) -> Error,
    relations: &'w dyn Relations,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }
    fn eat(&mut self, token: &Token) -> bool {
        let found = self.peek() == Some(token);
        self.at += usize::from(found);
        found
    }
    fn expect(&mut self, token: &Token) -> Result<()> {
        match self.eat(token) {
            true => Ok(()),
            false => Err((self.wrong)(format!("\"{token}\" is missing"))),
        }
    }

    fn any(&mut self, depth: u32) -> Result<Type> {
        if depth > types::nested::NESTING_MAX {
            return Err((self.wrong)("it is nested too deeply".to_owned()));
        }
        let word = match self.peek() {
            Some(Token::Word(word)) if self.tokens.get(self.at + 1) == Some(&Token::LParen) => {
                word.value.to_lowercase()
            }
            _ => String::new(),
        };
        let mut ty = match word.as_str() {
            "list" => {
                self.at += 2;
                let element = self.any(depth + 1)?;
                self.expect(&Token::RParen)?;
                Type::list(element)?
            }
            "map" => {
                self.at += 2;
                let key = self.any(depth + 1)?;
                self.expect(&Token::Comma)?;
                let value = self.any(depth + 1)?;
                self.expect(&Token::RParen)?;
                Type::map(key, value)?
            }
            "struct" | "row" => {
                self.at += 2;
                let mut fields: Vec<(String, Type)> = Vec::new();
                loop {
                    let name = self.field_name();
                    if !name.is_empty() && fields.iter().any(|(known, _)| *known == name) {
                        return Err((self.wrong)(format!("the field \"{name}\" comes twice")));
                    }
                    fields.push((name, self.any(depth + 1)?));
                    if !self.eat(&Token::Comma) {
                        break;
                    }
                }
                self.expect(&Token::RParen)?;
                Type::structure(fields)?
            }
            _ => self.plain()?,
        };
        while self.eat(&Token::LBracket) {
            if let Some(Token::Number(length, _)) = self.peek() {
                let message =
                    format!("the length {length} of a list inside of another type is not kept here");
                return Err(Error::unsupported(message).with_hint("leave the length out"));
            }
            self.expect(&Token::RBracket)?;
            ty = Type::list(ty)?;
        }
        Ok(ty)
    }

    /// A field's name; a row's fields have none.
    fn field_name(&mut self) -> String {
        let name = match self.peek() {
            Some(Token::Word(word)) if word.quote_style.is_some() => word.value.clone(),
            Some(Token::Word(word)) => word.value.to_lowercase(),
            Some(Token::SingleQuotedString(text)) => text.clone(),
            _ => return String::new(),
        };
        // A type is followed by what ends it or belongs to it.
        if let Some(Token::Comma | Token::RParen | Token::LParen | Token::LBracket) | None =
            self.tokens.get(self.at + 1)
        {
            return String::new();
        }
        if name == "double"
            && matches!(self.tokens.get(self.at + 1), Some(Token::Word(w)) if w.value.eq_ignore_ascii_case("precision"))
            && matches!(
                self.tokens.get(self.at + 2),
                Some(Token::Comma | Token::RParen | Token::LBracket) | None
            )
        {
            return String::new();
        }
        self.at += 1;
        name
    }

    /// A type without types inside, as the parser reads it.
    fn plain(&mut self) -> Result<Type> {
        let begin = self.at;
        let mut depth = 0;
        while let Some(token) = self.peek() {
            match token {
                Token::Comma | Token::RParen | Token::LBracket if depth == 0 => break,
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
        let written: Vec<String> = self.tokens[begin..self.at].iter().map(Token::to_string).collect();
        let written = written.join(" ");
        let grammar = Grammar::new();
        let parsed =
            Parser::new(&grammar).try_with_sql(&written).and_then(|mut parser| parser.parse_data_type());
        let parsed = parsed.map_err(|_| (self.wrong)(format!("\"{written}\" is no type")))?;
        column_type(&parsed, self.relations)
    }
}

/// A type as `from_json` has it: a type's name, or JSON whose leaves are names, `{"a": "INTEGER", "b": ["TEXT"]}`.
pub(crate) fn structure(text: &str, relations: &dyn Relations) -> Result<Type> {
    if !json::is_valid(text) {
        return named(text, relations);
    }
    fn of(part: &str, depth: u32, relations: &dyn Relations) -> Result<Type> {
        if depth > types::nested::NESTING_MAX {
            return Err(Error::new(SqlState::StatementTooComplex, "the structure is nested too deeply"));
        }
        match json::parse(part) {
            // What json_structure says where it saw nothing but null.
            json::Parsed::Text(name) if name == "NULL" => Ok(Type::Null),
            json::Parsed::Text(name) => named(&name, relations),
            json::Parsed::Array(items) => match items.as_slice() {
                [item] => Type::list(of(item.get(), depth + 1, relations)?),
                _ => {
                    Err(Error::new(SqlState::InvalidParameterValue, "a list in a structure has one element"))
                }
            },
            json::Parsed::Object(entries) if !entries.is_empty() => {
                let mut names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
                names.sort_unstable();
                if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
                    let message = format!("a structure has the key \"{}\" twice", twice[0]);
                    return Err(Error::new(SqlState::InvalidParameterValue, message));
                }
                let fields =
                    entries.iter().map(|(name, ty)| Ok((name.clone(), of(ty.get(), depth + 1, relations)?)));
                Type::structure(fields.collect::<Result<_>>()?)
            }
            _ => Err(Error::new(SqlState::InvalidParameterValue, "a structure is made of names of types")
                .with_hint(
                    "write '{\"a\": \"INTEGER\", \"b\": [\"TEXT\"]}' or 'STRUCT(a INTEGER, b TEXT[])'",
                )),
        }
    }
    of(text, 0, relations)
}
