//! Who comes in by what, and what a role may.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_flight::sql::{CommandStatementIngest, EndTransaction, TableDefinitionOptions};

use super::client::{Client, block_on, count, number, query, refusal, rows, start};

const ROLES: &str = "CREATE ROLE ada LOGIN PASSWORD 'one'; CREATE ROLE grace LOGIN PASSWORD 'two';
    CREATE TABLE notes (owner TEXT, id BIGINT); INSERT INTO notes VALUES ('ada', 1), ('grace', 2), ('grace', 3);
    CREATE TABLE secrets (id BIGINT); GRANT SELECT, INSERT ON notes TO ada, grace;
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON notes USING (owner = current_user)";

#[test]
fn a_token_or_a_password_lets_in_and_nothing_else() {
    let running = start();
    running.sql(ROLES);
    block_on(async {
        let mut nobody = running.nobody().await;
        let error = nobody.execute("SELECT 1".to_owned(), None).await.unwrap_err();
        assert_eq!(refusal(error).0, "28000");
        for (role, password) in [("ada", "two"), ("ada", ""), ("nobody", "one"), ("quickstep", "")] {
            let error = nobody.handshake(role, password).await.unwrap_err().to_string();
            assert!(error.contains("password authentication failed"), "{error}");
        }
        let mut guessed = running.nobody().await;
        guessed.set_token("0".repeat(64));
        assert!(guessed.execute("SELECT 1".to_owned(), None).await.is_err());
        let mut ada = running.client_of("ada", "one").await;
        let found = query(&mut ada, "SELECT current_user::text AS me").await.unwrap();
        assert_eq!(super::client::texts(&found, "me"), ["ada"]);
        // A token ends with the password that it was given for.
        running.sql("ALTER ROLE ada PASSWORD 'other'");
        let error = ada.execute("SELECT 1".to_owned(), None).await.unwrap_err();
        assert_eq!(refusal(error).0, "28000");
        assert_eq!(number(&mut running.client().await, "SELECT 1::bigint").await, 1);
    });
}

fn append() -> CommandStatementIngest {
    CommandStatementIngest {
        table_definition_options: Some(TableDefinitionOptions { if_not_exist: 2, if_exists: 2 }),
        table: "secrets".to_owned(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: HashMap::new(),
    }
}

async fn state(client: &mut Client, sql: &str) -> String {
    match client.execute(sql.to_owned(), None).await {
        Ok(info) => match rows(client, info).await {
            Ok(_) => String::new(),
            Err(error) => refusal(error).0,
        },
        Err(error) => refusal(error).0,
    }
}

#[test]
fn privileges_policies_and_capabilities_hold_at_this_entrance() {
    let running = start();
    running.sql(ROLES);
    block_on(async {
        let mut ada = running.client_of("ada", "one").await;
        let mut grace = running.client_of("grace", "two").await;
        assert_eq!(number(&mut ada, "SELECT count(*) FROM notes").await, 1);
        assert_eq!(number(&mut grace, "SELECT count(*) FROM notes").await, 2);
        for sql in [
            "SELECT * FROM secrets",
            "SELECT * FROM '/etc/passwd'",
            "SET memory_limit = '1GB'",
            "DROP TABLE notes",
        ] {
            assert_eq!(state(&mut ada, sql).await, "42501", "{sql}");
        }
        let error =
            ada.execute_update("INSERT INTO notes VALUES ('grace', 9)".to_owned(), None).await.unwrap_err();
        assert_eq!(refusal(error).0, "42501");
        let ids: ArrayRef = Arc::new(Int64Array::from(vec![1]));
        let batch = RecordBatch::try_from_iter([("id", ids)]).unwrap();
        let error = ada.execute_ingest(append(), futures_util::stream::iter([Ok(batch)])).await.unwrap_err();
        assert_eq!(refusal(error).0, "42501");
        assert_eq!(running.number("SELECT count(*) FROM secrets"), 0);
    });
}

#[test]
fn what_is_a_roles_is_no_other_ones() {
    let running = start();
    running.sql(ROLES);
    block_on(async {
        let mut ada = running.client_of("ada", "one").await;
        let mut grace = running.client_of("grace", "two").await;
        // A transaction, a prepared statement and held rows by their identifiers; a query's ticket says what it is.
        let id = ada.begin_transaction().await.unwrap();
        let error = grace.execute_update("SELECT 1".to_owned(), Some(id.clone())).await.unwrap_err();
        assert_eq!(refusal(error).0, "25P01");
        assert!(grace.end_transaction(id.clone(), EndTransaction::Commit).await.is_err());
        ada.end_transaction(id, EndTransaction::Rollback).await.unwrap();
        let held = ada.execute("SHOW server_version".to_owned(), None).await.unwrap();
        assert!(rows(&mut grace, held.clone()).await.is_err());
        assert_eq!(count(&rows(&mut ada, held).await.unwrap()), 1);
        let query = ada.execute("SELECT * FROM notes".to_owned(), None).await.unwrap();
        assert_eq!(count(&rows(&mut grace, query.clone()).await.unwrap()), 2);
        assert_eq!(count(&rows(&mut ada, query).await.unwrap()), 1);
    });
}
