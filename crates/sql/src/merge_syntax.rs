//! What PostgreSQL's MERGE has and the parser's tree has no place for: DO NOTHING, INSERT DEFAULT VALUES, and
//! `merge_action()`.
//!
//! ```text
//!  WHEN MATCHED THEN DO NOTHING        ->  THEN DELETE                   and the place of DELETE
//!  WHEN NOT MATCHED THEN DO NOTHING    ->  THEN INSERT VALUES ( NULL )   and the place of INSERT
//!  THEN INSERT DEFAULT VALUES          ->  THEN INSERT VALUES ( DEFAULT )
//!  merge_action ( )                    ->  "merge_action" . merge_action
//! ```

use sqlparser::tokenizer::{Location, Token, TokenWithSpan};

use crate::bind::MERGE_ACTION;

/// Rewrites the tokens of a MERGE; the places of the clauses that do nothing.
pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) -> Vec<Location> {
    if !tokens.iter().any(|t| is(t, "merge")) {
        return vec![];
    }
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
        } else if word(tokens, place, "then")
            && word(tokens, place + 1, "insert")
            && word(tokens, place + 2, "default")
            && word(tokens, place + 3, "values")
        {
            let row =
                [vec![Token::make_keyword("VALUES")], bracketed(Token::make_keyword("DEFAULT"))].concat();
            edits.push((solid[place + 2], solid[place + 3] + 1, row));
        } else if word(tokens, place, MERGE_ACTION) {
            let sign = |ahead: usize, sign: &Token| {
                solid.get(place + ahead).is_some_and(|at| tokens[*at].token == *sign)
            };
            if sign(1, &Token::LParen) && sign(2, &Token::RParen) {
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

/// The clause that stands for DO NOTHING behind the tokens at `before`: one that the parser allows there.
fn doing_nothing(tokens: &[TokenWithSpan], before: &[usize]) -> Vec<Token> {
    let matched = before.iter().rposition(|at| is(&tokens[*at], "matched"));
    let lone_source = matched.is_some_and(|at| {
        let behind = |ahead: usize, word: &str| before.get(at + ahead).is_some_and(|t| is(&tokens[*t], word));
        at > 0 && is(&tokens[before[at - 1]], "not") && !(behind(1, "by") && behind(2, "source"))
    });
    if lone_source {
        let insert = vec![Token::make_keyword("INSERT"), Token::make_keyword("VALUES")];
        [insert, bracketed(Token::make_keyword("NULL"))].concat()
    } else {
        vec![Token::make_keyword("DELETE")]
    }
}

fn bracketed(token: Token) -> Vec<Token> {
    vec![Token::LParen, token, Token::RParen]
}

fn is(token: &TokenWithSpan, word: &str) -> bool {
    matches!(&token.token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
}
