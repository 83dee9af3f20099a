//! From a statement's text to the parser's syntax tree, and from the parser's errors to ours.

use plan::Exclusion;
use sqlparser::ast::{Ident, Statement};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};
use types::stop::{self, Place};
use types::{Error, Result, SqlState};

use crate::dialect::Grammar;
use crate::idioms::{self, InsertBy};
use crate::overriding::{self, Overriding};
use crate::partition_syntax::{self, PartitionClause};
use crate::recursion_syntax::{self, Marks};
use crate::samples::{self, SampleClause};
use crate::script::StatementText;
use crate::seen::Seen;
use crate::{
    alias_syntax, borrowed_syntax, from_first, hints, literal_syntax, merge_syntax, nested_syntax, pivot,
    place, stack,
};

/// Nested brackets, subqueries and unary operators the parser may be in at once. Chains of binary operators do not
/// count: they are parsed in a loop.
const RECURSION_MAX: usize = 400;

/// A statement's syntax tree, and what PostgreSQL's grammar has that the parser's tree has no place for.
pub(crate) struct Parsed {
    pub statement: Statement,
    /// `CREATE TABLE t (a, b) AS ...`: the names in brackets.
    pub column_names: Vec<Ident>,
    /// EXCLUDE at the end of frames, by the place of the function, or of the window's name, that the frame belongs to.
    pub exclusions: Vec<(Location, Exclusion)>,
    /// `COPY ... TO 'file' (...)`: what stands in the brackets, names in lower case, lists joined by commas.
    pub copy_options: Vec<(String, String)>,
    /// USING SAMPLE, by the place of its SELECT.
    pub samples: Vec<(Location, SampleClause)>,
    /// SEARCH and CYCLE of WITH RECURSIVE.
    pub marks: Vec<Marks>,
    /// SUMMARIZE, which is parsed as DESCRIBE.
    pub summarize: bool,
    /// ALTER VIEW ... RENAME, which is parsed as ALTER TABLE.
    pub alter_view: bool,
    /// `ALTER TABLE t SET (...) WHERE condition`: a DELETE with that condition, at the same place of its text.
    pub alter_condition: Option<String>,
    /// MERGE's clauses that do nothing, by the place of what was parsed in their stead.
    pub nothing: Vec<Location>,
    pub overriding: Overriding,
    /// INSERT ... BY NAME.
    pub insert_by: InsertBy,
    /// Where it stands in its script; absent for texts inside it.
    pub begins: Option<StatementText>,
    /// PARTITION BY of CREATE TABLE.
    pub partitioning: Option<PartitionClause>,
}

