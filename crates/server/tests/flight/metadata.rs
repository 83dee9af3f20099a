//! Catalogs, schemas, tables, keys, types, and what the server can do.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, UInt8Type};
use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, SqlInfo,
};
use arrow_ipc::convert::try_schema_from_ipc_buffer;

use super::client::{Running, block_on, count, rows, start, texts};

fn with_tables() -> Running {
    let running = start();
    running.sql(
        "CREATE TABLE orders (shop INTEGER, number BIGINT, at TIMESTAMP NOT NULL, PRIMARY KEY (shop, number));
         CREATE TABLE lines (shop INTEGER, number BIGINT, line INTEGER, price DECIMAL(9, 2),
             CONSTRAINT of_order FOREIGN KEY (shop, number) REFERENCES orders (shop, number) ON DELETE CASCADE);
         CREATE VIEW sums AS SELECT shop, sum(price) AS price FROM lines GROUP BY shop;
         CREATE SCHEMA depot; CREATE TABLE depot.stock (item TEXT)",
    );
    running
}

fn tables(pattern: Option<&str>, kinds: &[&str], include_schema: bool) -> CommandGetTables {
    CommandGetTables {
        catalog: None,
        db_schema_filter_pattern: None,
        table_name_filter_pattern: pattern.map(str::to_owned),
        table_types: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        include_schema,
    }
}

#[test]
fn catalogs_schemas_and_kinds_of_tables_are_listed() {
    let running = with_tables();
    block_on(async {
        let mut client = running.client().await;
        let info = client.get_catalogs().await.unwrap();
        assert_eq!(texts(&rows(&mut client, info).await.unwrap(), "catalog_name"), ["memory"]);
        let asked = |pattern: Option<&str>, catalog: Option<&str>| CommandGetDbSchemas {
            catalog: catalog.map(str::to_owned),
            db_schema_filter_pattern: pattern.map(str::to_owned),
        };
        for (pattern, catalog, expected) in [
            (Some("depot"), None, &["depot"][..]),
            (Some("dep%"), Some("memory"), &["depot"]),
            (None, Some("elsewhere"), &[]),
            (Some("public"), None, &["public"]),
        ] {
            let info = client.get_db_schemas(asked(pattern, catalog)).await.unwrap();
            let found = rows(&mut client, info).await.unwrap();
            assert_eq!(texts(&found, "db_schema_name"), expected, "{pattern:?}");
        }
        let info = client.get_table_types().await.unwrap();
        let kinds = texts(&rows(&mut client, info).await.unwrap(), "table_type");
        assert!(kinds.contains(&"TABLE".to_owned()) && kinds.contains(&"VIEW".to_owned()));
    });
}

#[test]
fn tables_are_found_by_pattern_and_kind_with_their_columns() {
    let running = with_tables();
    block_on(async {
        let mut client = running.client().await;
        for (command, expected) in [
            (tables(None, &[], false), &["stock", "lines", "orders", "sums"][..]),
            (tables(Some("%s"), &["VIEW"], false), &["sums"]),
            (tables(Some("l_nes"), &[], false), &["lines"]),
            (tables(Some("'; DROP TABLE lines"), &[], false), &[]),
            (tables(None, &["NO SUCH KIND"], false), &[]),
        ] {
            let info = client.get_tables(command.clone()).await.unwrap();
            let found = rows(&mut client, info).await.unwrap();
            assert_eq!(texts(&found, "table_name"), expected, "{command:?}");
        }
        let info = client.get_tables(tables(Some("orders"), &["TABLE"], true)).await.unwrap();
        let found = rows(&mut client, info).await.unwrap();
        let bytes = found[0].column_by_name("table_schema").unwrap().as_binary::<i32>().value(0).to_vec();
        let schema = try_schema_from_ipc_buffer(&bytes).unwrap();
        let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!(names, ["shop", "number", "at"]);
        assert!(!schema.field(2).is_nullable());
        assert_eq!(schema.field(1).metadata()["ARROW:FLIGHT:SQL:TYPE_NAME"], "BIGINT");
    });
}

fn numbers(batches: &[RecordBatch], column: &str) -> Vec<i32> {
    let values = |batch: &RecordBatch| {
        batch.column_by_name(column).unwrap().as_primitive::<Int32Type>().values().to_vec()
    };
    batches.iter().flat_map(values).collect()
}

#[test]
fn keys_are_told_column_by_column_from_both_ends() {
    let running = with_tables();
    block_on(async {
        let mut client = running.client().await;
        let of = |table: &str| (None, Some("public".to_owned()), table.to_owned());
        let (catalog, db_schema, table) = of("orders");
        let info =
            client.get_primary_keys(CommandGetPrimaryKeys { catalog, db_schema, table }).await.unwrap();
        let found = rows(&mut client, info).await.unwrap();
        assert_eq!(texts(&found, "column_name"), ["shop", "number"]);
        assert_eq!(numbers(&found, "key_sequence"), [1, 2]);
        let (catalog, db_schema, table) = of("orders");
        let exported =
            client.get_exported_keys(CommandGetExportedKeys { catalog, db_schema, table }).await.unwrap();
        let (catalog, db_schema, table) = of("lines");
        let imported =
            client.get_imported_keys(CommandGetImportedKeys { catalog, db_schema, table }).await.unwrap();
        let crossed = client
            .get_cross_reference(CommandGetCrossReference {
                pk_catalog: Some("memory".to_owned()),
                pk_db_schema: None,
                pk_table: "orders".to_owned(),
                fk_catalog: None,
                fk_db_schema: None,
                fk_table: "lines".to_owned(),
            })
            .await
            .unwrap();
        for info in [exported, imported, crossed] {
            let found = rows(&mut client, info).await.unwrap();
            assert_eq!(texts(&found, "pk_table_name"), ["orders", "orders"]);
            assert_eq!(texts(&found, "fk_column_name"), ["shop", "number"]);
            assert_eq!(texts(&found, "fk_key_name"), ["of_order", "of_order"]);
            assert_eq!(texts(&found, "pk_key_name"), ["orders_pkey", "orders_pkey"]);
            let rule = found[0].column_by_name("delete_rule").unwrap().as_primitive::<UInt8Type>().value(0);
            let other = found[0].column_by_name("update_rule").unwrap().as_primitive::<UInt8Type>().value(0);
            assert_eq!((rule, other), (0, 3));
        }
        let (catalog, db_schema, table) = of("lines");
        let info =
            client.get_exported_keys(CommandGetExportedKeys { catalog, db_schema, table }).await.unwrap();
        assert_eq!(count(&rows(&mut client, info).await.unwrap()), 0);
    });
}

#[test]
fn types_and_what_the_server_can_do_are_told() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: None }).await.unwrap();
        assert!(count(&rows(&mut client, info).await.unwrap()) >= 20);
        let info = client.get_xdbc_type_info(CommandGetXdbcTypeInfo { data_type: Some(4) }).await.unwrap();
        assert_eq!(texts(&rows(&mut client, info).await.unwrap(), "type_name"), ["integer"]);
        let info =
            client.get_sql_info(vec![SqlInfo::FlightSqlServerTransaction, SqlInfo::FlightSqlServerName]);
        let info = info.await.unwrap();
        assert_eq!(count(&rows(&mut client, info).await.unwrap()), 2);
        let info = client.get_sql_info(vec![]).await.unwrap();
        assert!(count(&rows(&mut client, info).await.unwrap()) > 40);
    });
}
