//! PostgreSQL's grammar as the parser knows it, with lists, structs, maps and lambdas, and with three corrections.
//!
//! The parser reads everything after IS [NOT] DISTINCT FROM as its right operand, so that `a IS DISTINCT FROM b AND c`
//! compares with `b AND c`. Here the operand ends before AND and OR, as it should.
//!
//! It takes every bracket after IN that begins with a query for a subquery. Here `x IN ((SELECT 1), 2)` is a list, as
//! what follows the inner bracket tells.
//!
//! Where the parser fails at one reading of a text it goes back and tries another, nested readings each time anew, so
//! that some texts (deeply nested calls with a fault inside) would take it exponential time. Here the expressions it
//! may begin are counted, and beyond a multiple of the tokens the statement is refused.

use std::any::TypeId;
use std::cell::Cell;

use sqlparser::ast::{
    Array, BinaryOperator, Expr, Ident, LambdaFunction, LambdaFunctionParameter, LambdaSyntax,
    OneOrManyWithParens, UnaryOperator,
};
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::Token;
use types::stop::{self, Place};

use crate::nested_syntax::LAMBDA;

#[derive(Debug)]
pub(crate) struct Grammar {
    postgresql: PostgreSqlDialect,
    /// Expressions that may still be begun.
    budget: Cell<usize>,
}

/// Readings of one token, on average, that are let through; a nested bracket after FROM doubles those inside it.
const READINGS_MAX: usize = 200;
const READINGS_BASE: usize = 20_000;

impl Grammar {
    pub fn new() -> Self {
        Grammar { postgresql: PostgreSqlDialect {}, budget: Cell::new(READINGS_BASE) }
    }

    /// Allows for a text of so many tokens.
    pub fn allow_for(&self, tokens: usize) {
        self.budget.set(READINGS_BASE + READINGS_MAX * tokens);
    }
}

/// What PostgreSQL's dialect answers, answered by asking it.
macro_rules! as_postgresql {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            self.postgresql.$question()
        })*
    };
}

/// `[NOT] IN ((`: a subquery in brackets of its own, or a list whose first item is in brackets; anything else is left
/// to the parser.
fn parse_in_brackets(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let negated = parser.peek_keyword(Keyword::NOT);
    let start = usize::from(negated);
    let is_in = matches!(&parser.peek_nth_token_ref(start).token, Token::Word(w) if w.keyword == Keyword::IN);
    let brackets = (1..=2).all(|at| parser.peek_nth_token_ref(start + at).token == Token::LParen);
    if !is_in || !brackets {
        return None;
    }
    for _ in 0..start + 2 {
        parser.next_token();
    }
    let expr = Box::new(expr.clone());
    let subquery = parser.maybe_parse(|parser| {
        let query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        Ok(query)
    });
    Some(match subquery {
        Ok(Some(subquery)) => Ok(Expr::InSubquery { expr, subquery, negated }),
        Ok(None) => parser.parse_comma_separated(Parser::parse_expr).and_then(|list| {
            parser.expect_token(&Token::RParen)?;
            Ok(Expr::InList { expr, list, negated })
        }),
        Err(error) => Err(error),
    })
}

/// A lambda: after the mark that `nested_syntax` set, `x -> body` or `(x, y) -> body`; or `lambda x, y : body`.
fn parse_lambda(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let Token::Word(word) = &parser.peek_token_ref().token else { return None };
    let marked = word.value == LAMBDA;
    let written = word.quote_style.is_none()
        && word.value.eq_ignore_ascii_case("lambda")
        && matches!(parser.peek_nth_token_ref(1).token, Token::Word(_))
        && matches!(parser.peek_nth_token_ref(2).token, Token::Colon | Token::Comma);
    if !marked && !written {
        return None;
    }
    parser.next_token();
    Some(parse_lambda_body(parser, marked))
}

/// `#2`: the second column of what FROM gives, as a name in quotes that nobody else writes.
fn parse_positional(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    if parser.peek_token_ref().token != Token::Sharp {
        return None;
    }
    let Token::Number(digits, _) = &parser.peek_nth_token_ref(1).token else { return None };
    let value = format!("#{digits}");
    parser.next_token();
    let span = parser.next_token().span;
    Some(Ok(Expr::Identifier(Ident { value, quote_style: Some(POSITIONAL), span })))
}

