//! What PostgreSQL's MERGE has and the parser's tree has no place for: DO NOTHING, INSERT DEFAULT VALUES, and
//! `merge_action()`.
//!
//! ```text
//!  WHEN MATCHED THEN DO NOTHING        ->  THEN DELETE                   and the place of DELETE
//!  WHEN NOT MATCHED THEN DO NOTHING    ->  THEN INSERT VALUES ( NULL )   and the place of INSERT
//!  THEN INSERT DEFAULT VALUES          ->  THEN INSERT VALUES ( DEFAULT )
//!  merge_action ( ), merge_action      ->  "merge_action" . merge_action
//!  THEN ERROR 'message'                ->  THEN UPDATE SET "merge error" = 'message', or INSERT
//!  MERGE INTO t USING s USING (k)      ->  MERGE INTO t USING s ON t.k = s.k
//!  THEN UPDATE, THEN UPDATE BY NAME    ->  THEN UPDATE SET "every column" = 0, "every column by name"
//!  THEN INSERT, THEN INSERT *          ->  THEN INSERT ( "every column" ) VALUES ( 0 )
//! ```

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::bind::MERGE_ACTION;

/// Rewrites the tokens of a MERGE; the places of the clauses that do nothing.
pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Vec<Location> {
    if !tokens.iter().any(|t| is(t, "merge")) {
        return vec![];
    }
    name_columns(tokens);
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let word = |tokens: &[TokenWithSpan], place: usize, word: &str| {
        solid.get(place).is_some_and(|at| is(&tokens[*at], word))
    };
    let mut nothing = Vec::new();
    // What stands in place of a run of tokens: from, to (exclusive), the new ones.
    let mut edits: Vec<(usize, usize, Vec<Token>)> = Vec::new();
    for place in 0..solid.len() {
        if word(tokens, place, "then") && word(tokens, place + 1, "do") && word(tokens, place + 2, "nothing")
        {
            let start = tokens[solid[place + 1]].span.start;
            nothing.push(start);
            edits.push((solid[place + 1], solid[place + 2] + 1, doing_nothing(tokens, &solid[..place])));
        } else if word(tokens, place, "then") && word(tokens, place + 1, "error") {
            let end = end_of_clause(tokens, &solid, place + 2);
            let message = match solid.get(place + 2) {
                Some(from) if end > place + 2 => {
                    tokens[*from..=solid[end - 1]].iter().map(|t| t.token.clone()).collect()
                }
                _ => vec![Token::SingleQuotedString("a row meets MERGE's THEN ERROR".into())],
            };
            let refusal = refusing(message, lone_source(tokens, &solid[..place]));
            edits.push((solid[place + 1], solid[end - 1] + 1, refusal));
        } else if word(tokens, place, "then")
            && word(tokens, place + 1, "insert")
            && word(tokens, place + 2, "default")
            && word(tokens, place + 3, "values")
        {
            let row =
                [vec![Token::make_keyword("VALUES")], bracketed(Token::make_keyword("DEFAULT"))].concat();
            edits.push((solid[place + 2], solid[place + 3] + 1, row));
        } else if word(tokens, place, "then")
            && (word(tokens, place + 1, "update") || word(tokens, place + 1, "insert"))
            && let Some((by_name, words)) = whole_row(tokens, &solid, place + 2)
        {
            let name = Token::make_word(if by_name { EVERY_BY_NAME } else { EVERY }, Some('"'));
            let zero = || Token::Number("0".into(), false);
            let row = match word(tokens, place + 1, "update") {
                true => {
                    vec![Token::make_keyword("UPDATE"), Token::make_keyword("SET"), name, Token::Eq, zero()]
                }
                false => [
                    vec![Token::make_keyword("INSERT")],
                    bracketed(name),
                    vec![Token::make_keyword("VALUES")],
                    bracketed(zero()),
                ]
                .concat(),
            };
            edits.push((solid[place + 1], solid[place + 1 + words] + 1, row));
        } else if word(tokens, place, MERGE_ACTION) {
            let sign = |ahead: usize, sign: &Token| {
                solid.get(place + ahead).is_some_and(|at| tokens[*at].token == *sign)
            };
            let before = place.checked_sub(1).map(|at| &tokens[solid[at]].token);
            let returned = solid[..place].iter().any(|at| is(&tokens[*at], "returning"));
            if returned && !sign(1, &Token::LParen) && before != Some(&Token::Period) {
                let name = || Token::make_word(MERGE_ACTION, Some('"'));
                edits.push((solid[place], solid[place] + 1, vec![name(), Token::Period, name()]));
            } else if sign(1, &Token::LParen) && sign(2, &Token::RParen) {
                let name = || Token::make_word(MERGE_ACTION, Some('"'));
                edits.push((solid[place], solid[place + 2] + 1, vec![name(), Token::Period, name()]));
            }
        }
    }
    for (from, to, with) in edits.into_iter().rev() {
        let span = tokens[from].span;
        tokens.splice(from..to, with.into_iter().map(|token| TokenWithSpan { token, span }));
    }
    nothing
}

