//! Options of a session, which a cookie stands for, and polling.

use std::collections::BTreeMap;

use arrow_flight::sql::{CommandStatementQuery, EndTransaction, ProstMessageExt};
use arrow_flight::{Action, FlightDescriptor};
use futures_util::StreamExt;
use prost::Message;

use super::client::{Client, block_on, query, rows, start, texts};

/// A value of an option, as far as these tests send and read them.
#[derive(Clone, PartialEq, Message)]
struct Value {
    #[prost(string, optional, tag = "1")]
    text: Option<String>,
    #[prost(bool, optional, tag = "2")]
    on: Option<bool>,
    #[prost(sfixed64, optional, tag = "3")]
    whole: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
struct Options {
    #[prost(btree_map = "string, message", tag = "1")]
    options: BTreeMap<String, Value>,
}

#[derive(Clone, PartialEq, Message)]
struct Number {
    #[prost(int32, tag = "1")]
    value: i32,
}

#[derive(Clone, PartialEq, Message)]
struct Errors {
    #[prost(btree_map = "string, message", tag = "1")]
    errors: BTreeMap<String, Number>,
}

fn text(value: &str) -> Value {
    Value { text: Some(value.to_owned()), ..Value::default() }
}

/// Does an action; its answer, and the cookie that it sets, if it sets one.
async fn act(
    client: &mut Client,
    kind: &str,
    body: Vec<u8>,
    cookie: Option<&str>,
) -> (Vec<u8>, Option<String>) {
    let mut request = tonic::Request::new(Action { r#type: kind.to_owned(), body: body.into() });
    let token = format!("Bearer {}", client.token().unwrap());
    request.metadata_mut().insert("authorization", token.parse().unwrap());
    if let Some(cookie) = cookie {
        request.metadata_mut().insert("cookie", cookie.parse().unwrap());
    }
    let response = client.inner_mut().do_action(request).await.unwrap();
    let set = response.metadata().get("set-cookie").map(|value| value.to_str().unwrap().to_owned());
    let bodies: Vec<_> = response.into_inner().collect().await;
    let [Ok(body)] = bodies.as_slice() else { panic!("{bodies:?}") };
    (body.body.to_vec(), set.map(|set| set.split(';').next().unwrap_or_default().to_owned()))
}

async fn set(
    client: &mut Client,
    options: &[(&str, Value)],
    cookie: Option<&str>,
) -> (BTreeMap<String, Number>, String) {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let body = Options { options }.encode_to_vec();
    let (answer, set) = act(client, "SetSessionOptions", body, cookie).await;
    (Errors::decode(&*answer).unwrap().errors, set.unwrap())
}

async fn options(client: &mut Client, cookie: Option<&str>) -> BTreeMap<String, Value> {
    let (answer, _) = act(client, "GetSessionOptions", vec![], cookie).await;
    Options::decode(&*answer).unwrap().options
}

#[test]
fn options_hold_for_calls_with_the_cookie_and_for_no_others() {
    let running = start();
    running.sql("CREATE SCHEMA other; CREATE TABLE other.t AS SELECT 'here' AS place");
    block_on(async {
        let mut client = running.client().await;
        let wanted = [
            ("timezone", text("Asia/Tokyo")),
            ("schema", text("other")),
            ("batch_rows", Value { whole: Some(7), ..Value::default() }),
        ];
        let (errors, cookie) = set(&mut client, &wanted, None).await;
        assert!(errors.is_empty(), "{errors:?}");
        assert!(cookie.starts_with("arrow_flight_session_id="), "{cookie}");
        let shown = "SELECT current_setting('timezone') AS zone";
        assert_ne!(texts(&query(&mut client, shown).await.unwrap(), "zone"), ["Asia/Tokyo"]);
        client.set_header("cookie", &cookie);
        assert_eq!(texts(&query(&mut client, shown).await.unwrap(), "zone"), ["Asia/Tokyo"]);
        assert_eq!(texts(&query(&mut client, "SELECT place FROM t").await.unwrap(), "place"), ["here"]);
        // A prepared statement is looked up with them, and so is a transaction's.
        let mut prepared = client.prepare("SELECT place FROM t".to_owned(), None).await.unwrap();
        let info = prepared.execute().await.unwrap();
        assert_eq!(texts(&rows(&mut client, info).await.unwrap(), "place"), ["here"]);
        let transaction = client.begin_transaction().await.unwrap();
        let info = client.execute("SELECT place FROM t".to_owned(), Some(transaction.clone())).await.unwrap();
        assert_eq!(texts(&rows(&mut client, info).await.unwrap(), "place"), ["here"]);
        client.end_transaction(transaction, EndTransaction::Commit).await.unwrap();
        let told = options(&mut client, Some(&cookie)).await;
        assert_eq!((&told["timezone"], &told["schema"]), (&text("Asia/Tokyo"), &text("other")));
        assert_eq!(told["catalog"], text(running.database.name()));
        // One is changed, one goes back, the others stay.
        let change = [("timezone", text("UTC")), ("batch_rows", Value::default())];
        let (errors, same) = set(&mut client, &change, Some(&cookie)).await;
        assert!(errors.is_empty() && same == cookie, "{errors:?}");
        let told = options(&mut client, Some(&cookie)).await;
        assert!(
            told["timezone"] == text("UTC")
                && !told.contains_key("batch_rows")
                && told["schema"] == text("other")
        );
        // After its end the cookie stands for nothing.
        let (closed, _) = act(&mut client, "CloseSession", vec![], Some(&cookie)).await;
        assert_eq!(Number::decode(&*closed).unwrap().value, 1);
        assert!(!options(&mut client, Some(&cookie)).await.contains_key("timezone"));
        assert!(query(&mut client, "SELECT place FROM t").await.is_err());
        let (closed, _) = act(&mut client, "CloseSession", vec![], Some(&cookie)).await;
        assert_eq!(Number::decode(&*closed).unwrap().value, 3);
    });
}

#[test]
fn what_cannot_be_set_is_told_and_the_rest_holds() {
    let running = start();
    running.sql("CREATE ROLE ada LOGIN PASSWORD 'one'");
    block_on(async {
        let mut client = running.client().await;
        let wanted = [
            ("timezone", text("UTC")),
            ("no_such_setting", text("x")),
            ("batch_rows", text("many")),
            ("catalog", text("elsewhere")),
            ("memory_limit", text("1GB")),
        ];
        let (errors, cookie) = set(&mut client, &wanted, None).await;
        let told: Vec<(&str, i32)> =
            errors.iter().map(|(name, error)| (name.as_str(), error.value)).collect();
        assert_eq!(told, [("batch_rows", 2), ("catalog", 2), ("memory_limit", 2), ("no_such_setting", 1)]);
        assert_eq!(options(&mut client, Some(&cookie)).await["timezone"], text("UTC"));
        // Another role has nothing of a cookie that it knows.
        let mut ada = running.client_of("ada", "one").await;
        assert!(!options(&mut ada, Some(&cookie)).await.contains_key("timezone"));
        let (closed, _) = act(&mut ada, "CloseSession", vec![], Some(&cookie)).await;
        assert_eq!(Number::decode(&*closed).unwrap().value, 3);
        assert_eq!(options(&mut client, Some(&cookie)).await["timezone"], text("UTC"));
    });
}

#[test]
fn the_first_poll_has_all() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let command = CommandStatementQuery { query: "SELECT 'x' AS x".to_owned(), transaction_id: None };
        let mut request = tonic::Request::new(FlightDescriptor::new_cmd(command.as_any().encode_to_vec()));
        let token = format!("Bearer {}", client.token().unwrap());
        request.metadata_mut().insert("authorization", token.parse().unwrap());
        let told = client.inner_mut().poll_flight_info(request).await.unwrap().into_inner();
        assert!(told.flight_descriptor.is_none() && told.progress == Some(1.0), "{told:?}");
        assert_eq!(texts(&rows(&mut client, told.info.unwrap()).await.unwrap(), "x"), ["x"]);
    });
}