/// `[NOT] LIKE ANY (...)`, `ILIKE ALL (...)`: as the operators with ANY and ALL, over a list or a query.
fn parse_quantified_pattern(parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
    let keyword = |parser: &Parser, at: usize, wanted: &[Keyword]| match &parser.peek_nth_token_ref(at).token
    {
        Token::Word(word) => wanted.iter().copied().find(|k| word.keyword == *k),
        _ => None,
    };
    let negated = keyword(parser, 0, &[Keyword::NOT]).is_some();
    let verb = usize::from(negated);
    let like = keyword(parser, verb, &[Keyword::LIKE, Keyword::ILIKE])?;
    let quantifier = keyword(parser, verb + 1, &[Keyword::ANY, Keyword::SOME, Keyword::ALL])?;
    if parser.peek_nth_token_ref(verb + 2).token != Token::LParen {
        return None;
    }
    for _ in 0..verb + 3 {
        parser.next_token();
    }
    let compare_op = match (like, negated) {
        (Keyword::LIKE, false) => BinaryOperator::PGLikeMatch,
        (Keyword::LIKE, true) => BinaryOperator::PGNotLikeMatch,
        (_, false) => BinaryOperator::PGILikeMatch,
        (_, true) => BinaryOperator::PGNotILikeMatch,
    };
    let queries = [Keyword::SELECT, Keyword::WITH, Keyword::VALUES, Keyword::FROM];
    let right = match keyword(parser, 0, &queries) {
        Some(_) => parser.parse_query().map(Expr::Subquery),
        None => parser.parse_comma_separated(Parser::parse_expr).map(patterns),
    };
    let right = right.and_then(|right| parser.expect_token(&Token::RParen).map(|_| Box::new(right)));
    let left = Box::new(expr.clone());
    Some(right.map(|right| match quantifier {
        Keyword::ALL => Expr::AllOp { left, compare_op, right },
        other => Expr::AnyOp { left, compare_op, right, is_some: other == Keyword::SOME },
    }))
}

/// Several patterns, or a text that is one: a list. One value: a list already.
fn patterns(mut elem: Vec<Expr>) -> Expr {
    let is_text = |e: &Expr| matches!(e, Expr::Value(v) if matches!(&v.value, sqlparser::ast::Value::SingleQuotedString(t) if !t.starts_with('{')));
    match elem.as_slice() {
        [one] if !is_text(one) => elem.remove(0),
        _ => Expr::Array(Array { elem, named: true }),
    }
}

impl Grammar {
    /// `[NOT] BETWEEN SYMMETRIC a AND b`: between them in either order.
    fn parse_symmetric(&self, parser: &mut Parser, expr: &Expr) -> Option<Result<Expr, ParserError>> {
        let is = |parser: &Parser, at: usize, word: &str| match &parser.peek_nth_token_ref(at).token {
            Token::Word(w) => w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word),
            _ => false,
        };
        let negated = is(parser, 0, "not");
        let verb = usize::from(negated);
        let symmetric = is(parser, verb + 1, "symmetric");
        let either = symmetric || is(parser, verb + 1, "asymmetric");
        // A column of that name stands alone before AND.
        if !is(parser, verb, "between") || !either || is(parser, verb + 2, "and") {
            return None;
        }
        for _ in 0..verb + 2 {
            parser.next_token();
        }
        let bound = |parser: &mut Parser| parser.parse_subexpr(self.prec_value(Precedence::Between));
        let bounds = bound(parser).and_then(|low| {
            parser.expect_keyword(Keyword::AND)?;
            Ok((low, bound(parser)?))
        });
        Some(bounds.map(|(low, high)| {
            let between = |low: &Expr, high: &Expr| {
                let (expr, low, high) = (expr.clone(), low.clone(), high.clone());
                Expr::Between { expr: Box::new(expr), negated, low: Box::new(low), high: Box::new(high) }
            };
            if !symmetric {
                return between(&low, &high);
            }
            let (left, right) = (Box::new(between(&low, &high)), Box::new(between(&high, &low)));
            let op = if negated { BinaryOperator::And } else { BinaryOperator::Or };
            Expr::Nested(Box::new(Expr::BinaryOp { left, op, right }))
        }))
    }
}