/// What THEN ERROR gives its message to.
pub(crate) const REFUSAL: &str = "merge error";

/// An UPDATE, or an INSERT where the parser allows no other, that stands for THEN ERROR.
fn refusing(message: Vec<Token>, lone_source: bool) -> Vec<Token> {
    let name = Token::make_word(REFUSAL, Some('"'));
    if lone_source {
        let row = [vec![Token::LParen], message, vec![Token::RParen]].concat();
        let insert = [vec![Token::make_keyword("INSERT")], bracketed(name)].concat();
        return [insert, vec![Token::make_keyword("VALUES")], row].concat();
    }
    let update = vec![Token::make_keyword("UPDATE"), Token::make_keyword("SET"), name, Token::Eq];
    [update, message].concat()
}

/// The place of what stands behind a clause of MERGE.
fn end_of_clause(tokens: &[TokenWithSpan], solid: &[usize], from: usize) -> usize {
    let (mut brackets, mut cases) = (0_i32, 0_i32);
    for (place, at) in solid.iter().enumerate().skip(from) {
        let here = |word: &str| is(&tokens[*at], word);
        match &tokens[*at].token {
            Token::EOF | Token::SemiColon => return place,
            Token::LParen => brackets += 1,
            Token::RParen => brackets -= 1,
            _ if here("case") => cases += 1,
            _ if here("end") => cases -= 1,
            _ if brackets == 0 && cases == 0 && (here("when") || here("returning")) => return place,
            _ => {}
        }
    }
    solid.len()
}

/// What stands for all columns of the target, which get those of the source by their places, or by their names.
pub(crate) const EVERY: &str = "every column";
pub(crate) const EVERY_BY_NAME: &str = "every column by name";

/// Whether UPDATE or INSERT ends at `place` or says no more than `*` and BY NAME: whether by name, and how many words.
fn whole_row(tokens: &[TokenWithSpan], solid: &[usize], place: usize) -> Option<(bool, usize)> {
    let word = |place: usize, word: &str| solid.get(place).is_some_and(|at| is(&tokens[*at], word));
    let token = |place: usize| solid.get(place).map(|at| &tokens[*at].token);
    let ends = |place: usize| {
        matches!(token(place), None | Some(Token::EOF | Token::SemiColon))
            || word(place, "when")
            || word(place, "returning")
    };
    let star = usize::from(
        matches!(token(place), Some(Token::Mul))
            || word(place, "set") && matches!(token(place + 1), Some(Token::Mul)),
    );
    let star = if word(place, "set") && star == 1 { 2 } else { star };
    let by = word(place, "by") && (word(place + 1, "name") || word(place + 1, "position"));
    let words = if by { 2 } else { star };
    ends(place + words).then(|| ((by && word(place + 1, "name")) || star > 0, words))
}

