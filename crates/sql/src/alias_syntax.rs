//! Aliases in front of what they name, as DuckDB has them: `SELECT total: a + b FROM s: sales` becomes
//! `SELECT a + b AS total FROM sales AS s`.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

use crate::parse::is_word;

/// Where in a query the words of one bracket are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Elsewhere,
    Listed,
    From,
}

/// Words that end a select list or FROM.
const ENDS: [&str; 14] = [
    "where",
    "group",
    "having",
    "window",
    "qualify",
    "order",
    "limit",
    "offset",
    "fetch",
    "union",
    "except",
    "intersect",
    "using",
    "into",
];

pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) {
    if !tokens.iter().any(|t| t.token == Token::Colon) {
        return;
    }
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let token = |place: usize| solid.get(place).map(|at| &tokens[*at].token);
    let word = |place: usize, word: &str| solid.get(place).is_some_and(|at| is_word(&tokens[*at], word));
    // The alias's place, and the place that it goes in front of.
    let mut moves: Vec<(usize, usize)> = Vec::new();
    let mut around = vec![Part::Elsewhere];
    let mut begins = false;
    for place in 0..solid.len() {
        let Some(part) = around.last_mut() else { return };
        let aliased = std::mem::take(&mut begins)
            && matches!(token(place), Some(Token::Word(_)))
            && token(place + 1) == Some(&Token::Colon);
        if aliased {
            let end = match part {
                Part::Listed => end_of_item(place + 2, &token, &word),
                _ => end_of_table(place + 2, &token),
            };
            if let Some(end) = end {
                moves.push((place, end));
            }
            continue;
        }
        match token(place) {
            Some(Token::LParen | Token::LBracket | Token::LBrace) => around.push(Part::Elsewhere),
            Some(Token::RParen | Token::RBracket | Token::RBrace) => {
                around.pop();
            }
            Some(Token::Comma) => begins = *part != Part::Elsewhere,
            Some(Token::Word(_)) => {
                let first = place == 0 || token(place - 1) == Some(&Token::LParen);
                if word(place, "select") {
                    (*part, begins) = (Part::Listed, true);
                } else if word(place, "distinct") && place > 0 && word(place - 1, "select") {
                    begins = true;
                } else if word(place, "from")
                    && (*part == Part::Listed || first)
                    && !(place > 0 && word(place - 1, "distinct"))
                {
                    (*part, begins) = (Part::From, true);
                } else if word(place, "join") && *part == Part::From {
                    begins = true;
                } else if ENDS.iter().any(|end| word(place, end)) {
                    *part = Part::Elsewhere;
                }
            }
            _ => {}
        }
    }
    for (place, end) in moves.into_iter().rev() {
        let (alias, colon) = (solid[place], solid[place + 1]);
        let own = |token: Token| TokenWithSpan { token, span: tokens[alias].span };
        let behind = [
            own(Token::Whitespace(Whitespace::Space)),
            own(Token::make_keyword("AS")),
            own(Token::Whitespace(Whitespace::Space)),
            tokens[alias].clone(),
            own(Token::Whitespace(Whitespace::Space)),
        ];
        let at = solid.get(end).copied().unwrap_or(tokens.len());
        tokens.splice(at..at, behind);
        tokens[alias].token = Token::Whitespace(Whitespace::Space);
        tokens[colon].token = Token::Whitespace(Whitespace::Space);
    }
}

/// The place behind an item of a select list that begins at `from`.
fn end_of_item<'t>(
    from: usize,
    token: &impl Fn(usize) -> Option<&'t Token>,
    word: &impl Fn(usize, &str) -> bool,
) -> Option<usize> {
    let mut depth = 0_usize;
    for place in from.. {
        match token(place) {
            None | Some(Token::EOF | Token::SemiColon) => return Some(place),
            Some(Token::LParen | Token::LBracket | Token::LBrace) => depth += 1,
            Some(Token::RParen | Token::RBracket | Token::RBrace) if depth == 0 => return Some(place),
            Some(Token::RParen | Token::RBracket | Token::RBrace) => depth -= 1,
            Some(Token::Comma) if depth == 0 => return Some(place),
            Some(Token::Word(_)) if depth == 0 && place > from => {
                let from_list = word(place, "from") && !word(place - 1, "distinct");
                if from_list || ENDS.iter().any(|end| word(place, end)) {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

/// The place behind a table, a function or a subquery in FROM that begins at `from`.
fn end_of_table<'t>(from: usize, token: &impl Fn(usize) -> Option<&'t Token>) -> Option<usize> {
    let mut place = from;
    let bracket = |open: usize| {
        let mut depth = 0_i32;
        (open..).map_while(|at| token(at).map(|t| (at, t))).find_map(|(at, t)| {
            match t {
                Token::LParen => depth += 1,
                Token::RParen => depth -= 1,
                _ => {}
            }
            (depth == 0).then_some(at + 1)
        })
    };
    match token(place)? {
        Token::LParen => return bracket(place),
        Token::SingleQuotedString(_) => return Some(place + 1),
        Token::Word(_) => place += 1,
        _ => return None,
    }
    while token(place) == Some(&Token::Period) && matches!(token(place + 1), Some(Token::Word(_))) {
        place += 2;
    }
    if token(place) == Some(&Token::LParen) { bracket(place) } else { Some(place) }
}
