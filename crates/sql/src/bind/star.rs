//! `*` with options: EXCLUDE, REPLACE, RENAME and ILIKE.

use sqlparser::ast::{ExcludeSelectItem, IdentWithAlias, RenameSelectItem, WildcardAdditionalOptions};
use sqlparser::tokenizer::Span;
use types::{Error, LikePattern, Result, SqlState};

use super::expression::ExprBinder;
use super::folded;
use super::scope::nearest;
use super::select::Item;

impl<'a> ExprBinder<'_, 'a> {
    /// The items of a `*` after its options: names left out, then values and names replaced.
    pub(super) fn apply_options(
        &mut self,
        mut items: Vec<Item>,
        options: &'a WildcardAdditionalOptions,
        span: Span,
    ) -> Result<Vec<Item>> {
        if options.opt_alias.is_some() {
            return Err(self.binder.error_at(Error::unsupported("an alias of * is not supported"), span));
        }
        if let Some(ilike) = &options.opt_ilike {
            let Some(pattern) = LikePattern::new(&ilike.pattern.to_lowercase(), Some('\\')) else {
                let error = Error::new(SqlState::InvalidParameterValue, "invalid pattern of * ILIKE");
                return Err(self.binder.error_at(error, span));
            };
            items.retain(|item| pattern.matches(item.name.to_lowercase().as_bytes()));
        }
        let mut left_out: Vec<(String, Span)> = Vec::new();
        match &options.opt_exclude {
            None => {}
            Some(ExcludeSelectItem::Single(name)) => {
                left_out.extend(name.0.last().and_then(|p| p.as_ident()).map(|i| (folded(i), i.span)));
            }
            Some(ExcludeSelectItem::Multiple(names)) => left_out
                .extend(names.iter().filter_map(|n| n.0.last()?.as_ident()).map(|i| (folded(i), i.span))),
        }
        for (name, at) in left_out {
            self.find(&items, &name, at)?;
            items.retain(|item| *item.name != *name);
        }
        for element in options.opt_replace.iter().flat_map(|r| &r.items) {
            let name = folded(&element.column_name);
            let place = self.find(&items, &name, element.column_name.span)?;
            let bound = self.bind(&element.expr)?;
            super::check_depth(&bound.expr)?;
            items[place] = Item {
                name: name.as_str().into(),
                expr: bound.expr,
                untyped: bound.untyped,
                span: bound.span,
            };
        }
        let renames: Vec<&IdentWithAlias> = match &options.opt_rename {
            None => vec![],
            Some(RenameSelectItem::Single(one)) => vec![one],
            Some(RenameSelectItem::Multiple(several)) => several.iter().collect(),
        };
        for rename in renames {
            let place = self.find(&items, &folded(&rename.ident), rename.ident.span)?;
            items[place].name = folded(&rename.alias).as_str().into();
        }
        if items.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "the options of * leave no column");
            return Err(self.binder.error_at(error, span));
        }
        Ok(items)
    }

    fn find(&self, items: &[Item], name: &str, span: Span) -> Result<usize> {
        items.iter().position(|item| *item.name == *name).ok_or_else(|| {
            let error = Error::new(SqlState::UndefinedColumn, format!("column \"{name}\" is not part of *"));
            let error = match nearest(name, items.iter().map(|i| &*i.name)) {
                Some(near) => error.with_hint(format!("did you mean \"{near}\"?")),
                None => error,
            };
            self.binder.error_at(error, span)
        })
    }
}