/// How the name of `#2` is quoted.
pub(crate) const POSITIONAL: char = '#';

fn parse_lambda_body(parser: &mut Parser, marked: bool) -> Result<Expr, ParserError> {
    let bracket = marked && parser.consume_token(&Token::LParen);
    let params = match marked && !bracket {
        true => vec![parse_lambda_parameter(parser)?],
        false => parser.parse_comma_separated(parse_lambda_parameter)?,
    };
    if bracket {
        parser.expect_token(&Token::RParen)?;
    }
    parser.expect_token(if marked { &Token::Arrow } else { &Token::Colon })?;
    Ok(Expr::Lambda(LambdaFunction {
        params: OneOrManyWithParens::Many(params),
        body: Box::new(parser.parse_expr()?),
        syntax: LambdaSyntax::Arrow,
    }))
}

/// Binds a sign tighter than `^` and looser than `[]` and `::`, as PostgreSQL does.
const SIGN_PRECEDENCE: u8 = 125;
/// The rank of operators that have none of their own, before an operand as between two.
const OPERATOR_PRECEDENCE: u8 = 70;

/// An operator before its operand: `-2 ^ 2` is `(-2) ^ 2`, and `~1 + 1` is `~(1 + 1)`.
fn parse_sign(parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
    let (op, precedence) = match parser.peek_token_ref().token {
        Token::Minus => (UnaryOperator::Minus, SIGN_PRECEDENCE),
        Token::Plus => (UnaryOperator::Plus, SIGN_PRECEDENCE),
        Token::Tilde => (UnaryOperator::BitwiseNot, OPERATOR_PRECEDENCE),
        Token::PGSquareRoot => (UnaryOperator::PGSquareRoot, OPERATOR_PRECEDENCE),
        Token::PGCubeRoot => (UnaryOperator::PGCubeRoot, OPERATOR_PRECEDENCE),
        Token::AtSign => (UnaryOperator::PGAbs, OPERATOR_PRECEDENCE),
        _ => return None,
    };
    parser.next_token();
    let operand = parser.parse_subexpr(precedence);
    Some(operand.map(|expr| Expr::UnaryOp { op, expr: Box::new(expr) }))
}

