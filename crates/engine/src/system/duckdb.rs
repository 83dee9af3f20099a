//! The catalog under DuckDB's names, `duckdb_tables` and its kin: its columns, as queries over the engine's own
//! listings. Numbers of objects are given in the order of their names. `system::view` hands them out, with brackets
//! or without.

const TABLES: &str = "SELECT CASE WHEN temporary THEN 'temp' ELSE t.database_name END AS database_name, 1 AS database_oid, \
    CASE WHEN temporary THEN 'main' ELSE t.schema_name END AS schema_name, 1 AS schema_oid, \
    t.table_name, row_number() OVER (ORDER BY t.database_name, t.schema_name, t.table_name) AS table_oid, comment, \
    map([]::TEXT[], []::TEXT[]) AS tags, false AS internal, temporary, \
    coalesce(k.primary_keys > 0, false) AS has_primary_key, rows AS estimated_size, columns AS column_count, \
    coalesce(i.indices, 0) AS index_count, coalesce(k.checks, 0) AS check_constraint_count, \
    'CREATE ' || CASE WHEN temporary THEN 'TEMP ' ELSE '' END || 'TABLE ' || t.table_name || '(' || c.list || ');' AS sql \
    FROM quickstep_tables() AS t \
    LEFT JOIN (SELECT database_name, schema_name, table_name, count(*) FILTER (WHERE constraint_type = 'PRIMARY KEY') AS primary_keys, \
      count(DISTINCT constraint_name) FILTER (WHERE constraint_type = 'CHECK') AS checks \
      FROM quickstep_constraints() GROUP BY database_name, schema_name, table_name) AS k \
    ON k.database_name = t.database_name AND k.schema_name = t.schema_name AND k.table_name = t.table_name \
    LEFT JOIN (SELECT database_name, schema_name, table_name, count(*) AS indices FROM quickstep_indexes() \
      GROUP BY database_name, schema_name, table_name) AS i ON i.database_name = t.database_name \
      AND i.schema_name = t.schema_name AND i.table_name = t.table_name \
    LEFT JOIN (SELECT database_name, schema_name, table_name, string_agg(column_name || ' ' || data_type || \
      CASE WHEN column_default IS NULL THEN '' ELSE ' DEFAULT(' || column_default || ')' END || \
      CASE WHEN is_nullable THEN '' ELSE ' NOT NULL' END, ', ' ORDER BY column_index) AS list \
      FROM quickstep_columns() GROUP BY database_name, schema_name, table_name) AS c \
    ON c.database_name = t.database_name AND c.schema_name = t.schema_name AND c.table_name = t.table_name";

const COLUMNS: &str = "SELECT database_name, 1 AS database_oid, schema_name, 1 AS schema_oid, table_name, \
    dense_rank() OVER (ORDER BY database_name, schema_name, table_name) AS table_oid, column_name, \
    CAST(column_index AS INTEGER) AS column_index, comment, false AS internal, column_default, is_nullable, data_type, \
    CAST(numeric_precision AS INTEGER) AS numeric_precision, \
    CAST(numeric_precision_radix AS INTEGER) AS numeric_precision_radix, \
    CAST(numeric_scale AS INTEGER) AS numeric_scale, \
    CAST(character_maximum_length AS INTEGER) AS character_maximum_length FROM quickstep_columns()";

const VIEWS: &str = "SELECT v.database_name, 1 AS database_oid, v.schema_name, 1 AS schema_oid, v.view_name, \
    row_number() OVER (ORDER BY v.database_name, v.schema_name, v.view_name) AS view_oid, comment, \
    map([]::TEXT[], []::TEXT[]) AS tags, false AS internal, false AS temporary, coalesce(c.columns, 0) AS column_count, \
    'CREATE VIEW ' || v.view_name || ' AS ' || sql || ';' AS sql FROM quickstep_views() AS v \
    LEFT JOIN (SELECT database_name, schema_name, table_name, count(*) AS columns FROM quickstep_columns() WHERE is_view \
      GROUP BY database_name, schema_name, table_name) AS c ON c.database_name = v.database_name \
      AND c.schema_name = v.schema_name AND c.table_name = v.view_name";

const SCHEMAS: &str = "SELECT row_number() OVER (ORDER BY s.database_name, s.schema_name) AS oid, s.database_name, \
    1 AS database_oid, s.schema_name, m.comment, map([]::TEXT[], []::TEXT[]) AS tags, \
    s.schema_name IN ('main', 'information_schema', 'temporary') AS internal, CAST(NULL AS TEXT) AS sql \
    FROM quickstep_schemas() AS s LEFT JOIN quickstep_comments() AS m ON m.object_type = 'schema' \
      AND m.database_name = s.database_name AND m.schema_name = s.schema_name";

const DATABASES: &str = "SELECT d.database_name, row_number() OVER (ORDER BY NOT is_main, d.database_name) AS database_oid, \
    path, m.comment, map([]::TEXT[], []::TEXT[]) AS tags, false AS internal, 'quickstep' AS type, \
    read_only AS readonly FROM quickstep_databases() AS d LEFT JOIN quickstep_comments() AS m \
    ON m.object_type = 'database' AND m.database_name = d.database_name";