/// Parses exactly one statement.
pub(crate) fn statement(text: &str) -> Result<Parsed> {
    let dialect = Grammar::new();
    let mut tokens = Vec::with_capacity(text.len() / 4 + 8);
    Tokenizer::new(&dialect, text).tokenize_with_location_into_buf(&mut tokens).map_err(|e| {
        let error = Error::new(SqlState::SyntaxError, e.message.clone());
        match place::location(text, e.location) {
            Some(at) => error.at(at),
            None => error,
        }
    })?;
    stop::check(Place::Scan)?;
    refuse_exponential(text, &tokens)?;
    // Passes below that make tokens of their own make none of these.
    let seen = Seen::of(&tokens);
    if seen.has(Seen::LEFT_BRACKET) {
        nested_syntax::refuse_deep(text, &tokens)?;
    }
    if seen.has(Seen::OTHER_STATEMENT) {
        crate::secret_syntax::take(text, &mut tokens)?;
        crate::upkeep_syntax::take(&mut tokens);
        crate::search_path_syntax::take(&mut tokens);
        crate::pragma_syntax::take(text, &mut tokens)?;
        crate::elsewhere::refuse(text, &tokens)?;
        crate::wide_syntax::refuse_others(text, &tokens)?;
    }
    borrowed_syntax::take(text, &mut tokens, seen)?;
    let summarize = take_summarize(&mut tokens);
    let alter_view = take_alter_view(&mut tokens);
    crate::statement::take_field_paths(&mut tokens);
    let alter_condition = match seen.has(Seen::OTHER_STATEMENT) {
        true => take_alter_condition(text, &mut tokens),
        false => None,
    };
    take_abort(&mut tokens);
    let insert_by = idioms::take(&mut tokens);
    literal_syntax::take(text, &mut tokens)?;
    alias_syntax::take(&mut tokens);
    from_first::complete(&mut tokens);
    pivot::take(text, &mut tokens);
    take_inspections(text, &mut tokens);
    join_slashes(&mut tokens);
    nested_syntax::take_types(text, &mut tokens);
    nested_syntax::take_lambdas(&mut tokens);
    let samples = samples::take(text, &mut tokens)?;
    let marks = recursion_syntax::take(text, &mut tokens)?;
    let nothing = merge_syntax::take(&mut tokens);
    let overriding = match seen.has(Seen::OVERRIDING) {
        true => overriding::take(&mut tokens),
        false => Overriding::Nothing,
    };
    let partitioning = match seen.has(Seen::OTHER_STATEMENT) {
        true => partition_syntax::take(text, &mut tokens)?,
        false => None,
    };
    let column_names = take_column_names(&mut tokens);
    let exclusions = match seen.has(Seen::EXCLUDE) {
        true => take_exclusions(&mut tokens),
        false => vec![],
    };
    if seen.has(Seen::ASOF) {
        replace_asof(text, &mut tokens)?;
    }
    if seen.has(Seen::PARAMETER) {
        number_parameters(&mut tokens);
    }
    let copy_options = take_copy_options(text, &mut tokens)?;
    stop::check(Place::Scan)?;
    dialect.allow_for(tokens.len());
    let mut parser =
        Parser::new(&dialect).with_recursion_limit(RECURSION_MAX).with_tokens_with_locations(tokens);
    let statement = parser.parse_statement().map_err(|e| hints::of_syntax(text, syntax_error(text, e)))?;
    let next = parser.peek_token();
    if next.token == Token::EOF {
        return Ok(Parsed {
            statement,
            column_names,
            exclusions,
            copy_options,
            samples,
            marks,
            summarize,
            alter_view,
            alter_condition,
            nothing,
            overriding,
            insert_by,
            begins: None,
            partitioning,
        });
    }
    let error = Error::new(
        SqlState::SyntaxError,
        format!("syntax error at or near \"{}\"", shown(&next.token.to_string())),
    );
    let offset = place::location(text, next.span.start).map_or(0, |at| at.offset);
    Err(hints::of_syntax(text, misspelt(place::at(error, text, next.span), text, offset)))
}

/// Words that are worth guessing where a statement cannot be read.
const GUESSED: [&str; 32] = [
    "ALTER",
    "BEGIN",
    "BETWEEN",
    "COMMIT",
    "COPY",
    "CREATE",
    "DELETE",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "EXPLAIN",
    "FROM",
    "GROUP",
    "HAVING",
    "INSERT",
    "JOIN",
    "LIMIT",
    "MERGE",
    "OFFSET",
    "ORDER",
    "PARTITION",
    "QUALIFY",
    "RETURNING",
    "ROLLBACK",
    "SELECT",
    "TABLE",
    "TRUNCATE",
    "UNION",
    "UPDATE",
    "VALUES",
    "WHERE",
    "WITH",
];

/// Those of them that a statement begins with, and nothing else.
const VERBS: [&str; 9] =
    ["ALTER", "BEGIN", "COMMIT", "COPY", "CREATE", "DROP", "MERGE", "ROLLBACK", "TRUNCATE"];

/// With a hint if the word at the fault, or the one before it, is nearly one of SQL's: of `SELECT a FORM t` the parser
/// makes an alias, and stumbles over what follows.
fn misspelt(error: Error, text: &str, offset: u32) -> Error {
    let (before, behind) = text.split_at_checked(offset as usize).unwrap_or((text, ""));
    let not_in_word = |c: char| !c.is_ascii_alphabetic();
    let at = behind.split(not_in_word).next().unwrap_or("");
    let last = before.trim_end().rsplit(not_in_word).next().unwrap_or("");
    let guess = |word: &str| {
        let word = word.to_ascii_uppercase();
        let known = word.len() < 4 || GUESSED.contains(&word.as_str());
        let near = if known { None } else { types::names::nearest(&word, GUESSED) };
        // A verb begins its statement.
        let begins = text.trim_start().to_ascii_uppercase().starts_with(&word);
        near.filter(|near| begins || !VERBS.contains(near))
    };
    let mut words = before.trim_end().rsplit(char::is_whitespace);
    let in_path = behind.starts_with(['/', '.'])
        && words.nth(1).is_some_and(|w| w.eq_ignore_ascii_case("from") || w.eq_ignore_ascii_case("join"));
    match guess(at).or_else(|| guess(last)) {
        _ if in_path => error.with_hint("a file's path stands in single quotes"),
        Some(near) => error.with_hint(format!("did you mean {near}?")),
        None => error,
    }
}

