//! `*` with options: EXCLUDE, REPLACE, RENAME and ILIKE; a table's row as one value.

use plan::{ColumnId, Expr, ExprKind};
use syntax::Span;
use syntax::tree::{self, ExprKind as AstKind, Literal};
use types::{Error, LikePattern, Result, SqlState};

use crate::bind::expression::ExprBinder;
use crate::bind::expression::coerce::Bound;
use crate::bind::query::select::Item;
use crate::bind::scope::nearest;
use crate::bind::{folded, refusal};
use crate::names::Name;

fn nowhere(table: &[tree::Name]) -> Error {
    let name = table.iter().map(folded).collect::<Vec<String>>().join(".");
    Error::new(SqlState::UndefinedTable, format!("missing FROM-clause entry for table \"{name}\""))
}

impl<'a> ExprBinder<'_, 'a> {
    /// The items of a `*` after its options: names left out, then values and names replaced.
    pub(crate) fn apply_options(
        &mut self,
        mut items: Vec<Item>,
        star: &'a tree::Star,
        span: Span,
    ) -> Result<Vec<Item>> {
        let tree::Star { of: _, exclude, except: _, replace, rename, names } = star;
        let pattern = names.as_ref().map(|names| self.text_of_pattern(names)).transpose()?;
        let text = self.binder.text;
        if let (Some(_), Some(first)) = (pattern, exclude.first()) {
            return Err(refusal::unsupported("EXCLUDE behind a pattern of names", text, first.span()));
        }
        if let Some((qualified, _)) = rename.iter().find(|(from, _)| from.single().is_none()) {
            return Err(refusal::unsupported("a qualified name behind RENAME", text, qualified.span()));
        }
        if let Some(pattern) = pattern {
            let Some(pattern) = LikePattern::new(&pattern.to_lowercase(), Some('\\')) else {
                let error = Error::new(SqlState::InvalidParameterValue, "invalid pattern of * ILIKE");
                return Err(self.binder.error_at(error, span));
            };
            items.retain(|item| pattern.matches(item.name.to_lowercase().as_bytes()));
        }
        for written in exclude {
            let Some((ident, table)) = written.names.split_last() else { continue };
            if table.is_empty() {
                let name = items[self.find(&items, ident)?].name.clone();
                items.retain(|item| item.name != name);
            } else {
                // A name with its table in front.
                let Some(own) = self.column(&written.names)? else {
                    return Err(self.binder.error_at(nowhere(table), ident.span));
                };
                let own = own.expr;
                let name = items[self.find(&items, ident)?].name.clone();
                // A column that USING has merged is in no table alone.
                match items.iter().any(|item| item.expr == own) {
                    true => items.retain(|item| item.expr != own),
                    false => items.retain(|item| item.name != name),
                }
            }
        }
        let mut replaced: Vec<usize> = Vec::new();
        for (value, name) in replace {
            let place = self.find(&items, name)?;
            if replaced.contains(&place) {
                return Err(self.twice(&items, place, "REPLACE", name));
            }
            replaced.push(place);
            let bound = self.bind(value)?;
            crate::bind::check_depth(&bound.expr)?;
            items[place] = Item {
                name: items[place].name.clone(),
                expr: bound.expr,
                untyped: bound.untyped,
                span: bound.span,
            };
        }
        for (from, to) in rename {
            let Some(from) = from.single() else { continue };
            let place = self.find(&items, from)?;
            if replaced.contains(&place) {
                return Err(self.twice(&items, place, "REPLACE and RENAME", from));
            }
            items[place].name = folded(to).as_str().into();
        }
        if items.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "the options of * leave no column");
            return Err(self.binder.error_at(error, span));
        }
        Ok(items)
    }

    /// The pattern of `* LIKE 'a%'`, which must be a constant.
    pub(crate) fn text_of_pattern(&self, names: &'a tree::StarPattern) -> Result<&'a str> {
        match &names.pattern.kind {
            AstKind::Literal(Literal::Text(text)) => Ok(text),
            _ => Err(refusal::unexpected(self.binder.text, names.pattern.span)),
        }
    }

    /// The columns of the nearest table of that name, each with its name.
    pub(crate) fn columns_of_row(&self, ident: &tree::Name) -> Option<Vec<(String, ColumnId)>> {
        let name = Name::of(ident);
        std::iter::successors(Some(&*self.scope), |s| s.parent.as_deref())
            .map(|scope| scope.star_of(None, &name).map(|e| (e.name.to_string(), e.id)).collect::<Vec<_>>())
            .find(|columns| !columns.is_empty())
    }

    /// A table's name in place of a column's: its row as a struct. NULL where every value is, which is what the outer
    /// side of a join has for rows without a partner.
    pub(crate) fn whole_row(&mut self, ident: &tree::Name) -> Result<Option<Bound>> {
        let Some(columns) = self.columns_of_row(ident) else { return Ok(None) };
        let span = ident.span;
        let (names, ids): (Vec<String>, Vec<_>) = columns.into_iter().unzip();
        let values = ids.iter().map(|id| Bound::typed(self.binder.column(*id), span)).collect();
        let row = self.structure(names, values, span)?;
        if !ids.iter().all(|id| self.binder.columns.get(*id).nullable) {
            return Ok(Some(row));
        }
        let there = |id: &ColumnId| crate::bind::modify::is_null(self.binder.column(*id), true);
        let any = Expr::or(ids.iter().map(there).collect());
        let ty = row.ty();
        let kind = ExprKind::Case { branches: vec![(any, row.expr)], otherwise: None };
        Ok(Some(Bound::typed(Expr::new(kind, ty), span)))
    }

    fn twice(&self, items: &[Item], place: usize, options: &str, ident: &tree::Name) -> Error {
        let message = format!("column \"{}\" is given twice in the {options} of *", items[place].name);
        self.binder.error_at(Error::new(SqlState::SyntaxError, message), ident.span)
    }

    fn find(&self, items: &[Item], ident: &tree::Name) -> Result<usize> {
        let (name, span) = (Name::of(ident), ident.span);
        let found = name.position(items.iter().map(|item| &*item.name), "column");
        found.map_err(|e| self.binder.error_at(e, span))?.ok_or_else(|| {
            let name = name.text.as_str();
            let error = Error::new(SqlState::UndefinedColumn, format!("column \"{name}\" is not part of *"));
            let error = match nearest(name, items.iter().map(|i| &*i.name)) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error,
            };
            self.binder.error_at(error, span)
        })
    }
}
