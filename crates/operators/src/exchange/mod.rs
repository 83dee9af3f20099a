//! Exchange: rows go from the nodes of a cluster to those that need them, between two pipelines of every node.
//!
//! ```text
//!  pipeline below > sink --rows of this node-----------------------------> own rows ---+--> source > pipeline above
//!                     |                                                                |
//!                     +--route, write--> outbox --buffers--> port  ~~ network ~~> port-+   any worker takes any message
//! ```
//! After Rödiger, Mühlbauer, Kemper, Neumann, *High-Speed Query Processing over High-Speed Networks* (PVLDB 9(4), 2015):
//! a decoupled exchange knows its local multiplexer alone. The bytes are crate `wire`'s, the ways crate `multiplexer`'s.
//!
//! No worker waits for the network while it has a place. Between two units the sink says that it admits none
//! (`Claim::Paused`), in the midst of one the thread steps aside, and the network's thread, which tells of messages and
//! buffers (`Watcher`), has the query resumed. What waits is bounded: messages by `Limits`, rows of the own node by bytes,
//! what comes by the windows of the multiplexer. Nobody waits for anything but the network and the operator above, and
//! all nodes' pipelines with their exchanges are one graph without cycles, since the plan is a tree (`compose::cut` makes an
//! exchange an edge between its two pipelines): so every query of a live cluster goes on.
//!
//! Rows that are gathered or broadcast carry their place (`place`): they have one order, by node and then as they came,
//! whatever the workers did. Rows that are spread by hash or in turn come in any order.

pub mod node;
mod outbox;
mod own;
mod place;
mod sink;
mod source;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use expr::Program;
use multiplexer::{NodeId as Peer, Port, Receive, Received};
use plan::{ExchangeKind, Expr, ExprKind, NodeId, PhysicalNode, PhysicalPlan};
use types::{Error, Field, Result, Schema, Type};
use vector::Vector;
use wire::send::Format;
use wire::{Receiver, Route, RowLayout, header};

use crate::context::QueryContext;
pub use node::{Limits, Network, Node, Watcher, network_error};
use outbox::{Carried, Outbox};
use own::{OwnRows, Placed};
use place::Places;
pub use sink::ExchangeSink;
pub use source::{ExchangeSource, Nothing};

/// What a work order of the source has claimed.
enum Claimed {
    Own(Placed),
    Message(Box<Received>),
    Failure(Error),
}

/// One node's two ends of an exchange.
pub struct Exchange {
    node: NodeId,
    me: u32,
    /// Nodes that this one sends to.
    destinations: usize,
    port: OnceLock<Port>,
    out: Arc<wire::Exchange>,
    outbox: Arc<Outbox>,
    receiver: Receiver,
    own: OwnRows,
    /// Rows carry their places in a column of their own, the last one.
    places: Option<Places>,
    /// Keys that are no columns of the input travel behind these.
    keys: Option<Program>,
    columns: usize,
    piece_bytes: usize,
    claimed: Mutex<HashMap<u64, Claimed>>,
    tickets: AtomicU64,
    /// Messages that were claimed and whose rows are not out yet.
    reading: AtomicUsize,
    /// The network has nothing more.
    network_ended: AtomicBool,
    /// The operator above wants no more.
    closed: AtomicBool,
    received: AtomicU64,
    waits: AtomicU64,
    waited: AtomicU64,
    resume: Arc<node::Resume>,
}

/// The places of keys among an input's columns, with a program for those that are computed.
fn key_columns(keys: &[&Expr], columns: usize) -> Result<(Vec<usize>, Option<Program>)> {
    let inputs: Option<Vec<usize>> = keys
        .iter()
        .map(|key| match key.kind {
            ExprKind::Input(at) => Some(at),
            _ => None,
        })
        .collect();
    match inputs {
        Some(places) => Ok((places, None)),
        None => {
            let computed: Vec<Expr> = keys.iter().map(|key| (*key).clone()).collect();
            Ok(((columns..columns + keys.len()).collect(), Some(Program::compile(&computed)?)))
        }
    }
}

