//! Forms of DuckDB's and PostgreSQL's that the parser does not know, made into forms that it does, before it sees them.
//!
//! ```text
//! a ** b                               a ^ b
//! [e FOR x IN l IF c]                  list_transform(list_filter(l, x -> (c)), x -> (e))
//! FROM VALUES (1), (2) t(a)            FROM (VALUES (1), (2)) t(a)
//! trim(TRAILING FROM x)                trim(TRAILING ' ' FROM x)
//! substring(x SIMILAR p ESCAPE e)      substring(x FROM p FOR e)
//! SELECT a INTO t FROM u               CREATE TABLE t AS SELECT a FROM u
//! * LIKE 'a%'                          COLUMNS(name -> name LIKE 'a%')
//! f(*COLUMNS('a.*'))                   f("columns as arguments"('a.*'))
//! GROUP BY *                           GROUP BY ALL
//! LIMIT 10%                            LIMIT "percent of rows"(10)
//! GROUPING SETS (GROUPING SETS (a))    GROUPING SETS (a)
//! a POSITIONAL JOIN b                  a CROSS APPLY b
//! SHOW and DESCRIBE without a name     SHOW TABLES, SHOW ALL TABLES
//! ```
//! Called by `parse` with the tokens of one statement. A form that is not complete is left as it is, so that the parser
//! says what is wrong with it.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};
use types::{Error, Result};

use crate::parse::is_word;
use crate::place;
use crate::seen::Seen;

/// What `LIMIT n%` is made into a call of; no name that can be written.
pub(crate) const PERCENT: &str = "percent of rows";
/// What `*COLUMNS(...)` is made into a call of, where it is an argument.
pub(crate) const UNPACKED: &str = "columns as arguments";

/// Comprehensions of one statement: each is looked for anew.
const COMPREHENSIONS_MAX: usize = 1_000;

