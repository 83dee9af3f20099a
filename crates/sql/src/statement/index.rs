//! CREATE INDEX.

use plan::TableId;
use plan::statement::Statement;
use syntax::tree::{CreateIndex, IfThere, Name, OrderItem, OrderKey};
use types::{Error, Result, SqlState};

use super::options::names_of;
use super::{Context, refused};
use crate::bind::folded;
use crate::bind::query::order_value;
use crate::place;

impl Context<'_> {
    /// CREATE INDEX; clauses that indexes here do not have are errors.
    pub(super) fn create_index(&self, create: &CreateIndex) -> Result<Statement> {
        let CreateIndex {
            if_there,
            unique,
            // No index is made under a lock that readers wait for.
            concurrently: _,
            name,
            table,
            method,
            columns,
            include,
            nulls_distinct,
            options,
            condition,
        } = create;
        if *if_there == IfThere::Replace {
            return Err(refused("CREATE INDEX", "OR REPLACE"));
        }
        for item in columns {
            order_value(self.text, item)?;
        }
        let unsupported = [
            (!include.is_empty(), "INCLUDE"),
            (condition.is_some(), "WHERE"),
            (!options.is_empty(), "WITH"),
            (nulls_distinct.is_some(), "NULLS DISTINCT"),
        ];
        if let Some((_, what)) = unsupported.iter().find(|(there, _)| *there) {
            let message = format!("{what} of CREATE INDEX is not supported");
            return Err(Error::unsupported(message).at(place::START));
        }
        let (table, info) = self.table(table)?;
        let columns = columns.iter().map(index_column).collect::<Option<Vec<&Name>>>();
        let Some(columns) = columns else {
            return Err(Error::unsupported("an index is on columns, not on expressions")
                .with_hint("add a column with the expression's value, and index that")
                .at(place::START));
        };
        // A column that is named twice is indexed once, as both name the same rows.
        let mut positions: Vec<usize> = Vec::with_capacity(columns.len());
        for column in columns {
            for position in self.columns(&info, &[column])? {
                if !positions.contains(&position) {
                    positions.push(position);
                }
            }
        }
        let if_not_exists = *if_there == IfThere::Keep;
        let name = match name {
            Some(name) => Some(self.simple_name(name)?),
            None if if_not_exists => {
                return Err(Error::new(SqlState::SyntaxError, "IF NOT EXISTS needs the index's name"));
            }
            None => None,
        };
        Ok(Statement::CreateIndex {
            name,
            table,
            table_id: TableId(info.id.0),
            method: method.as_ref().map(folded),
            columns: positions,
            unique: *unique,
            if_not_exists,
        })
    }
}

/// The column that an item is; an index of blocks has no order.
fn index_column(item: &OrderItem) -> Option<&Name> {
    let OrderItem { key: OrderKey::Expr(column), descending: _, nulls_first: _, span: _ } = item else {
        return None;
    };
    match names_of(column) {
        Some([name]) => Some(name),
        _ => None,
    }
}
