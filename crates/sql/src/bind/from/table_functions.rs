//! Functions in FROM: files, listings and table macros.
//!
//! `table_function` is asked for each call in FROM. Arguments of files and listings must be constants after folding,
//! since the columns of the result depend on them. Options of files go to `Relations::file` as texts, names in lower
//! case. Called by `bind::from`.

use std::rc::Rc;

use plan::file::{MORE_FILES, READER};
use plan::{Expr, LogicalPlan, ScanSource, Series};
use syntax::Span;
use syntax::tree::{self, Expr as Ast, ExprKind as AstKind};
use types::nested::encoding::{elements, slot_value};
use types::{Error, Result, SqlState, Type, Value};

use crate::bind::expression::{Clause, ExprBinder};
use crate::bind::from::file_stem;
use crate::bind::function::{arguments, called_as, listing};
use crate::bind::query::select::filtered;
use crate::bind::scope::{Scope, nearest};
use crate::bind::{Binder, Relation, folded};
use crate::parameters::value_needed;

impl<'a> Binder<'a> {
    /// Functions that read files, listings, and table macros.
    pub(crate) fn table_function(
        &mut self,
        name: &tree::Path,
        arguments: &'a [tree::Argument],
    ) -> Result<(Relation, String)> {
        let Some(last) = name.last() else {
            return Err(Error::unsupported("this table function is not supported"));
        };
        let (function, span) = (folded(last), last.span);
        let schema = self.schema_of_function(name)?;
        let called = self.macro_form(schema.as_deref(), &function, arguments)?.filter(|m| m.table);
        if let (Some(schema), None) = (&schema, &called) {
            self.refuse_in_schema(schema, &function, span)?;
        }
        match function.as_str() {
            "read_parquet" | "parquet_scan" | "read_csv" | "read_csv_auto" | "read_json"
            | "read_json_auto" | "read_ndjson" | "read_ndjson_auto" | "read_arrow" | "read_tbl"
            | "read_text" | "read_blob" | "sniff_csv" | "delta_scan" | "iceberg_scan" => {
                self.file_function(&function, arguments, span)
            }
            _ => {
                if let Some(called) = called {
                    self.count_instance()?;
                    let names: Vec<&tree::Name> = name.names.iter().collect();
                    let written = called_as(&names);
                    return Ok((self.bind_table_macro(&written, called, arguments, span)?, function));
                }
                if function.starts_with("duckdb_")
                    && arguments.is_empty()
                    && let Some(view) = self.relations.view(None, &function)
                {
                    self.count_instance()?;
                    return Ok((self.bind_view(&function, view, span)?, function));
                }
                if let Some(text) = self.pragma_rows(&function, arguments, span)? {
                    self.count_instance()?;
                    return Ok((self.bind_text(function.clone(), text, span)?, function));
                }
                if let Some(text) = self.histogram_rows(&function, arguments, span)? {
                    self.count_instance()?;
                    return Ok((self.bind_text(function.clone(), text, span)?, function));
                }
                if function == "query" {
                    self.count_instance()?;
                    return Ok((self.query_of_text(arguments, span)?, function));
                }
                if function == "query_table" {
                    self.count_instance()?;
                    return Ok((self.tables_by_name(arguments, span)?, function));
                }
                if function == "repeat" {
                    return Ok((self.repeated_row(arguments, span)?, function));
                }
                if let Some(samples) = self.sample_rows(&function, arguments, span)? {
                    return Ok((samples, function));
                }
                if let Some(called) = self.system_call(&function, arguments, span)? {
                    return Ok((self.constant_rows(called.columns.fields(), called.rows), function));
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

    /// `query(text)`: the rows of the query that a constant text is.
    fn query_of_text(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Relation> {
        let given = self.positional(arguments).ok();
        let value = match given.as_deref() {
            Some([text]) => Some(self.constant(text)?.0),
            _ => None,
        };
        let Some(text) = value.as_ref().and_then(Value::as_text) else {
            let error = Error::new(SqlState::UndefinedFunction, "table function query takes a constant text")
                .with_hint("write FROM query('SELECT 1')");
            return Err(self.error_at(error, span));
        };
        let text = text.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
        self.bind_text("query".into(), text.into(), span)
    }

    /// `query_table(name or list of names, by_name)`: the rows of the tables, one after the other.
    fn tables_by_name(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Relation> {
        let wrong = |binder: &Self| {
            let message = "table function query_table takes the name of a table or a list of names";
            let error = Error::new(SqlState::UndefinedFunction, message)
                .with_hint("write FROM query_table('t') or FROM query_table(['t', 'u'])");
            binder.error_at(error, span)
        };
        let given = self.positional(arguments).ok();
        let (tables, by_name) = match given.as_deref() {
            Some([tables]) => (*tables, false),
            Some([tables, by_name]) => {
                let (by_name, _) = self.constant(by_name)?;
                (*tables, by_name.as_bool().ok_or_else(|| wrong(self))?)
            }
            _ => return Err(wrong(self)),
        };
        let (value, ty) = self.constant(tables)?;
        let names: Vec<Value> = match (ty.element(), value.as_bytes()) {
            (Some(element), Some(bytes)) => {
                elements(ty, bytes).map(|slot| slot_value(slot, element)).collect()
            }
            _ => vec![value],
        };
        let mut queries = Vec::with_capacity(names.len());
        for name in &names {
            let Some(name) = name.as_text().filter(|_| !ty.is_json()) else { return Err(wrong(self)) };
            // A point stands between a schema and its table.
            let path: Vec<String> = name.split('.').map(types::quote::name).collect();
            queries.push(format!("FROM {}", path.join(".")));
        }
        if queries.is_empty() {
            return Err(wrong(self));
        }
        let union = if by_name { " UNION ALL BY NAME " } else { " UNION ALL " };
        self.bind_text("query_table".into(), queries.join(union), span)
    }

    /// `repeat(value, count)`: a column of so many rows with that value.
    fn repeated_row(&mut self, arguments: &'a [tree::Argument], span: Span) -> Result<Relation> {
        let wrong = || {
            let message = "table function repeat takes a constant, and how many rows have it";
            Error::new(SqlState::UndefinedFunction, message).with_hint("write FROM repeat('a', 3)")
        };
        let given = self.positional(arguments).ok();
        let Some([value, count]) = given.as_deref() else {
            return Err(self.error_at(wrong(), span));
        };
        let (value, ty) = self.constant(value)?;
        let (count, of) = self.constant(count)?;
        let Some(count) = count.as_i128().filter(|_| of.is_integer()) else {
            return Err(self.error_at(wrong(), span));
        };
        let rows = Series::to(1, count.max(1), 1, Type::BigInt).filter(|_| count >= 0);
        let Some(rows) = rows else { return Err(self.error_at(wrong(), span)) };
        let number = self.columns.add("number", Type::BigInt, false);
        let id = self.columns.add("repeat", ty, value.is_null());
        let none = vec![Expr::boolean(false)];
        let source = ScanSource::Series(rows);
        let mut plan = LogicalPlan::Scan { source, columns: vec![(number, 0)], filters: vec![] };
        if count == 0 {
            plan = filtered(plan, none);
        }
        let expressions = vec![(id, Expr::literal(value, ty))];
        let plan = LogicalPlan::Project { input: Box::new(plan), expressions };
        Ok(Relation { plan, columns: vec![("repeat".into(), id)] })
    }

    /// A function of the system that takes arguments.
    fn system_call(
        &mut self,
        function: &str,
        arguments: &'a [tree::Argument],
        span: Span,
    ) -> Result<Option<crate::SystemRows>> {
        const OF_FILES: [&str; 5] =
            ["glob", "parquet_metadata", "parquet_schema", "parquet_file_metadata", "parquet_kv_metadata"];
        const OF_TABLES: [&str; 3] = ["delta_history", "iceberg_snapshots", "iceberg_metadata"];
        let of_files = OF_FILES.contains(&function);
        if function != "which_secret" && !of_files && !OF_TABLES.contains(&function) {
            return Ok(None);
        }
        let mut values = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match self.argument_value(argument) {
                Some(Ast { kind: AstKind::List { elements, .. }, .. }) if of_files && values.is_empty() => {
                    for file in elements {
                        values.push(self.constant(file)?.0);
                    }
                }
                Some(value) if !of_files || values.is_empty() => values.push(self.constant(value)?.0),
                _ => {
                    let takes = match function {
                        _ if of_files => "one path in quotes, or a list of such",
                        "which_secret" => "an address",
                        _ => "one path in quotes",
                    };
                    let message = format!("table function {function} takes {takes}");
                    return Err(self.error_at(Error::new(SqlState::UndefinedFunction, message), span));
                }
            }
        }
        self.relations.system_of(function, &values).map_err(|e| self.error_at(e, span))
    }

    /// A function that reads files, or says what a file is.
    fn file_function(
        &mut self,
        function: &str,
        given: &'a [tree::Argument],
        span: Span,
    ) -> Result<(Relation, String)> {
        let format = match function {
            "sniff_csv" => "csv",
            "parquet_scan" => "parquet",
            _ => function.trim_start_matches("read_").trim_end_matches("_auto").trim_end_matches("_scan"),
        };
        let mut options = vec![(READER.to_owned(), format.to_owned())];
        let mut path = None;
        for argument in given {
            // `name = value` is an option as well, as others write it, behind the path.
            let option = match path.is_none() {
                true => arguments::named(argument),
                false => arguments::name_and_value(argument),
            };
            if let Some((name, value)) = option {
                self.file_option(&folded(name), value, &mut options)?;
                continue;
            }
            match self.argument_value(argument).filter(|_| path.is_none()) {
                Some(Ast { kind: AstKind::List { elements, .. }, .. }) if !elements.is_empty() => {
                    for file in elements {
                        let file = self.constant(file)?.0;
                        match &path {
                            None => path = Some(file),
                            Some(_) => {
                                let name = file.as_text().unwrap_or_default().to_owned();
                                options.push((MORE_FILES.to_owned(), name));
                            }
                        }
                    }
                }
                Some(value) => path = Some(self.constant(value)?.0),
                None => {
                    let shown = arguments::shown(argument);
                    let error = Error::new(
                        SqlState::UndefinedFunction,
                        format!("{function} does not take the argument {shown}"),
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
        let known = options.len();
        match &value.kind {
            AstKind::List { elements, .. } => {
                for entry in elements {
                    let value = self.option_value(name, entry)?;
                    options.push((name.to_owned(), self.type_option(name, value)));
                }
            }
            AstKind::Struct(entries) => {
                for (key, value) in entries {
                    let value = self.option_value(name, value)?;
                    let value = self.type_option(name, value);
                    options.push((name.to_owned(), format!("{}\0{value}", key.text)));
                }
            }
            _ => {
                let value = self.option_value(name, value)?;
                options.push((name.to_owned(), value));
            }
        }
        if options.len() == known {
            let message = format!("option \"{name}\" has no value");
            return Err(Error::new(SqlState::InvalidParameterValue, message).with_hint("leave it out"));
        }
        Ok(())
    }

    /// The value of an option that names types, such that readers, which do not know the catalog, find the user's types.
    fn type_option(&self, name: &str, value: String) -> String {
        let names_types = matches!(name, "columns" | "types" | "dtypes" | "column_types");
        if !names_types || Type::from_sql_name(&value).is_some() {
            return value;
        }
        let known = crate::type_names::named(&value, self.relations).ok();
        known.and_then(Type::number_name).unwrap_or(value)
    }

    fn option_value(&mut self, name: &str, ast: &'a Ast) -> Result<String> {
        let (value, ty) = self.constant(ast)?;
        if value.is_null() {
            let message = format!("option \"{name}\" is NULL");
            return Err(Error::new(SqlState::NullValueNotAllowed, message).with_hint("leave it out"));
        }
        Ok(value.display(ty))
    }

    /// A constant argument.
    pub(crate) fn constant(&mut self, ast: &'a Ast) -> Result<(Value, Type)> {
        let bound = ExprBinder::new(self, Rc::new(Scope::default()), Clause::Values).bind(ast)?;
        match bound.expr.as_literal() {
            Some(value) => Ok((value.clone(), bound.ty())),
            None => {
                let error = match bound.expr.as_parameter() {
                    Some(parameter) => value_needed(parameter),
                    None => Error::unsupported("only constants are supported here"),
                };
                Err(self.error_at(error, bound.span))
            }
        }
    }
}