fn parse_lambda_parameter(parser: &mut Parser) -> Result<LambdaFunctionParameter, ParserError> {
    Ok(LambdaFunctionParameter { name: parser.parse_identifier()?, data_type: None })
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        self.postgresql.dialect()
    }

    /// `first_value(x IGNORE NULLS)`, beside the standard's place behind the bracket.
    fn supports_window_function_null_treatment_arg(&self) -> bool {
        true
    }

    /// `struct_pack(a := 1)`.
    fn supports_named_fn_args_with_assignment_operator(&self) -> bool {
        true
    }

    /// `columns = {'a': 'BIGINT'}`.
    fn supports_dictionary_syntax(&self) -> bool {
        true
    }

    /// `FROM t`, which selects everything, and `FROM t SELECT a`.
    fn supports_from_first_select(&self) -> bool {
        true
    }

    fn supports_order_by_all(&self) -> bool {
        true
    }
    fn supports_select_wildcard_exclude(&self) -> bool {
        true
    }
    fn supports_select_wildcard_replace(&self) -> bool {
        true
    }
    fn supports_select_wildcard_rename(&self) -> bool {
        true
    }
    fn supports_select_wildcard_ilike(&self) -> bool {
        true
    }

    /// A name before `=>` is a plain name: as an expression it would be read twice, and so would whatever it nests.
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }

    fn support_map_literal_syntax(&self) -> bool {
        true
    }

    fn parse_prefix(&self, parser: &mut Parser) -> Option<Result<Expr, ParserError>> {
        // The parser has no error that it would not take for a reason to try another reading.
        stop::unwind_if_stopped(Place::Parse);
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        if left == 0 {
            // The one error that makes the parser give up all its readings at once.
            return Some(Err(ParserError::RecursionLimitExceeded));
        }
        parse_positional(parser).or_else(|| parse_lambda(parser)).or_else(|| parse_sign(parser))
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if parser.consume_token(&Token::DuckIntDiv) {
            let right = match parser.parse_subexpr(self.prec_value(Precedence::MulDivModOp)) {
                Ok(right) => Box::new(right),
                Err(error) => return Some(Err(error)),
            };
            let (left, op) = (Box::new(expr.clone()), BinaryOperator::DuckIntegerDivide);
            return Some(Ok(Expr::BinaryOp { left, op, right }));
        }
        if !parser.peek_keyword(Keyword::IS) {
            return parse_in_brackets(parser, expr)
                .or_else(|| self.parse_symmetric(parser, expr))
                .or_else(|| parse_quantified_pattern(parser, expr));
        }
        let negated = if parser.parse_keywords(&[Keyword::IS, Keyword::NOT, Keyword::DISTINCT, Keyword::FROM])
        {
            true
        } else if parser.parse_keywords(&[Keyword::IS, Keyword::DISTINCT, Keyword::FROM]) {
            false
        } else {
            return None;
        };
        let right = match parser.parse_subexpr(self.prec_value(Precedence::Is)) {
            Ok(right) => Box::new(right),
            Err(error) => return Some(Err(error)),
        };
        let left = Box::new(expr.clone());
        Some(Ok(if negated {
            Expr::IsNotDistinctFrom(left, right)
        } else {
            Expr::IsDistinctFrom(left, right)
        }))
    }

    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        self.postgresql.identifier_quote_style(identifier)
    }
    fn is_delimited_identifier_start(&self, character: char) -> bool {
        self.postgresql.is_delimited_identifier_start(character)
    }
    fn is_identifier_start(&self, character: char) -> bool {
        self.postgresql.is_identifier_start(character)
    }
    fn is_identifier_part(&self, character: char) -> bool {
        self.postgresql.is_identifier_part(character)
    }
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        // PostgreSQL reserves these; taken for names where they fail, they would be read twice.
        matches!(keyword, Keyword::CASE | Keyword::CAST | Keyword::NOT)
            || self.postgresql.is_reserved_for_identifier(keyword)
    }
    fn is_custom_operator_part(&self, character: char) -> bool {
        self.postgresql.is_custom_operator_part(character)
    }
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        // Matches are operators like any other, which the parser ranks with comparisons.
        if matches!(
            parser.peek_token_ref().token,
            Token::Tilde
                | Token::TildeAsterisk
                | Token::ExclamationMarkTilde
                | Token::ExclamationMarkTildeAsterisk
                | Token::DoubleTilde
                | Token::DoubleTildeAsterisk
                | Token::ExclamationMarkDoubleTilde
                | Token::ExclamationMarkDoubleTildeAsterisk
        ) {
            return Some(Ok(self.prec_value(Precedence::PgOther)));
        }
        self.postgresql.get_next_precedence(parser)
    }
    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.postgresql.prec_value(precedence)
    }

    as_postgresql!(
        supports_unicode_string_literal,
        supports_filter_during_aggregation,
        supports_group_by_expr,
        allow_extract_custom,
        allow_extract_single_quotes,
        supports_create_index_with_clause,
        supports_explain_with_utility_options,
        supports_listen_notify,
        supports_factorial_operator,
        supports_bitwise_shift_operators,
        supports_comment_on,
        supports_load_extension,
        supports_named_fn_args_with_colon_operator,
        supports_empty_projections,
        supports_nested_comments,
        supports_string_escape_constant,
        supports_numeric_literal_underscores,
        supports_array_typedef_with_brackets,
        supports_geometric_types,
        supports_set_names,
        supports_alter_column_type_using,
        supports_notnull_operator,
        supports_interval_options,
        supports_insert_table_alias,
        supports_create_table_like_parenthesized,
        supports_select_wildcard_with_alias,
        supports_comma_separated_trim,
        supports_xml_expressions,
        supports_comment_optimizer_hint,
    );
}
