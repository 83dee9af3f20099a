//! Functions of DuckDB that PostgreSQL lacks: of structs as rows of values, of paths of files, and of sizes. Called
//! by `nested_calls`, before its own.
//!
//! Each function gives None for names and types that are not its own, and the next one is asked. The expressions are
//! of library functions that `expr` has.

use plan::functions::EQUAL_BINS;
use plan::{Expr, ExprKind};
use syntax::Span;
use types::{Comparison, Error, Result, SqlState, Type};

use crate::bind::expression::coerce::{self, Bound, cast};
use crate::bind::expression::{ExprBinder, literal, operator};
use crate::bind::nested::nested_calls::Call;
use crate::bind::nested::{call, extract, struct_of};

/// Every name that is known here.
pub(crate) const NAMES: &[&str] = &[
    "equi_width_bins",
    "is_histogram_other_bin",
    "parse_formatted_bytes",
    "parse_path",
    "path_join",
    "struct_concat",
    "struct_contains",
    "struct_has",
    "struct_indexof",
    "struct_position",
    "struct_update",
    "struct_values",
];

impl Call<'_, '_, '_> {
    /// Functions of paths and sizes.
    pub(crate) fn of_files(&self) -> Result<Option<Expr>> {
        let count = self.arguments.len();
        let texts = |to: usize| (0..to).map(|at| self.to(at, Type::Text)).collect::<Result<Vec<_>>>();
        Ok(Some(match (self.name, count) {
            ("parse_path", 1 | 2) => call("parse_path", texts(count)?, Type::list(Type::Text)?),
            ("path_join", 1..) => call("path_join", texts(count)?, Type::Text),
            ("parse_formatted_bytes", 1)
                if self.arguments[0].ty().is_text() || self.arguments[0].is_null() =>
            {
                call("parse_formatted_bytes", texts(1)?, Type::BigInt)
            }
            _ => return Ok(None),
        }))
    }

    /// `equi_width_bins(least, greatest, count, round)`: bounds of the greatest value's type, of decimals as floats.
    pub(crate) fn of_bins(&self) -> Result<Option<Expr>> {
        let ("equi_width_bins", [least, greatest, ..], 4) = (self.name, self.arguments, self.arguments.len())
        else {
            return Ok(None);
        };
        let common = coerce::common_type(least.ty(), greatest.ty());
        let ty = match common {
            Some(ty) if ty.is_integer() => Type::BigInt,
            Some(ty) if ty.is_numeric() => Type::Double,
            Some(Type::Date | Type::Timestamp) => Type::Timestamp,
            _ => return Ok(None),
        };
        let arguments =
            vec![self.to(0, ty)?, self.to(1, ty)?, self.to(2, Type::BigInt)?, self.to(3, Type::Boolean)?];
        let bins = call(EQUAL_BINS, arguments, Type::list(ty)?);
        Ok(Some(match greatest.ty() {
            given if given.is_decimal() || given == ty || given == Type::Null => bins,
            given => coerce::cast(bins, Type::list(given)?),
        }))
    }

    /// `struct_concat(s, ...)`: the fields of all of them, one after the other.
    fn joined_structs(&self) -> Result<Option<Expr>> {
        let (mut names, mut values) = (Vec::new(), Vec::new());
        for given in self.arguments {
            let Some(fields) = given.ty().fields() else { return Ok(None) };
            for (at, (name, _)) in fields.iter().enumerate() {
                if names.contains(name) && !name.is_empty() {
                    let message = format!("struct_concat: field \"{name}\" is in more than one struct");
                    return Err(Error::new(SqlState::DuplicateColumn, message));
                }
                names.push(name.clone());
                values.push(extract(given.expr.clone(), at));
            }
        }
        if names.iter().any(String::is_empty) && !names.iter().all(String::is_empty) {
            let message = "struct_concat takes structs with names or structs without, not both";
            return Err(Error::new(SqlState::DatatypeMismatch, message));
        }
        struct_of(names, values).map(Some)
    }

    /// Functions of structs as rows of values.
    pub(crate) fn of_rows(&self) -> Result<Option<Expr>> {
        let Some(of) = self.arguments.first() else { return Ok(None) };
        if self.name == "is_histogram_other_bin" && self.arguments.len() == 1 {
            return self.binder.is_other_bin(of.clone()).map(Some);
        }
        if self.name == "struct_concat" {
            return self.joined_structs();
        }
        let fields = of.ty().fields();
        if of.is_null()
            && self.name != "struct_update"
            && NAMES.contains(&self.name)
            && self.name.starts_with("struct_")
        {
            return Ok(Some(crate::bind::null_of(Type::Null)));
        }
        let Some(fields) = fields else { return Ok(None) };
        let values: Vec<Expr> = (0..fields.len()).map(|at| extract(of.expr.clone(), at)).collect();
        let there =
            Expr::new(ExprKind::IsNull { input: Box::new(of.expr.clone()), negated: true }, Type::Boolean);
        match (self.name, self.arguments.get(1)) {
            ("struct_values", None) => {
                let row = struct_of(vec![String::new(); values.len()], values)?;
                let ty = row.ty;
                let kind = ExprKind::Case { branches: vec![(there, row)], otherwise: None };
                Ok(Some(Expr::new(kind, ty)))
            }
            ("struct_contains" | "struct_has", Some(wanted)) if self.arguments.len() == 2 => {
                let found = self.equal_fields(values, wanted, false)?;
                let found = Expr::or(found.into_iter().map(|(_, equal)| equal).collect());
                // What may be equal is not known of NULLs, which no struct contains.
                let known = Expr::new(
                    ExprKind::IsNull { input: Box::new(wanted.clone().settled()), negated: true },
                    Type::Boolean,
                );
                let kind = ExprKind::Case {
                    branches: vec![
                        (found, Expr::boolean(true)),
                        (Expr::and(vec![there, known]), Expr::boolean(false)),
                    ],
                    otherwise: None,
                };
                Ok(Some(Expr::new(kind, Type::Boolean)))
            }
            ("struct_position" | "struct_indexof", Some(wanted)) if self.arguments.len() == 2 => {
                let found = self.equal_fields(values, wanted, true)?;
                let branches = found.into_iter().map(|(at, equal)| {
                    let place = cast(literal::integer(at as i64 + 1), Type::Integer);
                    (Expr::and(vec![there.clone(), equal]), place)
                });
                let kind = ExprKind::Case { branches: branches.collect(), otherwise: None };
                Ok(Some(Expr::new(kind, Type::Integer)))
            }
            _ => Ok(None),
        }
    }

    /// Which fields are equal to a value, of those that it can be compared with; NULL is equal to NULL if `nulls`.
    fn equal_fields(&self, values: Vec<Expr>, wanted: &Bound, nulls: bool) -> Result<Vec<(usize, Expr)>> {
        let span = wanted.span;
        let wanted = Bound::typed(wanted.clone().settled(), span);
        let mut equal = Vec::new();
        for (at, value) in values.into_iter().enumerate() {
            if coerce::common_type(value.ty, wanted.ty()).is_none() {
                continue;
            }
            let is_null = |input: Expr| {
                Expr::new(ExprKind::IsNull { input: Box::new(input), negated: false }, Type::Boolean)
            };
            let both = Expr::and(vec![is_null(value.clone()), is_null(wanted.expr.clone())]);
            let same = operator::comparison(
                Comparison::Equal,
                Bound::typed(value, span),
                wanted.clone(),
                self.text(),
            )?;
            equal.push((at, if nulls { Expr::or(vec![same, both]) } else { same }));
        }
        if equal.is_empty() {
            equal.push((0, Expr::boolean(false)));
        }
        Ok(equal)
    }
}

