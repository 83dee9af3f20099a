//! Queries, their rows as streams, cancel, errors.

use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::{Action, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus};
use arrow_schema::DataType;
use futures_util::TryStreamExt;
use prost::Message;

use super::client::{Client, block_on, count, number, query, refusal, rows, start, texts};

const ENDLESS: &str = "SELECT i, i * 2 AS j FROM generate_series(1, 100000000000) AS t(i)";

/// Cancels by the action.
async fn cancel(client: &mut Client, info: &arrow_flight::FlightInfo) {
    let body = CancelFlightInfoRequest { info: Some(info.clone()) }.encode_to_vec();
    let mut results = client.do_action(Action::new("CancelFlightInfo", body)).await.unwrap();
    let result = results.message().await.unwrap().unwrap();
    let result = CancelFlightInfoResult::decode(&*result.body).unwrap();
    assert_eq!(result.status, CancelStatus::Cancelled as i32);
}

#[test]
fn rows_of_every_kind_come_as_they_were_promised() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let batches = query(
            &mut client,
            "SELECT 1::integer AS i, 'ä' AS t, NULL::text AS n, 1.50::decimal(9,2) AS d, DATE '2024-02-29' AS day,
                    '\\x00ff'::bytea AS b, [1, NULL, 3] AS l, {'a': 1, 'b': 'x'} AS s, INTERVAL '1 day' AS v,
                    '12345678-1234-5678-1234-567812345678'::uuid AS u, TIMESTAMPTZ '2024-01-01 00:00:00+00' AS z",
        );
        let batches = batches.await.unwrap();
        assert_eq!(count(&batches), 1);
        let row = &batches[0];
        assert_eq!(row.column(0).as_primitive::<Int32Type>().value(0), 1);
        assert_eq!(
            (texts(&batches, "t"), texts(&batches, "n")),
            (vec!["ä".to_owned()], vec!["NULL".to_owned()])
        );
        assert_eq!(row.column(3).data_type(), &DataType::Decimal128(9, 2));
        assert_eq!(row.column(5).as_binary::<i32>().value(0), [0, 255]);
        assert!(row.column(6).as_list::<i32>().value(0).is_null(1));
        assert_eq!(row.column(7).as_struct().column(1).as_string::<i32>().value(0), "x");
        // Statements that are no queries, and scripts, give their last rows.
        assert_eq!(
            texts(&query(&mut client, "SHOW server_version").await.unwrap(), "server_version").len(),
            1
        );
        let script =
            "CREATE TABLE made (a INTEGER); INSERT INTO made VALUES (1), (2); SELECT a::text AS a FROM made";
        assert_eq!(texts(&query(&mut client, script).await.unwrap(), "a"), ["1", "2"]);
        let returned =
            query(&mut client, "INSERT INTO made VALUES (3) RETURNING a::text AS a").await.unwrap();
        assert_eq!(
            (texts(&returned, "a"), running.number("SELECT count(*) FROM made")),
            (vec!["3".to_owned()], 3)
        );
        // What gives no rows has run when its FlightInfo is there.
        let info = client.execute("INSERT INTO made VALUES (4)".to_owned(), None).await.unwrap();
        assert_eq!(running.number("SELECT count(*) FROM made"), 4);
        assert_eq!(count(&rows(&mut client, info).await.unwrap()), 0);
        assert_eq!(count(&query(&mut client, "SELECT a FROM made WHERE a > 9").await.unwrap()), 0);
    });
}

#[test]
fn a_large_result_streams_in_bounded_messages_and_whole() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let sql = "SELECT i::bigint AS i, 'row ' || i AS t FROM generate_series(1, 1000000) AS t(i)";
        let batches = query(&mut client, sql).await.unwrap();
        assert_eq!(count(&batches), 1_000_000);
        let sum: i64 = batches
            .iter()
            .map(|b| b.column(0).as_primitive::<Int64Type>().values().iter().sum::<i64>())
            .sum();
        assert_eq!(sum, 500_000_500_000);
        let first = batches.first().unwrap();
        assert!(first.get_array_memory_size() < 4 << 20, "{}", first.get_array_memory_size());
    });
}

#[test]
fn a_reader_that_stops_bounds_memory_and_one_that_leaves_ends_the_query() {
    let running = start();
    let used = || running.database.memory_used().0;
    block_on(async {
        let mut client = running.client().await;
        let info = client.execute(ENDLESS.to_owned(), None).await.unwrap();
        let mut stream = client.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
        assert!(stream.try_next().await.unwrap().unwrap().num_rows() > 0);
        tokio::time::sleep(Duration::from_millis(500)).await;
        let before = used();
        tokio::time::sleep(Duration::from_millis(700)).await;
        assert!(used() < before + (64 << 20), "{before} {}", used());
        assert_eq!(running.database.queries().len(), 1);
        drop(stream);
    });
    running.until("the query ends with its reader", || running.database.queries().is_empty());
}

