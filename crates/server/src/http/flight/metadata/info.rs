//! What the server can do, as drivers ask before they use it.

use std::sync::LazyLock;

use arrow_array::RecordBatch;
use arrow_flight::sql::metadata::{SqlInfoData, SqlInfoDataBuilder};
use arrow_flight::sql::{
    CommandGetSqlInfo, SqlInfo, SqlNullOrdering, SqlSupportedCaseSensitivity, SqlSupportedTransaction,
};
use arrow_schema::SchemaRef;
use engine::Result;

use super::parts::failed;

/// Every bit of a mask of so many.
const fn all(bits: u32) -> i32 {
    (1 << bits) - 1
}

static INFO: LazyLock<std::result::Result<SqlInfoData, String>> = LazyLock::new(|| {
    let mut info = SqlInfoDataBuilder::new();
    info.append(SqlInfo::FlightSqlServerName, "Quickstep");
    info.append(SqlInfo::FlightSqlServerVersion, env!("CARGO_PKG_VERSION"));
    info.append(SqlInfo::FlightSqlServerArrowVersion, "59");
    for (name, holds) in [
        (SqlInfo::FlightSqlServerReadOnly, false),
        (SqlInfo::FlightSqlServerSql, true),
        (SqlInfo::FlightSqlServerSubstrait, false),
        (SqlInfo::FlightSqlServerCancel, true),
        (SqlInfo::FlightSqlServerBulkIngestion, true),
        (SqlInfo::FlightSqlServerIngestTransactionsSupported, true),
        (SqlInfo::SqlDdlCatalog, false),
        (SqlInfo::SqlDdlSchema, true),
        (SqlInfo::SqlDdlTable, true),
        (SqlInfo::SqlAllTablesAreSelectable, false),
        (SqlInfo::SqlSupportsColumnAliasing, true),
        (SqlInfo::SqlNullPlusNullIsNull, true),
        (SqlInfo::SqlSupportsTableCorrelationNames, true),
        (SqlInfo::SqlSupportsDifferentTableCorrelationNames, false),
        (SqlInfo::SqlSupportsExpressionsInOrderBy, true),
        (SqlInfo::SqlSupportsOrderByUnrelated, true),
        (SqlInfo::SqlSupportsLikeEscapeClause, true),
        (SqlInfo::SqlSupportsNonNullableColumns, true),
        (SqlInfo::SqlSupportsIntegrityEnhancementFacility, true),
        (SqlInfo::SqlCatalogAtStart, true),
        (SqlInfo::SqlSelectForUpdateSupported, false),
        (SqlInfo::SqlStoredProceduresSupported, false),
        (SqlInfo::SqlCorrelatedSubqueriesSupported, true),
    ] {
        info.append(name, holds);
    }
    info.append(SqlInfo::FlightSqlServerTransaction, SqlSupportedTransaction::Savepoint as i32);
    // Without limits of the server's own; roles may have some.
    info.append(SqlInfo::FlightSqlServerStatementTimeout, 0_i32);
    info.append(SqlInfo::FlightSqlServerTransactionTimeout, 0_i32);
    info.append(SqlInfo::SqlIdentifierCase, SqlSupportedCaseSensitivity::SqlCaseSensitivityLowercase as i64);
    info.append(
        SqlInfo::SqlQuotedIdentifierCase,
        SqlSupportedCaseSensitivity::SqlCaseSensitivityCaseInsensitive as i64,
    );
    info.append(SqlInfo::SqlNullOrdering, SqlNullOrdering::SqlNullsSortedHigh as i64);
    for (name, text) in [
        (SqlInfo::SqlIdentifierQuoteChar, "\""),
        (SqlInfo::SqlSearchStringEscape, "\\"),
        (SqlInfo::SqlExtraNameCharacters, "$"),
        (SqlInfo::SqlSchemaTerm, "schema"),
        (SqlInfo::SqlProcedureTerm, "procedure"),
        (SqlInfo::SqlCatalogTerm, "database"),
    ] {
        info.append(name, text);
    }
    // GROUP BY of what is not selected, the grammar's three levels, outer joins, kinds of subqueries, UNION and UNION ALL.
    info.append(SqlInfo::SqlSupportedGroupBy, all(2));
    info.append(SqlInfo::SqlSupportedGrammar, all(3));
    info.append(SqlInfo::SqlOuterJoinsSupportLevel, all(3));
    info.append(SqlInfo::SqlSupportedSubqueries, all(4));
    info.append(SqlInfo::SqlSupportedUnions, all(2));
    info.append(SqlInfo::SqlSchemasSupportedActions, all(3));
    info.build().map_err(|error| error.to_string())
});

/// Columns of the answer.
pub fn schema() -> SchemaRef {
    std::sync::Arc::new(SqlInfoDataBuilder::schema().clone())
}

/// The rows that are asked for; all of them where none is named.
pub fn rows(command: CommandGetSqlInfo) -> Result<RecordBatch> {
    let info = INFO.as_ref().map_err(failed)?;
    command.into_builder(info).build().map_err(failed)
}