const CONSTRAINTS: &str = "SELECT database_name, 1 AS database_oid, schema_name, 1 AS schema_oid, table_name, \
    1 AS table_oid, row_number() OVER (PARTITION BY database_name, schema_name, table_name ORDER BY constraint_type, constraint_name) - 1 \
    AS constraint_index, constraint_type, \
    constraint_type || '(' || array_to_string(constraint_column_names, ', ') || ')' AS constraint_text, \
    CAST(NULL AS TEXT) AS expression, constraint_column_names, constraint_name, referenced_table, \
    referenced_column_names FROM (\
    SELECT database_name, schema_name, table_name, constraint_name, constraint_type, \
    list(column_name ORDER BY position) AS constraint_column_names, any_value(referenced_table) AS referenced_table, \
    list(referenced_column ORDER BY position) FILTER (WHERE referenced_column IS NOT NULL) AS referenced_column_names \
    FROM quickstep_constraints() GROUP BY database_name, schema_name, table_name, constraint_name, constraint_type \
    UNION ALL SELECT database_name, schema_name, table_name, table_name || '_' || column_name || '_not_null', 'NOT NULL', [column_name], \
    NULL, NULL FROM quickstep_columns() WHERE NOT is_nullable AND NOT is_view) AS c";

const INDEXES: &str = "SELECT i.database_name, 1 AS database_oid, i.schema_name, 1 AS schema_oid, index_name, \
    row_number() OVER (ORDER BY i.database_name, i.schema_name, index_name) AS index_oid, table_name, 1 AS table_oid, \
    m.comment, map([]::TEXT[], []::TEXT[]) AS tags, is_unique, is_primary, expressions, \
    'CREATE INDEX ' || index_name || ' ON ' || table_name || '(' || expressions || ');' AS sql \
    FROM quickstep_indexes() AS i LEFT JOIN quickstep_comments() AS m ON m.object_type = 'index' \
      AND m.database_name = i.database_name AND m.schema_name = i.schema_name AND m.object_name = index_name";

const SEQUENCES: &str = "SELECT s.database_name, 1 AS database_oid, s.schema_name, 1 AS schema_oid, \
    sequence_name, row_number() OVER (ORDER BY s.database_name, s.schema_name, sequence_name) AS sequence_oid, \
    m.comment, map([]::TEXT[], []::TEXT[]) AS tags, false AS temporary, start_value, min_value, \
    max_value, increment_by, cycle, last_value, 'CREATE SEQUENCE ' || sequence_name || ' INCREMENT BY ' || increment_by \
    || ' MINVALUE ' || min_value || ' MAXVALUE ' || max_value || ' START ' || start_value || \
    CASE WHEN cycle THEN ' CYCLE;' ELSE ' NO CYCLE;' END AS sql FROM quickstep_sequences() AS s \
    LEFT JOIN quickstep_comments() AS m ON m.object_type = 'sequence' AND m.database_name = s.database_name \
      AND m.schema_name = s.schema_name AND m.object_name = sequence_name";

const SETTINGS: &str = "SELECT CASE name WHEN 'timezone' THEN 'TimeZone' ELSE name END AS name, setting AS value, description, 'VARCHAR' AS input_type, 'GLOBAL' AS scope \
    FROM quickstep_settings()";

const FUNCTIONS: &str = "SELECT current_database() AS database_name, 1 AS database_oid, 'main' AS schema_name, function_name, \
    CAST(NULL AS TEXT) AS alias_of, CASE function_type WHEN 'table macro' THEN 'table_macro' ELSE function_type END \
    AS function_type, description, m.comment, map([]::TEXT[], []::TEXT[]) AS tags, \
    result AS return_type, []::TEXT[] AS parameters, []::TEXT[] AS parameter_types, CAST(NULL AS TEXT) AS varargs, \
    CAST(NULL AS TEXT) AS macro_definition, false AS has_side_effects, function_type NOT LIKE '%macro%' AS internal, \
    row_number() OVER (ORDER BY function_name) AS function_oid, CASE WHEN example IS NULL THEN []::TEXT[] \
    ELSE [example] END AS examples, CAST(NULL AS TEXT) AS stability, [category] AS categories FROM quickstep_functions() \
    LEFT JOIN quickstep_comments() AS m ON m.object_type = 'macro' AND m.object_name = function_name \
      AND m.database_name = current_database() AND m.schema_name = 'main'";

