//! Which of the words and signs that passes over tokens look for a statement has, found in one walk: most statements have
//! none of them, and each pass would walk over all of them again.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// A set of words and signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen(u32);

impl Seen {
    pub(crate) const LEFT_BRACKET: Seen = Seen(1);
    pub(crate) const STAR: Seen = Seen(1 << 1);
    pub(crate) const PERCENT_SIGN: Seen = Seen(1 << 2);
    pub(crate) const PARAMETER: Seen = Seen(1 << 3);
    pub(crate) const VALUES: Seen = Seen(1 << 4);
    pub(crate) const TRIM: Seen = Seen(1 << 5);
    pub(crate) const SUBSTRING: Seen = Seen(1 << 6);
    /// COLUMNS, LIKE and its kin.
    pub(crate) const PATTERN: Seen = Seen(1 << 7);
    pub(crate) const GROUPING: Seen = Seen(1 << 8);
    pub(crate) const PERCENT: Seen = Seen(1 << 9);
    pub(crate) const EXCLUDE: Seen = Seen(1 << 10);
    pub(crate) const INTO: Seen = Seen(1 << 11);
    /// POSITIONAL and APPLY.
    pub(crate) const JOIN_KIND: Seen = Seen(1 << 12);
    /// ASOF and GLOBAL.
    pub(crate) const ASOF: Seen = Seen(1 << 13);
    pub(crate) const OVERRIDING: Seen = Seen(1 << 14);
    /// A statement that begins with none of the words of queries and of statements that change rows.
    pub(crate) const OTHER_STATEMENT: Seen = Seen(1 << 15);

    /// What the tokens have.
    pub(crate) fn of(tokens: &[TokenWithSpan]) -> Seen {
        let mut seen = Seen::default();
        let mut first = true;
        for token in tokens {
            let found = match &token.token {
                Token::Whitespace(_) | Token::EOF => continue,
                Token::Word(word) if word.quote_style.is_none() => {
                    if std::mem::take(&mut first) && !begins_rows(word.keyword) {
                        seen = seen.and(Seen::OTHER_STATEMENT);
                    }
                    Seen::of_word(word.keyword, &word.value)
                }
                Token::LBracket => Seen::LEFT_BRACKET,
                Token::Mul => Seen::STAR,
                Token::Mod => Seen::PERCENT_SIGN,
                Token::Question | Token::Placeholder(_) => Seen::PARAMETER,
                _ => Seen::default(),
            };
            if std::mem::take(&mut first) && !matches!(token.token, Token::LParen) {
                seen = seen.and(Seen::OTHER_STATEMENT);
            }
            seen = seen.and(found);
        }
        seen
    }

    fn of_word(keyword: Keyword, word: &str) -> Seen {
        match keyword {
            Keyword::VALUES => Seen::VALUES,
            Keyword::TRIM => Seen::TRIM,
            Keyword::SUBSTRING => Seen::SUBSTRING,
            Keyword::COLUMNS | Keyword::LIKE | Keyword::ILIKE | Keyword::SIMILAR => Seen::PATTERN,
            Keyword::GROUPING => Seen::GROUPING,
            Keyword::PERCENT => Seen::PERCENT,
            Keyword::EXCLUDE => Seen::EXCLUDE,
            Keyword::INTO => Seen::INTO,
            Keyword::APPLY => Seen::JOIN_KIND,
            Keyword::ASOF | Keyword::GLOBAL => Seen::ASOF,
            Keyword::NoKeyword => match word.len() {
                4 if word.eq_ignore_ascii_case("glob") => Seen::PATTERN,
                10 if word.eq_ignore_ascii_case("positional") => Seen::JOIN_KIND,
                10 if word.eq_ignore_ascii_case("overriding") => Seen::OVERRIDING,
                _ => Seen::default(),
            },
            _ => Seen::default(),
        }
    }

    fn and(self, other: Seen) -> Seen {
        Seen(self.0 | other.0)
    }

    /// Whether any of them is there.
    pub(crate) fn has(self, any: Seen) -> bool {
        self.0 & any.0 != 0
    }
}

/// Whether a statement that begins with the word gives or changes rows, or explains one that does.
fn begins_rows(keyword: Keyword) -> bool {
    matches!(
        keyword,
        Keyword::SELECT
            | Keyword::WITH
            | Keyword::FROM
            | Keyword::VALUES
            | Keyword::INSERT
            | Keyword::UPDATE
            | Keyword::DELETE
            | Keyword::EXPLAIN
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlparser::tokenizer::Tokenizer;

    fn of(text: &str) -> Seen {
        let tokens = Tokenizer::new(&crate::dialect::Grammar::new(), text).tokenize_with_location();
        Seen::of(&tokens.expect("has tokens"))
    }

    #[test]
    fn words_and_signs_are_seen_where_they_are() {
        assert_eq!(of("SELECT a FROM t WHERE b = 1"), Seen::default());
        assert_eq!(of("  ( select 1 )"), Seen::default());
        for (text, seen) in [
            ("SELECT a[1]", Seen::LEFT_BRACKET),
            ("select *", Seen::STAR),
            ("select 1 limit 10 %", Seen::PERCENT_SIGN),
            ("select $1", Seen::PARAMETER),
            ("select ?", Seen::PARAMETER),
            ("values (1)", Seen::VALUES),
            ("select Trim(a)", Seen::TRIM),
            ("select substring(a)", Seen::SUBSTRING),
            ("select a glob b", Seen::PATTERN),
            ("select columns(a)", Seen::PATTERN),
            ("select a from t group by grouping sets ((a))", Seen::GROUPING),
            ("select 1 limit 1 percent", Seen::PERCENT),
            ("select 1 into t", Seen::INTO),
            ("select 1 from a Positional join b", Seen::JOIN_KIND),
            ("select 1 from a cross apply b", Seen::JOIN_KIND),
            ("select 1 from a asof join b", Seen::ASOF),
            ("insert into t overriding", Seen::INTO.and(Seen::OVERRIDING)),
            ("create secret a", Seen::OTHER_STATEMENT),
            ("\"select\" 1", Seen::OTHER_STATEMENT),
            ("checkpoint", Seen::OTHER_STATEMENT),
        ] {
            assert_eq!(of(text), seen, "{text}");
        }
    }
}