/// Makes DESCRIBE of a leading SUMMARIZE, which the parser does not know.
fn take_summarize(tokens: &mut [TokenWithSpan]) -> bool {
    let first = tokens.iter_mut().find(|t| !matches!(t.token, Token::Whitespace(_)));
    let Some(first) = first.filter(|t| is_word(t, "summarize")) else { return false };
    first.token = Token::make_keyword("DESCRIBE");
    true
}

/// Makes ROLLBACK of ABORT, PostgreSQL's own word for it.
fn take_abort(tokens: &mut [TokenWithSpan]) {
    let first = tokens.iter_mut().find(|t| !matches!(t.token, Token::Whitespace(_)));
    if let Some(first) = first.filter(|t| is_word(t, "abort")) {
        first.token = Token::make_keyword("ROLLBACK");
    }
}

/// Makes one operator of two strokes side by side, `a // b`: PostgreSQL's tokens have no such one.
fn join_slashes(tokens: &mut Vec<TokenWithSpan>) {
    for at in (1..tokens.len()).rev() {
        let beside = tokens[at - 1].span.end == tokens[at].span.start;
        if beside && [at - 1, at].iter().all(|at| tokens[*at].token == Token::Div) {
            tokens[at - 1].token = Token::DuckIntDiv;
            tokens[at - 1].span.end = tokens[at].span.end;
            tokens.remove(at);
        }
    }
}

/// Makes ALTER TABLE of ALTER VIEW, of which the parser knows another form only.
fn take_alter_view(tokens: &mut [TokenWithSpan]) -> bool {
    let mut solid = tokens.iter_mut().filter(|t| !matches!(t.token, Token::Whitespace(_)));
    let (Some(first), Some(second)) = (solid.next(), solid.next()) else { return false };
    if !is_word(first, "alter") || !is_word(second, "view") {
        return false;
    }
    second.token = Token::make_keyword("TABLE");
    true
}

/// Takes the condition away from `ALTER TABLE t SET (...) WHERE condition`, which the parser does not know, and makes a
/// DELETE of it. The condition stays where it was, so that errors point at it.
fn take_alter_condition(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Option<String> {
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let words = |from: usize, wanted: &[&str]| {
        wanted.iter().enumerate().all(|(i, w)| solid.get(from + i).is_some_and(|at| is_word(&tokens[*at], w)))
    };
    if !words(0, &["alter", "table"]) {
        return None;
    }
    let set = (2..solid.len().min(8)).find(|at| words(*at, &["set"]))?;
    let open = *solid.get(set + 1).filter(|at| tokens[**at].token == Token::LParen)?;
    let close = closing(tokens, open)?;
    let after = solid.iter().position(|at| *at == close)? + 1;
    if !words(after, &["where"]) {
        return None;
    }
    let place = |at: usize| place::location(text, tokens[at].span.start).map(|p| p.offset as usize);
    let (name, end, condition) = (place(*solid.get(2)?)?, place(solid[set])?, place(solid[after])?);
    let mut delete = format!("DELETE FROM {}", text.get(name..end)?);
    // As many lines and bytes before the condition as in the statement.
    let before = text.get(..condition)?;
    delete = delete.replace('\n', " ");
    let room = before.len().checked_sub(delete.len())?;
    delete.extend(std::iter::repeat_n(' ', room));
    delete.push_str(text.get(condition..)?);
    let rest = solid[after];
    let (span, kept) = (tokens[rest].span, tokens.last().filter(|t| t.token == Token::EOF).cloned());
    tokens.truncate(rest);
    tokens.push(kept.unwrap_or(TokenWithSpan { token: Token::EOF, span }));
    Some(delete)
}

pub(crate) fn is_word(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}

/// The function that `FROM (DESCRIBE ...)` is made into; no name that can be written.
pub(crate) const ROWS_OF: &str = "rows of a statement";

/// Makes a table function's call of `(DESCRIBE ...)`, `(SUMMARIZE ...)` and `(SHOW ...)` in FROM.
fn take_inspections(text: &str, tokens: &mut Vec<TokenWithSpan>) {
    const WORDS: [&str; 4] = ["describe", "desc", "summarize", "show"];
    let mut before: Option<usize> = None;
    let mut at = 0;
    while at < tokens.len() {
        if matches!(tokens[at].token, Token::Whitespace(_)) {
            at += 1;
            continue;
        }
        let opens = matches!(tokens[at].token, Token::LParen)
            && before.is_some_and(|b| {
                tokens[b].token == Token::Comma || ["from", "join"].iter().any(|w| is_word(&tokens[b], w))
            });
        before = Some(at);
        let inner = tokens[at + 1..].iter().position(|t| !matches!(t.token, Token::Whitespace(_)));
        let begins = inner.is_some_and(|i| WORDS.iter().any(|w| is_word(&tokens[at + 1 + i], w)));
        let Some(end) = (if opens && begins { closing(tokens, at) } else { None }) else {
            at += 1;
            continue;
        };
        let place = |location: Location| place::location(text, location).map(|p| p.offset as usize);
        let range = place(tokens[at].span.end).zip(place(tokens[end].span.start));
        let Some(inner) = range.and_then(|(from, to)| text.get(from..to)) else {
            at += 1;
            continue;
        };
        let span = tokens[at].span;
        let own = |token: Token| TokenWithSpan { token, span };
        let call = [
            own(Token::make_word(ROWS_OF, Some('"'))),
            own(Token::LParen),
            own(Token::SingleQuotedString(inner.trim().to_owned())),
            own(Token::RParen),
        ];
        tokens.splice(at..=end, call);
        at += 4;
        before = Some(at - 1);
    }
}

/// The bracket that closes the one at `open`.
fn closing(tokens: &[TokenWithSpan], open: usize) -> Option<usize> {
    let mut depth = 0;
    (open..tokens.len()).find(|at| {
        match tokens[*at].token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            _ => {}
        }
        depth == 0
    })
}