/// `seen` says which of the forms the statement may have.
pub(crate) fn take(text: &str, tokens: &mut Vec<TokenWithSpan>, seen: Seen) -> Result<()> {
    if seen.has(Seen::OTHER_STATEMENT) {
        whole_statement(tokens);
    }
    if seen.has(Seen::STAR) {
        powers(tokens);
    }
    if seen.has(Seen::LEFT_BRACKET) {
        comprehensions(tokens);
    }
    if seen.has(Seen::JOIN_KIND) {
        joins(text, tokens)?;
    }
    let passes: [(bool, &dyn Fn(&Solid<'_>) -> Vec<Edit>); 6] = [
        (seen.has(Seen::VALUES), &values),
        (seen.has(Seen::TRIM), &trimmed),
        (seen.has(Seen::SUBSTRING), &substrings),
        (seen.has(Seen::STAR) && seen.has(Seen::PATTERN), &stars),
        (seen.has(Seen::STAR) || seen.has(Seen::GROUPING), &grouping),
        (seen.has(Seen::PERCENT) || seen.has(Seen::PERCENT_SIGN), &limits),
    ];
    for (_, pass) in passes.iter().filter(|(needed, _)| *needed) {
        edited(tokens, *pass);
    }
    if seen.has(Seen::INTO) {
        into(tokens);
    }
    Ok(())
}

/// A statement's words and signs: their places among all tokens.
struct Solid<'t> {
    tokens: &'t [TokenWithSpan],
    places: Vec<usize>,
}

impl<'t> Solid<'t> {
    fn of(tokens: &'t [TokenWithSpan]) -> Self {
        let solid = |at: &usize| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF);
        Solid { tokens, places: (0..tokens.len()).filter(solid).collect() }
    }
    fn len(&self) -> usize {
        self.places.len()
    }
    fn token(&self, at: usize) -> Option<&'t Token> {
        self.places.get(at).map(|place| &self.tokens[*place].token)
    }
    fn is(&self, at: usize, word: &str) -> bool {
        self.places.get(at).is_some_and(|place| is_word(&self.tokens[*place], word))
    }
    fn any(&self, at: usize, words: &[&str]) -> bool {
        words.iter().any(|word| self.is(at, word))
    }
    fn sign(&self, at: usize, sign: &Token) -> bool {
        self.token(at) == Some(sign)
    }
    fn word(&self, at: usize) -> bool {
        matches!(self.token(at), Some(Token::Word(_)))
    }
    /// What closes the bracket at `open`.
    fn closing(&self, open: usize) -> Option<usize> {
        let mut depth = 0_i32;
        (open..self.len()).find(|at| {
            match self.token(*at) {
                Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
                Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    }
    /// The first place in a range that is in no bracket of it and for which `holds` is true.
    fn outside(&self, range: std::ops::Range<usize>, holds: impl Fn(usize) -> bool) -> Option<usize> {
        let mut depth = 0_i32;
        range.into_iter().find(|at| {
            match self.token(*at) {
                Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
                Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
                _ => {}
            }
            depth == 0 && holds(*at)
        })
    }
    /// The tokens of a range, as they stand.
    fn copied(&self, range: std::ops::Range<usize>) -> Vec<TokenWithSpan> {
        range.filter_map(|at| self.places.get(at)).map(|place| self.tokens[*place].clone()).collect()
    }
}

/// What replaces the solid tokens from, to (exclusive).
type Edit = (usize, usize, Vec<Token>);

/// Lets a pass say what it replaces, and replaces it.
fn edited(tokens: &mut Vec<TokenWithSpan>, pass: &dyn Fn(&Solid<'_>) -> Vec<Edit>) {
    let solid = Solid::of(tokens);
    let edits = pass(&solid);
    let places = solid.places;
    for (from, to, with) in edits.into_iter().rev() {
        let end = tokens.len();
        let begin = places.get(from).copied().unwrap_or(end);
        let end = if from == to { begin } else { places.get(to - 1).map_or(end, |at| at + 1) };
        let near = tokens.get(begin).or_else(|| tokens.last()).map(|t| t.span);
        let Some(span) = near else { continue };
        tokens.splice(begin..end, with.into_iter().map(|token| TokenWithSpan { token, span }));
    }
}

fn keyword(word: &str) -> Token {
    Token::make_keyword(word)
}

fn quoted(name: &str) -> Token {
    Token::make_word(name, Some('"'))
}

/// SHOW and DESCRIBE alone.
fn whole_statement(tokens: &mut Vec<TokenWithSpan>) {
    let solid = Solid::of(tokens);
    if solid.len() != 1 || !solid.any(0, &["show", "describe", "desc"]) {
        return;
    }
    let (at, listed) = (solid.places[0], solid.is(0, "show"));
    let span = tokens[at].span;
    let words: &[&str] = if listed { &["SHOW", "TABLES"] } else { &["SHOW", "ALL", "TABLES"] };
    tokens.splice(at..=at, words.iter().map(|word| TokenWithSpan { token: keyword(word), span }));
}

/// Two stars side by side are one operator.
fn powers(tokens: &mut Vec<TokenWithSpan>) {
    for at in (1..tokens.len()).rev() {
        let beside = tokens[at - 1].span.end == tokens[at].span.start;
        if beside && [at - 1, at].iter().all(|at| tokens[*at].token == Token::Mul) {
            tokens[at - 1].token = Token::Caret;
            tokens[at - 1].span.end = tokens[at].span.end;
            tokens.remove(at);
        }
    }
}

/// `[e FOR x [, i] IN list [IF c]]`, inner ones first.
fn comprehensions(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| is_word(t, "for")) || !tokens.iter().any(|t| t.token == Token::LBracket) {
        return;
    }
    for _ in 0..COMPREHENSIONS_MAX {
        let solid = Solid::of(tokens);
        let found = (0..solid.len())
            .rev()
            .filter(|at| solid.sign(*at, &Token::LBracket))
            .find_map(|open| Some((open, comprehension(&solid, open)?)));
        let Some((open, (close, made))) = found else { return };
        let (from, to) = (solid.places[open], solid.places[close]);
        tokens.splice(from..=to, made);
    }
}

fn comprehension(solid: &Solid<'_>, open: usize) -> Option<(usize, Vec<TokenWithSpan>)> {
    let close = solid.closing(open)?;
    let begins = |at: usize| {
        solid.is(at, "for")
            && solid.word(at + 1)
            && (solid.is(at + 2, "in")
                || (solid.sign(at + 2, &Token::Comma) && solid.word(at + 3) && solid.is(at + 4, "in")))
    };
    let at = solid.outside(open + 1..close, begins)?;
    let counted = solid.sign(at + 2, &Token::Comma);
    let list = if counted { at + 5 } else { at + 3 };
    let condition = solid.outside(list..close, |at| solid.is(at, "if"));
    let span = solid.tokens[solid.places[open]].span;
    let own = |token: Token| TokenWithSpan { token, span };
    let name = |word: &str| own(Token::make_word(word, None));
    let bracketed = |range: std::ops::Range<usize>| {
        let mut all = vec![own(Token::LParen)];
        all.extend(solid.copied(range));
        all.push(own(Token::RParen));
        all
    };
    let call = |function: &str, list: Vec<TokenWithSpan>, lambda: Vec<TokenWithSpan>| {
        let mut all = vec![name(function), own(Token::LParen)];
        all.extend(list);
        all.push(own(Token::Comma));
        all.extend(lambda);
        all.push(own(Token::RParen));
        all
    };
    let lambda = |body: Vec<TokenWithSpan>| {
        let mut all = match counted {
            true => bracketed(at + 1..at + 4),
            false => solid.copied(at + 1..at + 2),
        };
        all.push(own(Token::Arrow));
        all.extend(body);
        all
    };
    let (value, elements) = (bracketed(open + 1..at), bracketed(list..condition.unwrap_or(close)));
    let made = match condition {
        None => call("list_transform", elements, lambda(value)),
        Some(at) if !counted => {
            let kept = call("list_filter", elements, lambda(bracketed(at + 1..close)));
            call("list_transform", kept, lambda(value))
        }
        Some(at) => {
            // The number is that of the element in the whole list.
            let mut pair =
                vec![name("struct_pack"), own(Token::LParen), name("kept"), own(Token::Assignment)];
            pair.extend(bracketed(at + 1..close));
            pair.extend([own(Token::Comma), name("value"), own(Token::Assignment)]);
            pair.extend(value);
            pair.push(own(Token::RParen));
            let field = |field: &str| {
                vec![name("element"), own(Token::Arrow), name("element"), own(Token::Period), name(field)]
            };
            let pairs = call("list_transform", elements, lambda(pair));
            call("list_transform", call("list_filter", pairs, field("kept")), field("value"))
        }
    };
    Some((close, made))
}

/// POSITIONAL JOIN as one that the parser knows and this engine does not have.
fn joins(text: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<()> {
    let solid = Solid::of(tokens);
    let mut found = Vec::new();
    for at in 0..solid.len() {
        if solid.is(at, "positional") && solid.is(at + 1, "join") {
            found.push((solid.places[at], solid.places[at + 1]));
        } else if solid.any(at, &["cross", "outer"]) && solid.is(at + 1, "apply") {
            let error = Error::unsupported("APPLY is not supported")
                .with_hint("write CROSS JOIN LATERAL, or LEFT JOIN LATERAL ... ON true");
            return Err(place::at(error, text, tokens[solid.places[at]].span));
        }
    }
    for (first, second) in found {
        tokens[first].token = keyword("CROSS");
        tokens[second].token = keyword("APPLY");
    }
    Ok(())
}

/// VALUES behind FROM and JOIN, without brackets.
fn values(solid: &Solid<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for at in 1..solid.len() {
        if !solid.is(at, "values") || !solid.any(at - 1, &["from", "join", "using"]) {
            continue;
        }
        let (mut end, mut next) = (None, at + 1);
        while solid.sign(next, &Token::LParen)
            && let Some(close) = solid.closing(next)
        {
            end = Some(close + 1);
            if !solid.sign(close + 1, &Token::Comma) || !solid.sign(close + 2, &Token::LParen) {
                break;
            }
            next = close + 2;
        }
        if let Some(end) = end {
            edits.push((at, at, vec![Token::LParen]));
            edits.push((end, end, vec![Token::RParen]));
        }
    }
    edits.sort_by_key(|(from, _, _)| *from);
    edits
}

/// TRIM without the characters.
fn trimmed(solid: &Solid<'_>) -> Vec<Edit> {
    let blank = || Token::SingleQuotedString(" ".to_owned());
    let mut edits = Vec::new();
    for at in 0..solid.len() {
        if !solid.is(at, "trim") || !solid.sign(at + 1, &Token::LParen) {
            continue;
        }
        if solid.any(at + 2, &["both", "leading", "trailing"]) && solid.is(at + 3, "from") {
            edits.push((at + 3, at + 3, vec![blank()]));
        } else if solid.is(at + 2, "from") {
            edits.push((at + 2, at + 3, vec![keyword("BOTH"), blank(), keyword("FROM")]));
        }
    }
    edits
}

fn substrings(solid: &Solid<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for open in (1..solid.len()).filter(|at| solid.sign(*at, &Token::LParen)) {
        if !solid.is(open - 1, "substring") {
            continue;
        }
        let Some(close) = solid.closing(open) else { continue };
        let similar = solid.outside(open + 1..close, |at| solid.is(at, "similar") && !solid.is(at + 1, "to"));
        let Some(similar) = similar else { continue };
        if let Some(escape) = solid.outside(similar..close, |at| solid.is(at, "escape")) {
            edits.push((similar, similar + 1, vec![keyword("FROM")]));
            edits.push((escape, escape + 1, vec![keyword("FOR")]));
        }
    }
    edits.sort_by_key(|(from, _, _)| *from);
    edits
}

/// `* LIKE 'a%'`, its kin, and `*COLUMNS(...)` as arguments.
fn stars(solid: &Solid<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for at in 1..solid.len() {
        if !solid.sign(at, &Token::Mul) {
            continue;
        }
        let begins = solid.any(at - 1, &["select", "distinct", "all"])
            || matches!(solid.token(at - 1), Some(Token::Comma | Token::LParen));
        if !begins {
            continue;
        }
        if solid.is(at + 1, "columns") && solid.sign(at + 2, &Token::LParen) && !solid.is(at - 1, "select") {
            edits.push((at, at + 2, vec![quoted(UNPACKED)]));
            continue;
        }
        let verb = at + 1 + usize::from(solid.is(at + 1, "not"));
        let pattern = match () {
            () if solid.any(verb, &["like", "ilike", "glob"]) => verb + 1,
            () if solid.is(verb, "similar") && solid.is(verb + 1, "to") => verb + 2,
            () => continue,
        };
        let Some(Token::SingleQuotedString(pattern_text)) = solid.token(pattern) else { continue };
        let regular = match () {
            // As DuckDB has it: a regular expression over the whole name.
            () if solid.is(verb, "similar") => Some(format!("^({pattern_text})$")),
            () if solid.is(verb, "glob") => Some(glob(pattern_text)),
            () => None,
        };
        if let (Some(regular), true) = (&regular, verb == at + 1) {
            let pattern = Token::SingleQuotedString(regular.clone());
            let made = vec![Token::make_word("columns", None), Token::LParen, pattern, Token::RParen];
            edits.push((at, verb + if solid.is(verb, "similar") { 3 } else { 2 }, made));
            continue;
        }
        let name = || Token::make_word("name", None);
        let mut made =
            vec![Token::make_word("columns", None), Token::LParen, Token::make_word("lambda", None)];
        made.extend([name(), Token::Colon]);
        let negated = verb > at + 1;
        if !negated && solid.is(verb, "ilike") {
            continue;
        }
        if negated {
            made.extend([keyword("NOT"), Token::LParen]);
        }
        if let Some(regular) = regular {
            made.extend([Token::make_word("regexp_matches", None), Token::LParen, name(), Token::Comma]);
            made.extend([Token::SingleQuotedString(regular), Token::RParen]);
        } else {
            made.push(name());
            made.extend((verb..=pattern).filter_map(|at| solid.token(at).cloned()));
        }
        if negated {
            made.push(Token::RParen);
        }
        made.push(Token::RParen);
        edits.push((at, pattern + 1, made));
    }
    edits
}

/// A glob as a regular expression.
fn glob(pattern: &str) -> String {
    let mut made = String::from("^");
    for letter in pattern.chars() {
        match letter {
            '*' => made.push_str(".*"),
            '?' => made.push('.'),
            '[' | ']' => made.push(letter),
            other => made.push_str(&regex::escape(&other.to_string())),
        }
    }
    made.push('$');
    made
}

/// `GROUP BY *`, and grouping sets in grouping sets.
fn grouping(solid: &Solid<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    let sets = |at: usize| {
        solid.is(at, "grouping") && solid.is(at + 1, "sets") && solid.sign(at + 2, &Token::LParen)
    };
    // Where the outermost sets end.
    let mut inside = 0;
    for at in 1..solid.len() {
        if solid.is(at - 1, "by") && solid.sign(at, &Token::Mul) && at >= 2 && solid.is(at - 2, "group") {
            edits.push((at, at + 1, vec![keyword("ALL")]));
        }
        if !sets(at) {
            continue;
        }
        let Some(close) = solid.closing(at + 2) else { continue };
        if at >= inside {
            inside = close;
        } else {
            edits.push((at, at + 3, vec![]));
            edits.push((close, close + 1, vec![]));
        }
    }
    edits.sort_by_key(|(from, _, _)| *from);
    edits
}

/// `LIMIT 10%` and `LIMIT 10 PERCENT`.
fn limits(solid: &Solid<'_>) -> Vec<Edit> {
    let mut edits = Vec::new();
    for at in (0..solid.len()).filter(|at| solid.is(*at, "limit")) {
        let end = match solid.token(at + 1) {
            Some(Token::LParen) => solid.closing(at + 1).map(|close| close + 1),
            Some(Token::Number(..) | Token::Placeholder(_)) => Some(at + 2),
            _ => None,
        };
        let Some(end) = end else { continue };
        let behind = solid.token(end + 1);
        let ends = matches!(behind, None | Some(Token::RParen | Token::SemiColon))
            || solid.any(end + 1, &["offset", "union", "intersect", "except"]);
        if solid.is(end, "percent") || (solid.sign(end, &Token::Mod) && ends) {
            edits.push((at + 1, at + 1, vec![quoted(PERCENT), Token::LParen]));
            edits.push((end, end + 1, vec![Token::RParen]));
        }
    }
    edits
}

/// SELECT INTO: the name and what stands before it go to the front.
fn into(tokens: &mut Vec<TokenWithSpan>) {
    let solid = Solid::of(tokens);
    if !solid.any(0, &["select", "with"]) {
        return;
    }
    let found = solid.outside(0..solid.len(), |at| solid.is(at, "into"));
    let Some(at) =
        found.filter(|at| !solid.any(at.wrapping_sub(1), &["insert", "merge", "replace", "ignore"]))
    else {
        return;
    };
    let mut name = at + 1;
    let temporary = solid.any(name, &["temp", "temporary"]);
    name += usize::from(temporary || solid.is(name, "unlogged"));
    name += usize::from(solid.is(name, "table"));
    if !solid.word(name) {
        return;
    }
    let mut end = name + 1;
    while solid.sign(end, &Token::Period) && solid.word(end + 1) {
        end += 2;
    }
    let span = tokens[solid.places[at]].span;
    let own = |word: &str| TokenWithSpan { token: keyword(word), span };
    let mut made = vec![own("CREATE")];
    made.extend(temporary.then(|| own("TEMPORARY")));
    made.push(own("TABLE"));
    made.extend(solid.copied(name..end));
    made.push(own("AS"));
    let (first, from, to) = (solid.places[0], solid.places[at], solid.places[end - 1]);
    tokens.splice(from..=to, [TokenWithSpan { token: Token::Whitespace(Whitespace::Space), span }]);
    tokens.splice(first..first, made);
}