#[test]
fn a_query_is_cancelled_where_it_runs_where_it_is_blocked_in_sending_and_before_it_begins() {
    let running = start();
    block_on(async {
        let (mut client, mut other) = (running.client().await, running.client().await);
        // It computes, and sends nothing.
        let sql = "SELECT sum(i * j) FROM generate_series(1, 10000000) AS a(i), generate_series(1, 10000000) AS b(j)";
        let info = client.execute(sql.to_owned(), None).await.unwrap();
        let ticket = info.endpoint[0].ticket.clone().unwrap();
        let reader = tokio::spawn(async move {
            match client.do_get(ticket).await {
                Ok(stream) => stream.try_collect::<Vec<RecordBatch>>().await,
                Err(error) => Err(error),
            }
        });
        running.until("it runs", || !running.database.queries().is_empty());
        let begun = Instant::now();
        cancel(&mut other, &info).await;
        assert_eq!(refusal(reader.await.unwrap().unwrap_err()).0, "57014");
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        // It is blocked in sending.
        let info = other.execute(ENDLESS.to_owned(), None).await.unwrap();
        let mut stream = other.do_get(info.endpoint[0].ticket.clone().unwrap()).await.unwrap();
        assert!(stream.try_next().await.unwrap().is_some());
        tokio::time::sleep(Duration::from_millis(300)).await;
        cancel(&mut running.client().await, &info).await;
        running.until("the query ends", || running.database.queries().is_empty());
        let error = loop {
            match stream.try_next().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("a part was taken for the whole"),
                Err(error) => break error,
            }
        };
        assert_eq!(refusal(error).0, "57014");
        // It has not begun.
        let info = other.execute("SELECT 1".to_owned(), None).await.unwrap();
        cancel(&mut other, &info).await;
        assert_eq!(refusal(rows(&mut other, info).await.unwrap_err()).0, "57014");
        assert_eq!(number(&mut other, "SELECT 7::bigint").await, 7);
    });
}

#[test]
fn errors_have_their_state_and_place() {
    let running = start();
    running.sql("CREATE TABLE kept (a INTEGER PRIMARY KEY)");
    block_on(async {
        let mut client = running.client().await;
        for (sql, state) in [
            ("SELECT wrong FROM kept", "42703"),
            ("SELEC 1", "42601"),
            ("SELECT * FROM missing", "42P01"),
            ("CREATE TABLE kept (a INTEGER)", "42P07"),
            ("SELECT $1::integer", "42P02"),
            ("", ""),
        ] {
            match client.execute(sql.to_owned(), None).await {
                Ok(_) => assert_eq!(state, "", "{sql}"),
                Err(error) => assert_eq!(refusal(error).0, state, "{sql}"),
            }
        }
        // An error in the midst of rows follows those that have gone before.
        let info = client
            .execute("SELECT 1 / (500000 - i) FROM generate_series(1, 1000000) AS t(i)".to_owned(), None);
        let info = info.await.unwrap();
        assert_eq!(refusal(rows(&mut client, info).await.unwrap_err()).0, "22012");
        let error = client.execute("SELECT wrong FROM kept".to_owned(), None).await.unwrap_err();
        let (_, text) = refusal(error);
        assert!(text.contains("LINE 1: SELECT wrong FROM kept"), "{text}");
    });
}

#[test]
fn a_prepared_query_runs_with_the_values_that_are_bound() {
    let running = start();
    running.sql("CREATE TABLE people (id BIGINT, name TEXT); INSERT INTO people VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Ada')");
    block_on(async {
        let mut client = running.client().await;
        let sql = "SELECT id, name FROM people WHERE name = $1 AND id > $2 ORDER BY id";
        let mut statement = client.prepare(sql.to_owned(), None).await.unwrap();
        let types: Vec<DataType> =
            statement.parameter_schema().unwrap().fields().iter().map(|f| f.data_type().clone()).collect();
        assert_eq!(types, [DataType::Utf8, DataType::Int64]);
        assert_eq!(statement.dataset_schema().unwrap().fields().len(), 2);
        let values = |names: &[&str], ids: &[i64]| {
            let columns: [(&str, ArrayRef); 2] = [
                ("1", std::sync::Arc::new(StringArray::from(names.to_vec()))),
                ("2", std::sync::Arc::new(Int64Array::from(ids.to_vec()))),
            ];
            RecordBatch::try_from_iter(columns).unwrap()
        };
        for (names, ids, expected) in [
            (&["Ada"][..], &[0][..], 2),
            (&["Ada"], &[1], 1),
            (&["Nobody"], &[0], 0),
            // Rows of all runs, one after the other.
            (&["Ada", "Grace", "Ada"], &[0, 0, 2], 4),
        ] {
            statement.set_parameters(values(names, ids)).unwrap();
            let info = statement.execute().await.unwrap();
            assert_eq!(count(&rows(&mut client, info).await.unwrap()), expected, "{names:?}");
        }
        let one: ArrayRef = std::sync::Arc::new(Int64Array::from(vec![1]));
        statement.set_parameters(RecordBatch::try_from_iter([("1", one)]).unwrap()).unwrap();
        assert_eq!(refusal(statement.execute().await.unwrap_err()).0, "08P01");
        statement.close().await.unwrap();
        // A value keeps the type that the client has given it where the statement does not ask for one.
        let mut statement = client.prepare("SELECT $1 AS v".to_owned(), None).await.unwrap();
        let one: ArrayRef = std::sync::Arc::new(Int64Array::from(vec![41]));
        statement.set_parameters(RecordBatch::try_from_iter([("1", one)]).unwrap()).unwrap();
        let info = statement.execute().await.unwrap();
        let batches = rows(&mut client, info).await.unwrap();
        assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 41);
    });
}