impl Exchange {
    /// The ends of the exchange `plan` on the node of this query; its port is open then.
    pub fn new(plan: &PhysicalPlan, query: &QueryContext) -> Result<Arc<Exchange>> {
        let PhysicalNode::Exchange { exchange, input } = &plan.node else {
            return Err(Error::internal("not an exchange"));
        };
        let node = query.node.as_ref();
        let node = node.ok_or_else(|| Error::internal("an exchange in a plan that runs on one engine"))?;
        let (me, nodes, limits) = (node.me(), node.nodes(), node.limits());
        let columns = input.output.len();
        let mut types: Vec<Type> = input.output.iter().map(|column| column.ty).collect();
        let (mut placed, mut keys) = (false, None);
        let route = match &exchange.kind {
            ExchangeKind::Hash { keys: by } => {
                let by: Vec<&Expr> = by.iter().collect();
                let (places, computed) = key_columns(&by, columns)?;
                if computed.is_some() {
                    types.extend(by.iter().map(|key| key.ty));
                }
                keys = computed;
                Route::hash(places, nodes as usize)
            }
            ExchangeKind::Broadcast => {
                placed = true;
                Route::Broadcast
            }
            ExchangeKind::Gather { .. } => {
                placed = true;
                Route::To(0)
            }
            ExchangeKind::Scatter => Route::RoundRobin,
            ExchangeKind::Range { .. } => {
                return Err(Error::unsupported("rows are not sent to nodes by ranges of keys yet"));
            }
        };
        if placed {
            types.push(Type::BigInt);
        }
        let gathers = matches!(exchange.kind, ExchangeKind::Gather { .. });
        let peers = |wanted: bool| -> Vec<Peer> {
            let others = (0..nodes).filter(|node| *node != me && wanted);
            others.map(|node| Peer(node as u16)).collect()
        };
        let sources = peers(!gathers || me == 0);
        let destinations = match gathers && me != 0 {
            true => vec![Peer(0)],
            false => peers(!gathers),
        };
        let stream = header::Stream {
            epoch: 1,
            query: node.query(),
            attempt: 0,
            exchange: exchange.number.0,
            source: me,
        };
        let fields = types.iter().map(|ty| Field::new("", *ty, true)).collect();
        let layout = RowLayout::new(&Schema::new(fields));
        // Nodes that send nothing here are none of the receiver's: its numbers are those of the nodes all the same.
        let receiver = Receiver::new(stream, me as usize, nodes as usize, layout);
        let made = Arc::new(Exchange {
            node: plan.id,
            me,
            destinations: destinations.len(),
            port: OnceLock::new(),
            out: wire::Exchange::new(stream, nodes as usize, route, Format::Columns, limits.message_bytes),
            outbox: Arc::new(Outbox::new(limits.message_bytes, limits.messages_waiting_max)),
            receiver,
            own: OwnRows::new(limits.own_bytes_max),
            places: placed.then(|| Places::new(nodes)),
            keys,
            columns,
            piece_bytes: limits.message_bytes / 2,
            claimed: Mutex::default(),
            tickets: AtomicU64::new(0),
            reading: AtomicUsize::new(0),
            network_ended: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            received: AtomicU64::new(0),
            waits: AtomicU64::new(0),
            waited: AtomicU64::new(0),
            resume: node.resume().clone(),
        });
        let watcher: Weak<dyn Watcher> = Arc::downgrade(&(made.clone() as Arc<dyn Watcher>));
        let port = node.network().open(exchange.number, sources, destinations, watcher);
        // It is set once, before anybody else has the exchange.
        let _ = made.port.set(port.map_err(|error| network_error(&error))?);
        node.keep(made.clone());
        Ok(made)
    }

    /// The end of the pipeline below.
    pub fn sink(self: &Arc<Self>) -> ExchangeSink {
        ExchangeSink(self.clone())
    }
    /// The beginning of the pipeline above.
    pub fn source(self: &Arc<Self>) -> ExchangeSource {
        ExchangeSource(self.clone())
    }

    fn port(&self) -> Result<&Port> {
        self.port.get().ok_or_else(|| Error::internal("an exchange without a port"))
    }

    /// Hands on what the network has buffers for.
    fn carry(&self) {
        if let Some(port) = self.port.get()
            && self.outbox.carry(port) == Carried::MadeRoom
        {
            self.resume.call();
        }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    /// Drops what has come: nobody wants it, and its senders shall not wait.
    fn drain(&self) {
        while let Some(Ok(Receive::Message(message))) = self.port.get().map(|port| port.try_receive(0)) {
            drop(message);
        }
    }

    /// The columns that travel: those of the rows, computed keys, and the place.
    fn outgoing(&self, columns: Vec<Vector>, keys: Vec<Vector>, place: u64, rows: usize) -> Vec<Vector> {
        let place = self.places.map(|_| {
            let place = i64::try_from(place).unwrap_or(i64::MAX);
            Vector::constant(Type::BigInt, types::Value::I64(place), rows)
        });
        columns.into_iter().chain(keys).chain(place).collect()
    }
}

impl node::Ends for Exchange {
    fn fail(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.own.close();
        self.outbox.clear();
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner).clear();
        if let Some(port) = self.port.get() {
            port.cancel();
        }
    }
    fn ended_early(&self) -> bool {
        self.is_closed()
    }
}

impl Watcher for Exchange {
    fn messages(&self) {
        if self.is_closed() {
            self.drain();
        } else {
            self.resume.call();
        }
    }
    fn room(&self) {
        self.carry();
    }
}
