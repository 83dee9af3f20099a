//! The messages of the service, as protocol buffers (`proto/bus.proto` describes them to other languages), and the one
//! function that answers a request: bytes in, bytes out, whatever the bytes are.
//!
//! Every reply carries an error's code and text or the values asked for. Client and server (`service`) both use it;
//! fields are never renumbered, so that old clients go on.

use std::sync::Arc;
use std::time::Duration;

use types::{Error, Result, SqlState};

use crate::bus::{Address, Bus, Disconnect, ReceiveOptions, Role, Scope, SendOptions, Wait};
use crate::message::{
    CancelToken, ClientId, Message, MessageType, Priority, Receipt, Received, Stored, Timestamp,
};
use crate::refusal::invalid;

pub(super) const SERVICE: &str = "quickstep.bus.v1.Bus";

/// A waiting receive is answered after so long, with nothing; the other side asks again while it wants to wait. So the
/// server learns soon that a client has gone.
pub(super) const WAIT_MAX: Duration = Duration::from_secs(1);

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Nothing {}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Client {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Count {
    #[prost(uint64, tag = "1")]
    pub(super) count: u64,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DisconnectRequest {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
    #[prost(bool, tag = "2")]
    pub(super) if_empty: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct RegisterRequest {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
    #[prost(bool, tag = "2")]
    pub(super) receiver: bool,
    #[prost(uint32, tag = "3")]
    pub(super) message_type: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendRequest {
    #[prost(uint64, tag = "1")]
    pub(super) sender: u64,
    /// Empty is any receiver of the type, when `any` is set.
    #[prost(uint64, repeated, tag = "2")]
    pub(super) recipients: Vec<u64>,
    #[prost(bool, tag = "3")]
    pub(super) any: bool,
    #[prost(message, repeated, tag = "4")]
    pub(super) messages: Vec<WireMessage>,
    #[prost(uint32, tag = "5")]
    pub(super) priority: u32,
    #[prost(uint64, optional, tag = "6")]
    pub(super) deadline_us: Option<u64>,
    #[prost(bool, tag = "7")]
    pub(super) broadcast: bool,
    #[prost(bool, tag = "8")]
    pub(super) cancellable: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WireMessage {
    #[prost(uint32, tag = "1")]
    pub(super) message_type: u32,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) body: Vec<u8>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct SendReply {
    #[prost(uint64, tag = "1")]
    pub(super) serial: u64,
    #[prost(uint64, tag = "2")]
    pub(super) recipients: u64,
    #[prost(message, repeated, tag = "3")]
    pub(super) tokens: Vec<WireToken>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WireReceipt {
    #[prost(uint64, tag = "1")]
    pub(super) serial: u64,
    #[prost(uint64, tag = "2")]
    pub(super) deadline_us: u64,
    #[prost(uint32, tag = "3")]
    pub(super) priority: u32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WireToken {
    #[prost(message, optional, tag = "1")]
    pub(super) receipt: Option<WireReceipt>,
    #[prost(uint64, tag = "2")]
    pub(super) sender: u64,
    #[prost(uint64, repeated, tag = "3")]
    pub(super) recipients: Vec<u64>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReceiveRequest {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
    #[prost(uint64, tag = "2")]
    pub(super) limit: u64,
    #[prost(uint32, tag = "3")]
    pub(super) minimum_priority: u32,
    #[prost(uint64, tag = "4")]
    pub(super) wait_us: u64,
    #[prost(bool, tag = "5")]
    pub(super) delete: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ReceiveReply {
    #[prost(message, repeated, tag = "1")]
    pub(super) messages: Vec<WireReceived>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WireReceived {
    #[prost(message, optional, tag = "1")]
    pub(super) receipt: Option<WireReceipt>,
    #[prost(uint64, tag = "2")]
    pub(super) sender: u64,
    #[prost(uint64, tag = "3")]
    pub(super) sent_at_us: u64,
    #[prost(message, optional, tag = "4")]
    pub(super) message: Option<WireMessage>,
    #[prost(message, optional, tag = "5")]
    pub(super) token: Option<WireToken>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct DeleteRequest {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
    #[prost(message, repeated, tag = "2")]
    pub(super) receipts: Vec<WireReceipt>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct CancelRequest {
    #[prost(uint64, tag = "1")]
    pub(super) client: u64,
    #[prost(message, repeated, tag = "2")]
    pub(super) tokens: Vec<WireToken>,
    #[prost(bool, tag = "3")]
    pub(super) elsewhere: bool,
}

/// What an error carries in addition to gRPC's code.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct WireError {
    #[prost(string, tag = "1")]
    pub(super) sqlstate: String,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(string, tag = "3")]
    pub(super) hint: String,
    #[prost(string, tag = "4")]
    pub(super) detail: String,
}

fn missing(what: &str) -> Error {
    invalid(format!("a request to the message bus without its {what}"))
}

fn priority(number: u32) -> Result<Priority> {
    let in_range = u8::try_from(number).map_err(|_| invalid(format!("priority {number} is not in 0 to 255")));
    in_range.map(Priority)
}

fn clients(numbers: &[u64]) -> Vec<ClientId> {
    numbers.iter().copied().map(ClientId).collect()
}

impl From<&Receipt> for WireReceipt {
    fn from(receipt: &Receipt) -> Self {
        let Receipt { serial, deadline, priority } = receipt;
        WireReceipt { serial: *serial, deadline_us: deadline.0, priority: priority.0.into() }
    }
}

impl TryFrom<&WireReceipt> for Receipt {
    type Error = Error;
    fn try_from(wire: &WireReceipt) -> Result<Receipt> {
        let WireReceipt { serial, deadline_us, priority: number } = *wire;
        Ok(Receipt { serial, deadline: Timestamp(deadline_us), priority: priority(number)? })
    }
}

impl From<&CancelToken> for WireToken {
    fn from(token: &CancelToken) -> Self {
        WireToken {
            receipt: Some((&token.receipt).into()),
            sender: token.sender.0,
            recipients: token.recipients.iter().map(|client| client.0).collect(),
        }
    }
}

impl TryFrom<&WireToken> for CancelToken {
    type Error = Error;
    fn try_from(wire: &WireToken) -> Result<CancelToken> {
        let receipt = wire.receipt.as_ref().ok_or_else(|| missing("receipt"))?.try_into()?;
        let recipients: Arc<[ClientId]> = clients(&wire.recipients).into();
        Ok(CancelToken { receipt, sender: ClientId(wire.sender), recipients })
    }
}

impl From<&Message> for WireMessage {
    fn from(message: &Message) -> Self {
        WireMessage { message_type: message.kind.0, body: message.body.to_vec() }
    }
}

impl From<&Received> for WireReceived {
    fn from(received: &Received) -> Self {
        WireReceived {
            receipt: Some((&received.receipt).into()),
            sender: received.sender.0,
            sent_at_us: received.sent_at.0,
            message: Some(WireMessage { message_type: received.kind.0, body: received.body.to_vec() }),
            token: received.token().as_ref().map(WireToken::from),
        }
    }
}

impl TryFrom<WireReceived> for Received {
    type Error = Error;
    fn try_from(wire: WireReceived) -> Result<Received> {
        let receipt = wire.receipt.as_ref().ok_or_else(|| missing("receipt"))?.try_into()?;
        let message = wire.message.ok_or_else(|| missing("message"))?;
        let stored = Stored {
            sender: ClientId(wire.sender),
            sent_at: Timestamp(wire.sent_at_us),
            kind: MessageType(message.message_type),
            body: message.body.into(),
            tied: wire.token.map(|token| clients(&token.recipients).into()),
        };
        Ok(Received::new(receipt, stored))
    }
}

/// Answers the request of this method; `None` when there is no such method.
pub(super) fn answer(bus: &dyn Bus, method: &str, request: &[u8]) -> Option<Result<Vec<u8>>> {
    Some(match method {
        "Connect" => reply(request, |_: Nothing| Ok(Client { client: bus.connect()?.0 })),
        "Disconnect" => reply(request, |r: DisconnectRequest| {
            let how = if r.if_empty { Disconnect::IfEmpty } else { Disconnect::Always };
            bus.disconnect(ClientId(r.client), how).map(|()| Nothing {})
        }),
        "Register" => reply(request, |r: RegisterRequest| {
            let role = if r.receiver { Role::Receiver } else { Role::Sender };
            bus.register(ClientId(r.client), role, MessageType(r.message_type)).map(|()| Nothing {})
        }),
        "Send" => reply(request, |r: SendRequest| send(bus, r)),
        "Receive" => reply(request, |r: ReceiveRequest| receive(bus, &r)),
        "Delete" => reply(request, |r: DeleteRequest| {
            let receipts = r.receipts.iter().map(Receipt::try_from).collect::<Result<Vec<_>>>()?;
            Ok(Count { count: bus.delete(ClientId(r.client), &receipts)? as u64 })
        }),
        "Cancel" => reply(request, |r: CancelRequest| {
            let tokens = r.tokens.iter().map(CancelToken::try_from).collect::<Result<Vec<_>>>()?;
            let scope = if r.elsewhere { Scope::Elsewhere } else { Scope::Everywhere };
            Ok(Count { count: bus.cancel(ClientId(r.client), &tokens, scope)? as u64 })
        }),
        "Pending" => reply(request, |r: Client| Ok(Count { count: bus.pending(ClientId(r.client))? as u64 })),
        "Flush" => reply(request, |_: Nothing| bus.flush().map(|()| Nothing {})),
        _ => return None,
    })
}

fn reply<Q: prost::Message + Default, A: prost::Message>(
    request: &[u8],
    act: impl FnOnce(Q) -> Result<A>,
) -> Result<Vec<u8>> {
    let request = Q::decode(request)
        .map_err(|error| invalid(format!("a request to the message bus cannot be read: {error}")))?;
    act(request).map(|answer| answer.encode_to_vec())
}

fn send(bus: &dyn Bus, r: SendRequest) -> Result<SendReply> {
    let recipients = clients(&r.recipients);
    let address = match (r.any, recipients.is_empty()) {
        (true, true) => Address::Any,
        (true, false) => return Err(invalid("recipients, and any receiver at once")),
        (false, _) => Address::Clients(&recipients),
    };
    let options = SendOptions {
        priority: priority(r.priority)?,
        deadline: r.deadline_us.map(Timestamp),
        broadcast: r.broadcast,
        cancellable: r.cancellable,
    };
    let messages: Vec<Message> =
        r.messages.into_iter().map(|m| Message::new(MessageType(m.message_type), m.body)).collect();
    let sent = bus.send(ClientId(r.sender), address, &messages, &options)?;
    Ok(SendReply {
        serial: sent.serial,
        recipients: sent.recipients as u64,
        tokens: sent.tokens.iter().map(WireToken::from).collect(),
    })
}

fn receive(bus: &dyn Bus, r: &ReceiveRequest) -> Result<ReceiveReply> {
    let options = ReceiveOptions {
        limit: usize::try_from(r.limit).unwrap_or(usize::MAX),
        minimum_priority: priority(r.minimum_priority)?,
        wait: match r.wait_us {
            0 => Wait::No,
            us => Wait::AtMost(Duration::from_micros(us).min(WAIT_MAX)),
        },
        delete: r.delete,
    };
    let mut received = Vec::new();
    bus.receive(ClientId(r.client), &options, &mut received)?;
    Ok(ReceiveReply { messages: received.iter().map(WireReceived::from).collect() })
}

/// The states that the bus gives (`Bus`), by code.
const STATES: &[SqlState] = &[
    SqlState::UndefinedObject,
    SqlState::InsufficientPrivilege,
    SqlState::NoData,
    SqlState::ObjectInUse,
    SqlState::InvalidParameterValue,
    SqlState::IoError,
    SqlState::DiskFull,
    SqlState::ReadOnly,
    SqlState::DataCorrupted,
    SqlState::FeatureNotSupported,
    SqlState::LockNotAvailable,
    SqlState::OutOfMemory,
    SqlState::ConnectionFailure,
];

pub(super) fn error_to_wire(error: &Error) -> WireError {
    WireError {
        sqlstate: error.state().code().into(),
        message: error.message().into(),
        hint: error.hint().unwrap_or_default().into(),
        detail: error.detail().unwrap_or_default().into(),
    }
}

pub(super) fn error_from_wire(wire: WireError) -> Error {
    let state = STATES.iter().find(|state| state.code() == wire.sqlstate);
    let mut error = Error::new(state.copied().unwrap_or(SqlState::Internal), wire.message);
    if !wire.hint.is_empty() {
        error = error.with_hint(wire.hint);
    }
    match wire.detail.is_empty() {
        true => error,
        false => error.with_detail(wire.detail),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;

    use super::*;
    use crate::BusOptions;
    use random::Random;

    /// Requests from a seed, whole ones and damaged ones, are answered or refused, and leave a bus that works.
    #[test]
    fn requests_of_any_bytes_are_answered() {
        const METHODS: [&str; 9] =
            ["Connect", "Disconnect", "Register", "Send", "Receive", "Delete", "Cancel", "Pending", "Flush"];
        let mut random = Random::new(5);
        let bus = BusOptions::default().in_memory();
        let (mut answered, mut refused) = (0, 0);
        for _ in 0..if cfg!(miri) { 50 } else { 30_000 } {
            let client = random.below(12);
            let receipt = WireReceipt { serial: random.below(99), deadline_us: u64::MAX, priority: 128 };
            let recipients: Vec<u64> = (0..random.below(3)).map(|_| random.below(12)).collect();
            let token =
                WireToken { receipt: Some(receipt.clone()), sender: client, recipients: recipients.clone() };
            let method = METHODS[random.below(9) as usize];
            let message = WireMessage { message_type: random.below(3) as u32, body: vec![1; 30] };
            let mut bytes = match method {
                "Disconnect" => DisconnectRequest { client, if_empty: true }.encode_to_vec(),
                "Register" => {
                    let (receiver, message_type) = (random.below(2) == 0, random.below(3) as u32);
                    RegisterRequest { client, receiver, message_type }.encode_to_vec()
                }
                "Send" => SendRequest {
                    sender: client,
                    any: recipients.is_empty(),
                    recipients,
                    messages: vec![message; random.below(4) as usize],
                    priority: random.below(260) as u32,
                    deadline_us: None,
                    broadcast: random.below(2) == 0,
                    cancellable: random.below(2) == 0,
                }
                .encode_to_vec(),
                "Receive" => {
                    let (limit, delete) = (random.below(9), random.below(2) == 0);
                    ReceiveRequest { client, limit, minimum_priority: 0, wait_us: 0, delete }.encode_to_vec()
                }
                "Delete" => DeleteRequest { client, receipts: vec![receipt] }.encode_to_vec(),
                "Cancel" => CancelRequest { client, tokens: vec![token], elsewhere: false }.encode_to_vec(),
                _ => Client { client }.encode_to_vec(),
            };
            if random.below(2) == 0 {
                for _ in 0..=random.below(3) {
                    let at = random.below(bytes.len() as u64 + 1) as usize;
                    match random.below(3) {
                        0 => bytes.insert(at, random.bits() as u8),
                        1 => bytes.truncate(at),
                        _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.bits() as u8),
                    }
                }
            }
            match answer(&*bus, method, &bytes).expect("a method of the service") {
                Ok(_) => answered += 1,
                Err(error) => {
                    assert!(STATES.contains(&error.state()), "{error}");
                    assert_eq!(error_from_wire(error_to_wire(&error)), error);
                    refused += 1;
                }
            }
        }
        assert!(answered > 10 && refused > 10, "{answered} {refused}");
        assert!(answer(&*bus, "Nothing", &[]).is_none());
        assert!(bus.connect().is_ok());
    }
}