/// The parser tries a bracket after FROM, JOIN or a comma in several ways, each of which parses what is inside, so its
/// time doubles with every directly nested bracket. Nobody writes a dozen of them.
fn refuse_exponential(text: &str, tokens: &[TokenWithSpan]) -> Result<()> {
    const NESTED_MAX: usize = 12;
    /// Parts of one name; the parser takes quadratic time over them, and no name has more than four.
    const PARTS_MAX: usize = 100;
    let mut run = 0;
    let (mut parts, mut after_word) = (0, false);
    let mut after_from = false;
    for token in tokens {
        match &token.token {
            Token::Whitespace(_) => {}
            Token::Period => (parts, after_word) = (parts + 1, false),
            Token::Word(_) if !after_word => after_word = true,
            _ => (parts, after_word) = (0, false),
        }
        if parts > PARTS_MAX {
            return Err(place::at(stack::too_deep(), text, token.span));
        }
        match &token.token {
            Token::LParen => {
                run += 1;
                if run > NESTED_MAX && after_from {
                    return Err(place::at(stack::too_deep(), text, token.span));
                }
            }
            Token::Whitespace(_) => {}
            Token::Word(word) => {
                if run == 0 || !word.value.eq_ignore_ascii_case("select") {
                    after_from =
                        word.value.eq_ignore_ascii_case("from") || word.value.eq_ignore_ascii_case("join");
                }
                run = 0;
            }
            Token::Comma => run = 0,
            _ => {
                run = 0;
                after_from = false;
            }
        }
    }
    Ok(())
}

