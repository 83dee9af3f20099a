//! `USE schema`, `USE database`, `USE database.schema` and `SET SCHEMA schema`, as settings of `search_path`; names in such a setting.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use crate::parse::is_word;

/// Makes `SET search_path = '...'` of both statements; anything else stays as it is.
pub(crate) fn take(tokens: &mut Vec<TokenWithSpan>) {
    let solid: Vec<TokenWithSpan> = tokens
        .iter()
        .filter(|t| !matches!(t.token, Token::Whitespace(_) | Token::EOF | Token::SemiColon))
        .cloned()
        .collect();
    let (verb, name) = match solid.as_slice() {
        [verb, name @ ..] if is_word(verb, "use") => (verb, name),
        [verb, schema, sign, name @ ..]
            if is_word(verb, "set")
                && is_word(schema, "schema")
                && (sign.token == Token::Eq || is_word(sign, "to")) =>
        {
            (verb, name)
        }
        [verb, schema, name @ ..] if is_word(verb, "set") && is_word(schema, "schema") => (verb, name),
        _ => return,
    };
    let text = |token: &TokenWithSpan| match &token.token {
        Token::Word(word) if word.quote_style.is_some() => Some(word.value.clone()),
        Token::Word(word) => Some(word.value.to_lowercase()),
        Token::SingleQuotedString(text) => Some(text.clone()),
        _ => None,
    };
    let schema = match name {
        [name] => text(name).map(|name| quoted(&name)),
        [database, point, name] if point.token == Token::Period => {
            text(database).zip(text(name)).map(|(d, s)| format!("{}.{}", quoted(&d), quoted(&s)))
        }
        _ => None,
    };
    let (Some(schema), Some(place)) = (schema, name.last()) else { return };
    let at = |token: Token, span| TokenWithSpan { token, span };
    let end = tokens.last().filter(|t| t.token == Token::EOF).cloned();
    let mut set = vec![
        at(Token::make_keyword("SET"), verb.span),
        at(Token::make_word("search_path", None), place.span),
        at(Token::Eq, verb.span),
        at(Token::SingleQuotedString(schema), place.span),
    ];
    set.extend(end);
    *tokens = set;
}

/// A schema's name as it stands in a list of them.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use sqlparser::tokenizer::Tokenizer;

    fn taken(text: &str) -> String {
        let dialect = crate::dialect::Grammar::new();
        let mut tokens = Tokenizer::new(&dialect, text).tokenize_with_location().expect("has tokens");
        super::take(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    #[test]
    fn statements_about_the_schema_set_the_path() {
        for (text, set) in [
            ("USE Depot;", r#"SET search_path = '"depot"'"#),
            ("use sales.\"De\"\"pot\"", r#"SET search_path = '"sales"."De""pot"'"#),
            ("USE memory", r#"SET search_path = '"memory"'"#),
            ("SET SCHEMA 'depot'", r#"SET search_path = '"depot"'"#),
            ("set schema = depot", r#"SET search_path = '"depot"'"#),
            ("SET schema TO depot", r#"SET search_path = '"depot"'"#),
        ] {
            assert_eq!(taken(text), set, "{text}");
        }
        for text in ["USE", "USE a.b.c", "USE a b", "SET x = 1", "SELECT 1"] {
            assert!(!taken(text).contains("search_path"), "{text}");
        }
    }
}
