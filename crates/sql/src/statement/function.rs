//! CREATE MACRO and CREATE FUNCTION, read from the statement's words: the parser knows neither as they are written.
//!
//! ```text
//! CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] m(a, b := 5) AS [TABLE] body [, (a) AS body ...]
//! CREATE FUNCTION f(a INT, b INT DEFAULT 3) RETURNS INT LANGUAGE SQL AS 'SELECT a + b' | RETURN a + b
//! ```
//! A parameter is kept as `name`, or as `name := default`. Types of parameters and results are casts in the body. The
//! second form of a macro `m` is kept under `m/2`, the third under `m/3`: see `bind::macros`.

use plan::Statement;
use plan::statement::MacroForm;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use types::{Error, Result, SqlState};

use crate::dialect::Grammar;
use crate::parse::{self, is_word};
use crate::place;

/// Words of CREATE FUNCTION that say how it behaves, which an expression does of itself.
const BEHAVIOUR: [&[&str]; 9] = [
    &["immutable"],
    &["stable"],
    &["volatile"],
    &["leakproof"],
    &["not", "leakproof"],
    &["called", "on", "null", "input"],
    &["parallel", "safe"],
    &["parallel", "unsafe"],
    &["security", "invoker"],
];

pub(super) struct Words<'t> {
    text: &'t str,
    pub(super) tokens: Vec<TokenWithSpan>,
    pub(super) at: usize,
}

/// A parameter as it was written.
struct Parameter {
    name: Option<String>,
    ty: Option<String>,
    default: Option<String>,
}

impl<'t> Words<'t> {
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let all = Tokenizer::new(&Grammar::new(), text).tokenize_with_location().ok()?;
        let solid = |t: &TokenWithSpan| !matches!(t.token, Token::Whitespace(_) | Token::EOF);
        let mut tokens: Vec<TokenWithSpan> = all.into_iter().filter(solid).collect();
        while tokens.last().is_some_and(|t| t.token == Token::SemiColon) {
            tokens.pop();
        }
        Some(Words { text, tokens, at: 0 })
    }
    pub(super) fn is(&self, at: usize, word: &str) -> bool {
        self.tokens.get(at).is_some_and(|t| is_word(t, word))
    }
    /// Takes these words if they come next.
    pub(super) fn take(&mut self, words: &[&str]) -> bool {
        let there = words.iter().enumerate().all(|(ahead, word)| self.is(self.at + ahead, word));
        self.at += if there { words.len() } else { 0 };
        there
    }
    pub(super) fn sign(&mut self, sign: &Token) -> bool {
        let there = self.tokens.get(self.at).is_some_and(|t| t.token == *sign);
        self.at += usize::from(there);
        there
    }
    pub(super) fn ended(&self) -> bool {
        self.at >= self.tokens.len()
    }
    /// The error at the token that comes next, or at the end.
    pub(super) fn at_place(&self, error: Error) -> Error {
        match self.tokens.get(self.at).or(self.tokens.last()) {
            Some(token) => place::at(error, self.text, token.span),
            None => error.at(place::START),
        }
    }
    pub(super) fn name(&mut self) -> Option<String> {
        let Token::Word(word) = &self.tokens.get(self.at)?.token else { return None };
        self.at += 1;
        Some(if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() })
    }
    /// The text of a range of tokens.
    pub(super) fn written(&self, from: usize, to: usize) -> &'t str {
        let offset = |location| place::location(self.text, location).map(|p| p.offset as usize);
        let begin = self.tokens.get(from).filter(|_| from < to).and_then(|t| offset(t.span.start));
        let end = to.checked_sub(1).and_then(|at| self.tokens.get(at)).and_then(|t| offset(t.span.end));
        begin.zip(end).and_then(|(begin, end)| self.text.get(begin..end)).unwrap_or_default()
    }
    /// What closes the bracket at `open`.
    pub(super) fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_i32;
        (open..self.tokens.len()).find(|at| {
            match self.tokens[*at].token {
                Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }
    /// `(a, b INTEGER := 5)`; behind it afterwards.
    fn parameters(&mut self) -> Option<Vec<Parameter>> {
        let open = self.at;
        if self.tokens.get(open)?.token != Token::LParen {
            return None;
        }
        let close = self.closing(open)?;
        let mut parameters = Vec::new();
        let mut begin = open + 1;
        while begin < close {
            let mut depth = 0_i32;
            let mut default = None;
            let mut end = begin;
            while end < close {
                match self.tokens[end].token {
                    Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
                    Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
                    Token::Comma if depth == 0 => break,
                    Token::Assignment | Token::Eq if depth == 0 && default.is_none() => default = Some(end),
                    _ if depth == 0 && default.is_none() && self.is(end, "default") => default = Some(end),
                    _ => {}
                }
                end += 1;
            }
            if begin == end {
                return None;
            }
            let named = if self.is(begin, "in") && end > begin + 1 { begin + 1 } else { begin };
            let Token::Word(word) = &self.tokens[named].token else { return None };
            let name =
                if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() };
            let ty = self.written(named + 1, default.unwrap_or(end)).trim();
            parameters.push(Parameter {
                name: Some(name),
                ty: Some(ty.to_owned()).filter(|ty| !ty.is_empty()),
                default: default.map(|at| self.written(at + 1, end).trim().to_owned()),
            });
            begin = end + 1;
        }
        self.at = close + 1;
        Some(parameters)
    }
}