/// Takes the options out of `COPY ... TO 'file' WITH (name value, name (a, b), ...)`, and of FROM, of which the parser knows few.
fn take_copy_options(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<Vec<(String, String)>> {
    let solid: Vec<usize> = tokens
        .iter()
        .enumerate()
        .filter(|(_, t)| !matches!(t.token, Token::Whitespace(_) | Token::EOF))
        .map(|(at, _)| at)
        .collect();
    let is = |at: usize, word: &str| match &tokens[at].token {
        Token::Word(w) => w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word),
        _ => false,
    };
    if !solid.first().is_some_and(|at| is(*at, "copy"))
        || tokens[*solid.last().unwrap_or(&0)].token != Token::RParen
    {
        return Ok(vec![]);
    }
    // The bracket behind the file's name, or what stands for standard input and output, which stands behind TO or FROM; the FROM of a query is none of these.
    let query = solid.get(1).is_some_and(|at| tokens[*at].token == Token::LParen);
    let open = (2..solid.len()).find(|i| {
        (is(solid[i - 2], "to") || (!query && is(solid[i - 2], "from")))
            && (matches!(tokens[solid[i - 1]].token, Token::SingleQuotedString(_))
                || is(solid[i - 1], "stdout")
                || is(solid[i - 1], "stdin"))
    });
    let Some(mut open) = open else { return Ok(vec![]) };
    let first = open;
    if is(solid[open], "with") {
        open += 1;
    }
    if solid.get(open).is_none_or(|at| tokens[*at].token != Token::LParen) {
        return Ok(vec![]);
    }
    let (mut options, mut depth) = (Vec::<(String, Vec<String>)>::new(), 0);
    let (mut fresh, mut minus) = (true, false);
    for at in &solid[open + 1..solid.len() - 1] {
        let token = &tokens[*at];
        let value = match &token.token {
            Token::Comma if depth == 0 => {
                fresh = true;
                continue;
            }
            Token::LParen => {
                depth += 1;
                continue;
            }
            Token::RParen => {
                depth -= 1;
                continue;
            }
            Token::Comma | Token::Eq | Token::RArrow => continue,
            Token::Minus => {
                minus = true;
                continue;
            }
            Token::Word(word) if word.quote_style.is_none() && (fresh || depth > 0) => {
                word.value.to_lowercase()
            }
            Token::Word(word) => word.value.clone(),
            Token::SingleQuotedString(text) | Token::EscapedStringLiteral(text) => text.clone(),
            // FORCE_QUOTE *
            Token::Mul if !fresh => "*".to_owned(),
            Token::Number(number, _) if std::mem::take(&mut minus) => format!("-{number}"),
            Token::Number(number, _) => number.clone(),
            other => {
                let message = format!("syntax error at or near \"{other}\"");
                return Err(place::at(Error::new(SqlState::SyntaxError, message), text, token.span));
            }
        };
        if std::mem::take(&mut minus) {
            let message = format!("syntax error at or near \"{}\"", token.token);
            return Err(place::at(Error::new(SqlState::SyntaxError, message), text, token.span));
        }
        match options.last_mut() {
            // A list is in brackets.
            Some((name, values)) if !fresh && depth == 0 && !values.is_empty() => {
                let message = format!(
                    "option \"{name}\" has two values: a comma is missing, or brackets around a list"
                );
                return Err(place::at(Error::new(SqlState::SyntaxError, message), text, token.span));
            }
            Some((_, values)) if !fresh => values.push(value),
            _ => options.push((value, vec![])),
        }
        fresh = false;
    }
    tokens.drain(solid[first]..=solid[solid.len() - 1]);
    // A list is its option repeated, as in functions that read files.
    let repeated = |(name, values): (String, Vec<String>)| {
        let values = if values.is_empty() { vec![String::new()] } else { values };
        values.into_iter().map(move |value| (name.to_lowercase(), value)).collect::<Vec<_>>()
    };
    Ok(options.into_iter().flat_map(repeated).collect())
}

/// Takes the bare names out of `CREATE TABLE t (a, b) AS`, where the parser expects types with them.
fn take_column_names(tokens: &mut Vec<TokenWithSpan>) -> Vec<Ident> {
    let mut significant =
        tokens.iter().enumerate().filter(|(_, t)| !matches!(t.token, Token::Whitespace(_))).peekable();
    let is = |token: &TokenWithSpan, keyword: Keyword| matches!(&token.token, Token::Word(w) if w.keyword == keyword && w.quote_style.is_none());
    // CREATE is the first word, or stands right behind EXPLAIN and its options.
    if significant.by_ref().take(20).find(|(_, t)| is(t, Keyword::CREATE)).is_none()
        || significant.by_ref().take(4).find(|(_, t)| is(t, Keyword::TABLE)).is_none()
    {
        return vec![];
    }
    let mut open = None;
    for (at, token) in significant.by_ref().take(8) {
        match &token.token {
            Token::Word(_) | Token::Period => {}
            Token::LParen => {
                open = Some(at);
                break;
            }
            _ => return vec![],
        }
    }
    let Some(open) = open else { return vec![] };
    let mut names = Vec::new();
    loop {
        let (Some((_, name)), Some((at, after))) = (significant.next(), significant.next()) else {
            return vec![];
        };
        let Token::Word(word) = &name.token else { return vec![] };
        names.push(Ident { value: word.value.clone(), quote_style: word.quote_style, span: name.span });
        match after.token {
            Token::Comma => {}
            Token::RParen => {
                let queried =
                    significant.next().is_some_and(|(_, t)| is(t, Keyword::AS) || is(t, Keyword::WITH));
                if !queried {
                    return vec![];
                }
                tokens.drain(open..=at);
                return names;
            }
            _ => return vec![],
        }
    }
}

