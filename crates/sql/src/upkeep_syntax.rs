//! Statements about the database as a whole, which the parser does not know, as calls of procedures:
//!
//! | statement | call |
//! | --- | --- |
//! | `CHECKPOINT` | `checkpoint()` |
//! | `CHECK DATABASE` | `check_database()` |
//! | `BACKUP DATABASE TO 'directory'` | `backup_database('directory')` |
//! | `EXPORT DATABASE 'directory' (FORMAT csv)` | `export_database('directory', 'csv')` |
//! | `IMPORT DATABASE 'directory'` | `import_database('directory')` |
//! | `CREATE WIDE TABLE w FROM fact` | `create_wide_table(...)`, see `wide_syntax` |
//! | `REFRESH WIDE TABLE w` | `refresh_wide_table('', 'w')` |

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::parse::is_word;

/// Makes a call of such a statement; anything else stays as it is.
pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let solid: Vec<TokenWithSpan> = tokens
        .iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF | Token::SemiColon))
        .cloned()
        .collect();
    let Some((procedure, arguments)) = recognized(&solid).or_else(|| crate::wide_syntax::recognized(&solid))
    else {
        crate::wide_syntax::take_drop(tokens);
        return;
    };
    let Some(span) = solid.first().map(|t| t.span) else { return };
    let own = |token: Token| TokenWithSpan { token, span };
    let end = tokens.last().filter(|t| t.token == Token::EOF).cloned();
    let mut call =
        vec![own(Token::make_keyword("CALL")), own(Token::make_word(procedure, None)), own(Token::LParen)];
    for (at, argument) in arguments.into_iter().enumerate() {
        if at > 0 {
            call.push(own(Token::Comma));
        }
        call.push(argument);
    }
    call.push(own(Token::RParen));
    call.extend(end);
    *tokens = call;
}

/// The procedure and its arguments.
fn recognized(solid: &[TokenWithSpan]) -> Option<(&'static str, Vec<TokenWithSpan>)> {
    let words = |wanted: &[&str]| {
        solid.len() >= wanted.len() && wanted.iter().zip(solid).all(|(word, token)| is_word(token, word))
    };
    let text = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
    if words(&["checkpoint"]) && solid.len() == 1 {
        return Some(("checkpoint", vec![]));
    }
    if words(&["check", "database"]) && solid.len() == 2 {
        return Some(("check_database", vec![]));
    }
    if words(&["backup", "database", "to"]) && solid.len() == 4 && text(&solid[3]) {
        return Some(("backup_database", vec![solid[3].clone()]));
    }
    if words(&["import", "database"]) && solid.len() == 3 && text(&solid[2]) {
        return Some(("import_database", vec![solid[2].clone()]));
    }
    if words(&["export", "database"]) && solid.len() >= 3 && text(&solid[2]) {
        let format = match &solid[3..] {
            [] => None,
            [open, format, name, close]
                if open.token == Token::LParen
                    && is_word(format, "format")
                    && close.token == Token::RParen =>
            {
                Some(match &name.token {
                    Token::Word(word) => TokenWithSpan {
                        token: Token::SingleQuotedString(word.value.clone()),
                        span: name.span,
                    },
                    _ => name.clone(),
                })
            }
            _ => return None,
        };
        let directory = solid[2].clone();
        return Some(("export_database", std::iter::once(directory).chain(format).collect()));
    }
    None
}
