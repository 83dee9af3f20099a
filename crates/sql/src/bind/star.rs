//! `*` with options: EXCLUDE, REPLACE, RENAME and ILIKE.

use sqlparser::ast::{
    ExcludeSelectItem, Ident, IdentWithAlias, ObjectName, RenameSelectItem, WildcardAdditionalOptions,
};
use sqlparser::tokenizer::Span;
use types::{Error, LikePattern, Result, SqlState};

use super::expression::ExprBinder;
use super::folded;
use super::scope::nearest;
use super::select::Item;
use crate::names::Name;

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
        let left_out: &[ObjectName] = match &options.opt_exclude {
            None => &[],
            Some(ExcludeSelectItem::Single(name)) => std::slice::from_ref(name),
            Some(ExcludeSelectItem::Multiple(names)) => names,
        };
        for ident in left_out.iter().filter_map(|n| n.0.last()?.as_ident()) {
            let name = items[self.find(&items, ident)?].name.clone();
            items.retain(|item| item.name != name);
        }
        for element in options.opt_replace.iter().flat_map(|r| &r.items) {
            let place = self.find(&items, &element.column_name)?;
            let bound = self.bind(&element.expr)?;
            super::check_depth(&bound.expr)?;
            items[place] = Item {
                name: items[place].name.clone(),
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
            let place = self.find(&items, &rename.ident)?;
            items[place].name = folded(&rename.alias).as_str().into();
        }
        if items.is_empty() {
            let error = Error::new(SqlState::SyntaxError, "the options of * leave no column");
            return Err(self.binder.error_at(error, span));
        }
        Ok(items)
    }

    fn find(&self, items: &[Item], ident: &Ident) -> Result<usize> {
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