/// `ASOF [kind] JOIN` as `GLOBAL [kind] JOIN`, whose mark the parser keeps and we do not have: its own ASOF is another
/// dialect's.
fn replace_asof(text: &str, tokens: &mut [TokenWithSpan]) -> Result<()> {
    const KINDS: [&str; 6] = ["inner", "left", "right", "full", "semi", "anti"];
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    for place in 0..solid.len() {
        let is = |ahead: usize, words: &[&str]| {
            let token = solid.get(place + ahead).map(|at| &tokens[*at]);
            token.is_some_and(|token| words.iter().any(|word| is_word(token, word)))
        };
        let kind = usize::from(is(1, &KINDS));
        let outer = usize::from(kind == 1 && is(2, &["outer"]));
        if !is(1 + kind + outer, &["join"]) {
            continue;
        }
        if is(0, &["global"]) {
            let error = Error::unsupported("this kind of join is not supported");
            return Err(place::at(error, text, tokens[solid[place]].span));
        }
        if is(0, &["asof"]) {
            tokens[solid[place]].token = Token::make_keyword("GLOBAL");
        }
    }
    Ok(())
}

/// `?` is the next parameter.
fn number_parameters(tokens: &mut [TokenWithSpan]) {
    let mut count = 0;
    for at in 0..tokens.len() {
        // JSON's operator is followed by a text; no parameter is.
        let next = tokens[at + 1..].iter().find(|t| !matches!(t.token, Token::Whitespace(_)));
        let operator = matches!(next.map(|t| &t.token), Some(Token::SingleQuotedString(_)));
        let token = &mut tokens[at];
        let unnumbered = match &token.token {
            Token::Question => !operator,
            Token::Placeholder(name) => name == "?",
            _ => false,
        };
        if unnumbered {
            count += 1;
            token.token = Token::Placeholder(format!("${count}"));
        }
    }
}

/// What stands behind the first AS that is in no brackets.
pub(crate) fn after_as(text: &str) -> Option<&str> {
    let mut depth = 0;
    for token in Tokenizer::new(&Grammar::new(), text).tokenize_with_location().ok()? {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(word) if depth == 0 && word.keyword == Keyword::AS => {
                let end = place::location(text, token.span.end)?.offset as usize;
                return text.get(end..).map(|rest| rest.trim().trim_end_matches(';').trim_end());
            }
            _ => {}
        }
    }
    None
}

/// The words and signs of a text, for statements that the parser does not know; blanks left out.
pub(crate) fn tokens(text: &str) -> Option<Vec<Token>> {
    let all = Tokenizer::new(&Grammar::new(), text).tokenize().ok()?;
    Some(all.into_iter().filter(|t| !matches!(t, Token::Whitespace(_))).collect())
}

/// Takes EXCLUDE out of window frames: the parser's tree has no place for it.
fn take_exclusions(tokens: &mut Vec<TokenWithSpan>) -> Vec<(Location, Exclusion)> {
    let word = |token: &TokenWithSpan, word: &str| matches!(&token.token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word));
    let mut found = Vec::new();
    let mut significant: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let mut at = 1;
    while at < significant.len() {
        let is =
            |ahead: usize, name: &str| significant.get(at + ahead).is_some_and(|t| word(&tokens[*t], name));
        if !is(0, "exclude") {
            at += 1;
            continue;
        }
        let (exclusion, words) = if is(1, "current") && is(2, "row") {
            (Exclusion::CurrentRow, 3)
        } else if is(1, "no") && is(2, "others") {
            (Exclusion::NoOthers, 3)
        } else if is(1, "group") {
            (Exclusion::Group, 2)
        } else if is(1, "ties") {
            (Exclusion::Ties, 2)
        } else {
            at += 1;
            continue;
        };
        let closed = significant.get(at + words).is_some_and(|t| matches!(tokens[*t].token, Token::RParen));
        let after_star = matches!(tokens[significant[at - 1]].token, Token::Mul);
        let owner = if closed && !after_star { frame_owner(tokens, &significant[..at]) } else { None };
        let Some(owner) = owner else {
            at += 1;
            continue;
        };
        found.push((tokens[owner].span.start, exclusion));
        for taken in significant.drain(at..at + words) {
            tokens[taken].token = Token::Whitespace(sqlparser::tokenizer::Whitespace::Space);
        }
    }
    found
}