fn wrong() -> Error {
    let message = "a macro is CREATE [OR REPLACE] MACRO name(parameter, ...) AS [TABLE] body";
    Error::new(SqlState::SyntaxError, message).at(place::START)
}

/// The statement, if it is one of these.
pub(crate) fn create_function(text: &str) -> Result<Option<Statement>> {
    if !text.trim_start().get(..6).is_some_and(|w| w.eq_ignore_ascii_case("create")) {
        return Ok(None);
    }
    let Some(mut words) = Words::of(text) else { return Ok(None) };
    words.take(&["create"]);
    let replace = words.take(&["or", "replace"]);
    let temporary = words.take(&["temp"]) || words.take(&["temporary"]);
    let function = match () {
        () if words.take(&["macro"]) => false,
        () if words.take(&["function"]) => true,
        () => return Ok(None),
    };
    let keep = words.take(&["if", "not", "exists"]);
    let mut name = words.name().ok_or_else(wrong)?;
    if words.sign(&Token::Period) {
        if !matches!(name.as_str(), "main" | "public" | "temp") {
            let error = Error::unsupported("a macro belongs to no schema").with_hint("leave the schema out");
            return Err(error.at(place::START));
        }
        name = words.name().ok_or_else(wrong)?;
    }
    let parameters = words.parameters().ok_or_else(wrong)?;
    let text_follows = matches!(
        words.tokens.get(words.at + 1).map(|t| &t.token),
        Some(Token::SingleQuotedString(_) | Token::DollarQuotedString(_))
    );
    let expression = words.is(words.at, "as") && !(function && text_follows);
    let forms = match expression {
        true => macro_forms(&mut words, parameters)?,
        false if function => vec![function_form(&mut words, parameters)?],
        false => return Err(wrong()),
    };
    Ok(Some(Statement::CreateMacro { name, forms, replace, keep, temporary }))
}

/// `AS [TABLE] body, (a) AS [TABLE] body, ...`.
fn macro_forms(words: &mut Words<'_>, first: Vec<Parameter>) -> Result<Vec<MacroForm>> {
    let mut forms: Vec<MacroForm> = Vec::new();
    let mut parameters = first;
    loop {
        if !words.take(&["as"]) {
            return Err(wrong());
        }
        let table = words.take(&["table"]);
        let begin = words.at;
        let next = next_form(words, begin, table);
        let end = next.unwrap_or(words.tokens.len());
        let body = words.written(begin, end).trim();
        let form = form(parameters, body, table, None)?;
        if forms.iter().any(|known| known.parameters.len() == form.parameters.len() || known.table != table) {
            let message = "the forms of a macro take different numbers of arguments, and are of one kind";
            return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
        }
        forms.push(form);
        let Some(comma) = next else { return Ok(forms) };
        words.at = comma + 1;
        parameters = words.parameters().ok_or_else(wrong)?;
    }
}