const TYPES: &str = "SELECT 'system' AS database_name, 0 AS database_oid, 'main' AS schema_name, 1 AS schema_oid, \
    row_number() OVER () AS type_oid, type_name, type_size, logical_type, type_category, CAST(NULL AS TEXT) AS comment, \
    map([]::TEXT[], []::TEXT[]) AS tags, true AS internal, CAST(NULL AS TEXT[]) AS labels FROM (VALUES \
    ('boolean', 1, 'BOOLEAN', 'BOOLEAN'), ('bool', 1, 'BOOLEAN', 'BOOLEAN'), ('smallint', 2, 'SMALLINT', 'NUMERIC'), \
    ('int2', 2, 'SMALLINT', 'NUMERIC'), ('integer', 4, 'INTEGER', 'NUMERIC'), ('int', 4, 'INTEGER', 'NUMERIC'), \
    ('int4', 4, 'INTEGER', 'NUMERIC'), ('bigint', 8, 'BIGINT', 'NUMERIC'), ('int8', 8, 'BIGINT', 'NUMERIC'), \
    ('real', 4, 'FLOAT', 'NUMERIC'), ('float4', 4, 'FLOAT', 'NUMERIC'), ('double', 8, 'DOUBLE', 'NUMERIC'), \
    ('float8', 8, 'DOUBLE', 'NUMERIC'), ('decimal', 16, 'DECIMAL', 'NUMERIC'), ('numeric', 16, 'DECIMAL', 'NUMERIC'), \
    ('varchar', 16, 'VARCHAR', 'STRING'), ('text', 16, 'VARCHAR', 'STRING'), ('string', 16, 'VARCHAR', 'STRING'), \
    ('blob', 16, 'BLOB', NULL), ('bytea', 16, 'BLOB', NULL), ('date', 4, 'DATE', 'DATETIME'), \
    ('time', 8, 'TIME', 'DATETIME'), ('timestamp', 8, 'TIMESTAMP', 'DATETIME'), \
    ('timestamptz', 8, 'TIMESTAMP WITH TIME ZONE', 'DATETIME'), ('interval', 16, 'INTERVAL', 'DATETIME'), \
    ('uuid', 16, 'UUID', NULL), ('json', 16, 'JSON', 'STRING'), ('list', 16, 'LIST', 'COMPOSITE'), \
    ('struct', 0, 'STRUCT', 'COMPOSITE'), ('map', 16, 'MAP', 'COMPOSITE'), ('tinyint', 1, 'TINYINT', 'NUMERIC'), \
    ('utinyint', 1, 'UTINYINT', 'NUMERIC'), ('usmallint', 2, 'USMALLINT', 'NUMERIC'), \
    ('uinteger', 4, 'UINTEGER', 'NUMERIC'), ('ubigint', 8, 'UBIGINT', 'NUMERIC'), \
    ('hugeint', 16, 'HUGEINT', 'NUMERIC'), ('enum', 4, 'ENUM', NULL)) \
    AS t(type_name, type_size, logical_type, type_category) \
    UNION ALL SELECT y.database_name, 1, 'main', 1, 1000 + row_number() OVER (ORDER BY type_name), type_name, \
    CASE WHEN labels IS NULL THEN NULL ELSE 4 END, CASE WHEN labels IS NULL THEN definition ELSE 'ENUM' END, NULL, \
    m.comment, map([]::TEXT[], []::TEXT[]), false, labels FROM quickstep_types() AS y \
    LEFT JOIN quickstep_comments() AS m ON m.object_type = 'type' AND m.database_name = y.database_name \
      AND m.object_name = type_name";

const VARIABLES: &str = "SELECT name, value, type FROM quickstep_variables()";

const EXTENSIONS: &str = "SELECT CAST(NULL AS TEXT) AS extension_name, false AS loaded, false AS installed, \
    CAST(NULL AS TEXT) AS install_path, CAST(NULL AS TEXT) AS description, []::TEXT[] AS aliases WHERE false";

const SECRETS: &str = "SELECT * FROM quickstep_secrets()";

/// What SQLite's clients look tables up in.
const SQLITE_MASTER: &str = "SELECT 'table' AS type, table_name AS name, table_name AS tbl_name, 0 AS rootpage, sql \
    FROM duckdb_tables() \
    UNION ALL SELECT 'view', view_name, view_name, 0, sql FROM duckdb_views() \
    UNION ALL SELECT 'index', index_name, table_name, 0, sql FROM duckdb_indexes()";

pub(super) const NAMES: [&str; 15] = [
    "duckdb_tables",
    "duckdb_columns",
    "duckdb_views",
    "duckdb_schemas",
    "duckdb_databases",
    "duckdb_constraints",
    "duckdb_indexes",
    "duckdb_sequences",
    "duckdb_settings",
    "duckdb_functions",
    "duckdb_types",
    "duckdb_variables",
    "duckdb_extensions",
    "duckdb_secrets",
    "sqlite_master",
];

/// The view's query.
pub(super) fn view(name: &str) -> Option<sql::ViewInfo> {
    const QUERIES: [&str; 15] = [
        TABLES,
        COLUMNS,
        VIEWS,
        SCHEMAS,
        DATABASES,
        CONSTRAINTS,
        INDEXES,
        SEQUENCES,
        SETTINGS,
        FUNCTIONS,
        TYPES,
        VARIABLES,
        EXTENSIONS,
        SECRETS,
        SQLITE_MASTER,
    ];
    let (_, text) = NAMES.iter().zip(QUERIES).find(|(known, _)| **known == name)?;
    Some(sql::ViewInfo { columns: vec![], text: text.to_owned(), schema: None })
}
