//! PostgreSQL's grammar as the parser knows it, with one correction.
//!
//! The parser reads everything after IS [NOT] DISTINCT FROM as its right operand, so that `a IS DISTINCT FROM b AND c`
//! compares with `b AND c`. Here the operand ends before AND and OR, as it should.

use std::any::TypeId;

use sqlparser::ast::Expr;
use sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};

#[derive(Debug)]
pub(crate) struct Grammar(pub PostgreSqlDialect);

/// What PostgreSQL's dialect answers, answered by asking it.
macro_rules! as_postgresql {
    ($($question:ident),* $(,)?) => {
        $(fn $question(&self) -> bool {
            self.0.$question()
        })*
    };
}

impl Dialect for Grammar {
    fn dialect(&self) -> TypeId {
        self.0.dialect()
    }

    fn parse_infix(&self, parser: &mut Parser, expr: &Expr, _: u8) -> Option<Result<Expr, ParserError>> {
        if !parser.peek_keyword(Keyword::IS) {
            return None;
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
        self.0.identifier_quote_style(identifier)
    }
    fn is_delimited_identifier_start(&self, character: char) -> bool {
        self.0.is_delimited_identifier_start(character)
    }
    fn is_identifier_start(&self, character: char) -> bool {
        self.0.is_identifier_start(character)
    }
    fn is_identifier_part(&self, character: char) -> bool {
        self.0.is_identifier_part(character)
    }
    fn is_reserved_for_identifier(&self, keyword: Keyword) -> bool {
        self.0.is_reserved_for_identifier(keyword)
    }
    fn is_custom_operator_part(&self, character: char) -> bool {
        self.0.is_custom_operator_part(character)
    }
    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        self.0.get_next_precedence(parser)
    }
    fn prec_value(&self, precedence: Precedence) -> u8 {
        self.0.prec_value(precedence)
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
        supports_named_fn_args_with_expr_name,
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
