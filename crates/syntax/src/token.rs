//! Tokens: what the lexer cuts a text into.

use crate::Span;
use crate::keyword::Keyword;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The end of the text.
    End,
    /// An unquoted word; `Token::keyword` says which of the known ones.
    Word,
    /// `"name"`.
    QuotedName,
    /// `U&"name"`.
    UnicodeName,
    /// `12`, `1.5e3`, `.5`, `1_000`, `0xff`, `0b1`, `0o7`.
    Number,
    /// `'text'`.
    Text,
    /// `E'text'`.
    EscapeText,
    /// `U&'text'`.
    UnicodeText,
    /// `$$text$$`, `$tag$text$tag$`.
    DollarText,
    /// `N'text'`.
    NationalText,
    /// `B'101'`.
    BitText,
    /// `X'ff'`.
    HexText,
    /// `$1`.
    Parameter,
    /// `$name`.
    NamedParameter,
    /// `?`, a parameter or an operator by where it stands.
    Question,
    /// `+`, `<=`, `->`, `@>` and so on; the token's text says which.
    Operator,
    /// `(`.
    LeftParen,
    /// `)`.
    RightParen,
    /// `[`.
    LeftBracket,
    /// `]`.
    RightBracket,
    /// `{`.
    LeftBrace,
    /// `}`.
    RightBrace,
    /// `,`.
    Comma,
    /// `;`.
    Semicolon,
    /// `.`.
    Dot,
    /// `:`.
    Colon,
    /// `::`.
    DoubleColon,
    /// `:=`.
    ColonEquals,
    /// `=>`.
    Arrow,
}

/// One token, 12 bytes: its text stays where it is.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Which of the known words, of an unquoted word; otherwise `Keyword::NO_KEYWORD`.
    pub keyword: Keyword,
    /// Where it stands.
    pub span: Span,
}

impl Token {
    /// Whether the other one begins where this one ends.
    pub(crate) fn touches(&self, next: &Token) -> bool {
        self.span.end == next.span.start
    }
}