/// The comma before `(a, b) AS`, outside of brackets.
fn next_form(words: &Words<'_>, begin: usize, table: bool) -> Option<usize> {
    let mut depth = 0_i32;
    (begin..words.tokens.len()).find(|at| {
        match words.tokens[*at].token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            Token::Comma if depth == 0 => {
                let bracket = words.tokens.get(at + 1).is_some_and(|t| t.token == Token::LParen);
                let close = if bracket { words.closing(at + 1) } else { None };
                return close.is_some_and(|close| {
                    words.is(close + 1, "as") && (!table || words.is(close + 2, "table"))
                });
            }
            _ => {}
        }
        false
    })
}

/// What follows the parameters of CREATE FUNCTION.
fn function_form(words: &mut Words<'_>, mut parameters: Vec<Parameter>) -> Result<MacroForm> {
    let refuse = |message: String| Err(Error::unsupported(message).at(place::START));
    // `f(int, int)`: a type and no name.
    for parameter in &mut parameters {
        if parameter.ty.is_none() {
            parameter.ty = parameter.name.take();
        }
    }
    let (mut body, mut returns, mut table, mut strict) = (None, None, false, false);
    while words.at < words.tokens.len() {
        if words.take(&["returns", "null", "on", "null", "input"]) || words.take(&["strict"]) {
            strict = true;
        } else if words.take(&["returns"]) {
            table = words.take(&["table"]);
            if table {
                let close = words.closing(words.at).ok_or_else(wrong)?;
                words.at = close + 1;
                continue;
            }
            if words.take(&["setof"]) {
                table = true;
            }
            let begin = words.at;
            let ends = [
                "language",
                "as",
                "return",
                "immutable",
                "stable",
                "volatile",
                "strict",
                "called",
                "parallel",
                "returns",
            ];
            while words.at < words.tokens.len() && !ends.iter().any(|word| words.is(words.at, word)) {
                words.at += 1;
            }
            returns = Some(words.written(begin, words.at).to_owned());
        } else if words.take(&["language"]) {
            let language = match words.tokens.get(words.at).map(|t| &t.token) {
                Some(Token::SingleQuotedString(language)) => language.to_lowercase(),
                Some(Token::Word(word)) => word.value.to_lowercase(),
                _ => return Err(wrong()),
            };
            words.at += 1;
            if language != "sql" {
                return refuse(format!("functions in the language {language} are not supported"));
            }
        } else if words.take(&["as"]) {
            body = match words.tokens.get(words.at).map(|t| &t.token) {
                Some(Token::SingleQuotedString(body)) => Some((body.clone(), false)),
                Some(Token::DollarQuotedString(body)) => Some((body.value.clone(), false)),
                _ => return Err(wrong()),
            };
            words.at += 1;
        } else if words.take(&["return"]) {
            body = Some((words.written(words.at, words.tokens.len()).to_owned(), true));
            words.at = words.tokens.len();
        } else if !BEHAVIOUR.iter().any(|behaviour| words.take(behaviour)) {
            let at = words.tokens[words.at].token.to_string();
            return refuse(format!("{at} in CREATE FUNCTION is not supported"));
        }
    }
    let Some((body, is_expression)) = body else {
        return Err(Error::new(SqlState::SyntaxError, "no function body specified").at(place::START));
    };
    let body = body.trim().trim_end_matches(';').trim_end().to_owned();
    if table {
        return form(parameters, &body, true, None);
    }
    let value = match () {
        () if is_expression => body,
        () => match body.get(..6).filter(|w| w.eq_ignore_ascii_case("select")).and_then(|_| body.get(6..)) {
            // An expression alone needs no query around it.
            Some(item) if lone_item(item) => item.trim().to_owned(),
            _ => format!("({body})"),
        },
    };
    let value = match returns.as_deref() {
        None | Some("void" | "VOID") => value,
        Some(ty) => format!("CAST({value} AS {ty})"),
    };
    form(parameters, &value, false, strict.then_some(()))
}

