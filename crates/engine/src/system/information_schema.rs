//! The views of `information_schema`: the standard's names and columns, over this database's own functions.
//!
//! Columns follow PostgreSQL where it has them; those of features that are not here are left out. `table_comment` and
//! `column_comment` are DuckDB's. Views of privileges, roles and sequences are `pgcatalog`'s.

use types::{Error, SqlState};

const SCHEMATA: &str = "SELECT database_name AS catalog_name, schema_name, 'quickstep' AS schema_owner, \
    CAST(NULL AS TEXT) AS default_character_set_catalog, CAST(NULL AS TEXT) AS default_character_set_schema, \
    CAST(NULL AS TEXT) AS default_character_set_name, CAST(NULL AS TEXT) AS sql_path FROM quickstep_schemas()";

const TABLES: &str = "SELECT t.database_name AS table_catalog, t.schema_name AS table_schema, t.table_name, \
    CASE WHEN temporary THEN 'LOCAL TEMPORARY' WHEN is_stale IS NULL THEN 'BASE TABLE' ELSE 'WIDE TABLE' END \
    AS table_type, \
    CAST(NULL AS TEXT) AS self_referencing_column_name, CAST(NULL AS TEXT) AS reference_generation, \
    CASE WHEN is_stale IS NULL THEN 'YES' ELSE 'NO' END AS is_insertable_into, 'NO' AS is_typed, \
    CASE WHEN temporary THEN 'PRESERVE' END AS commit_action, comment AS table_comment \
    FROM quickstep_tables() AS t LEFT JOIN quickstep_wide_tables() AS w \
    ON w.database_name = t.database_name AND w.schema_name = t.schema_name AND w.table_name = t.table_name \
    UNION ALL SELECT database_name, schema_name, view_name, 'VIEW', NULL, NULL, 'NO', 'NO', NULL, comment \
    FROM quickstep_views()";

const COLUMNS: &str = "SELECT database_name AS table_catalog, schema_name AS table_schema, table_name, column_name, \
    CAST(column_index AS INTEGER) AS ordinal_position, column_default, \
    CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable, standard_type AS data_type, \
    CAST(character_maximum_length AS INTEGER) AS character_maximum_length, \
    CAST(character_maximum_length * 4 AS INTEGER) AS character_octet_length, \
    CAST(numeric_precision AS INTEGER) AS numeric_precision, \
    CAST(numeric_precision_radix AS INTEGER) AS numeric_precision_radix, \
    CAST(numeric_scale AS INTEGER) AS numeric_scale, CAST(datetime_precision AS INTEGER) AS datetime_precision, \
    'NO' AS is_generated, CASE WHEN is_view THEN 'NO' ELSE 'YES' END AS is_updatable, \
    comment AS column_comment, database_name AS udt_catalog, 'pg_catalog' AS udt_schema, udt_name, \
    CAST(NULL AS TEXT) AS domain_name, 'NO' AS is_identity, \
    CASE WHEN data_type LIKE 'TEXT COLLATE %' THEN replace(substr(data_type, 14), chr(34), '') END AS collation_name \
    FROM quickstep_columns()";

const VIEWS: &str = "SELECT database_name AS table_catalog, schema_name AS table_schema, view_name AS table_name, \
    sql AS view_definition, 'NONE' AS check_option, 'NO' AS is_updatable, 'NO' AS is_insertable_into \
    FROM quickstep_views()";

const TABLE_CONSTRAINTS: &str = "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, \
    constraint_name, database_name AS table_catalog, schema_name AS table_schema, table_name, constraint_type, \
    'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced \
    FROM quickstep_constraints() WHERE position = 1";

const KEY_COLUMN_USAGE: &str = "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, \
    constraint_name, database_name AS table_catalog, schema_name AS table_schema, table_name, column_name, \
    CAST(position AS INTEGER) AS ordinal_position, \
    CASE WHEN constraint_type = 'FOREIGN KEY' THEN CAST(position AS INTEGER) END AS position_in_unique_constraint \
    FROM quickstep_constraints()";

const REFERENTIAL_CONSTRAINTS: &str = "SELECT database_name AS constraint_catalog, schema_name AS constraint_schema, \
    constraint_name, database_name AS unique_constraint_catalog, referenced_schema AS unique_constraint_schema, \
    referenced_constraint AS unique_constraint_name, 'NONE' AS match_option, update_rule, delete_rule \
    FROM quickstep_constraints() \
    WHERE constraint_type = 'FOREIGN KEY' AND position = 1";

const CONSTRAINT_COLUMN_USAGE: &str = "SELECT database_name AS table_catalog, \
    coalesce(referenced_schema, schema_name) AS table_schema, coalesce(referenced_table, table_name) AS table_name, \
    coalesce(referenced_column, column_name) AS column_name, database_name AS constraint_catalog, \
    schema_name AS constraint_schema, constraint_name FROM quickstep_constraints()";

/// The view's query.
pub(crate) fn view(name: &str) -> Option<sql::ViewInfo> {
    let text = match name {
        "schemata" => SCHEMATA,
        "tables" => TABLES,
        "columns" => COLUMNS,
        "views" => VIEWS,
        "table_constraints" => TABLE_CONSTRAINTS,
        "key_column_usage" => KEY_COLUMN_USAGE,
        "referential_constraints" => REFERENTIAL_CONSTRAINTS,
        "constraint_column_usage" => CONSTRAINT_COLUMN_USAGE,
        name if pgcatalog::has_standard_relation(name) => {
            let text = format!("SELECT * FROM pg_catalog.\"{}{name}\"", crate::pg_catalog::STANDARD);
            return Some(sql::ViewInfo { columns: vec![], text, schema: None });
        }
        _ => return None,
    };
    Some(sql::ViewInfo { columns: vec![], text: text.to_owned(), schema: None })
}

/// The error for a name that the schema does not have.
pub(crate) fn unknown_view(name: &str) -> Error {
    const NAMES: [&str; 8] = [
        "schemata",
        "tables",
        "columns",
        "views",
        "table_constraints",
        "key_column_usage",
        "referential_constraints",
        "constraint_column_usage",
    ];
    let message = format!("relation \"information_schema.{name}\" does not exist");
    let error = Error::new(SqlState::UndefinedTable, message);
    let names: Vec<&str> = NAMES.into_iter().chain(pgcatalog::standard_relations().iter().copied()).collect();
    match catalog::did_you_mean(name, names.iter().copied()) {
        Some(hint) => error.with_hint(hint),
        None => error.with_hint(format!("it has {}", names.join(", "))),
    }
}
