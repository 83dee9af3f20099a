//! The driver `tokio-postgres`, which sends and reads everything in binary.

#[path = "protocol/client.rs"]
#[allow(dead_code)]
mod client;

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt, TryStreamExt};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Config, NoTls};

fn with_client<F: Future<Output = ()>>(work: impl FnOnce(Client) -> F) {
    let (server, _) = client::start(|_| ());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let mut config = Config::new();
        config.host("127.0.0.1").port(server.port()).user("quickstep").dbname("postgres");
        let (client, connection) = config.connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        work(client).await;
    });
}

async fn there_and_back<T>(client: &Client, ty: &str, values: &[T])
where
    T: ToSql + Sync + Clone + PartialEq + std::fmt::Debug + for<'a> FromSql<'a>,
{
    for value in values {
        let row = client.query_one(&format!("SELECT $1::{ty}, NULL::{ty}"), &[value]).await;
        let row = row.unwrap_or_else(|error| panic!("{ty} {value:?}: {error}"));
        assert_eq!((row.get::<_, T>(0), row.get::<_, Option<T>>(1)), (value.clone(), None), "{ty}");
    }
}

#[test]
fn values_go_and_come_in_binary() {
    with_client(async |client| {
        there_and_back(&client, "BOOLEAN", &[true, false]).await;
        there_and_back(&client, "SMALLINT", &[i16::MIN, 0, i16::MAX]).await;
        there_and_back(&client, "INTEGER", &[i32::MIN, 0, i32::MAX]).await;
        there_and_back(&client, "BIGINT", &[i64::MIN, 0, i64::MAX]).await;
        there_and_back(&client, "REAL", &[0.5f32, f32::MAX, f32::INFINITY]).await;
        there_and_back(&client, "DOUBLE PRECISION", &[-0.1f64, f64::MAX, f64::NEG_INFINITY]).await;
        there_and_back(&client, "TEXT", &[String::new(), "ä\n'".to_owned()]).await;
        there_and_back(&client, "BYTEA", &[vec![], vec![0u8, 255, b'\\']]).await;
        let times =
            [SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH + Duration::from_micros(1_700_000_000_000_001)];
        there_and_back(&client, "TIMESTAMP", &times).await;
        there_and_back(&client, "TIMESTAMPTZ", &times).await;
        there_and_back(&client, "INTEGER[]", &[vec![], vec![Some(1), None, Some(3)]]).await;
        there_and_back(&client, "TEXT[]", &[vec![Some("a".to_owned()), None, Some("b,\"c".to_owned())]])
            .await;
    });
}

#[test]
fn pipelined_queries_come_back_in_their_order() {
    with_client(async |client| {
        let statement = client.prepare("SELECT $1::INT * 2").await.unwrap();
        let queries = (0..200).map(|i| {
            let (client, statement) = (&client, &statement);
            async move { client.query_one(statement, &[&i]).await.unwrap().get::<_, i32>(0) }
        });
        let answers = futures_util::future::join_all(queries).await;
        assert_eq!(answers, (0..200).map(|i| i * 2).collect::<Vec<i32>>());
    });
}

#[test]
fn portals_are_read_in_parts() {
    with_client(async |mut client| {
        let transaction = client.transaction().await.unwrap();
        let portal =
            transaction.bind("SELECT i::INT FROM generate_series(1, 2500) AS t(i)", &[]).await.unwrap();
        let mut seen = Vec::new();
        loop {
            let rows = transaction.query_portal(&portal, 1000).await.unwrap();
            if rows.is_empty() {
                break;
            }
            seen.push(rows.len());
        }
        assert_eq!(seen, [1000, 1000, 500]);
        transaction.commit().await.unwrap();
    });
}

#[test]
fn errors_have_their_codes_and_transactions_are_rolled_back() {
    with_client(async |mut client| {
        client.batch_execute("CREATE TABLE t (i INT PRIMARY KEY)").await.unwrap();
        let transaction = client.transaction().await.unwrap();
        transaction.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap();
        let error = transaction.execute("INSERT INTO t VALUES (1)", &[]).await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::UNIQUE_VIOLATION));
        drop(transaction);
        assert_eq!(client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get::<_, i64>(0), 0);
        let error = client.prepare("SELECT nothing").await.unwrap_err();
        assert_eq!(error.code(), Some(&SqlState::UNDEFINED_COLUMN));
    });
}

#[test]
fn rows_are_copied_both_ways() {
    with_client(async |client| {
        client.batch_execute("CREATE TABLE t (i INT, s TEXT)").await.unwrap();
        let sink = client.copy_in("COPY t FROM STDIN (FORMAT csv)").await.unwrap();
        let mut sink = std::pin::pin!(sink);
        for i in 0..1000 {
            sink.send(Bytes::from(format!("{i},row {i}\n"))).await.unwrap();
        }
        assert_eq!(sink.finish().await.unwrap(), 1000);
        let stream =
            client.copy_out("COPY (SELECT * FROM t ORDER BY i) TO STDOUT (FORMAT csv, HEADER false)").await;
        let pieces: Vec<Bytes> = stream.unwrap().try_collect().await.unwrap();
        let text = String::from_utf8(pieces.concat()).unwrap();
        assert_eq!((text.lines().count(), text.lines().last()), (1000, Some("999,row 999")));
    });
}

#[test]
fn a_stream_of_many_rows_and_a_cancel() {
    with_client(async |client| {
        let none: [i32; 0] = [];
        let rows =
            client.query_raw("SELECT i::INT FROM generate_series(1, 300000) AS t(i)", none).await.unwrap();
        let mut rows = std::pin::pin!(rows);
        let mut last = 0;
        while let Some(row) = rows.next().await {
            last = row.unwrap().get::<_, i32>(0);
        }
        assert_eq!(last, 300_000);
        let token = client.cancel_token();
        let long =
            "SELECT count(*) FROM generate_series(1, 1000000) AS a(i), generate_series(1, 1000000) AS b(j)";
        let query = client.query(long, &[]);
        let cancel = async {
            tokio::time::sleep(Duration::from_millis(300)).await;
            token.cancel_query(NoTls).await.unwrap();
        };
        let (answer, ()) = tokio::join!(query, cancel);
        assert_eq!(answer.unwrap_err().code(), Some(&SqlState::QUERY_CANCELED));
    });
}
