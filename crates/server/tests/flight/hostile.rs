//! Bytes that no client sends: random ones, and messages that are nearly right. The server answers or refuses, and goes on,
//! with no panic that reaches a thread's end and no memory that it does not give back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::sql::Any;
use arrow_flight::{Action, FlightData, FlightDescriptor, Ticket};
use futures_util::{StreamExt, TryStreamExt};
use prost::Message;
use random::Random;

use super::client::{Client, block_on, number, start};

const COMMANDS: [&str; 22] = [
    "CommandStatementQuery",
    "CommandStatementSubstraitPlan",
    "CommandPreparedStatementQuery",
    "CommandGetCatalogs",
    "CommandGetDbSchemas",
    "CommandGetTables",
    "CommandGetTableTypes",
    "CommandGetSqlInfo",
    "CommandGetPrimaryKeys",
    "CommandGetExportedKeys",
    "CommandGetImportedKeys",
    "CommandGetCrossReference",
    "CommandGetXdbcTypeInfo",
    "CommandStatementUpdate",
    "CommandPreparedStatementUpdate",
    "CommandStatementIngest",
    "TicketStatementQuery",
    "ActionCreatePreparedStatementRequest",
    "ActionBeginSavepointRequest",
    "ActionEndSavepointRequest",
    "ActionEndTransactionRequest",
    "NoSuchCommand",
];
const ACTIONS: [&str; 8] = [
    "CreatePreparedStatement",
    "ClosePreparedStatement",
    "EndTransaction",
    "BeginSavepoint",
    "EndSavepoint",
    "CancelQuery",
    "CancelFlightInfo",
    "NoSuchAction",
];

fn bytes(random: &mut Random, most: u64) -> Vec<u8> {
    (0..random.below(most)).map(|_| random.below(256) as u8).collect()
}

/// Fields of a message as protobuf writes them, with contents that mean little.
fn fields(random: &mut Random) -> Vec<u8> {
    let mut message = Vec::new();
    for _ in 0..random.below(5) {
        let tag = random.below(8) as u8 + 1;
        match random.below(3) {
            0 => message.extend([tag << 3, random.below(128) as u8]),
            1 => {
                let text = [&b"SELECT 1"[..], b"%", b"t", b"ids", &[0xff; 16], b""][random.below(6) as usize];
                message.extend([tag << 3 | 2, text.len() as u8]);
                message.extend(text);
            }
            _ => {
                let inner = bytes(random, 40);
                message.extend([tag << 3 | 2, inner.len() as u8]);
                message.extend(inner);
            }
        }
    }
    message
}

/// A command that is random, or has a name that is known.
fn command(random: &mut Random) -> Vec<u8> {
    match random.below(4) {
        0 => bytes(random, 200),
        _ => {
            let name = COMMANDS[random.below(COMMANDS.len() as u64) as usize];
            let type_url = format!("type.googleapis.com/arrow.flight.protocol.sql.{name}");
            Any { type_url, value: fields(random).into() }.encode_to_vec()
        }
    }
}

async fn drain<T>(answer: Result<tonic::Response<tonic::Streaming<T>>, tonic::Status>) {
    if let Ok(answer) = answer {
        let mut stream = answer.into_inner();
        while let Ok(Some(_)) = stream.message().await {}
    }
}

fn with_token<T>(client: &Client, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    let value = format!("Bearer {}", client.token().unwrap()).parse().unwrap();
    request.metadata_mut().insert("authorization", value);
    request.set_timeout(Duration::from_secs(30));
    request
}

#[test]
fn commands_tickets_and_actions_of_any_bytes_are_refused() {
    let running = start();
    running.sql("CREATE TABLE t (id BIGINT)");
    block_on(async {
        let mut client = running.client().await;
        let mut random = Random::new(28);
        for _ in 0..600 {
            let bytes = command(&mut random);
            match random.below(3) {
                0 => {
                    let request = with_token(&client, FlightDescriptor::new_cmd(bytes));
                    if let Ok(info) = client.inner_mut().get_flight_info(request).await {
                        for endpoint in info.into_inner().endpoint {
                            let request = with_token(&client, endpoint.ticket.unwrap());
                            drain(client.inner_mut().do_get(request).await).await;
                        }
                    }
                }
                1 => {
                    let request = with_token(&client, Ticket::new(bytes));
                    drain(client.inner_mut().do_get(request).await).await;
                }
                _ => {
                    let name = ACTIONS[random.below(ACTIONS.len() as u64) as usize];
                    let request = with_token(&client, Action::new(name, bytes));
                    drain(client.inner_mut().do_action(request).await).await;
                }
            }
        }
        assert_eq!(number(&mut client, "SELECT 7::bigint").await, 7);
    });
    running.until("no job is left", || running.handle.load().0 == 0);
}

