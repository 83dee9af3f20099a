//! ROWS FROM of several functions: their rows side by side, the shorter ones filled up with NULLs.

use syntax::tree::{self, TableKind};
use types::{Error, Result, SqlState};

use super::{Alias, Called, Source};
use crate::bind::scope::Scope;
use crate::bind::{Binder, Relation, folded};

impl<'a> Binder<'a> {
    /// `ROWS FROM (f(x), g(y) AS (a INTEGER)) [WITH ORDINALITY]`. A function may use columns of the queries around, none
    /// of what stands before it in FROM.
    pub(super) fn rows_from(
        &mut self,
        table: &'a tree::Table,
        alias: Option<Alias<'a>>,
        visible: &Scope,
        has_left: bool,
    ) -> Result<Source> {
        let TableKind::RowsFrom { lateral: _, functions, ordinality } = &table.kind else {
            return Err(Error::internal("ROWS FROM is something else"));
        };
        let mut joined: Option<Source> = None;
        for (name, arguments, columns) in functions {
            let called = Called { lateral: false, name, arguments, ordinality: false };
            let records = tree::TableAlias { name: None, columns: columns.clone(), first: false };
            let of_records = crate::bind::from::unnesting::expanded(name)
                .is_some_and(|function| crate::bind::from::set_returning::gives_records(&function));
            if !columns.is_empty() && !of_records {
                let message = "a column definition list is only allowed for functions returning \"record\"";
                return Err(self.error_at(Error::new(SqlState::SyntaxError, message), name.span()));
            }
            let own = (table, Some(&records).filter(|_| of_records));
            let mut source = self.bind_called(called, own, None, visible, has_left)?;
            source.lateral = false;
            joined = Some(match joined {
                None => source,
                Some(left) => {
                    let (plan, entries) = self.positional_join(left.plan, left.entries, source)?;
                    Source { plan, entries, lateral: false }
                }
            });
        }
        let Some(source) = joined else { return Err(Error::internal("ROWS FROM of nothing")) };
        let columns = source.entries.iter().filter(|e| !e.hidden).map(|e| (e.name.clone(), e.id)).collect();
        let mut relation = Relation { plan: source.plan, columns };
        if *ordinality {
            relation = self.with_ordinality(relation);
        }
        let default = functions.first().and_then(|(name, ..)| name.names.last()).map(folded);
        self.source(relation, alias, default, None)
    }
}
