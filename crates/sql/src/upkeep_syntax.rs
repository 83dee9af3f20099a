//! Statements about the database as a whole and about queries that run, which the parser does not know, as calls of
//! procedures:
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
//! | `PAUSE QUERY 7`, `RESUME QUERY 7`, `CANCEL QUERY 7` | `pause_query(7)` and so on |
//! | `ALTER QUERY 7 SET priority = 5` | `alter_query(7, 'priority', 5)` |

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
    about_query(solid)
}

/// Of PAUSE, RESUME, CANCEL and ALTER QUERY.
fn about_query(solid: &[TokenWithSpan]) -> Option<(&'static str, Vec<TokenWithSpan>)> {
    let [verb, query, id, rest @ ..] = solid else { return None };
    if !is_word(query, "query") || !matches!(id.token, Token::Number(..)) {
        return None;
    }
    let quoted = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) => {
            TokenWithSpan { token: Token::SingleQuotedString(word.value.clone()), span: token.span }
        }
        Token::Number(number, _) => {
            TokenWithSpan { token: Token::SingleQuotedString(number.clone()), span: token.span }
        }
        _ => token.clone(),
    };
    match rest {
        [] => {
            let verbs = [("pause", "pause_query"), ("resume", "resume_query"), ("cancel", "cancel_query")];
            let (_, procedure) = verbs.into_iter().find(|(word, _)| is_word(verb, word))?;
            Some((procedure, vec![id.clone()]))
        }
        [set, name, equals, value]
            if is_word(verb, "alter")
                && is_word(set, "set")
                && matches!(name.token, Token::Word(_))
                && (equals.token == Token::Eq || is_word(equals, "to")) =>
        {
            Some(("alter_query", vec![id.clone(), quoted(name), quoted(value)]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::PostgreSqlDialect;
    use sqlparser::tokenizer::Tokenizer;

    fn taken(text: &str) -> String {
        let dialect = PostgreSqlDialect {};
        let mut tokens = Tokenizer::new(&dialect, text).tokenize_with_location().expect("has tokens");
        super::take(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    #[test]
    fn statements_about_queries_are_calls() {
        for (text, call) in [
            ("PAUSE QUERY 7", "CALL pause_query ( 7 )"),
            ("resume query 7;", "CALL resume_query ( 7 )"),
            ("Cancel Query 7", "CALL cancel_query ( 7 )"),
            ("ALTER QUERY 7 SET priority = 5", "CALL alter_query ( 7 , 'priority' , '5' )"),
            ("ALTER QUERY 7 SET query_memory TO '1GB'", "CALL alter_query ( 7 , 'query_memory' , '1GB' )"),
        ] {
            assert_eq!(taken(text), call);
        }
        for text in [
            "PAUSE QUERY",
            "PAUSE QUERY x",
            "PAUSE QUERY 7 8",
            "ALTER QUERY 7 SET",
            "ALTER QUERY 7 priority = 5",
        ] {
            assert!(!taken(text).starts_with("CALL"), "{text}");
        }
    }
}
