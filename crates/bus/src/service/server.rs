//! The server side of the service: answers gRPC calls with a bus of this process.
//!
//! Two threads serve connections; each call runs on a thread of its own, since the bus waits for storage and
//! messages, and at most `CALLS_MAX` run at a time. The server keeps nothing between calls: clients and their queues
//! are the bus's, and outlive connections. Errors of the bus travel as gRPC codes with SQLSTATE, hint and detail
//! attached.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use prost::Message as _;
use prost::bytes::Bytes;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::{Code, Request, Response, Status};
use types::{Error, Result, SqlState};

use super::BYTES_MAX;
use super::codec::BytesCodec;
use super::wire::{SERVICE, answer, error_to_wire};
use crate::Bus;

/// So many calls may be under way, waiting ones included; more wait for these.
const CALLS_MAX: usize = 512;

/// A bus that others reach. It serves until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    runtime: Option<Runtime>,
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(SqlState::IoError, format!("the message bus cannot {what}: {error}"))
}

impl Server {
    /// Serves a bus at an address; port 0 is any free one. There is no authentication: give it an address that only
    /// clients which may use the bus can reach.
    pub fn start(bus: Arc<dyn Bus>, address: SocketAddr) -> Result<Server> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(CALLS_MAX)
            .thread_name("bus-service")
            .enable_all()
            .build()
            .map_err(|error| failed("start its threads", error))?;
        let entered = runtime.enter();
        let incoming =
            TcpIncoming::bind(address).map_err(|error| failed(&format!("listen at {address}"), error))?;
        let address = incoming.local_addr().map_err(|error| failed("learn its address", error))?;
        drop(entered);
        let (stop, stopped) = oneshot::channel::<()>();
        let service = BusService { bus };
        runtime.spawn(async move {
            let signal = async {
                // Dropped counts as well.
                let _ = stopped.await;
            };
            let server = tonic::transport::Server::builder().tcp_nodelay(true);
            let incoming = incoming.with_nodelay(Some(true));
            // An error of the listening socket ends the service; clients see that it does not answer.
            let _ = server.serve_with_incoming_shutdown(service, incoming, signal).await;
        });
        Ok(Server { address, stop: Some(stop), runtime: Some(runtime) })
    }

    /// The address it listens at, with the port that was chosen for port 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(runtime) = self.runtime.take() {
            // Calls under way end on their own, a waiting one within a second; their answers are dropped.
            runtime.shutdown_timeout(std::time::Duration::from_millis(1500));
        }
    }
}

#[derive(Clone)]
struct BusService {
    bus: Arc<dyn Bus>,
}

impl NamedService for BusService {
    const NAME: &'static str = SERVICE;
}

type Answer<T, E> = Pin<Box<dyn Future<Output = std::result::Result<T, E>> + Send>>;

impl tower_service::Service<http::Request<Body>> for BusService {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Answer<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<std::result::Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let path = request.uri().path().strip_prefix('/');
        let method = path.and_then(|path| path.strip_prefix(SERVICE)).and_then(|rest| rest.strip_prefix('/'));
        let call = Call { bus: self.bus.clone(), method: method.unwrap_or_default().to_owned() };
        Box::pin(async move {
            let mut grpc = Grpc::new(BytesCodec)
                .max_decoding_message_size(BYTES_MAX)
                .max_encoding_message_size(BYTES_MAX);
            Ok(grpc.unary(call, request).await)
        })
    }
}

struct Call {
    bus: Arc<dyn Bus>,
    method: String,
}

impl UnaryService<Bytes> for Call {
    type Response = Vec<u8>;
    type Future = Answer<Response<Vec<u8>>, Status>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let (bus, method) = (self.bus.clone(), std::mem::take(&mut self.method));
        Box::pin(async move {
            // The bus waits: for storage, and for messages.
            let done = tokio::task::spawn_blocking(move || answer(&*bus, &method, request.get_ref()));
            match done.await {
                Ok(Some(Ok(bytes))) => Ok(Response::new(bytes)),
                Ok(Some(Err(error))) => Err(status(&error)),
                Ok(None) => Err(Status::unimplemented("the message bus has no such method")),
                Err(_) => Err(status(&Error::internal("a call of the message bus ended in the middle"))),
            }
        })
    }
}

fn status(error: &Error) -> Status {
    let code = match error.state() {
        SqlState::UndefinedObject => Code::NotFound,
        SqlState::InsufficientPrivilege => Code::PermissionDenied,
        SqlState::NoData | SqlState::ObjectInUse | SqlState::ReadOnly => Code::FailedPrecondition,
        SqlState::InvalidParameterValue => Code::InvalidArgument,
        SqlState::DiskFull | SqlState::OutOfMemory => Code::ResourceExhausted,
        SqlState::DataCorrupted => Code::DataLoss,
        _ => Code::Internal,
    };
    Status::with_details(code, error.message(), error_to_wire(error).encode_to_vec().into())
}
