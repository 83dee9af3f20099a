//! Functions in FROM: numbers in a row, files, listings, and what statements in FROM become.

use std::rc::Rc;

use plan::LogicalPlan;
use sqlparser::ast::{Expr as Ast, FunctionArg, FunctionArgExpr, ObjectName};
use sqlparser::tokenizer::Span;
use types::{Error, Result, SqlState, Type, Value};

use super::expression::{Clause, ExprBinder};
use super::from::file_stem;
use super::scope::{Scope, nearest};
use super::{Binder, Relation, folded, listing};
use crate::parse::ROWS_OF;
use crate::pivot::PIVOT_OF;

/// Rows that generate_series may give: they are made while planning.
const SERIES_ROWS_MAX: i128 = 1_000_000;

impl<'a> Binder<'a> {
    /// `generate_series(a, b [, step])` and the functions that read files.
    pub(super) fn table_function(
        &mut self,
        name: &ObjectName,
        arguments: &'a [FunctionArg],
    ) -> Result<(Relation, String)> {
        let ident = name.0.last().and_then(|p| p.as_ident());
        let Some(ident) = ident else {
            return Err(Error::unsupported("this table function is not supported"));
        };
        let (function, span) = (folded(ident), ident.span);
        match function.as_str() {
            ROWS_OF => match arguments {
                [FunctionArg::Unnamed(FunctionArgExpr::Expr(text))] => {
                    let text = self.constant(text)?.0;
                    let text = text.as_text().unwrap_or_default().to_owned();
                    Ok((self.bind_inspection(text, span)?, "inspected".to_owned()))
                }
                _ => Err(Error::internal("a statement in FROM without its text")),
            },
            PIVOT_OF => match arguments {
                [
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(text)),
                    FunctionArg::Unnamed(FunctionArgExpr::Expr(with)),
                ] => {
                    let (text, with) = (self.constant(text)?.0, self.constant(with)?.0);
                    let text = text.as_text().unwrap_or_default().to_owned();
                    let with = with.as_text().unwrap_or_default().to_owned();
                    Ok((self.bind_pivot_statement(&text, &with, span)?, "pivot".to_owned()))
                }
                _ => Err(Error::internal("a PIVOT without its text")),
            },
            "generate_series" | "range" => {
                let relation = self.generate_series(&function, arguments, span)?;
                Ok((relation, function))
            }
            "read_parquet" | "parquet_scan" | "read_csv" | "read_csv_auto" | "read_json"
            | "read_json_auto" | "read_ndjson" | "read_ndjson_auto" | "read_arrow" | "read_tbl"
            | "sniff_csv" => self.file_function(&function, arguments, span),
            _ => {
                if let Some(called) = self.relations.macro_named(&function).filter(|m| m.table) {
                    self.count_instance()?;
                    return Ok((self.bind_table_macro(&function, called, arguments, span)?, function));
                }
                if let Some(listed) = self.relations.system(&function).map_err(|e| self.error_at(e, span))? {
                    if !arguments.is_empty() {
                        let error = format!("table function {function} takes no arguments");
                        return Err(self.error_at(Error::new(SqlState::UndefinedFunction, error), span));
                    }
                    return Ok((self.constant_rows(listed.columns.fields(), listed.rows), function));
                }
                let error = Error::new(
                    SqlState::UndefinedFunction,
                    format!("table function {function} does not exist"),
                );
                let known = listing::TABLE_FUNCTIONS
                    .iter()
                    .copied()
                    .chain(self.relations.system_functions().iter().copied());
                let error = match nearest(&function, known) {
                    Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                    None => error,
                };
                Err(self.error_at(error, span))
            }
        }
    }

    /// A function that reads files, or says what a file is.
    fn file_function(
        &mut self,
        function: &str,
        arguments: &'a [FunctionArg],
        span: Span,
    ) -> Result<(Relation, String)> {
        let format = match function {
            "sniff_csv" => "csv",
            "parquet_scan" => "parquet",
            _ => function.trim_start_matches("read_").trim_end_matches("_auto"),
        };
        let mut options = vec![("format".to_owned(), format.to_owned())];
        let mut path = None;
        for argument in arguments {
            match argument {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::Array(list)))
                    if path.is_none() && !list.elem.is_empty() =>
                {
                    for file in &list.elem {
                        let file = self.constant(file)?.0;
                        match &path {
                            None => path = Some(file),
                            Some(_) => {
                                let name = file.as_text().unwrap_or_default().to_owned();
                                options.push(("files".to_owned(), name));
                            }
                        }
                    }
                }
                FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) if path.is_none() => {
                    path = Some(self.constant(e)?.0);
                }
                FunctionArg::Named { name, arg: FunctionArgExpr::Expr(e), .. } => {
                    self.file_option(&folded(name), e, &mut options)?;
                }
                // `name = value`, as others write it.
                FunctionArg::Unnamed(FunctionArgExpr::Expr(Ast::BinaryOp { left, op, right }))
                    if *op == sqlparser::ast::BinaryOperator::Eq
                        && matches!(left.as_ref(), Ast::Identifier(_)) =>
                {
                    if let Ast::Identifier(name) = left.as_ref() {
                        self.file_option(&folded(name), right, &mut options)?;
                    }
                }
                other => {
                    let error = Error::new(
                        SqlState::UndefinedFunction,
                        format!("{function} does not take the argument {other}"),
                    );
                    return Err(self.error_at(error, span));
                }
            }
        }
        let path = path.as_ref().and_then(Value::as_text).map(str::to_owned).ok_or_else(|| {
            self.error_at(
                Error::new(SqlState::UndefinedFunction, format!("{function} takes a path in quotes")),
                span,
            )
        })?;
        if function == "sniff_csv" {
            let report = self.relations.sniffed(&path, &options).map_err(|e| self.error_at(e, span))?;
            return Ok((self.constant_rows(report.columns.fields(), report.rows), "sniffed".to_owned()));
        }
        let source = self.relations.file(&path, &options).map_err(|e| self.error_at(e, span))?;
        Ok((self.file(source), file_stem(&path)))
    }

    /// An option of a file: a list is its entries one by one, `{'name': value}` is the name, NUL and the value.
    fn file_option(&mut self, name: &str, value: &'a Ast, options: &mut Vec<(String, String)>) -> Result<()> {
        match value {
            Ast::Array(list) => {
                for entry in &list.elem {
                    let (value, ty) = self.constant(entry)?;
                    options.push((name.to_owned(), value.display(ty)));
                }
            }
            Ast::Dictionary(entries) => {
                for entry in entries {
                    let (value, ty) = self.constant(&entry.value)?;
                    options.push((name.to_owned(), format!("{}\0{}", entry.key.value, value.display(ty))));
                }
            }
            _ => {
                let (value, ty) = self.constant(value)?;
                options.push((name.to_owned(), value.display(ty)));
            }
        }
        Ok(())
    }

    /// A constant argument.
    pub(crate) fn constant(&mut self, ast: &'a Ast) -> Result<(Value, Type)> {
        let bound = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Values).bind(ast)?;
        match bound.expr.as_literal() {
            Some(value) => Ok((value.clone(), bound.ty())),
            None => Err(self.error_at(Error::unsupported("only constants are supported here"), bound.span)),
        }
    }

    fn generate_series(
        &mut self,
        function: &str,
        arguments: &'a [FunctionArg],
        span: Span,
    ) -> Result<Relation> {
        let mut numbers = Vec::with_capacity(3);
        let mut ty = Type::Integer;
        for argument in arguments {
            let FunctionArg::Unnamed(FunctionArgExpr::Expr(e)) = argument else {
                return Err(Error::unsupported("generate_series takes numbers"));
            };
            let (value, value_ty) = self.constant(e)?;
            if !value_ty.is_integer() {
                let error = Error::unsupported("generate_series takes whole numbers");
                return Err(self.error_at(error, span));
            }
            if value_ty == Type::BigInt {
                ty = Type::BigInt;
            }
            numbers.extend(value.as_i128());
        }
        // `range` ends before its end, and may begin at 0.
        let range = function == "range";
        if let (true, [end]) = (range, numbers.as_slice()) {
            numbers = vec![0, *end];
        }
        if range && numbers.len() > 1 {
            let step = numbers.get(2).copied().unwrap_or(1);
            numbers[1] -= step.signum();
        }
        let (start, end, step) = match numbers.as_slice() {
            [start, end] => (*start, *end, 1),
            [_, _, 0] => {
                let error = Error::new(SqlState::InvalidParameterValue, "step size cannot equal zero");
                return Err(self.error_at(error, span));
            }
            [start, end, step] => (*start, *end, *step),
            _ => {
                let error =
                    Error::new(SqlState::UndefinedFunction, "generate_series takes two or three numbers");
                return Err(self.error_at(error, span));
            }
        };
        let count = ((end - start) / step + 1).max(0);
        let count = if (end - start).signum() * step.signum() < 0 { 0 } else { count };
        if count > SERIES_ROWS_MAX {
            let error = Error::unsupported(format!("generate_series of more than {SERIES_ROWS_MAX} rows"));
            return Err(self.error_at(error, span));
        }
        let mut rows = Vec::with_capacity(count as usize);
        for at in 0..count {
            rows.push(vec![Value::from_i128(start + at * step, ty.physical()).unwrap_or(Value::Null)]);
        }
        let id = self.columns.add(function, ty, false);
        let plan = LogicalPlan::Values { columns: vec![id], rows };
        Ok(Relation { plan, columns: vec![(function.into(), id)] })
    }
}