impl ExprBinder<'_, '_> {
    /// `struct_update(s, name := value, ...)`: fields that the struct has get the value, with its type; others come
    /// behind.
    pub(crate) fn struct_update(&self, of: Bound, new: Vec<(String, Bound)>, span: Span) -> Result<Bound> {
        let refuse = |message: String| self.at(Error::new(SqlState::DuplicateColumn, message), span);
        if new.is_empty() {
            let error =
                Error::new(SqlState::UndefinedFunction, "struct_update takes a struct and named values");
            return Err(self.at(error.with_hint("write struct_update(s, name := value)"), span));
        }
        let fields = of.ty().fields().unwrap_or_default();
        let mut names: Vec<String> = fields.iter().map(|(name, _)| name.clone()).collect();
        let mut values: Vec<Expr> = (0..fields.len()).map(|at| extract(of.expr.clone(), at)).collect();
        let mut seen: Vec<String> = Vec::new();
        for (name, value) in new {
            if name.is_empty() || seen.contains(&name) {
                return Err(refuse(format!(
                    "struct_update needs a name for each value, each once, not \"{name}\""
                )));
            }
            match names.iter().position(|known| *known == name) {
                Some(at) => values[at] = value.settled(),
                None => {
                    names.push(name.clone());
                    values.push(value.settled());
                }
            }
            seen.push(name);
        }
        Ok(Bound::typed(struct_of(names, values).map_err(|e| self.at(e, span))?, span))
    }
}