/// Whether a select list is one expression and nothing follows it.
fn lone_item(item: &str) -> bool {
    const CLAUSES: [&str; 13] = [
        "from",
        "where",
        "group",
        "having",
        "order",
        "limit",
        "union",
        "intersect",
        "except",
        "window",
        "as",
        "distinct",
        "offset",
    ];
    let Some(words) = Words::of(item) else { return false };
    let mut depth = 0_i32;
    words.tokens.iter().all(|token| {
        match token.token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            _ => {}
        }
        depth > 0 || (token.token != Token::Comma && !CLAUSES.iter().any(|word| is_word(token, word)))
    })
}

/// A form with its types as casts, once its syntax has been checked; names are looked up where it is used.
fn form(parameters: Vec<Parameter>, body: &str, table: bool, strict: Option<()>) -> Result<MacroForm> {
    let mut names: Vec<String> = Vec::with_capacity(parameters.len());
    let mut kept = Vec::with_capacity(parameters.len());
    let mut types = Vec::with_capacity(parameters.len());
    for (at, parameter) in parameters.into_iter().enumerate() {
        let name = parameter.name.unwrap_or_else(|| format!("${}", at + 1));
        if names.contains(&name) {
            return Err(Error::new(SqlState::SyntaxError, format!("parameter {name} appears twice")));
        }
        match parameter.default {
            Some(default) => kept.push(format!("{name} := {default}")),
            None if kept.iter().any(|known: &String| known.contains(" := ")) => {
                let message = "a parameter without a default follows one that has a default";
                return Err(Error::new(SqlState::SyntaxError, message).at(place::START));
            }
            None => kept.push(name.clone()),
        }
        types.push(parameter.ty);
        names.push(name);
    }
    let mut text = with_casts(body, &names, &types);
    if strict.is_some() && !names.is_empty() {
        let missing: Vec<String> = names.iter().map(|name| format!("{} IS NULL", quoted(name))).collect();
        text = format!("CASE WHEN {} THEN NULL ELSE {text} END", missing.join(" OR "));
    }
    let checked = if table { text.clone() } else { format!("SELECT {text}") };
    parse::statement(&checked).map_err(|error| Error::new(error.state(), error.message()))?;
    Ok(MacroForm { parameters: kept, text, table })
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The body with a cast around each use of a parameter that has a type, and with names for `$1` and `$2`.
fn with_casts(body: &str, names: &[String], types: &[Option<String>]) -> String {
    let Some(words) = Words::of(body) else { return body.to_owned() };
    let mut out = String::new();
    let mut done = 0;
    let sign = |at: Option<usize>, sign: &Token| {
        at.and_then(|at| words.tokens.get(at)).is_some_and(|t| t.token == *sign)
    };
    for (at, token) in words.tokens.iter().enumerate() {
        let used = match &token.token {
            Token::Word(word) => {
                let name =
                    if word.quote_style.is_some() { word.value.clone() } else { word.value.to_lowercase() };
                let apart = !sign(at.checked_sub(1), &Token::Period)
                    && !sign(Some(at + 1), &Token::Period)
                    && !sign(Some(at + 1), &Token::LParen);
                names.iter().position(|known| *known == name).filter(|_| apart).map(|p| (p, false))
            }
            Token::Placeholder(number) => {
                let number = number.trim_start_matches('$').parse::<usize>().ok();
                number.and_then(|n| n.checked_sub(1)).filter(|n| *n < names.len()).map(|p| (p, true))
            }
            _ => None,
        };
        let Some((place, numbered)) = used else { continue };
        let Some(ty) = types[place].as_deref().map(Some).or(numbered.then_some(None)) else { continue };
        let offset = |location| place::location(body, location).map_or(done, |p| p.offset as usize);
        let (begin, end) = (offset(token.span.start), offset(token.span.end));
        out.push_str(body.get(done..begin).unwrap_or_default());
        match ty {
            Some(ty) => out.push_str(&format!("CAST({} AS {ty})", quoted(&names[place]))),
            None => out.push_str(&quoted(&names[place])),
        }
        done = end;
    }
    out.push_str(body.get(done..).unwrap_or_default());
    out
}
