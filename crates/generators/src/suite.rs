//! The suites, and what is known of their tables without a scale: names, schemas, keys.

use crate::table::{Keys, Table};
use crate::{GeneratorError, ssb, tpcds, tpch};
use arrow_schema::SchemaRef;
use std::fmt;

/// A benchmark's set of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Suite {
    /// TPC Benchmark H.
    Tpch,
    /// The Star Schema Benchmark.
    Ssb,
    /// TPC Benchmark DS.
    Tpcds,
}

impl Suite {
    /// Every suite.
    pub const ALL: [Suite; 3] = [Suite::Tpch, Suite::Ssb, Suite::Tpcds];

    /// The suite that is shown by this name.
    pub fn named(name: &str) -> Option<Suite> {
        Suite::ALL.into_iter().find(|suite| suite.to_string() == name)
    }

    /// Table names, each after every table that it refers to, so that loading in this order satisfies the
    /// keys.
    pub fn tables(self) -> &'static [&'static str] {
        match self {
            Suite::Tpch => {
                &["region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"]
            }
            Suite::Ssb => &["customer", "supplier", "part", "ddate", "lineorder"],
            Suite::Tpcds => &tpcds::NAMES,
        }
    }

    /// Columns of a table. Only TPC-DS has nullable ones; its keys are Int32 but for order and ticket numbers
    /// (Int64), its money Decimal128 of at most 7 digits with 2 decimals. TPC-H: keys Int64, money and l_quantity Decimal128(15, 2),
    /// dates Date32, other integers Int32. SSB: integers Int32, money in cents, dates as yyyymmdd,
    /// lo_orderkey Int64. Strings are Utf8View in all.
    pub fn schema(self, table: &str) -> Result<SchemaRef, GeneratorError> {
        Ok(self.find(table)?.schema())
    }

    /// Primary and foreign keys as the specification declares them; of TPC-DS the primary ones only. At tiny
    /// scales some tables break theirs: see [`crate::Source::primary_key_holds`].
    pub fn keys(self, table: &str) -> Result<&'static Keys, GeneratorError> {
        Ok(&self.find(table)?.keys)
    }

    pub(crate) fn find(self, name: &str) -> Result<&'static Table, GeneratorError> {
        let tables: &'static [Table] = match self {
            Suite::Tpch => &tpch::TABLES,
            Suite::Ssb => &ssb::TABLES,
            Suite::Tpcds => &tpcds::TABLES,
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
            Suite::Tpcds => "tpcds",
        })
    }
}
