//! PARTITION BY of CREATE TABLE.

use plan::statement::{PartitionKind, Partitioning};
use syntax::tree::{Expr as Ast, Name, PartitionBy};
use types::{Error, Field, Result, SqlState};

use super::Context;
use super::create::spelled;
use crate::bind::folded;

impl Context<'_> {
    /// The one column of PARTITION BY; several are an error.
    pub(super) fn partition_column<'p>(&self, partition: &'p PartitionBy) -> Result<&'p Name> {
        let (PartitionBy::Hash { columns, .. } | PartitionBy::Range { columns, .. }) = partition;
        match columns.as_slice() {
            [column] => Ok(column),
            columns => {
                let error = Error::new(SqlState::SyntaxError, "PARTITION BY cannot be read").with_hint(
                    "write PARTITION BY HASH (column) PARTITIONS 4, or \
                     PARTITION BY RANGE (column) (PARTITION name VALUES LESS THAN (value), ...)",
                );
                Err(match columns.get(1) {
                    Some(second) => self.at(error, second.span),
                    None => error,
                })
            }
        }
    }

    /// PARTITION BY, its values as those of its column.
    pub(super) fn partitioning(
        &self,
        partition: Option<&PartitionBy>,
        columns: &[Field],
    ) -> Result<Option<Partitioning>> {
        let Some(partition) = partition else { return Ok(None) };
        let written = self.partition_column(partition)?;
        let column = spelled(columns, written)?;
        let Some(field) = columns.iter().find(|f| f.name == column) else {
            let message = format!("column \"{column}\" named in partition key does not exist");
            return Err(self.at(Error::new(SqlState::UndefinedColumn, message), written.span));
        };
        let kind = match partition {
            PartitionBy::Hash { columns: _, partitions } => {
                let digits = partitions.span.of(self.text);
                PartitionKind::Hash { count: digits.parse().unwrap_or(u64::MAX) }
            }
            PartitionBy::Range { columns: _, partitions } => {
                let bound = |(name, value): &(Name, Option<Ast>)| {
                    let Some(value) = value else { return Ok((folded(name), None)) };
                    let value = self.binder().default_value(value.span.of(self.text), field, name.span)?;
                    match value.as_literal() {
                        Some(value) if !value.is_null() => Ok((folded(name), Some(value.clone()))),
                        _ => {
                            let message =
                                format!("the bound of partition \"{}\" is not a constant", name.text);
                            Err(self.at(Error::new(SqlState::InvalidTableDefinition, message), name.span))
                        }
                    }
                };
                PartitionKind::Range(partitions.iter().map(bound).collect::<Result<_>>()?)
            }
        };
        Ok(Some(Partitioning { column, kind }))
    }
}