/// The function's or the window's name, for a frame that ends behind the tokens `before`.
fn frame_owner(tokens: &[TokenWithSpan], before: &[usize]) -> Option<usize> {
    let word = |at: usize, word: &str| matches!(&tokens[at].token, Token::Word(w) if w.value.eq_ignore_ascii_case(word));
    // The place in `before` of the bracket that the one at `from`, or the frame itself, is inside of.
    let opening = |from: usize| {
        let mut depth = 1;
        (0..from).rev().find(|at| {
            match tokens[before[*at]].token {
                Token::RParen => depth += 1,
                Token::LParen => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    };
    let mut at = opening(before.len())?.checked_sub(1)?;
    if word(before[at], "as") {
        return Some(before[at.checked_sub(1)?]);
    }
    if !word(before[at], "over") {
        return None;
    }
    at = at.checked_sub(1)?;
    loop {
        if word(before[at], "nulls") {
            at = at.checked_sub(2)?;
        }
        if !matches!(tokens[before[at]].token, Token::RParen) {
            return None;
        }
        at = opening(at)?.checked_sub(1)?;
        if !word(before[at], "filter") {
            return Some(before[at]);
        }
        at = at.checked_sub(1)?;
    }
}

fn syntax_error(text: &str, error: ParserError) -> Error {
    match error {
        ParserError::RecursionLimitExceeded => stack::too_deep(),
        ParserError::TokenizerError(message) => Error::new(SqlState::SyntaxError, message),
        ParserError::ParserError(message) => {
            let (message, location) = strip_location(&message);
            let position = match location {
                Some(at) => {
                    let at = at_found(text, message, at);
                    place::location(text, at).unwrap_or_else(|| place::end(text))
                }
                None => place::end(text),
            };
            misspelt(Error::new(SqlState::SyntaxError, reworded(message)).at(position), text, position.offset)
        }
    }
}

/// The place of the token that a message says was found: the parser sometimes tells that of the next one.
fn at_found(text: &str, message: &str, at: Location) -> Location {
    let Some((_, found)) = message.rsplit_once("found: ") else { return at };
    let line = text.lines().nth((at.line as usize).saturating_sub(1)).unwrap_or_default();
    let before: String = line.chars().take((at.column as usize).saturating_sub(1)).collect();
    let here = line.get(before.len()..).unwrap_or_default();
    let kept = before.trim_end();
    if found.is_empty() || here.starts_with(found) || !kept.ends_with(found) {
        return at;
    }
    let column = kept[..kept.len() - found.len()].chars().count() as u64 + 1;
    Location { line: at.line, column }
}

/// Cuts ` at Line: 1, Column: 8` off a message.
fn strip_location(message: &str) -> (&str, Option<Location>) {
    let Some(at) = message.rfind(" at Line: ") else { return (message, None) };
    let numbers = &message[at + " at Line: ".len()..];
    let Some((line, column)) = numbers.split_once(", Column: ") else { return (message, None) };
    match (line.trim().parse(), column.trim().parse()) {
        (Ok(line), Ok(column)) => (&message[..at], Some(Location { line, column })),
        _ => (message, None),
    }
}

/// `Expected: x, found: y` in PostgreSQL's words first.
fn reworded(message: &str) -> String {
    if let Some(found) = message.strip_prefix("Expected an expression, found: ") {
        return format!("syntax error at or near \"{}\": expected an expression", shown(found));
    }
    match message.strip_prefix("Expected: ").and_then(|m| m.rsplit_once(", found: ")) {
        Some((expected, "EOF")) => format!("syntax error at end of input: expected {expected}"),
        Some((expected, found)) => {
            format!("syntax error at or near \"{}\": expected {expected}", shown(found))
        }
        None => message.trim_start_matches("sql parser error: ").to_owned(),
    }
}

fn shown(token: &str) -> String {
    if token.chars().count() > 40 {
        token.chars().take(40).chain("...".chars()).collect()
    } else {
        token.to_owned()
    }
}
