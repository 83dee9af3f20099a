//! OVERRIDING SYSTEM VALUE and OVERRIDING USER VALUE of INSERT, which the parser does not know.

use sqlparser::tokenizer::{Token, TokenWithSpan, Whitespace};

/// Which values count for columns that are GENERATED AS IDENTITY.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Overriding {
    #[default]
    Nothing,
    /// Those given, for ALWAYS too.
    System,
    /// Those of the sequence.
    User,
}

/// Takes the clause out of the tokens of an INSERT or MERGE.
pub(crate) fn take(tokens: &mut [TokenWithSpan]) -> Overriding {
    let solid: Vec<usize> =
        (0..tokens.len()).filter(|at| !matches!(tokens[*at].token, Token::Whitespace(_))).collect();
    let word = |tokens: &[TokenWithSpan], place: usize, word: &str| {
        solid.get(place).is_some_and(|at| {
            matches!(&tokens[*at].token, Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
        })
    };
    if !word(tokens, 0, "insert") && !word(tokens, 0, "with") && !word(tokens, 0, "merge") {
        return Overriding::Nothing;
    }
    for place in 0..solid.len() {
        if !word(tokens, place, "overriding") || !word(tokens, place + 2, "value") {
            continue;
        }
        let found = match () {
            () if word(tokens, place + 1, "system") => Overriding::System,
            () if word(tokens, place + 1, "user") => Overriding::User,
            () => continue,
        };
        for at in &solid[place..place + 3] {
            tokens[*at].token = Token::Whitespace(Whitespace::Space);
        }
        return found;
    }
    Overriding::Nothing
}
