//! A server of a test, and a client of Flight SQL.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_flight::FlightInfo;
use arrow_flight::error::FlightError;
use arrow_flight::sql::client::FlightSqlServiceClient;
use futures_util::TryStreamExt;
use server::http::HttpAddresses;
use server::{Config, DatabaseRoles, Handle, Server};
use tonic::transport::{Channel, Endpoint};

pub type Client = FlightSqlServiceClient<Channel>;

/// A server in this process, over a database in memory.
pub struct Running {
    pub database: engine::Database,
    pub http: HttpAddresses,
    pub handle: Handle,
}

/// Starts a server.
pub fn start() -> Running {
    start_with(|config| config)
}

/// Starts a server with another configuration.
pub fn start_with(change: impl FnOnce(Config) -> Config) -> Running {
    let options = engine::Options { workers: Some(2), ..engine::Options::default() };
    let database = engine::Database::in_memory(options).unwrap();
    let config = Config { port: Some(0), socket_directory: None, ..Config::default() };
    let roles = Arc::new(DatabaseRoles::new(&database));
    server::first_password(&*roles).unwrap();
    let handle = Server::start(database.clone(), change(config), roles).unwrap();
    let http = handle.serve_http(Some(0)).unwrap();
    Running { database, http, handle }
}

/// Runs a test's tasks.
pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap().block_on(work)
}

impl Running {
    pub async fn channel(&self) -> Channel {
        let address = format!("http://127.0.0.1:{}", self.http.port);
        // What streams that nobody reads hold of a connection's window is no other one's.
        let endpoint = Endpoint::from_shared(address).unwrap().initial_connection_window_size(64 << 20);
        endpoint.connect().await.unwrap()
    }

    /// A client that has not said who it is.
    pub async fn nobody(&self) -> Client {
        FlightSqlServiceClient::new(self.channel().await)
    }

    /// A client with the server's token.
    pub async fn client(&self) -> Client {
        let mut client = self.nobody().await;
        client.set_token(self.http.token.clone());
        client
    }

    /// A client of a role that has this password.
    pub async fn client_of(&self, role: &str, password: &str) -> Client {
        let mut client = self.nobody().await;
        client.handshake(role, password).await.unwrap();
        client
    }

    /// Runs a script on a session of the superuser's.
    pub fn sql(&self, sql: &str) {
        self.database.session().execute(sql).unwrap();
    }

    /// The only number of a query's only row.
    pub fn number(&self, sql: &str) -> i64 {
        match self.database.session().query(sql).unwrap().value(0, 0) {
            engine::Value::I64(number) => number,
            engine::Value::I32(number) => i64::from(number),
            other => panic!("{other:?}"),
        }
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !holds() {
            assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{what}");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}

/// The rows that a FlightInfo promises; their schema is the one that it tells.
pub async fn rows(client: &mut Client, info: FlightInfo) -> Result<Vec<RecordBatch>, FlightError> {
    let promised = info.clone().try_decode_schema().unwrap();
    let mut all = Vec::new();
    for endpoint in info.endpoint {
        let mut stream = client.do_get(endpoint.ticket.unwrap()).await?;
        while let Some(batch) = stream.try_next().await? {
            assert_eq!(*batch.schema(), promised);
            all.push(batch);
        }
    }
    Ok(all)
}

/// The rows of a query.
pub async fn query(client: &mut Client, sql: &str) -> Result<Vec<RecordBatch>, FlightError> {
    let info = client.execute(sql.to_owned(), None).await?;
    rows(client, info).await
}

/// The only number of a query's only row.
pub async fn number(client: &mut Client, sql: &str) -> i64 {
    let batches = query(client, sql).await.unwrap();
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

/// Number of rows.
pub fn count(batches: &[RecordBatch]) -> usize {
    batches.iter().map(RecordBatch::num_rows).sum()
}

/// A column of texts.
pub fn texts(batches: &[RecordBatch], column: &str) -> Vec<String> {
    let each = batches.iter().flat_map(|batch| {
        let values = batch.column_by_name(column).unwrap().as_string::<i32>();
        values.iter().map(|value| value.unwrap_or("NULL").to_owned()).collect::<Vec<_>>()
    });
    each.collect()
}

/// SQLSTATE of an error, and its text.
pub fn refusal(error: FlightError) -> (String, String) {
    let FlightError::Tonic(status) = error else { panic!("{error:?}") };
    let state =
        status.metadata().get("sqlstate").map_or(String::new(), |state| state.to_str().unwrap().to_owned());
    (state, status.message().to_owned())
}
