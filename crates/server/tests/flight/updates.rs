//! Updates, prepared ones, ingest, transactions and savepoints.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::Action;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionEndSavepointRequest, Any,
    CommandStatementIngest, EndTransaction, ProstMessageExt, TableDefinitionOptions, TableExistsOption,
    TableNotExistOption,
};
use futures_util::StreamExt;
use prost::Message;

use super::client::{Client, block_on, number, refusal, start};

fn batch(ids: impl IntoIterator<Item = i64>) -> RecordBatch {
    let ids: Vec<i64> = ids.into_iter().collect();
    let names: StringArray = ids.iter().map(|id| (id % 7 != 0).then(|| format!("row {id}"))).collect();
    let columns: [(&str, ArrayRef); 2] = [("id", Arc::new(Int64Array::from(ids))), ("Name", Arc::new(names))];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn into(table: &str, create: bool, exists: TableExistsOption) -> CommandStatementIngest {
    let if_not_exist = if create { TableNotExistOption::Create } else { TableNotExistOption::Fail };
    CommandStatementIngest {
        table_definition_options: Some(TableDefinitionOptions {
            if_not_exist: if_not_exist as i32,
            if_exists: exists as i32,
        }),
        table: table.to_owned(),
        schema: None,
        catalog: None,
        temporary: false,
        transaction_id: None,
        options: HashMap::new(),
    }
}

async fn ingest(
    client: &mut Client,
    command: CommandStatementIngest,
    batches: Vec<Result<RecordBatch, FlightError>>,
) -> Result<i64, FlightError> {
    client.execute_ingest(command, futures_util::stream::iter(batches)).await
}

#[test]
fn updates_tell_the_rows_that_they_have_changed() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        for (sql, rows) in [
            ("CREATE TABLE t (a BIGINT PRIMARY KEY, b TEXT)", 0),
            ("INSERT INTO t SELECT i, 'x' FROM generate_series(1, 1000) AS s(i)", 1000),
            ("UPDATE t SET b = 'y' WHERE a <= 10", 10),
            ("DELETE FROM t WHERE b = 'y'; DELETE FROM t WHERE a > 995", 5),
        ] {
            assert_eq!(client.execute_update(sql.to_owned(), None).await.unwrap(), rows, "{sql}");
        }
        let error = client.execute_update("DELETE FROM t; SELECT 1/0".to_owned(), None).await.unwrap_err();
        assert_eq!((refusal(error).0, running.number("SELECT count(*) FROM t")), ("22012".to_owned(), 985));
    });
}

#[test]
fn a_prepared_update_runs_for_each_row_or_for_none() {
    let running = start();
    running.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, name TEXT)");
    block_on(async {
        let mut client = running.client().await;
        let mut insert = client.prepare("INSERT INTO t VALUES ($1, $2)".to_owned(), None).await.unwrap();
        insert.set_parameters(batch(1..=5000)).unwrap();
        assert_eq!(insert.execute_update().await.unwrap(), 5000);
        insert.set_parameters(batch([6000, 6001, 17])).unwrap();
        let (state, text) = refusal(insert.execute_update().await.unwrap_err());
        assert!(state == "23505" && text.contains("row 3"), "{state} {text}");
        assert_eq!(running.number("SELECT count(*) FROM t"), 5000);
        // The order of the parameters is not that of the columns.
        let mut turned =
            client.prepare("UPDATE t SET name = $2 WHERE id = $1".to_owned(), None).await.unwrap();
        turned.set_parameters(batch([1, 2, 99_999])).unwrap();
        assert_eq!(turned.execute_update().await.unwrap(), 2);
        let mut turned =
            client.prepare("INSERT INTO t (name, id) VALUES ($2, $1)".to_owned(), None).await.unwrap();
        turned.set_parameters(batch([7001])).unwrap();
        assert_eq!(turned.execute_update().await.unwrap(), 1);
        assert_eq!(running.number("SELECT count(*) FROM t WHERE id = 7001 AND name = 'row 7001'"), 1);
        insert.close().await.unwrap();
    });
}

#[test]
fn rows_are_ingested_into_a_table_that_is_made_appended_to_or_replaced() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let create = into("Taken", true, TableExistsOption::Fail);
        let many: Vec<_> = (0..20).map(|part| Ok(batch(part * 10_000..(part + 1) * 10_000))).collect();
        assert_eq!(ingest(&mut client, create.clone(), many).await.unwrap(), 200_000);
        let found =
            || running.number("SELECT count(*) FROM \"Taken\" WHERE id % 7 = 0 OR \"Name\" = 'row ' || id");
        assert_eq!(found(), 200_000);
        let error = ingest(&mut client, create, vec![Ok(batch([1]))]).await.unwrap_err();
        assert_eq!(refusal(error).0, "42P07");
        let append = into("Taken", false, TableExistsOption::Append);
        assert_eq!(ingest(&mut client, append, vec![Ok(batch(0..10))]).await.unwrap(), 10);
        assert_eq!(found(), 200_010);
        let replace = into("Taken", true, TableExistsOption::Replace);
        assert_eq!(ingest(&mut client, replace, vec![Ok(batch(0..3))]).await.unwrap(), 3);
        assert_eq!(found(), 3);
        let error =
            ingest(&mut client, into("missing", false, TableExistsOption::Append), vec![Ok(batch([1]))])
                .await;
        assert_eq!(refusal(error.unwrap_err()).0, "42P01");
    });
}

