//! The client side of the service: a [`Bus`] whose calls go to a server over gRPC.
//!
//! Its state is one channel, which connects with the first call and again after it broke, and a runtime with one
//! thread that drives it. Calls block their thread until the answer or the time limit; a call that waits for messages
//! is asked again every second (`WAIT_MAX`). What the server answers with an SQLSTATE comes back as that error; a
//! connection that fails, or no answer in time, is 08006, and leaves open whether the call was done.

use std::time::{Duration, Instant};

use prost::Message as _;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status};
use types::{Error, Result, SqlState};

use super::BYTES_MAX;
use super::codec::BytesCodec;
use super::wire::{
    CancelRequest, Client, Count, DeleteRequest, DisconnectRequest, Nothing, ReceiveReply, ReceiveRequest,
    RegisterRequest, SERVICE, SendReply, SendRequest, WAIT_MAX, WireError, WireMessage, WireReceipt,
    WireToken, error_from_wire,
};
use crate::bus::{Address, Bus, Disconnect, ReceiveOptions, Role, Scope, SendOptions, Sent, Wait};
use crate::message::{CancelToken, ClientId, Message, MessageType, Receipt, Received};

/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(3);

/// A bus in another process. Its calls wait for the network: they must not be made on a thread of an asynchronous
/// runtime.
#[derive(Debug)]
pub struct RemoteBus {
    address: String,
    channel: Channel,
    runtime: Runtime,
    call_max: Duration,
}

impl RemoteBus {
    /// Uses the bus at an address like `127.0.0.1:7410`. The connection is made by the first call, and again when it has
    /// broken.
    pub fn new(address: &str) -> Result<RemoteBus> {
        let endpoint = Endpoint::from_shared(format!("http://{address}")).map_err(|error| {
            crate::refusal::invalid(format!("\"{address}\" is not the address of a message bus: {error}"))
                .with_hint("write host and port, as in 127.0.0.1:7410")
        })?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("bus-client")
            .enable_all()
            .build()
            .map_err(|error| {
                Error::new(SqlState::IoError, format!("the message bus cannot start a thread: {error}"))
            })?;
        let entered = runtime.enter();
        let channel = endpoint.tcp_nodelay(true).connect_timeout(CONNECT_MAX).connect_lazy();
        drop(entered);
        Ok(RemoteBus { address: address.to_owned(), channel, runtime, call_max: Duration::from_secs(30) })
    }

    /// Sets how long a call may take, on top of the time that it waits for messages; 30 seconds by default.
    #[must_use]
    pub fn with_call_max(mut self, call_max: Duration) -> Self {
        self.call_max = call_max;
        self
    }

    fn call<A: prost::Message + Default>(
        &self,
        method: &str,
        request: &impl prost::Message,
        wait: Duration,
    ) -> Result<A> {
        let path = http::uri::PathAndQuery::try_from(format!("/{SERVICE}/{method}"))
            .map_err(|error| Error::internal(format!("a method of the message bus: {error}")))?;
        let mut grpc = Grpc::new(self.channel.clone())
            .max_decoding_message_size(BYTES_MAX)
            .max_encoding_message_size(BYTES_MAX);
        let bytes = request.encode_to_vec();
        let answered = self.runtime.block_on(async {
            let call = async {
                grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
                grpc.unary(Request::new(bytes), path, BytesCodec).await
            };
            tokio::time::timeout(self.call_max + wait, call).await
        });
        let answer = answered
            .map_err(|_| self.unreachable(&format!("no answer within {:?}", self.call_max + wait)))?
            .map_err(|status| self.error(&status))?;
        A::decode(answer.into_inner())
            .map_err(|error| self.unreachable(&format!("an answer that cannot be read: {error}")))
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::new(
            SqlState::ConnectionFailure,
            format!("the message bus at {} does not answer: {why}", self.address),
        )
        .with_detail("nobody can tell whether the call was done")
        .with_hint("ask again when the server is back; a send may then happen twice")
    }

    fn error(&self, status: &Status) -> Error {
        match WireError::decode(status.details()) {
            Ok(wire) if !wire.sqlstate.is_empty() => error_from_wire(wire),
            _ if status.code() == Code::Unimplemented => {
                let message = format!("what answers at {} is not this message bus", self.address);
                Error::new(SqlState::FeatureNotSupported, message)
                    .with_hint("start a server of the same version there")
            }
            _ if status.code() == Code::OutOfRange => Error::new(
                SqlState::InvalidParameterValue,
                format!("too much for one call of the message bus: {}", status.message()),
            )
            .with_hint("send, or receive, fewer messages at a time"),
            _ => self.unreachable(status.message()),
        }
    }
}