/// An ingest as the library sends it.
async fn valid() -> Vec<FlightData> {
    let ids: ArrayRef = std::sync::Arc::new(Int64Array::from_iter_values(0..100));
    let names: ArrayRef =
        std::sync::Arc::new(StringArray::from_iter_values((0..100).map(|i| format!("row {i}"))));
    let batch = RecordBatch::try_from_iter([("id", ids), ("name", names)]).unwrap();
    // A table that is made: `fail` where it is there.
    let type_url = "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementIngest".to_owned();
    let command = Any { type_url, value: vec![0x0a, 4, 8, 1, 16, 1, 0x12, 4, b'm', b'a', b'd', b'e'].into() };
    FlightDataEncoderBuilder::new()
        .with_flight_descriptor(Some(FlightDescriptor::new_cmd(command.encode_to_vec())))
        .build(futures_util::stream::iter([Ok(batch)]))
        .try_collect()
        .await
        .unwrap()
}

#[test]
fn arrow_data_of_any_bytes_is_refused_and_nothing_is_kept_of_it() {
    let running = start();
    block_on(async {
        let mut client = running.client().await;
        let mut random = Random::new(2028);
        let valid = valid().await;
        let before = running.database.memory_used().0;
        for _ in 0..400 {
            let mut messages = valid.clone();
            for message in &mut messages {
                let mut header = message.data_header.to_vec();
                let mut body = message.data_body.to_vec();
                for _ in 0..random.below(4) {
                    let part = if random.below(4) == 0 { &mut body } else { &mut header };
                    if !part.is_empty() {
                        let at = random.below(part.len() as u64) as usize;
                        part[at] = random.below(256) as u8;
                    }
                }
                if random.below(8) == 0 {
                    body.truncate(random.below(body.len() as u64 + 1) as usize);
                }
                (message.data_header, message.data_body) = (header.into(), body.into());
            }
            let request = with_token(&client, futures_util::stream::iter(messages).boxed());
            drain(client.inner_mut().do_put(request).await).await;
            running.sql("DROP TABLE IF EXISTS made");
        }
        running.until("no job is left", || running.handle.load().0 == 0);
        let after = running.database.memory_used().0;
        assert!(after < before + (32 << 20), "{before} {after}");
        let request = with_token(&client, futures_util::stream::iter(valid).boxed());
        drain(client.inner_mut().do_put(request).await).await;
        assert_eq!(number(&mut client, "SELECT count(*) FROM made").await, 100);
    });
}

#[test]
fn http_of_any_bytes_is_refused() {
    let running = start();
    let mut random = Random::new(82);
    let address = ("127.0.0.1", running.http.port);
    let parts: [&[u8]; 14] = [
        b"GET / HTTP/1.1\r\n",
        b"POST /v1/query HTTP/1.1\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"PRI ",
        b"Host: 127.0.0.1\r\n",
        b"Content-Length: 99999999999999999999\r\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n",
        b"ffffffffffffffff\r\n",
        b"{\"sql\":\"SELECT 1\"}",
        b"\x16\x03\x01\x02\x00",
        b"\x00\x00\x04\x04\x00\x00\x00\x00\x00",
        b"\x00\x40\x00\x01\x05\x00\x00\x00\x01",
    ];
    for _ in 0..400 {
        let mut sent = Vec::new();
        for _ in 0..random.below(6) + 1 {
            match random.below(4) {
                0 => sent.extend(bytes(&mut random, 300)),
                _ => sent.extend(parts[random.below(parts.len() as u64) as usize]),
            }
        }
        let mut socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(3))).unwrap();
        // It may have closed already.
        _ = socket.write_all(&sent);
        _ = socket.read(&mut [0; 4096]);
    }
    running.until("their connections end", || running.handle.connections() == 0);
    block_on(async { assert_eq!(number(&mut running.client().await, "SELECT 7::bigint").await, 7) });
}
