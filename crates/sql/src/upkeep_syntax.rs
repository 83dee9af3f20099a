//! Statements about the database as a whole and about queries that run, which the parser does not know, as calls of
//! procedures:
//!
//! | statement | call |
//! | --- | --- |
//! | `CHECKPOINT`, `CHECKPOINT db` | `checkpoint()`, `checkpoint('db')` |
//! | `CHECK DATABASE` | `check_database()` |
//! | `BACKUP DATABASE TO 'directory'` | `backup_database('directory')` |
//! | `EXPORT DATABASE 'directory' (FORMAT csv)` | `export_database('directory', 'csv')` |
//! | `IMPORT DATABASE 'directory'` | `import_database('directory')` |
//! | `CREATE WIDE TABLE w FROM fact` | `create_wide_table(...)`, see `wide_syntax` |
//! | `REFRESH WIDE TABLE w` | `refresh_wide_table('', 'w')` |
//! | `PAUSE QUERY 7`, `RESUME QUERY 7`, `CANCEL QUERY 7` | `pause_query(7)` and so on |
//! | `ALTER QUERY 7 SET priority = 5` | `alter_query(7, 'priority', 5)` |
//! | `ALTER ROLE r SET priority = 5` | `alter_role('r', 'priority', '5')` |
//! | `ALTER ROLE r RESET priority`, `ALTER ROLE r RESET ALL` | `reset_role('r', 'priority')`, `reset_role('r')` |

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
    if let [verb, name] = solid
        && is_word(verb, "checkpoint")
        && let Token::Word(word) = &name.token
    {
        let name = match word.quote_style {
            Some(_) => quoted(name),
            None => {
                TokenWithSpan { token: Token::SingleQuotedString(word.value.to_lowercase()), span: name.span }
            }
        };
        return Some(("checkpoint", vec![name]));
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
    about_query(solid).or_else(|| about_role(solid))
}

/// Of ALTER ROLE and its other name, ALTER USER.
fn about_role(solid: &[TokenWithSpan]) -> Option<(&'static str, Vec<TokenWithSpan>)> {
    let [alter, role, name, verb, setting, rest @ ..] = solid else { return None };
    let is_role = is_word(role, "role") || is_word(role, "user");
    if !is_word(alter, "alter") || !is_role || !matches!(setting.token, Token::Word(_)) {
        return None;
    }
    let name = match &name.token {
        Token::Word(word) if word.quote_style.is_none() => {
            let folded = Token::SingleQuotedString(word.value.to_lowercase());
            TokenWithSpan { token: folded, span: name.span }
        }
        _ => quoted(name),
    };
    let resets = match rest {
        [] => is_word(verb, "reset"),
        [equals, value] if is_word(verb, "set") && (equals.token == Token::Eq || is_word(equals, "to")) => {
            if !is_word(value, "default") {
                return Some(("alter_role", vec![name, quoted(setting), quoted(value)]));
            }
            true
        }
        _ => false,
    };
    let all = rest.is_empty() && is_word(setting, "all");
    resets.then(|| ("reset_role", std::iter::once(name).chain((!all).then(|| quoted(setting))).collect()))
}

/// A word or number as text.
fn quoted(token: &TokenWithSpan) -> TokenWithSpan {
    let text = match &token.token {
        Token::Word(word) => word.value.clone(),
        Token::Number(number, _) => number.clone(),
        _ => return token.clone(),
    };
    TokenWithSpan { token: Token::SingleQuotedString(text), span: token.span }
}

/// Of PAUSE, RESUME, CANCEL and ALTER QUERY.
fn about_query(solid: &[TokenWithSpan]) -> Option<(&'static str, Vec<TokenWithSpan>)> {
    let [verb, query, id, rest @ ..] = solid else { return None };
    if !is_word(query, "query") || !matches!(id.token, Token::Number(..)) {
        return None;
    }
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
        for (text, call) in [
            ("ALTER ROLE Nightly SET priority = 0", "CALL alter_role ( 'nightly' , 'priority' , '0' )"),
            (
                "alter user \"A b\" set query_memory to '1GB';",
                "CALL alter_role ( 'A b' , 'query_memory' , '1GB' )",
            ),
            ("ALTER ROLE r SET priority TO DEFAULT", "CALL reset_role ( 'r' , 'priority' )"),
            ("ALTER ROLE r RESET priority", "CALL reset_role ( 'r' , 'priority' )"),
            ("ALTER USER r RESET ALL", "CALL reset_role ( 'r' )"),
        ] {
            assert_eq!(taken(text), call);
        }
        for text in [
            "ALTER ROLE r",
            "ALTER ROLE r SET priority",
            "ALTER ROLE r priority = 5",
            "ALTER TABLE r SET x = 5",
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