fn wire_receipts(receipts: &[Receipt]) -> Vec<WireReceipt> {
    receipts.iter().map(WireReceipt::from).collect()
}

impl Bus for RemoteBus {
    fn connect(&self) -> Result<ClientId> {
        self.call("Connect", &Nothing {}, Duration::ZERO).map(|reply: Client| ClientId(reply.client))
    }

    fn disconnect(&self, client: ClientId, how: Disconnect) -> Result<()> {
        let request = DisconnectRequest { client: client.0, if_empty: how == Disconnect::IfEmpty };
        self.call("Disconnect", &request, Duration::ZERO).map(|_: Nothing| ())
    }

    fn register(&self, client: ClientId, role: Role, kind: MessageType) -> Result<()> {
        let receiver = role == Role::Receiver;
        let request = RegisterRequest { client: client.0, receiver, message_type: kind.0 };
        self.call("Register", &request, Duration::ZERO).map(|_: Nothing| ())
    }

    fn send(
        &self,
        sender: ClientId,
        address: Address<'_>,
        messages: &[Message],
        options: &SendOptions,
    ) -> Result<Sent> {
        let recipients = match address {
            Address::Any => Vec::new(),
            Address::Clients(clients) => clients.iter().map(|client| client.0).collect(),
        };
        let request = SendRequest {
            sender: sender.0,
            recipients,
            any: address == Address::Any,
            messages: messages.iter().map(WireMessage::from).collect(),
            priority: options.priority.0.into(),
            deadline_us: options.deadline.map(|deadline| deadline.0),
            broadcast: options.broadcast,
            cancellable: options.cancellable,
        };
        let reply: SendReply = self.call("Send", &request, Duration::ZERO)?;
        Ok(Sent {
            serial: reply.serial,
            recipients: reply.recipients as usize,
            tokens: reply.tokens.iter().map(CancelToken::try_from).collect::<Result<_>>()?,
        })
    }

    fn receive(&self, client: ClientId, options: &ReceiveOptions, into: &mut Vec<Received>) -> Result<usize> {
        let until = match options.wait {
            Wait::No => Some(Instant::now()),
            Wait::AtMost(time) => Instant::now().checked_add(time),
            Wait::Forever => None,
        };
        loop {
            let left =
                until.map_or(WAIT_MAX, |until| until.saturating_duration_since(Instant::now()).min(WAIT_MAX));
            let request = ReceiveRequest {
                client: client.0,
                limit: options.limit as u64,
                minimum_priority: options.minimum_priority.0.into(),
                wait_us: left.as_micros() as u64,
                delete: options.delete,
            };
            let reply: ReceiveReply = self.call("Receive", &request, left)?;
            let count = reply.messages.len();
            let over = until.is_some_and(|until| Instant::now() >= until);
            if count > 0 || over || options.limit == 0 {
                let received = reply.messages.into_iter().map(Received::try_from);
                into.extend(received.collect::<Result<Vec<_>>>()?);
                return Ok(count);
            }
        }
    }

    fn delete(&self, client: ClientId, receipts: &[Receipt]) -> Result<usize> {
        let request = DeleteRequest { client: client.0, receipts: wire_receipts(receipts) };
        self.call("Delete", &request, Duration::ZERO).map(|reply: Count| reply.count as usize)
    }

    fn cancel(&self, client: ClientId, tokens: &[CancelToken], scope: Scope) -> Result<usize> {
        let tokens = tokens.iter().map(WireToken::from).collect();
        let request = CancelRequest { client: client.0, tokens, elsewhere: scope == Scope::Elsewhere };
        self.call("Cancel", &request, Duration::ZERO).map(|reply: Count| reply.count as usize)
    }

    fn pending(&self, client: ClientId) -> Result<usize> {
        let request = Client { client: client.0 };
        self.call("Pending", &request, Duration::ZERO).map(|reply: Count| reply.count as usize)
    }

    fn flush(&self) -> Result<()> {
        self.call("Flush", &Nothing {}, Duration::ZERO).map(|_: Nothing| ())
    }
}
