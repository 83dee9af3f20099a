//! What can go wrong between machines, as values: a peer that is gone, silent, of another view, or that does not keep to
//! the protocol; an exchange that was cancelled; memory that is not there.
//!
//! Errors stay typed from the link to whoever decides about a retry: a retry that looks for words in a text never fires.
//! Each has an SQLSTATE and a hint; its place is the peer and the exchange that it names.

use std::fmt;

use crate::frame::{ExchangeId, FrameProblem, NodeId};

/// Why an exchange, a link or a call of the multiplexer failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetworkError {
    /// The link to a peer was reset, closed or could not be made.
    PeerLost {
        /// The peer.
        peer: NodeId,
        /// What the transport said.
        cause: String,
    },
    /// Nothing came from a peer for longer than the limit, although it must ping.
    PeerSilent {
        /// The peer.
        peer: NodeId,
        /// For how long, in milliseconds.
        silent_ms: u64,
    },
    /// The peer lives in another view of the cluster.
    WrongEpoch {
        /// The peer.
        peer: NodeId,
        /// The epoch that the peer named.
        theirs: u64,
        /// The epoch here.
        ours: u64,
    },
    /// The peer was set up with messages of another size.
    MessageSizes {
        /// The peer.
        peer: NodeId,
        /// Bytes of a message there.
        theirs: u64,
        /// Bytes of a message here.
        ours: u64,
    },
    /// The peer sent more than it had been granted.
    BeyondWindow {
        /// The peer.
        peer: NodeId,
        /// The exchange.
        exchange: ExchangeId,
    },
    /// The peer sent what is no frame, or one that has no meaning now.
    BadFrame {
        /// The peer.
        peer: NodeId,
        /// What is wrong with it.
        problem: FrameProblem,
    },
    /// The exchange was cancelled.
    Cancelled {
        /// The exchange.
        exchange: ExchangeId,
        /// The node that cancelled it.
        by: NodeId,
    },
    /// The setting for messages, or the memory budget behind it, cannot hold what an exchange needs at least.
    NoMemory {
        /// Messages that were asked for.
        messages: usize,
        /// Messages that the setting allows in all.
        limit: usize,
    },
    /// An exchange of this number is open.
    InUse {
        /// The exchange.
        exchange: ExchangeId,
    },
    /// A node that is not of this cluster, or this node itself.
    NoSuchPeer {
        /// The node.
        peer: NodeId,
    },
    /// The address is reachable from other machines, and nobody said that this is meant.
    Exposed {
        /// The address.
        address: String,
    },
    /// The operating system refused a socket or a mapping.
    System {
        /// What was attempted.
        what: &'static str,
        /// What it said.
        cause: String,
    },
    /// The multiplexer was stopped.
    Stopped,
}

impl NetworkError {
    /// The SQLSTATE of the condition.
    pub fn sqlstate(&self) -> &'static str {
        match self {
            NetworkError::PeerLost { .. }
            | NetworkError::PeerSilent { .. }
            | NetworkError::WrongEpoch { .. }
            | NetworkError::Stopped => "08006",
            NetworkError::BeyondWindow { .. } | NetworkError::BadFrame { .. } => "08P01",
            NetworkError::MessageSizes { .. } | NetworkError::Exposed { .. } => "F0000",
            NetworkError::Cancelled { .. } => "57014",
            NetworkError::NoMemory { .. } => "53200",
            NetworkError::InUse { .. } | NetworkError::NoSuchPeer { .. } => "55000",
            NetworkError::System { .. } => "58000",
        }
    }

    /// Whether the same query may succeed on the same snapshot in another view: the links failed, not the query.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            NetworkError::PeerLost { .. } | NetworkError::PeerSilent { .. } | NetworkError::WrongEpoch { .. }
        )
    }

    /// What can be done about it.
    pub fn hint(&self) -> &'static str {
        match self {
            NetworkError::PeerLost { .. } | NetworkError::PeerSilent { .. } => {
                "The query is run again when the cluster has a new view without that node."
            }
            NetworkError::WrongEpoch { .. } => "One of the two nodes has not heard of the newest view yet.",
            NetworkError::MessageSizes { .. } => "All nodes of a cluster need the same size of messages.",
            NetworkError::BeyondWindow { .. } | NetworkError::BadFrame { .. } => {
                "Only nodes of one version belong to a cluster; nothing else should reach its ports."
            }
            NetworkError::Cancelled { .. } => "The query was cancelled, on this node or on another one.",
            NetworkError::NoMemory { .. } => {
                "Raise the memory for messages, run fewer queries at once, or make messages smaller."
            }
            NetworkError::InUse { .. } => {
                "Numbers of exchanges are given out once for each attempt of a query."
            }
            NetworkError::NoSuchPeer { .. } => "Rows for the own node do not go through the network.",
            NetworkError::Exposed { .. } => {
                "Bind to a loopback address, authenticate the links, or say that an open listener is meant."
            }
            NetworkError::System { .. } => "See the operating system's limits for open files and memory.",
            NetworkError::Stopped => "The node is shutting down.",
        }
    }
}

impl fmt::Display for NetworkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NetworkError::PeerLost { peer, cause } => write!(f, "the link to node {peer} was lost: {cause}"),
            NetworkError::PeerSilent { peer, silent_ms } => {
                write!(f, "nothing was heard of node {peer} for {silent_ms} ms")
            }
            NetworkError::WrongEpoch { peer, theirs, ours } => {
                write!(f, "node {peer} is in view {theirs} of the cluster, this node in view {ours}")
            }
            NetworkError::MessageSizes { peer, theirs, ours } => {
                write!(f, "node {peer} has messages of {theirs} bytes, this node of {ours}")
            }
            NetworkError::BeyondWindow { peer, exchange } => {
                write!(f, "node {peer} sent more to exchange {exchange} than it was granted")
            }
            NetworkError::BadFrame { peer, problem } => write!(f, "node {peer} sent a bad frame: {problem}"),
            NetworkError::Cancelled { exchange, by } => {
                write!(f, "exchange {exchange} was cancelled by node {by}")
            }
            NetworkError::NoMemory { messages, limit } => {
                write!(f, "no memory for {messages} messages within the limit of {limit}")
            }
            NetworkError::InUse { exchange } => write!(f, "exchange {exchange} is open already"),
            NetworkError::NoSuchPeer { peer } => write!(f, "node {peer} is no peer of this node"),
            NetworkError::Exposed { address } => {
                write!(f, "{address} can be reached from other machines without authentication")
            }
            NetworkError::System { what, cause } => write!(f, "{what}: {cause}"),
            NetworkError::Stopped => write!(f, "the multiplexer was stopped"),
        }
    }
}

impl std::error::Error for NetworkError {}