/// `USING (k, l)` behind the source, as a condition.
fn name_columns(tokens: &mut Vec<TokenWithSpan>) {
    let solid: Vec<usize> = (0..tokens.len())
        .filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_) | Token::EOF))
        .collect();
    let word = |place: usize, word: &str| solid.get(place).is_some_and(|at| is(&tokens[*at], word));
    let token = |place: usize| solid.get(place).map(|at| &tokens[*at].token);
    let closing = |open: usize| {
        let mut depth = 0_i32;
        (open..solid.len()).find(|place| {
            match token(*place) {
                Some(Token::LParen) => depth += 1,
                Some(Token::RParen) => depth -= 1,
                _ => {}
            }
            depth == 0
        })
    };
    let Some(merge) = (0..solid.len()).find(|at| word(*at, "merge") && word(at + 1, "into")) else { return };
    let Some(source) = (merge..solid.len()).find(|at| word(*at, "using")) else { return };
    // The name that stands last before USING is the target's alias, or its own.
    let Some(target) = source.checked_sub(1).and_then(token).cloned() else { return };
    let mut place = source + 1;
    place = match token(place) {
        Some(Token::LParen) => match closing(place) {
            Some(close) => close + 1,
            None => return,
        },
        _ => place,
    };
    // Names, an alias, and the columns that follow it.
    while let Some(next) = token(place) {
        match next {
            Token::Word(_) if word(place, "using") || word(place, "on") => break,
            Token::Word(_) | Token::Period => place += 1,
            Token::LParen => match closing(place) {
                Some(close) => place = close + 1,
                None => return,
            },
            Token::SingleQuotedString(_) => place += 1,
            _ => return,
        }
    }
    if !word(place, "using") || token(place + 1) != Some(&Token::LParen) {
        return;
    }
    let Some(close) = closing(place + 1) else { return };
    // Behind the alias may stand names of columns.
    let mut last = place - 1;
    if token(last) == Some(&Token::RParen) {
        let Some(open) = (source..last).rev().find(|at| closing(*at) == Some(last)) else { return };
        last = open.saturating_sub(1);
    }
    let (alias, given) = match token(last) {
        Some(Token::Word(_)) if last > source => (token(last).cloned(), true),
        _ => (Some(Token::make_word("merge source", Some('"'))), false),
    };
    let (Some(alias), Some(span)) = (alias, solid.get(place).map(|at| tokens[*at].span)) else { return };
    let mut made = Vec::new();
    if !given {
        made.extend([Token::make_keyword("AS"), alias.clone()]);
    }
    made.push(Token::make_keyword("ON"));
    for at in place + 2..close {
        let Some(column @ Token::Word(_)) = token(at) else { continue };
        if at > place + 2 {
            made.push(Token::make_keyword("AND"));
        }
        made.extend([target.clone(), Token::Period, column.clone(), Token::Eq]);
        made.extend([alias.clone(), Token::Period, column.clone()]);
    }
    let (from, to) = (solid[place], solid[close]);
    tokens.splice(from..=to, made.into_iter().map(|token| TokenWithSpan { token, span }));
}

/// The clause that stands for DO NOTHING behind the tokens at `before`: one that the parser allows there.
fn doing_nothing(tokens: &[TokenWithSpan], before: &[usize]) -> Vec<Token> {
    if lone_source(tokens, before) {
        let insert = vec![Token::make_keyword("INSERT"), Token::make_keyword("VALUES")];
        [insert, bracketed(Token::make_keyword("NULL"))].concat()
    } else {
        vec![Token::make_keyword("DELETE")]
    }
}

/// Whether the clause is one of rows of the source without a partner.
fn lone_source(tokens: &[TokenWithSpan], before: &[usize]) -> bool {
    let matched = before.iter().rposition(|at| is(&tokens[*at], "matched"));
    matched.is_some_and(|at| {
        let behind = |ahead: usize, word: &str| before.get(at + ahead).is_some_and(|t| is(&tokens[*t], word));
        at > 0 && is(&tokens[before[at - 1]], "not") && !(behind(1, "by") && behind(2, "source"))
    })
}

fn bracketed(token: Token) -> Vec<Token> {
    vec![Token::LParen, token, Token::RParen]
}

fn is(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}