#[test]
fn a_stream_that_breaks_off_or_is_refused_leaves_nothing() {
    let running = start();
    running.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, \"Name\" TEXT)");
    block_on(async {
        let mut client = running.client().await;
        let rows = || running.number("SELECT count(*) FROM t");
        let append = into("t", false, TableExistsOption::Append);
        let twice = vec![Ok(batch(0..100_000)), Ok(batch([500_000, 77]))];
        let (state, text) = refusal(ingest(&mut client, append.clone(), twice).await.unwrap_err());
        assert!(state == "23505" && text.contains("row 100002"), "{state} {text}");
        assert_eq!(rows(), 0);
        // A client that leaves before it has said that there is no more.
        for command in [append.clone(), into("made", true, TableExistsOption::Fail)] {
            let parts =
                futures_util::stream::iter([Ok(batch(0..100_000))]).chain(futures_util::stream::pending());
            let sent = client.execute_ingest(command, parts);
            assert!(tokio::time::timeout(Duration::from_secs(1), sent).await.is_err());
            running.until("what came before is taken back", || running.handle.load().0 == 0);
        }
        assert_eq!(rows(), 0);
        assert!(running.database.session().query("SELECT * FROM made").is_err());
        assert_eq!(ingest(&mut client, append, vec![Ok(batch(0..5))]).await.unwrap(), 5);
    });
}

#[test]
fn a_transaction_is_kept_or_taken_back_as_a_whole() {
    let running = start();
    running.sql("CREATE TABLE t (id BIGINT PRIMARY KEY, \"Name\" TEXT)");
    block_on(async {
        let mut client = running.client().await;
        let count = "SELECT count(*) FROM t";
        for (end, kept) in [(EndTransaction::Rollback, 0), (EndTransaction::Commit, 12)] {
            let id = client.begin_transaction().await.unwrap();
            client
                .execute_update("INSERT INTO t VALUES (1), (2)".to_owned(), Some(id.clone()))
                .await
                .unwrap();
            let command = CommandStatementIngest {
                transaction_id: Some(id.clone()),
                ..into("t", false, TableExistsOption::Append)
            };
            assert_eq!(ingest(&mut client, command, vec![Ok(batch(10..20))]).await.unwrap(), 10);
            // Seen inside, and not outside.
            let info = client.execute(count.to_owned(), Some(id.clone())).await.unwrap();
            let inside = super::client::rows(&mut client, info).await.unwrap();
            let inside = arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(
                inside[0].column(0),
            );
            assert_eq!((inside.value(0), number(&mut client, count).await), (12, 0));
            client.end_transaction(id.clone(), end).await.unwrap();
            assert_eq!(number(&mut client, count).await, kept);
            let error = client.execute_update("DELETE FROM t".to_owned(), Some(id)).await.unwrap_err();
            assert_eq!(refusal(error).0, "25P01");
        }
        // One that has failed is not kept, and says so.
        let id = client.begin_transaction().await.unwrap();
        client.execute_update("DELETE FROM t".to_owned(), Some(id.clone())).await.unwrap();
        assert!(client.execute_update("SELECT 1/0".to_owned(), Some(id.clone())).await.is_err());
        let error = client.end_transaction(id, EndTransaction::Commit).await.unwrap_err();
        assert_eq!(refusal(error).0, "25P02");
        assert_eq!(number(&mut client, count).await, 12);
    });
}

#[test]
fn two_cursors_of_a_transaction_are_read_side_by_side() {
    let running = start();
    block_on(async {
        use futures_util::TryStreamExt;
        let mut client = running.client().await;
        let id = client.begin_transaction().await.unwrap();
        let endless = "SELECT i FROM generate_series(1, 100000000000) AS t(i)".to_owned();
        let mut streams = Vec::new();
        for _ in 0..3 {
            let info = client.execute(endless.clone(), Some(id.clone())).await.unwrap();
            let mut stream = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
            assert!(stream.try_next().await.unwrap().is_some());
            streams.push(stream);
        }
        client.execute_update("CREATE TABLE beside (a INTEGER)".to_owned(), Some(id.clone())).await.unwrap();
        for stream in &mut streams {
            assert!(stream.try_next().await.unwrap().is_some());
        }
        client.end_transaction(id, EndTransaction::Commit).await.unwrap();
        assert_eq!(number(&mut client, "SELECT count(*) FROM beside").await, 0);
    });
}

async fn action(client: &mut Client, name: &str, body: impl ProstMessageExt) -> Option<bytes::Bytes> {
    let action = Action::new(name, body.as_any().encode_to_vec());
    let mut results = client.do_action(action).await.unwrap();
    results.message().await.unwrap().map(|result| result.body)
}

#[test]
fn a_savepoint_takes_back_what_came_after_it() {
    let running = start();
    running.sql("CREATE TABLE t (id BIGINT)");
    block_on(async {
        let mut client = running.client().await;
        let id = client.begin_transaction().await.unwrap();
        client.execute_update("INSERT INTO t VALUES (1)".to_owned(), Some(id.clone())).await.unwrap();
        let begin = ActionBeginSavepointRequest { transaction_id: id.clone(), name: "a \" b".to_owned() };
        let made = action(&mut client, "BeginSavepoint", begin).await.unwrap();
        let made: ActionBeginSavepointResult = Any::decode(&*made).unwrap().unpack().unwrap().unwrap();
        client.execute_update("INSERT INTO t VALUES (2)".to_owned(), Some(id.clone())).await.unwrap();
        let back = ActionEndSavepointRequest { savepoint_id: made.savepoint_id, action: 2 };
        assert!(action(&mut client, "EndSavepoint", back).await.is_none());
        client.end_transaction(id, EndTransaction::Commit).await.unwrap();
        assert_eq!(running.number("SELECT sum(id)::bigint FROM t"), 1);
    });
}
