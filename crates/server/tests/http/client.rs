//! A server of a test, and requests to it.

use std::sync::Arc;

use hyper::body::Bytes;
use hyper::{HeaderMap, StatusCode};
use hyper_util::rt::TokioIo;
use server::http::HttpAddresses;
use server::{Config, DatabaseRoles, Handle, Server};

/// A server in this process, over a database in memory.
pub struct Running {
    pub database: engine::Database,
    pub http: HttpAddresses,
    pub handle: Handle,
    runtime: tokio::runtime::Runtime,
}

/// An answer, whole.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    /// `None`: it was broken off.
    pub body: Option<Bytes>,
}

impl Answer {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
    pub fn text(&self) -> String {
        String::from_utf8(self.body.as_ref().expect("a whole body").to_vec()).unwrap()
    }
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.text()).unwrap_or_else(|_| panic!("{} {}", self.status, self.text()))
    }
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap().to_owned()
    }
}

/// Starts a server.
pub fn start() -> Running {
    start_with(|config| config)
}

/// Starts a server with another configuration.
pub fn start_with(change: impl FnOnce(Config) -> Config) -> Running {
    let options = engine::Options { workers: Some(2), ..engine::Options::default() };
    let database = engine::Database::in_memory(options).unwrap();
    let config = Config { port: Some(0), socket_directory: None, trust: true, ..Config::default() };
    let handle =
        Server::start(database.clone(), change(config), Arc::new(DatabaseRoles::new(&database))).unwrap();
    let http = handle.serve_http(Some(0)).unwrap();
    Running::of(database, handle, http)
}

impl Running {
    pub fn of(database: engine::Database, handle: Handle, http: HttpAddresses) -> Running {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Running { database, http, handle, runtime }
    }

    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.http.port)
    }

    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.http.token)
    }

    /// Sends a request with exactly these headers.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.runtime.block_on(async {
            let socket = tokio::net::TcpStream::connect(self.host()).await.unwrap();
            let (mut sender, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(socket)).await.unwrap();
            tokio::spawn(connection);
            let mut request = hyper::Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let response = sender.send_request(request.body(body.to_owned()).unwrap()).await.unwrap();
            let (head, mut incoming) = response.into_parts();
            let mut body = Some(Vec::new());
            while let Some(frame) = next(&mut incoming).await {
                match (frame, &mut body) {
                    (Ok(bytes), Some(body)) => body.extend_from_slice(&bytes),
                    _ => body = None,
                }
                if body.is_none() {
                    break;
                }
            }
            Answer { status: head.status, headers: head.headers, body: body.map(Bytes::from) }
        })
    }

    /// As a program with the token.
    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[("host", &self.host()), ("authorization", &self.bearer())], "")
    }

    /// As a program with the token.
    pub fn post(&self, path: &str, accept: &str, body: &serde_json::Value) -> Answer {
        let headers = [
            ("host", &*self.host()),
            ("authorization", &self.bearer()),
            ("content-type", "application/json"),
            ("accept", accept),
        ];
        self.send("POST", path, &headers, &body.to_string())
    }

    /// What `/v1/query` answers in JSON.
    pub fn query(&self, sql: &str) -> serde_json::Value {
        self.post("/v1/query", "application/json", &serde_json::json!({ "sql": sql })).json()
    }

    /// Waits until something holds.
    pub fn until(&self, what: &str, holds: impl Fn() -> bool) {
        timing::until(what, holds);
    }
}

/// The next bytes of a body.
pub async fn next(body: &mut hyper::body::Incoming) -> Option<Result<Bytes, hyper::Error>> {
    use hyper::body::Body;
    loop {
        let frame =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await?;
        match frame {
            Ok(frame) => match frame.into_data() {
                Ok(bytes) => return Some(Ok(bytes)),
                Err(_) => continue,
            },
            Err(error) => return Some(Err(error)),
        }
    }
}
