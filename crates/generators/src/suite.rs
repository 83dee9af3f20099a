//! The two suites, and what is known of their tables without a scale: names, schemas, keys.

use crate::table::{Keys, Table};
use crate::{GeneratorError, ssb, tpch};
use arrow_schema::SchemaRef;
use std::fmt;

/// A benchmark's set of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// TPC Benchmark H.
    Tpch,
    /// The Star Schema Benchmark.
    Ssb,
}

impl Suite {
    /// Table names, each after every table that it refers to, so that loading in this order satisfies the
    /// keys.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Suite::Tpch => {
                &["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
            }
            Suite::Ssb => &["customer", "supplier", "part", "ddate", "lineorder"],
        }
    }

    /// Columns of a table, none of them nullable. TPC-H: keys Int64, money and l_quantity Decimal128(15, 2),
    /// dates Date32, other integers Int32. SSB: integers Int32, money in cents, dates as yyyymmdd,
    /// lo_orderkey Int64. Strings are Utf8View in both.
    pub fn schema(self, table: &str) -> Result<SchemaRef, GeneratorError> {
        Ok(self.find(table)?.schema())
    }

    /// Primary and foreign keys as the specification declares them. At tiny scales TPC-H's partsupp breaks
    /// its own: see [`crate::Source::primary_key_holds`].
    pub fn keys(self, table: &str) -> Result<&'static Keys, GeneratorError> {
        Ok(&self.find(table)?.keys)
    }

    pub(crate) fn find(self, name: &str) -> Result<&'static Table, GeneratorError> {
        let tables: &'static [Table] = match self {
            Suite::Tpch => &tpch::TABLES,
            Suite::Ssb => &ssb::TABLES,
        };
        tables
            .iter()
            .find(|table| table.name == name)
            .ok_or_else(|| GeneratorError::UnknownTable { suite: self, table: name.to_string() })
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Suite::Tpch => "tpch",
            Suite::Ssb => "ssb",
        })
    }
}
